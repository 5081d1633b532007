"""Random workloads of a queue manager, each from a seed: verbs, commands, checkpoints, crashes, full disks, lost files.

A failing workload reports its seed, which reproduces it.
"""

from __future__ import annotations

import pytest
from tests.world.random_workload import RandomWorkload
from tests.world.world_lives import SMALL_LOG

from ostler.log import LogSettings, LogType, WriteIntegrity

LINEAR = LogSettings(primary_files=2, secondary_files=1, file_pages=64, log_type=LogType.LINEAR)
PACKED = LogSettings(primary_files=2, secondary_files=1, file_pages=64, write_integrity=WriteIntegrity.SINGLE_WRITE)
COPIED = LogSettings(primary_files=2, secondary_files=1, file_pages=64, write_integrity=WriteIntegrity.DOUBLE_WRITE)
KINDS = {"circular": SMALL_LOG, "linear": LINEAR, "packed": PACKED, "copied": COPIED}


def live_through(kind: str, seed: int, steps: int) -> None:
    day = RandomWorkload(seed, KINDS[kind])
    try:
        day.run(steps)
    except BaseException as error:
        error.add_note(f"day {seed} with a {kind} log went wrong at step {len(day.done)}: {day.done[-1:]}")
        raise
    assert len(day.done) == steps


# On day 770033 messages take the space of an extent that the log counted on; on day 770015 units that are backed out to
# make room in the log fill the queue that a message was put to.
@pytest.mark.parametrize("seed", [*range(12), 770033])
def test_days_with_a_circular_log(seed: int) -> None:
    live_through("circular", seed, 200)


@pytest.mark.parametrize("seed", [*range(6), 770015])
def test_days_with_a_linear_log(seed: int) -> None:
    live_through("linear", seed, 200)


@pytest.mark.parametrize("seed", range(3))
def test_days_with_a_packed_log(seed: int) -> None:
    live_through("packed", seed, 200)


@pytest.mark.parametrize("seed", range(3))
def test_days_with_a_log_that_copies_pages(seed: int) -> None:
    live_through("copied", seed, 200)


@pytest.mark.stress
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("kind", KINDS)
def test_many_days(kind: str) -> None:
    for seed in range(1000, 1500):
        live_through(kind, seed, 400)
