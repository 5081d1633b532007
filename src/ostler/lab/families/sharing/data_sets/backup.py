"""BACKUP CFSTRUCT: the persistent messages of a structure are written to the log of one queue manager."""

from __future__ import annotations

import re
import time
from collections.abc import Sequence
from typing import Final

from ostler.lab.families.sharing.data_sets.groups import DataSetExperiment
from ostler.lab.families.sharing.data_sets.repeated import RepeatedOperation
from ostler.lab.runner.contract import Contestant, PointFailed, PointSpec, ReadyLoad
from ostler.lab.runner.queue_managers.plan import QueueManagerPlan
from ostler.lab.runner.sharing.plan import Offload, SharedQueue, SharingPlan, StructurePlan
from ostler.lab.runner.sharing.port import ENTRIES, OFFLOADED, SharingGroup
from ostler.lab.sampling.process_sampler import WatchedProcess
from ostler.lab.scenarios.steps import Step
from ostler.lab.store.courses import BACKED_UP
from ostler.server.config.qm_ini import LogManagement, LogSection, LogType

BACKUP: Final = "backup"
MEGABYTES_LOGGED: Final = "megabytes logged"
IN_STRUCTURE: Final = "messages in the structure, %"
_QUEUE: Final = "LAB.HELD.LAB1"
_MEGABYTES: Final = 512
_LOG_PAGES: Final = 16_384
_LOG_FILE_MEGABYTES: Final = _LOG_PAGES * 4096 >> 20
_MIXED_BYTES: Final = 32 << 10
"""Messages of this size are offloaded by the thresholds only: the first ones stay in the structure."""
_MIXED_PERCENT: Final = 14
"""The size of such a structure, of that of its messages: as in the report, a tenth of them stays."""
_MIXED_MEGABYTES_MIN: Final = 4
"""Smaller structures were full (2192) before messages were offloaded, now and then. Runs of a few MB offload none."""
_STRUCTURE_MEGABYTES: Final = 512
_DONE: Final = re.compile(r"AMQ7504I: .* backed up: (\d+) messages, (\d+) MB")


class BackupExperiment(DataSetExperiment):
    """The log is linear, and has room for what is put and for a backup without a checkpoint between."""

    def plan(self, step: Step) -> SharingPlan:
        size = int(str(step.points["message_bytes"]))
        is_mixed = size >= _MIXED_BYTES
        structure = StructurePlan("LAB1", offload=Offload.SMDS, offloads_all=not is_mixed, is_recoverable=True)
        files = 4 + 4 * self._megabytes // _LOG_FILE_MEGABYTES
        log = LogSection(files, 2, _LOG_PAGES, type=LogType.LINEAR, management=LogManagement.AUTOMATIC)
        return SharingPlan(
            manager=QueueManagerPlan(log=log),
            structures=(structure,),
            queues=(SharedQueue(_QUEUE, structure.name),),
            structure_megabytes=max(self._megabytes * _MIXED_PERCENT // 100, _MIXED_MEGABYTES_MIN)
            if is_mixed
            else _STRUCTURE_MEGABYTES,
        )

    @property
    def _megabytes(self) -> int:
        return self.parameter("megabytes", _MEGABYTES)

    def prepare(self, contestant: Contestant, step: Step) -> ReadyLoad:
        size = int(str(step.points["message_bytes"]))
        messages = (self._megabytes << 20) // size
        self.check_space(8 * messages * size)
        group = self.new_group(step)
        self.fill(group, [_QUEUE], messages, size, True)
        return _BackingUp(group, messages, size)


class _BackingUp(RepeatedOperation):
    """The command, which is answered when the backup is in the log."""

    def __init__(self, group: SharingGroup, messages: int, size: int) -> None:
        super().__init__(PointSpec(1, size, True, main_operation=BACKUP))
        self._group = group
        self._messages = messages
        self._size = size

    def processes(self) -> Sequence[WatchedProcess]:
        return self._group.watched()

    def operate(self) -> tuple[float, dict[str, float]]:
        began = time.perf_counter()
        lines = self._group.mqsc(0, "BACKUP CFSTRUCT(LAB1)")
        seconds = time.perf_counter() - began
        found = _DONE.search(" ".join(lines))
        if found is None or int(found[1]) != self._messages:
            raise PointFailed(f"the backup was to have {self._messages} messages: {' '.join(lines)}")
        held = {each.name: each.value for each in self._group.results()}
        return seconds, {
            BACKED_UP: self._messages * self._size / 1e6 / seconds,
            MEGABYTES_LOGGED: float(found[2]),
            IN_STRUCTURE: 100 * (1 - held[OFFLOADED] / max(held[ENTRIES], 1)),
        }
