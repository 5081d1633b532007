"""The leader's end of the links to its followers: what to send next, who has forced what. No sockets, threads, clock.

    side = LeaderSide(identity, membership, lives, log, catch_up_reader)
    side.offer(position, images)              the log's writer, before it forces a batch
    side.forced_here(lsn)                     the log's writer, after that
    frame = side.connected(name, link, ...)   a link to a follower is up: send this first
    side.receive(name, link, frame, now)      for each frame from it
    frame = side.next_frame(name)             what to send next, when the link takes more; None: nothing from memory
    read = side.next_read(name)               then: what has to be read for it. None: nothing now
    read.make()                               without the lock
    frame = side.take_read(read)              the frame to send, unless all has changed meanwhile
    side.group_lsn()                          after each of them: what enough copies have forced

A follower that keeps up gets the blocks as they are offered. One that is behind gets them from the extents, life by
life. Blocks are never queued for one follower: a slow one reads from the extents again when it takes more. One whose
log cannot be continued from here gets a base, and the log from the base's restart LSN on beside it.

All calls are made with one lock of the caller's. `now` is its steady clock's, in seconds, and only says who is slow.
"""

from __future__ import annotations

from collections import deque
from typing import Final

from mypy_extensions import i64, mypyc_attr

from ostler.log.catch_up import CatchUpReader, LogGone
from ostler.model.log_life import Life
from ostler.replica.lag import NO_LIMIT, LagLimits, LagMeter
from ostler.replica.membership import LeaderMembership
from ostler.replica.pedigree import Pedigree
from ostler.replica.site_side import NO_FORK, SiteSide
from ostler.wire.replica_frames import (
    ACK_DISK_FULL,
    PURPOSE_DR,
    PURPOSE_HA,
    REFUSED_TERM,
    SITE_NONE,
    VERSION_WITH_SIDE_FILES,
    BaseBegin,
    LifeFrame,
    LogAck,
    LogFrame,
    ReplicaFrame,
    ReplicaHello,
)

# Offered blocks that are kept in memory for followers that keep up.
LIVE_BYTES_MAX: Final = 16 << 20
# Of one frame with blocks from the extents.
CATCH_UP_BYTES: Final = 1 << 20

# States of a follower.
OFFLINE: Final = "offline"
GREETED: Final = "greeted"  # the hello was sent
STREAMING: Final = "streaming"
NEEDS_BASE: Final = "needs a base"  # its log cannot be continued from here
REBASING: Final = "rebasing"  # it is sent a base, and counts for nothing
REFUSED: Final = "refused"  # it refuses this leader, or has another queue manager's log
PARTITIONED: Final = "partitioned"  # it has what enough copies had, and this leader does not


class OfferedBlock:
    """A block that is on its way to the disk here, as the frame that carries it."""

    def __init__(self, position: i64, end: i64, frame: LogFrame) -> None:
        self.position: Final[i64] = position
        self.end: Final[i64] = end
        self.frame: Final[LogFrame] = frame


class FollowerProgress:
    """One follower, as its leader sees it."""

    def __init__(self, name: str, purpose: i64) -> None:
        self.name: Final[str] = name
        self.purpose: i64 = purpose
        self.version: i64 = 0
        """The highest version of the frames that it knows, as it last said; 0: it has not."""
        self.state: str = OFFLINE
        self.link: i64 = -1
        self.detail: str = ""
        """The reason for which it is refused, partitioned or needs a base."""
        self.epoch: i64 = 0
        """The life that it is in, as it last said."""
        self.received: i64 = 0
        self.forced: i64 = 0
        self.applied: i64 = 0
        self.flags: i64 = 0
        self.heard_seconds: float = 0.0
        """The time of its last acknowledgement."""
        self.behind_seconds: float = -1.0
        """Since when it has not forced `owed_lsn`; negative: it owes nothing."""
        self.owed_lsn: i64 = 0
        self.position: i64 = 0
        """The position of the next block to send."""
        self.life: i64 = -1
        """The index of the life that it was told; -1: none yet."""
        self.common_epoch: i64 = 0
        self.is_near = False
        """It has nearly caught up: replies may wait for it."""
        self.awaits_base = False
        """It has said that it takes nothing but a base."""
        self.base_percent: i64 = 0
        """The part of a base that was sent."""
        self.needs_base_seconds: float = -1.0
        """Since when its log cannot be continued; negative: it can."""
        self.reader: CatchUpReader | None = None

    def is_linked(self) -> bool:
        return self.state == STREAMING


class CatchUpRead:
    """A read of blocks from the extents, for one follower."""

    def __init__(self, name: str, link: i64, reader: CatchUpReader, position: i64, until: i64) -> None:
        self.name: Final[str] = name
        self.link: Final[i64] = link
        self.position: Final[i64] = position
        self.end: i64 = position
        self.images = b""
        self.gone = ""
        """The reason for which the log is not there."""
        self._reader = reader
        self._until: Final[i64] = until

    def make(self) -> None:
        """Read. No lock is needed."""
        try:
            self.images = self._reader.read(self.position, self._until, CATCH_UP_BYTES)
            self.end = self._reader.position
        except LogGone as gone:
            self.gone = str(gone)


@mypyc_attr(allow_interpreted_subclasses=True)
class LeaderSide:
    def __init__(
        self, hello: ReplicaHello, membership: LeaderMembership, reader: CatchUpReader, forced_lsn: i64, position: i64
    ) -> None:
        """`hello` names the queue manager, the instance and its lives, this leader's own being the last.

        `position` is where the log ends, in the life before; `forced_lsn` the same as the log has it.
        """
        self.membership: Final[LeaderMembership] = membership
        self.hello: Final[ReplicaHello] = hello
        self.lives: Final[list[Life]] = hello.lives
        self.followers: dict[str, FollowerProgress] = {}
        self.highest_term: i64 = membership.term
        """The highest term that a follower has told: when it is above ours, another leader was elected."""
        self.live_bytes_max: i64 = LIVE_BYTES_MAX
        self.counts_received = False
        """ReplicationAck=Memory: a copy counts with what it has received. What is durable is forced here, too."""
        self._reader = reader
        self._forced: i64 = forced_lsn
        self._forced_position: i64 = position
        self._offered_position: i64 = position
        self._group_lsn: i64 = 0
        self._live: deque[OfferedBlock] = deque()
        self._live_at: dict[int, OfferedBlock] = {}
        self._live_bytes: i64 = 0
        self.site: SiteSide | None = None
        """With disaster recovery: this site and the other one."""
        self.is_synchronous = False
        """Replies wait until the other site has forced what they promise."""
        self.lag_limits = LagLimits(NO_LIMIT, NO_LIMIT, False)
        self.is_recovery_awaited = False
        """Replies wait for the other site, all of them or those beyond the limits. When it is lost it is let go."""
        self.lag = LagMeter()
        self._lag_reach: i64 = NO_LIMIT
        self._recovery_lsn: i64 = -1
        self._asked_lsn: i64 = -1
        self._asked_seconds: float = 0.0
        membership.acknowledged(membership.instance, int(position))

    # -- the log of this copy

    def offer(self, position: i64, images: list[bytes]) -> None:
        """Take a block that is about to be written here. One that was offered before is passed over."""
        if position < self._offered_position:
            return
        assert position == self._offered_position
        data = b"".join(images)
        frame = LogFrame(self.membership.term, self.group_lsn(), position, data)
        end = self._reader.end_of_image(data)
        block = OfferedBlock(position, end, frame)
        self._live.append(block)
        self._live_at[int(position)] = block
        self._live_bytes += len(data)
        self._offered_position = end
        most = self.live_bytes_max
        while self._live_bytes > most and len(self._live) > 1 and self._live[0].end <= self._forced_position:
            oldest = self._live.popleft()
            self._live_bytes -= len(oldest.frame.images)
            del self._live_at[int(oldest.position)]

    def forget_offered(self, position: i64) -> None:
        """Of a log that goes on at another position: drop the blocks that were offered. Copies get them from there."""
        self._live.clear()
        self._live_at.clear()
        self._live_bytes = 0
        self._forced = self._forced_position = self._offered_position = position

    def forced_here(self, lsn: i64) -> None:
        """All that was offered is forced here, up to an LSN of a record."""
        self._forced = lsn
        self._forced_position = self._offered_position
        # Copies tell positions of the chain, which may be behind the LSN of the last record.
        self.membership.acknowledged(self.membership.instance, int(self._forced_position))

    def group_lsn(self) -> i64:
        """Return the LSN up to which the log is durable: forced by enough copies, and here. It never falls.

        While replies wait for the other site it is not ahead of that by more than the limits allow.
        """
        lsn = min(i64(self.membership.group_lsn()), self._forced)
        if self.is_recovery_awaited:
            lsn = min(lsn, self._recovery_reach())
        if lsn > self._group_lsn:
            self._group_lsn = lsn
        return self._group_lsn

    def _recovery_reach(self) -> i64:
        """Return how far the log may be durable, with the other site where it is."""
        found = self.recovery()
        assert found is not None
        # In an earlier life it may have blocks at these LSNs that are void in this one.
        is_here: bool = found.epoch == self.lives[-1].epoch
        forced = min(found.forced, self._offered_position) if is_here else 0
        if self.is_synchronous:
            return forced
        reach = self._offered_position
        if self.lag_limits.bytes_max >= 0:
            reach = min(reach, forced + self.lag_limits.bytes_max)
        return reach if self._lag_reach < 0 else min(reach, self._lag_reach)

    def forced_lsn(self) -> i64:
        """Return the LSN up to which the log is forced here."""
        return self._forced

    def forced_position(self) -> i64:
        """Return where the chain of blocks ends that are forced here."""
        return self._forced_position

    def new_reader(self) -> CatchUpReader:
        """Return a reader of this log for any thread."""
        return self._reader.another()

    def position(self) -> i64:
        """Return where the chain of blocks ends that were offered."""
        return self._offered_position

    # -- links

    def connected(self, name: str, link: i64, now: float, purpose: i64 = PURPOSE_HA) -> ReplicaHello:
        """A link to a follower is up; the frame is the first to send. Its older link does not count any more."""
        follower = self.followers.get(name)
        if follower is None:
            follower = FollowerProgress(name, purpose)
            self.followers[name] = follower
        follower.purpose = purpose
        follower.link = link
        follower.state = GREETED
        follower.life = -1
        follower.heard_seconds = now
        follower.behind_seconds = -1.0
        follower.is_near = False
        follower.awaits_base = False
        if follower.reader is not None:
            follower.reader.close()
        follower.reader = self._reader.another()
        self.membership.connected(name)
        self.hello.purpose = purpose
        self.hello.term = self.membership.term
        self.hello.site_role = self.site.role if self.site is not None else SITE_NONE
        self.hello.end_lsn = self._offered_position
        self.hello.group_lsn = self.group_lsn()
        return self.hello

    def disconnected(self, name: str, link: i64) -> None:
        follower = self.followers.get(name)
        if follower is not None and follower.link == link:
            follower.link = -1
            if follower.state in (GREETED, STREAMING, REBASING):
                follower.state = OFFLINE

    def receive(self, name: str, link: i64, frame: ReplicaFrame, now: float) -> None:
        """Take a frame of a follower. Frames of an older link are ignored."""
        follower = self.followers.get(name)
        if follower is None or follower.link != link:
            return
        if isinstance(frame, LogAck):
            if follower.state in (STREAMING, REBASING, NEEDS_BASE):
                self._acknowledged(follower, frame, now)
        elif isinstance(frame, ReplicaHello):
            self._greeted(follower, frame, now)

    def _acknowledged(self, follower: FollowerProgress, ack: LogAck, now: float) -> None:
        follower.heard_seconds = now
        follower.epoch = ack.epoch
        follower.received = ack.received
        follower.applied = ack.applied
        follower.flags = ack.flags
        follower.forced = ack.forced
        if follower.forced >= follower.owed_lsn:
            follower.behind_seconds = -1.0
        # In an earlier life it may have blocks at these LSNs that are void in this one.
        is_counted: bool = follower.state == STREAMING and follower.purpose == PURPOSE_HA
        if is_counted and ack.epoch == self.lives[-1].epoch:
            is_received: bool = self.counts_received and not ack.flags & ACK_DISK_FULL
            told: i64 = max(ack.received, ack.forced) if is_received else ack.forced
            self.membership.acknowledged(follower.name, int(min(told, self._offered_position)))

    def _greeted(self, follower: FollowerProgress, hello: ReplicaHello, now: float) -> None:
        follower.heard_seconds = now
        follower.version = hello.version
        follower.detail = hello.detail
        if follower.purpose == PURPOSE_DR and self._site_greeted(follower, hello):
            return
        if hello.refused:
            follower.state = REFUSED
            if hello.refused == REFUSED_TERM:
                self.highest_term = max(self.highest_term, hello.term)
            return
        if follower.purpose == PURPOSE_HA and hello.instance != follower.name:
            follower.state = REFUSED
            follower.detail = f"{hello.instance} answered, not {follower.name}"
            return
        if hello.needs_base:
            follower.awaits_base = True
            self._need_base(follower, hello.detail or "it has no copy", now)
            return
        own = Pedigree(self.lives, int(self._offered_position))
        theirs = Pedigree(hello.lives, int(hello.end_lsn))
        shared = own.relation(theirs).lsn
        if shared < hello.group_lsn:
            follower.state = PARTITIONED
            follower.detail = f"{follower.name} had LSN {hello.group_lsn} on enough copies; the logs fork at {shared}"
            return
        follower.state = STREAMING
        follower.needs_base_seconds = -1.0
        # A recovery group may not have all of it that the one has who speaks for it. It says so with the first blocks.
        is_site: bool = follower.purpose == PURPOSE_DR
        follower.forced = min(hello.end_lsn, hello.group_lsn) if is_site else hello.end_lsn
        follower.applied = hello.group_lsn
        follower.position = shared
        follower.common_epoch = own.common_epoch(theirs)
        # Its own log ends where it is continued: the life it is in needs not be told again. Nor when it has more of the
        # very life that this log is in, because it led its recovery group before: it passes over what it has.
        is_same_life: bool = follower.common_epoch == theirs.epoch() == own.epoch()
        is_continued: bool = shared == hello.end_lsn and follower.common_epoch == theirs.epoch()
        is_continued = is_continued or is_same_life
        follower.life = self._index_of(follower.common_epoch) if is_continued else -1
        follower.epoch = follower.common_epoch

    def _site_greeted(self, follower: FollowerProgress, hello: ReplicaHello) -> bool:
        """Take what the other site says of itself. Return True when its copy is not continued."""
        site = self.site
        if site is None or hello.group != follower.name or hello.identity != self.hello.identity:
            follower.state = REFUSED
            follower.detail = hello.detail or f"{hello.instance} of {hello.group} answered, not {follower.name}"
            return True
        if hello.needs_base:
            return False
        refused, detail = site.hear(hello, Pedigree(self.lives, int(self._offered_position)), self.group_lsn())
        if refused == REFUSED_TERM:
            # Its last life is one of this site's, with a term of the arbiter here.
            self.highest_term = max(self.highest_term, i64(hello.lives[-1].term))
            follower.state = REFUSED
            follower.detail = detail
            return True
        if site.fork_lsn != NO_FORK:
            follower.state = PARTITIONED
            follower.detail = f"the logs of {site.group} and {site.other_group} are the same up to LSN {site.fork_lsn}"
            return True
        if hello.refused:
            # Its terms are those of another arbiter, and depose nobody here.
            follower.state = REFUSED
            return True
        return False

    def _index_of(self, epoch: i64) -> i64:
        for index in range(len(self.lives)):
            if self.lives[index].epoch == epoch:
                return index
        return -1

    # -- what to send

    def next_frame(self, name: str) -> ReplicaFrame | None:
        """Return what to send next to a follower; None: there is nothing, or it has to be read."""
        follower = self.followers.get(name)
        if follower is None or follower.state not in (STREAMING, REBASING):
            return None
        life = self._life_to_tell(follower)
        if life >= 0:
            follower.life = life
            before = self.lives[life - 1].epoch if life > 0 else 0
            return LifeFrame(self.membership.term, follower.position, before, self.lives[life])
        block = self._live_at.get(int(follower.position))
        if block is None:
            return None
        position = follower.position
        follower.position = block.end
        if block.frame.term == self.membership.term:
            return block.frame
        return LogFrame(self.membership.term, self.group_lsn(), position, block.frame.images)

    def next_read(self, name: str) -> CatchUpRead | None:
        """Return what has to be read from the extents for a follower that gets no more from memory; None: nothing."""
        follower = self.followers.get(name)
        if follower is None or follower.state not in (STREAMING, REBASING) or self._life_to_tell(follower) >= 0:
            return None
        position = follower.position
        until = min(self._end_of_life(follower.life), self._forced_position)
        if position >= until or int(position) in self._live_at:
            return None
        reader = follower.reader
        assert reader is not None
        return CatchUpRead(name, follower.link, reader, position, until)

    def take_read(self, read: CatchUpRead, now: float) -> ReplicaFrame | None:
        """Return the frame with the blocks that were read; None when they are not wanted any more, or are gone."""
        follower = self.followers[read.name]
        if follower.link != read.link or follower.state not in (STREAMING, REBASING):
            return None
        if follower.position != read.position:
            return None
        if read.gone:
            self._need_base(follower, read.gone, now)
            return None
        follower.position = read.end
        return LogFrame(self.membership.term, self.group_lsn(), read.position, read.images)

    def _life_to_tell(self, follower: FollowerProgress) -> i64:
        """Return the index of the life that the blocks at the follower's position belong to, if it was not told; -1."""
        if follower.life < 0:
            first = self._index_of(follower.common_epoch)
            # The common life is told again when it goes on behind the fork, the next one when it ends there.
            if first >= 0 and follower.position < self._end_of_life(first):
                return first
            return first + 1
        if follower.life + 1 < len(self.lives) and follower.position >= self._end_of_life(follower.life):
            return follower.life + 1
        return -1

    def _end_of_life(self, index: i64) -> i64:
        if index + 1 < len(self.lives):
            return self.lives[index + 1].start_lsn
        return self._offered_position + 1

    # -- bases

    def _need_base(self, follower: FollowerProgress, why: str, now: float) -> None:
        follower.state = NEEDS_BASE
        follower.detail = why
        follower.base_percent = 0
        if follower.needs_base_seconds < 0.0:
            follower.needs_base_seconds = now

    def should_set_aside(self, name: str, now: float, patience_seconds: float) -> bool:
        """Return True when a follower whose log cannot be continued is to be told so: it then gives its copy up.

        Until then its copy is worth something in an election, if it is in the set. A leader that cannot take it out of
        the set has to tell it some time: it needs the copy.
        """
        follower = self.followers[name]
        if follower.state != NEEDS_BASE or follower.awaits_base:
            return False
        membership = self.membership
        is_out: bool = name not in membership.rule.members and membership.asked is None
        return is_out or now - follower.needs_base_seconds > patience_seconds

    def begin_base(self, name: str, link: i64, begin: BaseBegin) -> bool:
        """Complete the first frame of a base, and send the log from there on. False: the follower has gone."""
        follower = self.followers.get(name)
        if follower is None or follower.link != link or not follower.awaits_base:
            return False
        begin.lives = self.lives
        begin.position = self._reader.start_of_extent(begin.restart_lsn)
        follower.state = REBASING
        follower.base_percent = 0
        follower.position = begin.position
        # The base names the lives: all blocks count as those of the last one.
        follower.life = len(self.lives) - 1
        return True

    def base_advanced(self, name: str, percent: i64) -> None:
        """Note how much of a base was sent."""
        self.followers[name].base_percent = percent

    def sign_of_life(self, name: str) -> ReplicaFrame | None:
        """Return a frame without blocks, with the group LSN: for each heartbeat, and when there is nothing to send."""
        follower = self.followers.get(name)
        if follower is None or follower.state not in (STREAMING, REBASING, NEEDS_BASE) or follower.link < 0:
            return None
        if follower.state == NEEDS_BASE and follower.awaits_base:
            return None
        if follower.state != NEEDS_BASE and self._life_to_tell(follower) >= 0:
            return None
        return LogFrame(self.membership.term, self.group_lsn(), self._offered_position, b"")

    # -- who keeps up

    def answering(self, now: float, timeout_seconds: float) -> set[str]:
        """Return the followers that answer in this term, and have forced in time what they were sent."""
        found: set[str] = set()
        for follower in self.followers.values():
            if follower.state != STREAMING or follower.purpose != PURPOSE_HA:
                continue
            if follower.forced >= follower.owed_lsn:
                follower.behind_seconds = -1.0
            if follower.behind_seconds < 0.0 and follower.forced < self._forced:
                follower.owed_lsn = self._forced
                follower.behind_seconds = now
            is_awaited = follower.is_near or follower.name in self.membership.rule.members
            is_slow = is_awaited and follower.behind_seconds >= 0.0 and now - follower.behind_seconds > timeout_seconds
            if now - follower.heard_seconds <= timeout_seconds and not is_slow:
                found.add(follower.name)
            else:
                follower.is_near = False
        return found

    def nearly_in_sync(self, answering: set[str], now: float, timeout_seconds: float) -> set[str]:
        """Return those who answer in this life and had forced, within the timeout, what was durable at its begin.

        Replies may wait for them (`LeaderMembership.wait_for`): they are behind by what comes in a moment.
        """
        for each in answering:
            follower = self.followers[each]
            if self.is_in_life(each) and follower.forced >= self._asked_lsn >= 0:
                follower.is_near = True
        if now - self._asked_seconds >= timeout_seconds:
            self._asked_seconds = now
            self._asked_lsn = max(self.group_lsn(), i64(self.membership.life_start_lsn))
        return {each for each in answering if self.followers[each].is_near}

    def takes_side_files(self, name: str) -> bool:
        """Return True for a follower that is sent the log, and knows side files."""
        follower = self.followers.get(name)
        return follower is not None and follower.state == STREAMING and follower.version >= VERSION_WITH_SIDE_FILES

    def may_enter(self, name: str) -> bool:
        """Return True for a follower outside the in-sync set that has caught up, or nearly: the set may change."""
        follower = self.followers[name]
        membership = self.membership
        if follower.state != STREAMING or follower.purpose != PURPOSE_HA or name in membership.rule.members:
            return False
        if not self.is_in_life(name):
            return False
        is_nearing: bool = not follower.is_near and follower.forced >= self._asked_lsn >= 0
        return is_nearing or follower.forced >= i64(membership.secured_lsn())

    def is_in_life(self, name: str) -> bool:
        """Return True for a follower that has reached the life of this leader."""
        return self.followers[name].epoch == self.lives[-1].epoch

    def backlog_bytes(self, name: str) -> int:
        """Return how much of the log a follower has not forced yet."""
        follower = self.followers.get(name)
        return 0 if follower is None else int(max(0, self._offered_position - follower.forced))

    # -- the other site

    def recovery(self) -> FollowerProgress | None:
        """Return the copy at the other site, if it was ever greeted."""
        for follower in self.followers.values():
            if follower.purpose == PURPOSE_DR:
                return follower
        return None

    def has_recovery_all(self) -> bool:
        """Return True when the other site has forced all of this log, in the life of this leader."""
        found = self.recovery()
        if found is None or found.state != STREAMING or found.epoch != self.lives[-1].epoch:
            return False
        return found.forced >= self._offered_position

    def judge_recovery(self, now: float, timeout_seconds: float) -> bool:
        """Measure the lag, and decide whether replies wait for the other site. Return True when that has changed.

        A synchronous copy is waited for once it has nearly caught up. With limits that slow, replies wait while it is
        connected. It is let go when it does not answer in time, or its disk is full: an outage there is not one here.
        """
        before = self.is_recovery_awaited
        found = self.recovery()
        if found is None:
            return False
        self.lag.note(now, self._offered_position, found.forced)
        limits = self.lag_limits
        self._lag_reach = self.lag.reach(now, limits.seconds_max) if limits.seconds_max >= 0 else NO_LIMIT
        is_lost: bool = now - found.heard_seconds > timeout_seconds or found.flags & ACK_DISK_FULL != 0
        if found.state != STREAMING or is_lost or not (self.is_synchronous or limits.slows):
            self.is_recovery_awaited = False
        elif not before and found.epoch == self.lives[-1].epoch:
            # What was the end a moment ago is there: it keeps up.
            is_near: bool = self._recovery_lsn >= 0 and found.forced >= self._recovery_lsn
            self.is_recovery_awaited = is_near or not self.is_synchronous
        self._recovery_lsn = self._forced
        return before != self.is_recovery_awaited

    def is_recovery_in_sync(self) -> bool:
        """Return True when the other site has forced all that was acknowledged."""
        found = self.recovery()
        if found is None or found.state != STREAMING or found.epoch != self.lives[-1].epoch:
            return False
        return found.forced >= self.group_lsn()

    def recovery_backlog_bytes(self) -> int:
        """Return the largest backlog of a recovery site's copy: what an unplanned switch would lose."""
        backlogs = [self.backlog_bytes(each.name) for each in self.followers.values() if each.purpose == PURPOSE_DR]
        return max(backlogs, default=0)
