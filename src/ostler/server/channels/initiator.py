"""The channel initiator: it takes trigger messages off SYSTEM.CHANNEL.INITQ and has the channels started they ask for.

Which channel that is, TRIGDATA of the transmission queue says, or else USERDATA of its process, or else the channel
definitions: the first sender or server, by name, with that transmission queue.

It has no thread: a get waits on the queue, and the reactor goes on with it when there is a message. Whatever is on the
queue, the next message is served. When the queue cannot be read any more, it is tried again every few seconds.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Final

from mypy_extensions import i64

from ostler.channel.negotiation import text_of
from ostler.engine import get as getting
from ostler.engine.connection import Connection
from ostler.engine.core import Engine
from ostler.engine.handle import Handle
from ostler.engine.message.message import FORMAT_AT, NULL_ID
from ostler.engine.open import OpenRequest, open_object
from ostler.engine.queue.get_request import UNLIMITED, GetRequest
from ostler.model.attributes import ObjectType, subtype_of
from ostler.model.constants import (
    MQAT_CHANNEL_INITIATOR,
    MQENC_NATIVE,
    MQFMT_TRIGGER,
    MQGMO_ACCEPT_TRUNCATED_MSG,
    MQGMO_CONVERT,
    MQGMO_FAIL_IF_QUIESCING,
    MQGMO_NO_PROPERTIES,
    MQGMO_NO_SYNCPOINT,
    MQGMO_WAIT,
    MQOO_FAIL_IF_QUIESCING,
    MQOO_INPUT_EXCLUSIVE,
    MQOT_Q,
    MQRC_NO_MSG_AVAILABLE,
)
from ostler.model.errors import MQError
from ostler.model.pcf import UTF_8
from ostler.model.structures.headers import MQTM
from ostler.model.structures.layout import trim
from ostler.server.net.reactor import Reactor
from ostler.server.net.timers import Timer
from ostler.server.queue_manager import QueueManager
from ostler.server.rate_limited_log import RateLimitedLog
from ostler.server.security.os_users import user_name

DEFAULT_QUEUE: Final = "SYSTEM.CHANNEL.INITQ"
APPLICATION: Final = "ostler-channel-initiator"
STOPPED: Final = "STOPPED"
STARTING: Final = "STARTING"
RUNNING: Final = "RUNNING"
AGAIN_MS: Final = 5000
_MESSAGES_MAX: Final = 64  # in one go: others wait for the reactor too
_LENGTH_MAX: Final = 4096  # MQTM has 684 bytes; whatever is longer is none
_FORMAT_BYTES: Final = 8
_SENDING: Final = ("SDR", "SVR")
_GET: Final = (
    MQGMO_WAIT
    | MQGMO_NO_SYNCPOINT
    | MQGMO_FAIL_IF_QUIESCING
    | MQGMO_ACCEPT_TRUNCATED_MSG
    | MQGMO_CONVERT
    | MQGMO_NO_PROPERTIES
)


class ChannelInitiator:
    """Serves initiation queues for channels. Under the engine's lock, on any thread."""

    def __init__(self, manager: QueueManager, reactor: Reactor, start_channel: Callable[[str], None]) -> None:
        """`start_channel` is called on the reactor's thread, under the engine's lock."""
        self.manager = manager
        self.reactor = reactor
        self.start_channel = start_channel
        self.notes = RateLimitedLog(manager.note)  # whoever puts messages there has some say in them
        self._watches: dict[str, InitiationQueueReader] = {}

    @property
    def status(self) -> str:
        """STOPPED, STARTING or RUNNING, as QMSTATUS shows it."""
        watches = [each.status for each in self._watches.values()]
        if RUNNING in watches:
            return RUNNING
        return STARTING if STARTING in watches else STOPPED

    def begin(self) -> None:
        """The queue manager has started: serve the queue of its own, as soon as that can be."""
        watch = self._new_watch(DEFAULT_QUEUE)
        if watch is not None:
            watch.begin()

    def start(self, queue: str = "") -> bool:
        """START CHINIT: serve a queue, or the one of its own. False: it does already. MQError when that cannot be."""
        queue = queue or DEFAULT_QUEUE
        watch = self._new_watch(queue)
        if watch is None:
            return False
        try:
            watch.open()
        except MQError:
            watch.end()
            del self._watches[queue]
            raise
        return True

    def _new_watch(self, queue: str) -> InitiationQueueReader | None:
        before = self._watches.get(queue)
        if before is not None and before.status == RUNNING:
            return None
        if before is not None:
            before.end()
        watch = self._watches[queue] = InitiationQueueReader(self, queue)
        return watch

    def stop(self) -> bool:
        """STOP CHINIT: serve no queue. Channels run on. False: it serves none."""
        is_serving = self.status != STOPPED
        watches = self._watches
        self._watches = {}
        for watch in watches.values():
            watch.end()
        return is_serving


class InitiationQueueReader(Timer):
    """A get that waits on an initiation queue; as a timer, the next try when the queue could not be read."""

    def __init__(self, initiator: ChannelInitiator, queue: str) -> None:
        super().__init__()
        self.status = STARTING
        self._initiator = initiator
        self._manager = initiator.manager
        self._reactor = initiator.reactor
        self._engine: Engine = initiator.manager.engine
        self._queue = queue
        self._connection: Connection | None = None
        self._handle: Handle | None = None
        self._request: GetRequest | None = None
        self._is_posted = False
        self._noted = ""

    # -- under the engine's lock, on any thread ------------------------------------------------------------------------

    def begin(self) -> None:
        """Open the queue, now or later."""
        try:
            self.open()
        except Exception as error:
            self._fail(error)

    def open(self) -> None:
        """Open the queue, and have the reactor begin to serve it. MQError."""
        connection = self._manager.admit(user_name(os.getuid()), APPLICATION, MQAT_CHANNEL_INITIATOR)
        connection.is_privileged = True
        self._connection = connection
        options = MQOO_INPUT_EXCLUSIVE | MQOO_FAIL_IF_QUIESCING
        self._handle = open_object(self._engine, connection, OpenRequest(MQOT_Q, self._queue, options))
        self.status = RUNNING
        self._ring()

    def end(self) -> None:
        """Serve no more."""
        self.status = STOPPED
        self._leave()

    def _leave(self) -> None:
        connection, self._connection = self._connection, None
        request, self._request = self._request, None
        self._handle = None
        if request is not None:
            request.waker = None
        if connection is not None and self._manager.running:
            connection.has_disconnected = True
            self._manager.release(connection, False)

    def _fail(self, error: Exception) -> None:
        """The queue cannot be read, or the connection is broken: try again, unless the queue manager ends."""
        self._leave()
        if self._manager.is_ending():
            self.status = STOPPED
            return
        self.status = STARTING
        why = str(error) if isinstance(error, MQError) else repr(error)
        text = f"AMQ9509E: The channel initiator cannot read {self._queue}, and tries again: {why}"
        if text != self._noted:
            self._noted = text
            self._manager.note(text)
        self._reactor.post(self._try_again_later)

    def _ring(self) -> None:
        """There may be an answer: have the reactor look."""
        if not self._is_posted:
            self._is_posted = True
            self._reactor.post(self._serve)

    # -- under the engine's lock, on the reactor's thread --------------------------------------------------------------

    def _try_again_later(self) -> None:
        if self.status == STARTING:
            self._reactor.wheel.add(self, self._reactor.now_ms + AGAIN_MS)

    def fire(self, now_ms: i64) -> None:
        if self.status == STARTING:
            self.begin()

    def _serve(self) -> None:
        """Take messages until there are none for now."""
        self._is_posted = False
        try:
            for _ in range(_MESSAGES_MAX):
                connection, handle = self._connection, self._handle
                if connection is None or handle is None:
                    return
                if connection.broken:
                    raise MQError(connection.broken)
                request = self._answer(connection, handle)
                if request is None:
                    return
                self._take(request)
        except Exception as error:
            # Also what nobody expects: a watch that is not served any more would start no channel, and not say so.
            self._fail(error)
            return
        self._ring()

    def _answer(self, connection: Connection, handle: Handle) -> GetRequest | None:
        """The get that waits, or a new one, if there is a message for it. None: it waits. MQError when it cannot."""
        request = self._request
        if request is None:
            request = getting.new_request(connection, handle, _GET, 0, NULL_ID, NULL_ID, _LENGTH_MAX)
            request.wait_ms = UNLIMITED
            request.encoding = MQENC_NATIVE
            request.ccsid = UTF_8
            request.waker = self._ring
            self._request = request
            getting.get(self._engine, request)
        if not request.done:
            return None
        self._request = None
        request.waker = None
        if not request.md and request.reason != MQRC_NO_MSG_AVAILABLE:
            raise MQError(request.reason)
        return request

    def _take(self, request: GetRequest) -> None:
        """Start the channel that a message asks for. Whatever is wrong with it, it is the operator's."""
        self._noted = ""
        if not request.md:
            return
        try:
            data = request.body
            if request.md[FORMAT_AT : FORMAT_AT + _FORMAT_BYTES] != MQFMT_TRIGGER:
                data = b""
            MQTM.validate_header(data)
            name = channel_of(self._engine, data)
            if not name:
                queue = _text(data, "QName")
                why = f"no sender or server channel has XMITQ({queue}): define one, or name it in TRIGDATA of the queue"
                self._initiator.notes.write(
                    queue if queue in self._engine.queues else "",
                    f"AMQ9519E: Nothing was started for queue {queue}: {why}.",
                )
                return
            self._initiator.start_channel(name)
        except MQError as error:
            self._initiator.notes.write(
                "no trigger", f"AMQ9999E: A message on {self._queue} is no trigger message: {error}"
            )
        except Exception as error:
            self._initiator.notes.write("failed", f"AMQ9999E: A channel could not be started by its trigger: {error!r}")


def channel_of(engine: Engine, message: bytes) -> str:
    """The channel that a trigger message (MQTM) is for; empty when there is none."""
    name = _text(message, "TriggerData") or _text(message, "UserData")
    if name:
        return name
    queue = _text(message, "QName")
    found = [
        definition.name
        for definition in engine.of_type(ObjectType.CHANNEL).values()
        if text_of(definition, "XMITQ") == queue and subtype_of(ObjectType.CHANNEL, definition.attributes) in _SENDING
    ]
    return min(found, default="")


def _text(message: bytes, name: str) -> str:
    return trim(MQTM.read_bytes(message, name)).decode("utf-8", "replace").strip()
