"""DISPLAY USAGE and DISPLAY APSTATUS: the space of queues and log, and the instances of each application."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Final

from ostler.command.admin.context import CommandContext
from ostler.command.admin.objects import matches
from ostler.command.admin.permissions import authorize
from ostler.command.admin.sharing_control import SharingControl
from ostler.command.admin.structures import require_sharing
from ostler.command.mqsc.arguments import CommandOptions
from ostler.command.mqsc.define_alter_delete import Action, not_found
from ostler.command.mqsc.display.layout import bracketed, columns
from ostler.command.mqsc.grammar import message
from ostler.command.mqsc.statements import Statement
from ostler.command.mqsc.tokens import MqscSyntaxError
from ostler.command.status.structure_rows import buffer_lines, usage_lines
from ostler.engine.core import Engine
from ostler.model.attributes import ObjectType

_PAGE_BYTES: Final = 4096
_PAGES_PER_MEGABYTE: Final = 256


def usage(statement: Statement) -> Action:
    """Parses DISPLAY USAGE. The data is shown as one page set, number 0, and the log as one data set."""
    if statement.name is not None:
        raise MqscSyntaxError(statement.name.end, "USAGE takes no name")
    options = CommandOptions(statement)
    page_set = options.text("PSID")
    about = options.choice("TYPE", "PAGESET", "DATASET", "SMDS", "ALL")
    options.finish()
    return partial(_usage, page_set or "*", about)


def _usage(page_set: str, about: str, context: CommandContext) -> Iterator[str]:
    authorize(context, "DISPLAY", ObjectType.QMGR, "")
    if about == "PAGESET" and page_set not in ("*", "0"):
        raise not_found(page_set)
    if about == "SMDS":
        yield from _data_sets(require_sharing(context))
        return
    status = context.manager_status()
    if about in ("PAGESET", "ALL") and page_set in ("*", "0"):
        queues, messages, file_bytes = context.query(_totals)
        total = (status.data_file_system_size or 0) * _PAGES_PER_MEGABYTE
        unused = total * (100 - (status.data_file_system_use or 0)) // 100
        yield message("AMQ8710I", "Page set usage.")
        yield from columns(
            [
                bracketed("PSID", "0"),
                bracketed("TYPE", "PAGESET"),
                bracketed("TOTALPG", str(total)),
                bracketed("UNUSEDPG", str(unused)),
                bracketed("QUEUEPG", str(-(-file_bytes // _PAGE_BYTES))),
                bracketed("QUEUES", str(queues)),
                bracketed("MSGS", str(messages)),
            ]
        )
    if about in ("DATASET", "ALL"):
        yield message("AMQ8710I", "Log usage.")
        yield from columns(
            [
                bracketed("LOGPATH", status.log_path),
                bracketed("TYPE", "DATASET"),
                bracketed("LOGEXTSZ", str(status.log_extent_size)),
                bracketed("LOGPRIM", str(status.log_primary_extents)),
                bracketed("LOGSEC", str(status.log_secondary_extents)),
                bracketed("LOGINUSE", str(status.log_in_use or 0)),
                bracketed("LOGUTIL", str(status.log_utilization or 0)),
            ]
        )
    control = context.sharing()
    if about == "ALL" and control is not None:
        yield from _data_sets(control)


def _data_sets(control: SharingControl) -> Iterator[str]:
    """Yields the tables of TYPE(SMDS), as CSQE280I and CSQE285I have them."""
    usages = control.usage()
    yield message("AMQ7539I", "SMDS usage ...")
    yield from usage_lines(usages)
    yield message("AMQ7560I", "SMDS buffer usage ...")
    yield from buffer_lines(usages)


def _totals(engine: Engine) -> tuple[int, int, int]:
    """Returns the number of queues, of their messages, and of the bytes of their files."""
    queues = list(engine.queues.values())
    return len(queues), sum(each.depth for each in queues), sum(each.file.size_bytes() for each in queues)


def application_status(statement: Statement) -> Action:
    word = statement.name
    if word is None:
        raise MqscSyntaxError(statement.noun.end, "APSTATUS needs the name of an application in brackets, such as (*)")
    options = CommandOptions(statement)
    about = options.choice("TYPE", "APPL", "QMGR", "LOCAL")
    options.text("CLUSTER")
    options.switch("ALL")
    options.finish()
    return partial(_application_status, word.text, about)


def _application_status(pattern: str, about: str, context: CommandContext) -> Iterator[str]:
    authorize(context, "DISPLAY", ObjectType.QMGR, "")
    name, counts = context.query(partial(_applications, pattern))
    if not counts:
        raise not_found(pattern)
    for application, count in sorted(counts.items()):
        yield message("AMQ8932I", "Application status.")
        items = [bracketed("APPLNAME", application)]
        # There is no uniform cluster, so no application can be moved.
        if about == "APPL":
            items += [bracketed("CLUSTER", ""), bracketed("COUNT", str(count)), bracketed("MOVCOUNT", "0")]
            items += [bracketed("BALANCED", "NOTAPPLIC")]
        elif about == "QMGR":
            items += [bracketed("ACTIVE", "YES"), bracketed("COUNT", str(count)), bracketed("MOVCOUNT", "0")]
            items += [bracketed("BALSTATE", "NOTAPPLIC"), bracketed("QMNAME", name)]
        else:
            items += [bracketed("CONNS", str(count)), bracketed("MOVABLE", "NO")]
        yield from columns([*items, bracketed("TYPE", about)])


def _applications(pattern: str, engine: Engine) -> tuple[str, dict[str, int]]:
    counts: dict[str, int] = {}
    for connection in engine.connections.values():
        application = connection.application[-28:]
        if matches(application, pattern):
            counts[application] = counts.get(application, 0) + 1
    return engine.name, counts


COMMANDS: Final[dict[tuple[str, str], Callable[[Statement], Action]]] = {
    ("DISPLAY", "USAGE"): usage,
    ("DISPLAY", "APSTATUS"): application_status,
}
