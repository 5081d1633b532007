"""Records and messages as bytes: what is encoded is decoded, and anything else is refused. The rule of merging."""

from __future__ import annotations

import dataclasses

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ostler.cluster import messages as cm
from ostler.cluster import records as rc
from ostler.cluster.record_codec import (
    Entry,
    MalformedRecord,
    decode_entry,
    decode_record,
    encode_entry,
    encode_record,
)
from ostler.cluster.records import Record, is_fork, judge, next_version

QUEUE = Record(rc.QUEUE, "QM1_ID", "QM1", "ORDERS", 10, 0, 10, {"CLWLRANK": 3, "DESCR": "Bestellungen"})

names = st.text("ABCXYZ.%/_", min_size=1, max_size=20)
values = (
    st.integers(-(1 << 63), (1 << 63) - 1) | st.text(max_size=50) | st.lists(st.text(max_size=9), max_size=4).map(tuple)
)
some_records = st.builds(
    Record,
    kind=st.sampled_from([rc.MANAGER, rc.QUEUE, rc.TOPIC]),
    owner=names,
    manager=names,
    name=names,
    version=st.integers(2, 1 << 50),
    follows=st.integers(0, 1),
    created_ms=st.integers(0, 1 << 50),
    attributes=st.dictionaries(st.text("ABCDEF", min_size=1, max_size=12), values, max_size=5),
)


@settings(max_examples=200, deadline=None)
@given(some_records, st.integers(-(1 << 60), 1 << 60), st.booleans(), st.booleans())
def test_records_and_entries_are_decoded_again(record: Record, born_ms: int, is_used: bool, is_answered: bool) -> None:
    assert decode_record(encode_record(record)) == record
    entry = Entry(record, born_ms)
    entry.is_used, entry.is_answered = is_used, is_answered
    found = decode_entry(encode_entry(entry))
    assert (found.record, found.born_ms, found.is_used, found.is_answered) == (record, born_ms, is_used, is_answered)


@settings(max_examples=100, deadline=None)
@given(st.lists(some_records, max_size=4), st.integers(0, 1 << 40), st.lists(names, max_size=3))
def test_messages_are_decoded_again(records: list[Record], age_ms: int, asked: list[str]) -> None:
    told = tuple(cm.Told(each, min(age_ms, rc.DISCARDED_MS)) for each in records)
    message = cm.ClusterMessage(cm.ANSWER, "DEMO", told, tuple(asked))
    assert cm.decode_message(cm.encode_message(message)) == message


@settings(max_examples=300, deadline=None)
@given(st.data())
def test_hostile_bytes_are_refused_and_nothing_else_happens(data: st.DataObject) -> None:
    whole = cm.encode_message(cm.ClusterMessage(cm.PUBLISH, "DEMO", (cm.Told(QUEUE, 5),), ("A",)))
    bytes_of = bytearray(whole)
    for _ in range(data.draw(st.integers(1, 4))):
        bytes_of[data.draw(st.integers(0, len(whole) - 1))] = data.draw(st.integers(0, 255))
    cut = data.draw(st.integers(0, len(whole)))
    for hostile in (bytes(bytes_of), bytes(bytes_of[:cut]), bytes(bytes_of) + b"\0"):
        try:
            cm.decode_message(hostile)
        except MalformedRecord:
            continue


@pytest.mark.parametrize(
    "change",
    [
        {"attributes": {"CLWLRANK": 12}},
        {"attributes": {"CLWLWGHT": 0}},
        {"attributes": {"CLWLPRTY": "9"}},
        {"attributes": {f"A{number}": 1 for number in range(200)}},
        {"attributes": {"DESCR": "x" * 70000}},
        {"name": ""},
        {"name": "Q" * 49},
        {"name": "A\0B"},
        {"owner": " QM1"},
        {"version": 0},
        {"version": 1 << 63},
        {"follows": 10},
        {"kind": 9},
        {"remover": "QM2_ID"},
        {"kind": rc.MANAGER, "name": "C" * 21},
        {"kind": rc.INTEREST},
    ],
)
def test_records_that_make_no_sense(change: dict[str, object]) -> None:
    with pytest.raises(MalformedRecord):
        encode_record(dataclasses.replace(QUEUE, **change))  # type: ignore[arg-type]


def test_limits_of_messages() -> None:
    too_many = cm.ClusterMessage(cm.PUBLISH, "DEMO", (cm.Told(QUEUE, 0),) * (cm.RECORDS_MAX + 1))
    with pytest.raises(MalformedRecord):
        cm.decode_message(cm.encode_message(too_many))
    with pytest.raises(MalformedRecord):
        cm.decode_message(cm.encode_message(cm.ClusterMessage(cm.DIGEST, "DEMO", (), (), (b"12345678",) * 3)))
    question = Record(rc.INTEREST, "QM1_ID", "QM1", "ORDERS", 10, 0, 10, {})
    with pytest.raises(MalformedRecord):
        cm.decode_message(cm.encode_message(cm.ClusterMessage(cm.PUBLISH, "DEMO", (cm.Told(question, 0),))))
    with pytest.raises(MalformedRecord):
        cm.decode_message(bytes(cm.MESSAGE_BYTES_MAX + 1))


def test_versions_go_on_when_the_clock_goes_back() -> None:
    assert next_version(1000, 0) == 1000
    assert next_version(500, 1000) == 1001


def test_the_rule_of_merging() -> None:
    later = dataclasses.replace(QUEUE, version=11, follows=10)
    other = dataclasses.replace(QUEUE, attributes={})
    removed = dataclasses.replace(QUEUE, attributes={}, is_removed=True, remover="QM9_ID")
    assert judge(None, QUEUE) == rc.NEWER
    assert judge(QUEUE, later) == rc.NEWER
    assert judge(later, QUEUE) == rc.OLDER
    assert judge(QUEUE, QUEUE) == rc.SAME
    assert judge(QUEUE, other) == rc.CLONED
    assert judge(QUEUE, removed) == rc.NEWER, "FORCEREMOVE has the version that it has seen"
    assert judge(removed, QUEUE) == rc.OLDER
    assert judge(removed, later) == rc.NEWER
    by_another = dataclasses.replace(removed, remover="QM8_ID")
    assert {judge(removed, by_another), judge(by_another, removed)} == {rc.OLDER, rc.NEWER}


def test_a_version_that_follows_none_is_a_fork() -> None:
    later = dataclasses.replace(QUEUE, version=12, follows=10)
    assert not is_fork(QUEUE, later)
    assert not is_fork(None, later)
    assert is_fork(dataclasses.replace(QUEUE, version=11), later)
    assert not is_fork(dataclasses.replace(QUEUE, version=11, is_removed=True), later), "it was removed long ago"
