"""WHERE(attribute operator value): filters the displayed objects."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from ostler.command.admin.objects import NUMBERS, matches
from ostler.command.mqsc.arguments import find_attribute, unknown_word
from ostler.command.mqsc.display.attribute_groups import is_filtered
from ostler.command.mqsc.tokens import MqscSyntaxError, Token
from ostler.model.attributes import Attribute, ObjectType, Shown, Value, ValueKind, from_text
from ostler.model.errors import MQError

_COMPARING: Final = ("EQ", "NE", "LT", "GT", "LE", "GE")
_GENERIC: Final = ("LK", "NL")
_CONTAINING: Final = ("CT", "EX", "CTG", "EXG")
_ALL: Final = (*_COMPARING, *_GENERIC, *_CONTAINING)
_LISTS: Final = (ValueKind.STRINGS, ValueKind.NAMES, ValueKind.WORDS, ValueKind.INTEGERS)
_WORDS_ONLY: Final = (ValueKind.ENUM, ValueKind.FLAG)
_ANSWERS: Final = {"YES": 1, "NO": 0}


@dataclass(frozen=True)
class Filter:
    """A condition on one attribute."""

    attribute: Attribute
    operator: str
    value: int | str

    def accepts(self, actual: Value | None) -> bool:
        """Returns whether a value satisfies the condition. A missing value does not."""
        if actual is None:
            return False
        if isinstance(actual, tuple):
            return self._accepts_list(actual)
        if isinstance(actual, str) and isinstance(self.value, str):
            if self.operator in _GENERIC:
                return matches(actual, self.value) == (self.operator == "LK")
            return _compare(self.operator, (actual > self.value) - (actual < self.value))
        if isinstance(actual, int) and isinstance(self.value, int):
            if self.operator in _CONTAINING:
                return bool(actual & self.value) == (self.operator == "CT")
            return _compare(self.operator, (actual > self.value) - (actual < self.value))
        return False

    def _accepts_list(self, actual: tuple[str, ...]) -> bool:
        wanted = str(self.value)
        if self.operator in ("CTG", "EXG"):
            return any(matches(item, wanted) for item in actual) == (self.operator == "CTG")
        return (wanted in actual) == (self.operator in ("CT", "EQ"))


def _compare(operator: str, order: int) -> bool:
    if operator == "EQ":
        return order == 0
    if operator == "NE":
        return order != 0
    if operator == "LT":
        return order < 0
    if operator == "GT":
        return order > 0
    return order <= 0 if operator == "LE" else order >= 0


def parse_filter(kinds: tuple[ObjectType, ...], words: tuple[Token, ...]) -> Filter:
    """Parses the filter in the brackets of WHERE. Raises MqscSyntaxError that points at the wrong token."""
    attribute = find_attribute(kinds, words[0])
    # Comparisons would reveal a password letter by letter.
    if not is_filtered(kinds[0], attribute.name) or attribute.shown == Shown.MASKED:
        raise MqscSyntaxError(words[0].end, f"WHERE does not take {attribute.name}")
    if len(words) < 2:
        raise MqscSyntaxError(words[-1].end, "WHERE needs an attribute, an operator and a value")
    operator = words[1].text
    operators = _operators(attribute)
    if operator not in operators:
        if operator in _ALL:
            raise MqscSyntaxError(words[1].end, _operator_problem(attribute, operator, operators))
        raise unknown_word(words[1], f"is not an operator for {attribute.name}: {', '.join(operators)}", operators)
    if len(words) < 3:
        raise MqscSyntaxError(words[-1].end, "WHERE needs a value after the operator")
    if len(words) > 3:
        raise MqscSyntaxError(words[3].end, "WHERE takes one value; put text with blanks in quotes")
    return Filter(attribute, operator, _value(attribute, operator, words[2]))


def _operators(attribute: Attribute) -> tuple[str, ...]:
    if attribute.kind in _LISTS:
        return _CONTAINING
    if attribute.kind == ValueKind.OPTIONS:
        return ("CT", "EX")
    if attribute.kind in _WORDS_ONLY:
        return ("EQ", "NE")
    return _COMPARING if attribute.kind == ValueKind.INTEGER else _COMPARING + _GENERIC


def _operator_problem(attribute: Attribute, operator: str, operators: tuple[str, ...]) -> str:
    """Returns the reason why an operator does not apply to an attribute."""
    if attribute.kind in _LISTS:
        what = "is a list"
    elif attribute.kind in _WORDS_ONLY:
        what = "is one of a few words"
    elif attribute.kind in NUMBERS:
        what = "is a number"
    else:
        what = "is text"
    return f"{operator} does not go with {attribute.name}, which {what}: use one of {', '.join(operators)}"


def _value(attribute: Attribute, operator: str, word: Token) -> int | str:
    if attribute.kind not in NUMBERS:
        text = word.text.rstrip(" ")
        is_generic = operator in (*_GENERIC, "CTG", "EXG")
        if "*" in text and not is_generic:
            instead = "CTG or EXG" if attribute.kind in _LISTS else "LK or NL"
            raise MqscSyntaxError(word.end, f"a generic value needs {instead}, not {operator}")
        if "*" in text[:-1]:
            raise MqscSyntaxError(word.end, "the asterisk of a generic value is its last character")
        return text.upper() if attribute.kind in (ValueKind.HEX, ValueKind.WORDS) else text
    if attribute.kind == ValueKind.FLAG and word.text.upper() in _ANSWERS:
        # YES and NO for HARDENBO, SHARE and TRIGGER.
        return _ANSWERS[word.text.upper()]
    try:
        value = from_text(attribute, word.text.upper())
    except MQError as error:
        raise MqscSyntaxError(word.end, (error.detail or str(error)).rstrip(".")) from None
    assert isinstance(value, int)
    return value
