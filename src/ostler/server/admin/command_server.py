"""The command server: it takes PCF commands off SYSTEM.ADMIN.COMMAND.QUEUE and sends the replies.

One thread with a connection of its own does one command after the other, in the order in which they lie on the queue.
It ends with the queue manager, or when it is told to. After any other error, such as a connection broken by STOP CONN,
it connects again. A command is taken under syncpoint: one that was not finished is backed out and done again, and one
that fails each time goes to the dead-letter queue.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from typing import Final

from ostler.command.admin.context import CommandContext
from ostler.command.pcf.dispatch import answer, reply_ccsid
from ostler.engine import get as getting
from ostler.engine import syncpoint
from ostler.engine.connection import Connection
from ostler.engine.handle import Handle
from ostler.engine.message.message import NULL_ID
from ostler.engine.open import OpenRequest, open_object
from ostler.engine.queue.get_request import GetRequest
from ostler.model.constants import (
    MQAT_QMGR,
    MQENC_NATIVE,
    MQEVO_MSG,
    MQGMO_CONVERT,
    MQGMO_FAIL_IF_QUIESCING,
    MQGMO_NO_PROPERTIES,
    MQGMO_SYNCPOINT,
    MQGMO_WAIT,
    MQOO_FAIL_IF_QUIESCING,
    MQOO_INPUT_SHARED,
    MQOT_Q,
    MQRC_BACKOUT_THRESHOLD_REACHED,
    MQRC_MSG_TYPE_ERROR,
    MQRC_NO_MSG_AVAILABLE,
)
from ostler.model.errors import MQError
from ostler.model.pcf import UTF_8
from ostler.server.admin.command_replies import Replies, RequestDescriptor, bury
from ostler.server.queue_manager import QueueManager
from ostler.server.security.os_users import user_name
from ostler.server.supervised_thread import SupervisedThread

ContextFor = Callable[[str, int], CommandContext]
"""The queue manager as one user may give commands to it; the number says how the commands come (MQEVO_*)."""

APPLICATION: Final = "ostler-commands"
_DEFAULT_QUEUE: Final = "SYSTEM.ADMIN.COMMAND.QUEUE"
_LENGTH_MAX: Final = 100 * 1024 * 1024
_TRIES_MAX: Final = 3  # of a command that fails each time
_STOP_SECONDS: Final = 30.0
_GET: Final = MQGMO_WAIT | MQGMO_CONVERT | MQGMO_FAIL_IF_QUIESCING | MQGMO_SYNCPOINT | MQGMO_NO_PROPERTIES


_TRIED_OFTEN: Final = "AMQ8506E: The command {who} could not be done in several tries; it was given up and {became}."
_A_REPORT: Final = (
    "AMQ8506W: The message {who} on the command queue is a report, and no command; it was {became}. See which "
    "application names the command queue as its reply-to queue."
)


class CommandServer:
    """Serves the command queue of a queue manager that runs."""

    def __init__(self, manager: QueueManager, context_for: ContextFor) -> None:
        self._manager = manager
        self._context_for = context_for
        self._turn = threading.Lock()  # of those who start and stop it
        self._thread: SupervisedThread | None = None
        self._stopping = threading.Event()
        self._waiting: GetRequest | None = None
        self._connection: Connection | None = None
        self._status = "STOPPED"

    @property
    def status(self) -> str:
        """STARTING, RUNNING, STOPPING or STOPPED, as QMSTATUS shows it. STARTING also while it is to begin again."""
        thread = self._thread
        if thread is None or not thread.is_alive():
            return "STOPPED"
        return "STARTING" if thread.is_pausing and self._status == "RUNNING" else self._status

    def start(self) -> bool:
        """Begin to serve. False: it does already. RuntimeError when the system has no thread for it."""
        with self._turn:
            if self._thread is not None and self._thread.is_alive():
                return False
            self._stopping = stopping = threading.Event()
            self._status = "STARTING"
            thread = SupervisedThread(
                "ostler-commands",
                "command server",
                self._run,
                lambda: stopping.is_set() or self._manager.is_ending(),
                self._manager.note,
                number="AMQ8506E",
                stopping=stopping,
            )
            thread.start()
            self._thread = thread
            return True

    def stop(self) -> bool:
        """Serve no more; the command under way is finished. False: it does not serve."""
        with self._turn:
            thread = self._thread
            if thread is None or not thread.is_alive():
                return False
            self._status = "STOPPING"
            self._stopping.set()
            with self._manager.lock:
                if self._waiting is not None:
                    getting.cancel(self._manager.engine, self._waiting, MQRC_NO_MSG_AVAILABLE)
                    waker = self._waiting.waker
                    if callable(waker):
                        waker()
            thread.join(_STOP_SECONDS)
            return True

    # -- the thread ----------------------------------------------------------------------------------------------------

    def _run(self) -> None:
        """Serve until it is told to stop, with a connection that goes whatever happens."""
        try:
            self._serve()
        finally:
            if not self._stopping.is_set():
                self._status = "STARTING"
            self._waiting = None
            self._leave()

    def _leave(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None and self._manager.running:
            self._manager.disconnect(connection, commit_work=False)

    def _serve(self) -> None:
        """Do command after command until it is told to stop."""
        manager = self._manager
        user = user_name(os.getuid())
        self._connection = connection = manager.connect(user, APPLICATION, MQAT_QMGR)
        handle = self._open()
        self._status = "RUNNING"
        while not self._stopping.is_set():
            request = self._next(connection, handle)
            if request is not None:
                self._do(connection, request)

    def _open(self) -> Handle:
        manager = self._manager
        assert self._connection is not None
        with manager.lock:
            if self._connection.broken:
                raise MQError(self._connection.broken)
            name = manager.engine.manager.attributes.get("COMMANDQ", "")
            name = name if isinstance(name, str) and name else _DEFAULT_QUEUE
            return open_object(
                manager.engine,
                self._connection,
                OpenRequest(MQOT_Q, name, MQOO_INPUT_SHARED | MQOO_FAIL_IF_QUIESCING),
            )

    def _next(self, connection: Connection, handle: Handle) -> GetRequest | None:
        """The next command, once there is one; None when there will be none."""
        manager = self._manager
        request = getting.new_request(connection, handle, _GET, 0, NULL_ID, NULL_ID, _LENGTH_MAX)
        request.wait_ms = -1
        request.encoding = MQENC_NATIVE
        request.ccsid = UTF_8
        woken = threading.Event()
        with manager.lock:
            if connection.broken:
                raise MQError(connection.broken)
            manager.clock.update(manager.engine)
            request.waker = woken.set
            is_answered = getting.get(manager.engine, request)
            manager.wake()
            if not is_answered:
                if self._stopping.is_set():
                    getting.cancel(manager.engine, request, MQRC_NO_MSG_AVAILABLE)
                    return None
                self._waiting = request
        if not is_answered:
            woken.wait()
            with manager.lock:
                self._waiting = None
        if not request.md:
            if request.reason == MQRC_NO_MSG_AVAILABLE:
                return None
            raise MQError(request.reason)
        manager.writer.wait_durable_throttled(request.after_lsn)
        return request

    def _do(self, connection: Connection, request: GetRequest) -> None:
        """Do one command and send its replies; then the command is done with for good."""
        descriptor = RequestDescriptor(request.md)
        if descriptor.is_report:
            # The queue manager makes them, in the name of whoever a message says it is from: they are no commands.
            bury(self._manager, descriptor, request.body, MQRC_MSG_TYPE_ERROR, _A_REPORT)
            self._commit(connection)
            return
        if descriptor.backout_count >= _TRIES_MAX:
            bury(self._manager, descriptor, request.body, MQRC_BACKOUT_THRESHOLD_REACHED, _TRIED_OFTEN)
            self._commit(connection)
            return
        target = self._context_for(descriptor.user, MQEVO_MSG)
        replies = Replies(self._manager, connection, descriptor, request.body, reply_ccsid(target), self._stopping)
        try:
            for reply in answer(target, request.body, descriptor.ccsid, descriptor.is_big_endian, descriptor.format):
                if not replies.send(reply):
                    break
        finally:
            replies.close()
        self._commit(connection)

    def _commit(self, connection: Connection) -> None:
        manager = self._manager
        with manager.lock:
            if connection.broken:
                raise MQError(connection.broken)
            manager.clock.update(manager.engine)
            syncpoint.commit(manager.engine, connection)
            lsn = connection.after_lsn
            manager.wake()
        if lsn:
            manager.writer.wait_durable_throttled(lsn)
