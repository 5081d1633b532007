"""A queue manager whose reactor a test turns by hand, and peers that say exactly what the test wants them to say."""

from __future__ import annotations

import contextlib
import select
import socket
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Protocol

from librt.strings import read_i32_le

from ostler.model.attributes import ObjectType, Value
from ostler.model.constants import (
    MQCHT_SVRCONN,
    MQOO_BROWSE,
    MQOO_INPUT_SHARED,
    MQOO_INQUIRE,
    MQOO_OUTPUT,
    MQOO_SET,
    MQOT_Q,
)
from ostler.model.definitions import new_definition
from ostler.model.structures.md import MQMD
from ostler.server.assembly import Server
from ostler.server.net.link import ServerLink
from ostler.server.queue_manager import QueueManager
from ostler.testing.without_security import disable_security
from ostler.wire import frames as wire
from ostler.wire.connect_frames import ConnectArguments, Hello
from ostler.wire.frames import FrameReader
from ostler.wire.object_frames import OpenArguments, decode_open_reply
from ostler.wire.payload_codec import numbers_payload
from ostler.wire.put_get_frames import GOT_BLOCK_BYTES, GOT_FIXED_BYTES, get_payload, put_payload
from ostler.wire.replies import decode_reply

EVERYTHING = MQOO_INPUT_SHARED | MQOO_BROWSE | MQOO_OUTPUT | MQOO_INQUIRE | MQOO_SET
_PASSES_MAX = 10_000
_MOMENT_MS = 10
_READ_BYTES = 1 << 18


@dataclass(frozen=True)
class Answer:
    """A frame from the queue manager; of several segments the whole."""

    type: int
    conversation: int
    request: int
    payload: bytes

    @property
    def completion(self) -> int:
        return int(read_i32_le(self.payload, 0))

    @property
    def reason(self) -> int:
        return int(read_i32_le(self.payload, 4))

    @property
    def text(self) -> str:
        """What a failure says."""
        return self.payload[8:].decode("utf-8", "replace")

    @property
    def body(self) -> bytes:
        """The data of a GET reply or a MESSAGE."""
        return self.payload[GOT_FIXED_BYTES + int(read_i32_le(self.payload, GOT_BLOCK_BYTES)) :]


class Turns(Protocol):
    """What makes the queue manager go on."""

    def turn(self, times: int = 1) -> None: ...


class Patience:
    """The queue manager has a thread of its own: wait a little for what it says."""

    def __init__(self, sock: socket.socket) -> None:
        self._poll = select.poll()
        self._poll.register(sock, select.POLLIN)

    def turn(self, times: int = 1) -> None:
        for _ in range(times):
            self._poll.poll(_MOMENT_MS)


class Peer:
    """An application's end of a socket, frame by frame. Its socket does not block."""

    def __init__(self, bench: Turns, sock: socket.socket) -> None:
        self._bench = bench
        self.sock = sock
        self.closed = False
        self.frames_seen: list[tuple[int, int, int, int]] = []  # type, conversation, request, size, of each segment
        self._reader = FrameReader(wire.SEGMENT_BYTES_MAX)
        self._parts: dict[tuple[int, int, int], list[bytes]] = {}
        self._answers: list[Answer] = []

    # -- saying --------------------------------------------------------------------------------------------------------

    def send(self, *data: bytes) -> None:
        """Send it all; the reactor is turned when the socket is full."""
        left = b"".join(data)
        for _ in range(_PASSES_MAX):
            with contextlib.suppress(BlockingIOError):
                left = left[self.sock.send(left) :]
            if not left:
                return
            self._bench.turn()
        raise AssertionError("the queue manager reads nothing")

    def ask(self, type: int, payload: bytes = b"", request: int = 77, conversation: int = 1) -> Answer:
        """A request, and the answer with its number."""
        self.send(wire.frame(type, conversation, request, payload))
        return self.answer(request, conversation)

    def hello(self, channel: str = "", heartbeat_seconds: int = 0, conversations: int = 10, **wishes: int) -> Answer:
        asked = Hello(channel)
        asked.heartbeat_seconds = heartbeat_seconds
        asked.conversations_max = conversations
        asked.message_bytes_max = wishes.get("message_bytes_max", 0)
        asked.segment_bytes = wishes.get("segment_bytes", wire.SEGMENT_BYTES)
        return self.ask(wire.HELLO, asked.encode(), 1, 0)

    def connect(self, conversation: int = 1, user: str = "", queue_manager: str = "") -> Answer:
        asked = ConnectArguments()
        asked.application = "a test"
        asked.user = user
        asked.queue_manager = queue_manager
        return self.ask(wire.CONNECT, asked.encode(), 2, conversation)

    def open(self, queue: str, options: int = EVERYTHING, conversation: int = 1) -> int:
        """The handle of an open queue."""
        answer = self.ask(wire.OPEN, OpenArguments(MQOT_Q, queue, options).encode(), 3, conversation)
        assert answer.completion == 0, answer.reason
        return int(decode_open_reply(decode_reply(answer.payload).reader).hobj)

    # -- hearing -------------------------------------------------------------------------------------------------------

    def read(self) -> None:
        """Take what is there."""
        while not self.closed:
            try:
                data = self.sock.recv(_READ_BYTES)
            except BlockingIOError:
                return
            except ConnectionError:
                data = b""
            if not data:
                self.closed = True
                return
            self._reader.feed(data)
            while self._reader.next():
                self._take()

    def _take(self) -> None:
        reader = self._reader
        key = (int(reader.type), int(reader.conversation), int(reader.request))
        part = reader.buffer[reader.start : reader.end]
        self.frames_seen.append((*key, wire.HEADER_BYTES + len(part)))
        parts = self._parts.setdefault(key, [])
        parts.append(part)
        if not reader.flags & wire.MORE:
            del self._parts[key]
            self._answers.append(Answer(*key, b"".join(parts)))

    def answers(self, passes: int = 3) -> list[Answer]:
        """What comes within some turns of the reactor."""
        for _ in range(passes):
            self._bench.turn()
            self.read()
        found = self._answers
        self._answers = []
        return found

    def next(self) -> Answer:
        """The next frame, whatever it is."""
        for _ in range(_PASSES_MAX):
            if self._answers:
                return self._answers.pop(0)
            assert not self.closed, "the link was closed"
            self._bench.turn()
            self.read()
        raise AssertionError("nothing came")

    def answer(self, request: int, conversation: int = 1) -> Answer:
        """The next frame with a request's number; others stay."""
        for _ in range(_PASSES_MAX):
            for answer in self._answers:
                if (answer.conversation, answer.request) == (conversation, request):
                    self._answers.remove(answer)
                    return answer
            assert not self.closed, f"the link was closed: {self._answers}"
            self._bench.turn()
            self.read()
        raise AssertionError(f"no answer to request {request}: {self._answers}")

    def close(self) -> None:
        self.sock.close()
        self._bench.turn(2)


def dial(address: tuple[str, int] | str, source: str = "") -> Peer:
    """A peer of a queue manager that runs: by host and port, or by the path of a Unix socket."""
    if isinstance(address, str):
        sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    else:
        sock = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
        if source:
            sock.bind((source, 0))
    sock.connect(address)
    sock.setblocking(False)
    return Peer(Patience(sock), sock)


class WireBench:
    """A queue manager that was started, and the part with the sockets, without a thread of its own."""

    def __init__(self, manager: QueueManager, server: Server | None = None) -> None:
        self.manager = manager
        self.server = server if server is not None else Server(disable_security(manager))
        self.reactor = self.server.reactor
        self.reactor.inline_bytes_max = 1 << 40
        self.reactor.inline_us_max = 1 << 40  # each turn waits for its forces, however long they take
        self.reactor.slow.rest_ns_max = 0  # each turn serves everybody
        self.reactor.slow.quick_ns = 1 << 60  # however slow this machine is
        self.sleep_ms = 0  # how long a turn waits for something to do

    @contextlib.contextmanager
    def log_stands_still(self) -> Iterator[None]:
        """Nothing is forced meanwhile, as if the disk took its time. The reactor does not wait for it."""
        before = int(self.reactor.inline_us_max)
        self.reactor.inline_us_max = -1
        self.sleep_ms = 1
        with self.manager.writer._turn:
            yield
        self.sleep_ms = 10
        self.reactor.inline_us_max = before

    def define(self, name: str, **attributes: Value) -> None:
        self.manager.define(new_definition(ObjectType.QLOCAL, name, attributes))

    def define_channel(self, name: str, **attributes: Value) -> None:
        given: dict[str, Value] = {"CHLTYPE": MQCHT_SVRCONN, **attributes}
        self.manager.define(new_definition(ObjectType.CHANNEL, name, given), replace=True)

    def link(self, is_local: bool = True, address: str = "127.0.0.1(9)") -> tuple[Peer, ServerLink]:
        """A new socket, nothing said yet."""
        ours, theirs = socket.socketpair()
        theirs.setblocking(False)
        ours.setblocking(False)
        link = ServerLink(self.reactor, theirs, address, is_local)
        with self.manager.lock:
            self.reactor.add(link)
        return Peer(self, ours), link

    def peer(self, *queues: str, **wishes: int) -> Peer:
        """An application on the local socket with a connection, and with queues open from handle 2 on."""
        peer, _ = self.link()
        assert peer.hello("", **wishes).completion == 0
        assert peer.connect().completion == 0
        for queue in queues:
            peer.open(queue)
        return peer

    def turn(self, times: int = 1) -> None:
        for _ in range(times):
            self.reactor.run_pass(self.sleep_ms)

    def later(self, milliseconds: int) -> None:
        """Let time go by for the timers, when all that was said is heard."""
        self.turn(2)
        self.reactor.ahead_ms += milliseconds
        self.turn()

    def close(self) -> None:
        self.reactor.close_all()
        self.manager.end("immediate")

    def check_nothing_left(self) -> None:
        """No application is there any more, and nothing reminds of any."""
        engine = self.manager.engine
        assert self.reactor.links == {}
        assert engine.connections == {}
        assert engine.units_of_work == {}
        assert all(queue.waiting.count == 0 for queue in engine.queues.values())
        assert all((queue.inputs, queue.outputs) == (0, 0) for queue in engine.queues.values())
        assert self.reactor.wheel.count() == 0
        assert self.reactor.segmented_bytes() == 0


def put(hobj: int, body: bytes, options: int = 0, persistent: bool = False) -> bytes:
    """The payload of a PUT."""
    md = MQMD.default(2)
    MQMD.patch(md, "Persistence", int(persistent))
    return put_payload(hobj, options, 0, bytes(md), b"", body)


def get(
    hobj: int,
    options: int = 0,
    wait_ms: int = 0,
    flags: int = 0,
    length: int = wire.MESSAGE_BYTES_MAX,
    selector: bytes = b"",
) -> bytes:
    """The payload of a GET."""
    zero = bytes(24)
    return get_payload(hobj, options, wait_ms, 0, length, 546, 1208, flags, zero, zero, zero, 1, 0, bytes(16), selector)


def numbers(*values: int) -> bytes:
    return numbers_payload(list(values))
