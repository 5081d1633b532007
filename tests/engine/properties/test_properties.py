"""Message properties by the rules of MQSETMP, MQINQMP and MQDLTMP."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import pytest

from ostler.engine.properties.properties import Property, PropertyInquiry, PropertySet
from ostler.engine.properties.property_values import CONVERSIONS, Value, convert_value, pack_value, unpack_value
from ostler.model import constants as mq
from ostler.model.errors import MQError

TEXT = mq.MQTYPE_STRING
INT = mq.MQTYPE_INT32


def refused(call: Callable[[], object]) -> int:
    with pytest.raises(MQError) as caught:
        call()
    return caught.value.reason


def filled(*names: str) -> PropertySet:
    properties = PropertySet()
    for name in names:
        properties.set(name, TEXT, name)
    return properties


def names(properties: PropertySet) -> list[str]:
    return [each.name for each in properties.properties]


def walk(properties: PropertySet, pattern: str) -> list[str]:
    """Return all names that a pattern matches, first to last."""
    found: list[str] = []
    options = mq.MQIMPO_INQ_FIRST
    while True:
        try:
            found.append(properties.inquire(pattern, options).name)
        except MQError as error:
            if error.reason != mq.MQRC_PROPERTY_NOT_AVAILABLE:
                raise
            return found
        options = mq.MQIMPO_INQ_NEXT


# Names.


@pytest.mark.parametrize(
    "name",
    [
        "colour",
        "usr.colour",
        "_x",
        "$x",
        "a.b",
        "a.b.c",
        "mq_usr.a.b",
        "mqtest",
        "mq.x",
        "Größe",
        "a1",
        "android",
        "usr.usr",
    ],
)
def test_names_that_are_allowed(name: str) -> None:
    assert filled(name).inquire(name).value == name


@pytest.mark.parametrize(
    "name",
    [
        "1a",
        "a b",
        "a=b",
        "a-b",
        "a,b",
        ".a",
        "a.",
        "a..b",
        "a.1",
        "usr.a.b",
        "NULL",
        "true",
        "usr.And",
        "Escape",
        "JMSNothing",
        "JMS_IBM_Format",
        "usr.JMSType",
        "Body.x",
        "Root.x",
        "mq.a.b",
        "MQx.a.b",
        "a%",
        "a\U0001f600",
        "Root.MQMD.Version",
        "Root.MQMD.nothing",
        "JMSPriority",
        "JMSDestination",
    ],
)
def test_names_that_are_not(name: str) -> None:
    properties = PropertySet()
    assert refused(lambda: properties.set(name, TEXT, "x")) == mq.MQRC_PROPERTY_NAME_ERROR
    assert len(properties) == 0


def test_lengths_of_names() -> None:
    properties = filled("a" * mq.MQ_MAX_PROPERTY_NAME_LENGTH)
    too_long = "a" * (mq.MQ_MAX_PROPERTY_NAME_LENGTH + 1)
    for name in ("", too_long):
        assert refused(partial(properties.set, name, TEXT, "x")) == mq.MQRC_PROPERTY_NAME_LENGTH_ERR
        assert refused(partial(properties.inquire, name)) == mq.MQRC_PROPERTY_NAME_LENGTH_ERR
        assert refused(partial(properties.delete, name)) == mq.MQRC_PROPERTY_NAME_LENGTH_ERR


def test_without_validation_names_only_need_to_be_storable() -> None:
    properties = PropertySet(validate=False)
    for name in ("AND", "usr.JMSx", "a-b", "1a", "mq.a.b"):
        properties.set(name, TEXT, "x")
        assert properties.inquire(name).value == "x"
    for name in ("a<b", "a b", "a..b", "a'", 'a"', "a&b", "a/b"):
        assert refused(partial(properties.set, name, TEXT, "x")) == mq.MQRC_PROPERTY_NAME_ERROR


def test_the_folder_usr_is_the_default() -> None:
    properties = filled("usr.colour")
    assert names(properties) == ["colour"]
    properties.set("colour", TEXT, "red")
    assert properties.inquire("usr.colour").value == "red"
    assert len(properties) == 1


def test_mixed_content_is_refused() -> None:
    properties = filled("a.b", "x", "usr.usr")
    mixed = mq.MQRC_MIXED_CONTENT_NOT_ALLOWED
    assert refused(lambda: properties.set("a.b.c", TEXT, "x")) == mixed
    properties.set("p.q.r", TEXT, "x")
    assert refused(lambda: properties.set("p.q", TEXT, "x")) == mixed
    # A folder is not a property: these do not conflict.
    properties.set("x.y", TEXT, "fine")
    properties.set("a", TEXT, "fine")
    properties.delete("a.b")
    properties.set("a.b.c", TEXT, "fine")
    assert properties.inquire("a.b.c").value == "fine"


# Types and values.


@pytest.mark.parametrize(
    ("type", "value"),
    [
        (mq.MQTYPE_NULL, None),
        (mq.MQTYPE_BOOLEAN, True),
        (mq.MQTYPE_BYTE_STRING, b"\x00\xff"),
        (mq.MQTYPE_INT8, -128),
        (mq.MQTYPE_INT16, 32767),
        (mq.MQTYPE_INT32, -(2**31)),
        (mq.MQTYPE_INT64, 2**63 - 1),
        (mq.MQTYPE_FLOAT32, 0.5),
        (mq.MQTYPE_FLOAT64, 0.1),
        (mq.MQTYPE_STRING, "ünï"),
        (mq.MQTYPE_STRING, ""),
    ],
)
def test_values_come_back_with_type_length_and_descriptor(type: int, value: Value) -> None:
    properties = PropertySet()
    properties.set("x", type, value, context=mq.MQPD_USER_CONTEXT, copy_options=mq.MQCOPY_REPLY)
    answer = properties.inquire("x", mq.MQIMPO_QUERY_LENGTH)
    assert (answer.name, answer.type, answer.value) == ("x", type, value)
    assert (answer.support, answer.context) == (mq.MQPD_SUPPORT_OPTIONAL, mq.MQPD_USER_CONTEXT)
    assert (answer.copy_options, answer.reason) == (mq.MQCOPY_REPLY, mq.MQRC_NONE)
    for big_endian in (False, True):
        data = pack_value(type, value, big_endian)
        assert answer.length == len(data)
        assert unpack_value(type, data, big_endian) == value


@pytest.mark.parametrize(
    ("type", "value", "reason"),
    [
        (0, "x", mq.MQRC_PROPERTY_TYPE_ERROR),
        (3, "x", mq.MQRC_PROPERTY_TYPE_ERROR),
        (mq.MQTYPE_STRING, 1, mq.MQRC_PROPERTY_TYPE_ERROR),
        (mq.MQTYPE_INT32, "1", mq.MQRC_PROPERTY_TYPE_ERROR),
        (mq.MQTYPE_INT32, True, mq.MQRC_PROPERTY_TYPE_ERROR),
        (mq.MQTYPE_INT32, 1.0, mq.MQRC_PROPERTY_TYPE_ERROR),
        (mq.MQTYPE_NULL, 0, mq.MQRC_PROPERTY_TYPE_ERROR),
        (mq.MQTYPE_BYTE_STRING, "x", mq.MQRC_PROPERTY_TYPE_ERROR),
        (mq.MQTYPE_INT8, 128, mq.MQRC_PROP_NUMBER_FORMAT_ERROR),
        (mq.MQTYPE_INT64, 2**63, mq.MQRC_PROP_NUMBER_FORMAT_ERROR),
        (mq.MQTYPE_FLOAT32, 1e300, mq.MQRC_PROP_NUMBER_FORMAT_ERROR),
        (mq.MQTYPE_STRING, "\ud800", mq.MQRC_BUFFER_ERROR),
    ],
)
def test_values_that_do_not_fit(type: int, value: Value, reason: int) -> None:
    properties = filled("x")
    assert refused(lambda: properties.set("x", type, value)) == reason
    assert properties.inquire("x").value == "x"


@pytest.mark.parametrize(
    ("type", "data", "reason"),
    [
        (mq.MQTYPE_INT32, b"\0", mq.MQRC_BUFFER_LENGTH_ERROR),
        (mq.MQTYPE_BOOLEAN, b"\1", mq.MQRC_BUFFER_LENGTH_ERROR),
        (mq.MQTYPE_NULL, b"\0", mq.MQRC_BUFFER_LENGTH_ERROR),
        (mq.MQTYPE_FLOAT64, b"\0" * 4, mq.MQRC_BUFFER_LENGTH_ERROR),
        (mq.MQTYPE_STRING, b"\xff", mq.MQRC_BUFFER_ERROR),
        (7, b"", mq.MQRC_PROPERTY_TYPE_ERROR),
    ],
)
def test_buffers_that_do_not_fit_their_type(type: int, data: bytes, reason: int) -> None:
    assert refused(lambda: unpack_value(type, data, False)) == reason


@pytest.mark.parametrize(
    ("options", "context", "copy_options", "reason"),
    [
        (3, 0, 22, mq.MQRC_OPTIONS_ERROR),
        (64, 0, 22, mq.MQRC_OPTIONS_ERROR),
        (0, 2, 22, mq.MQRC_PD_ERROR),
        (0, 0, 32, mq.MQRC_PD_ERROR),
    ],
)
def test_wrong_options_and_descriptors(options: int, context: int, copy_options: int, reason: int) -> None:
    properties = PropertySet()
    call = partial(properties.set, "x", TEXT, "x", options, context=context, copy_options=copy_options)
    assert refused(call) == reason


@pytest.mark.parametrize(
    ("type", "value", "wanted", "expected"),
    [
        (mq.MQTYPE_BOOLEAN, True, mq.MQTYPE_STRING, "TRUE"),
        (mq.MQTYPE_BOOLEAN, False, mq.MQTYPE_STRING, "FALSE"),
        (mq.MQTYPE_BOOLEAN, True, mq.MQTYPE_INT8, 1),
        (mq.MQTYPE_BYTE_STRING, b"\x0a\xff", mq.MQTYPE_STRING, "0AFF"),
        (mq.MQTYPE_INT8, 65, mq.MQTYPE_STRING, "65"),
        (mq.MQTYPE_INT8, -5, mq.MQTYPE_INT64, -5),
        (mq.MQTYPE_INT32, 7, mq.MQTYPE_INT64, 7),
        (mq.MQTYPE_FLOAT32, 0.5, mq.MQTYPE_FLOAT64, 0.5),
        (mq.MQTYPE_FLOAT64, 0.1, mq.MQTYPE_STRING, "0.1"),
        (mq.MQTYPE_FLOAT32, 0.10000000149011612, mq.MQTYPE_STRING, "0.1"),
        (mq.MQTYPE_STRING, "  -12xyz", mq.MQTYPE_INT32, -12),
        (mq.MQTYPE_STRING, "+127", mq.MQTYPE_INT8, 127),
        (mq.MQTYPE_STRING, "0012", mq.MQTYPE_INT8, 12),
        (mq.MQTYPE_STRING, "1.5e2abc", mq.MQTYPE_FLOAT64, 150.0),
        (mq.MQTYPE_STRING, "7", mq.MQTYPE_FLOAT32, 7.0),
        (mq.MQTYPE_STRING, "tRuE", mq.MQTYPE_BOOLEAN, True),
        (mq.MQTYPE_STRING, "0", mq.MQTYPE_BOOLEAN, False),
        (mq.MQTYPE_STRING, "x", mq.MQTYPE_STRING, "x"),
        (mq.MQTYPE_NULL, None, mq.MQTYPE_NULL, None),
    ],
)
def test_conversions(type: int, value: Value, wanted: int, expected: Value) -> None:
    properties = PropertySet()
    properties.set("x", type, value)
    answer = properties.inquire("x", mq.MQIMPO_CONVERT_TYPE, wanted)
    assert (answer.type, answer.value) == (wanted, expected)
    # Without the option the type is as set, whatever is wanted.
    assert properties.inquire("x", 0, wanted).type == type


@pytest.mark.parametrize(
    ("type", "value", "wanted", "reason"),
    [
        (mq.MQTYPE_INT32, 1, mq.MQTYPE_INT16, mq.MQRC_PROP_CONV_NOT_SUPPORTED),
        (mq.MQTYPE_INT32, 1, mq.MQTYPE_FLOAT64, mq.MQRC_PROP_CONV_NOT_SUPPORTED),
        (mq.MQTYPE_INT32, 1, mq.MQTYPE_BOOLEAN, mq.MQRC_PROP_CONV_NOT_SUPPORTED),
        (mq.MQTYPE_FLOAT64, 1.0, mq.MQTYPE_FLOAT32, mq.MQRC_PROP_CONV_NOT_SUPPORTED),
        (mq.MQTYPE_BYTE_STRING, b"1", mq.MQTYPE_INT8, mq.MQRC_PROP_CONV_NOT_SUPPORTED),
        (mq.MQTYPE_STRING, "1", mq.MQTYPE_BYTE_STRING, mq.MQRC_PROP_CONV_NOT_SUPPORTED),
        (mq.MQTYPE_NULL, None, mq.MQTYPE_STRING, mq.MQRC_PROP_CONV_NOT_SUPPORTED),
        (mq.MQTYPE_STRING, "x", mq.MQTYPE_INT32, mq.MQRC_PROP_NUMBER_FORMAT_ERROR),
        (mq.MQTYPE_STRING, "128", mq.MQTYPE_INT8, mq.MQRC_PROP_NUMBER_FORMAT_ERROR),
        (mq.MQTYPE_STRING, "9" * 5000, mq.MQTYPE_INT64, mq.MQRC_PROP_NUMBER_FORMAT_ERROR),
        (mq.MQTYPE_STRING, "", mq.MQTYPE_INT64, mq.MQRC_PROP_NUMBER_FORMAT_ERROR),
        (mq.MQTYPE_STRING, ".5", mq.MQTYPE_FLOAT64, mq.MQRC_PROP_NUMBER_FORMAT_ERROR),
        (mq.MQTYPE_STRING, "1e999", mq.MQTYPE_FLOAT64, mq.MQRC_PROP_NUMBER_FORMAT_ERROR),
        (mq.MQTYPE_STRING, "1e200", mq.MQTYPE_FLOAT32, mq.MQRC_PROP_NUMBER_FORMAT_ERROR),
        (mq.MQTYPE_STRING, "yes", mq.MQTYPE_BOOLEAN, mq.MQRC_PROP_NUMBER_FORMAT_ERROR),
        (mq.MQTYPE_STRING, "1", 5, mq.MQRC_PROPERTY_TYPE_ERROR),
    ],
)
def test_conversions_that_are_refused(type: int, value: Value, wanted: int, reason: int) -> None:
    properties = PropertySet()
    properties.set("x", type, value)
    assert refused(lambda: properties.inquire("x", mq.MQIMPO_CONVERT_TYPE, wanted)) == reason


SAMPLES: dict[int, Value] = {
    mq.MQTYPE_NULL: None,
    mq.MQTYPE_BOOLEAN: True,
    mq.MQTYPE_BYTE_STRING: b"1",
    mq.MQTYPE_INT8: 1,
    mq.MQTYPE_INT16: 1,
    mq.MQTYPE_INT32: 1,
    mq.MQTYPE_INT64: 1,
    mq.MQTYPE_FLOAT32: 1.0,
    mq.MQTYPE_FLOAT64: 1.0,
    mq.MQTYPE_STRING: "1",
}


@pytest.mark.parametrize("type", sorted(SAMPLES))
@pytest.mark.parametrize("wanted", sorted(SAMPLES))
def test_every_pair_of_types_converts_or_is_not_supported(type: int, wanted: int) -> None:
    if type == wanted or wanted in CONVERSIONS[type]:
        value = convert_value(type, SAMPLES[type], wanted)
        assert unpack_value(wanted, pack_value(wanted, value, False), False) == value
        assert (value is None) == (type == mq.MQTYPE_NULL)
    else:
        assert refused(lambda: convert_value(type, SAMPLES[type], wanted)) == mq.MQRC_PROP_CONV_NOT_SUPPORTED


# Order and cursor.


def test_a_new_property_goes_behind_those_of_its_hierarchy() -> None:
    properties = filled("a.b", "c.d", "e", "a.f", "g", "a.x.y", "c.z", "a.x.z", "a.h")
    assert names(properties) == ["a.b", "a.f", "a.x.y", "a.x.z", "a.h", "c.d", "c.z", "e", "g"]


def test_walking_with_wildcards() -> None:
    properties = filled("colour", "count", "jms.Dst", "usr.size", "collection.item")
    assert walk(properties, "%") == ["colour", "count", "size", "jms.Dst", "collection.item"]
    assert walk(properties, "usr.%") == ["colour", "count", "size"]
    assert walk(properties, "co%") == ["colour", "count", "collection.item"]
    assert walk(properties, "usr.co%") == ["colour", "count"]
    assert walk(properties, "jms.%") == ["jms.Dst"]
    assert walk(properties, "colour") == ["colour"]
    assert walk(properties, "nothing%") == []
    assert refused(lambda: properties.inquire("a%b")) == mq.MQRC_PROPERTY_NAME_ERROR


def test_next_without_first_begins_at_the_start() -> None:
    properties = filled("a", "b")
    assert properties.inquire("%", mq.MQIMPO_INQ_NEXT).name == "a"
    assert properties.inquire("%", mq.MQIMPO_INQ_NEXT).name == "b"
    assert refused(lambda: properties.inquire("%", mq.MQIMPO_INQ_NEXT)) == mq.MQRC_PROPERTY_NOT_AVAILABLE
    assert properties.inquire("%").name == "a"
    properties.reset_cursor()
    assert properties.inquire("%", mq.MQIMPO_INQ_NEXT).name == "a"


def test_under_the_cursor() -> None:
    properties = filled("a", "b", "c")
    under = mq.MQIMPO_INQ_PROP_UNDER_CURSOR
    gone = mq.MQRC_PROPERTY_NOT_AVAILABLE
    assert refused(lambda: properties.inquire("%", under)) == gone
    properties.inquire("b")
    assert properties.inquire("", under).name == "b"
    properties.set("b", INT, 5, mq.MQSMPO_SET_PROP_UNDER_CURSOR)
    assert properties.inquire("%", under | mq.MQIMPO_CONVERT_TYPE, TEXT).value == "5"
    properties.delete("", mq.MQDMPO_DEL_PROP_UNDER_CURSOR)
    assert names(properties) == ["a", "c"]
    assert refused(lambda: properties.inquire("%", under)) == gone
    assert refused(lambda: properties.delete("", mq.MQDMPO_DEL_PROP_UNDER_CURSOR)) == gone
    assert refused(lambda: properties.set("x", TEXT, "x", mq.MQSMPO_SET_PROP_UNDER_CURSOR)) == gone
    assert refused(lambda: properties.set("x", TEXT, "x", mq.MQSMPO_SET_PROP_AFTER_CURSOR)) == gone
    # The iteration continues at the position of the deleted one.
    assert properties.inquire("%", mq.MQIMPO_INQ_NEXT).name == "c"


def test_before_and_after_the_cursor() -> None:
    properties = filled("a", "b", "c")
    properties.inquire("b")
    properties.set("x", TEXT, "x", mq.MQSMPO_SET_PROP_BEFORE_CURSOR)
    properties.set("y", TEXT, "y", mq.MQSMPO_SET_PROP_AFTER_CURSOR)
    assert names(properties) == ["a", "x", "b", "y", "c"]
    assert properties.inquire("", mq.MQIMPO_INQ_PROP_UNDER_CURSOR).name == "b"
    assert properties.inquire("%", mq.MQIMPO_INQ_NEXT).name == "y"


def test_appending_makes_a_list_of_one_name() -> None:
    properties = filled("a", "b")
    properties.set("a", TEXT, "second", mq.MQSMPO_APPEND_PROPERTY)
    properties.set("a", TEXT, "first")
    assert [each.value for each in properties.properties] == ["first", "second", "b"]
    assert walk(properties, "a") == ["a", "a"]
    properties.delete("a")
    assert properties.inquire("a").value == "second"


def test_inquire_options() -> None:
    properties = filled("a")
    assert refused(lambda: properties.inquire("a", 8 | 16)) == mq.MQRC_OPTIONS_ERROR
    assert refused(lambda: properties.inquire("a", 1)) == mq.MQRC_OPTIONS_ERROR
    assert refused(lambda: properties.delete("a", 2)) == mq.MQRC_OPTIONS_ERROR
    assert refused(lambda: properties.inquire("b")) == mq.MQRC_PROPERTY_NOT_AVAILABLE


def test_a_refused_conversion_does_not_move_the_cursor() -> None:
    properties = filled("a", "b")
    properties.inquire("a")
    convert = mq.MQIMPO_INQ_NEXT | mq.MQIMPO_CONVERT_TYPE
    assert refused(lambda: properties.inquire("%", convert, INT)) == mq.MQRC_PROP_NUMBER_FORMAT_ERROR
    assert properties.inquire("", mq.MQIMPO_INQ_PROP_UNDER_CURSOR).name == "a"
    assert properties.inquire("%", mq.MQIMPO_INQ_NEXT).name == "b"


def test_deleting() -> None:
    properties = filled("a", "b.c", "JMSType")
    properties.delete("usr.a")
    properties.delete("JMSType")
    assert names(properties) == ["b.c"]
    assert refused(lambda: properties.delete("a")) == mq.MQRC_PROPERTY_NOT_AVAILABLE
    assert refused(lambda: properties.delete("b.%")) == mq.MQRC_PROPERTY_NAME_ERROR
    assert refused(lambda: properties.delete("Root.MQMD.Priority")) == mq.MQRC_PROPERTY_NOT_AVAILABLE


# Descriptor fields and JMS names.


def test_descriptor_fields_are_properties() -> None:
    properties = PropertySet()
    properties.set("Root.MQMD.Priority", INT, 7)
    properties.set("Root.MQMD.ReplyToQ", TEXT, "Q1")
    properties.set("Root.MQMD.CorrelId", mq.MQTYPE_BYTE_STRING, b"abc")
    assert (len(properties), properties.descriptor_set) == (0, ["Priority", "ReplyToQ", "CorrelId"])
    answer = properties.inquire("Root.MQMD.Priority")
    assert (answer.type, answer.value) == (INT, 7)
    assert properties.inquire("Root.MQMD.Priority", mq.MQIMPO_CONVERT_TYPE, TEXT).value == "7"
    assert properties.inquire("", mq.MQIMPO_INQ_PROP_UNDER_CURSOR).value == 7
    assert properties.inquire("Root.MQMD.ReplyToQ").value == "Q1"
    assert properties.descriptor[100:148] == b"Q1".ljust(48)
    assert properties.inquire("Root.MQMD.CorrelId").value == b"abc" + bytes(21)
    assert refused(lambda: properties.set("Root.MQMD.Priority", TEXT, "7")) == mq.MQRC_PROPERTY_TYPE_ERROR
    long = "Q" * 49
    assert refused(lambda: properties.set("Root.MQMD.ReplyToQ", TEXT, long)) == mq.MQRC_BUFFER_LENGTH_ERROR
    assert refused(lambda: properties.inquire("Root.MQMD.StrucId")) == mq.MQRC_PROPERTY_NAME_ERROR
    under = mq.MQDMPO_DEL_PROP_UNDER_CURSOR
    assert refused(lambda: properties.delete("", under)) == mq.MQRC_PROPERTY_NOT_AVAILABLE
    assert walk(properties, "%") == []


def test_jms_names_stand_for_others() -> None:
    properties = PropertySet()
    properties.set("JMSCorrelationID", TEXT, "c", copy_options=mq.MQCOPY_REPLY)
    properties.set("JMSXGroupSeq", INT, 4)
    assert names(properties) == ["jms.Cid", "jms.Seq"]
    answer = properties.inquire("JMSCorrelationID")
    assert (answer.name, answer.value, answer.copy_options) == ("JMSCorrelationID", "c", mq.MQCOPY_REPLY)
    assert properties.inquire("jms.Cid").value == "c"
    priority = properties.inquire("JMSPriority")
    assert (priority.type, priority.value) == (INT, mq.MQPRI_PRIORITY_AS_Q_DEF)
    assert properties.inquire("JMSDeliveryMode").value == 1
    assert refused(lambda: properties.inquire("JMSType")) == mq.MQRC_PROPERTY_NOT_AVAILABLE
    assert refused(lambda: properties.set("JMSXGroupSeq", TEXT, "4")) == mq.MQRC_PROPERTY_TYPE_ERROR


def test_an_unknown_data_type_is_a_string_with_a_warning() -> None:
    properties = PropertySet()
    properties.add(Property("x", TEXT, "1", type_text="decimal"))
    answer = properties.inquire("x", mq.MQIMPO_CONVERT_TYPE, INT)
    assert isinstance(answer, PropertyInquiry)
    assert (answer.reason, answer.type_text) == (mq.MQRC_PROP_TYPE_NOT_SUPPORTED, "decimal")
    assert (answer.type, answer.value) == (TEXT, "1")
