"""The arbiter in a directory: processes that are killed and stopped, files that are damaged."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from ostler.model.arbiter import FOLLOWING, ArbiterRefused, ArbiterUnavailable, Member
from ostler.server.replica.file_arbiter import FileArbiter

SECONDS_MAX = 60.0
A = Member("a", "a(1)", 1, 100, FOLLOWING)
B = Member("b", "b(1)", 1, 100, FOLLOWING)

# Leads, says so, and waits until it is killed.
LEADER = """
import sys
from pathlib import Path
from ostler.model.arbiter import FOLLOWING, Member
from ostler.server.replica.file_arbiter import FileArbiter

arbiter = FileArbiter(Path(sys.argv[1]), lease_seconds=3600.0)
arbiter.register(Member("a", "a(1)", 1, 100, FOLLOWING))
view = arbiter.read()
print(arbiter.try_lead("a", view.in_sync.version, view.last_term), flush=True)
sys.stdin.read()
"""
# Holds the common lock.
HOLDER = """
import fcntl, sys
lock = open(sys.argv[1] + "/lock", "r+")
fcntl.flock(lock, fcntl.LOCK_EX)
print("held", flush=True)
sys.stdin.read()
"""


def started(program: str, directory: Path) -> subprocess.Popen[str]:
    pipe = subprocess.PIPE
    return subprocess.Popen([sys.executable, "-c", program, str(directory)], stdin=pipe, stdout=pipe, text=True)


def ended(process: subprocess.Popen[str]) -> None:
    process.kill()
    process.communicate()


def said(process: subprocess.Popen[str]) -> str:
    assert process.stdout is not None
    return process.stdout.readline().strip()


def test_the_keys_of_a_killed_process_vanish_at_once(tmp_path: Path) -> None:
    """Its lease would run for an hour. A stopped one keeps them."""
    other = FileArbiter(tmp_path)
    other.register(B)
    other.found(("a", "b"), 2)
    leader = started(LEADER, tmp_path)
    try:
        term = int(said(leader))
        view = other.read()
        assert view.leader is not None
        assert (view.leader.term, set(view.members)) == (term, {"a", "b"})
        os.kill(leader.pid, signal.SIGSTOP)
        assert other.read().leader is not None
        leader.kill()
        leader.wait(SECONDS_MAX)
    finally:
        ended(leader)
    view = other.read()
    assert view.leader is None
    assert (view.last_term, set(view.members)) == (term, {"b"})
    assert list(tmp_path.glob("*.session")) == [tmp_path / f"{other.session()}.session"]
    other.close()


def test_a_kill_is_reported_to_who_waits(tmp_path: Path) -> None:
    other = FileArbiter(tmp_path)
    other.found(("a", "b"), 2)
    leader = started(LEADER, tmp_path)
    try:
        said(leader)
        assert other.read().leader is not None
        assert not other.wait_change(0.2)
    finally:
        ended(leader)
    assert other.wait_change(SECONDS_MAX)
    assert other.read().leader is None


def test_a_lock_that_is_held_makes_it_unavailable_for_a_time(tmp_path: Path) -> None:
    arbiter = FileArbiter(tmp_path, timeout_seconds=0.1)
    arbiter.register(A)
    holder = started(HOLDER, tmp_path)
    try:
        assert said(holder) == "held"
        with pytest.raises(ArbiterUnavailable, match="another process holds"):
            arbiter.read()
        assert not arbiter.wait_change(0.2)
    finally:
        ended(holder)
    assert set(arbiter.read().members) == {"a"}
    arbiter.close()


def test_a_restart_of_the_machine_ends_all_leases_and_nothing_else(tmp_path: Path) -> None:
    arbiter = FileArbiter(tmp_path)
    arbiter.register(A)
    arbiter.found(("a",), 1)
    view = arbiter.read()
    assert view.in_sync is not None
    term = arbiter.try_lead("a", view.in_sync.version, 0)
    path = tmp_path / "keys.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), "boot": "another"}))
    after = FileArbiter(tmp_path).read()
    assert (after.leader, after.members) == (None, {})
    assert (after.last_term, after.in_sync, after.marks) == (term, view.in_sync, view.marks)
    assert arbiter.keep_alive() is None
    arbiter.close()


@pytest.mark.parametrize(
    "text",
    ["{", "[]", "{}", '{"format": 1, "boot": "", "keys": {}}', '{"format": 1, "boot": "", "keys": []}', "\x00" * 99],
)
def test_damaged_keys_are_refused_and_not_replaced(tmp_path: Path, text: str) -> None:
    arbiter = FileArbiter(tmp_path)
    arbiter.found(("a",), 1)
    (tmp_path / "keys.json").write_text(text)
    for call in (arbiter.read, lambda: arbiter.found(("b",), 1), lambda: arbiter.register(A)):
        with pytest.raises(ArbiterRefused, match=r"damaged"):
            call()
    assert (tmp_path / "keys.json").read_text() == text


def test_keys_of_a_newer_release_are_refused_with_both_numbers(tmp_path: Path) -> None:
    arbiter = FileArbiter(tmp_path)
    arbiter.found(("a",), 1)
    path = tmp_path / "keys.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), "format": 2}))
    with pytest.raises(ArbiterRefused, match="format 2, and this release reads 1"):
        arbiter.read()


def test_a_directory_that_cannot_be_used_is_told(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(ArbiterUnavailable, match="cannot be used"):
        FileArbiter(tmp_path / "file" / "below").read()


def test_kills_in_the_middle_of_changes_lose_and_double_nothing(tmp_path: Path) -> None:
    """A process that changes the set as fast as it can is killed; whoever comes next finds whole keys."""
    program = LEADER.replace(
        "sys.stdin.read()",
        """
version, term = view.in_sync.version, arbiter.read().last_term
while True:
    version = arbiter.set_in_sync(term, version, ("a", "b"), 2)
    print(version, flush=True)
""",
    )
    other = FileArbiter(tmp_path)
    other.found(("a", "b"), 2)
    for _ in range(5):
        changer = started(program, tmp_path)
        versions = [int(said(changer)) for _ in range(20)]
        changer.kill()
        assert changer.stdout is not None
        whole = changer.stdout.read().split("\n")[:-1]
        changer.communicate(timeout=SECONDS_MAX)
        last = int(whole[-1]) if whole else versions[-1]
        deadline = time.monotonic() + SECONDS_MAX
        while (view := other.read()).leader is not None:
            assert time.monotonic() < deadline, "the key of a killed process does not vanish"
        assert view.in_sync is not None
        assert view.in_sync.version in (last, last + 1)  # the last answer may have been lost
