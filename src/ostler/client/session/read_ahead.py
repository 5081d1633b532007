"""Read-ahead: the queue manager sends messages of a handle before the program gets them (MQOO_READ_AHEAD, DEFREADA).

Only plain gets outside units of work are served from read-ahead; the first get of a handle decides whether its gets
are. Its match options cannot change afterwards. Messages that were sent ahead are removed from the queue: they are lost
when the handle is closed at once or the program ends. So read-ahead does not begin on queues whose messages are
persistent by default; its window begins with one message and grows with nonpersistent ones; and it ends for good at a
persistent one.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import suppress
from typing import Final

from librt.strings import read_i32_le

from ostler.client.link.waiters import LinkBroken, PayloadStream
from ostler.client.mqi.put_get import check_structure
from ostler.client.mqi.remote.connections import Got, ReadAhead, RemoteConnection, RemoteHandle
from ostler.client.mqi.remote.put_get import decode_get_reply, get_now, request_payload
from ostler.model import constants as mq
from ostler.model.errors import MQError
from ostler.model.structures.gmo import GMO_OPTIONS, GMO_WAIT_INTERVAL
from ostler.model.structures.md import MD_PERSISTENCE
from ostler.wire.frames import CREDIT, MESSAGE, STREAM, UNSTREAM
from ostler.wire.payload_codec import numbers_payload
from ostler.wire.put_get_frames import GET_OPTIONS, GOT_FIXED_BYTES, GOT_MD
from ostler.wire.replies import REPLY_FIXED_BYTES

WINDOW: Final = 32  # the most messages in flight or buffered here
WINDOW_BYTES: Final = 4 * 1024 * 1024  # and about their size, if they are as long as the one before
_GMO_ID: Final = 0x204F4D47
# Gets with any other option go to the queue manager each time.
_PLAIN: Final = (
    mq.MQGMO_WAIT
    | mq.MQGMO_FAIL_IF_QUIESCING
    | mq.MQGMO_NO_SYNCPOINT
    | mq.MQGMO_CONVERT
    | mq.MQGMO_ACCEPT_TRUNCATED_MSG
)
_MAY_CHANGE: Final = mq.MQGMO_WAIT | mq.MQGMO_FAIL_IF_QUIESCING | mq.MQGMO_ACCEPT_TRUNCATED_MSG
_OPTIONS_BYTES: Final = 4
_UNDECIDED: Final = 0
_ON: Final = 1
_OFF: Final = 2
_WHOLE: Final = 0x7FFFFFFF


class MessagesAhead(ReadAhead):
    """The read-ahead buffer of one handle."""

    def __init__(self, handle: RemoteHandle) -> None:
        self._handle = handle
        self._state = _UNDECIDED
        self._get_payload = b""  # of the GET that began the stream
        self._accepted: tuple[bytes, bytes] = (b"", b"")  # MQMD and MQGMO of a consumer that is served
        self._stream: PayloadStream | None = None
        self._is_sending = False  # the queue manager may send more messages
        self._is_ending = False  # UNSTREAM was sent
        self._fails_if_quiescing = 0  # the option of the GET that began the stream
        self._generation = 0
        self._window = 1  # messages in flight or buffered; grows with nonpersistent messages

    def count(self) -> int:
        """Return the number of buffered messages."""
        stream = self._stream
        return int(stream.count()) if stream is not None else 0

    def get(self, remote: RemoteConnection, md: bytes, gmo: bytes, length: int) -> Got:
        version = check_structure(gmo, _GMO_ID, mq.MQRC_GMO_ERROR)
        options = int(read_i32_le(gmo, GMO_OPTIONS))
        if self._state == _UNDECIDED:
            self._state = _ON if self._is_plain(options, version, gmo) else _OFF
        if self._state == _OFF and not self.count():
            return get_now(remote, self._handle, md, gmo, length)
        if len(md) < 324:
            raise MQError(mq.MQRC_MD_ERROR)
        self._check_unchanged(remote, md, gmo, options)
        wait_ms = int(read_i32_le(gmo, GMO_WAIT_INTERVAL)) if options & mq.MQGMO_WAIT else 0
        if wait_ms < -1:
            raise MQError(mq.MQRC_WAIT_INTERVAL_ERROR)
        deadline = time.monotonic() + wait_ms / 1000 if wait_ms >= 0 else -1.0
        while True:
            generation = remote.generation
            try:
                stream = self._wait_for_message(remote, options, deadline, wait_ms == 0)
                if stream is not None:
                    return self._deliver(remote, stream, gmo, options, length)
                return b"", None, gmo, 0, mq.MQCC_FAILED, mq.MQRC_NO_MSG_AVAILABLE
            except LinkBroken as broken:
                self._stream = None
                remote.handle_broken_link(generation, broken)

    def _is_plain(self, options: int, version: int, gmo: bytes) -> bool:
        has_message_handle = version > 3 and any(gmo[104:112])
        return (
            not options & ~_PLAIN
            and not has_message_handle
            and self._handle.default_persistence == mq.MQPER_NOT_PERSISTENT
        )

    def _check_unchanged(self, remote: RemoteConnection, md: bytes, gmo: bytes, options: int) -> None:
        """Raise MQRC_OPTIONS_CHANGED when a get differs from the one that began the stream."""
        asked = request_payload(remote, self._handle, md, gmo, _WHOLE, options & ~_MAY_CHANGE, 0)
        if options & ~_PLAIN:
            raise MQError(mq.MQRC_OPTIONS_CHANGED, "The handle reads ahead; its gets cannot use other options now.")
        if self._get_payload and asked[GET_OPTIONS:] != self._get_payload[GET_OPTIONS:]:
            raise MQError(mq.MQRC_OPTIONS_CHANGED, "The handle reads ahead; match options cannot change.")
        self._get_payload = asked

    # -- for callbacks ------------------------------------------------------------------------------------------------

    def serves(self, remote: RemoteConnection, md: bytes, gmo: bytes, options: int) -> bool:
        """Return whether the gets of a consumer can be served from read-ahead.

        Raises MQError when they cannot be, but messages are buffered that match other options.
        """
        if self._state == _ON and self._accepted[0] is md and self._accepted[1] is gmo:
            return True
        if self._state == _UNDECIDED:
            version = check_structure(gmo, _GMO_ID, mq.MQRC_GMO_ERROR)
            self._state = _ON if self._is_plain(options, version, gmo) else _OFF
        if self._state == _OFF and not self.has_begun():
            return False
        try:
            self._check_unchanged(remote, md, gmo, options)
        except MQError:
            self.pause(remote)
            if self.count():
                raise
            return False
        self._accepted = (md, gmo)
        return self._state == _ON or self.count() > 0

    def has_begun(self) -> bool:
        """Return whether messages are buffered or may be in flight."""
        return self._stream is not None

    def consume(
        self,
        remote: RemoteConnection,
        gmo: bytes,
        options: int,
        length: int,
        seconds: float | None,
        is_interrupted: Callable[[], bool],
    ) -> Got | None:
        """Return a message for a consumer; None when the time is up or the wait was interrupted."""
        deadline = -1.0 if seconds is None else time.monotonic() + seconds
        stream = self._with_message(remote, options, deadline, seconds == 0, is_interrupted)
        if stream is None:
            return None
        return self._deliver(remote, stream, gmo, options, length)

    def interrupt(self, remote: RemoteConnection) -> None:
        """Interrupt the wait of `consume`."""
        stream = self._stream
        if stream is not None:
            remote.conversation.link.interrupt_stream(stream)

    def pause(self, remote: RemoteConnection) -> None:
        """Stop the stream until the next get. Buffered messages stay. Raises LinkBroken."""
        stream = self._stream
        if stream is None:
            return
        if self._generation != remote.generation:
            self._stream = None
            return
        self._end(remote)
        if not stream.count():
            self._stream = None

    # -- messages -----------------------------------------------------------------------------------------------------

    def _wait_for_message(
        self, remote: RemoteConnection, options: int, deadline: float, at_once: bool
    ) -> PayloadStream | None:
        """Return the stream for a get when it has a message; None when the time is up."""
        remote.waiting = not at_once
        try:
            while True:
                stream = self._with_message(remote, options, deadline, at_once, _never)
                if stream is not None or at_once or 0 <= deadline <= time.monotonic():
                    return stream
        finally:
            remote.waiting = False

    def _with_message(
        self, remote: RemoteConnection, options: int, deadline: float, at_once: bool, is_interrupted: Callable[[], bool]
    ) -> PayloadStream | None:
        """Return the stream when it has a message; None when the time is up or the wait was interrupted."""
        if self._is_ending or options & mq.MQGMO_FAIL_IF_QUIESCING != self._fails_if_quiescing:
            # The queue manager has to know whether its quiescing ends the wait.
            self.pause(remote)
        stream = self._stream
        if stream is None or self._generation != remote.generation:
            stream = self._begin(remote, options & mq.MQGMO_FAIL_IF_QUIESCING)
        if stream.count():
            return stream
        if at_once:
            # A get without wait needs a definite answer. Ending the stream gives it: all messages have arrived then.
            self.pause(remote)
        elif not is_interrupted():
            remote.conversation.link.wait_stream(stream, deadline)
        return stream if stream.count() else None

    def _begin(self, remote: RemoteConnection, fails_if_quiescing: int) -> PayloadStream:
        conversation = remote.conversation
        stream = conversation.open_stream(MESSAGE, self._window)
        options = int(read_i32_le(self._get_payload, GET_OPTIONS)) | fails_if_quiescing
        asked = numbers_payload([self._window, self._handle.hobj, options])
        asked += self._get_payload[GET_OPTIONS + _OPTIONS_BYTES :]
        conversation.send(None, stream.request(), STREAM, [asked])
        self._stream = stream
        self._is_sending = True
        self._is_ending = False
        self._fails_if_quiescing = fails_if_quiescing
        self._generation = int(remote.generation)
        return stream

    def _end(self, remote: RemoteConnection) -> None:
        """End the stream. Buffered messages stay. When interrupted, the next caller ends it again."""
        stream = self._stream
        if stream is not None and self._is_sending and self._generation == remote.generation:
            self._is_ending = True
            remote.conversation.exchange(UNSTREAM, numbers_payload([stream.request()]))
            remote.conversation.link.close_stream(stream)
            self._is_sending = False
            self._is_ending = False

    def _deliver(self, remote: RemoteConnection, stream: PayloadStream, gmo: bytes, options: int, length: int) -> Got:
        payload = stream.first()
        if len(payload) < REPLY_FIXED_BYTES:
            raise remote.protocol_error("a message that is none")
        if int(read_i32_le(payload, 0)) == mq.MQCC_FAILED:
            # The error ends the stream: a later get begins another one.
            remote.conversation.link.close_stream(stream)
            self._stream = None
            self._is_sending = False
            self._is_ending = False
            return b"", None, gmo, 0, mq.MQCC_FAILED, int(read_i32_le(payload, 4))
        body, md, filled, data_bytes, code, reason = decode_get_reply(
            remote, self._handle, gmo, payload, 0, len(payload)
        )
        if len(body) > length and reason == mq.MQRC_NONE:
            code, reason = mq.MQCC_WARNING, mq.MQRC_TRUNCATED_MSG_ACCEPTED
            body = body[:length]
            if not options & mq.MQGMO_ACCEPT_TRUNCATED_MSG:
                return body, md, filled, data_bytes, code, mq.MQRC_TRUNCATED_MSG_FAILED
        stream.take()
        self._grant_credit(remote, stream, md, len(payload))
        return body, md, filled, data_bytes, code, reason

    def _grant_credit(self, remote: RemoteConnection, stream: PayloadStream, md: bytes | None, length: int) -> None:
        """Grant credit for further messages after one was delivered, or end the stream at a persistent message."""
        if md is not None and int(read_i32_le(md, MD_PERSISTENCE)) != mq.MQPER_NOT_PERSISTENT:
            self._state = _OFF
            # The message is delivered even if the link breaks.
            with suppress(LinkBroken):
                self._end(remote)
        if self._is_sending and not self._is_persistent_next(stream):
            self._window = max(1, min(2 * self._window, WINDOW, WINDOW_BYTES // length))
            expected = int(stream.credit + stream.count())
            if 2 * expected <= self._window:
                stream.credit += self._window - expected
                remote.conversation.post(CREDIT, numbers_payload([stream.request(), self._window - expected]))
        elif not self._is_sending and not stream.count():
            self._stream = None

    def _is_persistent_next(self, stream: PayloadStream) -> bool:
        """Return whether a persistent message is buffered: it is the last one, as the queue manager stops after it."""
        if not stream.count():
            return False
        payload = stream.last()
        if len(payload) < GOT_FIXED_BYTES:
            return True  # the stream has failed
        return int(read_i32_le(payload, GOT_MD + MD_PERSISTENCE)) != mq.MQPER_NOT_PERSISTENT

    def discard(self, remote: RemoteConnection) -> None:
        """End the stream and drop buffered messages: the handle is closed."""
        self._end(remote)
        self._stream = None


def _never() -> bool:
    return False
