"""How each contestant looks: the same colour and mark in every chart of a report."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from ostler.pipeline.report.charts import Look
from ostler.pipeline.report.rows import LIMIT, OSTLER

COLOURS: Final = 6
_ORDER: Final = {OSTLER: 0, LIMIT: 2}


def contestant_order(name: str, kind: str) -> tuple[int, int, str]:
    """Ostler itself first, its other ways, peers by name, limits last."""
    return (_ORDER.get(kind, 1), len(name) if kind == OSTLER else 0, name)


def contestant_looks(contestants: Iterable[tuple[str, str]]) -> dict[str, Look]:
    """By name, from names and kinds. The seventh contestant has the first colour again, with another mark and dashes."""
    ordered = sorted(set(contestants), key=lambda each: contestant_order(*each))
    found: dict[str, Look] = {}
    drawn = limits = 0
    for name, kind in ordered:
        if kind == LIMIT:
            found.setdefault(name, Look(0, limits + 3, True, 1 + limits))
            limits += 1
        elif name not in found:
            found[name] = Look(drawn % COLOURS, drawn % COLOURS + drawn // COLOURS, False, drawn // COLOURS)
            drawn += 1
    return found
