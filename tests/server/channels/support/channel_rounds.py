"""Stress rounds: two queue manager processes, channels both ways through relays, load and faults.

In each round applications put persistent and other messages on both sides, in and out of units of work, while relays
delay, hold and cut the connections and queue managers are killed with kill -9. Afterwards every acknowledged message
must have arrived once and in order, and the sync records of both sides must match.
"""

from __future__ import annotations

import json
import random
import subprocess
import sys
import threading
import time
from pathlib import Path

from tests.free_ports import free_port
from tests.world.channel_account import CERTAIN, MAYBE, Account, SentMessage

import ostler
from ostler.lab.runner.queue_managers.relay import BACK, FORWARD, Relay
from ostler.model.errors import MQError

NAMES = ("NEAR", "FAR")
PUTTERS = 2
_PATIENCE_SECONDS = 60.0
_PADDINGS = (0, 0, 200, 3_000, 60_000)

SCRIPT = """
import json, sys
from pathlib import Path
import ostler
from ostler.channel.sync_records import DESIRED_STATE
from ostler.command.mqsc.script import ScriptCounts, run_script
from ostler.server.config.directories import QueueManagerDirectory
from ostler.server.config.qm_ini import LogSection
from ostler.server.assembly import Server
from ostler.testing.without_security import disable_security

root, name, port = Path(sys.argv[1]), sys.argv[2], sys.argv[3]
is_first = not QueueManagerDirectory(root, name).exists()
manager = ostler.start(name, root, create=True, log=LogSection(file_pages=512), progress=False)
if is_first:
    disable_security(manager)
server = Server(manager)
server.start()

def mqsc(text):
    for answer in run_script(server.target, text, echo=False):
        assert not isinstance(answer, ScriptCounts) or not answer.exit_code, text

mqsc(f"DEFINE LISTENER(L) TRPTYPE(TCP) IPADDR(127.0.0.1) PORT({port}) REPLACE\\nSTART LISTENER(L)")
print("ready", flush=True)
for line in sys.stdin:
    order, _, text = line.strip().partition(" ")
    if order == "mqsc":
        mqsc(json.loads(text))
        print("done", flush=True)
    elif order == "state":
        with manager.lock:
            engine = manager.engine
            records = [(r.kind, r.channel, r.sequence, r.luwid.hex()) for r in server.channels.records.all()]
            print(json.dumps({
                "units": len(engine.units_of_work),
                "waiting": sum(queue.depth for queue in engine.queues.values() if queue.is_transmission),
                "records": sorted(record for record in records if record[0] != DESIRED_STATE),
                "notes": list(manager.notices)[-5:],
            }), flush=True)
server.end("immediate")
"""


class Life:
    """One life of a queue manager."""

    def __init__(self, root: Path, name: str, port: int) -> None:
        command = [sys.executable, "-c", SCRIPT, str(root), name, str(port)]
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        assert self._heard() == "ready"

    def _heard(self) -> str:
        assert self._process.stdout is not None
        line = self._process.stdout.readline().strip()
        assert line, f"the queue manager ended with status {self._process.wait(10)}"
        return line

    def _ask(self, order: str) -> str:
        assert self._process.stdin is not None
        self._process.stdin.write(f"{order}\n")
        self._process.stdin.flush()
        return self._heard()

    def mqsc(self, text: str) -> None:
        assert self._ask(f"mqsc {json.dumps(text)}") == "done"

    def state(self) -> dict[str, object]:
        found: dict[str, object] = json.loads(self._ask("state"))
        return found

    def kill(self) -> None:
        self._process.kill()
        self._gone()

    def end(self) -> None:
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._gone()

    def _gone(self) -> None:
        self._process.wait(60)
        for pipe in (self._process.stdin, self._process.stdout):
            if pipe is not None:
                pipe.close()


class Putter(threading.Thread):
    """An application that puts messages for the other side until it is stopped, across restarts of its side."""

    def __init__(self, root: Path, name: str, account: Account, turn: threading.Lock, label: str, seed: float) -> None:
        super().__init__()
        self._root = root
        self._name = name
        self._account = account
        self._turn = turn
        self._label = label
        self._chance = random.Random(seed)
        self._number = 0
        self.has_begun = threading.Event()
        self.is_over = threading.Event()

    def run(self) -> None:
        while not self.is_over.is_set():
            try:
                with _connected(self._root, self._name) as connection, connection.open("OUT", "w") as queue:
                    while not self.is_over.is_set():
                        self._put(connection, queue)
            except (MQError, OSError):
                # It was killed; its next life comes soon.
                self.is_over.wait(0.02)

    def _new(self, is_persistent: bool, unit: tuple[object, ...]) -> SentMessage:
        """Put a message, which is in doubt until the queue manager has acknowledged it."""
        self._number += 1
        body = f"{self._label}.{self._number} ".encode() + bytes(self._chance.choice(_PADDINGS))
        with self._turn:
            message = self._account.put(body, is_persistent, (self._label, is_persistent), unit)
            self._account.committed([message], 0)
            message.state = MAYBE
        return message

    def _put(self, connection: ostler.Connection, queue: ostler.Queue) -> None:
        in_unit = self._chance.random() < 0.5
        unit = (self._label, self._number)
        made: list[SentMessage] = []
        for _ in range(self._chance.randint(1, 5) if in_unit else 1):
            message = self._new(self._chance.random() < 0.7, unit)
            made.append(message)
            queue.put(message.body, persistent=message.is_persistent, syncpoint=in_unit)
        if in_unit:
            connection.commit()
        with self._turn:
            for message in made:
                message.state = CERTAIN
        self.has_begun.set()


class ChannelRounds:
    """`run` is one round. The first channel is fast, the other one is not."""

    def __init__(self, root: Path, seed: int) -> None:
        self._root = root
        self._chance = random.Random(seed)
        self._ports = [free_port(), free_port()]
        self._lives = [Life(root, name, port) for name, port in zip(NAMES, self._ports, strict=True)]
        self._relays = [Relay(self._ports[1]), Relay(self._ports[0])]
        self._turn = threading.Lock()
        self._round = 0
        self.committed = 0
        self.arrived = 0
        self.kills = 0
        self.cuts = 0
        for number in (0, 1):
            self._lives[number].mqsc(self._definitions(number))
        for number in (0, 1):
            self._lives[number].mqsc(f"START CHANNEL({_channel(number)})")

    def _definitions(self, number: int) -> str:
        other = NAMES[1 - number]
        speed = ("FAST", "NORMAL")
        return "\n".join(
            [
                f"DEFINE QLOCAL({other}) USAGE(XMITQ) MAXDEPTH(999999999)",
                "DEFINE QLOCAL(IN) MAXDEPTH(999999999)",
                "DEFINE QLOCAL(DEAD)",
                "ALTER QMGR DEADQ(DEAD)",
                f"DEFINE QREMOTE(OUT) RNAME(IN) RQMNAME({other}) XMITQ({other})",
                f"DEFINE CHANNEL({_channel(number)}) CHLTYPE(SDR) XMITQ({other}) BATCHSZ(20) +",
                f"NPMSPEED({speed[number]}) HBINT(2) +",
                f"CONNAME('127.0.0.1({self._relays[number].port})') SHORTRTY(999999999) SHORTTMR(1)",
                f"DEFINE CHANNEL({_channel(1 - number)}) CHLTYPE(RCVR) NPMSPEED({speed[1 - number]}) HBINT(2)",
            ]
        )

    def close(self) -> None:
        for life in self._lives:
            life.end()
        for relay in self._relays:
            relay.close()

    # -- a round -------------------------------------------------------------------------------------------------------

    def run(self) -> None:
        self._round += 1
        accounts = [Account(True), Account(False)]
        putters = [
            Putter(self._root, NAMES[number], account, self._turn, f"{self._round}.{name}", self._chance.random())
            for number, account in enumerate(accounts)
            for name in [f"{NAMES[number]}{each}" for each in range(PUTTERS)]
        ]
        kills, cuts = self.kills, self.cuts
        for putter in putters:
            putter.start()
        try:
            for putter in putters:
                assert putter.has_begun.wait(_PATIENCE_SECONDS)
            self._trouble()
        finally:
            for putter in putters:
                putter.is_over.set()
            for putter in putters:
                putter.join()
        # What is not persistent may be lost by a crash of either side, and by a cut where the channel is fast.
        for account in accounts:
            account.may_discard = self.kills > kills or (account.is_fast and self.cuts > cuts)
        self._settle(accounts)

    def _trouble(self) -> None:
        """Half of all rounds have no kills, so that less may be lost in them."""
        chance = self._chance
        kinds = chance.choices(["cut", "cut later", "hold", "delay", "refuse"], k=4)
        if self._round % 2:
            kinds += chance.choices(["kill", "kill", "kill both"], k=2)
        chance.shuffle(kinds)
        for kind in kinds:
            time.sleep(chance.uniform(0.05, 0.5))
            relay = chance.choice(self._relays)
            if kind == "cut":
                relay.cut()
                self.cuts += 1
            elif kind == "cut later":
                relay.cut(chance.randrange(1, 100_000), chance.choice([FORWARD, BACK]))
                self.cuts += 1
            elif kind == "hold":
                relay.hold()
                time.sleep(chance.uniform(0.01, 0.3))
                relay.resume()
            elif kind == "delay":
                relay.set_delay(chance.choice([0, 0.5, 5, 25]))
            elif kind == "refuse":
                relay.refuse()
                relay.cut()
                self.cuts += 1
                time.sleep(chance.uniform(0.01, 0.3))
                relay.accept()
            else:
                self._kill([0, 1] if kind == "kill both" else [chance.randrange(2)])

    def _kill(self, numbers: list[int]) -> None:
        for number in numbers:
            self._lives[number].kill()
            self.kills += 1
        for number in numbers:
            self._lives[number] = Life(self._root, NAMES[number], self._ports[number])

    # -- afterwards ----------------------------------------------------------------------------------------------------

    def _settle(self, accounts: list[Account]) -> None:
        """Let everything arrive, and compare."""
        for relay in self._relays:
            relay.set_delay(0)
        deadline = time.monotonic() + _PATIENCE_SECONDS
        while True:
            states = [life.state() for life in self._lives]
            if all(not state["units"] and not state["waiting"] for state in states):
                break
            assert time.monotonic() < deadline, f"no rest: {states}"
            time.sleep(0.05)
        for number, account in enumerate(accounts):
            self._take_all(1 - number, account)
            while account.missing() and time.monotonic() < deadline:
                # What travels outside batches may still be on its way.
                time.sleep(0.05)
                self._take_all(1 - number, account)
            account.check()
            committed, arrived = account.counts()
            self.committed += committed
            self.arrived += arrived
        self._check_agreement(states)

    def _take_all(self, number: int, account: Account) -> None:
        with _connected(self._root, NAMES[number]) as connection:
            for queue_name in ("IN", "DEAD"):
                with connection.open(queue_name, "r") as queue:
                    while (message := queue.get(syncpoint=False, wait=0)) is not None:
                        account.got(queue_name, message.data)

    def _check_agreement(self, states: list[dict[str, object]]) -> None:
        """Check that the sync records of both ends of a channel match."""
        for number in (0, 1):
            sent = [record[1:] for record in _records(states[number]) if record[:2] == [1, _channel(number)]]
            received = [record[1:] for record in _records(states[1 - number]) if record[:2] == [2, _channel(number)]]
            assert sent == received, (sent, received)


def _connected(root: Path, name: str) -> ostler.Connection:
    return ostler.connect(name, data=root, binding="local")


def _records(state: dict[str, object]) -> list[list[object]]:
    records = state["records"]
    assert isinstance(records, list)
    return records


def _channel(number: int) -> str:
    return f"{NAMES[number]}.TO.{NAMES[1 - number]}"
