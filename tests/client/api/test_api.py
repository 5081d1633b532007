"""The blocking API: messages as they are put, got, browsed, selected and answered."""

from __future__ import annotations

import getpass
import itertools
from collections.abc import Iterator
from dataclasses import fields
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

import ostler
from ostler.client.api.connection import Connection
from ostler.client.api.message import Message, MessageFields
from ostler.client.api.property_types import PropertyValue
from ostler.client.api.queue import Queue
from ostler.model import constants as mq
from ostler.server.config.qm_ini import LogSection

LOG = LogSection(file_pages=64)
numbers = itertools.count(1)


@pytest.fixture
def qm(site: Any, way: str) -> Iterator[Connection]:
    with site.connect(way, user="fred", application="tests") as connection:
        yield connection


@pytest.fixture
def q(qm: Connection, admin: Connection) -> Iterator[Queue]:
    name = f"API.{next(numbers)}"
    admin.define("QLOCAL", name)
    with qm.open(name) as queue:
        yield queue
    admin.delete("QLOCAL", name, purge=True)


def refused(reason: int) -> pytest.RaisesExc[ostler.MQError]:
    return pytest.RaisesExc(ostler.MQError, check=lambda error: error.reason == reason)


def test_text_comes_back_as_text(q: Queue) -> None:
    put = q.put("Grüß Gott, 世界")
    got = q.get()
    assert got is not None
    assert got.body == "Grüß Gott, 世界"
    assert got.format == "MQSTR"
    assert got.ccsid == 1208
    assert got.data == "Grüß Gott, 世界".encode()
    assert got.message_id == put.message_id
    assert len(got.message_id) == 24


def test_bytes_come_back_as_bytes(q: Queue) -> None:
    q.put(b"\x00\xff\x80")
    got = q.get()
    assert got is not None
    assert (got.body, got.format) == (b"\x00\xff\x80", "")


@pytest.mark.parametrize("kind", [bytearray, memoryview])
def test_other_buffers_are_bytes_too(q: Queue, kind: type) -> None:
    q.put(kind(b"abc"))
    got = q.get()
    assert got is not None
    assert got.body == b"abc"


def test_text_in_another_code_page(q: Queue) -> None:
    q.put("Straße", ccsid=500)
    assert [m.data for m in q.browse()] == ["Straße".encode("cp500")]
    converted = q.get(convert=True)
    assert converted is not None
    assert (converted.body, converted.ccsid) == ("Straße", 1208)


def test_text_that_is_none_stays_bytes(q: Queue) -> None:
    q.put(b"\xff\xfe\xff", format="MQSTR", ccsid=1208)
    got = q.get()
    assert got is not None
    assert got.body == b"\xff\xfe\xff"
    with pytest.raises(ostler.MQError):
        _ = got.text


def test_no_message_is_none(q: Queue) -> None:
    assert q.get() is None
    assert q.get(wait=0.01) is None


def test_every_field_of_the_descriptor_travels(q: Queue) -> None:
    sent = Message(
        "body",
        message_id=b"M" * 24,
        correlation_id=b"C" * 24,
        priority=7,
        persistent=True,
        expiry=1000.0,
        reply_to="REPLY",
        reply_to_manager="ELSEWHERE",
        message_type=mq.MQMT_REQUEST,
        report=mq.MQRO_PASS_CORREL_ID,
        feedback=65_536,
        properties={"colour": "blue"},
        group_id=b"G" * 24,
        sequence_number=3,
        flags=mq.MQMF_MSG_IN_GROUP,
    )
    q.put(sent)
    got = q.get()
    assert got is not None
    assert got.expiry is not None
    assert 500 < got.expiry <= 1000
    travels = (
        "body message_id correlation_id priority persistent reply_to reply_to_manager message_type report feedback"
    )
    for name in [*travels.split(), "message_type", "properties", "group_id", "sequence_number", "flags"]:
        assert getattr(got, name) == getattr(sent, name), name


def test_the_queue_manager_says_who_put_it_and_when(q: Queue, way: str) -> None:
    q.put("x")
    got = q.get()
    assert got is not None
    # Over its own socket the queue manager knows who is there from the kernel.
    user = getpass.getuser() if way == "local" else "fred"
    assert (got.user, got.application, got.application_type) == (user, "tests", mq.MQAT_UNIX)
    assert got.put_time is not None
    assert abs(datetime.now(UTC) - got.put_time) < timedelta(minutes=5)


def test_a_put_can_set_the_whole_context(qm: Connection, q: Queue) -> None:
    when = datetime(2001, 2, 3, 4, 5, 6, 780_000, UTC)
    with qm.open(q.name, "w", options=mq.MQOO_SET_ALL_CONTEXT) as out:
        out.put(
            "x",
            options=mq.MQPMO_SET_ALL_CONTEXT,
            user="someone",
            application="elsewhere",
            application_type=mq.MQAT_CICS,
            accounting_token=b"token",
            identity_data="who",
            origin_data="orig",
            put_time=when,
        )
    got = q.get()
    assert got is not None
    assert (got.user, got.application, got.application_type) == ("someone", "elsewhere", mq.MQAT_CICS)
    assert (got.accounting_token, got.identity_data, got.origin_data) == (b"token", "who", "orig")
    assert got.put_time == when


def test_defaults_are_those_of_the_queue(admin: Connection, q: Queue) -> None:
    admin.alter("QLOCAL", q.name, DEFPRTY=6, DEFPSIST="YES")
    put = q.put("x")
    assert (put.priority, put.persistent) == (6, True)


def test_what_can_be_given_is_what_a_message_has() -> None:
    only_of_got_messages = {"body", "backout_count", "token", "warning", "topic", "is_retained", "user_data"}
    assert set(MessageFields.__annotations__) == {each.name for each in fields(Message)} - only_of_got_messages


@pytest.mark.parametrize(
    "bad",
    [
        {"message_id": b"x" * 25},
        {"reply_to": "x" * 49},
        {"format": "TOOLONGFOR"},
        {"priority": 1 << 40},
        {"user": "thirteenchars"},
    ],
)
def test_a_field_that_does_not_fit_is_refused(q: Queue, bad: MessageFields) -> None:
    with refused(mq.MQRC_MD_ERROR):
        q.put("x", **bad)
    assert q.depth == 0


@pytest.mark.parametrize("expiry", [0, -0.1, -5])
def test_no_time_to_live_is_no_expiry(q: Queue, expiry: float) -> None:
    with refused(mq.MQRC_EXPIRY_ERROR):
        q.put("x", expiry=expiry)


def test_text_needs_a_known_code_page(q: Queue) -> None:
    with refused(mq.MQRC_TARGET_CCSID_ERROR):
        q.put("x", ccsid=77_777)


# -- properties ------------------------------------------------------------------------------------------------------


def test_properties_keep_their_types(q: Queue) -> None:
    given: dict[str, PropertyValue] = {
        "truth": True,
        "small": 5,
        "big": 1 << 40,
        "half": 0.5,
        "text": "héllo",
        "raw": b"\x00\x01",
        "nothing": None,
        "eight": ostler.Int8(-3),
        "sixteen": ostler.Int16(300),
        "long": ostler.Int64(7),
        "single": ostler.Float32(1.5),
        "shop.item.price": 12,
    }
    q.put("x", properties=given)
    got = q.get()
    assert got is not None
    assert got.properties == given
    kinds = {name: type(value) for name, value in got.properties.items()}
    assert kinds["eight"] is ostler.Int8
    assert kinds["sixteen"] is ostler.Int16
    assert kinds["long"] is ostler.Int64
    assert kinds["single"] is ostler.Float32
    assert kinds["small"] is int
    assert kinds["truth"] is bool


def test_a_message_passed_on_keeps_its_property_types(q: Queue) -> None:
    q.put("x", properties={"n": ostler.Int64(1)})
    first = q.get()
    assert first is not None
    q.put(first)
    second = q.get()
    assert second is not None
    assert type(second.properties["n"]) is ostler.Int64
    assert second.message_id == first.message_id


@pytest.mark.parametrize("name", ["", "a..b", "JMSWhatever", "and", "with blank"])
def test_a_bad_property_name_is_refused(q: Queue, name: str) -> None:
    with pytest.raises(ostler.MQError) as caught:
        q.put("x", properties={name: 1})
    assert caught.value.reason in (mq.MQRC_PROPERTY_NAME_ERROR, mq.MQRC_PROPERTY_NAME_LENGTH_ERR)
    assert q.depth == 0


def test_a_bad_property_value_is_refused(q: Queue) -> None:
    with refused(mq.MQRC_PROPERTY_TYPE_ERROR):
        q.put("x", properties={"a": [1]})  # type: ignore[dict-item]
    with refused(mq.MQRC_PROP_NUMBER_FORMAT_ERROR):
        q.put("x", properties={"a": ostler.Int8(1000)})


def test_properties_in_an_mqrfh2_are_properties(qm: Connection, q: Queue) -> None:
    folder = b"<usr><colour>blue</colour></usr>"
    header = b"RFH \x02\0\0\0" + (36 + 4 + len(folder)).to_bytes(4, "little")
    header += (546).to_bytes(4, "little") + (1208).to_bytes(4, "little") + b"MQSTR   " + bytes(4)
    header += (1208).to_bytes(4, "little") + len(folder).to_bytes(4, "little") + folder
    q.put(header + b"data", format="MQHRF2", ccsid=1208)
    got = q.get(selector="colour = 'blue'")
    assert got is not None
    assert (got.body, got.format, got.properties) == ("data", "MQSTR", {"colour": "blue"})


# -- choosing messages -----------------------------------------------------------------------------------------------


def test_get_by_identifiers(q: Queue) -> None:
    one, two, three = (q.put(text, correlation_id=text.encode()) for text in ("one", "two", "three"))
    assert three.correlation_id == b"three".ljust(24, b"\0")
    by_message = q.get(message_id=two.message_id)
    by_correlation = q.get(correlation_id=b"three")
    assert (by_message and by_message.body, by_correlation and by_correlation.body) == ("two", "three")
    assert q.get(message_id=one.message_id, correlation_id=b"two") is None
    assert [m.body for m in q] == ["one"]


def test_get_by_group_and_sequence_number(q: Queue) -> None:
    for number in (1, 2):
        q.put(str(number), group_id=b"G", sequence_number=number, flags=mq.MQMF_MSG_IN_GROUP)
    got = q.get(group_id=b"G", sequence_number=2)
    assert got is not None
    assert got.body == "2"
    assert q.get(group_id=b"H") is None


def test_get_by_selector(q: Queue) -> None:
    for number in range(5):
        q.put(str(number), properties={"n": number})
    assert [m.body for m in q.messages(selector="n BETWEEN 1 AND 2 OR n = 4")] == ["1", "2", "4"]
    assert q.depth == 2


def test_a_selector_with_a_fault_says_where(q: Queue) -> None:
    with pytest.raises(ostler.MQError) as caught:
        q.get(selector="n = = 3")
    assert caught.value.reason == mq.MQRC_SELECTOR_SYNTAX_ERROR


def test_open_with_a_selector(qm: Connection, q: Queue) -> None:
    for number in range(3):
        q.put(str(number), properties={"n": number})
    with qm.open(q.name, "r", selector="n > 0") as some:
        assert [m.body for m in some.browse()] == ["1", "2"]
        assert [m.body for m in some] == ["1", "2"]


def test_priorities_come_first(q: Queue) -> None:
    for priority in (1, 9, 5):
        q.put(str(priority), priority=priority)
    assert [m.body for m in q] == ["9", "5", "1"]


def test_a_message_that_is_too_long_stays(q: Queue) -> None:
    q.put(b"x" * 100)
    with pytest.raises(ostler.MQError) as caught:
        q.get(max_bytes=10)
    assert (caught.value.reason, caught.value.completion) == (mq.MQRC_TRUNCATED_MSG_FAILED, mq.MQCC_WARNING)
    assert q.depth == 1
    cut = q.get(max_bytes=10, truncate=True)
    assert cut is not None
    assert (cut.body, cut.warning) == (b"x" * 10, mq.MQRC_TRUNCATED_MSG_ACCEPTED)
    assert q.depth == 0


def test_further_options_reach_the_queue_manager(q: Queue) -> None:
    for number, flags in ((1, mq.MQMF_MSG_IN_GROUP), (2, mq.MQMF_LAST_MSG_IN_GROUP)):
        q.put(str(number), options=mq.MQPMO_LOGICAL_ORDER, flags=flags)
    got = [q.get(options=mq.MQGMO_LOGICAL_ORDER | mq.MQGMO_ALL_MSGS_AVAILABLE) for _ in range(2)]
    assert [m.body for m in got if m is not None] == ["1", "2"]
    assert len({m.group_id for m in got if m is not None}) == 1


# -- browsing --------------------------------------------------------------------------------------------------------


def test_browsing_leaves_the_messages(q: Queue) -> None:
    for text in "abc":
        q.put(text)
    assert [m.body for m in q.browse()] == ["a", "b", "c"]
    assert q.depth == 3


def test_two_browsers_do_not_disturb_each_other(q: Queue) -> None:
    for text in "abc":
        q.put(text)
    with q.browse() as one, q.browse() as two:
        first = [one.next(), one.next(), two.next(), one.next(), one.next(), two.next()]
    assert [m.body if m is not None else None for m in first] == ["a", "b", "a", "c", None, "b"]


def test_browsers_close_their_handles(site: Any, admin: Connection, q: Queue) -> None:
    q.put("x")
    list(q.browse())
    iterator = iter(q.browse())
    next(iterator)
    iterator.close()  # type: ignore[attr-defined]
    with q.browse() as browser:
        browser.next()
    assert admin.display("QLOCAL", q.name, "IPPROCS", "OPPROCS")[0]["OPPROCS"] == 1
    assert site.handles("tests") == 1


# -- one call --------------------------------------------------------------------------------------------------------


def test_put_without_opening(qm: Connection, q: Queue) -> None:
    qm.put(q.name, "one", priority=3)
    got = q.get()
    assert got is not None
    assert (got.body, got.priority) == ("one", 3)


def test_put_to_a_queue_that_is_not_there(qm: Connection) -> None:
    with refused(mq.MQRC_UNKNOWN_OBJECT_NAME) as caught:
        qm.put("NOT.THERE", "x")
    assert "NOT.THERE" in str(caught.value)


def test_put_through_a_remote_definition(qm: Connection, admin: Connection, q: Queue) -> None:
    admin.alter("QLOCAL", q.name, USAGE="XMITQ")
    qm.put("THERE", "x", manager=q.name)
    got = q.get()
    assert got is not None
    assert got.format == "MQXMIT"


def test_the_exception_says_it_in_words_and_numbers(qm: Connection) -> None:
    with pytest.raises(ostler.MQError) as caught:
        qm.open("NOT.THERE")
    assert (caught.value.completion, caught.value.reason) == (2, 2085)
    assert "MQRC_UNKNOWN_OBJECT_NAME (2085)" in str(caught.value)


@pytest.mark.parametrize("mode", ["", "z", "rx"])
def test_a_bad_mode_is_refused(qm: Connection, q: Queue, mode: str) -> None:
    if mode == "":
        with qm.open(q.name, mode) as only_inquire, refused(mq.MQRC_NOT_OPEN_FOR_OUTPUT):
            only_inquire.put("x")
        return
    with refused(mq.MQRC_OPTIONS_ERROR):
        qm.open(q.name, mode)


def test_modes_open_for_what_they_say(qm: Connection, q: Queue) -> None:
    with qm.open(q.name, "w") as out, refused(mq.MQRC_NOT_OPEN_FOR_INPUT):
        out.get()
    with qm.open(q.name, "b") as looking:
        with refused(mq.MQRC_NOT_OPEN_FOR_INPUT):
            looking.get()
        assert list(looking.browse()) == []
    q.close()
    with qm.open(q.name, "x"), refused(mq.MQRC_OBJECT_IN_USE):
        qm.open(q.name, "r")


# -- request and reply -----------------------------------------------------------------------------------------------


def test_a_reply_finds_its_request(qm: Connection, site: Any, way: str, q: Queue) -> None:
    with site.connect(way) as server, server.open(q.name, "r") as work:

        def answer(message: Message, connection: Connection) -> None:
            connection.reply(message, f"{message.text}!")

        with work.consume(answer) as consumer:
            assert [qm.request(q.name, text, wait=30).body for text in ("a", "b")] == ["a!", "b!"]
        assert consumer.error is None


def test_no_reply_is_an_error(qm: Connection, q: Queue) -> None:
    with refused(mq.MQRC_NO_MSG_AVAILABLE):
        qm.request(q.name, "anybody?", wait=0.01)


def test_a_request_with_a_reply_queue_may_be_persistent(qm: Connection, admin: Connection, q: Queue) -> None:
    admin.define("QLOCAL", "API.REPLIES", replace=True)
    with refused(mq.MQRC_NO_MSG_AVAILABLE):
        qm.request(q.name, "x", wait=0.01, persistent=True, reply_to="API.REPLIES", expiry=100.0)
    asked = q.get()
    assert asked is not None
    assert (asked.is_request, asked.persistent, asked.reply_to) == (True, True, "API.REPLIES")
    answer = qm.reply(asked, "late")
    assert (answer.persistent, answer.is_reply, answer.correlation_id) == (True, True, asked.message_id)
    with refused(mq.MQRC_PERSISTENT_NOT_ALLOWED):
        qm.request(q.name, "x", wait=0.01, persistent=True)


def test_report_options_choose_the_identifiers_of_a_reply() -> None:
    asked = Message(message_id=b"M" * 24, correlation_id=b"C" * 24, expiry=9.0, priority=4, persistent=False)
    plain = asked.reply("x")
    assert (plain.message_id, plain.correlation_id, plain.expiry) == (b"", b"M" * 24, None)
    asked.report = mq.MQRO_PASS_MSG_ID | mq.MQRO_PASS_CORREL_ID | mq.MQRO_PASS_DISCARD_AND_EXPIRY
    passed = asked.reply("x", feedback=5)
    assert (passed.message_id, passed.correlation_id, passed.expiry) == (b"M" * 24, b"C" * 24, 9.0)
    assert (passed.priority, passed.feedback, passed.message_type) == (4, 5, mq.MQMT_REPLY)


def test_a_reply_needs_somewhere_to_go(qm: Connection) -> None:
    with refused(mq.MQRC_MISSING_REPLY_TO_Q):
        qm.reply(Message("x"), "y")


# -- dynamic queues --------------------------------------------------------------------------------------------------


def test_a_temporary_queue_goes_when_it_is_closed(qm: Connection) -> None:
    with qm.open_dynamic("SYSTEM.DEFAULT.MODEL.QUEUE", "API.TEMP.*") as temporary:
        name = temporary.name
        assert name.startswith("API.TEMP.")
        temporary.put("x")
        assert [m.body for m in temporary.browse()] == ["x"]
    with refused(mq.MQRC_UNKNOWN_OBJECT_NAME):
        qm.open(name)


def test_a_permanent_dynamic_queue_stays_until_it_is_deleted(qm: Connection, admin: Connection) -> None:
    admin.define("QMODEL", "API.MODEL", DEFTYPE="PERMDYN", replace=True)
    with qm.open_dynamic("API.MODEL", "API.PERMANENT") as queue:
        queue.put("x", persistent=True)
    queue = qm.open("API.PERMANENT")
    with refused(mq.MQRC_Q_NOT_EMPTY):
        queue.close(delete=True)
    queue.close(purge=True)
    with refused(mq.MQRC_UNKNOWN_OBJECT_NAME):
        qm.open("API.PERMANENT")


# -- the end ---------------------------------------------------------------------------------------------------------


def test_a_closed_queue_and_a_closed_connection_refuse(site: Any, way: str, q: Queue) -> None:
    other = site.connect(way)
    again = other.open(q.name)
    again.close()
    again.close()
    with refused(mq.MQRC_HOBJ_ERROR):
        again.put("x")
    with refused(mq.MQRC_HOBJ_ERROR):
        again.get()
    other.close()
    other.close()
    with refused(mq.MQRC_HCONN_ERROR):
        other.put(q.name, "x")


def test_a_string_path_will_do(tmp_path: Path) -> None:
    manager = ostler.start("STRING", str(tmp_path), create=True, log=LOG)
    try:
        assert (tmp_path / "qmgrs" / "STRING" / "qm.ini").exists()
    finally:
        manager.end()
