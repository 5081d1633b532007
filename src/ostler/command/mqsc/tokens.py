"""The tokenizer of MQSC: words, quoted text, brackets and commas.

Words outside quotes are folded to upper case. Quoted text keeps its case; a quote inside it is doubled. Every token
has its position, so that a syntax error can point at it. See "Rules for using MQSC commands" in MQ's documentation.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import Final

COMMAND_CHARACTERS_MAX: Final = 32_762
_QUOTES: Final = "'\""
_BREAKS: Final = frozenset(" \t\r\n(),;'\"")


class TokenKind(Enum):
    WORD = "a word"
    QUOTED = "quoted text"
    OPEN = "an opening bracket"
    CLOSE = "a closing bracket"
    COMMA = "a comma"
    END = "a semicolon"


_MARKS: Final = {"(": TokenKind.OPEN, ")": TokenKind.CLOSE, ",": TokenKind.COMMA, ";": TokenKind.END}


@dataclass(frozen=True)
class Token:
    """A token of a command. `text` is its value, `start` and `end` are its position."""

    kind: TokenKind
    text: str
    start: int
    end: int

    @property
    def is_value(self) -> bool:
        return self.kind in (TokenKind.WORD, TokenKind.QUOTED)


class MqscSyntaxError(Exception):
    """A syntax error. `end` is the position behind the offending token; `why` is part of a sentence."""

    def __init__(self, end: int, why: str, hints: tuple[str, ...] = ()) -> None:
        self.end = end
        self.why = why
        self.hints = hints  # further lines for the reader
        super().__init__(end, why)


def tokenize(text: str) -> list[Token]:
    """Returns the tokens of a command. Raises MqscSyntaxError for an open quote and for a command that is too long."""
    if len(text) > COMMAND_CHARACTERS_MAX:
        raise MqscSyntaxError(80, f"a command has at most {COMMAND_CHARACTERS_MAX} characters, not {len(text)}")
    tokens: list[Token] = []
    at = 0
    while at < len(text):
        character = text[at]
        if character in " \t\r\n":
            at += 1
            continue
        if character in _MARKS:
            token = Token(_MARKS[character], character, at, at + 1)
        elif character in _QUOTES:
            token = _quoted(text, at)
        else:
            token = _plain(text, at)
        tokens.append(token)
        at = token.end
    return tokens


def _plain(text: str, start: int) -> Token:
    end = start
    while end < len(text) and text[end] not in _BREAKS:
        end += 1
    return Token(TokenKind.WORD, text[start:end].upper(), start, end)


def _quoted(text: str, start: int) -> Token:
    quote = text[start]
    at = start + 1
    pieces: list[str] = []
    while True:
        end = text.find(quote, at)
        if end < 0:
            raise MqscSyntaxError(len(text), f"the quote that opens with {text[start : start + 20]} does not end")
        pieces.append(text[at:end])
        if text[end + 1 : end + 2] != quote:
            return Token(TokenKind.QUOTED, "".join(pieces), start, end + 1)
        pieces.append(quote)
        at = end + 2
