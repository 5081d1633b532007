"""Named sets of scenarios, for `ostler lab run @NAME`: what is measured together again and again."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

SIGN: Final = "@"
"""The first character of the name of a set, where names of scenarios are expected."""


@dataclass(frozen=True)
class ScenarioSet:
    name: str
    title: str
    scenarios: tuple[str, ...]


_MICRO: Final = (
    "micro-put-get",
    "micro-verbs",
    "micro-queue-depth",
    "micro-group-commit",
    "micro-restart",
    "micro-mqsc-define",
    "micro-mqsc-display",
    "micro-topic-matching",
    "micro-driver-overhead",
)
_WHOLE: Final = (
    "client-rr-np",
    "client-rr-pm",
    "mqi-response-time",
    "appl-connection-scaling",
    "chlauth-connect-cost",
    "chlauth-restart",
)
_ALL: Final = (
    ScenarioSet("micro", "parts of the queue manager by themselves", _MICRO),
    ScenarioSet("bench", "this installation: its parts, and what clients do with it", _MICRO + _WHOLE),
    ScenarioSet("spark", "queues in Spark and the steps of the pipeline", ("spark-queues", "spark-steps")),
)
SETS: Final[dict[str, ScenarioSet]] = {each.name: each for each in _ALL}


class UnknownSet(Exception):
    """No set has that name."""


def expand(names: list[str]) -> list[str]:
    """Return names of scenarios with each set replaced by its scenarios, each name once. Raises UnknownSet."""
    found: list[str] = []
    for name in names:
        if not name.startswith(SIGN):
            found.append(name)
            continue
        known = SETS.get(name.removeprefix(SIGN))
        if known is None:
            raise UnknownSet(f"there is no set {name!r}. There are: {', '.join(SIGN + each for each in SETS)}.")
        found += known.scenarios
    return list(dict.fromkeys(found))
