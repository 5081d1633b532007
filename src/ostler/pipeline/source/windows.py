"""Pipelined gets and puts: requests are sent before earlier ones are answered.

A verb at a time costs a message a network round trip. Here some dozens of verbs are in flight; the queue manager does
them in the order in which they were sent. That is for browsing, and for units of work that are backed out as a whole
when one of their verbs fails: a verb that was sent is done, whether its answer is read or not.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from typing import Final

from ostler.client.api.queue import Queue
from ostler.client.api.topic import Topic
from ostler.client.link.link import PendingRequest, check_reply, protocol_error
from ostler.client.session.remote_session import RemoteSession
from ostler.client.session.runtime import run
from ostler.client.session.session import StoredMessage
from ostler.model import constants as mq
from ostler.model.errors import MQError
from ostler.wire.frames import GET, PUT, MalformedFrame
from ostler.wire.put_get_frames import (
    AS_STORED,
    GOT_BLOCK_BYTES,
    GOT_DATA_BYTES,
    GOT_FIXED_BYTES,
    GOT_MD,
    GOT_TOKEN,
    NO_TOKEN,
    WANTS_PROPERTIES,
    WANTS_TOKEN,
    get_payload,
    put_payload,
)
from ostler.wire.replies import REPLY_FIXED_BYTES

VERBS_MAX: Final = 64
BYTES_MAX: Final = 4 << 20
WHOLE: Final = 0x7FFFFFFF
_VERBS_AT_FIRST: Final = 2
_STORED: Final = WANTS_PROPERTIES | WANTS_TOKEN | AS_STORED
_NO_ID: Final = bytes(24)
_PUT: Final = mq.MQPMO_SYNCPOINT | mq.MQPMO_FAIL_IF_QUIESCING


class RequestWindow:
    """Verbs of one queue in flight, the oldest first; a window of puts may have several queues and topics."""

    def __init__(self, queue: Queue | Topic) -> None:
        session = queue.connection.inner.session
        assert isinstance(session, RemoteSession), "the data source has its queue managers in other processes"
        self._session = session
        self._hobj = queue.hobj
        self._ask: deque[PendingRequest] = deque()
        self._verbs_max = _VERBS_AT_FIRST
        self._is_in_unit = False
        self.message_bytes = 0
        """The size of the last message."""
        session.check()

    def __enter__(self) -> RequestWindow:
        return self

    def __exit__(self, *_: object) -> None:
        for each in self._ask:
            each.forget()
        self._ask.clear()

    def __len__(self) -> int:
        return len(self._ask)

    def has_room(self) -> bool:
        """Return whether one more may be sent: limited by number and by bytes."""
        return len(self._ask) < self._verbs_max

    def get(self, options: int, message_id: bytes = b"", wait_seconds: float = 0.0, length: int = WHOLE) -> None:
        """Request a message; of a longer one, this many bytes of its body."""
        options |= mq.MQGMO_FAIL_IF_QUIESCING | (mq.MQGMO_WAIT if wait_seconds else 0)
        options |= mq.MQGMO_ACCEPT_TRUNCATED_MSG if length != WHOLE else 0
        self._is_in_unit = bool(options & mq.MQGMO_SYNCPOINT)
        match = mq.MQMO_MATCH_MSG_ID if message_id else 0
        wait_ms = max(1, int(wait_seconds * 1000)) if wait_seconds else 0
        found = message_id.ljust(24, b"\0") or _NO_ID
        payload = get_payload(
            self._hobj, options, wait_ms, match, length, 0, 0, _STORED, found, _NO_ID, _NO_ID, 1, 0, NO_TOKEN, b""
        )
        self._send(GET, payload)

    def put(self, message: StoredMessage, hobj: int, options: int = 0) -> None:
        """Put a message to the object handle `hobj`, as part of the unit of work."""
        self._session.check_length(message.body)
        self._note(len(message.body))
        self._send(PUT, put_payload(hobj, _PUT | options, 0, message.md, message.property_block, message.body))

    def _send(self, verb: int, payload: bytes) -> None:
        self._ask.append(run(self._session.link.send_request(self._session.conversation, verb, payload)))

    def got(self) -> StoredMessage | None:
        """Return the result of the oldest get; None when there was no message. Raises MQError."""
        payload = run(self._ask.popleft().reply())
        completion, reason = int.from_bytes(payload[:4], "little"), int.from_bytes(payload[4:8], "little")
        if completion == mq.MQCC_FAILED:
            if reason == mq.MQRC_NO_MSG_AVAILABLE:
                return None
            raise MQError(reason, payload[REPLY_FIXED_BYTES:].decode("utf-8", "replace"))
        if reason == mq.MQRC_TRUNCATED_MSG_FAILED:
            # Longer than the channel allows; the rest of it is missing.
            length = int.from_bytes(payload[GOT_DATA_BYTES : GOT_DATA_BYTES + 4], "little")
            raise MQError(reason, f"The message has {length} bytes.", mq.MQCC_WARNING)
        body_at = GOT_FIXED_BYTES + int.from_bytes(payload[GOT_BLOCK_BYTES:GOT_MD], "little")
        if body_at > len(payload):
            raise protocol_error(MalformedFrame("a reply to a get without a message"))
        self._session.unit_size += self._is_in_unit
        self._note(len(payload))
        return StoredMessage(
            payload[GOT_MD:GOT_FIXED_BYTES],
            payload[body_at:],
            payload[GOT_FIXED_BYTES:body_at],
            payload[GOT_TOKEN:GOT_BLOCK_BYTES],
            0,
        )

    def has_put(self) -> None:
        """Check that the oldest put was done. Raises MQError."""
        check_reply(run(self._ask.popleft().reply()))
        self._session.unit_size += 1

    def _note(self, length: int) -> None:
        self.message_bytes = length
        self._verbs_max = max(1, min(2 * self._verbs_max, VERBS_MAX, BYTES_MAX // max(1, length)))


def take(queue: Queue, messages_max: int, bytes_max: int, wait_seconds: float = 0.0) -> Iterator[StoredMessage]:
    """Get messages of a queue in the unit of work; the first one is waited for. A few bytes more than requested may
    come: gets in flight cannot be cancelled."""
    count = size = 0
    is_empty = False
    with RequestWindow(queue) as window:
        window.get(mq.MQGMO_SYNCPOINT, wait_seconds=wait_seconds)
        count += 1
        while len(window):
            taken = window.got()
            if taken is not None:
                size += len(taken.body) + len(taken.property_block)
                yield taken
            else:
                is_empty = True
            while not is_empty and count < messages_max and window.has_room():
                if size + len(window) * window.message_bytes >= bytes_max:
                    break
                window.get(mq.MQGMO_SYNCPOINT)
                count += 1


def browse(queue: Queue, length: int = WHOLE, start: bytes = b"") -> Iterator[StoredMessage]:
    """Yield all messages of a queue that is open for browsing, from the first one on.

    With `start`, from the message of that identifier on; none at all when it does not exist.
    """
    is_last = False
    with RequestWindow(queue) as window:
        window.get(mq.MQGMO_BROWSE_FIRST, start, length=length)
        while len(window):
            while not is_last and not start and window.has_room():
                window.get(mq.MQGMO_BROWSE_NEXT, length=length)
            taken = window.got()
            if taken is None:
                is_last = True
            else:
                start = b""
                yield taken
                if not len(window):
                    window.get(mq.MQGMO_BROWSE_NEXT, length=length)


def get_each(
    queue: Queue, ids: Iterable[bytes], options: int = mq.MQGMO_SYNCPOINT, length: int = WHOLE
) -> Iterator[StoredMessage | None]:
    """Yield the messages with these identifiers, got in the unit of work or browsed; None for a missing one."""
    wanted = iter(ids)
    with RequestWindow(queue) as window:
        for each in wanted:
            window.get(options, each, length=length)
            if not window.has_room():
                yield window.got()
        while len(window):
            yield window.got()


def put_all(
    queue: Queue | Topic,
    messages: Iterable[StoredMessage],
    handle_for: Callable[[StoredMessage], int] | None = None,
    options: int = 0,
) -> int:
    """Put messages in the unit of work, and return their number. They may go to several handles, chosen by
    `handle_for`."""
    count = 0
    with RequestWindow(queue) as window:
        for each in messages:
            window.put(each, queue.hobj if handle_for is None else handle_for(each), options)
            count += 1
            while not window.has_room():
                window.has_put()
        while len(window):
            window.has_put()
    return count
