"""The sample programs: `ostler put`, `get`, `browse`, `request`, `respond`, `forward`, and those for topics.

Exit statuses: 0, 1 for wrong usage, 2 for an error of the queue manager.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Final

from ostler.cli.framework import commands
from ostler.cli.samples import bodies as sample_bodies
from ostler.cli.samples import connection as sample_connection
from ostler.cli.samples import output as sample_output
from ostler.cli.samples.bodies import positive, seconds
from ostler.cli.samples.connection import UsageError

Command = Callable[[argparse.Namespace], int]
if TYPE_CHECKING:
    Subparsers = argparse._SubParsersAction[argparse.ArgumentParser]

USAGE: Final = 1
REFUSED: Final = 2
PIPE_CLOSED: Final = 141
_BATCH: Final = 100
_REQUEST_SECONDS: Final = 10.0


def add_command(subparsers: Subparsers) -> None:
    """Adds all sample programs to the `ostler` command."""
    _add_put(subparsers)
    _add_get(subparsers)
    _add_browse(subparsers)
    _add_request(subparsers)
    _add_respond(subparsers)
    _add_forward(subparsers)
    _add_publish(subparsers)
    _add_subscribe(subparsers)
    _add_amqsrua(subparsers)


# -- options -----------------------------------------------------------------------------------------------------------


def _add_put(subparsers: Subparsers) -> None:
    parser = _program(subparsers, "put", "put messages on a queue", "Put messages on a queue.")
    _add_names(parser)
    sample_bodies.add_arguments(parser)
    group = parser.add_argument_group("how")
    group.add_argument("--batch", type=positive, default=1, metavar="N", help="commit after every N; else each alone")
    _add_quiet(group)
    sample_connection.add_arguments(parser)


def _add_get(subparsers: Subparsers) -> None:
    parser = _program(
        subparsers,
        "get",
        "take messages off a queue and show them",
        "Take a message off a queue and show it. What could not be shown stays on the queue.",
    )
    _add_names(parser)
    _add_which(parser, "1")
    sample_output.add_arguments(parser)
    sample_connection.add_arguments(parser)


def _add_browse(subparsers: Subparsers) -> None:
    parser = _program(
        subparsers, "browse", "show messages and leave them where they are", "Show the messages of a queue."
    )
    _add_names(parser)
    _add_which(parser, None)
    sample_output.add_arguments(parser)
    sample_connection.add_arguments(parser)


def _add_request(subparsers: Subparsers) -> None:
    parser = _program(
        subparsers, "request", "put requests and show the replies", "Put requests, wait for a reply to each, show them."
    )
    _add_names(parser)
    sample_bodies.add_arguments(parser)
    group = parser.add_argument_group("replies")
    group.add_argument(
        "--wait",
        type=seconds,
        default=_REQUEST_SECONDS,
        metavar="SECONDS",
        help="how long for each reply (%(default)s)",
    )
    group.add_argument("--details", action="store_true", help="show the replies' descriptors and properties, too")
    group.add_argument("--output-dir", type=Path, metavar="DIR", help="write each reply to a file there")
    _add_quiet(group)
    sample_connection.add_arguments(parser)


def _add_respond(subparsers: Subparsers) -> None:
    parser = _program(
        subparsers,
        "respond",
        "answer requests",
        "Answer the requests on a queue, until none comes within the wait. A request and its reply are one unit of "
        "work.",
    )
    _add_names(parser)
    group = parser.add_argument_group("replies", "Without any of these, the request's body is the reply.")
    kinds = group.add_mutually_exclusive_group()
    kinds.add_argument("--upper", action="store_true", help="the request in capitals")
    kinds.add_argument("--reply", metavar="TEXT", help="always this text")
    kinds.add_argument(
        "--command",
        dest="shell_command",
        metavar="COMMAND",
        help="what this shell command makes of the request on its input",
    )
    group = parser.add_argument_group("how many")
    group.add_argument("--count", type=positive, metavar="N", help="end after so many requests")
    group.add_argument("--wait", type=seconds, metavar="SECONDS", help="how long for each request; else for ever")
    _add_quiet(group)
    sample_connection.add_arguments(parser)


def _add_forward(subparsers: Subparsers) -> None:
    parser = _program(
        subparsers,
        "forward",
        "move messages from one queue to another",
        "Move messages from one queue to another as they are, with their identifiers and who put them. Dead letters go "
        "without their header. The target may be on another queue manager: give --to-manager, or --to-connection, or "
        "both.",
    )
    parser.add_argument("queue", metavar="QUEUE", help="where messages are")
    parser.add_argument("target", metavar="TARGET", help="where they go")
    parser.add_argument("queue_manager", nargs="?", metavar="QMGR", help="the queue manager")
    _add_which(parser, None)
    group = parser.add_argument_group("how")
    group.add_argument("--batch", type=positive, default=_BATCH, metavar="N", help="how many at a time (%(default)s)")
    group.add_argument("--keep-header", action="store_true", help="leave dead letters (MQDEAD) with their header")
    _add_quiet(group)
    parser.add_argument("--to-manager", metavar="QMGR", help="the queue manager of the target, if it is another")
    sample_connection.add_arguments(parser)
    sample_connection.add_arguments(parser, "to-")


def _add_publish(subparsers: Subparsers) -> None:
    parser = _program(
        subparsers, "publish", "publish messages to a topic", "Publish messages to a topic, as MQ's amqspub does."
    )
    _add_topic(parser)
    sample_bodies.add_arguments(parser)
    group = parser.add_argument_group("how")
    group.add_argument("--retain", action="store_true", help="keep the last one for those who subscribe later")
    group.add_argument("--batch", type=positive, default=1, metavar="N", help="commit after every N; else each alone")
    _add_quiet(group)
    sample_connection.add_arguments(parser)


def _add_subscribe(subparsers: Subparsers) -> None:
    parser = _program(
        subparsers,
        "subscribe",
        "subscribe to topics and show publications",
        "Subscribe to topics and show what is published, as MQ's amqssub does. + stands for one level of a topic, # "
        "for any number.",
    )
    _add_topic(parser)
    group = parser.add_argument_group("which publications")
    group.add_argument("--count", type=positive, metavar="N", help="end after so many")
    group.add_argument("--wait", type=_wait, metavar="SECONDS", help="how long for each; else for ever")
    group.add_argument("--selector", metavar="SQL", default="", help="that meet this condition, such as: price > 10")
    group.add_argument("--new-only", action="store_true", help="nothing that was retained before")
    group.add_argument("--characters", action="store_true", help="* and ? stand for characters; + and # for nothing")
    group = parser.add_argument_group("the subscription")
    group.add_argument("--name", metavar="NAME", help="durable: it stays, and the next who gives the name resumes it")
    group.add_argument("--remove", action="store_true", help="take the durable subscription away at the end")
    group.add_argument("--user-data", metavar="TEXT", default="", help="comes with each publication")
    _add_quiet(group)
    sample_output.add_arguments(parser)
    sample_connection.add_arguments(parser)


def _add_amqsrua(subparsers: Subparsers) -> None:
    parser = _program(
        subparsers,
        "amqsrua",
        "show the resources that a queue manager uses",
        "Show what a queue manager publishes about its use of resources, as MQ's amqsrua does: processors, disks, "
        "calls, queues. A class or type that is not given is asked for.",
    )
    parser.add_argument("-m", dest="queue_manager", metavar="QMGR", help="the queue manager; else the default one")
    parser.add_argument("-c", dest="resource_class", metavar="CLASS", default="", help="such as CPU or STATQ")
    parser.add_argument("-t", dest="resource_type", metavar="TYPE", default="", help="such as SystemSummary or PUT")
    parser.add_argument("-o", dest="object", metavar="NAME", default="", help="the queue, for data of single queues")
    parser.add_argument("-n", dest="count", type=positive, metavar="N", help="end after so many publications")
    parser.add_argument(
        "-p", dest="prefix", metavar="TOPIC", default="$SYS/MQ", help="where the tree of topics begins (%(default)s)"
    )
    parser.add_argument("--wait", type=_wait, metavar="SECONDS", help="how long for each publication; else for ever")
    parser.add_argument("--json", action="store_true", help="in JSON, a line for each publication")
    _add_quiet(parser.add_argument_group("output"))
    sample_connection.add_arguments(parser, has_short=False)


def _add_topic(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("topic", metavar="TOPIC", help="the topic string, such as prices/fruit")
    parser.add_argument("queue_manager", nargs="?", metavar="QMGR", help="the queue manager; else the default one")
    parser.add_argument("--object", metavar="NAME", default="", help="a topic object; its string goes before TOPIC")


def _program(subparsers: Subparsers, name: str, words: str, description: str) -> argparse.ArgumentParser:
    parser = commands.add_command(subparsers, name, words, description, USAGE)
    parser.set_defaults(run=partial(_run, name))
    return parser


def _add_names(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("queue", metavar="QUEUE", help="the queue")
    parser.add_argument("queue_manager", nargs="?", metavar="QMGR", help="the queue manager; else the default one")


def _add_quiet(group: argparse._ArgumentGroup) -> None:
    group.add_argument("-q", "--quiet", action="store_true", help="do not print the count")


def _add_which(parser: argparse.ArgumentParser, count: str | None) -> None:
    group = parser.add_argument_group("which messages")
    number = group.add_mutually_exclusive_group()
    number.add_argument("--count", type=positive, metavar="N", help=f"how many; else {count or 'all'}")
    number.add_argument("--all", action="store_true", help="all there are" if count else argparse.SUPPRESS)
    group.add_argument("--wait", type=_wait, default=0.0, metavar="SECONDS", help="for each message; or: forever")
    group.add_argument("--match-correl", type=sample_bodies.identifier, metavar="ID", help="with this correlation id")
    group.add_argument("--match-id", type=sample_bodies.identifier, metavar="ID", help="with this message id")
    group.add_argument("--selector", metavar="SQL", default="", help="that meet this condition, such as: price > 10")


def _wait(text: str) -> float | None:
    return None if text == "forever" else seconds(text)


# -- how they run ------------------------------------------------------------------------------------------------------


def _run(name: str, arguments: argparse.Namespace) -> int:
    # Loaded here, as help does not need them.
    from ostler.cli.samples import programs, resource_usage, topics

    all_programs: dict[str, Command] = {**programs.PROGRAMS, **topics.PROGRAMS, **resource_usage.PROGRAMS}
    return run_program(name, all_programs[name], arguments)


def run_program(name: str, program: Command, arguments: argparse.Namespace) -> int:
    """Runs a program; prints errors as one sentence and returns the exit status."""
    from ostler.engine.recovery.snapshot import FilesUnrelated, FormatNewer, SnapshotDamaged
    from ostler.log.errors import LogError
    from ostler.model.disk import DiskFailed, DiskFull
    from ostler.model.errors import MQError
    from ostler.server.config.ini_file import ConfigurationError

    try:
        return program(arguments)
    except UsageError as error:
        print(f"ostler {name}: {error}", file=sys.stderr)
        return USAGE
    except (SnapshotDamaged, FilesUnrelated, FormatNewer) as error:
        print(f"ostler {name}: the queue manager's files cannot be used: {error}", file=sys.stderr)
        return REFUSED
    except (MQError, LogError, DiskFull, DiskFailed, ConfigurationError) as error:
        print(f"ostler {name}: {error}", file=sys.stderr)
        return REFUSED
    except BrokenPipeError:
        # The reader is gone. Without this the interpreter would flush, and fail, again at exit.
        with suppress(OSError, ValueError), open(os.devnull, "wb") as nothing:
            os.dup2(nothing.fileno(), sys.stdout.fileno())
        return PIPE_CLOSED
