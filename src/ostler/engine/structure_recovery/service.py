"""Backups and recoveries that this member runs, and the automatic recovery of structures (RECAUTO).

A structure with CFLEVEL(5), RECOVER(YES) and RECAUTO(YES) that has failed is recovered by one of the members that are
connected to it: all try, and the facility lets one begin. One that fails is tried again after a pause.
"""

from __future__ import annotations

from typing import Final, final

from mypy_extensions import i64

from ostler.engine.core import Engine
from ostler.engine.shared.member import GroupMember
from ostler.engine.shared.membership import StructureCommands
from ostler.engine.shared.structures import PERSISTENT_LEVEL, connect_structure
from ostler.engine.structure_recovery.backup import BackupHost, StructureBackupTask
from ostler.engine.structure_recovery.recover import RecoveryHost, StructureRecovery
from ostler.engine.structure_recovery.signals import Signals
from ostler.model import constants as mq
from ostler.model.attributes import ObjectType
from ostler.model.coupling import terms as cf
from ostler.model.coupling.answers import JoinAnswer
from ostler.model.coupling.events import Event
from ostler.model.coupling.port import EventListener
from ostler.model.errors import MQError

_AUTOMATIC_LEVEL: Final = 5
_PAUSE_TICKS_FIRST: Final = 1
_PAUSE_TICKS_MAX: Final = 60


@final
class StructureRecoveries(StructureCommands):
    """Call `on_tick` once a second in a turn."""

    def __init__(self, member: GroupMember, backup_host: BackupHost, recovery_host: RecoveryHost) -> None:
        self.engine: Engine = member.engine
        self.sharing = member.sharing
        self.signals = Signals(self.engine, self.sharing)
        self.is_automatic = True
        self._backup_host = backup_host
        self._recovery_host = recovery_host
        self._backups: list[StructureBackupTask] = []
        self._recoveries: list[StructureRecovery] = []
        self._automatic: StructureRecovery | None = None
        self._pause_ticks: i64 = 0
        self._pause_next: i64 = _PAUSE_TICKS_FIRST
        member.observers.append(self.signals)
        member.observers.append(_Links(self))

    # -- commands ------------------------------------------------------------------------------------------------------

    def begin_backup(self, name: str) -> StructureBackupTask:
        """BACKUP CFSTRUCT of one structure. Raises MQError when it cannot be backed up."""
        self._check(name)
        backup = StructureBackupTask(self.engine, self.sharing, self.signals, self._backup_host, name)
        self._backups.append(backup)
        backup.begin()
        return backup

    def begin_recovery(self, names: list[str], purge: bool) -> StructureRecovery:
        """RECOVER CFSTRUCT of some structures. Raises MQError when one of them cannot be recovered."""
        for name in names:
            if purge:
                self._check_connected(name)
            else:
                self._check(name)
        recovery = StructureRecovery(self.engine, self.sharing, self.signals, self._recovery_host, names, purge)
        self._recoveries.append(recovery)
        recovery.begin()
        return recovery

    def _check_connected(self, name: str) -> None:
        if name not in self.engine.of_type(ObjectType.CFSTRUCT):
            raise MQError(mq.MQRC_UNKNOWN_OBJECT_NAME, f"There is no structure {name}.")
        if not self.sharing.is_joined:
            raise MQError(mq.MQRC_CF_NOT_AVAILABLE, "The coupling facility is not available.")
        connect_structure(self.engine, self.sharing, name)

    def _check(self, name: str) -> None:
        self._check_connected(name)
        structure = self.sharing.structures[name]
        if structure.level < PERSISTENT_LEVEL or not structure.is_recoverable:
            text = f"The structure {name} is not CFLEVEL(3) or higher with RECOVER(YES): it has no persistent messages."
            raise MQError(mq.MQRC_CF_STRUC_ERROR, text)

    # -- what is due ---------------------------------------------------------------------------------------------------

    def on_tick(self) -> None:
        self._backups = [each for each in self._backups if not each.is_done]
        for backup in self._backups:
            backup.on_tick()
        self._recoveries = [each for each in self._recoveries if not each.is_done]
        for recovery in self._recoveries:
            recovery.on_tick()
        self._look()

    def _look(self) -> None:
        """Begin the automatic recovery of structures that have failed."""
        automatic = self._automatic
        if automatic is not None:
            if not automatic.is_done:
                return
            self._automatic = None
            self._on_automatic_ended(automatic)
        if self._pause_ticks > 0:
            self._pause_ticks -= 1
            return
        if not self.is_automatic or not self.sharing.is_joined or self.sharing.is_elsewhere:
            return
        names = [name for name in self.sharing.structures if self._is_automatic(name)]
        if names:
            self.engine.notice(
                f"AMQ7501I: The recovery of structure {', '.join(names)} begins, because of RECAUTO(YES)."
            )
            self._automatic = self.begin_recovery(names, False)

    def _is_automatic(self, name: str) -> bool:
        structure = self.sharing.structures[name]
        definition = self.engine.of_type(ObjectType.CFSTRUCT).get(name)
        return (
            definition is not None
            and structure.is_connected
            and structure.state == cf.STRUCTURE_STATE_FAILED
            and structure.is_recoverable
            and structure.level >= _AUTOMATIC_LEVEL
            and definition.attributes.get("RECAUTO") != mq.MQRECAUTO_NO
        )

    def _on_automatic_ended(self, recovery: StructureRecovery) -> None:
        failure = recovery.failure
        if failure is None:
            self._pause_next = _PAUSE_TICKS_FIRST
            self.engine.notice(describe_recovered(recovery))
            return
        self._pause_ticks = self._pause_next
        if failure.reason != mq.MQRC_CF_STRUC_IN_USE and failure.reason != mq.MQRC_CF_NOT_AVAILABLE:
            self.engine.notice(f"AMQ7502E: {failure.detail} It is tried again.")
            self._pause_next = min(2 * self._pause_next, _PAUSE_TICKS_MAX)

    # -- the link ------------------------------------------------------------------------------------------------------

    def on_link_lost(self) -> None:
        for backup in self._backups:
            backup.on_link_lost()
        for recovery in self._recoveries:
            recovery.on_link_lost()


@final
class _Links(EventListener):
    def __init__(self, recoveries: StructureRecoveries) -> None:
        self.recoveries = recoveries

    def on_event(self, event: Event) -> None:
        """Wait for the next tick."""

    def on_joined(self, answer: JoinAnswer) -> None:
        """Wait for the next tick."""

    def on_link_lost(self) -> None:
        self.recoveries.on_link_lost()


def describe_recovered(recovery: StructureRecovery) -> str:
    names = ", ".join(recovery.claimed)
    return f"AMQ7503I: The structure {names} is recovered. It has {recovery.messages} messages."
