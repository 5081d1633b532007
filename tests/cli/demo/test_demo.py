"""The demonstration: how it judges what it finds, how it tells, and the whole of it once."""

from __future__ import annotations

import io
import re
import signal
import subprocess
import sys
from pathlib import Path

import psutil
import pytest
from rich.console import Console
from tests.cli.demo.test_ha_demo import wait_until

from ostler.cli.demo.account import (
    LOAD,
    NONPERSISTENT,
    PERSISTENT,
    UNCOMMITTED,
    DeliveryAccount,
    expand_ranges,
    judge,
    ranges,
)
from ostler.cli.demo.demo import show
from ostler.cli.demo.server import DemoServer, Replay, ServerFailed
from ostler.cli.demo.story import ExchangeResult, Findings, RequestReplyResult
from ostler.server.config.directories import QueueManagerDirectory
from ostler.server.queue_manager import create_queue_manager


def account(persistent: list[int], load: list[int], volatile: list[int]) -> DeliveryAccount:
    """Five committed messages and three put one by one were acknowledged; these were found."""
    return DeliveryAccount(
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
        ([1, 2, 2, 3, 4, 5], [1, 2, 3], [], 0, "1 are duplicated"),
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
    assert expand_ranges([list(each) for each in ranges(numbers)]) == numbers
    assert len(ranges([1, 2, 3, 7])) == 2


# -- telling -----------------------------------------------------------------------------------------------------------


def findings(persistent: list[int]) -> Findings:
    return Findings(
        [ExchangeResult("persistent", "TCP", 500, 0.25), ExchangeResult("persistent", "in process", 300, 0.1)],
        [RequestReplyResult("TCP", 10, 6000, 2.0, 0.0015, 0.0203)],
        account(persistent, [1, 2, 3], []),
        Replay(1234, 8, 1, 0.5),
    )


def shown(found: Findings) -> tuple[str, list[str]]:
    output = io.StringIO()
    broken = show(Console(file=output, width=80), found)
    return output.getvalue(), broken


def test_rates_and_times_are_told_side_by_side() -> None:
    text, broken = shown(findings([1, 2, 3, 4, 5]))
    assert re.search(r"in process +local socket +TCP", text)
    assert re.search(r"persistent +3,000 +2,000", text)
    assert re.search(r"TCP +10 +6,000 +3,000 +1\.50 +20\.30", text)
    assert "1,234 log records, 2,468 a second" in " ".join(text.split())
    assert broken == []


def test_a_broken_promise_is_in_the_table_and_in_the_answer() -> None:
    text, broken = shown(findings([1, 2, 3, 4]))
    assert re.search(r"persistent, committed +5 +4 +all, once, in order +no", text)
    assert len(broken) == 1


def test_what_a_start_replayed_is_read_from_the_error_log(tmp_path: Path) -> None:
    directory = create_queue_manager(tmp_path, "QM1")
    errors = directory.path / "errors"
    errors.mkdir(exist_ok=True)
    line = (
        "AMQ7230I: {} log records were replayed; 7 messages came back, 2 units of work were backed out. It took 0.5 s"
    )
    (errors / "AMQERR01.LOG").write_text(f"{line.format(1)}\nAMQ8003I: Started.\n{line.format(30)}\n")
    assert DemoServer(directory).replay() == Replay(30, 7, 2, 0.5)
    (errors / "AMQERR01.LOG").write_text("AMQ8003I: Started.\n")
    with pytest.raises(ServerFailed, match="has no AMQ7230I"):
        DemoServer(directory).replay()


def test_a_command_that_fails_is_told_with_its_own_words(tmp_path: Path) -> None:
    served = DemoServer(QueueManagerDirectory(tmp_path, "QM1"))
    with pytest.raises(ServerFailed, match=r"`ostler strmqm QM1` exited with 72: AMQ7048E: There is no queue manager"):
        served.start()
    with pytest.raises(ServerFailed, match="no process to kill"):
        served.kill()


# -- the whole of it ---------------------------------------------------------------------------------------------------


def command(*arguments: str) -> list[str]:
    return [sys.executable, "-u", "-m", "ostler.cli.main", "demo", *arguments]


def demo(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command(*arguments), capture_output=True, text=True, timeout=240, check=False)


def is_gone(process: int) -> bool:
    """Whether a process has ended, be it that nobody has asked for its status yet."""
    try:
        return psutil.Process(process).status() in (psutil.STATUS_ZOMBIE, psutil.STATUS_DEAD)
    except psutil.NoSuchProcess:
        return True


@pytest.mark.slow
def test_the_demonstration_keeps_every_promise_and_cleans_up(tmp_path: Path) -> None:
    place = tmp_path / "demo"
    done = demo("--directory", str(place), "--messages", "300")
    assert done.returncode == 0, done.stderr
    text = done.stdout
    commands = re.findall(r"^\$ (?:ostler )?(\S+)", text, re.MULTILINE)
    assert commands == ["crtmqm", "strmqm", "users", "runmqsc", "kill", "strmqm", "endmqm", "dspmq"]
    assert re.search(r"a first message had passed [\d,]+ ms after the call", text)
    assert len(re.findall(r"^  (?:local socket|TCP) +(?:1|10) +[\d,]+ ", text, re.MULTILINE)) == 4
    assert "ended normally" in text
    assert "Every promise was kept." in text
    assert "\x1b" not in text, "no control codes in a pipe"
    assert not place.exists()


@pytest.mark.slow
def test_a_demonstration_that_is_ended_leaves_no_queue_manager(tmp_path: Path) -> None:
    place = tmp_path / "demo"
    # With its files left: a queue manager whose files are gone ends by itself.
    arguments = command("--directory", str(place), "--messages", "300", "--keep")
    with subprocess.Popen(arguments, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as running:
        assert running.stdout is not None
        process = 0
        for line in running.stdout:
            found = re.search(r"; process (\d+)", line)
            if found:
                process = int(found[1])
                running.send_signal(signal.SIGTERM)
                break
        assert running.wait(180) == 128 + signal.SIGTERM
    assert process
    wait_until(lambda: is_gone(process), lambda: f"queue manager {process} goes on")
    assert place.exists()


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
