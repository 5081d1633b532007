"""Read-ahead: messages of a handle that the queue manager sends before they are asked for (MQOO_READ_AHEAD, DEFREADA).

Only plain gets outside of units of work are served so; the first get of a handle decides whether its gets are. What it
looks for cannot change afterwards. Messages that were sent ahead are off the queue: when the handle is closed at once,
or the program ends, they are gone. So read-ahead is not begun on queues whose messages are persistent by default; it
begins with one message and asks for more ahead as non-persistent ones come; and it stops for good at a persistent one.
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
from ostler.client.mqi.remote.put_get import answered, get_now, request_payload
from ostler.model.constants import (
    MQCC_FAILED,
    MQCC_WARNING,
    MQGMO_ACCEPT_TRUNCATED_MSG,
    MQGMO_CONVERT,
    MQGMO_FAIL_IF_QUIESCING,
    MQGMO_NO_SYNCPOINT,
    MQGMO_WAIT,
    MQPER_NOT_PERSISTENT,
    MQRC_GMO_ERROR,
    MQRC_MD_ERROR,
    MQRC_NO_MSG_AVAILABLE,
    MQRC_NONE,
    MQRC_OPTIONS_CHANGED,
    MQRC_TRUNCATED_MSG_ACCEPTED,
    MQRC_TRUNCATED_MSG_FAILED,
    MQRC_WAIT_INTERVAL_ERROR,
)
from ostler.model.errors import MQError
from ostler.model.structures.gmo import GMO_OPTIONS, GMO_WAIT_INTERVAL
from ostler.model.structures.md import MD_PERSISTENCE
from ostler.wire.frames import CREDIT, MESSAGE, STREAM, UNSTREAM
from ostler.wire.payload_codec import numbers_payload
from ostler.wire.put_get_frames import GET_OPTIONS, GOT_FIXED_BYTES, GOT_MD
from ostler.wire.replies import REPLY_FIXED_BYTES

WINDOW: Final = 32  # at most so many messages are on their way, or here
WINDOW_BYTES: Final = 4 * 1024 * 1024  # and about so much, if they are as long as the one before
_GMO_ID: Final = 0x204F4D47
# All other options of a get need the queue manager's attention each time.
_PLAIN: Final = MQGMO_WAIT | MQGMO_FAIL_IF_QUIESCING | MQGMO_NO_SYNCPOINT | MQGMO_CONVERT | MQGMO_ACCEPT_TRUNCATED_MSG
_MAY_CHANGE: Final = MQGMO_WAIT | MQGMO_FAIL_IF_QUIESCING | MQGMO_ACCEPT_TRUNCATED_MSG
_OPTIONS_BYTES: Final = 4
_UNDECIDED: Final = 0
_ON: Final = 1
_OFF: Final = 2
_WHOLE: Final = 0x7FFFFFFF


class MessagesAhead(ReadAhead):
    """The messages of one handle that were sent ahead."""

    def __init__(self, handle: RemoteHandle) -> None:
        self._handle = handle
        self._state = _UNDECIDED
        self._asked = b""  # the GET that the stream was begun with
        self._accepted: tuple[bytes, bytes] = (b"", b"")  # the structures of a consumer that can be served
        self._stream: PayloadStream | None = None
        self._is_sending = False  # the queue manager may send more on it
        self._is_ending = False  # it was asked not to
        self._fails_if_quiescing = 0  # the option that it was begun with
        self._generation = 0
        self._window = 1  # messages that may be on their way, or here; more as non-persistent ones come

    def count(self) -> int:
        """How many messages are here."""
        stream = self._stream
        return int(stream.count()) if stream is not None else 0

    def get(self, remote: RemoteConnection, md: bytes, gmo: bytes, length: int) -> Got:
        version = check_structure(gmo, _GMO_ID, MQRC_GMO_ERROR)
        options = int(read_i32_le(gmo, GMO_OPTIONS))
        if self._state == _UNDECIDED:
            self._state = _ON if self._is_plain(options, version, gmo) else _OFF
        if self._state == _OFF and not self.count():
            return get_now(remote, self._handle, md, gmo, length)
        if len(md) < 324:
            raise MQError(MQRC_MD_ERROR)
        self._check_unchanged(remote, md, gmo, options)
        wait_ms = int(read_i32_le(gmo, GMO_WAIT_INTERVAL)) if options & MQGMO_WAIT else 0
        if wait_ms < -1:
            raise MQError(MQRC_WAIT_INTERVAL_ERROR)
        deadline = time.monotonic() + wait_ms / 1000 if wait_ms >= 0 else -1.0
        while True:
            generation = remote.generation
            try:
                stream = self._awaited(remote, options, deadline, wait_ms == 0)
                if stream is not None:
                    return self._delivered(remote, stream, gmo, options, length)
                return b"", None, gmo, 0, MQCC_FAILED, MQRC_NO_MSG_AVAILABLE
            except LinkBroken as broken:
                self._stream = None
                remote.lost(generation, broken)

    def _is_plain(self, options: int, version: int, gmo: bytes) -> bool:
        has_message_handle = version > 3 and any(gmo[104:112])
        return (
            not options & ~_PLAIN
            and not has_message_handle
            and self._handle.default_persistence == MQPER_NOT_PERSISTENT
        )

    def _check_unchanged(self, remote: RemoteConnection, md: bytes, gmo: bytes, options: int) -> None:
        """What is here was chosen by the first get."""
        asked = request_payload(remote, self._handle, md, gmo, _WHOLE, options & ~_MAY_CHANGE, 0)
        if options & ~_PLAIN:
            raise MQError(MQRC_OPTIONS_CHANGED, "Messages are read ahead; a get cannot ask for something else now.")
        if self._asked and asked[GET_OPTIONS:] != self._asked[GET_OPTIONS:]:
            raise MQError(MQRC_OPTIONS_CHANGED, "Messages are read ahead; what is looked for cannot change.")
        self._asked = asked

    # -- for callbacks ------------------------------------------------------------------------------------------------

    def serves(self, remote: RemoteConnection, md: bytes, gmo: bytes, options: int) -> bool:
        """Whether gets of a consumer can be served from here.

        When they cannot be, but messages are here that another get looked for: MQError.
        """
        if self._state == _ON and self._accepted[0] is md and self._accepted[1] is gmo:
            return True
        if self._state == _UNDECIDED:
            version = check_structure(gmo, _GMO_ID, MQRC_GMO_ERROR)
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
        """Whether messages are here, or may be on their way."""
        return self._stream is not None

    def consume(
        self,
        remote: RemoteConnection,
        gmo: bytes,
        options: int,
        length: int,
        seconds: float | None,
        is_rung: Callable[[], bool],
    ) -> Got | None:
        """A message for a consumer that is served from here; None when the time is up, or it was rung."""
        deadline = -1.0 if seconds is None else time.monotonic() + seconds
        stream = self._with_message(remote, options, deadline, seconds == 0, is_rung)
        if stream is None:
            return None
        return self._delivered(remote, stream, gmo, options, length)

    def ring(self, remote: RemoteConnection) -> None:
        """Have `consume` return."""
        stream = self._stream
        if stream is not None:
            remote.conversation.link.interrupt_stream(stream)

    def pause(self, remote: RemoteConnection) -> None:
        """Have no more sent until somebody asks again. What has come stays here. Raises LinkBroken."""
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

    def _awaited(self, remote: RemoteConnection, options: int, deadline: float, at_once: bool) -> PayloadStream | None:
        """For a get: the stream, when it has a message; None when the time is up."""
        remote.waiting = not at_once
        try:
            while True:
                stream = self._with_message(remote, options, deadline, at_once, _never)
                if stream is not None or at_once or 0 <= deadline <= time.monotonic():
                    return stream
        finally:
            remote.waiting = False

    def _with_message(
        self, remote: RemoteConnection, options: int, deadline: float, at_once: bool, is_rung: Callable[[], bool]
    ) -> PayloadStream | None:
        """The stream, when it has a message; None when the time is up, or it was rung."""
        if self._is_ending or options & MQGMO_FAIL_IF_QUIESCING != self._fails_if_quiescing:
            # The queue manager has to know whether its end concerns who waits.
            self.pause(remote)
        stream = self._stream
        if stream is None or self._generation != remote.generation:
            stream = self._begin(remote, options & MQGMO_FAIL_IF_QUIESCING)
        if stream.count():
            return stream
        if at_once:
            # A get that does not wait has to know for sure, so the stream is ended: then all has come that will.
            self.pause(remote)
        elif not is_rung():
            remote.conversation.link.wait_stream(stream, deadline)
        return stream if stream.count() else None

    def _begin(self, remote: RemoteConnection, fails_if_quiescing: int) -> PayloadStream:
        conversation = remote.conversation
        stream = conversation.open_stream(MESSAGE, self._window)
        options = int(read_i32_le(self._asked, GET_OPTIONS)) | fails_if_quiescing
        asked = numbers_payload([self._window, self._handle.hobj, options])
        asked += self._asked[GET_OPTIONS + _OPTIONS_BYTES :]
        conversation.send(None, stream.request(), STREAM, [asked])
        self._stream = stream
        self._is_sending = True
        self._is_ending = False
        self._fails_if_quiescing = fails_if_quiescing
        self._generation = int(remote.generation)
        return stream

    def _end(self, remote: RemoteConnection) -> None:
        """Have no more sent. What has come stays here. Interrupted, it is done again by whoever comes next."""
        stream = self._stream
        if stream is not None and self._is_sending and self._generation == remote.generation:
            self._is_ending = True
            remote.conversation.exchange(UNSTREAM, numbers_payload([stream.request()]))
            remote.conversation.link.close_stream(stream)
            self._is_sending = False
            self._is_ending = False

    def _delivered(self, remote: RemoteConnection, stream: PayloadStream, gmo: bytes, options: int, length: int) -> Got:
        payload = stream.first()
        if len(payload) < REPLY_FIXED_BYTES:
            raise remote.nonsense("a message that is none")
        if int(read_i32_le(payload, 0)) == MQCC_FAILED:
            # The stream has ended with it: a later get begins another one.
            remote.conversation.link.close_stream(stream)
            self._stream = None
            self._is_sending = False
            self._is_ending = False
            return b"", None, gmo, 0, MQCC_FAILED, int(read_i32_le(payload, 4))
        body, md, filled, data_bytes, code, reason = answered(remote, self._handle, gmo, payload, 0, len(payload))
        if len(body) > length and reason == MQRC_NONE:
            code, reason = MQCC_WARNING, MQRC_TRUNCATED_MSG_ACCEPTED
            body = body[:length]
            if not options & MQGMO_ACCEPT_TRUNCATED_MSG:
                return body, md, filled, data_bytes, code, MQRC_TRUNCATED_MSG_FAILED
        stream.take()
        self._account(remote, stream, md, len(payload))
        return body, md, filled, data_bytes, code, reason

    def _account(self, remote: RemoteConnection, stream: PayloadStream, md: bytes | None, length: int) -> None:
        """A message is taken: give credit for others, or stop where messages must not be lost."""
        if md is not None and int(read_i32_le(md, MD_PERSISTENCE)) != MQPER_NOT_PERSISTENT:
            self._state = _OFF
            # The message is delivered whatever happens to the link.
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
        """Whether a persistent message is here: it is the last one, as the queue manager stops behind it by itself."""
        if not stream.count():
            return False
        payload = stream.last()
        if len(payload) < GOT_FIXED_BYTES:
            return True  # the stream has failed
        return int(read_i32_le(payload, GOT_MD + MD_PERSISTENCE)) != MQPER_NOT_PERSISTENT

    def discard(self, remote: RemoteConnection) -> None:
        """The handle is closed: what was sent ahead is gone."""
        self._end(remote)
        self._stream = None


def _never() -> bool:
    return False
