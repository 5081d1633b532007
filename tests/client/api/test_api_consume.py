"""Consumers: messages handed to a program, and poison messages moved out of its way."""

from __future__ import annotations

import itertools
import threading
from collections.abc import Iterator
from typing import Any

import pytest

import ostler
from ostler.client.api.connection import Connection
from ostler.client.api.message import Message
from ostler.client.api.queue import Queue
from ostler.model import constants as mq
from ostler.model.structures.headers import MQDLH

SECONDS_MAX = 60.0
numbers = itertools.count(1)


@pytest.fixture
def qm(site: Any, way: str, admin: Connection) -> Iterator[Connection]:
    with site.connect(way, application="tests") as connection:
        yield connection
        admin.alter("QMGR", DEADQ="")


@pytest.fixture
def q(qm: Connection, admin: Connection) -> Iterator[Queue]:
    name = f"CONSUME.{next(numbers)}"
    admin.define("QLOCAL", name)
    with qm.open(name) as queue:
        yield queue


class Collector:
    """A handler that notes what it gets, fails on what it is told to, and says when enough has come."""

    def __init__(self, enough: int, poison: str = "") -> None:
        self.bodies: list[str] = []
        self._enough = enough
        self._poison = poison
        self._lock = threading.Lock()
        self.done = threading.Event()

    def __call__(self, message: Message, connection: Connection) -> None:
        with self._lock:
            self.bodies.append(message.text)
            if len(self.bodies) >= self._enough:
                self.done.set()
        if message.body == self._poison:
            raise ValueError("poison")

    def wait(self) -> None:
        assert self.done.wait(SECONDS_MAX)


@pytest.mark.parametrize("threads", [1, 3])
def test_every_message_is_handled_once(q: Queue, threads: int) -> None:
    for number in range(30):
        q.put(str(number))
    handler = Collector(60)
    with q.consume(handler, threads=threads) as consumer:
        for number in range(30, 60):
            q.put(str(number), persistent=True)
        handler.wait()
    assert sorted(handler.bodies, key=int) == [str(number) for number in range(60)]
    assert (consumer.handled, consumer.failed, consumer.moved, consumer.error) == (60, 0, 0, None)
    assert not consumer.is_running
    assert q.depth == 0


def test_what_the_handler_puts_is_committed_with_the_message(qm: Connection, admin: Connection, q: Queue) -> None:
    admin.define("QLOCAL", "CONSUME.OUT", replace=True)
    tries = itertools.count(1)
    done = threading.Event()

    def handler(message: Message, connection: Connection) -> None:
        connection.put("CONSUME.OUT", f"{message.text} try {next(tries)}")
        if message.backout_count < 2:
            raise ValueError
        done.set()

    q.put("work")
    with q.consume(handler) as consumer:
        assert done.wait(SECONDS_MAX)
    with qm.open("CONSUME.OUT") as out:
        assert [m.body for m in out] == ["work try 3"]
    assert (consumer.handled, consumer.failed) == (1, 2)


def test_only_selected_messages_are_consumed(q: Queue) -> None:
    for number in range(4):
        q.put(str(number), properties={"n": number})
    handler = Collector(2)
    with q.consume(handler, selector="n > 1"):
        handler.wait()
    assert handler.bodies == ["2", "3"]
    assert q.depth == 2


def test_poison_goes_to_the_backout_queue(qm: Connection, admin: Connection, q: Queue) -> None:
    admin.define("QLOCAL", "CONSUME.BAD", replace=True)
    admin.alter("QLOCAL", q.name, BOTHRESH=3, BOQNAME="CONSUME.BAD")
    put = q.put("bad", persistent=True, properties={"n": 5}, correlation_id=b"C", priority=3)
    q.put("good")
    handler = Collector(4, "bad")
    with q.consume(handler) as consumer:
        handler.wait()
    assert handler.bodies == ["bad", "bad", "bad", "good"]
    assert (consumer.handled, consumer.failed, consumer.moved) == (1, 3, 1)
    with qm.open("CONSUME.BAD") as bad:
        (moved,) = list(bad)
    assert (moved.body, moved.properties, moved.message_id) == ("bad", {"n": 5}, put.message_id)
    assert (moved.correlation_id, moved.priority, moved.persistent) == (b"C".ljust(24, b"\0"), 3, True)
    assert (moved.user, moved.put_time, moved.backout_count) == (put.user, put.put_time, 0)


@pytest.mark.parametrize("target", ["", "CONSUME.NOWHERE"])
def test_poison_without_a_backout_queue_goes_to_the_dead_letter_queue(
    qm: Connection, admin: Connection, q: Queue, target: str
) -> None:
    admin.define("QLOCAL", "CONSUME.DEAD", replace=True)
    admin.alter("QMGR", DEADQ="CONSUME.DEAD")
    admin.alter("QLOCAL", q.name, BOTHRESH=1, BOQNAME=target)
    q.put("bad", properties={"n": 5})
    q.put("good")
    handler = Collector(2, "bad")
    with q.consume(handler):
        handler.wait()
    assert handler.bodies == ["bad", "good"]
    with qm.open("CONSUME.DEAD") as dead:
        (moved,) = list(dead)
    header = moved.data
    assert moved.format == "MQDEAD"
    assert MQDLH.read_int(header, "Reason") == mq.MQRC_BACKOUT_THRESHOLD_REACHED
    assert MQDLH.read_bytes(header, "DestQName").decode().rstrip() == q.name
    assert MQDLH.read_bytes(header, "DestQMgrName").decode().rstrip() == qm.name
    assert MQDLH.read_bytes(header, "Format") == b"MQSTR   "
    assert MQDLH.read_int(header, "CodedCharSetId") == 1208
    assert MQDLH.read_bytes(header, "PutApplName").decode().rstrip() == "tests"
    assert header[MQDLH.size() :] == b"bad"
    assert moved.properties == {"n": 5}


def test_poison_that_wants_to_be_discarded_is(qm: Connection, admin: Connection, q: Queue) -> None:
    admin.alter("QLOCAL", q.name, BOTHRESH=1)
    q.put("bad", report=mq.MQRO_DISCARD_MSG)
    q.put("good")
    handler = Collector(2, "bad")
    with q.consume(handler) as consumer:
        handler.wait()
    assert (consumer.moved, consumer.handled, q.depth) == (1, 1, 0)


def test_poison_that_can_go_nowhere_ends_the_consumer(qm: Connection, admin: Connection, q: Queue) -> None:
    admin.alter("QLOCAL", q.name, BOTHRESH=1)
    q.put("bad")
    consumer = q.consume(Collector(1, "bad"))
    assert consumer.join(SECONDS_MAX)
    assert isinstance(consumer.error, ostler.MQError)
    assert "DEADQ" in str(consumer.error)
    assert q.depth == 1


def test_an_alias_has_the_threshold_of_its_queue(qm: Connection, admin: Connection, q: Queue) -> None:
    admin.define("QLOCAL", "CONSUME.BAD2", replace=True)
    admin.alter("QLOCAL", q.name, BOTHRESH=1, BOQNAME="CONSUME.BAD2")
    admin.define("QALIAS", "CONSUME.ALIAS", TARGET=q.name, replace=True)
    q.put("bad")
    q.put("good")
    handler = Collector(2, "bad")
    with qm.open("CONSUME.ALIAS", "r") as alias, alias.consume(handler):
        handler.wait()
    with qm.open("CONSUME.BAD2") as bad:
        assert [m.body for m in bad] == ["bad"]


def test_a_queue_that_cannot_be_opened_twice_is_refused(site: Any, way: str) -> None:
    with (
        site.connect(way, application="once") as qm,
        qm.open_dynamic() as queue,
        pytest.raises(ostler.MQError) as caught,
    ):
        queue.consume(Collector(1))
    assert caught.value.reason == mq.MQRC_OBJECT_IN_USE
    assert site.connections("once") == 0


@pytest.mark.parametrize("mode", ["quiesce", "immediate", "preemptive"])
def test_a_consumer_ends_with_its_queue_manager(own_site: Any, way: str, mode: str) -> None:
    own_site.admin.define("QLOCAL", "Q1")
    consumer = own_site.connect(way).open("Q1").consume(Collector(1))
    own_site.until_waiting("Q1")
    own_site.server.end(mode)
    assert consumer.join(SECONDS_MAX)
    assert consumer.error is None
