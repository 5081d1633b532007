"""A client that connects, opens queues and stays, for measurements of what a queue manager keeps for it."""

from __future__ import annotations

from typing import Final

from ostler.lab.load.client import Pace
from ostler.lab.load.mq.client import INPUT, OUTPUT, MqClient, MqTerms
from ostler.lab.load.mq.frames import MqReader

_BODY_BYTES: Final = 1


def open_queue(number: int) -> str:
    """Return the name of a queue that these clients open."""
    return f"LAB.OPEN.{number}"


class OpeningClient(MqClient):
    def __init__(self, channel: str, queues: int, conversation: int = 1) -> None:
        super().__init__(Pace(), False, 0, MqTerms(1, _BODY_BYTES, False, channel), conversation)
        self._queues = queues

    def opens(self) -> list[tuple[str, int]]:
        return [(open_queue(number), INPUT | OUTPUT) for number in range(self._queues)]

    def prepare(self) -> None:
        return

    def work(self, reader: MqReader, now_ns: int) -> bytes:
        return b""
