"""Topic strings: joining, checks, and the wildcards of subscriptions.

Levels are separated by slashes and may be empty. A `#` or `+` is a wildcard only if it is a whole level; elsewhere, and
in all topics that are published to, it is an ordinary character.
"""

from __future__ import annotations

from typing import Final, final

from mypy_extensions import i64

from ostler.engine.selectors.like import ANY_ONE, ANY_RUN, LikePattern
from ostler.model import constants as mq
from ostler.model.errors import MQError

TOPIC_BYTES_MAX: Final = 10240
# MQ has no such limit. But each level takes hundreds of bytes of memory: a string of slashes alone would take four
# megabytes, and hours of matching against patterns made for it.
LEVELS_MAX: Final = 256
MANY: Final = "#"
ONE: Final = "+"
# Only the queue manager publishes below this level.
ADMINISTRATIVE: Final = "$SYS/MQ"
_ESCAPE: Final = "%"
_ANY: Final = "*"
_SINGLE: Final = "?"


def join_topic_strings(of_object: str, given: str) -> str:
    """Return the topic string joined from a topic object's and an application's."""
    if of_object and given:
        return f"{of_object}/{given}"
    return of_object or given


def check_topic(topic: str) -> None:
    """Raise MQError if a topic string is invalid."""
    if topic == "":
        raise MQError(mq.MQRC_UNKNOWN_OBJECT_NAME, "Neither a topic object nor a topic string is given.")
    if len(topic) > TOPIC_BYTES_MAX or len(topic.encode("utf-8", "replace")) > TOPIC_BYTES_MAX:
        raise MQError(
            mq.MQRC_TOPIC_STRING_ERROR, f"The topic string is longer than {TOPIC_BYTES_MAX} bytes; shorten it."
        )
    if topic.count("/") >= LEVELS_MAX:
        raise MQError(mq.MQRC_TOPIC_STRING_ERROR, f"The topic string has more than {LEVELS_MAX} levels.")
    if "\0" in topic:
        raise MQError(mq.MQRC_TOPIC_STRING_ERROR, "There is a null character in the topic string.")


def check_published(topic: str) -> None:
    """Raise MQError for a topic that applications must not publish to."""
    check_topic(topic)
    if topic == ADMINISTRATIVE or topic.startswith(f"{ADMINISTRATIVE}/"):
        raise MQError(mq.MQRC_ADMIN_TOPIC_STRING_ERROR, f"Only the queue manager publishes below {ADMINISTRATIVE}.")


def levels_of(topic: str) -> list[str]:
    return topic.split("/")


def pattern_levels(topic: str) -> list[str]:
    """Return the levels of a subscription's topic; consecutive `#` levels are reduced to one."""
    found: list[str] = []
    for level in levels_of(topic):
        if level != MANY or not found or found[-1] != MANY:
            found.append(level)
    return found


def fixed_levels(levels: list[str]) -> i64:
    """Return the number of levels before the first wildcard; -1 if there is none."""
    at: i64 = 0
    for level in levels:
        if level == MANY or level == ONE:
            return at
        at += 1
    return -1


@final
class CharacterPattern:
    """A topic string with `*` for any characters and `?` for one; `%` escapes the next character."""

    def __init__(self, text: str) -> None:
        """Raise MQError if a `%` is not followed by `*`, `?` or `%`."""
        self.text = text
        codes: list[int] = []
        fixed = 0  # number of characters before the first wildcard
        is_wild = False
        at = 0
        while at < len(text):
            character = text[at]
            if character == _ANY or character == _SINGLE:
                codes.append(ANY_RUN if character == _ANY else ANY_ONE)
                is_wild = True
            else:
                if character == _ESCAPE:
                    at += 1
                    if at == len(text) or text[at] not in "*?%":
                        raise MQError(
                            mq.MQRC_TOPIC_STRING_ERROR,
                            "In a topic string with wildcard characters, % stands before *, ? or %.",
                        )
                    character = text[at]
                codes.append(ord(character))
            if not is_wild:
                fixed += 1
            at += 1
        self.is_wild: Final = is_wild
        # The literal prefix of every match.
        self.prefix: Final = "".join([chr(code) for code in codes[:fixed]])
        self._pattern: Final = LikePattern(codes)

    @property
    def plain(self) -> str:
        """The topic itself, if it has no wildcard."""
        return self.prefix

    def matches(self, topic: str) -> bool:
        return self._pattern.matches(topic)
