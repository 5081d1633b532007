"""Shared queues as destinations: of publications, reports, dead letters and remote names."""

from __future__ import annotations

import pytest
from tests.engine.shared.test_put_get import INPUT_OUTPUT, Pair
from tests.world.world import descriptor

from ostler.engine import objects
from ostler.engine.message.message import NULL_ID
from ostler.engine.open import OpenRequest, open_object
from ostler.engine.outcomes import PutOutcome
from ostler.engine.put import put
from ostler.model import constants as mq
from ostler.model.attributes import ObjectType, Value
from ostler.model.definitions import new_definition

SUBSCRIPTION_ID = "AB" * 24


def publish(pair: Pair, body: bytes, persistence: int, options: int) -> PutOutcome:
    """Publish at the first member."""
    request = OpenRequest(mq.MQOT_TOPIC, "", mq.MQOO_OUTPUT)
    request.topic_string = "prices"
    topic = open_object(pair.a.engine, pair.at_a, request)
    md = descriptor(persistence, 0, -1, NULL_ID, NULL_ID)
    outcome = put(pair.a.engine, pair.at_a, topic, md, options, b"", body, None)
    pair.group.settle()
    return outcome


def subscribed() -> Pair:
    pair = Pair()
    attributes: dict[str, Value] = {
        "TOPICSTR": "prices",
        "DEST": "Q",
        "SUBID": SUBSCRIPTION_ID,
        "DESTCLAS": mq.MQDC_PROVIDED,
    }
    objects.define(pair.a.engine, new_definition(ObjectType.SUB, "S", attributes))
    return pair


@pytest.mark.parametrize("persistence", [0, 1])
def test_a_publication_goes_to_a_shared_queue(persistence: int) -> None:
    pair = subscribed()
    outcome = publish(pair, b"42", persistence, mq.MQPMO_NO_SYNCPOINT)
    assert outcome.reason == 0
    assert outcome.task is not None
    assert outcome.task.is_done
    got = pair.b.get(pair.at_b, pair.into)
    assert got.body == b"42"
    assert pair.a.engine.units_of_work == {}


@pytest.mark.parametrize("commits", [True, False])
def test_a_publication_in_a_unit_ends_with_it(commits: bool) -> None:
    pair = subscribed()
    assert publish(pair, b"42", 1, mq.MQPMO_SYNCPOINT).reason == 0
    assert pair.b.bodies("Q") == []
    if commits:
        assert pair.a.commit(pair.at_a)[0] == 0
    else:
        assert pair.a.back_out(pair.at_a) == 0
    assert pair.b.bodies("Q") == ([b"42"] if commits else [])
    assert pair.group.entries()["uncommitted"] == 0


def test_a_publication_that_its_member_did_not_commit_is_not_seen() -> None:
    for steps in range(8):
        pair = subscribed()
        with pair.group.hold():
            publish(pair, b"42", 1, mq.MQPMO_NO_SYNCPOINT)
            for _ in range(steps):
                pair.a.step()
            pair.a.die()
        pair.group.settle()
        counts = pair.group.entries()
        assert counts["committed"] in (0, 1)
        assert (counts["uncommitted"], counts["got"]) == (0, 0)


def test_an_alias_and_a_report_reach_a_shared_queue() -> None:
    pair = Pair()
    objects.define(pair.a.engine, new_definition(ObjectType.QALIAS, "ALIAS", {"TARGET": "Q"}))
    pair.a.define_queue("P", {"SHARE": 1})
    alias = pair.a.open(pair.at_a, "ALIAS", mq.MQOO_OUTPUT)
    assert pair.a.put(pair.at_a, alias, b"by its alias").reason == 0
    private = pair.a.open(pair.at_a, "P", INPUT_OUTPUT)
    md = bytearray(descriptor(1, 0, -1, NULL_ID, NULL_ID))
    md[8:12] = mq.MQRO_COA.to_bytes(4, "little")
    md[100:148] = b"Q".ljust(48)
    outcome = put(pair.a.engine, pair.at_a, private, bytes(md), mq.MQPMO_NO_SYNCPOINT, b"", b"reported", None)
    pair.group.settle()
    assert outcome.reason == 0
    bodies = pair.b.bodies("Q")
    assert len(bodies) == 2
    assert bodies[0] == b"by its alias"


def test_a_shared_dead_letter_queue_takes_what_cannot_be_delivered() -> None:
    pair = Pair()
    pair.a.engine.dead_letter_queue = "Q"
    pair.a.define_queue("P", {"SHARE": 1})
    private = pair.a.open(pair.at_a, "P", INPUT_OUTPUT)
    md = bytearray(descriptor(1, 0, -1, NULL_ID, NULL_ID))
    md[8:12] = mq.MQRO_COA.to_bytes(4, "little")
    md[100:148] = b"NO.SUCH.QUEUE".ljust(48)
    put(pair.a.engine, pair.at_a, private, bytes(md), mq.MQPMO_NO_SYNCPOINT, b"", b"reported", None)
    pair.group.settle()
    (dead,) = pair.b.bodies("Q")
    assert dead[:4] == b"DLH "
