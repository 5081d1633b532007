"""Whether whoever is at the other end of a link still lives: heartbeats, and how long their answers may take."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mypy_extensions import i64

from ostler.server.net.link_limits import ADMISSION_TIMEOUT_MS, HEARTBEAT_TIMEOUT_MS
from ostler.wire.frames import HEARTBEAT, frame

if TYPE_CHECKING:
    from ostler.server.net.link import ServerLink


def watch_heart(link: ServerLink) -> None:
    """Look after a heartbeat interval whether anything has come."""
    # Without heartbeats the kernel's keepalive is all there is.
    if link.heartbeat_ms > 0:
        _look_at(link, link.reactor.now_ms + link.heartbeat_ms)
    elif _is_expected(link):
        link.reactor.wheel.add(link, link.started_ms + ADMISSION_TIMEOUT_MS)
    else:
        link.reactor.wheel.remove(link)


def _is_expected(link: ServerLink) -> bool:
    """Whether somebody still has to connect by a link, for which there is not much time."""
    return not link.is_admitted and link.agent is None


def _look_at(link: ServerLink, due_ms: i64) -> None:
    """Look at a time, or when somebody should have connected by the link if that is earlier and still to come."""
    if _is_expected(link):
        last_ms: i64 = link.started_ms + ADMISSION_TIMEOUT_MS
        if link.reactor.now_ms < last_ms < due_ms:
            due_ms = last_ms
    link.reactor.wheel.add(link, due_ms)


def heart_answered(link: ServerLink) -> None:
    """The peer has answered a heartbeat."""
    link.is_heartbeat_pending = False
    watch_heart(link)


def feel_heart(link: ServerLink, now_ms: i64) -> None:
    """The time is over: ask the peer for a sign of life, or give it up when it was asked and gave none."""
    if link.heartbeat_ms == 0:
        if _is_expected(link):  # a password is being checked: look again soon
            link.reactor.wheel.add(link, now_ms + HEARTBEAT_TIMEOUT_MS)
        return
    if link.is_deferred or link.waits_for_memory or link.waits_for_log:
        link.last_received_ms = now_ms  # nothing is read from it: that it is silent is our own doing
    silent: i64 = now_ms - link.last_received_ms
    if link.last_received_ms > link.heartbeat_sent_ms:
        link.is_heartbeat_pending = False
    if link.is_heartbeat_pending and now_ms - link.heartbeat_sent_ms >= HEARTBEAT_TIMEOUT_MS:
        link.close(f"no sign of life for {silent // 1000} seconds")
    elif silent >= link.heartbeat_ms:
        if not link.is_heartbeat_pending:
            link.is_heartbeat_pending = True
            if not link.is_rekeying:
                link.send(frame(HEARTBEAT, 0, 1))
            link.heartbeat_sent_ms = now_ms
        _look_at(link, link.heartbeat_sent_ms + HEARTBEAT_TIMEOUT_MS)
    else:
        _look_at(link, link.last_received_ms + link.heartbeat_ms)
