"""Random commands, cuts and messages: channels reach the right state, and each message arrives once."""

from __future__ import annotations

import contextlib
import random

import pytest
from tests.searching import examples
from tests.server.channels.support.channel_proxy import BACK, FORWARD, Proxy
from tests.server.channels.support.channel_routes import Route, Routes, eventually

from ostler.testing import MqscError, RunningQueueManager
from ostler.wire.frames import CHANNEL_CONFIRM, CHANNEL_END, CHANNEL_HELLO, CHANNEL_MESSAGE, REPLY

KINDS = [("SDR", "RCVR"), ("SVR", "RQSTR"), ("SDR", "RQSTR"), ("SVR", "RCVR")]
FRAMES = [
    (FORWARD, CHANNEL_HELLO),
    (BACK, CHANNEL_HELLO | REPLY),
    (FORWARD, CHANNEL_MESSAGE),
    (FORWARD, CHANNEL_CONFIRM),
    (BACK, CHANNEL_CONFIRM | REPLY),
    (FORWARD, CHANNEL_END),
    (BACK, CHANNEL_END | REPLY),
]
COMMANDS = [
    "START CHANNEL({})",
    "START CHANNEL({})",
    "STOP CHANNEL({})",
    "STOP CHANNEL({}) STATUS(INACTIVE)",
    "STOP CHANNEL({}) MODE(FORCE)",
    "STOP CHANNEL({}) MODE(TERMINATE) STATUS(INACTIVE)",
    "PING CHANNEL({})",
    "DISPLAY CHSTATUS({}) ALL",
    "DISPLAY CHSTATUS({}) SAVED",
]


class Work:
    """Everything that may happen to some channels, by chance."""

    def __init__(self, seed: int, routes: Routes, proxies: list[Proxy]) -> None:
        self.chance = random.Random(seed)
        self.proxies = proxies
        self.ways: list[Route] = []
        for kinds in KINDS:
            there, here = proxies
            calls = kinds[0] == "SDR" or self.chance.random() < 0.5 or kinds[1] == "RCVR"
            size = self.chance.choice([1, 3, 50])
            interval, pause = self.chance.choice([0, 5]), self.chance.choice([0, 1])
            sender = f"SHORTRTY(999999999) SHORTTMR({pause}) BATCHSZ({size}) BATCHINT({interval})"
            if calls:
                sender += f" CONNAME('127.0.0.1({there.port})')"
            receiver = f"CONNAME('127.0.0.1({here.port})')" if kinds[1] == "RQSTR" else ""
            self.ways.append(routes(sender, receiver, kinds=kinds))
        self.sent = {way.channel: 0 for way in self.ways}

    def step(self) -> None:
        way = self.chance.choice(self.ways)
        what = self.chance.random()
        if what < 0.35:
            self.put(way, self.chance.choice([1, 5, 20]))
        elif what < 0.5:
            direction, frame = self.chance.choice(FRAMES)
            self.chance.choice(self.proxies).cut_at(direction, frame, self.chance.random() < 0.5)
        elif what < 0.55:
            self.chance.choice(self.proxies).hang_up()
        elif what < 0.6:
            self.end_a_connection((way.here, way.there)[self.chance.randrange(2)])
        else:
            where = way.here if self.chance.random() < 0.7 else way.there
            with contextlib.suppress(MqscError):
                where.mqsc(self.chance.choice(COMMANDS).format(way.channel))

    def end_a_connection(self, where: RunningQueueManager) -> None:
        """As STOP CONN does, of a channel."""
        with where.manager.lock:
            connections = where.manager.engine.connections.values()
            numbers = [int(each.number) for each in connections if each.application.startswith("CHANNEL ")]
        if numbers:
            where.manager.break_connection(self.chance.choice(numbers))

    def put(self, way: Route, count: int) -> None:
        first = self.sent[way.channel]
        self.sent[way.channel] = first + count
        way.put(*[b"%d" % number for number in range(first, first + count)])

    def calm(self) -> None:
        """Nothing bad happens any more: let all that was put arrive."""
        for proxy in self.proxies:
            proxy.cut_at(FORWARD, -1)
        for way in self.ways:
            self.put(way, 1)
            eventually(lambda way=way: self.is_running(way), f"{way.channel} {way.kinds}")  # type: ignore[misc]

    def is_running(self, way: Route) -> bool:
        if way.state() == "RUNNING":
            return True
        for where in (way.here, way.there):
            with contextlib.suppress(MqscError):
                where.mqsc(f"START CHANNEL({way.channel})")
        return False


@pytest.mark.parametrize("seed", range(examples(3)))
def test_channels_in_wild_times(pair: list[RunningQueueManager], seed: int) -> None:
    routes = Routes(*pair)
    with Proxy(pair[1].port) as there, Proxy(pair[0].port) as here:
        work = Work(seed, routes, [there, here])
        for _ in range(60):
            work.step()
        work.calm()
        for way in work.ways:
            count = work.sent[way.channel]
            assert way.bodies(count) == [b"%d" % number for number in range(count)], (seed, way.kinds)
            way.settled()
            assert way.there.depth(way.target) == 0
        routes.close()
    for qm in pair:
        assert qm.server.is_serving()
        assert not [note for note in qm.manager.notices if "AMQ6109" in note]
