"""A queue manager in a process of its own, applications on its socket, and kill -9 in the middle of it all.

What the applications were told must be true of the next life: no message put and acknowledged is lost, none that was
got for good is there again, and none is there twice.
"""

from __future__ import annotations

import json
import random
import subprocess
import sys
import threading
import time
from collections import Counter
from pathlib import Path

from tests.world.wire_bench import Answer, Peer, dial, get, numbers, put

from ostler.model.constants import MQCC_OK, MQGMO_SYNCPOINT, MQGMO_WAIT, MQPMO_SYNCPOINT, MQRC_NO_MSG_AVAILABLE
from ostler.wire import frames as wire
from ostler.wire.put_get_frames import HELD, HELD_IF_PERSISTENT

QUEUE = "SYSTEM.DEFAULT.LOCAL.QUEUE"
PUTTERS = 3
GETTERS = 3

SCRIPT = """
import json, sys
from pathlib import Path
from ostler.server.config.directories import QueueManagerDirectory
from ostler.server.net.local_socket import socket_path
from ostler.server.config.qm_ini import LogSection
from ostler.server.queue_manager import QueueManager, create_queue_manager
from ostler.server.assembly import Server
from ostler.testing.without_security import disable_security

root = Path(sys.argv[1])
directory = QueueManagerDirectory(root, "KILLED")
if not directory.exists():
    directory = create_queue_manager(root, "KILLED", LogSection(primary_files=3, secondary_files=2, file_pages=128))
manager = QueueManager(directory)
manager.start()
server = Server(disable_security(manager))
if sys.argv[2] == "slow":  # leave the forces to the thread of the log
    server.reactor.inline_us_max = -1
server.start()
print(json.dumps({"path": str(socket_path(directory))}), flush=True)
sys.stdin.read()
server.end("immediate")
"""


class Life:
    """One life of the queue manager."""

    def __init__(self, root: Path, is_slow: bool) -> None:
        command = [sys.executable, "-c", SCRIPT, str(root), "slow" if is_slow else "quick"]
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        assert self._process.stdout is not None
        self.path = str(json.loads(self._process.stdout.readline())["path"])

    def peer(self) -> Peer:
        peer = dial(self.path)
        assert peer.hello().completion == MQCC_OK
        assert peer.connect().completion == MQCC_OK
        peer.open(QUEUE)
        return peer

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


class KillRounds:
    def __init__(self, root: Path, seed: int) -> None:
        self._root = root
        self._chance = random.Random(seed)
        self._turn = threading.Lock()
        self._number = 0
        self._round = 0
        self._put: set[str] = set()  # the queue manager said that they are there
        self._tried: set[str] = set()
        self._got: Counter[str] = Counter()  # it said that they are ours
        # Asked to be ours, and no answer came. Counted: when one gives a message back, another may have it in hands
        # before the first has read that it was given back.
        self._in_doubt: Counter[str] = Counter()
        self._unanswered = 0  # gets that may have taken a message which nobody has seen
        self.puts_told = 0
        self.gets_told = 0

    def run(self, seconds_max: float = 0.6) -> None:
        """One life under load, its end, and a look at what is left in the next one."""
        self._round += 1
        life = Life(self._root, self._round % 2 == 0)
        threads = [threading.Thread(target=self._work, args=(life, self._puts)) for _ in range(PUTTERS)]
        threads += [threading.Thread(target=self._work, args=(life, self._gets)) for _ in range(GETTERS)]
        for thread in threads:
            thread.start()
        time.sleep(self._chance.uniform(seconds_max / 3, seconds_max))
        life.kill()
        for thread in threads:
            thread.join()
        self._look()

    def _work(self, life: Life, work: object) -> None:
        chance = random.Random(self._chance.random())
        try:
            peer = life.peer()
            while True:
                work(peer, chance)  # type: ignore[operator]
        except (AssertionError, OSError):
            return  # the link is gone, as it has to be

    def _new(self) -> str:
        with self._turn:
            self._number += 1
            name = f"{self._round}.{self._number}"
            self._tried.add(name)
            return name

    def _puts(self, peer: Peer, chance: random.Random) -> None:
        names = [self._new() for _ in range(chance.randint(1, 4))]
        in_unit = chance.random() < 0.5
        options = MQPMO_SYNCPOINT if in_unit else 0
        padding = bytes(chance.choice((0, 500, 20_000)))
        # All at once, as a pipeline.
        bodies = [name.encode() + b" " + padding for name in names]
        peer.send(*(wire.frame(wire.PUT, 1, 10 + at, put(2, body, options, True)) for at, body in enumerate(bodies)))
        # A put may be refused: on a quick machine the queue fills up.
        in_hand: list[str] = []
        for at, name in enumerate(names):
            if peer.answer(10 + at).completion != MQCC_OK:
                continue
            if in_unit:
                in_hand.append(name)
            else:
                self._told_put(name)
        if in_unit and peer.ask(wire.COMMIT).completion == MQCC_OK:
            for name in in_hand:
                self._told_put(name)

    def _told_put(self, name: str) -> None:
        with self._turn:
            self._put.add(name)
            self.puts_told += 1

    def _gets(self, peer: Peer, chance: random.Random) -> None:
        way = chance.choice(("plain", "held", "held if persistent", "unit"))
        options = MQGMO_WAIT | (MQGMO_SYNCPOINT if way == "unit" else 0)
        flags = {"held": HELD, "held if persistent": HELD_IF_PERSISTENT}.get(way, 0)
        with self._turn:
            self._unanswered += way == "plain"
        answer = peer.ask(wire.GET, get(2, options, 50, flags), 20)
        with self._turn:
            self._unanswered -= way == "plain"
        if answer.reason == MQRC_NO_MSG_AVAILABLE:
            return
        name = name_of(answer)
        if way != "plain":
            with self._turn:
                self._in_doubt[name] += 1
            keeps = chance.random() < 0.8
            if flags:
                done = peer.ask(wire.SETTLE, numbers(20, keeps), 21)
            else:
                done = peer.ask(wire.COMMIT if keeps else wire.BACK, b"", 21)
            with self._turn:
                self._in_doubt[name] -= 1
            if not keeps or done.completion != MQCC_OK:
                return
        with self._turn:
            self._got[name] += 1
            self.gets_told += 1

    def _look(self) -> None:
        """Take all that is there in the next life, and compare."""
        life = Life(self._root, False)
        peer = life.peer()
        left: Counter[str] = Counter()
        while True:
            answer = peer.ask(wire.GET, get(2), 20)
            if answer.reason == MQRC_NO_MSG_AVAILABLE:
                break
            left[name_of(answer)] += 1
        peer.sock.close()
        life.end()
        assert [name for name, times in left.items() if times > 1] == [], "twice on the queue"
        assert [name for name, times in self._got.items() if times > 1] == [], "got twice"
        assert sorted(left.keys() & self._got.keys()) == [], "got, and there again"
        assert set(left) <= self._tried
        lost = self._put - left.keys() - self._got.keys() - {name for name, times in self._in_doubt.items() if times}
        assert len(lost) <= self._unanswered, f"lost: {sorted(lost)}"
        # The next round begins with an empty queue.
        self._put.clear()
        self._tried.clear()
        self._got.clear()
        self._in_doubt.clear()
        self._unanswered = 0


def name_of(answer: Answer) -> str:
    assert answer.completion == MQCC_OK, answer.reason
    return answer.body.split(b" ", 1)[0].decode()
