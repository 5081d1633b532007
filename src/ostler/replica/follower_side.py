"""The follower's end of the links to its leader: frames in, frames out. No sockets, no threads, no clock.

    side = FollowerSide(name, group, queue_manager, standby)
    replies = side.receive(link, frame)     for each frame; raises LinkRefused: send its farewell and close the link
    replies = side.force()                  when no more frames are at hand: one force, one acknowledgement
    side.standby.apply(...)                 then, as time permits

A follower hears one term. Before it answers a leader of a higher one it has noted, durably, that it acknowledges
nothing of lower ones any more; so has it before it tells its end for an election (`promise`). Of the links of one
leader the newest counts. `link` is any number that the caller gives to a connection.
"""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext, suppress
from typing import Final

from mypy_extensions import i64, mypyc_attr

from ostler.engine.core import Engine
from ostler.log.catch_up import CatchUpReader
from ostler.log.errors import CopyRefused, LogSpace
from ostler.log.stream_format import FORMAT_VERSION
from ostler.replica.base_files import BaseFiles
from ostler.replica.follower_scrub import FollowerScrub
from ostler.replica.log_relay import LogRelay
from ostler.replica.pedigree import Pedigree
from ostler.replica.repair import answer_fetch
from ostler.replica.side_files import SideReceiver, SideSet, SideSetRefused
from ostler.replica.site_side import SiteSide
from ostler.replica.standby import Standby
from ostler.wire.replica_frames import (
    ACK_DISK_FULL,
    ACK_SPACE_SHORT,
    PURPOSE_DR,
    PURPOSE_HA,
    REFUSED_FILE_PAGES,
    REFUSED_FORMAT,
    REFUSED_IDENTITY,
    REFUSED_NAME,
    REFUSED_QUEUE_MANAGER,
    REFUSED_STATE,
    REFUSED_TERM,
    REPLICA_VERSION,
    Fetch,
    Fetched,
    LifeFrame,
    LogAck,
    LogFrame,
    ReplicaFrame,
    ReplicaHello,
    SideFile,
)

NO_LINK: Final = -1
# Blocks that were received and not forced: beyond this the side forces before it takes more.
TAKEN_BYTES_MAX: Final = 16 << 20


class LinkRefused(Exception):
    """The link must be closed. `frames` are sent before; the text says why."""

    def __init__(self, why: str, frames: list[ReplicaFrame] | None = None) -> None:
        super().__init__(why)
        self.frames: list[ReplicaFrame] = frames if frames is not None else []


class BaseWanted(LinkRefused):
    """The copy is of no use to this leader, nor to any later one: it needs a base."""


@mypyc_attr(allow_interpreted_subclasses=True)
class FollowerSide:
    def __init__(
        self, name: str, group: str, queue_manager: str, standby: Standby, unsure: BaseFiles | None = None
    ) -> None:
        """`unsure` is given for a copy that took a base, and may speak of what enough copies never had."""
        self.name: Final[str] = name
        self.group: Final[str] = group
        self.queue_manager: Final[str] = queue_manager
        self.standby: Final[Standby] = standby
        self.site: SiteSide | None = None
        """With disaster recovery: this site and the other one. Links of purpose DR are refused without."""
        self.purpose: i64 = PURPOSE_HA
        """The purpose of `link`. Terms of a link for disaster recovery are those of another site's arbiter."""
        self.relay: LogRelay | None = None
        """Of the instance that takes the log for a recovery group: the others of the group, which get it from here."""
        self.term: i64 = 0
        """The term of the leader that is followed; 0: none was heard since the start."""
        self.leader: str = ""
        self.link: i64 = NO_LINK
        self.leader_position: i64 = 0
        """The end of the leader's log when it last said so."""
        self.acknowledges_received = False
        """ReplicationAck=Memory: blocks are acknowledged as received before they are forced."""
        self.is_space_short = False
        """The disk of this copy has not the space that a leader needs. The caller looks from time to time."""
        self._heard_group_lsn: i64 = 0
        self._told_position: i64 = 0
        self._owes_ack = False
        self._is_disk_full = False
        self.scrub: Final[FollowerScrub] = FollowerScrub(standby)
        self.repairs: list[str] = []
        """The repairs, in words, since somebody looked."""
        self.side_sets: list[SideSet] = []
        """Sets of side files that came from the leader, for whoever stores them."""
        self.side_problems: list[str] = []
        """Sets that came and cannot be used, in words."""
        self._side_receiver = SideReceiver()
        self._fetch_reader: Final[CatchUpReader] = standby.log.catch_up_reader()
        self._unsure = unsure
        self._unsure_lsn: i64 = unsure.unsure_lsn() if unsure is not None else 0

    # -- frames

    def receive(self, link: i64, frame: ReplicaFrame) -> list[ReplicaFrame]:
        """Take a frame, and return those to send on the same link. Raises LinkRefused and DiskFailed."""
        if isinstance(frame, ReplicaHello):
            return self._hello(link, frame)
        if link != self.link:
            raise LinkRefused("another link of the leader is newer")
        try:
            if isinstance(frame, LogFrame):
                self._hear(frame.term)
                return self._log(frame)
            if isinstance(frame, LifeFrame):
                self._hear(frame.term)
                self.standby.log.begin_life(frame.life, frame.previous_epoch, frame.position)
                self.standby.life_begins()
                self.scrub.restart()
                self._told_position = 0
                if self.relay is not None:
                    self.relay.life_begins(self.standby.log.lives, self.standby.log.position())
                self._owes_ack = True
                return []
            if isinstance(frame, Fetch):
                return answer_fetch(frame, self._still, self._fetch_reader, self.standby.log.position())
            if isinstance(frame, Fetched):
                self.repairs.append(self.scrub.take(frame))
                return []
            if isinstance(frame, SideFile):
                self._hear(frame.term)
                self._take_side_file(frame)
                return []
        except CopyRefused as refused:
            raise LinkRefused(str(refused)) from None
        except LogSpace as space:
            raise LinkRefused(str(space)) from None
        raise LinkRefused("an unexpected frame came from the leader")

    def _take_side_file(self, frame: SideFile) -> None:
        try:
            found = self._side_receiver.take(frame)
        except SideSetRefused as refused:
            self.side_problems.append(f"the {frame.name} of {self.leader}: {refused}")
            return
        if found is not None:
            self.side_sets.append(found)

    def _still(self) -> AbstractContextManager[Engine]:
        return nullcontext(self.standby.engine)

    def _hello(self, link: i64, hello: ReplicaHello) -> list[ReplicaFrame]:
        refused, detail = self._reason_to_refuse(hello)
        if refused:
            raise LinkRefused(detail, [self._own_hello(hello, refused, detail)])
        self._check_base(hello)
        if hello.purpose != self.purpose:
            self._forget_heard()
        self.purpose = hello.purpose
        if hello.purpose == PURPOSE_HA:
            self.standby.log.promise(hello.term - 1)
            self.relay = None  # another one leads the group
        self.term = hello.term
        self.leader = hello.instance
        self.link = link
        self.leader_position = hello.end_lsn
        self._told_position = 0
        self._owes_ack = False
        self._side_receiver = SideReceiver()
        self.scrub.link_changed()
        # Of an older link something may be taken and not forced: the new one sends it again.
        self._keep_received()
        self.standby.log.drop_taken()
        return [self._own_hello(hello, 0, "")]

    def _check_base(self, hello: ReplicaHello) -> None:
        """Raise BaseWanted when the files of this copy speak of what the leader does not have."""
        if self._unsure_lsn == 0:
            return
        log = self.standby.log
        own = Pedigree(log.lives, int(log.position()))
        shared = own.relation(Pedigree(hello.lives, int(hello.end_lsn))).lsn
        if shared < self._unsure_lsn:
            raise BaseWanted(
                f"the base of this copy speaks of LSN {self._unsure_lsn}, which no leader has acknowledged; "
                f"{hello.instance} has this log up to LSN {shared}"
            )

    def _reason_to_refuse(self, hello: ReplicaHello) -> tuple[int, str]:
        log = self.standby.log
        if hello.version > REPLICA_VERSION:
            detail = f"The leader speaks version {hello.version} between copies; this release up to {REPLICA_VERSION}."
            return REFUSED_FORMAT, detail
        is_site: bool = hello.purpose == PURPOSE_DR
        if is_site and self.site is None:
            return REFUSED_STATE, f"{self.group} has no recovery group."
        group = self.site.other_group if is_site and self.site is not None else self.group
        if hello.group != group or hello.queue_manager != self.queue_manager:
            detail = f"This is {self.queue_manager} of group {self.group}, not {hello.queue_manager} of {hello.group}."
            return REFUSED_QUEUE_MANAGER, detail
        if hello.instance == self.name:
            return REFUSED_NAME, f"Two instances have the name {self.name}."
        if hello.identity != log.identity():
            return REFUSED_IDENTITY, "The logs have different identities."
        if hello.file_pages != log.file_pages():
            detail = f"LogFilePages is {log.file_pages()} here, and {hello.file_pages} at the leader."
            return REFUSED_FILE_PAGES, detail
        if hello.log_format > FORMAT_VERSION:
            detail = f"The leader's log has format {hello.log_format}; this release reads up to {FORMAT_VERSION}."
            return REFUSED_FORMAT, detail
        if is_site:
            return self._reason_to_refuse_site(hello)
        if hello.term < self._lowest_here():
            detail = f"Term {hello.term} is over: {self.name} has promised to hear none before {self._lowest_here()}."
            return REFUSED_TERM, detail
        if self._is_disk_full and log.taken_bytes() > TAKEN_BYTES_MAX:
            return REFUSED_STATE, "The disk is full."
        return 0, ""

    def _reason_to_refuse_site(self, hello: ReplicaHello) -> tuple[int, str]:
        assert self.site is not None
        refused, detail = self.site.hear(hello, self.pedigree(), self.standby.log.group_lsn())
        if not refused and self._is_disk_full and self.standby.log.taken_bytes() > TAKEN_BYTES_MAX:
            return REFUSED_STATE, "The disk is full."
        return refused, detail

    def pedigree(self) -> Pedigree:
        """Return the lives of this copy, and where it ends."""
        return Pedigree(self.standby.log.lives, int(self.standby.log.position()))

    def lowest_term(self) -> i64:
        """Return the lowest term that is heard."""
        return self.term if self.purpose == PURPOSE_DR else self._lowest_here()

    def _lowest_here(self) -> i64:
        """Return the lowest term of this site's arbiter that is heard."""
        promised = self.standby.log.mark.promised_term + 1
        return promised if self.purpose == PURPOSE_DR else max(promised, self.term)

    def may_hear(self, term: i64) -> bool:
        """Return True unless a leader of a higher term was heard, or its election was helped."""
        return term >= self.lowest_term()

    def _hear(self, term: i64) -> None:
        if not self.may_hear(term):
            raise LinkRefused(f"term {term} is over; {self.lowest_term()} is the lowest that is heard")
        if term > self.term:
            # The leader has taken its key again.
            if self.purpose == PURPOSE_HA:
                self.standby.log.promise(term - 1)
            self.term = term

    def _own_hello(self, heard: ReplicaHello, refused: int, detail: str) -> ReplicaHello:
        log = self.standby.log
        hello = ReplicaHello()
        hello.version = REPLICA_VERSION
        hello.is_reply = True
        hello.purpose = heard.purpose
        hello.refused = refused
        hello.detail = detail
        hello.group = self.group
        hello.queue_manager = self.queue_manager
        hello.instance = self.name
        hello.identity = log.identity()
        hello.file_pages = log.file_pages()
        hello.log_format = FORMAT_VERSION
        hello.term = self._lowest_here()
        hello.lives = log.lives
        hello.end_lsn = log.position()
        hello.group_lsn = log.group_lsn()
        if self.site is not None and heard.purpose == PURPOSE_DR:
            hello.site_role = self.site.role
            hello.term = 0  # who leads has one
            hello.group_lsn = self.site.acknowledged(self.pedigree(), log.group_lsn())
        return hello

    def _log(self, frame: LogFrame) -> list[ReplicaFrame]:
        log = self.standby.log
        self._heard_group_lsn = max(self._heard_group_lsn, frame.group_lsn)
        self._owes_ack = True
        if frame.images:
            log.take(frame.position, frame.images)
            self.leader_position = max(self.leader_position, log.received_position)
            if log.taken_bytes() > TAKEN_BYTES_MAX:
                return self.force()
            if self.acknowledges_received and not self._is_disk_full and self.may_hear(self.term):
                position = self.acknowledged_position()
                return [LogAck(self.term, log.epoch(), log.received_position, position, self.standby.applied_lsn(), 0)]
        else:
            self.leader_position = frame.position
        return []

    # -- acknowledging

    def acknowledged_position(self) -> i64:
        """Return what may be acknowledged: what is forced here, and by enough copies of a recovery group."""
        position = self.standby.log.position()
        return position if self.relay is None else min(position, self.relay.acknowledged_position())

    def _force_log(self) -> None:
        """Force what was received; a recovery group gets it from here. Raises LogSpace."""
        images = self.standby.log.force()
        self.standby.add(images)
        if self.relay is not None and images:
            self.relay.received(images, self.standby.log.position())

    def _know_group(self) -> None:
        """Take what enough copies have, as the leader says, and as the copies of a recovery group do."""
        known = self._heard_group_lsn
        relay = self.relay
        if relay is not None:
            relay.site_group_is_at(known)
            known = relay.group_lsn()
        self.standby.log.group_is_at(known)
        if 0 < self._unsure_lsn <= known:
            self._unsure_lsn = 0
            assert self._unsure is not None
            self._unsure.clear_unsure()

    def force(self) -> list[ReplicaFrame]:
        """Force what was received, and return the acknowledgement to send on `link`, if one is owed.

        Raises DiskFailed: the process must end.
        """
        try:
            self._force_log()
            self._is_disk_full = False
        except LogSpace:
            self._is_disk_full = True
        self._know_group()
        if not self._owes_ack or self.link == NO_LINK or not self.may_hear(self.term):
            return []
        self._owes_ack = False
        return [self._ack()]

    def _ack(self) -> LogAck:
        log = self.standby.log
        is_held: bool = self._is_disk_full or (self.relay is not None and self.relay.is_held())
        self._told_position = self.acknowledged_position()
        flags = (ACK_DISK_FULL if is_held else 0) | (ACK_SPACE_SHORT if self.is_space_short else 0)
        applied = self.standby.applied_lsn()
        return LogAck(self.term, log.epoch(), log.received_position, self._told_position, applied, flags)

    def relay_advanced(self) -> list[ReplicaFrame]:
        """More copies of the recovery group have forced what was received. Return what the live site is told now."""
        if self.relay is None:
            return []
        self._know_group()
        is_told: bool = self.acknowledged_position() <= self._told_position
        if is_told or self.link == NO_LINK or self.purpose != PURPOSE_DR:
            return []
        return [self._ack()]

    def disconnected(self, link: i64) -> None:
        """A link is gone. What came over it and is not forced comes again, or is forced if it was acknowledged.

        Raises DiskFailed.
        """
        if link == self.link:
            self.link = NO_LINK
            self._keep_received()
            self.standby.log.drop_taken()
            self.scrub.link_changed()
            self._owes_ack = False

    def _keep_received(self) -> None:
        """Force what was acknowledged from memory."""
        if self.acknowledges_received:
            with suppress(LogSpace):
                self._force_log()

    # -- elections

    def promise(self, term: i64) -> None:
        """Acknowledge nothing of this term, or of an older one, any more. Durable on return: now the end may be told.

        Raises LogSpace.
        """
        self.standby.log.force()
        self.standby.life_begins()
        self.standby.log.promise(term)
        if self.term <= term or self.purpose == PURPOSE_DR:
            self.leave()

    def leave(self) -> None:
        """Hear nothing more of the leader that is followed: this copy is to lead, or another one is to be heard."""
        self.link = NO_LINK
        self.purpose = PURPOSE_HA
        self.term = 0
        self._owes_ack = False
        self.standby.log.drop_taken()
        self._forget_heard()

    def _forget_heard(self) -> None:
        """Another site, or another group, says what enough copies have: that of the last one does not count here."""
        self._heard_group_lsn = self.standby.log.group_lsn()
