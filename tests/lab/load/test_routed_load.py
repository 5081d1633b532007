"""Loads whose responders are at another queue manager. Here that other one is the same, by another name."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Iterator
from dataclasses import replace

import pytest

from ostler.client.api.connection import connect
from ostler.lab.load import spec
from ostler.lab.load.amqp.client import AmqpRoutes
from ostler.lab.load.client import LoadClient, LoadFailed, Pace
from ostler.lab.load.drivers.start import start_driver
from ostler.lab.load.drivers.trusted_load import TrustedLoad
from ostler.lab.load.mq.client import reply_manager_alias, request_queue, routed_queue
from ostler.lab.load.mq.request_reply import KEPT_OPEN_MAX
from ostler.lab.load.spec import LoadSpec
from ostler.lab.load.timeline import PhaseRecorder, Timeline
from ostler.lab.runner.contract import GET, PUT, ROUND_TRIP, SilentWatcher
from ostler.lab.runner.queue_managers.plan import NAME, QueueManagerPlan, pair_commands
from ostler.lab.runner.queue_managers.process import LabQueueManager
from ostler.server.config.qm_ini import LogSection

PAIRS = 2
MANY = KEPT_OPEN_MAX + 1
BODY_BYTES = 300


@pytest.fixture(scope="module")
def manager(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LabQueueManager]:
    routed = [
        f"DEFINE QALIAS({routed_queue(pair, route)}) TARGET({request_queue(pair)})"
        for pair in range(PAIRS)
        for route in range(MANY)
    ]
    back = [f"DEFINE QREMOTE({reply_manager_alias(route)}) RNAME(' ') RQMNAME({NAME})" for route in range(MANY)]
    commands = (*pair_commands(PAIRS), *routed, *back)
    log = LogSection(primary_files=2, secondary_files=1, file_pages=2048)
    with LabQueueManager(tmp_path_factory.mktemp("routed"), QueueManagerPlan(log=log, commands=commands)) as running:
        yield running


@pytest.fixture
def base(manager: LabQueueManager) -> LoadSpec:
    local = manager.local_path
    return LoadSpec(
        spec.MQ_VERBS, local, range(5), range(4), PAIRS, BODY_BYTES, False, responder_address=local, routes=3
    )


def ran(load: LoadSpec) -> PhaseRecorder:
    driver = start_driver(load)
    try:
        begin = time.perf_counter_ns()
        return driver.run(Timeline.starting(begin, 0.02, 0.05, 0.02), lambda moment: None)
    finally:
        driver.close()


def counted(recorder: PhaseRecorder, operation: str) -> int:
    return sum(each.count for phase in recorder.phases for each in phase.operation(operation).seconds.values())


def queue_counts(manager: LabQueueManager) -> tuple[int, int]:
    found = {each.name: int(each.value) for each in manager.metrics() if each.source == "queues"}
    return found["puts"], found["gets"]


@pytest.mark.parametrize("routes", [1, 3, MANY])
@pytest.mark.parametrize("persistent", [False, True], ids=["nonpersistent", "persistent"])
@pytest.mark.parametrize("goes_round", [False, True], ids=["own pair", "all pairs"])
def test_replies_come_back_by_the_route_of_the_request(
    manager: LabQueueManager, base: LoadSpec, routes: int, persistent: bool, goes_round: bool
) -> None:
    before = queue_counts(manager)
    trips = counted(ran(replace(base, routes=routes, persistent=persistent, goes_round=goes_round)), ROUND_TRIP)
    after = queue_counts(manager)
    assert trips >= 5
    assert (after[0] - before[0], after[1] - before[1]) == (2 * trips, 2 * trips)


def test_units_of_work_and_long_messages(base: LoadSpec) -> None:
    load = replace(base, persistent=True, units=spec.EVERYBODY, body_bytes=400_000, routes=MANY)
    assert counted(ran(load), ROUND_TRIP) >= 5
    assert counted(ran(replace(load, routes=2)), ROUND_TRIP) >= 5


def test_one_way_messages_arrive_and_producers_wait_for_that(base: LoadSpec) -> None:
    recorder = ran(replace(base, kind=spec.ONE_WAY, goes_round=False, window=3))
    assert counted(recorder, GET) == counted(recorder, PUT) >= 5


@pytest.mark.parametrize("unit", [1, 3, 1000])
def test_consumers_commit_several_messages_at_a_time(manager: LabQueueManager, base: LoadSpec, unit: int) -> None:
    """The rest of a unit is committed as well: nothing comes back."""
    load = replace(base, kind=spec.ONE_WAY, goes_round=False, persistent=True, consumer_unit=unit)
    before = commits(manager)
    recorder = ran(load)
    assert counted(recorder, GET) == counted(recorder, PUT) >= 5
    done = commits(manager) - before
    assert 1 <= done <= counted(recorder, GET)
    assert unit > 1 or done == counted(recorder, GET)
    with connect(manager.name, data=manager.root, binding="local") as connection:
        assert connection.open(request_queue(0), "s").depth == 0


def commits(manager: LabQueueManager) -> int:
    return next(int(each.value) for each in manager.metrics() if each.name == "commits")


def test_a_missing_queue_manager_alias_for_replies_is_reported(manager: LabQueueManager, base: LoadSpec) -> None:
    manager.mqsc(f"DELETE QREMOTE({reply_manager_alias(2)})")
    try:
        with pytest.raises(LoadFailed, match="MQOPEN with MQRC_UNKNOWN_REMOTE_Q_MGR"):
            ran(base)
    finally:
        manager.mqsc(f"DEFINE QREMOTE({reply_manager_alias(2)}) RNAME(' ') RQMNAME({NAME})")


def test_trusted_responders_answer_where_they_are_asked_to(manager: LabQueueManager, base: LoadSpec) -> None:
    trusted = TrustedLoad(manager)
    try:
        trusted.open(replace(base, requesters=range(0)))
        assert counted(ran(replace(base, responders=range(0))), ROUND_TRIP) >= 5
        trusted.close()
    finally:
        trusted.end()


@pytest.mark.parametrize("goes_round", [False, True], ids=["own pair", "all pairs"])
def test_trusted_requesters_send_by_their_route(manager: LabQueueManager, base: LoadSpec, goes_round: bool) -> None:
    trusted, driver = TrustedLoad(manager), start_driver(replace(base, requesters=range(0)))
    try:
        trusted.open(replace(base, responders=range(0), goes_round=goes_round))
        reading, writing = os.pipe()
        serving = threading.Thread(target=driver.serve_until_readable, args=(reading,))
        serving.start()
        timeline = Timeline.starting(time.perf_counter_ns(), 0.02, 0.1, 0.02)
        (counts,) = trusted.run(timeline, SilentWatcher())
        os.write(writing, b".")
        serving.join()
        os.close(reading)
        os.close(writing)
        trips = [phase.operation(ROUND_TRIP).seconds.values() for phase in counts.phases]
        assert sum(each.count for seconds in trips for each in seconds) >= 5
        trusted.close()
    finally:
        trusted.end()
        driver.close()


def test_requests_and_replies_are_converted(manager: LabQueueManager, base: LoadSpec) -> None:
    """Whoever gets a message finds it in its own code page."""
    load = replace(base, requester_ccsid=819, responder_ccsid=437)
    assert counted(ran(load), ROUND_TRIP) >= 5
    driver = start_driver(replace(load, responders=range(0), requesters=range(1)))
    seen = threading.Thread(target=driver.run, args=(Timeline.starting(time.perf_counter_ns(), 0.0, 0.05, 0.0),))
    seen.start()
    with connect(manager.name, data=manager.root, binding="local") as connection:
        request = next(
            found
            for pair in range(PAIRS)
            if (found := connection.open(request_queue(pair), "s").get(wait=5.0 if pair else 1.0)) is not None
        )
        assert (request.format, request.ccsid) == ("MQSTR", 819)
        connection.put(request.reply_to, request.data, correlation_id=request.message_id, format="MQSTR", ccsid=437)
    seen.join()
    driver.close()


@pytest.mark.parametrize("unit", [1, 4])
def test_producers_commit_several_messages_at_a_time(manager: LabQueueManager, base: LoadSpec, unit: int) -> None:
    load = replace(base, kind=spec.ONE_WAY, goes_round=False, persistent=True, units=spec.EVERYBODY, producer_unit=unit)
    before = commits(manager)
    recorder = ran(load)
    puts = counted(recorder, PUT)
    assert counted(recorder, GET) == puts >= 5
    assert puts % unit == 0
    # Consumers commit each message.
    assert commits(manager) - before == puts + puts // unit


class Parked(LoadClient):
    """A producer that notes when it begins."""

    def __init__(self, pace: Pace) -> None:
        super().__init__(pace, True)
        self.begun = 0

    def begin(self, now_ns: int) -> bytes:
        self.begun += 1
        self.pace.outstanding += 1
        return b"message"


def test_producers_are_parked_when_the_window_is_full_and_taken_up_when_half_of_it_is_free() -> None:
    pace = Pace(window=4)
    pace.goes_on, pace.active = True, 1
    producer = Parked(pace)
    producer.begin(0)
    while producer.replied(0):
        pass
    assert (producer.begun, pace.outstanding, pace.parked, pace.active) == (4, 4, [producer], 0)
    pace.outstanding = 3
    assert pace.resume_parked() == []
    pace.outstanding = 2
    assert pace.resume_parked() == [producer]
    assert pace.parked == []


def test_nobody_is_taken_up_after_the_end() -> None:
    pace = Pace(window=1)
    pace.goes_on, pace.active = True, 1
    producer = Parked(pace)
    producer.begin(0)
    producer.replied(0)
    pace.goes_on = False
    pace.outstanding = 0
    assert pace.resume_parked() == []
    assert pace.parked == []


def test_exchanges_are_named_by_line_and_route() -> None:
    assert AmqpRoutes(2, b"durable-0ms").exchange(1) == b"durable-0ms.1"
    assert AmqpRoutes().exchange(0) == b""
