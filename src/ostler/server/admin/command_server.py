"""The command server: it gets PCF commands from SYSTEM.ADMIN.COMMAND.QUEUE, runs them and sends the replies.

One thread with a connection of its own runs the commands in the order of the queue. It ends with the queue manager or
with STOP CMDSERV. After any other error, such as a connection broken by STOP CONN, it connects again. A command is got
under syncpoint: an unfinished one is backed out and run again, and one that fails each time goes to the dead-letter
queue.
"""

from __future__ import annotations

import os
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
from ostler.model import constants as mq
from ostler.model.errors import MQError
from ostler.model.pcf import UTF_8
from ostler.server.admin.command_replies import Replies, RequestDescriptor, dead_letter_command
from ostler.server.queue_manager import QueueManager
from ostler.server.security.os_users import user_name
from ostler.server.supervised_thread import SupervisedThread

ContextFor = Callable[[str, int], CommandContext]
"""Returns the command context of a user; the number is the commands' origin (MQEVO_*)."""

APPLICATION: Final = "ostler-commands"
_DEFAULT_QUEUE: Final = "SYSTEM.ADMIN.COMMAND.QUEUE"
_LENGTH_MAX: Final = 100 * 1024 * 1024
_TRIES_MAX: Final = 3  # of a command that fails each time
_STOP_SECONDS: Final = 30.0
_GET: Final = (
    mq.MQGMO_WAIT | mq.MQGMO_CONVERT | mq.MQGMO_FAIL_IF_QUIESCING | mq.MQGMO_SYNCPOINT | mq.MQGMO_NO_PROPERTIES
)


_FAILED_REPEATEDLY: Final = "AMQ8506E: The command {who} failed several times; it was abandoned and {became}."
_IS_A_REPORT: Final = (
    "AMQ8506W: The message {who} on the command queue is a report, not a command; it was {became}. Find out which "
    "application names the command queue as its reply-to queue."
)


class CommandServer:
    """Serves the command queue of a running queue manager."""

    def __init__(self, manager: QueueManager, context_for: ContextFor) -> None:
        self._manager = manager
        self._context_for = context_for
        self._turn = manager.machine.lock()  # serializes start and stop
        self._thread: SupervisedThread | None = None
        self._stopping = manager.machine.event()
        self._waiting: GetRequest | None = None
        self._connection: Connection | None = None
        self._status = "STOPPED"

    @property
    def status(self) -> str:
        """STARTING, RUNNING, STOPPING or STOPPED, as in QMSTATUS. STARTING also before it connects again."""
        thread = self._thread
        if thread is None or not thread.is_alive():
            return "STOPPED"
        return "STARTING" if thread.is_pausing and self._status == "RUNNING" else self._status

    def start(self) -> bool:
        """START CMDSERV. Returns False when it runs already. Raises RuntimeError when no thread can be started."""
        with self._turn:
            if self._thread is not None and self._thread.is_alive():
                return False
            self._stopping = stopping = self._manager.machine.event()
            self._status = "STARTING"
            thread = SupervisedThread(
                "ostler-commands",
                "command server",
                self._run,
                lambda: stopping.is_set() or self._manager.is_ending(),
                self._manager.note,
                number="AMQ8506E",
                stopping=stopping,
                machine=self._manager.machine,
            )
            thread.start()
            self._thread = thread
            return True

    def stop(self) -> bool:
        """STOP CMDSERV, after the current command. Returns False when it is not running."""
        with self._turn:
            thread = self._thread
            if thread is None or not thread.is_alive():
                return False
            self._status = "STOPPING"
            self._stopping.set()
            with self._manager.turn:
                if self._waiting is not None:
                    getting.cancel(self._manager.engine, self._waiting, mq.MQRC_NO_MSG_AVAILABLE)
                    waker = self._waiting.waker
                    if callable(waker):
                        waker()
            thread.join(_STOP_SECONDS)
            return True

    # -- the thread ----------------------------------------------------------------------------------------------------

    def _run(self) -> None:
        """Serve until stopped, and disconnect in any case."""
        try:
            self._serve()
        finally:
            if not self._stopping.is_set():
                self._status = "STARTING"
            self._waiting = None
            self._disconnect()

    def _disconnect(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None and self._manager.running:
            self._manager.disconnect(connection, commit_work=False)

    def _serve(self) -> None:
        """Connect, and run one command after the other until stopped."""
        manager = self._manager
        user = user_name(os.getuid())
        self._connection = connection = manager.connect(user, APPLICATION, mq.MQAT_QMGR)
        handle = self._open()
        self._status = "RUNNING"
        while not self._stopping.is_set():
            request = self._next(connection, handle)
            if request is not None:
                self._run_command(connection, request)

    def _open(self) -> Handle:
        manager = self._manager
        assert self._connection is not None
        with manager.turn:
            self._connection.check_working()
            name = manager.engine.manager.attributes.get("COMMANDQ", "")
            name = name if isinstance(name, str) and name else _DEFAULT_QUEUE
            return open_object(
                manager.engine,
                self._connection,
                OpenRequest(mq.MQOT_Q, name, mq.MQOO_INPUT_SHARED | mq.MQOO_FAIL_IF_QUIESCING),
            )

    def _next(self, connection: Connection, handle: Handle) -> GetRequest | None:
        """Wait for the next command. Returns None when the server is stopping."""
        manager = self._manager
        request = getting.new_request(connection, handle, _GET, 0, NULL_ID, NULL_ID, _LENGTH_MAX)
        request.may_pause = True
        request.wait_ms = -1
        request.encoding = mq.MQENC_NATIVE
        request.ccsid = UTF_8
        woken = manager.machine.event()
        with manager.turn:
            connection.check_working()
            request.waker = woken.set
            is_answered = getting.get(manager.engine, request)
            if not is_answered:
                if self._stopping.is_set():
                    getting.cancel(manager.engine, request, mq.MQRC_NO_MSG_AVAILABLE)
                    return None
                self._waiting = request
        if not is_answered:
            woken.wait()
            with manager.turn:
                self._waiting = None
        if not request.md:
            if request.reason == mq.MQRC_NO_MSG_AVAILABLE:
                return None
            raise MQError(request.reason)
        manager.writer.wait_durable_throttled(request.after_lsn)
        return request

    def _run_command(self, connection: Connection, request: GetRequest) -> None:
        """Run one command and send its replies, then commit."""
        descriptor = RequestDescriptor(request.md)
        if descriptor.is_report:
            # The queue manager makes reports in the name of the user in a message: they must not be run as commands.
            dead_letter_command(self._manager, descriptor, request.body, mq.MQRC_MSG_TYPE_ERROR, _IS_A_REPORT)
            self._commit(connection)
            return
        if descriptor.backout_count >= _TRIES_MAX:
            dead_letter_command(
                self._manager, descriptor, request.body, mq.MQRC_BACKOUT_THRESHOLD_REACHED, _FAILED_REPEATEDLY
            )
            self._commit(connection)
            return
        context = self._context_for(descriptor.user, mq.MQEVO_MSG)
        replies = Replies(self._manager, connection, descriptor, request.body, reply_ccsid(context), self._stopping)
        try:
            for reply in answer(context, request.body, descriptor.ccsid, descriptor.is_big_endian, descriptor.format):
                if not replies.send(reply):
                    break
        finally:
            replies.close()
        self._commit(connection)

    def _commit(self, connection: Connection) -> None:
        manager = self._manager
        with manager.turn:
            connection.check_working()
            outcome = syncpoint.commit(manager.engine, connection)
        if outcome.after_lsn:
            manager.writer.wait_durable_throttled(outcome.after_lsn)
