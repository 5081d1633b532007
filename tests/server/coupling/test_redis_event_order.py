"""Events of Redis that come before the answers of searches which had begun earlier."""

from __future__ import annotations

from ostler.model.coupling import programs as p
from ostler.model.coupling import terms as cf
from ostler.model.coupling.events import QueueNotEmpty
from ostler.server.coupling.facility_link import Submitted
from ostler.server.coupling.redis.event_order import EventOrder


def asked(*programs: p.Program) -> dict[int, Submitted]:
    return {number: Submitted(program, 0, None) for number, program in enumerate(programs, 1)}


def get(queue: str = "Q") -> p.GetProgram:
    return p.GetProgram("APPL1", queue, cf.REMOVE)


def test_an_event_waits_for_the_searches_of_its_queue_that_had_begun() -> None:
    """The get of number 1 found nothing, and watches. Told before its answer, nobody would try it."""
    order, event = EventOrder(), QueueNotEmpty("APPL1", "Q")
    assert order.holds(event, asked(get(), get("OTHER"), p.ListProgram("APPL1", "Q", -1)))
    assert order.answered(2) == []
    assert order.answered(1) == []
    assert order.answered(3) == [event]
    assert order.answered(4) == []


def test_an_event_without_searches_is_told_at_once() -> None:
    order = EventOrder()
    others = asked(get("OTHER"), p.GetProgram("APPL2", "Q", cf.REMOVE), p.MembersProgram())
    assert not order.holds(QueueNotEmpty("APPL1", "Q"), others)
    assert order.answered(1) == []


def test_searches_that_begin_later_do_not_keep_an_event() -> None:
    order, first, second = EventOrder(), QueueNotEmpty("APPL1", "Q"), QueueNotEmpty("APPL1", "Q", cf.CORREL_ID, b"id")
    under_way = asked(get())
    assert order.holds(first, under_way)
    under_way[7] = Submitted(get(), 0, None)
    assert order.holds(second, under_way)
    assert order.answered(1) == [first]
    assert order.answered(7) == [second]
