"""The queue by which commands with CMDSCOPE reach other members, and its messages.

SYSTEM.QSG.COMMAND.QUEUE is a shared queue of structure CSQSYSAPPL. A command has the member that it is for in its
correlation identifier; the parts of an answer have the identifier that the command asks for. All expire with the time
limit, so a command that nobody has read in time is never run later. The user is in the message descriptor, as in
commands on SYSTEM.ADMIN.COMMAND.QUEUE: an application that may put there cannot give commands in another's name.

A body is one line of JSON, which begins with the version, and the bytes of the command or of the answer behind it.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any, Final

from ostler.engine import get as getting
from ostler.engine import put as putting
from ostler.engine.handle import Handle
from ostler.engine.message.message import NULL_ID
from ostler.engine.open import OpenRequest, complete_open, open_object
from ostler.engine.queue.get_request import GetRequest
from ostler.engine.task import EngineTask
from ostler.model import constants as mq
from ostler.model.attributes import ObjectType, Value
from ostler.model.coupling.answers import COMMAND_STRUCTURE
from ostler.model.definitions import new_definition
from ostler.model.errors import MQError
from ostler.model.pcf import UTF_8
from ostler.model.structures.md import Md
from ostler.server.queue_manager import QueueManager
from ostler.server.security.os_users import user_name

STRUCTURE: Final = COMMAND_STRUCTURE
QUEUE: Final = "SYSTEM.QSG.COMMAND.QUEUE"
VERSION: Final = 1
PART_BYTES_MAX: Final = 30_000
USER_BYTES_MAX: Final = 12
_ID_BYTES: Final = 24
_LENGTH_MAX: Final = 64 << 10
_APPLICATION: Final = "ostler-group-commands"
_TASK_SECONDS: Final = 10.0
_GET: Final = mq.MQGMO_WAIT | mq.MQGMO_FAIL_IF_QUIESCING | mq.MQGMO_NO_SYNCPOINT | mq.MQGMO_NO_PROPERTIES
_OPEN: Final = mq.MQOO_INPUT_SHARED | mq.MQOO_OUTPUT | mq.MQOO_SET_IDENTITY_CONTEXT | mq.MQOO_FAIL_IF_QUIESCING
_PUT: Final = mq.MQPMO_NO_SYNCPOINT | mq.MQPMO_SET_IDENTITY_CONTEXT | mq.MQPMO_FAIL_IF_QUIESCING


class MalformedCommand(Exception):
    """The message is no command and no answer that this release can read."""


@dataclass(frozen=True)
class CommandHead:
    """What a member is to do, and where the answer goes."""

    sender: str
    kind: str
    """mqsc or pcf."""
    reply_id: str
    version: int = VERSION


@dataclass(frozen=True)
class AnswerHead:
    """One part of an answer. An item is a block of lines, or one PCF message."""

    name: str
    ccsid: int = UTF_8
    is_cut: bool = False
    """The item goes on in the next part."""
    is_last: bool = False
    is_done: bool = False
    version: int = VERSION


def encode_body(head: CommandHead | AnswerHead, data: bytes) -> bytes:
    return json.dumps(asdict(head)).encode() + b"\n" + data


def decode_command(body: bytes) -> tuple[CommandHead, bytes]:
    """Raises MalformedCommand."""
    values, data = _decode(body)
    try:
        return CommandHead(str(values["sender"]), str(values["kind"]), str(values["reply_id"])), data
    except KeyError as error:
        raise MalformedCommand(f"the command has no {error}") from None


def decode_answer(body: bytes) -> tuple[AnswerHead, bytes]:
    """Raises MalformedCommand."""
    values, data = _decode(body)
    try:
        flags = bool(values["is_cut"]), bool(values["is_last"]), bool(values["is_done"])
        return AnswerHead(str(values["name"]), int(values["ccsid"]), *flags), data
    except (KeyError, TypeError, ValueError) as error:
        raise MalformedCommand(f"the answer is not whole: {error}") from None


def _decode(body: bytes) -> tuple[dict[str, Any], bytes]:
    line, newline, data = body.partition(b"\n")
    try:
        values = json.loads(line)
    except ValueError:
        raise MalformedCommand("it does not begin with a line of JSON") from None
    if not newline or not isinstance(values, dict):
        raise MalformedCommand("it does not begin with a line of JSON")
    if values.get("version") != VERSION:
        raise MalformedCommand(f"it has version {values.get('version')}; this release reads version {VERSION}")
    return values, data


def member_id(number: int) -> bytes:
    """Return the correlation identifier of commands for a member."""
    return b"OSTLER.CMD.".ljust(_ID_BYTES - 8, b"\0") + number.to_bytes(8, "big")


def define_queue(manager: QueueManager) -> None:
    """Define the structure and the queue, unless they are there."""
    with manager.turn as engine:
        has_structure = STRUCTURE in engine.of_type(ObjectType.CFSTRUCT)
        has_queue = QUEUE in engine.of_type(ObjectType.QLOCAL)
    if not has_structure:
        manager.define(new_definition(ObjectType.CFSTRUCT, STRUCTURE, {"CFLEVEL": 3, "DESCR": "Queues of the group"}))
    if not has_queue:
        shared: dict[str, Value] = {
            "QSGDISP": mq.MQQSGD_SHARED,
            "CFSTRUCT": STRUCTURE,
            "SHARE": 1,
            "INDXTYPE": mq.MQIT_CORREL_ID,
        }
        text: dict[str, Value] = {"DESCR": "Commands for other members", "MAXDEPTH": 999_999, "MAXMSGL": _LENGTH_MAX}
        manager.define(new_definition(ObjectType.QLOCAL, QUEUE, {**shared, **text}))


class GroupCommandQueue:
    """The queue, open on a connection of the queue manager itself. Calls block; one thread at a time."""

    def __init__(self, manager: QueueManager) -> None:
        """Raises MQError."""
        self._manager = manager
        self._waiting: GetRequest | None = None
        self._is_cancelled = False
        self._connection = manager.connect(user_name(os.getuid()), _APPLICATION, mq.MQAT_QMGR)
        try:
            self._handle = self._open()
        except BaseException:
            self.close()
            raise

    def _open(self) -> Handle:
        manager = self._manager
        done = manager.machine.event()
        with manager.turn as engine:
            handle = open_object(engine, self._connection, OpenRequest(mq.MQOT_Q, QUEUE, _OPEN))
            opening = handle.opening
            if opening is not None:
                engine.notify_when_done(opening, done.set)
        if opening is not None:
            self._wait(opening, done.wait)
            with manager.turn as engine:
                complete_open(engine, self._connection, handle)
        return handle

    def put(self, correlation_id: bytes, user: str, body: bytes, seconds: float) -> None:
        """Put a message that expires after some seconds. Raises MQError."""
        md = Md()
        md.msg_type = mq.MQMT_DATAGRAM
        md.persistence = mq.MQPER_NOT_PERSISTENT
        md.correl_id = correlation_id
        md.expiry = max(1, int(seconds * 10))
        md.user_identifier = user
        manager = self._manager
        done = manager.machine.event()
        with manager.turn as engine:
            self._connection.check_working()
            outcome = putting.put(engine, self._connection, self._handle, bytes(md.buffer), _PUT, b"", body, None)
            if outcome.task is not None:
                engine.notify_when_done(outcome.task, done.set)
        if outcome.task is not None:
            self._wait(outcome.task, done.wait)
        outcome.check()

    def _wait(self, task: EngineTask, wait: Callable[[float], bool]) -> None:
        if not wait(_TASK_SECONDS):
            raise MQError(mq.MQRC_CF_NOT_AVAILABLE, "The coupling facility gives no answer.")
        task.check()

    def get(self, correlation_id: bytes, wait_ms: int) -> GetRequest | None:
        """Get a message, or None when there is none in time, or after `cancel`. Raises MQError."""
        manager = self._manager
        request = getting.new_request(
            self._connection, self._handle, _GET, mq.MQMO_MATCH_CORREL_ID, NULL_ID, correlation_id, _LENGTH_MAX
        )
        request.may_pause = True
        request.wait_ms = wait_ms
        woken = manager.machine.event()
        with manager.turn as engine:
            self._connection.check_working()
            request.waker = woken.set
            is_answered = getting.get(engine, request)
            if not is_answered:
                self._waiting = request
                if self._is_cancelled and getting.end_wait(engine, request):
                    return None
        if not is_answered:
            if not woken.wait(wait_ms / 1000 if wait_ms >= 0 else None):
                self._end_wait(request, woken.wait)
            with manager.turn:
                self._waiting = None
        if request.md:
            return request
        if request.reason == mq.MQRC_NO_MSG_AVAILABLE:
            return None
        raise MQError(request.reason)

    def _end_wait(self, request: GetRequest, wait: Callable[[float], bool]) -> None:
        """End a wait whose time is up. An answer that is on its way counts."""
        with self._manager.turn as engine:
            if request.done or getting.end_wait(engine, request):
                return
        if not wait(_TASK_SECONDS):
            raise MQError(mq.MQRC_CF_NOT_AVAILABLE, "The coupling facility gives no answer.")

    def cancel(self) -> None:
        """End a waiting `get`, and those that follow. On any thread."""
        with self._manager.turn as engine:
            self._is_cancelled = True
            waiting = self._waiting
            if waiting is not None and not waiting.done and getting.end_wait(engine, waiting):
                waker = waiting.waker
                if callable(waker):
                    waker()

    def close(self) -> None:
        if self._manager.running:
            self._manager.disconnect(self._connection, commit_work=False)
