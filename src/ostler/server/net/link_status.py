"""DISPLAY CHSTATUS for a link of a client."""

from __future__ import annotations

import time

from ostler.command.admin.context import ChannelStatus
from ostler.server.net.link import ServerLink


def link_status(link: ServerLink) -> ChannelStatus:
    """Return the status of the channel instance that a link is."""
    tls = link.tls
    conversations = list(link.conversations.values())
    first = conversations[0].connection if conversations else None
    now = int(time.time() * 1000)
    age = int(time.monotonic() * 1000) - int(link.started_ms)
    return ChannelStatus(
        link.channel,
        status="STOPPING" if link.is_quiescing else "RUNNING",
        connection_name=host_of(link),
        application=first.application if first is not None else "",
        user=first.user if first is not None else link.channel_user,
        started_ms=now - age,
        last_verb_ms=now - (int(time.monotonic() * 1000) - int(link.last_received_ms)),
        verbs=int(link.calls),
        bytes_received=int(link.received_bytes),
        bytes_sent=int(link.sent_bytes),
        buffers_received=int(link.calls),
        buffers_sent=int(link.sent_frames),
        conversations=len(conversations),
        conversations_max=int(link.conversations_max),
        heartbeat_seconds=int(link.heartbeat_ms) // 1000,
        security_protocol=tls.security_protocol if tls is not None else "NONE",
        cipher_spec=tls.cipher if tls is not None else "",
        peer_name=str(tls.peer_subject()) if tls is not None and tls.has_certificate else "",
        certificate_issuer=str(tls.peer_issuer()) if tls is not None and tls.has_certificate else "",
        key_resets=int(link.key_resets),
        key_reset_ms=int(link.key_reset_ms),
        is_stopping=bool(link.is_quiescing),
    )


def host_of(link: ServerLink) -> str:
    """Return the address of a link without its port."""
    return link.address.partition("(")[0]
