"""A queue manager killed under programs that get persistent messages outside syncpoint with the Python API.

What a get returned is never there again. A message is missing only when its own get failed and named it as in doubt.
"""

from __future__ import annotations

import asyncio
import json
import random
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import Any

from tests.free_ports import free_port

import ostler
from ostler.model.constants import MQRC_CALL_INTERRUPTED, MQRC_CONNECTION_BROKEN

CHANNEL = "APP.SVRCONN"
QUEUE = "TAKEN"
DONE = "DONE"
SECONDS_MAX = 120.0

SCRIPT = """
import json, sys
from pathlib import Path
from ostler.model.attributes import ObjectType
from ostler.model.definitions import new_definition
from ostler.server.config.directories import QueueManagerDirectory
from ostler.server.config.qm_ini import LogSection
from ostler.server.queue_manager import QueueManager, create_queue_manager
from ostler.server.assembly import Server
from ostler.testing.without_security import disable_security

root, port = Path(sys.argv[1]), int(sys.argv[2])
directory = QueueManagerDirectory(root, "KILLED")
is_new = not directory.exists()
if is_new:
    directory = create_queue_manager(root, "KILLED", LogSection(primary_files=3, secondary_files=2, file_pages=256))
manager = QueueManager(directory)
manager.start()
if is_new:
    manager.define(new_definition(ObjectType.QLOCAL, "TAKEN", {"MAXDEPTH": 100000}))
    manager.define(new_definition(ObjectType.QLOCAL, "DONE", {"MAXDEPTH": 100000}))
    manager.define(new_definition(ObjectType.CHANNEL, "APP.SVRCONN", {"CHLTYPE": "SVRCONN", "TRPTYPE": "TCP"}))
    attributes = {"PORT": port, "IPADDR": "127.0.0.1", "CONTROL": "MANUAL"}
    manager.define(new_definition(ObjectType.LISTENER, "TCP", attributes))
server = Server(disable_security(manager))
server.start()
server.start_listener("TCP")
print(json.dumps({"runs": True}), flush=True)
sys.stdin.read()
server.end("immediate")
"""


class KilledManager:
    """A queue manager in a process of its own, at the same address in every life."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.port = free_port()
        self.begin()

    def begin(self) -> None:
        command = [sys.executable, "-c", SCRIPT, str(self.root), str(self.port)]
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        assert self._process.stdout is not None
        assert json.loads(self._process.stdout.readline())["runs"]

    def kill(self) -> None:
        self._process.kill()
        self._gone()

    def end(self) -> None:
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._gone()

    def _gone(self) -> None:
        self._process.wait(SECONDS_MAX)
        for pipe in (self._process.stdin, self._process.stdout):
            if pipe is not None:
                pipe.close()

    def arguments(self, reconnect: bool) -> dict[str, Any]:
        address = f"127.0.0.1({self.port})"
        return {"connection_name": address, "channel": CHANNEL, "reconnect": reconnect}

    def connect(self, reconnect: bool = False) -> ostler.Connection:
        return ostler.connect("KILLED", **self.arguments(reconnect))


class GetRounds:
    def __init__(self, root: Path, seed: int, messages: int = 400) -> None:
        self._chance = random.Random(seed)
        self._messages = messages
        self._numbers: dict[str, str] = {}  # of message identifiers
        self._got: list[str] = []
        self._in_doubt: set[str] = set()
        self._mark = 0  # the kill comes when so many were got
        self._is_over = False
        self._reached = threading.Event()
        self.acknowledged = 0
        self.manager = KilledManager(root)

    def run(self, way: str, reconnect: bool, kills: int = 1) -> None:
        """Fill the queue, have it emptied by a program over so many kills, and compare."""
        self._fill()
        if reconnect:
            killer = threading.Thread(target=self._kill_and_begin, args=(kills,))
            killer.start()
            self._work(way, reconnect)
            self._is_over = True
            self._reached.set()
            killer.join()
        else:
            for _ in range(kills):
                killer = threading.Thread(target=self._kill)
                killer.start()
                self._work(way, reconnect)
                self._is_over = True
                self._reached.set()
                killer.join()
                self._is_over = False
                self.manager.begin()
        self._is_over = False
        self._compare()

    # -- the queue manager ---------------------------------------------------------------------------------------------

    def _fill(self) -> None:
        self._numbers.clear()
        self._got.clear()
        self._in_doubt.clear()
        with self.manager.connect() as qm, qm.transaction(), qm.open(QUEUE, "w") as queue:
            for number in range(self._messages):
                made = queue.put(str(number), persistent=True)
                self._numbers[made.message_id.hex()] = str(number)

    def _kill(self) -> None:
        self._reached.clear()
        self._mark = len(self._got) + self._chance.randint(1, self._messages // 20)
        assert self._is_over or self._reached.wait(SECONDS_MAX), "the program gets nothing"
        time.sleep(self._chance.uniform(0, 0.003))  # somewhere within the next get
        self.manager.kill()

    def _kill_and_begin(self, kills: int) -> None:
        for _ in range(kills):
            if self._is_over:
                break
            self._kill()
            self.manager.begin()

    def _compare(self) -> None:
        with self.manager.connect() as qm, qm.open(QUEUE) as queue, qm.open(DONE) as done:
            left = Counter(str(message.body) for message in queue)
            handled = [str(message.body) for message in done]
        self._got += handled
        got = Counter(self._got)
        self.acknowledged += len(got)
        assert [name for name, times in left.items() if times > 1] == [], "twice on the queue"
        assert [name for name, times in got.items() if times > 1] == [], "got twice"
        assert sorted(left.keys() & got.keys()) == [], "got, and there again"
        lost = set(self._numbers.values()) - left.keys() - got.keys()
        assert lost <= self._in_doubt, f"lost: {sorted(lost - self._in_doubt)}"

    # -- the programs --------------------------------------------------------------------------------------------------

    def _work(self, way: str, reconnect: bool) -> None:
        ways: dict[str, Callable[[bool], None]] = {
            "main thread": self._get_by_thread,
            "other thread": self._get_by_other_thread,
            "task": lambda again: asyncio.run(self._get_by_task(again)),
            "consumer": self._consume_by_threads,
            "task consumer": lambda again: asyncio.run(self._consume_by_task(again)),
        }
        ways[way](reconnect)

    def _took(self, name: str) -> None:
        self._got.append(name)
        if len(self._got) >= self._mark:
            self._reached.set()

    def _goes_on(self, error: ostler.MQError, reconnect: bool) -> bool:
        """Note what an error says is in doubt. False: the connection is gone."""
        assert error.reason in (MQRC_CALL_INTERRUPTED, MQRC_CONNECTION_BROKEN), error
        self._in_doubt |= {number for known, number in self._numbers.items() if known in error.detail}
        return reconnect and error.reason == MQRC_CALL_INTERRUPTED

    def _get_by_thread(self, reconnect: bool) -> None:
        with self.manager.connect(reconnect) as qm, qm.open(QUEUE, "r") as queue:
            while True:
                try:
                    message = queue.get(wait=0.5)
                except ostler.MQError as error:
                    if not self._goes_on(error, reconnect):
                        return
                    continue
                if message is None:
                    return
                self._took(str(message.body))

    def _get_by_other_thread(self, reconnect: bool) -> None:
        with ThreadPoolExecutor(1) as pool:
            pool.submit(self._get_by_thread, reconnect).result(SECONDS_MAX)

    async def _get_by_task(self, reconnect: bool) -> None:
        qm = await ostler.aio.connect("KILLED", **self.manager.arguments(reconnect))
        async with qm, await qm.open(QUEUE, "r") as queue:
            while True:
                try:
                    message = await queue.get(wait=0.5)
                except ostler.MQError as error:
                    if not self._goes_on(error, reconnect):
                        return
                    continue
                if message is None:
                    return
                self._took(str(message.body))

    # A handler may see a message again whose unit of work was not committed; what it puts is there once.

    def _consume_by_threads(self, reconnect: bool) -> None:
        seen: set[str] = set()

        def handle(message: ostler.Message, connection: ostler.Connection) -> None:
            connection.put(DONE, message.text, persistent=True)
            seen.add(message.text)
            if len(seen) >= self._mark:
                self._reached.set()

        try:
            with self.manager.connect(reconnect) as qm, qm.open(QUEUE, "r") as queue:
                consumer = queue.consume(handle, threads=2)
                deadline = time.monotonic() + SECONDS_MAX
                while len(seen) < self._messages and consumer.is_running:
                    assert time.monotonic() < deadline, f"{len(seen)} of {self._messages} were handled"
                    threading.Event().wait(0.01)
                if reconnect:
                    consumer.stop()
        except ostler.MQError as error:
            self._goes_on(error, reconnect)

    async def _consume_by_task(self, reconnect: bool) -> None:
        seen: set[str] = set()

        async def handle(message: ostler.Message, connection: ostler.aio.Connection) -> None:
            await connection.put(DONE, message.text, persistent=True)
            seen.add(message.text)
            if len(seen) >= self._mark:
                self._reached.set()

        try:
            qm = await ostler.aio.connect("KILLED", **self.manager.arguments(reconnect))
            async with qm, await qm.open(QUEUE, "r") as queue:
                consuming = asyncio.create_task(queue.consume(handle))
                deadline = time.monotonic() + SECONDS_MAX
                while len(seen) < self._messages and not consuming.done():
                    assert time.monotonic() < deadline, f"{len(seen)} of {self._messages} were handled"
                    await asyncio.sleep(0.01)
                consuming.cancel()
                with suppress(asyncio.CancelledError):
                    await consuming
        except ostler.MQError as error:
            self._goes_on(error, reconnect)
