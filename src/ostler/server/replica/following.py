"""An instance that follows: it takes the log of the leader over a socket, forces it, acknowledges it and applies it.

One thread accepts connections; each connection has a thread. All of them, and the agent, use the follower's side one
after the other, with `turn`. A connection takes all frames that are at hand, forces once, acknowledges, and applies
while nothing else comes. A slower thread takes checkpoints, and notes how far the log is acknowledged.
"""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from time import monotonic
from typing import TYPE_CHECKING, Final, NoReturn

from ostler.engine.core import Engine
from ostler.engine.recovery.checkpoint_space import lacks_space
from ostler.engine.recovery.replay import JournalInconsistent
from ostler.log.errors import LogDamaged, LogError
from ostler.model.disk import DiskFailed, DiskFull
from ostler.replica.follower_side import NO_LINK, BaseWanted, FollowerSide, LinkRefused
from ostler.replica.pedigree import Pedigree
from ostler.server.config.replication_ini import ReplicationSection
from ostler.server.net.listeners import bind_tcp
from ostler.server.net.outgoing_sockets import error_text
from ostler.server.rate_limited_log import RateLimitedLog
from ostler.server.replica.group_tls import GroupTls, certified_instance
from ostler.server.replica.messages import not_secured, replication_message
from ostler.server.replica.side.store import SideFileStore
from ostler.server.replica.transport import ConnectionLost, NotSecured, ReplicaConnection, wake_acceptor
from ostler.server.supervised_thread import SupervisedThread
from ostler.wire.frames import FAREWELL, FrameReader, MalformedFrame, frame
from ostler.wire.payload_codec import PayloadReader
from ostler.wire.replica_frames import (
    BASE_NEEDED,
    FIRST_REPLICA_FRAME_BYTES_MAX,
    PURPOSE_DR,
    REFUSED_STATE,
    REPLICA_FRAME_BYTES_MAX,
    PairState,
    ReplicaFrame,
    ReplicaHello,
    SideFile,
    decode_replica_frame,
)
from ostler.wire.replies import decode_reason, reason_payload

if TYPE_CHECKING:
    from ostler.server.replica.pair.arbiter import PairArbiter

_CONNECTIONS_MAX: Final = 16
_BACKLOG: Final = 16
_ACCEPT_SECONDS: Final = 0.5
_HELLO_SECONDS: Final = 10.0
# Applied at a time: a frame that arrives meanwhile waits for so much at most.
_APPLY_BYTES: Final = 256 << 10
_NOTE_SECONDS: Final = 0.25
_CHECKPOINT_STEPS: Final = 8
# Read of this copy's own files every quarter of a second, to find damage.
_SCRUB_BYTES: Final = 256 << 10
_SCRUB_PAUSE_SECONDS: Final = 5.0
# Between two attempts to store side files for which there was no space.
_SIDE_FILES_SECONDS: Final = 5.0
_SPACE_SECONDS: Final = 1.0


def replication_listener(section: ReplicationSection) -> socket.socket:
    """Return the socket to which leaders connect. An address of this machine alone is not offered to others."""
    address = section.own_address()
    assert address.port, "a section that is complete names every instance, or the port of a sole one"
    is_loopback = address.host == "localhost" or address.host.startswith("127.") or address.host == "::1"
    host = section.local_address.host or (address.host if is_loopback else "")
    return bind_tcp(host, address.port, _BACKLOG)


class _LogGone(ConnectionLost):
    """The log of the live site does not reach back to the end of this recovery group's."""


class Following:
    """The sockets and threads of a follower. `side` is used with `turn` held."""

    def __init__(
        self,
        side: FollowerSide,
        instances: frozenset[str],
        listener: socket.socket,
        tls: GroupTls | None,
        heartbeat_timeout_seconds: float,
        note: Callable[[str], None],
        on_change: Callable[[], None],
        on_failure: Callable[[str], None],
        on_base_wanted: Callable[[str], None],
        pair: PairArbiter | None = None,
        side_files: SideFileStore | None = None,
        check_drop: Callable[[], None] | None = None,
    ) -> None:
        """`on_change` is called when a leader connects or is lost, `on_failure` when this process cannot go on.

        `on_base_wanted` is called when this copy is of no use any more. `pair` answers the partner of a pair without
        arbiter, and says whether it may be followed. `side_files` takes the leader's files beside the log.
        `check_drop` is called before a leader is followed that does not have all of this copy's log; it raises
        LinkRefused when the rest must not be dropped.
        """
        self._check_drop = check_drop
        self._side_files = side_files
        self._pair = pair
        self.side = side
        self.turn = threading.RLock()
        self.failure = ""
        self._instances = instances
        self._listener = listener
        self._tls = tls
        self._timeout_seconds = heartbeat_timeout_seconds
        self._notes = RateLimitedLog(note)
        self._note = note
        self._on_change = on_change
        self._on_failure = on_failure
        self._on_base_wanted = on_base_wanted
        self.site_log_gone = ""
        """Of the instance that takes the log for a recovery group: the live site cannot continue any copy of it."""
        self._links = 0
        self._open: dict[int, ReplicaConnection] = {}
        self._heard_at = 0.0
        self._scrubbed = 0
        self._scrub_at = 0.0
        self._side_files_at = 0.0
        self._space_at = 0.0
        self._is_over = False  # set with the turn held
        self._stopping = threading.Event()
        listener.settimeout(_ACCEPT_SECONDS)
        self._acceptor = self._thread("ostler-replica", "thread that accepts the leader", self._accept)
        self._keeper = self._thread("ostler-replica-keep", "thread that takes checkpoints of a replica", self._keep)

    def start(self) -> None:
        """Take leaders from now on. Whatever they need is in place."""
        self._acceptor.start()
        self._keeper.start()

    def _thread(self, name: str, task: str, work: Callable[[], None]) -> SupervisedThread:
        return SupervisedThread(name, task, work, self._stopping.is_set, self._note, stopping=self._stopping)

    # -- state ---------------------------------------------------------------------------------------------------------

    def is_link_well(self, term: int) -> bool:
        """Return True when the leader of a term was heard within the heartbeat timeout."""
        with self.turn:
            is_linked = self.side.link != NO_LINK and self.side.term == term
        return is_linked and monotonic() - self._heard_at <= self._timeout_seconds

    def is_linked(self) -> bool:
        return self.side.link != NO_LINK

    def stop(self) -> None:
        """Close the listener and all connections. Nothing is received any more."""
        self._stopping.set()
        for connection in list(self._open.values()):
            connection.close("this instance does not follow any more")
        wake_acceptor(self._listener)
        self._acceptor.join()
        self._keeper.join()
        self._listener.close()
        try:
            with self.turn:  # a frame that is being taken is the last one
                self._is_over = True
                self.side.disconnected(self.side.link)
        except DiskFailed as error:
            self._fail(error)

    def _fail(self, error: Exception) -> None:
        self._end(str(error) or type(error).__name__)
        self._on_failure(self.failure)

    def _want_base(self, why: str) -> None:
        self._end(why)
        self._on_base_wanted(why)

    def _end(self, why: str) -> None:
        self.failure = why
        self._stopping.set()
        for connection in list(self._open.values()):
            connection.close("this copy has failed")

    # -- connections ---------------------------------------------------------------------------------------------------

    def _accept(self) -> None:
        while not self._stopping.is_set():
            try:
                accepted, address = self._listener.accept()
            except TimeoutError:
                continue
            except OSError as error:
                if self._stopping.is_set():
                    return
                self._notes.write("accept", f"AMQ3208E: A connection cannot be accepted: {error_text(error)}.")
                self._stopping.wait(_ACCEPT_SECONDS)
                continue
            where = f"{address[0]}({address[1]})"
            if len(self._open) >= _CONNECTIONS_MAX:
                accepted.close()
                continue
            stream = self._tls.stream(True) if self._tls is not None else None
            self._links += 1
            connection = ReplicaConnection(accepted, where, stream, FIRST_REPLICA_FRAME_BYTES_MAX)
            self._open[self._links] = connection
            threading.Thread(
                target=self._serve, args=(self._links, connection), name="ostler-replica-receive", daemon=True
            ).start()

    def _serve(self, link: int, connection: ReplicaConnection) -> None:
        try:
            connection.finish_handshake()
            if self._greet(link, connection):
                self._receive(link, connection)
        except NotSecured as failed:
            self._notes.write(str(failed), not_secured(connection.peer, failed))
        except ConnectionLost as lost:
            if isinstance(lost, _LogGone):
                self.site_log_gone = str(lost)
            if not self._stopping.is_set():
                self._notes.write(str(lost), f"AMQ3208E: The connection from {connection.peer} ended: {lost}.")
        except BaseWanted as wanted:
            self._want_base(str(wanted))
        except LinkRefused as refused:
            self._refuse(connection, refused)
        except MalformedFrame as error:
            self._refuse(connection, LinkRefused(f"a frame is malformed: {error}"))
        except (LogDamaged, JournalInconsistent) as damage:
            self._want_base(str(damage))
        except (DiskFailed, LogError) as error:
            self._fail(error)
        except Exception as error:
            self._fail(error)
            raise
        finally:
            connection.close("closed")
            self._open.pop(link, None)
            try:
                with self.turn:
                    if not self._is_over:
                        self.side.disconnected(link)
            except DiskFailed as error:
                self._fail(error)
            self._on_change()

    def _refuse(self, connection: ReplicaConnection, refused: LinkRefused) -> None:
        if not _is_question(refused):
            self._notes.write(str(refused), replication_message("AMQ3280W", address=connection.peer, why=refused))
        for each in refused.frames:
            connection.send(each.encode())
        connection.send(frame(FAREWELL, 0, 0, reason_payload(0, str(refused))))
        connection.finish()

    def _greet(self, link: int, connection: ReplicaConnection) -> bool:
        """Answer the first frame. Return True when a leader is connected, whose log is to be received."""
        found = connection.receive(_HELLO_SECONDS)
        if found is None:
            raise LinkRefused("no hello came in time")
        hello = _decode(found)
        if isinstance(hello, PairState) and self._pair is not None:
            self._pair.answer(connection, hello)
            return False
        if not isinstance(hello, ReplicaHello):
            raise LinkRefused("the first frame is no hello")
        if hello.purpose != PURPOSE_DR and hello.instance not in self._instances:
            raise LinkRefused(f"{hello.instance} is no instance of this group")
        if connection.stream is not None and certified_instance(connection.stream) != hello.instance:
            raise LinkRefused(f"the certificate is not that of {hello.instance}")
        refusal = self._pair.reason_not_to_follow() if self._pair is not None else ""
        if refusal:
            raise LinkRefused(refusal)
        if self._check_drop is not None and hello.purpose != PURPOSE_DR and self._would_drop(hello):
            self._check_drop()
        connection.set_frame_bytes_max(REPLICA_FRAME_BYTES_MAX)
        replies = self._take(link, hello)
        self._heard_at = monotonic()
        _send(connection, replies)
        self._note(
            f"AMQ3213I: Instance {hello.instance} at {connection.peer} is connected and leads, term {hello.term}."
        )
        self._on_change()
        return True

    def _would_drop(self, hello: ReplicaHello) -> bool:
        """Return True when this copy has something that the leader does not have."""
        with self.turn:
            own = self.side.pedigree()
        return own.relation(Pedigree(hello.lives, int(hello.end_lsn))).lsn < own.end_lsn

    def _receive(self, link: int, connection: ReplicaConnection) -> None:
        side = self.side
        is_pending = False  # something was received and is not forced
        has_more = False  # something can be applied
        while True:
            found = connection.receive(0.0 if is_pending or has_more else self._timeout_seconds)
            if found is not None:
                self._heard_at = monotonic()
                if found.type == FAREWELL:
                    self._take_farewell(found)
                received = _decode(found)
                replies = self._take(link, received)
                if isinstance(received, SideFile):
                    self._take_side_files()
                _send(connection, replies)
                is_pending = True
                continue
            with self.turn:
                self._check_over()
                if side.link != link:
                    raise ConnectionLost("a newer connection of a leader replaces this one")
                if is_pending:
                    replies = side.force()
                    is_pending = False
                    has_more = True
                elif has_more:
                    replies = []
                    has_more = side.standby.apply(_APPLY_BYTES)
                else:
                    raise ConnectionLost(f"the leader was silent for {self._timeout_seconds:g} seconds")
            _send(connection, replies)

    def _take(self, link: int, received: ReplicaFrame) -> list[ReplicaFrame]:
        with self.turn:
            self._check_over()
            return self.side.receive(link, received)

    def _check_over(self) -> None:
        """Raise ConnectionLost when nothing may be received any more: this instance leads, or ends."""
        if self._is_over:
            raise ConnectionLost("this instance does not follow any more")

    def _take_side_files(self) -> None:
        """Store what has come whole. Blocks that come later are not acknowledged before."""
        with self.turn:
            side = self.side
            found, problems, leader = side.side_sets, side.side_problems, side.leader
            side.side_sets, side.side_problems = [], []
        store = self._side_files
        if store is None or self._tls is None:
            return  # who speaks is not known for sure
        for each in found:
            store.take(each, leader)
        for problem in problems:
            store.tell(problem)

    def _take_farewell(self, found: FrameReader) -> NoReturn:
        """Raises BaseWanted when the leader's log does not reach back to the end of this copy, else ConnectionLost."""
        reason, why = decode_reason(PayloadReader(found.buffer, found.start, found.end))
        if reason == BASE_NEEDED and self.side.relay is not None:
            raise _LogGone(why)  # the others of this group must not elect one with such a copy first
        if reason == BASE_NEEDED:
            raise BaseWanted(why)
        raise ConnectionLost(f"the leader said farewell: {why}")

    # -- a recovery group ----------------------------------------------------------------------------------------------

    @contextmanager
    def still(self) -> Iterator[Engine]:
        """Give the engine while nothing is applied."""
        with self.turn:
            yield self.side.standby.engine

    def relay_advanced(self) -> None:
        """More copies of this recovery group have forced what was received: tell the live site, and apply it."""
        try:
            with self.turn:
                if self._stopping.is_set():
                    return
                connection = self._open.get(int(self.side.link))
                replies = self.side.relay_advanced()
                if connection is not None:
                    _send(connection, replies)
                self.side.standby.apply(_APPLY_BYTES)
        except (LogDamaged, JournalInconsistent) as damage:
            self._want_base(str(damage))
        except (DiskFailed, LogError) as error:
            self._fail(error)

    # -- checkpoints ---------------------------------------------------------------------------------------------------

    def _keep(self) -> None:
        """Take checkpoints of what was applied, step by step, and note how far the log is acknowledged."""
        is_busy = False
        while not self._stopping.wait(0.0 if is_busy else _NOTE_SECONDS):
            if self._side_files is not None and monotonic() >= self._side_files_at:
                self._side_files_at = monotonic() + _SIDE_FILES_SECONDS
                self._side_files.retry()
            try:
                with self.turn:
                    if self._stopping.is_set():
                        return
                    is_busy = self._step()
            except DiskFull as error:
                is_busy = False
                self._notes.write("full", f"AMQ7064S: There is no space for a checkpoint of this replica: {error}")
            except (LogDamaged, JournalInconsistent) as damage:
                self._want_base(str(damage))
                return
            except (DiskFailed, LogError) as error:
                self._fail(error)
                return

    def _scrub(self) -> None:
        """Read a slice of this copy's own files, and ask the leader for what is damaged. The turn is held."""
        side = self.side
        for what in side.repairs:
            if what:
                self._note(replication_message("AMQ3293I", what=what, source=side.leader))
        side.repairs = []
        connection = self._open.get(int(side.link))
        if side.scrub.passes != self._scrubbed:
            self._scrubbed = side.scrub.passes
            self._scrub_at = monotonic() + _SCRUB_PAUSE_SECONDS
        if connection is not None and monotonic() >= self._scrub_at:
            asked = side.scrub.step(_SCRUB_BYTES)
            if asked is not None:
                connection.send(asked.encode())

    def _step(self) -> bool:
        """Do a bounded part of the work. Return True when there is more to do at once."""
        standby = self.side.standby
        standby.log.note()
        if monotonic() >= self._space_at:
            self._space_at = monotonic() + _SPACE_SECONDS
            self.side.is_space_short = lacks_space(standby.engine)
        self._scrub()
        with suppress(LogError):
            standby.log.writer.allocate_ahead()
        # A recovery group's copies say when more can be applied, whether the live site sends something or not.
        has_more = self.side.relay is not None and standby.apply(_APPLY_BYTES)
        if not standby.is_checkpoint_under_way() and not standby.needs_checkpoint():
            return has_more
        for _ in range(_CHECKPOINT_STEPS):
            if not standby.step_checkpoint():
                return has_more
        return True


def _is_question(refused: LinkRefused) -> bool:
    """Return True when another site only asked what this one does."""
    return any(isinstance(each, ReplicaHello) and each.refused == REFUSED_STATE for each in refused.frames)


def _decode(found: FrameReader) -> ReplicaFrame:
    return decode_replica_frame(found.type, found.request, found.buffer, found.start, found.end)


def _send(connection: ReplicaConnection, replies: list[ReplicaFrame]) -> None:
    for each in replies:
        connection.send(each.encode())
