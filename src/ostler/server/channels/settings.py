"""Checks and negotiation of a link against its channel definition: TLS, exits, instances and message length."""

from __future__ import annotations

from collections import Counter
from typing import Final

from ostler.channel.negotiation import number_of as number_of
from ostler.channel.negotiation import text_of as text_of
from ostler.model import constants as mq
from ostler.model.attributes import ObjectType, subtype_of
from ostler.model.definitions import Definition
from ostler.model.errors import MQError
from ostler.server.channels.limits import ChannelCounts
from ostler.server.net.link import ServerLink
from ostler.server.net.link_status import host_of
from ostler.server.tls.contexts import ChannelTls, channel_mismatch, plaintext_refusal
from ostler.wire.connect_frames import Hello
from ostler.wire.frames import MESSAGE_BYTES_MAX, PROTOCOL_VERSION, SEGMENT_BYTES_MAX, SEGMENT_BYTES_MIN

_LOCAL_CONVERSATIONS_MAX: Final = 1_000_000
_EXITS: Final = ("SCYEXIT", "MSGEXIT", "SENDEXIT", "RCVEXIT", "MREXIT")
_MESSAGE_CHANNELS: Final = (mq.MQCHT_SENDER, mq.MQCHT_SERVER, mq.MQCHT_RECEIVER, mq.MQCHT_REQUESTER)


class ClientInstances:
    """Numbers of links per client channel, and per channel and address, for MAXINST and MAXINSTC."""

    def __init__(self) -> None:
        self._counts: Counter[tuple[str, str]] = Counter()
        self._total = 0

    def of(self, channel: str, host: str = "") -> int:
        return self._counts.get((channel, host), 0)

    def channel_counts(self, stopped: set[str]) -> ChannelCounts:
        """Count all links of client channels, and the stopped channels without links."""
        idle = sum(1 for name in list(stopped) if not self.of(name)) if stopped else 0
        return ChannelCounts(self._total + idle, self._total)

    def add(self, channel: str, link: ServerLink) -> None:
        self._total += 1
        self._counts[(channel, "")] += 1
        self._counts[(channel, host_of(link))] += 1

    def remove(self, channel: str, link: ServerLink) -> None:
        self._total -= 1
        for key in ((channel, ""), (channel, host_of(link))):
            self._counts[key] -= 1
            if self._counts[key] <= 0:
                del self._counts[key]  # so that old addresses do not accumulate


def is_server_connection(channel: Definition | None) -> bool:
    return channel is not None and number_of(channel, "CHLTYPE") == mq.MQCHT_SVRCONN


def is_message_channel(channel: Definition | None) -> bool:
    """Return True if a channel is a message channel, between queue managers."""
    return channel is not None and number_of(channel, "CHLTYPE") in _MESSAGE_CHANNELS


def tls_requirements(channel: Definition | None) -> ChannelTls | None:
    """Return the TLS requirements of a channel for the handshake; None for a channel that accepts no connections.

    Requesters connect to servers and senders, and a sender calls its requester back, so all message channels do.
    """
    if channel is None or not (is_server_connection(channel) or is_message_channel(channel)):
        return None
    return ChannelTls.of(channel)


def negotiate_local(hello: Hello) -> Hello:
    """Return the negotiated values for a link on the local socket. MQError."""
    if hello.channel:
        raise MQError(mq.MQRC_UNKNOWN_CHANNEL_NAME, "Local bindings use no channel.")
    return _negotiate(hello, "", _LOCAL_CONVERSATIONS_MAX, MESSAGE_BYTES_MAX, 0)


def negotiate_client(hello: Hello, channel: Definition | None, link: ServerLink, is_stopped: bool) -> Hello:
    """Return the negotiated values for a client link on a channel. MQError."""
    name = hello.channel
    if channel is None or not is_server_connection(channel):
        raise MQError(mq.MQRC_UNKNOWN_CHANNEL_NAME, f"Channel {name} is not defined for clients.")
    check_tls(channel, link)
    if is_stopped:
        raise MQError(mq.MQRC_CHANNEL_NOT_AVAILABLE, f"Channel {name} is stopped.")
    longest = number_of(channel, "MAXMSGL") or MESSAGE_BYTES_MAX
    sharing = max(1, number_of(channel, "SHARECNV"))
    return _negotiate(hello, name, sharing, longest, number_of(channel, "HBINT"))


def check_exits(channel: Definition | None, ignores_exits: bool) -> str:
    """Return an error message if a channel names exits, or an empty text if it may run.

    Exits are not supported, and the channel may rely on them for its security. The text is for the error log; the
    partner does not learn which exits are defined.
    """
    if channel is None or ignores_exits:
        return ""
    named: list[str] = []
    for name in _EXITS:
        value = channel.attributes.get(name, "")
        each = [value] if isinstance(value, str) else list(value) if isinstance(value, tuple) else []
        named += [f"{name}({program.strip()})" for program in each if program.strip()]
    if not named:
        return ""
    blanks = " ".join(dict.fromkeys(f"{each.partition('(')[0]}('')" for each in named))
    kind = subtype_of(ObjectType.CHANNEL, channel.attributes)
    return (
        f"AMQ9535E: Channel {channel.name} does not run: it has {', '.join(named)}, and exits are not run here. "
        f"ALTER CHANNEL({channel.name}) CHLTYPE({kind}) {blanks} takes them out; IgnoreExits=YES in the stanza "
        f"Channels of qm.ini lets channels run without their exits."
    )


def check_tls(channel: Definition, link: ServerLink) -> None:
    """MQError if the TLS session of a link does not match its channel."""
    if link.tls is None:
        if text_of(channel, "SSLCIPH"):
            raise MQError(mq.MQRC_SSL_INITIALIZATION_ERROR, plaintext_refusal(channel.name))
        return
    mismatch = channel_mismatch(link.tls, channel.name)
    if mismatch:
        raise MQError(mq.MQRC_SSL_INITIALIZATION_ERROR, mismatch)


def _negotiate(hello: Hello, channel: str, sharing: int, longest: int, heartbeat_seconds: int) -> Hello:
    agreed = Hello(channel)
    agreed.version = min(hello.version, PROTOCOL_VERSION)
    agreed.segment_bytes = min(max(hello.segment_bytes, SEGMENT_BYTES_MIN), SEGMENT_BYTES_MAX)
    agreed.message_bytes_max = min(hello.message_bytes_max or longest, longest)
    # As in MQ, the longer heartbeat interval applies.
    agreed.heartbeat_seconds = max(hello.heartbeat_seconds, heartbeat_seconds)
    agreed.conversations_max = min(max(1, hello.conversations_max), sharing)
    return agreed
