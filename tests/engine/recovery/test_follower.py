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

from ostler.engine.handle import Handle
from ostler.engine.pubsub import retained
from ostler.log import LogSettings, LogType
from ostler.model.constants import (
    MQGMO_NO_SYNCPOINT,
    MQGMO_SYNCPOINT,
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
