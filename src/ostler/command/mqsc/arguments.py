"""Checks the arguments of commands against the attribute table; errors point at the wrong token."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from difflib import get_close_matches
from typing import Final

from ostler.command.admin.objects import NUMBERS
from ostler.command.mqsc.statements import Argument, Statement
from ostler.command.mqsc.tokens import MqscSyntaxError, Token
from ostler.model.attributes import Attribute, ObjectType, Value, ValueKind, attributes_of, check, find, from_text, has
from ostler.model.definition_rules import check_name
from ostler.model.errors import MQError

_LISTS: Final = (ValueKind.STRINGS, ValueKind.NAMES, ValueKind.WORDS, ValueKind.INTEGERS)
_WORDS_LISTED_MAX: Final = 12


def unknown_word(word: Token, what: str, known: Iterable[str]) -> MqscSyntaxError:
    """Returns the error for an unknown word, with a suggestion."""
    close = get_close_matches(word.text, list(known), 1, 0.75)
    meant = f"; did you mean {close[0]}?" if close else ""
    return MqscSyntaxError(word.end, f"{word.text} {what}{meant}")


def find_attribute(kinds: tuple[ObjectType, ...], word: Token, more: Collection[str] = ()) -> Attribute:
    """Returns the attribute that a keyword names, from the first of the types that has it."""
    for kind in kinds:
        attribute = find(kind, word.text)
        if attribute is not None:
            return attribute
    known = [attribute.name for kind in kinds for attribute in attributes_of(kind)]
    label = kinds[0].value if len(kinds) == 1 else "QUEUE"
    raise unknown_word(word, f"is not a keyword of {label}", [*known, *more])


def value_of(attribute: Attribute, argument: Argument) -> Value:
    """Returns the checked value of an argument. Raises MqscSyntaxError that points at the value.

    Values with brackets, blanks, commas or lower case letters need quotes. MQ asks for quotes around other special
    characters, too; here the value is accepted without them, as it is unambiguous.
    """
    keyword = argument.keyword
    if attribute.kind == ValueKind.FLAG:
        if argument.values is not None:
            raise MqscSyntaxError(argument.end, f"{keyword.text} takes no value")
        return check(attribute, keyword.text)
    if argument.values is None:
        raise MqscSyntaxError(keyword.end, f"{keyword.text} needs a value in brackets")
    if attribute.kind not in _LISTS and attribute.kind != ValueKind.OPTIONS and len(argument.values) > 1:
        raise MqscSyntaxError(argument.values[1].end, f"{keyword.text} takes one value; put text with blanks in quotes")
    if not argument.values and attribute.kind not in _LISTS:
        raise MqscSyntaxError(argument.end, f"{keyword.text} has empty brackets; write ' ' for a blank value")
    try:
        return _convert(attribute, [word.text for word in argument.values])
    except MQError as error:
        word = _wrong_token(attribute, argument.values)
        end = word.end if word is not None else argument.end
        raise MqscSyntaxError(end, _reason_text(error) + _suggestion(attribute, word)) from None


def _wrong_token(attribute: Attribute, words: tuple[Token, ...]) -> Token | None:
    """Returns the first value that is wrong by itself; the last one if only the combination is wrong."""
    for word in words:
        try:
            _convert(attribute, [word.text])
        except MQError:
            return word
    return words[-1] if words else None


def _suggestion(attribute: Attribute, word: Token | None) -> str:
    """Returns the closest word that an attribute takes, or all its words."""
    words = [each for each, _ in attribute.words]
    if word is None or not words or attribute.kind == ValueKind.INTEGER:
        return ""
    close = get_close_matches(word.text.upper(), words, 1, 0.75)
    if close:
        return f"; did you mean {close[0]}?"
    return f", {', '.join(words)}" if len(words) <= _WORDS_LISTED_MAX else ""


def _convert(attribute: Attribute, texts: list[str]) -> Value:
    if attribute.kind in _LISTS:
        if attribute.kind == ValueKind.WORDS:
            texts = [text.upper() for text in texts]
        return check(attribute, tuple(text for text in texts if text.strip()))
    text = ",".join(texts)
    if attribute.kind in NUMBERS or attribute.kind == ValueKind.HEX:
        return from_text(attribute, text.upper())
    return check(attribute, text)


def _reason_text(error: MQError) -> str:
    """Returns the reason for which a value was rejected, as part of a sentence."""
    return (error.detail or str(error)).rstrip(".")


def given_attributes(
    kind: ObjectType, arguments: Iterable[Argument], subtype: str, extra: Collection[str] = ()
) -> dict[str, Value]:
    """Returns the attributes that the arguments set, each checked and given once."""
    given: dict[str, Value] = {}
    for argument in arguments:
        word = argument.keyword
        attribute = find_attribute((kind,), word, extra)
        if attribute.name in given:
            raise MqscSyntaxError(word.end, f"{attribute.name} is given twice")
        if not attribute.at_define:
            raise MqscSyntaxError(word.end, f"{attribute.name} cannot be given: the queue manager sets it")
        if not has(attribute, subtype):
            raise MqscSyntaxError(word.end, f"{attribute.name} does not belong to {subtype}")
        given[attribute.name] = value_of(attribute, argument)
    return given


class CommandOptions:
    """The arguments of a command that are not attributes. Each is taken once; the rest are attributes."""

    def __init__(self, statement: Statement) -> None:
        self.statement = statement
        self.rest: list[Argument] = list(statement.arguments)
        self._known: list[str] = []

    def _take(self, keyword: str) -> Argument | None:
        self._known.append(keyword)
        found: Argument | None = None
        for argument in list(self.rest):
            if argument.keyword.text == keyword:
                if found is not None:
                    raise MqscSyntaxError(argument.end, f"{keyword} is given twice")
                found = argument
                self.rest.remove(argument)
        return found

    def switch(self, on: str, off: str = "") -> bool:
        """Returns whether a word such as REPLACE is given. Its opposite may be given instead, not beside it."""
        yes = self._take(on)
        no = self._take(off) if off else None
        for argument in (yes, no):
            if argument is not None and argument.values is not None:
                raise MqscSyntaxError(argument.end, f"{argument.keyword.text} takes no value")
        if yes is not None and no is not None:
            raise MqscSyntaxError(max(yes.end, no.end), f"{on} and {off} exclude each other")
        return yes is not None

    def _one(self, keyword: str) -> Token | None:
        argument = self._take(keyword)
        if argument is None:
            return None
        if not argument.values:
            raise MqscSyntaxError(argument.keyword.end, f"{keyword} needs a value in brackets")
        if len(argument.values) > 1:
            raise MqscSyntaxError(argument.values[1].end, f"{keyword} takes one value")
        return argument.values[0]

    def text(self, keyword: str) -> str:
        """Returns the one value of a keyword; empty if it is not given."""
        word = self._one(keyword)
        return word.text if word is not None else ""

    def choice(self, keyword: str, *words: str) -> str:
        """Returns the one value of a keyword that takes one of some words; the first is the default."""
        word = self._one(keyword)
        if word is None:
            return words[0]
        if word.text.upper() not in words:
            raise MqscSyntaxError(word.end, f"{keyword} is one of {', '.join(words)}")
        return word.text.upper()

    def values(self, keyword: str) -> tuple[Token, ...] | None:
        """Returns all values of a keyword, None if it is not given."""
        argument = self._take(keyword)
        if argument is None:
            return None
        if not argument.values:
            raise MqscSyntaxError(argument.keyword.end, f"{keyword} needs a value in brackets")
        return argument.values

    def finish(self) -> None:
        """Raises MqscSyntaxError for an argument that was not taken."""
        for argument in self.rest:
            what = f"does not belong to {self.statement.verb.text} {self.statement.noun.text}"
            raise unknown_word(argument.keyword, what, self._known)


def object_name(statement: Statement, kind: ObjectType, default: str = "") -> str:
    """Returns the checked name of the object of a command; with a default it may be omitted."""
    word = statement.name
    if word is None:
        if default:
            return default
        raise MqscSyntaxError(statement.noun.end, f"{statement.noun.text} needs a name in brackets")
    try:
        check_name(kind, word.text)
    except MQError as error:
        raise MqscSyntaxError(word.end, _reason_text(error)) from None
    return word.text
