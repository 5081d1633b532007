"""The process that runs the demonstration's queue manager, so that it can be killed.

It says what it does in lines of JSON on its standard output; `ostler demo` reads them. What it says was acknowledged
was acknowledged before it said so.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from pathlib import Path
from typing import Final

import ostler
from ostler.cli.demo_account import LOAD, NAME, NONPERSISTENT, PERSISTENT, UNCOMMITTED, ranges
from ostler.client.api import Connection
from ostler.client.mqi import get_message, put_message
from ostler.client.queue_handle import Queue
from ostler.model.constants import MQCC_OK, MQGMO_NO_SYNCPOINT, MQPMO_NO_SYNCPOINT
from ostler.model.structures.gmo import MQGMO
from ostler.model.structures.md import MQMD
from ostler.model.structures.pmo import MQPMO

EXCHANGE: Final = "DEMO.EXCHANGE"
BODY_BYTES: Final = 1024
OPEN_PUTS: Final = 10
OPEN_GETS: Final = 10

_MESSAGES_PER_UNIT: Final = 100
_MESSAGES_PER_LOOK: Final = 10  # at the clock
_EXCHANGE_SECONDS: Final = 1.0
_LOAD_SECONDS_MAX: Final = 30.0
_RAW: Final = "non-persistent, raw verbs"
# What is exchanged: a name, persistent or not, in syncpoint or not.
_EXCHANGES: Final = (
    ("non-persistent", False, False),
    ("non-persistent, in units of 100", False, True),
    ("persistent, each durable by itself", True, False),
    ("persistent, in units of 100", True, True),
)


def say(event: str, **details: object) -> None:
    sys.stdout.write(json.dumps({"event": event, **details}) + "\n")
    sys.stdout.flush()


def numbered(number: int) -> bytes:
    return str(number).encode().ljust(BODY_BYTES, b".")


def number_of(message: ostler.Message) -> int:
    return int(message.data.rstrip(b"."))


def before(directory: Path, messages: int) -> None:
    """Start, exchange messages, leave some, and go on until killed."""
    began = time.perf_counter()
    connection = ostler.connect(NAME, data=directory)
    say("started", seconds=time.perf_counter() - began)
    for name in (PERSISTENT, NONPERSISTENT, LOAD, EXCHANGE):
        connection.define("QLOCAL", name, MAXDEPTH=999_999_999)
    with connection.open(EXCHANGE) as queue:
        queue.put("the first message")
        queue.get()
        say("first")
        exchange(connection, queue, messages)
    leave(connection, messages)
    unit = leave_unit_open(connection)
    say("unit", puts=OPEN_PUTS, gets=OPEN_GETS)
    put_until_killed(connection)
    unit.close(commit=False)
    sys.exit("nobody ended this process, so it ends itself")


def exchange(connection: Connection, queue: Queue, messages: int) -> None:
    say("exchanging", name=_RAW)
    count, seconds = _exchange_raw(connection, queue, messages)
    say("exchanged", name=_RAW, messages=count, seconds=seconds)
    for name, persistent, syncpoint in _EXCHANGES:
        say("exchanging", name=name)
        began = time.perf_counter()
        end = began + _EXCHANGE_SECONDS
        count = 0
        while count < messages and time.perf_counter() < end:
            batch = min(_MESSAGES_PER_UNIT if syncpoint else _MESSAGES_PER_LOOK, messages - count)
            if syncpoint:
                _exchange_units(connection, queue, batch, persistent)
            else:
                for number in range(batch):
                    queue.put(numbered(number), persistent=persistent)
                    queue.get()
            count += batch
        say("exchanged", name=name, messages=count, seconds=time.perf_counter() - began)


def _exchange_units(connection: Connection, queue: Queue, batch: int, persistent: bool) -> None:
    with connection.transaction():
        for number in range(batch):
            queue.put(numbered(number), persistent=persistent)
    with connection.transaction():
        for _ in range(batch):
            queue.get()


def _exchange_raw(connection: Connection, queue: Queue, messages: int) -> tuple[int, float]:
    md, pmo, gmo = MQMD.default(), MQPMO.default(), MQGMO.default()
    MQMD.patch(md, "Persistence", 0)
    MQPMO.patch(pmo, "Options", MQPMO_NO_SYNCPOINT)
    MQGMO.patch(gmo, "Options", MQGMO_NO_SYNCPOINT)
    descriptor, put_options, get_options, body = bytes(md), bytes(pmo), bytes(gmo), numbered(0)
    began = time.perf_counter()
    end = began + _EXCHANGE_SECONDS
    for number in range(messages):
        put_message(connection.hconn, queue.hobj, descriptor, put_options, body)
        code = get_message(connection.hconn, queue.hobj, descriptor, get_options, BODY_BYTES)[4]
        assert code == MQCC_OK
        if number % _MESSAGES_PER_UNIT == 0 and time.perf_counter() > end:
            break
    return number + 1, time.perf_counter() - began


def leave(connection: Connection, messages: int) -> None:
    """Put messages to be found, or not, after the restart."""
    with connection.open(PERSISTENT, "w") as queue:
        for first in range(1, messages + 1, _MESSAGES_PER_UNIT):
            last = min(first + _MESSAGES_PER_UNIT - 1, messages)
            with connection.transaction():
                for number in range(first, last + 1):
                    queue.put(numbered(number), persistent=True)
            say("acknowledged", queue=PERSISTENT, through=last)
    with connection.open(NONPERSISTENT, "w") as queue:
        for number in range(1, messages + 1):
            queue.put(numbered(number), persistent=False)
        say("acknowledged", queue=NONPERSISTENT, through=messages)


def leave_unit_open(connection: Connection) -> Connection:
    """A unit of work of another connection that has got and put messages, and is not committed."""
    other = connection.clone()
    with other.open(PERSISTENT) as queue:
        for _ in range(OPEN_GETS):
            queue.get(syncpoint=True)
        for number in range(OPEN_PUTS):
            queue.put(numbered(UNCOMMITTED + number), persistent=True, syncpoint=True)
    return other


def put_until_killed(connection: Connection) -> None:
    """Persistent messages one by one, each acknowledged as soon as the queue manager has said so."""
    end = time.monotonic() + _LOAD_SECONDS_MAX
    number = 0
    with connection.open(LOAD, "w") as queue:
        while time.monotonic() < end:
            number += 1
            queue.put(numbered(number), persistent=True)
            say("acknowledged", queue=LOAD, through=number)


def after(directory: Path) -> None:
    """Start again, say what is there, and end in good order."""
    began = time.perf_counter()
    manager = ostler.start(NAME, data=directory, progress=lambda done, total: say("replaying", done=done, total=total))
    summary = manager.restart
    say(
        "restarted",
        seconds=time.perf_counter() - began,
        records=summary.records,
        messages=summary.messages,
        units=summary.units_backed_out,
    )
    with ostler.connect(manager) as connection:
        for name in (PERSISTENT, NONPERSISTENT, LOAD):
            with connection.open(name, "b") as queue:
                # Browsed, not got: with --keep the messages are still there to be looked at.
                numbers = [number_of(message) for message in queue.browse()]
                say("found", queue=name, depth=queue.depth, numbers=ranges(numbers))
    manager.end("immediate")


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m ostler.cli.demo_worker", description=__doc__)
    parser.add_argument("part", choices=("before", "after"))
    parser.add_argument("directory", type=Path)
    parser.add_argument("--messages", type=int, default=10_000)
    arguments = parser.parse_args()
    if arguments.part == "before":
        before(arguments.directory, arguments.messages)
    else:
        after(arguments.directory)


if __name__ == "__main__":
    main()
