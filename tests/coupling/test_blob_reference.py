"""References to blobs: what is encoded is decoded, and nothing else is taken for a message."""

from __future__ import annotations

import pytest

from ostler.coupling.blob_reference import check_blob, decode_blob_reference, encode_blob_reference, is_blob_reference
from ostler.coupling.data_sets.layout import DamagedData, decode_reference, encode_reference
from ostler.coupling.data_sets.space_map import Extent
from ostler.model.coupling import terms as cf
from ostler.model.coupling.entries import make_id

ENTRY = make_id(3, 2, 7)
BLOB = make_id(1, 5, 9)
REFERENCE = encode_blob_reference(BLOB, ENTRY, b"body")


def test_a_reference_comes_back() -> None:
    found = decode_blob_reference(REFERENCE)
    assert (found.blob, found.id, found.body_bytes) == (BLOB, ENTRY, 4)
    check_blob(found, ENTRY, b"body")
    assert len(REFERENCE) <= cf.REFERENCE_BYTES_MAX


@pytest.mark.parametrize(("id", "body"), [(BLOB, b"body"), (ENTRY, b"bode"), (ENTRY, b"bod"), (ENTRY, b"")])
def test_another_body_is_refused(id: bytes, body: bytes) -> None:
    with pytest.raises(DamagedData):
        check_blob(decode_blob_reference(REFERENCE), id, body)


@pytest.mark.parametrize(
    "data", [b"", REFERENCE[:-1], REFERENCE + b"\0", b"\1" + REFERENCE[1:], b"\2\2" + REFERENCE[2:]]
)
def test_what_is_no_reference_of_this_version_is_refused(data: bytes) -> None:
    with pytest.raises(DamagedData):
        decode_blob_reference(data)


def test_the_two_stores_do_not_take_each_others_references() -> None:
    into_a_data_set = encode_reference("QM1", bytes(8), ENTRY, 4, [Extent(1, 1)])
    assert is_blob_reference(REFERENCE)
    assert not is_blob_reference(into_a_data_set)
    with pytest.raises(DamagedData):
        decode_reference(REFERENCE)
    with pytest.raises(DamagedData):
        decode_blob_reference(into_a_data_set)
