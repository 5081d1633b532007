"""Real processes, really killed: after kill -9 under load nothing acknowledged is lost and nothing is there twice."""

from __future__ import annotations

import random
import subprocess
import sys
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from tests.world.load_worker import id_of

import ostler
from ostler.server.config.qm_ini import LogSection

THREADS = 4
# So small that the log wraps and checkpoints happen all the time; the first is the smallest there can be.
SMALLEST = LogSection(primary_files=2, secondary_files=1, file_pages=64)
SMALL = LogSection(primary_files=3, secondary_files=2, file_pages=256)


@dataclass
class Unit:
    puts: list[str] = field(default_factory=list)
    gets: list[str] = field(default_factory=list)
    committing: bool = False
    committed: bool = False


@dataclass
class Told:
    """What one life of the program was told before it was killed."""

    put: set[str] = field(default_factory=set)
    put_in_doubt: set[str] = field(default_factory=set)
    got: Counter[str] = field(default_factory=Counter)
    gets_in_doubt: int = 0
    units: dict[str, Unit] = field(default_factory=dict)
    lines: int = 0


def read_accounts(directory: Path, life: int) -> Told:
    told = Told()
    for path in directory.glob(f"account.{life}.*"):
        is_getting = False
        for line in path.read_text().splitlines():
            told.lines += 1
            verb, *words = line.split()
            is_getting = verb == "get"
            if verb == "put":
                told.put_in_doubt.add(words[0])
            elif verb == "done-put":
                told.put_in_doubt.remove(words[0])
                told.put.add(words[0])
            elif verb == "done-get" and words[0] != "-":
                told.got[words[0]] += 1
            elif verb == "begin":
                told.units[words[0]] = Unit()
            elif verb == "unit-put":
                told.units[words[0]].puts.append(words[1])
            elif verb == "unit-get":
                told.units[words[0]].gets.append(words[1])
            elif verb == "commit":
                told.units[words[0]].committing = True
            elif verb == "done-commit":
                told.units[words[0]].committed = True
            elif verb == "backed-out":
                told.units[words[0]].committing = False
        told.gets_in_doubt += is_getting
    return told


def check(before: set[str], told: Told, found: Counter[str]) -> None:
    """`before` was on the queue when the life began; `found` is there after the kill and a restart."""
    present = set(found)
    assert [number for number, count in found.items() if count > 1] == [], "messages that are there twice"
    expected = before | told.put
    got = Counter(told.got)
    for unit in told.units.values():
        if unit.committed:
            expected.update(unit.puts)
            got.update(unit.gets)
    for unit in told.units.values():
        if not unit.committing or unit.committed:
            continue
        # In doubt: as a whole, or not at all. Whatever is seen of it decides.
        if any(number in present or number in got for number in unit.puts) or (
            unit.gets and not present.intersection(unit.gets)
        ):
            expected.update(unit.puts)
            got.update(unit.gets)
        else:
            assert present.issuperset(unit.gets), "a unit of work in doubt was backed out, but not all of it"
    assert [number for number, count in got.items() if count > 1] == [], "messages that were got twice"
    assert present.intersection(got) == set(), "messages that were got and are back"
    missing = expected - set(got) - present
    assert len(missing) <= told.gets_in_doubt, f"lost: {sorted(missing)}"
    assert present - expected - told.put_in_doubt == set(), "messages that nobody committed"


def one_life(directory: Path, life: int, seconds: float) -> Told:
    command = [
        sys.executable,
        "-m",
        "tests.world.load_worker",
        str(directory),
        "KILL",
        "LOAD",
        str(THREADS),
        str(life),
    ]
    child = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        assert child.stdout is not None
        assert child.stdout.readline() == "ready\n", child.stderr.read() if child.stderr else ""
        time.sleep(seconds)
        assert child.poll() is None, child.stderr.read() if child.stderr else ""
    finally:
        child.kill()
        child.wait()
        for stream in (child.stdout, child.stderr):
            if stream is not None:
                stream.close()
    return read_accounts(directory, life)


def rounds(directory: Path, count: int, seed: int, log: LogSection) -> None:
    chance = random.Random(seed)
    manager = ostler.start("KILL", data=directory, create=True, log=log)
    with ostler.connect(manager) as connection:
        connection.define("QLOCAL", "LOAD", MAXDEPTH=1_000_000)
    manager.end()
    before: set[str] = set()
    lines = 0
    for life in range(1, count + 1):
        told = one_life(directory, life, chance.uniform(0.3, 1.5))
        lines += told.lines
        manager = ostler.start("KILL", data=directory)
        with ostler.connect(manager) as connection, connection.open("LOAD", "b") as queue:
            found = Counter(id_of(message.body) for message in queue.browse())
            assert queue.depth == sum(found.values())
        manager.end("preemptive" if chance.random() < 0.5 else "quiesce")
        check(before, told, found)
        before = set(found)
    assert lines > 100 * count, "too little happened to prove anything"
    assert manager.engine.checkpoint_number > 3 * count, "too few checkpoints to prove anything"


def test_three_kills_under_load(tmp_path: Path) -> None:
    rounds(tmp_path, 3, 1, SMALLEST)


@pytest.mark.stress
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("log", [SMALLEST, SMALL], ids=["smallest", "small"])
def test_fifty_kills_under_load(tmp_path: Path, log: LogSection) -> None:
    rounds(tmp_path, 50, 2, log)
