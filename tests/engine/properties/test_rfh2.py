"""MQRFH2: golden bytes in both byte orders, folder text, and hostile input."""

from __future__ import annotations

import struct

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.searching import examples

from ostler.engine.message.descriptor_fields import DEFAULT_DESCRIPTOR, with_content
from ostler.engine.properties.message_properties import MessageProperties
from ostler.engine.properties.properties import Property, PropertySet
from ostler.engine.properties.property_control import properties_on_get
from ostler.engine.properties.property_values import Value
from ostler.engine.properties.rfh2 import Content, Rfh2, folder_properties, read_chain, read_rfh2, replace_headers
from ostler.engine.properties.rfh2_folders import folder_head, holds_properties, read_folder, unescape, write_folders
from ostler.model import constants as mq
from ostler.model.errors import MQError

LITTLE = 0x222
BIG = 0x111
STRING = b"MQSTR   "


def packed_header(
    order: str, *folders: bytes, follows: int = LITTLE, ccsid: int = 1208, format: bytes = STRING
) -> bytes:
    """Encode an MQRFH2 by hand."""
    pairs = b"".join(struct.pack(order + "i", len(folder)) + folder for folder in folders)
    fixed = struct.pack(order + "iiii8sii", 2, 36 + len(pairs), follows, ccsid, format, 0, 1208)
    return b"RFH " + fixed + pairs


def descriptor(encoding: int = LITTLE, format: bytes = mq.MQFMT_RF_HEADER_2) -> bytes:
    return with_content(DEFAULT_DESCRIPTOR, encoding, 1208, format)


def values(properties: list[Property]) -> dict[str, Value]:
    return {each.name: each.value for each in properties}


# The header.


def test_golden_bytes_little_endian() -> None:
    header = Rfh2(Content(LITTLE, 1208, mq.MQFMT_RF_HEADER_2), Content(BIG, 819, STRING), False)
    header.folders = [header.data("<usr><a>b</a></usr>"), header.data("<mcd></mcd>")]
    assert header.pack() == (
        b"RFH \x02\x00\x00\x00\x4c\x00\x00\x00\x11\x01\x00\x00\x33\x03\x00\x00MQSTR   \x00\x00\x00\x00\xb8\x04\x00\x00"
        b"\x14\x00\x00\x00<usr><a>b</a></usr> "
        b"\x0c\x00\x00\x00<mcd></mcd> "
    )


def test_golden_bytes_big_endian() -> None:
    header = Rfh2(Content(BIG, 1208, mq.MQFMT_RF_HEADER_2), Content(LITTLE, 1208, STRING), True)
    header.folders = [header.data("<a>é</a>")]
    assert header.pack() == (
        b"RFH \x00\x00\x00\x02\x00\x00\x00\x34\x00\x00\x02\x22\x00\x00\x04\xb8MQSTR   \x00\x00\x00\x00\x00\x00\x04\xb8"
        b"\x00\x00\x00\x0c<a>\xc3\xa9</a>   "
    )


@pytest.mark.parametrize(("order", "encoding"), [("<", LITTLE), (">", BIG)])
def test_reading_both_byte_orders(order: str, encoding: int) -> None:
    body = packed_header(order, b"<usr><a dt='i4'>7</a></usr>  ", b"<psc></psc>", follows=BIG, ccsid=37) + b"data"
    header = read_rfh2(body, 0, Content(encoding, 1208, mq.MQFMT_RF_HEADER_2))
    assert (header.follows.encoding, header.follows.ccsid, header.follows.format) == (BIG, 37, STRING)
    assert (header.flags, header.name_value_ccsid, header.length) == (0, 1208, len(body) - 4)
    assert [folder_properties(header, folder) is None for folder in header.folders] == [False, True]
    assert values(folder_properties(header, header.folders[0]) or []) == {"a": 7}
    assert header.pack() == body[:-4]


@pytest.mark.parametrize(("big_endian", "codec"), [(False, "utf-16-le"), (True, "utf-16-be")])
def test_utf16_folders_follow_the_byte_order(big_endian: bool, codec: str) -> None:
    header = Rfh2(Content(0, 0, b""), Content(LITTLE, 1208, STRING), big_endian)
    header.name_value_ccsid = 1200
    folder = header.data("<usr><a>ü</a></usr>")
    assert folder.decode(codec) == "<usr><a>ü</a></usr> "
    assert len(folder) % 4 == 0
    assert values(folder_properties(header, folder) or []) == {"a": "ü"}


def test_an_ebcdic_header_is_read_and_kept() -> None:
    body = packed_header("<", b"<usr><a>b</a></usr> ", format="MQSTR   ".encode("cp500"))
    body = "RFH ".encode("cp500") + body[4:]
    chain = read_chain(descriptor(), body)
    assert chain.fault is None
    assert chain.headers[0].pack() == body


def good() -> bytes:
    return packed_header("<", b"<usr><a>b</a></usr> ")


@pytest.mark.parametrize(
    "body",
    [
        b"",
        good()[:35],
        b"RFX " + good()[4:],
        good()[:4] + b"\1" + good()[5:],
        good()[:8] + b"\x23" + good()[9:],
        good()[:8] + b"\xff\xff\xff\xff" + good()[12:],
        good()[:8] + b"\xff\xff\xff\x7f" + good()[12:],
        good()[:36] + b"\xff\xff\xff\xff" + good()[40:],
        good()[:36] + b"\xff\xff\xff\x7f" + good()[40:],
        good()[:36] + b"\x15" + good()[37:],
        good()[:36] + b"\x10" + good()[37:],
        good()[:8] + b"\x26" + good()[9:],
    ],
)
def test_a_header_that_does_not_fit_is_an_rfh_error(body: bytes) -> None:
    with pytest.raises(MQError) as caught:
        read_rfh2(body, 0, Content(LITTLE, 1208, mq.MQFMT_RF_HEADER_2))
    assert caught.value.reason == mq.MQRC_RFH_ERROR
    chain = read_chain(descriptor(), body)
    assert (chain.headers, chain.data_at) == ([], 0)
    assert chain.fault is not None


def test_a_chain_in_changing_encodings() -> None:
    second = packed_header(">", b"<psc><Command>x</Command></psc> ", follows=LITTLE)
    first = packed_header("<", b"<usr><a>b</a></usr> ", follows=BIG, ccsid=-2, format=mq.MQFMT_RF_HEADER_2)
    body = first + second + b"data"
    chain = read_chain(descriptor(), body)
    assert [header.big_endian for header in chain.headers] == [False, True]
    assert (chain.data_at, chain.rest.format, chain.rest.encoding) == (len(body) - 4, STRING, LITTLE)
    assert chain.headers[1].itself.ccsid == 1208
    # Without the first header the descriptor describes the second.
    md, data = replace_headers(descriptor(), body, chain, [chain.headers[1]])
    assert data == second + b"data"
    assert md[24:40] == struct.pack("<ii", BIG, 1208) + mq.MQFMT_RF_HEADER_2
    # Without both it describes the data.
    md, data = replace_headers(descriptor(), body, chain, [])
    assert data == b"data"
    assert md[24:40] == struct.pack("<ii", LITTLE, 1208) + STRING
    assert md[:24] + md[40:] == descriptor()[:24] + descriptor()[40:]


def test_a_chain_is_bounded() -> None:
    body = packed_header("<", format=mq.MQFMT_RF_HEADER_2) * 100
    assert len(read_chain(descriptor(), body).headers) == 64


# Folders.


def test_every_data_type() -> None:
    text = (
        "<usr><s>x</s><s2 dt='string'>y</s2><t dt=\"boolean\">1</t><f dt='boolean'>0</f><g dt='boolean'>TRUE</g>"
        "<h dt='bin.hex'>0aFF</h><i1 dt='i1'>-128</i1><i2 dt='i2'>+5</i2><i4 dt='i4'> 7 </i4><i8 dt='i8'>8</i8>"
        "<n dt='int'>9</n><r4 dt='r4'>0.5</r4><r8 dt='r8'>-1.5E3</r8><nil xsi:nil='true'></nil><e></e><z/>"
        "<w>  w  </w><q dt='fancy.type'>q</q></usr>  "
    )
    properties = read_folder(text)
    assert values(properties) == {
        "s": "x",
        "s2": "y",
        "t": True,
        "f": False,
        "g": True,
        "h": b"\x0a\xff",
        "i1": -128,
        "i2": 5,
        "i4": 7,
        "i8": 8,
        "n": 9,
        "r4": 0.5,
        "r8": -1500.0,
        "nil": None,
        "e": "",
        "z": "",
        "w": "  w  ",
        "q": "q",
    }
    types = {each.name: each.type for each in properties}
    assert (types["n"], types["nil"], types["q"]) == (mq.MQTYPE_INT64, mq.MQTYPE_NULL, mq.MQTYPE_STRING)
    assert properties[-1].type_text == "fancy.ty"


def test_groups_become_dotted_names() -> None:
    text = "<a content='properties'><b><c>1</c><d><e>2</e></d></b><f>3</f> <b><g>4</g></b></a>"
    assert values(read_folder(text)) == {"a.b.c": "1", "a.b.d.e": "2", "a.f": "3", "a.b.g": "4"}
    assert values(read_folder("<jms><Dst>q</Dst></jms>")) == {"jms.Dst": "q"}
    assert read_folder("<usr/>") == []
    assert read_folder("<usr> </usr>\0\0") == []


def test_elements_that_no_property_can_be_called_are_passed_over() -> None:
    text = "<usr><JMSx>1</JMSx><And>2</And><a.b>3</a.b><ok>4</ok></usr>"
    assert values(read_folder(text)) == {"ok": "4"}
    assert values(read_folder("<mq_usr><JMSx>1</JMSx><c.d><e>2</e></c.d></mq_usr>")) == {"mq_usr.JMSx": "1"}


@pytest.mark.parametrize(
    ("folder", "expected"),
    [
        ("<usr>", True),
        ("<jms >", True),
        ("<mcd/>", True),
        ("<mq_usr>", True),
        ("<mqext>", True),
        ("<mqps>", True),
        ("<sib_context>", True),
        ("<other>", False),
        ("<other content='properties'>", True),
        ('  <other content = "properties" x="y">', True),
        ("<other content='else'>", False),
        ("<psc>", False),
        ("<USR>", False),
    ],
)
def test_which_folders_hold_properties(folder: str, expected: bool) -> None:
    assert holds_properties(folder_head(folder)) is expected


def test_escaping() -> None:
    assert unescape("&lt;a&gt; &amp;amp; &quot;&apos; &#65;&#x42; &#x1F600;") == "<a> &amp; \"' AB \U0001f600"
    [text] = write_folders([Property("x", mq.MQTYPE_STRING, "<&>\"'é")])
    assert text == "<usr><x>&lt;&amp;&gt;&quot;&apos;é</x></usr>"
    assert values(read_folder(text)) == {"x": "<&>\"'é"}


def test_the_property_descriptor_travels_as_attributes() -> None:
    described = [
        Property("mq.a", mq.MQTYPE_STRING, "1", mq.MQPD_SUPPORT_REQUIRED),
        Property("mq.b", mq.MQTYPE_STRING, "1", mq.MQPD_SUPPORT_REQUIRED_IF_LOCAL),
        Property("c", mq.MQTYPE_INT32, 1, context=mq.MQPD_USER_CONTEXT, copy_options=mq.MQCOPY_ALL),
        Property("d", mq.MQTYPE_NULL, None, copy_options=mq.MQCOPY_REPLY | mq.MQCOPY_PUBLISH),
        Property("e", mq.MQTYPE_BOOLEAN, True, copy_options=mq.MQCOPY_NONE),
    ]
    texts = write_folders(described)
    assert texts == [
        "<mq><a sr='required'>1</a><b sx='local'>1</b></mq>",
        "<usr><c dt='i4' context='user' copy='all'>1</c><d xsi:nil='true' copy='publish,reply'></d>"
        "<e dt='boolean' copy='none'>1</e></usr>",
    ]
    again = [each for text in texts for each in read_folder(text)]
    assert [(e.name, e.support, e.context, e.copy_options) for e in again] == [
        (e.name, e.support, e.context, e.copy_options) for e in described
    ]
    # Support is only read in the folder mq; unknown words are ignored.
    [other] = read_folder("<usr><a sr='required' copy='x, forward' context='x' y='z'>1</a></usr>")
    assert (other.support, other.context, other.copy_options) == (mq.MQPD_SUPPORT_OPTIONAL, 0, mq.MQCOPY_FORWARD)


def test_writing_groups_and_folders() -> None:
    properties = PropertySet()
    for name in ("a.b.c", "x", "a.d", "a.b.e", "mqps.Top"):
        properties.set(name, mq.MQTYPE_STRING, "1")
    assert write_folders(properties.properties) == [
        "<a content='properties'><b><c>1</c><e>1</e></b><d>1</d></a>",
        "<usr><x>1</x></usr>",
        "<mqps><Top>1</Top></mqps>",
    ]


@pytest.mark.parametrize(
    "text",
    [
        "",
        "usr",
        "<",
        "<>",
        "<<usr>",
        "<usr",
        "<usr>",
        "<usr></jms>",
        "<usr><a>1</usr>",
        "<usr><a>1</b></usr>",
        "<usr><a>1</a></usr> x",
        "<usr>text</usr>",
        "<usr>text<a>1</a></usr>",
        "<usr><a>1</a>text</usr>",
        "<usr><a><b>1</b>text</a></usr>",
        "<usr><a dt=i4>1</a></usr>",
        "<usr><a dt>1</a></usr>",
        "<usr><a dt='i4>1</a></usr>",
        "<usr><1a>1</1a></usr>",
        "<usr><!-- x --></usr>",
        "<?xml version='1.0'?><usr></usr>",
        "<usr><a><![CDATA[x]]></a></usr>",
        "<usr><a>&</a></usr>",
        "<usr><a>&nothing;</a></usr>",
        "<usr><a>&#xD800;</a></usr>",
        "<usr><a>&#99999999;</a></usr>",
        "<usr><a>&#x;</a></usr>",
        "<usr><a>&amp</a></usr>",
        "<usr><a dt='i4'>x</a></usr>",
        "<usr><a dt='i4'></a></usr>",
        "<usr><a dt='i4'>2147483648</a></usr>",
        "<usr><a dt='i8'>1_0</a></usr>",
        "<usr><a dt='i8'>" + "9" * 5000 + "</a></usr>",
        "<usr><a dt='boolean'>2</a></usr>",
        "<usr><a dt='bin.hex'>abc</a></usr>",
        "<usr><a dt='bin.hex'>xy</a></usr>",
        "<usr><a dt='r8'>1,5</a></usr>",
        "<usr><a dt='r4'>1e300</a></usr>",
        "<a content='properties'>" + "<b>" * 32 + "</b>" * 32 + "</a>",
        "<usr><a " + " ".join(f"x{n}='y'" for n in range(17)) + ">1</a></usr>",
    ],
)
def test_folders_that_are_not_well_formed(text: str) -> None:
    with pytest.raises(MQError) as caught:
        read_folder(text)
    assert caught.value.reason == mq.MQRC_RFH_FORMAT_ERROR


@pytest.mark.parametrize(
    "text",
    [
        "<mq><a><b>1</b></a></mq>",
        "<mq><a>&amp;</a></mq>",
        "<mq><a xsi:nil='true'></a></mq>",
        "<mq content='properties'><a>1</a></mq>",
    ],
)
def test_the_folder_mq_has_a_restricted_form(text: str) -> None:
    with pytest.raises(MQError) as caught:
        read_folder(text)
    assert caught.value.reason == mq.MQRC_RFH_RESTRICTED_FORMAT_ERR


def test_depth_and_number_of_elements_are_limited() -> None:
    deep = "<a content='properties'>" + "<b>" * 31 + "1" + "</b>" * 31 + "</a>"
    assert len(read_folder(deep)) == 1
    with pytest.raises(MQError):
        read_folder("<usr>" + "<a/>" * 16_385 + "</usr>")
    with pytest.raises(MQError):
        read_folder("<" * 100_000)
    assert len(read_folder("<usr>" + "<a/>" * 16_384 + "</usr>")) == 16_384


# Random properties and hostile bytes.

leaf_values = st.one_of(
    st.tuples(st.just(mq.MQTYPE_STRING), st.text(st.characters(exclude_categories=["Cs"]), max_size=12)),
    st.tuples(st.just(mq.MQTYPE_INT64), st.integers(-(2**63), 2**63 - 1)),
    st.tuples(st.just(mq.MQTYPE_FLOAT64), st.floats(allow_nan=False)),
    st.tuples(st.just(mq.MQTYPE_FLOAT32), st.floats(allow_nan=False, width=32)),
    st.tuples(st.just(mq.MQTYPE_BYTE_STRING), st.binary(max_size=8)),
    st.tuples(st.just(mq.MQTYPE_BOOLEAN), st.booleans()),
    st.tuples(st.just(mq.MQTYPE_NULL), st.none()),
)


@settings(deadline=None)
@given(st.dictionaries(st.sampled_from(["a", "b", "c.d", "c.e.f", "c.e.g", "jms.h"]), leaf_values))
def test_folders_read_back_what_was_written(chosen: dict[str, tuple[int, Value]]) -> None:
    properties = [Property(name, type, value) for name, (type, value) in chosen.items()]
    again = [each for text in write_folders(properties) for each in read_folder(text)]
    assert {e.name: (e.type, e.value) for e in again} == {e.name: (e.type, e.value) for e in properties}
    assert len(again) == len(properties)


MESSAGE = (
    packed_header(
        "<", b"<usr><a dt='i4'>7</a><b>x&amp;y</b></usr>   ", b"<psc><C>d</C></psc> ", follows=BIG, format=b"MQHRF2  "
    )
    + packed_header(">", b"<g content='properties'><h><i>j</i></h></g> ")
    + b"data"
)


@settings(max_examples=examples(400), deadline=None)
@given(st.data())
def test_mutated_messages_never_crash(data: st.DataObject) -> None:
    body = bytearray(MESSAGE)
    for _ in range(data.draw(st.integers(1, 4))):
        body[data.draw(st.integers(0, len(body) - 1))] = data.draw(st.sampled_from(b"\x00\x01\x7f\xff<>/='& a9"))
    mutated = bytes(body[: data.draw(st.integers(0, len(body)))])
    md = descriptor(data.draw(st.sampled_from([LITTLE, BIG, 0])))
    view = properties_on_get(md, mutated, b"", mq.MQPROP_NONE, 0, True)
    assert view.property_set is not None
    assert len(view.body) <= len(mutated)
    # The rest holds no properties any more.
    again = properties_on_get(view.md, view.body, b"", mq.MQPROP_NONE, 0, True)
    assert (again.md, again.body) == (view.md, view.body)
    assert MessageProperties(md, mutated).value("a") in (None, *[e.value for e in view.property_set.properties])


@settings(max_examples=examples(300), deadline=None)
@given(st.text("<>/='\"& ;#xausr\0dti4é", max_size=40))
def test_any_text_is_a_folder_or_a_format_error(text: str) -> None:
    for candidate in (text, "<usr>" + text + "</usr>", "<usr><a>" + text + "</a></usr>"):
        reason = 0
        found: list[Property] = []
        try:
            found = read_folder(candidate)
        except MQError as error:
            reason = error.reason
        assert reason in (0, mq.MQRC_RFH_FORMAT_ERROR)
        assert all(isinstance(each.value, str | int | float | None) for each in found)
