"""Several threads at once: nothing is lost, nothing comes twice, and the totals are exact."""

from __future__ import annotations

import threading
from collections import Counter
from typing import Any

import pytest

from ostler.model import constants as mq
from ostler.observe.statistics import between

INPUT = mq.MQOO_INPUT_SHARED
OUTPUT = mq.MQOO_OUTPUT
THREADS = 4
EACH = 250


def put_some(program: Any, name: str, who: int, options: int, **md: Any) -> None:
    queue = program.open(name, OUTPUT)
    for number in range(EACH):
        assert program.put(queue, b"%d:%d" % (who, number), options, **md).reason == 0
        if options == mq.MQPMO_SYNCPOINT and number % 10 == 9:
            assert program.commit() == 0
    program.commit()


def get_until(program: Any, name: str, over: threading.Event, options: int) -> list[bytes]:
    queue = program.open(name, INPUT)
    bodies = []
    while True:
        is_last = over.is_set()  # what comes after a wait that was in vain is the next one's
        answer = program.get(queue, mq.MQGMO_WAIT | options, wait=20)
        if answer.reason == 0:
            bodies.append(answer.body)
            if len(bodies) % 10 == 0:
                program.commit()
        elif is_last:
            program.commit()
            return bodies


@pytest.mark.parametrize(
    ("persistence", "put", "get"),
    [
        (0, mq.MQPMO_NO_SYNCPOINT, mq.MQGMO_NO_SYNCPOINT),
        (0, mq.MQPMO_SYNCPOINT, mq.MQGMO_SYNCPOINT),
        (1, mq.MQPMO_SYNCPOINT, mq.MQGMO_SYNCPOINT),
    ],
)
def test_every_message_arrives_once(site: Any, persistence: int, put: int, get: int) -> None:
    name = site.local(MAXDEPTH=100000)
    putters = [site.program() for _ in range(THREADS)]
    getters = [site.program() for _ in range(THREADS)]
    before = site.manager.statistics()
    over = threading.Event()
    getting = [site.start(get_until, each, name, over, get) for each in getters]
    putting = [site.start(put_some, each, name, who, put, Persistence=persistence) for who, each in enumerate(putters)]
    for each in putting:
        each.result(60)
    over.set()
    received = [each.result(60) for each in getting]
    everything = Counter(body for bodies in received for body in bodies)
    assert everything == Counter(b"%d:%d" % (who, number) for who in range(THREADS) for number in range(EACH))
    # Each getter has the messages of each putter in their order.
    for bodies in received:
        for who in range(THREADS):
            numbers = [int(body.split(b":")[1]) for body in bodies if body.startswith(b"%d:" % who)]
            assert numbers == sorted(numbers)
    done = between(before, site.manager.statistics())
    total = THREADS * EACH
    sizes = sum(len(body) for body in everything)
    counts = done.queues[name]
    assert (counts["puts"], counts["gets"], counts["depth"]) == (total, total, 0)
    assert (counts["put_bytes"], counts["get_bytes"]) == (sizes, sizes)
    assert counts["puts_persistent"] == counts["gets_persistent"] == total * persistence
    assert sum(done.connections[each.connection.number]["puts"] for each in putters) == total
    assert sum(done.connections[each.connection.number]["gets"] for each in getters) == total
    assert (done.queue_manager["puts"], done.queue_manager["gets"]) == (total, total)
    assert site.queue(name).uncommitted == 0


def test_requests_and_replies(site: Any) -> None:
    """Clients that wait for the replies to their own requests, by correlation id on one shared reply queue."""
    requests, replies = site.local(), site.local()
    over = threading.Event()

    def serve(program: Any) -> int:
        source = program.open(requests, INPUT)
        target = program.open(replies, OUTPUT)
        served = 0
        while not over.is_set():
            answer = program.get(source, mq.MQGMO_WAIT, wait=20)
            if answer.reason == 0:
                served += 1
                assert program.put(target, answer.body.upper(), CorrelId=answer.message_id).reason == 0
        return served

    def ask(program: Any, who: int) -> int:
        target = program.open(requests, OUTPUT)
        source = program.open(replies, INPUT)
        for number in range(100):
            question = b"question %d of %d" % (number, who)
            put = program.put(target, question, MsgType=mq.MQMT_REQUEST, ReplyToQ=replies)
            answer = program.get(source, mq.MQGMO_WAIT, wait=60000, CorrelId=put.message_id)
            assert (answer.reason, answer.body) == (0, question.upper())
        return 100

    servers = [site.start(serve, site.program()) for _ in range(2)]
    clients = [site.start(ask, site.program(), who) for who in range(4)]
    assert [each.result(60) for each in clients] == [100] * 4
    over.set()
    assert sum(each.result(60) for each in servers) == 400
    assert (site.depth(requests), site.depth(replies)) == (0, 0)


def test_a_ring_of_units_of_work_loses_nothing(site: Any) -> None:
    """Programs move messages round between queues, some of them backing out."""
    names = [site.local() for _ in range(3)]
    starter = site.program()
    for number in range(30):
        starter.put1(names[number % 3], b"%d" % number, Persistence=number % 2)

    def move(program: Any, first: int) -> None:
        queues = [program.open(name, INPUT | OUTPUT) for name in names]
        for turn in range(200):
            source, target = queues[(first + turn) % 3], queues[(first + turn + 1) % 3]
            answer = program.get(source, mq.MQGMO_SYNCPOINT)
            if answer.reason == 0:
                fields = {"Persistence": answer.md["Persistence"]}
                assert program.put(target, answer.body, mq.MQPMO_SYNCPOINT, **fields).reason == 0
            if turn % 3 == 0:
                assert program.back_out() == 0
            else:
                assert program.commit() == 0

    moving = [site.start(move, site.program(), first) for first in range(4)]
    for each in moving:
        each.result(60)
    left = sorted(int(each.body) for name in names for each in starter.browse(name))
    assert left == list(range(30))
    assert sum(site.depth(name) for name in names) == 30
