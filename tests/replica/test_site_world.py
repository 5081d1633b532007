"""Two simulated sites under random faults: switches in order lose nothing, others at most what the status showed."""

from __future__ import annotations

from random import Random

import pytest
from tests.replica.test_sides import IDENTITY, SETTINGS, new_disk, standby_on
from tests.world.replica.leader_frames import next_frame
from tests.world.world_lives import LOG_DIRECTORY

from ostler.engine.recovery.records import IMAGE_MESSAGE
from ostler.log.reader import BlockCursor, LogVisitor, RecordReader
from ostler.log.recovery_log import RecoveryLog
from ostler.log.restart import ACTIVE_NAME, open_log
from ostler.log.shipping import LogShipper
from ostler.model.arbiter import InSyncSet
from ostler.model.log_life import Life
from ostler.replica.follower_side import NO_LINK, FollowerSide, LinkRefused
from ostler.replica.leader_side import PARTITIONED, STREAMING, LeaderSide
from ostler.replica.membership import LeaderMembership, default_policy
from ostler.replica.site_side import MAY, NO_FORK, SiteSide
from ostler.testing.simulation.crashing_disk import SimulatedDisk
from ostler.wire.replica_frames import (
    PURPOSE_DR,
    SITE_ACTIVE,
    SITE_LIVE,
    SITE_PENDING_RECOVERY,
    SITE_RECOVERY,
    ReplicaHello,
)

KIND = IMAGE_MESSAGE  # a replay passes it over
TIMEOUT_SECONDS = 5.0


class Ids(LogVisitor):
    def __init__(self) -> None:
        self.found: list[int] = []

    def record(self, kind: int, lsn: int, payload: bytes) -> None:
        if kind == KIND:
            self.found.append(int.from_bytes(payload[:8], "little"))

    def progress(self, done_bytes: int, total_bytes: int) -> None:
        return

    def ended(self, end_lsn: int) -> None:
        return


class SimulatedSite(LogShipper):
    """One site: a disk, what it has noted, and either end of the link."""

    def __init__(self, name: str, other: str, role: int) -> None:
        self.name, self.other = name, other
        self.disk: SimulatedDisk = new_disk()
        self.role, self.fork_lsn, self.is_held = role, NO_FORK, False  # on disk
        self.term = 0
        self.leader: LeaderSide | None = None
        self.follower: FollowerSide | None = None
        self.log: RecoveryLog
        self.start()

    def offer(self, position: int, images: list[bytes]) -> None:
        assert self.leader is not None
        self.leader.offer(position, images)

    def forced(self, end_lsn: int) -> None:
        assert self.leader is not None
        self.leader.forced_here(end_lsn)

    @property
    def site(self) -> SiteSide:
        found = self.leader.site if self.leader is not None else None
        if found is None:
            assert self.follower is not None
            found = self.follower.site
        assert found is not None
        return found

    def note(self) -> None:
        """A server writes its file with each change; here it is noted after each step."""
        self.fork_lsn, self.is_held = int(self.site.fork_lsn), self.site.is_held

    def start(self) -> None:
        standby = standby_on(self.disk)
        self.leader = None
        self.follower = FollowerSide(self.name, self.name, "QM", standby)
        site = SiteSide(self.name, self.other, frozenset({self.name}), self.role)
        site.fork_lsn, site.is_held = self.fork_lsn, self.is_held
        self.follower.site = site

    def crash(self, random: Random) -> None:
        self.note()
        self.disk = self.disk.crash(random.randrange(1 << 30))
        self.start()

    def lead(self, is_synchronous: bool) -> None:
        """Begin to work, or to send the rest."""
        assert self.follower is not None
        standby, site = self.follower.standby, self.follower.site
        assert site is not None
        self.follower.leave()
        self.term += 1
        position = int(standby.log.position())
        epoch = max(int(standby.log.mark.highest_epoch), standby.log.epoch()) + 1
        life = Life(epoch, position, self.name, self.term, 0)
        membership = LeaderMembership(
            self.name, self.term, InSyncSet(1, 0, (self.name,), 1), position, default_policy(1)
        )
        hello = ReplicaHello()
        hello.group, hello.queue_manager, hello.instance = self.name, "QM", self.name
        hello.identity, hello.file_pages, hello.log_format = IDENTITY, SETTINGS.file_pages, 1
        hello.lives = [*standby.log.lives, life]
        self.leader = LeaderSide(hello, membership, standby.log.catch_up_reader(), position, position)
        self.leader.site = site
        self.leader.is_synchronous = is_synchronous
        if self.role == SITE_LIVE:
            site.role = SITE_ACTIVE
        self.log = standby.promote(life, self)

    def write(self, number: int, size: int) -> int:
        self.log.append(KIND, number.to_bytes(8, "little") + bytes(size), b"", b"")
        batch = self.log.take_batch()
        assert batch is not None
        self.log.writer.write_batch(batch)
        self.log.batch_durable(batch)
        self.forced(batch.end_lsn)
        return int(batch.end_lsn)

    def ids(self) -> list[int]:
        """Return what the log of this site has."""
        visitor = Ids()
        opened = open_log(self.disk, LOG_DIRECTORY)
        reader = RecordReader(visitor, 0, (1 << 63) - 1)
        cursor = BlockCursor(self.disk, f"{LOG_DIRECTORY}/{ACTIVE_NAME}", opened.shape(), opened.control_state(), 0)
        while cursor.advance():
            reader.read_block(cursor)
        cursor.close()
        return visitor.found


class SiteWorld:
    def __init__(self, seed: int, is_synchronous: bool = False) -> None:
        self.random = Random(seed)
        self.is_synchronous = is_synchronous
        self.sites = {"N": SimulatedSite("N", "S", SITE_LIVE), "S": SimulatedSite("S", "N", SITE_RECOVERY)}
        self.working, self.receiving = self.sites["N"], self.sites["S"]
        self.link = 0
        self.now = 0.0
        self.number = 0
        self.pending: list[tuple[int, int]] = []
        self.acknowledged: dict[int, int] = {}
        self.is_safe = False
        """Synchronous: the copy has had all that was acknowledged since replies wait for it, so it still has."""

    def connect(self) -> None:
        leader, follower = self.working.leader, self.receiving.follower
        assert leader is not None
        assert follower is not None
        self.link += 1
        try:
            replies = follower.receive(
                self.link, leader.connected(self.receiving.name, self.link, self.now, PURPOSE_DR)
            )
        except LinkRefused as refused:
            replies = refused.frames
        for each in replies:
            leader.receive(self.receiving.name, self.link, each, self.now)

    def exchange(self, frames: int) -> None:
        """Send up to so many frames, force, and bring the acknowledgement back."""
        leader, follower = self.working.leader, self.receiving.follower
        assert leader is not None
        assert follower is not None
        found = leader.recovery()
        if found is None or found.state != STREAMING or follower.link != self.link:
            self.connect()
            return
        for _ in range(frames):
            frame = next_frame(leader, self.receiving.name, self.now) or leader.sign_of_life(self.receiving.name)
            if frame is not None:
                follower.receive(self.link, frame)
        for ack in follower.force():
            leader.receive(self.receiving.name, self.link, ack, self.now)
        follower.standby.apply(1 << 20)
        leader.judge_recovery(self.now, TIMEOUT_SECONDS)

    def release(self) -> None:
        """Applications are told what is durable."""
        leader = self.working.leader
        assert leader is not None
        self.working.log.group_durable(leader.group_lsn())
        if not leader.is_recovery_awaited:
            self.is_safe = False
        elif leader.is_recovery_in_sync():
            self.is_safe = True
        for number, lsn in self.pending:
            if lsn <= leader.group_lsn():
                self.acknowledged[number] = lsn
        self.pending = [each for each in self.pending if each[1] > leader.group_lsn()]

    def step(self, writes: bool = True, crashes: bool = True) -> None:
        random, working, receiving = self.random, self.working, self.receiving
        self.now += 0.1
        if working.leader is None:
            working.lead(self.is_synchronous)
        what = random.random()
        if what < 0.5 and writes:
            self.number += 1
            self.pending.append((self.number, working.write(self.number, random.choice([50, 3000]))))
        elif what < 0.9:
            self.exchange(random.randrange(1, 5))
        elif what < 0.93 and receiving.follower is not None:
            receiving.follower.disconnected(self.link)
        elif what < 0.96 and crashes:
            receiving.crash(random)
        elif what < 0.98 and crashes:
            self.pending = []
            self.is_safe = False
            working.crash(random)
            return
        self.release()
        for each in self.sites.values():
            each.note()

    def switch(self) -> None:
        """makedrsecondary, then makedrprimary; crashes come in between."""
        old, new = self.working, self.receiving
        self.pending = []
        old.role = SITE_PENDING_RECOVERY
        old.site.role = SITE_PENDING_RECOVERY
        while old.leader is None or not old.leader.has_recovery_all():
            self.step(writes=False)
        old.role = SITE_RECOVERY
        old.crash(self.random)
        assert new.follower is not None
        site, follower = new.site, new.follower
        assert old.follower is not None
        own = follower.pedigree()
        asked = ReplicaHello()
        asked.purpose, asked.group, asked.instance, asked.site_role = PURPOSE_DR, old.name, old.name, SITE_RECOVERY
        theirs = old.follower.pedigree()
        asked.lives, asked.end_lsn = theirs.lives, theirs.end_lsn
        asked.group_lsn = old.site.acknowledged(theirs, old.follower.standby.log.group_lsn())
        site.hear(asked, own, follower.standby.log.group_lsn())
        assert site.may_work(own, True, False).kind == MAY
        new.role = site.role = SITE_LIVE
        self.working, self.receiving = new, old


@pytest.mark.parametrize("is_synchronous", [False, True])
@pytest.mark.parametrize("seed", range(6))
def test_switches_in_order_lose_nothing(seed: int, is_synchronous: bool) -> None:
    world = SiteWorld(seed, is_synchronous)
    for _ in range(4):
        for _ in range(world.random.randrange(20, 80)):
            world.step()
        world.switch()
        assert not any(each.site.is_partitioned() for each in world.sites.values())
    world.step(writes=False, crashes=False)
    found = world.working.ids()
    assert len(found) == len(set(found))
    assert set(world.acknowledged) <= set(found)
    assert len(world.acknowledged) > 20


@pytest.mark.parametrize("is_synchronous", [False, True])
@pytest.mark.parametrize("seed", range(10))
def test_a_lost_site_costs_what_was_shown_and_the_partition_stays(seed: int, is_synchronous: bool) -> None:
    world = SiteWorld(seed, is_synchronous)
    for _ in range(world.random.randrange(30, 150)):
        world.step()
    old, new = world.working, world.receiving
    shown = old.leader.recovery() if old.leader is not None else None
    forced = int(shown.forced) if shown is not None else 0
    old.crash(world.random)
    new.role = new.site.role = SITE_LIVE
    world.working, world.receiving, world.pending = new, old, []
    new.lead(is_synchronous)
    lost = set(world.acknowledged) - set(new.ids())
    assert all(world.acknowledged[each] > forced for each in lost), "more was lost than the backlog that was shown"
    if world.is_safe:
        assert lost == set()
    # The old site comes back as the one that receives: what only it has is not dropped.
    fork = int(new.leader.lives[-1].start_lsn) if new.leader is not None else 0
    assert old.follower is not None
    has_more = old.follower.pedigree().end_lsn > fork and old.site.led_last(old.follower.pedigree().lives)
    old.role = old.site.role = SITE_RECOVERY
    world.connect()
    for each in world.sites.values():
        each.note()
        assert each.site.is_partitioned() == has_more, each.name
    if not has_more:
        return
    assert new.leader is not None
    assert new.leader.recovery() is not None
    assert new.leader.followers[old.name].state == PARTITIONED
    assert lost <= set(old.ids())
    for each in world.sites.values():
        each.crash(world.random)
    assert [each.site.is_partitioned() for each in world.sites.values()] == [True, True]
    new.lead(is_synchronous)
    world.connect()
    assert old.follower is not None
    assert old.follower.link == NO_LINK
    assert lost <= set(old.ids())
