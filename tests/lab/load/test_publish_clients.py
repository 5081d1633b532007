"""Publishers and subscribers: what they send, and that what one publishes all get; of Ostler, MQTT and NATS."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import psutil
import pytest

from ostler.lab.load import spec
from ostler.lab.load.client import LoadFailed, Pace
from ostler.lab.load.drivers.start import Sharing, start_driver
from ostler.lab.load.mq.client import MqTerms
from ostler.lab.load.mq.factory import exchanges_per_operation, mq_clients
from ostler.lab.load.mq.publish import MqPublisher, MqSubscriber, subscriber_queue, topic_of
from ostler.lab.load.mqtt import packets as mqtt
from ostler.lab.load.mqtt.one_way import MqttOneWayClient
from ostler.lab.load.nats.one_way import NatsOneWayClient
from ostler.lab.load.pacing import Pacing
from ostler.lab.load.progress import ignore_progress
from ostler.lab.load.registry import PUBLISHING, one_way_client
from ostler.lab.load.spec import PUBLISH, LoadSpec
from ostler.lab.load.timeline import Timeline
from ostler.lab.peers import mosquitto, nats
from ostler.lab.runner.contract import GET, PUT
from ostler.lab.runner.peer_brokers import PeerBrokers
from ostler.lab.runner.queue_managers.plan import CHANNEL, QueueManagerPlan
from ostler.lab.runner.queue_managers.process import LabQueueManager
from ostler.lab.store.rows import OperationRow
from ostler.model.constants import MQCC_FAILED, MQCC_OK, MQOT_TOPIC, MQRC_NOT_AUTHORIZED, MQSO_CREATE
from ostler.server.config.qm_ini import LogSection
from ostler.wire import frames, object_frames, payload_codec
from ostler.wire.payload_codec import PayloadReader
from ostler.wire.subscribe_frames import SubscribeReply, decode_subscribe

SIZE = 20
TOPICS, SUBSCRIBERS = 2, 3
COMMANDS = tuple(
    f"DEFINE QLOCAL({subscriber_queue(number)}) MAXDEPTH(999999999)" for number in range(TOPICS * SUBSCRIBERS)
)


def running() -> Pace:
    pace = Pace(Pacing(PUT))
    pace.begin_timeline(Timeline(0, 1000, 1_000_000, 1_000_000), 1)
    pace.active = 1
    return pace


def body(due_ns: int, put_ns: int = 0) -> bytes:
    return due_ns.to_bytes(8, "big") + put_ns.to_bytes(8, "big") + bytes(SIZE - 16)


def totals(rows: Iterator[object]) -> dict[str, int]:
    found: dict[str, int] = {}
    for row in rows:
        if isinstance(row, OperationRow):
            found[row.operation] = found.get(row.operation, 0) + row.count
    return found


# -- frames of Ostler --------------------------------------------------------------------------------------------------


def replied(verb: int, request: int, payload: bytes = b"") -> bytes:
    return frames.frame(verb | frames.REPLY, 1, request, payload_codec.numbers_payload([MQCC_OK, 0]) + payload)


def sent_frames(data: bytes) -> list[tuple[int, int, bytes]]:
    """Type, request and payload of each frame."""
    reader = frames.FrameReader()
    reader.feed(data)
    found = []
    while reader.next():
        found.append((reader.type, reader.request, reader.buffer[reader.start : reader.end]))
    return found


def opened(hobj: int) -> bytes:
    found = object_frames.OpenReply()
    found.hobj = hobj
    return replied(frames.OPEN, 1, found.encode())


def test_a_publisher_opens_its_topic() -> None:
    client = MqPublisher(running(), 3, MqTerms(2, SIZE, False, CHANNEL, subscribers=5))
    ((kind, request, payload),) = sent_frames(client.receive(replied(frames.CONNECT, 1), 0))
    asked = object_frames.read_open_arguments(PayloadReader(payload))
    assert (kind, request) == (frames.OPEN, 1)
    assert (asked.object_type, asked.object_string) == (MQOT_TOPIC, topic_of(1))
    assert client.receive(opened(7), 0) == b""
    assert client.is_ready
    assert client.begin(2000).endswith(body(2000))
    assert client.pace.outstanding == 5, "a copy for each subscriber"


def test_a_subscriber_is_ready_when_its_subscription_is_there() -> None:
    client = MqSubscriber(running(), 3, MqTerms(2, SIZE, False, CHANNEL, subscribers=5))
    ((_, _, payload),) = sent_frames(client.receive(replied(frames.CONNECT, 1), 0))
    assert object_frames.read_open_arguments(PayloadReader(payload)).name == subscriber_queue(3)
    ((kind, request, payload),) = sent_frames(client.receive(opened(7), 0))
    asked = decode_subscribe(PayloadReader(payload))
    assert kind == frames.SUBSCRIBE
    assert (asked.destination, asked.topic_string, asked.options & MQSO_CREATE) == (7, topic_of(1), MQSO_CREATE)
    assert not client.is_ready
    ((kind, _, _),) = sent_frames(client.receive(replied(frames.SUBSCRIBE, request, SubscribeReply().encode()), 0))
    assert kind == frames.GET
    assert client.is_ready


def test_a_subscription_that_is_refused_is_told_by_its_verb() -> None:
    client = MqSubscriber(running(), 0, MqTerms(1, SIZE, False, CHANNEL))
    client.receive(replied(frames.CONNECT, 1), 0)
    client.receive(opened(7), 0)
    refusal = payload_codec.numbers_payload([MQCC_FAILED, MQRC_NOT_AUTHORIZED]) + b"No."
    with pytest.raises(LoadFailed, match=r"MQSUB with MQRC_NOT_AUTHORIZED \(2035\)"):
        client.receive(frames.frame(frames.SUBSCRIBE | frames.REPLY, 1, 6, refusal), 0)


def test_a_publication_in_a_unit_of_work_takes_two_exchanges() -> None:
    wanted = LoadSpec(spec.MQ_VERBS, ("", 0), range(1), range(1), 1, SIZE, True, kind=PUBLISH, units=spec.EVERYBODY)
    assert exchanges_per_operation(wanted) == 2
    assert exchanges_per_operation(replace(wanted, units=spec.NOBODY)) == 1
    kinds = [type(mq_clients(wanted, Pace(), is_publisher, range(1))[0]) for is_publisher in (True, False)]
    assert kinds == [MqPublisher, MqSubscriber]


# -- MQTT and NATS -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("qos", [0, 1])
def test_every_subscriber_of_mqtt_has_a_subscription_of_its_own(qos: int) -> None:
    subscriber = MqttOneWayClient(running(), False, 3, 2, SIZE, qos, 4)
    assert subscriber.opening().endswith(mqtt.subscribe(1, b"lab/%d/one-way/1" % qos, qos))
    publisher = MqttOneWayClient(running(), True, 3, 2, SIZE, qos, 4)
    publisher.receive(b"\x20\x03\x00\x00\x00", 0)
    assert body(2000) in publisher.begin(2000)
    assert publisher.pace.outstanding == 4


def test_every_subscriber_of_nats_has_a_subscription_of_its_own() -> None:
    subscriber = NatsOneWayClient(running(), False, 3, 2, SIZE, 4)
    assert subscriber.opening().endswith(b"SUB ONE.1 1\r\nPING\r\n")
    publisher = NatsOneWayClient(running(), True, 3, 2, SIZE, 4)
    publisher.receive(b'INFO {"server_id":"x"}\r\nPONG\r\n', 0)
    assert body(2000) in publisher.begin(2000)
    assert publisher.pace.outstanding == 4


@pytest.mark.parametrize("protocol", [spec.MQTT, spec.NATS, spec.REDIS, spec.AMQP, spec.STOMP, spec.JETSTREAM])
def test_who_cannot_publish_to_several_is_told(protocol: str) -> None:
    wanted = LoadSpec(protocol, ("", 0), range(1), range(4), 1, SIZE, False, kind=PUBLISH, subscribers=4)
    if protocol in PUBLISHING:
        assert not one_way_client(wanted, running(), False, 0).is_requester
        return
    with pytest.raises(LoadFailed, match=f"{protocol} has no clients for a {PUBLISH} load"):
        one_way_client(wanted, running(), False, 0)


# -- whole loads -------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def manager(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LabQueueManager]:
    log = LogSection(primary_files=2, secondary_files=1, file_pages=2048)
    with LabQueueManager(tmp_path_factory.mktemp("publish"), QueueManagerPlan(log=log, commands=COMMANDS)) as running:
        yield running


def counted(wanted: LoadSpec) -> dict[str, int]:
    """Return the operations of a moment."""
    driver = start_driver(wanted)
    try:
        recorder = driver.run(Timeline.starting(time.perf_counter_ns(), 0.0, 0.03, 0.0), ignore_progress)
        assert isinstance(driver, Sharing)
        assert driver.outstanding == 0, "nothing is missing, and nothing is there that nobody published"
        return totals(row for phase in recorder.phases for row in phase.rows(0))
    finally:
        driver.close()


@pytest.mark.parametrize("protocol", [spec.MQ_VERBS, spec.MQ_PIPELINED])
@pytest.mark.parametrize(
    ("persistent", "units", "ahead"),
    [
        (False, spec.NOBODY, False),
        (False, spec.NOBODY, True),
        (True, spec.NOBODY, False),
        (True, spec.EVERYBODY, False),
    ],
)
def test_everybody_gets_everything_and_the_queue_manager_counts_it(
    manager: LabQueueManager, protocol: str, persistent: bool, units: str, ahead: bool
) -> None:
    def queues() -> dict[str, float]:
        return {each.name: each.value for each in manager.metrics() if each.source == "queues"}

    before = queues()
    found = counted(
        LoadSpec(
            protocol, manager.address, range(TOPICS), range(TOPICS * SUBSCRIBERS), TOPICS, SIZE, persistent, CHANNEL,
            PUBLISH, units=units, subscribers=SUBSCRIBERS, read_ahead=ahead, async_put=ahead,
        )
    )  # fmt: skip
    after = queues()
    assert found[PUT] >= TOPICS
    assert found[GET] == SUBSCRIBERS * found[PUT]
    assert after["puts"] - before["puts"] == after["gets"] - before["gets"] == found[GET]


@pytest.mark.parametrize(("messages", "persistent", "unit"), [(spec.JMS, False, 1), (spec.PLAIN, True, 5)])
def test_jms_publications_and_units_of_five_lose_nothing(
    manager: LabQueueManager, messages: str, persistent: bool, unit: int
) -> None:
    def metrics() -> dict[str, float]:
        return {f"{each.source} {each.name}": each.value for each in manager.metrics()}

    before = metrics()
    found = counted(
        LoadSpec(
            spec.MQ_VERBS, manager.address, range(TOPICS), range(TOPICS * SUBSCRIBERS), TOPICS, SIZE, persistent,
            CHANNEL, PUBLISH, units=spec.EVERYBODY if persistent else spec.NOBODY, subscribers=SUBSCRIBERS,
            messages=messages, consumer_unit=unit,
        )
    )  # fmt: skip
    after = metrics()
    assert found[GET] == SUBSCRIBERS * found[PUT] > 0
    if persistent:
        commits = after["queue-manager commits"] - before["queue-manager commits"]
        # One for each publication, and one for five copies; each subscriber ends with a unit that is not full.
        assert commits <= found[PUT] + found[GET] / unit + TOPICS * SUBSCRIBERS
    else:
        copied = (after["queues put_bytes"] - before["queues put_bytes"]) / found[GET]
        assert copied > SIZE + len("<mcd><Msd>jms_text</Msd></mcd>"), "copies have the MQRFH2"


@pytest.mark.parametrize("name", [nats.NAME, mosquitto.NAME])
def test_everybody_gets_everything_from_a_peer(name: str, tmp_path: Path) -> None:
    brokers = PeerBrokers((name,), tmp_path)
    try:
        contestants = brokers.contestants({0: False, 1: True}, PUBLISH)
        if not contestants:
            pytest.skip("; ".join(f"{peer}: {why}" for peer, why in brokers.absent.items()))
        for contestant in contestants:
            assert not contestant.is_library
            for persistent in contestant.delivery_modes:
                ours = LoadSpec(
                    spec.MQ_VERBS, "nowhere", range(TOPICS), range(TOPICS * SUBSCRIBERS), TOPICS, SIZE, persistent,
                    CHANNEL, PUBLISH, subscribers=SUBSCRIBERS,
                )  # fmt: skip
                found = counted(contestant.spec_like(ours))
                assert found[GET] == SUBSCRIBERS * found[PUT] > 0
    finally:
        brokers.close()


def test_a_queue_manager_has_as_many_cores_as_it_may(tmp_path: Path) -> None:
    log = LogSection(primary_files=2, secondary_files=1, file_pages=64)
    with LabQueueManager(tmp_path, QueueManagerPlan(log=log, cores=1)) as one:
        allowed = sorted(os.sched_getaffinity(0))[:1]
        threads = [each.id for each in psutil.Process(one.pid).threads()]
        assert len(threads) > 1
        assert {tuple(sorted(os.sched_getaffinity(each))) for each in threads} == {tuple(allowed)}
