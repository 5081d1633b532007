"""RESET, REFRESH, SUSPEND and RESUME of the queue manager and its clusters, ARCHIVE LOG, and STOP CONN."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Final, NoReturn

from ostler.command.admin.context import CommandContext, CommandRefused
from ostler.command.admin.permissions import authorize
from ostler.command.mqsc.arguments import CommandOptions, find_attribute
from ostler.command.mqsc.define_alter_delete import Action, not_found
from ostler.command.mqsc.grammar import PRODUCT, message
from ostler.command.mqsc.statements import Statement
from ostler.command.mqsc.tokens import MqscSyntaxError
from ostler.engine.core import Engine
from ostler.model.attributes import ObjectType

_REFUSED: Final = "AMQ8101E"
_RESET: Final = message("AMQ8649I", f"Reset of {PRODUCT} queue manager accepted.")
_REFRESHED: Final = message("AMQ8558I", f"Refresh of {PRODUCT} queue manager accepted.")
_QUEUES: Final = (ObjectType.QLOCAL, ObjectType.QALIAS, ObjectType.QREMOTE, ObjectType.QMODEL)
_REPORTED: Final[dict[str, tuple[ObjectType, ...]]] = {
    "AUTHINFO": (ObjectType.AUTHINFO,),
    "AUTHREC": (ObjectType.AUTHREC,),
    "CFSTRUCT": (ObjectType.CFSTRUCT,),
    "CHANNEL": (ObjectType.CHANNEL,),
    "CHLAUTH": (ObjectType.CHLAUTH,),
    "LISTENER": (ObjectType.LISTENER,),
    "NAMELIST": (ObjectType.NAMELIST,),
    "PROCESS": (ObjectType.PROCESS,),
    "QALIAS": (ObjectType.QALIAS,),
    "QLOCAL": (ObjectType.QLOCAL,),
    "QMGR": (ObjectType.QMGR,),
    "QMODEL": (ObjectType.QMODEL,),
    "QREMOTE": (ObjectType.QREMOTE,),
    "QUEUE": _QUEUES,
    "SERVICE": (ObjectType.SERVICE,),
    "STGCLASS": (ObjectType.STGCLASS,),
    "TOPIC": (ObjectType.TOPIC,),
}
_EXTENTS_MAX: Final = 99_999
# Keywords of DISPLAY CLUSQMGR beside the attributes of channels.
_CLUSTER_WORDS: Final = (
    *("ALL", "WHERE", "CLUSTER", "CHANNEL", "QMTYPE", "STATUS", "SUSPEND"),
    *("CLUSINFO", "CLUSQMGR", "QMID", "DEFTYPE", "CLUSDATE", "CLUSTIME", "XMITQ", "VERSION"),
)


def _without_name(statement: Statement) -> CommandOptions:
    if statement.name is not None:
        raise MqscSyntaxError(statement.name.end, f"{statement.noun.text} takes no name")
    return CommandOptions(statement)


def _cluster(statement: Statement) -> str:
    if statement.name is None or not statement.name.text:
        raise MqscSyntaxError(statement.noun.end, "CLUSTER needs the name of a cluster in brackets")
    return statement.name.text


# -- RESET -------------------------------------------------------------------------------------------------------------


def reset_manager(statement: Statement) -> Action:
    options = _without_name(statement)
    if statement.argument("TYPE") is None:
        raise MqscSyntaxError(statement.end, "TYPE is missing: it selects the action")
    what = options.choice("TYPE", "ADVANCELOG", "STATISTICS", "PUBSUB", "ARCHLOG", "REDUCELOG")
    child, parent = options.text("CHILD"), options.text("PARENT")
    archived, reduced = options.text("ARCHIVED"), options.text("REDUCE")
    options.finish()
    for keyword, given, wanted in (
        ("CHILD", child, "PUBSUB"),
        ("PARENT", parent, "PUBSUB"),
        ("ARCHIVED", archived, "ARCHLOG"),
        ("REDUCE", reduced, "REDUCELOG"),
    ):
        argument = statement.argument(keyword)
        if given and argument is not None and what != wanted:
            raise MqscSyntaxError(argument.end, f"{keyword} goes with TYPE({wanted})")
    if what == "PUBSUB" and bool(child) == bool(parent):
        raise MqscSyntaxError(statement.end, "TYPE(PUBSUB) takes CHILD or PARENT")
    if what == "ARCHLOG" and not archived:
        raise MqscSyntaxError(statement.end, "TYPE(ARCHLOG) takes ARCHIVED, the last extent that is archived")
    return partial(_reset_manager, what, child or parent, archived, _extents(statement, reduced))


def _extents(statement: Statement, text: str) -> int:
    if text in ("", "AUTO", "MAX"):
        return 0
    if text == "ONE":
        return 1
    if text.isascii() and text.isdigit() and 0 < int(text) <= _EXTENTS_MAX:
        return int(text)
    argument = statement.argument("REDUCE")
    raise MqscSyntaxError(
        argument.end if argument else statement.end, "REDUCE is AUTO, ONE, MAX or a number of extents"
    )


def _reset_manager(what: str, partner: str, archived: str, extents: int, context: CommandContext) -> Iterator[str]:
    authorize(context, "RESET", ObjectType.QMGR, "")
    if what == "PUBSUB":
        raise CommandRefused(
            _REFUSED, f"{partner} is not a partner of this queue manager, which is in no publish/subscribe hierarchy."
        )
    if what == "STATISTICS":
        context.write_statistics()
    elif what == "ADVANCELOG":
        context.advance_log()
    elif what == "ARCHLOG":
        context.archive_log(archived)
    else:
        context.reduce_log(extents)
    yield _RESET


def archive_log(statement: Statement) -> Action:
    """Parses ARCHIVE LOG of z/OS, which is RESET QMGR TYPE(ADVANCELOG) here."""
    options = _without_name(statement)
    mode = options.choice("MODE", "", "QUIESCE")
    options.text("TIME")
    options.choice("WAIT", "NO", "YES")
    options.switch("CANCEL", "OFFLOAD")
    options.finish()
    if mode:
        raise MqscSyntaxError(statement.end, "MODE(QUIESCE) is not supported: the log advances without a quiesce")
    return partial(_reset_manager, "ADVANCELOG", "", "", 0)


def reset_cluster(statement: Statement) -> Action:
    name = _cluster(statement)
    options = CommandOptions(statement)
    options.choice("ACTION", "FORCEREMOVE")
    options.text("QMNAME")
    options.text("QMID")
    options.choice("QUEUES", "NO", "YES")
    options.finish()
    return partial(_no_cluster, "RESET", name)


# -- REFRESH -----------------------------------------------------------------------------------------------------------


def refresh_manager(statement: Statement) -> Action:
    options = _without_name(statement)
    if statement.argument("TYPE") is None:
        raise MqscSyntaxError(statement.end, "TYPE is missing: it selects the action")
    what = options.choice("TYPE", "CONFIGEV", "PROXYSUB", "EXPIRY")
    word = options.choice("OBJECT", "ALL", *_REPORTED)
    pattern = options.text("NAME") or "*"
    minutes = options.text("INCLINT") or "0"
    options.finish()
    argument = statement.argument("INCLINT")
    if not (minutes.isascii() and minutes.isdigit() and len(minutes) < 10):
        raise MqscSyntaxError(argument.end if argument else statement.end, "INCLINT is a number of minutes")
    kinds = _REPORTED.get(word, tuple(kind for each in _REPORTED.values() for kind in each if each is not _QUEUES))
    return partial(_refresh_manager, what, kinds, pattern, int(minutes))


def _refresh_manager(
    what: str, kinds: tuple[ObjectType, ...], pattern: str, minutes: int, context: CommandContext
) -> Iterator[str]:
    authorize(context, "REFRESH", ObjectType.QMGR, "")
    if what == "CONFIGEV":
        if not context.query(_has_configuration_events):
            raise CommandRefused(_REFUSED, "Configuration events are switched off: use ALTER QMGR CONFIGEV(ENABLED).")
        context.refresh_configuration(kinds, pattern, minutes)
    elif what == "EXPIRY":
        context.expire_messages()
    # PROXYSUB does nothing: there are no proxy subscriptions without a cluster or hierarchy.
    yield _REFRESHED


def _has_configuration_events(engine: Engine) -> bool:
    return engine.manager.attributes.get("CONFIGEV", 0) != 0


def refresh_cluster(statement: Statement) -> Action:
    name = _cluster(statement)
    options = CommandOptions(statement)
    options.choice("REPOS", "NO", "YES")
    options.finish()
    return partial(_no_cluster, "REFRESH", name)


# -- clusters ----------------------------------------------------------------------------------------------------------


def suspend_manager(statement: Statement) -> Action:
    return _cluster_membership("SUSPEND", statement)


def resume_manager(statement: Statement) -> Action:
    return _cluster_membership("RESUME", statement)


def _cluster_membership(verb: str, statement: Statement) -> Action:
    options = _without_name(statement)
    name, namelist = options.text("CLUSTER"), options.text("CLUSNL")
    if verb == "SUSPEND":
        options.choice("MODE", "QUIESCE", "FORCE")
    options.finish()
    if bool(name) == bool(namelist):
        raise MqscSyntaxError(statement.end, f"{verb} QMGR takes CLUSTER or CLUSNL")
    return partial(_no_cluster, verb, name or namelist)


def _no_cluster(verb: str, name: str, context: CommandContext) -> NoReturn:
    authorize(context, verb, ObjectType.QMGR, "")
    raise CommandRefused(_REFUSED, f"{name}: this release stores cluster definitions but does not join clusters.")


def display_cluster_managers(statement: Statement) -> Action:
    """Parses DISPLAY CLUSQMGR, which finds nothing: this queue manager is in no cluster."""
    if statement.name is None:
        raise MqscSyntaxError(statement.noun.end, "CLUSQMGR needs a name in brackets, such as (*)")
    for argument in statement.arguments:
        if argument.keyword.text not in _CLUSTER_WORDS:
            # All other keywords are attributes of the channel to that queue manager.
            find_attribute((ObjectType.CHANNEL,), argument.keyword, _CLUSTER_WORDS)
    return partial(_none_in_cluster, statement.name.text)


def display_cluster_objects(statement: Statement) -> Action:
    """Parses DISPLAY QCLUSTER and TCLUSTER, which find nothing: this queue manager is in no cluster."""
    if statement.name is None:
        raise MqscSyntaxError(statement.noun.end, f"{statement.noun.text} needs a name in brackets, such as (*)")
    kind = ObjectType.TOPIC if statement.noun.text == "TCLUSTER" else ObjectType.QLOCAL
    for argument in statement.arguments:
        if argument.keyword.text not in _CLUSTER_WORDS:
            find_attribute((kind,), argument.keyword, _CLUSTER_WORDS)
    return partial(_none_in_cluster, statement.name.text)


def _none_in_cluster(pattern: str, context: CommandContext) -> NoReturn:
    authorize(context, "DISPLAY", ObjectType.QMGR, "")
    raise not_found(pattern)


# -- connections -------------------------------------------------------------------------------------------------------


def stop_connection(statement: Statement) -> Action:
    word = statement.name
    if word is None:
        raise MqscSyntaxError(statement.noun.end, "CONN needs the identifier of a connection in brackets")
    if not _is_hexadecimal(word.text, (16, 48)):
        raise MqscSyntaxError(word.end, "CONN takes 16 hexadecimal digits, as DISPLAY CONN shows them")
    options = CommandOptions(statement)
    extended = options.values("EXTCONN")
    if extended is not None and (len(extended) > 1 or not _is_hexadecimal(extended[0].text, (32,))):
        raise MqscSyntaxError(extended[-1].end, "EXTCONN takes 32 hexadecimal digits")
    options.finish()
    return partial(_stop_connection, (extended[0].text if extended else "").upper() + word.text.upper())


def _is_hexadecimal(text: str, lengths: tuple[int, ...]) -> bool:
    return len(text) in lengths and all(each in "0123456789ABCDEFabcdef" for each in text)


def _stop_connection(identity: str, context: CommandContext) -> Iterator[str]:
    authorize(context, "STOP", ObjectType.CONN, "")
    number = context.query(partial(_connection_number, identity))
    if number is None or not context.stop_connection(number):
        raise CommandRefused("AMQ8461I", "There is no such connection.")
    yield message("AMQ8457I", f"{PRODUCT} connection stopped.")


def _connection_number(identity: str, engine: Engine) -> int | None:
    for connection in engine.connections.values():
        if connection.connection_id.hex().upper().endswith(identity):
            return connection.number
    return None


COMMANDS: Final[dict[tuple[str, str], Callable[[Statement], Action]]] = {
    ("RESET", "QMGR"): reset_manager,
    ("RESET", "CLUSTER"): reset_cluster,
    ("REFRESH", "QMGR"): refresh_manager,
    ("REFRESH", "CLUSTER"): refresh_cluster,
    ("SUSPEND", "QMGR"): suspend_manager,
    ("RESUME", "QMGR"): resume_manager,
    ("ARCHIVE", "LOG"): archive_log,
    ("STOP", "CONN"): stop_connection,
    ("DISPLAY", "CLUSQMGR"): display_cluster_managers,
    ("DISPLAY", "QCLUSTER"): display_cluster_objects,
    ("DISPLAY", "QC"): display_cluster_objects,
    ("DISPLAY", "TCLUSTER"): display_cluster_objects,
}
