"""Frames of the coupling facility: every program, answer and event, whole, byte by byte, cut, and with bytes behind."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.coupling.facility_under_test import fields
from tests.searching import examples

from ostler.model.coupling import answers as a
from ostler.model.coupling import events as ev
from ostler.model.coupling import programs as p
from ostler.model.coupling import terms as cf
from ostler.model.coupling.entries import Entry, make_id, make_key
from ostler.wire.coupling_answers import decode_answer, encode_answer
from ostler.wire.coupling_frames import (
    COUPLING_FRAME_BYTES_MAX,
    COUPLING_VERSION,
    CouplingHello,
    decode_coupling_hello,
    decode_event,
    encode_event,
)
from ostler.wire.coupling_programs import decode_program, encode_program
from ostler.wire.frames import CF_EVENT, CF_HELLO, CF_PROGRAM, HEADER_BYTES, REPLY, FrameReader, MalformedFrame

UNIT = make_id(3, 2, 77)


def full_entry(body: bytes = b"a body") -> Entry:
    """An entry in which no field has its default."""
    entry = Entry(make_id(3, 2, 1), 7, bytes(range(256)) + bytes(108), b"properties", body)
    entry.body_length = 1_000_000
    entry.reference, entry.owner = b"extent 7", 3
    entry.flags = cf.PERSISTENT | cf.GROUPED
    entry.expiry_ms, entry.backout_count, entry.key = 1_700_000_000_000, 4, make_key(7, 99)
    return entry


def changed(thing: object, **values: object) -> object:
    for name, value in values.items():
        assert hasattr(thing, name)
        setattr(thing, name, value)
    return thing


PROGRAMS = [
    p.JoinProgram(3, 2, "QM3"),
    p.LeaveProgram(),
    p.ConnectProgram("APPL1", 64 << 20, 5),
    p.ConnectProgram("APPL1", 64 << 20, 5, True),
    p.DisconnectProgram("APPL1"),
    p.DeleteStructureProgram("APPL1", True),
    p.OpenProgram("APPL1", "Q", cf.INPUT_SHARED | cf.OUTPUT, cf.INDEX_CORREL_ID),
    p.CloseProgram("APPL1", "Q", cf.OUTPUT),
    p.PutProgram("APPL1", "Q", full_entry(), UNIT, 5_000, 12),
    p.PutProgram("APPL1", "Q", full_entry(bytes(65_000))),
    p.GetProgram("APPL1", "Q", cf.REMOVE),
    changed(
        p.GetProgram("APPL1", "Q", cf.CLAIM_IF_NEEDED, cf.MSG_AND_CORREL_ID),
        id=bytes(48),
        key=-1,
        unit=UNIT,
        now_ms=5,
        body_bytes_max=1_000,
        truncation_accepted=True,
        watch=True,
    ),
    changed(
        p.GetProgram("APPL1", "Q", cf.CLAIM, cf.ENTRY_ID), id=UNIT, unit=UNIT, others=[make_id(1, 1, 1), UNIT], handle=7
    ),
    changed(p.GetProgram("APPL1", "Q", cf.BROWSE), handle=7, locks=True),
    p.ListProgram("APPL1", "Q"),
    changed(p.ListProgram("APPL1", "Q", 7), count_max=3, bytes_max=9, with_bodies=True, expired_ms=8),
    changed(p.ListProgram("APPL1", "Q", 7), group_id=bytes(range(24))),
    p.PrepareProgram(UNIT, b"xid"),
    p.DecideProgram(UNIT, True, False),
    p.ForgetProgram([UNIT, make_id(1, 1, 1)], 40),
    p.WatchProgram("APPL1", "Q", cf.WATCH_WAITERS, cf.CORREL_ID, bytes(24)),
    p.BeginRecoveryProgram(3, True),
    p.EndRecoveryProgram(3),
    p.UnitsProgram(3, UNIT, 9),
    p.LockProgram("TAG", b"value"),
    p.UnlockProgram("TAG"),
    p.LocksProgram("T", "TAF"),
    p.TakeFreedProgram("APPL1", 5, 6),
    p.InquireProgram("APPL1", "Q"),
    p.StatusProgram("APPL1"),
    p.MembersProgram(),
    p.DumpProgram("APPL1"),
    changed(
        p.DumpProgram("APPL1"),
        after_queue="A",
        after_key=5,
        count_max=6,
        bytes_max=7,
        with_bodies=False,
        persistent_only=True,
        owner=2,
    ),
    p.LoadProgram("APPL1", "Q", [full_entry(), full_entry(b"")], UNIT, True),
    p.SetStateProgram("APPL1", cf.STRUCTURE_ACTIVE, cf.STRUCTURE_INBACKUP),
    p.AnnounceProgram("Größe"),
    p.PurgeProgram("APPL1", "Q", 5, True),
    p.ReleaseProgram("APPL1", "Q", UNIT),
]


def status_with(kind: type[a.StructureStatus]) -> a.StructureStatus:
    status = kind("APPL1")
    changed(status, incarnation=bytes(16), state=1, state_member=2, level=5, size_bytes=9, used_bytes=8, limit_bytes=7)
    changed(status, entries=6, offloaded=5, queues=4, members=[1, 2])
    return status


def member_status() -> a.MemberStatus:
    status = a.MemberStatus(3, 2, "QM3", cf.MEMBER_FAILED)
    changed(status, fence=9, count=8, logged=7, in_flight=6, in_doubt=5, recoverer=4)
    return status


ANSWERS = [
    a.Answer(cf.FENCED),
    changed(a.JoinAnswer(7, bytes(range(16))), logged=6, refused=[4, 5], units=3, in_flight=2),
    changed(a.ConnectAnswer(), incarnation=bytes(16), is_new=True, state=2, level=5, size_bytes=1 << 40),
    changed(
        a.QueueAnswer(),
        depth=9,
        uncommitted=8,
        input_count=7,
        output_count=6,
        member_input_count=5,
        member_output_count=4,
        is_exclusive=True,
    ),
    a.PutAnswer(make_key(5, 6), 7, 8),
    a.GetAnswer(cf.NO_MESSAGE, None, 3),
    changed(a.GetAnswer(cf.NO_MESSAGE, None, 3), expired_seen=True, through_key=make_key(4, 5)),
    changed(a.GetAnswer(cf.OK, full_entry(), 3), is_claimed=True, is_watched=True, expired_seen=True),
    changed(a.ListAnswer(), entries=[full_entry(), full_entry(b"")], through_key=-1, is_end=True),
    a.DecideAnswer(cf.UNIT_BACKED_OUT),
    changed(a.RecoveryAnswer(), units=4, in_flight=3, name="QM3", start=2),
    changed(a.UnitsAnswer(), units=[a.UnitStatus(UNIT, cf.UNIT_INDOUBT, b"xid", 3, 4)], is_end=True),
    changed(a.LocksAnswer(cf.LOCKED), locks=[a.LockStatus("TAG", 3, 9, b"value")], is_end=False),
    changed(a.FreedAnswer(), references=[b"one", b"two"], through=9, is_end=True, is_lost=True),
    changed(a.StatusAnswer(), facility=bytes(16), structures=[status_with(a.StructureStatus)]),
    changed(a.MembersAnswer(), members=[member_status()]),
    changed(
        a.DumpAnswer(),
        entries=[a.DumpedEntry("Q", cf.GOT, UNIT, full_entry())],
        through_queue="Q",
        through_key=5,
        is_end=True,
    ),
]
EVENTS = [
    ev.QueueNotEmpty("APPL1", "Q", cf.CORREL_ID, bytes(24), True),
    ev.MemberChanged(3, "QM3", cf.MEMBER_RECOVERING),
    ev.StructureChanged("APPL1", cf.STRUCTURE_STATE_FAILED),
    ev.Threshold("APPL1", 70, 7, 10),
    ev.Freed("APPL1"),
    ev.Announced(3, "version 7"),
    ev.FencedOut(),
]


def encoded(thing: object) -> bytes:
    if isinstance(thing, p.Program):
        return encode_program(thing, 5)
    if isinstance(thing, a.Answer):
        return encode_answer(thing, 5)
    assert isinstance(thing, ev.Event)
    return encode_event(thing)


def decoded(type: int, buffer: bytes, start: int, end: int) -> object:
    if type == CF_PROGRAM:
        return decode_program(buffer, start, end)
    return decode_answer(buffer, start, end) if type == CF_PROGRAM | REPLY else decode_event(buffer, start, end)


THINGS = [*PROGRAMS, *ANSWERS, *EVENTS]


def name_of(thing: object) -> str:
    return type(thing).__name__


def test_every_program_answer_and_event_is_here() -> None:
    kinds = {program.kind for program in PROGRAMS if isinstance(program, p.Program)}
    assert kinds == set(range(1, len(p.PROGRAM_NAMES)))
    for module, base, things in ((a, a.Answer, ANSWERS), (ev, ev.Event, EVENTS)):
        classes = {each for each in vars(module).values() if isinstance(each, type) and issubclass(each, base)}
        assert classes - {ev.Event} == {type(thing) for thing in things}


@pytest.mark.parametrize("thing", THINGS, ids=name_of)
def test_a_frame_comes_back_whole_byte_by_byte_and_before_another(thing: object) -> None:
    if isinstance(thing, p.Program):
        thing.fence = 1 << 40
    if isinstance(thing, a.Answer):
        changed(thing, count=3, used_bytes=4, limit_bytes=5)
    data = encoded(thing)
    assert len(data) <= COUPLING_FRAME_BYTES_MAX
    for pieces in ([data], [data[at : at + 1] for at in range(len(data))] if len(data) < 5_000 else [], [data + data]):
        reader = FrameReader(COUPLING_FRAME_BYTES_MAX)
        found = []
        for piece in pieces:
            reader.feed(piece)
            while reader.next():
                back = decoded(reader.type, reader.buffer, reader.start, reader.end)
                assert type(back) is type(thing)
                assert fields(back) == fields(thing)
                found.append(reader.request)
        assert found == [0 if reader.type == CF_EVENT else 5] * (sum(map(len, pieces)) // len(data))


@pytest.mark.parametrize("thing", THINGS, ids=name_of)
def test_a_payload_that_is_cut_or_too_long_is_malformed(thing: object) -> None:
    data = encoded(thing)
    reader = FrameReader(COUPLING_FRAME_BYTES_MAX)
    reader.feed(data)
    assert reader.next()
    step = max(1, len(data) // 500)
    for end in range(HEADER_BYTES, len(data), step):
        with pytest.raises(MalformedFrame):
            decoded(reader.type, data[:end], HEADER_BYTES, end)
    with pytest.raises(MalformedFrame, match="too many"):
        decoded(reader.type, data + b"x", HEADER_BYTES, len(data) + 1)


@settings(max_examples=examples(300), deadline=None)
@given(st.sampled_from(THINGS), st.integers(0, 200), st.binary(min_size=1, max_size=8), st.data())
def test_bytes_that_were_changed_are_another_frame_or_malformed(
    thing: object, at: int, other: bytes, data: st.DataObject
) -> None:
    frame = bytearray(encoded(thing))
    at = HEADER_BYTES + at % (len(frame) - HEADER_BYTES)
    frame[at : at + len(other)] = other
    type = data.draw(st.sampled_from([CF_PROGRAM, CF_PROGRAM | REPLY, CF_EVENT]))
    try:
        back = decoded(type, bytes(frame), HEADER_BYTES, len(frame))
    except MalformedFrame:
        return
    # Whatever it is, it can be sent on.
    encoded(back)


def hello_payload(hello: CouplingHello) -> bytes:
    return hello.encode(1)[HEADER_BYTES:]


def test_a_hello_and_its_reply_come_back() -> None:
    for is_reply in (False, True):
        hello = CouplingHello("CF1", "QM1", is_reply)
        hello.identity, hello.heartbeat_ms = bytes(range(16)), 700
        reader = FrameReader()
        reader.feed(hello.encode(1))
        assert reader.next()
        assert reader.type == CF_HELLO | (REPLY if is_reply else 0)
        assert fields(decode_coupling_hello(reader.buffer, reader.start, reader.end, is_reply)) == fields(hello)


@pytest.mark.parametrize(
    ("name", "value", "text"),
    [
        ("version", COUPLING_VERSION + 1, f"speaks version {COUPLING_VERSION + 1}"),
        ("version", 0, "speaks version 0"),
        ("heartbeat_ms", 1, "the least is 500"),
        ("heartbeat_ms", 1 << 30, "items"),
        ("facility", "x" * 300, "items"),
    ],
)
def test_a_hello_that_cannot_be_obeyed_is_malformed(name: str, value: object, text: str) -> None:
    hello = CouplingHello("CF1", "QM1")
    changed(hello, **{name: value})
    payload = hello_payload(hello)
    with pytest.raises(MalformedFrame, match=text):
        decode_coupling_hello(payload, 0, len(payload), False)


def test_a_hello_of_another_protocol_is_malformed() -> None:
    payload = b"HTTP" + hello_payload(CouplingHello("CF1", "QM1"))[4:]
    with pytest.raises(MalformedFrame, match="does not speak"):
        decode_coupling_hello(payload, 0, len(payload), False)
