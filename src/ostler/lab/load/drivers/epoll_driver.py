"""Many clients driven by one thread: an epoll loop that receives, calls the client, and sends."""

from __future__ import annotations

import select
import time
from contextlib import suppress
from dataclasses import dataclass
from typing import Final

from ostler.lab.load.client import LoadClient, LoadFailed, Pace
from ostler.lab.load.drivers.connection_flood import Note
from ostler.lab.load.link import CLOSED, READ_BYTES, LoadLink, begin_connecting, check_connected
from ostler.lab.load.link import Address as Address
from ostler.lab.load.pacing import LATE_NS, NEVER_NS, Schedule
from ostler.lab.load.progress import ProgressReporter, ReportProgress, ignore_progress
from ostler.lab.load.timeline import PhaseRecorder, Timeline
from ostler.wire.tls_stream import TlsFailed, TlsRules, TlsStream

_EVENTS_MAX: Final = 256
_POLL_SECONDS: Final = 0.2
_RETRY_SECONDS: Final = 0.005
_OPEN_SECONDS_MAX: Final = 60.0
_SILENT_SECONDS_MAX: Final = 30.0
# The accept queue of a listener is short.
_OPENING_MAX: Final = 64
# `select` is limited to these descriptors. Ours is opened before the sockets, so it is nearly always below.
_SELECT_DESCRIPTORS_MAX: Final = 1024
_READ: Final = select.EPOLLIN
_WRITE: Final = select.EPOLLOUT


@dataclass(frozen=True)
class TlsUse:
    """TLS for all links of a driver: the rules, and the channel."""

    rules: TlsRules
    channel: str


class EpollDriver:
    """Opens connections for clients, and puts load on for a timeline."""

    def __init__(self, address: Address, pace: Pace, tls: TlsUse | None = None) -> None:
        self._address: Address = address
        self._pace = pace
        self._tls = tls
        self._epoll = select.epoll()
        self._links: dict[int, LoadLink] = {}
        self._all: list[LoadLink] = []
        self._requesters: list[LoadClient] = []
        self._requester_links: list[LoadLink] = []
        self._refused: list[LoadLink] = []
        self._connections = 0
        self._watched = -1
        self._is_precise = self._epoll.fileno() < _SELECT_DESCRIPTORS_MAX

    @property
    def outstanding(self) -> int:
        return self._pace.outstanding

    def open(self, clients: list[LoadClient], addresses: list[Address] | None = None, note: Note | None = None) -> None:
        """Connect each client to its address, some at a time. Returns when all of them are ready. `note` is called for
        each with the times at which it was begun and ready."""
        under_way: list[LoadClient] = []
        deadline = time.monotonic() + _OPEN_SECONDS_MAX
        for at, client in enumerate(clients):
            link = self._link(client, self._address if addresses is None else addresses[at])
            if client.is_session:
                continue
            client.began_ns = time.perf_counter_ns()
            self._connect(link)
            under_way.append(client)
            while len(under_way) >= _OPENING_MAX:
                under_way = self._open_some(under_way, deadline, note)
            # The time limit is for each one, not for all of them.
            deadline = time.monotonic() + _OPEN_SECONDS_MAX
        while under_way:
            under_way = self._open_some(under_way, deadline, note)

    def _open_some(self, under_way: list[LoadClient], deadline: float, note: Note | None) -> list[LoadClient]:
        self._turn(_POLL_SECONDS)
        if time.monotonic() > deadline:
            raise LoadFailed("the broker did not complete a connection in time")
        if note is not None:
            now_ns = time.perf_counter_ns()
            for each in under_way:
                if each.is_ready:
                    note(each.began_ns, now_ns)
        return [each for each in under_way if not each.is_ready]

    def _link(self, client: LoadClient, address: Address) -> LoadLink:
        link = LoadLink(client, address)
        self._all.append(link)
        for each in client.members or [client]:
            if each.is_requester:
                each.slot = len(self._requesters)
                self._requesters.append(each)
                self._requester_links.append(link)
        return link

    def arm(self, timeline: Timeline) -> None:
        """Count in a timeline that will be run."""
        self._pace.arm(timeline)

    def run(self, timeline: Timeline, report: ReportProgress = ignore_progress) -> PhaseRecorder:
        """Run the load from the beginning to the end of a timeline, and return when nothing is in flight.

        Where drivers share a load, messages for other drivers may still be outstanding.
        """
        pace = self._pace
        recorder = pace.begin_timeline(timeline, len(self._requesters))
        progress = ProgressReporter(recorder, pace.pacing.main_operation, pace.completed, report)
        self._serve_until(timeline.begin_ns)
        schedule = pace.schedule
        if schedule is None:
            pace.active = len(self._requesters)
            self._begin_all()
        silent_since, completed, outstanding = timeline.begin_ns, pace.completed, pace.outstanding
        while True:
            now = time.perf_counter_ns()
            if now >= progress.next_ns:
                progress.report(now, pace.completed)
            if now >= timeline.end_ns:
                pace.goes_on = False
                if pace.active == 0 and (pace.outstanding <= 0 or pace.pacing.is_shared):
                    return recorder
            wake_ns = timeline.end_ns if pace.goes_on and timeline.end_ns < progress.next_ns else progress.next_ns
            if schedule is not None and pace.goes_on:
                self._begin_due(schedule, now)
                self._turn_until(min(wake_ns, schedule.next_ns()))
            else:
                self._turn(min((wake_ns - now) / 1e9, _POLL_SECONDS))
            if pace.completed != completed or pace.outstanding != outstanding or (pace.goes_on and pace.active == 0):
                silent_since, completed, outstanding = now, pace.completed, pace.outstanding
            elif now - silent_since > _SILENT_SECONDS_MAX * 1e9:
                raise LoadFailed(self._silence())

    def run_out(self, timeline: Timeline, give_up_ns: int, report: ReportProgress = ignore_progress) -> PhaseRecorder:
        """As `run` with a rate, but everything due before the end is begun, however late, and waited for.

        At `give_up_ns` it returns, whatever is in flight: the schedule has the unfinished operations. Silence is not a
        failure here, so that a stalled broker is measured with the time that it stalled.
        """
        pace = self._pace
        recorder = pace.begin_timeline(timeline, len(self._requesters))
        schedule = pace.schedule
        assert schedule is not None
        progress = ProgressReporter(recorder, pace.pacing.main_operation, pace.completed, report)
        self._serve_until(timeline.begin_ns)
        while True:
            now = time.perf_counter_ns()
            if now >= progress.next_ns:
                progress.report(now, pace.completed)
            is_over = now >= timeline.end_ns and pace.active == 0 and schedule.next_ns() == NEVER_NS
            if is_over or now >= give_up_ns:
                pace.goes_on = False
                return recorder
            self._begin_due(schedule, now)
            self._turn_until(min(progress.next_ns, schedule.next_ns(), give_up_ns))

    def _silence(self) -> str:
        pace = self._pace
        what = f"{pace.active} operations" if pace.active else f"{pace.outstanding} messages"
        return f"{what} were not there within {_SILENT_SECONDS_MAX:.0f} s"

    def serve_until_readable(self, descriptor: int) -> None:
        """Between timelines: answer requests of other drivers until a descriptor becomes readable."""
        self._epoll.register(descriptor, _READ)
        self._watched = descriptor
        while self._watched >= 0:
            self._turn(_POLL_SECONDS)
        self._epoll.unregister(descriptor)

    def close(self) -> None:
        for link in self._all:
            if link.sock is None:
                continue
            # The broker may be gone already.
            with suppress(OSError, LoadFailed):
                if link.is_opened:
                    self._send(link, link.client.closing())
            link.close()
        self._links.clear()
        self._all.clear()
        self._epoll.close()

    def _serve_until(self, when_ns: int) -> None:
        while time.perf_counter_ns() < when_ns:
            self._turn_until(when_ns)

    def _begin_all(self) -> None:
        for client, link in zip(self._requesters, self._requester_links, strict=True):
            self._begin(client, link, time.perf_counter_ns())

    def _begin_due(self, schedule: Schedule, now_ns: int) -> None:
        while True:
            slot = schedule.take_due(now_ns)
            if slot < 0:
                return
            due_ns = schedule.was_due_ns(slot)
            client = self._requesters[slot]
            client.is_late = now_ns - due_ns > LATE_NS
            self._pace.active += 1
            self._begin(client, self._requester_links[slot], due_ns)
            schedule.begun(slot, client.put_ns)

    def _begin(self, client: LoadClient, link: LoadLink, due_ns: int) -> None:
        client.is_begun = True
        client.put_ns = time.perf_counter_ns()
        data = client.begin(due_ns)
        if client.is_session:
            self._connect(link)
        else:
            self._send(link, data)

    def _connect(self, link: LoadLink) -> None:
        """Begin to connect. When the accept queue of the listener is full, the next pass tries again."""
        if not begin_connecting(link, self._connections):
            self._refused.append(link)
            return
        self._connections += 1
        self._links[link.descriptor] = link
        self._epoll.register(link.descriptor, _WRITE if link.is_connecting else _READ)
        if not link.is_connecting:
            self._connected(link)

    def _connected(self, link: LoadLink) -> None:
        tls = self._tls
        # A queue manager's local socket has no channel, and so no CipherSpec.
        if tls is None or isinstance(link.address, str):
            link.is_opened = True
            self._send(link, link.client.opening())
            return
        try:
            link.tls = TlsStream(tls.rules, is_server=False, channel=tls.channel)
        except TlsFailed as error:
            raise LoadFailed(error.text) from None
        self._send(link, b"")

    def _turn_until(self, when_ns: int) -> None:
        """Run a pass that waits until a time at most, to the microsecond, which `epoll` cannot do."""
        seconds = (when_ns - time.perf_counter_ns()) / 1e9
        if seconds <= 0:
            self._turn(0.0)
        elif seconds >= _POLL_SECONDS:
            self._turn(_POLL_SECONDS)
        elif self._is_precise:
            select.select((self._epoll,), (), (), seconds)
            self._turn(0.0)
        else:
            self._turn(seconds)

    def _turn(self, seconds: float) -> None:
        links = self._links
        if self._refused:
            seconds = min(seconds, _RETRY_SECONDS)
        for descriptor, events in self._epoll.poll(seconds, _EVENTS_MAX):
            if descriptor == self._watched:
                self._watched = -1
                continue
            link = links[descriptor]
            if link.is_connecting:
                check_connected(link)
                self._epoll.modify(descriptor, _READ)
                self._connected(link)
                continue
            if events & _WRITE:
                self._send_backlog(link)
            if events & ~_WRITE:
                self._receive(link)
        if self._refused:
            again, self._refused = self._refused, []
            for link in again:
                self._connect(link)
        if self._pace.parked:
            for client in self._pace.resume_parked():
                self._pace.active += 1
                self._begin(client, self._requester_links[client.slot], time.perf_counter_ns())

    def _receive(self, link: LoadLink) -> None:
        sock = link.sock
        assert sock is not None
        try:
            data = sock.recv(link.read_bytes)
        except BlockingIOError:
            return
        except ConnectionResetError:
            data = b""
        if not data:
            raise LoadFailed(CLOSED)
        if len(data) >= READ_BYTES or link.read_bytes > READ_BYTES:
            link.read_more_or_less(len(data))
        tls = link.tls
        if tls is not None:
            data = self._deciphered(link, tls, data)
            if not data:
                return
        client = link.client
        answer = client.receive(data, time.perf_counter_ns())
        if answer:
            self._send(link, answer)
        if client.is_over:
            self._end_session(link, client)

    def _deciphered(self, link: LoadLink, tls: TlsStream, data: bytes) -> bytes:
        try:
            plain = tls.receive_data(data)
        except TlsFailed as error:
            raise LoadFailed(error.text) from None
        if tls.has_output:
            self._send(link, b"")
        if tls.is_ready and not link.is_opened:
            link.is_opened = True
            self._send(link, link.client.opening())
        if tls.is_ended_by_peer and not plain:
            raise LoadFailed(CLOSED)
        return plain

    def _end_session(self, link: LoadLink, client: LoadClient) -> None:
        """Close its connection. If its next session has begun already, that gets a new one."""
        del self._links[link.descriptor]
        link.close()
        client.is_over = False
        client.is_ready = False
        client.pending = b""
        if client.is_begun:
            self._connect(link)

    def _send(self, link: LoadLink, data: bytes) -> None:
        sock = link.sock
        if sock is None:
            raise LoadFailed("a client has something to send, and no connection")
        tls = link.tls
        if tls is not None:
            if data:
                tls.encrypt(data)
            data = tls.take_output()
        if link.backlog:
            if data:
                self._send_later(link, data)
            return
        try:
            sent = sock.send(data) if data else 0
        except BlockingIOError:
            sent = 0
        except (BrokenPipeError, ConnectionResetError):
            raise LoadFailed(CLOSED) from None
        if sent != len(data):
            link.backlog = data
            link.backlog_sent = sent
            self._epoll.modify(link.descriptor, _READ | _WRITE)

    def _send_later(self, link: LoadLink, data: bytes) -> None:
        """Queue bytes behind those that are not sent yet."""
        link.backlog = link.backlog[link.backlog_sent :] + data
        link.backlog_sent = 0

    def _send_backlog(self, link: LoadLink) -> None:
        sock = link.sock
        assert sock is not None
        try:
            sent = link.backlog_sent + sock.send(memoryview(link.backlog)[link.backlog_sent :])
        except BlockingIOError:
            return
        except (BrokenPipeError, ConnectionResetError):
            raise LoadFailed(CLOSED) from None
        link.backlog_sent = sent
        if sent == len(link.backlog):
            link.backlog = b""
            self._epoll.modify(link.descriptor, _READ)
