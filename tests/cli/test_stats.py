"""`ostler stats`: what programs did, as a queue manager tells it."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import ostler
from ostler.cli.main import main
from ostler.server.config.qm_ini import LogSection
from ostler.server.queue_manager import QueueManager

Run = Callable[..., list[str]]


@pytest.fixture
def manager(tmp_path: Path) -> Iterator[QueueManager]:
    manager = ostler.start("STATS", tmp_path, create=True, log=LogSection(file_pages=64))
    yield manager
    manager.end("immediate")


@pytest.fixture
def run(manager: QueueManager, capsys: pytest.CaptureFixture[str]) -> Run:
    def run_it(*arguments: str) -> list[str]:
        capsys.readouterr()
        assert main(["stats", manager.name, *arguments]) == 0
        return capsys.readouterr().out.splitlines()

    return run_it


@pytest.fixture
def worked(manager: QueueManager) -> QueueManager:
    """A program has come, put three messages on one queue and one on another, and gone."""
    with ostler.connect(manager.name) as qm:
        qm.alter("QMGR", "", STATMQI="ON", STATQ="ON", ACCTMQI="ON", ACCTQ="ON")
        qm.define("QLOCAL", "A")
        qm.define("QLOCAL", "B")
    with ostler.connect(manager.name, application="worker") as qm, qm.open("A", "rw") as queue:
        for body in (b"1", b"22", b"333"):
            queue.put(body)
        queue.get()
        qm.put("B", b"4444")
    manager.statistics_writer.write_statistics()
    return manager


def records(lines: list[str]) -> list[Any]:
    return [json.loads(line) for line in lines]


def test_statistics_as_json(worked: QueueManager, run: Run) -> None:
    verbs, queues = records(run("--json"))
    assert (verbs["RecordType"], verbs["PutCount"], verbs["PutBytes"]) == ("MQIStatistics", [3, 0], [10, 0])
    assert queues["RecordType"] == "QueueStatistics"
    assert {group["QName"]: group["QMaxDepth"] for group in queues["QStatisticsData"]} == {"A": 3, "B": 1}


def test_what_is_shown_stays_and_what_is_taken_goes(worked: QueueManager, run: Run) -> None:
    first = run("--json")
    assert len(first) == 2
    assert run("--json") == first
    assert run("--json", "--take") == first
    assert run("--json") == []


def test_accounts_of_one_queue(worked: QueueManager, run: Run) -> None:
    [record] = records(run("--json", "--accounting", "--queue", "A"))
    [group] = record["QAccountingData"]
    assert (record["ApplicationName"], group["QName"], group["PutMaxBytes"]) == ("worker", "A", [3, 0])


def test_one_kind(worked: QueueManager, run: Run) -> None:
    assert [record["RecordType"] for record in records(run("--json", "--kind", "queue"))] == ["QueueStatistics"]
    assert run("--json", "--kind", "channel") == []


def test_text_leaves_out_what_is_zero(worked: QueueManager, run: Run) -> None:
    lines = run("--kind", "queue")
    assert lines[0] == "RecordType: 'QueueStatistics'"
    assert "QStatisticsData: 0" in lines
    assert "  QName: 'A'" in lines
    assert "  PutCount: [3, 0]" in lines
    assert not any("PurgeCount" in line for line in lines)
    assert "  PurgeCount: 0" in run("--kind", "queue", "--zeros")


def test_following_ends_when_nothing_comes(worked: QueueManager, run: Run) -> None:
    assert len(run("--json", "--follow", "0.05")) == 2
    assert len(run("--json", "--take", "--follow", "0.05")) == 2


def test_other_messages_are_passed_over(worked: QueueManager, run: Run) -> None:
    with ostler.connect(worked.name) as qm:
        qm.put("SYSTEM.ADMIN.STATISTICS.QUEUE", b"hello")
    assert len(run("--json")) == 2
