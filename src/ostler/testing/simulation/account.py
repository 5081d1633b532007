"""The account of a run: what programs were told, held against what is there in the end.

Each message is known by its body, which is unique. A unit of work is a set of puts and gets that happen together. A
program that was told the outcome of a unit must have been told the truth; of one whose outcome nobody knows, all or
nothing must have happened.
"""

from __future__ import annotations

from collections import Counter
from enum import Enum
from typing import Final

from ostler.testing.simulation.scheduler import SimulationError

_SHOWN_MAX: Final = 8


class Outcome(Enum):
    """The knowledge of a program of a unit of work."""

    OPEN = "was not committed"  # nobody asked for its commit: it must not have happened
    ASKED = "may be committed"  # asked for, and never answered
    DONE = "was committed"
    UNDONE = "was backed out"


class Unit:
    """One unit of work of a program: a single put or get, or several with a commit."""

    def __init__(self, program: str) -> None:
        self.program = program
        self.outcome = Outcome.OPEN
        self.puts: list[str] = []
        self.gets: list[str] = []
        # A get outside a unit of work: while it is not answered, any message of the queue may be gone with it.
        self.may_lose_one = False


class Account:
    """All units of work of a run."""

    def __init__(self) -> None:
        self.units: list[Unit] = []
        self._persistent: set[str] = set()
        self.made = 0

    def begin(self, program: str) -> Unit:
        unit = Unit(program)
        self.units.append(unit)
        return unit

    def new_body(self, program: str, size: int, is_persistent: bool) -> str:
        """Return the body of a new message."""
        self.made += 1
        name = f"{program}:{self.made}"
        if is_persistent:
            self._persistent.add(name)
        return f"{name} {'.' * size}"

    # -- the end -------------------------------------------------------------------------------------------------------

    def check(self, left: list[str]) -> None:
        """Hold all units against the messages that are left on queues in the end. Raises SimulationError."""
        found = Counter(name_of(body) for body in left)
        found.update(name for unit in self.units if unit.outcome is Outcome.DONE for name in unit.gets)
        asked = {name for unit in self.units if unit.outcome is Outcome.ASKED for name in unit.gets}
        wrong = self._check_puts(found) + self._check_twice(found)
        missing = self._missing(found, asked)
        lost_max = sum(1 for unit in self.units if unit.may_lose_one and unit.outcome is Outcome.ASKED)
        if len(missing) > lost_max:
            wrong += [f"{name} was put and is gone" for name in missing]
        halves = self._check_halves(found, asked)
        if len(halves) > max(0, lost_max - len(missing)):
            wrong += halves
        if wrong:
            more = f" and {len(wrong) - _SHOWN_MAX} more" if len(wrong) > _SHOWN_MAX else ""
            raise SimulationError("; ".join(wrong[:_SHOWN_MAX]) + more)

    def _check_puts(self, found: Counter[str]) -> list[str]:
        """Nothing is there that was not put."""
        wrong: list[str] = []
        undone = {name for unit in self.units if unit.outcome in (Outcome.OPEN, Outcome.UNDONE) for name in unit.puts}
        put = {name for unit in self.units for name in unit.puts}
        for name in found:
            if name in undone:
                wrong.append(f"{name} is there, though its unit of work was backed out")
            elif name not in put:
                wrong.append(f"{name} is there, and nobody put it")
        return wrong

    def _check_twice(self, found: Counter[str]) -> list[str]:
        """Nothing is there twice, persistent or not. A message that is not persistent may be lost instead."""
        return [f"{name} was got or is there {count} times" for name, count in found.items() if count > 1]

    def _missing(self, found: Counter[str], asked: set[str]) -> list[str]:
        """Return the persistent messages that were put for certain and are nowhere."""
        done = (name for unit in self.units if unit.outcome is Outcome.DONE for name in unit.puts)
        return [name for name in done if name in self._persistent and not found[name] and name not in asked]

    def _check_halves(self, found: Counter[str], asked: set[str]) -> list[str]:
        """A unit of work whose outcome is not known happened as a whole or not at all."""
        wrong: list[str] = []
        for unit in self.units:
            if unit.outcome is not Outcome.ASKED or len(unit.puts) + len(unit.gets) < 2:
                continue
            puts = [name for name in unit.puts if name in self._persistent and name not in asked]
            gets = [name for name in unit.gets if name in self._persistent and self._gets_of(name) == 1]
            came = sum(1 for name in puts if found[name])
            stayed = sum(1 for name in gets if found[name])
            is_whole = came == len(puts) and stayed == 0
            is_nothing = came == 0 and stayed == len(gets)
            if not is_whole and not is_nothing:
                wrong.append(
                    f"a unit of {unit.program} happened in part: {came} of its puts {puts} are there, and {stayed} of "
                    f"its gets {gets} are back"
                )
        return wrong

    def _gets_of(self, name: str) -> int:
        return sum(1 for unit in self.units if name in unit.gets and unit.outcome is Outcome.ASKED)


def name_of(body: str) -> str:
    """Return the name of the message with a body."""
    return body.partition(" ")[0]
