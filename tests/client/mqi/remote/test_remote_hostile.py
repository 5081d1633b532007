"""Queue managers that answer nonsense, too much, too little, or nothing: a client neither hangs nor crashes."""

from __future__ import annotations

import os
import random
import socket
import threading
from collections.abc import Callable, Iterator

import pytest
from tests.client.remote_site import eventually, structure

from ostler import mqi
from ostler.client.link.blocking_link import BlockingLink, ClientConversation
from ostler.client.link.keepalive import keep_alive
from ostler.client.link.waiters import LinkBroken
from ostler.client.locate.binding import connect_handle
from ostler.client.locate.connect_parameters import ConnectParameters
from ostler.client.mqi.remote.connections import RemoteConnection, RemoteHandle, register, unregister
from ostler.model import constants as mqc
from ostler.model.errors import MQError
from ostler.wire import frames as wire
from ostler.wire.connect_frames import ConnectReply, Hello
from ostler.wire.frames import FrameReader, frame
from ostler.wire.object_frames import OpenArguments
from ostler.wire.put_get_frames import get_reply_frame, put_reply_frame
from ostler.wire.replies import reason_payload, reply_frame
from ostler.wire.segments import segment

BROKEN = mqc.MQRC_CONNECTION_BROKEN
MD = bytes(structure("MQMD", 2))
BODY = b"the data of a message"
SEGMENT_BYTES = 8192
MESSAGE_BYTES_MAX = 100_000
MUTATIONS = 1500


def agreed() -> Hello:
    hello = Hello("SYSTEM.DEF.SVRCONN")
    hello.segment_bytes = SEGMENT_BYTES
    hello.message_bytes_max = MESSAGE_BYTES_MAX
    hello.heartbeat_seconds = 300
    hello.conversations_max = 3
    return hello


class Bench:
    """A link whose other end is in the hands of the test, with one connection and one open object on it."""

    def __init__(self) -> None:
        ours, self.peer = socket.socketpair()
        self.peer.settimeout(60)
        self.link = BlockingLink(ours, FrameReader(), agreed(), None, "the peer")
        joined = self.link.join()
        assert joined is not None
        self.conversation: ClientConversation = joined
        self.remote: RemoteConnection = register(joined)
        self.hobj = 2
        asked = OpenArguments(mqc.MQOT_Q, "Q", mqc.MQOO_INPUT_SHARED | mqc.MQOO_OUTPUT)
        self.remote.handles[self.hobj] = RemoteHandle(self.hobj, asked, 7)
        self._reader = FrameReader(SEGMENT_BYTES)

    def got(self, conversation: int = 1, request: int = 1, kind: int = wire.GET | wire.REPLY) -> bytes:
        """A correct reply to GET."""
        return get_reply_frame(kind, conversation, request, 0, 0, len(BODY), 32, 32, 32, bytes(16), b"", MD, BODY)

    def get(self) -> tuple[bytes, int]:
        gmo = structure("MQGMO", Options=mqc.MQGMO_WAIT, WaitInterval=-1)
        data, _, _, reason = mqi.MQGET(self.remote.hconn, self.hobj, structure("MQMD"), gmo, 1000)
        return data, reason

    def put(self) -> int:
        return mqi.MQPUT(self.remote.hconn, self.hobj, structure("MQMD"), structure("MQPMO"), b"x")[1]

    def received(self) -> tuple[int, int, int]:
        """The next frame that the client sent: type, conversation, request."""
        while not self._reader.next():
            data = self.peer.recv(65_536)
            assert data, "the client closed the link"
            self._reader.feed(data)
        return self._reader.type, self._reader.conversation, self._reader.request

    def close(self) -> None:
        unregister(self.remote)
        self.link.fail_link(BROKEN, "The test ends.")
        self.peer.close()


@pytest.fixture
def bench() -> Iterator[Bench]:
    made = Bench()
    yield made
    made.close()


def test_a_correct_answer(bench: Bench) -> None:
    bench.peer.sendall(bench.got())
    assert bench.get() == (BODY, 0)
    bench.peer.sendall(put_reply_frame(1, 2, 0, 0, MD))
    assert bench.put() == 0


def test_an_answer_byte_by_byte(bench: Bench) -> None:
    answers: list[tuple[bytes, int]] = []
    get = threading.Thread(target=lambda: answers.append(bench.get()))
    get.start()
    bench.received()
    for byte in bench.got():
        bench.peer.sendall(bytes([byte]))
    get.join()
    assert answers == [(BODY, 0)]


def test_an_answer_that_ends_at_any_byte() -> None:
    whole = Bench().got()
    for length in range(len(whole)):
        bench = Bench()
        bench.peer.sendall(whole[:length])
        bench.peer.shutdown(socket.SHUT_WR)
        assert bench.get() == (b"", BROKEN), length
        assert bench.put() == BROKEN
        bench.close()


def test_mutated_answers() -> None:
    chance = random.Random(20261115)
    for _ in range(MUTATIONS):
        bench = Bench()
        data = bytearray(bench.got())
        for _ in range(chance.randint(1, 4)):
            data[chance.randrange(len(data) if chance.random() < 0.3 else 60)] = chance.randrange(256)
        bench.peer.sendall(bytes(data))
        bench.peer.shutdown(socket.SHUT_WR)
        body, reason = bench.get()
        assert isinstance(body, bytes)
        assert 0 <= len(body) <= len(data) or reason
        bench.close()


WRONG = {
    "another conversation": lambda bench: bench.got(conversation=2),
    "no conversation": lambda bench: bench.got(conversation=0),
    "another request": lambda bench: bench.got(request=2),
    "a reply to something else": lambda bench: put_reply_frame(1, 1, 0, 0, MD),
    "a request": lambda bench: frame(wire.GET, 1, 1, bytes(200)),
    "a message that nobody asked for": lambda bench: bench.got(kind=wire.MESSAGE),
    "output that nobody asked for": lambda bench: frame(wire.OUTPUT, 0, 1, b"{}"),
    "a type that does not exist": lambda bench: frame(99, 1, 1, bytes(8)),
    "HELLO once more": lambda bench: frame(wire.HELLO | wire.REPLY, 0, 1, bytes(8) + agreed().encode()),
    "a frame longer than agreed": lambda bench: (SEGMENT_BYTES + 1).to_bytes(4, "little") + bytes(12),
    "a frame of two gigabytes": lambda bench: b"\xff\xff\xff\x7f" + bytes(12),
    "a frame shorter than its header": lambda bench: b"\x0f\0\0\0" + bytes(12),
    "flags that do not exist": lambda bench: bench.got()[:5] + b"\x02" + bench.got()[6:],
    "reserved bytes": lambda bench: bench.got()[:6] + b"\x01" + bench.got()[7:],
    "no reason code": lambda bench: frame(wire.GET | wire.REPLY, 1, 1, bytes(7)),
    "half a message": lambda bench: frame(wire.GET | wire.REPLY, 1, 1, bytes(100)),
    "properties longer than the frame": lambda bench: bench.got()[:48] + b"\xff\xff\xff\x7f" + bench.got()[52:],
    "properties of a negative length": lambda bench: bench.got()[:48] + b"\xff\xff\xff\xff" + bench.got()[52:],
    "segments of different types": lambda bench: (
        segment(wire.GET | wire.REPLY, 1, 1, True, bytes(10)) + segment(wire.PUT | wire.REPLY, 1, 1, False, bytes(10))
    ),
    "a notice that is none": lambda bench: frame(wire.NOTICE, 0, 0, b"\x01"),
    "a farewell": lambda bench: frame(wire.FAREWELL, 0, 0, reason_payload(mqc.MQRC_Q_MGR_STOPPING, "going")),
    "the end": lambda bench: b"",
}


@pytest.mark.parametrize("what", WRONG)
def test_an_answer_of_a_kind_that_breaks_the_link(bench: Bench, what: str) -> None:
    # The peer does not close: the client must see by itself that nothing good will come.
    bench.peer.sendall(WRONG[what](bench))
    if what == "the end":
        bench.peer.close()
    assert bench.get() == (b"", BROKEN)
    assert bench.put() == BROKEN
    assert bench.remote.broken_text


def test_segments_without_end(bench: Bench) -> None:
    answers: list[tuple[bytes, int]] = []
    get = threading.Thread(target=lambda: answers.append(bench.get()))
    get.start()
    piece = segment(wire.GET | wire.REPLY, 1, 1, True, bytes(SEGMENT_BYTES - 16))
    sent = 0
    try:
        while sent < 1000:
            bench.peer.sendall(piece)
            sent += 1
    except OSError:
        pass
    get.join()
    assert answers == [(b"", BROKEN)]
    assert sent < 200


def test_more_messages_than_were_asked_for(bench: Bench) -> None:
    stream = bench.conversation.open_stream(wire.MESSAGE, 2)
    bench.peer.sendall(3 * bench.got(kind=wire.MESSAGE))
    assert bench.link.wait_stream(stream, 0.0) or stream.count() == 2
    with pytest.raises(LinkBroken, match="more messages"):
        bench.conversation.exchange(wire.COMMIT, b"")


def test_heartbeats_are_answered_by_whoever_reads(bench: Bench) -> None:
    answers: list[tuple[bytes, int]] = []
    get = threading.Thread(target=lambda: answers.append(bench.get()))
    get.start()
    assert bench.received()[0] == wire.GET
    bench.peer.sendall(frame(wire.HEARTBEAT, 0, 77))
    assert bench.received() == (wire.HEARTBEAT | wire.REPLY, 0, 77)
    bench.peer.sendall(bench.got())
    get.join()
    assert answers == [(BODY, 0)]


def test_heartbeats_are_answered_while_nobody_reads(bench: Bench) -> None:
    bench.peer.sendall(frame(wire.HEARTBEAT, 0, 5))
    bench.link.on_keepalive(1)
    assert bench.received() == (wire.HEARTBEAT | wire.REPLY, 0, 5)


def test_the_keeper_looks_after_links_that_nobody_reads(bench: Bench) -> None:
    other = Bench()

    def fail() -> None:
        raise RuntimeError("a callback that fails")

    other.conversation.on_notice = fail
    keep_alive(other.link)
    keep_alive(bench.link)
    other.peer.sendall(frame(wire.NOTICE, 0, 0, reason_payload(mqc.MQRC_Q_MGR_QUIESCING, "going")))
    bench.peer.sendall(frame(wire.HEARTBEAT, 0, 5))
    assert bench.received() == (wire.HEARTBEAT | wire.REPLY, 0, 5)
    eventually(lambda: bool(other.link.broken))
    bench.peer.close()
    eventually(lambda: bool(bench.link.broken))
    other.conversation.on_notice = None
    other.close()


def test_heartbeats_without_end(bench: Bench) -> None:
    bench.peer.setblocking(False)
    beat = frame(wire.HEARTBEAT, 0, 5)
    for _ in range(100_000):
        try:
            bench.peer.sendall(beat * 100)
        except BlockingIOError:
            bench.link.on_keepalive(1)
        except OSError:
            break
    assert bench.link.broken


def test_a_peer_that_has_gone_silent(bench: Bench) -> None:
    for _ in range(4):
        bench.link.on_keepalive(100)
    assert bench.received()[0] == wire.HEARTBEAT
    assert bench.link.broken
    assert "not answered heartbeats" in bench.link.broken_text


def test_a_peer_that_is_only_slow_is_not_given_up(bench: Bench) -> None:
    for _ in range(3):
        bench.link.on_keepalive(100)
    assert bench.received()[0] == wire.HEARTBEAT
    bench.peer.sendall(reply_frame(wire.HEARTBEAT, 0, 1, 0, 0))
    for _ in range(3):
        bench.link.on_keepalive(100)
    assert not bench.link.broken


def test_a_notice_concerns_one_conversation_or_all(bench: Bench) -> None:
    second = bench.link.join()
    assert second is not None
    rung: list[int] = []
    second.on_notice = lambda: rung.append(1)
    bench.peer.sendall(frame(wire.NOTICE, 1, 0, reason_payload(mqc.MQRC_CONNECTION_QUIESCING, "going")))
    bench.link.on_keepalive(1)
    assert (bench.conversation.notice, second.notice, rung) == (mqc.MQRC_CONNECTION_QUIESCING, 0, [])
    bench.peer.sendall(frame(wire.NOTICE, 0, 0, reason_payload(mqc.MQRC_Q_MGR_QUIESCING, "going")))
    bench.link.on_keepalive(1)
    assert (bench.conversation.notice, second.notice, rung) == (
        mqc.MQRC_Q_MGR_QUIESCING,
        mqc.MQRC_Q_MGR_QUIESCING,
        [1],
    )


def test_answers_for_who_has_left_concern_nobody(bench: Bench) -> None:
    other = bench.link.join()
    assert other is not None
    other.send_request(wire.CONNECT, b"")
    other.open_stream(wire.MESSAGE, 1)
    other.close()
    bench.peer.sendall(reply_frame(wire.CONNECT, other.number, 1, 0, 0))
    bench.peer.sendall(bench.got(other.number, 2, wire.MESSAGE))
    bench.peer.sendall(bench.got())
    assert bench.get() == (BODY, 0)


def test_answers_find_their_conversations_in_any_order(bench: Bench) -> None:
    others = [bench.link.join() for _ in range(2)]
    assert bench.link.join() is None, "as many as were agreed upon"
    conversations = [bench.conversation, *[each for each in others if each is not None]]
    answers: dict[int, int] = {}

    def ask(conversation: ClientConversation) -> None:
        waiter = conversation.exchange(wire.COMMIT, b"")
        answers[conversation.number] = int.from_bytes(waiter.buffer[waiter.start + 4 : waiter.end], "little")

    threads = [threading.Thread(target=ask, args=(each,)) for each in conversations]
    for each in threads:
        each.start()
    requests = [bench.received() for _ in threads]
    for kind, conversation, request in reversed(requests):
        bench.peer.sendall(reply_frame(kind, conversation, request, 0, 1000 + conversation))
    for each in threads:
        each.join()
    assert answers == {1: 1001, 2: 1002, 3: 1003}


# -- before there is a link --------------------------------------------------------------------------------------------


class Impostor:
    """Somebody who listens where a queue manager should be."""

    def __init__(self, answer: Callable[[bytes], bytes]) -> None:
        self._answer = answer
        self._listening = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listening.getsockname()[1]
        self._thread = threading.Thread(target=self._serve, daemon=True)
        self._thread.start()

    def _serve(self) -> None:
        while True:
            try:
                accepted, _ = self._listening.accept()
            except OSError:
                return
            with accepted:
                accepted.sendall(self._answer(accepted.recv(65_536)))
                # What is not read would make the kernel forget what was sent.
                accepted.shutdown(socket.SHUT_WR)
                while accepted.recv(65_536):
                    pass

    def close(self) -> None:
        self._listening.shutdown(socket.SHUT_RDWR)
        self._listening.close()


def hello_answer(**changes: int) -> bytes:
    hello = agreed()
    for name, value in changes.items():
        setattr(hello, name, value)
    return frame(wire.HELLO | wire.REPLY, 0, 1, bytes(8) + hello.encode())


CONNECTED = ConnectReply()
CONNECTED.queue_manager = "QM1"
NO_LINK = {
    "nothing": b"",
    "half an answer": hello_answer()[:30],
    "a web server": b"HTTP/1.1 400 Bad Request\r\nConnection: close\r\n\r\n",
    "long frames": hello_answer(segment_bytes=1 << 29),
    "short frames": hello_answer(segment_bytes=10),
    "longer messages than offered": hello_answer(message_bytes_max=(1 << 30) - 1),
    "more conversations than offered": hello_answer(conversations_max=1 << 20),
    "another version": hello_answer(version=2),
    "another request": frame(wire.HELLO | wire.REPLY, 0, 2, bytes(8) + agreed().encode()),
    "another reply": reply_frame(wire.CONNECT, 0, 1, 0, 0),
    "a refusal": frame(wire.HELLO | wire.REPLY, 0, 1, b"\x02\0\0\0" + (2537).to_bytes(4, "little") + b"stopped"),
    "a farewell": frame(wire.FAREWELL, 0, 0, reason_payload(2059, "later")),
    "a link and nothing else": hello_answer(),
    "a link and a refusal without a text": hello_answer() + reply_frame(wire.CONNECT, 1, 1, 2, 2059),
    "a link and half a connection": hello_answer() + frame(wire.CONNECT | wire.REPLY, 1, 1, bytes(20)),
}


@pytest.mark.parametrize("what", NO_LINK)
def test_what_is_no_queue_manager(what: str) -> None:
    impostor = Impostor(lambda _: NO_LINK[what])
    before = len(os.listdir("/proc/self/fd"))
    parameters = ConnectParameters(binding="client", connection_name=f"127.0.0.1({impostor.port})")
    with pytest.raises(MQError) as refused:
        connect_handle(parameters, {})
    assert refused.value.completion == mqc.MQCC_FAILED
    assert refused.value.reason != 0
    eventually(lambda: len(os.listdir("/proc/self/fd")) <= before)
    impostor.close()
