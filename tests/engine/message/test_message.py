"""The offsets the hot path reads agree with the layout of MQMD, and identifiers hash as they always have."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from ostler.engine.message import message
from ostler.engine.message.message import hash_id
from ostler.model.structures.md import MD_BYTES_2, MQMD

FIELDS = {
    "REPORT_AT": "Report",
    "MESSAGE_TYPE_AT": "MsgType",
    "EXPIRY_AT": "Expiry",
    "FEEDBACK_AT": "Feedback",
    "ENCODING_AT": "Encoding",
    "CCSID_AT": "CodedCharSetId",
    "FORMAT_AT": "Format",
    "PRIORITY_AT": "Priority",
    "PERSISTENCE_AT": "Persistence",
    "MESSAGE_ID_AT": "MsgId",
    "CORRELATION_ID_AT": "CorrelId",
    "BACKOUT_COUNT_AT": "BackoutCount",
    "REPLY_QUEUE_AT": "ReplyToQ",
    "REPLY_MANAGER_AT": "ReplyToQMgr",
    "CONTEXT_AT": "UserIdentifier",
    "PUT_DATE_AT": "PutDate",
    "GROUP_ID_AT": "GroupId",
    "SEQUENCE_NUMBER_AT": "MsgSeqNumber",
    "OFFSET_AT": "Offset",
    "FLAGS_AT": "MsgFlags",
    "ORIGINAL_LENGTH_AT": "OriginalLength",
}


def test_offsets_are_those_of_the_layout() -> None:
    assert {name: getattr(message, name) for name in FIELDS} == {
        name: MQMD.offset(field) for name, field in FIELDS.items()
    }
    assert message.MD_BYTES == MD_BYTES_2


def test_every_offset_is_checked() -> None:
    assert {name for name in vars(message) if name.endswith("_AT")} == set(FIELDS)


def test_the_null_identifier_is_in_no_chain() -> None:
    assert hash_id(bytes(24), 0) == 0


def test_hashes_are_stored_so_they_never_change() -> None:
    assert hash_id(b"AMQ QM1         12345678", 0) == 1308700494
    assert hash_id(b"\xff" * 24, 0) == 884558124


@given(st.binary(min_size=24, max_size=24).filter(any), st.integers(0, 40))
def test_a_hash_is_a_positive_number_of_31_bits_wherever_the_identifier_lies(identifier: bytes, at: int) -> None:
    hashed = hash_id(bytes(at) + identifier, at)
    assert 0 < hashed < 1 << 31
    assert hashed == hash_id(identifier, 0)


def test_counters_spread_over_buckets() -> None:
    buckets = {hash_id(b"AMQ QM1         " + number.to_bytes(8, "little"), 0) & 1023 for number in range(1024)}
    assert len(buckets) > 550
