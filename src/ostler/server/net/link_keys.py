"""New keys for a link of a message channel: TLS begins anew on the connection that is there."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ostler.wire.frames import MalformedFrame
from ostler.wire.tls_stream import TlsStream

if TYPE_CHECKING:
    from ostler.server.net.link import ServerLink


def begin_tls(link: ServerLink, tls: TlsStream) -> None:
    """Speak TLS from here on, as the end that connected."""
    link.tls = tls
    link.keyed_bytes = link.sent_bytes + link.received_bytes
    link.queue_tls_output()


def rekey(link: ServerLink) -> None:
    """What was said before goes out under the old keys, and nothing more until both agree again."""
    tls = link.tls
    if tls is None:
        raise MalformedFrame("new keys without TLS")
    if link.is_rekeying or not tls.is_ready:
        raise MalformedFrame("new keys while they are being changed")
    if link.out:
        tls.encrypt(b"".join(link.out))
        link.out = []
        link.out_bytes = 0
    tls.close()
    link.queue_tls_output()
    link.is_rekeying = True
    renew(link, tls)


def renew(link: ServerLink, tls: TlsStream) -> None:
    """Go on with new keys when both sides have ended with the old ones."""
    if link.is_rekeying and tls.is_over:
        link.is_rekeying = False
        left = tls.leftover()
        begin_tls(link, tls.successor())
        if left:
            link.receive(left)
