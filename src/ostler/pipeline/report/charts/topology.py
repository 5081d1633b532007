"""Drawings of topologies: applications, queue managers with their queues, and the links between them, left to right.

Sizes are in pixels of a screen; colours are the page's, so that light, dark and paper look right. On a narrow screen a
drawing scrolls rather than shrinks.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from html import escape
from itertools import pairwise
from textwrap import wrap
from typing import Final


class BoxKind(StrEnum):
    APPLICATION = "application"
    MANAGER = "manager"
    STORE = "store"


@dataclass(frozen=True)
class Box:
    """Applications of a role, a queue manager, or a store of several. `lines` are below the title; `items` are the
    queues or topics inside. `is_many`: it stands for several of its kind."""

    kind: BoxKind
    title: str
    lines: tuple[str, ...] = ()
    items: tuple[str, ...] = ()
    is_many: bool = False


@dataclass(frozen=True)
class Link:
    """The way from a box to the next one: its label, and the directions that messages take."""

    label: str
    goes: bool = True
    returns: bool = False


@dataclass(frozen=True)
class TopologyDrawing:
    """Boxes from left to right, with a link between each two; `below` is joined with all queue managers."""

    title: str
    boxes: tuple[Box, ...]
    links: tuple[Link, ...]
    frame: str = ""
    below: Box | None = None

    def __post_init__(self) -> None:
        assert len(self.links) == max(len(self.boxes) - 1, 0), "a link between each two boxes"


_WIDTHS: Final = {BoxKind.APPLICATION: 142, BoxKind.MANAGER: 176, BoxKind.STORE: 190}
_GAP: Final = 118
_MARGIN: Final = 16
_TOP: Final = 40
_LINE: Final = 15
_PAD: Final = 10
_ITEM_HEIGHT: Final = 26
_MANY: Final = 5
_BELOW_GAP: Final = 46
_PIXELS_A_CHARACTER: Final = 6.6
_LABEL_CHARACTERS: Final = 16
_ITEM_CHARACTERS: Final = 23
_HEADING_PIXELS: Final = 7.6
_HEAD: Final = 10.0
_INKS: Final = {BoxKind.APPLICATION: "--c0", BoxKind.MANAGER: "--c2", BoxKind.STORE: "--c4"}


@dataclass(frozen=True)
class _Placed:
    box: Box
    x: float
    y: float
    width: float
    height: float

    @property
    def middle(self) -> float:
        return self.y + self.height / 2

    @property
    def right(self) -> float:
        return self.x + self.width


def topology_svg(drawing: TopologyDrawing, anchor: str) -> str:
    """Return a drawing as SVG inside an element that scrolls. `anchor` makes the names inside unique on the page."""
    placed = _places(drawing)
    bottom = max((each.y + each.height for each in placed), default=_TOP)
    below = _below(drawing, placed, bottom)
    if below is not None:
        bottom = below.y + below.height
    frame = bool(drawing.frame)
    right = max((each.right for each in placed), default=0.0)
    width = max(right + _MARGIN, (len(drawing.frame) + 2) * _PIXELS_A_CHARACTER + _MARGIN)
    height = bottom + _MARGIN + (_LINE + 4 if frame else 0)
    words = " - ".join(each.title for each in drawing.boxes)
    parts = [
        f'<div class="scroll" tabindex="0" role="region" aria-label="{escape(drawing.title)}">'
        f'<svg class="chart topology" viewBox="0 0 {width:.0f} {height:.0f}" '
        f'style="min-width:{width * 0.8:.0f}px;max-width:{width:.0f}px" role="img" '
        f'aria-labelledby="{anchor}-t {anchor}-d"><title id="{anchor}-t">{escape(drawing.title)}</title>'
        f'<desc id="{anchor}-d">{escape(words)}</desc>',
        _text(8, 16, drawing.title, "heading"),
    ]
    if frame:
        parts.append(_frame(4, 26, width - 8, height - 30, drawing.frame))
    parts += [each for place in placed for each in _box(place)]
    for (left, other), link in zip(pairwise(placed), drawing.links, strict=True):
        parts += _link(left, other, link)
    if below is not None:
        parts += _box(below)
        parts += _joints(placed, below)
    return "".join([*parts, "</svg></div>"])


def _places(drawing: TopologyDrawing) -> list[_Placed]:
    heights = [_height(each) for each in drawing.boxes]
    tallest = max(heights, default=0)
    placed: list[_Placed] = []
    x = float(_MARGIN)
    for box, height in zip(drawing.boxes, heights, strict=True):
        width = _WIDTHS[box.kind]
        placed.append(_Placed(box, x, _TOP + (tallest - height) / 2, width, height))
        x += width + _GAP
    return placed


def _below(drawing: TopologyDrawing, placed: Sequence[_Placed], bottom: float) -> _Placed | None:
    managers = [each for each in placed if each.box.kind is BoxKind.MANAGER]
    if drawing.below is None or not managers:
        return None
    width = _WIDTHS[drawing.below.kind]
    centre = (managers[0].x + managers[-1].right) / 2
    return _Placed(drawing.below, centre - width / 2, bottom + _BELOW_GAP, width, _height(drawing.below))


def _lines_of(box: Box) -> list[str]:
    characters = int((_WIDTHS[box.kind] - 2 * _PAD) / _PIXELS_A_CHARACTER)
    return [line for text in box.lines for line in wrap(text, characters)]


def _title_of(box: Box) -> list[str]:
    return wrap(box.title, int((_WIDTHS[box.kind] - 2 * _PAD) / _HEADING_PIXELS)) or [""]


def _height(box: Box) -> float:
    lines = len(_title_of(box)) + len(_lines_of(box))
    return 2 * _PAD + lines * _LINE + len(box.items) * (_ITEM_HEIGHT + 4)


def _text(x: float, y: float, words: str, kind: str, anchor: str = "start", more: str = "") -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" class="{kind}" text-anchor="{anchor}"{more}>{escape(words)}</text>'


def _rectangle(x: float, y: float, width: float, height: float, style: str, corner: int = 6) -> str:
    return f'<rect x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" height="{height:.1f}" rx="{corner}" style="{style}"/>'


def _frame(x: float, y: float, width: float, height: float, words: str) -> str:
    style = "fill:none;stroke:var(--faint);stroke-dasharray:5 4"
    return _rectangle(x, y, width, height, style, 10) + _text(x + 12, y + height - 8, words, "tick")


def _box(place: _Placed) -> Iterator[str]:
    box = place.box
    ink = _INKS[box.kind]
    style = f"fill:var(--panel);stroke:var({ink});stroke-width:1.6"
    if box.is_many:
        yield _rectangle(place.x + _MANY, place.y - _MANY, place.width, place.height, style)
    yield _rectangle(place.x, place.y, place.width, place.height, style)
    y = place.y + _PAD + 11
    for line in _title_of(box):
        yield _text(place.x + _PAD, y, line, "name-of-box", more=' style="font-weight:600"')
        y += _LINE
    for line in _lines_of(box):
        yield _text(place.x + _PAD, y, line, "tick")
        y += _LINE
    y -= 6
    for item in box.items:
        yield from _queue(place.x + _PAD, y, place.width - 2 * _PAD, item, ink)
        y += _ITEM_HEIGHT + 4


def _queue(x: float, y: float, width: float, name: str, ink: str) -> Iterator[str]:
    """Yield a queue: a strip with messages at its end."""
    height = _ITEM_HEIGHT - 4
    yield _rectangle(x, y, width, height, f"fill:var(--page);stroke:var({ink})", 3)
    for number in range(3):
        at = x + width - 5 - number * 5
        yield f'<line x1="{at:.1f}" y1="{y:.1f}" x2="{at:.1f}" y2="{y + height:.1f}" style="stroke:var({ink})"/>'
    yield _text(x + 6, y + height / 2 + 4, (wrap(name, _ITEM_CHARACTERS) or [""])[0], "tick")


def _arrow_head(x: float, y: float, length: float) -> str:
    """Return an arrow head that points right; to the left with a negative length."""
    path = f"M{x:.1f},{y:.1f}l{-length:.1f},{-abs(length) / 2:.1f}v{abs(length):.1f}z"
    return f'<path d="{path}" style="fill:var(--faint)"/>'


def _link(left: _Placed, right: _Placed, link: Link) -> Iterator[str]:
    """Yield an arrow at the height of the smaller box, with its label above."""
    y = min((left, right), key=lambda each: each.height).middle
    begin, end = left.right + (_MANY if left.box.is_many else 0) + 4, right.x - 4
    yield (
        f'<line x1="{begin + _HEAD / 2:.1f}" y1="{y:.1f}" x2="{end - _HEAD / 2:.1f}" y2="{y:.1f}" '
        f'style="stroke:var(--faint);stroke-width:1.6"/>'
    )
    if link.goes:
        yield _arrow_head(end, y, _HEAD)
    if link.returns:
        yield _arrow_head(begin, y, -_HEAD)
    lines = wrap(link.label, _LABEL_CHARACTERS)
    for number, line in enumerate(lines):
        yield _text((begin + end) / 2, y - 7 - (len(lines) - 1 - number) * _LINE, line, "tick", "middle")


def _joints(placed: Sequence[_Placed], below: _Placed) -> Iterator[str]:
    style = "stroke:var(--faint);stroke-width:1.6;stroke-dasharray:4 3"
    for each in placed:
        if each.box.kind is BoxKind.MANAGER:
            top = each.x + each.width / 2
            foot = min(max(top, below.x + 10), below.right - 10)
            yield (
                f'<line x1="{top:.1f}" y1="{each.y + each.height:.1f}" x2="{foot:.1f}" y2="{below.y:.1f}" '
                f'style="{style}"/>'
            )
