"""The channel initiator: gets trigger messages from SYSTEM.CHANNEL.INITQ and starts the channels they name.

The channel is TRIGDATA of the transmission queue, or else USERDATA of its process, or else the first sender or server
channel, by name, with that transmission queue.

The initiator has no thread: a get waits on the queue, and the reactor continues when a message arrives. An invalid
message does not stop it. If the queue cannot be read, it retries every few seconds.
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
from ostler.model import constants as mq
from ostler.model.attributes import ObjectType, subtype_of
from ostler.model.errors import MQError
from ostler.model.pcf import UTF_8
from ostler.model.structures.headers import MQTM
from ostler.model.structures.layout import trim
from ostler.server.channels.instance import SENDER_TYPES
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
RETRY_MS: Final = 5000
_MESSAGES_MAX: Final = 64  # in one pass, so that other work of the reactor is not delayed
_LENGTH_MAX: Final = 4096  # MQTM has 684 bytes
_FORMAT_BYTES: Final = 8
_GET: Final = (
    mq.MQGMO_WAIT
    | mq.MQGMO_NO_SYNCPOINT
    | mq.MQGMO_FAIL_IF_QUIESCING
    | mq.MQGMO_ACCEPT_TRUNCATED_MSG
    | mq.MQGMO_CONVERT
    | mq.MQGMO_NO_PROPERTIES
)


class ChannelInitiator:
    """Serves initiation queues for channels. Methods are called under the engine's lock, on any thread."""

    def __init__(self, manager: QueueManager, reactor: Reactor, start_channel: Callable[[str], None]) -> None:
        """`start_channel` is called on the reactor's thread, under the engine's lock."""
        self.manager = manager
        self.reactor = reactor
        self.start_channel = start_channel
        self.notes = RateLimitedLog(manager.note)  # rate-limited: applications choose the contents of trigger messages
        self._readers: dict[str, InitiationQueueReader] = {}

    @property
    def status(self) -> str:
        """STOPPED, STARTING or RUNNING, as QMSTATUS shows it."""
        readers = [each.status for each in self._readers.values()]
        if RUNNING in readers:
            return RUNNING
        return STARTING if STARTING in readers else STOPPED

    def begin(self) -> None:
        """Serve the default initiation queue as soon as possible, when the queue manager starts."""
        reader = self._new_reader(DEFAULT_QUEUE)
        if reader is not None:
            reader.begin()

    def start(self, queue: str = "") -> bool:
        """START CHINIT: serve a queue, by default SYSTEM.CHANNEL.INITQ. Return False if it is served already."""
        queue = queue or DEFAULT_QUEUE
        reader = self._new_reader(queue)
        if reader is None:
            return False
        try:
            reader.open()
        except MQError:
            reader.end()
            del self._readers[queue]
            raise
        return True

    def _new_reader(self, queue: str) -> InitiationQueueReader | None:
        before = self._readers.get(queue)
        if before is not None and before.status == RUNNING:
            return None
        if before is not None:
            before.end()
        reader = self._readers[queue] = InitiationQueueReader(self, queue)
        return reader

    def stop(self) -> bool:
        """STOP CHINIT: stop to serve all queues; channels keep running. Return False if none was served."""
        is_serving = self.status != STOPPED
        readers = self._readers
        self._readers = {}
        for reader in readers.values():
            reader.end()
        return is_serving


class InitiationQueueReader(Timer):
    """A waiting get on an initiation queue; its timer is the next attempt if the queue cannot be read."""

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
        """Open the queue now, or retry later."""
        try:
            self.open()
        except Exception as error:
            self._fail(error)

    def open(self) -> None:
        """Open the queue and start to serve it on the reactor. MQError."""
        connection = self._manager.admit(user_name(os.getuid()), APPLICATION, mq.MQAT_CHANNEL_INITIATOR)
        connection.is_privileged = True
        self._connection = connection
        options = mq.MQOO_INPUT_EXCLUSIVE | mq.MQOO_FAIL_IF_QUIESCING
        self._handle = open_object(self._engine, connection, OpenRequest(mq.MQOT_Q, self._queue, options))
        self.status = RUNNING
        self._ring()

    def end(self) -> None:
        """Stop to serve the queue."""
        self.status = STOPPED
        self._disconnect()

    def _disconnect(self) -> None:
        connection, self._connection = self._connection, None
        request, self._request = self._request, None
        self._handle = None
        if request is not None:
            request.waker = None
        if connection is not None and self._manager.running:
            connection.has_disconnected = True
            self._manager.release(connection, False)

    def _fail(self, error: Exception) -> None:
        """Disconnect and retry later, unless the queue manager ends."""
        self._disconnect()
        if self._manager.is_ending():
            self.status = STOPPED
            return
        self.status = STARTING
        why = str(error) if isinstance(error, MQError) else repr(error)
        text = f"AMQ9509E: The channel initiator cannot read {self._queue}, and retries: {why}"
        if text != self._noted:
            self._noted = text
            self._manager.note(text)
        self._reactor.post(self._schedule_retry)

    def _ring(self) -> None:
        """Have the reactor check the get for a result."""
        if not self._is_posted:
            self._is_posted = True
            self._reactor.post(self._serve)

    # -- under the engine's lock, on the reactor's thread --------------------------------------------------------------

    def _schedule_retry(self) -> None:
        if self.status == STARTING:
            self._reactor.wheel.add(self, self._reactor.now_ms + RETRY_MS)

    def fire(self, now_ms: i64) -> None:
        if self.status == STARTING:
            self.begin()

    def _serve(self) -> None:
        """Handle messages until the queue is empty."""
        self._is_posted = False
        try:
            for _ in range(_MESSAGES_MAX):
                connection, handle = self._connection, self._handle
                if connection is None or handle is None:
                    return
                if connection.broken:
                    raise MQError(connection.broken)
                request = self._next_message(connection, handle)
                if request is None:
                    return
                self._start_channel(request)
        except Exception as error:
            # Any exception: a reader that is not served any more would silently start no channels.
            self._fail(error)
            return
        self._ring()

    def _next_message(self, connection: Connection, handle: Handle) -> GetRequest | None:
        """Return the get if it has a message, or None if it waits. MQError if the get has failed."""
        request = self._request
        if request is None:
            request = getting.new_request(connection, handle, _GET, 0, NULL_ID, NULL_ID, _LENGTH_MAX)
            request.may_pause = True
            request.wait_ms = UNLIMITED
            request.encoding = mq.MQENC_NATIVE
            request.ccsid = UTF_8
            request.waker = self._ring
            self._request = request
            getting.get(self._engine, request)
        if not request.done:
            return None
        self._request = None
        request.waker = None
        if not request.md and request.reason != mq.MQRC_NO_MSG_AVAILABLE:
            raise MQError(request.reason)
        return request

    def _start_channel(self, request: GetRequest) -> None:
        """Start the channel that a trigger message names. Errors are written to the error log."""
        self._noted = ""
        if not request.md:
            return
        try:
            data = request.body
            if request.md[FORMAT_AT : FORMAT_AT + _FORMAT_BYTES] != mq.MQFMT_TRIGGER:
                data = b""
            MQTM.validate_header(data)
            name = channel_of(self._engine, data)
            if not name:
                queue = _text(data, "QName")
                why = f"no sender or server channel has XMITQ({queue}): define one, or name it in TRIGDATA of the queue"
                self._initiator.notes.write(
                    queue if queue in self._engine.queues else "",
                    f"AMQ9519E: No channel was started for queue {queue}: {why}.",
                )
                return
            self._initiator.start_channel(name)
        except MQError as error:
            self._initiator.notes.write(
                "no trigger", f"AMQ9999E: A message on {self._queue} is not a trigger message: {error}"
            )
        except Exception as error:
            self._initiator.notes.write("failed", f"AMQ9999E: A channel could not be started by its trigger: {error!r}")


def channel_of(engine: Engine, message: bytes) -> str:
    """Return the channel that a trigger message (MQTM) names; empty if there is none."""
    name = _text(message, "TriggerData") or _text(message, "UserData")
    if name:
        return name
    queue = _text(message, "QName")
    found = [
        each.name
        for each in engine.of_type(ObjectType.CHANNEL).values()
        if text_of(each, "XMITQ") == queue and subtype_of(ObjectType.CHANNEL, each.attributes) in SENDER_TYPES
    ]
    return min(found, default="")


def _text(message: bytes, name: str) -> str:
    return trim(MQTM.read_bytes(message, name)).decode("utf-8", "replace").strip()
