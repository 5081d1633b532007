"""Common parts of statistics and accounting messages: preamble, arrays, and division into messages.

Times are UTC, as in all of a queue manager.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Final, NamedTuple

from ostler.model import constants as mq
from ostler.model.counters import Counts, others_name
from ostler.model.pcf import Group, Header, Integer, Integer64List, IntegerList, Parameter, String, encode

NAME_BYTES: Final = 48
DATE_BYTES: Final = 12
TIME_BYTES: Final = 8
GROUPS_MAX: Final = 100  # in one message
OBJECT_TYPES: Final = 13  # entries of an array indexed by object type
_COUNT_MAX: Final = 0x7FFFFFFF


class ReportingInterval(NamedTuple):
    """The queue manager and the interval that a message reports on. Milliseconds since 1970."""

    queue_manager: str
    command_level: int
    started_ms: int
    ended_ms: int


def preamble(interval: ReportingInterval) -> list[Parameter]:
    """Return the first fields of every statistics and accounting message."""
    return [
        fixed_text(mq.MQCA_Q_MGR_NAME, interval.queue_manager, NAME_BYTES),
        *date_and_time(mq.MQCAMO_START_DATE, mq.MQCAMO_START_TIME, interval.started_ms),
        *date_and_time(mq.MQCAMO_END_DATE, mq.MQCAMO_END_TIME, interval.ended_ms),
        Integer(mq.MQIA_COMMAND_LEVEL, interval.command_level),
    ]


def fixed_text(parameter: int, value: str, width: int) -> String:
    """Return a string field of fixed length, reduced to ASCII, which all code pages share."""
    return String(parameter, value.encode("ascii", "replace").decode("ascii")[:width].ljust(width))


def date_and_time(date: int, time: int, at_ms: int) -> list[Parameter]:
    at = datetime.fromtimestamp(at_ms / 1000, UTC)
    return [
        fixed_text(date, at.strftime("%Y-%m-%d"), DATE_BYTES),
        fixed_text(time, at.strftime("%H.%M.%S"), TIME_BYTES),
    ]


def count(parameter: int, value: int) -> Integer:
    """Return a count limited to the range of a PCF integer."""
    return Integer(parameter, clip_count(value))


def clip_count(value: int) -> int:
    return min(max(value, 0), _COUNT_MAX)


def by_persistence(parameter: int, nonpersistent: int, persistent: int) -> IntegerList:
    return IntegerList(parameter, (clip_count(nonpersistent), clip_count(persistent)))


def by_persistence_64(parameter: int, nonpersistent: int, persistent: int) -> Integer64List:
    return Integer64List(parameter, (max(nonpersistent, 0), max(persistent, 0)))


def by_object_type(parameter: int, call: int, total: int, counts: Counts) -> IntegerList:
    """Return an array indexed by MQOT numbers. Calls not counted for another object type were on queues."""
    values = [counts.get(others_name(call, object_type), 0) for object_type in range(OBJECT_TYPES)]
    values[mq.MQOT_Q] = total - sum(values)
    return IntegerList(parameter, tuple(clip_count(value) for value in values))


def encode_single(type: int, command: int, parameters: Sequence[Parameter]) -> bytes:
    return encode(Header(type, command, version=mq.MQCFH_VERSION_3), parameters)


def encode_groups(
    type: int, command: int, beginning: Sequence[Parameter], groups: Sequence[Group], bytes_max: int
) -> list[bytes]:
    """Encode groups into one message for up to a hundred objects, or into several numbered ones."""
    parts: list[Sequence[Group]] = []
    for first in range(0, len(groups), GROUPS_MAX):
        parts.extend(_split_to_fit(type, command, beginning, groups[first : first + GROUPS_MAX], bytes_max))
    return [
        _encode_part(
            type, command, beginning, part, number, mq.MQCFC_LAST if number == len(parts) else mq.MQCFC_NOT_LAST
        )
        for number, part in enumerate(parts, 1)
    ]


def _split_to_fit(
    type: int, command: int, beginning: Sequence[Parameter], groups: Sequence[Group], bytes_max: int
) -> list[Sequence[Group]]:
    if len(groups) <= 1 or len(_encode_part(type, command, beginning, groups, 1, mq.MQCFC_LAST)) <= bytes_max:
        return [groups]
    middle = len(groups) // 2
    return [
        *_split_to_fit(type, command, beginning, groups[:middle], bytes_max),
        *_split_to_fit(type, command, beginning, groups[middle:], bytes_max),
    ]


def _encode_part(
    type: int, command: int, beginning: Sequence[Parameter], groups: Sequence[Group], number: int, control: int
) -> bytes:
    header = Header(type, command, version=mq.MQCFH_VERSION_3, sequence_number=number, control=control)
    return encode(header, [*beginning, Integer(mq.MQIAMO_OBJECT_COUNT, len(groups)), *groups])
