"""The standard scenario of `ostler simulate`: it finds nothing wrong, and a seed gives the same run everywhere."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from ostler.cli.framework.flavour import is_compiled
from ostler.testing.simulation.faults import Faults
from ostler.testing.simulation.scenario import run_seed
from ostler.testing.simulation.world import Simulation

SEEDS = 24 if is_compiled() else 6
_DIGEST = "from ostler.testing.simulation.scenario import run_seed; print(run_seed(3).digest)"


@pytest.mark.parametrize("seed", range(SEEDS))
def test_nothing_is_wrong_with_a_seed(seed: int) -> None:
    result = run_seed(seed)
    assert result.messages > 0
    assert result.units > 0


def test_a_seed_gives_the_same_run_in_another_process() -> None:
    """Neither hashes of strings nor addresses nor real clocks nor the threads of the system have a part in it."""
    found = [
        subprocess.run(
            [sys.executable, "-c", _DIGEST],
            env={**os.environ, "PYTHONHASHSEED": hash_seed},
            capture_output=True,
            text=True,
            check=True,
            timeout=200,
        ).stdout
        for hash_seed in ("1", "2")
    ]
    assert found[0] == found[1] == f"{run_seed(3).digest}\n"


def test_another_seed_gives_another_run() -> None:
    assert run_seed(1, faults=0).digest != run_seed(2, faults=0).digest


def test_a_trace_has_a_line_for_each_event(tmp_path: Path) -> None:
    with (tmp_path / "trace").open("w") as file:
        result = run_seed(0, faults=1, trace=file)
    lines = (tmp_path / "trace").read_text().splitlines()
    assert len(lines) == result.events
    assert any(" fault " in line for line in lines)


@pytest.mark.parametrize("kind", list(Faults(Simulation()).kinds))
def test_each_fault_alone_does_no_harm(kind: str) -> None:
    run_seed(0, faults=2, kinds=[kind])
