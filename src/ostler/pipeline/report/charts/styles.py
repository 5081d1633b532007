"""The style of each contestant: the same colour and marker in every chart of a report."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Final

from ostler.pipeline.report.charts.charts import Style
from ostler.pipeline.report.rows import LIMIT, OSTLER

COLOURS: Final = 8
# Kinds of dashes besides the solid line.
_DASHED: Final = 3
_ORDER: Final = {OSTLER: 0, LIMIT: 2}


def contestant_order(name: str, kind: str) -> tuple[int, int, str]:
    """Sort key: Ostler itself first, its variants, peers by name, limits last."""
    return (_ORDER.get(kind, 1), len(name) if kind == OSTLER else 0, name)


def contestant_styles(contestants: Iterable[tuple[str, str]]) -> dict[str, Style]:
    """Return styles by name, from names and kinds. The text before a comma is the product: its variants have its
    colour, with other markers and dashes. The ninth product has the first colour again, dashed."""
    ordered = sorted(set(contestants), key=lambda each: contestant_order(*each))
    found: dict[str, Style] = {}
    products: dict[str, int] = {}
    ways: Counter[str] = Counter()
    limits = 0
    for name, kind in ordered:
        if name in found:
            continue
        if kind == LIMIT:
            found[name] = Style(0, limits + 3, True, 1 + limits % _DASHED)
            limits += 1
            continue
        product = name.partition(",")[0]
        number = products.setdefault(product, len(products))
        way = ways[product]
        ways[product] += 1
        dash = 1 + (way - 1) % _DASHED if way else number // COLOURS
        found[name] = Style(number % COLOURS, number + way, False, dash)
    return found
