"""Checks of a sending MCA before it sends a message, and the dead-lettering of messages that fail them."""

from __future__ import annotations

from typing import final

from mypy_extensions import i64

from ostler.channel.dead_letter import DISCARDED
from ostler.channel.delivery import dead_letter_unsent
from ostler.channel.negotiation import ChannelSettings
from ostler.engine.connection import Connection
from ostler.engine.core import Engine
from ostler.engine.message.message import FORMAT_AT
from ostler.engine.outcomes import PutOutcome
from ostler.engine.queue.get_request import GetRequest
from ostler.engine.unit_of_work import UnitOfWork
from ostler.model import constants as mq
from ostler.model.reasons import describe
from ostler.wire.channel_frames import XQH_BYTES


def refusal_reason(md: bytes, body: bytes, longest: i64) -> i64:
    """Return the reason code for which a transmission queue message cannot be sent, or 0.

    `longest` is the negotiated maximum message length (MAXMSGL).
    """
    if md[FORMAT_AT : FORMAT_AT + 8] != mq.MQFMT_XMIT_Q_HEADER or len(body) < XQH_BYTES or body[:4] != b"XQH ":
        return mq.MQRC_XQH_ERROR
    return mq.MQRC_MSG_TOO_BIG_FOR_CHANNEL if len(body) - XQH_BYTES > longest else 0


@final
class Undeliverable:
    """The handling of a message that cannot be sent. `is_handled`: the channel continues without the message."""

    def __init__(self, is_handled: bool, text: str) -> None:
        self.is_handled = is_handled
        self.text = text


def dead_letter_unsendable(
    engine: Engine,
    connection: Connection,
    settings: ChannelSettings,
    request: GetRequest,
    reason: i64,
    unit: UnitOfWork | None,
    outcomes: list[PutOutcome] | None = None,
) -> Undeliverable:
    """Dead-letter a message that cannot be sent, within the unit of work that it was got in.

    The outcome of a put to a shared dead-letter queue is added to `outcomes`.
    """
    name = settings.name
    queue = settings.transmission_queue
    why = f"{describe(reason).name} ({reason})"
    refused, disposal = dead_letter_unsent(
        engine, connection, request.md, request.body, reason, unit, settings.definition, queue, outcomes
    )
    if refused == 0 and disposal == DISCARDED:
        return Undeliverable(True, f"AMQ9544W: Channel {name} has discarded a message that it cannot send: {why}.")
    if refused == 0:
        return Undeliverable(True, f"AMQ9544W: Channel {name} has put a message on {engine.dead_letter_queue}: {why}.")
    if unit is None:
        return Undeliverable(True, f"AMQ9544E: Channel {name} has discarded a non-persistent message: {why}.")
    advice = "Raise MAXMSGL at both ends, or take" if reason == mq.MQRC_MSG_TOO_BIG_FOR_CHANNEL else "Take"
    text = f"AMQ9544E: Channel {name} cannot send a message: {why}, and no dead-letter queue takes it. "
    return Undeliverable(False, f"{text}{advice} it off {queue}; then START.")
