"""The MQRFH2 that JMS programs put before a text message: folders mcd, jms and usr."""

from __future__ import annotations

import struct
import time
from typing import Final

from ostler.lab.load.client import LoadFailed
from ostler.model import constants as mq

FORMAT: Final = mq.MQFMT_RF_HEADER_2
UTF_8: Final = 1208
# A message may be this much longer than its text.
HEADER_BYTES_MAX: Final = 1024
# Properties set by the application: one of each of the types that programs use most.
USER_PROPERTIES: Final = (
    ("application", "", "ostler-lab"),
    ("priority_class", "", "ordinary"),
    ("attempt", "i4", "1"),
    ("amount", "r8", "12.5"),
    ("test", "boolean", "1"),
)
_ANY_ID: Final = bytes(24)


class JmsHeader:
    """The header of all messages to one destination. A reply's names the request, as JMSCorrelationID does."""

    def __init__(self, destination: str, reply_to: str, persistent: bool, is_reply: bool) -> None:
        self.is_reply = is_reply
        # The timestamp is that of the connection: it takes as many bytes, and no client's clock is measured.
        jms = f"<Dst>queue:///{destination}</Dst>"
        if reply_to:
            jms += f"<Rto>queue:///{reply_to}</Rto>"
        jms += f"<Tms>{time.time_ns() // 1_000_000}</Tms>"
        if is_reply:
            jms += f"<Cid>ID:{_ANY_ID.hex()}</Cid>"
        jms += f"<Dlv>{2 if persistent else 1}</Dlv>"
        user = "".join(_element(*each) for each in USER_PROPERTIES)
        self.whole = _header(["<mcd><Msd>jms_text</Msd></mcd>", f"<jms>{jms}</jms>", f"<usr>{user}</usr>"])
        self.size = len(self.whole)
        cut = self.whole.find(_ANY_ID.hex().encode()) if is_reply else self.size
        self._head = self.whole[:cut]
        self._tail = self.whole[cut + 2 * len(_ANY_ID) :]

    def before(self, data: bytes, correlation_id: bytes) -> bytes:
        """Return the message: the header and its text."""
        if not self.is_reply:
            return self.whole + data
        return b"".join((self._head, correlation_id.hex().encode(), self._tail, data))


def data_at(buffer: bytes, start: int, end: int) -> int:
    """Return the offset of a message's text."""
    if buffer[start : start + 4] != mq.MQRFH_STRUC_ID:
        raise LoadFailed("a message has no MQRFH2, which every one was sent with")
    at = start + int.from_bytes(buffer[start + 8 : start + 12], "little")
    if not start + mq.MQRFH_STRUC_LENGTH_FIXED_2 <= at <= end:
        raise LoadFailed("the MQRFH2 of a message is longer than the message")
    return at


def _element(name: str, type: str, value: str) -> str:
    return f"<{name} dt='{type}'>{value}</{name}>" if type else f"<{name}>{value}</{name}>"


def _header(folders: list[str]) -> bytes:
    texts = [folder.encode().ljust(-(-len(folder) // 4) * 4) for folder in folders]
    length = mq.MQRFH_STRUC_LENGTH_FIXED_2 + sum([4 + len(text) for text in texts])
    follows = struct.pack("<iiii", mq.MQRFH_VERSION_2, length, mq.MQENC_NATIVE, UTF_8)
    parts = [mq.MQRFH_STRUC_ID, follows, mq.MQFMT_STRING, struct.pack("<ii", mq.MQRFH_NO_FLAGS, UTF_8)]
    for text in texts:
        parts += [struct.pack("<i", len(text)), text]
    return b"".join(parts)
