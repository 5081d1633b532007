"""The noise of the machine: the same short piece of work, timed many times before, between and after measurements.

The work is calibrated once to take about a millisecond and then kept, so that all measurements of a run are comparable.
Elapsed time beyond processor time shows that neighbours took the core away. A median that moves without such waits
shows that the core itself was slower (frequency, a shared core, caches) or that the hypervisor took it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final

from ostler.lab.common.samples import median, quartiles
from ostler.lab.sampling.clock import Clock

PIECE_NS: Final = 1_000_000
PIECES: Final = 100
_ROUNDS_FIRST: Final = 1000
# A clock that stands still must not make the work endless.
_ROUNDS_MAX: Final = 1_000_000
_CALIBRATIONS: Final = 5

Work = Callable[[int], object]
"""Does this many rounds of work that needs nothing but a core."""


def spin(rounds: int) -> int:
    """Add numbers in a row, each depending on the one before."""
    value = 1
    for number in range(rounds):
        value = (value + number) & 0xFFFF
    return value


@dataclass(frozen=True)
class Noise:
    """The result of one measurement: elapsed time in nanoseconds for each piece of work."""

    moment: str
    pieces: int
    fastest_ns: int
    median_ns: float
    slowest_ns: int
    spread_percent: float
    """Half the distance of the quartiles in percent of the median."""
    waited_percent: float
    """Elapsed time in which this thread had no core."""

    def as_json(self) -> dict[str, object]:
        return {
            "moment": self.moment,
            "pieces": self.pieces,
            "fastest_ns": self.fastest_ns,
            "median_ns": round(self.median_ns),
            "slowest_ns": self.slowest_ns,
            "spread_percent": round(self.spread_percent, 2),
            "waited_percent": round(self.waited_percent, 2),
        }


@dataclass
class NoiseMeter:
    """Measures noise with one calibrated piece of work. Nothing else of this process should run meanwhile."""

    clock: Clock
    rounds: int
    work: Work = spin
    measured: list[Noise] = field(default_factory=list)

    @classmethod
    def calibrated(cls, clock: Clock, work: Work = spin, piece_ns: int = PIECE_NS) -> NoiseMeter:
        """Return a meter with as much work as takes `piece_ns` when nothing disturbs."""
        rounds = _ROUNDS_FIRST
        for _ in range(_CALIBRATIONS):
            # The fastest of a few: disturbances only ever make it longer.
            took = min(_timed(clock, work, rounds)[0] for _ in range(_CALIBRATIONS))
            rounds = min(max(round(rounds * piece_ns / max(took, 1)), 1), _ROUNDS_MAX)
        return cls(clock, rounds, work)

    def measure(self, moment: str, pieces: int = PIECES) -> Noise:
        """Time this many pieces one after the other, and keep the result."""
        assert pieces > 0
        times: list[int] = []
        cpu_ns = 0
        for _ in range(pieces):
            passed, used = _timed(self.clock, self.work, self.rounds)
            times.append(passed)
            cpu_ns += min(used, passed)
        middle = median(times)
        low, high = quartiles([float(each) for each in times])
        total = sum(times)
        found = Noise(
            moment=moment,
            pieces=pieces,
            fastest_ns=min(times),
            median_ns=middle,
            slowest_ns=max(times),
            spread_percent=100 * (high - low) / 2 / middle if middle else 0.0,
            waited_percent=100 * (total - cpu_ns) / total if total else 0.0,
        )
        self.measured.append(found)
        return found

    @property
    def drift_percent(self) -> float:
        """The distance of the medians of all measurements in percent of the lowest: a change of speed within the
        run."""
        medians = [each.median_ns for each in self.measured if each.median_ns > 0]
        return 100 * (max(medians) - min(medians)) / min(medians) if medians else 0.0

    @property
    def percent(self) -> float:
        """The noise of the run: smaller differences mean nothing."""
        spreads = [each.spread_percent for each in self.measured]
        return max(*spreads, self.drift_percent) if spreads else 0.0

    def as_json(self) -> dict[str, object]:
        return {
            "rounds": self.rounds,
            "percent": round(self.percent, 2),
            "drift_percent": round(self.drift_percent, 2),
            "measured": [each.as_json() for each in self.measured],
        }


def _timed(clock: Clock, work: Work, rounds: int) -> tuple[int, int]:
    """Return elapsed time and processor time of some rounds."""
    began, cpu = clock.now_ns(), clock.thread_cpu_ns()
    work(rounds)
    used = clock.thread_cpu_ns() - cpu
    return clock.now_ns() - began, used
