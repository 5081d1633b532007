"""`ostler stats`: shows the statistics and accounting messages of a queue manager.

Exit statuses: 0, 1 for wrong usage, 2 for an error of the queue manager.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Iterator
from contextlib import suppress
from typing import TYPE_CHECKING, Final

from ostler.cli.framework import commands
from ostler.cli.samples import connection as sample_connection
from ostler.cli.samples.bodies import seconds
from ostler.cli.samples.connection import UsageError

if TYPE_CHECKING:
    from ostler.client.api.connection import Connection
    from ostler.client.api.message import Message
    from ostler.observe.record_reader import Record

    Subparsers = argparse._SubParsersAction[argparse.ArgumentParser]

USAGE: Final = 1
REFUSED: Final = 2
PIPE_CLOSED: Final = 141
_STATISTICS: Final = "SYSTEM.ADMIN.STATISTICS.QUEUE"
_ACCOUNTING: Final = "SYSTEM.ADMIN.ACCOUNTING.QUEUE"
_KINDS: Final = {"mqi": "MQI", "queue": "Queue", "channel": "Channel"}
_BATCH: Final = 100


def add_command(subparsers: Subparsers) -> None:
    parser = commands.add_command(
        subparsers,
        "stats",
        "show statistics and accounting",
        "Show the statistics messages of a queue manager, or its accounting messages, and leave them where they are. "
        "ALTER QMGR STATMQI(ON) STATQ(ON) makes a queue manager write them.",
        USAGE,
    )
    parser.add_argument("queue_manager", nargs="?", metavar="QMGR", help="the queue manager; else the default one")
    group = parser.add_argument_group("which messages")
    group.add_argument("--accounting", action="store_true", help="what each connection did, instead of statistics")
    group.add_argument("--kind", choices=tuple(_KINDS), help="only those of verbs, of queues or of channels")
    group.add_argument("--queue", metavar="NAME", default="", help="only what is about this queue")
    group.add_argument("--take", action="store_true", help="take them off their queue")
    group.add_argument(
        "--follow", type=seconds, default=0.0, metavar="SECONDS", help="go on until none has come for so long"
    )
    group = parser.add_argument_group("how")
    group.add_argument("--json", action="store_true", help="one JSON object for each message, on a line of its own")
    group.add_argument("--zeros", action="store_true", help="show what is zero, too; JSON always has it")
    sample_connection.add_arguments(parser)
    parser.set_defaults(run=_run)


def _run(arguments: argparse.Namespace) -> int:
    from ostler.model.errors import MQError

    try:
        _show(arguments)
    except UsageError as error:
        print(f"ostler stats: {error}", file=sys.stderr)
        return USAGE
    except MQError as error:
        print(f"ostler stats: {error}", file=sys.stderr)
        return REFUSED
    except BrokenPipeError:
        # The reader is gone. Without this the interpreter would flush, and fail, again at exit.
        with suppress(OSError, ValueError), open(os.devnull, "wb") as nothing:
            os.dup2(nothing.fileno(), sys.stdout.fileno())
        return PIPE_CLOSED
    return 0


def _show(arguments: argparse.Namespace) -> None:
    from ostler.model.pcf import PcfError
    from ostler.observe.record_reader import read_record

    with sample_connection.connect(arguments, arguments.queue_manager) as connection:
        for message in _messages(connection, arguments):
            try:
                record = read_record(message.body if isinstance(message.body, bytes) else b"")
            except PcfError as error:
                print(f"ostler stats: skipped a message that is neither: {error}", file=sys.stderr)
                continue
            selected = _select_groups(record, arguments)
            if selected is None:
                continue
            if arguments.json:
                print(json.dumps(selected))
            else:
                print("\n".join(_lines(selected, arguments.zeros)), end="\n\n")


def _messages(connection: Connection, arguments: argparse.Namespace) -> Iterator[Message]:
    """Yields the messages one by one. Messages taken off the queue are committed after they are written out."""
    name = _ACCOUNTING if arguments.accounting else _STATISTICS
    if not arguments.take:
        with connection.open(name, "b") as queue, queue.browse(wait=arguments.follow) as browser:
            while (message := browser.next()) is not None:
                yield message
                if arguments.follow:
                    sys.stdout.flush()
        return
    with connection.open(name, "r") as queue:
        taken = 0
        while True:
            message = queue.get(syncpoint=True)
            if message is None or taken == _BATCH:
                sys.stdout.flush()
                connection.commit()
                taken = 0
            if message is None and arguments.follow:
                message = queue.get(syncpoint=True, wait=arguments.follow)
            if message is None:
                return
            taken += 1
            yield message


def _select_groups(record: Record, arguments: argparse.Namespace) -> Record | None:
    """Returns the record with the selected groups; None if there is nothing to show."""
    if arguments.kind and not str(record["RecordType"]).startswith(_KINDS[arguments.kind]):
        return None
    if not arguments.queue:
        return record
    shown: Record = {}
    has_groups = False
    for name, value in record.items():
        if isinstance(value, list) and value and isinstance(value[0], dict):
            groups = [each for each in value if isinstance(each, dict) and each.get("QName") == arguments.queue]
            if not groups:
                return None
            shown[name] = groups
            has_groups = True
        else:
            shown[name] = value
    return shown if has_groups else None


def _lines(record: Record, zeros: bool, indent: str = "") -> Iterator[str]:
    for name, value in record.items():
        if isinstance(value, list) and value and isinstance(value[0], dict):
            for number, group in enumerate(value):
                assert isinstance(group, dict)
                yield f"{indent}{name}: {number}"
                yield from _lines(group, zeros, indent + "  ")
        elif zeros or not _is_zero(value):
            yield f"{indent}{name}: {_text(value)}"


def _is_zero(value: object) -> bool:
    return value == 0 or (isinstance(value, list) and not any(value))


def _text(value: object) -> str:
    return f"'{value}'" if isinstance(value, str) else str(value)
