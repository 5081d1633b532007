"""Reports, expired messages, and reports that cannot be delivered."""

from __future__ import annotations

import struct
from typing import Any

import pytest

from ostler.model import constants as mq
from ostler.model.structures.headers import MQDLH

BOTH = mq.MQOO_INPUT_SHARED | mq.MQOO_OUTPUT
BODY = b"0123456789" * 20
KINDS = {
    "arrival": (mq.MQRO_COA, mq.MQFB_COA),
    "delivery": (mq.MQRO_COD, mq.MQFB_COD),
    "expiration": (mq.MQRO_EXPIRATION, mq.MQFB_EXPIRATION),
}


def report_of(site: Any, program: Any, kind: str, report: int, **md: Any) -> tuple[Any, list[Any]]:
    """Let the event happen to a message that asks for a report; its put, and the reports that came."""
    replies = site.local()
    queue = program.open(site.local(), BOTH)
    fields = {"ReplyToQ": replies, "Report": report, "CorrelId": b"c" * 24, **md}
    if kind == "expiration":
        fields["Expiry"] = 1
    put = program.put(queue, BODY, **fields)
    assert put.reason == 0
    if kind == "delivery":
        assert program.get(queue).reason == 0
    elif kind == "expiration":
        site.outlive()
        assert program.get(queue).reason == mq.MQRC_NO_MSG_AVAILABLE
    return put, program.browse(replies)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("bits", "length"), [(1, 0), (3, 100), (7, 200)])
def test_every_kind_with_and_without_data(site: Any, program: Any, kind: str, bits: int, length: int) -> None:
    plain, feedback = KINDS[kind]
    put, reports = report_of(site, program, kind, plain * bits, Format=mq.MQFMT_STRING, Priority=3, Persistence=1)
    assert len(reports) == 1
    report = reports[0]
    assert (report.md["MsgType"], report.md["Feedback"]) == (mq.MQMT_REPORT, feedback)
    assert report.body == BODY[:length]
    assert (report.md["Format"], report.md["Priority"], report.md["Persistence"]) == (b"MQSTR", 3, 1)
    assert report.md.id("CorrelId") == put.message_id
    assert report.message_id != put.message_id
    assert (report.md["PutApplType"], report.md["PutApplName"]) == (mq.MQAT_QMGR, site.manager.name.encode())
    assert report.md["Report"] == 0


@pytest.mark.parametrize("kind", KINDS)
def test_no_report_without_being_asked(site: Any, program: Any, kind: str) -> None:
    others = sum(plain for name, (plain, _) in KINDS.items() if name != kind) & ~KINDS["arrival"][0]
    _, reports = report_of(site, program, kind, others)
    assert reports == []


@pytest.mark.parametrize("kind", KINDS)
def test_identifiers_are_passed_on_request(site: Any, program: Any, kind: str) -> None:
    report = KINDS[kind][0] | mq.MQRO_PASS_MSG_ID | mq.MQRO_PASS_CORREL_ID
    put, reports = report_of(site, program, kind, report)
    assert (reports[0].message_id, reports[0].md.id("CorrelId")) == (put.message_id, b"c" * 24)


def test_arrival_under_syncpoint_is_reported_at_commit(site: Any, program: Any) -> None:
    replies, name = site.local(), site.local()
    queue = program.open(name, BOTH)
    for finish in (program.back_out, program.commit):
        program.put(queue, b"", mq.MQPMO_SYNCPOINT, Report=mq.MQRO_COA, ReplyToQ=replies)
        assert program.browse(replies) == []
        finish()
    assert len(program.browse(replies)) == 1


def test_delivery_under_syncpoint_is_reported_at_commit(site: Any, program: Any) -> None:
    replies, name = site.local(), site.local()
    queue = program.open(name, BOTH)
    program.put(queue, b"", Report=mq.MQRO_COD, ReplyToQ=replies)
    for finish in (program.back_out, program.commit):
        assert program.get(queue, mq.MQGMO_SYNCPOINT).reason == 0
        assert program.browse(replies) == []
        finish()
    assert len(program.browse(replies)) == 1
    assert site.queue(replies).counters.puts == 2


def test_a_browse_delivers_nothing(site: Any, program: Any) -> None:
    replies, name = site.local(), site.local()
    program.put1(name, Report=mq.MQRO_COD, ReplyToQ=replies)
    assert len(program.browse(name)) == 1
    assert site.depth(replies) == 0


def test_who_waits_and_is_handed_the_message_causes_both_reports(site: Any, program: Any) -> None:
    replies, name = site.local(), site.local()
    waiting = site.start(program.get, program.open(name, BOTH), mq.MQGMO_WAIT, wait=mq.MQWI_UNLIMITED)
    site.until_waiting(name)
    site.program().put1(name, b"x", Report=mq.MQRO_COA | mq.MQRO_COD, ReplyToQ=replies)
    assert waiting.result(60).body == b"x"
    feedbacks = [each.md["Feedback"] for each in program.browse(replies)]
    assert sorted(feedbacks) == [mq.MQFB_COA, mq.MQFB_COD]


def test_a_report_for_elsewhere_goes_on_a_transmission_queue(site: Any, program: Any) -> None:
    way = site.local(USAGE="XMITQ")
    name = site.local()
    program.put1(name, Report=mq.MQRO_COA, ReplyToQ="THEIR.REPLIES", ReplyToQMgr=way)
    message = program.browse(way)[0]
    assert message.body[8:56].rstrip() == b"THEIR.REPLIES"
    assert struct.unpack_from("<i", message.body, 104 + 20)[0] == mq.MQFB_COA


# -- dead letters


@pytest.mark.parametrize(
    ("trouble", "reason"),
    [
        ({"MAXDEPTH": 0}, mq.MQRC_Q_FULL),
        ({"PUT": "DISABLED"}, mq.MQRC_PUT_INHIBITED),
        ({"MAXMSGL": 10}, mq.MQRC_MSG_TOO_BIG_FOR_Q),
        (None, mq.MQRC_UNKNOWN_OBJECT_NAME),
    ],
)
def test_a_report_that_cannot_be_delivered_is_a_dead_letter(own_site: Any, trouble: Any, reason: int) -> None:
    dead = own_site.local()
    own_site.alter_manager(DEADQ=dead)
    program = own_site.program()
    replies = "NO.SUCH.QUEUE" if trouble is None else own_site.local(**trouble)
    put = program.put1(
        own_site.local(), BODY, Report=mq.MQRO_COA_WITH_FULL_DATA, ReplyToQ=replies, Format=mq.MQFMT_STRING
    )
    assert put.reason == 0
    letters = program.browse(dead)
    assert len(letters) == 1
    letter = letters[0]
    assert letter.md["Format"] == b"MQDEAD"
    assert (letter.md["MsgType"], letter.md["Feedback"]) == (mq.MQMT_REPORT, mq.MQFB_COA)
    assert letter.md.id("CorrelId") == put.message_id
    header = letter.body[: MQDLH.size()]
    assert MQDLH.validate_header(header) == 1
    assert MQDLH.read(header, "Reason") == reason
    assert MQDLH.read_bytes(header, "DestQName").rstrip() == replies.encode()
    assert MQDLH.read_bytes(header, "DestQMgrName").rstrip() == own_site.manager.name.encode()
    assert MQDLH.read_bytes(header, "Format") == mq.MQFMT_STRING
    assert MQDLH.read(header, "PutApplType") == mq.MQAT_QMGR
    assert letter.body[MQDLH.size() :] == BODY


def test_without_a_dead_letter_queue_such_a_report_is_lost_and_the_put_is_not(site: Any, program: Any) -> None:
    name = site.local()
    assert program.put1(name, Report=mq.MQRO_COA, ReplyToQ="NO.SUCH.QUEUE").reason == 0
    assert site.depth(name) == 1


def test_a_report_that_is_to_be_discarded_is_no_dead_letter(own_site: Any) -> None:
    dead = own_site.local()
    own_site.alter_manager(DEADQ=dead)
    options = mq.MQRO_COA | mq.MQRO_DISCARD_MSG | mq.MQRO_PASS_DISCARD_AND_EXPIRY
    own_site.program().put1(own_site.local(), Report=options, ReplyToQ="NO.SUCH.QUEUE")
    assert own_site.depth(dead) == 0


# -- expiry


def get_in_time(site: Any, program: Any, queue: int, options: int) -> None:
    """Get a message while it lives, and go on when its time is over. A machine that is busy gets more time."""
    for tenths in (1, 5, 25, 125):
        program.put(queue, b"short", Expiry=tenths)
        answer = program.get(queue, options)
        site.outlive(tenths)
        if answer.reason == 0:
            return
    raise AssertionError("no message lives long enough")


def test_an_expired_message_is_not_got_and_is_counted(site: Any, program: Any) -> None:
    name = site.local()
    queue = program.open(name, BOTH | mq.MQOO_BROWSE)
    before = site.manager.statistics()
    program.put(queue, b"short", Expiry=1, Persistence=1)
    program.put(queue, b"long", Expiry=10000)
    site.outlive()
    assert program.get(queue, mq.MQGMO_BROWSE_FIRST).body == b"long"
    after = site.manager.statistics()
    assert after.queues[name]["expired"] == 1
    assert after.queue_manager["expired"] - before.queue_manager["expired"] == 1
    assert site.depth(name) == 1


def test_the_remaining_expiry_is_returned(site: Any, program: Any) -> None:
    queue = program.open(site.local(), BOTH)
    program.put(queue, b"", Expiry=3000)
    site.outlive()
    left = program.get(queue).md["Expiry"]
    assert 2999 >= left > 2000
    program.put(queue, b"")
    assert program.get(queue).md["Expiry"] == mq.MQEI_UNLIMITED


def test_a_message_under_the_cursor_that_has_expired_cannot_be_had(site: Any, program: Any) -> None:
    name = site.local()
    queue = program.open(name, BOTH | mq.MQOO_BROWSE)
    get_in_time(site, program, queue, mq.MQGMO_BROWSE_FIRST)
    for options in (mq.MQGMO_BROWSE_MSG_UNDER_CURSOR, mq.MQGMO_MSG_UNDER_CURSOR):
        assert program.get(queue, options).reason == mq.MQRC_NO_MSG_UNDER_CURSOR
    assert site.depth(name) == 0


def test_by_identifier_an_expired_message_is_not_found(site: Any, program: Any) -> None:
    queue = program.open(site.local(), BOTH)
    program.put(queue, b"short", Expiry=1, CorrelId=b"k" * 24)
    program.put(queue, b"other", CorrelId=b"k" * 24)
    site.outlive()
    assert program.get(queue, CorrelId=b"k" * 24).body == b"other"


def test_expired_messages_are_removed_without_a_get_and_stay_gone(own_site: Any) -> None:
    program = own_site.program()
    name, replies = own_site.local(), own_site.local()
    fields: dict[str, Any] = {"Report": mq.MQRO_EXPIRATION, "ReplyToQ": replies}
    for persistence in (0, 1):
        program.put1(name, b"", Expiry=1, Persistence=persistence, **fields)
    own_site.eventually(lambda: own_site.depth(name) == 0 and own_site.depth(replies) == 2)
    own_site.restart()
    assert own_site.depth(name) == 0
    assert own_site.depth(replies) == 1


def test_time_goes_on_over_a_restart(own_site: Any) -> None:
    program = own_site.program()
    name = own_site.local()
    program.put1(name, b"short", Expiry=1, Persistence=1)
    program.put1(name, b"long", Expiry=36000, Persistence=1)
    own_site.crash()
    own_site.outlive()
    program = own_site.program()
    answers = program.browse(name)
    assert [each.body for each in answers] == [b"long"]
    assert 35000 < answers[0].md["Expiry"] < 36000


def test_an_expired_message_is_not_backed_out_onto_the_queue_for_long(site: Any, program: Any) -> None:
    name = site.local()
    queue = program.open(name, BOTH)
    get_in_time(site, program, queue, mq.MQGMO_SYNCPOINT)
    program.back_out()
    assert program.get(queue).reason == mq.MQRC_NO_MSG_AVAILABLE
    assert site.depth(name) == 0
