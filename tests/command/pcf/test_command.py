"""How PCF commands are checked: headers, parameters, filters, lists of attributes, encodings."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.command.conftest import LocalCommandContext
from tests.command.pcf.pcf_requests import Administrator, Given, check_sequence, command_bytes, parameter
from tests.searching import SLOW_MACHINES, examples

from ostler.command.pcf.command import PcfStructure
from ostler.command.pcf.dispatch import COMMANDS, answer
from ostler.model import constants as mq
from ostler.model.attributes import attributes_of
from ostler.model.pcf import (
    ByteString,
    ByteStringFilter,
    Group,
    Header,
    Integer,
    IntegerFilter,
    IntegerList,
    Parameter,
    String,
    StringFilter,
    StringList,
    decode,
    encode,
)

NAME = mq.MQCA_Q_NAME
BAD = mq.MQIACF_PARAMETER_ID


@pytest.fixture
def admin(target: LocalCommandContext) -> Administrator:
    return Administrator(target)


# -- headers -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("header", "reason"),
    [
        (Header(mq.MQCFT_RESPONSE, mq.MQCMD_PING_Q_MGR), mq.MQRCCF_CFH_TYPE_ERROR),
        (Header(99, mq.MQCMD_PING_Q_MGR), mq.MQRCCF_CFH_TYPE_ERROR),
        (Header(mq.MQCFT_COMMAND, mq.MQCMD_PING_Q_MGR, version=7), mq.MQRCCF_CFH_VERSION_ERROR),
        (Header(mq.MQCFT_COMMAND, mq.MQCMD_PING_Q_MGR, sequence_number=2), mq.MQRCCF_CFH_MSG_SEQ_NUMBER_ERR),
        (Header(mq.MQCFT_COMMAND, mq.MQCMD_PING_Q_MGR, control=mq.MQCFC_NOT_LAST), mq.MQRCCF_CFH_CONTROL_ERROR),
        (Header(mq.MQCFT_COMMAND, 9999), mq.MQRCCF_CFH_COMMAND_ERROR),
    ],
)
def test_wrong_headers(admin: Administrator, header: Header, reason: int) -> None:
    (reply,) = admin.raw(encode(header, []))
    assert (reply.header.completion, reply.header.reason) == (mq.MQCC_FAILED, reason)
    assert reply.header.command == header.command


@pytest.mark.parametrize("message", [b"", b"x", bytes(35), bytes(36), b"\xff" * 100])
def test_what_is_no_command_at_all_is_answered(admin: Administrator, message: bytes) -> None:
    (reply,) = admin.raw(message)
    assert reply.header.completion == mq.MQCC_FAILED


def test_a_message_of_another_format_is_refused(admin: Administrator) -> None:
    (reply,) = admin.raw(command_bytes(mq.MQCMD_PING_Q_MGR), format="MQSTR")
    assert reply.header.reason == mq.MQRCCF_MD_FORMAT_ERROR


def test_replies_have_the_version_of_the_command(admin: Administrator) -> None:
    for version in (1, 2, 3):
        (reply,) = admin.raw(encode(Header(mq.MQCFT_COMMAND, mq.MQCMD_PING_Q_MGR, version=version), []))
        assert (reply.header.version, reply.header.reason) == (version, 0)


def test_extended_commands_get_standard_responses(admin: Administrator) -> None:
    (reply,) = admin.raw(command_bytes(mq.MQCMD_PING_Q_MGR, type=mq.MQCFT_COMMAND_XR))
    assert (reply.header.type, reply.header.reason) == (mq.MQCFT_RESPONSE, 0)


# -- parameters --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("items", "expected"),
    [
        ([], (mq.MQRCCF_PARM_COUNT_TOO_SMALL,)),
        ([Integer(mq.MQIA_Q_TYPE, 1)], (mq.MQRCCF_PARM_MISSING, BAD, NAME)),
        ([Integer(mq.MQIA_Q_TYPE, 1), String(NAME, "A")], (mq.MQRCCF_PARM_SEQUENCE_ERROR, BAD, mq.MQIA_Q_TYPE)),
        ([Integer(NAME, 1)], (mq.MQRCCF_CFIN_PARM_ID_ERROR, BAD, NAME)),
        ([String(NAME, "A"), Integer(4711, 1)], (mq.MQRCCF_CFIN_PARM_ID_ERROR, BAD, 4711)),
        ([String(NAME, "A"), String(4711, "x")], (mq.MQRCCF_CFST_PARM_ID_ERROR, BAD, 4711)),
        ([String(NAME, "A"), IntegerList(4711, (1,))], (mq.MQRCCF_CFIL_PARM_ID_ERROR, BAD, 4711)),
        ([String(NAME, "A"), StringList(4711, ("x",))], (mq.MQRCCF_CFSL_PARM_ID_ERROR, BAD, 4711)),
        ([String(NAME, "A"), ByteString(4711, b"x")], (mq.MQRCCF_CFBS_PARM_ID_ERROR, BAD, 4711)),
        ([String(NAME, "A"), Group(4711, ())], (mq.MQRCCF_CFGR_PARM_ID_ERROR, BAD, 4711)),
        ([String(NAME, "A"), String(NAME, "A")], (mq.MQRCCF_CFST_DUPLICATE_PARM, BAD, NAME)),
        (
            [String(NAME, "A"), Integer(mq.MQIA_Q_TYPE, 1), Integer(mq.MQIA_Q_TYPE, 1)],
            (mq.MQRCCF_CFIN_DUPLICATE_PARM, BAD, mq.MQIA_Q_TYPE),
        ),
        ([String(NAME, "A" * 49)], (mq.MQRCCF_CFST_STRING_LENGTH_ERR, BAD, NAME)),
        ([String(NAME, "A"), Integer(mq.MQIA_Q_TYPE, 77)], (mq.MQRCCF_Q_TYPE_ERROR, BAD, mq.MQIA_Q_TYPE)),
        (
            [String(NAME, "A"), IntegerList(mq.MQIACF_Q_ATTRS, ())],
            (mq.MQRCCF_CFIL_COUNT_ERROR, BAD, mq.MQIACF_Q_ATTRS),
        ),
        (
            [String(NAME, "A"), IntegerList(mq.MQIACF_Q_ATTRS, (4711,))],
            (mq.MQRC_SELECTOR_ERROR, mq.MQIACF_SELECTOR, 4711),
        ),
        (
            [String(NAME, "A"), IntegerList(mq.MQIACF_Q_ATTRS, (3, 3))],
            (mq.MQRCCF_CFIL_DUPLICATE_VALUE, mq.MQIACF_SELECTOR, 3),
        ),
    ],
)
def test_wrong_parameters_are_named(admin: Administrator, items: list[Parameter], expected: tuple[int, ...]) -> None:
    assert admin.fails(mq.MQCMD_INQUIRE_Q, {}, *items) == expected


def test_one_attribute_may_be_asked_for_without_a_list(admin: Administrator) -> None:
    admin.done(mq.MQCMD_CREATE_Q, {NAME: "A", mq.MQIA_Q_TYPE: mq.MQQT_LOCAL, mq.MQIA_MAX_Q_DEPTH: 7})
    (found,) = admin.does(mq.MQCMD_INQUIRE_Q, {NAME: "A", mq.MQIACF_Q_ATTRS: mq.MQIA_MAX_Q_DEPTH})
    assert found == {NAME: "A", mq.MQIA_Q_TYPE: mq.MQQT_LOCAL, mq.MQIA_MAX_Q_DEPTH: 7}
    (everything,) = admin.does(mq.MQCMD_INQUIRE_Q, {NAME: "A", mq.MQIACF_Q_ATTRS: mq.MQIACF_ALL})
    assert (everything,) == tuple(admin.does(mq.MQCMD_INQUIRE_Q, {NAME: "A"}))
    others = {NAME: "A", mq.MQIACF_Q_ATTRS: 4711}
    assert admin.fails(mq.MQCMD_INQUIRE_Q, others) == (mq.MQRC_SELECTOR_ERROR, mq.MQIACF_SELECTOR, 4711)


def test_the_status_of_a_queue_as_monitoring_programs_ask_for_it(admin: Administrator) -> None:
    admin.done(mq.MQCMD_CREATE_Q, {NAME: "A", mq.MQIA_Q_TYPE: mq.MQQT_LOCAL})
    plainly = admin.does(mq.MQCMD_INQUIRE_Q_STATUS, {NAME: "A"})
    for kind in (mq.MQQT_ALL, mq.MQQT_LOCAL, mq.MQQT_MODEL):
        asked: dict[int, Given] = {NAME: "A", mq.MQIA_Q_TYPE: kind, mq.MQIACF_Q_STATUS_ATTRS: mq.MQIACF_ALL}
        assert admin.does(mq.MQCMD_INQUIRE_Q_STATUS, asked) == plainly


def test_nobody_is_known_in_clusters(admin: Administrator) -> None:
    asked: dict[int, Given] = {mq.MQCA_CLUSTER_Q_MGR_NAME: "*", mq.MQIACF_CLUSTER_Q_MGR_ATTRS: [mq.MQIACF_ALL]}
    assert admin.fails(mq.MQCMD_INQUIRE_CLUSTER_Q_MGR, asked) == (mq.MQRC_UNKNOWN_OBJECT_NAME,)


def test_values_of_attributes_are_checked(admin: Administrator) -> None:
    head: list[Parameter] = [String(NAME, "A"), Integer(mq.MQIA_Q_TYPE, mq.MQQT_LOCAL)]

    def refused(item: Parameter) -> tuple[int, ...]:
        return admin.fails(mq.MQCMD_CREATE_Q, {}, *head, item)

    depth, description = mq.MQIA_MAX_Q_DEPTH, mq.MQCA_Q_DESC
    assert refused(Integer(depth, -1)) == (mq.MQRCCF_ATTR_VALUE_ERROR, BAD, depth)
    assert refused(String(depth, "1")) == (mq.MQRCCF_CFST_PARM_ID_ERROR, BAD, depth)
    assert refused(String(description, "x" * 65)) == (mq.MQRCCF_CFST_STRING_LENGTH_ERR, BAD, description)
    other = mq.MQCA_REMOTE_Q_NAME
    assert refused(String(other, "X")) == (mq.MQRCCF_CFST_PARM_ID_ERROR, BAD, other)
    assert refused(Integer(mq.MQIA_Q_DEPTH_HIGH_LIMIT, 101))[0] == mq.MQRCCF_ATTR_VALUE_ERROR


def test_bad_names_are_refused(admin: Administrator) -> None:
    for name in ("", "A B", "Ä", "A" * 48 + "B"):
        (reply,) = admin.ask(mq.MQCMD_CREATE_Q, {NAME: name, mq.MQIA_Q_TYPE: mq.MQQT_LOCAL})
        assert reply.header.completion == mq.MQCC_FAILED, name


# -- filters -----------------------------------------------------------------------------------------------------------


@pytest.fixture
def filtered(admin: Administrator) -> Administrator:
    for name, depth, text in (("F.A", 1, "apples"), ("F.B", 5, "bananas"), ("F.C", 9, "cherries")):
        made = {NAME: name, mq.MQIA_Q_TYPE: mq.MQQT_LOCAL, mq.MQIA_MAX_Q_DEPTH: depth, mq.MQCA_Q_DESC: text}
        admin.done(mq.MQCMD_CREATE_Q, made)
    return admin


def names(admin: Administrator, item: Parameter) -> str:
    replies = admin.ask(mq.MQCMD_INQUIRE_Q, {NAME: "F.*"}, item)
    if replies[-1].header.reason == mq.MQRC_UNKNOWN_OBJECT_NAME:
        return ""
    assert replies[-1].header.reason == 0, replies[-1]
    found = [each.parameters[0] for each in replies]
    return "".join(each.value[-1] for each in found if isinstance(each, String))


@pytest.mark.parametrize(
    ("operator", "expected"),
    [
        (mq.MQCFOP_LESS, "A"),
        (mq.MQCFOP_EQUAL, "B"),
        (mq.MQCFOP_GREATER, "C"),
        (mq.MQCFOP_NOT_LESS, "BC"),
        (mq.MQCFOP_NOT_EQUAL, "AC"),
        (mq.MQCFOP_NOT_GREATER, "AB"),
    ],
)
def test_filters_compare(filtered: Administrator, operator: int, expected: str) -> None:
    assert names(filtered, IntegerFilter(mq.MQIA_MAX_Q_DEPTH, operator, 5)) == expected
    assert names(filtered, StringFilter(mq.MQCA_Q_DESC, operator, "bananas")) == expected


def test_filters_with_generic_values(filtered: Administrator) -> None:
    assert names(filtered, StringFilter(mq.MQCA_Q_DESC, mq.MQCFOP_LIKE, "*an*")) == "B"
    assert names(filtered, StringFilter(mq.MQCA_Q_DESC, mq.MQCFOP_NOT_LIKE, "*es")) == "B"
    assert names(filtered, StringFilter(mq.MQCA_Q_DESC, mq.MQCFOP_EQUAL, "*es")) == ""


def test_filters_on_lists(admin: Administrator) -> None:
    name = mq.MQCA_NAMELIST_NAME
    admin.done(mq.MQCMD_CREATE_NAMELIST, {name: "L.A", mq.MQCA_NAMES: ["X", "YY"]})
    admin.done(mq.MQCMD_CREATE_NAMELIST, {name: "L.B", mq.MQCA_NAMES: ["Z"]})

    def found(operator: int, value: str) -> list[object]:
        condition = StringFilter(mq.MQCA_NAMES, operator, value)
        return [each[name] for each in admin.does(mq.MQCMD_INQUIRE_NAMELIST, {name: "L.*"}, condition)]

    assert found(mq.MQCFOP_CONTAINS, "X") == ["L.A"]
    assert found(mq.MQCFOP_EXCLUDES, "X") == ["L.B"]
    assert found(mq.MQCFOP_CONTAINS_GEN, "Y*") == ["L.A"]
    assert found(mq.MQCFOP_EXCLUDES_GEN, "Y*") == ["L.B"]


def test_filters_on_numbers_in_lists(admin: Administrator) -> None:
    name, kind = mq.MQCACH_CHANNEL_NAME, mq.MQIACH_CHANNEL_TYPE
    admin.done(mq.MQCMD_CREATE_CHANNEL, {name: "C.A", kind: mq.MQCHT_RECEIVER})
    made = {name: "C.B", kind: mq.MQCHT_RECEIVER, mq.MQIACH_MSG_COMPRESSION: [mq.MQCOMPRESS_ZLIBFAST]}
    admin.done(mq.MQCMD_CREATE_CHANNEL, made)
    wanted = IntegerFilter(mq.MQIACH_MSG_COMPRESSION, mq.MQCFOP_CONTAINS, mq.MQCOMPRESS_ZLIBFAST)
    assert [each[name] for each in admin.does(mq.MQCMD_INQUIRE_CHANNEL, {name: "C.*"}, wanted)] == ["C.B"]


@pytest.mark.parametrize(
    ("item", "reason"),
    [
        (IntegerFilter(4711, mq.MQCFOP_EQUAL, 1), mq.MQRCCF_CFIF_PARM_ID_ERROR),
        (IntegerFilter(mq.MQCA_Q_DESC, mq.MQCFOP_EQUAL, 1), mq.MQRCCF_CFIF_PARM_ID_ERROR),
        (IntegerFilter(mq.MQIA_MAX_Q_DEPTH, mq.MQCFOP_LIKE, 1), mq.MQRCCF_CFIF_OPERATOR_ERROR),
        (IntegerFilter(mq.MQIA_MAX_Q_DEPTH, 77, 1), mq.MQRCCF_CFIF_OPERATOR_ERROR),
        (StringFilter(mq.MQIA_MAX_Q_DEPTH, mq.MQCFOP_EQUAL, "1"), mq.MQRCCF_CFSF_PARM_ID_ERROR),
        (StringFilter(mq.MQCA_Q_DESC, mq.MQCFOP_CONTAINS, "1"), mq.MQRCCF_CFSF_OPERATOR_ERROR),
        (ByteStringFilter(mq.MQCA_Q_DESC, mq.MQCFOP_EQUAL, b"1"), mq.MQRCCF_CFBF_PARM_ID_ERROR),
    ],
)
def test_wrong_filters(admin: Administrator, item: Parameter, reason: int) -> None:
    assert admin.fails(mq.MQCMD_INQUIRE_Q, {NAME: "*"}, item) == (reason, BAD, item.parameter)


def test_lists_are_not_compared(admin: Administrator) -> None:
    names_filter = StringFilter(mq.MQCA_NAMES, mq.MQCFOP_EQUAL, "A")
    wrong = admin.fails(mq.MQCMD_INQUIRE_NAMELIST, {mq.MQCA_NAMELIST_NAME: "*"}, names_filter)
    assert wrong[0] == mq.MQRCCF_CFSF_OPERATOR_ERROR
    numbers_filter = IntegerFilter(mq.MQIACH_MSG_COMPRESSION, mq.MQCFOP_EQUAL, 1)
    wrong = admin.fails(mq.MQCMD_INQUIRE_CHANNEL, {mq.MQCACH_CHANNEL_NAME: "*"}, numbers_filter)
    assert wrong[0] == mq.MQRCCF_CFIF_OPERATOR_ERROR


def test_one_filter_is_enough(admin: Administrator) -> None:
    one = IntegerFilter(mq.MQIA_MAX_Q_DEPTH, mq.MQCFOP_EQUAL, 1)
    assert admin.fails(mq.MQCMD_INQUIRE_Q, {NAME: "*"}, one, one)[0] == mq.MQRCCF_PARM_CONFLICT
    assert admin.fails(mq.MQCMD_CREATE_Q, {NAME: "A", mq.MQIA_Q_TYPE: 1}, one)[0] == mq.MQRCCF_CFIF_PARM_ID_ERROR


# -- encodings ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("big_endian", [False, True])
@pytest.mark.parametrize("ccsid", [37, 500, 819, 850, 1208, 1252])
def test_commands_in_other_encodings(admin: Administrator, big_endian: bool, ccsid: int) -> None:
    header = Header(mq.MQCFT_COMMAND, mq.MQCMD_INQUIRE_Q)
    message = encode(header, [parameter(NAME, "SYSTEM.DEFAULT.LOCAL.QUEUE")], ccsid, big_endian)
    (reply,) = admin.raw(message, ccsid=ccsid, big_endian=big_endian)
    assert reply.parameters[0] == String(NAME, "SYSTEM.DEFAULT.LOCAL.QUEUE")


def test_an_unknown_code_page_is_refused(admin: Administrator) -> None:
    (reply,) = admin.raw(command_bytes(mq.MQCMD_INQUIRE_Q, parameter(NAME, "A")), ccsid=4711)
    assert reply.header.reason == mq.MQRCCF_CCSID_ERROR


# -- anything at all ---------------------------------------------------------------------------------------------------

_CONSTANTS = sorted({field.number for each in COMMANDS.values() for field in each.fields})
_ATTRIBUTES = sorted(
    {
        attribute.pcf
        for command in COMMANDS.values()
        for kind in (*command.settable, *command.filtered)
        for attribute in attributes_of(kind)
        if attribute.pcf
    }
)
_numbers = st.sampled_from(_CONSTANTS + _ATTRIBUTES) | st.integers(-(2**31), 2**31 - 1)
_values = st.sampled_from([0, 1, 2, 7, 1001, 1009, -1]) | st.integers(-(2**31), 2**31 - 1)
_texts = st.sampled_from(["*", "A", "SYSTEM.*", "", "SYSTEM.DEFAULT.LOCAL.QUEUE", "DISPLAY QMGR"]) | st.text(max_size=9)
_parameters = st.one_of(
    st.builds(Integer, _numbers, _values),
    st.builds(String, _numbers, _texts),
    st.builds(IntegerList, _numbers, st.lists(_values | _numbers, max_size=3).map(tuple)),
    st.builds(StringList, _numbers, st.lists(_texts, max_size=3).map(tuple)),
    st.builds(ByteString, _numbers, st.binary(max_size=26)),
    st.builds(IntegerFilter, _numbers, st.integers(0, 30), _values),
    st.builds(StringFilter, _numbers, st.integers(0, 30), _texts),
    st.builds(ByteStringFilter, _numbers, st.integers(0, 30), st.binary(max_size=8)),
)
_fuzzing = settings(
    max_examples=examples(150), suppress_health_check=[HealthCheck.function_scoped_fixture, *SLOW_MACHINES]
)


@_fuzzing
@given(st.sampled_from(sorted(COMMANDS)) | st.integers(0, 300), st.lists(_parameters, max_size=4))
def test_any_parameters_are_answered(target: LocalCommandContext, command: int, items: list[Parameter]) -> None:
    replies = [decode(reply) for reply in answer(target, command_bytes(command, *items))]
    check_sequence(replies)
    assert all(each.header.reason != mq.MQRC_UNEXPECTED_ERROR for each in replies), (command, items)


@_fuzzing
@given(st.data())
def test_damaged_commands_are_answered(target: LocalCommandContext, data: st.DataObject) -> None:
    command = COMMANDS[data.draw(st.sampled_from(sorted(COMMANDS)))]
    samples = {
        PcfStructure.INTEGER: Integer(0, 1),
        PcfStructure.STRING: String(0, "SYSTEM.*"),
        PcfStructure.INTEGERS: IntegerList(0, (mq.MQIACF_ALL,)),
        PcfStructure.STRINGS: StringList(0, ("A",)),
        PcfStructure.BYTES: ByteString(0, b""),
    }
    items = [type(samples[each.kind])(each.number, *_rest(samples[each.kind])) for each in command.fields]
    message = bytearray(command_bytes(command.number, *items))
    for _ in range(data.draw(st.integers(0, 3))):
        message[data.draw(st.integers(0, len(message) - 1))] = data.draw(st.integers(0, 255))
    cut = data.draw(st.integers(0, len(message)) | st.just(len(message)))
    replies = [decode(reply) for reply in answer(target, bytes(message[:cut]), big_endian=data.draw(st.booleans()))]
    check_sequence(replies)
    assert all(each.header.reason != mq.MQRC_UNEXPECTED_ERROR for each in replies)


def _rest(item: Parameter) -> tuple[object, ...]:
    if isinstance(item, Integer | String | ByteString):
        return (item.value,)
    assert isinstance(item, IntegerList | StringList)
    return (item.values,)
