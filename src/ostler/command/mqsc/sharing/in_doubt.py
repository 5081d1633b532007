"""DISPLAY THREAD TYPE(INDOUBT) and RESOLVE INDOUBT: units of work that wait for the word of a coordinator.

With QMNAME they concern another queue manager of the queue-sharing group, which must not be active. Without, they
concern this queue manager and, if it has GROUPUR(ENABLED), the units of GROUP disposition of all members: those of an
active one are resolved by itself.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Final

from ostler.command.admin.context import CommandContext, CommandRefused
from ostler.command.admin.permissions import authorize
from ostler.command.mqsc.arguments import CommandOptions
from ostler.command.mqsc.define_alter_delete import Action
from ostler.command.mqsc.display.layout import bracketed, columns
from ostler.command.mqsc.grammar import message
from ostler.command.mqsc.statements import Statement
from ostler.command.mqsc.tokens import MqscSyntaxError
from ostler.engine.core import Engine
from ostler.engine.shared.in_doubt import (
    InDoubtUnit,
    PeerDecision,
    PeerUnits,
    begin_peer_listing,
    begin_peer_resolution,
    has_group_units,
    own_units,
    resolve_own,
)
from ostler.engine.task import EngineTask
from ostler.model.attributes import ObjectType
from ostler.model.errors import MQError

_NONE_FOUND: Final = "AMQ7591I"
_ACTIVE: Final = "AMQ7592I"
_NOT_IN_GROUP: Final = "AMQ7595E"
_NOT_RESOLVED: Final = "AMQ7596E"


def display(statement: Statement) -> Action:
    name = _name(statement)
    options = CommandOptions(statement)
    kind = options.choice("TYPE", "ACTIVE", "INDOUBT", "REGIONS", "*")
    manager = options.text("QMNAME")
    options.finish()
    if kind != "INDOUBT":
        raise MqscSyntaxError(statement.end, "DISPLAY THREAD shows TYPE(INDOUBT) only: use DISPLAY CONN for others")
    return partial(_display, name, manager)


def resolve(statement: Statement) -> Action:
    name = _name(statement)
    options = CommandOptions(statement)
    action = options.choice("ACTION", "", "COMMIT", "BACKOUT")
    if not action:
        raise MqscSyntaxError(statement.end, "ACTION is missing: it is COMMIT or BACKOUT")
    nid = options.text("NID")
    if not nid:
        raise MqscSyntaxError(statement.end, "NID is missing: it is the identifier that DISPLAY THREAD shows, or *")
    manager = options.text("QMNAME")
    options.finish()
    return partial(_resolve, name, action == "COMMIT", nid.upper(), manager)


def _name(statement: Statement) -> str:
    if statement.name is None:
        raise MqscSyntaxError(statement.noun.end, f"{statement.noun.text} needs a name in brackets, such as (*)")
    return statement.name.text


def _display(name: str, manager: str, context: CommandContext) -> Iterator[str]:
    authorize(context, "DISPLAY", ObjectType.QMGR, "")
    owner, units = _units(context, name, manager)
    for unit in units:
        yield message("AMQ7590I", "Display thread details.")
        yield from columns(
            [
                bracketed("THREAD", unit.owner),
                bracketed("TYPE", "INDOUBT"),
                bracketed("QMNAME", unit.owner),
                bracketed("URDISP", "GROUP" if unit.is_of_group else "QMGR"),
                bracketed("URID", _urid(unit)),
                bracketed("NID", unit.xid.hex().upper()),
            ]
        )
    if not units:
        yield message(_NONE_FOUND, f"No in-doubt threads found for queue manager {owner}.")


def _resolve(name: str, commits: bool, nid: str, manager: str, context: CommandContext) -> Iterator[str]:
    authorize(context, "RESOLVE", ObjectType.QMGR, "")
    owner, units = _units(context, name, manager)
    if nid == "*":
        found = [unit for unit in units if unit.owner == owner]  # those of others are resolved one by one
    else:
        found = [unit for unit in units if unit.xid.hex().upper() == nid]
    if not found:
        raise CommandRefused(_NONE_FOUND, f"No in-doubt threads found for queue manager {owner} with NID({nid}).")
    for unit in found:
        if unit.number:
            _resolve_own(context, unit, commits)
        elif unit.is_owner_active:
            _resolve_at_owner(context, unit, commits)
        else:
            _resolve_of_peer(context, unit, commits)
        told = ("AMQ7593I", "commit") if commits else ("AMQ7594I", "backout")
        yield message(told[0], f"Thread NID={unit.xid.hex().upper()} {told[1]} done.")


def _urid(unit: InDoubtUnit) -> str:
    return f"{unit.number:016X}" if unit.number else unit.id.hex().upper()


def _units(context: CommandContext, name: str, manager: str) -> tuple[str, list[InDoubtUnit]]:
    """Returns the queue manager that the command concerns, and the units in doubt: also those of the group."""
    own = context.query(_own_name)
    if manager and manager != own:
        units = _units_of_peer(context, manager)
    else:
        units = context.query(own_units)
        if not manager and not context.is_from_member and context.query(_reaches_group):
            units += _units_of_peer(context, "")
    return manager or own, [unit for unit in units if name in ("*", unit.owner)]


def _reaches_group(engine: Engine) -> bool:
    return has_group_units(engine) and engine.sharing is not None and engine.sharing.is_joined


def _own_name(engine: Engine) -> str:
    return engine.name


def _units_of_peer(context: CommandContext, manager: str) -> list[InDoubtUnit]:
    begun: list[PeerUnits] = []

    def begin(engine: Engine) -> int:
        sharing = engine.sharing
        if sharing is None:
            raise CommandRefused(_NOT_IN_GROUP, "QMNAME is not allowed: there is no queue-sharing group.")
        begun.append(begin_peer_listing(engine, sharing, manager))
        return 0

    context.change(begin)
    task = begun[-1]
    _wait(context, task)
    if task.reason:
        raise MQError(int(task.reason))
    if manager and task.number == 0:
        raise CommandRefused(
            _NOT_IN_GROUP, f"QMNAME({manager}) is not allowed: the queue-sharing group has no such member."
        )
    if task.is_active:
        raise _is_active(manager)
    return task.units


def _is_active(manager: str) -> CommandRefused:
    return CommandRefused(_ACTIVE, f"QMNAME({manager}) is active, command ignored. Enter it there, without QMNAME.")


def _resolve_own(context: CommandContext, unit: InDoubtUnit, commits: bool) -> None:
    begun: list[EngineTask | None] = []

    def begin(engine: Engine) -> int:
        begun.append(resolve_own(engine, unit.number, commits))
        return int(engine.journal.end_lsn())

    context.change(begin)
    task = begun[-1]
    if task is not None:
        _wait(context, task)


def _resolve_at_owner(context: CommandContext, unit: InDoubtUnit, commits: bool) -> None:
    """Has an active member resolve its unit."""
    group = context.group_commands()
    if group is None:
        raise _is_active(unit.owner)
    if unit.owner not in group.active_members():
        _resolve_of_peer(context, unit, commits)  # it has ended meanwhile
        return
    action = "COMMIT" if commits else "BACKOUT"
    text = f"RESOLVE INDOUBT({unit.owner}) ACTION({action}) NID({unit.xid.hex().upper()})"
    for answer in group.run_mqsc([unit.owner], text):
        if not answer.is_done:
            said = answer.problem or " ".join(part.decode() for part in answer.parts)
            raise CommandRefused(_NOT_RESOLVED, f"Queue manager {unit.owner} has not resolved its unit: {said}")


def _resolve_of_peer(context: CommandContext, unit: InDoubtUnit, commits: bool) -> None:
    begun: list[PeerDecision] = []

    def begin(engine: Engine) -> int:
        sharing = engine.sharing
        assert sharing is not None
        begun.append(begin_peer_resolution(engine, sharing, unit.id, commits))
        return int(engine.journal.end_lsn())

    context.change(begin)
    task = begun[-1]
    _wait(context, task)
    if task.is_active:
        raise _is_active(unit.owner)
    if task.reason:
        raise MQError(int(task.reason))


def _wait(context: CommandContext, task: EngineTask) -> None:
    while not context.query(lambda _: task.is_done):
        context.pause()
    task.check()


COMMANDS: Final[dict[tuple[str, str], Callable[[Statement], Action]]] = {
    ("DISPLAY", "THREAD"): display,
    ("DISPLAY", "THD"): display,
    ("RESOLVE", "INDOUBT"): resolve,
    ("RESOLVE", "IND"): resolve,
}
