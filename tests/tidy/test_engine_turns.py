"""The engine is entered by turns only, and results are values. Nobody locks it, sets its clock or wakes by hand."""

from __future__ import annotations

import re

import pytest
from tests.tidy.test_tidy import ROOT, tracked

TURN = "src/ostler/server/turn.py"
# The journal's writer needs the same lock, to take what was appended; it never enters the engine.
# The simulator frees the lock of a process that it kills.
KILLER = "src/ostler/testing/simulation/queue_manager.py"
OWNERS = ("src/ostler/server/manager_core.py", "src/ostler/server/queue_manager.py")
# `machine.lock()` makes locks; it is not that of the engine.
MACHINES = ("src/ostler/server/machine.py", "src/ostler/testing/simulation/machine.py")

pytestmark = pytest.mark.skipif(not (ROOT / ".git").exists(), reason="needs the git checkout to know its files")


def places(pattern: str, *allowed: str) -> list[str]:
    found = []
    for path in tracked("src/*.py"):
        name = path.relative_to(ROOT).as_posix()
        if name not in allowed:
            lines = enumerate(path.read_text().splitlines(), 1)
            found += [f"{name}:{number}: {line.strip()}" for number, line in lines if re.search(pattern, line)]
    return found


def test_only_a_turn_sets_the_clock_of_the_engine() -> None:
    assert places(r"clock\.update\(", TURN) == []
    assert places(r"\bengine\.now_ms = ", "src/ostler/server/clock.py") == []


def test_only_a_turn_takes_the_lock_of_the_engine() -> None:
    assert places(r"\b(manager|_manager|bound|reactor)\.lock\b", TURN, KILLER) == []
    assert places(r"\bwith self\.lock\b", TURN) == []
    assert len(places(r"EngineTurn\(")) == 1
    assert all(line.startswith(OWNERS) for line in places(r"\bself\.lock\b", TURN, *MACHINES))


def test_results_of_verbs_are_values() -> None:
    assert places(r"\bconnection\.(after_lsn|put_md|put_resolved_names|publish_level)\b") == []
    assert places(r"\bengine\.journal_full\b") == []


def test_the_patterns_find_what_they_forbid() -> None:
    assert places(r"clock\.update\(") != []
    assert places(r"\boutcome\.after_lsn\b") != []
