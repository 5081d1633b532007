"""Families of a single application: each is driven as the runner does it, with windows as short as can be."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

import pytest

pytest.importorskip("psutil", reason="the laboratory's packages are not installed")

from ostler.lab.common.channel_rules import user_name, user_rules
from ostler.lab.families.connect_rate import DECISION_TIME, DISCONNECT, decision_ns, rule_table
from ostler.lab.families.connection_scaling import shared_by
from ostler.lab.families.footprint import CHANNELS
from ostler.lab.families.held_connections import (
    ALL_CONNECTED,
    MEMORY_AT_START,
    MEMORY_PER_CHANNEL,
    MEMORY_PER_CONNECTION,
    RATE,
)
from ostler.lab.families.object_storage import (
    DEFINE,
    FILES_PER_OBJECT,
    LOG_PER_OBJECT,
    MEMORY_PER_OBJECT,
    definitions,
)
from ostler.lab.families.open_storage import MEMORY_PER_MESSAGE
from ostler.lab.families.properties import GET_TIME, HEADER_BYTES, PUT_TIME
from ostler.lab.families.response_time import GET, PAIR, PUT, SAMPLES, SAMPLES_MISSING
from ostler.lab.families.restart import PROCESS, RECORDS, RESTART, Restarts, RestartTimes
from ostler.lab.families.task import Task
from ostler.lab.families.task_process import TaskProcess
from ostler.lab.families.verb_timing import MAIN
from ostler.lab.load.client import LoadFailed
from ostler.lab.load.progress import ReportProgress
from ostler.lab.load.timeline import COOLING_DOWN, MEASURED, WARMING_UP, PhaseRecorder, Timeline
from ostler.lab.runner.contract import (
    CONNECT,
    QUICK,
    Contestant,
    ContestantKind,
    CountCheck,
    Experiment,
    Metric,
    PointFailed,
    PointSpec,
    ProgressSample,
    RunContext,
    Settings,
    WorkerCounts,
)
from ostler.lab.runner.runner import make_experiment
from ostler.lab.scenarios.loader import catalogue
from ostler.lab.scenarios.steps import Step, steps
from ostler.lab.store.rows import OperationRow
from ostler.model.constants import MQUSRC_MAP
from ostler.model.errors import MQError
from ostler.security.channel_authentication import default_rules


class Silent:
    """Hears of the load and says nothing."""

    def on_progress(self, moment: ProgressSample) -> None:
        assert moment.completed >= 0


@dataclass(frozen=True)
class Point:
    """The outcome of one run of one contestant."""

    point_spec: PointSpec
    roles: list[str]
    counted: Sequence[WorkerCounts]
    results: dict[str, float]
    settled: Sequence[CountCheck]
    metrics: Sequence[Metric]

    def operations(self, phases: Sequence[int] = (WARMING_UP, MEASURED, COOLING_DOWN)) -> dict[str, int]:
        """Return the count of each. On a busy machine a single turn may outlast a window as short as these."""
        found: dict[str, int] = {}
        for each in self.counted:
            for row in (row for phase in phases for row in each.phases[phase].rows(each.worker)):
                if isinstance(row, OperationRow):
                    assert not row.failed
                    found[row.operation] = found.get(row.operation, 0) + row.count
        return found


@contextmanager
def sat(
    name: str, scratch: Path, chosen: Mapping[str, Sequence[str]], settings: Settings = QUICK
) -> Iterator[tuple[Experiment, tuple[Step, ...]]]:
    found = catalogue()
    scenario = found.find(name)
    planned = steps(scenario, found.readiness(scenario), settings.is_quick, chosen)
    experiment = make_experiment(RunContext(scenario, settings, planned, scratch))
    try:
        yield experiment, planned
    finally:
        experiment.close()


def measured(
    experiment: Experiment, contestant: Contestant, step: Step, seconds: float = 0.1, runs: int = 1
) -> list[Point]:
    prepared = experiment.prepare(contestant, step)
    points = []
    try:
        for _ in range(runs):
            roles = [each.role for each in prepared.processes()]
            timeline = Timeline.starting(time.perf_counter_ns(), 0.02, seconds, 0.01)
            counted = prepared.run(timeline, Silent())
            results = {figure.name: figure.value for figure in prepared.results()}
            points.append(
                Point(prepared.point_spec, roles, counted, results, prepared.check_counts(counted), prepared.metrics())
            )
    finally:
        prepared.close()
    return points


def by_kind(experiment: Experiment, kind: ContestantKind) -> list[Contestant]:
    return [each for each in experiment.contestants() if each.kind is kind]


def test_response_time_in_one_process_and_bound_locally(tmp_path: Path) -> None:
    chosen = {"message_bytes": ["100"], "persistence": ["persistent"]}
    with sat("mqi-response-time", tmp_path, chosen, Settings()) as (experiment, planned):
        local, embedded = by_kind(experiment, ContestantKind.OSTLER)
        for contestant, roles in ((local, ["driver", "queue-manager"]), (embedded, ["queue-manager"])):
            for point in measured(experiment, contestant, planned[0], runs=2):
                assert point.roles == roles
                assert point.point_spec == PointSpec(1, 100, True, main_operation=PAIR)
                assert set(point.operations()) == {PUT, GET, PAIR}
                assert point.results[SAMPLES] == point.operations([MEASURED]).get(PAIR, 0)
                assert point.results[SAMPLES] + point.results[SAMPLES_MISSING] == 5000, "the window was too short"
                assert [each.what for each in point.settled] == ["puts", "gets"]
                assert all(each.agrees and each.drivers for each in point.settled)
                assert {each.source for each in point.metrics} >= {"queue-manager", "log"}


@pytest.mark.slow
def test_response_time_has_limits_of_its_own_for_each_persistence(tmp_path: Path) -> None:
    with sat("mqi-response-time", tmp_path, {"message_bytes": ["300000"]}) as (experiment, planned):
        limits = by_kind(experiment, ContestantKind.LIMIT)
        assert [sorted(each.steps or ()) for each in limits] == [[0], [0], [1]]
        for contestant in limits:
            (step,) = [each for each in planned if contestant.does(each.number)]
            (point,) = measured(experiment, contestant, step)
            assert point.operations()[PAIR] > 0
            assert point.roles == ["probe"]
            assert point.point_spec.persistent == (step.points["persistence"] == "persistent")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("verb", "others", "counters"),
    [
        ("MQCONN", {"MQDISC"}, ["connections"]),
        ("MQCLOSE", {"MQOPEN"}, ["opens", "closes"]),
        ("MQGET", {"MQPUT, non-persistent"}, ["puts"]),
        ("MQCMIT", {"MQBACK of a get", "MQCMIT of nothing"}, ["backouts"]),
    ],
)
def test_each_verb_is_timed_with_what_belongs_to_it(
    verb: str, others: set[str], counters: list[str], tmp_path: Path
) -> None:
    with sat("mqi-verb-timing", tmp_path, {"verb": [verb]}, Settings()) as (experiment, planned):
        _, embedded = by_kind(experiment, ContestantKind.OSTLER)
        (point,) = measured(experiment, embedded, planned[0])
        assert point.point_spec.main_operation == MAIN[verb]
        assert set(point.operations()) >= others | {MAIN[verb]}
        assert [each.what for each in point.settled] == counters
        assert all(each.agrees and each.drivers for each in point.settled)


@pytest.mark.slow
def test_a_commit_has_the_force_of_a_page_beside_it(tmp_path: Path) -> None:
    chosen = {"verb": ["MQPUT", "MQCMIT"]}
    with sat("mqi-verb-timing", tmp_path, chosen, Settings()) as (experiment, planned):
        limits = by_kind(experiment, ContestantKind.LIMIT)
        assert [each.does(0) for each in limits] == [True, True, False]
        (point,) = measured(experiment, limits[-1], planned[1])
        assert set(point.operations()) == {MAIN["MQCMIT"]}


@pytest.mark.slow
def test_properties_are_put_and_got_by_property_control(tmp_path: Path) -> None:
    with sat("v6compat-properties", tmp_path, {"property_control": ["V6COMPAT"]}) as (experiment, planned):
        local, _, without = experiment.contestants()
        for contestant in (local, without):
            (point,) = measured(experiment, contestant, planned[0])
            assert set(point.operations()) == {PUT, GET}
            assert all(each.agrees and each.drivers for each in point.settled)
            assert point.results[HEADER_BYTES] > 36, "an MQRFH2 has at least its fixed part"
            assert {PUT_TIME, GET_TIME} <= set(point.results)


@pytest.mark.parametrize("control", ["COMPAT", "V6COMPAT"])
def test_jms_publications_are_read_by_property_control(control: str, tmp_path: Path) -> None:
    chosen = {"property_control": [control], "programs": ["JMS publish/subscribe"]}
    with sat("v6compat-properties", tmp_path, chosen) as (experiment, planned):
        found = experiment.contestants()
        assert {each.kind for each in found} == {ContestantKind.OSTLER}, "no limit has publications"
        assert f"PROPCTL({control})" in experiment.configuration["queue manager"]
        for contestant in found:
            (point,) = measured(experiment, contestant, planned[0])
            assert set(point.operations()) == {PUT, GET}
            assert all(each.agrees and each.drivers for each in point.settled)
            assert point.results[HEADER_BYTES] > 200, "folders mcd, jms and usr"


@pytest.mark.slow
def test_connecting_costs_what_the_rules_cost(tmp_path: Path) -> None:
    with sat("chlauth-connect-cost", tmp_path, {"rules": ["30"]}) as (experiment, planned):
        ours, disabled, bare = experiment.contestants()
        (point,), (baseline,) = (measured(experiment, each, planned[0]) for each in (ours, disabled))
        for each in (point, baseline):
            assert each.roles == ["driver", "queue-manager"]
            assert set(each.operations()) == {CONNECT, DISCONNECT}
            assert [(check.what, check.agrees) for check in each.settled] == [("connections", True)]
        assert point.results[DECISION_TIME] > 0
        assert DECISION_TIME not in baseline.results, "nothing is decided with CHLAUTH(DISABLED)"
        assert "CLNTUSER" in experiment.configuration["queue manager"]
        (limit,) = measured(experiment, bare, planned[0])
        assert limit.operations()[CONNECT] > 0
        assert DECISION_TIME not in limit.results


@pytest.mark.slow
def test_channel_authentication_is_on_or_off(tmp_path: Path) -> None:
    with sat("chlauth-on-off", tmp_path, {}) as (experiment, planned):
        ours, _ = experiment.contestants()
        found = {str(step.points["channel_authentication"]): measured(experiment, ours, step)[0] for step in planned}
        assert (DECISION_TIME in found["ENABLED"].results, DECISION_TIME in found["DISABLED"].results) == (True, False)
        assert all(each.operations()[CONNECT] > 0 for each in found.values())


def test_users_are_admitted_to_three_channel_names() -> None:
    names = {str(each.attributes["CHLAUTH"]) for each in (*default_rules(), *user_rules("SYSTEM.*", 100))}
    assert len(names) == 3
    table = rule_table(user_rules("LAB.SVRCONN", 50, "lab"))
    decision = table.decide("LAB.SVRCONN", "127.0.0.1", "", user_name(49), None, None)
    assert (decision.source, decision.user) == (MQUSRC_MAP, "lab")
    assert decision_ns(table, "LAB.SVRCONN", "127.0.0.1", user_name(49)) > 0
    with pytest.raises(LoadFailed, match=r"refuse user1 on SYSTEM\.DEF\.SVRCONN"):
        decision_ns(table, "SYSTEM.DEF.SVRCONN", "127.0.0.1", user_name(1))


@pytest.mark.slow
def test_restarts_find_all_rules_in_the_log_and_in_files(tmp_path: Path) -> None:
    with sat("chlauth-restart", tmp_path, {"rules": ["300"]}) as (experiment, planned):
        from_log, from_files, reading = experiment.contestants()
        (logged,) = measured(experiment, from_log, planned[0])
        (filed,) = measured(experiment, from_files, planned[0])
        assert logged.results[RECORDS] - filed.results[RECORDS] >= 300
        for point in (logged, filed):
            assert set(point.operations([MEASURED])) == {RESTART, PROCESS}
            assert [(each.what, each.drivers, each.queue_manager) for each in point.settled] == [("rules", 303, 303)]
        (limit,) = measured(experiment, reading, planned[0])
        assert limit.operations([MEASURED])[RESTART] > 0


class Simulated(Restarts):
    """Restarts that take as long as they are told to, on a clock of their own."""

    def restart(self) -> RestartTimes:
        return RestartTimes(0.5, 2.0)

    def close(self) -> None:
        return


def test_a_restart_that_outlasts_its_window_counts_in_it() -> None:
    # The window is over when it begins, and yet something has to be measured.
    timeline = Timeline.starting(time.perf_counter_ns() - 1_000_000_000, 0.1, 0.2, 0.1)
    (counted,) = Simulated(PointSpec(1, 0, False, main_operation=RESTART)).run(timeline, Silent())
    (found,) = counted.phases[MEASURED].operation(RESTART).seconds.values()
    assert (found.count, found.total_ns) == (1, 500_000_000)
    (whole,) = counted.phases[MEASURED].operation(PROCESS).seconds.values()
    assert whole.total_ns == 2_000_000_000


@pytest.mark.slow
def test_connections_are_kept_and_their_memory_told(tmp_path: Path) -> None:
    with sat("zos-csa-usage", tmp_path, {"connection": ["client, SHARECNV(10)", "local"]}) as (experiment, planned):
        ours, bare = experiment.contestants()
        assert [bare.does(step.number) for step in planned] == [True, False]
        shared, alone = (measured(experiment, ours, step)[0] for step in planned)
        for point in (shared, alone):
            assert point.point_spec.clients == 500
            assert point.point_spec.parameters["open queues of a connection"] == "3"
            opens = next(each.value for each in point.metrics if each.name == "opens")
            assert opens >= 3 * 500, "each connection opens three queues"
            assert point.results[MEMORY_AT_START] > 1_000_000
            assert [(each.what, each.agrees) for each in point.settled] == [("connections", True)]
        assert shared.results[MEMORY_PER_CHANNEL] == pytest.approx(10 * shared.results[MEMORY_PER_CONNECTION])
        assert alone.results[MEMORY_PER_CONNECTION] > 0
        assert MEMORY_PER_CHANNEL not in alone.results, "a local connection has no channel"
        (limit,) = measured(experiment, bare, planned[0])
        assert limit.operations() == {CONNECT: 510}


@pytest.mark.slow
def test_connections_open_more_than_32_queues(tmp_path: Path) -> None:
    chosen = {"open_objects": ["0", "33"], "connection": ["local", "client, SHARECNV(1)"]}
    with sat("zos-storage-open-objects", tmp_path, chosen) as (experiment, planned):
        ours = next(iter(experiment.contestants()))
        points = [measured(experiment, ours, step)[0] for step in planned]
        assert [each.point_spec.clients for each in points] == [500, 100, 500, 100]
        for none, many in (points[:2], points[2:]):
            assert many.results[MEMORY_PER_CONNECTION] > none.results[MEMORY_PER_CONNECTION]


@pytest.mark.slow
def test_units_of_work_are_held_and_backed_out(tmp_path: Path) -> None:
    with sat("zos-storage-unit-of-work", tmp_path, {"unit_messages": ["20"]}) as (experiment, planned):
        (ours,) = experiment.contestants()
        (point,) = measured(experiment, ours, planned[0])
        assert point.operations() == {CONNECT: 4, "put": 1 + 3 * 20}
        assert all(each.agrees for each in point.settled)
        assert MEMORY_PER_MESSAGE in point.results
        assert next(each.value for each in point.metrics if each.name == "backouts") >= 1


@pytest.mark.slow
def test_channels_that_carried_a_message_share_as_they_may(tmp_path: Path) -> None:
    with sat("zos-svrconn-footprint", tmp_path, {"shared_conversations": ["10"]}) as (experiment, planned):
        ours, _ = experiment.contestants()
        (point,) = measured(experiment, ours, planned[0])
        assert point.results[CHANNELS] == 50
        assert point.operations() == {CONNECT: 510, "put": 510, "get": 510}
        assert all(each.agrees for each in point.settled)
        assert len(point.settled) == 3


@pytest.mark.slow
def test_objects_are_defined_and_their_storage_told(tmp_path: Path) -> None:
    with sat("zos-object-sizes", tmp_path, {"object_type": ["QALIAS"]}) as (experiment, planned):
        ours, kept = experiment.contestants()
        for point in measured(experiment, ours, planned[0], runs=2):
            assert point.roles == ["queue-manager"]
            assert point.operations() == {DEFINE: 1000}
            assert point.results[LOG_PER_OBJECT] > 100
            assert point.results[FILES_PER_OBJECT] > 0
            assert MEMORY_PER_OBJECT in point.results
        # The next repetition begins anew.
        (again,) = measured(experiment, ours, planned[0])
        assert again.operations() == {DEFINE: 1000}
        (limit,) = measured(experiment, kept, planned[0])
        assert limit.operations() == {DEFINE: 1000}


def test_there_are_objects_of_every_type_that_is_swept() -> None:
    for object_type in catalogue().find("zos-object-sizes").sweep("object_type").values:
        made = list(islice(definitions(str(object_type)), 200))
        assert len({each.name for each in made}) == 200, object_type
        assert {each.object_type.value for each in made} == {object_type}


@pytest.mark.slow
def test_clients_connect_again_and_again_until_the_window_is_over(tmp_path: Path) -> None:
    with sat("appl-connection-scaling", tmp_path, {"requesters": ["40"]}) as (experiment, planned):
        ours, bare = experiment.contestants()
        for contestant in (ours, bare):
            first, second = measured(experiment, contestant, planned[0], runs=2)
            for point in (first, second):
                assert point.point_spec.clients == 40
                assert (point.operations()[CONNECT] - 10) % 40 == 0, "all of them, each time, after the first few"
                assert point.results[RATE] == pytest.approx(40 / point.results[ALL_CONNECTED])
                assert all(each.agrees for each in point.settled)


class Endless(Task):
    """Does not look at the time."""

    def run(self, recorder: PhaseRecorder, report: ReportProgress) -> list[Metric]:
        threading.Event().wait()
        return []

    def close(self) -> None:
        return


class Failing(Endless):
    def run(self, recorder: PhaseRecorder, report: ReportProgress) -> list[Metric]:
        raise MQError(2053, "The queue is full.")


@pytest.mark.slow
def test_a_task_that_does_not_end_is_ended_with_its_process() -> None:
    process = TaskProcess(Endless)
    failures: list[str] = []

    def run() -> None:
        try:
            process.run(Timeline.starting(time.perf_counter_ns(), 0.0, 0.1, 0.0), Silent())
        except PointFailed as failure:
            failures.append(str(failure))

    thread = threading.Thread(target=run)
    thread.start()
    process.end()
    thread.join()
    assert len(failures) == 1, "whoever waits for it hears of it"
    assert not Path(f"/proc/{process.pid}").exists()


def test_a_task_that_fails_says_why() -> None:
    process = TaskProcess(Failing)
    with pytest.raises(PointFailed, match=r"MQRC_Q_FULL \(2053\): The queue is full\."):
        process.run(Timeline.starting(time.perf_counter_ns(), 0.0, 0.1, 0.0), Silent())
    with pytest.raises(PointFailed, match="ended with status 0"):
        process.run(Timeline.starting(time.perf_counter_ns(), 0.0, 0.1, 0.0), Silent())
    assert process.metrics() == []
    process.end()


def test_as_many_share_a_connection_as_must() -> None:
    assert shared_by(1) == 1
    most = max(count for count in range(1000, 1_000_000, 1000) if shared_by(count) == 1)
    assert shared_by(most + 1000) == 2
    assert shared_by(10 * most) in (10, 11)
