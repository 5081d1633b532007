"""The work of the log in a window: from counters of a real queue manager, and after a restart."""

from __future__ import annotations

from pathlib import Path

import ostler
from ostler.lab.runner.contract import Metric
from ostler.lab.runner.queue_managers.child import read_metrics
from ostler.lab.runner.queue_managers.log_results import (
    IN_USE,
    LOG_RESULT,
    WORKLOAD,
    WRITE_LATENCY,
    WRITE_SIZE,
    WRITES,
    log_results,
)
from ostler.server.config.qm_ini import LogSection


def reading(name: str = "", **values: float) -> list[Metric]:
    return [Metric("log", each, value, name) for each, value in values.items()]


def results(metrics: list[Metric]) -> dict[str, float]:
    assert {each.source for each in metrics} <= {LOG_RESULT}
    return {each.name: each.value for each in metrics}


STATES = {"utilisation_percent": 7.0, "in_use_percent": 9.0}


def test_sizes_and_latencies_are_those_of_the_window() -> None:
    before = reading(writes=10, written_bytes=4096, force_us=1000, **STATES)
    after = reading(writes=14, written_bytes=4096 + 8192, force_us=1800, **STATES)
    found = results(log_results(before, after))
    assert found == {WRITES: 4, WRITE_SIZE: 2048, WRITE_LATENCY: 200, WORKLOAD: 7, IN_USE: 9}


def test_a_log_that_was_not_written_has_no_size() -> None:
    state = reading(writes=10, written_bytes=4096, force_us=1000, **STATES)
    assert results(log_results(state, state)) == {WRITES: 0, WORKLOAD: 7, IN_USE: 9}


def test_a_restarted_queue_manager_counts_from_nothing() -> None:
    before = reading(writes=10, written_bytes=4096, force_us=1000, **STATES)
    after = reading(writes=2, written_bytes=1000, force_us=50, **STATES)
    assert results(log_results(before, after))[WRITE_SIZE] == 500


def test_two_queue_managers_have_results_of_their_own() -> None:
    after = reading("A", writes=1, written_bytes=1, force_us=1, **STATES)
    after += reading("B", writes=2, written_bytes=8, force_us=4, **STATES)
    sizes = {each.object: each.value for each in log_results((), after) if each.name == WRITE_SIZE}
    assert sizes == {"A": 1, "B": 4}


def test_the_log_of_a_peer_that_tells_less_has_no_results() -> None:
    assert log_results((), reading("", writes=3.0)) == []


def test_a_real_log(tmp_path: Path) -> None:
    manager = ostler.start("LOGGED", tmp_path, create=True, log=LogSection(file_pages=64))

    def metrics() -> list[Metric]:
        return [Metric(source, name, float(value)) for source, name, value in read_metrics(manager)]

    try:
        with ostler.connect(manager) as qm:
            qm.define("QLOCAL", "LOGGED")
            before = metrics()
            for _ in range(5):
                qm.put("LOGGED", b"x" * 5000, persistent=True)
            found = results(log_results(before, metrics()))
    finally:
        manager.end("immediate")
    assert found[WRITES] >= 5
    assert found[WRITE_SIZE] >= 5000
    assert found[WRITE_LATENCY] > 0
    assert 0 <= found[WORKLOAD] <= 100
    assert 0 < found[IN_USE] <= 100
