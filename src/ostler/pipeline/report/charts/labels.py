"""Labels of lines: their width, their lines of text, and positions that do not collide.

Names stand beside the ends of lines. Where there is no room for all of them, `label_column` returns None, and the chart
has a legend below it instead.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

LINE_HEIGHT: Final = 13
_LABEL_LINES: Final = 3
# A label further from the end of its line than this is not read as belonging to it.
_SHIFT_MAX: Final = 84.0
_GAP: Final = 2.0

# Shares of the font size, of DejaVu Sans: the widest of the fonts that pages are read with.
_NARROW: Final = frozenset("ijlI.,:;'|!()[]ft/ -r")
_WIDE: Final = frozenset("mwMW@%")
_NARROW_EM, _PLAIN_EM, _CAPITAL_EM, _WIDE_EM = 0.38, 0.61, 0.70, 0.92
_BOLD: Final = 1.09

# A number stays with its unit.
_BREAKS: Final = re.compile(r"(?<!\d) +")


def text_pixels(text: str, size: float = 12.0, *, is_bold: bool = False) -> float:
    """Return the width of a text; fonts differ, so it is rather too wide than too narrow."""
    ems = 0.0
    for each in text:
        if each in _NARROW:
            ems += _NARROW_EM
        elif each in _WIDE:
            ems += _WIDE_EM
        else:
            ems += _CAPITAL_EM if each.isupper() else _PLAIN_EM
    return ems * size * (_BOLD if is_bold else 1.0)


def wrap_pixels(name: str, pixels: float, lines: int, size: float = 12.0, *, is_bold: bool = False) -> tuple[str, ...]:
    """Return a text on at most this many lines of this width; a longer one ends in an ellipsis."""

    def fits(text: str) -> bool:
        return text_pixels(text, size, is_bold=is_bold) <= pixels

    found = [""]
    for word in _BREAKS.split(name.strip()):
        joined = f"{found[-1]} {word}".strip()
        if fits(joined) or not found[-1]:
            found[-1] = joined
        else:
            found.append(word)
    kept = found[:lines]
    if len(found) > lines:
        kept[-1] += "…"
    return tuple(each if fits(each) else _cut(each, fits) for each in kept)


def _cut(text: str, fits: Callable[[str], bool]) -> str:
    kept = text.rstrip("…")
    while kept and not fits(f"{kept}…"):
        kept = kept[:-1]
    return f"{kept}…"


def apart(wanted: Sequence[float], heights: Sequence[float], low: float, high: float) -> list[float]:
    """Return positions for labels in a column, in the order of the wanted ones and none overlapping, with the least sum
    of squared distances. Labels that touch move as one cluster. Where there is no room for all, they overlap at the
    end."""
    order = sorted(range(len(wanted)), key=wanted.__getitem__)
    # Each cluster: its labels, its height, and the sum of the places its begin would like.
    clusters: list[tuple[list[int], float, float]] = []
    for index in order:
        members, height, wish = [index], heights[index], wanted[index] - heights[index] / 2
        while clusters and _begin(clusters[-1], low, high) + clusters[-1][1] > _begin(
            (members, height, wish), low, high
        ):
            before, before_height, before_wish = clusters.pop()
            wish = before_wish + wish - before_height * len(members)
            members, height = before + members, before_height + height
        clusters.append((members, height, wish))
    places = [0.0] * len(wanted)
    for cluster in clusters:
        at = _begin(cluster, low, high)
        for index in cluster[0]:
            places[index] = at + heights[index] / 2
            at += heights[index]
    return places


def _begin(cluster: tuple[list[int], float, float], low: float, high: float) -> float:
    members, height, wish = cluster
    return max(min(wish / len(members), high - height), low)


@dataclass(frozen=True)
class PlacedLabel:
    """A label: its lines of text, the height of its line's end, and its own."""

    words: tuple[str, ...]
    wanted: float
    place: float


def label_column(
    names: Sequence[str], wanted: Sequence[float], low: float, high: float, pixels: float, size: float
) -> list[PlacedLabel] | None:
    """Return labels that are whole, apart and near their lines; None when there is no room for them."""
    wrapped = [wrap_pixels(name, pixels, _LABEL_LINES, size, is_bold=True) for name in names]
    if any(words[-1].endswith("…") and not name.endswith("…") for words, name in zip(wrapped, names, strict=True)):
        return None
    heights = [len(words) * LINE_HEIGHT + _GAP for words in wrapped]
    if sum(heights) > high - low:
        return None
    places = apart(wanted, heights, low, high)
    if any(abs(at - end) > _SHIFT_MAX for at, end in zip(places, wanted, strict=True)):
        return None
    return [PlacedLabel(*each) for each in zip(wrapped, wanted, places, strict=True)]
