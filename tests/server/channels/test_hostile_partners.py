"""Hostile partners that this queue manager connects to, and TLS: no other effects."""

from __future__ import annotations

import contextlib
import random
import shutil
import socket
import threading
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import psutil
import pytest
from tests.server.channels.support.channel_bench import (
    ASKED,
    BACK,
    FILES_MAX,
    FRAMES,
    IN,
    OUT,
    QUEUE,
    SEED,
    ChannelBench,
    channel_bench,
    check_nothing_left,
    define,
    farewell,
    put_out,
    resynchronize,
    types,
)
from tests.server.net.test_hostile_frames import Bystander
from tests.world import hostile_channels
from tests.world.hostile_channels import (
    ChannelMangler,
    confirm,
    hello,
    message,
)

from ostler.model import constants as mq
from ostler.server.tls.certificate_maker import Authority
from ostler.server.tls.contexts import ChannelTls, RepositorySettings, TlsContexts
from ostler.testing import MqscError, queue_manager
from ostler.wire import frames as wire
from ostler.wire.channel_frames import (
    REQUESTS,
    ChannelHello,
    hello_frame,
    welcome_frame,
)
from ostler.wire.frames import FrameReader
from ostler.wire.replies import failure_frame, reason_payload
from ostler.wire.tls_stream import TlsFailed


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[ChannelBench]:
    with channel_bench(tmp_path) as made:
        yield made


# -- the sending end, and a partner that was called --------------------------------------------------------------------


@pytest.mark.parametrize("name", [OUT, BACK])
def test_mutated_frames_of_those_who_were_called_harm_nobody(bench: ChannelBench, name: str) -> None:
    if name == OUT:
        put_out(bench, 20, 1000)
        welcome: Callable[[ChannelHello], bytes] = partial(welcome_frame, 1)
        corpus = hostile_channels.from_receiver(OUT)
    else:
        welcome = hello_frame
        corpus = hostile_channels.from_sender(BACK, QUEUE)
    beginnings = [welcome(hello(name))] * 60 + hostile_channels.odd_hellos(name, welcome)
    mangler = ChannelMangler(beginnings, corpus, SEED)
    bystander = Bystander(bench)
    descriptors = psutil.Process().num_fds()
    while mangler.frames_made < FRAMES // 4:
        ours = bench.call(name)
        bench.say(ours, mangler.conversation())
        bench.leave(ours)
        bench.calm(name)
        resynchronize(bench)
        bystander.check()
        bench.clear(QUEUE)
    bystander.close()
    bench.settle()
    check_nothing_left(bench)
    assert psutil.Process().num_fds() <= descriptors + FILES_MAX


def test_mutated_frames_of_requesters_harm_nobody(bench: ChannelBench) -> None:
    put_out(bench, 20, 1000, "SERVES.XMITQ")
    asks = hello_frame(hello(ASKED, purpose=REQUESTS))
    welcome = partial(welcome_frame, 1)
    answers = [welcome(hello(ASKED))] * 60 + hostile_channels.odd_hellos(ASKED, welcome)
    mangler = ChannelMangler([asks + each for each in answers], hostile_channels.from_receiver(ASKED), SEED)
    bystander = Bystander(bench)
    while mangler.frames_made < FRAMES // 4:
        ours, _ = bench.stranger()
        bench.say(ours, mangler.conversation())
        bench.leave(ours)
        resynchronize(bench)
        bystander.check()
    bystander.close()
    bench.settle()
    assert bench.manager.engine.queues["SERVES.XMITQ"].depth == 20
    check_nothing_left(bench)


def test_odd_answers_to_pings() -> None:
    """PING CHANNEL says what is wrong, whoever answers, and nothing else notices."""
    odd = hostile_channels.odd_hellos("PINGED", partial(welcome_frame, 1))
    good = welcome_frame(1, hello("PINGED"))
    echo = wire.frame(wire.CHANNEL_PING | wire.REPLY, 0, 1, b"not what was sent")
    answers = [b"", b"\xff" * 64, good + echo, good + good, *odd[:: max(1, len(odd) // 12)]]
    answers.append(welcome_frame(1, hello("PINGED"))[:-30])
    answers.append(wire.frame(wire.FAREWELL, 0, 0, reason_payload(2059, "AMQ²²²²: \n no")))
    answers.append(failure_frame(wire.CHANNEL_HELLO, 0, 1, mq.MQCC_FAILED, -1, "\n\x1b[2J"))
    with socket.create_server(("127.0.0.1", 0)) as door, queue_manager("PINGING") as qm:
        address = f"127.0.0.1({door.getsockname()[1]})"
        qm.mqsc(f"DEFINE QLOCAL(X) USAGE(XMITQ)\nDEFINE CHANNEL(PINGED) CHLTYPE(SDR) XMITQ(X) CONNAME('{address}')")

        def answer_all() -> None:
            for answer in answers:
                made, _ = door.accept()
                with made:
                    made.recv(1 << 16)
                    made.sendall(answer)
                    made.shutdown(socket.SHUT_WR)
                    while made.recv(1 << 16):
                        pass

        answering = threading.Thread(target=answer_all, daemon=True)
        answering.start()
        for _ in answers:
            with pytest.raises(MqscError) as caught:
                qm.mqsc("PING CHANNEL(PINGED)")
            assert "PINGED" in str(caught.value)
        answering.join(10)
        assert not answering.is_alive()
        assert qm.server.reactor.counters.internal_errors == 0
        assert not [note for note in qm.manager.notices if "AMQ6109" in note]


# -- TLS ---------------------------------------------------------------------------------------------------------------

SAFE, SAFE_TOO = "SAFE", "SAFE.TOO"
SPEC = "ANY_TLS12_OR_HIGHER"


class TlsPeer:
    """A stranger that speaks TLS as a client of a channel, by hand."""

    def __init__(self, bench: ChannelBench, place: Path, channel: str = SAFE) -> None:
        self._bench = bench
        self.sock, self.link = bench.stranger()
        contexts = TlsContexts(lambda: RepositorySettings("STRANGER", place), lambda _: None)
        self.stream = contexts.client_stream(ChannelTls(channel, SPEC))
        self.closed = False
        self._reader = FrameReader(1 << 24)
        for _ in range(6):
            self.exchange()

    def exchange(self) -> list[int]:
        """Send what TLS has to send, and take what came: types of frames."""
        with contextlib.suppress(ConnectionError):
            self.sock.sendall(self.stream.take_output())
        self._bench.turn(3)
        self._bench.until_forced()
        try:
            data = self.sock.recv(1 << 16)
            self.closed = not data
            self._reader.feed(self.stream.receive_data(data))
        except BlockingIOError:
            pass
        except (ConnectionError, TlsFailed):
            self.closed = True
        found = []
        while self._reader.next():
            found.append(int(self._reader.type))
        return found

    def say(self, *frames: bytes) -> list[int]:
        self.stream.encrypt(b"".join(frames))
        return [each for _ in range(4) for each in self.exchange()]


@pytest.fixture(scope="module")
def keys(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The `ssl` directory of either side."""
    top = tmp_path_factory.mktemp("keys")
    authority = Authority(top / "ca")
    authority.create("Both", "ec")
    for name in ("HOSTILE", "STRANGER"):
        authority.issue(top / "ssl" / "key", f"ibmwebspheremq{name.lower()}", [("CN", name)], "ec")
    return top / "ssl"


@pytest.fixture
def place(bench: ChannelBench, keys: Path) -> Path:
    """A bench with channels under TLS: the key repository of a partner."""
    shutil.copytree(keys, bench.manager.directory.path / "ssl", dirs_exist_ok=True)
    for name in (SAFE, SAFE_TOO):
        define(bench.manager, name, mq.MQCHT_RECEIVER, SSLCIPH=SPEC, SSLCAUTH=mq.MQSCA_OPTIONAL)
    return bench.manager.directory.path / "ssl"


REKEY = wire.frame(wire.REKEY, 0, 1)


def test_a_partner_under_tls_that_behaves(bench: ChannelBench, place: Path) -> None:
    peer = TlsPeer(bench, place)
    assert peer.stream.is_ready
    assert peer.say(hello_frame(hello(SAFE)), message(QUEUE), confirm()) == [168, 170]
    bench.leave(peer.sock)
    check_nothing_left(bench)


def test_plain_words_on_a_channel_with_tls_are_refused(bench: ChannelBench, place: Path) -> None:
    ours, answers, closed = bench.channel(message(QUEUE), first=hello_frame(hello(SAFE)))
    assert closed
    assert types(answers) == [wire.CHANNEL_HELLO | 128]
    assert int.from_bytes(answers[0][1][:4], "little") == mq.MQCC_FAILED
    bench.leave(ours)
    check_nothing_left(bench)


@pytest.mark.parametrize("named", [SAFE_TOO, IN])
def test_a_handshake_for_one_channel_is_none_for_another(bench: ChannelBench, place: Path, named: str) -> None:
    peer = TlsPeer(bench, place, SAFE)
    assert peer.say(hello_frame(hello(named)), message(QUEUE)) == [168]
    assert peer.closed
    assert bench.manager.engine.queues[QUEUE].depth == 0
    bench.leave(peer.sock)
    check_nothing_left(bench)


def test_new_keys_without_tls(bench: ChannelBench) -> None:
    ours, answers, closed = bench.channel(REKEY)
    assert closed
    assert "new keys without TLS" in farewell(answers)
    bench.leave(ours)
    check_nothing_left(bench)


CONFUSIONS = [
    [REKEY, REKEY],
    [REKEY] * 50,
    [REKEY, message(QUEUE), confirm()],
    [message(QUEUE), REKEY],
    [REKEY, wire.frame(wire.HEARTBEAT, 0, 1)],
    [REKEY, wire.frame(wire.CHANNEL_END, 0, 1)],
    [REKEY[:20]],
]


@pytest.mark.parametrize("ends", [True, False])
def test_new_keys_in_confusion(bench: ChannelBench, place: Path, ends: bool) -> None:
    for number, frames in enumerate(CONFUSIONS):
        peer = TlsPeer(bench, place)
        assert peer.say(hello_frame(hello(SAFE, f"QM{number}"))) == [168]
        peer.stream.encrypt(b"".join(frames))
        if ends:
            peer.stream.close()
        for _ in range(4):
            peer.exchange()
        with contextlib.suppress(ConnectionError):
            peer.sock.sendall(random.Random(SEED).randbytes(3000))
        bench.turn(4)
        bench.leave(peer.sock)
        bench.clear(QUEUE)
    check_nothing_left(bench)


def test_partners_that_answer_tls_with_anything_else(bench: ChannelBench, place: Path) -> None:
    """A sender under TLS says nothing in plain, whatever comes instead of a handshake."""
    conname = f"127.0.0.1({bench.port})"
    define(bench.manager, "SAFE.OUT", mq.MQCHT_SENDER, XMITQ="OUT.XMITQ", CONNAME=conname, SSLCIPH=SPEC)
    put_out(bench, 1, 1000)
    chance = random.Random(SEED)
    answers = [
        b"",
        welcome_frame(1, hello("SAFE.OUT")),
        wire.frame(wire.FAREWELL, 0, 0, b""),
        b"\x15\x03\x03\x00\x02\x02\x28",  # an alert: the handshake failed
        b"\x15\x03\x03\x00\x02\x01\x00",  # an alert: the end
        b"\x16\x03\x03\xff\xff",
        b"\x16\x03\x03\x00\x04\x0e\x00\x00\x00" * 10,
        chance.randbytes(5000),
        b"\x17\x03\x03" + chance.randbytes(500),
    ]
    for answer in answers:
        ours = bench.call("SAFE.OUT")
        heard = ours.recv(1 << 16)
        assert heard[0] == 0x16
        assert b"SAFE.OUT  " not in heard
        ours.sendall(answer)
        bench.turn(4)
        with contextlib.suppress(BlockingIOError, ConnectionError):
            heard += ours.recv(1 << 16)
        assert b"HOSTILE" not in heard
        bench.leave(ours)
        bench.calm("SAFE.OUT")
    assert bench.manager.engine.queues["OUT.XMITQ"].depth == 1
    check_nothing_left(bench)


def test_a_handshake_that_takes_too_long(bench: ChannelBench, place: Path) -> None:
    """Of those who come, and of those who are called: nobody has a link for longer than it takes to say hello."""
    conname = f"127.0.0.1({bench.port})"
    define(bench.manager, "SAFE.OUT", mq.MQCHT_SENDER, XMITQ="SERVES.XMITQ", CONNAME=conname, SSLCIPH=SPEC)
    called = bench.call("SAFE.OUT")
    silent = bench.call(OUT)
    began, _ = bench.stranger()
    bench.say(began, b"\x16\x03\x01\x02\x00\x01\x00")
    halfway, _, _ = bench.channel(first=hello_frame(hello(IN))[:40])
    bench.reactor.ahead_ms += 11_000
    bench.turn(4)
    bench.reactor.ahead_ms += 6_000
    bench.turn(4)
    assert bench.reactor.links == {}
    bench.leave(called, silent, began, halfway)
    bench.calm("SAFE.OUT")
    bench.calm(OUT)
    check_nothing_left(bench)
