"""Messages that a sending MCA cannot send: dead-lettering and operator messages."""

from __future__ import annotations

import pytest
from tests.world.world import World

from ostler.channel.negotiation import ChannelSettings
from ostler.channel.send_checks import Undeliverable, dead_letter_unsendable, refusal_reason
from ostler.engine.message.message import MD_BYTES
from ostler.engine.queue.get_request import GetRequest
from ostler.model import constants as mq
from ostler.model.attributes import ObjectType, Value
from ostler.model.definitions import new_definition
from ostler.model.structures.md import MQMD
from ostler.wire.channel_frames import XQH_BYTES


def descriptor(version: int, **fields: object) -> bytes:
    data = bytearray(MD_BYTES)
    for name, value in {"StrucId": b"MD  ", "Version": version, "Expiry": -1, "MsgType": 8, **fields}.items():
        MQMD.patch(data, name, value)  # type: ignore[arg-type]
    return bytes(data)


def message(report: int, persistence: int) -> bytes:
    inner = descriptor(1, Report=report, Persistence=persistence, Format=b"MQSTR   ")
    return b"XQH \x01\0\0\0" + b"FAR".ljust(48) + b"THERE".ljust(48) + inner[: XQH_BYTES - 104] + b"the data"


def give_up(report: int, persistence: int, **attributes: Value) -> Undeliverable:
    """A message that is too long, of a queue manager without a dead-letter queue."""
    world = World.create(1)
    world.define_queue("WAY")
    connection = world.connect("channel")
    handle = world.open(connection, "WAY", mq.MQOO_INPUT_EXCLUSIVE)
    request = GetRequest(connection, handle, 0, 1000)
    request.md = descriptor(2, Format=mq.MQFMT_XMIT_Q_HEADER)
    request.body = message(report, persistence)
    known: dict[str, Value] = {"CHLTYPE": mq.MQCHT_SENDER, "CONNAME": "there", "XMITQ": "WAY", **attributes}
    settings = ChannelSettings(new_definition(ObjectType.CHANNEL, "TO.THERE", known))
    unit = world.engine.new_unit_of_work() if persistence else None
    return dead_letter_unsendable(world.engine, connection, settings, request, mq.MQRC_MSG_TOO_BIG_FOR_CHANNEL, unit)


@pytest.mark.parametrize("usedlq", [mq.MQUSEDLQ_YES, mq.MQUSEDLQ_NO])
def test_what_wants_to_be_discarded_is_and_is_told_so(usedlq: int) -> None:
    done = give_up(mq.MQRO_DISCARD_MSG, 1, USEDLQ=usedlq)
    assert done.is_handled
    assert done.text == (
        "AMQ9544W: Channel TO.THERE has discarded a message that it cannot send: MQRC_MSG_TOO_BIG_FOR_CHANNEL (2218)."
    )


def test_without_a_dead_letter_queue_a_persistent_message_ends_the_channel() -> None:
    done = give_up(0, 1)
    assert not done.is_handled
    assert "no dead-letter queue takes it. Raise MAXMSGL at both ends, or take it off WAY" in done.text


def test_what_is_not_persistent_does_not() -> None:
    done = give_up(0, 0)
    assert done.is_handled
    assert "has discarded" in done.text


def test_what_can_be_sent() -> None:
    md = descriptor(2, Format=mq.MQFMT_XMIT_Q_HEADER)
    body = message(0, 1)
    assert refusal_reason(md, body, 8) == 0
    assert refusal_reason(md, body, 7) == mq.MQRC_MSG_TOO_BIG_FOR_CHANNEL
    assert refusal_reason(md, body[:-9], 8) == mq.MQRC_XQH_ERROR
    assert refusal_reason(md, b"DLH " + body[4:], 8) == mq.MQRC_XQH_ERROR
    assert refusal_reason(descriptor(2, Format=mq.MQFMT_STRING), body, 8) == mq.MQRC_XQH_ERROR
