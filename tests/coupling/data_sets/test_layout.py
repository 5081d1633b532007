"""Records and references of data sets: what is read is the message, or nothing."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ostler.coupling.data_sets.layout import (
    INLINE_EXTENTS_MAX,
    DamagedData,
    DataSetHeader,
    check_body,
    decode_header,
    decode_reference,
    encode_record,
    encode_reference,
    further_extents,
    record_pages,
)
from ostler.coupling.data_sets.space_map import Extent
from ostler.model.coupling.entries import make_id
from ostler.model.coupling.terms import REFERENCE_BYTES_MAX

FILE = b"identity"
ID = make_id(1, 2, 3)


def extents(count: int) -> list[Extent]:
    return [Extent(100 + 10 * number, 3) for number in range(count)]


@pytest.mark.parametrize("count", [1, INLINE_EXTENTS_MAX, INLINE_EXTENTS_MAX + 1, 500])
def test_a_reference_fits_into_an_entry_and_its_record_has_the_rest(count: int) -> None:
    body = b"some data"
    data = encode_reference("Q" * 48, FILE, ID, len(body), extents(count))
    assert len(data) <= REFERENCE_BYTES_MAX
    reference = decode_reference(data)
    record = encode_record(ID, FILE, body, extents(count)) + body
    found = reference.extents + further_extents(record, reference)
    assert [(each.page, each.count) for each in found] == [(each.page, each.count) for each in extents(count)]
    assert check_body(record + bytes(100), reference) == body
    assert record_pages(len(body), count) == -(-len(record) // 4096)


@given(st.binary(min_size=1, max_size=3000), st.data())
def test_any_flipped_bit_is_found(body: bytes, data: st.DataObject) -> None:
    reference = decode_reference(encode_reference("QM1", FILE, ID, len(body), extents(1)))
    record = bytearray(encode_record(ID, FILE, body, extents(1)) + body)
    used = [at for at in range(len(record)) if at < 48 or at >= 64]  # between them are zeros without a meaning
    at = data.draw(st.sampled_from(used))
    record[at] ^= 1 << data.draw(st.integers(0, 7))
    with pytest.raises(DamagedData):
        check_body(bytes(record), reference)


def test_another_message_at_the_same_place_is_not_returned() -> None:
    body = b"mine"
    reference = decode_reference(encode_reference("QM1", FILE, ID, len(body), extents(1)))
    other = encode_record(make_id(1, 2, 4), FILE, b"your", extents(1)) + b"your"
    with pytest.raises(DamagedData, match="another message"):
        check_body(other, reference)
    with pytest.raises(DamagedData, match="another message"):
        check_body(encode_record(ID, b"replaced", body, extents(1)) + body, reference)
    with pytest.raises(DamagedData, match="cut off"):
        check_body((encode_record(ID, FILE, body, extents(1)) + body)[:-1], reference)


@given(st.binary(max_size=300))
def test_hostile_references_are_refused(data: bytes) -> None:
    try:
        reference = decode_reference(data)
    except DamagedData:
        return
    assert reference.total >= 1


def test_the_header_of_a_file() -> None:
    header = DataSetHeader("APP1", "QM1", 7, 256 << 10, FILE)
    page = header.encode()
    assert len(page) == 4096
    found = decode_header(page)
    assert (found.structure, found.owner, found.number, found.block_bytes) == ("APP1", "QM1", 7, 256 << 10)
    with pytest.raises(DamagedData, match="checksum"):
        decode_header(page[:20] + b"x" + page[21:])
    with pytest.raises(DamagedData, match="no shared message data set"):
        decode_header(bytes(4096))
