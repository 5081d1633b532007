"""Replies of scripts as answers, and published messages as events."""

from __future__ import annotations

from typing import Any, Final

from ostler.model.coupling import answers as a
from ostler.model.coupling import events as ev
from ostler.model.coupling import programs as p
from ostler.server.coupling.redis.records import decode_key, decode_record
from ostler.server.coupling.redis.redis_errors import RedisFailed

Reply = list[Any]
"""{number, status, count, used, limit, ...}; what is missing at its end is 0."""

_STATUS: Final = 1
_COUNT: Final = 2
_USED: Final = 3
_LIMIT: Final = 4
_FIRST: Final = 5
_IS_CLAIMED: Final = 2
_IS_WATCHED: Final = 4
_EXPIRED_SEEN: Final = 8


def decode_reply(kind: int, reply: Reply) -> a.Answer:
    """Return the answer of a program of this kind. Raises RedisFailed."""
    try:
        status = int(reply[_STATUS])
        answer = _answer(kind, status, reply) if len(reply) > _FIRST else a.Answer(status)
        answer.status = status
        if len(reply) > _COUNT:
            answer.count = reply[_COUNT]
        if len(reply) > _LIMIT:
            answer.used_bytes = reply[_USED]
            answer.limit_bytes = reply[_LIMIT]
    except (IndexError, TypeError, ValueError, UnicodeDecodeError) as error:
        raise RedisFailed(f"an answer to {p.PROGRAM_NAMES[kind]} that makes no sense: {error}") from None
    return answer


def _answer(kind: int, status: int, reply: Reply) -> a.Answer:
    if kind == p.PUT:
        return a.PutAnswer(decode_key(reply[5]), reply[6], reply[7])
    if kind == p.GET:
        return _get(status, reply)
    if kind == p.DECIDE:
        return a.DecideAnswer(reply[5])
    if kind in (p.OPEN, p.CLOSE, p.INQUIRE, p.PURGE):
        return _queue(reply)
    if kind == p.LIST:
        listed = a.ListAnswer()
        listed.is_end = reply[5] == 1
        listed.through_key = decode_key(reply[6])
        listed.entries = [decode_record(record) for record in reply[7]]
        return listed
    return _other(kind, status, reply)


def _get(status: int, reply: Reply) -> a.GetAnswer:
    flags, record = reply[6], reply[7]
    answer = a.GetAnswer(status, decode_record(record) if record is not None else None, reply[5])
    answer.is_claimed = flags & _IS_CLAIMED != 0
    answer.is_watched = flags & _IS_WATCHED != 0
    answer.expired_seen = flags & _EXPIRED_SEEN != 0
    answer.through_key = decode_key(reply[8]) if len(reply) > 8 else 0
    return answer


def _queue(reply: Reply) -> a.QueueAnswer:
    answer = a.QueueAnswer()
    answer.depth, answer.uncommitted, answer.input_count, answer.output_count = reply[5:9]
    answer.member_input_count, answer.member_output_count = reply[9:11]
    answer.is_exclusive = reply[11] == 1
    return answer


def _other(kind: int, status: int, reply: Reply) -> a.Answer:
    if kind == p.JOIN:
        joined = a.JoinAnswer(reply[5], reply[6])
        joined.logged, joined.units, joined.in_flight = reply[7:10]
        joined.refused = [int(number) for number in reply[10]]
        return joined
    if kind == p.CONNECT:
        connected = a.ConnectAnswer()
        connected.incarnation = reply[5]
        connected.is_new = reply[6] == 1
        connected.state, connected.level, connected.size_bytes = reply[7:10]
        return connected
    if kind == p.BEGIN_RECOVERY:
        recovery = a.RecoveryAnswer()
        recovery.units, recovery.in_flight = reply[5:7]
        recovery.name = reply[7].decode()
        recovery.start = reply[8]
        return recovery
    if kind == p.TAKE_FREED:
        freed = a.FreedAnswer()
        freed.through = reply[5]
        freed.is_end, freed.is_lost = reply[6] == 1, reply[7] == 1
        freed.references = reply[8]
        return freed
    return _display(kind, status, reply)


def _display(kind: int, status: int, reply: Reply) -> a.Answer:
    if kind == p.UNITS:
        units = a.UnitsAnswer()
        units.is_end = reply[5] == 1
        units.units = [a.UnitStatus(*unit) for unit in reply[6]]
        return units
    if kind in (p.LOCK, p.LOCKS):
        locks = a.LocksAnswer(status)
        locks.is_end = reply[5] == 1
        locks.locks = [a.LockStatus(name.decode(), member, fence, value) for name, member, fence, value in reply[6]]
        return locks
    if kind == p.STATUS:
        shown = a.StatusAnswer()
        shown.facility = reply[5]
        shown.structures = [_structure(each) for each in reply[6]]
        return shown
    if kind == p.MEMBERS:
        members = a.MembersAnswer()
        members.members = sorted((_member(each) for each in reply[5]), key=_number)
        return members
    if kind == p.DUMP:
        dumped = a.DumpAnswer()
        dumped.through_queue = reply[5].decode()
        dumped.through_key = decode_key(reply[6])
        dumped.is_end = reply[7] == 1
        for queue, place, unit, record in reply[8]:
            dumped.entries.append(a.DumpedEntry(queue.decode(), place, unit, decode_record(record)))
        return dumped
    raise RedisFailed(f"an answer to {p.PROGRAM_NAMES[kind]} with fields that it does not have")


def _structure(fields: Reply) -> a.StructureStatus:
    status = a.StructureStatus(fields[0].decode())
    status.incarnation = fields[1]
    status.state, status.state_member, status.level, status.size_bytes = fields[2:6]
    status.used_bytes, status.limit_bytes, status.entries, status.offloaded, status.queues = fields[6:11]
    status.members = sorted(int(number) for number in fields[11])
    return status


def _member(fields: Reply) -> a.MemberStatus:
    number, start, name, state = fields[:4]
    status = a.MemberStatus(number, start, name.decode(), state)
    status.fence, status.count, status.logged, status.in_flight, status.in_doubt, status.recoverer = fields[4:10]
    return status


def _number(status: a.MemberStatus) -> int:
    return int(status.number)


class PublishedEvent:
    """An event, and with `wake` the number by which the next one that waits is told after a while; 0: nobody."""

    def __init__(self, event: ev.Event, wake: int) -> None:
        self.event = event
        self.wake = wake


def decode_published(payload: bytes) -> PublishedEvent:
    """Return the event in a published message. Raises RedisFailed."""
    try:
        fields = _fields(payload)
        kind = int(fields[0])
        if kind == ev.QUEUE_NOT_EMPTY:
            structure, queue, match, watched, triggers, wake = fields[1:]
            event = ev.QueueNotEmpty(structure.decode(), queue.decode(), int(match), watched, triggers == b"1")
            return PublishedEvent(event, int(wake))
        return PublishedEvent(_event(kind, fields[1:]), 0)
    except (IndexError, ValueError, UnicodeDecodeError) as error:
        raise RedisFailed(f"an event that makes no sense: {error}") from None


def _fields(payload: bytes) -> list[bytes]:
    fields = []
    at = 0
    while at < len(payload):
        end = at + 2 + int.from_bytes(payload[at : at + 2], "big")
        if end > len(payload):
            raise ValueError("it is cut")
        fields.append(payload[at + 2 : end])
        at = end
    return fields


def _event(kind: int, fields: list[bytes]) -> ev.Event:
    if kind == ev.MEMBER_CHANGED:
        return ev.MemberChanged(int(fields[0]), fields[1].decode(), int(fields[2]))
    if kind == ev.STRUCTURE_CHANGED:
        return ev.StructureChanged(fields[0].decode(), int(fields[1]))
    if kind == ev.THRESHOLD:
        return ev.Threshold(fields[0].decode(), int(fields[1]), int(fields[2]), int(fields[3]))
    if kind == ev.FREED:
        return ev.Freed(fields[0].decode())
    if kind == ev.ANNOUNCED:
        return ev.Announced(int(fields[0]), fields[1].decode())
    if kind == ev.FENCED_OUT:
        return ev.FencedOut()
    raise ValueError(f"kind {kind}")
