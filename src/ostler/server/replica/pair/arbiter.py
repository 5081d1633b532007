"""The arbiter of a pair that has none: the notes of both instances, and a link on which they tell them to each other.

It has the port of an arbiter, so that the agent and its commands work as with any other. What no third party can know
it does not know either: a partner that is silent may have died, or may lead behind a cut link. `replica/pair.py` says
what is decided then, and `decision` has the last one.

Each instance connects to the partner's replication address and sends its state each interval; the other one replies
with its own. A state is sent when the note it speaks of is on disk.
"""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from time import monotonic
from typing import Final

from ostler.model.arbiter import (
    FOLLOWING,
    LEADING,
    Arbiter,
    ArbiterUnavailable,
    ArbiterView,
    LeaderKey,
    Member,
    check_in_sync,
)
from ostler.model.connection_names import Address
from ostler.replica.pair import PairDecision
from ostler.replica.pair_side import NO_PARTITION, LogFacts, PairNote, PairSide
from ostler.server.net.outgoing_sockets import error_text
from ostler.server.rate_limited_log import RateLimitedLog
from ostler.server.replica.group_tls import GroupTls, certified_instance
from ostler.server.replica.pair.notes import write_note
from ostler.server.replica.transport import ConnectionLost, ReplicaConnection
from ostler.server.supervised_thread import SupervisedThread
from ostler.wire.frames import MalformedFrame
from ostler.wire.replica_frames import (
    FIRST_REPLICA_FRAME_BYTES_MAX,
    PAIR_LEADS,
    PairState,
    ReplicaFrame,
    decode_replica_frame,
)

_INTERVAL_SECONDS_MAX: Final = 0.5
_CONNECT_SECONDS: Final = 2.0
# A linked partner has this long to note a set, or to hear that this instance resigns.
_TELL_SECONDS: Final = 1.0


class PairArbiter(Arbiter):
    """One instance's side. All methods may be called on any thread; `facts` is called without a lock of this."""

    def __init__(
        self,
        queue_manager: str,
        group: str,
        instance: str,
        partner: str,
        address: Address,
        directory: Path,
        found: PairNote | None,
        timeout_seconds: float,
        tls: GroupTls | None,
        note: Callable[[str], None],
    ) -> None:
        """`address` is the partner's. `found` is the note on disk. Raises OSError."""
        self.side: Final = PairSide(instance, partner, found or PairNote(instance), timeout_seconds, monotonic())
        self.facts: Callable[[], LogFacts]
        """Return this copy's log as it is now."""
        self.identity = b""
        self.decision: PairDecision | None = None
        self.was_noted: Final = found is not None
        self._queue_manager = queue_manager
        self._group = group
        self._address = address
        self._directory = directory
        self._tls = tls
        self._notes = RateLimitedLog(note)
        self._interval_seconds = min(_INTERVAL_SECONDS_MAX, timeout_seconds / 6)
        self._turn = threading.Condition()
        self._kick = threading.Event()
        self._stopping = threading.Event()
        self._is_changed = False
        self._is_woken = False
        self._links = 0
        self._own: Member | None = None
        self._stored: PairNote | None = None
        with self._turn:
            self._store()
        self._thread = SupervisedThread(
            "ostler-pair",
            "thread that tells the partner of this instance",
            self._keep_link,
            self._stopping.is_set,
            note,
            stopping=self._stopping,
        )

    def prepare(self, facts: Callable[[], LogFacts], identity: bytes) -> None:
        """Be ready for the partner's states."""
        self.facts = facts
        self.identity = identity

    def start(self, facts: Callable[[], LogFacts]) -> None:
        """Begin to tell the partner of this instance."""
        self.facts = facts
        self._thread.start()

    def _store(self) -> None:
        """Make the note durable, if it has changed. The turn is held. Raises ArbiterUnavailable."""
        if self.side.note == self._stored:
            return
        try:
            write_note(self._directory, self.side.note)
        except OSError as error:
            raise ArbiterUnavailable(f"the note of the pair cannot be written: {error_text(error)}") from None
        self._stored = self.side.note
        self._kick.set()

    # -- the link ------------------------------------------------------------------------------------------------------

    def _state(self, is_reply: bool) -> PairState:
        facts = self.facts()
        with self._turn:
            self._store()
            state = self.side.state(facts, self.identity)
        state.group = self._group
        state.queue_manager = self._queue_manager
        state.is_reply = is_reply
        return state

    def _hear(self, state: ReplicaFrame) -> None:
        """Take a state of the partner. Raises MalformedFrame when it is of another one."""
        if not isinstance(state, PairState):
            raise MalformedFrame("the partner sent another frame than its state")
        if state.instance != self.side.partner or state.identity != self.identity:
            raise MalformedFrame(f"{state.instance} is not the partner, or has another log")
        if state.group != self._group or state.queue_manager != self._queue_manager:
            raise MalformedFrame(f"it is {state.queue_manager} of group {state.group}")
        with self._turn:
            if self.side.hear(state, monotonic()):
                self._is_changed = True
            self._store()
            self._turn.notify_all()

    def answer(self, connection: ReplicaConnection, first: ReplicaFrame) -> None:
        """Answer the partner on a connection that it has made, until it ends. Raises ConnectionLost, MalformedFrame."""
        if connection.stream is not None and certified_instance(connection.stream) != self.side.partner:
            raise MalformedFrame(f"the certificate is not that of {self.side.partner}")
        received = first
        self._link_begins()
        try:
            while not self._stopping.is_set():
                self._hear(received)
                connection.send(self._state(True).encode())
                received = _receive(connection, self.side.timeout_seconds)
        except ArbiterUnavailable as error:
            raise ConnectionLost(str(error)) from None
        finally:
            self._link_ends()

    def _link_begins(self) -> None:
        with self._turn:
            self._links += 1

    def _link_ends(self) -> None:
        with self._turn:
            self._links -= 1
            if self._links == 0:
                self.side.link_lost()
                self._is_changed = True
                self._turn.notify_all()

    def _keep_link(self) -> None:
        while not self._stopping.is_set():
            try:
                connection = self._connect()
            except (OSError, ConnectionLost) as error:
                why = error_text(error) if isinstance(error, OSError) else str(error)
                self._notes.write(why, f"AMQ3208E: The partner {self.side.partner} cannot be reached: {why}.")
                self._stopping.wait(self._interval_seconds)
                continue
            self._link_begins()
            try:
                self._exchange(connection)
            except (ConnectionLost, MalformedFrame, ArbiterUnavailable) as lost:
                self._notes.write(str(lost), f"AMQ3208E: The link to the partner {self.side.partner} ended: {lost}.")
            finally:
                connection.close("closed")
                self._link_ends()
            self._stopping.wait(self._interval_seconds)

    def _connect(self) -> ReplicaConnection:
        sock = socket.create_connection((self._address.host, self._address.port), _CONNECT_SECONDS)
        stream = self._tls.stream(False) if self._tls is not None else None
        connection = ReplicaConnection(sock, self.side.partner, stream, FIRST_REPLICA_FRAME_BYTES_MAX)
        try:
            connection.finish_handshake()
            if connection.stream is not None and certified_instance(connection.stream) != self.side.partner:
                raise ConnectionLost(f"the certificate there is not that of {self.side.partner}")
        except ConnectionLost:
            connection.close("refused")
            raise
        return connection

    def _exchange(self, connection: ReplicaConnection) -> None:
        while not self._stopping.is_set():
            self._kick.clear()
            connection.send(self._state(False).encode())
            self._hear(_receive(connection, self.side.timeout_seconds))
            self._kick.wait(self._interval_seconds)

    def reason_not_to_follow(self) -> str:
        """Return why a leader is refused; empty: it may be followed."""
        with self._turn:
            if self.side.term:
                return f"{self.side.instance} leads itself."
            if self.side.note.partition_lsn != NO_PARTITION:
                return "The pair is partitioned: a person decides whose data counts (makehaprimary)."
        return ""

    def touch(self) -> None:
        """The partner was heard on the link of the log."""
        with self._turn:
            self.side.touch(monotonic())

    # -- the port of an arbiter ----------------------------------------------------------------------------------------

    def read(self) -> ArbiterView:
        facts = self.facts()
        now = monotonic()
        with self._turn:
            side = self.side
            self.decision = side.decide(facts, now)
            self._store()
            note, heard = side.note, side.heard
            members = {self._own.instance: self._own} if self._own is not None else {}
            leader: LeaderKey | None = None
            if side.term:
                leader = LeaderKey(side.instance, side.term, "pair")
            if heard is not None and side.is_linked(now):
                is_leading = bool(heard.flags & PAIR_LEADS)
                epoch = heard.lives[-1].epoch if heard.lives else 0
                state = LEADING if is_leading else FOLLOWING
                members[side.partner] = Member(side.partner, str(self._address), epoch, int(heard.end_lsn), state)
                if is_leading and leader is None:
                    leader = LeaderKey(side.partner, int(heard.term), "pair")
            return ArbiterView(
                leader=leader,
                last_term=note.last_term,
                in_sync=note.in_sync,
                members=members,
                marks={},
                preferred=note.preferred,
                suspended=frozenset(note.suspended),
                role="",
                last_epoch=side.last_epoch(facts),
            )

    def session(self) -> str:
        return "pair"

    def register(self, member: Member) -> None:
        with self._turn:
            self._own = member

    def keep_alive(self) -> float | None:
        return self.side.timeout_seconds

    def found(self, members: tuple[str, ...], copies: int, above_term: int = 0) -> bool:
        with self._turn:
            if self.side.note.in_sync is not None:
                return False
            self.side.found()
            self._store()
        return True

    def try_lead(self, instance: str, judged_version: int, judged_term: int) -> int | None:
        facts = self.facts()
        with self._turn:
            if self.side.note.last_term != judged_term:
                return None
            term = self.side.next_term(facts)
            self.side.lead(term)
            self._store()
        return term

    def set_in_sync(self, term: int, expected_version: int, members: tuple[str, ...], copies: int) -> int | None:
        check_in_sync(members, copies)
        deadline = monotonic() + _TELL_SECONDS
        with self._turn:
            side = self.side
            current = side.note.in_sync
            if side.term != term or current is None or current.version != expected_version:
                return None
            side.ask(members, copies)
            self._kick.set()
            while True:
                now = monotonic()
                stored = side.settle(now)
                if stored is not None:
                    self._store()
                    return stored.version if stored.members == tuple(sorted(members)) else None
                if now >= deadline or not side.is_linked(now):
                    return None  # it is asked for again
                self._turn.wait(deadline - now)

    def resign(self, term: int) -> None:
        with self._turn:
            if self.side.term == term:
                self._resign()

    def _resign(self) -> None:
        """Tell the partner that it may go on. The turn is held."""
        side = self.side
        if not side.resign(monotonic()):
            return
        self._store()
        sent = side.sequence + 1
        deadline = monotonic() + _TELL_SECONDS
        while not side.has_heard(sent) and side.is_linked(monotonic()) and monotonic() < deadline:
            self._turn.wait(deadline - monotonic())

    def add_life(self, term: int, epoch: int, life: str) -> bool:
        with self._turn:
            return self.side.term == term

    def life(self, epoch: int) -> str | None:
        return None

    def set_preferred(self, instance: str) -> None:
        with self._turn:
            self.side.set_preferred(instance)
            self._store()

    def set_suspended(self, instance: str, suspended: bool) -> None:
        with self._turn:
            self.side.set_suspended(instance, suspended)
            self._store()

    def set_role(self, expected: str, role: str) -> bool:
        return False

    def abandon(self, expected: str, role: str, given_up: str) -> bool:
        return False  # a pair without arbiter has no other site

    def resolve(self) -> None:
        """Decide for this instance. Raises PairRefused and ArbiterUnavailable."""
        with self._turn:
            self.side.resolve(monotonic())
            self._store()

    def wait_change(self, seconds: float) -> bool:
        with self._turn:
            if not self._is_changed and not self._is_woken:
                self._turn.wait(seconds)
            was_changed = self._is_changed
            self._is_changed = self._is_woken = False
            return was_changed

    def wake(self) -> None:
        with self._turn:
            self._is_woken = True
            self._turn.notify_all()

    def close(self) -> None:
        with self._turn, suppress(ArbiterUnavailable):
            self._resign()
        self._stopping.set()
        self._kick.set()
        self._thread.join(_TELL_SECONDS)


def _receive(connection: ReplicaConnection, seconds: float) -> ReplicaFrame:
    found = connection.receive(seconds)
    if found is None:
        raise ConnectionLost(f"it was silent for {seconds:g} seconds")
    return decode_replica_frame(found.type, found.request, found.buffer, found.start, found.end)
