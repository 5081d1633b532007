"""The demonstration: how it judges what it finds, and the whole of it once."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from ostler.cli.demo_account import (
    LOAD,
    NONPERSISTENT,
    PERSISTENT,
    UNCOMMITTED,
    Account,
    expanded,
    judge,
    ranges,
)
from ostler.server.queue_manager import create_queue_manager


def account(persistent: list[int], load: list[int], volatile: list[int]) -> Account:
    """Five committed messages and three put one by one were acknowledged; these were found."""
    return Account(
        {PERSISTENT: 5, LOAD: 3, NONPERSISTENT: 4},
        {PERSISTENT: persistent, LOAD: load, NONPERSISTENT: volatile},
        open_puts=2,
        open_gets=1,
    )


@pytest.mark.parametrize("load", [[1, 2, 3], [1, 2, 3, 4]], ids=["exact", "one in doubt"])
def test_kept_promises(load: list[int]) -> None:
    promises = judge(account([1, 2, 3, 4, 5], load, []))
    assert [each.broken for each in promises] == ["", "", "", ""]
    assert [each.acknowledged for each in promises] == ["5", "3", "none of 2", "4"]


@pytest.mark.parametrize(
    ("persistent", "load", "volatile", "line", "words"),
    [
        ([1, 2, 4, 5], [1, 2, 3], [], 0, "1 are missing"),
        ([1, 2, 2, 3, 4, 5], [1, 2, 3], [], 0, "1 came twice"),
        ([2, 1, 3, 4, 5], [1, 2, 3], [], 0, "order is wrong"),
        ([1, 2, 3, 4, 5, 6], [1, 2, 3], [], 0, "1 more are there"),
        ([1, 2, 3, 4, 5], [1, 2], [], 1, "1 are missing"),
        ([1, 2, 3, 4, 5], [1, 2, 3, 4, 5], [], 1, "2 more are there"),
        ([1, 2, 3, 4, 5, UNCOMMITTED], [1, 2, 3], [], 2, "not committed"),
        ([1, 2, 3, 4, 5], [1, 2, 3], [1], 3, "1 non-persistent"),
    ],
)
def test_broken_promises_are_told(
    persistent: list[int], load: list[int], volatile: list[int], line: int, words: str
) -> None:
    broken = [each.broken for each in judge(account(persistent, load, volatile))]
    assert words in broken[line]
    assert [each for at, each in enumerate(broken) if at != line] == ["", "", ""]


@pytest.mark.parametrize("numbers", [[], [1, 2, 3], [5, 1, 2, 2, 3], [3, 2, 1]])
def test_ranges_keep_order_and_doubles(numbers: list[int]) -> None:
    assert expanded([list(each) for each in ranges(numbers)]) == numbers
    assert len(ranges([1, 2, 3, 7])) == 2


def demo(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "ostler.cli.main", "demo", *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)


@pytest.mark.slow
def test_the_demonstration_keeps_every_promise_and_cleans_up(tmp_path: Path) -> None:
    place = tmp_path / "demo"
    done = demo("--directory", str(place), "--messages", "300")
    assert done.returncode == 0, done.stderr
    assert "Every promise was kept." in done.stdout
    assert "\x1b" not in done.stdout, "no control codes in a pipe"
    assert not place.exists()


def test_a_queue_manager_that_is_there_is_left_alone(tmp_path: Path) -> None:
    directory = create_queue_manager(tmp_path, "QM1")
    done = demo("--directory", str(tmp_path))
    assert done.returncode == 1
    assert "already" in done.stderr
    assert directory.exists()


def test_a_directory_that_cannot_be_made_is_told_in_a_sentence(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("not a directory")
    done = demo("--directory", str(tmp_path / "file" / "below"))
    assert done.returncode == 1
    assert done.stderr.startswith("ostler demo: ")
    assert "Traceback" not in done.stderr
