"""Measurements in processes of their own: results, progress, failures and ends."""

from __future__ import annotations

import importlib
import os
import uuid
from collections.abc import Callable
from pathlib import Path

import pytest

from ostler.lab.common.own_process import MeasurementFailed, Report, in_own_process, part_of

# A new process must be able to import what it is to run, and test modules cannot be imported.
_SOURCE = """
import os
import signal

def tell(report):
    report(0.25, "begun")
    report(1.0, "done")
    return os.getpid()

def fail(report):
    raise ValueError("no such queue")

def vanish(report):
    os._exit(7)

def hang(report):
    signal.pause()
"""

Measure = Callable[[Report], object]


@pytest.fixture
def measure(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], Measure]:
    name = f"measures_{uuid.uuid4().hex}"
    (tmp_path / f"{name}.py").write_text(_SOURCE)
    monkeypatch.syspath_prepend(str(tmp_path))
    module = importlib.import_module(name)

    def found(function: str) -> Measure:
        chosen: Measure = getattr(module, function)
        return chosen

    return found


def test_result_and_progress_come_from_another_process(measure: Callable[[str], Measure]) -> None:
    told: list[tuple[float, str]] = []
    found = in_own_process(measure("tell"), 60, lambda fraction, what: told.append((fraction, what)))
    assert isinstance(found, int)
    assert found != os.getpid()
    assert told == [(0.25, "begun"), (1.0, "done")]


def test_an_exception_is_told_with_its_words(measure: Callable[[str], Measure]) -> None:
    with pytest.raises(MeasurementFailed, match="no such queue"):
        in_own_process(measure("fail"), 60)


def test_a_process_that_vanishes_is_told_with_its_status(measure: Callable[[str], Measure]) -> None:
    with pytest.raises(MeasurementFailed, match="status 7"):
        in_own_process(measure("vanish"), 60)


def test_a_process_that_hangs_is_ended(measure: Callable[[str], Measure]) -> None:
    with pytest.raises(MeasurementFailed, match="took longer than 1 seconds"):
        in_own_process(measure("hang"), 0.6)


def test_parts_of_a_report_fit_together() -> None:
    told: list[tuple[float, str]] = []
    second_half = part_of(lambda fraction, what: told.append((fraction, what)), 0.5, 1.0)
    second_half(0.0, "begins")
    second_half(0.5, "goes on")
    assert told == [(0.5, "begins"), (0.75, "goes on")]
