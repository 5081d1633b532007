"""Compares the messages acknowledged before the kill with those found after the restart."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

NAME: Final = "QM1"
PERSISTENT: Final = "DEMO.PERSISTENT"
NONPERSISTENT: Final = "DEMO.NONPERSISTENT"
LOAD: Final = "DEMO.LOAD"
CHANNEL: Final = "DEMO.SVRCONN"
# Messages are numbered from 1; the numbers of those that are never committed begin here.
UNCOMMITTED: Final = 1_000_000_000


@dataclass
class DeliveryAccount:
    """The messages acknowledged before the kill, and those found after the restart."""

    acknowledged: dict[str, int] = field(default_factory=dict)
    found: dict[str, list[int]] = field(default_factory=dict)
    open_puts: int = 0
    open_gets: int = 0


@dataclass(frozen=True)
class Promise:
    """A guarantee, and a sentence on its violation; empty if it was kept."""

    what: str
    acknowledged: str
    found: str
    promise: str
    broken: str


def judge(account: DeliveryAccount) -> list[Promise]:
    """Compares the messages found with those acknowledged; returns the guarantees."""
    committed = account.acknowledged.get(PERSISTENT, 0)
    found = account.found.get(PERSISTENT, [])
    kept = [number for number in found if number < UNCOMMITTED]
    uncommitted = len(found) - len(kept)
    volatile = len(account.found.get(NONPERSISTENT, []))
    singly = account.acknowledged.get(LOAD, 0)
    load = account.found.get(LOAD, [])
    in_doubt = max(len(load) - singly, 0)
    return [
        Promise(
            "persistent, committed",
            f"{committed:,}",
            f"{len(kept):,}",
            "all, once, in order",
            "" if kept == list(range(1, committed + 1)) else _difference("committed messages", committed, kept),
        ),
        Promise(
            "persistent, one by one",
            f"{singly:,}",
            f"{len(load):,}",
            "all; one in doubt",
            ""
            if in_doubt <= 1 and load == list(range(1, singly + in_doubt + 1))
            else _difference("messages", singly, load),
        ),
        Promise(
            "persistent, uncommitted",
            f"none of {account.open_puts:,}",
            f"{uncommitted:,}",
            "none: backed out",
            f"{uncommitted} messages of a unit of work that was not committed are there." if uncommitted else "",
        ),
        Promise(
            "non-persistent",
            f"{account.acknowledged.get(NONPERSISTENT, 0):,}",
            f"{volatile:,}",
            "none: not logged",
            f"{volatile} non-persistent messages came back." if volatile else "",
        ),
    ]


def _difference(what: str, count: int, found: list[int]) -> str:
    expected = set(range(1, count + 1))
    missing, doubled = len(expected - set(found)), len(found) - len(set(found))
    others = len(set(found) - expected)
    words = f"of {count} {what} {missing} are missing, {doubled} are duplicated, {others} more are there"
    return f"{words}, or the order is wrong."


def ranges(numbers: list[int]) -> list[tuple[int, int]]:
    """Returns consecutive numbers as (first, last), in their order."""
    found: list[tuple[int, int]] = []
    for number in numbers:
        if found and number == found[-1][1] + 1:
            found[-1] = (found[-1][0], number)
        else:
            found.append((number, number))
    return found


def expand_ranges(runs: object) -> list[int]:
    """Returns the numbers of ranges (first, last) from JSON."""
    assert isinstance(runs, list)
    return [number for first, last in runs for number in range(first, last + 1)]
