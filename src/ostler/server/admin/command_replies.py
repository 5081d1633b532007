"""Delivery of the command server's replies to the reply queue.

A full reply queue is retried for a while, as long as an application has it open for input. A reply that cannot be
delivered goes to the dead-letter queue, or is discarded with MQRO_DISCARD_MSG; then no further replies are sent.
"""

from __future__ import annotations

import struct
import threading
import time
from typing import Final

from ostler.engine import put as putting
from ostler.engine.connection import Connection
from ostler.engine.core import Engine
from ostler.engine.events.reports import Outgoing, on_exception
from ostler.engine.handle import Handle
from ostler.engine.message.message import Message
from ostler.engine.open import OpenRequest, close_object, open_object
from ostler.engine.outcomes import PutOutcome, refused_put
from ostler.engine.queue.delivery import put_on_dead_letter_queue, send_own_messages
from ostler.model import constants as mq
from ostler.model.errors import MQError
from ostler.model.reasons import WARNINGS
from ostler.model.structures.md import Md
from ostler.server.queue_manager import QueueManager
from ostler.server.rate_limited_log import printable

_ROOM_TRIES: Final = 3
_FULL_SECONDS: Final = 5.0  # for one reply, while an application reads the queue
# For all replies to a command, and a little more for each reply sent: other commands wait behind this one.
_WAIT_SECONDS_MAX: Final = 30.0
_WAIT_PER_REPLY_SECONDS: Final = 0.002
_FULL_PAUSE_SECONDS: Final = 0.01


class RequestDescriptor:
    """The fields of a command's message descriptor that replies depend on."""

    def __init__(self, descriptor: bytes) -> None:
        self.bytes = descriptor
        md = Md(bytearray(descriptor))
        self.user = md.user_identifier
        self.format = md.format
        self.ccsid = md.coded_char_set_id
        self.is_big_endian = md.encoding & mq.MQENC_INTEGER_MASK == mq.MQENC_INTEGER_NORMAL
        self.reply_queue = md.reply_to_q
        self.reply_manager = md.reply_to_q_mgr
        self.report = md.report
        self.is_report = md.msg_type == mq.MQMT_REPORT
        self.is_request = md.msg_type == mq.MQMT_REQUEST
        self.expiry = md.expiry
        self.priority = md.priority
        self.persistence = md.persistence
        self.message_id = md.msg_id
        self.correlation_id = md.correl_id
        self.backout_count = md.backout_count

    @property
    def may_be_discarded(self) -> bool:
        both = mq.MQRO_DISCARD_MSG | mq.MQRO_PASS_DISCARD_AND_EXPIRY
        return self.report & both == both


class Replies:
    """Sends the replies to one command."""

    def __init__(
        self,
        manager: QueueManager,
        connection: Connection,
        descriptor: RequestDescriptor,
        body: bytes,
        ccsid: int,
        stopping: threading.Event,
    ) -> None:
        self._manager = manager
        self._connection = connection
        self._request = descriptor
        self._body = body
        self._ccsid = ccsid
        self._stopping = stopping
        self._handle: Handle | None = None
        self._waited_seconds = 0.0
        self._sent = 0

    def send(self, reply: bytes) -> bool:
        """Send one reply. Returns False when no more can be sent."""
        request = self._request
        completion = struct.unpack_from("<i", reply, 24)[0]
        wanted = request.is_request or request.report & (mq.MQRO_NAN if completion == mq.MQCC_FAILED else mq.MQRO_PAN)
        if not wanted or not request.reply_queue:
            return True
        md = self._descriptor(completion)
        reason = self._put(md, reply)
        if reason in (mq.MQRC_MSG_TOO_BIG_FOR_Q, mq.MQRC_MSG_TOO_BIG_FOR_Q_MGR):
            self._put(md, _too_long_reply(reply, reason))
            return False
        if reason and reason not in WARNINGS:
            self._handle_undeliverable(md, reply, reason)
            return False
        return True

    def close(self) -> None:
        handle, self._handle = self._handle, None
        if handle is None:
            return
        with self._manager.turn:
            if handle.number in self._connection.handles and not self._connection.broken:
                close_object(self._manager.engine, self._connection, handle, 0)

    def _descriptor(self, completion: int) -> bytes:
        request = self._request
        md = Md()
        md.msg_type = mq.MQMT_REPLY
        if not request.is_request:
            md.msg_type = mq.MQMT_REPORT
            md.feedback = mq.MQFB_NAN if completion == mq.MQCC_FAILED else mq.MQFB_PAN
        passes = request.report & mq.MQRO_PASS_DISCARD_AND_EXPIRY
        md.report = request.report & mq.MQRO_DISCARD_MSG if passes else 0
        md.expiry = request.expiry if passes else mq.MQEI_UNLIMITED
        md.encoding = mq.MQENC_NATIVE
        md.coded_char_set_id = self._ccsid
        md.format = mq.MQFMT_ADMIN.decode().rstrip()
        md.priority = request.priority
        md.persistence = request.persistence
        if request.report & mq.MQRO_PASS_MSG_ID:
            md.msg_id = request.message_id
        md.correl_id = request.correlation_id if request.report & mq.MQRO_PASS_CORREL_ID else request.message_id
        return bytes(md.buffer)

    def _put(self, md: bytes, reply: bytes) -> int:
        """Put a reply, waiting for room on the queue and in the log. Returns 0, a warning or the reason."""
        tries = 0
        limit_seconds = min(self._waited_seconds + _FULL_SECONDS, self._wait_seconds_max)
        while True:
            outcome, is_read = self._put_once(md, reply)
            reason = outcome.reason
            if outcome.wants_log_space and tries < _ROOM_TRIES:
                tries += 1
                self._manager.make_room()
                continue
            may_wait = is_read and self._waited_seconds < limit_seconds
            if reason == mq.MQRC_Q_FULL and may_wait and not self._stopping.is_set():
                self._pause()
                continue
            if outcome.after_lsn:
                self._manager.writer.wait_durable_throttled(outcome.after_lsn)
            self._sent += 1
            return reason

    @property
    def _wait_seconds_max(self) -> float:
        return _WAIT_SECONDS_MAX + self._sent * _WAIT_PER_REPLY_SECONDS

    def _pause(self) -> None:
        began = time.monotonic()
        self._stopping.wait(_FULL_PAUSE_SECONDS)
        self._waited_seconds += time.monotonic() - began

    def _put_once(self, md: bytes, reply: bytes) -> tuple[PutOutcome, bool]:
        """Try once. Returns the outcome, and whether the queue is open for input."""
        manager = self._manager
        connection = self._connection
        with manager.turn as engine:
            connection.check_working()
            try:
                handle = self._open_reply_queue(engine)
            except MQError as error:
                return refused_put(error), False
            outcome = putting.put(engine, connection, handle, md, mq.MQPMO_NO_SYNCPOINT, b"", reply, None)
            queue = handle.queue
            return outcome, queue is not None and queue.inputs > 0

    def _open_reply_queue(self, engine: Engine) -> Handle:
        """Return the reply queue, opened with the authority of the user who sent the command."""
        if self._handle is None:
            options = mq.MQOO_OUTPUT | mq.MQOO_ALTERNATE_USER_AUTHORITY | mq.MQOO_FAIL_IF_QUIESCING
            request = OpenRequest(mq.MQOT_Q, self._request.reply_queue, options)
            request.manager_name = self._request.reply_manager
            request.alternate_user = self._request.user
            self._handle = open_object(engine, self._connection, request)
        return self._handle

    def _handle_undeliverable(self, md: bytes, reply: bytes, reason: int) -> None:
        request = self._request
        manager = self._manager
        with manager.turn as engine:
            if not request.may_be_discarded:
                item = Outgoing(
                    request.reply_queue, request.reply_manager, self._with_message_id(engine, md), reply, True
                )
                put_on_dead_letter_queue(engine, item, reason, None)
            original = Message(request.bytes, b"", self._body, 0)
            send_own_messages(engine, on_exception(engine, original, reason), None)

    def _with_message_id(self, engine: Engine, md: bytes) -> bytes:
        """Return the descriptor with the message id that a put would have set."""
        completed = Md(bytearray(md))
        if not self._request.report & mq.MQRO_PASS_MSG_ID:
            completed.msg_id = engine.new_id()
        return bytes(completed.buffer)


def dead_letter_command(manager: QueueManager, request: RequestDescriptor, body: bytes, reason: int, text: str) -> None:
    """Put a command that is not to be run on the dead-letter queue, if there is one.

    `text` is written to the error log, with {who} and {became} filled in.
    """
    with manager.turn as engine:
        name = engine.manager.attributes.get("COMMANDQ", "")
        item = Outgoing(str(name), engine.name, request.bytes, body, True)
        is_kept = put_on_dead_letter_queue(engine, item, reason, None)
    became = "put on the dead-letter queue" if is_kept else "discarded: no dead-letter queue takes it"
    who = f"with message id {request.message_id.hex()} of user {printable(request.user)}"
    manager.note(text.format(who=who, became=became))


def _too_long_reply(reply: bytes, reason: int) -> bytes:
    """Return the failure reply that replaces a reply that is too long for the reply queue."""
    head = struct.unpack_from("<9i", reply)
    return struct.pack("<9i", head[0], mq.MQCFH_STRUC_LENGTH, *head[2:5], mq.MQCFC_LAST, mq.MQCC_FAILED, reason, 0)
