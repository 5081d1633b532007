"""A group of one queue manager for experiments on data sets: made for each step, with messages in its structures."""

from __future__ import annotations

import shutil
import threading
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Final

from ostler.client.api.connection import connect
from ostler.client.api.message import Message
from ostler.coupling.data_sets.layout import DataSetHeader
from ostler.lab.families.set_up import run_descriptions
from ostler.lab.families.task_process import run_in_process
from ostler.lab.runner.contract import (
    Contestant,
    ContestantKind,
    Experiment,
    PointFailed,
    ReadyLoad,
    RunContext,
)
from ostler.lab.runner.sharing.by_commands import start_sharing
from ostler.lab.runner.sharing.plan import SharingPlan, StructurePlan
from ostler.lab.runner.sharing.port import SharingGroup, StartSharing
from ostler.lab.scenarios.steps import Step
from ostler.model.errors import MQError
from ostler.server.coupling.data_sets.data_set_file import create_data_set

OSTLER: Final = Contestant("Ostler", ContestantKind.OSTLER, "bodies are in data sets, past the page cache")
_FILL_SECONDS_MAX: Final = 3600.0
_FILL_THREADS: Final = 8
_IDENTITY: Final = b"ostlerlb"


class DataSetExperiment(Experiment):
    """A new group for every point."""

    def __init__(self, context: RunContext, start: StartSharing = start_sharing) -> None:
        self._context = context
        self._start = start
        self._group: SharingGroup | None = None
        self._made = 0

    def contestants(self) -> Sequence[Contestant]:
        return [OSTLER]

    @property
    def configuration(self) -> Mapping[str, str]:
        lines: dict[str, None] = {}
        for step in self._context.steps:
            lines |= dict.fromkeys(run_descriptions.shortened([*self.plan(step).commands()]))
        return {"queue-sharing group": "\n".join(lines)}

    @abstractmethod
    def plan(self, step: Step) -> SharingPlan:
        """Return the group of a step."""

    @abstractmethod
    def prepare(self, contestant: Contestant, step: Step) -> ReadyLoad: ...

    def parameter(self, name: str, default: int) -> int:
        """Return a parameter of the scenario; `quick_...` counts where only some steps are run."""
        parameters = self._context.scenario.parameters
        quick = parameters.get(f"quick_{name}") if self._context.settings.is_quick else None
        return int(str(quick if quick is not None else parameters.get(name, default)))

    def check_space(self, needed: int) -> None:
        free = shutil.disk_usage(self._context.scratch).free
        if free < needed:
            raise PointFailed(f"it needs {needed >> 20:,} MB on disk, and {free >> 20:,} MB are free")

    def new_group(self, step: Step) -> SharingGroup:
        self.end_group()
        self._made += 1
        self._context.note("A queue-sharing group of 1 queue manager starts.")
        self._group = self._start(self._context.scratch / f"group-{self._made}", self.plan(step))
        return self._group

    def end_group(self) -> None:
        if self._group is not None:
            self._group.end()
            shutil.rmtree(self._group.root, ignore_errors=True)
            self._group = None

    def fill(self, group: SharingGroup, queues: Sequence[str], messages: int, size: int, is_persistent: bool) -> None:
        """Put so many messages on each of the queues."""
        member = group.members[0]
        self._context.note(f"Putting {messages * len(queues):,} messages of {size:,} bytes.")
        run_in_process(
            partial(put_messages, member.name, member.root, tuple(queues), messages, size, is_persistent),
            _FILL_SECONDS_MAX,
        )

    def close(self) -> None:
        self.end_group()


def format_beforehand(path: Path, structure: StructurePlan, owner: str, number: int, megabytes: int) -> None:
    """Make the data set of a member before it opens it, as CSQJUFMT does."""
    header = DataSetHeader(structure.name, owner, number, structure.block_bytes, _IDENTITY)
    create_data_set(path, header, (megabytes << 20) // structure.block_bytes).close()


def put_messages(
    queue_manager: str, root: Path, queues: Sequence[str], messages: int, size: int, is_persistent: bool
) -> None:
    """Put messages by several threads with connections of their own. Raises PointFailed."""
    failures: list[str] = []

    def put(at: int) -> None:
        try:
            with connect(queue_manager, data=root, binding="local", application="ostler-lab") as application:
                for name in queues:
                    queue = application.open(name, "w")
                    for _ in range(at, messages, _FILL_THREADS):
                        queue.put(Message(bytes(size), persistent=is_persistent), syncpoint=False)
                    queue.close()
        except MQError as error:
            failures.append(str(error))

    threads = [threading.Thread(target=put, args=(at,), daemon=True) for at in range(_FILL_THREADS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if failures:
        raise PointFailed(f"messages could not be put: {failures[0]}")
