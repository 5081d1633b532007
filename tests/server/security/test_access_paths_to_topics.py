"""Access paths to publications and subscriptions for a connected user without authority to the topic."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from tests.world.hostile_frames import descriptor
from tests.world.wire_bench import Answer, Peer, dial, get, numbers, put

from ostler.model import constants as mq
from ostler.testing import queue_manager
from ostler.testing.running import RunningQueueManager
from ostler.wire import frames as wire
from ostler.wire.connect_frames import ConnectArguments
from ostler.wire.object_frames import OpenArguments, Put1Arguments, decode_open_reply
from ostler.wire.replies import decode_reply
from ostler.wire.subscribe_frames import SubscribeArguments, SubscribeReply, decode_subscribe_reply

SETUP = """
DEFINE TOPIC(PRICES) TOPICSTR('prices')
DEFINE TOPIC(SECRETS) TOPICSTR('secrets')
DEFINE QALIAS(ALIAS) TARGET(PRICES) TARGTYPE(TOPIC)
DEFINE QLOCAL(MINE)
DEFINE QLOCAL(THEIRS)
SET AUTHREC OBJTYPE(QMGR) GROUP('nobody') AUTHADD(CONNECT)
SET AUTHREC PROFILE(PRICES) OBJTYPE(TOPIC) PRINCIPAL('ann') AUTHADD(SUB,RESUME)
SET AUTHREC PROFILE(PRICES) OBJTYPE(TOPIC) PRINCIPAL('bob') AUTHADD(PUB)
SET AUTHREC PROFILE(PRICES) OBJTYPE(TOPIC) PRINCIPAL('eve') AUTHADD(SUB,RESUME)
SET AUTHREC PROFILE(ALIAS) OBJTYPE(QUEUE) PRINCIPAL('eve') AUTHADD(PUT)
SET AUTHREC PROFILE(MINE) OBJTYPE(QUEUE) PRINCIPAL('ann') AUTHADD(GET,PUT)
SET AUTHREC PROFILE(THEIRS) OBJTYPE(QUEUE) PRINCIPAL('ann') AUTHADD(GET)
"""
MANAGED = mq.MQSO_CREATE | mq.MQSO_MANAGED
DENIED = mq.MQRC_NOT_AUTHORIZED


@pytest.fixture(scope="module")
def running() -> Iterator[RunningQueueManager]:
    with queue_manager("WAYSTOT", guarded=True, channel="APP.SVRCONN") as found:
        yield found


@pytest.fixture
def site(running: RunningQueueManager) -> Iterator[RunningQueueManager]:
    with running.isolated(SETUP):
        yield running


def let_in(site: RunningQueueManager, user: str) -> Peer:
    made = dial((site.host, site.port))
    assert made.hello(site.channel).completion == 0
    asked = ConnectArguments()
    asked.user = user
    assert made.ask(wire.CONNECT, asked.encode(), 2).completion == mq.MQCC_OK
    return made


def subscribed(
    peer: Peer, topic: str, options: int = MANAGED, name: str = "", destination: int = 0, user: str = ""
) -> Answer:
    asked = SubscribeArguments(options)
    asked.topic_string, asked.name, asked.destination, asked.alternate_user = topic, name, destination, user
    return peer.ask(wire.SUBSCRIBE, asked.encode(), 5)


def found(answer: Answer) -> SubscribeReply:
    assert answer.reason == 0, answer.text
    return decode_subscribe_reply(decode_reply(answer.payload).reader)


def target(topic: str, options: int = 0, name: str = "") -> OpenArguments:
    asked = OpenArguments(mq.MQOT_TOPIC, name, options)
    asked.object_string = topic
    return asked


def published(peer: Peer, topic: str, name: str = "") -> tuple[int, int, int]:
    """The reasons of publishing to an open topic, at once, and at once with a level."""
    payload = Put1Arguments(target(topic, 0, name), 0, 0, descriptor(), b"", b"x").encode()
    opened = peer.ask(wire.OPEN, target(topic, mq.MQOO_OUTPUT, name).encode())
    reason = opened.reason
    if reason == 0:
        hobj = int(decode_open_reply(decode_reply(opened.payload).reader).hobj)
        reason = peer.ask(wire.PUT, put(hobj, b"x")).reason
    return reason, peer.ask(wire.PUT1, payload).reason, peer.ask(wire.PUBLISH1, numbers(5) + payload).reason


def test_authority_to_publish(site: RunningQueueManager) -> None:
    ann, bob = let_in(site, "ann"), let_in(site, "bob")
    assert published(bob, "prices/fruit") == (0, 0, 0)
    assert published(bob, "fruit", "PRICES") == (0, 0, 0)
    assert published(bob, "secrets/fruit") == (DENIED,) * 3
    assert published(bob, "price") == (DENIED,) * 3
    assert published(ann, "prices/fruit") == (DENIED,) * 3


def test_authority_to_subscribe(site: RunningQueueManager) -> None:
    ann, bob = let_in(site, "ann"), let_in(site, "bob")
    assert found(subscribed(ann, "prices/#")).destination.hobj
    assert subscribed(ann, "secrets").reason == DENIED
    assert subscribed(ann, "#").reason == DENIED
    assert subscribed(bob, "prices/#").reason == DENIED


def test_an_alias_is_enough_to_publish(site: RunningQueueManager) -> None:
    eve, ann = let_in(site, "eve"), let_in(site, "ann")
    made = found(subscribed(ann, "prices"))
    hobj = eve.open("ALIAS", mq.MQOO_OUTPUT)
    assert eve.ask(wire.PUT, put(hobj, b"round about")).reason == 0
    assert ann.ask(wire.GET, get(int(made.destination.hobj))).body == b"round about"
    assert published(eve, "prices") == (DENIED,) * 3


def test_publications_go_only_where_the_subscriber_may_put(site: RunningQueueManager) -> None:
    ann = let_in(site, "ann")
    mine = ann.open("MINE", mq.MQOO_INPUT_SHARED)
    theirs = ann.open("THEIRS", mq.MQOO_INPUT_SHARED)
    assert subscribed(ann, "prices", mq.MQSO_CREATE, destination=theirs).reason == DENIED
    assert subscribed(ann, "prices", mq.MQSO_CREATE, destination=mine).reason == 0


def test_subscription_of_somebody_else(site: RunningQueueManager) -> None:
    durable = MANAGED | mq.MQSO_DURABLE
    ann, eve = let_in(site, "ann"), let_in(site, "eve")
    for name, users in (("ANNS", mq.MQSO_FIXED_USERID), ("EVERYBODYS", mq.MQSO_ANY_USERID)):
        made = found(subscribed(ann, "prices", durable | users, name))
        assert ann.ask(wire.CLOSE, numbers(int(made.hsub), 0)).reason == 0
        assert ann.ask(wire.CLOSE, numbers(int(made.destination.hobj), 0)).reason == 0
    resume = mq.MQSO_RESUME | mq.MQSO_MANAGED | mq.MQSO_DURABLE
    assert subscribed(eve, "prices", resume, "ANNS").reason == mq.MQRC_IDENTITY_MISMATCH
    assert subscribed(eve, "prices", resume | mq.MQSO_ANY_USERID, "EVERYBODYS").reason == 0
    assert subscribed(let_in(site, "bob"), "prices", resume, "ANNS").reason in (DENIED, mq.MQRC_IDENTITY_MISMATCH)
    assert subscribed(ann, "prices", resume, "ANNS").reason == 0


def test_managed_queue_is_its_subscribers_alone(site: RunningQueueManager) -> None:
    ann, eve = let_in(site, "ann"), let_in(site, "eve")
    name = found(subscribed(ann, "prices")).destination.name
    for options in (mq.MQOO_INPUT_SHARED, mq.MQOO_BROWSE, mq.MQOO_OUTPUT):
        assert eve.ask(wire.OPEN, OpenArguments(mq.MQOT_Q, name, options).encode()).reason == DENIED


def test_subscribing_as_somebody_else(site: RunningQueueManager) -> None:
    bob = let_in(site, "bob")
    options = MANAGED | mq.MQSO_ALTERNATE_USER_AUTHORITY
    assert subscribed(bob, "prices", options, user="ann").reason == DENIED
    site.mqsc("SET AUTHREC OBJTYPE(QMGR) PRINCIPAL('bob') AUTHADD(ALTUSR)")
    assert subscribed(bob, "prices", options, user="ann").reason == 0
    assert subscribed(bob, "secrets", options, user="ann").reason == DENIED
