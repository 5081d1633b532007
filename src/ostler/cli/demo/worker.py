"""The applications of the demonstration, each in a process of its own.

They report events as lines of JSON on standard output, which `ostler demo` reads. A message is reported as
acknowledged only after the queue manager has acknowledged it.
"""

from __future__ import annotations

import argparse
import json
import sys
import threading
import time
from pathlib import Path
from typing import Final

import ostler
from ostler.cli.demo.account import CHANNEL, LOAD, NAME, NONPERSISTENT, PERSISTENT, UNCOMMITTED, ranges
from ostler.cli.demo.server import EXCHANGE, HOST, REQUESTS
from ostler.client.api.connection import Connection
from ostler.client.api.queue import Queue
from ostler.model import constants as mq

BODY_BYTES: Final = 1024
REQUEST_BYTES: Final = 2048
OPEN_PUTS: Final = 10
OPEN_GETS: Final = 10

_MESSAGES_PER_UNIT: Final = 100
_MESSAGES_PER_CLOCK_READ: Final = 10
_EXCHANGE_SECONDS: Final = 1.0
_REQUEST_SECONDS: Final = 2.0
_LOAD_SECONDS_MAX: Final = 30.0
_WAIT_SECONDS: Final = 30.0
_LAST: Final = b"the last request"
# What is exchanged: a name, persistent or not, in syncpoint or not.
_EXCHANGES: Final = (
    ("non-persistent", False, False),
    ("non-persistent, in units of 100", False, True),
    ("persistent, each durable by itself", True, False),
    ("persistent, in units of 100", True, True),
)


class DemoApplication:
    """The connection and the amount of work that all parts share."""

    def __init__(self, arguments: argparse.Namespace) -> None:
        self._root: Path = arguments.directory
        self._binding: str = arguments.binding
        self._port: int = arguments.port
        self.messages: int = arguments.messages
        self.threads: int = arguments.threads
        self.is_embedded = self._binding == "embedded"

    def connect(self) -> Connection:
        if self._binding == "client":
            return ostler.connect(NAME, f"{HOST}({self._port})", channel=CHANNEL, application="demo")
        if self._binding == "local":
            return ostler.connect(NAME, data=self._root, binding="local", application="demo")
        return ostler.connect(NAME, data=self._root, binding="embedded", create=True, application="demo")


def report(event: str, **details: object) -> None:
    sys.stdout.write(json.dumps({"event": event, **details}) + "\n")
    sys.stdout.flush()


def numbered_body(number: int) -> bytes:
    return str(number).encode().ljust(BODY_BYTES, b".")


def number_of(message: ostler.Message) -> int:
    return int(message.data.rstrip(b"."))


# -- messages put and got by one program -------------------------------------------------------------------------------


def exchange(application: DemoApplication) -> None:
    with application.connect() as connection:
        if application.is_embedded:
            connection.define("QLOCAL", EXCHANGE, MAXDEPTH=999_999_999)
        with connection.open(EXCHANGE) as queue:
            for name, persistent, syncpoint in _EXCHANGES:
                report("exchanging", name=name)
                began = time.perf_counter()
                count = _exchange(connection, queue, application.messages, persistent, syncpoint)
                report("exchanged", name=name, messages=count, seconds=time.perf_counter() - began)


def _exchange(connection: Connection, queue: Queue, messages: int, persistent: bool, syncpoint: bool) -> int:
    """Exchanges messages for a second at most; returns their number."""
    end = time.perf_counter() + _EXCHANGE_SECONDS
    count = 0
    while count < messages and time.perf_counter() < end:
        batch = min(_MESSAGES_PER_UNIT if syncpoint else _MESSAGES_PER_CLOCK_READ, messages - count)
        if syncpoint:
            _exchange_units(connection, queue, batch, persistent)
        else:
            for number in range(batch):
                queue.put(numbered_body(number), persistent=persistent)
                queue.get()
        count += batch
    return count


def _exchange_units(connection: Connection, queue: Queue, batch: int, persistent: bool) -> None:
    with connection.transaction():
        for number in range(batch):
            queue.put(numbered_body(number), persistent=persistent)
    with connection.transaction():
        for _ in range(batch):
            queue.get()


# -- request and reply -------------------------------------------------------------------------------------------------


def respond(application: DemoApplication) -> None:
    """Answers requests, with a connection for each thread, until each has received a last one."""
    responders = [threading.Thread(target=_respond, args=(application,)) for _ in range(application.threads)]
    for each in responders:
        each.start()
    report("ready")
    for each in responders:
        each.join()


def _respond(application: DemoApplication) -> None:
    with application.connect() as connection, connection.open(REQUESTS, "r") as queue:
        while True:
            message = queue.get(wait=_WAIT_SECONDS)
            if message is None or message.data == _LAST:
                return
            connection.reply(message, message.data)


def request(application: DemoApplication) -> None:
    """Puts requests and waits for each reply, with a connection for each thread; reports number and times."""
    ready = threading.Barrier(application.threads + 1)
    taken: list[float] = []
    failures: list[ostler.MQError] = []
    requesters = [
        threading.Thread(target=_request, args=(application, ready, taken, failures))
        for _ in range(application.threads)
    ]
    for each in requesters:
        each.start()
    try:
        ready.wait(_WAIT_SECONDS)
    except threading.BrokenBarrierError:
        if failures:
            raise failures[0] from None
        raise
    began = time.perf_counter()
    for each in requesters:
        each.join()
    seconds = time.perf_counter() - began
    taken.sort()
    report(
        "answered",
        requests=len(taken),
        seconds=seconds,
        median=taken[len(taken) // 2],
        slow=taken[len(taken) * 99 // 100],
    )


def _request(
    application: DemoApplication, ready: threading.Barrier, taken: list[float], failures: list[ostler.MQError]
) -> None:
    body = bytes(REQUEST_BYTES)
    own: list[float] = []
    with application.connect() as connection:
        try:
            connection.request(REQUESTS, body, wait=_WAIT_SECONDS)  # creates the reply queue
        except ostler.MQError as error:
            failures.append(error)
            ready.abort()  # the others must not wait for this one
            return
        ready.wait(_WAIT_SECONDS)
        now = time.perf_counter()
        end = now + _REQUEST_SECONDS
        while now < end:
            began = now
            reply = connection.request(REQUESTS, body, wait=_WAIT_SECONDS)
            now = time.perf_counter()
            assert reply.data == body
            own.append(now - began)
    taken.extend(own)


def dismiss(application: DemoApplication) -> None:
    """Ends the responders."""
    with application.connect() as connection, connection.open(REQUESTS, "w") as queue:
        for _ in range(application.threads):
            queue.put(_LAST)


# -- before and after the kill -----------------------------------------------------------------------------------------


def before(application: DemoApplication) -> None:
    """Leaves messages on queues, and puts more until the queue manager is killed."""
    connection = application.connect()
    leave(connection, application.messages)
    unit = leave_unit_open(connection)
    report("unit", puts=OPEN_PUTS, gets=OPEN_GETS)
    try:
        put_until_killed(connection)
    except ostler.MQError as error:
        if error.reason != mq.MQRC_CONNECTION_BROKEN:
            raise
        report("broken", reason=error.reason)
        return
    unit.close(commit=False)
    sys.exit("the queue manager was not killed in time")


def leave(connection: Connection, messages: int) -> None:
    """Puts messages that are expected, or not, after the restart."""
    with connection.open(PERSISTENT, "w") as queue:
        for first in range(1, messages + 1, _MESSAGES_PER_UNIT):
            last = min(first + _MESSAGES_PER_UNIT - 1, messages)
            with connection.transaction():
                for number in range(first, last + 1):
                    queue.put(numbered_body(number), persistent=True)
            report("acknowledged", queue=PERSISTENT, through=last)
    with connection.open(NONPERSISTENT, "w") as queue:
        for number in range(1, messages + 1):
            queue.put(numbered_body(number), persistent=False)
        report("acknowledged", queue=NONPERSISTENT, through=messages)


def leave_unit_open(connection: Connection) -> Connection:
    """Leaves a unit of work with gets and puts uncommitted on another connection, which is returned."""
    other = connection.clone()
    with other.open(PERSISTENT) as queue:
        for _ in range(OPEN_GETS):
            queue.get(syncpoint=True)
        for number in range(OPEN_PUTS):
            queue.put(numbered_body(UNCOMMITTED + number), persistent=True, syncpoint=True)
    return other


def put_until_killed(connection: Connection) -> None:
    """Puts persistent messages one by one, and reports each when it is acknowledged."""
    end = time.monotonic() + _LOAD_SECONDS_MAX
    number = 0
    queue = connection.open(LOAD, "w")
    while time.monotonic() < end:
        number += 1
        queue.put(numbered_body(number), persistent=True)
        report("acknowledged", queue=LOAD, through=number)


def after(application: DemoApplication) -> None:
    """Reports the messages found after the restart."""
    with application.connect() as connection:
        for name in (PERSISTENT, NONPERSISTENT, LOAD):
            with connection.open(name, "b") as queue:
                # Browsed, so that the messages stay with --keep.
                numbers = [number_of(message) for message in queue.browse()]
                report("found", queue=name, depth=queue.depth, numbers=ranges(numbers))


PARTS: Final = {
    "exchange": exchange,
    "respond": respond,
    "request": request,
    "dismiss": dismiss,
    "before": before,
    "after": after,
}


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m ostler.cli.demo.worker", description=__doc__)
    parser.add_argument("part", choices=PARTS)
    parser.add_argument("directory", type=Path)
    parser.add_argument("--binding", choices=("embedded", "local", "client"), default="local")
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--messages", type=int, default=10_000)
    parser.add_argument("--threads", type=int, default=1)
    arguments = parser.parse_args()
    PARTS[arguments.part](DemoApplication(arguments))


if __name__ == "__main__":
    main()
