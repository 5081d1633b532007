"""Trees of topics: made, scavenged, subscribed to and displayed, with windows as short as can be. Nothing is timed."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import pytest

pytest.importorskip("psutil", reason="the laboratory's packages are not installed")

from tests.lab.families.test_sequential_families import Point, measured, sat

from ostler.lab.common.processor_time import process_ns
from ostler.lab.families.task import Task
from ostler.lab.families.topics.topic_tasks import (
    ANSWERS,
    APPLICATION_US,
    BOTH_US,
    CLOSE,
    DEAD_LETTERS,
    DISPLAY,
    DISPLAY_CPU,
    DISPLAY_SECONDS,
    DISPLAYED,
    GIVEN_UP,
    LOOK,
    MEMORY_GROWN,
    MINUTE_US,
    SERVER_US,
    SUBSCRIBE,
    SUBSCRIPTIONS,
    UtilityTask,
)
from ostler.lab.families.topics.topic_tree import CONTROL, GONE, REMOVED, UNTIL_GONE
from ostler.lab.families.topics.tree_experiment import OSTLER, ROUNDS, OnTrees, scaled_life
from ostler.lab.families.topics.tree_manager import (
    LAG,
    LAG_BEFORE,
    MEMORY_PER_TOPIC,
    TOPICS,
    WHILE,
    LagProbe,
    TopicTreeManager,
    lag,
)
from ostler.lab.families.topics.used_trees import BY_MESSAGE, EXCHANGES, FEW, TOPICS_AFTER, TOPICS_BEFORE
from ostler.lab.load.mq.topic_maker import GROUPED, topic_name
from ostler.lab.load.progress import ignore_progress
from ostler.lab.load.timeline import MEASURED, PhaseRecorder, Timeline
from ostler.lab.runner.contract import ROUND_TRIP, PointFailed, Settings
from ostler.lab.scenarios.loader import catalogue

QUICK_TOPICS = 10_000
TRIED = 1500
"""More topics than a trial of the subscriber leaves behind."""


@pytest.fixture(scope="module")
def said() -> list[str]:
    return []


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory, said: list[str]) -> Iterator[TopicTreeManager]:
    made = TopicTreeManager(tmp_path_factory.mktemp("tree"), False, said.append)
    yield made
    made.end()


@pytest.mark.parametrize(
    ("levels", "name"),
    [(GROUPED, "lab/2/345"), (1, "lab.2345"), (2, "lab.2345/2"), (4, "lab.2345/2/3/4")],
)
def test_names_of_topics(levels: int, name: str) -> None:
    assert topic_name("lab", 2345, levels) == name


def test_a_tree_is_filled_emptied_and_filled_again(tree: TopicTreeManager) -> None:
    assert tree.made() == 0
    there = tree.fill(50)
    assert 50 <= there == tree.made() < 60
    assert tree.memory_per_topic >= 0
    assert tree.fill(40) == there, "there are enough"
    assert tree.fill(100) >= 100
    removed, _ = tree.counters()
    now = tree.made()
    tree.empty(30.0)
    assert tree.made() == 0
    assert tree.counters()[0] - removed == now
    assert tree.fill(30) >= 30


def test_a_tree_is_refilled_when_earlier_subscriptions_left_more_topics(tree: TopicTreeManager) -> None:
    tree.empty(30.0)
    there = tree.fill(100)
    assert tree.refill(90, 30.0) == there, "about as many as wanted"
    assert 40 <= tree.refill(40, 30.0) < 50


def test_unused_topics_stay_however_many_there_are(tree: TopicTreeManager) -> None:
    kept = tree.manager.plan.stanzas["TuningParameters"]["TopicNodesKept"]
    assert int(kept) > max(
        int(str(each)) for each in catalogue().find("topic-scavenger-subscribe-cost").sweep("topics").values
    )
    assert f"TopicNodesKept={kept}" in tree.manager.directory.ini.read_text()


def test_levels_are_places_too(tree: TopicTreeManager) -> None:
    tree.empty(30.0)
    assert tree.fill(40, levels=4) == 40
    assert any(
        "TOPICSTR(lab" in line and line.endswith("/2/3/4)") for line in tree.manager.mqsc("DISPLAY TPSTATUS('#')")
    )


def test_topics_with_retained_publications_stay(tree: TopicTreeManager) -> None:
    tree.empty(30.0)
    there = tree.fill(20, retain=True)
    with pytest.raises(PointFailed, match="topics were still there after 1 s"):
        tree.empty(1.0)
    assert tree.made() == there


def test_a_failing_application_is_told(tree: TopicTreeManager) -> None:
    with pytest.raises(PointFailed, match=r"topic_maker:make failed in queue manager LAB: (?s:.*)ValueError"):
        tree.manager.call_trusted("ostler.lab.load.mq.topic_maker:make", "lab", "many", "1", "0")


def test_lag_is_the_slowest_of_a_thousand() -> None:
    recorder = PhaseRecorder(Timeline(0, 1000, 10**9, 10**9))
    assert lag(LAG, ROUND_TRIP, recorder) is None
    for number in range(999):
        recorder.operation(ROUND_TRIP).record(2000 + number, 3000 + number)
    recorder.operation(ROUND_TRIP).record(2000, 2000 + 5_000_000)
    found = lag(LAG, ROUND_TRIP, recorder)
    assert found is not None
    assert found.value == pytest.approx(0.001, rel=0.05), "one of a thousand may be slower"
    recorder.operation(ROUND_TRIP).record(2000, 2000 + 5_000_000)
    found = lag(LAG, ROUND_TRIP, recorder)
    assert found is not None
    assert found.value == pytest.approx(5.0)


def test_the_warm_up_is_the_idle_control_of_the_window() -> None:
    recorder = PhaseRecorder(Timeline(0, 5_000_000, 10**9, 10**9))
    recorder.operation(ROUND_TRIP).record(0, 9_000_000)
    assert lag(LAG_BEFORE, ROUND_TRIP, recorder, idle=True) is None
    recorder.operation(ROUND_TRIP).record(0, 2_000_000)
    before, within = lag(LAG_BEFORE, ROUND_TRIP, recorder, idle=True), lag(LAG, ROUND_TRIP, recorder)
    assert before is not None
    assert within is not None
    assert (before.value, within.value) == (pytest.approx(2.0), pytest.approx(9.0))


def test_processor_time_of_a_process_grows_with_its_work(tree: TopicTreeManager) -> None:
    before = process_ns(tree.manager.pid)
    tree.fill(tree.made() + 20)
    assert process_ns(tree.manager.pid) > before


def agreed(point: Point) -> list[str]:
    assert all(each.agrees and each.drivers for each in point.settled), point.settled
    return [each.what for each in point.settled]


@pytest.mark.slow
def test_an_idle_queue_manager_is_only_looked_at(tmp_path: Path) -> None:
    with sat("topic-scavenger-idle-empty", tmp_path, {}) as (experiment, planned):
        assert list(experiment.contestants()) == [OSTLER, CONTROL]
        for contestant in experiment.contestants():
            (point,) = measured(experiment, contestant, planned[0], 2.2)
            assert point.point_spec.clients == 0
            assert set(point.operations()) == {LOOK}
            assert point.results[MINUTE_US] >= 0
            assert (point.results[ROUNDS] > 0) == (contestant == OSTLER), "TREELIFE(60) is a second here"


@pytest.mark.slow
@pytest.mark.parametrize("removable", ["yes", "no"])
def test_topics_go_or_stay_and_a_client_asks_meanwhile(removable: str, tmp_path: Path) -> None:
    with sat("topic-scavenger-idle-100k", tmp_path, {"removable": [removable]}) as (experiment, planned):
        (scavenged,) = measured(experiment, OSTLER, planned[0], 0.5)
        (idle,) = measured(experiment, CONTROL, planned[0], 0.2)
        assert set(scavenged.operations()) == {ROUND_TRIP, WHILE}
        assert set(idle.operations()) == {ROUND_TRIP}
        for point in (scavenged, idle):
            assert point.results[TOPICS] >= QUICK_TOPICS
            assert point.results[LAG] > 0
            assert point.results[MEMORY_PER_TOPIC] > 0
            assert agreed(point) == ["gets_empty"]
        if removable == "yes":
            assert scavenged.results[REMOVED] == scavenged.results[TOPICS]
            assert scavenged.results[UNTIL_GONE] > 0
        else:
            assert scavenged.results[REMOVED] == 0
            assert UNTIL_GONE not in scavenged.results
        assert idle.results[REMOVED] == 0


@pytest.mark.slow
def test_branches_go_whole(tmp_path: Path) -> None:
    with sat("topic-tree-multi-pass", tmp_path, {"levels": ["4"]}) as (experiment, planned):
        (point,) = measured(experiment, OSTLER, planned[0])
        assert set(point.operations([MEASURED])) == {GONE}
        assert agreed(point) == [REMOVED]
        assert point.results[UNTIL_GONE] >= 2.0, "TREELIFE(120) is two seconds here"
        assert point.results[ROUNDS] >= 0


@pytest.mark.slow
def test_subscriptions_are_counted_beside_many_topics_and_few(tmp_path: Path) -> None:
    chosen = {"topics": ["5000"], "tree_life_seconds": ["3600", "120"]}
    with sat("topic-scavenger-subscribe-cost", tmp_path, chosen) as (experiment, planned):
        # What is said of each subscription needs some that end within the window.
        found = {each.name: measured(experiment, each, planned[0], 0.4)[0] for each in experiment.contestants()}
        assert set(found) == {OSTLER.name, FEW.name, EXCHANGES.name}
        for name in (OSTLER.name, FEW.name):
            point = found[name]
            assert set(point.operations()) == {SUBSCRIBE, CLOSE}
            assert agreed(point) == ["closes"]
            assert {SERVER_US, APPLICATION_US, BOTH_US, SUBSCRIPTIONS} <= set(point.results)
            assert point.results[TOPICS_AFTER] > point.results[TOPICS_BEFORE]
        assert found[OSTLER.name].results[TOPICS_BEFORE] >= 5000
        assert found[OSTLER.name].results[ROUNDS] == 0, "an hour is longer than the test"
        assert found[FEW.name].results[TOPICS_BEFORE] < TRIED
        (again,) = measured(experiment, FEW, planned[0])
        assert again.results[TOPICS_BEFORE] < TRIED, "what it made before is gone"
        (scavenged,) = measured(experiment, OSTLER, planned[1], 2.5)
        assert scavenged.results[TOPICS_BEFORE] < TRIED, "what earlier subscriptions left was removed"
        assert scavenged.results[ROUNDS] > 0


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["wildcard +", "wildcard #"])
def test_subscriptions_with_wildcards_make_no_topics(kind: str, tmp_path: Path) -> None:
    chosen = {"topics": ["2000"], "subscription": [kind]}
    with sat("topic-wildcard-subscribe-cost", tmp_path, chosen) as (experiment, planned):
        prepared = experiment.prepare(OSTLER, planned[0])
        assert prepared.measured_seconds_least > 0, "long enough for the subscriptions that are wanted"
        prepared.close()
        (point,) = measured(experiment, OSTLER, planned[0], 0.4)
        assert point.results[SUBSCRIPTIONS] > 0
        assert point.results[TOPICS_AFTER] <= point.results[TOPICS_BEFORE] + 5


@pytest.mark.slow
def test_all_topics_are_displayed_while_a_client_asks(tmp_path: Path) -> None:
    with sat("display-tpstatus-1m", tmp_path, {"topics": ["2000"]}) as (experiment, planned):
        prepared = experiment.prepare(OSTLER, planned[0])
        assert prepared.measured_seconds_least > 0, "as long as a display"
        prepared.close()
        (shown,) = measured(experiment, OSTLER, planned[0])
        assert shown.roles == ["driver", "driver", "queue-manager"]
        assert shown.operations()[DISPLAY] >= 1
        assert shown.operations()[ROUND_TRIP] >= 1
        assert agreed(shown) == ["gets_empty", DISPLAYED]
        assert shown.results[DISPLAYED] >= 2000
        assert shown.results[DISPLAY_SECONDS] > 0
        assert shown.results[DISPLAY_CPU] > 0
        assert shown.results[MEMORY_GROWN] >= 0
        assert shown.results[LAG] > 0
        (answered,) = measured(experiment, BY_MESSAGE, planned[0])
        assert answered.results[ANSWERS] >= 2000
        assert (answered.results[GIVEN_UP], answered.results[DEAD_LETTERS]) == (0, 0)
        assert agreed(answered) == ["gets_empty"]


@pytest.mark.slow
def test_a_utility_that_gives_up_leaves_an_answer_on_the_dead_letter_queue(tree: TopicTreeManager) -> None:
    tree.fill(3000)
    manager = tree.manager
    task = UtilityTask(manager.root, manager.directory, manager.pid, 0.02)
    (found,) = run_once(task, DISPLAY)
    assert found[GIVEN_UP] == 1
    assert found[ANSWERS] < 3000
    assert found[DEAD_LETTERS] == 1, "after one the command server stops"


def run_once(task: Task, operation: str) -> list[dict[str, float]]:
    """The results of one run with a window as short as can be."""
    recorder = PhaseRecorder(Timeline.starting(time.perf_counter_ns(), 0.0, 0.001, 0.0))
    metrics = task.run(recorder, ignore_progress)
    task.close()
    found: dict[int, dict[str, float]] = {}
    for each in metrics:
        found.setdefault(each.position, {})[each.name] = each.value
    assert sum(each.count for each in recorder.phases[MEASURED].operation(operation).seconds.values()) == len(found)
    return list(found.values())


@pytest.mark.parametrize(
    ("seconds", "scale", "life"), [(1800, 60, 30), (120, 60, 2), (60, 60, 1), (30, 60, 1), (0, 60, 0), (3600, 60, 3600)]
)
def test_lives_are_scaled_unless_the_scavenger_is_not_to_run(seconds: int, scale: int, life: int) -> None:
    assert scaled_life(seconds, scale) == life


@pytest.mark.parametrize(
    ("name", "lives"),
    [
        ("topic-scavenger-idle-empty", {30, 2, 1}),
        ("topic-scavenger-idle-100k", {2}),
        ("topic-tree-multi-pass", {2}),
        ("topic-scavenger-subscribe-cost", {2, 3600}),
        ("topic-wildcard-subscribe-cost", {3600}),
    ],
)
def test_the_scavenger_runs_as_often_as_in_the_report(name: str, lives: set[int], tmp_path: Path) -> None:
    with sat(name, tmp_path, {}, Settings()) as (experiment, planned):
        assert isinstance(experiment, OnTrees)
        assert {experiment.life(step) for step in planned} == lives
        declared = " ".join(each.what for each in catalogue().find(name).deviations)
        assert "sixtieth" in declared or lives == {3600} or "TREELIFE(120) is 2 seconds" in declared


def test_a_round_trip_counts_from_when_it_was_due(tree: TopicTreeManager) -> None:
    probe = LagProbe(tree.manager.address)
    try:
        recorder = PhaseRecorder(Timeline.starting(time.perf_counter_ns() - 50_000_000, 0.0, 1.0, 0.0))
        probe.begin(recorder)
        probe.turn()
        (second,) = [each for each in recorder.phases[MEASURED].operation(ROUND_TRIP).seconds.values() if each.count]
        assert second.lowest_ns >= 50_000_000, "it was late before it was asked"
    finally:
        probe.close()
