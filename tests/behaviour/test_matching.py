"""Match options of MQGET: identifiers, groups, numbers, tokens and selectors."""

from __future__ import annotations

from typing import Any

import pytest

from ostler.model import constants as mq

BOTH = mq.MQOO_INPUT_SHARED | mq.MQOO_OUTPUT
BROWSE = mq.MQOO_BROWSE
MESSAGES = 50_000


def filled(site: Any, program: Any) -> int:
    """Six messages: two message ids used three times, three correlation ids used twice."""
    queue = program.open(site.local(), BOTH | BROWSE)
    for number in range(6):
        program.put(queue, b"%d" % number, MsgId=b"%d" % (number % 2) * 24, CorrelId=b"%d" % (number % 3) * 24)
    return int(queue)


@pytest.mark.parametrize(
    ("message_id", "correlation_id", "bodies"),
    [
        (b"", b"", [b"0", b"1", b"2", b"3", b"4", b"5"]),
        (b"1", b"", [b"1", b"3", b"5"]),
        (b"", b"2", [b"2", b"5"]),
        (b"1", b"2", [b"5"]),
        (b"3", b"", []),
        (b"", b"7", []),
        (b"7", b"2", []),
    ],
)
def test_by_identifiers(site: Any, program: Any, message_id: bytes, correlation_id: bytes, bodies: list[bytes]) -> None:
    queue = filled(site, program)
    got = []
    while True:
        answer = program.get(queue, MsgId=message_id * 24, CorrelId=correlation_id * 24)
        if answer.reason:
            break
        got.append(answer.body)
    assert answer.reason == mq.MQRC_NO_MSG_AVAILABLE
    assert got == bodies


def test_match_options_say_which_identifiers_count(site: Any, program: Any) -> None:
    queue = filled(site, program)
    ids = {"MsgId": b"1" * 24, "CorrelId": b"2" * 24}
    assert program.get(queue, match=mq.MQMO_NONE, **ids).body == b"0"
    assert program.get(queue, match=mq.MQMO_MATCH_MSG_ID, **ids).body == b"1"
    assert program.get(queue, match=mq.MQMO_MATCH_CORREL_ID, **ids).body == b"2"


@pytest.mark.parametrize("match", [0x40, 1 << 20, -1, -(2**31)])
def test_unknown_match_options_are_refused_each_time(site: Any, program: Any, match: int) -> None:
    queue = filled(site, program)
    assert program.get(queue).reason == 0
    assert program.get(queue, match=match).reason == mq.MQRC_MATCH_OPTIONS_ERROR
    assert program.get(queue).body == b"1"
    assert program.get(queue, match=match).reason == mq.MQRC_MATCH_OPTIONS_ERROR
    assert len(program.drain(queue)) == 4


def test_browsing_by_identifier_skips_the_others(site: Any, program: Any) -> None:
    queue = filled(site, program)
    seen = []
    while True:
        answer = program.get(queue, mq.MQGMO_BROWSE_NEXT, CorrelId=b"1" * 24)
        if answer.reason:
            break
        seen.append(answer.body)
    assert seen == [b"1", b"4"]


def test_by_group_and_sequence_number(site: Any, program: Any) -> None:
    queue = program.open(site.local(), BOTH)
    for group in (b"g" * 24, b"h" * 24):
        for number in (1, 2, 3):
            program.put(
                queue,
                group[:1] + b"%d" % number,
                GroupId=group,
                MsgSeqNumber=number,
                MsgFlags=mq.MQMF_LAST_MSG_IN_GROUP if number == 3 else mq.MQMF_MSG_IN_GROUP,
            )
    by_group = mq.MQMO_MATCH_GROUP_ID
    both = by_group | mq.MQMO_MATCH_MSG_SEQ_NUMBER
    assert program.get(queue, match=both, GroupId=b"h" * 24, MsgSeqNumber=2).body == b"h2"
    assert program.get(queue, match=both, GroupId=b"h" * 24, MsgSeqNumber=2).reason == mq.MQRC_NO_MSG_AVAILABLE
    assert program.get(queue, match=by_group, GroupId=b"h" * 24).body == b"h1"
    assert program.get(queue, match=mq.MQMO_MATCH_MSG_SEQ_NUMBER, MsgSeqNumber=3).body == b"g3"


def test_by_offset(site: Any, program: Any) -> None:
    queue = program.open(site.local(), BOTH)
    for offset, flags in ((0, mq.MQMF_SEGMENT), (16, mq.MQMF_LAST_SEGMENT)):
        program.put(queue, b"%16d" % offset, GroupId=b"s" * 24, Offset=offset, MsgFlags=flags)
    assert program.get(queue, match=mq.MQMO_MATCH_OFFSET, Offset=16).body == b"%16d" % 16
    assert program.get(queue, match=mq.MQMO_MATCH_OFFSET, Offset=16).reason == mq.MQRC_NO_MSG_AVAILABLE


def test_by_the_token_that_a_browse_returned(site: Any, program: Any) -> None:
    queue = filled(site, program)
    tokens = [program.get(queue, mq.MQGMO_BROWSE_NEXT).options.id("MsgToken") for _ in range(6)]
    assert len(set(tokens)) == 6
    by_token = mq.MQMO_MATCH_MSG_TOKEN
    assert program.get(queue, match=by_token, token=tokens[4]).body == b"4"
    assert program.get(queue, match=by_token, token=tokens[4]).reason == mq.MQRC_NO_MSG_AVAILABLE
    assert program.get(queue, mq.MQGMO_BROWSE_FIRST, match=by_token, token=tokens[2]).body == b"2"


def test_a_token_names_no_later_message_in_the_same_slot(site: Any, program: Any) -> None:
    queue = program.open(site.local(), BOTH | BROWSE)
    program.put(queue, b"old")
    token = program.get(queue, mq.MQGMO_BROWSE_FIRST).options.id("MsgToken")
    program.get(queue)
    program.put(queue, b"new")
    answer = program.get(queue, match=mq.MQMO_MATCH_MSG_TOKEN, token=token)
    assert answer.reason == mq.MQRC_NO_MSG_AVAILABLE


@pytest.mark.parametrize("version", [1, 2])
def test_uncommitted_and_got_messages_are_not_found(site: Any, program: Any, version: int) -> None:
    queue = program.open(site.local(), BOTH)
    other = site.program()
    theirs = other.open(program.handle(queue).name, BOTH)
    key = b"k" * 24
    if version == 1:
        other.put(theirs, b"uncommitted", mq.MQPMO_SYNCPOINT, CorrelId=key)
    else:
        other.put(theirs, b"taken", CorrelId=key)
        other.get(theirs, mq.MQGMO_SYNCPOINT)
    assert program.get(queue, CorrelId=key).reason == mq.MQRC_NO_MSG_AVAILABLE
    other.commit() if version == 1 else other.back_out()
    assert program.get(queue, CorrelId=key).reason == 0


@pytest.mark.within_process
def test_getting_by_identifier_among_fifty_thousand(site: Any, program: Any) -> None:
    name = site.local(MAXDEPTH=MESSAGES)
    queue = program.open(name, BOTH)
    for number in range(MESSAGES):
        key = number.to_bytes(24, "big")
        program.put(queue, b"%d" % number, MsgId=b"\1" + key[1:], CorrelId=b"\2" + key[1:])
    assert site.depth(name) == MESSAGES
    wanted = list(range(7, MESSAGES, 997))
    reads_before = site.queue(name).counters.spill_reads
    for number in wanted:
        key = b"\2" + number.to_bytes(23, "big")
        assert program.get(queue, CorrelId=key).body == b"%d" % number
        key = b"\1" + (number + 1).to_bytes(23, "big")
        assert program.get(queue, MsgId=key).body == b"%d" % (number + 1)
    # Each was found without a walk: of the messages in the queue's file, few more were read than asked for.
    assert site.queue(name).counters.spill_reads - reads_before <= 10 * len(wanted)
    gone = set(wanted) | {number + 1 for number in wanted}
    assert program.get(queue).body == b"%d" % min(set(range(20)) - gone)


def test_a_selector_on_open_chooses(site: Any, program: Any) -> None:
    name = site.local()
    program.put1(name, b"plain")
    program.put1(name, b"urgent", Priority=8)
    program.put1(name, b"other", Priority=3, CorrelId=b"q" * 24)
    queue = program.open(name, BOTH, selector="Root.MQMD.Priority BETWEEN 5 AND 9")
    assert program.drain(queue) == [b"urgent"]
    rest = program.open(name, mq.MQOO_BROWSE, selector="NOT Root.MQMD.Priority = 3")
    assert program.get(rest, mq.MQGMO_BROWSE_FIRST).body == b"plain"
    assert program.get(rest, mq.MQGMO_BROWSE_NEXT).reason == mq.MQRC_NO_MSG_AVAILABLE


@pytest.mark.parametrize("selector", ["Priority >", "((a = 1)", "'text'", "a = "])
def test_a_selector_that_is_none_is_refused(site: Any, program: Any, selector: str) -> None:
    name = site.local()
    wanted = (mq.MQRC_SELECTION_STRING_ERROR, mq.MQRC_SELECTOR_SYNTAX_ERROR)
    assert program.reason_of_open(name, BOTH, selector=selector) in wanted
    assert not program.connection.handles
