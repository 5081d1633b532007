"""Families of single parts: each contestant once, as small as can be. What is counted adds up; nothing is timed."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from itertools import islice
from pathlib import Path

import psutil
import pytest
from tests.lab.families.test_sequential_families import Point, by_kind, measured, sat

from ostler.lab.families.held_connections import MEMORY_AT_START
from ostler.lab.families.micro import (
    driver_overhead,
    group_commit,
    message_restart,
    mqsc_scripts,
    put_get_cost,
    queue_depth,
    topic_matching,
)
from ostler.lab.families.micro.tasks import Batch, BatchLoop, Points, TaskExperiment
from ostler.lab.families.object_storage import DEFINE
from ostler.lab.families.restart import RESTART
from ostler.lab.families.verb_timing import MAIN
from ostler.lab.load.drivers.probe_drivers import COMMIT
from ostler.lab.load.timeline import MEASURED
from ostler.lab.runner.contract import (
    NEEDED_PARAMETER,
    QUICK,
    ROUND_TRIP,
    Contestant,
    ContestantKind,
    PointFailed,
    PointSpec,
    RunContext,
    Settings,
)
from ostler.lab.scenarios.loader import catalogue
from ostler.lab.scenarios.steps import Step


def all_measured(
    name: str, scratch: Path, chosen: Mapping[str, Sequence[str]], settings: Settings = QUICK
) -> dict[str, Point]:
    """The last of two repetitions of each contestant at the only step."""
    with sat(name, scratch, chosen, settings) as (experiment, (step,)):
        found = {each.name: measured(experiment, each, step, runs=1)[-1] for each in experiment.contestants()}
        again = {each.name: measured(experiment, each, step, runs=1)[-1] for each in experiment.contestants()}
        assert {name: each.point_spec for name, each in found.items()} == {
            name: each.point_spec for name, each in again.items()
        }
    for each in again.values():
        assert all(check.agrees for check in each.settled)
    return again


def test_put_get_cost_by_interface(tmp_path: Path) -> None:
    found = all_measured("micro-put-get", tmp_path, {"message_bytes": ["64"]})
    assert list(found) == ["Ostler, values", "Ostler, buffers", "Ostler, Python API", "bare deque and dictionary"]
    for name, point in found.items():
        assert set(point.operations()) == {put_get_cost.PAIR}
        assert point.roles == ["queue-manager" if name.startswith("Ostler") else "probe"]
    assert [each.what for each in found["Ostler, values"].settled] == ["puts"], (
        "compared with the queue manager's count"
    )


@pytest.mark.parametrize("persistence", ["nonpersistent", "persistent"])
def test_depth(persistence: str, tmp_path: Path) -> None:
    found = all_measured("micro-queue-depth", tmp_path, {"depth": ["40"], "persistence": [persistence]})
    ours = found["Ostler, in one process"]
    assert set(ours.operations()) == {queue_depth.FIFO, queue_depth.BY_ID}
    assert ours.point_spec.persistent == (persistence == "persistent")
    assert ours.results[queue_depth.MEMORY_WHEN_FULL] >= ours.results[MEMORY_AT_START] > 1 << 20
    assert set(found["bare deque and dictionary"].operations()) == {queue_depth.FIFO}


@pytest.mark.parametrize("unit", ["put", "get and put"])
def test_group_commit(unit: str, tmp_path: Path) -> None:
    found = all_measured("micro-group-commit", tmp_path, {"in_flight": ["3"], "unit": [unit], "message_bytes": ["64"]})
    assert list(found) == ["Ostler, in one process", "group commit", "bare forces"]
    ours = found["Ostler, in one process"]
    assert 1 <= ours.results[group_commit.COMMITS_PER_FORCE] <= 3
    assert ours.results[group_commit.LOG_BYTES_PER_COMMIT] > 64
    assert all(set(each.operations()) == {COMMIT} for each in found.values())
    assert float(found["bare forces"].point_spec.parameters[NEEDED_PARAMETER]) == pytest.approx(1 / 3, rel=1e-4)


@pytest.mark.slow
def test_restart_with_messages(tmp_path: Path) -> None:
    found = all_measured("micro-restart", tmp_path, {"messages": ["2500"], "message_bytes": ["64"]})
    assert [set(each.operations()) >= {RESTART} for each in found.values()] == [True] * 3
    replayed = {name: each.results.get(message_restart.MESSAGES) for name, each in found.items()}
    assert replayed == {"Ostler, from the log": 2500, "Ostler, from its files": 0, "reading the log": None}
    assert [(each.what, each.queue_manager) for each in found["Ostler, from its files"].settled] == [("messages", 2500)]
    assert list(tmp_path.iterdir()) == []


def test_a_log_for_a_million_messages_takes_them_without_a_checkpoint() -> None:
    log = message_restart.log_for(1_000_000, 1024)
    assert log.primary_files * log.file_bytes() // 4 > 1_000_000 * 1500
    assert log.primary_files + log.secondary_files <= 511


def test_more_messages_than_the_disk_holds(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(message_restart, "_RECORD_BYTES", 1 << 40)
    chosen = {"messages": ["1000"]}
    with (
        sat("micro-restart", tmp_path, chosen) as (experiment, (step,)),
        pytest.raises(PointFailed, match=r"MB on disk, and .* MB are free"),
    ):
        experiment.prepare(message_restart.FROM_LOG, step)


@pytest.mark.slow
def test_objects_defined_by_scripts(tmp_path: Path) -> None:
    found = all_measured("micro-mqsc-define", tmp_path, {"objects": ["7"]})
    assert len(found) == 4
    for name, point in found.items():
        counted = point.operations([MEASURED]).get(DEFINE, 0)
        assert name.startswith("a force") or (counted > 0 and counted % 7 == 0), name
    assert found["Ostler, runmqsc"].roles == ["driver", "queue-manager"]


@pytest.mark.slow
def test_queues_displayed(tmp_path: Path) -> None:
    found = all_measured("micro-mqsc-display", tmp_path, {"queues": ["30"], "attributes": ["all attributes"]})
    ours = found["Ostler, runmqsc"]
    assert ours.results[mqsc_scripts.LINES] > 30 * 20
    assert ours.results[mqsc_scripts.RUNMQSC_MEMORY] > 1 << 20
    assert ours.operations([MEASURED])[mqsc_scripts.LINE] % ours.results[mqsc_scripts.LINES] == 0
    printed = found["a process that only prints"].operations([MEASURED])[mqsc_scripts.LINE]
    assert printed % 30 == 0


def test_a_process_that_fails_is_reported() -> None:
    with pytest.raises(PointFailed, match="ended with 3: said"):
        mqsc_scripts.count_lines(["/bin/sh", "-c", "echo said; exit 3"], dict(os.environ))


def test_topic_matching(tmp_path: Path) -> None:
    found = all_measured("micro-topic-matching", tmp_path, {"subscriptions": ["40"]})
    assert set(found["Ostler, in one process"].operations()) == {
        topic_matching.MATCHING,
        topic_matching.NO_SUBSCRIBER,
        topic_matching.FOUR_SUBSCRIBERS,
        topic_matching.SUBSCRIBE,
    }
    assert set(found["bare look-up in a dictionary"].operations()) == {topic_matching.MATCHING}


def test_topics_with_wildcards_are_all_different() -> None:
    made = list(islice(topic_matching.patterns(), 1000))
    assert len(set(made)) == 1000
    assert sum(is_character for _, is_character in made) == 200
    assert all(any(sign in topic for sign in ("?*" if is_character else "#+")) for topic, is_character in made)


def test_driver_overhead(tmp_path: Path) -> None:
    found = all_measured("micro-driver-overhead", tmp_path, {"connections": ["3"]})
    assert list(found) == [driver_overhead.CLOSED.name, driver_overhead.RATED.name, driver_overhead.LOOP.name]
    assert [each.point_spec.rate_per_second for each in found.values()] == [None, 4000.0, None]
    for point in found.values():
        assert set(point.operations()) == {ROUND_TRIP}
        assert sorted(point.roles) == ["driver", "probe"]
    children = psutil.Process().children(recursive=True)
    assert not [each for each in children if "bare" in " ".join(each.cmdline())], "echoes end with their points"


@pytest.mark.parametrize(
    ("verb", "others"),
    [("MQINQ", {"MQSET"}), ("MQSETMP", {"MQCRTMH", "MQDLTMH", "MQMHBUF"}), ("MQCTL", {"MQCB, register"})],
)
def test_verbs_beyond_the_eight_of_the_report(verb: str, others: set[str], tmp_path: Path) -> None:
    with sat("micro-verbs", tmp_path, {"verb": [verb]}) as (experiment, (step,)):
        embedded = by_kind(experiment, ContestantKind.OSTLER)[-1]
        (point,) = measured(experiment, embedded, step)
    assert set(point.operations()) >= others | {MAIN[verb]}


# -- tasks that are kept -----------------------------------------------------------------------------------------------

OURS = Contestant("ours", ContestantKind.OSTLER, "none")


class Failing(BatchLoop):
    """A task that can be made, and then fails."""

    def __init__(self, points: Points, root: Path) -> None:
        super().__init__(Batch("work", self._work, 1))

    def _work(self, count: int) -> int:
        raise PointFailed("the first batch fails")


def test_a_task_that_failed_is_not_kept(tmp_path: Path) -> None:
    scenario = catalogue().find("micro-put-get")
    step = Step(0, 0, {"message_bytes": 1})
    context = RunContext(scenario, QUICK, (step,), tmp_path)
    experiment = TaskExperiment(context, {OURS: Failing}, lambda points: PointSpec(1, 1, False, main_operation="work"))
    try:
        pids = []
        for _ in range(2):
            ready = experiment.prepare(OURS, step)
            pids += [each.pid for each in ready.processes()]
            with pytest.raises(PointFailed, match="the first batch fails"):
                measured(experiment, OURS, step)
        assert len(set(pids)) == 2
        assert not any(psutil.pid_exists(pid) for pid in pids)
    finally:
        experiment.close()
