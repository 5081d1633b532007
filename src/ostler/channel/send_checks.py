"""Which messages a sending end cannot send, what becomes of them, and what operators are told of it."""

from __future__ import annotations

from typing import final

from mypy_extensions import i64

from ostler.channel.dead_letter import DISCARDED
from ostler.channel.delivery import dead_letter_unsent
from ostler.channel.negotiation import ChannelSettings
from ostler.engine.connection import Connection
from ostler.engine.core import Engine
from ostler.engine.message.message import FORMAT_AT
from ostler.engine.queue.get_request import GetRequest
from ostler.engine.unit_of_work import UnitOfWork
from ostler.model.constants import MQFMT_XMIT_Q_HEADER, MQRC_MSG_TOO_BIG_FOR_CHANNEL, MQRC_XQH_ERROR
from ostler.model.reasons import describe
from ostler.wire.channel_frames import XQH_BYTES


def refusal_reason(md: bytes, body: bytes, longest: i64) -> i64:
    """Why a message of a transmission queue cannot go over a channel that takes messages so long; 0 when it can."""
    if md[FORMAT_AT : FORMAT_AT + 8] != MQFMT_XMIT_Q_HEADER or len(body) < XQH_BYTES or body[:4] != b"XQH ":
        return MQRC_XQH_ERROR
    return MQRC_MSG_TOO_BIG_FOR_CHANNEL if len(body) - XQH_BYTES > longest else 0


@final
class Undeliverable:
    """A message that was not sent. `is_done`: the channel goes on without it; `text` says what became of it."""

    def __init__(self, is_done: bool, text: str) -> None:
        self.is_done = is_done
        self.text = text


def dead_letter_unsendable(
    engine: Engine,
    connection: Connection,
    settings: ChannelSettings,
    request: GetRequest,
    reason: i64,
    unit: UnitOfWork | None,
) -> Undeliverable:
    """What cannot be sent goes to the dead-letter queue here, within the unit of work that it was got in."""
    name = settings.name
    way = settings.transmission_queue
    why = f"{describe(reason).name} ({reason})"
    refused, disposal = dead_letter_unsent(
        engine, connection, request.md, request.body, reason, unit, settings.definition, way
    )
    if refused == 0 and disposal == DISCARDED:
        return Undeliverable(True, f"AMQ9544W: Channel {name} has discarded a message that it cannot send: {why}.")
    if refused == 0:
        return Undeliverable(True, f"AMQ9544W: Channel {name} has put a message on {engine.dead_letter_queue}: {why}.")
    if unit is None:
        return Undeliverable(True, f"AMQ9544E: Channel {name} has discarded a non-persistent message: {why}.")
    advice = "Raise MAXMSGL at both ends, or take" if reason == MQRC_MSG_TOO_BIG_FOR_CHANNEL else "Take"
    text = f"AMQ9544E: Channel {name} cannot send a message: {why}, and no dead-letter queue takes it. "
    return Undeliverable(False, f"{text}{advice} it off {way}; then START.")
