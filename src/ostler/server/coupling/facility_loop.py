"""The loop of a coupling facility: one thread that owns all links and runs the machine for them.

Each pass waits for sockets, reads every one that has something, runs all complete programs, and sends the answers and
events of the pass, one write for each link. The queue manager's reactor is not used: it is the engine's, with its log,
its conversations and its turns, and a facility has none of them.

Limits: a link that does not read its answers is not read either; one that lets events pile up is closed. A link that is
silent for twice the heartbeat interval, or takes no answers for as long, is lost, so that a member that stands still is
given up and fenced.
"""

from __future__ import annotations

import select
import socket
from collections.abc import Callable
from typing import Final, final

from mypy_extensions import i64

from ostler.coupling.machine import CouplingMachine
from ostler.model.coupling import terms as cf
from ostler.model.coupling.answers import Answer
from ostler.model.coupling.programs import JOIN, LEAVE, JoinProgram, Program
from ostler.model.errors import InvariantFailed
from ostler.wire.coupling_answers import encode_answer
from ostler.wire.coupling_frames import (
    COUPLING_FRAME_BYTES_MAX,
    CouplingHello,
    decode_coupling_hello,
    encode_event,
)
from ostler.wire.coupling_programs import decode_program
from ostler.wire.frames import (
    CF_END,
    CF_HELLO,
    CF_PROGRAM,
    FAREWELL,
    HEARTBEAT,
    REPLY,
    FrameReader,
    MalformedFrame,
    frame,
)
from ostler.wire.replies import reason_payload
from ostler.wire.tls_stream import TlsFailed, TlsStream

LINKS_MAX: Final = 256
HELLO_TIMEOUT_MS: Final = 10_000
OUT_HIGH_BYTES: Final = 4 << 20
"""With more unsent answers a link is not read."""
OUT_LOW_BYTES: Final = 1 << 20
OUT_BYTES_MAX: Final = 64 << 20
"""With more, events among them, it is closed."""
_RECEIVE_BYTES: Final = 256 << 10
_SEND_BYTES_MAX: Final = 1 << 20
_EVENTS_MAX: Final = 256
_CHECK_MS: Final = 100
_MILLISECOND_NS: Final = 1_000_000
_MILLISECONDS: Final = 1000.0
_IN: Final = select.EPOLLIN
_OUT: Final = select.EPOLLOUT
_GONE: Final = select.EPOLLHUP | select.EPOLLERR
_NO_REASON: Final = 0

_NEW: Final = 0
_OPEN: Final = 1
_CLOSED: Final = 2


@final
class FacilityLink:
    """One link. `number` is its name for the machine."""

    def __init__(self, number: i64, sock: socket.socket, peer: str, is_owner: bool, now_ms: i64) -> None:
        self.number: i64 = number
        self.sock = sock
        self.fd: i64 = sock.fileno()
        self.peer = peer
        """For messages: an address, then the name that the hello gives."""
        self.is_owner = is_owner
        """It came over the local socket, from the user who owns the facility."""
        self.certified = ""
        """The name that its certificate has; empty without TLS."""
        self.tls: TlsStream | None = None
        self.state: i64 = _NEW
        self.reader = FrameReader()
        self.out: list[bytes] = []
        self.out_bytes: i64 = 0
        self.unsent = b""
        self.mask: i64 = _IN
        self.is_dirty = False
        self.is_paused = False
        self.is_closing = False
        self.is_joined = False
        self.close_reason = ""
        self.heartbeat_ms: i64 = HELLO_TIMEOUT_MS
        self.last_received_ms: i64 = now_ms
        self.last_heartbeat_ms: i64 = now_ms
        self.last_taken_ms: i64 = now_ms
        """When the socket took bytes."""

    def backlog_bytes(self) -> i64:
        return self.out_bytes + len(self.unsent)


@final
class FacilityLoop:
    """Serves links until `stop`. All methods but `stop` belong to one thread.

    `accepted` is called when a listening socket has something; it accepts, and calls `add`. `end_refusal` is asked when
    the owner wants the facility to end; an empty text lets it. `note` writes a message for people.
    """

    def __init__(
        self,
        machine: CouplingMachine,
        name: str,
        monotonic_ns: Callable[[], int],
        wall_ns: Callable[[], int],
        accepted: Callable[[int], None],
        end_refusal: Callable[[bool], str],
        note: Callable[[str], None],
    ) -> None:
        self.machine = machine
        self.name = name
        self._monotonic_ns = monotonic_ns
        self._wall_ns = wall_ns
        self._accepted = accepted
        self._end_refusal = end_refusal
        self._note = note
        self._epoll = select.epoll()
        self._listening: set[int] = set()
        self.links: dict[int, FacilityLink] = {}
        self._by_number: dict[int, FacilityLink] = {}
        self._dirty: list[FacilityLink] = []
        self._resumed: list[FacilityLink] = []
        self._failing: list[FacilityLink] = []
        self._last_number: i64 = 0
        self.now_ms: i64 = i64(monotonic_ns()) // _MILLISECOND_NS
        self._check_ms: i64 = self.now_ms + _CHECK_MS
        self._expiry_ms: i64 = 0  # by the wall clock, when something may have expired; -1: nothing will
        self.programs: i64 = 0
        self.is_stopping = False

    def listen(self, sock: socket.socket) -> None:
        self._listening.add(sock.fileno())
        self._epoll.register(sock.fileno(), _IN)

    def add(self, sock: socket.socket, peer: str, is_owner: bool, tls: TlsStream | None) -> None:
        """Serve a new connection; its socket does not block."""
        self._last_number += 1
        link = FacilityLink(self._last_number, sock, peer, is_owner, self.now_ms)
        link.tls = tls
        self._epoll.register(link.fd, _IN)
        self.links[link.fd] = link
        self._by_number[link.number] = link

    def stop(self) -> None:
        """End `run` after the present pass. For signal handlers."""
        self.is_stopping = True

    def run(self) -> None:
        while not self.is_stopping:
            self.run_pass(_CHECK_MS)
        self._say_farewell()

    def run_pass(self, wait_ms_max: i64) -> None:
        """Wait for something, at most so long, and do all that is to be done then."""
        events = self._epoll.poll(self._wait_seconds(wait_ms_max), _EVENTS_MAX)
        self.now_ms = i64(self._monotonic_ns()) // _MILLISECOND_NS
        machine = self.machine
        machine.tick(self.now_ms)
        for fd, ready in events:
            link = self.links.get(fd)
            if link is None:
                if fd in self._listening:
                    self._accepted(fd)
                continue
            if ready & _GONE and link.is_paused:
                self._fail(link, "the other side closed the connection")
            elif ready & ~_OUT:
                self._read(link)
            elif not link.is_dirty:
                self._mark_dirty(link)
        if self._resumed:
            self._resume()
        self._finish_pass()
        if self.now_ms >= self._check_ms:
            self._check_ms = self.now_ms + _CHECK_MS
            self._check_silence()
            self._drop_expired()
            self._finish_pass()

    def _wait_seconds(self, wait_ms_max: i64) -> float:
        if self._resumed:
            return 0.0
        wait_ms: i64 = min(wait_ms_max, _CHECK_MS)
        tick_ms: i64 = self.machine.next_tick_ms()
        if tick_ms != 0:
            left_ms: i64 = tick_ms - i64(self._monotonic_ns()) // _MILLISECOND_NS
            wait_ms = min(wait_ms, max(left_ms, 0))
        return float(wait_ms) / _MILLISECONDS

    def _finish_pass(self) -> None:
        """Push events, send, and give up links that failed, until nothing of that is left."""
        while True:
            self._push_events()
            dirty = self._dirty
            self._dirty = []
            for link in dirty:
                link.is_dirty = False
                self._flush(link)
            if not self._failing:
                return
            failing = self._failing
            self._failing = []
            for link in failing:
                self._close(link)

    def _push_events(self) -> None:
        for push in self.machine.take_pushes():
            link = self._by_number.get(push.link)
            if link is not None:
                self._send(link, encode_event(push.event))
                if link.backlog_bytes() > OUT_BYTES_MAX:
                    self._fail(link, "it does not read what it is told")

    # -- receiving -----------------------------------------------------------------------------------------------------

    def _read(self, link: FacilityLink) -> None:
        if link.is_closing or link.is_paused:
            return
        try:
            data = link.sock.recv(_RECEIVE_BYTES)
        except BlockingIOError:
            return
        except OSError as error:
            self._fail(link, f"the connection failed: {error.strerror or error}")
            return
        if not data:
            self._fail(link, "the other side closed the connection")
            return
        link.last_received_ms = self.now_ms
        tls = link.tls
        try:
            if tls is not None:
                data = tls.receive_data(data)
                self._send_tls(link, tls)
            if data:
                link.reader.feed(data)
                self._run_frames(link)
        except MalformedFrame as error:
            self._refuse(link, f"AMQ3862E: {link.peer} broke the protocol: {error}")
        except TlsFailed as failure:
            self._send_tls(link, link.tls)
            self._refuse(link, f"AMQ3862E: TLS with {link.peer} failed: {failure.text}")

    def _run_frames(self, link: FacilityLink) -> None:
        """Run the frames that are complete, unless too many answers are unsent."""
        reader = link.reader
        while reader.next():
            kind: i64 = reader.type
            if kind == CF_PROGRAM and link.state == _OPEN:
                program = decode_program(reader.buffer, reader.start, reader.end)
                answer = self._run_program(link, program)
                self._send(link, encode_answer(answer, reader.request))
            else:
                self._run_other(link, kind)
            if link.is_closing:
                return
            if link.out_bytes > OUT_HIGH_BYTES:
                self._pause(link)
                return

    def _run_program(self, link: FacilityLink, program: Program) -> Answer:
        self.programs += 1
        kind: i64 = program.kind
        if kind != JOIN and kind != LEAVE:
            return self.machine.run(link.number, program)
        if isinstance(program, JoinProgram) and program.name != link.peer:
            return Answer(cf.BAD_PROGRAM)  # the name of the hello, which a certificate has proved
        answer = self.machine.run(link.number, program)
        if answer.status == cf.OK:
            self._expiry_ms = 0
            link.is_joined = kind == JOIN
            self._note(f"AMQ3853I: Queue manager {link.peer} has {'joined' if link.is_joined else 'left'}.")
        return answer

    def _run_other(self, link: FacilityLink, type: i64) -> None:
        reader = link.reader
        if type == HEARTBEAT:
            self._send(link, frame(HEARTBEAT | REPLY, 0, reader.request))
        elif type == HEARTBEAT | REPLY:
            return
        elif type == CF_HELLO and link.state == _NEW:
            self._hello(link, decode_coupling_hello(reader.buffer, reader.start, reader.end, False), reader.request)
        elif type == FAREWELL:
            self._fail(link, "the other side said farewell")
        elif type == CF_END and link.state == _OPEN:
            self._end(link, reader.end > reader.start and reader.buffer[reader.start] != 0)
        else:
            raise MalformedFrame(f"a frame of type {type} at the wrong time")

    def _hello(self, link: FacilityLink, hello: CouplingHello, request: i64) -> None:
        if hello.facility and hello.facility != self.name:
            self._refuse(link, f"AMQ3861E: This is coupling facility {self.name}, not {hello.facility}.")
            return
        tls = link.tls
        if tls is not None:
            names = tls.peer_subject().values("CN")
            link.certified = names[0] if len(names) == 1 else ""
            if hello.peer != link.certified:
                self._refuse(link, f"AMQ3861E: The certificate is of {link.certified!r}, not of {hello.peer!r}.")
                return
        link.peer = hello.peer
        link.state = _OPEN
        link.heartbeat_ms = hello.heartbeat_ms
        link.reader.frame_bytes_max = COUPLING_FRAME_BYTES_MAX
        reply = CouplingHello(self.name, hello.peer, True)
        reply.identity = self.machine.state.identity
        reply.heartbeat_ms = hello.heartbeat_ms
        self._send(link, reply.encode(request))

    def _end(self, link: FacilityLink, is_forced: bool) -> None:
        text = "Only the owner may end the facility, over its local socket."
        if link.is_owner:
            text = self._end_refusal(is_forced)
            if not text:
                self.is_stopping = True
        self._send(link, frame(CF_END | REPLY, 0, link.reader.request, text.encode()))

    # -- sending -------------------------------------------------------------------------------------------------------

    def _send(self, link: FacilityLink, data: bytes) -> None:
        link.out.append(data)
        link.out_bytes += len(data)
        if not link.is_dirty:
            self._mark_dirty(link)

    def _mark_dirty(self, link: FacilityLink) -> None:
        link.is_dirty = True
        self._dirty.append(link)

    def _send_tls(self, link: FacilityLink, tls: TlsStream | None) -> None:
        """Queue the records that TLS itself wants to send. They go out before frames that are not encrypted yet."""
        if tls is not None and tls.has_output:
            link.unsent += tls.take_output()
            if not link.is_dirty:
                self._mark_dirty(link)

    def _flush(self, link: FacilityLink) -> None:
        """Send as much as the socket takes."""
        if link.state == _CLOSED:
            return
        left: i64 = _SEND_BYTES_MAX
        data = link.unsent
        try:
            while left > 0:
                if not data:
                    data = self._next_bytes(link)
                    if not data:
                        break
                sent: i64 = link.sock.send(data)
                left -= sent
                link.last_taken_ms = self.now_ms
                data = data[sent:] if sent < len(data) else b""
        except BlockingIOError:
            pass
        except OSError as error:
            self._fail(link, f"the connection failed: {error.strerror or error}")
            data = b""
        except TlsFailed as failure:
            self._fail(link, f"TLS failed: {failure.text}")
            data = b""
        link.unsent = data
        if link.is_paused and link.backlog_bytes() <= OUT_LOW_BYTES:
            link.is_paused = False
            link.last_received_ms = self.now_ms
            self._resumed.append(link)
        mask: i64 = 0 if link.is_paused or link.is_closing else _IN
        if data or link.out:
            mask |= _OUT
        if mask != link.mask:
            link.mask = mask
            self._epoll.modify(link.fd, mask)

    def _next_bytes(self, link: FacilityLink) -> bytes:
        out = link.out
        if not out:
            return b""
        tls = link.tls
        if tls is not None and not tls.can_encrypt:
            return b""
        data = out[0] if len(out) == 1 else b"".join(out)
        link.out = []
        link.out_bytes = 0
        if tls is not None:
            tls.encrypt(data)
            data = tls.take_output()
        return data

    def _pause(self, link: FacilityLink) -> None:
        link.is_paused = True

    def _resume(self) -> None:
        """Run the frames that waited until answers were sent."""
        resumed = self._resumed
        self._resumed = []
        for link in resumed:
            if link.is_closing or link.state == _CLOSED:
                continue
            try:
                self._run_frames(link)
            except MalformedFrame as error:
                self._refuse(link, f"AMQ3862E: {link.peer} broke the protocol: {error}")

    # -- the end of links ----------------------------------------------------------------------------------------------

    def _check_silence(self) -> None:
        """Send heartbeats, and give up links that have been silent for too long."""
        for link in list(self.links.values()):
            if link.is_closing:
                continue
            silent_ms: i64 = self.now_ms - link.last_received_ms
            if link.is_paused:
                # It is not read. That it takes its answers proves that it lives.
                silent_ms = min(silent_ms, self.now_ms - link.last_taken_ms)
            if link.state == _NEW:
                if silent_ms >= HELLO_TIMEOUT_MS:
                    self._fail(link, "it did not say what it wants")
            elif silent_ms >= 2 * link.heartbeat_ms:
                self._fail(link, f"nothing was heard of it for {silent_ms} ms")
            elif silent_ms >= link.heartbeat_ms and self.now_ms - link.last_heartbeat_ms >= link.heartbeat_ms:
                link.last_heartbeat_ms = self.now_ms
                self._send(link, frame(HEARTBEAT, 0, 1))

    def _drop_expired(self) -> None:
        """Drop messages that have expired while no member is there to do it."""
        if self.machine.state.by_link:
            self._expiry_ms = 0
        elif self._expiry_ms >= 0:
            wall_ms: i64 = i64(self._wall_ns()) // _MILLISECOND_NS
            if wall_ms >= self._expiry_ms:
                self._expiry_ms = self.machine.drop_expired(wall_ms)

    def _refuse(self, link: FacilityLink, text: str) -> None:
        """Tell the other side why its link is closed, and close it."""
        self._note(text)
        self._send(link, frame(FAREWELL, 0, 0, reason_payload(_NO_REASON, text)))
        self._flush(link)
        self._fail(link, text)

    def _fail(self, link: FacilityLink, why: str) -> None:
        """Close a link at the end of the pass."""
        if not link.is_closing:
            link.is_closing = True
            link.close_reason = why
            self._failing.append(link)

    def _close(self, link: FacilityLink) -> None:
        """Close a link. A member that has not left is given up."""
        if link.state == _CLOSED:
            return
        link.state = _CLOSED
        del self.links[link.fd]
        del self._by_number[link.number]
        self._epoll.unregister(link.fd)
        link.sock.close()
        self.machine.on_link_lost(link.number)
        if link.is_joined:
            self._note(
                f"AMQ3854W: Queue manager {link.peer} is lost: {link.close_reason}. It is fenced; a peer, or itself "
                "when it comes back, settles its units of work."
            )

    def _say_farewell(self) -> None:
        """Tell all links that the facility ends, and close them."""
        text = f"AMQ3852I: Coupling facility {self.name} has ended."
        for link in list(self.links.values()):
            if link.state == _OPEN:
                self._send(link, frame(FAREWELL, 0, 0, reason_payload(_NO_REASON, text)))
        for link in list(self.links.values()):
            try:
                self._flush(link)
                link.sock.close()
            except InvariantFailed:
                raise
            except Exception as error:
                self._note(f"AMQ3862E: The link of {link.peer} could not be closed: {error!r}")
        self.links = {}
        self._epoll.close()
