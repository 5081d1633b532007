"""An instance that leads: it ships its log to the followers, and hears how far they have forced it.

The thread that writes the log offers each block, and the block goes out at once to the followers that keep up; it never
waits for one. A thread for each follower connects to it, sends what it lacks, and receives its acknowledgements. That
thread reads from the log's extents, and messages for a base, without any lock. When enough copies have forced an LSN,
whoever heard of it tells the log's writer, and replies are released.
"""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable, Iterator
from time import monotonic
from typing import Final, final

from mypy_extensions import i64

from ostler.engine.message.message import Message
from ostler.engine.queue.queue_file import QueueFileDamaged
from ostler.log.catch_up import CatchUpReader
from ostler.log.settings import LogSettings
from ostler.log.shipping import LogShipper
from ostler.model.connection_names import Address
from ostler.model.errors import MQError
from ostler.replica.base_source import BaseSource, Still
from ostler.replica.leader_side import NEEDS_BASE, PARTITIONED, REBASING, REFUSED, STREAMING, LeaderSide
from ostler.replica.repair import FetchedData, answer_fetch
from ostler.server.config.replication_ini import RecoveryGroupSection
from ostler.server.net.outgoing_sockets import error_text
from ostler.server.rate_limited_log import RateLimitedLog
from ostler.server.replica.group_tls import GroupTls, certified_instance
from ostler.server.replica.messages import not_secured, replication_message
from ostler.server.replica.side.source import SideFileSource
from ostler.server.replica.transport import ConnectionLost, NotSecured, ReplicaConnection
from ostler.server.storage.journal_writer import JournalWriter
from ostler.server.supervised_thread import SupervisedThread
from ostler.wire.frames import FAREWELL, MalformedFrame, frame
from ostler.wire.payload_codec import PayloadReader
from ostler.wire.replica_frames import (
    BASE_NEEDED,
    FETCH_LOG,
    FETCH_MESSAGE,
    PURPOSE_DR,
    PURPOSE_HA,
    REPLICA_FRAME_BYTES_MAX,
    Fetch,
    Fetched,
    ReplicaFrame,
    ReplicaHello,
    SideFile,
    decode_replica_frame,
)
from ostler.wire.replies import decode_reason, reason_payload

# A follower with so much unsent is behind: it gets the rest from the extents when it has read this.
_UNSENT_BYTES_MAX: Final = 8 << 20
_CONNECT_SECONDS: Final = 5.0
_RETRY_SECONDS_MIN: Final = 0.1
# Followers apply up to the group LSN. When nothing else is sent they are told of a new one after so long.
_GROUP_SECONDS: Final = 0.05
# Between two hints to the agent that a follower may enter the in-sync set. Each makes it ask the arbiter.
_HINT_SECONDS: Final = 0.02
# Reads from the extents, and parts of a base, between two looks at what the follower has sent.
_READS_MAX: Final = 4
_BASE_PARTS_MAX: Final = 8
# A follower that needs a base keeps its copy for so many heartbeat timeouts, unless it has left the in-sync set before.
_SET_ASIDE_TIMEOUTS: Final = 3


@final
class _FollowerLink:
    """The connection to one follower, of the thread that keeps it."""

    def __init__(self, name: str, addresses: tuple[Address, ...], purpose: int) -> None:
        """`name` is the instance's; of the copy at another site that of its group, which has several addresses."""
        self.name: Final = name
        self.addresses: Final = addresses
        self.purpose: Final = purpose
        self.tries = 0
        self.number = -1
        self.connection: ReplicaConnection | None = None
        self.told_group_lsn = 0
        self.told_at = 0.0
        self.hinted_at = 0.0
        self.again: Final = threading.Event()
        """Ends the pause before the next try to connect."""
        self.detail = ""
        """The reason for which it is not connected, for displays."""
        self.source: BaseSource | None = None
        self.parts: Iterator[ReplicaFrame] | None = None
        """The rest of a base."""
        self.side_sets: dict[str, bytes] = {}
        """The digests of the side files that were sent on this connection."""
        self.side_parts: Iterator[SideFile] | None = None
        """The rest of a set of side files."""

    @property
    def address(self) -> Address:
        """The address that is tried, one after the other."""
        return self.addresses[self.tries % len(self.addresses)]


class Leading(LogShipper):
    """The links of a leader. `side` is used with `turn` held."""

    def __init__(
        self,
        side: LeaderSide,
        addresses: dict[str, Address],
        tls: GroupTls | None,
        heartbeat_seconds: float,
        heartbeat_timeout_seconds: float,
        retry_seconds: float,
        note: Callable[[str], None],
        on_change: Callable[[], None],
        still: Still,
        log_settings: LogSettings,
        recovery: RecoveryGroupSection | None = None,
        side_files: SideFileSource | None = None,
    ) -> None:
        """`addresses` are those of the other instances, `recovery` is the group at the other site.

        `on_change` is called when a follower comes or goes. `still` gives the engine in a turn of its own, for bases.
        It is never taken with `turn` held.
        """
        self.side = side
        self.turn = threading.RLock()
        self.writer: JournalWriter | None = None
        self._tls = tls
        self._heartbeat_seconds = heartbeat_seconds
        self._timeout_seconds = heartbeat_timeout_seconds
        self._retry_seconds = retry_seconds
        self._notes = RateLimitedLog(note)
        self._note = note
        self._on_change = on_change
        self._still = still
        self._log_settings = log_settings
        self._side_files = side_files if tls is not None else None  # there are keys among them
        self._numbers = 0
        self._bases = 0
        self._fetching = threading.Condition()
        self._requests = 0
        self._answers: dict[int, FetchedData] = {}
        self._stopping = threading.Event()
        self._links = {name: _FollowerLink(name, (address,), PURPOSE_HA) for name, address in addresses.items()}
        if recovery is not None and recovery.is_enabled:
            self._links[recovery.name] = _FollowerLink(recovery.name, recovery.addresses, PURPOSE_DR)
        self._threads: list[SupervisedThread] = []

    def start(self, writer: JournalWriter | None) -> None:
        """Connect to the followers. From now on the log's writer, if there is one, hears of the group LSN."""
        self.writer = writer
        for link in self._links.values():
            thread = SupervisedThread(
                f"ostler-copy-{link.name}"[:15],
                f"thread that copies the log to {link.name}",
                lambda link=link: self._keep(link),  # type: ignore[misc]
                self._stopping.is_set,
                self._note,
                stopping=self._stopping,
            )
            self._threads.append(thread)
            thread.start()
        self.advance()

    def say_farewell(self, why: str) -> None:
        """Say farewell to the followers and close their connections, behind all that was offered. Does not wait."""
        self._stopping.set()
        for link in self._links.values():
            link.again.set()
            connection = link.connection
            if connection is not None:
                connection.send(frame(FAREWELL, 0, 0, reason_payload(0, why)))
                connection.finish()

    def join(self) -> None:
        """Wait for the threads, once farewell was said."""
        for thread in self._threads:
            thread.join(2.0)

    def retry(self, names: set[str]) -> None:
        """Connect at once to those of these that are not connected: they may have started just now."""
        for link in self._links.values():
            if link.name in names and link.connection is None:
                link.again.set()

    def detail_of(self, name: str) -> str:
        """Return why an instance is not connected; empty when it is."""
        link = self._links.get(name)
        return "" if link is None else link.detail

    # -- of the thread that writes the log -----------------------------------------------------------------------------

    def offer(self, position: i64, images: list[bytes]) -> None:
        with self.turn:
            self.side.offer(position, images)
            for link in self._links.values():
                follower = self.side.followers.get(link.name)
                if follower is not None and follower.state == STREAMING and follower.position == position:
                    self._push(link)

    def forced(self, end_lsn: i64) -> None:
        with self.turn:
            self.side.forced_here(end_lsn)
        self.advance()

    def advance(self) -> None:
        """Tell the log's writer what enough copies have forced."""
        writer = self.writer
        if writer is None:
            return
        with self.turn:
            lsn = self.side.group_lsn()
        if lsn > writer.log.durable_lsn():
            writer.group_durable(lsn)

    def _push(self, link: _FollowerLink) -> bool:
        """Send what a follower gets from memory, as far as its connection takes it. True: there may be more."""
        connection = link.connection
        while connection is not None and connection.is_open:
            if connection.unsent_bytes > _UNSENT_BYTES_MAX:
                return True
            following = self.side.next_frame(link.name)
            if following is None:
                return False
            connection.send(following.encode())
            link.told_at = monotonic()
        return False

    # -- of the thread of one follower ---------------------------------------------------------------------------------

    def _keep(self, link: _FollowerLink) -> None:
        pause_seconds = _RETRY_SECONDS_MIN
        while not self._stopping.is_set():
            link.again.clear()
            try:
                connection = self._connect(link)
            except (OSError, ConnectionLost) as error:
                self._report_failure(link, error)
                link.tries += 1
                pause_seconds = self._pause(link, pause_seconds)
                continue
            began = monotonic()
            self._serve(link, connection)
            if monotonic() - began > self._timeout_seconds:
                pause_seconds = _RETRY_SECONDS_MIN
            if link.tries % len(link.addresses) != 0:
                self._stopping.wait(_RETRY_SECONDS_MIN)  # another instance of a recovery group may take the log
                continue
            pause_seconds = self._pause(link, pause_seconds)

    def _pause(self, link: _FollowerLink, seconds: float) -> float:
        """Wait before the next try to connect; return how long to wait before the one behind it."""
        if self._stopping.is_set() or link.again.wait(seconds):
            return _RETRY_SECONDS_MIN
        return min(2 * seconds, self._retry_seconds)

    def _report_failure(self, link: _FollowerLink, error: OSError | ConnectionLost) -> None:
        """Tell why a follower cannot be connected to."""
        why = error_text(error) if isinstance(error, OSError) else str(error)
        link.detail = why
        if isinstance(error, NotSecured):
            text = not_secured(f"instance {link.name} at {link.address}", error)
        else:
            text = f"AMQ3208E: Instance {link.name} at {link.address} cannot be reached: {why}."
        self._notes.write(link.name + why, text)

    def _connect(self, link: _FollowerLink) -> ReplicaConnection:
        """Connect, and send the hello. Raises OSError and ConnectionLost."""
        sock = socket.create_connection((link.address.host, link.address.port), _CONNECT_SECONDS)
        stream = self._tls.stream(False) if self._tls is not None else None
        connection = ReplicaConnection(sock, link.name, stream, REPLICA_FRAME_BYTES_MAX)
        try:
            connection.finish_handshake()
            certified = certified_instance(connection.stream) if connection.stream is not None else link.name
            if link.purpose == PURPOSE_HA and certified != link.name:
                raise NotSecured(f"the certificate there is that of {certified or 'nobody'}, not of {link.name}")
        except ConnectionLost:
            connection.close("refused")
            raise
        with self.turn:
            self._numbers += 1
            link.number = self._numbers
            link.connection = connection
            link.detail = ""
            link.side_sets, link.side_parts = {}, None
            hello = self.side.connected(link.name, link.number, monotonic(), link.purpose)
            connection.send(hello.encode())
        return connection

    def _serve(self, link: _FollowerLink, connection: ReplicaConnection) -> None:
        try:
            self._receive(link, connection)
        except NotSecured as failed:
            self._report_failure(link, failed)
        except ConnectionLost as lost:
            link.detail = str(lost)
            if not self._stopping.is_set():
                why = str(lost).removesuffix(".")
                self._notes.write(link.name + why, f"AMQ3208E: The connection to instance {link.name} ended: {why}.")
        except MalformedFrame as error:
            link.detail = f"a frame is malformed: {error}"
            self._note(f"AMQ3208E: Instance {link.name} broke the protocol: {error}.")
        finally:
            connection.close("closed")
            self._end_base(link)
            with self.turn:
                link.connection = None
                self.side.disconnected(link.name, link.number)
                if link.purpose == PURPOSE_DR:
                    self._judge_recovery(link, monotonic())
            link.tries += 1
            self.advance()
            self._on_change()

    def _receive(self, link: _FollowerLink, connection: ReplicaConnection) -> None:
        state = ""
        is_more = False
        while not self._stopping.is_set():
            found = connection.receive(0.0 if is_more and connection.unsent_bytes == 0 else _GROUP_SECONDS)
            now = monotonic()
            if found is not None and found.type == FAREWELL:
                _, why = decode_reason(PayloadReader(found.buffer, found.start, found.end))
                raise ConnectionLost(f"it said farewell: {why}")
            received: ReplicaFrame | None = None
            if found is not None:
                received = decode_replica_frame(found.type, found.request, found.buffer, found.start, found.end)
                if isinstance(received, Fetched):
                    self._take_fetched(received)
                elif isinstance(received, Fetch):
                    self._answer(connection, received)
            with self.turn:
                if received is not None:
                    self._check_name(link, connection, received)
                    self.side.receive(link.name, link.number, received, now)
                if link.purpose == PURPOSE_DR:
                    self._judge_recovery(link, now)
                is_more = self._push(link)
                self._tell_group(link, connection, now)
                is_entering = received is not None and self.side.may_enter(link.name)
            is_more = self._read(link, connection, now) or is_more
            is_more = self._send_base(link, connection) or is_more
            is_more = self._send_side_files(link, connection) or is_more
            with self.turn:
                follower = self.side.followers[link.name]
                is_changed = follower.state != state
                state = follower.state
                detail = follower.detail
            self.advance()
            if is_changed:
                self._report(link, state, detail)
            elif is_entering and now - link.hinted_at >= _HINT_SECONDS:
                link.hinted_at = now
                self._on_change()
            if now - connection.received_at > self._timeout_seconds:
                raise ConnectionLost(f"it was silent for {self._timeout_seconds:g} seconds")

    def _check_name(self, link: _FollowerLink, connection: ReplicaConnection, received: ReplicaFrame) -> None:
        """Raise ConnectionLost when an instance of the other site has a certificate that is not its own."""
        if not isinstance(received, ReplicaHello) or connection.stream is None:
            return
        if certified_instance(connection.stream) != received.instance:
            raise ConnectionLost(f"the certificate there is not that of {received.instance}")

    def _judge_recovery(self, link: _FollowerLink, now: float) -> None:
        """Measure the lag of the other site, and say when replies begin or cease to wait for it. The turn is held."""
        if not self.side.judge_recovery(now, self._timeout_seconds):
            return
        if self.side.is_recovery_awaited:
            self._note(replication_message("AMQ3288I", group=link.name))
        else:
            self._note(replication_message("AMQ3289W", group=link.name))

    def _read(self, link: _FollowerLink, connection: ReplicaConnection, now: float) -> bool:
        """Read blocks from the extents for a follower that is behind, and send them. True: there may be more."""
        for _ in range(_READS_MAX):
            if connection.unsent_bytes > _UNSENT_BYTES_MAX:
                return True
            with self.turn:
                read = self.side.next_read(link.name)
            if read is None:
                return False
            read.make()
            with self.turn:
                following = self.side.take_read(read, now)
                if following is not None:
                    # In the same turn: a block that is offered next comes behind it.
                    connection.send(following.encode())
                    link.told_at = now
                self._push(link)
        return True

    # -- side files

    def _send_side_files(self, link: _FollowerLink, connection: ReplicaConnection) -> bool:
        """Send files beside the log that a follower has not had on this connection. Return True when there are more."""
        source = self._side_files
        if source is None:
            return False
        if link.side_parts is None:
            with self.turn:
                takes, term = self.side.takes_side_files(link.name), self.side.membership.term
            changed = [each for each in source.current() if link.side_sets.get(each.name) != each.digest]
            if not takes or not changed:
                return False
            link.side_sets[changed[0].name] = changed[0].digest
            link.side_parts = changed[0].frames(term)
        for part in link.side_parts:
            connection.send(part.encode())
            link.told_at = monotonic()
            if connection.unsent_bytes > _UNSENT_BYTES_MAX:
                return True
        link.side_parts = None
        return True

    # -- repair

    def fetch_message(self, queue_id: int, seq: int, is_over: Callable[[], bool] = lambda: False) -> Message | None:
        """Return a message that this copy has lost, from a follower that has it; None when nobody has, or answers.

        It waits, until `is_over`: not for the reactor, and without any lock.
        """
        for name, answer in self._fetch(FETCH_MESSAGE, queue_id, seq, is_over):
            message = answer.message()
            if message is not None and message.seq == seq:
                self._note(replication_message("AMQ3293I", what=f"message {seq} of queue {queue_id}", source=name))
                return message
        return None

    def fetch_log(self, position: int, end: int, is_over: Callable[[], bool]) -> Iterator[tuple[str, bytes]]:
        """Yield the blocks from a position on that followers have, with their names. It waits for each of them."""
        for name, answer in self._fetch(FETCH_LOG, position, end, is_over):
            data = answer.data()
            if data:
                yield name, data

    def _fetch(
        self, kind: int, first: int, second: int, is_over: Callable[[], bool]
    ) -> Iterator[tuple[str, FetchedData]]:
        """Ask one follower after the other that keeps up, and yield the answers that are whole."""
        for link in list(self._links.values()):
            connection = link.connection
            with self.turn:
                follower = self.side.followers.get(link.name)
                is_well = follower is not None and follower.state == STREAMING
            if connection is None or not is_well or is_over():
                continue
            with self._fetching:
                self._requests += 1
                answer = self._answers[self._requests] = FetchedData(self._requests)
            connection.send(Fetch(answer.request, kind, first, second).encode())
            deadline = monotonic() + self._timeout_seconds
            with self._fetching:
                while not answer.is_whole and monotonic() < deadline and connection.is_open and not is_over():
                    self._fetching.wait(_GROUP_SECONDS)
                del self._answers[int(answer.request)]
            if answer.is_whole:
                yield link.name, answer

    def new_reader(self) -> CatchUpReader:
        """Return a reader of this copy's log, for the thread that calls it."""
        with self.turn:
            return self.side.new_reader()

    def forced_position(self) -> int:
        """Return where the log ends that is forced here."""
        with self.turn:
            return int(self.side.forced_position())

    def _take_fetched(self, part: Fetched) -> None:
        with self._fetching:
            answer = self._answers.get(int(part.request))
            if answer is not None and answer.take(part):
                self._fetching.notify_all()

    def _answer(self, connection: ReplicaConnection, asked: Fetch) -> None:
        """Answer a follower that has lost something. No lock is held."""
        with self.turn:
            reader, end = self.side.new_reader(), self.side.forced_position()
        for part in answer_fetch(asked, self._still, reader, end):
            connection.send(part.encode())
        reader.close()

    # -- bases

    def _send_base(self, link: _FollowerLink, connection: ReplicaConnection) -> bool:
        """Send parts of a base to a follower that takes one. Return True when there are more.

        Raises ConnectionLost when the follower has to begin anew for it, or when the base has to.
        """
        now = monotonic()
        with self.turn:
            follower = self.side.followers[link.name]
            state, detail, awaits_base = follower.state, follower.detail, follower.awaits_base
            sets_aside = self.side.should_set_aside(link.name, now, _SET_ASIDE_TIMEOUTS * self._timeout_seconds)
        if sets_aside:
            self._note(f"AMQ3208E: Instance {link.name} is told to take a base: {detail}.")
            connection.send(frame(FAREWELL, 0, 0, reason_payload(BASE_NEEDED, detail)))
            connection.finish()
            raise ConnectionLost(f"it needs a base: {detail}")
        if state == NEEDS_BASE and awaits_base:
            if link.source is not None:
                raise self._base_failed(link, detail)
            self._begin_base(link, connection)
        elif state != REBASING or link.parts is None:
            return False
        return self._send_parts(link, connection)

    def _begin_base(self, link: _FollowerLink, connection: ReplicaConnection) -> None:
        self._bases += 1
        source = BaseSource(self._still, self.side.membership.term, self._bases, self._log_settings)
        begin = source.begin()
        with self.turn:
            if not self.side.begin_base(link.name, link.number, begin):
                return
            connection.send(begin.encode())
        link.source, link.parts = source, source.frames()
        self._note(
            f"AMQ3237I: A base of about {begin.size_bytes >> 20} MB is sent to instance {link.name}, with the log from "
            f"LSN {begin.restart_lsn} on."
        )

    def _send_parts(self, link: _FollowerLink, connection: ReplicaConnection) -> bool:
        source, parts = link.source, link.parts
        if source is None or parts is None:
            return False
        try:
            for _ in range(_BASE_PARTS_MAX):
                if connection.unsent_bytes > _UNSENT_BYTES_MAX or not connection.is_open:
                    break
                part = next(parts, None)
                if part is None:
                    link.parts = None
                    break
                connection.send(part.encode())
                link.told_at = monotonic()
        except (QueueFileDamaged, MQError) as error:
            raise self._base_failed(link, str(error)) from None
        with self.turn:
            self.side.base_advanced(link.name, source.percent())
        return link.parts is not None

    def _base_failed(self, link: _FollowerLink, why: str) -> ConnectionLost:
        self._note(replication_message("AMQ3292W", instance=link.name, why=why))
        return ConnectionLost(f"its base is given up: {why}")

    def _end_base(self, link: _FollowerLink) -> None:
        source = link.source
        link.source = link.parts = None
        if source is not None:
            source.close()

    def _tell_group(self, link: _FollowerLink, connection: ReplicaConnection, now: float) -> None:
        """Send a sign of life, or the new group LSN, when nothing else was sent for a while."""
        group_lsn = int(self.side.group_lsn())
        pause = _GROUP_SECONDS if group_lsn != link.told_group_lsn else self._heartbeat_seconds
        if now - link.told_at < pause:
            return
        sign: ReplicaFrame | None = self.side.sign_of_life(link.name)
        if sign is not None:
            connection.send(sign.encode())
            link.told_group_lsn = group_lsn
            link.told_at = now

    def _report(self, link: _FollowerLink, state: str, detail: str) -> None:
        if state == STREAMING:
            secure = "secure " if self._tls is not None else ""
            kind = "instance" if link.purpose == PURPOSE_HA else "recovery group"
            self._note(f"AMQ3211I: The {secure}connection to {kind} {link.name} at {link.address} is made.")
        elif detail and state in (NEEDS_BASE, PARTITIONED, REFUSED):
            link.detail = detail
            self._note(f"AMQ3208E: Instance {link.name} cannot follow ({state}): {detail}")
        self._on_change()
