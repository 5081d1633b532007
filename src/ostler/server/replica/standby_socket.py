"""The local socket of an instance that does not lead.

Commands of the owner (`dspmq`, `endmqm`, `rdqmstatus` ...) are answered as by a running queue manager. Applications are
refused with MQRC_STANDBY_Q_MGR and the place of the active instance. A few connections at a time, one thread each: an
instance that follows has no reactor.
"""

from __future__ import annotations

import json
import os
import socket
import struct
import threading
from collections.abc import Callable
from contextlib import suppress
from typing import Final

from ostler.model import constants as mq
from ostler.model.errors import MQError
from ostler.server.admin.actions import Action, Arguments, Caller
from ostler.server.channels.settings import negotiate_local
from ostler.server.config.directories import QueueManagerDirectory
from ostler.server.net.local_socket import bind_local, connect_local, unlink_local
from ostler.server.security.os_users import user_name
from ostler.server.supervised_thread import SupervisedThread
from ostler.wire.connect_frames import decode_hello
from ostler.wire.frames import (
    COMMAND,
    CONNECT,
    DISCONNECT,
    HEARTBEAT,
    HELLO,
    MORE,
    OUTPUT,
    REPLY,
    FrameReader,
    MalformedFrame,
    frame,
)
from ostler.wire.replies import failure_frame, reply_frame
from ostler.wire.segments import frames_of

_CREDENTIALS: Final = struct.Struct("3i")
_CONNECTIONS_MAX: Final = 64
_IDLE_SECONDS: Final = 60.0
_ACCEPT_SECONDS: Final = 0.5
_RECEIVE_BYTES: Final = 65_536
_OK: Final = bytes(8)  # completion and reason


class StandbySocket:
    """Answers on the local socket until `close`. The caller holds the instance lock."""

    def __init__(
        self,
        directory: QueueManagerDirectory,
        actions: dict[str, Action],
        refusal: Callable[[], str],
        is_administrator: Callable[[str], bool],
        note: Callable[[str], None],
    ) -> None:
        """`refusal` returns the text for applications: which instance is active."""
        self._directory = directory
        self._actions = actions
        self._refusal = refusal
        self._is_administrator = is_administrator
        self._socket = bind_local(directory)
        self._socket.settimeout(_ACCEPT_SECONDS)
        self._closing = threading.Event()
        self._turn = threading.Lock()
        self._open: set[socket.socket] = set()
        self._thread = SupervisedThread(
            "ostler-standby", "thread that answers commands", self._run, self._closing.is_set, note
        )
        self._thread.start()

    def close(self) -> None:
        """Close the socket and all connections. The next owner of the directory binds its own."""
        self._closing.set()
        # A listening Unix socket cannot be shut down: a connection wakes the thread that accepts.
        with suppress(OSError):
            connect_local(self._directory, _ACCEPT_SECONDS).close()
        self._thread.join()
        self._socket.close()
        with self._turn:
            for each in self._open:
                each.close()
        unlink_local(self._directory)

    def _run(self) -> None:
        while not self._closing.is_set():
            try:
                accepted, _ = self._socket.accept()
            except TimeoutError:
                continue
            if self._closing.is_set():
                accepted.close()
                return
            with self._turn:
                is_full = len(self._open) >= _CONNECTIONS_MAX
                if not is_full:
                    self._open.add(accepted)
            if is_full:
                accepted.close()
                continue
            accepted.settimeout(_IDLE_SECONDS)
            threading.Thread(target=self._serve, args=(accepted,), name="ostler-command", daemon=True).start()

    def _serve(self, accepted: socket.socket) -> None:
        try:
            _Exchange(accepted, self._actions, self._refusal, self._is_administrator).run()
        except (OSError, MalformedFrame):
            return  # the peer is gone, or broke the protocol
        finally:
            with self._turn:
                self._open.discard(accepted)
            accepted.close()


class _Exchange:
    """One connection: HELLO, then any number of commands."""

    def __init__(
        self,
        link: socket.socket,
        actions: dict[str, Action],
        refusal: Callable[[], str],
        is_administrator: Callable[[str], bool],
    ) -> None:
        self._link = link
        self._actions = actions
        self._refusal = refusal
        self._reader = FrameReader()
        self._segment_bytes = 0
        _, uid, _ = _CREDENTIALS.unpack(link.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _CREDENTIALS.size))
        user = user_name(uid)
        self._caller = Caller(user, uid, uid == os.getuid() or is_administrator(user))

    def run(self) -> None:
        reader = self._reader
        while True:
            while not reader.next():
                data = self._link.recv(_RECEIVE_BYTES)
                if not data:
                    return
                reader.feed(data)
            payload = reader.buffer[reader.start : reader.end]
            if self._segment_bytes == 0:
                self._greet(reader.type, reader.request, payload)
            elif reader.flags & MORE:
                raise MalformedFrame("a command is too long")
            elif reader.type == COMMAND:
                self._command(reader.conversation, reader.request, payload)
            elif reader.type == HEARTBEAT:
                self._link.sendall(frame(HEARTBEAT | REPLY, 0, reader.request))
            elif reader.type == CONNECT:
                self._refuse(CONNECT, reader.conversation, reader.request)
            elif reader.type == DISCONNECT:
                self._link.sendall(reply_frame(DISCONNECT, reader.conversation, reader.request, mq.MQCC_OK, 0))
            elif reader.type != HEARTBEAT | REPLY:
                raise MalformedFrame(f"unexpected frame type {reader.type}")

    def _greet(self, type: int, request: int, payload: bytes) -> None:
        if type != HELLO:
            raise MalformedFrame(f"frame type {type} before HELLO")
        try:
            agreed = negotiate_local(decode_hello(payload))
        except MQError as error:
            self._link.sendall(failure_frame(HELLO, 0, request, mq.MQCC_FAILED, error.reason, error.detail))
            return
        self._segment_bytes = agreed.segment_bytes
        self._reader.frame_bytes_max = agreed.segment_bytes
        self._link.sendall(frame(HELLO | REPLY, 0, request, _OK + agreed.encode()))

    def _refuse(self, type: int, conversation: int, request: int) -> None:
        text = self._refusal()
        self._link.sendall(failure_frame(type, conversation, request, mq.MQCC_FAILED, mq.MQRC_STANDBY_Q_MGR, text))

    def _command(self, conversation: int, request: int, payload: bytes) -> None:
        try:
            arguments = _decode_arguments(payload)
            name = arguments.get("action")
            action = self._actions.get(name) if isinstance(name, str) else None
            if action is None:
                raise MQError(mq.MQRC_STANDBY_Q_MGR, self._refusal())
            for answer in action(arguments, self._caller):
                answered = json.dumps(answer).encode()
                for piece in frames_of(OUTPUT, conversation, request, answered, self._segment_bytes):
                    self._link.sendall(piece)
            self._link.sendall(frame(COMMAND | REPLY, conversation, request, _OK))
        except MQError as error:
            failure = failure_frame(COMMAND, conversation, request, mq.MQCC_FAILED, error.reason, error.detail)
            self._link.sendall(failure)


def _decode_arguments(payload: bytes) -> Arguments:
    try:
        found = json.loads(payload)
    except (ValueError, RecursionError):
        raise MQError(mq.MQRC_UNEXPECTED_ERROR, "A command is not JSON.") from None
    if not isinstance(found, dict):
        raise MQError(mq.MQRC_UNEXPECTED_ERROR, "A command is not a JSON object.")
    return found
