"""Queues beyond their buffers: messages go to the queue's file, and nothing else changes."""

from __future__ import annotations

from typing import Any

import pytest

from ostler.model import constants as mq

BOTH = mq.MQOO_INPUT_SHARED | mq.MQOO_OUTPUT | mq.MQOO_BROWSE
COUNT = 3000
BODY_BYTES = 1000
KINDS = pytest.mark.parametrize("persistence", [0, 1])
# What may be in memory: a buffer, and what is gathered for the next write to the file.
RESIDENT_BYTES_MAX = 65536 + 256 * 1024 + 2 * (BODY_BYTES + 364)


def body_of(number: int) -> bytes:
    return (b"%06d" % number * (BODY_BYTES // 6 + 1))[:BODY_BYTES]


def key_of(number: int) -> bytes:
    return number.to_bytes(8, "little") * 3


def resident_bytes(queue: Any) -> int:
    return int(queue.resident_bytes_nonpersistent + queue.resident_bytes_persistent)


def file_bytes(site: Any, name: str) -> int:
    file = site.queue(name).file.file
    return 0 if file is None else int(file.size_bytes())


def filled(site: Any, program: Any, persistence: int, count: int = COUNT, **attributes: Any) -> tuple[str, int]:
    """A queue with many messages, put under syncpoint so that the log is forced seldom."""
    name = site.local(MAXDEPTH=1_000_000, **attributes)
    queue = program.open(name, BOTH)
    for number in range(count):
        answer = program.put(
            queue,
            body_of(number),
            mq.MQPMO_SYNCPOINT,
            Persistence=persistence,
            Priority=number % 2,
            MsgId=key_of(number + 1),
            CorrelId=key_of(number // 10 + 1),
        )
        assert answer.reason == 0
        if number % 100 == 99:
            program.commit()
        assert resident_bytes(site.queue(name)) <= RESIDENT_BYTES_MAX
    program.commit()
    return name, int(queue)


@KINDS
def test_order_and_contents_stay(small_buffers: Any, persistence: int) -> None:
    program = small_buffers.program()
    name, queue = filled(small_buffers, program, persistence)
    counters = small_buffers.queue(name).counters
    assert counters.spilled > COUNT // 2
    assert resident_bytes(small_buffers.queue(name)) <= RESIDENT_BYTES_MAX
    expected = [*range(1, COUNT, 2), *range(0, COUNT, 2)]
    for position, number in enumerate(expected):
        answer = program.get(queue, mq.MQGMO_SYNCPOINT)
        assert answer.body == body_of(number)
        assert (answer.md["Priority"], answer.message_id) == (number % 2, key_of(number + 1))
        if position % 100 == 99:
            program.commit()
    program.commit()
    assert program.get(queue).reason == mq.MQRC_NO_MSG_AVAILABLE
    assert resident_bytes(small_buffers.queue(name)) == 0
    assert (counters.puts, counters.gets) == (COUNT, COUNT)


@KINDS
def test_identifiers_are_found(small_buffers: Any, persistence: int) -> None:
    program = small_buffers.program()
    name, queue = filled(small_buffers, program, persistence)
    for number in range(5, COUNT, 97):
        assert program.get(queue, mq.MQGMO_SYNCPOINT, MsgId=key_of(number + 1)).body == body_of(number)
    program.back_out()
    in_group = [program.get(queue, mq.MQGMO_SYNCPOINT, CorrelId=key_of(101)).body for _ in range(10)]
    assert in_group == [body_of(number) for number in [*range(1001, 1010, 2), *range(1000, 1010, 2)]]
    assert program.get(queue, CorrelId=key_of(101)).reason == mq.MQRC_NO_MSG_AVAILABLE
    program.back_out()
    assert small_buffers.depth(name) == COUNT
    assert program.get(queue, CorrelId=key_of(101)).md["BackoutCount"] == 1


def test_browsing_reads_and_keeps_nothing(small_buffers: Any) -> None:
    program = small_buffers.program()
    name, _ = filled(small_buffers, program, 0)
    before = resident_bytes(small_buffers.queue(name))
    assert len(program.browse(name)) == COUNT
    assert resident_bytes(small_buffers.queue(name)) == before
    assert small_buffers.queue(name).counters.spill_reads >= COUNT // 2


@KINDS
def test_the_file_gives_back_its_space(small_buffers: Any, persistence: int) -> None:
    program = small_buffers.program()
    name, queue = filled(small_buffers, program, persistence)
    assert file_bytes(small_buffers, name) > COUNT * BODY_BYTES // 2
    small_buffers.manager.checkpoint()
    while program.get(queue, mq.MQGMO_SYNCPOINT).reason == 0:
        if small_buffers.depth(name) % 100 == 0:
            program.commit()
    program.commit()
    small_buffers.manager.checkpoint()
    assert file_bytes(small_buffers, name) == 0
    program.put(queue, b"again", Persistence=persistence)
    assert program.drain(queue) == [b"again"]


def test_space_is_used_again(small_buffers: Any) -> None:
    program = small_buffers.program()
    name, queue = filled(small_buffers, program, 0, 1000)
    once = file_bytes(small_buffers, name)
    for number in range(3000):
        assert program.get(queue).reason == 0
        program.put(queue, body_of(number))
    assert small_buffers.depth(name) == 1000
    assert file_bytes(small_buffers, name) <= 4 * once


def test_spilled_persistent_messages_survive_a_crash(small_buffers: Any) -> None:
    program = small_buffers.program()
    name, queue = filled(small_buffers, program, 1, 1500)
    small_buffers.manager.checkpoint()
    for _ in range(500):
        program.get(queue, mq.MQGMO_SYNCPOINT)
    program.commit()
    small_buffers.crash()
    program = small_buffers.program()
    assert small_buffers.depth(name) == 1000
    expected = [*range(1001, 1500, 2), *range(0, 1500, 2)]
    assert program.drain(program.open(name, BOTH), mq.MQGMO_SYNCPOINT) == [body_of(number) for number in expected]


def test_spilled_messages_of_a_high_queue_survive_an_orderly_end(small_buffers: Any) -> None:
    program = small_buffers.program()
    name, _ = filled(small_buffers, program, 0, 1000, NPMCLASS="HIGH")
    small_buffers.restart()
    program = small_buffers.program()
    expected = [*range(1, 1000, 2), *range(0, 1000, 2)]
    assert program.drain(program.open(name, BOTH)) == [body_of(number) for number in expected]


def test_a_spilled_message_in_a_unit_of_work(small_buffers: Any) -> None:
    program = small_buffers.program()
    name = small_buffers.local(MAXDEPTH=100000)
    queue = program.open(name, BOTH)
    for number in range(1000):
        program.put(queue, body_of(number), mq.MQPMO_SYNCPOINT)
    assert small_buffers.queue(name).counters.spilled > 0
    program.back_out()
    assert (small_buffers.depth(name), resident_bytes(small_buffers.queue(name))) == (0, 0)
    program.put(queue, b"after")
    assert program.drain(queue) == [b"after"]


def test_large_messages(small_buffers: Any) -> None:
    program = small_buffers.program()
    name = small_buffers.local(MAXMSGL=4_000_000)
    queue = program.open(name, BOTH)
    sizes = [10, 3_000_000, 100, 1_048_576, 2_000_001]
    for number, size in enumerate(sizes):
        assert program.put(queue, bytes([number]) * size, mq.MQPMO_SYNCPOINT).reason == 0
    program.commit()
    assert program.drain(queue) == [bytes([number]) * size for number, size in enumerate(sizes)]
