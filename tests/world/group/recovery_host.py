"""Reads the logs of simulated members for backups and recoveries of structures, one step at a time."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from functools import partial
from typing import TYPE_CHECKING

from tests.world.world_lives import LOG_DIRECTORY

from ostler.engine.structure_recovery import merge as merging
from ostler.engine.structure_recovery.backup import BackupHost, StructureBackupTask
from ostler.engine.structure_recovery.merge import BackupPlace, LoadedEntry
from ostler.engine.structure_recovery.recover import RecoveryHost, StructureRecovery
from ostler.server.coupling.structure_logs import LogUnreadable, MemberLog, load_batches, merge_logs

if TYPE_CHECKING:
    from tests.world.group.group_world import MemberWorld


class Backups:
    """Where the last backups of structures are: what the repository tells real members."""

    def __init__(self) -> None:
        self.places: dict[str, BackupPlace] = {}


class SimulatedBackupHost(BackupHost):
    def __init__(self, world: MemberWorld) -> None:
        self._world = world

    def keep(self, backup: StructureBackupTask) -> None:
        self._world.recovery_steps.append(partial(self._keep, backup))

    def _keep(self, backup: StructureBackupTask) -> None:
        place = BackupPlace(self._world.number, backup.start_lsn, backup.end_lsn)
        self._world.group.backups.places[backup.name] = place
        backup.on_kept("")


class SimulatedRecoveryHost(RecoveryHost):
    def __init__(self, world: MemberWorld) -> None:
        self._world = world
        self._batches: Iterator[list[LoadedEntry]] = iter(())
        self._steps: deque[Callable[[], None]] = world.recovery_steps

    def inquire(self, recovery: StructureRecovery, active: list[int]) -> None:
        running = [each for each in self._world.group.members if each.is_up and each.number not in active]
        self._steps.append(partial(recovery.on_inquired, [each.name for each in running], ""))

    def read(self, recovery: StructureRecovery, until: dict[int, int]) -> None:
        self._steps.append(partial(self._read, recovery, until))

    def _read(self, recovery: StructureRecovery, until: dict[int, int]) -> None:
        group = self._world.group
        logs = [
            MemberLog(each.number, each.name, each.disk, LOG_DIRECTORY, until.get(each.number, -1))
            for each in group.members
        ]
        places = {name: group.backups.places.get(name) for name in recovery.claimed}
        try:
            merge = group.merge_logs(logs, places)
        except LogUnreadable as failure:
            recovery.on_read(None, str(failure))
            return
        self._batches = load_batches(logs, merge)
        recovery.on_read(merge, "")

    def next_batch(self, recovery: StructureRecovery) -> None:
        self._steps.append(partial(self._next, recovery))

    def _next(self, recovery: StructureRecovery) -> None:
        recovery.on_batch(next(self._batches, []), "")

    def ended(self, recovery: StructureRecovery) -> None:
        self._batches = iter(())


def merge_honestly(logs: list[MemberLog], places: dict[str, BackupPlace | None]) -> merging.StructureMerge:
    return merge_logs(logs, places)
