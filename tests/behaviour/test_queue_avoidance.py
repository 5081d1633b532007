"""Queue avoidance: a put hands its message directly to a waiting get."""

from __future__ import annotations

import struct
from typing import Any

import pytest

from ostler import mqi
from ostler.model import constants as mq
from ostler.model.structures.md import MQMD

INPUT = mq.MQOO_INPUT_SHARED
FOREVER = {"wait": mq.MQWI_UNLIMITED}


def waiting_get(site: Any, program: Any, name: str, options: int = 0, size: int = 10000, **md: Any) -> Any:
    before = site.queue(name).waiting.count
    queue = program.open(name, INPUT)
    waiting = site.start(program.get, queue, mq.MQGMO_WAIT | options, size, version=2, **FOREVER, **md)
    site.until_waiting(name, before + 1)
    return waiting


def test_a_message_handed_over_never_takes_a_slot(site: Any, program: Any) -> None:
    name = site.local()
    other = site.program()
    for number in range(1, 6):
        waiting = waiting_get(site, program, name)
        assert other.put1(name, b"%d" % number).reason == 0
        assert waiting.result(60).body == b"%d" % number
        assert site.queue(name).counters.handed_over == number
    assert site.queue(name).slots.count == 0
    assert (site.depth(name), site.queue(name).counters.puts, site.queue(name).counters.gets) == (0, 5, 5)


def test_who_wants_a_token_gets_one(site: Any, program: Any) -> None:
    name = site.local()
    waiting = site.start(program.get, program.open(name, INPUT), mq.MQGMO_WAIT, version=3, **FOREVER)
    site.until_waiting(name)
    site.program().put1(name, b"x")
    answer = waiting.result(60)
    assert (answer.body, answer.options.id("MsgToken") != bytes(16)) == (b"x", True)


def test_nothing_is_handed_over_without_a_waiting_get(site: Any, program: Any) -> None:
    name = site.local()
    queue = program.open(name, INPUT | mq.MQOO_OUTPUT)
    program.put(queue)
    program.get(queue)
    assert site.queue(name).counters.handed_over == 0


@pytest.mark.parametrize("persistence", [0, 1])
def test_a_message_handed_over_under_syncpoint_returns_when_backed_out(
    site: Any, program: Any, persistence: int
) -> None:
    name = site.local()
    waiting = waiting_get(site, program, name, mq.MQGMO_SYNCPOINT)
    site.program().put1(name, b"back", Persistence=persistence)
    assert waiting.result(60).body == b"back"
    assert site.depth(name) == 0
    program.back_out()
    assert site.depth(name) == 1
    answer = program.get(program.open(name, INPUT))
    assert (answer.body, answer.md["BackoutCount"]) == (b"back", 1)


def test_a_persistent_message_handed_over_survives_only_until_it_is_committed(own_site: Any) -> None:
    name = own_site.local()
    kept, gone = own_site.program(), own_site.program()
    first = waiting_get(own_site, kept, name, mq.MQGMO_SYNCPOINT)
    second = waiting_get(own_site, gone, name, mq.MQGMO_SYNCPOINT)
    putter = own_site.program()
    putter.put1(name, b"kept", Persistence=1)
    putter.put1(name, b"gone", Persistence=1)
    assert (first.result(60).body, second.result(20).body) == (b"kept", b"gone")
    gone.commit()
    own_site.crash()
    assert [each.body for each in own_site.program().browse(name)] == [b"kept"]


def test_a_persistent_message_handed_over_outside_syncpoint_is_gone_after_a_crash(own_site: Any) -> None:
    name = own_site.local()
    waiting = waiting_get(own_site, own_site.program(), name)
    own_site.program().put1(name, b"once", Persistence=1)
    assert waiting.result(60).body == b"once"
    own_site.crash()
    assert own_site.depth(name) == 0


def test_a_message_too_long_for_who_waits_stays(site: Any, program: Any) -> None:
    name = site.local()
    waiting = waiting_get(site, program, name, size=3)
    other = site.program()
    other.put1(name, b"longer")
    answer = waiting.result(60)
    assert (answer.reason, answer.body, answer.length) == (mq.MQRC_TRUNCATED_MSG_FAILED, b"lon", 6)
    assert [each.body for each in other.browse(name)] == [b"longer"]


def test_a_message_that_its_properties_make_too_long_stays(site: Any, program: Any) -> None:
    name = site.local(PROPCTL="FORCE")
    waiting = waiting_get(site, program, name, size=20)
    other = site.program()
    hmsg, _, _ = mqi.MQCRTMH(other.hconn, bytearray(b"CMHO" + struct.pack("<ii", 1, 0)))
    mqi.MQSETMP(other.hconn, hmsg, None, "colour", None, mq.MQTYPE_STRING, b"blue")
    od = bytearray(b"OD  " + struct.pack("<ii48s48s48s12s", 1, 1, name.encode().ljust(48), b"", b"", b""))
    pmo = bytearray(b"PMO " + struct.pack("<ii", 3, mq.MQPMO_NO_SYNCPOINT) + bytes(172))
    struct.pack_into("<q", pmo, 160, hmsg)
    assert mqi.MQPUT1(other.hconn, od, MQMD.default(), pmo, b"short") == (0, 0)
    answer = waiting.result(60)
    assert answer.reason == mq.MQRC_TRUNCATED_MSG_FAILED
    assert answer.length > 20
    messages = other.browse(name)
    assert len(messages) == site.depth(name) == 1
    assert messages[0].body.endswith(b"short")


def test_older_messages_come_first(site: Any, program: Any) -> None:
    name = site.local(GET="DISABLED")
    other = site.program()
    other.put1(name, b"old")
    site.alter(name, GET="ENABLED")
    waiting = waiting_get(site, program, name, CorrelId=b"k" * 24)
    other.put1(name, b"new", CorrelId=b"k" * 24)
    assert waiting.result(60).body == b"new"
    assert program.get(program.open(name, INPUT)).body == b"old"


def test_a_handed_over_message_leaves_context_to_pass_on(site: Any, program: Any) -> None:
    name = site.local()
    queue = program.open(name, INPUT | mq.MQOO_SAVE_ALL_CONTEXT)
    waiting = site.start(program.get, queue, mq.MQGMO_WAIT, version=2, **FOREVER)
    site.until_waiting(name)
    site.program("carol").put1(name)
    assert waiting.result(60).reason == 0
    target = program.open(site.local(), mq.MQOO_OUTPUT | mq.MQOO_PASS_ALL_CONTEXT)
    answer = program.put(target, b"", mq.MQPMO_PASS_ALL_CONTEXT, queue)
    assert (answer.reason, answer.md["UserIdentifier"]) == (0, b"carol")


def test_a_handed_over_group_message_fills_in_its_status(site: Any, program: Any) -> None:
    name = site.local()
    waiting = waiting_get(site, program, name)
    site.program().put1(name, b"x", GroupId=b"g" * 24, MsgFlags=mq.MQMF_LAST_MSG_IN_GROUP)
    answer = waiting.result(60)
    assert answer.options["GroupStatus"] == ord("L")
    assert answer.md.id("GroupId") == b"g" * 24
