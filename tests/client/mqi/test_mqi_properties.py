"""Message handles and the verbs on message properties."""

from __future__ import annotations

import ctypes
import struct
import subprocess
import sys
from typing import Any

import pytest

from ostler import mqi
from ostler.model import constants as mqc

OK = (mqc.MQCC_OK, mqc.MQRC_NONE)
FAILED = mqc.MQCC_FAILED
WARNING = mqc.MQCC_WARNING
UNASSOCIATED = mqc.MQHC_UNASSOCIATED_HCONN


@pytest.fixture
def hmsg(app: Any) -> int:
    handle, cc, rc = mqi.MQCRTMH(app.hconn, None)
    assert (cc, rc) == OK
    return handle


def set_text(app: Any, hmsg: int, name: str, value: str) -> None:
    assert mqi.MQSETMP(app.hconn, hmsg, None, name, None, mqc.MQTYPE_STRING, value.encode()) == OK


def value_of(app: Any, hmsg: int, name: str) -> tuple[int, bytes]:
    type, value, length, cc, rc = mqi.MQINQMP(app.hconn, hmsg, None, name, None, 0, 1000)
    assert (cc, rc) == OK
    assert length == len(value)
    return type, value


# -- handles ----------------------------------------------------------------------------------------------------------


def test_handles_are_created_and_deleted(app: Any) -> None:
    hmsg, cc, rc = mqi.MQCRTMH(app.hconn, app.structure("MQCMHO"))
    assert (cc, rc) == OK
    assert mqi.MQDLTMH(app.hconn, hmsg, app.structure("MQDMHO")) == (mqc.MQHM_UNUSABLE_HMSG, *OK)
    assert mqi.MQDLTMH(app.hconn, hmsg, None) == (hmsg, FAILED, mqc.MQRC_HMSG_ERROR)


def test_deleting_a_handle_has_no_options(app: Any, hmsg: int) -> None:
    dmho = app.structure("MQDMHO", Options=1)
    assert mqi.MQDLTMH(app.hconn, hmsg, dmho) == (hmsg, FAILED, mqc.MQRC_OPTIONS_ERROR)
    assert mqi.MQDLTMH(app.hconn, hmsg, None)[1:] == OK


def test_handles_of_no_connection_need_one_all_the_same() -> None:
    program = (
        "from ostler import mqi\n"
        f"assert mqi.MQCRTMH({UNASSOCIATED}, None)[1:] == {(FAILED, mqc.MQRC_HCONN_ERROR)}\n"
        f"assert mqi.MQDLTMP({UNASSOCIATED}, 1, None, 'a') == {(FAILED, mqc.MQRC_CONNECTION_BROKEN)}\n"
    )
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        (mqc.MQCMHO_DEFAULT_VALIDATION, mqc.MQRC_NONE),
        (mqc.MQCMHO_VALIDATE, mqc.MQRC_NONE),
        (mqc.MQCMHO_NO_VALIDATION, mqc.MQRC_NONE),
        (mqc.MQCMHO_VALIDATE | mqc.MQCMHO_NO_VALIDATION, mqc.MQRC_OPTIONS_ERROR),
        (4, mqc.MQRC_OPTIONS_ERROR),
    ],
)
def test_options_of_a_new_handle(app: Any, options: int, reason: int) -> None:
    hmsg, _, rc = mqi.MQCRTMH(app.hconn, app.structure("MQCMHO", Options=options))
    assert rc == reason
    assert (hmsg == mqc.MQHM_UNUSABLE_HMSG) == (reason != 0)


def test_without_validation_names_may_be_anything_storable(app: Any) -> None:
    strict, _, _ = mqi.MQCRTMH(app.hconn, None)
    lax, _, _ = mqi.MQCRTMH(app.hconn, app.structure("MQCMHO", Options=mqc.MQCMHO_NO_VALIDATION))
    refused = mqi.MQSETMP(app.hconn, strict, None, "9lives", None, mqc.MQTYPE_STRING, b"x")
    assert refused == (FAILED, mqc.MQRC_PROPERTY_NAME_ERROR)
    assert mqi.MQSETMP(app.hconn, lax, None, "9lives", None, mqc.MQTYPE_STRING, b"x") == OK


def test_a_handle_belongs_to_its_connection(app: Any, hmsg: int) -> None:
    other = app.connect()
    answer = mqi.MQSETMP(other, hmsg, None, "a", None, mqc.MQTYPE_STRING, b"x")
    assert answer == (FAILED, mqc.MQRC_HMSG_ERROR)
    assert mqi.MQDLTMH(other, hmsg, None)[2] == mqc.MQRC_HMSG_ERROR
    mqi.MQDISC(other)


def test_a_handle_of_no_connection_serves_all(app: Any) -> None:
    hmsg, cc, rc = mqi.MQCRTMH(UNASSOCIATED, None)
    assert (cc, rc) == OK
    assert mqi.MQSETMP(UNASSOCIATED, hmsg, None, "a", None, mqc.MQTYPE_STRING, b"x") == OK
    assert mqi.MQSETMP(app.hconn, hmsg, None, "b", None, mqc.MQTYPE_STRING, b"x")[1] == mqc.MQRC_HMSG_ERROR
    od = app.structure("MQOD", ObjectName=app.queue())
    pmo = app.structure("MQPMO", OriginalMsgHandle=hmsg)
    assert mqi.MQPUT1(app.hconn, od, app.structure("MQMD"), pmo, b"x") == OK
    assert mqi.MQDLTMH(UNASSOCIATED, hmsg, None)[1:] == OK


@pytest.mark.within_process
def test_handles_count_against_maxhands(app: Any) -> None:
    engine = app.manager.engine
    before = engine.handles_max
    engine.handles_max = 3
    try:
        made = [mqi.MQCRTMH(app.hconn, None) for _ in range(4)]
    finally:
        engine.handles_max = before
    assert [rc for _, _, rc in made] == [0, 0, 0, mqc.MQRC_HANDLE_NOT_AVAILABLE]


STRUCTURES: list[tuple[str, int, Any]] = [
    ("MQCMHO", mqc.MQRC_CMHO_ERROR, lambda h, m, s: mqi.MQCRTMH(h, s)),
    ("MQDMHO", mqc.MQRC_DMHO_ERROR, lambda h, m, s: mqi.MQDLTMH(h, m, s)),
    ("MQSMPO", mqc.MQRC_SMPO_ERROR, lambda h, m, s: mqi.MQSETMP(h, m, s, "a", None, mqc.MQTYPE_STRING, b"")),
    ("MQPD", mqc.MQRC_PD_ERROR, lambda h, m, s: mqi.MQSETMP(h, m, None, "a", s, mqc.MQTYPE_STRING, b"")),
    ("MQIMPO", mqc.MQRC_IMPO_ERROR, lambda h, m, s: mqi.MQINQMP(h, m, s, "a", None, 0, 10)),
    ("MQPD", mqc.MQRC_PD_ERROR, lambda h, m, s: mqi.MQINQMP(h, m, None, "a", s, 0, 10)),
    ("MQDMPO", mqc.MQRC_DMPO_ERROR, lambda h, m, s: mqi.MQDLTMP(h, m, s, "a")),
    ("MQBMHO", mqc.MQRC_BMHO_ERROR, lambda h, m, s: mqi.MQBUFMH(h, m, s, bytearray(364), bytearray())),
    ("MQMHBO", mqc.MQRC_MHBO_ERROR, lambda h, m, s: mqi.MQMHBUF(h, m, s, "%", bytearray(364), 10)),
]


@pytest.mark.parametrize(("name", "reason", "call"), STRUCTURES)
def test_wrong_structures(app: Any, hmsg: int, name: str, reason: int, call: Any) -> None:
    set_text(app, hmsg, "a", "kept")
    for spoiled in (b"XXXX", bytes(app.structure(name)[:4]) + b"\x07\0\0\0"):
        structure = app.structure(name)
        structure[: len(spoiled)] = spoiled
        assert call(app.hconn, hmsg, structure)[-2:] == (FAILED, reason)
    assert call(app.hconn, hmsg, app.structure(name)[:-1])[-2:] == (FAILED, reason)
    assert value_of(app, hmsg, "a") == (mqc.MQTYPE_STRING, b"kept")


# -- MQSETMP and MQINQMP ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("type", "value"),
    [
        (mqc.MQTYPE_BOOLEAN, b"\x01\0\0\0"),
        (mqc.MQTYPE_INT8, b"\xff"),
        (mqc.MQTYPE_INT16, b"\x34\x12"),
        (mqc.MQTYPE_INT32, b"\x78\x56\x34\x12"),
        (mqc.MQTYPE_INT64, b"\x01\0\0\0\0\0\0\x80"),
        (mqc.MQTYPE_FLOAT32, struct.pack("<f", 1.5)),
        (mqc.MQTYPE_FLOAT64, struct.pack("<d", 0.1)),
        (mqc.MQTYPE_STRING, "Gr\u00fc\u00dfe".encode()),
        (mqc.MQTYPE_BYTE_STRING, b"\0\x01\xff"),
        (mqc.MQTYPE_NULL, b""),
    ],
)
def test_every_type_comes_back(app: Any, hmsg: int, type: int, value: bytes) -> None:
    assert mqi.MQSETMP(app.hconn, hmsg, None, "thing", None, type, value) == OK
    assert value_of(app, hmsg, "thing") == (type, value)


def test_numbers_in_the_other_order(app: Any, hmsg: int) -> None:
    smpo = app.structure("MQSMPO", ValueEncoding=mqc.MQENC_INTEGER_NORMAL)
    assert mqi.MQSETMP(app.hconn, hmsg, smpo, "n", None, mqc.MQTYPE_INT32, b"\0\0\0\x05") == OK
    assert value_of(app, hmsg, "n")[1] == b"\x05\0\0\0"
    impo = app.structure("MQIMPO", Options=mqc.MQIMPO_CONVERT_VALUE, RequestedEncoding=mqc.MQENC_INTEGER_NORMAL)
    assert mqi.MQINQMP(app.hconn, hmsg, impo, "n", None, 0, 4)[1] == b"\0\0\0\x05"
    assert app.read("MQIMPO", impo, "ReturnedEncoding") == mqc.MQENC_INTEGER_NORMAL


def test_strings_in_another_code_page(app: Any, hmsg: int) -> None:
    smpo = app.structure("MQSMPO", ValueCCSID=500)
    assert mqi.MQSETMP(app.hconn, hmsg, smpo, "s", None, mqc.MQTYPE_STRING, "HALLO".encode("cp500")) == OK
    assert value_of(app, hmsg, "s")[1] == b"HALLO"
    impo = app.structure("MQIMPO", Options=mqc.MQIMPO_CONVERT_VALUE, RequestedCCSID=500)
    assert mqi.MQINQMP(app.hconn, hmsg, impo, "s", None, 0, 10)[1] == "HALLO".encode("cp500")
    assert app.read("MQIMPO", impo, "ReturnedCCSID") == 500
    impo = app.structure("MQIMPO", Options=mqc.MQIMPO_CONVERT_VALUE, RequestedCCSID=76543)
    answer = mqi.MQINQMP(app.hconn, hmsg, impo, "s", None, 0, 10)
    assert answer[1:] == (b"HALLO", 5, WARNING, mqc.MQRC_PROP_VALUE_NOT_CONVERTED)
    assert app.read("MQIMPO", impo, "ReturnedCCSID") == 1208


@pytest.mark.parametrize(
    ("name", "type", "value", "options", "reason"),
    [
        ("", mqc.MQTYPE_STRING, b"", {}, mqc.MQRC_PROPERTY_NAME_LENGTH_ERR),
        ("x" * 5000, mqc.MQTYPE_STRING, b"", {}, mqc.MQRC_PROPERTY_NAME_LENGTH_ERR),
        ("a..b", mqc.MQTYPE_STRING, b"", {}, mqc.MQRC_PROPERTY_NAME_ERROR),
        ("JMSNothing", mqc.MQTYPE_STRING, b"", {}, mqc.MQRC_PROPERTY_NAME_ERROR),
        ("Root.MQMD.Nothing", mqc.MQTYPE_STRING, b"", {}, mqc.MQRC_PROPERTY_NAME_ERROR),
        ("a", 7, b"", {}, mqc.MQRC_PROPERTY_TYPE_ERROR),
        ("a", mqc.MQTYPE_INT32, b"123", {}, mqc.MQRC_BUFFER_LENGTH_ERROR),
        ("a", mqc.MQTYPE_STRING, b"\xff", {}, mqc.MQRC_BUFFER_ERROR),
        ("a", mqc.MQTYPE_STRING, b"x", {"ValueCCSID": 76543}, mqc.MQRC_SOURCE_CCSID_ERROR),
        ("a", mqc.MQTYPE_INT32, bytes(4), {"ValueEncoding": 7}, mqc.MQRC_SMPO_ERROR),
        ("a", mqc.MQTYPE_STRING, b"", {"Options": 64}, mqc.MQRC_OPTIONS_ERROR),
        (
            "a",
            mqc.MQTYPE_STRING,
            b"",
            {"Options": mqc.MQSMPO_SET_PROP_UNDER_CURSOR},
            mqc.MQRC_PROPERTY_NOT_AVAILABLE,
        ),
    ],
)
def test_setting_refuses(
    app: Any, hmsg: int, name: str, type: int, value: bytes, options: dict[str, int], reason: int
) -> None:
    smpo = app.structure("MQSMPO", **options)
    assert mqi.MQSETMP(app.hconn, hmsg, smpo, name, None, type, value) == (FAILED, reason)
    assert mqi.MQINQMP(app.hconn, hmsg, None, "%", None, 0, 10)[4] == mqc.MQRC_PROPERTY_NOT_AVAILABLE


@pytest.mark.parametrize("fields", [{"Options": 1}, {"Context": 9}, {"CopyOptions": 0x400}])
def test_wrong_property_descriptors(app: Any, hmsg: int, fields: dict[str, int]) -> None:
    pd = app.structure("MQPD", **fields)
    answer = mqi.MQSETMP(app.hconn, hmsg, None, "a", pd, mqc.MQTYPE_STRING, b"")
    assert answer == (FAILED, mqc.MQRC_PD_ERROR)


def test_the_descriptor_of_a_property_comes_back(app: Any, hmsg: int) -> None:
    pd = app.structure("MQPD", Context=mqc.MQPD_USER_CONTEXT, CopyOptions=mqc.MQCOPY_REPLY)
    assert mqi.MQSETMP(app.hconn, hmsg, None, "a", pd, mqc.MQTYPE_STRING, b"x") == OK
    got = app.structure("MQPD")
    assert mqi.MQINQMP(app.hconn, hmsg, None, "a", got, 0, 10)[3:] == OK
    assert app.read("MQPD", got, "Context") == mqc.MQPD_USER_CONTEXT
    assert app.read("MQPD", got, "CopyOptions") == mqc.MQCOPY_REPLY


def named(app: Any, size: int, **fields: int) -> bytearray:
    """Inquiry options with room for the name behind them."""
    impo = app.structure("MQIMPO", ReturnedNameVSOffset=64, ReturnedNameVSBufSize=size, **fields)
    return bytearray(impo + bytes(size))


def test_names_are_returned_one_after_the_other(app: Any, hmsg: int) -> None:
    for name in ("first", "second", "third"):
        set_text(app, hmsg, name, name.upper())
    found = []
    option = mqc.MQIMPO_INQ_FIRST
    while True:
        impo = named(app, 20, Options=option)
        _, value, _, _, rc = mqi.MQINQMP(app.hconn, hmsg, impo, "%", None, 0, 100)
        if rc:
            break
        length = app.read("MQIMPO", impo, "ReturnedNameVSLength")
        found.append((bytes(impo[64 : 64 + length]), value))
        option = mqc.MQIMPO_INQ_NEXT
    assert found == [(b"first", b"FIRST"), (b"second", b"SECOND"), (b"third", b"THIRD")]
    assert rc == mqc.MQRC_PROPERTY_NOT_AVAILABLE


def test_next_with_another_name_begins_at_the_front(app: Any, hmsg: int) -> None:
    for name in ("aa", "ab", "b"):
        set_text(app, hmsg, name, name)
    following = app.structure("MQIMPO", Options=mqc.MQIMPO_INQ_NEXT)
    answers = [mqi.MQINQMP(app.hconn, hmsg, following, name, None, 0, 9)[1] for name in ("%", "%", "a%", "a%", "%")]
    assert answers == [b"aa", b"ab", b"aa", b"ab", b"aa"]


def test_the_name_through_a_pointer(app: Any, hmsg: int) -> None:
    set_text(app, hmsg, "colour", "red")
    memory = ctypes.create_string_buffer(32)
    impo = app.structure("MQIMPO", ReturnedNameVSPtr=ctypes.addressof(memory), ReturnedNameVSBufSize=32)
    assert mqi.MQINQMP(app.hconn, hmsg, impo, "col%", None, 0, 10)[3:] == OK
    assert memory.value == b"colour"
    assert app.read("MQIMPO", impo, "ReturnedNameVSCCSID") == 1208


def test_a_name_that_does_not_fit(app: Any, hmsg: int) -> None:
    set_text(app, hmsg, "colour", "red")
    impo = named(app, 5)
    answer = mqi.MQINQMP(app.hconn, hmsg, impo, "col%", None, 0, 10)
    assert answer[3:] == (FAILED, mqc.MQRC_PROPERTY_NAME_TOO_BIG)
    assert app.read("MQIMPO", impo, "ReturnedNameVSLength") == 6
    assert bytes(impo[64:]) == bytes(5)


@pytest.mark.parametrize(
    "place",
    [
        {"ReturnedNameVSOffset": -10, "ReturnedNameVSBufSize": 100},
        {"ReturnedNameVSOffset": 4, "ReturnedNameVSBufSize": 100},
        {"ReturnedNameVSOffset": 60, "ReturnedNameVSBufSize": 100},
        {"ReturnedNameVSOffset": 2000000, "ReturnedNameVSBufSize": 100},
    ],
)
def test_hostile_places_for_the_name_are_never_written(app: Any, hmsg: int, place: dict[str, int]) -> None:
    set_text(app, hmsg, "colour", "red")
    impo = app.structure("MQIMPO", **place)
    assert mqi.MQINQMP(app.hconn, hmsg, impo, "colour", None, 0, 10)[3:] == (FAILED, mqc.MQRC_PROPERTY_NAME_TOO_BIG)
    assert len(impo) == 64
    assert impo[:4] == b"IMPO"


def test_a_value_that_does_not_fit_and_its_length(app: Any, hmsg: int) -> None:
    set_text(app, hmsg, "colour", "turquoise")
    answer = mqi.MQINQMP(app.hconn, hmsg, None, "colour", None, 0, 4)
    assert answer == (mqc.MQTYPE_STRING, b"turq", 9, WARNING, mqc.MQRC_PROPERTY_VALUE_TOO_BIG)
    under = app.structure("MQIMPO", Options=mqc.MQIMPO_INQ_PROP_UNDER_CURSOR)
    assert mqi.MQINQMP(app.hconn, hmsg, under, "colour", None, 0, 9)[1] == b"turquoise"
    query = app.structure("MQIMPO", Options=mqc.MQIMPO_QUERY_LENGTH)
    assert mqi.MQINQMP(app.hconn, hmsg, query, "colour", None, 0, 0) == (mqc.MQTYPE_STRING, b"", 9, *OK)


@pytest.mark.parametrize(
    ("name", "type", "length", "options", "reason"),
    [
        ("nothing", 0, 10, 0, mqc.MQRC_PROPERTY_NOT_AVAILABLE),
        ("", 0, 10, 0, mqc.MQRC_PROPERTY_NAME_LENGTH_ERR),
        ("a%b", 0, 10, 0, mqc.MQRC_PROPERTY_NAME_ERROR),
        ("colour", 0, -1, 0, mqc.MQRC_BUFFER_LENGTH_ERROR),
        ("colour", 0, 10, 1024, mqc.MQRC_OPTIONS_ERROR),
        ("colour", 999, 10, mqc.MQIMPO_CONVERT_TYPE, mqc.MQRC_PROPERTY_TYPE_ERROR),
        ("colour", mqc.MQTYPE_INT32, 10, mqc.MQIMPO_CONVERT_TYPE, mqc.MQRC_PROP_NUMBER_FORMAT_ERROR),
        ("colour", mqc.MQTYPE_BYTE_STRING, 10, mqc.MQIMPO_CONVERT_TYPE, mqc.MQRC_PROP_CONV_NOT_SUPPORTED),
    ],
)
def test_inquiring_refuses(app: Any, hmsg: int, name: str, type: int, length: int, options: int, reason: int) -> None:
    set_text(app, hmsg, "colour", "red")
    impo = app.structure("MQIMPO", Options=options)
    assert mqi.MQINQMP(app.hconn, hmsg, impo, name, None, type, length)[3:] == (FAILED, reason)


def test_converting_types(app: Any, hmsg: int) -> None:
    set_text(app, hmsg, "n", "42")
    impo = app.structure("MQIMPO", Options=mqc.MQIMPO_CONVERT_TYPE)
    answer = mqi.MQINQMP(app.hconn, hmsg, impo, "n", None, mqc.MQTYPE_INT32, 4)
    assert answer == (mqc.MQTYPE_INT32, b"\x2a\0\0\0", 4, *OK)


def test_a_name_as_a_variable_string(app: Any, hmsg: int) -> None:
    memory = ctypes.create_string_buffer("f\u00e4rbe".encode())
    name = bytearray(struct.pack("<Qiiii", ctypes.addressof(memory), 0, 0, mqc.MQVS_NULL_TERMINATED, 1208))
    assert mqi.MQSETMP(app.hconn, hmsg, None, name, None, mqc.MQTYPE_STRING, b"rot") == OK
    assert value_of(app, hmsg, "f\u00e4rbe")[1] == b"rot"


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        (bytearray(5), mqc.MQRC_PROPERTY_NAME_ERROR),
        (bytearray(24), mqc.MQRC_PROPERTY_NAME_LENGTH_ERR),
        (bytearray(struct.pack("<Qiiii", 0, 0, 0, 5, 1208)), mqc.MQRC_PROPERTY_NAME_ERROR),
        (bytearray(struct.pack("<Qiiii", 0, 24, 0, -5, 1208)), mqc.MQRC_PROPERTY_NAME_LENGTH_ERR),
        (bytearray(struct.pack("<Qiiii", 0, 24, 0, 99999, 1208)), mqc.MQRC_PROPERTY_NAME_LENGTH_ERR),
        (bytearray(struct.pack("<Qiiii", 0, 24, 0, 9, 1208)), mqc.MQRC_PROPERTY_NAME_ERROR),
    ],
)
def test_wrong_names_as_variable_strings(app: Any, hmsg: int, name: bytearray, reason: int) -> None:
    assert mqi.MQSETMP(app.hconn, hmsg, None, name, None, mqc.MQTYPE_STRING, b"") == (FAILED, reason)
    assert mqi.MQINQMP(app.hconn, hmsg, None, name, None, 0, 10)[3:] == (FAILED, reason)
    assert mqi.MQDLTMP(app.hconn, hmsg, None, name) == (FAILED, reason)
    assert mqi.MQMHBUF(app.hconn, hmsg, None, name, app.structure("MQMD"), 10)[2:] == (FAILED, reason)


# -- MQDLTMP ----------------------------------------------------------------------------------------------------------


def test_deleting(app: Any, hmsg: int) -> None:
    set_text(app, hmsg, "a", "1")
    assert mqi.MQDLTMP(app.hconn, hmsg, None, "a") == OK
    assert mqi.MQDLTMP(app.hconn, hmsg, None, "a") == (FAILED, mqc.MQRC_PROPERTY_NOT_AVAILABLE)
    dmpo = app.structure("MQDMPO", Options=2)
    assert mqi.MQDLTMP(app.hconn, hmsg, dmpo, "a") == (FAILED, mqc.MQRC_OPTIONS_ERROR)


def test_deleting_a_field_of_the_descriptor_gives_it_its_first_value(app: Any, hmsg: int) -> None:
    assert mqi.MQSETMP(app.hconn, hmsg, None, "Root.MQMD.Priority", None, mqc.MQTYPE_INT32, b"\x07\0\0\0") == OK
    assert value_of(app, hmsg, "Root.MQMD.Priority")[1] == b"\x07\0\0\0"
    assert mqi.MQDLTMP(app.hconn, hmsg, None, "Root.MQMD.Priority") == OK
    assert value_of(app, hmsg, "Root.MQMD.Priority")[1] == b"\xff\xff\xff\xff"
    assert mqi.MQDLTMP(app.hconn, hmsg, None, "Root.MQMD.None") == (FAILED, mqc.MQRC_PROPERTY_NAME_ERROR)


# -- buffers ----------------------------------------------------------------------------------------------------------


def test_properties_into_a_buffer_and_out_of_it(app: Any, hmsg: int) -> None:
    set_text(app, hmsg, "colour", "red")
    md = app.structure("MQMD", Format=mqc.MQFMT_STRING)
    buffer, length, cc, rc = mqi.MQMHBUF(app.hconn, hmsg, None, "%", md, 1000)
    assert (cc, rc) == OK
    assert length == len(buffer)
    assert buffer.startswith(b"RFH \x02")
    assert app.read("MQMD", md, "Format") == b"MQHRF2"
    other, _, _ = mqi.MQCRTMH(app.hconn, None)
    data = bytearray(buffer + b"body")
    left, cc, rc = mqi.MQBUFMH(app.hconn, other, None, md, data)
    assert (cc, rc) == OK
    assert data[:left] == b"body"
    assert app.read("MQMD", md, "Format") == b"MQSTR"
    assert value_of(app, other, "colour") == (mqc.MQTYPE_STRING, b"red")


def test_a_buffer_that_is_too_small_loses_nothing(app: Any, hmsg: int) -> None:
    set_text(app, hmsg, "colour", "red")
    both = mqc.MQMHBO_PROPERTIES_IN_MQRFH2 | mqc.MQMHBO_DELETE_PROPERTIES
    mhbo = app.structure("MQMHBO", Options=both)
    md = app.structure("MQMD")
    before = bytes(md)
    _, length, cc, rc = mqi.MQMHBUF(app.hconn, hmsg, mhbo, "%", md, 10)
    assert (cc, rc) == (FAILED, mqc.MQRC_PROPERTY_VALUE_TOO_BIG)
    assert bytes(md) == before
    assert value_of(app, hmsg, "colour")[1] == b"red"
    assert mqi.MQMHBUF(app.hconn, hmsg, mhbo, "%", md, length)[2:] == OK
    assert mqi.MQINQMP(app.hconn, hmsg, None, "colour", None, 0, 9)[4] == mqc.MQRC_PROPERTY_NOT_AVAILABLE


@pytest.mark.parametrize(
    ("options", "name", "length", "reason"),
    [
        (0, "%", 100, mqc.MQRC_OPTIONS_ERROR),
        (mqc.MQMHBO_DELETE_PROPERTIES, "%", 100, mqc.MQRC_OPTIONS_ERROR),
        (8 | mqc.MQMHBO_PROPERTIES_IN_MQRFH2, "%", 100, mqc.MQRC_OPTIONS_ERROR),
        (mqc.MQMHBO_PROPERTIES_IN_MQRFH2, "nothing", 100, mqc.MQRC_PROPERTY_NOT_AVAILABLE),
        (mqc.MQMHBO_PROPERTIES_IN_MQRFH2, "%", -1, mqc.MQRC_BUFFER_LENGTH_ERROR),
    ],
)
def test_buffers_refused(app: Any, hmsg: int, options: int, name: str, length: int, reason: int) -> None:
    set_text(app, hmsg, "colour", "red")
    mhbo = app.structure("MQMHBO", Options=options)
    answer = mqi.MQMHBUF(app.hconn, hmsg, mhbo, name, app.structure("MQMD"), length)
    assert answer == (b"", 0, FAILED, reason)


def test_a_damaged_header_changes_nothing(app: Any, hmsg: int) -> None:
    set_text(app, hmsg, "colour", "red")
    md = app.structure("MQMD", Format=mqc.MQFMT_RF_HEADER_2)
    buffer = bytearray(b"RFH \x02\0\0\0\xff\xff\xff\x7f" + bytes(40))
    before = bytes(buffer)
    assert mqi.MQBUFMH(app.hconn, hmsg, None, md, buffer)[1] == FAILED
    assert bytes(buffer) == before
    assert value_of(app, hmsg, "colour")[1] == b"red"
    frozen: Any = b"bytes"
    assert mqi.MQBUFMH(app.hconn, hmsg, None, md, frozen)[2] == mqc.MQRC_BUFFER_ERROR


# -- with messages ----------------------------------------------------------------------------------------------------


def test_properties_travel_with_put1_and_get(app: Any, hmsg: int) -> None:
    name = app.queue()
    set_text(app, hmsg, "colour", "red")
    pmo = app.structure("MQPMO", OriginalMsgHandle=hmsg)
    assert mqi.MQPUT1(app.hconn, app.structure("MQOD", ObjectName=name), app.structure("MQMD"), pmo, b"body") == OK
    hobj = app.open(name, mqc.MQOO_INPUT_SHARED)
    other, _, _ = mqi.MQCRTMH(app.hconn, None)
    set_text(app, other, "stale", "x")
    gmo = app.structure("MQGMO", MsgHandle=other, Options=mqc.MQGMO_PROPERTIES_IN_HANDLE)
    data, _, cc, rc = mqi.MQGET(app.hconn, hobj, app.structure("MQMD"), gmo, 100)
    assert (data, cc, rc) == (b"body", *OK)
    assert value_of(app, other, "colour")[1] == b"red"
    assert mqi.MQINQMP(app.hconn, other, None, "stale", None, 0, 9)[4] == mqc.MQRC_PROPERTY_NOT_AVAILABLE
    priority = value_of(app, other, "Root.MQMD.Priority")
    assert priority == (mqc.MQTYPE_INT32, bytes(4))


def test_properties_travel_with_put(app: Any, hmsg: int) -> None:
    name = app.queue()
    set_text(app, hmsg, "colour", "red")
    hobj = app.open(name, mqc.MQOO_INPUT_SHARED | mqc.MQOO_OUTPUT)
    pmo = app.structure("MQPMO", OriginalMsgHandle=hmsg)
    assert mqi.MQPUT(app.hconn, hobj, app.structure("MQMD"), pmo, b"body") == OK
    gmo = app.structure("MQGMO", Options=mqc.MQGMO_PROPERTIES_FORCE_MQRFH2)
    data, _, _, _ = mqi.MQGET(app.hconn, hobj, app.structure("MQMD"), gmo, 1000)
    assert b"<colour>red</colour>" in data


def test_a_get_with_a_wrong_handle_takes_nothing(app: Any) -> None:
    name = app.queue()
    app.put(name, b"stays")
    hobj = app.open(name, mqc.MQOO_INPUT_SHARED)
    gmo = app.structure("MQGMO", MsgHandle=123456789)
    assert mqi.MQGET(app.hconn, hobj, app.structure("MQMD"), gmo, 100)[2:] == (FAILED, mqc.MQRC_HMSG_ERROR)
    assert app.depth(name) == 1


def test_the_descriptor_from_the_handle(app: Any, hmsg: int) -> None:
    name = app.queue()
    assert mqi.MQSETMP(app.hconn, hmsg, None, "Root.MQMD.Priority", None, mqc.MQTYPE_INT32, b"\x07\0\0\0") == OK
    pmo = app.structure("MQPMO", OriginalMsgHandle=hmsg, Options=mqc.MQPMO_MD_FOR_OUTPUT_ONLY)
    md = app.structure("MQMD", Priority=1)
    assert mqi.MQPUT1(app.hconn, app.structure("MQOD", ObjectName=name), md, pmo, b"x") == OK
    assert app.read("MQMD", md, "Priority") == 7


def test_the_new_handle_shows_what_was_put(app: Any, hmsg: int) -> None:
    set_text(app, hmsg, "colour", "red")
    new, _, _ = mqi.MQCRTMH(app.hconn, None)
    set_text(app, new, "size", "xl")
    pmo = app.structure("MQPMO", OriginalMsgHandle=hmsg, NewMsgHandle=new, Action=mqc.MQACTP_FORWARD)
    od = app.structure("MQOD", ObjectName=app.queue())
    assert mqi.MQPUT1(app.hconn, od, app.structure("MQMD"), pmo, b"x") == OK
    assert value_of(app, new, "colour")[1] == b"red"
    assert value_of(app, new, "size")[1] == b"xl"
    assert value_of(app, new, "Root.MQMD.MsgId")[1].startswith(b"AMQ ")
    assert mqi.MQINQMP(app.hconn, hmsg, None, "size", None, 0, 9)[4] == mqc.MQRC_PROPERTY_NOT_AVAILABLE
