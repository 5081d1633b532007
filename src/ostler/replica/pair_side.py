"""One instance of a pair without an arbiter: what it has noted, what the partner told, and what follows from both.

    side = PairSide(instance, partner, note, timeout_seconds)
    side.hear(state, now)          a state of the partner; the note may change
    side.decide(log, now)          what to do; the note may change
    state = side.state(log)        what to tell the partner; only after the note is on disk

The pair keeps its agreement in the notes of both. The rule of the in-sync set ("out before less, in before more") is
kept by telling: a leader asks for a set by telling it, and a follower repeats it once it has noted it. A partner that
is silent for the timeout is given up without that. It may still run: that is how a pair comes to be partitioned.

Terms and epochs of the two instances are of different parity, so that both can give themselves one while the link is
cut. No sockets, no disk, no clock: `now` is the caller's steady clock in seconds.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final, final

from ostler.model.arbiter import InSyncSet
from ostler.model.log_life import Life
from ostler.replica.pair import (
    FOLLOW,
    FORK,
    PARTITIONED,
    SAME,
    PairDecision,
    PairSituation,
    compare_logs,
    decide_pair,
)
from ostler.replica.pedigree import Pedigree
from ostler.wire.replica_frames import PAIR_LEADS, PAIR_PARTITIONED, PAIR_RESIGNED, PAIR_RESOLVED, PairState

NO_PARTITION: Final = -1
# A caller that decides less often than this was stopped: what it did not hear meanwhile is not silence.
_SLEPT_SECONDS: Final = 1.5


@final
@dataclass(frozen=True)
class PairNote:
    """The note that an instance keeps on disk. It is written before anything is told or done that follows from it."""

    instance: str
    incarnation: int = 0
    """The number of starts of the instance."""
    last_term: int = 0
    """The highest term that was heard of."""
    in_sync: InSyncSet | None = None
    """The set as the leader last told it, or as this instance stored it as the leader; None: it was never told one."""
    has_resigned: bool = False
    """It has let the partner lead, or go on alone: it may lack what was acknowledged since."""
    founder: str = ""
    """The instance that was created with a log."""
    preferred: str = ""
    suspended: tuple[str, ...] = ()
    settings_version: int = 0
    settings_writer: str = ""
    """The instance that last changed `preferred` or `suspended`. Of two changes the one with the higher number wins."""
    partition_lsn: int = NO_PARTITION
    """Both instances have acknowledged what the other one does not have, from this LSN on."""
    is_resolved: bool = False
    """A person has decided for this instance. The data of the partner are set aside when it is heard."""
    resolution: int = 0
    """The number of that decision, or of the last one that was made here. Of two decisions the later one counts."""
    heard_resolution: int = 0
    """The highest number of a decision that the partner told. The next one made here is above it."""

    def has_everything(self) -> bool:
        """Return True when this copy has all that was acknowledged, as far as it was told."""
        return self.in_sync is not None and self.instance in self.in_sync.members and not self.has_resigned

    def is_alone(self) -> bool:
        """Return True for the only copy: what it has forced was acknowledged."""
        return self.has_everything() and self.in_sync is not None and self.in_sync.members == (self.instance,)


@final
@dataclass(frozen=True)
class LogFacts:
    """This copy's log at one moment."""

    lives: list[Life]
    end_lsn: int
    group_lsn: int
    highest_epoch: int
    promised_term: int


class PairRefused(Exception):
    """A request of a person that cannot be done. The text says why, and what to do."""


@final
class PairSide:
    """The state of one instance. For one thread at a time. The caller stores `note` when it has changed."""

    def __init__(self, instance: str, partner: str, note: PairNote, timeout_seconds: float, now: float) -> None:
        assert note.instance == instance
        self.instance = instance
        self.partner = partner
        self.note = replace(note, incarnation=note.incarnation + 1)
        self.timeout_seconds = timeout_seconds
        self.heard: PairState | None = None
        """The newest state of the partner since the start."""
        self.term = 0
        """The term in which this instance leads; 0: it does not."""
        self.asked: InSyncSet | None = None
        """A set that was asked for and is not noted by both."""
        self.fork_lsn = NO_PARTITION
        self.sequence = 0
        self._listens_since = now
        self._heard_at = now
        self._decided_at = now
        self._link_timeout_seconds = timeout_seconds / 2
        self._is_link_lost = True

    # -- the link

    def hear(self, state: PairState, now: float) -> bool:
        """Take a state of the partner. Return True when it tells something new."""
        assert state.instance == self.partner
        known = self.heard
        if known is not None and (state.incarnation, state.sequence) < (known.incarnation, known.sequence):
            return False
        was_linked = self.is_linked(now)
        self.heard = state
        self._heard_at = now
        self._is_link_lost = False
        self._merge_settings(state)
        if state.term > self.note.last_term:
            self.note = replace(self.note, last_term=int(state.term))
        if state.resolution > self.note.heard_resolution:
            self.note = replace(self.note, heard_resolution=int(state.resolution))
        if not self.note.is_alone():
            # The only copy would forget that its whole log is acknowledged: it compares the logs first.
            self._follow_set(state)
        return known is None or not was_linked or _facts_of(known) != _facts_of(state)

    def touch(self, now: float) -> None:
        """The partner was heard on another link: it sends the log, or acknowledges it."""
        if self.heard is not None:
            self._heard_at = now
            self._is_link_lost = False

    def link_lost(self) -> None:
        """No connection to the partner is open."""
        self._is_link_lost = True

    def is_linked(self, now: float) -> bool:
        return self.heard is not None and not self._is_link_lost and now - self._heard_at <= self._link_timeout_seconds

    def silent_seconds(self, now: float) -> float:
        return max(0.0, now - max(self._heard_at, self._listens_since))

    def has_heard(self, sequence: int) -> bool:
        """Return True when the partner has heard a state of this process that was sent with this sequence, or later."""
        return self.heard is not None and int(self.heard.heard_sequence) >= sequence

    def _merge_settings(self, state: PairState) -> None:
        note = self.note
        if not note.founder and state.founder:
            note = replace(note, founder=state.founder)
        theirs = (int(state.settings_version), state.settings_writer)
        if theirs > (note.settings_version, note.settings_writer):
            note = replace(
                note,
                preferred=state.preferred,
                suspended=tuple(sorted(state.suspended)),
                settings_version=theirs[0],
                settings_writer=theirs[1],
            )
        self.note = note

    def _follow_set(self, state: PairState) -> None:
        """Note the set that a leader tells, unless this instance leads or the two are partitioned."""
        is_leading = bool(state.flags & PAIR_LEADS)
        is_apart = self.note.partition_lsn != NO_PARTITION or bool(state.flags & PAIR_PARTITIONED)
        if not is_leading or self.term or is_apart or not state.in_sync:
            return
        told = InSyncSet(
            int(state.in_sync_version), int(state.in_sync_term), tuple(sorted(state.in_sync)), int(state.copies)
        )
        if told != self.note.in_sync or (self.note.has_resigned and self.instance in told.members):
            self.note = replace(self.note, in_sync=told, has_resigned=False)

    def state(self, log: LogFacts, identity: bytes) -> PairState:
        """Return what to tell the partner. The note is on disk already."""
        note = self.note
        self.sequence += 1
        state = PairState()
        state.instance = self.instance
        state.identity = identity
        state.flags = (
            (PAIR_LEADS if self.term else 0)
            | (PAIR_RESIGNED if note.has_resigned else 0)
            | (PAIR_PARTITIONED if note.partition_lsn != NO_PARTITION else 0)
            | (PAIR_RESOLVED if note.is_resolved else 0)
        )
        state.incarnation = note.incarnation
        state.sequence = self.sequence
        state.heard_sequence = self.heard.sequence if self.heard is not None else 0
        state.term = self.term or note.last_term
        state.lowest_term = log.promised_term + 1
        told = self.asked or note.in_sync
        if told is not None:
            state.in_sync_version, state.in_sync_term = told.version, told.term
            state.in_sync, state.copies = list(told.members), told.copies
        state.resolution = note.resolution
        state.settings_version, state.settings_writer = note.settings_version, note.settings_writer
        state.preferred, state.suspended, state.founder = note.preferred, list(note.suspended), note.founder
        state.end_lsn, state.group_lsn, state.lives = log.end_lsn, log.group_lsn, log.lives
        return state

    # -- deciding

    def decide(self, log: LogFacts, now: float) -> PairDecision:
        """Decide what this instance does. A partition that is found is noted: store the note before acting on it."""
        if now - self._decided_at > max(_SLEPT_SECONDS, self.timeout_seconds / 2):
            self._listens_since = now
        self._decided_at = now
        is_linked = self.is_linked(now)
        heard = self.heard
        relation = SAME
        is_partner_leading = False
        if is_linked and heard is not None:
            relation, fork = self._compare(log, heard)
            is_partner_leading = bool(heard.flags & PAIR_LEADS)
            if relation == FORK:
                self._note_fork(heard, fork)
                if self.note.is_resolved:
                    is_linked = False  # it sets its data aside when it hears this
            elif self.note.is_resolved and self.instance in heard.in_sync:
                self.note = replace(self.note, is_resolved=False)  # it has taken this copy's data
        # Of two that have resigned none was told to go on: their logs decide.
        is_away = self.is_partner_gone() and not self.note.has_resigned
        situation = PairSituation(
            is_leading=self.term > 0,
            has_everything=self.note.has_everything(),
            is_preferred=self.comes_first() == self.instance,
            is_partitioned=self.note.partition_lsn != NO_PARTITION,
            partner_is_linked=is_linked and not is_away,
            partner_is_leading=is_partner_leading,
            relation=relation,
            silent_seconds=self._silence(now),
            timeout_seconds=self.timeout_seconds,
        )
        decision = decide_pair(situation)
        if decision.kind == FOLLOW and is_linked and heard is not None:
            self._follow_set(heard)
        assert decision.status != PARTITIONED or self.note.partition_lsn != NO_PARTITION
        return decision

    def _compare(self, log: LogFacts, heard: PairState) -> tuple[str, int]:
        own = Pedigree(log.lives, log.end_lsn)
        theirs = Pedigree(heard.lives, int(heard.end_lsn))
        return compare_logs(own, log.group_lsn, theirs, int(heard.group_lsn))

    def _note_fork(self, heard: PairState, fork: int) -> None:
        self.fork_lsn = fork
        if heard.flags & PAIR_RESOLVED and heard.resolution >= self.note.resolution:
            # The partner's is the later decision; or two people have decided, each for one side, behind a cut link.
            self.note = replace(self.note, is_resolved=False)
        if not self.note.is_resolved and self.note.partition_lsn == NO_PARTITION:
            self.note = replace(self.note, partition_lsn=fork)

    def _silence(self, now: float) -> float:
        if self.is_partner_gone() or self.note.is_resolved:
            return self.timeout_seconds
        note = self.note
        is_founding = note.in_sync is not None and note.last_term == 0 and self.heard is None
        if is_founding:
            return self.timeout_seconds  # nobody else can have led
        return self.silent_seconds(now)

    def is_partner_gone(self) -> bool:
        """Return True when the partner has noted that this instance goes on without it."""
        heard = self.heard
        return heard is not None and heard.flags & (PAIR_RESIGNED | PAIR_LEADS) == PAIR_RESIGNED

    def is_given_up(self, now: float) -> bool:
        """Return True when replies need not wait for the partner: it has said so, or was silent for the timeout."""
        return self.is_partner_gone() or (not self.is_linked(now) and self.silent_seconds(now) >= self.timeout_seconds)

    def comes_first(self) -> str:
        """Return the instance that leads when both could: the preferred one, or where the pair was created."""
        names = sorted((self.instance, self.partner))
        able = [each for each in names if each not in self.note.suspended] or names
        for each in (self.note.preferred, self.note.founder):
            if each in able:
                return each
        return able[0]

    def must_set_aside(self) -> bool:
        """Return True when a person has decided for the partner: this copy is given up, and takes a base."""
        heard = self.heard
        if heard is None or self.note.partition_lsn == NO_PARTITION:
            return False
        return bool(heard.flags & PAIR_RESOLVED) and int(heard.resolution) > self.note.resolution

    # -- leading

    def found(self) -> None:
        """Found the pair here: this instance was created with a log."""
        self.note = replace(self.note, founder=self.instance, in_sync=InSyncSet(1, 0, (self.instance,), 1))

    def next_term(self, log: LogFacts) -> int:
        """Return a term that is higher than all that were heard of, and that the partner gives nobody."""
        lowest = max(self.note.last_term, log.promised_term, self.term)
        if self.heard is not None:
            lowest = max(lowest, int(self.heard.term), int(self.heard.lowest_term) - 1)
        return _next_of(lowest, self._parity())

    def last_epoch(self, log: LogFacts) -> int:
        """Return the epoch before the next one that this instance may begin."""
        highest = log.highest_epoch
        if self.heard is not None and self.heard.lives:
            highest = max(highest, self.heard.lives[-1].epoch)
        return _next_of(highest, self._parity()) - 1

    def _parity(self) -> int:
        return int(self.instance > self.partner)

    def lead(self, term: int) -> None:
        """Lead in a term. The note is stored before anything is sent in it."""
        note = self.note
        in_sync = note.in_sync
        if in_sync is None or self.instance not in in_sync.members:
            # It has more than the partner, which has all that was acknowledged: replies need both.
            both = tuple(sorted((self.instance, self.partner)))
            in_sync = InSyncSet(in_sync.version + 1 if in_sync is not None else 1, term, both, 2)
        self.term = term
        self.note = replace(note, in_sync=in_sync, last_term=max(term, note.last_term), has_resigned=False)

    def ask(self, members: tuple[str, ...], copies: int) -> None:
        """Ask for an in-sync set: tell it to the partner from now on."""
        current = self.note.in_sync
        assert current is not None
        asked = InSyncSet(current.version + 1, self.term, tuple(sorted(members)), copies)
        if self.asked is None or (self.asked.members, self.asked.copies) != (asked.members, asked.copies):
            version = max(current.version, self.asked.version if self.asked is not None else 0) + 1
            self.asked = replace(asked, version=version)

    def settle(self, now: float) -> InSyncSet | None:
        """Return the set once it is noted: by the partner as well, or the partner was given up. None: not yet.

        A set with a partner that was given up is never noted. Then this instance goes on alone.
        """
        asked = self.asked
        assert asked is not None
        heard = self.heard
        if heard is not None and self.is_linked(now) and heard.in_sync_version == asked.version:
            told = (tuple(sorted(heard.in_sync)), int(heard.copies))
            if told == (asked.members, asked.copies):
                return self._store(asked)
        if not self.is_given_up(now):
            return None
        if self.partner in asked.members:
            if self.is_linked(now):
                return None
            asked = InSyncSet(asked.version + 1, self.term, (self.instance,), 1)
        return self._store(asked)

    def _store(self, in_sync: InSyncSet) -> InSyncSet:
        self.note = replace(self.note, in_sync=in_sync)
        self.asked = None
        return in_sync

    def resign(self, now: float) -> bool:
        """Let the partner lead, or go on alone, if it can. Return True when it is to be told."""
        note = self.note
        self.term = 0
        in_sync = note.in_sync
        can_go_on = in_sync is not None and self.partner in in_sync.members and note.partition_lsn == NO_PARTITION
        if not can_go_on or not self.is_linked(now) or self.is_partner_gone():
            return False
        self.note = replace(note, has_resigned=True)
        return True

    # -- decisions of people

    def set_preferred(self, instance: str) -> None:
        self._change_settings(instance, self.note.suspended)

    def set_suspended(self, instance: str, is_suspended: bool) -> None:
        others = {each for each in self.note.suspended if each != instance}
        if is_suspended:
            others.add(instance)
        self._change_settings(self.note.preferred, tuple(sorted(others)))

    def _change_settings(self, preferred: str, suspended: tuple[str, ...]) -> None:
        self.note = replace(
            self.note,
            preferred=preferred,
            suspended=suspended,
            settings_version=self.note.settings_version + 1,
            settings_writer=self.instance,
        )

    def resolve(self, now: float) -> None:
        """Decide for this instance: of a partition, or when it waits for a partner that does not come back.

        Raises PairRefused when there is nothing to decide.
        """
        note = self.note
        is_waiting = not self.term and not note.has_everything() and not self.is_linked(now)
        if note.partition_lsn == NO_PARTITION and not is_waiting:
            raise PairRefused("The instances are not partitioned: there is nothing to decide.")
        version = note.in_sync.version + 1 if note.in_sync is not None else 1
        self.asked = None
        self.note = replace(
            note,
            in_sync=InSyncSet(version, self.term, (self.instance,), 1),
            has_resigned=False,
            partition_lsn=NO_PARTITION,
            is_resolved=True,
            resolution=max(note.resolution, note.heard_resolution) + 1,
        )


def emptied(note: PairNote) -> PairNote:
    """Return the note of an instance whose data are gone: it has nothing until a leader has told it otherwise."""
    return replace(note, in_sync=None, has_resigned=False, partition_lsn=NO_PARTITION, is_resolved=False)


def _next_of(lowest: int, parity: int) -> int:
    """Return the next number above `lowest` with a parity."""
    return lowest + 1 if (lowest + 1) % 2 == parity else lowest + 2


def _facts_of(state: PairState) -> tuple[object, ...]:
    """Return what decisions follow from. The position of a leader that works changes all the time."""
    return (
        int(state.flags),
        int(state.incarnation),
        int(state.term),
        int(state.lowest_term),
        int(state.in_sync_version),
        int(state.settings_version),
        state.settings_writer,
        len(state.lives),
    )
