"""The log of a follower: same bytes at the same LSNs, torn at any byte, lives of other leaders, tails that are void."""

from __future__ import annotations

from contextlib import suppress
from random import Random

import pytest
from tests.log.conftest import IDENTITY, Collector

from ostler.log import LogDamaged, LogSettings, LogSpace, RecoveryLog, WriteIntegrity, open_log
from ostler.log.catch_up import CatchUpReader, LogGone
from ostler.log.errors import CopyRefused
from ostler.log.follower_log import FollowerLog, follow
from ostler.log.restart import create_log_of_any_size
from ostler.log.shipping import LogShipper
from ostler.model.log_life import Life
from ostler.replica.pedigree import Pedigree
from ostler.testing.simulation.crashing_disk import PowerLost, SimulatedDisk

SMALL = LogSettings(primary_files=3, secondary_files=2, file_pages=4)
KEEP = 100
INTEGRITIES = [WriteIntegrity.SINGLE_WRITE, WriteIntegrity.DOUBLE_WRITE, WriteIntegrity.TRIPLE_WRITE]


def empty(integrity: WriteIntegrity = WriteIntegrity.TRIPLE_WRITE) -> SimulatedDisk:
    disk = SimulatedDisk()
    settings = LogSettings(primary_files=3, secondary_files=90, file_pages=4, write_integrity=integrity)
    create_log_of_any_size(disk, "log", settings, IDENTITY)
    return disk


class Shipped(LogShipper):
    """Keeps what it is offered."""

    def __init__(self) -> None:
        self.frames: list[tuple[int, bytes]] = []

    def offer(self, position: int, images: list[bytes]) -> None:
        self.frames.append((position, b"".join(images)))

    def forced(self, end_lsn: int) -> None:
        pass


class Copy:
    """One copy of a log: a follower until it is promoted."""

    def __init__(self, disk: SimulatedDisk, name: str = "A") -> None:
        self.name = name
        self.disk = disk
        self.seen = Collector()
        self.follower: FollowerLog = follow(open_log(disk, "log"), self.seen, KEEP)
        self.log: RecoveryLog | None = None
        self.shipped = Shipped()
        self.appended: list[tuple[int, bytes]] = []

    def lead(self, epoch: int) -> None:
        life = Life(epoch, self.follower.position(), self.name, epoch * 10, 0)
        self.log = self.follower.promote(life)
        self.log.replicate(self.shipped, self.follower.group_lsn())

    def write(self, *payloads: bytes) -> int:
        """Append, ship and force one batch; the LSN behind it."""
        assert self.log is not None
        for payload in payloads:
            self.appended.append((self.log.append(1, payload, b"", b""), payload))
        batch = self.log.take_batch()
        assert batch is not None
        self.log.writer.write_batch(batch)
        self.log.batch_durable(batch)
        return batch.end_lsn

    def reader(self) -> CatchUpReader:
        return self.follower.catch_up_reader()

    def crash(self, seed: int) -> Copy:
        return Copy(self.disk.crash(seed), self.name)

    def kill(self) -> Copy:
        return Copy(self.disk, self.name)


def previous_epoch(lives: list[Life], life: Life) -> int:
    return max([each.epoch for each in lives if each.epoch < life.epoch], default=0)


def take_life(leader: Copy, follower: Copy) -> None:
    life = leader.follower.lives[-1]
    follower.follower.begin_life(life, previous_epoch(leader.follower.lives, life), life.start_lsn)


def catch_up(leader: Copy, follower: Copy, limit: int = 1 << 20) -> None:
    """Bring a follower to the leader's end, as the leader's side does: lives in order, their blocks between."""
    log = follower.follower
    mine = Pedigree(leader.follower.lives, leader.follower.position())
    theirs = Pedigree(list(log.lives), log.position())
    lives = leader.follower.lives
    position = mine.relation(theirs).lsn
    for index, life in enumerate(lives):
        until = lives[index + 1].start_lsn if index + 1 < len(lives) else leader.follower.position()
        common = mine.common_epoch(theirs)
        if life.epoch < common or (life.epoch == common and position >= until and index + 1 < len(lives)):
            continue
        position = max(position, life.start_lsn)
        if log.epoch() != life.epoch or log.position() != position:
            log.begin_life(life, previous_epoch(lives, life), position)
        reader = leader.reader()
        while position < until:
            log.take(position, reader.read(position, until, limit))
            log.force()
            position = log.position()


def payloads_of(copy: Copy) -> list[bytes]:
    """What a restart of this copy alone would replay."""
    seen = Collector()
    open_log(copy.disk.copy(), "log").replay(seen)
    return [payload for _, _, payload in seen.records]


def pair(integrity: WriteIntegrity = WriteIntegrity.TRIPLE_WRITE) -> tuple[Copy, Copy]:
    leader, follower = Copy(empty(integrity), "A"), Copy(empty(integrity), "B")
    leader.lead(1)
    take_life(leader, follower)
    return leader, follower


@pytest.mark.parametrize("integrity", INTEGRITIES)
def test_a_follower_has_the_same_bytes(integrity: WriteIntegrity) -> None:
    leader, follower = pair(integrity)
    for number in range(40):
        leader.write(bytes([number]) * (number * 97 % 5000), b"x")
        for position, images in leader.shipped.frames:
            follower.follower.take(position, images)
        leader.shipped.frames.clear()
        follower.follower.force()
        assert follower.follower.position() == leader.follower.position()
    for name in leader.disk.names("log/active"):
        if name.startswith("S"):
            mine = leader.disk.open(f"log/active/{name}", False)
            if follower.disk.exists(f"log/active/{name}"):
                theirs = follower.disk.open(f"log/active/{name}", False)
                assert mine.read_at(0, 1 << 20) == theirs.read_at(0, 1 << 20)
    assert payloads_of(follower) == payloads_of(leader) == [payload for _, payload in leader.appended]


def test_records_are_applied_up_to_the_group_lsn_only() -> None:
    leader, follower = pair()
    first = leader.write(b"one")
    leader.write(b"two")
    catch_up(leader, follower)
    follower.follower.group_is_at(first)
    follower.follower.note()
    again = follower.kill()
    assert [payload for _, _, payload in again.seen.records] == [b"one"]
    assert again.follower.applier.applied_lsn == first
    assert again.follower.position() == leader.follower.position()


@pytest.mark.parametrize("integrity", INTEGRITIES)
@pytest.mark.parametrize("seed", range(40))
def test_a_crash_at_any_byte_keeps_what_was_acknowledged(seed: int, integrity: WriteIntegrity) -> None:
    """A leader writes, a follower gets some of it late and in lumps, and loses power again and again."""
    random = Random(seed)
    leader, follower = pair(integrity)
    acknowledged = 0
    for _ in range(30):
        for _ in range(random.randrange(4)):
            leader.write(*[random.randbytes(random.choice([0, 10, 700, 6000])) for _ in range(random.randrange(1, 3))])
            assert leader.log is not None
            leader.log.group_durable(min(max(acknowledged, leader.log.durable_lsn()), leader.log.forced_lsn()))
        position, until = follower.follower.position(), leader.follower.position()
        if position < until:
            reader = leader.reader()
            follower.follower.take(position, reader.read(position, until, random.choice([1, 3000, 1 << 20])))
        if random.random() < 0.3:
            follower.disk.lose_power_after(random.randrange(12))
        is_up = False
        with suppress(PowerLost):
            follower.follower.force()
            acknowledged = follower.follower.position()
            if random.random() < 0.3:
                follower.follower.note()
            if random.random() < 0.2:
                follower.follower.promise(random.randrange(5))
            is_up = True
        follower.disk.lose_power_after(-1)
        if not is_up or random.random() < 0.2:
            follower = follower.crash(random.randrange(1 << 30)) if random.random() < 0.8 else follower.kill()
        assert follower.follower.position() >= acknowledged
    catch_up(leader, follower)
    assert payloads_of(follower) == [payload for _, payload in leader.appended]


@pytest.mark.parametrize("seed", range(60))
def test_leaders_follow_each_other(seed: int) -> None:
    """Three copies take the lead in turn, and lose power: what two of them had is at the best of any two, in order."""
    random = Random(seed)
    copies = {name: Copy(empty(), name) for name in "ABC"}
    kept: list[bytes] = []
    for epoch in range(1, 15):
        heard = random.sample("ABC", 2)
        first = max(heard, key=lambda name: (copies[name].follower.epoch(), copies[name].follower.position()))
        leader, follower = copies[first], copies[next(name for name in heard if name != first)]
        assert _is_in_order(kept, payloads_of(leader))
        leader.lead(epoch)
        for number in range(random.randrange(3)):
            leader.write(f"{epoch}.{number} ".encode() * random.randrange(1, 900))
        if random.random() < 0.7:
            catch_up(leader, follower, random.choice([1, 5000, 1 << 20]))
            assert leader.log is not None
            kept = payloads_of(leader)
            leader.log.group_durable(leader.log.forced_lsn())
            follower.follower.group_is_at(leader.log.forced_lsn())
        if random.random() < 0.7:
            leader.write(f"{epoch} tail ".encode() * random.randrange(1, 900))
        for name in "ABC":
            if random.random() < 0.8 or copies[name].log is not None:
                copies[name] = copies[name].crash(random.randrange(1 << 30))
    assert len(kept) > 1


def _is_in_order(part: list[bytes], whole: list[bytes]) -> bool:
    rest = iter(whole)
    return all(each in rest for each in part)


def test_a_tail_is_void_when_another_leads_and_stays_so() -> None:
    leader, follower = pair()
    leader.write(b"both")
    catch_up(leader, follower)
    leader.write(b"only the leader has this")
    follower.lead(2)
    follower.write(b"another history")
    again = leader.crash(1)
    catch_up(follower, again)
    assert payloads_of(again) == [b"both", b"another history"]
    assert [life.epoch for life in again.follower.lives] == [1, 2]
    assert payloads_of(again.crash(2)) == [b"both", b"another history"]


def test_a_life_that_reached_one_follower_only_is_void_when_another_leads() -> None:
    """Its first block names a later end as durable than the life has that counts: that is not damage."""
    first, second, third = Copy(empty(), "A"), Copy(empty(), "B"), Copy(empty(), "C")
    first.lead(1)
    first.write(b"all")
    catch_up(first, second)
    catch_up(first, third)
    first.write(b"second has it" * 900)
    catch_up(first, second)
    second.lead(2)
    second.write(b"nobody else has it" * 900)
    third.lead(3)
    again = second.crash(5)
    take_life(third, again)
    assert payloads_of(again.crash(3)) == [b"all"]
    assert [life.epoch for life in again.follower.lives] == [1, 3]


def test_what_enough_copies_had_is_never_dropped() -> None:
    leader, follower = pair()
    lsn = leader.write(b"one")
    catch_up(leader, follower)
    follower.follower.group_is_at(lsn)
    with pytest.raises(CopyRefused, match="enough copies had forced"):
        follower.follower.begin_life(Life(5, 0, "C", 50, 0), 1, 0)
    with pytest.raises(CopyRefused, match="does not fit"):
        follower.follower.begin_life(Life(5, 1 << 30, "C", 50, 0), 1, 1 << 30)
    with pytest.raises(CopyRefused, match="cannot follow life 1"):
        follower.follower.begin_life(Life(4, leader.follower.position(), "C", 50, 0), 3, leader.follower.position())
    assert payloads_of(follower) == [b"one"]


def test_blocks_that_do_not_fit_are_refused_and_change_nothing() -> None:
    leader, follower = pair()
    leader.write(b"one")
    leader.write(b"two")
    (at, first), (_, second) = leader.shipped.frames
    log = follower.follower
    with pytest.raises(CopyRefused, match="this copy ends at"):
        log.take(leader.shipped.frames[1][0], second)
    for offset in (0, 9, 17, 25, 41, 49, 60, 200):
        spoiled = bytearray(first)
        spoiled[offset] ^= 0x55
        with pytest.raises(CopyRefused):
            log.take(at, bytes(spoiled))
    with pytest.raises(CopyRefused, match="no block"):
        log.take(at, first + b"rest")
    log.drop_taken()
    other = Copy(empty(), "C")
    with pytest.raises(CopyRefused, match="life 1 came in life 0"):
        other.follower.take(at, first)
    log.take(at, first + second)
    log.take(at, first)
    log.force()
    assert payloads_of(follower) == [b"one", b"two"]


def test_a_copy_that_lost_what_it_acknowledged_is_damaged() -> None:
    leader, follower = pair()
    for _ in range(3):
        leader.write(b"x" * 3000)
    catch_up(leader, follower)
    follower.follower.note()
    follower.disk.corrupt("log/active/S0000000.LOG", 4096 + 4096 + 100, b"\xa5\x5a")
    with pytest.raises(LogDamaged, match=r"had acknowledged up to|fails its checksum"):
        follower.kill()


def test_the_control_file_never_falls_behind_what_blocks_name() -> None:
    leader, follower = pair()
    assert leader.log is not None
    for _ in range(20):
        lsn = leader.write(b"y" * 3000)
        leader.log.group_durable(lsn)
        leader.log.writer.note_checkpoint(lsn, lsn, 1)
        catch_up(leader, follower)
    assert follower.follower.control_state().sequence >= leader.log.writer.control_sequence - 1
    assert follower.kill().follower.position() == leader.follower.position()


def test_the_leader_keeps_log_for_those_who_are_behind() -> None:
    leader = Copy(empty(), "A")
    leader.lead(1)
    assert leader.log is not None
    leader.log.writer.keep_extents = 2
    for _ in range(40):
        lsn = leader.write(b"z" * 3000)
        leader.log.group_durable(lsn)
        leader.log.writer.note_checkpoint(lsn, lsn, 1)
        while leader.log.writer.allocate_ahead():
            pass
    payload = 3 * 4096
    current = leader.follower.position() // payload
    reader = leader.reader()
    assert reader.read((current - 2) * payload, leader.follower.position(), 1 << 20)
    with pytest.raises(LogGone):
        reader.read((current - 6) * payload, leader.follower.position(), 1 << 20)


def test_a_full_disk_keeps_the_blocks_until_there_is_space() -> None:
    leader, follower = pair()
    for _ in range(12):
        leader.write(b"w" * 9000)
    position, until = follower.follower.position(), leader.follower.position()
    follower.follower.take(position, leader.reader().read(position, until, 1 << 20))
    follower.disk.fill(20_000)
    with pytest.raises(LogSpace):
        follower.follower.force()
    follower.disk.fill(1 << 30)
    follower.follower.force()
    catch_up(leader, follower)
    assert payloads_of(follower) == payloads_of(leader)


def test_a_copy_whose_log_is_longer_than_allowed_can_lead() -> None:
    """It took more than its settings allow, and no checkpoint of its own came. It can write until one does."""
    leader = Copy(empty(), "A")
    disk = SimulatedDisk()
    create_log_of_any_size(disk, "log", SMALL, IDENTITY)
    follower = Copy(disk, "B")
    leader.lead(1)
    take_life(leader, follower)
    for _ in range(30):
        leader.write(b"v" * 3000)
    catch_up(leader, follower)
    follower.follower.group_is_at(leader.follower.position())
    extent_bytes = 3 * 4096
    allowed = (SMALL.primary_files + SMALL.secondary_files) * extent_bytes
    assert follower.follower.position() > allowed
    follower.lead(2)
    assert follower.log is not None
    assert follower.log.room_bytes() > extent_bytes
    follower.write(b"u" * 3000)

    def write_much() -> None:
        for _ in range(40):
            follower.write(b"u" * 3000)

    with pytest.raises(LogSpace):
        write_much()


def test_a_start_without_the_others_is_another_life() -> None:
    leader, follower = pair()
    leader.write(b"one")
    catch_up(leader, follower)
    open_log(follower.disk, "log").replay(Collector())
    assert [(life.epoch, life.instance) for life in follower.kill().follower.lives] == [(1, "A"), (2, "")]
