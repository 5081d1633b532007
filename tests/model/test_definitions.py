"""Definitions: defaults, LIKE, changes, rules between attributes, and the bytes they are kept as."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ostler.model.attributes import ObjectType, Value, attributes_of, defaults
from ostler.model.constants import (
    MQRCCF_ATTR_VALUE_ERROR,
    MQRCCF_ATTR_VALUE_FIXED,
    MQRCCF_CFIN_PARM_ID_ERROR,
    MQRCCF_CLUSTER_NAME_CONFLICT,
    MQRCCF_CLUSTER_Q_USAGE_ERROR,
    MQRCCF_DEF_XMIT_Q_CLUS_ERROR,
    MQRCCF_DEST_NAME_ERROR,
    MQRCCF_KWD_VALUE_WRONG_TYPE,
    MQRCCF_LIKE_OBJECT_WRONG_TYPE,
    MQRCCF_MCA_NAME_ERROR,
    MQRCCF_MISSING_CONN_NAME,
    MQRCCF_OBJECT_NAME_ERROR,
    MQRCCF_PARM_MISSING,
    MQRCCF_Q_ATTR_CONFLICT,
    MQRCCF_REPOS_NAME_CONFLICT,
    MQRCCF_SSL_CLIENT_AUTH_ERROR,
    MQRCCF_SSL_PEER_NAME_ERROR,
    MQRCCF_STREAMQ_CONFLICT,
    MQRCCF_STREAMQ_DEST_CONFLICT,
    MQRCCF_TOPIC_STRING_NOT_FOUND,
    MQRCCF_XMIT_Q_NAME_ERROR,
)
from ostler.model.definitions import Definition, describe, new_definition
from ostler.model.errors import MQError
from ostler.model.system_objects import system_definitions

DAY, NOON = "2026-03-01", "12.00.00"
VALUES = st.one_of(
    st.integers(-(2**63), 2**63 - 1),
    st.text(st.characters(codec="utf-8"), max_size=40),
    st.lists(st.text(st.characters(codec="utf-8"), max_size=12), max_size=6).map(tuple),
)
DEFINITIONS = st.builds(
    Definition,
    st.sampled_from(ObjectType),
    st.text(st.characters(codec="utf-8"), max_size=48),
    st.dictionaries(st.text(st.characters(codec="utf-8"), max_size=12), VALUES, max_size=12),
)


def local(**given: Value) -> Definition:
    return new_definition(ObjectType.QLOCAL, "ORDERS", dict(given), date=DAY, time=NOON)


def same(one: Definition, other: Definition) -> bool:
    return (one.object_type, one.name, one.attributes) == (other.object_type, other.name, other.attributes)


# -- making ------------------------------------------------------------------------------------------------------------


def test_a_new_queue_has_the_defaults_and_what_is_given() -> None:
    queue = local(MAXDEPTH=10, DESCR="incoming")
    expected = defaults(ObjectType.QLOCAL) | {
        "MAXDEPTH": 10,
        "DESCR": "incoming",
        "CRDATE": DAY,
        "CRTIME": NOON,
        "ALTDATE": DAY,
        "ALTTIME": NOON,
    }
    assert queue.attributes == expected
    assert (queue.object_type, queue.name) == (ObjectType.QLOCAL, "ORDERS")


def test_synonyms_and_words_are_taken() -> None:
    alias = new_definition(ObjectType.QALIAS, "A", {"TARGQ": "ORDERS", "PUT": "DISABLED"})
    assert alias.attributes["TARGET"] == "ORDERS"
    assert alias.attributes["PUT"] == 1
    assert "TARGQ" not in alias.attributes


def test_a_queue_manager_knows_its_own_name() -> None:
    manager = new_definition(ObjectType.QMGR, "QM1", {"QMID": "QM1_2026"})
    assert manager.attributes["QMNAME"] == "QM1"
    assert manager.attributes["QMID"] == "QM1_2026"


def test_like_gives_its_attributes_but_not_its_age() -> None:
    old = new_definition(ObjectType.QLOCAL, "OLD", {"MAXDEPTH": 7, "GET": 1}, date="2020-01-01", time="00.00.01")
    new = new_definition(ObjectType.QLOCAL, "NEW", {"GET": 0}, like=old, date=DAY, time=NOON)
    assert (new.attributes["MAXDEPTH"], new.attributes["GET"]) == (7, 0)
    assert (new.attributes["CRDATE"], new.attributes["ALTTIME"]) == (DAY, NOON)


def test_like_a_dynamic_queue_makes_a_predefined_one() -> None:
    dynamic = Definition(ObjectType.QLOCAL, "D", local().attributes | {"DEFTYPE": 3})
    assert new_definition(ObjectType.QLOCAL, "N", {}, like=dynamic).attributes["DEFTYPE"] == 1


def test_like_carries_the_channel_type() -> None:
    old = new_definition(ObjectType.CHANNEL, "TO.B", {"CHLTYPE": "RCVR", "MRRTY": 3})
    new = new_definition(ObjectType.CHANNEL, "TO.C", {}, like=old)
    assert new.attributes["CHLTYPE"] == old.attributes["CHLTYPE"]
    assert new.attributes["MRRTY"] == 3


@pytest.mark.parametrize(
    ("object_type", "name", "given", "reason"),
    [
        (ObjectType.QLOCAL, "A B", {}, MQRCCF_OBJECT_NAME_ERROR),
        (ObjectType.QLOCAL, "", {}, MQRCCF_OBJECT_NAME_ERROR),
        (ObjectType.QLOCAL, "X" * 49, {}, MQRCCF_OBJECT_NAME_ERROR),
        (ObjectType.CHANNEL, "X" * 21, {"CHLTYPE": "RCVR"}, MQRCCF_OBJECT_NAME_ERROR),
        (ObjectType.SUB, " ", {}, MQRCCF_OBJECT_NAME_ERROR),
        (ObjectType.QLOCAL, "A", {"COLOUR": "red"}, MQRCCF_CFIN_PARM_ID_ERROR),
        (ObjectType.QLOCAL, "A", {"MAXDEPTH": -1}, MQRCCF_ATTR_VALUE_ERROR),
        (ObjectType.QLOCAL, "A", {"DEFTYPE": 2}, MQRCCF_ATTR_VALUE_FIXED),
        (ObjectType.QLOCAL, "A", {"CURDEPTH": 5}, MQRCCF_ATTR_VALUE_FIXED),
        (ObjectType.CHANNEL, "A", {}, MQRCCF_PARM_MISSING),
        (ObjectType.CHANNEL, "A", {"CHLTYPE": "SVRCONN", "XMITQ": "X"}, MQRCCF_KWD_VALUE_WRONG_TYPE),
    ],
)
def test_what_cannot_be_made(object_type: ObjectType, name: str, given: dict[str, Value], reason: int) -> None:
    with pytest.raises(MQError) as caught:
        new_definition(object_type, name, given)
    assert caught.value.reason == reason


def test_like_must_be_of_the_same_type() -> None:
    with pytest.raises(MQError) as caught:
        new_definition(ObjectType.QMODEL, "M", {}, like=local())
    assert caught.value.reason == MQRCCF_LIKE_OBJECT_WRONG_TYPE


def test_subscriptions_go_by_any_text() -> None:
    given: dict[str, Value] = {"TOPICSTR": "a/b", "DEST": "Q"}
    assert new_definition(ObjectType.SUB, "prices: all of them", given).name == "prices: all of them"


# -- changing ----------------------------------------------------------------------------------------------------------


def test_a_change_makes_another_definition() -> None:
    before = local(MAXDEPTH=10)
    kept = dict(before.attributes)
    after = before.with_changes({"MAXDEPTH": 20, "GET": "DISABLED"}, date="2026-04-01", time="01.02.03")
    assert before.attributes == kept
    assert (after.attributes["MAXDEPTH"], after.attributes["GET"]) == (20, 1)
    assert (after.attributes["ALTDATE"], after.attributes["ALTTIME"]) == ("2026-04-01", "01.02.03")
    assert (after.attributes["CRDATE"], after.name) == (DAY, "ORDERS")


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"MAXDEPTH": -1}, MQRCCF_ATTR_VALUE_ERROR),
        ({"COLOUR": 1}, MQRCCF_CFIN_PARM_ID_ERROR),
        ({"DEFTYPE": 2}, MQRCCF_ATTR_VALUE_FIXED),
        ({"MAXDEPTH": 9, "QDEPTHHI": 10}, MQRCCF_Q_ATTR_CONFLICT),
    ],
)
def test_a_refused_change_changes_nothing(changes: dict[str, Value], reason: int) -> None:
    queue = local()
    kept = dict(queue.attributes)
    with pytest.raises(MQError) as caught:
        queue.with_changes(changes)
    assert caught.value.reason == reason
    assert queue.attributes == kept


def test_a_channel_keeps_its_type() -> None:
    channel = new_definition(ObjectType.CHANNEL, "TO.B", {"CHLTYPE": "RCVR"})
    assert same(channel.with_changes({"CHLTYPE": "RCVR"}), channel)
    with pytest.raises(MQError) as caught:
        channel.with_changes({"CHLTYPE": "SVRCONN"})
    assert caught.value.reason == MQRCCF_ATTR_VALUE_FIXED
    with pytest.raises(MQError) as caught:
        channel.with_changes({"XMITQ": "B"})
    assert caught.value.reason == MQRCCF_KWD_VALUE_WRONG_TYPE


# -- rules between attributes ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("object_type", "given", "reason"),
    [
        (ObjectType.QLOCAL, {"QDEPTHHI": 19}, MQRCCF_Q_ATTR_CONFLICT),
        (ObjectType.QMODEL, {"QDEPTHLO": 81}, MQRCCF_Q_ATTR_CONFLICT),
        (ObjectType.QMODEL, {"DEFPSIST": "YES"}, MQRCCF_Q_ATTR_CONFLICT),
        (ObjectType.QMODEL, {"INDXTYPE": "MSGTOKEN"}, MQRCCF_Q_ATTR_CONFLICT),
        (ObjectType.QLOCAL, {"CLUSTER": "C", "CLUSNL": "N"}, MQRCCF_CLUSTER_NAME_CONFLICT),
        (ObjectType.QALIAS, {"CLUSTER": "C", "CLUSNL": "N"}, MQRCCF_CLUSTER_NAME_CONFLICT),
        (ObjectType.QLOCAL, {"CLUSTER": "C", "USAGE": "XMITQ"}, MQRCCF_CLUSTER_Q_USAGE_ERROR),
        (ObjectType.QLOCAL, {"STREAMQ": "X"}, MQRCCF_STREAMQ_DEST_CONFLICT),
        (ObjectType.QLOCAL, {"STREAMQ": "S", "USAGE": "XMITQ"}, MQRCCF_STREAMQ_CONFLICT),
        (ObjectType.QMGR, {"REPOS": "C", "REPOSNL": "N"}, MQRCCF_REPOS_NAME_CONFLICT),
        (ObjectType.QMGR, {"DEFXMITQ": "SYSTEM.CLUSTER.TRANSMIT.QUEUE"}, MQRCCF_DEF_XMIT_Q_CLUS_ERROR),
        (ObjectType.CHANNEL, {"CHLTYPE": "SDR", "CONNAME": "b"}, MQRCCF_XMIT_Q_NAME_ERROR),
        (ObjectType.CHANNEL, {"CHLTYPE": "SDR", "XMITQ": "B"}, MQRCCF_MISSING_CONN_NAME),
        (ObjectType.CHANNEL, {"CHLTYPE": "CLUSRCVR", "CLUSTER": "C", "CLUSNL": "N"}, MQRCCF_CLUSTER_NAME_CONFLICT),
        (ObjectType.CHANNEL, {"CHLTYPE": "SVR"}, MQRCCF_XMIT_Q_NAME_ERROR),
        (ObjectType.CHANNEL, {"CHLTYPE": "RQSTR"}, MQRCCF_MISSING_CONN_NAME),
        (ObjectType.CHANNEL, {"CHLTYPE": "SVR", "XMITQ": "B", "COMPMSG": ("RLE", "ANY")}, MQRCCF_ATTR_VALUE_ERROR),
        (ObjectType.CHANNEL, {"CHLTYPE": "SVR", "XMITQ": "B", "MCANAME": "AGENT"}, MQRCCF_MCA_NAME_ERROR),
        (ObjectType.CHANNEL, {"CHLTYPE": "RCVR", "SSLCAUTH": "NEVER"}, MQRCCF_SSL_CLIENT_AUTH_ERROR),
        (ObjectType.CHANNEL, {"CHLTYPE": "RCVR", "SSLPEER": "nothing"}, MQRCCF_SSL_PEER_NAME_ERROR),
        (ObjectType.TOPIC, {}, MQRCCF_PARM_MISSING),
        (ObjectType.SUB, {"DEST": "Q"}, MQRCCF_TOPIC_STRING_NOT_FOUND),
        (ObjectType.SUB, {"TOPICSTR": "a"}, MQRCCF_DEST_NAME_ERROR),
    ],
)
def test_attributes_that_do_not_go_together(object_type: ObjectType, given: dict[str, Value], reason: int) -> None:
    with pytest.raises(MQError) as caught:
        new_definition(object_type, "X", given)
    assert caught.value.reason == reason


@pytest.mark.parametrize(
    ("object_type", "given"),
    [
        (ObjectType.QLOCAL, {"QDEPTHHI": 20}),
        (ObjectType.QMODEL, {"DEFPSIST": "YES", "DEFTYPE": "PERMDYN"}),
        (ObjectType.QLOCAL, {"STREAMQ": "S"}),
        (ObjectType.CHANNEL, {"CHLTYPE": "SDR", "CONNAME": "b(1414)", "XMITQ": "B"}),
        (ObjectType.CHANNEL, {"CHLTYPE": "SDR", "CONNAME": "b,c", "XMITQ": "B", "COMPMSG": ("LZ4FAST", "NONE")}),
        (ObjectType.CHANNEL, {"CHLTYPE": "SVR", "XMITQ": "B"}),
        (ObjectType.CHANNEL, {"CHLTYPE": "RCVR", "COMPMSG": ("ANY",)}),
        (ObjectType.CHANNEL, {"CHLTYPE": "RQSTR", "CONNAME": "b", "COMPMSG": ("ANY",)}),
        (ObjectType.SUB, {"TOPICOBJ": "T", "DESTCLAS": "MANAGED"}),
    ],
)
def test_attributes_that_just_go_together(object_type: ObjectType, given: dict[str, Value]) -> None:
    assert new_definition(object_type, "X", given).name == "X"


# -- bytes -------------------------------------------------------------------------------------------------------------


@given(DEFINITIONS)
def test_encoded_and_back(definition: Definition) -> None:
    assert same(Definition.decode(definition.encode()), definition)


def test_what_a_later_release_added_is_kept() -> None:
    later = Definition(ObjectType.QLOCAL, "Q", {"MAXDEPTH": 5, "FRAGRANCE": "rose", "HUES": ("a", "b")})
    assert same(Definition.decode(later.encode()), later)


def test_the_bytes_are_stable() -> None:
    """A release reads what an earlier one wrote: this is what the first one writes."""
    definition = Definition(ObjectType.QLOCAL, "Q", {"GET": -1, "DESCR": "ü", "N": ("a", "")})
    assert definition.encode() == bytes.fromhex(
        "01 0600 514c4f43414c 0100 51 0300"
        "0300 474554 00 ffffffffffffffff"
        "0500 4445534352 01 0200 c3bc"
        "0100 4e 02 0200 0100 61 0000"
    )


@given(DEFINITIONS, st.data())
def test_damaged_bytes_are_refused_or_read(definition: Definition, data: st.DataObject) -> None:
    damaged = bytearray(definition.encode())
    for _ in range(data.draw(st.integers(1, 4))):
        damaged[data.draw(st.integers(0, len(damaged) - 1))] = data.draw(st.integers(0, 255))
    try:
        read = Definition.decode(bytes(damaged))
    except ValueError:
        return
    assert read.encode() == bytes(damaged)


@given(st.binary(max_size=200))
def test_any_bytes_are_refused_or_read(data: bytes) -> None:
    try:
        read = Definition.decode(data)
    except ValueError:
        return
    assert read.encode() == data


def test_every_cut_is_refused() -> None:
    whole = local(DESCR="incoming").encode()
    for length in range(len(whole)):
        with pytest.raises(ValueError, match="cut off"):
            Definition.decode(whole[:length])
    with pytest.raises(ValueError, match="behind the end"):
        Definition.decode(whole + b"\0")


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        ("02 0600 514c4f43414c 0000 0000", "version 2"),
        ("01 0600 514c4f43414d 0000 0000", "QLOCAM"),
        ("01 0600 514c4f43414c 0000 0100 0100 41 03", "unknown kind 3"),
        ("01 0600 514c4f43414c 0000 0200 0100 41 01 0000 0100 41 01 0000", "A twice"),
        ("01 0600 514c4f43414c 0100 ff 0000", "utf-8"),
    ],
)
def test_damage_is_named(damage: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Definition.decode(bytes.fromhex(damage))


# -- the objects of a new queue manager --------------------------------------------------------------------------------


def test_system_objects_are_unique_and_survive_their_bytes() -> None:
    objects = system_definitions(DAY, NOON)
    queues = (ObjectType.QLOCAL, ObjectType.QMODEL, ObjectType.QALIAS, ObjectType.QREMOTE)
    spaces = Counter(("queue" if o.object_type in queues else o.object_type.value, o.name) for o in objects)
    assert [key for key, count in spaces.items() if count > 1] == []
    assert all(o.name.startswith("SYSTEM.") for o in objects)
    assert all(same(Definition.decode(o.encode()), o) for o in objects)
    assert all(o.attributes["ALTDATE"] == DAY for o in objects)


def test_default_objects_hold_the_defaults() -> None:
    named = {o.name: o for o in system_definitions()}
    for name, object_type in (
        ("SYSTEM.DEFAULT.LOCAL.QUEUE", ObjectType.QLOCAL),
        ("SYSTEM.DEFAULT.MODEL.QUEUE", ObjectType.QMODEL),
        ("SYSTEM.DEFAULT.ALIAS.QUEUE", ObjectType.QALIAS),
        ("SYSTEM.DEFAULT.REMOTE.QUEUE", ObjectType.QREMOTE),
        ("SYSTEM.DEFAULT.PROCESS", ObjectType.PROCESS),
        ("SYSTEM.DEFAULT.NAMELIST", ObjectType.NAMELIST),
        ("SYSTEM.DEFAULT.TOPIC", ObjectType.TOPIC),
    ):
        assert named[name].object_type == object_type
        assert named[name].attributes | {"DESCR": ""} == defaults(object_type)


def test_what_the_queue_manager_refers_to_is_there() -> None:
    named = {o.name: o for o in system_definitions()}
    manager = defaults(ObjectType.QMGR)
    assert named[str(manager["COMMANDQ"])].object_type == ObjectType.QLOCAL
    assert named[str(manager["CONNAUTH"])].object_type == ObjectType.AUTHINFO
    base = named["SYSTEM.BASE.TOPIC"].attributes
    assert named[str(base["MDURMDL"])].object_type == ObjectType.QMODEL
    assert named[str(base["MNDURMDL"])].object_type == ObjectType.QMODEL
    assert named["SYSTEM.CLUSTER.TRANSMIT.QUEUE"].attributes["USAGE"] == 1


def test_the_base_topic_leaves_nothing_to_a_parent() -> None:
    base = next(o for o in system_definitions() if o.name == "SYSTEM.BASE.TOPIC")
    assert [name for name, text in describe(base) if text == "ASPARENT"] == []


def test_describe_follows_the_table() -> None:
    order = [a.name for a in attributes_of(ObjectType.QLOCAL)]
    names = [name for name, _ in describe(local())]
    assert names == [name for name in order if name in set(names)]
    assert dict(describe(local()))["DEFPSIST"] == "NO"
