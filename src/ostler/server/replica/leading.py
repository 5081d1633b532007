"""An instance that leads: it ships its log to the followers, and hears how far they have forced it.

The thread that writes the log offers each block, and the block goes out at once to the followers that keep up; it never
waits for one. A thread for each follower connects to it, sends what it lacks, and receives its acknowledgements. When
enough copies have forced an LSN, whoever heard of it tells the log's writer, and replies are released.
"""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable
from time import monotonic
from typing import Final, final

from mypy_extensions import i64

from ostler.log.shipping import LogShipper
from ostler.model.connection_names import Address
from ostler.replica.leader_side import STREAMING, LeaderSide
from ostler.server.config.replication_ini import RecoveryGroupSection
from ostler.server.net.outgoing_sockets import error_text
from ostler.server.rate_limited_log import RateLimitedLog
from ostler.server.replica.group_tls import GroupTls, certified_instance
from ostler.server.replica.messages import replication_message
from ostler.server.replica.transport import ConnectionLost, ReplicaConnection
from ostler.server.storage.journal_writer import JournalWriter
from ostler.server.supervised_thread import SupervisedThread
from ostler.wire.frames import FAREWELL, MalformedFrame, frame
from ostler.wire.payload_codec import PayloadReader
from ostler.wire.replica_frames import (
    PURPOSE_DR,
    PURPOSE_HA,
    REPLICA_FRAME_BYTES_MAX,
    ReplicaFrame,
    ReplicaHello,
    decode_replica_frame,
)
from ostler.wire.replies import decode_reason, reason_payload

# A follower with so much unsent is behind: it gets the rest from the extents when it has read this.
_UNSENT_BYTES_MAX: Final = 8 << 20
_CONNECT_SECONDS: Final = 5.0
_RETRY_SECONDS_MIN: Final = 0.1
# Followers apply up to the group LSN. When nothing else is sent they are told of a new one after so long.
_GROUP_SECONDS: Final = 0.05


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
        self.detail = ""
        """Why it is not connected, for displays."""

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
        recovery: RecoveryGroupSection | None = None,
    ) -> None:
        """`addresses` are those of the other instances, `recovery` is the group at the other site.

        `on_change` is called when a follower comes or goes.
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
        self._numbers = 0
        self._stopping = threading.Event()
        self._links = {name: _FollowerLink(name, (address,), PURPOSE_HA) for name, address in addresses.items()}
        if recovery is not None and recovery.is_enabled:
            self._links[recovery.name] = _FollowerLink(recovery.name, recovery.addresses, PURPOSE_DR)
        self._threads: list[SupervisedThread] = []

    def start(self, writer: JournalWriter) -> None:
        """Connect to the followers. From now on the log's writer hears of the group LSN."""
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
            connection = link.connection
            if connection is not None:
                connection.send(frame(FAREWELL, 0, 0, reason_payload(0, why)))
                connection.finish()

    def join(self) -> None:
        """Wait for the threads, once farewell was said."""
        for thread in self._threads:
            thread.join(2.0)

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
        """Send what a follower gets next, as far as its connection takes it. Return True when there may be more."""
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
            try:
                connection = self._connect(link)
            except (OSError, ConnectionLost) as error:
                why = error_text(error) if isinstance(error, OSError) else str(error)
                link.detail = why
                self._notes.write(
                    link.name + why, f"AMQ3208E: Instance {link.name} at {link.address} cannot be reached: {why}."
                )
                link.tries += 1
                self._stopping.wait(pause_seconds)
                pause_seconds = min(2 * pause_seconds, self._retry_seconds)
                continue
            began = monotonic()
            self._serve(link, connection)
            if monotonic() - began > self._timeout_seconds:
                pause_seconds = _RETRY_SECONDS_MIN
            self._stopping.wait(pause_seconds)
            pause_seconds = min(2 * pause_seconds, self._retry_seconds)

    def _connect(self, link: _FollowerLink) -> ReplicaConnection:
        """Connect, and send the hello. Raises OSError and ConnectionLost."""
        sock = socket.create_connection((link.address.host, link.address.port), _CONNECT_SECONDS)
        stream = self._tls.stream(False) if self._tls is not None else None
        connection = ReplicaConnection(sock, link.name, stream, REPLICA_FRAME_BYTES_MAX)
        try:
            connection.finish_handshake()
            certified = certified_instance(connection.stream) if connection.stream is not None else link.name
            if link.purpose == PURPOSE_HA and certified != link.name:
                raise ConnectionLost(f"the certificate there is not that of {link.name}")
        except ConnectionLost:
            connection.close("refused")
            raise
        with self.turn:
            self._numbers += 1
            link.number = self._numbers
            link.connection = connection
            link.detail = ""
            hello = self.side.connected(link.name, link.number, monotonic(), link.purpose)
            connection.send(hello.encode())
        return connection

    def _serve(self, link: _FollowerLink, connection: ReplicaConnection) -> None:
        try:
            self._receive(link, connection)
        except ConnectionLost as lost:
            link.detail = str(lost)
            if not self._stopping.is_set():
                self._note(f"AMQ3208E: The connection to instance {link.name} ended: {lost}.")
        except MalformedFrame as error:
            link.detail = f"a frame is malformed: {error}"
            self._note(f"AMQ3208E: Instance {link.name} broke the protocol: {error}.")
        finally:
            connection.close("closed")
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
            with self.turn:
                if found is not None:
                    received = decode_replica_frame(found.type, found.request, found.buffer, found.start, found.end)
                    self._check_name(link, connection, received)
                    self.side.receive(link.name, link.number, received, now)
                if link.purpose == PURPOSE_DR:
                    self._judge_recovery(link, now)
                is_more = self._push(link)
                self._tell_group(link, connection, now)
                follower = self.side.followers[link.name]
                is_changed = follower.state != state
                state = follower.state
                detail = follower.detail
            self.advance()
            if is_changed:
                self._report(link, state, detail)
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
            self._note(replication_message("AMQ3285I", group=link.name))
        else:
            self._note(replication_message("AMQ3286W", group=link.name))

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
        elif detail:
            link.detail = detail
            self._note(f"AMQ3208E: Instance {link.name} cannot follow ({state}): {detail}")
        self._on_change()
