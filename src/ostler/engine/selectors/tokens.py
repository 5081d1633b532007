"""Tokens of selection strings: names, keywords, literals and signs, each with its column."""

from __future__ import annotations

import math
from typing import Final

from ostler.engine.properties.property_names import KEYWORDS
from ostler.engine.properties.property_values import Value
from ostler.model import constants as mq
from ostler.model.errors import MQError

END: Final = 0
NAME: Final = 1
KEYWORD: Final = 2
LITERAL: Final = 3
SIGN: Final = 4

# One more than the largest integer: allowed only behind a minus sign.
MAGNITUDE_MAX: Final = 1 << 63
_SIGNS: Final = ("<>", "<=", ">=", "=", "<", ">", "+", "-", "*", "/", "(", ")", ",")
_DIGITS: Final = frozenset("0123456789")
_OCTAL_DIGITS: Final = frozenset("01234567")
_HEX_DIGITS: Final = frozenset("0123456789abcdefABCDEF")
_BLANKS: Final = frozenset(" \t\r\n\f")
# Longer integers exceed 64 bits and need not be computed.
_INTEGER_DIGITS_MAX: Final = 30
_WORD_SHOWN: Final = 40
# Limit of tokens in a selection string: parsing blocks all other applications meanwhile.
TOKENS_MAX: Final = 4096


class SelectorToken:
    """`text` is the keyword in capitals, the sign, the name, or the literal as written. `column` counts from 1."""

    def __init__(self, kind: int, text: str, column: int, literal: Value = None) -> None:
        self.kind = kind
        self.text = text
        self.column = column
        self.literal = literal


def syntax_error(column: int, word: str, problem: str) -> MQError:
    """Return the error for a column of the selection string."""
    found = f"at {word[:_WORD_SHOWN]!r}" if word else "at the end"
    return MQError(mq.MQRC_SELECTOR_SYNTAX_ERROR, f"Column {column}, {found}: {problem}.")


def tokenize(text: str, count_max: int) -> list[SelectorToken]:
    """Return all tokens; the last one is of kind END."""
    return _Scanner(text, count_max).scan()


def _is_name_start(character: str) -> bool:
    return character.isidentifier() or character == "$"


def _is_name_part(character: str) -> bool:
    return character == "." or character == "$" or ("_" + character).isidentifier()


class _Scanner:
    def __init__(self, text: str, count_max: int) -> None:
        self.text = text
        self.at = 0
        self._count_max = count_max

    def scan(self) -> list[SelectorToken]:
        tokens: list[SelectorToken] = []
        length = len(self.text)
        while True:
            while self.at < length and self.text[self.at] in _BLANKS:
                self.at += 1
            if self.at >= length:
                tokens.append(SelectorToken(END, "", length + 1))
                return tokens
            if len(tokens) == self._count_max:
                problem = f"there are more than {self._count_max} names, values and operators; use shorter selectors"
                raise self._error(self.at, self.at + 1, problem)
            tokens.append(self._next())

    def _next(self) -> SelectorToken:
        character = self.text[self.at]
        if character == "'":
            return self._string()
        if character == '"':
            return self._byte_string()
        if character in _DIGITS or (character == "." and self._peek(1) in _DIGITS):
            return self._number()
        if _is_name_start(character):
            return self._name()
        for sign in _SIGNS:
            if self.text.startswith(sign, self.at):
                self.at += len(sign)
                return SelectorToken(SIGN, sign, self.at - len(sign) + 1)
        raise self._error(self.at, self.at + 1, "this character has no meaning in a selection string")

    def _peek(self, distance: int) -> str:
        at = self.at + distance
        return self.text[at] if at < len(self.text) else ""

    def _error(self, start: int, end: int, problem: str) -> MQError:
        return syntax_error(start + 1, self.text[start:end], problem)

    def _name(self) -> SelectorToken:
        start = self.at
        while self.at < len(self.text) and _is_name_part(self.text[self.at]):
            self.at += 1
        word = self.text[start : self.at]
        if word.upper() in KEYWORDS:
            return SelectorToken(KEYWORD, word.upper(), start + 1)
        return SelectorToken(NAME, word, start + 1)

    def _string(self) -> SelectorToken:
        start = self.at
        parts: list[str] = []
        at = start + 1
        while True:
            quote = self.text.find("'", at)
            if quote < 0:
                raise self._error(start, len(self.text), "the string has no closing quotation mark")
            parts.append(self.text[at:quote])
            if not self.text.startswith("''", quote):
                break
            parts.append("'")
            at = quote + 2
        self.at = quote + 1
        return SelectorToken(LITERAL, self.text[start : self.at], start + 1, "".join(parts))

    def _byte_string(self) -> SelectorToken:
        start = self.at
        end = self.text.find('"', start + 1)
        inner = self.text[start + 1 : end]
        digits = inner[2:]
        if end < 0 or inner[:2] not in ("0x", "0X"):
            stop = end + 1 if end > 0 else len(self.text)
            raise self._error(start, stop, 'strings stand in single quotation marks, byte strings as "0x0AFC"')
        if not digits or len(digits) % 2 or not _HEX_DIGITS.issuperset(digits):
            raise self._error(start, end + 1, "a byte string has pairs of hexadecimal digits")
        self.at = end + 1
        return SelectorToken(LITERAL, self.text[start : self.at], start + 1, bytes.fromhex(digits))

    def _run(self, digits: frozenset[str]) -> str:
        start = self.at
        while self.at < len(self.text) and self.text[self.at] in digits:
            self.at += 1
        return self.text[start : self.at]

    def _number(self) -> SelectorToken:
        start = self.at
        value: Value
        if self.text[start] == "0" and self._peek(1) in ("x", "X"):
            self.at += 2
            value = self._integer(start, self._run(_HEX_DIGITS), 16)
        else:
            whole = self._run(_DIGITS)
            if self._peek(0) in (".", "e", "E"):
                value = self._approximate(start)
            elif len(whole) > 1 and whole[0] == "0":
                if not _OCTAL_DIGITS.issuperset(whole):
                    raise self._error(start, self.at, "a leading zero makes it octal, with digits 0 to 7 only")
                value = self._integer(start, whole, 8)
            else:
                value = self._integer(start, whole, 10)
        if self.at < len(self.text) and _is_name_part(self.text[self.at]):
            while self.at < len(self.text) and _is_name_part(self.text[self.at]):
                self.at += 1
            raise self._error(start, self.at, "this is neither a number nor a name")
        return SelectorToken(LITERAL, self.text[start : self.at], start + 1, value)

    def _integer(self, start: int, digits: str, base: int) -> int:
        significant = digits.lstrip("0") or digits[:1]
        if not significant:
            raise self._error(start, self.at, "hexadecimal digits are missing")
        value = int(significant, base) if len(significant) <= _INTEGER_DIGITS_MAX else MAGNITUDE_MAX + 1
        if value > MAGNITUDE_MAX:
            raise self._error(start, self.at, "the number is too large for 64 bits")
        if self._peek(0) in ("l", "L"):
            self.at += 1
        return value

    def _approximate(self, start: int) -> float:
        if self._peek(0) == ".":
            self.at += 1
            self._run(_DIGITS)
        if self._peek(0) in ("e", "E"):
            self.at += 1
            if self._peek(0) in ("+", "-"):
                self.at += 1
            if not self._run(_DIGITS):
                raise self._error(start, self.at, "the exponent has no digits")
        value = float(self.text[start : self.at])
        if math.isinf(value):
            raise self._error(start, self.at, "the number is too large")
        if self._peek(0) in ("d", "D", "f", "F"):
            self.at += 1
        return value
