"""What all statistics and accounting messages have in common: how they begin, their arrays, and where they are cut.

Times are UTC, as everywhere in a queue manager.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Final, NamedTuple

from ostler.model.constants import (
    MQCA_Q_MGR_NAME,
    MQCAMO_END_DATE,
    MQCAMO_END_TIME,
    MQCAMO_START_DATE,
    MQCAMO_START_TIME,
    MQCFC_LAST,
    MQCFC_NOT_LAST,
    MQCFH_VERSION_3,
    MQIA_COMMAND_LEVEL,
    MQIAMO_OBJECT_COUNT,
    MQOT_Q,
)
from ostler.model.counters import Counts, others_name
from ostler.model.pcf import Group, Header, Integer, Integer64List, IntegerList, Parameter, String, encode

NAME_BYTES: Final = 48
DATE_BYTES: Final = 12
TIME_BYTES: Final = 8
GROUPS_MAX: Final = 100  # in one message
OBJECT_TYPES: Final = 13  # entries of an array that is indexed by the type of object
_COUNT_MAX: Final = 0x7FFFFFFF


class About(NamedTuple):
    """Whose figures they are, and of which time. Milliseconds since 1970."""

    queue_manager: str
    command_level: int
    started_ms: int
    ended_ms: int


def preamble(about: About) -> list[Parameter]:
    """The fields with which every one of these messages begins."""
    return [
        text(MQCA_Q_MGR_NAME, about.queue_manager, NAME_BYTES),
        *moment(MQCAMO_START_DATE, MQCAMO_START_TIME, about.started_ms),
        *moment(MQCAMO_END_DATE, MQCAMO_END_TIME, about.ended_ms),
        Integer(MQIA_COMMAND_LEVEL, about.command_level),
    ]


def text(parameter: int, value: str, width: int) -> String:
    """A field of fixed length, in what all code pages of a queue manager have in common."""
    return String(parameter, value.encode("ascii", "replace").decode("ascii")[:width].ljust(width))


def moment(date: int, time: int, at_ms: int) -> list[Parameter]:
    at = datetime.fromtimestamp(at_ms / 1000, UTC)
    return [
        text(date, at.strftime("%Y-%m-%d"), DATE_BYTES),
        text(time, at.strftime("%H.%M.%S"), TIME_BYTES),
    ]


def count(parameter: int, value: int) -> Integer:
    """A count as a PCF integer holds it."""
    return Integer(parameter, clipped(value))


def clipped(value: int) -> int:
    return min(max(value, 0), _COUNT_MAX)


def by_persistence(parameter: int, nonpersistent: int, persistent: int) -> IntegerList:
    return IntegerList(parameter, (clipped(nonpersistent), clipped(persistent)))


def by_persistence_64(parameter: int, nonpersistent: int, persistent: int) -> Integer64List:
    return Integer64List(parameter, (max(nonpersistent, 0), max(persistent, 0)))


def by_object_type(parameter: int, call: int, total: int, counts: Counts) -> IntegerList:
    """An array indexed by MQOT numbers: what was not on another type of object was on a queue."""
    values = [counts.get(others_name(call, object_type), 0) for object_type in range(OBJECT_TYPES)]
    values[MQOT_Q] = total - sum(values)
    return IntegerList(parameter, tuple(clipped(value) for value in values))


def nothing(parameter: int, width: int) -> IntegerList:
    """An array for what a queue manager without publish/subscribe never does."""
    return IntegerList(parameter, (0,) * width)


def single(type: int, command: int, parameters: Sequence[Parameter]) -> bytes:
    return encode(Header(type, command, version=MQCFH_VERSION_3), parameters)


def in_groups(
    type: int, command: int, beginning: Sequence[Parameter], groups: Sequence[Group], bytes_max: int
) -> list[bytes]:
    """One message for up to a hundred objects, and several numbered ones for more of them, or when one is too long."""
    parts: list[Sequence[Group]] = []
    for first in range(0, len(groups), GROUPS_MAX):
        parts.extend(_fitting(type, command, beginning, groups[first : first + GROUPS_MAX], bytes_max))
    return [
        _part(type, command, beginning, part, number, MQCFC_LAST if number == len(parts) else MQCFC_NOT_LAST)
        for number, part in enumerate(parts, 1)
    ]


def _fitting(
    type: int, command: int, beginning: Sequence[Parameter], groups: Sequence[Group], bytes_max: int
) -> list[Sequence[Group]]:
    if len(groups) <= 1 or len(_part(type, command, beginning, groups, 1, MQCFC_LAST)) <= bytes_max:
        return [groups]
    middle = len(groups) // 2
    return [
        *_fitting(type, command, beginning, groups[:middle], bytes_max),
        *_fitting(type, command, beginning, groups[middle:], bytes_max),
    ]


def _part(
    type: int, command: int, beginning: Sequence[Parameter], groups: Sequence[Group], number: int, control: int
) -> bytes:
    header = Header(type, command, version=MQCFH_VERSION_3, sequence_number=number, control=control)
    return encode(header, [*beginning, Integer(MQIAMO_OBJECT_COUNT, len(groups)), *groups])
