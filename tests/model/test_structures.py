"""The layouts against facts from elsewhere: the lengths MQ names, and what a C compiler's alignment gives."""

from __future__ import annotations

import struct

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.searching import examples

from ostler.model import constants
from ostler.model.errors import MQError
from ostler.model.structures import gmo, md, od, pmo
from ostler.model.structures.catalogue import LAYOUTS
from ostler.model.structures.layout import BYTES, CHAR, CHARV, INT32, INT64, LETTER, POINTER, Field, Layout, pad, trim

CHARV_FORMAT = "Piiii"

# How Python's struct module, with the machine's own alignment, packs each structure in its newest version. Written
# from the order of the fields alone; offsets come out of the alignment.
FORMATS = {
    "MQBMHO": "4sii",
    "MQBO": "4sii",
    "MQCBC": "4siiiPPiiiiiii0P",
    "MQCBD": "4siiiPP128si0P",
    "MQCHARV": CHARV_FORMAT,
    "MQCMHO": "4sii",
    "MQCNO": "4siiiP128sPi24siPPii8s28s4sPi4s",
    "MQCSP": "4sii4sPii8sPii8sPii8sPii",
    "MQCTLO": "4siiiP",
    "MQDLH": "4sii48s48sii8si28s8s8s",
    "MQDMHO": "4sii",
    "MQDMPO": "4sii",
    "MQGMO": "4siiiii48siBBB1s16siiq",
    "MQIIH": "4siiii8si8s8s8s8s16sBBB1s",
    "MQIMPO": "4siiiiiii" + CHARV_FORMAT + "8s",
    "MQMD": "4siiiiiii8sii24s24si48s48s12s32s32si28s8s8s4s24siiii",
    "MQMDE": "4siiii8si24siiii",
    "MQMHBO": "4sii",
    "MQOD": "4sii48s48s48s12siiiiiiPP40s48s48s" + CHARV_FORMAT * 3 + "i0P",
    "MQPD": "4siiiii",
    "MQPMO": "4siiiiiii48s48siiiiPPqqii",
    "MQRFH2": "4siiii8sii",
    "MQSD": "4sii48s12s40si" + CHARV_FORMAT * 3 + "24si32s32s" + CHARV_FORMAT + "i" + CHARV_FORMAT,
    "MQSMPO": "4siiii",
    "MQSRO": "4siii",
    "MQSTS": "4siiiiiii48s48s48s48s" + CHARV_FORMAT * 2 + "ii",
    "MQTM": "4si48s48s64si256s128s128s",
    "MQTMC2": "4s4s48s48s64s4s256s128s128s48s",
    "MQXQH": "4si48s48s324s",
}

REASONS = {
    "MQBMHO": 2489,
    "MQBO": 2134,
    "MQCBC": 2195,
    "MQCBD": 2444,
    "MQCMHO": 2461,
    "MQCNO": 2139,
    "MQCSP": 2595,
    "MQCTLO": 2445,
    "MQDLH": 2141,
    "MQDMHO": 2462,
    "MQDMPO": 2481,
    "MQGMO": 2186,
    "MQIIH": 2148,
    "MQIMPO": 2464,
    "MQMD": 2026,
    "MQMDE": 2248,
    "MQMHBO": 2501,
    "MQOD": 2044,
    "MQPD": 2482,
    "MQPMO": 2173,
    "MQRFH2": 2334,
    "MQSD": 2424,
    "MQSMPO": 2463,
    "MQSRO": 2438,
    "MQSTS": 2426,
    "MQTM": 2265,
    "MQTMC2": 2191,
    "MQXQH": 2260,
}

NAMES = sorted(LAYOUTS)
WITH_HEADER = sorted(REASONS)
VERSIONS = [(name, version) for name in WITH_HEADER for version in sorted(LAYOUTS[name].sizes)]


def leaves(layout: Layout) -> list[Field]:
    """The fields in order, with each variable string as its five parts."""
    found: list[Field] = []
    for field in layout.fields:
        if field.kind == CHARV:
            found.extend(layout.by_name[field.name + part] for part in CHARV_PARTS)
        else:
            found.append(field)
    return found


CHARV_PARTS = ["VSPtr", "VSOffset", "VSBufSize", "VSLength", "VSCCSID"]


def values(field: Field) -> st.SearchStrategy[int | bytes]:
    if field.kind == INT32:
        return st.integers(-(2**31), 2**31 - 1)
    if field.kind == INT64:
        return st.integers(-(2**63), 2**63 - 1)
    if field.kind == POINTER:
        return st.integers(0, 2**64 - 1)
    if field.kind == LETTER:
        return st.integers(0, 255)
    if field.kind == CHAR:
        return st.text("ABCxyz019._%/", max_size=field.length).map(lambda text: text.encode().ljust(field.length))
    return st.binary(min_size=field.length, max_size=field.length)


def whole(name: str) -> st.SearchStrategy[list[int | bytes]]:
    return st.tuples(*(values(field) for field in leaves(LAYOUTS[name]))).map(list)


def test_every_structure_is_checked() -> None:
    assert sorted(FORMATS) == NAMES
    assert [*WITH_HEADER, "MQCHARV"] == [*(n for n in NAMES if n != "MQCHARV"), "MQCHARV"]


@pytest.mark.parametrize(("name", "version"), VERSIONS)
def test_sizes_are_the_lengths_that_mq_names(name: str, version: int) -> None:
    if name == "MQRFH2":
        expected = constants.MQRFH_STRUC_LENGTH_FIXED_2
    else:
        expected = getattr(constants, f"{name}_LENGTH_{version}")
    assert LAYOUTS[name].size(version) == expected
    assert len(LAYOUTS[name].default(version)) == expected


@pytest.mark.parametrize(
    ("name", "size"),
    [("MQMD", 364), ("MQOD", 424), ("MQPMO", 184), ("MQGMO", 112), ("MQSD", 344), ("MQDLH", 172), ("MQRFH2", 36),
     ("MQTM", 684), ("MQTMC2", 732), ("MQXQH", 428), ("MQMDE", 72), ("MQIIH", 84), ("MQCHARV", 24), ("MQIMPO", 64)],
)  # fmt: skip
def test_sizes_as_programs_pack_them(name: str, size: int) -> None:
    assert LAYOUTS[name].size() == size


@pytest.mark.parametrize("name", NAMES)
def test_the_machines_own_packing_gives_the_same_size(name: str) -> None:
    assert struct.calcsize("@" + FORMATS[name]) == LAYOUTS[name].size()


@pytest.mark.parametrize("name", NAMES)
@settings(max_examples=examples(15), deadline=None)
@given(data=st.data())
def test_patching_every_field_is_packing_them_all(name: str, data: st.DataObject) -> None:
    layout = LAYOUTS[name]
    chosen = data.draw(whole(name))
    buffer = bytearray(layout.size())
    for field, value in zip(leaves(layout), chosen, strict=True):
        layout.patch(buffer, field.name, value)
    assert bytes(buffer) == struct.pack("@" + FORMATS[name], *chosen)
    assert [layout.read(bytes(buffer), field.name) for field in leaves(layout)] == chosen


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("little", [True, False])
@settings(max_examples=examples(5), deadline=None)
@given(data=st.data())
def test_a_patch_changes_its_field_alone(name: str, little: bool, data: st.DataObject) -> None:
    layout = LAYOUTS[name]
    before = bytes(data.draw(st.binary(min_size=layout.size(), max_size=layout.size())))
    for field in leaves(layout):
        buffer = bytearray(before)
        value = data.draw(values(field))
        layout.patch(buffer, field.name, value, little)
        assert layout.read(buffer, field.name, little) == value
        end = field.offset + field.length
        assert buffer[: field.offset] == before[: field.offset]
        assert buffer[end:] == before[end:]
        if field.kind in (INT32, INT64, POINTER):
            assert int.from_bytes(buffer[field.offset : end], "little" if little else "big", signed=False) == (
                value % (1 << 8 * field.length) if isinstance(value, int) else None
            )


@pytest.mark.parametrize("name", NAMES)
def test_values_that_do_not_fit_are_refused_and_nothing_changes(name: str) -> None:
    layout = LAYOUTS[name]
    wrong: dict[str, list[int | str | bytes]] = {
        INT32: [2**31, -(2**31) - 1, "1", b"\0\0\0\1"],
        INT64: [2**63, -(2**63) - 1, b"1"],
        POINTER: [-1, 2**64, b"1"],
        LETTER: [-1, 256, "A"],
    }
    for field in leaves(layout):
        buffer = bytearray(layout.default())
        before = bytes(buffer)
        tries = wrong.get(field.kind, [1, b"x" * (field.length + 1)])
        if field.kind == BYTES:
            tries = [*tries, "text"]
        for value in tries:
            with pytest.raises(ValueError, match=r"takes|fit"):
                layout.patch(buffer, field.name, value)
            assert bytes(buffer) == before


def test_a_field_of_a_later_version_is_not_patched_into_an_earlier_one() -> None:
    buffer = gmo.MQGMO.default(1)
    with pytest.raises(ValueError, match="beyond"):
        gmo.MQGMO.patch(buffer, "MsgHandle", 1)
    assert buffer == gmo.MQGMO.default(1)


@pytest.mark.parametrize(("name", "version"), VERSIONS)
def test_defaults_have_a_valid_header(name: str, version: int) -> None:
    layout = LAYOUTS[name]
    assert layout.validate_header(layout.default(version)) == version
    assert layout.validate_header(bytes(layout.default(version)) + b"data") == version


@pytest.mark.parametrize(("name", "version"), VERSIONS)
def test_wrong_headers_are_refused_with_the_reason_of_the_structure(name: str, version: int) -> None:
    layout = LAYOUTS[name]
    good = bytes(layout.default(version))
    wrong_versions: list[bytes]
    if name == "MQTMC2":
        wrong_versions = [b"   0", b"   3", b"x  2", b"\0\0\0\2"]
    else:
        numbers = [0, -1, layout.current_version + 1, 2**31 - 1]
        wrong_versions = [struct.pack("<i", n) for n in numbers] + [struct.pack(">i", version)]
    wrong = [b"", good[:4], good[:7], good[:-1], b"XXXX" + good[4:], b"\0" + good[1:]]
    wrong += [good[:4] + other + good[8:] for other in wrong_versions]
    for candidate in wrong:
        buffer = bytearray(candidate)
        with pytest.raises(MQError) as caught:
            layout.validate_header(buffer)
        assert (caught.value.completion, caught.value.reason) == (constants.MQCC_FAILED, REASONS[name])
        assert bytes(buffer) == candidate


@pytest.mark.parametrize("name", ["MQRFH2", "MQMDE", "MQIIH"])
def test_a_header_that_lies_about_its_length_is_refused(name: str) -> None:
    layout = LAYOUTS[name]
    size = layout.size()
    for length in [0, -4, size - 4, size + 2, 2**31 - 1]:
        buffer = layout.default() + bytes(16)
        layout.patch(buffer, "StrucLength", length)
        with pytest.raises(MQError) as caught:
            layout.validate_header(buffer)
        assert caught.value.reason == REASONS[name]


def test_only_the_header_with_folders_may_be_longer_than_its_fixed_part() -> None:
    for name, accepted in [("MQRFH2", True), ("MQMDE", False)]:
        layout = LAYOUTS[name]
        buffer = layout.default() + bytes(16)
        layout.patch(buffer, "StrucLength", layout.size() + 16)
        if accepted:
            assert layout.validate_header(buffer) == 2
        else:
            with pytest.raises(MQError):
                layout.validate_header(buffer)


def test_headers_from_a_big_endian_machine_can_be_read() -> None:
    layout = LAYOUTS["MQRFH2"]
    header = struct.pack(">4siiii8sii", b"RFH ", 2, 44, 273, 819, b"MQSTR   ", 0, 1208) + b"<a/>\0\0\0\0"
    assert layout.validate_header(header, encoding_little=False) == 2
    assert layout.read(header, "NameValueCCSID", encoding_little=False) == 1208
    assert layout.read(header, "Format", encoding_little=False) == b"MQSTR   "
    with pytest.raises(MQError):
        layout.validate_header(header)


def test_pad_and_trim() -> None:
    assert pad("Q1", 6) == b"Q1    "
    assert pad(b"Q1\0rest", 6) == b"Q1    "
    assert pad("äb", 4) == "äb".encode() + b" "
    assert pad("Q1    ", 2) == b"Q1"
    assert trim(b"Q1    ") == b"Q1"
    assert trim(b"Q1\0\0xx") == b"Q1"
    assert trim(b" Q ") == b" Q"
    with pytest.raises(ValueError, match="does not fit"):
        pad("TOO.LONG", 4)


@pytest.mark.parametrize(("module", "prefix", "name"), [(md, "MD", "MQMD"), (gmo, "GMO", "MQGMO")])
def test_offset_constants_of_md_and_gmo(module: object, prefix: str, name: str) -> None:
    check_offset_constants(module, prefix, name)


@pytest.mark.parametrize(("module", "prefix", "name"), [(pmo, "PMO", "MQPMO"), (od, "OD", "MQOD")])
def test_offset_constants_of_pmo_and_od(module: object, prefix: str, name: str) -> None:
    check_offset_constants(module, prefix, name)


def check_offset_constants(module: object, prefix: str, name: str) -> None:
    """Every field but the reserved ones has a constant in capitals that tells its offset."""
    layout = LAYOUTS[name]
    for field in layout.fields:
        if field.name.startswith("Reserved"):
            continue
        capitals = "".join("_" + letter if letter.isupper() else letter for letter in field.name).lstrip("_").upper()
        assert getattr(module, f"{prefix}_{capitals}") == field.offset == layout.offset(field.name)
    for version, size in layout.sizes.items():
        assert getattr(module, f"{prefix}_BYTES_{version}") == size
    assert getattr(module, f"{prefix}_BYTES") == layout.size()


def test_default_descriptor() -> None:
    expected = struct.pack(
        "<4siiiiiii8sii24s24si48s48s12s32s32si28s8s8s4s24siiii",
        b"MD  ", 2, 0, 8, -1, 0, 546, 0, b" " * 8, -1, 2, b"", b"", 0, b" " * 48, b" " * 48, b" " * 12, b"",
        b" " * 32, 0, b" " * 28, b" " * 8, b" " * 8, b" " * 4, b"", 1, 0, 0, -1,
    )  # fmt: skip
    assert expected == md.MD_DEFAULT == bytes(md.MQMD.default())
    assert md.MQMD.default(1) == expected[:4] + b"\1\0\0\0" + expected[8:324]


def test_defaults_are_not_shared() -> None:
    first = md.MQMD.default()
    first[0:4] = b"XXXX"
    assert md.MQMD.default()[0:4] == b"MD  "


def test_readable_descriptor() -> None:
    descriptor = md.Md()
    descriptor.reply_to_q = "REPLY.QUEUE"
    descriptor.format = "MQSTR"
    descriptor.msg_id = b"m" * 24
    descriptor.priority = 7
    assert descriptor.buffer[md.MD_REPLY_TO_Q : md.MD_REPLY_TO_Q + 48] == b"REPLY.QUEUE".ljust(48)
    assert (descriptor.reply_to_q, descriptor.format, descriptor.priority) == ("REPLY.QUEUE", "MQSTR", 7)
    assert descriptor.msg_id == b"m" * 24
    given = bytearray(md.MD_DEFAULT)
    md.Md(given).correl_id = b"c" * 24
    assert given[md.MD_CORREL_ID : md.MD_CORREL_ID + 24] == b"c" * 24


def test_readable_descriptor_has_every_field() -> None:
    for field in md.MQMD.fields:
        if field.name == "StrucId":
            continue
        name = "".join("_" + letter.lower() if letter.isupper() else letter for letter in field.name).lstrip("_")
        descriptor = md.Md()
        chosen: int | str | bytes = 5
        if field.kind == CHAR:
            chosen = "ABCD"
        if field.kind == BYTES:
            chosen = b"z" * field.length
        setattr(descriptor, name, chosen)
        assert getattr(descriptor, name) == chosen
        changed = bytearray(md.MD_DEFAULT)
        md.MQMD.patch(changed, field.name, chosen)
        assert descriptor.buffer == changed
