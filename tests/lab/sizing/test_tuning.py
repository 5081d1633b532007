"""Tuning checks of a queue manager: every verdict from facts made up, and real facts of a running queue manager."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from ostler.lab.runner.queue_managers.plan import QueueManagerPlan
from ostler.lab.runner.queue_managers.process import LabQueueManager
from ostler.lab.sampling.doctor import Fitness
from ostler.lab.sizing.tuning import QueueFacts, TuningFacts, attributes_of, examine_tuning
from ostler.lab.sizing.tuning_facts import gather_tuning
from ostler.server.config.qm_ini import LogSection

TUNED = TuningFacts(
    data_device=1, log_device=2, log_primary_files=16, log_secondary_files=2, log_file_pages=16_384,
    log_buffer_pages=4096, queue_buffer_bytes=1 << 20, memory_bytes=32 << 30, ports=28_232, log_used_percent=12,
    log_write_us=200, queues=(QueueFacts("A", 0, 1, 1),),
)  # fmt: skip


def verdicts(facts: TuningFacts) -> dict[str, Fitness]:
    return {each.name: each.verdict for each in examine_tuning(facts)}


def test_a_tuned_queue_manager() -> None:
    assert set(verdicts(TUNED).values()) == {Fitness.GOOD}


@pytest.mark.parametrize(
    ("name", "facts"),
    [
        ("queues and log", replace(TUNED, log_device=1)),
        ("log size", replace(TUNED, log_primary_files=3)),
        ("log size", replace(TUNED, log_file_pages=4096)),
        ("log buffer", replace(TUNED, log_buffer_pages=18)),
        ("queue buffers", replace(TUNED, queue_buffer_bytes=131_072)),
        ("queue buffers", replace(TUNED, queue_buffer_bytes=10 << 20, memory_bytes=1 << 20)),
        ("log use", replace(TUNED, log_used_percent=140)),
        ("log latency", replace(TUNED, log_write_us=20_000)),
        ("getters", replace(TUNED, queues=(QueueFacts("A", 7, 0, 1),))),
        ("client ports", replace(TUNED, ports=3976)),
    ],
)
def test_what_the_reports_advise_against(name: str, facts: TuningFacts) -> None:
    found = verdicts(facts)
    assert found[name] is Fitness.LIMITED
    assert [other for other, verdict in found.items() if verdict is not Fitness.GOOD] == [name]
    finding = next(each for each in examine_tuning(facts) if each.name == name)
    assert finding.limits
    assert finding.advice


def test_a_queue_manager_that_does_not_run() -> None:
    found = verdicts(replace(TUNED, log_used_percent=None, log_write_us=None, queues=()))
    assert [name for name, verdict in found.items() if verdict is Fitness.UNKNOWN] == [
        "log use", "log latency", "getters",
    ]  # fmt: skip


def test_attributes_of_displayed_objects() -> None:
    lines = [
        "AMQ8450I: Queue status.",
        "   QUEUE(A)     TYPE(QUEUE)",
        "   QTIME( , )",
        "AMQ8450I: Queue status.",
        "   QUEUE(B C)",
    ]
    assert attributes_of(lines) == [{"QUEUE": "A", "TYPE": "QUEUE", "QTIME": ","}, {"QUEUE": "B C"}]


def test_facts_of_a_running_queue_manager(tmp_path: Path) -> None:
    log = LogSection(primary_files=4, file_pages=1024, buffer_pages=512)
    stanzas = {"TuningParameters": {"DefaultQBufferSize": "1048576"}}
    plan = QueueManagerPlan(log=log, commands=("DEFINE QLOCAL(WORK)",), stanzas=stanzas)
    with LabQueueManager(tmp_path, plan) as manager:
        found = gather_tuning(manager.directory, manager.mqsc)
    assert (found.log_primary_files, found.log_file_pages, found.log_buffer_pages) == (4, 1024, 512)
    assert found.queue_buffer_bytes == 1 << 20
    assert found.data_device == found.log_device
    assert found.log_used_percent is not None
    assert QueueFacts("WORK", 0, 0, 0) in found.queues
    assert gather_tuning(manager.directory, None).log_used_percent is None
