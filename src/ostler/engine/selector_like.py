"""The LIKE of selection strings: `_` is any one character, `%` any run of them, an escape character takes them back."""

from __future__ import annotations

from typing import Final

from mypy_extensions import i64

from ostler.engine.property_values import PropertySource
from ostler.engine.selector_nodes import BOOLEAN, FALSE, TRUE, UNKNOWN, Node

# Codes for the two wildcards among the characters of a pattern; no character has a negative code.
ANY_ONE: Final = -1
ANY_RUN: Final = -2


class Pattern:
    """A compiled pattern.

    The common shapes (no wildcard; one run at either end) go straight to the string methods.
    """

    def __init__(self, codes: list[int]) -> None:
        self.codes = codes
        leading = bool(codes) and codes[0] == ANY_RUN
        trailing = bool(codes) and codes[-1] == ANY_RUN
        inner = codes[1 if leading else 0 : len(codes) - (1 if trailing else 0)]
        self.leading = leading
        self.trailing = trailing
        self.plain = all(code >= 0 for code in inner)
        self.fixed = "".join([chr(code) for code in inner]) if self.plain else ""

    def matches(self, text: str) -> bool:
        if not self.plain:
            return wildcard_match(self.codes, text)
        if self.leading:
            return self.fixed in text if self.trailing else text.endswith(self.fixed)
        return text.startswith(self.fixed) if self.trailing else text == self.fixed


def pattern_codes(pattern: str, escape: str) -> list[int] | None:
    """The characters and wildcards of a pattern; None when it ends in the escape character."""
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
            # Two runs side by side match what one does.
            if not codes or codes[-1] != ANY_RUN:
                codes.append(ANY_RUN)
        else:
            codes.append(ord(character))
    return None if escaped else codes


def wildcard_match(codes: list[int], text: str) -> bool:
    """Match from left to right; on a mismatch the last run takes one character more. No recursion."""
    at: i64 = 0
    code_at: i64 = 0
    run_at: i64 = -1
    run_text_at: i64 = 0
    length: i64 = len(text)
    code_count: i64 = len(codes)
    while at < length:
        if code_at < code_count and codes[code_at] == ANY_RUN:
            run_at = code_at
            run_text_at = at
            code_at += 1
        elif code_at < code_count and (codes[code_at] == ANY_ONE or codes[code_at] == ord(text[at])):
            at += 1
            code_at += 1
        elif run_at >= 0:
            run_text_at += 1
            at = run_text_at
            code_at = run_at + 1
        else:
            return False
    while code_at < code_count and codes[code_at] == ANY_RUN:
        code_at += 1
    return code_at == code_count


class Like(Node):
    def __init__(self, operand: Node, pattern: Pattern, negated: bool) -> None:
        super().__init__(BOOLEAN)
        self.operand = operand
        self.pattern = pattern
        self.negated = negated

    def test(self, source: PropertySource) -> int:
        value = self.operand.value(source)
        if value is None:
            return UNKNOWN
        found = isinstance(value, str) and self.pattern.matches(value)
        return TRUE if found != self.negated else FALSE
