"""Backups and recoveries of structures in a queue manager: rows of the repository, logs of the members, threads.

The logs of all members are read from the directories of the group roll. A queue manager that runs on this machine and
has not joined is found by its lock; one whose directory is not known, or not reachable, stops a recovery with its name.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Final

from ostler.engine.recovery.backup_records import MARKED
from ostler.engine.shared.member import GroupMember
from ostler.engine.structure_recovery.backup import BackupHost, StructureBackupTask
from ostler.engine.structure_recovery.merge import BackupPlace, LoadedEntry, StructureMerge
from ostler.engine.structure_recovery.recover import RecoveryHost, StructureRecovery
from ostler.engine.structure_recovery.service import StructureRecoveries
from ostler.log.control_file import CONTROL_NAME
from ostler.model.coupling.group_rows import BackupRow, MemberRow
from ostler.model.coupling.status_rows import FAILED, INRECOVER, RECOVERED
from ostler.model.shared_repository import BACKUPS, MEMBERS, RepositoryUnavailable
from ostler.server.config.directories import directory_name, running_process
from ostler.server.coupling.data_sets.offload_service import OffloadService
from ostler.server.coupling.repository.sql_repository import SqlRepository
from ostler.server.coupling.structure_logs import (
    LogUnreadable,
    MemberLog,
    load_batches,
    member_directory,
    merge_logs,
)
from ostler.server.queue_manager import QueueManager
from ostler.server.storage.real_disk import RealDisk

_LOOK_TICKS: Final = 10


class StructureService:
    """Owned by the group service: `on_tick` once a second in a turn; `close` at the end."""

    def __init__(
        self,
        manager: QueueManager,
        member: GroupMember,
        repository: SqlRepository,
        post: Callable[[Callable[[], None]], None],
        offload: OffloadService,
    ) -> None:
        self._manager = manager
        self._member = member
        self._repository = repository
        self._post = post
        self._offload = offload
        self._lock = threading.Lock()  # of states of data sets, which threads of recoveries write in their order
        self._over: set[StructureRecovery] = set()  # recoveries that have ended: nothing of them begins any more
        self._executor = manager.machine.executor(2, "ostler-cfrec")
        self._ticks = 0
        self._is_closed = False
        self._batches: dict[StructureRecovery, Iterator[list[LoadedEntry]]] = {}
        self.recoveries = StructureRecoveries(member, _BackupHost(self), _RecoveryHost(self))
        member.sharing.recoveries = self.recoveries

    def on_tick(self) -> None:
        if self._ticks % _LOOK_TICKS == 0 or self.recoveries.signals.backed_up:
            self.recoveries.signals.backed_up = []
            self._submit(self._read_positions)
        self._ticks += 1
        self.recoveries.on_tick()

    def close(self) -> None:
        self._is_closed = True
        self._executor.shutdown(True)

    def _submit(self, work: Callable[[], None]) -> None:
        if not self._is_closed:
            self._executor.submit(self._run, work)

    def _run(self, work: Callable[[], None]) -> None:
        try:
            work()
        except Exception as error:
            self._manager.note(f"AMQ6109E: Backup or recovery of a structure: {error!r}.")

    # -- how long the log is kept --------------------------------------------------------------------------------------

    def _read_positions(self) -> None:
        """Learn from where this queue manager must keep its log for the last backups."""
        positions: dict[str, int] = {}
        try:
            for row in self._repository.rows(BACKUPS):
                for number, lsn in BackupRow.decode(row.data).positions():
                    if number == self._member.sharing.number:
                        positions[row.name] = lsn
        except (RepositoryUnavailable, ValueError):
            return
        self._post(partial(self._take_positions, positions))

    def _take_positions(self, positions: dict[str, int]) -> None:
        self._manager.engine.member.backup_lsns = positions

    # -- backups -------------------------------------------------------------------------------------------------------

    def keep(self, backup: StructureBackupTask) -> None:
        row = BackupRow(
            backup.name,
            int(self._member.sharing.number),
            self._manager.name,
            int(backup.start_lsn),
            int(backup.end_lsn),
            self._member.sharing.structures[backup.name].incarnation.hex(),
            int(backup.began_ms),
            int(self._manager.engine.wall_ms()),
            int(backup.messages),
            int(backup.size_bytes),
            tuple(f"{mark.number} {mark.from_lsn}" for mark in backup.marks if mark.kind == MARKED),
        )
        self._submit(partial(self._keep, backup, row))

    def _keep(self, backup: StructureBackupTask, row: BackupRow) -> None:
        failure = ""
        try:
            self._repository.write(BACKUPS, row.structure, row.encode(), None)
        except RepositoryUnavailable as error:
            failure = f"the shared repository cannot note where the backup is: {error}"
        else:
            self._read_positions()
        self._post(partial(self._kept, backup, failure))

    def _kept(self, backup: StructureBackupTask, failure: str) -> None:
        if not failure:
            self.recoveries.signals.tell_backed_up(backup.name)
        backup.on_kept(failure)

    # -- recoveries ----------------------------------------------------------------------------------------------------

    def _roll(self) -> list[MemberRow]:
        """Return the members of the group. Raises LogUnreadable."""
        try:
            roll = [MemberRow.decode(row.data) for row in self._repository.rows(MEMBERS)]
        except RepositoryUnavailable as error:
            raise LogUnreadable(f"the shared repository cannot be read: {error}") from None
        own = int(self._member.sharing.number)
        if own not in [row.number for row in roll]:
            manager = self._manager
            roll.append(MemberRow(manager.name, own, 0, "", str(manager.directory.path), str(log_path(manager))))
        return roll

    def inquire(self, recovery: StructureRecovery, active: list[int], known: dict[int, str]) -> None:
        self._submit(partial(self._inquire, recovery, active, known))

    def _inquire(self, recovery: StructureRecovery, active: list[int], known: dict[int, str]) -> None:
        self._change_data_sets(recovery, INRECOVER, (FAILED,))
        waiting: list[str] = []
        failure = ""
        try:
            roll = self._roll()
            unknown = sorted(set(known) - {row.number for row in roll})
            if unknown:
                names = ", ".join(known[number] or f"member {number}" for number in unknown)
                raise LogUnreadable(f"the group roll does not say where the log of {names} is")
            waiting = [row.name for row in roll if row.number not in active and _runs(row)]
        except LogUnreadable as error:
            failure = str(error)
        self._post(partial(recovery.on_inquired, waiting, failure))

    def read(self, recovery: StructureRecovery, until: dict[int, int]) -> None:
        self._submit(partial(self._read, recovery, until, list(recovery.claimed)))

    def _read(self, recovery: StructureRecovery, until: dict[int, int], names: list[str]) -> None:
        merge: StructureMerge | None = None
        failure = ""
        try:
            logs = [_log_of(row, until.get(row.number, -1)) for row in self._roll()]
            merge = merge_logs(logs, {name: self._place(name) for name in names})
            self._batches[recovery] = load_batches(logs, merge)
            # Nothing of the structure is in it any more: it takes the messages that are loaded.
            self._change_data_sets(recovery, RECOVERED, (INRECOVER,), self._manager.name)
        except LogUnreadable as error:
            merge = None
            failure = str(error)
        except Exception as error:
            merge = None
            failure = f"an internal error: {error!r}"
        self._post(partial(recovery.on_read, merge, failure))

    def _place(self, structure: str) -> BackupPlace | None:
        try:
            row = self._repository.read(BACKUPS, structure)
        except RepositoryUnavailable as error:
            raise LogUnreadable(f"the shared repository cannot be read: {error}") from None
        if row is None:
            return None
        backup = BackupRow.decode(row.data)
        return BackupPlace(backup.member, backup.start_lsn, backup.end_lsn)

    def next_batch(self, recovery: StructureRecovery) -> None:
        self._submit(partial(self._next_batch, recovery))

    def _next_batch(self, recovery: StructureRecovery) -> None:
        loaded: list[LoadedEntry] = []
        failure = ""
        try:
            loaded = next(self._batches.get(recovery, iter(())), [])
        except LogUnreadable as error:
            failure = str(error)
        except Exception as error:
            failure = f"an internal error: {error!r}"
        self._post(partial(recovery.on_batch, loaded, failure))

    def ended(self, recovery: StructureRecovery) -> None:
        self._batches.pop(recovery, None)
        with self._lock:
            self._over.add(recovery)
        if recovery.claimed:
            self._submit(partial(self._end_data_sets, recovery))

    # -- states of data sets -------------------------------------------------------------------------------------------

    def _end_data_sets(self, recovery: StructureRecovery) -> None:
        """Give the data sets of recovered structures back, or leave them as failed as they were."""
        with self._lock:
            if recovery.failure is not None:
                self._write_states(recovery, FAILED, (INRECOVER,), "")
            else:
                self._write_states(recovery, RECOVERED, (FAILED, INRECOVER) if recovery.is_purge else (INRECOVER,), "")

    def _change_data_sets(
        self, recovery: StructureRecovery, status: str, before: tuple[str, ...], owner: str = ""
    ) -> None:
        with self._lock:
            if recovery not in self._over:
                self._write_states(recovery, status, before, owner)

    def _write_states(self, recovery: StructureRecovery, status: str, before: tuple[str, ...], owner: str) -> None:
        """Change the status of all data sets of a recovery's structures, or of one owner, that have one of others."""
        states = self._offload.states
        states.refresh()
        has_changed = False
        for name in list(recovery.claimed):
            for each in states.owners(name):
                if owner in ("", each) and states.status(name, each).status in before:
                    states.set_status(name, each, status)
                    self._manager.note(f"AMQ7521I: The data set of {each} for {name} now has STATUS({status}).")
                    has_changed = True
        if has_changed:
            self._post(partial(self._on_states, list(recovery.claimed)))

    def _on_states(self, names: list[str]) -> None:
        self._offload.announce()
        for name in names:
            found = self._offload.structures.get(name)
            if found is not None:
                found.pause_ticks = 0
                self._offload.review(found)


def log_path(manager: QueueManager) -> Path:
    """Return the directory of a queue manager's log."""
    configured = manager.settings.log.path
    return Path(configured) / directory_name(manager.name) if configured else manager.directory.log


def _runs(row: MemberRow) -> bool:
    """Return True if the queue manager of a row runs on a machine that shares this file system."""
    directory = member_directory(row)
    if directory is None:
        raise LogUnreadable(f"the group roll does not say where the directory of {row.name} is")
    return running_process(directory)[0]


def _log_of(row: MemberRow, until_lsn: int) -> MemberLog:
    if not row.log_directory:
        raise LogUnreadable(f"the group roll does not say where the log of {row.name} is")
    path = Path(row.log_directory)
    if not (path / CONTROL_NAME).exists():
        path = path / directory_name(row.name)
    if not (path / CONTROL_NAME).exists():
        raise LogUnreadable(f"the log of {row.name} cannot be read: it is not in {row.log_directory}")
    return MemberLog(row.number, row.name, RealDisk(path.parent), path.name, until_lsn)


class _BackupHost(BackupHost):
    def __init__(self, service: StructureService) -> None:
        self._service = service

    def keep(self, backup: StructureBackupTask) -> None:
        self._service.keep(backup)


class _RecoveryHost(RecoveryHost):
    def __init__(self, service: StructureService) -> None:
        self._service = service

    def inquire(self, recovery: StructureRecovery, active: list[int]) -> None:
        self._service.inquire(recovery, active, dict(recovery.members))

    def read(self, recovery: StructureRecovery, until: dict[int, int]) -> None:
        self._service.read(recovery, until)

    def next_batch(self, recovery: StructureRecovery) -> None:
        self._service.next_batch(recovery)

    def ended(self, recovery: StructureRecovery) -> None:
        self._service.ended(recovery)
