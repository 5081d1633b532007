"""Topic strings: how they are made, what they may hold, and what wildcards in subscriptions mean.

Levels stand between slashes and may be empty. A `#` or `+` is a wildcard only where it is a whole level; elsewhere,
and in all topics that are published to, it is a character like others.
"""

from __future__ import annotations

from typing import Final, final

from mypy_extensions import i64

from ostler.model.constants import (
    MQRC_ADMIN_TOPIC_STRING_ERROR,
    MQRC_TOPIC_STRING_ERROR,
    MQRC_UNKNOWN_OBJECT_NAME,
)
from ostler.model.errors import MQError

TOPIC_BYTES_MAX: Final = 10240
MANY: Final = "#"
ONE: Final = "+"
# The queue manager itself publishes below this.
ADMINISTRATIVE: Final = "$SYS/MQ"
_ESCAPE: Final = "%"
_ANY: Final = "*"
_SINGLE: Final = "?"


def full_topic(of_object: str, given: str) -> str:
    """The topic of an object's string and an application's, as MQ joins them."""
    if of_object and given:
        return f"{of_object}/{given}"
    return of_object or given


def check_topic(topic: str) -> None:
    """Raise MQError for what is no topic string."""
    if topic == "":
        raise MQError(MQRC_UNKNOWN_OBJECT_NAME, "Neither a topic object nor a topic string is given.")
    if len(topic) > TOPIC_BYTES_MAX or len(topic.encode("utf-8", "replace")) > TOPIC_BYTES_MAX:
        raise MQError(MQRC_TOPIC_STRING_ERROR, f"The topic string is longer than {TOPIC_BYTES_MAX} bytes; shorten it.")
    if "\0" in topic:
        raise MQError(MQRC_TOPIC_STRING_ERROR, "There is a null character in the topic string.")


def check_published(topic: str) -> None:
    """Raise MQError for a topic that nobody but the queue manager publishes to."""
    check_topic(topic)
    if topic == ADMINISTRATIVE or topic.startswith(f"{ADMINISTRATIVE}/"):
        raise MQError(MQRC_ADMIN_TOPIC_STRING_ERROR, f"Only the queue manager publishes below {ADMINISTRATIVE}.")


def levels_of(topic: str) -> list[str]:
    return topic.split("/")


def pattern_levels(topic: str) -> list[str]:
    """The levels of a subscription's topic; several `#` one behind the other say no more than one."""
    found: list[str] = []
    for level in levels_of(topic):
        if level != MANY or not found or found[-1] != MANY:
            found.append(level)
    return found


def fixed_levels(levels: list[str]) -> i64:
    """How many levels stand before the first wildcard; -1 when there is none."""
    at: i64 = 0
    for level in levels:
        if level == MANY or level == ONE:
            return at
        at += 1
    return -1


@final
class CharacterPattern:
    """A topic string with `*` for any characters and `?` for one; `%` takes the meaning from the next character."""

    def __init__(self, text: str) -> None:
        """MQError when a `%` stands before anything but `*`, `?` and `%`."""
        self.text = text
        pieces: list[str] = []  # what stands between asterisks
        wild: list[list[bool]] = []  # for each character of a piece: is it a question mark
        piece = ""
        marks: list[bool] = []
        at = 0
        while at < len(text):
            character = text[at]
            if character == _ANY:
                pieces.append(piece)
                wild.append(marks)
                piece = ""
                marks = []
            elif character == _ESCAPE:
                at += 1
                if at == len(text) or text[at] not in "*?%":
                    raise MQError(
                        MQRC_TOPIC_STRING_ERROR,
                        "In a topic string with wildcard characters, % stands before *, ? or %.",
                    )
                piece += text[at]
                marks.append(False)
            else:
                piece += character
                marks.append(character == _SINGLE)
            at += 1
        pieces.append(piece)
        wild.append(marks)
        self._pieces: Final = pieces
        self._wild: Final = wild
        self.is_wild: Final = len(pieces) > 1 or True in marks
        self.prefix: Final = self._prefix()

    def _prefix(self) -> str:
        """The characters that every match begins with."""
        first = self._pieces[0]
        marks = self._wild[0]
        for at in range(len(first)):
            if marks[at]:
                return first[:at]
        return first

    @property
    def plain(self) -> str:
        """The topic itself, when nothing in it is wild."""
        return self._pieces[0]

    def matches(self, topic: str) -> bool:
        first = self._pieces[0]
        if not self._fits(0, topic, 0):
            return False
        if len(self._pieces) == 1:
            return len(topic) == len(first)
        at = len(first)
        last = len(self._pieces) - 1
        for index in range(1, last):
            at = self._find(index, topic, at)
            if at < 0:
                return False
        tail = len(topic) - len(self._pieces[last])
        return tail >= at and self._fits(last, topic, tail)

    def _find(self, index: int, topic: str, at: int) -> int:
        """Behind the first place, from `at` on, where a piece fits; -1 when it fits nowhere."""
        length = len(self._pieces[index])
        while at + length <= len(topic):
            if self._fits(index, topic, at):
                return at + length
            at += 1
        return -1

    def _fits(self, index: int, topic: str, at: int) -> bool:
        piece = self._pieces[index]
        if at + len(piece) > len(topic):
            return False
        marks = self._wild[index]
        if True not in marks:
            return topic.startswith(piece, at)
        for offset in range(len(piece)):
            if not marks[offset] and topic[at + offset] != piece[offset]:
                return False
        return True
