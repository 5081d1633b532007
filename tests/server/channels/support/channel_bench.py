"""A queue manager with message channels whose reactor is driven by the test, for hostile partners."""

from __future__ import annotations

import contextlib
import os
import socket
from collections.abc import Callable, Iterator
from pathlib import Path

from tests.server.net.test_hostile_frames import Bench, read_all
from tests.world.hostile_channels import (
    hello,
    transmission_body,
)

from ostler.channel.sync_records import batches_in_doubt
from ostler.cli.framework.flavour import is_compiled
from ostler.engine.objects import clear
from ostler.engine.open import OpenRequest, open_object
from ostler.engine.put import put
from ostler.engine.syncpoint import back_out_unit
from ostler.model import constants as mq
from ostler.model.attributes import ObjectType, Value
from ostler.model.definitions import new_definition
from ostler.model.disk import Disk
from ostler.model.structures.md import MQMD
from ostler.server.channels.commands import stop_channel
from ostler.server.config.qm_ini import LogSection
from ostler.server.net.link import ServerLink
from ostler.server.queue_manager import QueueManager, create_queue_manager
from ostler.wire import frames as wire
from ostler.wire.channel_frames import (
    hello_frame,
)
from ostler.wire.payload_codec import PayloadReader
from ostler.wire.replies import decode_reason

QUEUE = "TARGET"
IN, OUT, BACK, ASKED = "TO.HERE", "FROM.HERE", "REQUESTS", "SERVES"
DEAD = "DEAD"
FRAMES = int(os.environ.get("OSTLER_FUZZ_FRAMES", "20000" if is_compiled() else "4000")) // 2
CONNECTS = 10_000 if "OSTLER_FUZZ_FRAMES" in os.environ else 1000
SEED = int(os.environ.get("OSTLER_FUZZ_SEED", "20261116"))
LOG = LogSection(primary_files=3, file_pages=512)
MEMORY_GROWTH_BYTES_MAX = 48 << 20
FILES_MAX = 8  # of queues and the log, opened meanwhile; a leak would take thousands


class ChannelBench(Bench):
    """A queue manager with a channel of each type, over real sockets of this machine."""

    def __init__(self, manager: QueueManager) -> None:
        super().__init__(manager)
        self._door = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._door.getsockname()[1]
        self._door.setblocking(False)

    def close(self) -> None:
        self._door.close()

    def stranger(self, address: str = "127.0.0.1(9)") -> tuple[socket.socket, ServerLink]:
        """Connect without sending anything."""
        ours = socket.create_connection(("127.0.0.1", self.port))
        self._door.setblocking(True)
        theirs, _ = self._door.accept()
        self._door.setblocking(False)
        theirs.setblocking(False)
        ours.setblocking(False)
        for each in (ours, theirs):
            each.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        link = ServerLink(self.reactor, theirs, address, False)
        with self.manager.lock:
            self.reactor.add(link)
        return ours, link

    def say(self, sock: socket.socket, *frames: bytes) -> tuple[list[tuple[int, bytes]], bool]:
        """Send bytes on a link. Return the replies so far, and True if the link was closed."""
        with contextlib.suppress(ConnectionError):
            sock.sendall(b"".join(frames))
        self.turn(4)
        self.until_forced()
        return read_all(sock)

    def until_forced(self) -> None:
        """Wait until no reply waits for the log, which is forced on another thread."""
        for _ in range(2000):
            if not any(link.gated for link in self.reactor.links.values()):
                break
            self.reactor.run_pass(2)
        self.turn(2)

    def ask(self, sock: socket.socket, *frames: bytes, count: int = 1) -> list[int]:
        """Send frames, wait for `count` replies or the close of the link, and return the types of the replies.

        Unsolicited heartbeat replies of a receiving end that waits for log space do not count.
        """
        with contextlib.suppress(ConnectionError):
            sock.sendall(b"".join(frames))
        found: list[int] = []
        for _ in range(2000):
            self.reactor.run_pass(2)
            answers, closed = read_all(sock)
            found += [each for each in types(answers) if each != wire.HEARTBEAT | wire.REPLY]
            if closed or len(found) >= count:
                break
        return found

    def channel(self, *frames: bytes, first: bytes = b"") -> tuple[socket.socket, list[tuple[int, bytes]], bool]:
        """Connect as a sending end."""
        ours, _ = self.stranger()
        answers, closed = self.say(ours, first or hello_frame(hello(IN)), *frames)
        return ours, answers, closed

    def leave(self, *socks: socket.socket) -> None:
        for sock in socks:
            sock.close()
        self.turn(4)

    def call(self, name: str) -> socket.socket:
        """Have a channel of this queue manager connect to the test. Return the accepted socket."""
        with self.manager.lock:
            self.server.channels.start(name)
        for _ in range(2000):
            try:
                made, _ = self._door.accept()
            except BlockingIOError:
                self.reactor.run_pass(2)
                continue
            made.setblocking(False)
            made.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            for _ in range(2000):
                agent = self.server.channels.outbound_instances[name].agent
                if agent is not None:
                    break
                self.reactor.run_pass(2)
            self.turn(2)
            return made
        raise AssertionError(f"{name} does not call")

    def clear(self, name: str) -> None:
        with self.manager.lock:
            clear(self.manager.engine, name)

    def calm(self, name: str) -> None:
        """Stop a channel in any state."""
        with self.manager.lock:
            if name in self.server.channels.outbound_instances:
                stop_channel(self.server.channels, name, "TERMINATE", "STOPPED", "", "")
        self.turn(2)


@contextlib.contextmanager
def channel_bench(
    directory: Path, log: LogSection = LOG, disk: Callable[[Path], Disk] | None = None
) -> Iterator[ChannelBench]:
    """Run a queue manager for the time of a block, optionally on a disk of the test."""
    manager = QueueManager(create_queue_manager(directory, "HOSTILE", log))
    if disk is not None:
        manager.disk = manager.engine.disk = disk(manager.directory.path)
    manager.start()
    made = ChannelBench(manager)
    for name in (QUEUE, DEAD):
        manager.define(new_definition(ObjectType.QLOCAL, name, {"MAXDEPTH": 50}))
    for name in ("OUT.XMITQ", "SERVES.XMITQ"):
        manager.define(new_definition(ObjectType.QLOCAL, name, {"USAGE": mq.MQUS_TRANSMISSION}))
    conname = f"127.0.0.1({made.port})"
    define(manager, IN, mq.MQCHT_RECEIVER, MAXMSGL=1 << 20, COMPMSG=("ANY",), COMPHDR=("NONE", "SYSTEM"))
    define(manager, OUT, mq.MQCHT_SENDER, XMITQ="OUT.XMITQ", CONNAME=conname, COMPMSG=("LZ4HIGH", "RLE"))
    define(manager, ASKED, mq.MQCHT_SERVER, XMITQ="SERVES.XMITQ")
    define(manager, BACK, mq.MQCHT_REQUESTER, CONNAME=conname)
    with manager.lock:
        made.server.channels.begin()
    yield made
    with manager.lock:
        made.server.channels.end(True)
        for link in list(made.reactor.links.values()):
            made.reactor.close(link)
    made.server.channels.close()
    made.reactor.close_all()
    made.close()
    manager.end("immediate")


def define(manager: QueueManager, name: str, kind: int, **attributes: Value) -> None:
    manager.define(new_definition(ObjectType.CHANNEL, name, {"CHLTYPE": kind, **attributes}))


def check_nothing_left(bench: ChannelBench) -> None:
    engine = bench.manager.engine
    channels = bench.server.channels
    assert bench.reactor.counters.internal_errors == 0
    assert not [note for note in bench.manager.notices if "AMQ6109" in note or "AMQ6110" in note]
    assert bench.reactor.links == {}
    assert channels.inbound_instances == {}
    assert [each.connection for each in channels.outbound_instances.values() if each.connection is not None] == []
    assert engine.connections == {}
    assert engine.units_of_work == {}
    assert all(queue.waiting.count == 0 for queue in engine.queues.values())
    assert [
        (queue.name, queue.inputs, queue.outputs) for queue in engine.queues.values() if queue.inputs + queue.outputs
    ] == []
    assert bench.reactor.wheel.count() == 0
    assert bench.reactor.segmented_bytes() == 0


def types(answers: list[tuple[int, bytes]]) -> list[int]:
    return [kind for kind, _ in answers]


def farewell(answers: list[tuple[int, bytes]]) -> str:
    assert answers[-1][0] == wire.FAREWELL
    return decode_reason(PayloadReader(answers[-1][1]))[1]


def put_out(bench: ChannelBench, count: int, size: int = 10, queue: str = "OUT.XMITQ") -> None:
    """Put messages on a transmission queue."""
    engine = bench.manager.engine
    with bench.manager.lock:
        connection = bench.server.channels.connect_as("", "TEST")
        handle = open_object(engine, connection, OpenRequest(mq.MQOT_Q, queue, mq.MQOO_OUTPUT))
        for _ in range(count):
            md = MQMD.default(2)
            MQMD.patch(md, "Persistence", 1)
            MQMD.patch(md, "Format", mq.MQFMT_XMIT_Q_HEADER)
            put(engine, connection, handle, bytes(md), 0, b"", transmission_body(QUEUE, bytes(size)), None)
        bench.manager.release(connection, False)


def resynchronize(bench: ChannelBench) -> None:
    """Check that prepared batches survive the loss of the partner."""
    with bench.manager.lock:
        for batch in reversed(batches_in_doubt(bench.manager.engine)):
            back_out_unit(bench.manager.engine, batch.unit)
