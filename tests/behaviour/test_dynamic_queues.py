"""Dynamic queues: created from a model, named, closed and deleted."""

from __future__ import annotations

import re
from typing import Any

import pytest

from ostler.model import constants as mq

BOTH = mq.MQOO_INPUT_SHARED | mq.MQOO_OUTPUT
DELETE = mq.MQCO_DELETE
PURGE = mq.MQCO_DELETE_PURGE


def dynamic(site: Any, program: Any, kind: str, name: str = "DYN.*", **attributes: Any) -> tuple[int, str]:
    queue = program.open(site.model(DEFTYPE=kind, SHARE="SHARE", **attributes), BOTH, dynamic=name)
    return queue, program.handle(queue).name


# -- names


def test_the_name_may_be_given(site: Any, program: Any) -> None:
    queue, name = dynamic(site, program, "TEMPDYN", "JUST.SO")
    assert name == "JUST.SO"
    assert program.opened["ObjectName"] == b"JUST.SO"
    assert program.opened["ResolvedQName"] == b"JUST.SO"
    assert program.close(queue) == 0


@pytest.mark.parametrize("prefix", ["", "A", "REPLY.", "X" * 32])
def test_an_asterisk_becomes_something_unique(site: Any, program: Any, prefix: str) -> None:
    names = [dynamic(site, program, "TEMPDYN", prefix + "*")[1] for _ in range(3)]
    assert len(set(names)) == 3
    for name in names:
        assert re.fullmatch(re.escape(prefix) + r"[0-9A-F]{16}", name)
        assert len(name) <= 48


@pytest.mark.parametrize("name", ["", "A*B", "BAD NAME", "bad!", "*" * 2, "X" * 33 + "*"])
def test_names_that_are_none(site: Any, program: Any, name: str) -> None:
    model = site.model()
    before = len(site.manager.engine.queues)
    assert program.reason_of_open(model, BOTH, dynamic=name) == mq.MQRC_DYNAMIC_Q_NAME_ERROR
    assert len(site.manager.engine.queues) == before


def test_a_name_that_is_taken(site: Any, program: Any) -> None:
    taken = site.local()
    assert program.reason_of_open(site.model(), BOTH, dynamic=taken) == mq.MQRC_OBJECT_ALREADY_EXISTS
    alias = site.alias(taken)
    assert program.reason_of_open(site.model(), BOTH, dynamic=alias) == mq.MQRC_OBJECT_ALREADY_EXISTS


def test_it_has_the_attributes_of_its_model(site: Any, program: Any) -> None:
    queue, name = dynamic(site, program, "TEMPDYN", MAXDEPTH=2, DEFPRTY=4, MAXMSGL=10)
    assert program.put(queue, b"x" * 11).reason == mq.MQRC_MSG_TOO_BIG_FOR_Q
    assert [program.put(queue).md["Priority"] for _ in range(2)] == [4, 4]
    assert program.put(queue).reason == mq.MQRC_Q_FULL
    assert site.queue(name).definition.attributes["DEFTYPE"] == mq.MQQDT_TEMPORARY_DYNAMIC


def test_a_refused_open_leaves_no_queue_behind(site: Any, program: Any) -> None:
    before = set(site.manager.engine.queues)
    model = site.model()
    assert program.reason_of_open(model, BOTH, dynamic="GONE.*", selector="a = ") != 0
    assert set(site.manager.engine.queues) == before


# -- temporary ones


def test_a_temporary_queue_goes_with_the_handle_that_made_it(site: Any, program: Any) -> None:
    queue, name = dynamic(site, program, "TEMPDYN")
    program.put(queue, b"lost")
    other = site.program()
    theirs = other.open(name, BOTH)
    assert other.put(theirs, b"too").reason == 0
    assert program.close(queue) == 0
    assert name not in site.manager.engine.queues
    assert other.put(theirs).reason == mq.MQRC_Q_DELETED
    assert other.get(theirs).reason == mq.MQRC_Q_DELETED
    assert other.close(theirs) == 0
    assert other.reason_of_open(name, BOTH) == mq.MQRC_UNKNOWN_OBJECT_NAME


@pytest.mark.parametrize("options", [DELETE, PURGE])
def test_only_its_maker_deletes_a_temporary_queue(site: Any, program: Any, options: int) -> None:
    queue, name = dynamic(site, program, "TEMPDYN")
    program.put(queue, b"lost")
    other = site.program()
    theirs = other.open(name, BOTH)
    assert other.close(theirs, options) == mq.MQRC_OPTION_NOT_VALID_FOR_TYPE
    assert other.get(theirs).body == b"lost"
    assert other.close(theirs) == 0
    program.put(queue, b"lost")
    assert program.close(queue, options) == 0
    assert name not in site.manager.engine.queues


def test_a_temporary_queue_goes_with_its_units_of_work(site: Any, program: Any) -> None:
    queue, name = dynamic(site, program, "TEMPDYN")
    other = site.program()
    theirs = other.open(name, BOTH)
    elsewhere = other.open(site.local(), BOTH)
    other.put(theirs, b"uncommitted", mq.MQPMO_SYNCPOINT)
    other.put(elsewhere, b"kept", mq.MQPMO_SYNCPOINT)
    assert program.close(queue) == 0
    assert other.commit() == 0
    assert other.drain(elsewhere) == [b"kept"]


def test_a_temporary_queue_takes_nothing_persistent(site: Any, program: Any) -> None:
    queue, name = dynamic(site, program, "TEMPDYN")
    assert program.put(queue, Persistence=1).reason == mq.MQRC_PERSISTENT_NOT_ALLOWED
    assert site.depth(name) == 0


def test_a_temporary_queue_does_not_survive(own_site: Any) -> None:
    _, name = dynamic(own_site, own_site.program(), "TEMPDYN")
    _, kept = dynamic(own_site, own_site.program(), "PERMDYN")
    own_site.crash()
    assert name not in own_site.manager.engine.queues
    assert kept in own_site.manager.engine.queues


def test_disconnecting_deletes_temporary_queues(site: Any) -> None:
    first = site.program()
    _, name = dynamic(site, first, "TEMPDYN")
    first.disconnect()
    assert name not in site.manager.engine.queues


def test_put1_makes_no_queue(site: Any, program: Any) -> None:
    model = site.model(DEFTYPE="TEMPDYN")
    before = set(site.manager.engine.queues)
    assert program.put1(model, b"").reason == mq.MQRC_Q_TYPE_ERROR
    assert set(site.manager.engine.queues) == before


# -- permanent ones


def test_a_permanent_queue_stays_with_its_messages(own_site: Any) -> None:
    program = own_site.program()
    queue, name = dynamic(own_site, program, "PERMDYN")
    program.put(queue, b"kept", Persistence=1)
    assert program.close(queue) == 0
    own_site.crash()
    program = own_site.program()
    queue = program.open(name, BOTH)
    assert program.get(queue).body == b"kept"
    assert own_site.queue(name).definition.attributes["DEFTYPE"] == mq.MQQDT_PERMANENT_DYNAMIC
    assert program.close(queue, DELETE) == 0
    own_site.crash()
    assert name not in own_site.manager.engine.queues


def test_an_empty_permanent_queue_is_deleted_by_anybody(site: Any, program: Any) -> None:
    queue, name = dynamic(site, program, "PERMDYN")
    program.close(queue)
    other = site.program()
    assert other.close(other.open(name, BOTH), DELETE) == 0
    assert name not in site.manager.engine.queues


def test_a_permanent_queue_with_messages_is_only_purged(site: Any, program: Any) -> None:
    queue, name = dynamic(site, program, "PERMDYN")
    program.put(queue, b"there")
    assert program.close(queue, DELETE) == mq.MQRC_Q_NOT_EMPTY
    assert site.depth(name) == 1
    assert program.close(queue, PURGE) == 0
    assert name not in site.manager.engine.queues


@pytest.mark.parametrize("options", [DELETE, PURGE])
@pytest.mark.parametrize("work", ["put", "get"])
def test_a_permanent_queue_with_uncommitted_work_is_not_deleted(
    site: Any, program: Any, options: int, work: str
) -> None:
    queue, name = dynamic(site, program, "PERMDYN")
    if work == "put":
        program.put(queue, b"", mq.MQPMO_SYNCPOINT)
    else:
        program.put(queue, b"")
        program.get(queue, mq.MQGMO_SYNCPOINT)
    assert program.close(queue, options) == mq.MQRC_Q_NOT_EMPTY
    program.back_out()
    assert program.close(queue, PURGE) == 0
    assert name not in site.manager.engine.queues


@pytest.mark.parametrize("options", [DELETE, PURGE])
def test_other_handles_get_q_deleted_after_a_deletion(site: Any, program: Any, options: int) -> None:
    queue, name = dynamic(site, program, "PERMDYN")
    other = site.program()
    theirs = other.open(name, BOTH)
    waiting = site.start(other.get, theirs, mq.MQGMO_WAIT, wait=mq.MQWI_UNLIMITED)
    site.until_waiting(name)
    assert program.close(queue, options) == 0
    assert waiting.result(60).reason == mq.MQRC_Q_DELETED
    assert other.put(theirs).reason == mq.MQRC_Q_DELETED
    assert other.close(theirs) == 0


# -- what is not dynamic


@pytest.mark.parametrize("options", [DELETE, PURGE])
def test_other_queues_are_not_deleted_by_closing_them(site: Any, program: Any, options: int) -> None:
    name = site.local()
    for opened in (name, site.alias(name)):
        queue = program.open(opened, BOTH)
        assert program.close(queue, options) == mq.MQRC_OPTION_NOT_VALID_FOR_TYPE
        assert program.close(queue) == 0
    assert name in site.manager.engine.queues


@pytest.mark.parametrize("options", [DELETE | PURGE, 0x100, -1])
def test_wrong_close_options(site: Any, program: Any, options: int) -> None:
    queue = program.open(site.local(), BOTH)
    assert program.close(queue, options) in (mq.MQRC_OPTIONS_ERROR, mq.MQRC_OPTION_NOT_VALID_FOR_TYPE)
    assert program.put(queue).reason == 0


def test_a_model_makes_queues_for_one_getter_unless_it_says_otherwise(site: Any, program: Any) -> None:
    queue = program.open(site.model(), BOTH, dynamic="ALONE.*")
    name = program.handle(queue).name
    assert site.program().reason_of_open(name, mq.MQOO_INPUT_SHARED) == mq.MQRC_OBJECT_IN_USE
    assert site.program().reason_of_open(name, mq.MQOO_OUTPUT) == 0
