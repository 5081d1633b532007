"""What partners say when they will not, or not any more: for operators, and whether it is worth another try."""

from __future__ import annotations

from typing import Final, final

from librt.strings import read_i32_le
from mypy_extensions import i64

from ostler.channel.port import EndReason
from ostler.model.constants import (
    MQCC_OK,
    MQRC_CONNECTION_QUIESCING,
    MQRC_CONNECTION_STOPPING,
    MQRC_NOT_AUTHORIZED,
    MQRC_Q_MGR_NAME_ERROR,
    MQRC_Q_MGR_QUIESCING,
    MQRC_Q_MGR_STOPPING,
    MQRC_SSL_INITIALIZATION_ERROR,
    MQRC_SSL_PEER_NAME_MISMATCH,
    MQRC_UNKNOWN_CHANNEL_NAME,
)
from ostler.wire.frames import MalformedFrame

# What a get from the transmission queue fails with when the queue manager ends.
ENDING_REASONS: Final = (
    MQRC_CONNECTION_QUIESCING,
    MQRC_Q_MGR_QUIESCING,
    MQRC_CONNECTION_STOPPING,
    MQRC_Q_MGR_STOPPING,
)
# What a partner refuses a channel with that is not there, is of the wrong type, or does not go with this one.
_FOR_PEOPLE: Final = (
    MQRC_UNKNOWN_CHANNEL_NAME,
    MQRC_NOT_AUTHORIZED,
    MQRC_Q_MGR_NAME_ERROR,
    MQRC_SSL_INITIALIZATION_ERROR,
    MQRC_SSL_PEER_NAME_MISMATCH,
)
_TEXTS_FOR_PEOPLE: Final = ("AMQ9505E", "AMQ9526E", "AMQ9547E")


def quote_partner(partner: str, text: str) -> str:
    """What a partner said of the end, as an operator here is told."""
    number, colon, rest = text.partition(": ")
    # What is "here" to the partner is there: so it is said who speaks.
    if colon and number.startswith("AMQ"):
        return f"{number}: {partner} says: {rest}"
    return f"AMQ9999E: {partner} ended the channel: {text}"


def refusal_text(channel: str, reason: i64, text: str) -> str:
    """What a partner refused a channel with, as an operator here is told, and what to do about it."""
    if text.startswith("AMQ"):
        return quote_partner("The partner", text)
    if reason == MQRC_UNKNOWN_CHANNEL_NAME:
        return f"AMQ9520E: Channel {channel} is not defined at the partner. Define it there, to go with this one."
    if reason == MQRC_NOT_AUTHORIZED:
        return f"AMQ9557E: The partner lets nobody in by channel {channel} from here: its error log says which rule."
    return f"AMQ9999E: The partner refused channel {channel}: {text}"


def is_permanent(reason: i64, text: str) -> bool:
    """Whether trying again is no use before somebody has done something."""
    return reason in _FOR_PEOPLE or text[:8] in _TEXTS_FOR_PEOPLE


@final
class PartnerRefusal:
    """What a partner answered a hello with that it does not like."""

    def __init__(self, end_reason: EndReason, reason: i64, text: str) -> None:
        self.end_reason = end_reason
        self.reason: i64 = reason
        self.text = text


def refusal_in(payload: bytes, channel: str) -> PartnerRefusal | None:
    """The refusal that the reply to a hello is; None for a welcome. MalformedFrame."""
    if len(payload) < 8:
        raise MalformedFrame("a reply is too short")
    if read_i32_le(payload, 0) == MQCC_OK:
        return None
    reason: i64 = i64(read_i32_le(payload, 4))
    text = refusal_text(channel, reason, payload[8:].decode("utf-8", "replace"))
    return PartnerRefusal(EndReason.PERMANENT if is_permanent(reason, text) else EndReason.RETRYABLE, reason, text)
