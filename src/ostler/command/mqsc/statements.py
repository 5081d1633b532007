"""Joins the lines of a script to commands, and parses a command into verb, noun, name and arguments."""

from __future__ import annotations

from dataclasses import dataclass

from ostler.command.mqsc.tokens import MqscSyntaxError, Token, TokenKind, tokenize


class StatementReader:
    """Joins lines to commands.

    A line that begins with an asterisk is a comment. A line that ends with `+` continues at the first non-blank
    character of the next line, one that ends with `-` at its first character.
    """

    def __init__(self) -> None:
        self._parts: list[str] = []
        self._strips_next = False

    @property
    def is_continued(self) -> bool:
        """Returns whether the last line is continued."""
        return bool(self._parts)

    def feed(self, line: str) -> str | None:
        """Takes a line; returns the command that it completes, or None."""
        line = line.rstrip()
        if not line or line.startswith("*") or (not self._parts and line.lstrip().startswith("*")):
            return None
        if self._strips_next:
            line = line.lstrip()
        self._strips_next = line.endswith("+")
        if line.endswith(("+", "-")):
            self._parts.append(line[:-1])
            return None
        text = "".join(self._parts) + line
        self._parts = []
        return text

    def finish(self) -> str | None:
        """Ends the input; returns an unfinished command, or None."""
        text = "".join(self._parts) if self._parts else None
        self._parts = []
        self._strips_next = False
        return text


@dataclass(frozen=True)
class Argument:
    """A keyword, alone or with values in brackets. `values` is None when there are no brackets."""

    keyword: Token
    values: tuple[Token, ...] | None
    end: int


@dataclass(frozen=True)
class Statement:
    """A parsed command, such as `DEFINE QLOCAL(Q1) MAXDEPTH(5) REPLACE`."""

    text: str
    verb: Token
    noun: Token
    name: Token | None
    arguments: tuple[Argument, ...]

    @property
    def end(self) -> int:
        """Returns the end of the command, for errors about missing parts."""
        return len(self.text.rstrip())

    def argument(self, keyword: str) -> Argument | None:
        for argument in self.arguments:
            if argument.keyword.text == keyword:
                return argument
        return None


def parse(text: str) -> Statement:
    """Parses a command. Raises MqscSyntaxError that points at the first wrong token.

    Outside quotes a comma is a blank: values and keywords may have any number of either between them.
    """
    words = [word for word in tokenize(text) if word.kind is not TokenKind.COMMA]
    while words and words[-1].kind is TokenKind.END:
        words.pop()
    if not words:
        raise MqscSyntaxError(len(text), "there is no command")
    for word in words:
        if word.kind is TokenKind.END:
            raise MqscSyntaxError(word.end, "a semicolon ends a command; begin the next one on a line of its own")
    verb = words[0]
    if verb.kind is not TokenKind.WORD:
        raise MqscSyntaxError(verb.end, "a command begins with a verb such as DISPLAY")
    if len(words) == 1:
        raise MqscSyntaxError(verb.end, f"{verb.text} must be followed by a type of object")
    noun = words[1]
    if noun.kind is not TokenKind.WORD:
        raise MqscSyntaxError(noun.end, f"{verb.text} is followed by a type of object, such as QLOCAL")
    at = 2
    name: Token | None = None
    if at < len(words) and words[at].kind is TokenKind.OPEN:
        values, at = _bracket(words, at, len(text))
        if len(values) > 1 and (verb.text, noun.text) == ("RECOVER", "CFSTRUCT"):
            joined = ",".join([value.text for value in values])  # the one command that takes several names
            values = [Token(TokenKind.QUOTED, joined, values[0].start, values[-1].end)]
        if len(values) > 1:
            raise MqscSyntaxError(values[1].end, "only one name is allowed in the brackets")
        name = values[0] if values else Token(TokenKind.QUOTED, "", words[at - 1].start, words[at - 1].start)
    return Statement(text, verb, noun, name, tuple(_arguments(words, at, len(text))))


def _arguments(words: list[Token], at: int, end: int) -> list[Argument]:
    found: list[Argument] = []
    while at < len(words):
        keyword = words[at]
        if keyword.kind is not TokenKind.WORD:
            raise MqscSyntaxError(keyword.end, "a keyword is expected here")
        at += 1
        values: list[Token] | None = None
        last = keyword.end
        if at < len(words) and words[at].kind is TokenKind.OPEN:
            values, at = _bracket(words, at, end)
            last = words[at - 1].end
        found.append(Argument(keyword, None if values is None else tuple(values), last))
    return found


def _bracket(words: list[Token], at: int, end: int) -> tuple[list[Token], int]:
    """Returns the values between brackets, and the index behind them."""
    values: list[Token] = []
    at += 1
    while at < len(words):
        word = words[at]
        at += 1
        if word.kind is TokenKind.CLOSE:
            return values, at
        if not word.is_value:
            raise MqscSyntaxError(word.end, "text with brackets in it must be in quotes")
        values.append(word)
    raise MqscSyntaxError(end, "a closing bracket is missing")
