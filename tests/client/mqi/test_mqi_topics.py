"""MQSUB, MQSUBRQ and publishing with the raw verbs, over every binding."""

from __future__ import annotations

import ctypes
import itertools
import struct
import threading
from collections.abc import Iterator
from typing import Any

import pytest
from tests.client.mqi.topic_structures import MANAGED, OK, Publisher, cut_string, field, made, resolved

from ostler import mqi
from ostler.model import constants as mqc
from ostler.model.attributes import ObjectType

_numbers = itertools.count(1)
DURABLE = MANAGED | mqc.MQSO_DURABLE


@pytest.fixture
def publisher(app: Any) -> Publisher:
    return Publisher(app.hconn)


@pytest.fixture
def other(app: Any) -> Iterator[Publisher]:
    """Another connection over the same binding."""
    found = Publisher(app.connect())
    yield found
    found.leave()


@pytest.fixture
def topic() -> str:
    return f"prices/{next(_numbers)}"


# -- the way of a publication ------------------------------------------------------------------------------------------


def test_publication_comes_to_managed_subscription(publisher: Publisher, topic: str) -> None:
    hobj, hsub = publisher.subscribe(topic)
    target = publisher.open(topic)
    assert publisher.put(target, b"first") == mqc.MQRC_NONE
    assert publisher.put1(topic, b"second") == mqc.MQRC_NONE
    assert publisher.all(hobj) == [b"first", b"second"]
    assert publisher.close(hsub) == publisher.close(hobj) == mqc.MQRC_NONE
    assert publisher.put(target, b"third", mqc.MQPMO_WARN_IF_NO_SUBS_MATCHED) == mqc.MQRC_NO_SUBS_MATCHED


def test_publication_comes_to_every_subscriber_once(publisher: Publisher, other: Publisher, topic: str) -> None:
    first, _ = publisher.subscribe(f"{topic}/#")
    second, _ = other.subscribe(f"{topic}/+")
    publisher.put1(f"{topic}/fruit", b"plums")
    assert publisher.all(first) == other.all(second) == [b"plums"]


def test_publication_comes_to_provided_queue(app: Any, publisher: Publisher, topic: str) -> None:
    queue = app.queue()
    hobj = app.open(queue, mqc.MQOO_INPUT_AS_Q_DEF | mqc.MQOO_OUTPUT)
    returned, _ = publisher.subscribe(topic, mqc.MQSO_CREATE, hobj)
    publisher.put1(topic, b"here")
    assert returned == hobj
    assert publisher.all(hobj) == [b"here"]


def test_topic_of_object_and_string(app: Any, publisher: Publisher, topic: str) -> None:
    name = app.define(ObjectType.TOPIC, TOPICSTR=topic)
    od = made("MQOD", ObjectType=mqc.MQOT_TOPIC, ObjectName=name, ObjectString="fruit", ResObjectString=100)
    hobj, cc, rc = mqi.MQOPEN(publisher.hconn, od, mqc.MQOO_OUTPUT)
    assert (cc, rc) == OK
    whole = f"{topic}/fruit".encode()
    assert resolved("MQOD", od) == (whole, len(whole))
    assert field("MQOD", od, "ResolvedType") == mqc.MQOT_TOPIC
    assert field("MQOD", od, "ResolvedQName") == b""
    destination, _ = publisher.subscribe("fruit", ObjectName=name)
    publisher.put(hobj, b"pears")
    assert publisher.all(destination) == [b"pears"]


def test_resolved_string_keeps_its_end(publisher: Publisher, topic: str) -> None:
    od = made("MQOD", ObjectType=mqc.MQOT_TOPIC, ObjectString=f"{topic}/café", ResObjectString=4)
    _, cc, rc = mqi.MQOPEN(publisher.hconn, od, mqc.MQOO_OUTPUT)
    assert (cc, rc) == OK
    assert resolved("MQOD", od)[0] == "afé".encode()
    assert resolved("MQOD", od)[1] == len(f"{topic}/café".encode())


def test_alias_queue_publishes(app: Any, publisher: Publisher, topic: str) -> None:
    name = app.define(ObjectType.TOPIC, TOPICSTR=topic)
    alias = app.define(ObjectType.QALIAS, TARGET=name, TARGTYPE=mqc.MQOT_TOPIC)
    hobj, _ = publisher.subscribe(topic)
    od = made("MQOD", ObjectName=alias, ResObjectString=100)
    target, cc, rc = mqi.MQOPEN(publisher.hconn, od, mqc.MQOO_OUTPUT)
    assert (cc, rc) == OK
    assert resolved("MQOD", od)[0] == topic.encode()
    assert publisher.put(target, b"through the alias") == mqc.MQRC_NONE
    app.put(alias, b"at once")
    assert publisher.all(hobj) == [b"through the alias", b"at once"]


def test_put_options_come_back_whole(publisher: Publisher, topic: str) -> None:
    target = publisher.open(topic)
    pmo = made("MQPMO", Options=mqc.MQPMO_NO_SYNCPOINT)
    before = bytes(pmo)
    md = made("MQMD")
    assert mqi.MQPUT(publisher.hconn, target, md, pmo, b"data") == OK
    assert bytes(pmo) == before
    assert field("MQMD", md, "Persistence") == 0


def test_properties_name_the_topic(app: Any, publisher: Publisher, topic: str) -> None:
    hobj, _ = publisher.subscribe(topic, SubUserData="for me")
    publisher.put1(topic, b"data", mqc.MQPMO_RETAIN)
    gmo = made("MQGMO", Options=mqc.MQGMO_NO_SYNCPOINT | mqc.MQGMO_PROPERTIES_IN_HANDLE)
    hmsg, cc, rc = mqi.MQCRTMH(publisher.hconn, made("MQCMHO"))
    assert (cc, rc) == OK
    gmo[104:112] = hmsg.to_bytes(8, "little")
    data, _, cc, rc = mqi.MQGET(publisher.hconn, hobj, made("MQMD"), gmo, 1000)
    assert (data, cc, rc) == (b"data", *OK)
    assert inquired(publisher, hmsg, "mqps.Top") == topic
    assert inquired(publisher, hmsg, "mqps.Sud") == "for me"


def inquired(publisher: Publisher, hmsg: int, name: str) -> str:
    found = mqi.MQINQMP(publisher.hconn, hmsg, made("MQIMPO"), name, made("MQPD"), mqc.MQTYPE_STRING, 1000)
    assert found[3:] == OK
    return found[1].decode()


def test_publishing_in_unit_of_work(publisher: Publisher, topic: str) -> None:
    hobj, _ = publisher.subscribe(topic)
    target = publisher.open(topic)
    publisher.put(target, b"backed out", mqc.MQPMO_SYNCPOINT)
    mqi.MQBACK(publisher.hconn)
    publisher.put(target, b"committed", mqc.MQPMO_SYNCPOINT)
    assert publisher.all(hobj) == []
    assert mqi.MQCMIT(publisher.hconn) == OK
    assert publisher.all(hobj) == [b"committed"]


# -- options of a publication ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("is_open", [True, False])
def test_publication_level_stops_above(publisher: Publisher, topic: str, is_open: bool) -> None:
    high, _ = publisher.subscribe(topic, SubLevel=5)
    low, _ = publisher.subscribe(topic, SubLevel=2)

    def publish(data: bytes, **pmo: int) -> int:
        return publisher.put(target, data, **pmo) if is_open else publisher.put1(topic, data, **pmo)

    target = publisher.open(topic)
    assert publish(b"highest") == mqc.MQRC_NONE
    assert publish(b"below", PubLevel=4) == mqc.MQRC_NONE
    assert publish(b"highest again") == mqc.MQRC_NONE
    assert publish(b"too low", PubLevel=1) == mqc.MQRC_NONE
    assert publish(b"wrong", PubLevel=10) == mqc.MQRC_PMO_ERROR
    assert publish(b"wrong", PubLevel=-1) == mqc.MQRC_PMO_ERROR
    assert publisher.all(high) == [b"highest", b"highest again"]
    assert publisher.all(low) == [b"below"]


def test_level_of_a_queue_does_not_matter(app: Any, publisher: Publisher) -> None:
    hobj = app.open(app.queue(), mqc.MQOO_INPUT_AS_Q_DEF | mqc.MQOO_OUTPUT)
    assert publisher.put(hobj, b"data", PubLevel=3) == mqc.MQRC_NONE
    assert publisher.all(hobj) == [b"data"]


def test_long_publication_with_a_level(publisher: Publisher, topic: str) -> None:
    hobj, _ = publisher.subscribe(topic, SubLevel=3)
    body = bytes(range(250)) * 4000
    assert publisher.put(publisher.open(topic), body, PubLevel=3) == mqc.MQRC_NONE
    gmo = made("MQGMO", Options=mqc.MQGMO_NO_SYNCPOINT | mqc.MQGMO_NO_PROPERTIES)
    data, _, cc, rc = mqi.MQGET(publisher.hconn, hobj, made("MQMD"), gmo, len(body))
    assert (cc, rc) == OK
    assert data == body


def test_not_own_subscriptions(publisher: Publisher, other: Publisher, topic: str) -> None:
    own, _ = publisher.subscribe(topic)
    theirs, _ = other.subscribe(topic)
    publisher.put1(topic, b"for others", mqc.MQPMO_NOT_OWN_SUBS)
    assert publisher.all(own) == []
    assert other.all(theirs) == [b"for others"]


def test_suppressed_reply_address(publisher: Publisher, topic: str) -> None:
    hobj, _ = publisher.subscribe(topic)
    target = publisher.open(topic)
    for options in (0, mqc.MQPMO_SUPPRESS_REPLYTO):
        md = made("MQMD", ReplyToQ="ANSWERS")
        pmo = made("MQPMO", Options=mqc.MQPMO_NO_SYNCPOINT | options)
        assert mqi.MQPUT(publisher.hconn, target, md, pmo, b"data") == OK
    found = []
    for _ in range(2):
        md = made("MQMD")
        gmo = made("MQGMO", Options=mqc.MQGMO_NO_SYNCPOINT)
        mqi.MQGET(publisher.hconn, hobj, md, gmo, 1000)
        found.append(field("MQMD", md, "ReplyToQ"))
    assert found == [b"ANSWERS", b""]


def test_retained_publication_meets_new_subscribers(publisher: Publisher, topic: str) -> None:
    publisher.put1(topic, b"old", mqc.MQPMO_RETAIN)
    publisher.put1(topic, b"kept", mqc.MQPMO_RETAIN)
    publisher.put1(topic, b"passing")
    first, _ = publisher.subscribe(topic)
    second, _ = publisher.subscribe(topic, MANAGED | mqc.MQSO_NEW_PUBLICATIONS_ONLY)
    assert publisher.all(first) == [b"kept"]
    assert publisher.all(second) == []


def test_publications_on_request(publisher: Publisher, topic: str) -> None:
    publisher.put1(f"{topic}/a", b"a", mqc.MQPMO_RETAIN)
    publisher.put1(f"{topic}/b", b"b", mqc.MQPMO_RETAIN)
    hobj, hsub = publisher.subscribe(f"{topic}/+", MANAGED | mqc.MQSO_PUBLICATIONS_ON_REQUEST)
    publisher.put1(f"{topic}/c", b"c")
    assert publisher.all(hobj) == []
    assert publisher.request(hsub) == (2, mqc.MQRC_NONE)
    assert sorted(publisher.all(hobj)) == [b"a", b"b"]


def test_asynchronous_publications_are_counted(app: Any, publisher: Publisher, topic: str) -> None:
    target = publisher.open(topic)
    options = mqc.MQPMO_ASYNC_RESPONSE | mqc.MQPMO_WARN_IF_NO_SUBS_MATCHED
    publisher.put(target, b"nobody", options)
    publisher.put(target, b"nobody", options, PubLevel=2)
    publisher.subscribe(topic)
    publisher.put(target, b"somebody", options)
    sts = made("MQSTS", ObjectString=b"\0" * 100)
    at = 224
    sts[at + 12 : at + 20] = (100).to_bytes(4, "little") + bytes(4)
    assert mqi.MQSTAT(publisher.hconn, mqc.MQSTAT_TYPE_ASYNC_ERROR, sts) == OK
    assert [field("MQSTS", sts, f"Put{what}Count") for what in ("Success", "Warning", "Failure")] == [1, 2, 0]
    assert field("MQSTS", sts, "Reason") == mqc.MQRC_NO_SUBS_MATCHED
    assert field("MQSTS", sts, "ObjectType") == mqc.MQOT_TOPIC
    assert bytes(sts[280 : 280 + len(topic)]) == topic.encode()


def test_refused_asynchronous_publication(app: Any, publisher: Publisher, topic: str) -> None:
    name = app.define(ObjectType.TOPIC, TOPICSTR=topic, PUB=mqc.MQTA_PUB_INHIBITED)
    target = publisher.open(topic)
    refused = publisher.put(target, b"data", mqc.MQPMO_ASYNC_RESPONSE)
    sts = made("MQSTS", 1)
    assert mqi.MQSTAT(publisher.hconn, mqc.MQSTAT_TYPE_ASYNC_ERROR, sts) == OK
    if app.way == "embedded":
        assert refused == mqc.MQRC_PUT_INHIBITED
    else:
        assert refused == mqc.MQRC_NONE
        assert field("MQSTS", sts, "PutFailureCount") == 1
        assert field("MQSTS", sts, "Reason") == mqc.MQRC_PUT_INHIBITED
        assert field("MQSTS", sts, "ObjectType") == mqc.MQOT_TOPIC
    assert name


# -- options of a subscription -----------------------------------------------------------------------------------------


def test_descriptor_comes_back_filled_in(publisher: Publisher, topic: str) -> None:
    sd = made("MQSD", Options=MANAGED, ObjectString=topic, ResObjectString=100)
    hobj, hsub, cc, rc = mqi.MQSUB(publisher.hconn, sd, mqc.MQHO_NONE)
    assert (cc, rc) == OK
    assert hobj != hsub
    assert resolved("MQSD", sd) == (topic.encode(), len(topic))
    assert field("MQSD", sd, "SubCorrelId") != b""
    publisher.put1(topic, b"data")
    md = made("MQMD")
    mqi.MQGET(publisher.hconn, hobj, md, made("MQGMO", Options=mqc.MQGMO_NO_SYNCPOINT), 1000)
    assert field("MQMD", md, "CorrelId") == field("MQSD", sd, "SubCorrelId")


def test_correlation_id_and_identity_of_copies(publisher: Publisher, topic: str) -> None:
    options = MANAGED | mqc.MQSO_SET_CORREL_ID | mqc.MQSO_SET_IDENTITY_CONTEXT
    hobj, _ = publisher.subscribe(
        topic, options, SubCorrelId=b"C" * 24, PubAccountingToken=b"T" * 32, PubApplIdentityData="mine", PubPriority=7
    )
    publisher.put1(topic, b"data")
    md = made("MQMD")
    mqi.MQGET(publisher.hconn, hobj, md, made("MQGMO", Options=mqc.MQGMO_NO_SYNCPOINT), 1000)
    assert field("MQMD", md, "CorrelId") == b"C" * 24
    assert field("MQMD", md, "AccountingToken") == b"T" * 32
    assert field("MQMD", md, "ApplIdentityData") == b"mine"
    assert field("MQMD", md, "Priority") == 7


def test_selector_and_character_wildcards(publisher: Publisher, topic: str) -> None:
    urgent, _ = publisher.subscribe(topic, SelectionString="Root.MQMD.Priority > 5")
    wild, _ = publisher.subscribe(f"{topic[:-1]}?/*", MANAGED | mqc.MQSO_WILDCARD_CHAR)
    for priority in (1, 9):
        od = made("MQOD", ObjectType=mqc.MQOT_TOPIC, ObjectString=topic)
        md = made("MQMD", Priority=priority)
        pmo = made("MQPMO", Options=mqc.MQPMO_NO_SYNCPOINT)
        assert mqi.MQPUT1(publisher.hconn, od, md, pmo, b"%d" % priority) == OK
    publisher.put1(f"{topic}/fruit/green", b"apples")
    assert publisher.all(urgent) == [b"9"]
    assert publisher.all(wild) == [b"apples"]


def test_group_gets_one_copy(app: Any, publisher: Publisher, topic: str) -> None:
    hobj = app.open(app.queue(), mqc.MQOO_INPUT_AS_Q_DEF | mqc.MQOO_OUTPUT)
    options = mqc.MQSO_CREATE | mqc.MQSO_GROUP_SUB | mqc.MQSO_SET_CORREL_ID
    publisher.subscribe(topic, options, hobj, SubCorrelId=b"G" * 24)
    publisher.subscribe(f"{topic}/#", options, hobj, SubCorrelId=b"G" * 24)
    publisher.put1(topic, b"once")
    assert publisher.all(hobj) == [b"once"]


def test_durable_subscription_outlives_its_connection(publisher: Publisher, other: Publisher, topic: str) -> None:
    name = f"DURABLE {topic}"
    _, hsub = other.subscribe(topic, DURABLE, SubName=name, SubUserData="mine")
    assert publisher.refused(topic, DURABLE | mqc.MQSO_RESUME, SubName=name) == mqc.MQRC_SUBSCRIPTION_IN_USE
    assert other.close(hsub, mqc.MQCO_KEEP_SUB) == mqc.MQRC_NONE
    publisher.put1(topic, b"meanwhile")
    sd = made(
        "MQSD", Options=mqc.MQSO_RESUME | mqc.MQSO_MANAGED, SubName=name, SubUserData=b" " * 40, ResObjectString=50
    )
    at = 168
    sd[at + 12 : at + 20] = (40).to_bytes(4, "little") + bytes(4)
    hobj, hsub, cc, rc = mqi.MQSUB(publisher.hconn, sd, mqc.MQHO_NONE)
    assert (cc, rc) == OK
    assert resolved("MQSD", sd)[0] == topic.encode()
    assert int.from_bytes(sd[at + 16 : at + 20], "little") == len("mine")
    assert publisher.all(hobj) == [b"meanwhile"]
    assert publisher.close(hsub, mqc.MQCO_REMOVE_SUB) == mqc.MQRC_NONE
    assert publisher.refused("", mqc.MQSO_RESUME | mqc.MQSO_MANAGED, SubName=name) == mqc.MQRC_NO_SUBSCRIPTION


def test_subscription_is_altered(publisher: Publisher, topic: str) -> None:
    name = f"ALTERED {topic}"
    _, hsub = publisher.subscribe(topic, DURABLE, SubName=name)
    publisher.close(hsub, mqc.MQCO_KEEP_SUB)
    options = mqc.MQSO_ALTER | mqc.MQSO_MANAGED | mqc.MQSO_DURABLE
    assert publisher.refused(topic, options, SubName=name, SubLevel=3) == mqc.MQRC_SUBLEVEL_NOT_ALTERABLE
    hobj, hsub = publisher.subscribe(topic, options, SubName=name, PubPriority=8)
    publisher.put1(topic, b"data")
    md = made("MQMD")
    mqi.MQGET(publisher.hconn, hobj, md, made("MQGMO", Options=mqc.MQGMO_NO_SYNCPOINT), 1000)
    assert field("MQMD", md, "Priority") == 8
    publisher.close(hsub, mqc.MQCO_REMOVE_SUB)


def test_options_tell_what_a_resumed_subscription_is(publisher: Publisher, topic: str) -> None:
    """They can be passed with MQSO_ALTER as they come back."""
    name = f"KINDS {topic}"
    sd = made("MQSD", Options=DURABLE | mqc.MQSO_RESUME | mqc.MQSO_ANY_USERID, ObjectString=topic, SubName=name)
    hsub = mqi.MQSUB(publisher.hconn, sd, mqc.MQHO_NONE)[1]
    assert field("MQSD", sd, "Options") == DURABLE | mqc.MQSO_RESUME | mqc.MQSO_ANY_USERID
    publisher.close(hsub, mqc.MQCO_KEEP_SUB)
    sd = made("MQSD", Options=mqc.MQSO_RESUME | mqc.MQSO_FAIL_IF_QUIESCING, ObjectString=topic, SubName=name)
    hsub = mqi.MQSUB(publisher.hconn, sd, mqc.MQHO_NONE)[1]
    options = field("MQSD", sd, "Options")
    assert options == (
        mqc.MQSO_FAIL_IF_QUIESCING | mqc.MQSO_DURABLE | mqc.MQSO_MANAGED | mqc.MQSO_ANY_USERID | mqc.MQSO_WILDCARD_TOPIC
    )
    publisher.close(hsub, mqc.MQCO_KEEP_SUB)
    _, hsub = publisher.subscribe(topic, options | mqc.MQSO_ALTER | mqc.MQSO_RESUME, SubName=name, PubPriority=8)
    publisher.close(hsub, mqc.MQCO_REMOVE_SUB)


def test_non_durable_subscription_ends_with_its_connection(app: Any, publisher: Publisher, topic: str) -> None:
    leaver = Publisher(app.connect())
    leaver.subscribe(topic, SubName=f"PASSING {topic}")
    leaver.leave()
    assert publisher.put1(topic, b"data", mqc.MQPMO_WARN_IF_NO_SUBS_MATCHED) == mqc.MQRC_NO_SUBS_MATCHED
    publisher.subscribe(topic, SubName=f"PASSING {topic}")


# -- what is refused ---------------------------------------------------------------------------------------------------


def test_options_of_close(app: Any, publisher: Publisher, topic: str) -> None:
    hobj, hsub = publisher.subscribe(topic)
    both = mqc.MQCO_KEEP_SUB | mqc.MQCO_REMOVE_SUB
    assert publisher.close(hsub, both) == mqc.MQRC_OPTIONS_ERROR
    assert publisher.close(hsub, mqc.MQCO_KEEP_SUB) == mqc.MQRC_OPTION_NOT_VALID_FOR_TYPE
    assert publisher.close(hsub, mqc.MQCO_DELETE) == mqc.MQRC_OPTION_NOT_VALID_FOR_TYPE
    assert publisher.close(hobj, mqc.MQCO_REMOVE_SUB) == mqc.MQRC_OPTION_NOT_VALID_FOR_TYPE
    target = publisher.open(topic)
    assert publisher.close(target, mqc.MQCO_KEEP_SUB) == mqc.MQRC_OPTION_NOT_VALID_FOR_TYPE
    assert publisher.close(hsub, mqc.MQCO_REMOVE_SUB) == mqc.MQRC_NONE
    assert publisher.close(hsub) == mqc.MQRC_HOBJ_ERROR


@pytest.mark.parametrize(
    ("reason", "options", "more"),
    [
        (mqc.MQRC_OPTIONS_ERROR, mqc.MQSO_MANAGED, {}),
        (mqc.MQRC_OPTIONS_ERROR, MANAGED | 0x40000000, {}),
        (mqc.MQRC_OPTIONS_ERROR, MANAGED | mqc.MQSO_ANY_USERID | mqc.MQSO_FIXED_USERID, {}),
        (mqc.MQRC_OPTIONS_ERROR, MANAGED | mqc.MQSO_GROUP_SUB, {}),
        (mqc.MQRC_SUB_NAME_ERROR, DURABLE, {}),
        (mqc.MQRC_NO_SUBSCRIPTION, mqc.MQSO_RESUME | mqc.MQSO_MANAGED, {"SubName": "NONE"}),
        (mqc.MQRC_HOBJ_ERROR, mqc.MQSO_CREATE, {}),
        (mqc.MQRC_EXPIRY_ERROR, MANAGED, {"SubExpiry": 0}),
        (mqc.MQRC_PRIORITY_ERROR, MANAGED, {"PubPriority": 10}),
        (mqc.MQRC_SELECTOR_SYNTAX_ERROR, MANAGED, {"SelectionString": "colour = "}),
        (mqc.MQRC_UNKNOWN_OBJECT_NAME, MANAGED, {"ObjectName": "NO.SUCH.TOPIC"}),
        (mqc.MQRC_UNKNOWN_OBJECT_NAME, MANAGED, {"ObjectName": "NO SUCH"}),
    ],
)
def test_subscriptions_that_cannot_be(
    publisher: Publisher, topic: str, reason: int, options: int, more: dict[str, Any]
) -> None:
    assert publisher.refused(topic, options, **more) == reason


def test_malformed_topics(publisher: Publisher) -> None:
    assert publisher.refused("") == mqc.MQRC_UNKNOWN_OBJECT_NAME
    assert publisher.refused("a/%b", MANAGED | mqc.MQSO_WILDCARD_CHAR) == mqc.MQRC_TOPIC_STRING_ERROR
    od = made("MQOD", ObjectType=mqc.MQOT_TOPIC)
    assert mqi.MQOPEN(publisher.hconn, od, mqc.MQOO_OUTPUT)[2] == mqc.MQRC_UNKNOWN_OBJECT_NAME
    od = made("MQOD", ObjectType=mqc.MQOT_TOPIC, ObjectString="$SYS/MQ/info")
    assert mqi.MQOPEN(publisher.hconn, od, mqc.MQOO_OUTPUT)[2] == mqc.MQRC_ADMIN_TOPIC_STRING_ERROR
    od = made("MQOD", ObjectType=mqc.MQOT_TOPIC, ObjectString="a")
    assert mqi.MQOPEN(publisher.hconn, od, mqc.MQOO_INPUT_SHARED)[2] == mqc.MQRC_OPTION_NOT_VALID_FOR_TYPE


@pytest.mark.parametrize(
    ("what", "reason"),
    [
        ("ObjectString", mqc.MQRC_OBJECT_STRING_ERROR),
        ("SubName", mqc.MQRC_SUB_NAME_ERROR),
        ("SubUserData", mqc.MQRC_SUB_USER_DATA_ERROR),
        ("SelectionString", mqc.MQRC_SELECTION_STRING_ERROR),
    ],
)
@pytest.mark.parametrize("length", [10241, 100, -2])
def test_strings_of_a_descriptor_are_checked(publisher: Publisher, what: str, reason: int, length: int) -> None:
    fields: dict[str, Any] = {"Options": MANAGED, what: "text"}
    sd = made("MQSD", **fields)
    cut_string(sd, "MQSD", what, length)
    assert mqi.MQSUB(publisher.hconn, sd, 0)[1:] == (mqc.MQHO_UNUSABLE_HOBJ, mqc.MQCC_FAILED, reason)


def test_structures_are_checked(publisher: Publisher, topic: str) -> None:
    assert mqi.MQSUB(publisher.hconn, bytearray(344), 0)[3] == mqc.MQRC_SD_ERROR
    assert mqi.MQSUB(publisher.hconn, made("MQSD")[:300], 0)[3] == mqc.MQRC_SD_ERROR
    sd = made("MQSD", Options=MANAGED, ObjectString=topic, ResObjectString=10)
    sd[320 + 12 : 320 + 16] = bytes(4)
    assert mqi.MQSUB(publisher.hconn, sd, 0)[3] == mqc.MQRC_RES_OBJECT_STRING_ERROR
    _, hsub = publisher.subscribe(topic)
    assert mqi.MQSUBRQ(publisher.hconn, hsub, 1, bytearray(16)) == (mqc.MQCC_FAILED, mqc.MQRC_SRO_ERROR)
    assert mqi.MQSUBRQ(publisher.hconn, 999, 1, made("MQSRO")) == (mqc.MQCC_FAILED, mqc.MQRC_HOBJ_ERROR)
    assert mqi.MQSUB(77777, made("MQSD"), 0)[3] == mqc.MQRC_HCONN_ERROR
    assert mqi.MQSUBRQ(77777, hsub, 1, made("MQSRO"))[1] == mqc.MQRC_HCONN_ERROR


def test_requests_that_cannot_be(app: Any, publisher: Publisher, topic: str) -> None:
    hobj, hsub = publisher.subscribe(topic)
    assert publisher.request(hsub) == (0, mqc.MQRC_NO_RETAINED_MSG)
    assert publisher.request(hsub, 7)[1] == mqc.MQRC_ACTION_ERROR
    assert publisher.request(hobj)[1] == mqc.MQRC_HOBJ_ERROR
    sro = made("MQSRO", Options=1)
    assert mqi.MQSUBRQ(publisher.hconn, hsub, 1, sro)[1] == mqc.MQRC_OPTIONS_ERROR


def test_messages_are_not_got_from_topics(publisher: Publisher, topic: str) -> None:
    _, hsub = publisher.subscribe(topic)
    target = publisher.open(topic)
    assert publisher.get(hsub)[1] == mqc.MQRC_HOBJ_ERROR
    assert publisher.get(target)[1] == mqc.MQRC_HOBJ_ERROR
    assert publisher.put(hsub, b"data") == mqc.MQRC_HOBJ_ERROR


def test_unknown_destination_handle(publisher: Publisher, topic: str) -> None:
    assert publisher.refused(topic, mqc.MQSO_CREATE, 4711) == mqc.MQRC_HOBJ_ERROR
    target = publisher.open(topic)
    assert publisher.refused(topic, mqc.MQSO_CREATE, target) == mqc.MQRC_HOBJ_ERROR


# -- consuming ---------------------------------------------------------------------------------------------------------


def test_get_waits_for_publication(app: Any, publisher: Publisher, other: Publisher, topic: str) -> None:
    hobj, _ = publisher.subscribe(topic)
    other.put1(topic, b"soon")
    gmo = mqc.MQGMO_WAIT | mqc.MQGMO_NO_SYNCPOINT | mqc.MQGMO_NO_PROPERTIES
    assert publisher.get(hobj, gmo, 30_000) == (b"soon", mqc.MQRC_NONE)


def test_managed_queue_reads_ahead(publisher: Publisher, topic: str) -> None:
    hobj, hsub = publisher.subscribe(topic, MANAGED | mqc.MQSO_READ_AHEAD)
    for number in range(40):
        publisher.put1(topic, b"%d" % number)
    gmo = mqc.MQGMO_NO_SYNCPOINT | mqc.MQGMO_WAIT
    found = [publisher.get(hobj, gmo, 30_000)[0] for _ in range(40)]
    assert [data.rpartition(b">")[2].strip() for data in found] == [b"%d" % number for number in range(40)]
    assert publisher.close(hobj) == publisher.close(hsub) == mqc.MQRC_NONE


def test_callback_gets_publications(app: Any, publisher: Publisher, other: Publisher, topic: str) -> None:
    hobj, _ = publisher.subscribe(topic)
    found: list[bytes] = []
    done = threading.Event()

    def consume(*call: Any) -> None:
        found.extend(each for each in call if each == b"called")
        done.set()

    cbd = made("MQCBD")
    gmo = made("MQGMO", Options=mqc.MQGMO_NO_SYNCPOINT | mqc.MQGMO_NO_PROPERTIES)
    assert callback(publisher.hconn, hobj, cbd, gmo, consume) == OK
    assert mqi.MQCTL(publisher.hconn, mqc.MQOP_START, made("MQCTLO")) == OK
    other.put1(topic, b"called")
    assert done.wait(60)
    assert mqi.MQCTL(publisher.hconn, mqc.MQOP_STOP, made("MQCTLO")) == OK
    assert found == [b"called"]


def callback(hconn: int, hobj: int, cbd: bytearray, gmo: bytearray, function: Any) -> tuple[int, int]:
    return mqi.MQCB(hconn, mqc.MQOP_REGISTER, cbd, hobj, made("MQMD"), gmo, function)


# -- strings at addresses ----------------------------------------------------------------------------------------------


def test_strings_at_addresses(publisher: Publisher, topic: str) -> None:
    text = ctypes.create_string_buffer(topic.encode())
    place = ctypes.create_string_buffer(100)
    od = made("MQOD", ObjectType=mqc.MQOT_TOPIC)
    address = ctypes.addressof(text)
    struct.pack_into("<Qiiii", od, 344, address, 0, 0, mqc.MQVS_NULL_TERMINATED, 1208)
    struct.pack_into("<Qiiii", od, 392, ctypes.addressof(place), 0, 100, 0, 0)
    assert mqi.MQOPEN(publisher.hconn, od, mqc.MQOO_OUTPUT)[1:] == OK
    assert place.value == topic.encode()
    sd = made("MQSD", Options=MANAGED)
    struct.pack_into("<Qiiii", sd, 120, address, 0, 0, len(topic), 1208)
    struct.pack_into("<Qiiii", sd, 320, ctypes.addressof(place), 0, 5, 0, 0)
    assert mqi.MQSUB(publisher.hconn, sd, 0)[2:] == OK
    assert place.value == topic.encode()[-5:] + topic.encode()[5:]


@pytest.mark.parametrize(
    "place",
    [(1 << 20, 424, 10), (0, 424, -1), (0, 400, 10), (0, 424, 11), (0, 0, 10), (1 << 20, 0, 0), (0, -5, 10)],
    ids=["both", "negative size", "inside", "beyond the end", "no place", "no size", "negative offset"],
)
def test_places_for_strings_are_checked(publisher: Publisher, topic: str, place: tuple[int, int, int]) -> None:
    od = made("MQOD", ObjectType=mqc.MQOT_TOPIC)
    od += bytes(10)
    struct.pack_into("<Qiii", od, 392, *place, 0)
    before = bytes(od)
    assert mqi.MQOPEN(publisher.hconn, od, mqc.MQOO_OUTPUT)[2] == mqc.MQRC_RES_OBJECT_STRING_ERROR
    assert bytes(od) == before
