"""Correct frames in any order, in any state, on several links that come and go: each request is answered once."""

from __future__ import annotations

import os
import random
import socket
from contextlib import ExitStack
from pathlib import Path

import pytest
from tests.server.channels.support.channel_bench import ChannelBench, channel_bench, check_nothing_left
from tests.world.hostile_channels import confirm, hello, message
from tests.world.hostile_frames import descriptor, subscribing
from tests.world.wire_bench import EVERYTHING, WireBench, get, numbers, put

from ostler.cli.framework.flavour import is_compiled
from ostler.model.attributes import ObjectType
from ostler.model.constants import (
    MQGMO_BROWSE_FIRST,
    MQGMO_BROWSE_NEXT,
    MQGMO_NO_SYNCPOINT,
    MQGMO_SYNCPOINT,
    MQGMO_WAIT,
    MQOT_Q,
    MQOT_TOPIC,
    MQPMO_RETAIN,
    MQPMO_SYNCPOINT,
    MQSO_CREATE,
    MQSO_DURABLE,
    MQSO_MANAGED,
    MQSO_RESUME,
)
from ostler.model.definitions import new_definition
from ostler.wire import frames as wire
from ostler.wire import segments
from ostler.wire.channel_frames import decode_channel_hello, hello_frame, luwid_of
from ostler.wire.connect_frames import ConnectArguments, Hello
from ostler.wire.object_frames import InquireArguments, OpenArguments, Put1Arguments
from ostler.wire.put_get_frames import HELD, HELD_IF_PERSISTENT, get_any_payload

STEPS = int(os.environ.get("OSTLER_WILD_STEPS", "6000" if is_compiled() else "1500"))
SEEDS = [int(os.environ["OSTLER_FUZZ_SEED"])] if "OSTLER_FUZZ_SEED" in os.environ else [1, 2, 3]
LINKS = 4
CONVERSATIONS = 3
QUEUES = ("Q", "Q2")
SIZES = (0, 10, 1_000, 200_000)
ARRIVALS = "ARRIVALS"  # of channels


class Wild:
    """One application that does whatever comes to its mind, and keeps account of what it asked."""

    def __init__(self, bench: WireBench, chance: random.Random) -> None:
        self._bench = bench
        self._chance = chance
        self.peer, self.link = bench.link()
        self._request = 10
        self.open: dict[int, int] = {}  # type by request number, of those not answered yet
        self.dropped: set[int] = set()  # their conversation was ended: an answer may come, or not
        self.streams: dict[int, int] = {}  # conversation by number
        self.held: list[tuple[int, int]] = []
        self.conversation_of: dict[int, int] = {}
        self.connected: set[int] = set()
        hello = Hello()
        hello.conversations_max = CONVERSATIONS
        hello.message_bytes_max = 1 << 20
        self._send(wire.HELLO, hello.encode(), 0)

    def _send(self, type: int, payload: bytes, conversation: int) -> int:
        self._request += 1
        self.open[self._request] = type
        self.conversation_of[self._request] = conversation
        self.peer.send(*segments.frames_of(type, conversation, self._request, payload, wire.SEGMENT_BYTES))
        return self._request

    def _tell(self, type: int, payload: bytes, conversation: int) -> None:
        self.peer.send(wire.frame(type, conversation, 0, payload))

    # -- what it does ---------------------------------------------------------------------------------------------

    def step(self) -> None:
        chance = self._chance
        conversation = chance.randint(1, CONVERSATIONS)
        if conversation not in self.connected:
            asked = ConnectArguments()
            asked.application = "wild"
            self._send(wire.CONNECT, asked.encode(), conversation)
            self.connected.add(conversation)
            return
        hobj = chance.choice((2, 2, 2, 3, 3, 4, 99))
        match chance.randrange(24):
            case 0 | 1:
                asked_open = OpenArguments(MQOT_Q, chance.choice(QUEUES), EVERYTHING)
                self._send(wire.OPEN, asked_open.encode(), conversation)
            case 2 | 3 | 4 | 5:
                self._put(hobj, conversation)
            case 6 | 7 | 8:
                self._get(hobj, conversation)
            case 9:
                self._send(chance.choice((wire.COMMIT, wire.BACK, wire.BEGIN)), b"", conversation)
            case 10 | 11:
                self._cancel()
            case 12:
                gets = [get(each, self._options(), -1) for each in chance.choices((2, 3, 4), k=chance.randint(1, 3))]
                self._send(wire.GET_ANY, get_any_payload(chance.choice((0, 50, -1)), gets), conversation)
            case 13:
                options = chance.choice((MQGMO_NO_SYNCPOINT, MQGMO_BROWSE_FIRST, MQGMO_SYNCPOINT))
                payload = numbers(chance.randint(0, 5)) + get(hobj, options)
                number = self._send(wire.STREAM, payload, conversation)
                self.streams[number] = conversation
            case 14 | 15:
                self._steer()
            case 16:
                self._settle()
            case 17:
                self._send(wire.CLOSE, numbers(hobj, 0), conversation)
            case 20:
                self._subscribe(conversation)
            case 21:
                self._send(wire.SUBSCRIPTION_REQUEST, numbers(hobj, 1, 0), conversation)
            case 22 | 23:
                self._publish(hobj, conversation)
            case 18:
                self._send(wire.INQUIRE, InquireArguments(hobj, [3, 2016], [], b"").encode(), conversation)
            case _:
                if chance.random() < 0.3:
                    self._disconnect(conversation)

    def _options(self) -> int:
        return MQGMO_WAIT | self._chance.choice((MQGMO_NO_SYNCPOINT, MQGMO_SYNCPOINT, MQGMO_BROWSE_NEXT))

    def _put(self, hobj: int, conversation: int) -> None:
        chance = self._chance
        options = chance.choice((0, 0, MQPMO_SYNCPOINT))
        payload = put(hobj, bytes(chance.choice(SIZES)), options, chance.random() < 0.5)
        if chance.random() < 0.1 and len(payload) < wire.SEGMENT_BYTES - wire.HEADER_BYTES:
            self._tell(wire.PUT, payload, conversation)
        else:
            self._send(wire.PUT, payload, conversation)

    def _subscribe(self, conversation: int) -> None:
        chance = self._chance
        name = chance.choice(("", "", "WILD ONE", "WILD TWO"))
        options = MQSO_CREATE | MQSO_RESUME | (MQSO_DURABLE if name else 0)
        is_managed = chance.random() < 0.7
        topic = chance.choice(("wild/#", "wild/+", "wild/one"))
        payload = subscribing(options | MQSO_MANAGED if is_managed else options, topic, name, 0 if is_managed else 2)
        self._send(wire.SUBSCRIBE, payload, conversation)

    def _publish(self, hobj: int, conversation: int) -> None:
        """To a topic, or with a level to whatever is open."""
        chance = self._chance
        options = chance.choice((0, MQPMO_SYNCPOINT, MQPMO_RETAIN))
        data = bytes(chance.choice(SIZES))
        if chance.random() < 0.3:
            payload = numbers(chance.randint(-1, 10)) + put(hobj, data, options, chance.random() < 0.5)
            self._send(wire.PUBLISH, payload, conversation)
            return
        target = OpenArguments(MQOT_TOPIC, "", 0)
        target.object_string = chance.choice(("wild/one", "wild/two", "tame"))
        payload = Put1Arguments(target, options, 0, descriptor(), b"", data).encode()
        if chance.random() < 0.5:
            self._send(wire.PUBLISH1, numbers(chance.randint(0, 9)) + payload, conversation)
        else:
            self._send(wire.PUT1, payload, conversation)

    def _get(self, hobj: int, conversation: int) -> None:
        chance = self._chance
        options = self._options() if chance.random() < 0.6 else 0
        flags = chance.choice((HELD, HELD_IF_PERSISTENT)) if chance.random() < 0.3 else 0
        length = chance.choice((0, 100, 1 << 20))
        number = self._send(wire.GET, get(hobj, options, chance.choice((0, 50, -1)), flags, length), conversation)
        if flags:
            self.held.append((number, conversation))

    def _cancel(self) -> None:
        waiting = [number for number, type in self.open.items() if type in (wire.GET, wire.GET_ANY)]
        if waiting:
            number = self._chance.choice(waiting)
            self._tell(wire.CANCEL, numbers(number), self.conversation_of[number])

    def _steer(self) -> None:
        if self.streams:
            number = self._chance.choice(list(self.streams))
            conversation = self.streams[number]
            if self._chance.random() < 0.6:
                self._tell(wire.CREDIT, numbers(number, self._chance.randint(1, 5)), conversation)
            else:
                self.end_stream(number)

    def end_stream(self, number: int) -> None:
        conversation = self.streams.pop(number)
        self.open.pop(number, None)
        self.dropped.add(number)
        self._send(wire.UNSTREAM, numbers(number), conversation)

    def _settle(self) -> None:
        if self.held:
            number, conversation = self.held.pop(self._chance.randrange(len(self.held)))
            if conversation in self.connected and number not in self.open:
                self._send(wire.SETTLE, numbers(number, self._chance.randrange(2)), conversation)

    def _disconnect(self, conversation: int) -> None:
        for number in [number for number in self.open if self.conversation_of[number] == conversation]:
            del self.open[number]
            self.dropped.add(number)
            self.streams.pop(number, None)
        self.held = [each for each in self.held if each[1] != conversation]
        self.connected.discard(conversation)
        self._send(wire.DISCONNECT, numbers(self._chance.randrange(2)), conversation)

    # -- what it hears --------------------------------------------------------------------------------------------

    def hear(self, passes: int = 1) -> None:
        for answer in self.peer.answers(passes):
            number = answer.request
            assert answer.type != wire.FAREWELL, answer.payload
            if answer.type == wire.MESSAGE:
                assert number in self.streams or number in self.dropped
                if answer.completion == 2 and number in self.streams:
                    del self.streams[number]
                    del self.open[number]
                continue
            type = self.open.pop(number, 0)
            assert answer.type == type | wire.REPLY or number in self.dropped, (answer, type)
        assert not self.peer.closed

    def finish(self) -> None:
        """Nothing that was asked stays without an answer."""
        for number in list(self.streams):
            self.end_stream(number)
        for _ in range(2_000):
            for number, type in list(self.open.items()):
                if type in (wire.GET, wire.GET_ANY):
                    self._tell(wire.CANCEL, numbers(number), self.conversation_of[number])
            self.hear(3)
            if not self.open:
                break
        assert self.open == {}


@pytest.mark.parametrize("seed", SEEDS)
def test_whatever_they_do_each_request_is_answered_once(wire_bench: WireBench, seed: int) -> None:
    chance = random.Random(seed)
    wire_bench.define("Q2", MAXDEPTH=40)
    applications = [Wild(wire_bench, chance) for _ in range(LINKS)]
    with ExitStack() as log:
        for step in range(STEPS):
            if step % 200 == 100:
                log.enter_context(wire_bench.log_stands_still())
            if step % 200 == 130:
                log.close()
                wire_bench.sleep_ms = 0
            application = chance.choice(applications)
            if chance.random() < 0.005:
                application.peer.close()
                applications.remove(application)
                applications.append(Wild(wire_bench, chance))
                continue
            application.step()
            if chance.random() < 0.5:
                chance.choice(applications).hear()
            if chance.random() < 0.02:
                wire_bench.later(100)
    for application in applications:
        application.finish()
    assert wire_bench.reactor.counters.internal_errors == 0
    for application in applications:
        application.peer.close()
    wire_bench.turn(3)
    wire_bench.check_nothing_left()
    engine = wire_bench.manager.engine
    left = list(engine.topics.subscriptions.values())
    assert all(each.is_durable and each.connection == 0 for each in left)
    managed = {name for name in engine.queues if name.startswith("SYSTEM.MANAGED.")}
    assert managed == {each.destination for each in left if each.is_managed}


class WildSender:
    """A sending end that says correct things in any order, sometimes a wrong one, goes and comes back."""

    def __init__(self, bench: ChannelBench, chance: random.Random, partner: str) -> None:
        self._bench = bench
        self._chance = chance
        self.partner = partner
        self._socks: list[socket.socket] = []
        self._batches: list[tuple[int, int, int]] = []  # number, messages, last sequence number
        self._number = 0
        self._sequence = 0
        self._luwid = 0
        self._is_open = False
        self.committed = 0
        self.fast = 0

    def step(self) -> None:
        if not self._is_open:
            self._connect()
            return
        match self._chance.randrange(20):
            case 0:
                self._connect()  # the old connection is given up
            case 1:
                self._socks[-1].close()
                self._is_open = False
            case 2:
                self._say(self._chance.choice(self._wrong()))
            case 3 | 4 | 5:
                self._say(message(ARRIVALS, 0, 0, 0))
                self.fast += 1
            case 6 | 7 | 8 | 9 | 10 if self._batches:
                self._confirm()
            case _:
                self._send()

    def _wrong(self) -> list[bytes]:
        next_one = self._sequence + 1
        return [
            message(ARRIVALS, next_one + 1, 1),
            message(ARRIVALS, self._sequence, 1),
            confirm(next_one, self._number + 7),
            hello_frame(hello("TO.HERE", self.partner)),
            wire.frame(wire.REKEY, 0, 1),
            wire.frame(wire.FAREWELL, 0, 0, b""),
            b"\xff" * 16,
        ]

    def _say(self, *frames: bytes) -> list[tuple[int, bytes]]:
        answers, closed = self._bench.say(self._socks[-1], *frames)
        self._is_open = not closed
        return answers

    def _connect(self) -> None:
        sock, _ = self._bench.stranger()
        self._socks.append(sock)
        (answer,) = self._say(hello_frame(hello("TO.HERE", self.partner)))
        agreed = decode_channel_hello(answer[1], 8)
        assert agreed.sequence == self.committed
        assert agreed.luwid == luwid_of(self._luwid)
        self._batches = []
        self._sequence = self.committed

    def _send(self) -> None:
        if not self._batches or (len(self._batches) < 8 and self._chance.random() < 0.4):
            self._number += 1
            self._batches.append((self._number, 0, 0))
        number, count, _ = self._batches[-1]
        if count < 50:
            self._sequence += 1
            self._batches[-1] = (number, count + 1, self._sequence)
            assert self._say(message(ARRIVALS, self._sequence, number)) == []

    def _confirm(self) -> None:
        number, count, last = self._batches.pop(0)
        self._luwid += 1
        (answer,) = self._say(confirm(last, number, count, luwid_of(self._luwid)))
        assert answer[0] == wire.CHANNEL_CONFIRM | wire.REPLY
        self.committed = last

    def close(self) -> None:
        for sock in self._socks:
            sock.close()


@pytest.mark.parametrize("seed", SEEDS)
def test_wild_senders_lose_and_double_nothing(tmp_path: Path, seed: int) -> None:
    """What was confirmed is there once, what was not is not, whatever else was said in between."""
    chance = random.Random(seed)
    with channel_bench(tmp_path) as bench:
        bench.manager.define(new_definition(ObjectType.QLOCAL, ARRIVALS, {"MAXDEPTH": 100_000}))
        senders = [WildSender(bench, chance, f"QM{number}") for number in range(3)]
        for _ in range(STEPS // 6):
            chance.choice(senders).step()
        for sender in senders:
            sender.close()
        bench.settle()
        check_nothing_left(bench)
        expected = sum(sender.committed + sender.fast for sender in senders)
        assert bench.manager.engine.queues[ARRIVALS].depth == expected
