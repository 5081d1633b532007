"""MQSC commands of an ordinary client: messages on the command queue, answered by messages."""

from __future__ import annotations

import time
from typing import Final

from ostler.client.api.connection import Connection
from ostler.lab.load.client import LoadFailed
from ostler.model import constants as mq
from ostler.model.pcf import UTF_8, Header, Integer, String, decode, encode
from ostler.model.reasons import describe

COMMAND_QUEUE: Final = "SYSTEM.ADMIN.COMMAND.QUEUE"
REPLY_MODEL: Final = "SYSTEM.MQSC.REPLY.QUEUE"
_REPLY_NAME: Final = "LAB.MQSC.*"


class MqscByMessage:
    """The command server seen by a client, with a dynamic queue for its answers."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._replies = connection.open_dynamic(REPLY_MODEL, _REPLY_NAME, "r")

    def run(self, command: str, seconds_max: float) -> int:
        """Run a command, and return the number of answers. Raises LoadFailed when it was rejected, or not answered."""
        found, is_complete = self.answers(command, seconds_max)
        if not is_complete:
            raise LoadFailed(f"{command} was not answered within {seconds_max:.0f} s")
        return found

    def answers(self, command: str, seconds_max: float) -> tuple[int, bool]:
        """Run a command; return the number of answers within that time, and whether they were all. Raises LoadFailed
        when it was rejected."""
        asked = (Integer(mq.MQIACF_ESCAPE_TYPE, mq.MQET_MQSC), String(mq.MQCACF_ESCAPE_TEXT, command))
        sent = self._connection.put(
            COMMAND_QUEUE,
            encode(Header(mq.MQCFT_COMMAND, mq.MQCMD_ESCAPE), asked),
            message_type=mq.MQMT_REQUEST,
            format=mq.MQFMT_ADMIN.decode().strip(),
            ccsid=UTF_8,
            encoding=mq.MQENC_INTEGER_REVERSED,
            persistent=False,
            reply_to=self._replies.name,
            expiry=seconds_max,
        )
        deadline = time.monotonic() + seconds_max
        found = 0
        while (left := deadline - time.monotonic()) > 0:
            reply = self._replies.get(correlation_id=sent.message_id, wait=left)
            if reply is None:
                break
            found += 1
            head = decode(reply.data, reply.ccsid, not reply.encoding & mq.MQENC_INTEGER_REVERSED).header
            if head.completion == mq.MQCC_FAILED:
                raise LoadFailed(f"{command} was refused with {describe(head.reason).name} ({head.reason})")
            if head.control == mq.MQCFC_LAST:
                return found, True
        return found, False
