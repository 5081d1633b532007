"""LIKE of selection strings: `_` matches one character, `%` any sequence; an escape character makes them literal.

A pattern is split at its `%`. The pieces are then searched from left to right, each at its earliest position: that
suffices, since a `%` may always match more. Time grows with the text and hardly with the pattern, also for hostile
input; the length of a text to search in is limited.
"""

from __future__ import annotations

from typing import Final

from ostler.engine.properties.property_values import PropertySource
from ostler.engine.selectors.nodes import BOOLEAN, FALSE, TRUE, UNKNOWN, Node

# Pieces between two `%` are searched in texts up to this length; in longer texts LIKE is UNKNOWN. Patterns without such
# a piece need no search, and have no limit.
SEARCHED_CHARACTERS_MAX: Final = 16_384
# Cost of searching a piece: without `_`, and with `_`, which is compared character by character.
_PLAIN_PIECE_COST: Final = 16
_WILD_PIECE_COST: Final = 256
# Codes of the two wildcards in a pattern; no character has a negative code.
ANY_ONE: Final = -1
ANY_RUN: Final = -2


class PatternPiece:
    """A part of a pattern without `%`. `fixed` is its text if it has no `_` either.

    With `_` it is searched by the shift-and algorithm: bit n of the state is set if the first n + 1 characters of the
    piece match the characters just read. `_masks` has for each character the bits of its positions.
    """

    def __init__(self, codes: list[int]) -> None:
        self.length = len(codes)
        self.plain = ANY_ONE not in codes
        self.fixed = "".join([chr(code) for code in codes]) if self.plain else ""
        self._anywhere = 0
        self._masks: dict[int, int] = {}
        if not self.plain:
            self._make_masks(codes)

    def _make_masks(self, codes: list[int]) -> None:
        for at, code in enumerate(codes):
            if code == ANY_ONE:
                self._anywhere |= 1 << at
            else:
                self._masks[code] = self._masks.get(code, 0) | 1 << at
        for code in self._masks:
            self._masks[code] |= self._anywhere

    def matches_at(self, text: str, at: int) -> bool:
        """Return whether the piece matches at a position; the text must be long enough."""
        if self.plain:
            return text.startswith(self.fixed, at)
        return self.find(text, at, at + self.length) == at

    def find(self, text: str, start: int, end: int) -> int:
        """Return the first position of the piece between `start` and `end`; -1 if there is none."""
        if self.plain:
            return text.find(self.fixed, start, end)
        found = 1 << (self.length - 1)
        state = 0
        for at in range(start, end):
            state = (state << 1 | 1) & self._masks.get(ord(text[at]), self._anywhere)
            if state & found:
                return at - self.length + 1
        return -1


class LikePattern:
    """A compiled pattern: the first piece, the pieces between `%`, and the last piece."""

    def __init__(self, codes: list[int]) -> None:
        pieces: list[list[int]] = [[]]
        for code in codes:
            if code == ANY_RUN:
                pieces.append([])
            else:
                pieces[-1].append(code)
        self._whole = len(pieces) == 1
        self._first = PatternPiece(pieces[0])
        self._last = PatternPiece(pieces[-1])
        self._middle = [PatternPiece(piece) for piece in pieces[1:-1] if piece]
        self.searches = len(self._middle) > 0
        self.cost = 2 + (self._first.length + self._last.length) // 16
        for middle in self._middle:
            self.cost += _PLAIN_PIECE_COST if middle.plain else _WILD_PIECE_COST

    def matches(self, text: str) -> bool:
        first = self._first
        if self._whole:
            return len(text) == first.length and first.matches_at(text, 0)
        at = first.length
        end = len(text) - self._last.length
        if at > end or not first.matches_at(text, 0) or not self._last.matches_at(text, end):
            return False
        for piece in self._middle:
            at = piece.find(text, at, end)
            if at < 0:
                return False
            at += piece.length
        return True


def pattern_codes(pattern: str, escape: str) -> list[int] | None:
    """Return the characters and wildcards of a pattern; None if it ends in the escape character."""
    codes: list[int] = []
    escaped = False
    for character in pattern:
        if escaped:
            codes.append(ord(character))
            escaped = False
        elif character == escape:
            escaped = True
        elif character == "_":
            codes.append(ANY_ONE)
        elif character == "%":
            codes.append(ANY_RUN)
        else:
            codes.append(ord(character))
    return None if escaped else codes


class Like(Node):
    def __init__(self, operand: Node, pattern: LikePattern, negated: bool) -> None:
        super().__init__(BOOLEAN)
        self.operand = operand
        self.pattern = pattern
        self.negated = negated
        self.cost += operand.cost + pattern.cost

    def test(self, source: PropertySource) -> int:
        value = self.operand.value(source)
        if value is None:
            return UNKNOWN
        if isinstance(value, str) and self.pattern.searches and len(value) > SEARCHED_CHARACTERS_MAX:
            return UNKNOWN
        found = isinstance(value, str) and self.pattern.matches(value)
        return TRUE if found != self.negated else FALSE
