"""Message selectors: three-valued logic, types, LIKE, names, and errors with their column."""

from __future__ import annotations

import pytest

from ostler.engine.message.descriptor_fields import DEFAULT_DESCRIPTOR, FIELDS, with_field
from ostler.engine.properties.message_properties import MessageProperties
from ostler.engine.properties.properties import PropertySet
from ostler.engine.selectors.selector import PropertySource, Value, cache, compile_selector, compile_stored
from ostler.model import constants as mq
from ostler.model.errors import MQError


class Given(PropertySource):
    """A property source over a dictionary."""

    def __init__(self, values: dict[str, Value]) -> None:
        self.values = values

    def value(self, name: str) -> Value:
        return self.values.get(name)


def selects(text: str, **values: Value) -> bool:
    return compile_selector(text).matches(Given(values))


def truth(text: str, **values: Value) -> str:
    """Return T, F or U for a condition, told apart by its NOT."""
    if selects(text, **values):
        return "T"
    return "F" if selects(f"NOT ({text})", **values) else "U"


def operand(name: str, state: str) -> dict[str, Value]:
    """Return a boolean property that is true, false or missing."""
    return {} if state == "U" else {name: state == "T"}


@pytest.mark.parametrize(
    ("left", "right", "both", "either"),
    [
        ("T", "T", "T", "T"),
        ("T", "F", "F", "T"),
        ("T", "U", "U", "T"),
        ("F", "T", "F", "T"),
        ("F", "F", "F", "F"),
        ("F", "U", "F", "U"),
        ("U", "T", "U", "T"),
        ("U", "F", "F", "U"),
        ("U", "U", "U", "U"),
    ],
)
def test_and_and_or_follow_the_truth_tables(left: str, right: str, both: str, either: str) -> None:
    values = operand("a", left) | operand("b", right)
    assert truth("a AND b", **values) == both
    assert truth("a OR b", **values) == either


@pytest.mark.parametrize(("state", "negated"), [("T", "F"), ("F", "T"), ("U", "U")])
def test_not(state: str, negated: str) -> None:
    values = operand("a", state)
    assert truth("NOT a", **values) == negated
    assert truth("NOT NOT a", **values) == state
    assert truth("not Not NOT a", **values) == negated


@pytest.mark.parametrize(
    ("text", "values", "expected"),
    [
        # Null makes it unknown.
        ("a = 1", {}, "U"),
        ("a <> 1", {}, "U"),
        ("a + 1 > 0", {}, "U"),
        ("a BETWEEN 1 AND 2", {}, "U"),
        ("a NOT BETWEEN 1 AND 2", {}, "U"),
        ("a IN ('x')", {}, "U"),
        ("a NOT IN ('x')", {}, "U"),
        ("a LIKE 'x'", {}, "U"),
        ("a NOT LIKE 'x'", {}, "U"),
        ("a IS NULL", {}, "T"),
        ("a IS NOT NULL", {}, "F"),
        ("a IS NULL", {"a": ""}, "F"),
        ("a IS NOT NULL", {"a": 0}, "T"),
        # Different types make it false, whichever way it is asked.
        ("a = 1", {"a": "1"}, "F"),
        ("a <> 1", {"a": "1"}, "F"),
        ("a = '1'", {"a": 1}, "F"),
        ("a = TRUE", {"a": 1}, "F"),
        ("a = 1", {"a": True}, "F"),
        ("a > b", {"a": "b", "b": "a"}, "F"),
        ("a < b", {"a": False, "b": True}, "F"),
        ("a = b", {"a": b"1", "b": "1"}, "F"),
        ("a", {"a": 1}, "F"),
        ("a BETWEEN 1 AND 2", {"a": "1"}, "F"),
        ("a NOT BETWEEN 1 AND 2", {"a": "1"}, "F"),
        ("a IN ('1')", {"a": 1}, "F"),
        ("a NOT IN ('1')", {"a": 1}, "T"),
        ("a LIKE '%'", {"a": 1}, "F"),
        # Like types compare.
        ("a = 'it''s'", {"a": "it's"}, "T"),
        ("a <> 'x'", {"a": "X"}, "T"),
        ("a = TRUE", {"a": True}, "T"),
        ("a = true AND b = False", {"a": True, "b": False}, "T"),
        ("a = 1.0", {"a": 1}, "T"),
        ("a < 1.5", {"a": 1}, "T"),
        ("a >= 7E3", {"a": 7000}, "T"),
        ('a = "0x0AFC23"', {"a": b"\x0a\xfc\x23"}, "T"),
        ('a = "0X0afc23"', {"a": b"\x0a\xfc\x23"}, "T"),
        ('a = "0x0AFC2300"', {"a": b"\x0a\xfc\x23"}, "F"),
        # Three-valued BETWEEN is an AND of two comparisons, NOT BETWEEN an OR.
        ("a BETWEEN 1 AND b", {"a": 0}, "F"),
        ("a BETWEEN 1 AND b", {"a": 2}, "U"),
        ("a NOT BETWEEN 1 AND b", {"a": 0}, "T"),
        ("a BETWEEN 1 AND 3", {"a": 1}, "T"),
        ("a BETWEEN 1 AND 3", {"a": 3.0}, "T"),
        ("a NOT BETWEEN 1 AND 3", {"a": 4}, "T"),
        # A comparison is a value too.
        ("(a = 1) = TRUE", {"a": 1}, "T"),
        ("(a = 1) = (b = 2)", {"a": 1, "b": 3}, "F"),
        ("(a = 1) = b", {"b": True}, "U"),
    ],
)
def test_conditions(text: str, values: dict[str, Value], expected: str) -> None:
    assert truth(text, **values) == expected


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("1 + 2 * 3", 7),
        ("(1 + 2) * 3", 9),
        ("10 - 4 - 3", 3),
        ("100 / 10 / 5", 2),
        ("2 + 10 / 5 - 1", 3),
        ("7 / 2", 3),
        ("-7 / 2", -3),
        ("7 / -2", -3),
        ("7 / 2.0", 3.5),
        ("-3 * -3", 9),
        ("- - 3", 3),
        ("+3 - -3", 6),
        ("0x1F", 31),
        ("0X1fL", 31),
        ("017", 15),
        ("0", 0),
        ("9223372036854775807L", 9223372036854775807),
        ("-9223372036854775808", -9223372036854775808),
        ("7.", 7.0),
        (".5", 0.5),
        ("1.5e-3", 0.0015),
        ("57.9E2d", 5790.0),
        ("2.F", 2.0),
    ],
)
def test_arithmetic(text: str, value: float) -> None:
    assert truth(f"x = {text}", x=value) == "T"
    assert truth(f"{text} = x", x=value + 1) == "F"


@pytest.mark.parametrize(
    "text",
    [
        "1 / 0",
        "1.0 / 0",
        "1 / 0.0",
        "9223372036854775807 + 1",
        "-9223372036854775808 - 1",
        "s * 2",
        "-s",
        "+s",
        "b + 1",
    ],
)
def test_what_cannot_be_computed_is_unknown(text: str) -> None:
    assert truth(f"x = {text}", x=1, s="2", b=True) == "U"
    assert truth(f"x <> {text}", x=1, s="2", b=True) == "U"


def test_and_binds_tighter_than_or_and_not_tightest() -> None:
    assert selects("TRUE OR FALSE AND FALSE")
    assert not selects("(TRUE OR FALSE) AND FALSE")
    assert selects("NOT FALSE OR TRUE")
    assert not selects("NOT (FALSE OR TRUE)")
    assert selects("NOT a = 1 AND b = 2", a=2, b=2)


def test_keywords_come_in_any_case_and_names_do_not() -> None:
    assert selects("a iS nOt nUlL aNd a lIkE 'x%' Or b bEtWeEn 1 anD 2", a="xy")
    assert not selects("A = 1", a=1)


@pytest.mark.parametrize(
    ("pattern", "text", "expected"),
    [
        ("12%3", "123", True),
        ("12%3", "12993", True),
        ("12%3", "1234", False),
        ("l_se", "lose", True),
        ("l_se", "loose", False),
        ("%", "", True),
        ("_", "", False),
        ("", "", True),
        ("", "x", False),
        ("abc", "abc", True),
        ("abc%", "abcdef", True),
        ("%def", "abcdef", True),
        ("%cd%", "abcdef", True),
        ("%cd%", "abdcef", False),
        ("a%b%c", "a1b2b3c", True),
        ("a%b%c", "a1c2c3b", False),
        ("%a_", "aab", True),
        ("%_b", "ab", True),
        ("%_b", "b", False),
        ("_%_", "ab", True),
        ("_%_", "a", False),
        ("%%", "x", True),
        ("%ab%ab%", "abab", True),
        ("%ab%ab%", "aba", False),
        ("%a_b%", "xaabyab", True),
        ("%a_b%a_b", "aabaab", True),
        ("%a_b%a_b", "aabab", False),
        ("a_%_a", "aaa", False),
        ("a_%_a", "aaaa", True),
        ("a.c", "abc", False),
        ("a[b]%", "a[b]c", True),
        ("A%", "abc", False),
        ("_", "\U0001f600", True),
        ("%é", "café", True),
    ],
)
def test_like(pattern: str, text: str, expected: bool) -> None:
    assert selects(f"a LIKE '{pattern}'", a=text) is expected
    assert selects(f"a NOT LIKE '{pattern}'", a=text) is not expected


def test_like_with_escape() -> None:
    assert selects(r"a LIKE '\_%' ESCAPE '\'", a="_foo")
    assert not selects(r"a LIKE '\_%' ESCAPE '\'", a="bar")
    assert selects("a LIKE '100!%' ESCAPE '!'", a="100%")
    assert not selects("a LIKE '100!%' ESCAPE '!'", a="1000")
    assert selects("a LIKE '!!x' ESCAPE '!'", a="!x")
    assert selects("a LIKE '%%' ESCAPE '%'", a="%")
    assert selects("a LIKE 'it''s%' ESCAPE ''''", a="itxs") is False


def test_like_takes_no_worse_than_linear_time() -> None:
    pattern = "%" + "a_" * 2000 + "b"
    assert not selects(f"a LIKE '{pattern}'", a="a" * 20_000)
    assert selects(f"a LIKE '{pattern}'", a="a" * 20_000 + "b")
    assert not selects("a LIKE '" + "%a_" * 15 + "b'", a="a" * 10_000)
    with pytest.raises(MQError, match="the limit is 4096"):
        compile_selector("a LIKE '" + "%a_" * 20 + "b'")


def test_like_searches_no_longer_text_than_it_may() -> None:
    assert selects("a LIKE '%x%'", a="x" * 16_384)
    assert not selects("a LIKE '%x%'", a="x" * 16_385)
    assert not selects("a NOT LIKE '%x%'", a="x" * 16_385)  # UNKNOWN, either way
    assert selects("a LIKE 'x%x'", a="x" * 100_000)


def test_a_blank_selector_selects_everything() -> None:
    assert selects("")
    assert selects("   ")


@pytest.mark.parametrize(
    ("text", "column", "word"),
    [
        ("a =", 4, "the end"),
        ("= 1", 1, "="),
        ("a = 1 b", 7, "b"),
        ("a = 'x", 5, "'x"),
        ('a = "x"', 5, '"x"'),
        ('a = "0xABC"', 5, '"0xABC"'),
        ('a = "0x"', 5, '"0x"'),
        ("a = 09", 5, "09"),
        ("a = 0x", 5, "0x"),
        ("a = 5abc", 5, "5abc"),
        ("a = 2F", 5, "2F"),
        ("a = 1.5.6", 5, "1.5.6"),
        ("a = 1e", 5, "1e"),
        ("a = 1e999", 5, "1e999"),
        ("a = 9223372036854775808", 5, "9223372036854775808"),
        ("a = 99999999999999999999999", 5, "99999999999999999999999"),
        ("a # 1", 3, "#"),
        ("a == 1", 4, "="),
        ("(a = 1", 7, "the end"),
        ("a = 1)", 6, ")"),
        ("a AND", 6, "the end"),
        ("AND a", 1, "AND"),
        ("a NOT = 1", 7, "="),
        ("a NOT 1", 7, "1"),
        ("a BETWEEN 1", 12, "the end"),
        ("a BETWEEN 1 OR 2", 13, "OR"),
        ("a BETWEEN 'x' AND 'y'", 11, "'x'"),
        ("'x' BETWEEN 1 AND 2", 1, "'x'"),
        ("a IN ()", 7, ")"),
        ("a IN (1)", 7, "1"),
        ("a IN ('x',)", 11, ")"),
        ("a IN 'x'", 6, "'x'"),
        ("a LIKE b", 8, "b"),
        ("a LIKE 'x' ESCAPE 'yy'", 19, "'yy'"),
        ("a LIKE 'x' ESCAPE ''", 19, "''"),
        ("a LIKE 'x!' ESCAPE '!'", 8, "'x!'"),
        ("1 LIKE 'x'", 1, "1"),
        ("a IS 1", 6, "1"),
        ("a + 1 IS NULL", 1, "a"),
        ("NULL = a", 1, "NULL"),
        ("a = NULL", 5, "NULL"),
        ("5", 1, "5"),
        ("'x'", 1, "'x'"),
        ("a + 1", 1, "a"),
        ("TRUE AND 5", 10, "5"),
        ("NOT 'x'", 5, "'x'"),
        ("a < 'x'", 5, "'x'"),
        ("a > TRUE", 5, "TRUE"),
        ("'x' + 1 = 2", 1, "'x'"),
        ("1 + TRUE = 2", 5, "TRUE"),
        ("-'x' = 1", 2, "'x'"),
        ("Body.x = 1", 1, "Body.x"),
        ("Root.MQMD.Nothing = 1", 1, "Root.MQMD.Nothing"),
        ("Root.XML.x = 1", 1, "Root.XML.x"),
        ("JMS_IBM_Format = 'x'", 1, "JMS_IBM_Format"),
        ("usr.JMSType = 'x'", 1, "usr.JMSType"),
        ("a..b = 1", 1, "a..b"),
        ("a. = 1", 1, "a."),
        ("usr.And = 1", 1, "usr.And"),
        ("mqx.a.b = 1", 1, "mqx.a.b"),
    ],
)
def test_errors_point_at_the_column_and_the_word(text: str, column: int, word: str) -> None:
    with pytest.raises(MQError) as caught:
        compile_selector(text)
    assert caught.value.reason == mq.MQRC_SELECTOR_SYNTAX_ERROR
    detail = caught.value.detail
    assert detail.startswith(f"Column {column}, at "), detail
    assert (word == "the end" and "at the end:" in detail) or f"at {word!r}:" in detail


def test_hostile_depth_is_refused_and_long_chains_are_not() -> None:
    deep = "(" * 65 + "a" + ")" * 65
    with pytest.raises(MQError) as caught:
        compile_selector(deep)
    assert caught.value.reason == mq.MQRC_SELECTOR_SYNTAX_ERROR
    assert caught.value.detail.startswith("Column 65,")
    assert selects("(" * 64 + "a" + ")" * 64, a=True)
    assert selects("NOT " * 2000 + "a", a=True)
    assert selects("x = " + "-" * 4000 + "1", x=1)
    assert selects("x = " + "+".join(["1"] * 2000), x=2000)
    assert selects(" OR ".join(["b"] * 1300) + " OR a", a=True)
    assert selects(" AND ".join(["a"] * 1300), a=True)


def test_what_one_evaluation_may_cost_is_limited() -> None:
    many = " OR ".join(f"k = {n}" for n in range(800))
    assert selects(many, k=799)
    for text, limit in (
        (" OR ".join(["k+k>9"] * 680), "the limit is 4096"),  # within the words, beyond the cost
        ("k = " + "+".join(["1"] * 4000), "more than 4096 names, values and operators"),
        (" OR ".join(["k LIKE '%a_b%'"] * 20), "the limit is 4096"),
    ):
        with pytest.raises(MQError, match=limit) as caught:
            compile_selector(text)
        assert caught.value.reason == mq.MQRC_SELECTOR_SYNTAX_ERROR


def test_what_was_defined_before_there_were_limits_goes_on() -> None:
    text = " OR ".join(["k+k>9"] * 680)
    stored = compile_stored(text)
    assert stored.matches(Given({"k": 5}))
    with pytest.raises(MQError, match="the limit is 4096"):
        compile_selector(text)
    with pytest.raises(MQError, match="Column 3"):
        compile_stored("a #")


def test_literals_are_worked_out_once() -> None:
    for text, truth in (
        ("+".join(["1"] * 1000) + " = 1000", True),
        ("1 > 2 OR 3 BETWEEN 1 AND 5", True),
        ("NOT (1 = 1) AND " + " AND ".join(["k > 1"] * 100), False),
        ("k = 1 OR TRUE", True),
        ("1 / 0 = 1", False),
        ("NOT (1 / 0 = 1)", False),
    ):
        selector = compile_selector(text)
        assert selector.cost < 20, text
        assert selects(text, k=5) is truth


def test_who_gives_the_same_text_gets_the_same_selector() -> None:
    first = compile_selector("shared = 'one' AND x > 1")
    compiled = cache.compiled
    assert compile_selector("shared = " + "'one' AND x > 1") is first
    assert cache.compiled == compiled
    # Unused selectors are dropped: the cache is bounded in bytes.
    for number in range(10_000):
        compile_selector(f"filler = '{number}' AND {'x' * 400} = 1")
    assert compile_selector("shared = " + "'one' AND x > 1") is not first


def test_the_equality_that_must_hold_is_known() -> None:
    for text, name, value in (
        ("colour = 'red'", "colour", "red"),
        ("7 = size", "size", 7),
        ("x > 1 AND colour = 'red' AND y < 2", "colour", "red"),
        ("colour = 'red' OR x = 1", "", None),
        ("NOT colour = 'red'", "", None),
        ("colour <> 'red'", "", None),
        ("colour = size", "", None),
        ("JMSDeliveryMode = 'PERSISTENT'", "", None),
    ):
        selector = compile_selector(text)
        assert (selector.equal_name, selector.equal_value) == (name, value), text


def test_the_length_is_limited() -> None:
    fits = "a = '" + "x" * (mq.MQ_SELECTOR_LENGTH - 6) + "'"
    assert len(fits) == mq.MQ_SELECTOR_LENGTH
    assert not selects(fits, a="x")
    for text in (fits + " ", "a = '" + "é" * (mq.MQ_SELECTOR_LENGTH // 2) + "'"):
        with pytest.raises(MQError) as caught:
            compile_selector(text)
        assert caught.value.reason == mq.MQRC_SELECTION_STRING_ERROR


def test_what_a_selector_needs() -> None:
    both = compile_selector("usr.colour = 'red' AND Root.MQMD.Priority > 3 AND colour <> 'x'")
    assert both.names == ["colour", "Root.MQMD.Priority"]
    assert not both.descriptor_only
    assert compile_selector("JMSPriority > 3 AND Root.MQMD.Format = 'MQSTR'").descriptor_only
    assert not compile_selector("JMSCorrelationID IS NULL").descriptor_only
    assert compile_selector("TRUE").descriptor_only


def descriptor(**fields: Value) -> bytes:
    md = DEFAULT_DESCRIPTOR
    for name, value in fields.items():
        md = with_field(md, FIELDS[name], FIELDS[name].type, value)
    return md


MESSAGE_ID = bytes(range(24))
MD = descriptor(
    Priority=4,
    Persistence=1,
    Format="MQSTR",
    MsgId=MESSAGE_ID,
    CorrelId=b"\xab" * 24,
    ReplyToQ="REPLIES",
    ReplyToQMgr="QM1",
    UserIdentifier="fred",
    PutApplName="amqsput",
    PutDate="20240229",
    PutTime="12345678",
    BackoutCount=2,
    Expiry=600,
    GroupId=b"\x01" * 24,
    MsgSeqNumber=3,
    MsgFlags=mq.MQMF_MSG_IN_GROUP,
)
PUT_MS = 1_709_210_096_780


@pytest.mark.parametrize(
    "text",
    [
        "Root.MQMD.Priority = 4",
        "Root.MQMD.Format = 'MQSTR'",
        f'Root.MQMD.MsgId = "0x{MESSAGE_ID.hex()}"',
        "Root.MQMD.ReplyToQ LIKE 'REPL%'",
        "Root.MQMD.ApplOriginData = ''",
        "JMSPriority = 4",
        f"JMSMessageID = 'ID:{MESSAGE_ID.hex()}'",
        f"JMSCorrelationID = 'ID:{'ab' * 24}'",
        "JMSDeliveryMode = 'PERSISTENT'",
        "JMSDeliveryMode <> 'NON_PERSISTENT'",
        "JMSDeliveryMode = 2",
        "2 = JMSDeliveryMode",
        "JMSDeliveryMode IN ('PERSISTENT')",
        "JMSDeliveryMode IS NOT NULL",
        f"JMSTimestamp = {PUT_MS}",
        f"JMSExpiration = {PUT_MS + 60_000}",
        "JMSReplyTo = 'queue://QM1/REPLIES'",
        "JMSType IS NULL",
        "JMSDestination IS NULL",
        "JMSRedelivered",
        "JMSXDeliveryCount = 3",
        "JMSXUserID = 'fred'",
        "JMSXAppID = 'amqsput'",
        f"JMSXGroupID = 'ID:{'01' * 24}'",
        "JMSXGroupSeq = 3",
    ],
)
def test_descriptor_fields_and_jms_names(text: str) -> None:
    assert compile_selector(text).matches(MessageProperties(MD))


def test_jms_names_prefer_the_folders() -> None:
    properties = PropertySet()
    properties.set("jms.Cid", mq.MQTYPE_STRING, "my correlation")
    properties.set("jms.Dst", mq.MQTYPE_STRING, "queue:///Q1")
    properties.set("jms.Tms", mq.MQTYPE_INT64, 5)
    properties.set("jms.Dlv", mq.MQTYPE_INT32, 1)
    properties.set("jms.Exp", mq.MQTYPE_INT64, 6)
    properties.set("jms.Rto", mq.MQTYPE_STRING, "queue:///Q2")
    properties.set("jms.Gid", mq.MQTYPE_STRING, "g")
    properties.set("jms.Seq", mq.MQTYPE_INT32, 9)
    properties.set("mcd.Type", mq.MQTYPE_STRING, "order")
    source = MessageProperties(MD, properties=properties)
    for text in (
        "JMSCorrelationID = 'my correlation'",
        "JMSDestination = 'queue:///Q1'",
        "JMSTimestamp = 5",
        "JMSDeliveryMode = 'NON_PERSISTENT'",
        "JMSExpiration = 6",
        "JMSReplyTo = 'queue:///Q2'",
        "JMSXGroupID = 'g'",
        "JMSXGroupSeq = 9",
        "JMSType = 'order'",
    ):
        assert compile_selector(text).matches(source), text
    properties.set("mcd.Msd", mq.MQTYPE_STRING, "mrm")
    properties.set("mcd.Set", mq.MQTYPE_STRING, "orders")
    properties.set("mcd.Fmt", mq.MQTYPE_STRING, "XML")
    assert compile_selector("JMSType = 'mcd://mrm/orders/order?format=XML'").matches(source)


def test_a_message_without_identifiers_or_time_has_nulls() -> None:
    source = MessageProperties(DEFAULT_DESCRIPTOR)
    for name in ("JMSMessageID", "JMSCorrelationID", "JMSTimestamp", "JMSReplyTo", "JMSXGroupID", "JMSXGroupSeq"):
        assert compile_selector(f"{name} IS NULL").matches(source), name
    assert compile_selector("JMSExpiration = 0 AND NOT JMSRedelivered").matches(source)
    topic = PropertySet()
    topic.set("mqps.Top", mq.MQTYPE_STRING, "a/b")
    assert compile_selector("JMSDestination = 'topic://a/b'").matches(topic)
