"""`ostler dead-letters`: lists and shows dead letters, puts them back to their destination, or drops them.

Exit statuses are those of the sample programs: 0, 1 for wrong usage, 2 for an error of the queue manager, also if it
rejected only some of the messages.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Callable, Iterator
from functools import partial
from typing import Final

from ostler.cli.framework import commands
from ostler.cli.framework.commands import CommandParser
from ostler.cli.samples import connection as sample_connection
from ostler.cli.samples.bodies import positive, property_lines
from ostler.cli.samples.connection import UsageError, connect
from ostler.cli.samples.json_lines import header_json, json_of
from ostler.cli.samples.output import describe_message, header_lines, printable, text_of
from ostler.cli.samples.progress import MessageProgress
from ostler.cli.samples.samples import REFUSED, USAGE, run_program
from ostler.client.api.connection import Connection
from ostler.client.api.dead_letter_header import reason_number
from ostler.client.api.dead_letters import DeadLetter, DeadLetterQueue, DeadLetterResult
from ostler.server.config.directories import QueueManagerDirectory, data_root

_DESCRIPTION: Final = """Work with dead letters: messages that could not be delivered, on the dead-letter queue with a
header (MQDLH) that has the reason. QUEUE defaults to the queue manager's DEADQ. A single name is that of a queue
manager, if there is one of that name here, else of a queue."""
_TIME: Final = "%Y-%m-%d %H:%M:%S"
_HEADINGS: Final = f"{'MESSAGE ID':48}  {'DEAD SINCE (UTC)':19}  {'REASON':32}  {'BYTES':>9}  DESTINATION, PUT BY"


def add_command(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = commands.add_command(
        subparsers, "dead-letters", "list, show, put back and drop dead letters", _DESCRIPTION, USAGE
    )
    actions = parser.add_subparsers(
        dest="action", metavar="ACTION", title="actions", required=True, parser_class=CommandParser
    )
    listing = _action(actions, "list", "list dead letters, a line each", _list)
    listing.add_argument("--count", type=positive, metavar="N", help="so many at most")
    showing = _action(actions, "show", "show dead letters with all fields of their headers", _show)
    showing.add_argument("--count", type=positive, metavar="N", help="so many at most")
    retrying = _action(actions, "retry", "put dead letters back to their destination, without their header", _retry)
    retrying.add_argument("--to", metavar="QUEUE", default="", help="put them on this queue instead")
    retrying.add_argument("--to-manager", metavar="QMGR", default="", help="of this queue manager, if it is another")
    dropping = _action(actions, "drop", "take dead letters off the queue for good", _drop)
    for changing in (retrying, dropping):
        changing.add_argument("-y", "--yes", action="store_true", help="do it without asking")
        changing.add_argument("-q", "--quiet", action="store_true", help="do not print the count")


def _action(
    actions: argparse._SubParsersAction[CommandParser],
    name: str,
    purpose: str,
    run: Callable[[argparse.Namespace], int],
) -> CommandParser:
    parser = actions.add_parser(
        name, help=purpose, description=f"{purpose[0].upper()}{purpose[1:]}.", allow_abbrev=False
    )
    parser.usage_status = USAGE
    parser.add_argument("queue", nargs="?", metavar="QUEUE", default="", help="the queue; else DEADQ")
    parser.add_argument("queue_manager", nargs="?", metavar="QMGR", help="the queue manager; else the default one")
    group = parser.add_argument_group("which ones", "Without any of these: all. Those that meet all conditions count.")
    group.add_argument(
        "--id",
        dest="ids",
        action="append",
        type=_hexadecimal,
        default=[],
        metavar="HEX",
        help="message id, or its first digits",
    )
    group.add_argument("--reason", type=_reason, metavar="REASON", help="such as 2053, MQRC_Q_FULL or Q_FULL")
    group.add_argument(
        "--destination", metavar="QUEUE[@QMGR]", default="", help="where they were to go; * stands for any characters"
    )
    group.add_argument("--all", action="store_true", help="all there are")
    parser.add_argument("--json", dest="is_json", action="store_true", help="for programs: JSON, a line each")
    sample_connection.add_arguments(parser)
    parser.set_defaults(run=partial(run_program, "dead-letters", run))
    return parser


def _hexadecimal(text: str) -> str:
    digits = text.lower().removeprefix("0x")
    if not digits or any(digit not in "0123456789abcdef" for digit in digits):
        raise argparse.ArgumentTypeError(f"{text!r} are no hexadecimal digits")
    return digits


def _reason(text: str) -> int:
    number = reason_number(text)
    if number is None:
        raise argparse.ArgumentTypeError(f"{text!r} is neither a number nor the name of a reason")
    return number


# -- selection ---------------------------------------------------------------------------------------------------------


def _open(arguments: argparse.Namespace) -> tuple[Connection, DeadLetterQueue]:
    """Connects and finds the queue. Raises MQError without one."""
    queue: str = arguments.queue
    manager: str | None = arguments.queue_manager
    is_alone = queue and manager is None and not arguments.connection
    if is_alone and QueueManagerDirectory(data_root(os.environ), queue).exists():
        queue, manager = "", queue
    connection = connect(arguments, manager)
    try:
        return connection, DeadLetterQueue(connection, queue)
    except BaseException:
        connection.close(commit=False)
        raise


def _select(arguments: argparse.Namespace, letters: Iterator[DeadLetter]) -> Iterator[DeadLetter]:
    limit: int | None = getattr(arguments, "count", None)
    found = 0
    for letter in letters:
        if _is_selected(arguments, letter):
            yield letter
            found += 1
            if limit is not None and found >= limit:
                return


def _is_selected(arguments: argparse.Namespace, letter: DeadLetter) -> bool:
    header = letter.header
    if arguments.ids and not any(letter.message.message_id.hex().startswith(each) for each in arguments.ids):
        return False
    if arguments.reason is not None and (header is None or header.reason != arguments.reason):
        return False
    if arguments.destination:
        return header is not None and _matches(arguments.destination, header.queue, header.manager)
    return True


def _matches(pattern: str, queue: str, manager: str) -> bool:
    from fnmatch import fnmatchcase

    wanted_queue, _, wanted_manager = pattern.partition("@")
    return fnmatchcase(queue, wanted_queue or "*") and fnmatchcase(manager, wanted_manager or "*")


# -- actions -----------------------------------------------------------------------------------------------------------


def _list(arguments: argparse.Namespace) -> int:
    connection, dead = _open(arguments)
    with connection, MessageProgress(f"looking at {dead.name}", None, not sys.stdout.isatty()) as progress:
        for letter in _select(arguments, dead.letters()):
            if arguments.is_json:
                print(json.dumps(_summary(letter)))
            else:
                if progress.count == 0:
                    print(_HEADINGS)
                print(_line(letter))
            progress.advance()
        if progress.count == 0 and not arguments.is_json:
            print(f"There are none on {dead.name} of {connection.name}.", file=sys.stderr)
    return 0


def _line(letter: DeadLetter) -> str:
    message, header = letter.message, letter.header
    moment = message.put_time if header is None else header.put_time
    when = f"{moment:{_TIME}}" if moment is not None else ""
    why, where = "(no dead-letter header)", f", {message.application}"
    if header is not None:
        why = f"{header.reason} {header.reason_name}"
        where = f"{header.destination}, {header.application}"
    identifier = message.message_id.hex()
    return f"{identifier:48}  {when:19}  {why:32}  {letter.body_bytes:>9}  {printable(where)}"


def _summary(letter: DeadLetter) -> dict[str, object]:
    message, header = letter.message, letter.header
    values: dict[str, object] = {"message_id": message.message_id.hex(), "bytes": letter.body_bytes}
    values["persistent"] = message.persistent
    values["message_put_time"] = message.put_time.isoformat() if message.put_time is not None else None
    values["dead_letter"] = header_json(header) if header is not None else None
    return values


def _show(arguments: argparse.Namespace) -> int:
    connection, dead = _open(arguments)
    found = 0
    with connection:
        for letter in _select(arguments, dead.letters()):
            found += 1
            original = letter.original()
            if arguments.is_json:
                values = json_of(original)
                values["dead_letter"] = header_json(letter.header) if letter.header is not None else None
                print(json.dumps(values))
                continue
            print(f"-- dead letter {found}: {describe_message(original)}")
            lines = header_lines(letter.header) if letter.header is not None else ["no dead-letter header"]
            for line in (*lines, *property_lines(original.properties)):
                print(f"   {printable(line)}")
            print(printable(text_of(original)))
    if found == 0:
        print(f"There are none on {dead.name}.", file=sys.stderr)
        return REFUSED if arguments.ids else 0
    return 0


def _retry(arguments: argparse.Namespace) -> int:
    if arguments.to_manager and not arguments.to:
        raise UsageError("--to-manager goes with --to QUEUE")
    where = f"put back on {arguments.to}" if arguments.to else "put back"
    return _change(
        arguments,
        "Put back",
        where,
        lambda dead, tokens, on_progress: dead.retry(tokens, arguments.to, arguments.to_manager, on_progress),
    )


def _drop(arguments: argparse.Namespace) -> int:
    return _change(arguments, "Drop", "dropped", lambda dead, tokens, on_progress: dead.drop(tokens, on_progress))


def _change(
    arguments: argparse.Namespace,
    verb: str,
    done: str,
    act: Callable[[DeadLetterQueue, list[bytes], Callable[[int], None]], DeadLetterResult],
) -> int:
    """Counts the letters, asks for confirmation on a terminal, then acts on exactly those that were counted."""
    connection, dead = _open(arguments)
    with connection:
        names = {each.token: each.message.message_id.hex() for each in _select(arguments, dead.letters())}
        of_them = f"{len(names)} {'message' if len(names) == 1 else 'messages'} of {dead.name}"
        is_selective = bool(arguments.ids or arguments.reason is not None or arguments.destination)
        if not (is_selective or arguments.all or arguments.yes):
            raise UsageError(f"{of_them} would be {done}: give --all, or select with --id, --reason or --destination")
        if not arguments.yes:
            _refuse_ambiguous(arguments.ids, list(names.values()))
        if names and not arguments.yes and sys.stdin.isatty() and not _confirm(f"{verb} {of_them}? [y/N] "):
            return USAGE
        with MessageProgress(f"{dead.name}", len(names)) as progress:

            def on_progress(count: int) -> None:
                while progress.count < count:
                    progress.advance()

            outcome = act(dead, list(names), on_progress)
        for token, error in outcome.refused.items():
            print(f"ostler dead-letters: message {names[token]} stays on {dead.name}: {error}", file=sys.stderr)
        _print_summary(arguments, dead, done, len(names), outcome)
        return REFUSED if outcome.refused or (arguments.ids and not names) else 0


def _refuse_ambiguous(wanted: list[str], found: list[str]) -> None:
    """Raises UsageError if the first digits of an identifier match several letters: most identifiers begin alike."""
    for each in wanted:
        matches = sum(identifier.startswith(each) for identifier in found)
        if matches > 1 and each not in found:
            raise UsageError(f"--id {each} means {matches} messages: give more digits, or --yes for all of them")


def _confirm(question: str) -> bool:
    print(question, end="", file=sys.stderr, flush=True)
    return sys.stdin.readline().strip().lower() in ("y", "yes")


def _print_summary(
    arguments: argparse.Namespace, dead: DeadLetterQueue, done: str, chosen: int, outcome: DeadLetterResult
) -> None:
    if arguments.is_json:
        values = {"queue": dead.name, "chosen": chosen, "done": outcome.done, "refused": len(outcome.refused)}
        print(json.dumps(values))
    elif not arguments.quiet:
        gone = chosen - outcome.done - len(outcome.refused)
        words = [f"{outcome.done} of {chosen} messages of {dead.name} {done}"]
        words += [f"{len(outcome.refused)} stay there"] if outcome.refused else []
        words += [f"{gone} went meanwhile"] if gone else []
        print(", ".join(words), file=sys.stderr)
