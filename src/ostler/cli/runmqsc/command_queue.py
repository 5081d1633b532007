"""Commands by message: PCF on the command queue of a queue manager, and the replies.

MQSC commands travel in Escape commands, one in each. Replies are read by correlation identifier, up to MQCFC_LAST.
"""

from __future__ import annotations

import time
from collections.abc import Generator, Iterator, Sequence
from typing import Final

from ostler.client.api.connection import Connection
from ostler.client.api.message import Message
from ostler.command.mqsc.interpreter import CommandOutcome
from ostler.model import constants as mq
from ostler.model.errors import MQError
from ostler.model.pcf import UTF_8, Header, Integer, Parameter, PcfError, PcfMessage, String, decode, encode
from ostler.model.reasons import describe

COMMAND_QUEUE: Final = "SYSTEM.ADMIN.COMMAND.QUEUE"
REPLY_MODEL: Final = "SYSTEM.MQSC.REPLY.QUEUE"
WAIT_SECONDS: Final = 60
_REPLY_NAME: Final = "MQSC.*"
_LITTLE_ENDIAN: Final = mq.MQENC_INTEGER_REVERSED
_SYNTAX: Final = "AMQ8405I"


class CommandQueue:
    """The command queue of a queue manager, reached through the queue manager of `connection`."""

    def __init__(
        self, connection: Connection, manager: str = "", wait_seconds: float = WAIT_SECONDS, model: str = REPLY_MODEL
    ) -> None:
        self._connection = connection
        self._manager = "" if manager == connection.name else manager
        self._wait_seconds = wait_seconds
        self._replies = connection.open_dynamic(model, _REPLY_NAME, "r")

    def request(self, command: int, parameters: Sequence[Parameter]) -> Iterator[PcfMessage]:
        """Sends a command and yields its replies. Raises MQError if a reply does not arrive in time."""
        sent = self._connection.put(
            COMMAND_QUEUE,
            encode(Header(mq.MQCFT_COMMAND, command), parameters),
            manager=self._manager,
            syncpoint=False,
            message_type=mq.MQMT_REQUEST,
            format=mq.MQFMT_ADMIN.decode().strip(),
            ccsid=UTF_8,
            encoding=_LITTLE_ENDIAN,
            persistent=False,
            reply_to=self._replies.name,
            expiry=self._wait_seconds,
        )
        is_last = False
        while not is_last:
            reply = self._next(sent)
            is_last = reply.header.control == mq.MQCFC_LAST
            yield reply

    def _next(self, sent: Message) -> PcfMessage:
        deadline = time.monotonic() + self._wait_seconds
        while True:
            left = deadline - time.monotonic()
            got = self._replies.get(correlation_id=sent.message_id, wait=max(left, 0), syncpoint=False)
            if got is None:
                raise MQError(
                    mq.MQRC_NO_MSG_AVAILABLE,
                    f"No answer came within {self._wait_seconds:g} seconds. Is the command server running?",
                )
            body = got.body if isinstance(got.body, bytes) else got.body.encode()
            try:
                return decode(body, ccsid=got.ccsid, big_endian=not got.encoding & _LITTLE_ENDIAN)
            except PcfError:
                continue  # not a PCF reply

    def escape(self, command: str) -> Generator[str, None, CommandOutcome]:
        """Runs an MQSC command. Yields the lines of its answer, and returns the outcome."""
        parameters = (Integer(mq.MQIACF_ESCAPE_TYPE, mq.MQET_MQSC), String(mq.MQCACF_ESCAPE_TEXT, command))
        outcome = CommandOutcome.DONE
        try:
            for reply in self.request(mq.MQCMD_ESCAPE, parameters):
                lines = [line for text in _texts(reply) for line in text.split("\n")]
                yield from lines
                if any(line.startswith(_SYNTAX) for line in lines):
                    outcome = CommandOutcome.SYNTAX_ERROR
                elif reply.header.completion == mq.MQCC_FAILED and outcome is CommandOutcome.DONE:
                    outcome = CommandOutcome.FAILED
                    if not lines:
                        yield f"AMQ8101E: {describe(reply.header.reason).name} ({reply.header.reason})."
        except MQError as error:
            if error.reason != mq.MQRC_NO_MSG_AVAILABLE:
                raise
            yield f"AMQ8416E: {error.detail}"
            return CommandOutcome.FAILED
        return outcome

    def close(self) -> None:
        self._replies.close()
        self._connection.close()


def _texts(reply: PcfMessage) -> list[str]:
    return [
        each.value
        for each in reply.parameters
        if isinstance(each, String) and each.parameter == mq.MQCACF_ESCAPE_TEXT and each.value
    ]
