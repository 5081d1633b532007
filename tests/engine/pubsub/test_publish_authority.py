"""Authority to publish and subscribe: granted by the topic object at the topic or any above it."""

from __future__ import annotations

import pytest
from tests.world.topic_world import TopicWorld

from ostler.engine import objects
from ostler.engine.connection import Connection
from ostler.engine.open import close_object
from ostler.model.attributes import ObjectType
from ostler.model.authorities import PUB, PUT, RESUME, SETID, SUB
from ostler.model.constants import (
    MQOO_INPUT_SHARED,
    MQOO_OUTPUT,
    MQOT_Q,
    MQOT_TOPIC,
    MQRC_IDENTITY_MISMATCH,
    MQRC_NOT_AUTHORIZED,
    MQSO_ANY_USERID,
    MQSO_CREATE,
    MQSO_DURABLE,
    MQSO_MANAGED,
    MQSO_RESUME,
    MQSO_SET_IDENTITY_CONTEXT,
)
from ostler.model.definitions import Definition, new_definition
from ostler.model.errors import MQError
from ostler.model.guard import Guard

DURABLE = MQSO_CREATE | MQSO_MANAGED | MQSO_DURABLE


class Grants(Guard):
    """A guard with fixed answers."""

    def __init__(self) -> None:
        self.granted: dict[tuple[str, int, str], int] = {}

    def authorities(self, user: str, object_type: int, name: str) -> int:
        return self.granted.get((user, object_type, name), 0)

    def is_administrator(self, user: str) -> bool:
        return False

    def on_defined(self, definition: Definition) -> None:
        return None

    def on_deleted(self, definition: Definition) -> None:
        return None


@pytest.fixture
def world() -> TopicWorld:
    world = TopicWorld.create()
    world.prepare_topics()
    world.define_topic("TOP", "a")
    world.define_topic("BELOW", "a/b/c")
    return world


@pytest.fixture
def grants(world: TopicWorld) -> Grants:
    grants = Grants()
    world.engine.guard = grants
    return grants


def connect(world: TopicWorld, user: str) -> Connection:
    connection = world.connect()
    connection.user = user
    connection.is_privileged = False
    return connection


def refused(call: object, *given: object, **named: object) -> int:
    assert callable(call)
    with pytest.raises(MQError) as refusal:
        call(*given, **named)
    return refusal.value.reason


def test_an_object_above_gives_what_one_below_does_not(world: TopicWorld, grants: Grants) -> None:
    c = connect(world, "u")
    for topic in ("a", "a/b/c/d", "elsewhere"):
        assert refused(world.open_topic, c, topic) == MQRC_NOT_AUTHORIZED
        assert refused(world.subscribe, c, topic) == MQRC_NOT_AUTHORIZED
    grants.granted["u", MQOT_TOPIC, "BELOW"] = PUB
    assert refused(world.open_topic, c, "a/b") == MQRC_NOT_AUTHORIZED
    world.open_topic(c, "a/b/c/d")
    grants.granted["u", MQOT_TOPIC, "TOP"] = PUB | SUB
    world.open_topic(c, "a/b")
    world.subscribe(c, "a/b/c/d")
    assert refused(world.subscribe, c, "elsewhere") == MQRC_NOT_AUTHORIZED
    assert len(world.engine.topics.subscriptions) == 1


def test_authority_on_an_alias_queue_suffices_to_publish(world: TopicWorld, grants: Grants) -> None:
    objects.define(world.engine, new_definition(ObjectType.QALIAS, "ALIAS", {"TARGET": "TOP", "TARGTYPE": MQOT_TOPIC}))
    c = connect(world, "u")
    assert refused(world.open, c, "ALIAS", MQOO_OUTPUT) == MQRC_NOT_AUTHORIZED
    grants.granted["u", MQOT_Q, "ALIAS"] = PUT
    assert world.put(c, world.open(c, "ALIAS", MQOO_OUTPUT), b"").reason == 0


def test_a_provided_destination_needs_put_authority(world: TopicWorld, grants: Grants) -> None:
    world.define_queue("Q")
    handle = world.open(world.connect(), "Q", MQOO_INPUT_SHARED)
    c = connect(world, "u")
    grants.granted["u", MQOT_TOPIC, "TOP"] = SUB
    assert refused(world.subscribe, c, "a", MQSO_CREATE, destination=handle) == MQRC_NOT_AUTHORIZED
    grants.granted["u", MQOT_Q, "Q"] = PUT
    world.subscribe(c, "a", MQSO_CREATE, destination=handle)
    options = MQSO_CREATE | MQSO_SET_IDENTITY_CONTEXT
    assert refused(world.subscribe, c, "a", options, destination=handle) == MQRC_NOT_AUTHORIZED
    grants.granted["u", MQOT_Q, "Q"] = PUT | SETID
    world.subscribe(c, "a", options, destination=handle)


def test_resuming_needs_its_own_authority(world: TopicWorld, grants: Grants) -> None:
    grants.granted["u", MQOT_TOPIC, "TOP"] = SUB
    c = connect(world, "u")
    mine = world.subscribe(c, "a", DURABLE, "FIXED")
    anybody = world.subscribe(c, "a", DURABLE | MQSO_ANY_USERID, "ANY")
    for each in (mine, anybody):
        close_object(world.engine, c, each.handle, 0)
    assert refused(world.subscribe, c, "", MQSO_RESUME, "FIXED") == MQRC_NOT_AUTHORIZED
    grants.granted["u", MQOT_TOPIC, "TOP"] = RESUME
    world.subscribe(c, "", MQSO_RESUME, "FIXED")
    other = connect(world, "other")
    assert refused(world.subscribe, other, "", MQSO_RESUME, "ANY") == MQRC_NOT_AUTHORIZED
    grants.granted["other", MQOT_TOPIC, "TOP"] = SUB
    world.subscribe(other, "", MQSO_RESUME, "ANY")
    world.disconnect(c)
    assert refused(world.subscribe, other, "", MQSO_RESUME, "FIXED") == MQRC_IDENTITY_MISMATCH
