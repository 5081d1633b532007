"""MQSUB, MQPUT to topics, MQSUBRQ and MQCLOSE in the engine: deliveries, refusals and their reasons."""

from __future__ import annotations

import struct
from collections.abc import Iterator

import pytest
from tests.world.topic_world import TopicWorld

from ostler.engine import objects
from ostler.engine.get import get, new_request
from ostler.engine.message.message import MD_BYTES
from ostler.engine.open import OpenRequest, close_object, open_object
from ostler.engine.properties.properties import Property
from ostler.engine.properties.property_block import decode_block, encode_block
from ostler.engine.pubsub import retained
from ostler.engine.pubsub.end_subscription import end_expired, remove_subscription
from ostler.engine.pubsub.subscribe import request_publications
from ostler.engine.pubsub.topic_settings import DURABLE_MODEL, NON_DURABLE_MODEL
from ostler.engine.put import put
from ostler.engine.queue.queue import RETAINED_QUEUE
from ostler.model.attributes import ObjectType, Value
from ostler.model.constants import (
    MQCO_DELETE,
    MQCO_DELETE_PURGE,
    MQCO_KEEP_SUB,
    MQCO_REMOVE_SUB,
    MQDC_PROVIDED,
    MQDLV_ALL,
    MQDLV_ALL_AVAIL,
    MQDLV_ALL_DUR,
    MQFMT_DEAD_LETTER_HEADER,
    MQFMT_RF_HEADER_1,
    MQFMT_RF_HEADER_2,
    MQGMO_NO_SYNCPOINT,
    MQMF_LAST_SEGMENT,
    MQMF_MSG_IN_GROUP,
    MQMO_NONE,
    MQOO_BROWSE,
    MQOO_INPUT_SHARED,
    MQOO_OUTPUT,
    MQOO_SET,
    MQOT_Q,
    MQOT_TOPIC,
    MQPMO_NOT_OWN_SUBS,
    MQPMO_RETAIN,
    MQPMO_WARN_IF_NO_SUBS_MATCHED,
    MQPSM_DISABLED,
    MQPSM_ENABLED,
    MQPSPROP_COMPAT,
    MQPSPROP_MSGPROP,
    MQPSPROP_NONE,
    MQPSPROP_RFH2,
    MQRC_ACTION_ERROR,
    MQRC_DEST_CLASS_NOT_ALTERABLE,
    MQRC_DUPLICATE_GROUP_SUB,
    MQRC_DURABILITY_NOT_ALLOWED,
    MQRC_DURABILITY_NOT_ALTERABLE,
    MQRC_EXPIRY_ERROR,
    MQRC_GROUPING_NOT_ALTERABLE,
    MQRC_HOBJ_ERROR,
    MQRC_IDENTITY_MISMATCH,
    MQRC_INVALID_DESTINATION,
    MQRC_INVALID_SUBSCRIPTION,
    MQRC_MSG_NOT_ALLOWED_IN_GROUP,
    MQRC_NO_RETAINED_MSG,
    MQRC_NO_SUBS_MATCHED,
    MQRC_NO_SUBSCRIPTION,
    MQRC_OPTION_NOT_VALID_FOR_TYPE,
    MQRC_OPTIONS_ERROR,
    MQRC_PRIORITY_ERROR,
    MQRC_PROPERTY_NOT_AVAILABLE,
    MQRC_PUBLICATION_FAILURE,
    MQRC_PUBSUB_INHIBITED,
    MQRC_PUT_INHIBITED,
    MQRC_PUT_NOT_RETAINED,
    MQRC_RETAINED_MSG_Q_ERROR,
    MQRC_RETAINED_NOT_DELIVERED,
    MQRC_SELECTOR_NOT_ALTERABLE,
    MQRC_SELECTOR_SYNTAX_ERROR,
    MQRC_SUB_ALREADY_EXISTS,
    MQRC_SUB_INHIBITED,
    MQRC_SUB_NAME_ERROR,
    MQRC_SUBLEVEL_NOT_ALTERABLE,
    MQRC_SUBSCRIPTION_IN_USE,
    MQRC_TOPIC_NOT_ALTERABLE,
    MQRC_TOPIC_STRING_ERROR,
    MQRC_UNKNOWN_ALIAS_BASE_Q,
    MQRC_UNKNOWN_OBJECT_NAME,
    MQSO_ALTER,
    MQSO_ANY_USERID,
    MQSO_CREATE,
    MQSO_DURABLE,
    MQSO_FIXED_USERID,
    MQSO_GROUP_SUB,
    MQSO_MANAGED,
    MQSO_NEW_PUBLICATIONS_ONLY,
    MQSO_NO_READ_AHEAD,
    MQSO_PUBLICATIONS_ON_REQUEST,
    MQSO_READ_AHEAD,
    MQSO_RESUME,
    MQSO_SET_CORREL_ID,
    MQSO_WILDCARD_CHAR,
    MQSO_WILDCARD_TOPIC,
    MQSR_ACTION_PUBLICATION,
    MQSUB_DURABLE_INHIBITED,
    MQTA_PUB_INHIBITED,
    MQTA_SUB_INHIBITED,
    MQTYPE_STRING,
    MQUSEDLQ_NO,
    MQWS_CHAR,
)
from ostler.model.definitions import Definition, new_definition
from ostler.model.errors import MQError
from ostler.model.structures.md import MD_DEFAULT
from ostler.testing.simulation.audit import audit_engine

MANAGED = MQSO_CREATE | MQSO_MANAGED
DURABLE = MANAGED | MQSO_DURABLE


@pytest.fixture
def world() -> Iterator[TopicWorld]:
    made = TopicWorld.create()
    made.prepare_topics()
    yield made
    audit_engine(made.engine)


def refused(call: object, *given: object, **named: object) -> int:
    assert callable(call)
    with pytest.raises(MQError) as refusal:
        call(*given, **named)
    return refusal.value.reason


def alter_queue(world: TopicWorld, name: str, **attributes: Value) -> None:
    queue = world.engine.queues[name]
    changed = Definition(ObjectType.QLOCAL, name, {**queue.definition.attributes, **attributes})
    objects.define(world.engine, changed, True)


def dead_letters(world: TopicWorld) -> None:
    world.define_queue("DLQ")
    manager = new_definition(ObjectType.QMGR, "WORLD", {"DEADQ": "DLQ"})
    objects.define(world.engine, manager, True)


def disable(world: TopicWorld, mode: int = MQPSM_DISABLED) -> None:
    manager = Definition(ObjectType.QMGR, "WORLD", {**world.engine.manager.attributes, "PSMODE": mode})
    objects.define(world.engine, manager, True)


# -- requests ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "options",
    [
        MQSO_MANAGED,
        MANAGED | MQSO_ANY_USERID | MQSO_FIXED_USERID,
        MANAGED | MQSO_WILDCARD_CHAR | MQSO_WILDCARD_TOPIC,
        MANAGED | MQSO_READ_AHEAD | MQSO_NO_READ_AHEAD,
        MANAGED | MQSO_NEW_PUBLICATIONS_ONLY | MQSO_PUBLICATIONS_ON_REQUEST,
        MQSO_RESUME | MQSO_NEW_PUBLICATIONS_ONLY,
        MANAGED | MQSO_GROUP_SUB | MQSO_SET_CORREL_ID,
        MQSO_CREATE | MQSO_GROUP_SUB,
        MANAGED | 0x400,
    ],
)
def test_options_that_do_not_go_together(world: TopicWorld, options: int) -> None:
    assert refused(world.subscribe, world.connect(), "a", options, "S") == MQRC_OPTIONS_ERROR


def test_requests_that_are_refused(world: TopicWorld) -> None:
    c = world.connect()
    assert refused(world.subscribe, c, "a", DURABLE) == MQRC_SUB_NAME_ERROR
    assert refused(world.subscribe, c, "a", MANAGED | MQSO_RESUME) == MQRC_SUB_NAME_ERROR
    assert refused(world.subscribe, c, "a", MQSO_RESUME, "X") == MQRC_NO_SUBSCRIPTION
    assert refused(world.subscribe, c, "a", MQSO_RESUME, "SYSTEM.DEFAULT.SUB") == MQRC_INVALID_SUBSCRIPTION
    assert refused(world.subscribe, c, "a", expiry=0) == MQRC_EXPIRY_ERROR
    assert refused(world.subscribe, c, "a", priority=10) == MQRC_PRIORITY_ERROR
    assert refused(world.subscribe, c, "a", priority=-2) == MQRC_PRIORITY_ERROR
    assert refused(world.subscribe, c, "") == MQRC_UNKNOWN_OBJECT_NAME
    assert refused(world.subscribe, c, "a", object_name="NONE") == MQRC_UNKNOWN_OBJECT_NAME
    assert refused(world.subscribe, c, "a", MQSO_CREATE) == MQRC_HOBJ_ERROR
    assert refused(world.subscribe, c, "a", MANAGED | MQSO_PUBLICATIONS_ON_REQUEST, level=2) == MQRC_OPTIONS_ERROR
    assert refused(world.subscribe, c, "a", selection="x =") == MQRC_SELECTOR_SYNTAX_ERROR
    assert refused(world.subscribe, c, "a%", MANAGED | MQSO_WILDCARD_CHAR) == MQRC_TOPIC_STRING_ERROR
    assert not world.engine.topics.subscriptions
    assert list(world.engine.queues) == [RETAINED_QUEUE]


def test_topics_that_do_not_want_subscriptions_or_publications(world: TopicWorld) -> None:
    c = world.connect()
    world.define_topic("NOSUB", "no/sub", {"SUB": MQTA_SUB_INHIBITED})
    world.define_topic("NODUR", "no/durable", {"DURSUB": MQSUB_DURABLE_INHIBITED})
    world.define_topic("NOPUB", "no/pub", {"PUB": MQTA_PUB_INHIBITED})
    assert refused(world.subscribe, c, "no/sub/x") == MQRC_SUB_INHIBITED
    assert refused(world.subscribe, c, "no/durable", DURABLE, "D") == MQRC_DURABILITY_NOT_ALLOWED
    assert world.publish(c, "no/pub/x", b"").reason == MQRC_PUT_INHIBITED
    handle = world.open_topic(c, "no/pub/x")
    objects.delete(world.engine, ObjectType.TOPIC, "NOPUB")
    assert world.put(c, handle, b"open since before").reason == 0
    world.define_topic("NOPUB", "no/pub", {"PUB": MQTA_PUB_INHIBITED})
    assert world.put(c, handle, b"and closed again").reason == MQRC_PUT_INHIBITED


def test_nothing_is_published_while_publish_subscribe_is_off(world: TopicWorld) -> None:
    own = world.connect()
    made = world.subscribe(own, "a", MANAGED)
    opened = world.open_topic(own, "a")
    md = MD_DEFAULT.ljust(MD_BYTES, b"\0")
    disable(world)
    assert put(world.engine, own, opened, md, 0, b"", b"lost", None).reason == MQRC_PUBSUB_INHIBITED
    assert refused(world.open_topic, own, "a") == MQRC_PUBSUB_INHIBITED
    assert refused(world.subscribe, own, "a", MANAGED) == MQRC_PUBSUB_INHIBITED
    disable(world, MQPSM_ENABLED)
    assert put(world.engine, own, opened, md, 0, b"", b"there", None).reason == 0
    assert world.take_all(own, made.destination) == [b"there"]


@pytest.mark.parametrize(
    ("attributes", "reason"),
    [
        ({"TOPICSTR": "a", "SELECTOR": "a >"}, MQRC_SELECTOR_SYNTAX_ERROR),
        ({"TOPICSTR": "a%b", "WSCHEMA": MQWS_CHAR}, MQRC_TOPIC_STRING_ERROR),
        ({"TOPICSTR": "/" * 256}, MQRC_TOPIC_STRING_ERROR),
        ({"TOPICOBJ": "NOWHERE"}, MQRC_TOPIC_STRING_ERROR),
    ],
)
def test_a_definition_that_is_no_subscription_leaves_nothing(
    world: TopicWorld, attributes: dict[str, Value], reason: int
) -> None:
    end = world.engine.journal.end_lsn()
    definition = Definition(ObjectType.SUB, "S", {"SUBID": "AB" * 24, "DEST": "Q", **attributes})
    assert refused(objects.define, world.engine, definition) == reason
    assert "S" not in world.engine.of_type(ObjectType.SUB)
    assert (world.engine.topics.by_name, world.engine.journal.end_lsn()) == ({}, end)


def test_models_of_managed_queues(world: TopicWorld) -> None:
    c = world.connect()
    world.define_topic("T", "t", {"MNDURMDL": "NONE", "MDURMDL": NON_DURABLE_MODEL})
    assert refused(world.subscribe, c, "t/x") == MQRC_INVALID_DESTINATION
    assert refused(world.subscribe, c, "t/x", DURABLE, "D") == MQRC_INVALID_DESTINATION


def test_a_temporary_queue_is_no_destination_for_a_durable_subscription(world: TopicWorld) -> None:
    c = world.connect()
    request = OpenRequest(MQOT_Q, NON_DURABLE_MODEL, MQOO_INPUT_SHARED)
    request.dynamic_name = "TEMPORARY"
    handle = open_object(world.engine, c, request)
    assert refused(world.subscribe, c, "a", MQSO_CREATE | MQSO_DURABLE, "D", destination=handle) == (
        MQRC_INVALID_DESTINATION
    )
    world.subscribe(c, "a", MQSO_CREATE, destination=handle)
    world.publish(c, "a", b"1")
    assert world.take_all(c, handle) == [b"1"]


# -- copies -----------------------------------------------------------------------------------------------------------


def test_what_a_copy_looks_like(world: TopicWorld) -> None:
    c, p = world.connect(), world.connect("publisher")
    s = world.subscribe(c, "a/+", user_data="mine", priority=7)
    plain = world.subscribe(c, "a/b", MANAGED | MQSO_SET_CORREL_ID, correlation_id=b"C" * 24)
    passed = world.subscribe(c, "a/b", MANAGED | MQSO_SET_CORREL_ID)
    given = encode_block([Property("colour", MQTYPE_STRING, "red"), Property("mqps.Top", MQTYPE_STRING, "forged")])
    answer = world.publish(p, "a/b", b"body", priority=3, correlation_id=b"P" * 24, properties=given)
    assert answer.reason == 0
    assert answer.md[48:72] == bytes(24), "the identifiers of copies are not the publisher's"
    copies = []
    for each in (s, plain, passed):
        queue = world.engine.queues[each.subscription.destination]
        copies.append(queue.load(queue.slots.first()))
    assert [copy.md[72:96] for copy in copies] == [s.subscription.identifier, b"C" * 24, b"P" * 24]
    assert [struct.unpack_from("<i", copy.md, 40)[0] for copy in copies] == [7, 3, 3]
    assert [struct.unpack_from("<i", copy.md, 44)[0] for copy in copies] == [0, 0, 0], "the queues are temporary"
    assert len({copy.md[48:72] for copy in copies}) == 3
    assert copies[0].md[196:208] == b"tester".ljust(12)
    assert copies[0].md[276:304] == b"publisher".ljust(28)
    assert {each.name: each.value for each in decode_block(copies[0].properties)} == {
        "colour": "red",
        "mqps.Top": "a/b",
        "mqps.Sud": "mine",
    }
    assert copies[1].properties == copies[2].properties
    assert copies[0].body is copies[1].body is copies[2].body, "stored once"


def test_one_record_for_all_copies(world: TopicWorld) -> None:
    c = world.connect()
    for number in range(5):
        world.subscribe(c, "a", DURABLE, f"D{number}")
    before = len(world.records)
    world.publish(c, "a", b"x" * 1000)
    assert len(world.records) == before + 1


@pytest.mark.parametrize("style", [MQPSPROP_NONE, MQPSPROP_COMPAT, MQPSPROP_RFH2, MQPSPROP_MSGPROP])
def test_forms_of_properties(world: TopicWorld, style: int) -> None:
    world.define_queue("Q")
    attributes: dict[str, Value] = {
        "TOPICSTR": "a b",
        "DEST": "Q",
        "PSPROP": style,
        "SUBID": "11" * 24,
        "USERDATA": "u<1",
        "DESTCLAS": MQDC_PROVIDED,
    }
    objects.define(world.engine, new_definition(ObjectType.SUB, "S", attributes))
    c = world.connect()
    world.publish(c, "a b", b"body")
    message = world.messages("Q")[0]
    queue = world.engine.queues["Q"]
    names = [each.name for each in decode_block(queue.load(queue.slots.first()).properties)]
    if style == MQPSPROP_MSGPROP:
        assert names == ["mqps.Top", "mqps.Sud"]
        assert message.body == b"body"
        return
    assert names == []
    if style == MQPSPROP_NONE:
        assert message.body == b"body"
    elif style == MQPSPROP_RFH2:
        assert message.md[32:40] == MQFMT_RF_HEADER_2
        assert message.body.endswith(b"body")
        text = b"<psc><Command>Publish</Command><Topic>a b</Topic><SubUserData>u&lt;1</SubUserData></psc>"
        assert text in message.body
        assert struct.unpack_from("<i", message.body, 8)[0] == len(message.body) - 4
    else:
        assert message.md[32:40] == MQFMT_RF_HEADER_1
        assert b'MQPSCommand Publish MQPSTopic "a b" MQPSSubUserData u<1' in message.body
        assert struct.unpack_from("<i", message.body, 8)[0] == len(message.body) - 4


def test_properties_go_by_their_synonyms(world: TopicWorld) -> None:
    c = world.connect()
    s = world.subscribe(c, "a/+", user_data="mine", selection="MQTopicString = 'a/b'")
    world.publish(c, "a/c", b"not selected")
    world.publish(c, "a/b", b"1")
    assert s.destination is not None
    match = MQMO_NONE
    request = new_request(c, s.destination, MQGMO_NO_SYNCPOINT, match, bytes(24), bytes(24), 100)
    request.has_message_handle = True
    get(world.engine, request)
    found = request.properties
    assert found is not None
    assert (request.body, found.inquire("MQTopicString").value) == (b"1", "a/b")
    assert found.inquire("MQSubUserData").value == "mine"
    with pytest.raises(MQError) as refusal:
        found.inquire("MQIsRetained")
    assert refusal.value.reason == MQRC_PROPERTY_NOT_AVAILABLE


def test_groups_and_segments_are_not_published(world: TopicWorld) -> None:
    c = world.connect()
    assert world.publish(c, "a", b"", fields={356: MQMF_MSG_IN_GROUP}).reason == MQRC_MSG_NOT_ALLOWED_IN_GROUP
    assert world.publish(c, "a", b"", fields={356: MQMF_LAST_SEGMENT}).reason == MQRC_MSG_NOT_ALLOWED_IN_GROUP


def test_levels(world: TopicWorld) -> None:
    c = world.connect()
    subscribers = {level: world.subscribe(c, "a", level=level) for level in (0, 1, 5, 9)}
    for level, taker in ((9, 9), (8, 5), (5, 5), (4, 1), (0, 0)):
        world.publish(c, "a", b"%d" % level, level=level)
        assert [each for each, s in subscribers.items() if world.take_all(c, s.destination)] == [taker]
    assert world.publish(c, "b", b"", MQPMO_WARN_IF_NO_SUBS_MATCHED).reason == MQRC_NO_SUBS_MATCHED


def test_not_for_own_subscriptions_and_selectors_and_groups(world: TopicWorld) -> None:
    c, p = world.connect(), world.connect()
    mine, other = world.subscribe(p, "a"), world.subscribe(c, "a")
    picky = world.subscribe(c, "a", selection="mqcolour.of = 'red'")
    world.publish(p, "a", b"1", MQPMO_NOT_OWN_SUBS)
    red = encode_block([Property("mqcolour.of", MQTYPE_STRING, "red")])
    world.publish(p, "a", b"2", properties=red)
    assert world.take_all(p, mine.destination) == [b"2"]
    assert world.take_all(c, other.destination) == [b"1", b"2"]
    assert world.take_all(c, picky.destination) == [b"2"]
    world.define_queue("G")
    handle = world.open(c, "G", MQOO_INPUT_SHARED)
    grouped = MQSO_CREATE | MQSO_GROUP_SUB | MQSO_SET_CORREL_ID
    for topic in ("g/#", "g/+", "g/a"):
        world.subscribe(c, topic, grouped, destination=handle, correlation_id=b"1" * 24)
    world.subscribe(c, "g/a", grouped, destination=handle, correlation_id=b"2" * 24)
    assert refused(world.subscribe, c, "g/+", grouped, destination=handle, correlation_id=b"1" * 24) == (
        MQRC_DUPLICATE_GROUP_SUB
    )
    world.publish(p, "g/a", b"once for each group")
    assert len(world.take_all(c, handle)) == 2


# -- undeliverable copies ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("delivery", "reason"), [(MQDLV_ALL, MQRC_PUBLICATION_FAILURE), (MQDLV_ALL_DUR, 0), (MQDLV_ALL_AVAIL, 0)]
)
@pytest.mark.parametrize("persistence", [0, 1])
def test_a_full_queue_of_a_subscriber(world: TopicWorld, delivery: int, reason: int, persistence: int) -> None:
    c, p = world.connect(), world.connect()
    name = "PMSGDLV" if persistence else "NPMSGDLV"
    world.define_topic("T", "a", {name: delivery})
    full, other = world.subscribe(c, "a"), world.subscribe(c, "a", DURABLE, "D")
    alter_queue(world, full.subscription.destination, MAXDEPTH=0)
    world.publish(p, "other", b"", syncpoint=True)
    before = len(p.unit_of_work.entries) if p.unit_of_work is not None else -1
    assert world.publish(p, "a", b"1", syncpoint=True, persistence=persistence).reason == reason
    world.commit(p)
    assert before == 0
    assert world.bodies(other.subscription.destination) == ([] if reason else [b"1"])
    alter_queue(world, other.subscription.destination, PUT=1)
    durable_too = MQRC_PUBLICATION_FAILURE if delivery != MQDLV_ALL_AVAIL else 0
    assert world.publish(p, "a", b"2", persistence=persistence).reason == durable_too


def test_copies_for_one_queue_are_counted_against_its_maxdepth(world: TopicWorld) -> None:
    """Planned copies count, though nothing is on the queue yet; a publication that fails leaves nothing behind."""
    c, p = world.connect(), world.connect()
    world.define_queue("Q", {"MAXDEPTH": 4})
    handle = world.open(c, "Q", MQOO_INPUT_SHARED | MQOO_OUTPUT)
    for number in range(6):
        world.subscribe(c, "a", MQSO_CREATE | MQSO_DURABLE, f"D{number}", destination=handle)
    world.define_topic("T", "a", {"PMSGDLV": MQDLV_ALL})
    assert world.publish(p, "a", b"none").reason == MQRC_PUBLICATION_FAILURE
    assert world.bodies("Q") == []
    world.define_topic("T", "a", {"PMSGDLV": MQDLV_ALL_AVAIL})
    for _ in range(2):
        assert world.publish(p, "a", b"some").reason == 0
        assert world.take_all(c, handle) == [b"some"] * 4


def test_undelivered_copies_go_to_the_dead_letter_queue(world: TopicWorld) -> None:
    dead_letters(world)
    c = world.connect()
    world.define_topic("T", "a", {"PMSGDLV": MQDLV_ALL})
    s = world.subscribe(c, "a", DURABLE, "D")
    alter_queue(world, s.subscription.destination, PUT=1)
    assert world.publish(c, "a", b"1").reason == 0
    letter = world.messages("DLQ")[0]
    assert letter.md[32:40] == MQFMT_DEAD_LETTER_HEADER
    assert struct.unpack_from("<i", letter.body, 8)[0] == MQRC_PUT_INHIBITED
    alter_queue(world, "DLQ", MAXDEPTH=1)
    assert world.publish(c, "a", b"2").reason == MQRC_PUBLICATION_FAILURE
    world.define_topic("T", "a", {"PMSGDLV": MQDLV_ALL, "USEDLQ": MQUSEDLQ_NO})
    alter_queue(world, "DLQ", MAXDEPTH=10)
    assert world.publish(c, "a", b"3").reason == MQRC_PUBLICATION_FAILURE
    assert world.engine.queues["DLQ"].depth == 1


# -- retained ---------------------------------------------------------------------------------------------------------


def test_retained_publications(world: TopicWorld) -> None:
    c = world.connect()
    for topic, body in (("a", b"1"), ("a/b", b"2"), ("a", b"3"), ("z", b"")):
        world.publish(c, topic, body, MQPMO_RETAIN, priority=9 if body == b"1" else 0)
    assert world.engine.queues[RETAINED_QUEUE].depth == 3
    s = world.subscribe(c, "a/#")
    assert sorted(world.take_all(c, s.destination)) == [b"2", b"3"]
    assert world.take_all(c, world.subscribe(c, "z").destination) == [b""], "nothing is something"
    assert world.take_all(c, world.subscribe(c, "a", MANAGED | MQSO_NEW_PUBLICATIONS_ONLY).destination) == []
    assert world.take_all(c, world.subscribe(c, "a", level=2).destination) == []
    on_request = world.subscribe(c, "+", MANAGED | MQSO_PUBLICATIONS_ON_REQUEST)
    world.publish(c, "a", b"not asked for")
    assert world.take_all(c, on_request.destination) == []
    assert request_publications(world.engine, c, on_request.handle, MQSR_ACTION_PUBLICATION, 0).count == 2
    got = world.get(c, on_request.destination) if on_request.destination is not None else None
    assert got is not None
    assert got.reason == 0
    queue = world.engine.queues[on_request.subscription.destination]
    block = queue.load(queue.slots.first()).properties
    assert ("mqps.Ret", True) in [(each.name, each.value) for each in decode_block(block)]
    assert refused(request_publications, world.engine, c, on_request.handle, 2, 0) == MQRC_ACTION_ERROR
    assert refused(request_publications, world.engine, c, on_request.destination, 1, 0) == MQRC_HOBJ_ERROR
    assert retained.clear(world.engine, "a")
    assert not retained.clear(world.engine, "a")
    empty = world.subscribe(c, "empty")
    assert refused(request_publications, world.engine, c, empty.handle, 1, 0) == MQRC_NO_RETAINED_MSG


def test_retained_within_units_of_work(world: TopicWorld) -> None:
    a, b = world.connect(), world.connect()

    def current() -> bytes | None:
        node = world.engine.topics.find("t")
        message = retained.message_at(world.engine, node) if node is not None else None
        return message.body if message is not None else None

    world.publish(a, "t", b"backed out", MQPMO_RETAIN, syncpoint=True)
    assert current() is None
    world.back_out(a)
    assert current() is None
    world.publish(a, "t", b"a1", MQPMO_RETAIN, syncpoint=True)
    world.publish(a, "t", b"a2", MQPMO_RETAIN, syncpoint=True)
    world.publish(b, "t", b"b1", MQPMO_RETAIN, syncpoint=True)
    world.commit(b)
    assert current() == b"b1"
    world.acknowledge(world.commit(a)[1])
    assert current() == b"a2"
    assert world.engine.queues[RETAINED_QUEUE].depth == 1
    world.kill()
    world.restart()
    assert current() == b"a2", "who committed last, not who published last"
    a = world.connect()
    answer = world.publish(a, "t", b"passing", MQPMO_RETAIN, persistence=0)
    world.acknowledge(answer.lsn)
    assert current() == b"passing"
    world.kill()
    world.restart()
    assert current() is None


def test_retained_publications_expire(world: TopicWorld) -> None:
    c = world.connect()
    world.publish(c, "t/x", b"1", MQPMO_RETAIN, expiry_tenths=100)
    world.tick(4000)
    s = world.subscribe(c, "t/#")
    queue = world.engine.queues[s.subscription.destination]
    assert queue.slots.expiries[queue.slots.first()] == world.now_ms + 6000
    world.tick(6001)
    assert world.take_all(c, world.subscribe(c, "t/#").destination) == []
    world.expire()
    assert world.engine.topics.retained_count == 0
    assert world.engine.queues[RETAINED_QUEUE].depth == 0


@pytest.mark.parametrize("is_deleted", [False, True])
def test_topics_without_the_queue_of_retained_publications_are_swept(world: TopicWorld, is_deleted: bool) -> None:
    c = world.connect()
    world.publish(c, "a/b", b"1", MQPMO_RETAIN)
    assert world.engine.topics.sweep(10, world.now_ms) == 0
    if is_deleted:
        world.delete_queue(RETAINED_QUEUE, purge=True)
    else:
        world.clear_queue(RETAINED_QUEUE)
    assert world.engine.topics.retained_count == 0
    assert world.engine.topics.sweep(10, world.now_ms) == 2


def test_what_cannot_be_retained_is_not_published(world: TopicWorld) -> None:
    c = world.connect()
    s = world.subscribe(c, "a")
    alter_queue(world, RETAINED_QUEUE, PUT=1)
    assert world.publish(c, "a", b"1", MQPMO_RETAIN).reason == MQRC_PUT_NOT_RETAINED
    assert world.take_all(c, s.destination) == []
    alter_queue(world, RETAINED_QUEUE, PUT=0)
    world.publish(c, "a", b"2", MQPMO_RETAIN)
    alter_queue(world, RETAINED_QUEUE, GET=1)
    assert refused(world.subscribe, c, "a", DURABLE, "D") == MQRC_RETAINED_MSG_Q_ERROR
    assert refused(request_publications, world.engine, c, s.handle, 1, 0) == MQRC_RETAINED_MSG_Q_ERROR
    assert list(world.engine.topics.by_name) == []


def test_retained_publications_that_do_not_fit_undo_the_subscription(world: TopicWorld) -> None:
    c = world.connect()
    for topic in ("a/1", "a/2"):
        world.publish(c, topic, b"", MQPMO_RETAIN)
    world.define_queue("Q", {"MAXDEPTH": 1})
    handle = world.open(c, "Q", MQOO_INPUT_SHARED)
    options = MQSO_CREATE | MQSO_DURABLE
    assert refused(world.subscribe, c, "a/+", options, "D", destination=handle) == MQRC_RETAINED_NOT_DELIVERED
    assert not world.engine.topics.by_name
    assert world.engine.queues["Q"].depth == 0
    assert not world.engine.units_of_work
    dead_letters(world)
    world.subscribe(c, "a/+", options, "D", destination=handle)
    assert (world.engine.queues["Q"].depth, world.engine.queues["DLQ"].depth) == (1, 1)


# -- resuming, altering, closing --------------------------------------------------------------------------------------


def test_resuming(world: TopicWorld) -> None:
    a, b = world.connect(), world.connect()
    world.publish(a, "t", b"old", MQPMO_RETAIN)
    made = world.subscribe(a, "t", DURABLE | MQSO_RESUME, "D")
    assert refused(world.subscribe, b, "t", MQSO_RESUME, "D") == MQRC_SUBSCRIPTION_IN_USE
    assert refused(remove_subscription, world.engine, made.subscription) == MQRC_SUBSCRIPTION_IN_USE
    world.disconnect(a)
    assert refused(world.subscribe, b, "t", DURABLE, "D") == MQRC_SUB_ALREADY_EXISTS
    assert refused(world.subscribe, b, "u", MQSO_RESUME, "D") == MQRC_TOPIC_NOT_ALTERABLE
    assert refused(world.subscribe, b, "t", MANAGED | MQSO_RESUME, "D") == MQRC_DURABILITY_NOT_ALTERABLE
    world.publish(b, "t", b"new")
    s = world.subscribe(b, "", MQSO_RESUME, "D")
    assert world.take_all(b, s.destination) == [b"old", b"new"], "and the retained one not again"
    assert s.subscription is made.subscription
    b.user, b.is_privileged = "other", False
    close_object(world.engine, b, s.handle, MQCO_KEEP_SUB)
    assert refused(world.subscribe, b, "", MQSO_RESUME, "D") == MQRC_IDENTITY_MISMATCH


def test_another_user_takes_over(world: TopicWorld) -> None:
    a, b = world.connect(), world.connect()
    world.subscribe(a, "t", DURABLE | MQSO_ANY_USERID, "D")
    world.disconnect(a)
    b.user, b.is_privileged = "other", False
    s = world.subscribe(b, "", MQSO_RESUME, "D")
    world.publish(b, "t", b"1")
    assert world.messages(s.subscription.destination)[0].md[196:208] == b"other".ljust(12)
    close_object(world.engine, b, s.handle, 0)
    s = world.subscribe(b, "", MQSO_ALTER | MQSO_MANAGED | MQSO_FIXED_USERID, "D")
    assert not s.subscription.is_for_any_user
    world.force()
    world.kill()
    world.restart()
    found = world.engine.topics.by_name["D"]
    assert (found.user, found.is_for_any_user) == ("other", False)


def test_altering(world: TopicWorld) -> None:
    a = world.connect()
    s = world.subscribe(a, "t", DURABLE, "D", user_data="x", priority=5, expiry=100, selection="n = 1")
    world.tick(5000)
    alter = MQSO_ALTER | MQSO_MANAGED

    def altering(options: int, **changes: int) -> int:
        return refused(world.subscribe, a, "", options, "D", **changes)

    assert altering(alter) == MQRC_SUBSCRIPTION_IN_USE
    close_object(world.engine, a, s.handle, 0)
    assert altering(alter, level=2) == MQRC_SUBLEVEL_NOT_ALTERABLE
    assert altering(MQSO_ALTER) == MQRC_DEST_CLASS_NOT_ALTERABLE
    assert refused(world.subscribe, a, "", alter, "D", selection="n = 2") == MQRC_SELECTOR_NOT_ALTERABLE
    grouped = MQSO_ALTER | MQSO_GROUP_SUB | MQSO_SET_CORREL_ID
    assert altering(grouped) == MQRC_GROUPING_NOT_ALTERABLE
    s = world.subscribe(a, "t", alter, "D", expiry=100)
    assert (s.subscription.user_data, s.subscription.priority) == ("", -3)
    assert s.subscription.ends_ms == world.now_ms + 10_000
    world.force()
    world.kill()
    world.restart()
    assert world.engine.topics.by_name["D"].ends_ms == world.now_ms + 10_000


def test_a_handle_comes_back_for_the_queue_of_a_subscription_that_is_resumed(world: TopicWorld) -> None:
    a = world.connect()
    world.define_queue("Q")
    handle = world.open(a, "Q", MQOO_INPUT_SHARED)
    s = world.subscribe(a, "t", MQSO_CREATE | MQSO_DURABLE, "D", destination=handle)
    assert s.destination is None
    close_object(world.engine, a, s.handle, 0)
    world.publish(a, "t", b"1")
    s = world.subscribe(a, "", MQSO_RESUME, "D")
    assert world.take_all(a, s.destination) == [b"1"]
    close_object(world.engine, a, s.handle, 0)
    if s.destination is not None:
        close_object(world.engine, a, s.destination, 0)
    close_object(world.engine, a, handle, 0)
    objects.delete(world.engine, ObjectType.QLOCAL, "Q")
    assert refused(world.subscribe, a, "", MQSO_RESUME, "D") == MQRC_INVALID_DESTINATION


@pytest.mark.parametrize("durable", [False, True])
@pytest.mark.parametrize("queue_first", [False, True])
def test_closing_both_handles_in_either_order(world: TopicWorld, durable: bool, queue_first: bool) -> None:
    c = world.connect()
    s = world.subscribe(c, "t", DURABLE if durable else MANAGED, "D")
    name = s.subscription.destination
    world.publish(c, "t", b"1")
    assert s.destination is not None
    assert refused(close_object, world.engine, c, s.destination, MQCO_DELETE_PURGE) == MQRC_OPTION_NOT_VALID_FOR_TYPE
    if queue_first:
        close_object(world.engine, c, s.destination, 0)
        world.publish(c, "t", b"2")
        assert world.bodies(name) == [b"1", b"2"], "the subscription goes on"
        close_object(world.engine, c, s.handle, MQCO_REMOVE_SUB)
    else:
        close_object(world.engine, c, s.handle, MQCO_REMOVE_SUB)
        world.publish(c, "t", b"2")
        assert world.take_all(c, s.destination) == [b"1"], "what has come can still be got"
        close_object(world.engine, c, s.destination, 0)
    assert name not in world.engine.queues
    assert not world.engine.topics.subscriptions


def test_closing_options(world: TopicWorld) -> None:
    c = world.connect()
    s = world.subscribe(c, "t")
    for options in (MQCO_DELETE, MQCO_KEEP_SUB):
        assert refused(close_object, world.engine, c, s.handle, options) == MQRC_OPTION_NOT_VALID_FOR_TYPE
    assert refused(close_object, world.engine, c, s.handle, MQCO_KEEP_SUB | MQCO_REMOVE_SUB) == MQRC_OPTIONS_ERROR
    handle = world.open_topic(c, "t")
    assert refused(close_object, world.engine, c, handle, MQCO_REMOVE_SUB) == MQRC_OPTION_NOT_VALID_FOR_TYPE


def test_a_subscription_removed_with_uncommitted_copies(world: TopicWorld) -> None:
    c, p = world.connect(), world.connect()
    s = world.subscribe(c, "t", DURABLE, "D")
    world.publish(p, "t", b"1", syncpoint=True)
    world.disconnect(c)
    remove_subscription(world.engine, s.subscription)
    assert s.subscription.destination in world.engine.queues
    world.commit(p)
    assert s.subscription.destination not in world.engine.queues


def test_subscriptions_end(world: TopicWorld) -> None:
    c = world.connect()
    s = world.subscribe(c, "t", DURABLE, "D", expiry=10)
    world.publish(c, "t", b"1")
    world.tick(1000)
    world.publish(c, "t", b"too late")
    assert refused(request_publications, world.engine, c, s.handle, 1, 0) == MQRC_INVALID_SUBSCRIPTION
    close_object(world.engine, c, s.handle, 0)
    assert refused(world.subscribe, c, "", MQSO_RESUME, "D") == MQRC_INVALID_SUBSCRIPTION
    assert end_expired(world.engine, 10) == 1
    assert world.take_all(c, s.destination) == [b"1"], "what came before is not affected"
    assert refused(world.subscribe, c, "", MQSO_RESUME, "D") == MQRC_NO_SUBSCRIPTION
    assert end_expired(world.engine, 10) == 0
    for _ in range(300):
        s = world.subscribe(c, "t", expiry=1_000_000)
        close_object(world.engine, c, s.handle, 0)
        if s.destination is not None:
            close_object(world.engine, c, s.destination, 0)
    assert len(world.engine.topics.expiries) < 100, "what is gone is forgotten before its time"


# -- alias queues -----------------------------------------------------------------------------------------------------


def test_an_alias_queue_leads_to_a_topic(world: TopicWorld) -> None:
    c = world.connect()
    world.define_topic("T", "a/b")
    alias: dict[str, Value] = {"TARGET": "T", "TARGTYPE": MQOT_TOPIC}
    objects.define(world.engine, new_definition(ObjectType.QALIAS, "ALIAS", alias))
    s = world.subscribe(c, "a/b")
    handle = world.open(c, "ALIAS", MQOO_OUTPUT)
    assert world.put(c, handle, b"1").reason == 0
    assert world.take_all(c, s.destination) == [b"1"]
    assert refused(world.open, c, "ALIAS", MQOO_INPUT_SHARED) == MQRC_OPTION_NOT_VALID_FOR_TYPE
    objects.delete(world.engine, ObjectType.TOPIC, "T")
    assert refused(world.open, c, "ALIAS", MQOO_OUTPUT) == MQRC_UNKNOWN_ALIAS_BASE_Q


def test_topics_are_opened_for_output_only(world: TopicWorld) -> None:
    c = world.connect()
    for options in (MQOO_INPUT_SHARED, MQOO_BROWSE, MQOO_OUTPUT | MQOO_SET):
        request = OpenRequest(MQOT_TOPIC, "", options)
        request.topic_string = "a"
        assert refused(open_object, world.engine, c, request) == MQRC_OPTION_NOT_VALID_FOR_TYPE
    assert DURABLE_MODEL in world.engine.of_type(ObjectType.QMODEL)
