"""Runs actions on threads of their own: they may wait for the disk, the reactor may not."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import partial
from typing import Final

from ostler.model import constants as mq
from ostler.model.errors import MQError
from ostler.server.admin.actions import Action, Answers, Arguments, Caller
from ostler.server.net.link import CLOSING, ServerLink
from ostler.server.net.link_limits import OUT_HIGH_BYTES
from ostler.server.net.reactor import Reactor
from ostler.wire.frames import COMMAND, OUTPUT, REPLY, frame
from ostler.wire.replies import failure_frame
from ostler.wire.segments import frames_of

_COMMANDS_MAX: Final = 64  # at a time
_PAUSE_SECONDS: Final = 0.002


class CommandExecutor:
    """Runs the actions that COMMAND frames on the local socket ask for, and sends their answers."""

    def __init__(self, reactor: Reactor, actions: dict[str, Action], note: Callable[[str], None]) -> None:
        self._reactor = reactor
        self._machine = reactor.machine
        self._actions = actions
        self._note = note
        self._running = 0

    def submit(self, link: ServerLink, conversation: int, request: int, payload: bytes) -> None:
        """Start the action of a COMMAND frame. Call it on the reactor's thread."""
        try:
            arguments = self._arguments(link, payload)
            name = arguments.get("action")
            action = self._actions.get(name) if isinstance(name, str) else None
            if action is None:
                raise MQError(mq.MQRC_FUNCTION_NOT_SUPPORTED, f"There is no action {name!r}.")
            if self._running >= _COMMANDS_MAX:
                raise MQError(
                    mq.MQRC_RESOURCE_PROBLEM, f"{_COMMANDS_MAX} commands are running already. Try again later."
                )
        except MQError as error:
            link.send(failure_frame(COMMAND, conversation, request, mq.MQCC_FAILED, error.reason, error.detail))
            return
        caller = Caller(link.user, int(link.uid), bool(link.is_owner))
        self._running += 1
        run = partial(self._run, link, conversation, request, action, arguments, caller)
        try:
            self._machine.thread(run, f"ostler-command-{name}").start()
        except RuntimeError as error:
            self._running -= 1
            text = f"The queue manager has no thread for a command: {error}. Try again later."
            link.send(failure_frame(COMMAND, conversation, request, mq.MQCC_FAILED, mq.MQRC_RESOURCE_PROBLEM, text))

    def _arguments(self, link: ServerLink, payload: bytes) -> Arguments:
        if not link.is_local:
            raise MQError(mq.MQRC_NOT_AUTHORIZED, "Commands come over the queue manager's own socket only.")
        try:
            found = json.loads(payload)
        except (ValueError, RecursionError):
            raise MQError(mq.MQRC_UNEXPECTED_ERROR, "A command is not JSON.") from None
        if not isinstance(found, dict):
            raise MQError(mq.MQRC_UNEXPECTED_ERROR, "A command is not a JSON object.")
        return found

    def _run(
        self,
        link: ServerLink,
        conversation: int,
        request: int,
        action: Action,
        arguments: Arguments,
        caller: Caller,
    ) -> None:
        answers: Answers = iter(())
        try:
            answers = action(arguments, caller)
            for answer in answers:
                payload = json.dumps(answer).encode()
                for piece in frames_of(OUTPUT, conversation, request, payload, link.segment_bytes):
                    self._send(link, piece)
                if link.state >= CLOSING:
                    return
            last = frame(COMMAND | REPLY, conversation, request, _codes(mq.MQCC_OK, 0))
        except MQError as error:
            last = failure_frame(COMMAND, conversation, request, mq.MQCC_FAILED, error.reason, error.detail)
        except Exception as error:
            self._note(f"AMQ6109E: The command {arguments.get('action')!r} failed unexpectedly: {error!r}.")
            text = f"The command failed unexpectedly: {error!r}."
            last = failure_frame(COMMAND, conversation, request, mq.MQCC_FAILED, mq.MQRC_UNEXPECTED_ERROR, text)
        finally:
            self._reactor.post(self._done)
            close = getattr(answers, "close", None)
            if close is not None:
                close()
        self._send(link, last)

    def _done(self) -> None:
        self._running -= 1

    def _send(self, link: ServerLink, data: bytes) -> None:
        """Have a frame sent by the reactor, after waiting while too much is unsent."""
        while link.unsent_bytes() > OUT_HIGH_BYTES and link.state < CLOSING:
            self._machine.sleep(_PAUSE_SECONDS)
        self._reactor.post(partial(link.send, data))


def _codes(completion: int, reason: int) -> bytes:
    return completion.to_bytes(4, "little") + reason.to_bytes(4, "little")
