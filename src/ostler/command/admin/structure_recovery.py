"""Backup and recovery of structures, for MQSC and PCF. Commands wait until they are done."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from ostler.command.admin.context import CommandContext, CommandRefused
from ostler.command.admin.objects import matches
from ostler.command.admin.structures import CIRCULAR_LOGS, fail_structure, repository_failed, structure
from ostler.engine.core import Engine
from ostler.engine.shared.membership import StructureCommands
from ostler.engine.structure_recovery.backup import StructureBackupTask
from ostler.engine.structure_recovery.recover import StructureRecovery
from ostler.engine.structure_recovery.service import describe_recovered
from ostler.engine.task import EngineTask
from ostler.model import constants as mq
from ostler.model.attributes import ObjectType
from ostler.model.coupling.status_rows import FAILED
from ostler.model.errors import MQError
from ostler.model.shared_repository import RepositoryUnavailable

EXCLINT_MIN: Final = 30
EXCLINT_MAX: Final = 600
EXCLINT_DEFAULT: Final = 30
_REFUSED: Final = "AMQ7505E"


@dataclass(frozen=True)
class BackedUp:
    """A backup that has ended well."""

    name: str
    messages: int
    size_bytes: int
    start_lsn: int
    warnings: tuple[str, ...] = ()


def _commands(engine: Engine) -> StructureCommands:
    sharing = engine.sharing
    if sharing is None or sharing.recoveries is None:
        raise CommandRefused("AMQ7506E", "The queue manager is not in a queue-sharing group.")
    return sharing.recoveries


def _wait(context: CommandContext, task: EngineTask) -> None:
    while not context.query(lambda _: task.is_done):
        context.pause()
    task.check()


def _matching(context: CommandContext, patterns: list[str]) -> list[str]:
    known = context.query(lambda engine: sorted(engine.of_type(ObjectType.CFSTRUCT)))
    names: list[str] = []
    for pattern in patterns:
        found = [name for name in known if matches(name, pattern)]
        if not found:
            raise CommandRefused("AMQ8147E", f"The structure {pattern} is not found.")
        names += [name for name in found if name not in names]
    return names


def back_up_structures(context: CommandContext, patterns: list[str]) -> Iterator[BackedUp]:
    """BACKUP CFSTRUCT: copies structures one after another. Raises MQError and CommandRefused."""
    for name in _matching(context, patterns):
        begun: list[StructureBackupTask] = []

        def change(engine: Engine, name: str = name, begun: list[StructureBackupTask] = begun) -> int:
            task = _commands(engine).begin_backup(name)
            assert isinstance(task, StructureBackupTask)
            begun.append(task)
            return 0

        context.change(change)
        task = begun[-1]
        _wait(context, task)
        if task.failure is not None:
            raise task.failure
        yield BackedUp(name, int(task.messages), int(task.size_bytes), int(task.start_lsn), _warnings(context))


def _warnings(context: CommandContext) -> tuple[str, ...]:
    if context.manager_status().log_type == "CIRCULAR":
        return (
            f"{CIRCULAR_LOGS}: The log of this queue manager is CIRCULAR: it is not kept for recoveries of structures. "
            "Members of queue-sharing groups should have LogType LINEAR.",
        )
    return ()


def _fail_with_data_sets(context: CommandContext, name: str, purge: bool) -> None:
    """Fails a structure of which a data set has failed: both are recovered together, as in MQ."""
    control = context.sharing()
    can_be_recovered = structure(context, name).attributes.get("RECOVER") == mq.MQCFR_YES
    if control is None or not (purge or can_be_recovered):
        return
    try:
        failed = [
            each for each in control.data_set_owners(name) if control.data_set_status(name, each).status == FAILED
        ]
    except RepositoryUnavailable as error:
        raise repository_failed(error) from None
    if failed:
        try:
            fail_structure(context, name)
        except MQError as error:
            if error.reason != mq.MQRCCF_CF_STRUC_ALREADY_FAILED:
                raise


def recover_structures(context: CommandContext, names: list[str], purge: bool) -> str:
    """RECOVER CFSTRUCT: returns the message of the end. Raises MQError and CommandRefused."""
    names = _matching(context, names)
    for name in names:
        _fail_with_data_sets(context, name, purge)
    begun: list[StructureRecovery] = []

    def change(engine: Engine) -> int:
        task = _commands(engine).begin_recovery(names, purge)
        assert isinstance(task, StructureRecovery)
        begun.append(task)
        return 0

    context.change(change)
    task = begun[-1]
    _wait(context, task)
    if task.failure is not None:
        raise task.failure
    if task.refused:
        raise CommandRefused(_REFUSED, f"{describe_recovered(task)} Not recovered: {', '.join(task.refused)}.")
    return describe_recovered(task)
