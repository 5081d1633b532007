"""Message properties on MQGET and MQPUT, by MQ's tables."""

from __future__ import annotations

import struct

import pytest

from ostler.engine.message.descriptor_fields import DEFAULT_DESCRIPTOR, FIELDS, with_content, with_field
from ostler.engine.properties.message_properties import MessageProperties
from ostler.engine.properties.properties import PropertySet
from ostler.engine.properties.property_block import decode_block
from ostler.engine.properties.property_buffers import buffer_to_properties, properties_to_buffer
from ostler.engine.properties.property_control import (
    GetView,
    descriptor_for_put,
    needs_property_view,
    properties_on_get,
    properties_on_put,
)
from ostler.engine.properties.property_values import Value
from ostler.engine.properties.rfh2 import folder_properties, read_chain
from ostler.engine.selectors.selector import compile_selector
from ostler.model import constants as mq
from ostler.model.errors import MQError

TEXT = mq.MQTYPE_STRING
LITTLE = 0x222
BIG = 0x111
STRING = b"MQSTR   "
PSC = b"<psc><Command>x</Command></psc> "


def header(*folders: bytes, order: str = "<", follows: int = LITTLE, format: bytes = STRING) -> bytes:
    pairs = b"".join(struct.pack(order + "i", len(folder)) + folder for folder in folders)
    return b"RFH " + struct.pack(order + "iiii8sii", 2, 36 + len(pairs), follows, 1208, format, 0, 1208) + pairs


def md_for(format: bytes, encoding: int = LITTLE) -> bytes:
    return with_content(DEFAULT_DESCRIPTOR, encoding, 819, format)


def block_of(**values: str) -> bytes:
    properties = PropertySet()
    for name, value in values.items():
        properties.set(name.replace("__", "."), TEXT, value)
    return properties_on_put(md_for(STRING), b"", None, properties, mq.MQACTP_NEW)


PLAIN = (md_for(STRING), b"data", b"")
RFH2 = md_for(mq.MQFMT_RF_HEADER_2)
# A block and a header that both have properties, one of them twice, and name-value pairs that are none.
FULL = (
    RFH2,
    header(b"<usr><a>sent</a><b>sent</b></usr>   ", PSC) + b"data",
    block_of(a="set", c="set"),
)
# Properties in no folder that COMPAT counts.
FOREIGN = (RFH2, header(b"<x content='properties'><y>sent</y></x> ", PSC) + b"data", block_of(z__w="set"))


class Seen:
    """Return the properties in the data, the other folders there, and the properties in the handle."""

    def __init__(self, view: GetView) -> None:
        chain = read_chain(view.md, view.body)
        assert chain.fault is None
        assert view.body.endswith(b"data")
        self.in_data: dict[str, Value] = {}
        self.others: list[str] = []
        for each in chain.headers:
            for folder in each.folders:
                found = folder_properties(each, folder)
                if found is None:
                    self.others.append(each.text(folder)[1:4])
                for one in found or []:
                    assert one.name not in self.in_data
                    self.in_data[one.name] = one.value
        self.in_handle = None
        if view.property_set is not None:
            self.in_handle = {each.name: each.value for each in view.property_set.properties}
        assert chain.rest.format == STRING
        assert view.body[chain.data_at :] == b"data"


EVERYTHING = {"a": "set", "c": "set", "b": "sent"}
AS_SENT = {"a": "sent", "b": "sent"}
NOTHING: dict[str, Value] = {}
ALL, NONE, FORCE, COMPAT, V6 = (
    mq.MQPROP_ALL,
    mq.MQPROP_NONE,
    mq.MQPROP_FORCE_MQRFH2,
    mq.MQPROP_COMPATIBILITY,
    mq.MQPROP_V6COMPAT,
)
AS_Q_DEF = mq.MQGMO_PROPERTIES_AS_Q_DEF
IN_HANDLE = mq.MQGMO_PROPERTIES_IN_HANDLE
NO_PROPERTIES = mq.MQGMO_NO_PROPERTIES
FORCE_RFH2 = mq.MQGMO_PROPERTIES_FORCE_MQRFH2
COMPATIBILITY = mq.MQGMO_PROPERTIES_COMPATIBILITY

# option, handle, PROPCTL -> properties in the data and in the handle, for FULL and for FOREIGN.
FOREIGN_ALL = {"z.w": "set", "x.y": "sent"}
FOREIGN_SENT = {"x.y": "sent"}
MATRIX: list[tuple[int, bool, int, object, object, object, object]] = [
    (AS_Q_DEF, False, ALL, EVERYTHING, None, FOREIGN_ALL, None),
    (AS_Q_DEF, False, NONE, NOTHING, None, NOTHING, None),
    (AS_Q_DEF, False, FORCE, EVERYTHING, None, FOREIGN_ALL, None),
    (AS_Q_DEF, False, COMPAT, EVERYTHING, None, NOTHING, None),
    (AS_Q_DEF, False, V6, AS_SENT, None, FOREIGN_SENT, None),
    (AS_Q_DEF, True, ALL, NOTHING, EVERYTHING, NOTHING, FOREIGN_ALL),
    (AS_Q_DEF, True, NONE, NOTHING, EVERYTHING, NOTHING, FOREIGN_ALL),
    (AS_Q_DEF, True, FORCE, EVERYTHING, None, FOREIGN_ALL, None),
    (AS_Q_DEF, True, COMPAT, NOTHING, EVERYTHING, NOTHING, FOREIGN_ALL),
    (AS_Q_DEF, True, V6, AS_SENT, {"a": "set", "c": "set"}, FOREIGN_SENT, {"z.w": "set"}),
    *[
        (IN_HANDLE, True, control, NOTHING, EVERYTHING, NOTHING, FOREIGN_ALL)
        for control in (ALL, NONE, FORCE, COMPAT, V6)
    ],
    *[
        (NO_PROPERTIES, handle, control, NOTHING, None, NOTHING, None)
        for handle in (False, True)
        for control in (ALL, NONE, FORCE, COMPAT, V6)
    ],
    *[
        (FORCE_RFH2, handle, control, EVERYTHING, None, FOREIGN_ALL, None)
        for handle in (False, True)
        for control in (ALL, NONE, FORCE, COMPAT, V6)
    ],
    *[
        (COMPATIBILITY, handle, control, EVERYTHING, None, NOTHING, None)
        for handle in (False, True)
        for control in (ALL, NONE, FORCE, COMPAT, V6)
    ],
]


@pytest.mark.parametrize(("option", "handle", "control", "data", "in_handle", "foreign_data", "foreign_handle"), MATRIX)
def test_the_property_control_table(
    option: int,
    handle: bool,
    control: int,
    data: object,
    in_handle: object,
    foreign_data: object,
    foreign_handle: object,
) -> None:
    full = Seen(properties_on_get(*FULL, control, option, handle))
    assert (full.in_data, full.in_handle, full.others) == (data, in_handle, ["psc"])
    foreign = Seen(properties_on_get(*FOREIGN, control, option, handle))
    assert (foreign.in_data, foreign.in_handle, foreign.others) == (foreign_data, foreign_handle, ["psc"])


@pytest.mark.parametrize("control", [ALL, NONE, FORCE, COMPAT, V6])
def test_properties_in_a_handle_need_a_handle(control: int) -> None:
    for message in (PLAIN, FULL):
        with pytest.raises(MQError) as caught:
            properties_on_get(*message, control, IN_HANDLE, False)
        assert caught.value.reason == mq.MQRC_HMSG_ERROR


def test_only_one_option_can_be_given() -> None:
    with pytest.raises(MQError) as caught:
        properties_on_get(*PLAIN, ALL, IN_HANDLE | NO_PROPERTIES, True)
    assert caught.value.reason == mq.MQRC_OPTIONS_ERROR


@pytest.mark.parametrize("control", [ALL, NONE, FORCE, COMPAT, V6])
@pytest.mark.parametrize("option", [AS_Q_DEF, NO_PROPERTIES, FORCE_RFH2, COMPATIBILITY, mq.MQGMO_WAIT | 0x4000])
def test_a_plain_message_passes_untouched(control: int, option: int) -> None:
    md, body, block = PLAIN
    for handle in (False, True):
        view = properties_on_get(md, body, block, control, option, handle)
        assert view.md is md
        assert view.body is body
        filled = handle and option not in (NO_PROPERTIES, FORCE_RFH2, COMPATIBILITY) and control != FORCE
        assert (view.property_set is not None) is filled
        if view.property_set is not None:
            assert len(view.property_set) == 0
            assert view.property_set.descriptor is md
    assert needs_property_view(md, True)
    assert not needs_property_view(md, False)
    assert needs_property_view(RFH2, False)


def test_a_header_without_properties_is_never_touched() -> None:
    body = header(PSC) + b"data"
    for control in (ALL, NONE, FORCE, COMPAT, V6):
        for handle in (False, True):
            view = properties_on_get(RFH2, body, b"", control, 0, handle)
            assert (view.md, view.body) == (RFH2, body)


def test_headers_with_properties_are_returned_as_sent_when_nothing_is_added() -> None:
    body = header(b"<usr><a>1</a></usr>  ", PSC) + b"data"
    for control in (ALL, FORCE, COMPAT, V6):
        assert properties_on_get(RFH2, body, b"", control, 0, False).body is body


def test_a_header_of_which_nothing_is_left_goes_away() -> None:
    body = header(b"<usr><a>1</a></usr>  ", follows=BIG) + b"data"
    view = properties_on_get(RFH2, body, b"", NONE, 0, False)
    assert view.body == b"data"
    assert view.md[24:40] == struct.pack("<ii", BIG, 1208) + STRING
    # The chain closes: the header before it describes the data behind it.
    last = header(b"<usr><b>1</b></usr>  ", order=">", follows=LITTLE)
    first = header(PSC, follows=BIG, format=mq.MQFMT_RF_HEADER_2)
    view = properties_on_get(RFH2, first + last + b"data", b"", NONE, 0, False)
    assert view.body == header(PSC, follows=LITTLE) + b"data"
    assert view.md == RFH2


def test_a_new_header_for_a_message_without_one() -> None:
    view = properties_on_get(md_for(STRING), b"data", block_of(colour="red"), ALL, 0, False)
    folder = b"<usr><colour>red</colour></usr> "
    fixed = struct.pack("<iiii8sii", 2, 36 + 4 + len(folder), LITTLE, 819, STRING, 0, 1208)
    assert view.body == b"RFH " + fixed + struct.pack("<i", len(folder)) + folder + b"data"
    assert view.md == with_content(DEFAULT_DESCRIPTOR, LITTLE, 1208, mq.MQFMT_RF_HEADER_2)
    big = properties_on_get(md_for(STRING, BIG), b"data", block_of(colour="red"), ALL, 0, False)
    assert big.body.startswith(b"RFH \x00\x00\x00\x02")
    assert big.md[24:28] == struct.pack("<i", BIG)
    native = properties_on_get(md_for(STRING, 0), b"data", block_of(colour="red"), ALL, 0, False)
    assert native.md[24:28] == struct.pack("<i", LITTLE)


def test_properties_merge_into_the_first_header() -> None:
    view = properties_on_get(*FULL, ALL, 0, False)
    assert view.body == header(b"<usr><a>set</a><c>set</c><b>sent</b></usr>  ", PSC) + b"data"
    assert view.md == RFH2


def test_a_faulty_header_or_folder_is_data() -> None:
    broken = b"RFH " + b"\xff" * 40 + b"data"
    for handle in (False, True):
        view = properties_on_get(RFH2, broken, b"", NONE, 0, handle)
        assert (view.md, view.body) == (RFH2, broken)
    added = properties_on_get(RFH2, broken, block_of(a="1"), ALL, 0, False)
    assert added.body.endswith(broken)
    assert read_chain(added.md, added.body).headers[0].follows.format == mq.MQFMT_RF_HEADER_2
    faulty = header(b"<usr><a>1</usr>  ", b"<jms><Dst>q</Dst></jms> ") + b"data"
    view = properties_on_get(RFH2, faulty, b"", NONE, 0, True)
    assert view.body == header(b"<usr><a>1</usr>  ") + b"data"
    assert view.property_set is not None
    assert [each.name for each in view.property_set.properties] == ["jms.Dst"]


def test_a_header_in_no_unicode_gets_a_new_one_before_it() -> None:
    odd = header(b"<usr><a>1</a></usr>  ")
    odd = odd[:32] + struct.pack("<i", 819) + odd[36:] + b"data"
    view = properties_on_get(RFH2, odd, block_of(b="2"), ALL, 0, False)
    chain = read_chain(view.md, view.body)
    assert [each.name_value_ccsid for each in chain.headers] == [1208, 819]
    assert view.body.endswith(odd)


def test_the_handle_gets_the_descriptor_of_what_is_returned() -> None:
    body = header(b"<usr><a>1</a></usr>  ") + b"data"
    view = properties_on_get(RFH2, body, b"", ALL, 0, True)
    assert view.property_set is not None
    assert view.property_set.descriptor == view.md
    assert view.property_set.inquire("Root.MQMD.Format").value == "MQSTR"


def test_selectors_see_both_places_and_the_call_wins() -> None:
    source = MessageProperties(*FULL)
    for text in ("a = 'set'", "b = 'sent' AND c = 'set'", "d IS NULL", "Root.MQMD.Format = 'MQHRF2'"):
        assert compile_selector(text).matches(source), text


# MQPUT.


def given(**values: Value) -> PropertySet:
    properties = PropertySet()
    for name, value in values.items():
        copy_options = {"f": mq.MQCOPY_FORWARD, "r": mq.MQCOPY_REPLY, "p": mq.MQCOPY_REPORT, "n": mq.MQCOPY_NONE}
        properties.set(
            name,
            mq.MQTYPE_NULL if value is None else TEXT,
            value,
            copy_options=copy_options.get(name[0], mq.MQCOPY_ALL if name[0] == "a" else mq.MQCOPY_DEFAULT),
        )
    return properties


ORIGINAL = {"f": "1", "r": "1", "p": "1", "n": "1", "all": "1", "d": "1"}


@pytest.mark.parametrize(
    ("action", "expected"),
    [
        (mq.MQACTP_NEW, {"f", "r", "p", "n", "all", "d"}),
        (mq.MQACTP_FORWARD, {"f", "all", "d"}),
        (mq.MQACTP_REPLY, {"r", "all"}),
        (mq.MQACTP_REPORT, {"p", "all", "d"}),
    ],
)
def test_actions_copy_by_the_copy_options(action: int, expected: set[str]) -> None:
    original = given(**ORIGINAL)
    block = properties_on_put(*PLAIN[:2], original, None, action)
    assert {each.name for each in decode_block(block)} == expected
    # The new handle adds, replaces, and with a null removes properties.
    new = given(all="2", new="2", d=None)
    merged = {each.name: each.value for each in decode_block(properties_on_put(*PLAIN[:2], original, new, action))}
    changed = dict.fromkeys(expected, "1") | {"all": "2", "new": "2"}
    changed.pop("d", None)
    if action == mq.MQACTP_NEW:
        changed["d"] = None  # type: ignore[assignment]
    assert merged == changed
    assert len(original) == 6


def test_a_null_that_replaces_nothing_is_a_null_property() -> None:
    block = properties_on_put(*PLAIN[:2], given(x="1"), given(y=None), mq.MQACTP_FORWARD)
    assert [(each.name, each.type) for each in decode_block(block)] == [("x", TEXT), ("y", mq.MQTYPE_NULL)]


def test_one_handle_alone() -> None:
    for original, new in ((given(x="1"), None), (None, given(x="1"))):
        assert [e.name for e in decode_block(properties_on_put(*PLAIN[:2], original, new, mq.MQACTP_NEW))] == ["x"]
    assert properties_on_put(*PLAIN[:2], None, None, mq.MQACTP_NEW) == b""
    assert properties_on_put(*PLAIN[:2], PropertySet(), None, mq.MQACTP_NEW) == b""


def test_a_wrong_action() -> None:
    for action in (-1, 4):
        with pytest.raises(MQError) as caught:
            properties_on_put(*PLAIN[:2], None, None, action)
        assert caught.value.reason == mq.MQRC_ACTION_ERROR


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        (b"RFH ", mq.MQRC_RFH_ERROR),
        (header(b"<<usr></usr>"), mq.MQRC_RFH_FORMAT_ERROR),
        (header(b"<usr><a>1</usr>  "), mq.MQRC_RFH_FORMAT_ERROR),
        (header(b"<mq><a><b>1</b></a></mq>"), mq.MQRC_RFH_RESTRICTED_FORMAT_ERR),
    ],
)
def test_headers_are_checked_only_when_a_handle_comes_along(body: bytes, reason: int) -> None:
    assert properties_on_put(RFH2, body, None, None, mq.MQACTP_NEW) == b""
    with pytest.raises(MQError) as caught:
        properties_on_put(RFH2, body, None, PropertySet(), mq.MQACTP_NEW)
    assert caught.value.reason == reason


def test_support_that_is_required_and_missing() -> None:
    properties = PropertySet(validate=False)
    properties.set("mq.future", TEXT, "x", support=mq.MQPD_SUPPORT_REQUIRED)
    with pytest.raises(MQError) as caught:
        properties_on_put(*PLAIN[:2], None, properties, mq.MQACTP_NEW)
    assert caught.value.reason == mq.MQRC_UNSUPPORTED_PROPERTY
    validated = PropertySet()
    validated.set("mq.future", TEXT, "x", support=mq.MQPD_SUPPORT_REQUIRED)
    assert properties_on_put(*PLAIN[:2], None, validated, mq.MQACTP_NEW) != b""


# Descriptors from handles.


def md_with(**fields: Value) -> bytes:
    md = DEFAULT_DESCRIPTOR
    for name, value in fields.items():
        md = with_field(md, FIELDS[name], FIELDS[name].type, value)
    return md


def field(md: bytes, name: str) -> bytes:
    return md[FIELDS[name].at : FIELDS[name].at + FIELDS[name].length]


REQUEST = md_with(MsgId=b"m" * 24, CorrelId=b"c" * 24, MsgType=1, ReplyToQ="R", Priority=5, Expiry=99, BackoutCount=3)


def test_new_and_forwarded_messages_keep_the_descriptor() -> None:
    original = PropertySet(descriptor=REQUEST)
    new = PropertySet()
    new.set("Root.MQMD.Priority", mq.MQTYPE_INT32, 1)
    for action in (mq.MQACTP_NEW, mq.MQACTP_FORWARD):
        assert descriptor_for_put(original, None, action) == REQUEST
        assert descriptor_for_put(original, new, action) == with_field(REQUEST, FIELDS["Priority"], mq.MQTYPE_INT32, 1)
    assert descriptor_for_put(None, None, mq.MQACTP_NEW) == DEFAULT_DESCRIPTOR
    assert descriptor_for_put(None, new, mq.MQACTP_NEW) == new.descriptor


@pytest.mark.parametrize(
    ("report", "message_id", "correlation_id", "expiry", "report_after"),
    [
        (0, bytes(24), b"m" * 24, -1, 0),
        (mq.MQRO_PASS_MSG_ID, b"m" * 24, b"m" * 24, -1, 0),
        (mq.MQRO_PASS_CORREL_ID, bytes(24), b"c" * 24, -1, 0),
        (mq.MQRO_PASS_DISCARD_AND_EXPIRY | mq.MQRO_DISCARD_MSG, bytes(24), b"m" * 24, 99, mq.MQRO_DISCARD_MSG),
    ],
)
def test_answers_follow_the_report_options(
    report: int, message_id: bytes, correlation_id: bytes, expiry: int, report_after: int
) -> None:
    original = PropertySet(descriptor=with_field(REQUEST, FIELDS["Report"], mq.MQTYPE_INT32, report))
    for action, message_type in ((mq.MQACTP_REPLY, mq.MQMT_REPLY), (mq.MQACTP_REPORT, mq.MQMT_REPORT)):
        md = descriptor_for_put(original, None, action)
        assert (field(md, "MsgId"), field(md, "CorrelId")) == (message_id, correlation_id)
        assert struct.unpack("<iii", md[8:20]) == (report_after, message_type, expiry)
        assert field(md, "ReplyToQ") == b" " * 48
        assert struct.unpack("<i", field(md, "BackoutCount")) == (0,)
        assert struct.unpack("<i", field(md, "Priority")) == (5,)


# Buffers.


def test_a_buffer_becomes_properties_and_back() -> None:
    buffer = header(b"<usr><a>1</a></usr>  ", PSC) + b"data"
    properties = given(old="x")
    view = buffer_to_properties(properties, RFH2, buffer, mq.MQBMHO_DELETE_PROPERTIES)
    assert [each.name for each in properties.properties] == ["a"]
    assert (view.body, view.md) == (header(PSC) + b"data", RFH2)
    kept = buffer_to_properties(properties, RFH2, buffer, mq.MQBMHO_NONE)
    assert kept.body is buffer
    out = properties_to_buffer(properties, "%", md_for(STRING), mq.MQMHBO_PROPERTIES_IN_MQRFH2)
    assert [each.name for each in properties.properties] == ["a"]
    assert MessageProperties(out.md, out.body).value("a") == "1"
    assert read_chain(out.md, out.body).rest.format == STRING


def test_properties_leave_the_handle_when_asked() -> None:
    properties = given(a="1", b="2")
    properties.set("x.y", TEXT, "3")
    options = mq.MQMHBO_PROPERTIES_IN_MQRFH2 | mq.MQMHBO_DELETE_PROPERTIES
    view = properties_to_buffer(properties, "usr.%", md_for(STRING), options)
    assert [each.name for each in properties.properties] == ["x.y"]
    assert view.body[40:].rstrip() == b"<usr><a copy='all'>1</a><b>2</b></usr>"
    for name, options, reason in (
        ("%", 0, mq.MQRC_OPTIONS_ERROR),
        ("%", 5, mq.MQRC_OPTIONS_ERROR),
        ("usr.%", 1, mq.MQRC_PROPERTY_NOT_AVAILABLE),
    ):
        with pytest.raises(MQError) as caught:
            properties_to_buffer(properties, name, md_for(STRING), options)
        assert caught.value.reason == reason


def test_buffers_that_are_refused() -> None:
    properties = given(old="x")
    for buffer, options, reason in ((b"RFH ", 0, mq.MQRC_RFH_ERROR), (header(PSC), 2, mq.MQRC_OPTIONS_ERROR)):
        with pytest.raises(MQError) as caught:
            buffer_to_properties(properties, RFH2, buffer, options)
        assert caught.value.reason == reason
    assert len(properties) == 1
