"""An engine that is fed with the records of another one's journal, in order, is equal to it after every verb."""

from __future__ import annotations

from collections.abc import Callable
from random import Random

import pytest
from tests.world.follower import FollowingEngine, durable_state
from tests.world.random_workload import RandomWorkload
from tests.world.topic_world import TopicWorld
from tests.world.world import World
from tests.world.world_lives import SMALL_LOG

from ostler.engine.get import resume_work
from ostler.engine.handle import Handle
from ostler.engine.journal_records import append_put
from ostler.engine.pubsub import retained
from ostler.engine.queue.slots import PERSISTENT, lasting_flags
from ostler.engine.syncpoint import ENTRIES_AT_ONCE, back_out, commit
from ostler.log import LogSettings, LogType
from ostler.model.constants import (
    MQGMO_NO_SYNCPOINT,
    MQGMO_SYNCPOINT,
    MQOO_INPUT_SHARED,
    MQOO_OUTPUT,
    MQPMO_RETAIN,
    MQSO_CREATE,
    MQSO_DURABLE,
    MQSO_MANAGED,
)

LINEAR = LogSettings(primary_files=2, secondary_files=1, file_pages=64, log_type=LogType.LINEAR)
TOPICS = ("a", "a/b", "a/b/c", "d")


class FollowedWorkload(RandomWorkload):
    """A random workload that is compared with its follower after every verb."""

    def __init__(self, seed: int, settings: LogSettings) -> None:
        self.follower: FollowingEngine | None = None
        super().__init__(seed, settings, self._follow)

    def _follow(self, world: World) -> None:
        self.follower = FollowingEngine(world)

    def run(self, steps: int) -> None:
        assert self.follower is not None
        for _ in range(steps):
            super().run(1)
            expected = durable_state(self.compared.world.engine)
            found = self.follower.state()
            for part in expected:
                assert found[part] == expected[part], f"{part} after {self.done[-1]}"


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("settings", [SMALL_LOG, LINEAR], ids=["circular", "linear"])
def test_random_verbs_make_the_same_state(seed: int, settings: LogSettings) -> None:
    day = FollowedWorkload(seed, settings)
    day.run(150)
    assert day.follower is not None
    assert day.follower.records > 10


class TopicDay:
    """Random publications, subscriptions, units of work and definitions."""

    def __init__(self, seed: int) -> None:
        self.random = Random(seed)
        self.world = TopicWorld.create(seed)
        self.follower = FollowingEngine(self.world)
        self.world.prepare_topics()
        self.connection = self.world.connect()
        self.handles: list[Handle] = []
        self.named = 0
        self.verbs: list[Callable[[], None]] = [
            self.publish, self.publish, self.publish, self.subscribe, self.take, self.commit, self.back_out,
            self.define_topic, self.clear_retained,
        ]  # fmt: skip

    def publish(self) -> None:
        self.world.publish(
            self.connection,
            self.random.choice(TOPICS),
            self.random.randbytes(self.random.choice([5, 500, 9000])),
            MQPMO_RETAIN if self.random.random() < 0.5 else 0,
            syncpoint=self.random.random() < 0.5,
            persistence=self.random.choice([0, 1, 1]),
            expiry_tenths=self.random.choice([-1, -1, 50]),
        )

    def subscribe(self) -> None:
        if len(self.handles) > 6:
            return
        self.named += 1
        topic = self.random.choice([*TOPICS, "a/#", "#"])
        is_durable = self.random.random() < 0.6
        options = MQSO_CREATE | MQSO_MANAGED | (MQSO_DURABLE if is_durable else 0)
        made = self.world.subscribe(self.connection, topic, options, f"S{self.named}" if is_durable else "")
        assert made.destination is not None
        self.handles.append(made.destination)

    def take(self) -> None:
        if self.handles:
            options = self.random.choice([MQGMO_SYNCPOINT, MQGMO_NO_SYNCPOINT])
            self.world.get(self.connection, self.random.choice(self.handles), options)

    def commit(self) -> None:
        self.world.commit(self.connection)

    def back_out(self) -> None:
        self.world.back_out(self.connection)

    def define_topic(self) -> None:
        self.world.define_topic(f"T{self.random.randrange(3)}", self.random.choice(TOPICS))

    def clear_retained(self) -> None:
        retained.clear(self.world.engine, self.random.choice(TOPICS))

    def run(self, steps: int) -> None:
        for number in range(steps):
            verb = self.random.choice(self.verbs)
            verb()
            expected, found = durable_state(self.world.engine), self.follower.state()
            for part in expected:
                assert found[part] == expected[part], f"{part} after {verb.__name__}, step {number}"
            if self.random.random() < 0.05:
                self.world.checkpoint()


@pytest.mark.parametrize("seed", range(8))
def test_publications_and_subscriptions_make_the_same_state(seed: int) -> None:
    day = TopicDay(seed)
    day.run(200)
    assert day.follower.records > 10


def test_records_that_a_checkpoint_writes_again_free_a_followers_log() -> None:
    """A prepared unit is written again by each checkpoint; a follower must not need its first records for ever."""
    world = World.create(1, SMALL_LOG)
    follower = FollowingEngine(world)
    world.define_queue("Q")
    application = world.connect()
    queue = world.open(application, "Q", MQOO_INPUT_SHARED | MQOO_OUTPUT)
    world.acknowledge(world.put(application, queue, b"before").lsn)
    world.put(application, queue, b"prepared", syncpoint=True)
    world.get(application, queue, MQGMO_SYNCPOINT)
    unit, lsn = world.prepare(application, b"xid")
    world.acknowledge(lsn)
    for _ in range(3):
        world.acknowledge(world.put(application, queue, b"more").lsn)
        # An attempt that found no room has written some of the records.
        put = unit.entries[0]
        append_put(world.engine, put.queue, put.queue.load(put.slot), lasting_flags(PERSISTENT), -1, unit)
        world.checkpoint()
        assert follower.engine.units_of_work[unit.number].first_lsn == unit.first_lsn
    assert follower.engine.units_of_work[unit.number].first_lsn > lsn
    assert follower.state() == durable_state(world.engine)


def test_a_follower_knows_the_media_images_of_the_log() -> None:
    world = World.create(1, LINEAR)
    follower = FollowingEngine(world)
    world.define_queue("Q")
    first = follower.engine.queues["Q"].media_lsn
    world.record_image("Q")
    assert first < follower.engine.queues["Q"].media_lsn <= world.engine.queues["Q"].media_lsn


@pytest.mark.parametrize("is_commit", [True, False], ids=["commit", "back-out"])
def test_a_unit_that_ends_in_slices_ends_at_once_for_a_follower(is_commit: bool) -> None:
    """The record of the end comes before the first slice; others put and get between the slices."""
    count = ENTRIES_AT_ONCE + 100
    world = World.create(1, LogSettings(primary_files=3, secondary_files=1, file_pages=512))
    follower = FollowingEngine(world)
    world.define_queue("Q", {"MAXDEPTH": 5_000})
    application, other = world.connect(), world.connect()
    queue = world.open(application, "Q", MQOO_INPUT_SHARED | MQOO_OUTPUT)
    others = world.open(other, "Q", MQOO_INPUT_SHARED | MQOO_OUTPUT)
    for number in range(count):
        world.put(application, queue, b"%d" % number, syncpoint=is_commit)
    for _ in range(0 if is_commit else count):
        world.get(application, queue, MQGMO_SYNCPOINT)
    engine = world.engine
    engine.owner_signal.waker = lambda: None
    engine.share_cost = engine.slice_cost = 500
    outcome = (commit if is_commit else back_out)(engine, application, True)
    assert outcome.task is not None
    assert not follower.engine.tasks
    assert not follower.engine.unit_ends
    slices = 0
    while engine.has_pending_work():
        resume_work(engine)
        slices += 1
        world.put(other, others, b"between")
        world.get(other, others, MQGMO_NO_SYNCPOINT)
    assert slices > 2
    assert outcome.task.is_done
    world.acknowledge(outcome.after_lsn)
    expected, found = durable_state(engine), follower.state()
    for part in expected:
        assert found[part] == expected[part], part


def test_a_log_that_begins_within_an_attempt_to_write_a_unit_again() -> None:
    """Some records of a prepared unit stand there twice, the first time without the end: each counts once, in order."""
    world = World.create(1, SMALL_LOG)
    records: list[tuple[int, int, bytes]] = []
    world.followers.append(lambda kind, lsn, payload: records.append((kind, lsn, payload)))
    world.define_queue("Q")
    application = world.connect()
    queue = world.open(application, "Q", MQOO_INPUT_SHARED | MQOO_OUTPUT)
    world.acknowledge(world.put(application, queue, b"got in the unit").lsn)
    before = len(records)
    world.put(application, queue, b"first", syncpoint=True)
    world.get(application, queue, MQGMO_SYNCPOINT)
    world.put(application, queue, b"second", syncpoint=True)
    _, lsn = world.prepare(application, b"xid")
    whole = records[before:]
    assert len(whole) == 4
    for begin in range(3):
        for end in range(begin, 4):
            follower = FollowingEngine(World.create(1, SMALL_LOG))
            attempt = whole[begin : min(end, 3)]
            for number, (kind, _, payload) in enumerate([*records[:before], *attempt, *whole]):
                follower.follow(kind, lsn + number, payload)
            assert follower.state() == durable_state(world.engine), f"records {begin} to {end} came twice"


def test_a_log_that_begins_within_the_records_of_a_prepared_unit() -> None:
    """The rest of the first records, with their end, come before all of them again: the order is that of the last."""
    world = World.create(1, SMALL_LOG)
    records: list[tuple[int, int, bytes]] = []
    world.followers.append(lambda kind, lsn, payload: records.append((kind, lsn, payload)))
    world.define_queue("Q")
    application = world.connect()
    queue = world.open(application, "Q", MQOO_INPUT_SHARED | MQOO_OUTPUT)
    before = len(records)
    for body in (b"first", b"second", b"third"):
        world.put(application, queue, body, syncpoint=True)
    _, lsn = world.prepare(application, b"xid")
    whole = records[before:]
    for begin in range(4):
        follower = FollowingEngine(World.create(1, SMALL_LOG))
        for number, (kind, _, payload) in enumerate([*records[:before], *whole[begin:], *whole]):
            follower.follow(kind, lsn + number, payload)
        assert follower.state() == durable_state(world.engine), f"the log begins with record {begin}"
