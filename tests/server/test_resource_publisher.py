"""Resource publications of a real queue manager: metadata, data by difference, isolation of $SYS/MQ, restarts."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.observe.resource_reader import ReadClass, ReadData, discover, read_data

import ostler
from ostler.client.api.connection import Connection
from ostler.client.api.topic import Subscription
from ostler.engine.core import Engine
from ostler.engine.pubsub.subscribe import SubscribeRequest, subscribe
from ostler.engine.queue.queue import RETAINED_QUEUE
from ostler.model import constants as mq
from ostler.model.attributes import ObjectType
from ostler.model.definitions import Definition, new_definition
from ostler.model.errors import MQError
from ostler.model.guard import Guard
from ostler.observe.resource_messages import all_metadata
from ostler.server import resource_publisher
from ostler.server.config.qm_ini import LogSection
from ostler.server.queue_manager import QueueManager, create_queue_manager
from ostler.server.turn import EngineTurn

ROOT = "$SYS/MQ/INFO/QMGR/MONITORED/Monitor"
# Passes are made by the tests themselves.
NEVER = "\nTuningParameters:\n   MonitorPublishHeartBeat=999999\n"
PATIENCE_SECONDS = 60.0


def made(tmp_path: Path) -> QueueManager:
    directory = create_queue_manager(tmp_path, "MONITORED", LogSection(file_pages=64))
    with directory.ini.open("a") as file:
        file.write(NEVER)
    return QueueManager(directory)


@pytest.fixture
def manager(tmp_path: Path) -> Iterator[QueueManager]:
    found = made(tmp_path)
    found.start()
    yield found
    found.end("immediate")


@pytest.fixture
def qm(manager: QueueManager) -> Iterator[Connection]:
    with ostler.connect(manager) as connection:
        yield connection


def only(qm: Connection, topic: str) -> bytes:
    """The one retained publication of a topic."""
    with qm.subscribe(topic) as subscription:
        message = subscription.get(wait=PATIENCE_SECONDS)
        assert message is not None, f"nothing is retained on {topic}"
        assert message.is_retained
        assert subscription.get() is None
        return message.data


@pytest.fixture
def classes(qm: Connection) -> dict[int, ReadClass]:
    return discover(lambda topic: only(qm, topic), "MONITORED")


def next_data(subscription: Subscription, classes: dict[int, ReadClass]) -> ReadData:
    message = subscription.get()
    assert message is not None, "nothing was published"
    assert (message.persistent, message.format) == (False, "MQADMIN")
    return read_data(message.data, classes, "MONITORED")


def retained_topics(manager: QueueManager) -> list[str]:
    with manager.lock:
        topics = manager.engine.topics
        return sorted(topics.topic_of(node) for node in topics.nodes if node.retained is not None)


ALL_METADATA = sorted(each.topic for each in all_metadata("MONITORED"))


# -- metadata ----------------------------------------------------------------------------------------------------------


def test_a_strict_reader_discovers_everything(classes: dict[int, ReadClass]) -> None:
    assert [each.name for each in classes.values()] == ["CPU", "DISK", "STATMQI", "STATQ", "STATAPP"]
    assert sum(len(of_type.elements) for each in classes.values() for of_type in each.types.values()) == 143


@pytest.mark.parametrize("mode", ["immediate", "preemptive"])
def test_metadata_is_there_once_after_each_restart(tmp_path: Path, mode: str) -> None:
    manager = made(tmp_path)
    for _ in range(3):
        manager.start()
        assert retained_topics(manager) == ALL_METADATA
        assert manager.engine.queues[RETAINED_QUEUE].depth == len(ALL_METADATA)
        manager.end(mode)
        manager = QueueManager(manager.directory)


def test_metadata_that_is_not_published_any_more_goes_at_the_next_start(tmp_path: Path) -> None:
    manager = made(tmp_path)
    manager.start()
    with manager.lock:
        resource_publisher.publish_own(
            manager.engine, f"{ROOT}/METADATA/OLD/TYPES", mq.MQFMT_ADMIN, b"of another release", retains=True
        )
    assert len(retained_topics(manager)) == len(ALL_METADATA) + 1
    manager.end("immediate")
    manager = QueueManager(manager.directory)
    manager.start()
    assert retained_topics(manager) == ALL_METADATA
    manager.end("immediate")


# -- data --------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "topic", ["CPU/SystemSummary", "CPU/QMgrSummary", "DISK/SystemSummary", "DISK/QMgrSummary", "DISK/Log"]
)
def test_figures_of_the_machine(
    manager: QueueManager, qm: Connection, classes: dict[int, ReadClass], topic: str
) -> None:
    with qm.subscribe(f"{ROOT}/{topic}") as subscription:
        manager.resource_publisher.publish()
        values = next_data(subscription, classes).values
    assert max(values.values()) > 0
    for name, value in values.items():
        if "percentage" in name or "free space" in name:
            assert 0 <= value <= 10_000, name
    if topic == "DISK/Log":
        status = manager.log.status()
        assert values["Log - bytes max"] == status.capacity_bytes
        assert values["Log - bytes in use"] == status.allocated_extents * status.extent_bytes
        assert values["Log - slowest write since restart"] >= values["Log - write latency"] > 0
        assert values["Log - timestamp of slowest write"] > 1_600_000_000_000_000


def test_differences_sum_up_to_the_counters(
    manager: QueueManager, qm: Connection, classes: dict[int, ReadClass]
) -> None:
    qm.define("QLOCAL", "COUNTED")
    totals: dict[str, int] = {}
    with (
        qm.open("COUNTED", "rw") as queue,
        qm.subscribe(f"{ROOT}/STATMQI/PUT") as puts,
        qm.subscribe(f"{ROOT}/STATMQI/GET") as gets,
        qm.subscribe(f"{ROOT}/STATQ/COUNTED/PUT") as of_queue,
        qm.subscribe(f"{ROOT}/STATQ/COUNTED/GENERAL") as general,
    ):
        for number in range(1, 4):
            for _ in range(number):
                queue.put(b"12345", persistent=True)
            assert queue.get() is not None
            manager.resource_publisher.publish()
            for subscription in (puts, gets, of_queue):
                for name, value in next_data(subscription, classes).values.items():
                    totals[name] = totals.get(name, 0) + value
            read = next_data(general, classes)
            assert (read.object, read.values["Queue depth"]) == ("COUNTED", sum(range(1, number + 1)) - number)
    counters = manager.engine.counters
    assert totals["Interval total MQPUT/MQPUT1 count"] == totals["Persistent message MQPUT count"] == counters.puts == 6
    assert totals["Interval total MQPUT/MQPUT1 byte count"] == counters.put_bytes == 30
    assert (totals["MQPUT/MQPUT1 count"], totals["persistent byte count"]) == (6, 30)
    # Gets of publications by this test come after the data that they read.
    assert totals["Persistent message destructive get - count"] == 3


def test_instances_of_applications_are_counted_by_name(
    manager: QueueManager, qm: Connection, classes: dict[int, ReadClass]
) -> None:
    with qm.subscribe(f"{ROOT}/STATAPP/shop&till/INSTANCE") as subscription:
        manager.resource_publisher.publish()
        assert subscription.get() is None, "no such application is there"
        first = ostler.connect(manager, application="shop/till")
        with ostler.connect(manager, application="shop/till"), ostler.connect(manager, application="other"):
            pass
        manager.resource_publisher.publish()
        found = next_data(subscription, classes)
        assert found.object == "shop/till"
        names = ("Instance count", "Instances started", "Instances ended")
        assert [found.values[name] for name in names] == [1, 2, 1]
        assert found.values["Movable instance count"] == 0
        first.close()
        manager.resource_publisher.publish()
        found = next_data(subscription, classes)
        assert [found.values[name] for name in names] == [0, 0, 1], "the last of it"
        manager.resource_publisher.publish()
        assert subscription.get() is None
    with manager.lock:
        assert "shop/till" not in manager.engine.statistics.applications


def test_names_of_applications_are_not_kept_for_nobody(manager: QueueManager, qm: Connection) -> None:
    with ostler.connect(manager, application="passing"), manager.lock:
        assert manager.engine.statistics.applications["passing"].now == 1
    with manager.lock:
        assert "passing" not in manager.engine.statistics.applications


def test_applications_are_found_with_wildcards(
    manager: QueueManager, qm: Connection, classes: dict[int, ReadClass]
) -> None:
    with qm.subscribe(f"{ROOT}/STATAPP/+/INSTANCE") as subscription, ostler.connect(manager, application="mine"):
        manager.resource_publisher.publish()
        found = set()
        while (message := subscription.get()) is not None:
            found.add(read_data(message.data, classes, "MONITORED").object)
        assert "mine" in found


def test_intervals_follow_each_other(manager: QueueManager, qm: Connection, classes: dict[int, ReadClass]) -> None:
    """The first one began with the queue manager, the next ones with the publication before."""
    with qm.subscribe(f"{ROOT}/STATMQI/CONNDISC") as subscription:
        manager.resource_publisher.publish()
        first = next_data(subscription, classes)
        assert first.values["MQCONN/MQCONNX count"] >= 1
        with ostler.connect(manager), ostler.connect(manager):
            pass
        manager.resource_publisher.publish()
        second = next_data(subscription, classes)
    assert (second.values["MQCONN/MQCONNX count"], second.values["MQDISC count"]) == (2, 2)
    mark = "Concurrent connections - high water mark"
    assert second.values[mark] == len(manager.engine.connections) + 2
    assert second.interval_us > 0
    assert first.interval_us > 0


def test_publish_and_subscribe_calls(manager: QueueManager, qm: Connection, classes: dict[int, ReadClass]) -> None:
    with (
        qm.subscribe(f"{ROOT}/STATMQI/SUBSCRIBE") as calls,
        qm.subscribe(f"{ROOT}/STATMQI/PUBLISH") as publications,
    ):
        manager.resource_publisher.publish()
        before = next_data(calls, classes).values
        next_data(publications, classes)
        with qm.subscribe("prices") as first, qm.subscribe("prices", durable=True, name="D") as second:
            with qm.topic("prices") as topic:
                topic.publish(b"1234")
            second.close(remove=True)
            assert first.get() is not None
        manager.resource_publisher.publish()
        after = next_data(calls, classes).values
        published = next_data(publications, classes).values
    assert after["Create durable subscription count"] == after["Create non-durable subscription count"] == 1
    assert after["Delete durable subscription count"] == after["Delete non-durable subscription count"] == 1
    lasting = before["Non-durable subscriber - high water mark"]
    assert after["Non-durable subscriber - high water mark"] == lasting + 1
    assert after["Non-durable subscriber - low water mark"] == lasting
    assert (after["Durable subscriber - high water mark"], after["Durable subscriber - low water mark"]) == (1, 0)
    assert published["Topic MQPUT/MQPUT1 interval total"] == 1
    assert published["Interval total topic bytes put"] == 4
    # Two copies of the application's publication; the data of the last pass went to two subscriptions as well.
    assert published["Published to subscribers - message count"] == 4


def test_a_queue_that_does_not_exist_yet(manager: QueueManager, qm: Connection, classes: dict[int, ReadClass]) -> None:
    with qm.subscribe(f"{ROOT}/STATQ/LATE&COMER/OPENCLOSE") as subscription:
        manager.resource_publisher.publish()
        assert subscription.get() is None
        qm.define("QLOCAL", "LATE/COMER")
        with qm.open("LATE/COMER", "w"):
            pass
        manager.resource_publisher.publish()
        read = next_data(subscription, classes)
    assert (read.object, read.values) == ("LATE/COMER", {"MQOPEN count": 1, "MQCLOSE count": 1})


def test_gets_that_fail(manager: QueueManager, qm: Connection, classes: dict[int, ReadClass]) -> None:
    qm.define("QLOCAL", "FAILING")
    with qm.open("FAILING", "rwb") as queue, qm.subscribe(f"{ROOT}/STATQ/FAILING/GET") as subscription:
        assert queue.get() is None
        assert list(queue.browse()) == []
        queue.put(b"12345")
        with pytest.raises(MQError):
            queue.get(max_bytes=1)
        queue.put(b"backed out", syncpoint=True)
        assert queue.get(syncpoint=True) is not None
        qm.back_out()
        manager.resource_publisher.publish()
        values = next_data(subscription, classes).values
    assert values["destructive MQGET fails with MQRC_NO_MSG_AVAILABLE"] == 1
    assert values["MQGET browse fails with MQRC_NO_MSG_AVAILABLE"] == values["MQGET browse fails"] == 1
    assert values["destructive MQGET fails with MQRC_TRUNCATED_MSG_FAILED"] == 1
    assert (values["destructive MQGET fails"], values["rolled back MQGET count"]) == (2, 1)


def test_nothing_is_kept_for_topics_without_a_subscription(manager: QueueManager, qm: Connection) -> None:
    manager.resource_publisher.publish()
    assert manager.resource_publisher._published == {}
    assert manager.resource_publisher._queues == {}
    published = manager.engine.counters.topic_counters().published
    manager.resource_publisher.publish()
    assert manager.engine.counters.topic_counters().published == published


def test_the_lock_is_released_after_a_few_queues(manager: QueueManager, qm: Connection) -> None:
    """With a subscription to all data of all queues, no turn publishes more than a few messages."""
    for number in range(50):
        qm.define("QLOCAL", f"MANY.{number}")
    topics = manager.engine.counters.topic_counters()

    class Watching:
        """The turns of the engine, with the number of publications made in them."""

        def __init__(self, turn: EngineTurn) -> None:
            self.turn = turn
            self.most = 0

        def __enter__(self) -> Engine:
            engine = self.turn.__enter__()
            self.began = topics.published
            return engine

        def __exit__(self, *error: Any) -> None:
            self.most = max(self.most, topics.published - self.began)
            self.turn.__exit__(*error)

    with qm.subscribe(f"{ROOT}/STATQ/#") as subscription:
        before = topics.published
        watching = Watching(manager.turn)
        manager.turn, kept = watching, manager.turn  # type: ignore[assignment]
        try:
            manager.resource_publisher.publish()
        finally:
            manager.turn = kept
        queues = len(manager.engine.queues)
        assert topics.published - before == 5 * queues
        assert 0 < watching.most <= 5 * resource_publisher._QUEUES_AT_ONCE
        assert subscription.get() is not None


def test_a_subscriber_that_does_not_read_fills_no_dead_letter_queue(manager: QueueManager, qm: Connection) -> None:
    qm.define("QLOCAL", "FULL", maxdepth=1)
    qm.define("QLOCAL", "DEAD")
    manager.define(manager.engine.manager.with_changes({"DEADQ": "DEAD"}), replace=True)
    with qm.open("FULL", "r") as queue, qm.subscribe(f"{ROOT}/CPU/QMgrSummary", queue=queue):
        for _ in range(3):
            manager.resource_publisher.publish()
    assert (manager.engine.queues["FULL"].depth, manager.engine.queues["DEAD"].depth) == (1, 0)


# -- the isolation of $SYS/MQ ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("pattern", ["#", "+/#", "$SYS/#", "$SYS/+/INFO/#"])
def test_wildcards_above_do_not_match(manager: QueueManager, qm: Connection, pattern: str) -> None:
    with qm.subscribe(pattern) as subscription, qm.subscribe(f"{ROOT}/CPU/QMgrSummary") as exact:
        manager.resource_publisher.publish()
        assert subscription.get() is None
        assert exact.get() is not None


def test_wildcards_below_match(manager: QueueManager, qm: Connection, classes: dict[int, ReadClass]) -> None:
    qm.define("QLOCAL", "A.QUEUE")
    with (
        qm.subscribe(f"{ROOT}/STATQ/+/GENERAL", new_only=True) as levels,
        qm.subscribe(f"{ROOT}/STATQ/A.*/PUT", wildcards="characters") as characters,
    ):
        manager.resource_publisher.publish()
        found = {read_data(message.data, classes, "MONITORED").object for message in iter(levels.get, None)}
        assert {"A.QUEUE", "SYSTEM.ADMIN.COMMAND.QUEUE"} <= found
        assert next_data(characters, classes).object == "A.QUEUE"


def test_wildcard_block_cannot_be_altered(manager: QueueManager, qm: Connection) -> None:
    known = manager.engine.of_type(ObjectType.TOPIC)["SYSTEM.ADMIN.TOPIC"]
    manager.define(known.with_changes({"WILDCARD": mq.MQTA_PASSTHRU}), replace=True)
    with qm.subscribe("#") as subscription:
        assert subscription.get() is None


def test_the_branch_is_isolated_without_its_object(manager: QueueManager, qm: Connection) -> None:
    manager.delete(ObjectType.TOPIC, "SYSTEM.ADMIN.TOPIC")
    with qm.subscribe("#") as subscription, qm.subscribe(f"{ROOT}/CPU/QMgrSummary") as exact:
        manager.resource_publisher.publish()
        assert subscription.get() is None
        assert exact.get() is not None


def test_authority_comes_from_the_object_of_system_topics(manager: QueueManager) -> None:
    class Everything(Guard):
        """Grants subscribing to some topic objects."""

        def __init__(self, *names: str) -> None:
            self.names = names

        def authorities(self, user: str, object_type: int, name: str) -> int:
            return -1 if object_type != mq.MQOT_TOPIC or name in self.names else 0

        def is_administrator(self, user: str) -> bool:
            return False

        def on_defined(self, definition: Definition) -> None:
            manager.guard.on_defined(definition)

        def on_deleted(self, definition: Definition) -> None:
            manager.guard.on_deleted(definition)

    def reason(*names: str) -> int:
        connection = manager.connect("someone", "test")
        connection.is_privileged = False
        request = SubscribeRequest(mq.MQSO_CREATE | mq.MQSO_MANAGED)
        request.topic_string = f"{ROOT}/CPU/QMgrSummary"
        with manager.lock:
            manager.engine.guard = Everything(*names)
            try:
                subscribe(manager.engine, connection, request)
            except MQError as error:
                return error.reason
            finally:
                manager.engine.guard = manager.guard
        return 0

    assert reason("SYSTEM.BASE.TOPIC") == mq.MQRC_NOT_AUTHORIZED
    assert reason("SYSTEM.ADMIN.TOPIC") == 0


def test_attributes_above_do_not_apply(manager: QueueManager, qm: Connection) -> None:
    manager.define(new_definition(ObjectType.TOPIC, "ABOVE", {"TOPICSTR": "$SYS", "SUB": mq.MQTA_SUB_INHIBITED}))
    with pytest.raises(MQError) as refusal:
        qm.subscribe("$SYS/other")
    assert refusal.value.reason == mq.MQRC_SUB_INHIBITED
    with qm.subscribe(f"{ROOT}/METADATA/CLASSES") as subscription:
        assert subscription.get() is not None
