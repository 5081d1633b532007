"""What a queue manager's process says of its start: on the pipe to strmqm, and on a console."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from ostler.cli.strmqm import Console, PipeReporter
from ostler.server.config.qm_ini import LogSection
from ostler.server.daemon import StartFailure
from ostler.server.queue_manager import QueueManager, create_queue_manager


def said(reading: int) -> list[dict[str, object]]:
    with os.fdopen(reading, "rb") as pipe:
        return [json.loads(line) for line in pipe]


def test_ready_is_the_last_word(tmp_path: Path) -> None:
    reading, writing = os.pipe()
    section = LogSection(primary_files=2, secondary_files=1, file_pages=64)
    with QueueManager(create_queue_manager(tmp_path, "QM1", section)) as manager:
        manager.start()
        reporter = PipeReporter(writing)
        reporter.ready(manager)
        reporter.progress(1, 2)
    (ready,) = said(reading)
    found = ready["ready"]
    assert isinstance(found, dict)
    assert found["pid"] == os.getpid()
    assert set(found) == {"pid", "records", "messages", "seconds", "notices"}


def test_a_failure_has_words_and_a_status() -> None:
    reading, writing = os.pipe()
    PipeReporter(writing).failed(StartFailure("AMQ7017E: no.", 23))
    assert said(reading) == [{"failed": "AMQ7017E: no.", "status": 23}]


def test_progress_is_told_now_and_then() -> None:
    reading, writing = os.pipe()
    reporter = PipeReporter(writing)
    for done in range(1000):
        reporter.progress(done, 1000)
    reporter.close()
    told = said(reading)
    assert len(told) < 100
    assert all(list(each) == ["progress"] for each in told)


def test_a_reader_that_is_gone_stops_nothing() -> None:
    reading, writing = os.pipe()
    os.close(reading)
    PipeReporter(writing).failed(StartFailure("AMQ7017E: no.", 23))


def test_the_console_shows_lines_and_failures(capsys: pytest.CaptureFixture[str]) -> None:
    console = Console("QM1")
    console.echo("AMQ7469W: careful.")
    console.progress(1, 2)
    console.failed(StartFailure("AMQ7017E: no.", 23))
    captured = capsys.readouterr()
    assert captured.out[8:] == " AMQ7469W: careful.\n"
    assert captured.err == "AMQ7017E: no.\n"
