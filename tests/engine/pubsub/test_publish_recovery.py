"""Random workloads of publish/subscribe with power failures, each from one seed.

The model is a list of events, each with the LSN of the record that makes it durable. After a crash, exactly those up to
the end of the log have happened; non-persistent messages are gone.
"""

from __future__ import annotations

from random import Random
from typing import NamedTuple

import pytest
from tests.world.topic_world import TopicWorld
from tests.world.world_lives import SMALL_LOG

from ostler.engine.handle import Handle
from ostler.engine.open import close_object
from ostler.engine.pubsub import retained
from ostler.engine.pubsub.end_subscription import delete_orphaned_queues, remove_subscription
from ostler.engine.pubsub.subscribe import SubscribeResult
from ostler.engine.queue.queue import RETAINED_QUEUE
from ostler.log import LogSettings, LogType
from ostler.log.stream_format import PAGE_BYTES, next_page
from ostler.model.constants import (
    MQGMO_NO_SYNCPOINT,
    MQPMO_RETAIN,
    MQRC_BACKED_OUT,
    MQRC_NO_MSG_AVAILABLE,
    MQSO_CREATE,
    MQSO_DURABLE,
    MQSO_MANAGED,
    MQSO_RESUME,
)
from ostler.testing.simulation.audit import audit_engine

LINEAR = LogSettings(primary_files=2, secondary_files=1, file_pages=64, log_type=LogType.LINEAR)
DURABLE = MQSO_CREATE | MQSO_MANAGED | MQSO_DURABLE
TOPICS = ("a", "a/b", "a/c", "b")
PATTERNS = {"#": set(TOPICS), "a/#": {"a", "a/b", "a/c"}, "a/+": {"a/b", "a/c"}, "b": {"b"}}


class Publication(NamedTuple):
    topic: str
    body: bytes
    is_persistent: bool
    is_retained: bool
    recipients: tuple[str, ...]


class State:
    """The expected state: subscriptions with their messages, and retained publications."""

    def __init__(self) -> None:
        self.patterns: dict[str, str] = {}
        self.messages: dict[str, list[bytes]] = {}
        self.retained: dict[str, Publication] = {}

    def made(self, name: str, pattern: str) -> None:
        self.patterns[name] = pattern
        self.messages[name] = [each.body for topic, each in self.retained.items() if topic in PATTERNS[pattern]]

    def removed(self, name: str) -> None:
        del self.patterns[name], self.messages[name]

    def published(self, publications: list[Publication]) -> None:
        for each in publications:
            for name in each.recipients:
                if name in self.messages:
                    self.messages[name].append(each.body)
            if each.is_retained:
                self.retained[each.topic] = each

    def got(self, name: str, body: bytes) -> None:
        self.messages[name].remove(body)


class Event(NamedTuple):
    lsn: int
    kind: str
    name: str = ""
    pattern: str = ""
    body: bytes = b""
    publications: tuple[Publication, ...] = ()


class Day:
    def __init__(self, seed: int, settings: LogSettings) -> None:
        self.random = Random(seed)
        self.is_linear = settings is LINEAR
        self.world = TopicWorld.create(settings=settings)
        self.world.prepare_topics()
        self.events: list[Event] = []
        self.state = State()
        self.in_doubt: dict[bytes, tuple[int, list[Publication]]] = {}
        self.count = 0
        self.begin_life()

    def begin_life(self) -> None:
        self.publishers = [self.world.connect() for _ in range(3)]
        self.units: list[list[Publication]] = [[], [], []]
        self.subscriber = self.world.connect()
        self.opened: dict[str, SubscribeResult] = {}

    # -- what happens

    def happened(self, event: Event) -> None:
        """Record an operation in memory; the log decides whether it is durable."""
        self.apply(self.state, event)
        if event.lsn > 0:
            self.events.append(event)

    @staticmethod
    def apply(state: State, event: Event) -> None:
        if event.kind == "made":
            state.made(event.name, event.pattern)
        elif event.kind == "removed":
            state.removed(event.name)
        elif event.kind == "published":
            state.published(list(event.publications))
        elif event.kind == "got":
            state.got(event.name, event.body)

    def step(self) -> None:
        choices = (
            ["publish"] * 8
            + ["commit"] * 3
            + ["back_out", "prepare", "resolve", "resolve"]
            + ["subscribe"] * 3
            + ["unsubscribe", "leave"]
            + ["get"] * 5
            + ["checkpoint", "checkpoint_step", "checkpoint_step", "force", "crash", "image"]
        )
        getattr(self, self.random.choice(choices))()

    def publish(self) -> None:
        number = self.random.randrange(3)
        topic = self.random.choice(TOPICS)
        self.count += 1
        body = b"%d " % self.count + bytes(self.random.choice((0, 100, 5000)))
        is_persistent = self.random.random() < 0.8
        is_retained = self.random.random() < 0.3
        syncpoint = self.random.random() < 0.6
        connection = self.publishers[number]
        recipients = tuple(name for name, pattern in self.state.patterns.items() if topic in PATTERNS[pattern])
        answer = self.world.publish(
            connection,
            topic,
            body,
            MQPMO_RETAIN if is_retained else 0,
            syncpoint=syncpoint,
            persistence=int(is_persistent),
        )
        self.drop_backed_out()
        if answer.reason == MQRC_BACKED_OUT:
            self.world.back_out(connection)
            return
        assert answer.reason == 0
        publication = Publication(topic, body, is_persistent, is_retained, recipients)
        if syncpoint:
            self.units[number].append(publication)
        else:
            self.happened(Event(answer.lsn, "published", publications=(publication,)))
            if self.random.random() < 0.3:
                self.world.settle(answer.lsn)

    def drop_backed_out(self) -> None:
        for number, connection in enumerate(self.publishers):
            unit = connection.unit_of_work
            if unit is not None and unit.backed_out_by_system:
                self.world.back_out(connection)
                self.units[number] = []

    def commit(self) -> None:
        number = self.random.randrange(3)
        reason, lsn = self.world.commit(self.publishers[number])
        done, self.units[number] = self.units[number], []
        assert reason == 0
        if done:
            self.happened(Event(lsn, "published", publications=tuple(done)))
        if self.random.random() < 0.5:
            self.world.acknowledge(lsn)

    def back_out(self) -> None:
        number = self.random.randrange(3)
        self.world.back_out(self.publishers[number])
        self.units[number] = []

    def prepare(self) -> None:
        number = self.random.randrange(3)
        if not self.units[number] or len(self.in_doubt) > 1:
            return
        xid = b"xid %d" % self.count
        self.count += 1
        _, lsn = self.world.prepare(self.publishers[number], xid)
        self.in_doubt[xid] = (lsn, self.units[number])
        self.units[number] = []
        if self.random.random() < 0.5:
            self.world.acknowledge(lsn)

    def resolve(self) -> None:
        if not self.in_doubt:
            return
        xid = self.random.choice(list(self.in_doubt))
        unit = next(each for each in self.world.engine.units_of_work.values() if each.xid == xid)
        committed = self.random.random() < 0.7
        lsn = self.world.resolve(unit, committed)
        # The coordinator retries until it learns that the unit has ended.
        self.world.acknowledge(lsn)
        _, done = self.in_doubt.pop(xid)
        if committed:
            self.happened(Event(lsn, "published", publications=tuple(done)))

    def subscribe(self) -> None:
        name = f"D{self.random.randrange(4)}"
        self.world.make_room()
        self.drop_backed_out()
        if name in self.opened:
            return
        if name in self.state.patterns:
            self.opened[name] = self.world.subscribe(self.subscriber, "", MQSO_RESUME, name)
            return
        pattern = self.random.choice(list(PATTERNS))
        self.opened[name] = self.world.subscribe(self.subscriber, pattern, DURABLE, name)
        lsn = self.opened[name].after_lsn
        if self.state.retained:
            self.world.acknowledge(lsn)  # one reply, though the copies are another record
        self.happened(Event(lsn, "made", name, pattern))

    def leave(self) -> None:
        if self.opened:
            self._close(self.random.choice(list(self.opened)))

    def _close(self, name: str) -> None:
        made = self.opened.pop(name)
        handles: list[Handle] = [made.handle]
        if made.destination is not None:
            handles.append(made.destination)
        self.random.shuffle(handles)
        for handle in handles:
            close_object(self.world.engine, self.subscriber, handle, 0)

    def unsubscribe(self) -> None:
        if not self.state.patterns:
            return
        name = self.random.choice(list(self.state.patterns))
        if name in self.opened:
            self._close(name)
        first = len(self.world.records)
        remove_subscription(self.world.engine, self.world.engine.topics.by_name[name])
        lsn = self.world.records[first].lsn
        # An open unit had copies for it; a later subscription of the same name is another one.
        for unit in (*self.units, *[held for _, held in self.in_doubt.values()]):
            unit[:] = [each._replace(recipients=tuple(n for n in each.recipients if n != name)) for each in unit]
        self.happened(Event(lsn, "removed", name))
        self.world.acknowledge(lsn)

    def get(self) -> None:
        if not self.opened:
            return
        name = self.random.choice(list(self.opened))
        destination = self.opened[name].destination
        assert destination is not None
        request = self.world.get(self.subscriber, destination, MQGMO_NO_SYNCPOINT)
        if request.reason == MQRC_NO_MSG_AVAILABLE:
            assert self.state.messages[name] == []
            return
        if request.reason:
            self.world.make_room()
            self.drop_backed_out()
            return
        is_persistent = request.md[44] == 1
        self.happened(Event(request.after_lsn if is_persistent else 0, "got", name, body=request.body))

    def checkpoint(self) -> None:
        self.world.checkpoint()

    def checkpoint_step(self) -> None:
        self.world.step_checkpoint()

    def force(self) -> None:
        self.world.force()

    def image(self) -> None:
        """Record media images and rebuild queues from them: media recovery reads publications too."""
        if not self.is_linear:
            return
        names = [RETAINED_QUEUE, *[self.world.engine.topics.by_name[name].destination for name in self.state.patterns]]
        name = self.random.choice(names)
        queue = self.world.engine.queues[name]
        if self.random.random() < 0.5:
            self.world.record_image(name)
        elif not queue.handles and queue.uncommitted == 0 and not self._has_nonpersistent(name):
            self.world.rebuild(name)
            self.world.checkpoint()

    def _has_nonpersistent(self, name: str) -> bool:
        return any(request.md[44] != 1 for request in self.world.messages(name))

    def crash(self) -> None:
        if self.random.random() < 0.5:
            self.world.lose_power(self.random.randrange(1 << 30))
        else:
            self.world.kill()
        self.world.restart()
        end = self.world.log.restart_report.end_lsn
        self.events = [event for event in self.events if event.lsn <= end]
        self.in_doubt = {xid: held for xid, held in self.in_doubt.items() if held[0] <= end}
        self.state = State()
        for event in self.events:
            if event.kind == "published":
                self._apply_lasting(event)
            else:
                self.apply(self.state, event)
        self.in_doubt = {
            xid: (lsn, [each for each in held if each.is_persistent]) for xid, (lsn, held) in self.in_doubt.items()
        }
        assert delete_orphaned_queues(self.world.engine) == 0
        self.begin_life()
        self.look()

    def _apply_lasting(self, event: Event) -> None:
        """Of a unit only persistent messages survive; a replaced retained publication is gone."""
        for each in event.publications:
            if each.is_persistent:
                self.state.published([each])
            elif each.is_retained:
                self.state.retained.pop(each.topic, None)

    # -- what there is

    def look(self) -> None:
        engine = self.world.engine
        audit_engine(engine)
        assert set(engine.topics.by_name) == set(self.state.patterns)
        for name, pattern in self.state.patterns.items():
            subscription = engine.topics.by_name[name]
            assert subscription.topic == pattern
            queue = engine.queues[subscription.destination]
            held = [each for _, unit in self.in_doubt.values() for each in unit if name in each.recipients]
            assert queue.depth - queue.uncommitted == len(self.state.messages[name]) or held or queue.uncommitted
            assert sorted(self.world.bodies(queue.name)) == sorted(self.state.messages[name])
        found = {}
        for node in engine.topics.nodes:
            message = retained.message_at(engine, node)
            if message is not None:
                found[engine.topics.topic_of(node)] = message.body
        assert found == {topic: each.body for topic, each in self.state.retained.items()}
        assert engine.topics.retained_count == len(found)
        kept = engine.queues[RETAINED_QUEUE]
        assert kept.depth - kept.uncommitted == len(found)


def live_through(seed: int, settings: LogSettings, steps: int) -> int:
    day = Day(seed, settings)
    for number in range(steps):
        try:
            day.step()
            if number % 10 == 0:
                day.look()
        except BaseException as error:
            error.add_note(f"day {seed}, step {number}")
            raise
    return day.count


@pytest.mark.parametrize("seed", range(25))
def test_days_with_a_circular_log(seed: int) -> None:
    assert live_through(seed, SMALL_LOG, 150) > 0


@pytest.mark.parametrize("seed", range(100, 115))
def test_days_with_a_linear_log(seed: int) -> None:
    assert live_through(seed, LINEAR, 150) > 0


def test_a_publish_cut_at_any_byte_is_all_copies_or_none() -> None:
    world = TopicWorld.create(settings=SMALL_LOG)
    world.prepare_topics()
    c = world.connect()
    for number in range(3):
        world.subscribe(c, "a", DURABLE, f"D{number}")
    world.publish(c, "a", b"before", MQPMO_RETAIN)
    world.checkpoint()
    begin = next_page(world.force())
    world.publish(c, "a", b"cut" * 100, MQPMO_RETAIN)
    end = world.force()
    outcomes = set()
    for lsn in (*range(begin, end, 13), end):
        disk = world.disk.copy()
        disk.corrupt("log/active/S0000000.LOG", PAGE_BYTES + lsn, bytes(max(end - lsn, 1)))
        after = TopicWorld(disk, SMALL_LOG, world.buffer_bytes)
        after.restart()
        audit_engine(after.engine)
        node = after.engine.topics.find("a")
        kept = retained.message_at(after.engine, node) if node is not None else None
        queues = [after.engine.topics.by_name[f"D{number}"].destination for number in range(3)]
        depths = tuple(after.engine.queues[name].depth for name in queues)
        outcomes.add((depths, kept.body if kept is not None else None, after.engine.queues[RETAINED_QUEUE].depth))
    assert outcomes == {((1, 1, 1), b"before", 1), ((2, 2, 2), b"cut" * 100, 1)}


@pytest.mark.stress
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("settings", [SMALL_LOG, LINEAR])
def test_many_days(settings: LogSettings) -> None:
    for seed in range(1000, 1300):
        assert live_through(seed, settings, 300) > 0
