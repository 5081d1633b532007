"""MQOPEN, MQCLOSE and MQPUT1: structures in, structures out, and everything that is refused."""

from __future__ import annotations

import ctypes
import struct
from typing import Any

import pytest

from ostler import mqi
from ostler.model import constants as mqc
from ostler.model.attributes import ObjectType

OK = (mqc.MQCC_OK, mqc.MQRC_NONE)
FAILED = mqc.MQCC_FAILED
UNUSABLE = mqc.MQHO_UNUSABLE_HOBJ


def charv(pointer: int = 0, offset: int = 0, size: int = 0, length: int = 0, ccsid: int = mqc.MQCCSI_APPL) -> bytes:
    return struct.pack("<Qiiii", pointer, offset, size, length, ccsid)


@pytest.mark.parametrize("version", [1, 2, 3, 4])
def test_every_version_of_the_descriptor_opens(app: Any, version: int) -> None:
    name = app.queue()
    od = app.structure("MQOD", version, ObjectName=name)
    size = len(od)
    hobj, cc, rc = mqi.MQOPEN(app.hconn, od, mqc.MQOO_OUTPUT)
    assert (cc, rc) == OK
    assert len(od) == size
    if version >= 2:
        assert app.read("MQOD", od, "KnownDestCount") == 1
    if version >= 3:
        assert app.read("MQOD", od, "ResolvedQName") == name.encode()
        assert app.read("MQOD", od, "ResolvedQMgrName") == app.manager.name.encode()
    if version >= 4:
        assert app.read("MQOD", od, "ResolvedType") == mqc.MQOT_Q
    assert mqi.MQCLOSE(app.hconn, hobj, 0) == (UNUSABLE, *OK)


def test_opening_for_inquiry_resolves_no_names(app: Any) -> None:
    od = app.structure("MQOD", 3, ObjectName=app.queue(), ResolvedQName="LEFT.OVER")
    assert mqi.MQOPEN(app.hconn, od, mqc.MQOO_INQUIRE)[1:] == OK
    assert app.read("MQOD", od, "ResolvedQName") == b""


@pytest.mark.parametrize(
    ("fields", "options", "reason"),
    [
        ({"ObjectName": "NO.SUCH.QUEUE"}, mqc.MQOO_OUTPUT, mqc.MQRC_UNKNOWN_OBJECT_NAME),
        ({"ObjectName": "bad name!"}, mqc.MQOO_OUTPUT, mqc.MQRC_UNKNOWN_OBJECT_NAME),
        ({"ObjectName": b"\xc3\x28"}, mqc.MQOO_OUTPUT, mqc.MQRC_UNKNOWN_OBJECT_NAME),
        ({"ObjectName": "Q", "ObjectQMgrName": "bad name!"}, mqc.MQOO_OUTPUT, mqc.MQRC_UNKNOWN_OBJECT_Q_MGR),
        ({"ObjectName": "Q", "ObjectQMgrName": "ELSEWHERE"}, mqc.MQOO_OUTPUT, mqc.MQRC_UNKNOWN_REMOTE_Q_MGR),
        (
            {"ObjectType": mqc.MQOT_PROCESS, "ObjectName": "P", "ObjectQMgrName": "ELSEWHERE"},
            mqc.MQOO_INQUIRE,
            mqc.MQRC_UNKNOWN_OBJECT_Q_MGR,
        ),
        ({"ObjectType": mqc.MQOT_PROCESS, "ObjectName": "P"}, mqc.MQOO_INQUIRE, mqc.MQRC_UNKNOWN_OBJECT_NAME),
        ({"ObjectType": mqc.MQOT_Q_MGR, "ObjectName": "OTHER"}, mqc.MQOO_INQUIRE, mqc.MQRC_UNKNOWN_OBJECT_NAME),
        ({"ObjectType": mqc.MQOT_Q_MGR}, mqc.MQOO_OUTPUT, mqc.MQRC_OPTION_NOT_VALID_FOR_TYPE),
        ({"ObjectType": 999, "ObjectName": "Q"}, mqc.MQOO_INQUIRE, mqc.MQRC_OBJECT_TYPE_ERROR),
        ({"ObjectName": "SYSTEM.DEFAULT.LOCAL.QUEUE"}, 0, mqc.MQRC_OPTIONS_ERROR),
        ({"ObjectName": "SYSTEM.DEFAULT.LOCAL.QUEUE"}, 0x40000000, mqc.MQRC_OPTIONS_ERROR),
        (
            {"ObjectName": "SYSTEM.DEFAULT.LOCAL.QUEUE"},
            mqc.MQOO_INPUT_SHARED | mqc.MQOO_INPUT_EXCLUSIVE,
            mqc.MQRC_OPTIONS_ERROR,
        ),
        ({"ObjectName": "Q", "RecsPresent": 2}, mqc.MQOO_OUTPUT, mqc.MQRC_RECS_PRESENT_ERROR),
        ({"ObjectName": "Q", "RecsPresent": -1}, mqc.MQOO_OUTPUT, mqc.MQRC_RECS_PRESENT_ERROR),
    ],
)
def test_what_cannot_be_opened(app: Any, fields: dict[str, Any], options: int, reason: int) -> None:
    od = app.structure("MQOD", **fields)
    before = bytes(od)
    handles = len(app.manager.engine.connections[_number(app)].handles)
    assert mqi.MQOPEN(app.hconn, od, options) == (UNUSABLE, FAILED, reason)
    assert bytes(od) == before
    assert len(app.manager.engine.connections[_number(app)].handles) == handles


def _number(app: Any) -> int:
    return int(max(app.manager.engine.connections))


def test_names_that_resolve_to_another_queue_manager(app: Any) -> None:
    transmission = app.queue(USAGE=mqc.MQUS_TRANSMISSION)
    remote = app.define(ObjectType.QREMOTE, RNAME="THERE", RQMNAME="QMX", XMITQ=transmission)
    od = app.structure("MQOD", ObjectName=remote)
    assert mqi.MQOPEN(app.hconn, od, mqc.MQOO_OUTPUT)[1:] == OK
    assert app.read("MQOD", od, "ResolvedQName") == b"THERE"
    assert app.read("MQOD", od, "ResolvedQMgrName") == b"QMX"
    assert (app.read("MQOD", od, "KnownDestCount"), app.read("MQOD", od, "UnknownDestCount")) == (0, 1)
    od = app.structure("MQOD", ObjectName=remote)
    assert mqi.MQOPEN(app.hconn, od, mqc.MQOO_OUTPUT | mqc.MQOO_RESOLVE_LOCAL_Q)[1:] == OK
    assert app.read("MQOD", od, "ResolvedQName") == transmission.encode()
    assert app.read("MQOD", od, "ResolvedQMgrName") == app.manager.name.encode()


@pytest.mark.parametrize("name", ["bad name!", b"\xc3\x28"])
def test_a_name_that_is_none_is_not_sent_elsewhere_either(app: Any, name: Any) -> None:
    transmission = app.queue(USAGE=mqc.MQUS_TRANSMISSION)
    od = app.structure("MQOD", ObjectName=name, ObjectQMgrName=transmission)
    assert mqi.MQOPEN(app.hconn, od, mqc.MQOO_OUTPUT)[2] == mqc.MQRC_UNKNOWN_OBJECT_NAME


@pytest.mark.parametrize("spoiled", [b"XOD ", b"OD  \x05\0\0\0", b"OD  \0\0\0\0"])
def test_a_wrong_descriptor(app: Any, spoiled: bytes) -> None:
    od = app.structure("MQOD", ObjectName="SYSTEM.DEFAULT.LOCAL.QUEUE")
    od[: len(spoiled)] = spoiled
    assert mqi.MQOPEN(app.hconn, od, mqc.MQOO_OUTPUT) == (UNUSABLE, FAILED, mqc.MQRC_OD_ERROR)
    assert mqi.MQPUT1(app.hconn, od, app.structure("MQMD"), app.structure("MQPMO"), b"") == (
        FAILED,
        mqc.MQRC_OD_ERROR,
    )


@pytest.mark.parametrize("length", [0, 7, 167])
def test_a_descriptor_that_is_cut_off(app: Any, length: int) -> None:
    od = app.structure("MQOD", 1, ObjectName="SYSTEM.DEFAULT.LOCAL.QUEUE")[:length]
    assert mqi.MQOPEN(app.hconn, od, mqc.MQOO_OUTPUT)[2] == mqc.MQRC_OD_ERROR


def test_a_dynamic_queue_gets_a_name(app: Any) -> None:
    od = app.structure("MQOD", ObjectName="SYSTEM.DEFAULT.MODEL.QUEUE", DynamicQName="REPLY.*")
    hobj, cc, rc = mqi.MQOPEN(app.hconn, od, mqc.MQOO_INPUT_EXCLUSIVE)
    assert (cc, rc) == OK
    name = app.read("MQOD", od, "ObjectName").decode()
    assert name.startswith("REPLY.")
    assert app.read("MQOD", od, "ObjectQMgrName") == app.manager.name.encode()
    assert name in app.manager.engine.queues
    assert mqi.MQCLOSE(app.hconn, hobj, mqc.MQCO_NONE)[1:] == OK
    assert name not in app.manager.engine.queues


def test_a_permanent_dynamic_queue_is_deleted_by_closing_it_so(app: Any) -> None:
    model = app.define(ObjectType.QMODEL, DEFTYPE=mqc.MQQDT_PERMANENT_DYNAMIC)
    od = app.structure("MQOD", ObjectName=model, DynamicQName="KEPT.*")
    hobj, _, _ = mqi.MQOPEN(app.hconn, od, mqc.MQOO_INPUT_SHARED)
    name = app.read("MQOD", od, "ObjectName").decode()
    app.put(name, b"x")
    assert mqi.MQCLOSE(app.hconn, hobj, mqc.MQCO_DELETE) == (hobj, FAILED, mqc.MQRC_Q_NOT_EMPTY)
    assert mqi.MQCLOSE(app.hconn, hobj, mqc.MQCO_DELETE_PURGE)[1:] == OK
    assert name not in app.manager.engine.queues


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        (mqc.MQCO_DELETE | mqc.MQCO_DELETE_PURGE, mqc.MQRC_OPTIONS_ERROR),
        (0x100, mqc.MQRC_OPTIONS_ERROR),
        (mqc.MQCO_DELETE, mqc.MQRC_OPTION_NOT_VALID_FOR_TYPE),
        (mqc.MQCO_KEEP_SUB, mqc.MQRC_OPTION_NOT_VALID_FOR_TYPE),
        (mqc.MQCO_REMOVE_SUB, mqc.MQRC_OPTION_NOT_VALID_FOR_TYPE),
    ],
)
def test_close_options(app: Any, options: int, reason: int) -> None:
    hobj = app.open(app.queue(), mqc.MQOO_OUTPUT)
    assert mqi.MQCLOSE(app.hconn, hobj, options) == (hobj, FAILED, reason)
    assert mqi.MQCLOSE(app.hconn, hobj, 0)[1:] == OK


@pytest.mark.parametrize("hobj", [mqc.MQHO_UNUSABLE_HOBJ, mqc.MQHO_NONE, 99999])
def test_wrong_object_handles(app: Any, hobj: int) -> None:
    assert mqi.MQCLOSE(app.hconn, hobj, 0) == (hobj, FAILED, mqc.MQRC_HOBJ_ERROR)
    assert mqi.MQINQ(app.hconn, hobj, [], 0, 0) == ([], b"", FAILED, mqc.MQRC_HOBJ_ERROR)
    assert mqi.MQSET(app.hconn, hobj, [], [], b"") == (FAILED, mqc.MQRC_HOBJ_ERROR)
    cbd = app.structure("MQCBD")
    answer = mqi.MQCB(app.hconn, mqc.MQOP_REGISTER, cbd, hobj, app.structure("MQMD"), app.structure("MQGMO"), print)
    assert answer == (FAILED, mqc.MQRC_HOBJ_ERROR)


def test_a_handle_of_another_connection_is_wrong(app: Any) -> None:
    other = app.connect()
    hobj = app.open(app.queue(), mqc.MQOO_OUTPUT, other)
    assert mqi.MQCLOSE(app.hconn, hobj, 0)[2] == mqc.MQRC_HOBJ_ERROR
    mqi.MQDISC(other)


# -- selection strings ------------------------------------------------------------------------------------------------


def _colour(app: Any, name: str, colour: bytes) -> None:
    hmsg, _, _ = mqi.MQCRTMH(app.hconn, None)
    assert mqi.MQSETMP(app.hconn, hmsg, None, "colour", None, mqc.MQTYPE_STRING, colour) == OK
    pmo = app.structure("MQPMO", OriginalMsgHandle=hmsg)
    od = app.structure("MQOD", ObjectName=name)
    assert mqi.MQPUT1(app.hconn, od, app.structure("MQMD"), pmo, colour) == OK
    mqi.MQDLTMH(app.hconn, hmsg, None)


@pytest.mark.parametrize("how", ["pointer", "null", "offset", "offset null", "ebcdic", "utf-16"])
def test_a_selection_string(app: Any, how: str) -> None:
    name = app.queue(PROPCTL=mqc.MQPROP_NONE)
    _colour(app, name, b"red")
    _colour(app, name, b"blue")
    text = "colour = 'blue'"
    memory = ctypes.create_string_buffer(text.encode())
    ebcdic = ctypes.create_string_buffer(text.encode("cp037"))
    wide = ctypes.create_string_buffer(text.encode("utf-16-le") + b"\0\0")
    od = app.structure("MQOD", ObjectName=name)
    strings = {
        "pointer": charv(pointer=ctypes.addressof(memory), length=len(text)),
        "null": charv(pointer=ctypes.addressof(memory), length=mqc.MQVS_NULL_TERMINATED),
        "offset": charv(offset=len(od), length=len(text)),
        "offset null": charv(offset=len(od), length=mqc.MQVS_NULL_TERMINATED),
        "ebcdic": charv(pointer=ctypes.addressof(ebcdic), length=len(text), ccsid=37),
        "utf-16": charv(pointer=ctypes.addressof(wide), length=mqc.MQVS_NULL_TERMINATED, ccsid=1200),
    }
    od[368:392] = strings[how]
    hobj, cc, rc = mqi.MQOPEN(app.hconn, od + text.encode() + b"\0", mqc.MQOO_INPUT_SHARED)
    assert (cc, rc) == OK
    assert app.get(hobj) == (b"blue", mqc.MQRC_NONE)
    assert app.get(hobj)[1] == mqc.MQRC_NO_MSG_AVAILABLE


MEMORY = ctypes.create_string_buffer(b"a = 1", 16)
ADDRESS = ctypes.addressof(MEMORY)
LONG = ctypes.create_string_buffer(b"x" * 12000)


@pytest.mark.parametrize(
    ("string", "reason"),
    [
        (charv(length=5), mqc.MQRC_SELECTION_STRING_ERROR),
        (charv(pointer=ADDRESS, length=-2), mqc.MQRC_SELECTION_STRING_ERROR),
        (charv(pointer=ADDRESS, length=0x7FFFFFFF), mqc.MQRC_SELECTION_STRING_ERROR),
        (charv(pointer=ADDRESS, offset=424, length=5), mqc.MQRC_SELECTION_STRING_ERROR),
        (charv(offset=-1, length=5), mqc.MQRC_SELECTION_STRING_ERROR),
        (charv(offset=-30, length=5), mqc.MQRC_SELECTION_STRING_ERROR),
        (charv(offset=424, length=mqc.MQVS_NULL_TERMINATED), mqc.MQRC_SELECTION_STRING_ERROR),
        (charv(offset=420, length=5), mqc.MQRC_SELECTION_STRING_ERROR),
        (charv(offset=500000, length=mqc.MQVS_NULL_TERMINATED), mqc.MQRC_SELECTION_STRING_ERROR),
        (charv(pointer=ctypes.addressof(LONG), length=mqc.MQVS_NULL_TERMINATED), mqc.MQRC_SELECTION_STRING_ERROR),
        (charv(pointer=ADDRESS, length=5, ccsid=987654), mqc.MQRC_SOURCE_CCSID_ERROR),
        (charv(pointer=ADDRESS, length=3), mqc.MQRC_SELECTOR_SYNTAX_ERROR),
    ],
)
def test_selection_strings_that_are_refused(app: Any, string: bytes, reason: int) -> None:
    od = app.structure("MQOD", ObjectName=app.queue())
    od[368:392] = string
    assert mqi.MQOPEN(app.hconn, od, mqc.MQOO_INPUT_SHARED) == (UNUSABLE, FAILED, reason)


def test_a_hostile_object_string_is_refused(app: Any) -> None:
    od = app.structure("MQOD", ObjectName=app.queue())
    od[344:368] = charv(length=-7)
    assert mqi.MQOPEN(app.hconn, od, mqc.MQOO_INPUT_SHARED)[2] == mqc.MQRC_OBJECT_STRING_ERROR


# -- MQPUT1 -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("version", [1, 2])
def test_put1_fills_in_descriptor_and_names(app: Any, version: int) -> None:
    name = app.queue(DEFPRTY=3)
    alias = app.define(ObjectType.QALIAS, TARGET=name)
    md = app.structure("MQMD", version)
    pmo = app.structure("MQPMO", 1)
    od = app.structure("MQOD", 3, ObjectName=alias)
    assert mqi.MQPUT1(app.hconn, od, md, pmo, b"data") == OK
    assert len(md) == (324 if version == 1 else 364)
    assert app.read("MQMD", md, "Version") == version
    assert app.read("MQMD", md, "MsgId").startswith(b"AMQ ")
    assert app.read("MQPMO", pmo, "ResolvedQName") == name.encode()
    assert app.read("MQPMO", pmo, "ResolvedQMgrName") == app.manager.name.encode()
    assert app.read("MQOD", od, "ResolvedQName") == name.encode()
    assert app.get(app.open(name, mqc.MQOO_INPUT_SHARED))[0] == b"data"


def test_put1_in_a_unit_of_work(app: Any) -> None:
    name = app.queue()
    od = app.structure("MQOD", ObjectName=name)
    pmo = app.structure("MQPMO", Options=mqc.MQPMO_SYNCPOINT)
    hobj = app.open(name, mqc.MQOO_INPUT_SHARED)
    assert mqi.MQPUT1(app.hconn, od, app.structure("MQMD", Persistence=1), pmo, b"data") == OK
    assert app.get(hobj)[1] == mqc.MQRC_NO_MSG_AVAILABLE
    assert mqi.MQCMIT(app.hconn) == OK
    assert app.get(hobj) == (b"data", mqc.MQRC_NONE)


@pytest.mark.parametrize(
    ("od", "md", "pmo", "reason"),
    [
        ({"ObjectName": "NO.SUCH"}, {}, {}, mqc.MQRC_UNKNOWN_OBJECT_NAME),
        ({}, {"Version": 3}, {}, mqc.MQRC_MD_ERROR),
        ({}, {"StrucId": b"XX"}, {}, mqc.MQRC_MD_ERROR),
        ({}, {"Priority": -2}, {}, mqc.MQRC_PRIORITY_ERROR),
        ({}, {"Persistence": 7}, {}, mqc.MQRC_PERSISTENCE_ERROR),
        ({}, {"Expiry": 0}, {}, mqc.MQRC_EXPIRY_ERROR),
        ({}, {"MsgType": mqc.MQMT_REQUEST}, {}, mqc.MQRC_MISSING_REPLY_TO_Q),
        ({}, {}, {"Version": 4}, mqc.MQRC_PMO_ERROR),
        ({}, {}, {"StrucId": b"XX"}, mqc.MQRC_PMO_ERROR),
        ({}, {}, {"RecsPresent": 1}, mqc.MQRC_RECS_PRESENT_ERROR),
        ({}, {}, {"Action": 9}, mqc.MQRC_ACTION_ERROR),
        ({}, {}, {"OriginalMsgHandle": 987654321}, mqc.MQRC_HMSG_ERROR),
        ({}, {}, {"NewMsgHandle": 987654321}, mqc.MQRC_HMSG_ERROR),
        ({}, {}, {"Options": mqc.MQPMO_SYNCPOINT | mqc.MQPMO_NO_SYNCPOINT}, mqc.MQRC_OPTIONS_ERROR),
        (
            {},
            {},
            {"Options": mqc.MQPMO_PASS_ALL_CONTEXT, "Context": 777},
            mqc.MQRC_CONTEXT_HANDLE_ERROR,
        ),
    ],
)
def test_put1_refuses(app: Any, od: dict[str, Any], md: dict[str, Any], pmo: dict[str, Any], reason: int) -> None:
    name = app.queue()
    structures = (
        app.structure("MQOD", **{"ObjectName": name, **od}),
        app.structure("MQMD", **md),
        app.structure("MQPMO", **pmo),
    )
    before = [bytes(each) for each in structures]
    assert mqi.MQPUT1(app.hconn, *structures, b"data") == (FAILED, reason)
    assert [bytes(each) for each in structures] == before
    assert app.depth(name) == 0


def test_put1_wants_bytes(app: Any) -> None:
    od = app.structure("MQOD", ObjectName=app.queue())
    text: Any = "text"
    assert mqi.MQPUT1(app.hconn, od, app.structure("MQMD"), app.structure("MQPMO"), text)[1] == mqc.MQRC_BUFFER_ERROR
