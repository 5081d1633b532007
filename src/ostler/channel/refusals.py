"""Refusals by the partner: their operator messages, and the choice between retry and stop."""

from __future__ import annotations

from typing import Final, final

from librt.strings import read_i32_le
from mypy_extensions import i64

from ostler.channel.port import EndReason
from ostler.model import constants as mq
from ostler.wire.frames import MalformedFrame

# The reason codes of a get from the transmission queue while the queue manager ends.
ENDING_REASONS: Final = (
    mq.MQRC_CONNECTION_QUIESCING,
    mq.MQRC_Q_MGR_QUIESCING,
    mq.MQRC_CONNECTION_STOPPING,
    mq.MQRC_Q_MGR_STOPPING,
)
# Refusals that need an operator: the channel is not defined, has the wrong type, or does not match this one.
_PERMANENT_REASONS: Final = (
    mq.MQRC_UNKNOWN_CHANNEL_NAME,
    mq.MQRC_NOT_AUTHORIZED,
    mq.MQRC_Q_MGR_NAME_ERROR,
    mq.MQRC_SSL_INITIALIZATION_ERROR,
    mq.MQRC_SSL_PEER_NAME_MISMATCH,
)
_PERMANENT_MESSAGES: Final = ("AMQ9505E", "AMQ9526E", "AMQ9547E")


def quote_partner(partner: str, text: str) -> str:
    """Return the operator message for an error message of the partner."""
    number, colon, rest = text.partition(": ")
    # "Here" means the partner's side in such a text, so it names the partner as its source.
    if colon and number.startswith("AMQ"):
        return f"{number}: {partner} reports: {rest}"
    return f"AMQ9999E: {partner} ended the channel: {text}"


def refusal_text(channel: str, reason: i64, text: str) -> str:
    """Return the operator message for a refused channel, with advice."""
    if text.startswith("AMQ"):
        return quote_partner("The partner", text)
    if reason == mq.MQRC_UNKNOWN_CHANNEL_NAME:
        return f"AMQ9520E: Channel {channel} is not defined at the partner. Define it there, to go with this one."
    if reason == mq.MQRC_NOT_AUTHORIZED:
        return f"AMQ9557E: The partner refuses channel {channel} from here. Its error log names the rule."
    return f"AMQ9999E: The partner refused channel {channel}: {text}"


def is_permanent(reason: i64, text: str) -> bool:
    """Return True if a retry cannot succeed before an operator has acted."""
    return reason in _PERMANENT_REASONS or text[:8] in _PERMANENT_MESSAGES


@final
class PartnerRefusal:
    """The refusal of a hello by the partner."""

    def __init__(self, end_reason: EndReason, reason: i64, text: str) -> None:
        self.end_reason = end_reason
        self.reason: i64 = reason
        self.text = text


def refusal_in(payload: bytes, channel: str) -> PartnerRefusal | None:
    """Return the refusal in the reply to a hello, or None if the hello was accepted. MalformedFrame."""
    if len(payload) < 8:
        raise MalformedFrame("a reply is too short")
    if read_i32_le(payload, 0) == mq.MQCC_OK:
        return None
    reason: i64 = i64(read_i32_le(payload, 4))
    text = refusal_text(channel, reason, payload[8:].decode("utf-8", "replace"))
    return PartnerRefusal(EndReason.PERMANENT if is_permanent(reason, text) else EndReason.RETRYABLE, reason, text)
