"""A client beside a hostile neighbour: nothing that it waited for is lost, and all of them really do something.

Queue managers are real, and stopped and gone on with as the kernel does it. Nothing is timed but what was stopped.
"""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType

import pytest

pytest.importorskip("psutil", reason="the laboratory's packages are not installed")

from tests.lab.families.test_sequential_families import Silent

from ostler.engine.selectors.selector import compile_selector
from ostler.lab.families.neighbours import hostile_neighbour, neighbours
from ostler.lab.families.neighbours.hostile_neighbour import (
    AIM_MET,
    ANSWERED,
    HIGHEST,
    LINKS_LOST,
    PEAK_MEMORY,
    PROCESSOR,
    REQUESTERS,
    SAMPLES,
    STOCK,
    UNANSWERED,
    Victim,
    answered_within,
    keep_within,
)
from ostler.lab.families.neighbours.neighbours import (
    ERRORS,
    NEIGHBOURS,
    NONE,
    OPERATIONS,
    PURGE,
    STORM,
    UNFINISHED,
    Neighbour,
    OperationCounts,
    Part,
    Selecting,
    Sizes,
)
from ostler.lab.load.client import LoadFailed
from ostler.lab.load.progress import ignore_progress
from ostler.lab.load.timeline import MEASURED, WARMING_UP, PhaseRecorder, Timeline
from ostler.lab.runner.contract import QUICK, ROUND_TRIP, Metric, RunContext, WorkerCounts
from ostler.lab.runner.queue_managers.plan import QueueManagerPlan, pair_commands
from ostler.lab.runner.queue_managers.process import LabQueueManager
from ostler.lab.runner.runner import make_experiment
from ostler.lab.scenarios.loader import catalogue
from ostler.lab.scenarios.model import Scenario
from ostler.lab.scenarios.steps import steps
from ostler.lab.store.roles import NEIGHBOUR
from ostler.lab.store.rows import OperationRow
from ostler.model.errors import MQError

SECOND_NS = 1_000_000_000
SCENARIO = catalogue().find("hostile-neighbour")
NUMBERS = {name: value for name, value in SCENARIO.parameters.items() if isinstance(value, int)}
SMALL = {
    "browse_messages": 300, "selector_messages": 200, "selector_bytes": 256, "waiting_gets": 20,
    "large_bytes": 2_000_000, "middle_bytes": 500_000, "topics": 200, "retained": 300, "half_open": 10,
    "queues": 20, "displayed_topics": 50,
    "purged_messages": 400, "unit_messages": 300, "unread_links": 3,
}  # fmt: skip


# -- the scenario ------------------------------------------------------------------------------------------------------


def test_the_sweep_has_all_neighbours_and_none() -> None:
    (sweep,) = SCENARIO.sweeps
    assert sweep.values == sweep.quick == (NONE, *NEIGHBOURS)
    assert len(NEIGHBOURS) == 11
    assert SCENARIO.load is not None
    assert 200 <= SCENARIO.load.per_second <= 500
    assert (NUMBERS["aim_p99_ms"], NUMBERS["aim_highest_ms"]) == (50, 250)


def test_the_full_form_has_the_sizes_that_were_attacked_with_and_the_quick_one_a_tenth() -> None:
    full, quick = Sizes.of(NUMBERS, False), Sizes.of(NUMBERS, True)
    assert (full.browse_messages, full.selector_messages, full.selector_bytes) == (100_000, 50_000, 8192)
    assert (full.waiting_gets, full.topics, full.retained, full.purged_messages) == (
        3000,
        100_000,
        1_000_000,
        1_000_000,
    )
    assert (full.unit_messages, full.unread_links, full.large_bytes, full.middle_bytes) == (
        100_000,
        60,
        100 << 20,
        4 << 20,
    )
    assert (quick.retained, quick.unread_links, quick.large_bytes) == (100_000, 6, 10 << 20)
    assert (quick.selector_bytes, quick.middle_bytes) == (8192, 4 << 20)


def test_selectors_are_as_dear_as_they_may_be(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Selecting, "__init__", Neighbour.__init__)
    plain, calculated, chosen = Selecting(("", 0), Sizes.of(NUMBERS, True)).selectors()
    assert len(plain) < 10
    for selector, more in ((calculated, calculated.replace("=-1", "+k=-1")), (chosen, chosen + " OR k=9")):
        assert 2000 < len(selector) <= 8192
        compile_selector(selector)
        with pytest.raises(MQError):
            compile_selector(more)


# -- what a victim counts ----------------------------------------------------------------------------------------------


def test_what_ended_behind_the_window_counts_in_its_last_second() -> None:
    timeline = Timeline(0, 0, 2 * SECOND_NS, 2 * SECOND_NS)
    operation = PhaseRecorder(Timeline(0, 0, 1 << 62, 2 * SECOND_NS)).phases[MEASURED].operation(ROUND_TRIP)
    for due, ended in ((0, 1), (SECOND_NS, SECOND_NS + 5), (SECOND_NS, 3 * SECOND_NS), (SECOND_NS, 9 * SECOND_NS)):
        operation.record(due, ended, late=ended > 2 * SECOND_NS)
    assert answered_within(operation, timeline) == 2
    keep_within(operation, timeline)
    assert sorted(operation.seconds) == [0, 1]
    last = operation.seconds[1]
    assert (last.count, last.late, last.lowest_ns, last.highest_ns) == (3, 2, 5, 8 * SECOND_NS)
    assert last.total_ns == 10 * SECOND_NS + 5
    assert sum(last.counts.values()) == 3


def test_a_window_in_which_nothing_ended_has_what_came_later() -> None:
    timeline = Timeline(0, 0, SECOND_NS, SECOND_NS)
    operation = PhaseRecorder(Timeline(0, 0, 1 << 62, SECOND_NS)).phases[MEASURED].operation(ROUND_TRIP)
    operation.record(5, 4 * SECOND_NS)
    keep_within(operation, timeline)
    assert {number: (found.count, found.lowest_ns) for number, found in operation.seconds.items()} == {
        0: (1, 4 * SECOND_NS - 5)
    }


@pytest.fixture(scope="module")
def manager(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LabQueueManager]:
    with LabQueueManager(tmp_path_factory.mktemp("victim"), QueueManagerPlan(commands=pair_commands(1))) as found:
        yield found


def run_victim(manager: LabQueueManager, stop_seconds: float) -> tuple[PhaseRecorder, dict[str, float]]:
    """Half a second at a hundred a second. From the middle on, the queue manager stands still for a while."""
    victim = Victim(manager.address, 100.0, 2048)
    timeline = Timeline.starting(time.perf_counter_ns() + SECOND_NS // 10, 0.1, 0.5, 0.05)
    recorder = PhaseRecorder(timeline)
    over = threading.Event()

    def stand_still() -> None:
        # One thread for both: on a busy machine the second of two timers may be the first to go off.
        os.kill(manager.pid, signal.SIGSTOP)
        over.wait(stop_seconds)
        os.kill(manager.pid, signal.SIGCONT)

    stop = threading.Timer(0.4, stand_still)
    stop.start()
    try:
        metrics = victim.run(recorder, ignore_progress)
    finally:
        stop.cancel()
        over.set()
        stop.join()
        victim.close()
    return recorder, {each.name: each.value for each in metrics}


def counted(recorder: PhaseRecorder, phase: int) -> list[OperationRow]:
    return [row for row in recorder.phases[phase].rows(0) if isinstance(row, OperationRow)]


def due(recorder: PhaseRecorder) -> int:
    return sum(row.count for phase in (WARMING_UP, MEASURED) for row in counted(recorder, phase))


def test_a_stall_that_outlasts_the_window_has_all_its_samples(manager: LabQueueManager) -> None:
    recorder, metrics = run_victim(manager, 1.0)
    (row,) = counted(recorder, MEASURED)
    assert due(recorder) == 60, "all that were due until the end of the window, and none twice"
    assert row.highest_ns is not None
    assert row.highest_ns >= 0.6 * SECOND_NS
    assert row.late >= 4 * REQUESTERS
    assert metrics[UNANSWERED] == metrics[LINKS_LOST] == 0
    assert metrics[ANSWERED] <= 2 * row.count


def test_what_is_not_answered_at_all_counts_with_the_time_it_waited(
    manager: LabQueueManager, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(hostile_neighbour, "GIVE_UP_SECONDS", 0.3)
    recorder, metrics = run_victim(manager, 30.0)
    (row,) = counted(recorder, MEASURED)
    assert due(recorder) == 60
    assert metrics[UNANSWERED] >= 1
    assert row.highest_ns is not None
    assert row.highest_ns >= 0.4 * SECOND_NS


def test_a_victim_that_is_thrown_out_says_so(tmp_path: Path) -> None:
    with LabQueueManager(tmp_path, QueueManagerPlan(commands=pair_commands(1))) as found:
        victim = Victim(found.address, 100.0, 2048)
        recorder = PhaseRecorder(Timeline.starting(time.perf_counter_ns() + SECOND_NS // 10, 0.05, 0.3, 0.05))
        end = threading.Timer(0.25, found.kill)
        end.start()
        metrics = {each.name: each.value for each in victim.run(recorder, ignore_progress)}
        end.join()
        victim.close()
    assert metrics[LINKS_LOST] == 1
    assert metrics[UNANSWERED] > 0
    assert sum(row.failed for row in counted(recorder, MEASURED)) == 1


# -- what a neighbour counts -------------------------------------------------------------------------------------------


class Stubborn(Neighbour):
    """Is refused every second time, and has a part that never ends."""

    operation = "ask"

    def __init__(self) -> None:
        super().__init__(("", 0), Sizes.of(NUMBERS, True))
        self._attempts = 0
        self._never = threading.Event()

    def parts(self) -> Sequence[Part]:
        return [self._ask, self._hang]

    def _ask(self, counts: OperationCounts) -> None:
        self._attempts += 1
        if self._attempts % 2:
            raise LoadFailed("no")
        counts.done("ask", time.perf_counter_ns())

    def _hang(self, counts: OperationCounts) -> None:
        self._never.wait()
        counts.done("hang", 0)

    def close(self) -> None:
        self._never.set()


def test_a_neighbour_goes_on_when_it_is_refused_and_is_left_when_it_does_not_end(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(neighbours, "_GRACE_SECONDS", 2.0)
    stubborn = Stubborn()
    recorder = PhaseRecorder(Timeline.starting(time.perf_counter_ns(), 0.0, 0.3, 0.0))
    metrics = {each.name: each.value for each in stubborn.run(recorder, ignore_progress)}
    stubborn.close()
    assert metrics[OPERATIONS] >= 1
    assert metrics[ERRORS] >= 2
    assert metrics[UNFINISHED] == 1
    assert {row.operation for phase in range(3) for row in counted(recorder, phase)} == {"ask"}


# -- both --------------------------------------------------------------------------------------------------------------


def small() -> Scenario:
    return replace(SCENARIO, parameters=MappingProxyType({**SCENARIO.parameters, **SMALL}))


def lived_beside(
    kind: str, scratch: Path, runs: int = 1
) -> list[tuple[list[str], Sequence[WorkerCounts], list[Metric]]]:
    """Roles, counts and results of each time, as the runner would have them."""
    scenario = small()
    (step,) = steps(scenario, catalogue().readiness(scenario), False, {"neighbour": [kind]})
    said: list[str] = []
    experiment = make_experiment(RunContext(scenario, replace(QUICK, is_quick=False), (step,), scratch, said.append))
    found = []
    try:
        for _ in range(runs):
            prepared = experiment.prepare(experiment.contestants()[0], step)
            try:
                assert STOCK in prepared.point_spec.parameters
                roles = [each.role for each in prepared.processes()]
                timeline = Timeline.starting(time.perf_counter_ns() + SECOND_NS // 10, 0.05, 0.5, 0.05)
                done = prepared.run(timeline, Silent())
                found.append((roles, done, list(prepared.results())))
            finally:
                prepared.close()
    finally:
        experiment.close()
    return found


@pytest.mark.slow
def test_alone_a_victim_is_answered(tmp_path: Path) -> None:
    ((roles, done, results),) = lived_beside(NONE, tmp_path)
    metrics = {each.name: each.value for each in results}
    assert roles == ["driver", "queue-manager"]
    assert len(done) == 1
    assert metrics[UNANSWERED] == metrics[LINKS_LOST] == 0
    assert metrics[SAMPLES] >= 90
    assert metrics[AIM_MET] in (0.0, 1.0)
    assert metrics[PEAK_MEMORY] > 10
    assert metrics[PROCESSOR] >= 0
    assert OPERATIONS not in metrics


@pytest.mark.slow
@pytest.mark.parametrize("kind", NEIGHBOURS)
def test_every_neighbour_does_something_and_nothing_of_the_victim_is_lost(kind: str, tmp_path: Path) -> None:
    ((roles, (victims, theirs), results),) = lived_beside(kind, tmp_path)
    metrics = {each.name: each.value for each in results}
    assert roles == ["driver", NEIGHBOUR, "queue-manager"]
    assert metrics[OPERATIONS] >= 1
    # A storm is turned away now and then: thousands of sockets come while the queue manager does not have its turn.
    assert metrics[ERRORS] <= (metrics[OPERATIONS] / 10 if kind == STORM else 0)
    assert metrics[LINKS_LOST] == 0
    assert metrics[SAMPLES] >= 90
    done = {
        row.operation: row.count for phase in theirs.phases for row in phase.rows(1) if isinstance(row, OperationRow)
    }
    assert done
    assert set(done) <= {value for value in vars(NEIGHBOURS[kind]).values() if isinstance(value, str)}
    rows = [row for row in victims.phases[MEASURED].rows(0) if isinstance(row, OperationRow)]
    assert sum(row.count for row in rows) == metrics[SAMPLES]
    assert max(row.highest_ns or 0 for row in rows) == pytest.approx(metrics[HIGHEST] * 1e6)
    if metrics[HIGHEST] > NUMBERS["aim_highest_ms"]:
        assert metrics[AIM_MET] == 0


@pytest.mark.slow
def test_what_a_neighbour_has_used_up_is_there_again_the_next_time(tmp_path: Path) -> None:
    first, second = lived_beside(PURGE, tmp_path, runs=2)
    for _, (_, theirs), results in (first, second):
        assert {each.name: each.value for each in results}[OPERATIONS] >= 1
        assert any(phase.operation("clear").seconds for phase in theirs.phases)
    assert len(list(tmp_path.glob("manager-*"))) == 1, "the queue manager stays"
