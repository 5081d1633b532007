"""Waiting gets: wait interval, match options, and order of service."""

from __future__ import annotations

from typing import Any

import pytest

from ostler.model import constants as mq

INPUT = mq.MQOO_INPUT_SHARED
BOTH = INPUT | mq.MQOO_OUTPUT
WAIT = mq.MQGMO_WAIT
FOREVER = mq.MQWI_UNLIMITED


def put_soon(site: Any, name: str, *bodies: bytes, waiters: int = 1, **md: Any) -> None:
    """Put once the others wait."""
    site.until_waiting(name, waiters)
    for body in bodies:
        assert site.program().put1(name, body, **md).reason == 0


def test_an_empty_queue_answers_at_once_without_the_option(site: Any, program: Any) -> None:
    queue = program.open(site.local(), INPUT)
    answer = program.get(queue, mq.MQGMO_NO_WAIT, wait=60000)
    assert (answer.code, answer.reason) == (mq.MQCC_FAILED, mq.MQRC_NO_MSG_AVAILABLE)


@pytest.mark.parametrize("wait", [0, 1, 20])
def test_a_wait_that_brings_nothing_ends_with_no_message(site: Any, program: Any, wait: int) -> None:
    name = site.local()
    answer = program.get(program.open(name, INPUT), WAIT, wait=wait)
    assert answer.reason == mq.MQRC_NO_MSG_AVAILABLE
    assert site.queue(name).waiting.count == 0


@pytest.mark.parametrize("wait", [-2, -60000, -(2**31)])
def test_a_negative_wait_is_refused(site: Any, program: Any, wait: int) -> None:
    queue = program.open(site.local(), BOTH)
    program.put(queue, b"there")
    assert program.get(queue, WAIT, wait=wait).reason == mq.MQRC_WAIT_INTERVAL_ERROR
    assert program.get(queue, mq.MQGMO_NO_WAIT, wait=wait).body == b"there"


@pytest.mark.parametrize("wait", [FOREVER, 20000])
def test_a_message_ends_the_wait(site: Any, program: Any, wait: int) -> None:
    name = site.local()
    queue = program.open(name, INPUT)
    putter = site.start(put_soon, site, name, b"here")
    answer = program.get(queue, WAIT, wait=wait)
    putter.result(60)
    assert (answer.reason, answer.body) == (0, b"here")
    assert site.depth(name) == 0


@pytest.mark.parametrize("persistence", [0, 1])
@pytest.mark.parametrize("syncpoint", [mq.MQGMO_NO_SYNCPOINT, mq.MQGMO_SYNCPOINT])
def test_a_wait_ends_with_whatever_kind_of_message(site: Any, program: Any, persistence: int, syncpoint: int) -> None:
    name = site.local()
    queue = program.open(name, INPUT)
    putter = site.start(put_soon, site, name, b"here", Persistence=persistence)
    answer = program.get(queue, WAIT | syncpoint, wait=FOREVER)
    putter.result(60)
    assert (answer.body, answer.md["Persistence"]) == (b"here", persistence)
    program.back_out()
    assert site.depth(name) == (1 if syncpoint == mq.MQGMO_SYNCPOINT else 0)


def test_a_commit_ends_the_wait(site: Any, program: Any) -> None:
    name = site.local()
    waiting = site.start(program.get, program.open(name, INPUT), WAIT, wait=FOREVER)
    site.until_waiting(name)
    other = site.program()
    queue = other.open(name, mq.MQOO_OUTPUT)
    other.put(queue, b"later", mq.MQPMO_SYNCPOINT)
    assert not waiting.done()
    other.commit()
    assert waiting.result(60).body == b"later"


def test_a_back_out_ends_the_wait(site: Any, program: Any) -> None:
    name = site.local()
    other = site.program()
    theirs = other.open(name, BOTH)
    other.put(theirs, b"returned")
    assert other.get(theirs, mq.MQGMO_SYNCPOINT).body == b"returned"
    waiting = site.start(program.get, program.open(name, INPUT), WAIT, wait=FOREVER)
    site.until_waiting(name)
    other.back_out()
    answer = waiting.result(60)
    assert (answer.body, answer.md["BackoutCount"]) == (b"returned", 1)


def test_a_dropped_connection_ends_the_wait_of_others(site: Any, program: Any) -> None:
    name = site.local()
    other = site.program()
    theirs = other.open(name, BOTH)
    other.put(theirs, b"returned", Persistence=1)
    other.get(theirs, mq.MQGMO_SYNCPOINT)
    waiting = site.start(program.get, program.open(name, INPUT), WAIT, wait=FOREVER)
    site.until_waiting(name)
    other.vanish()
    assert waiting.result(60).body == b"returned"


def test_browsers_wait_too_and_leave_the_message(site: Any, program: Any) -> None:
    name = site.local()
    queue = program.open(name, mq.MQOO_BROWSE)
    waiting = site.start(program.get, queue, WAIT | mq.MQGMO_BROWSE_NEXT, wait=FOREVER)
    put_soon(site, name, b"look")
    assert waiting.result(60).body == b"look"
    assert site.depth(name) == 1


def test_one_message_serves_all_waiting_browsers_and_one_getter(site: Any) -> None:
    name = site.local()
    watchers = [site.program() for _ in range(3)]
    waits = [
        site.start(each.get, each.open(name, mq.MQOO_BROWSE), WAIT | mq.MQGMO_BROWSE_FIRST, wait=FOREVER)
        for each in watchers
    ]
    site.until_waiting(name, 3)
    getter = site.program()
    got = site.start(getter.get, getter.open(name, INPUT), WAIT, wait=FOREVER)
    put_soon(site, name, b"one", waiters=4)
    assert [each.result(60).body for each in waits] == [b"one"] * 3
    assert got.result(60).body == b"one"
    assert site.depth(name) == 0


def test_getters_are_served_in_the_order_they_came(site: Any) -> None:
    name = site.local()
    waits = []
    for number in range(4):
        each = site.program()
        waits.append(site.start(each.get, each.open(name, INPUT), WAIT, wait=FOREVER))
        site.until_waiting(name, number + 1)
    put_soon(site, name, b"0", b"1", b"2", b"3", waiters=4)
    assert [each.result(60).body for each in waits] == [b"0", b"1", b"2", b"3"]


@pytest.mark.parametrize("version", [2, 4])
@pytest.mark.parametrize("field", ["MsgId", "CorrelId"])
def test_waiting_getters_by_identifier_get_exactly_theirs(site: Any, field: str, version: int) -> None:
    name = site.local()
    keys = [b"%02d" % number * 12 for number in range(12)]
    waits = {}
    for key in keys:
        each = site.program()
        handle = each.open(name, INPUT)
        waits[key] = site.start(each.get, handle, WAIT, version=version, wait=FOREVER, **{field: key})
    site.until_waiting(name, len(keys))
    putter = site.program()
    queue = putter.open(name, mq.MQOO_OUTPUT)
    putter.put(queue, b"for nobody", **{field: b"z" * 24})
    for key in reversed(keys):
        putter.put(queue, key, **{field: key})
    for key in keys:
        answer = waits[key].result(60)
        assert (answer.body, answer.md.id(field)) == (key, key)
    assert [each.body for each in putter.browse(name)] == [b"for nobody"]


@pytest.mark.parametrize("version", [2, 4])
def test_a_getter_of_both_identifiers_waits_for_both(site: Any, program: Any, version: int) -> None:
    name = site.local()
    both = {"MsgId": b"m" * 24, "CorrelId": b"c" * 24}
    waiting = site.start(program.get, program.open(name, INPUT), WAIT, version=version, wait=FOREVER, **both)
    site.until_waiting(name)
    other = site.program()
    other.put1(name, b"half", MsgId=b"m" * 24, CorrelId=b"x" * 24)
    other.put1(name, b"other half", MsgId=b"x" * 24, CorrelId=b"c" * 24)
    assert not waiting.done()
    other.put1(name, b"both", MsgId=b"m" * 24, CorrelId=b"c" * 24)
    assert waiting.result(60).body == b"both"
    assert site.depth(name) == 2


def test_who_waits_for_a_certain_message_comes_before_who_takes_any(site: Any) -> None:
    name = site.local()
    general, specific = site.program(), site.program()
    anything = site.start(general.get, general.open(name, INPUT), WAIT, wait=FOREVER)
    site.until_waiting(name, 1)
    certain = site.start(specific.get, specific.open(name, INPUT), WAIT, wait=FOREVER, CorrelId=b"k" * 24)
    put_soon(site, name, b"keyed", waiters=2, CorrelId=b"k" * 24)
    assert certain.result(60).body == b"keyed"
    put_soon(site, name, b"plain")
    assert anything.result(60).body == b"plain"


def test_a_getter_with_too_small_a_buffer_leaves_the_message_to_the_next(site: Any) -> None:
    name = site.local()
    small, large = site.program(), site.program()
    refused = site.start(small.get, small.open(name, INPUT), WAIT, 3, wait=FOREVER)
    site.until_waiting(name, 1)
    served = site.start(large.get, large.open(name, INPUT), WAIT, 100, wait=FOREVER)
    put_soon(site, name, b"long enough", waiters=2)
    assert refused.result(60).reason == mq.MQRC_TRUNCATED_MSG_FAILED
    assert refused.result().length == len(b"long enough")
    assert served.result(60).body == b"long enough"
    assert site.depth(name) == 0


def test_waiting_for_a_selection(site: Any, program: Any) -> None:
    name = site.local()
    queue = program.open(name, INPUT, selector="Root.MQMD.Priority > 4")
    waiting = site.start(program.get, queue, WAIT, wait=FOREVER)
    put_soon(site, name, b"low", Priority=4)
    assert not waiting.done()
    put_soon(site, name, b"high", Priority=5)
    assert waiting.result(60).body == b"high"


def test_deleting_a_queue_ends_waits_on_it(site: Any, program: Any) -> None:
    queue = program.open(site.model(DEFTYPE="TEMPDYN"), BOTH, dynamic="GOING.*")
    name = program.handle(queue).name
    other = site.program()
    waiting = site.start(other.get, other.open(name, mq.MQOO_BROWSE), WAIT | mq.MQGMO_BROWSE_FIRST, wait=FOREVER)
    site.until_waiting(name)
    assert program.close(queue) == 0
    assert waiting.result(60).reason == mq.MQRC_Q_DELETED
