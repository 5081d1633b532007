"""The MQRFH2 that JMS programs put before a text message: folders mcd, jms and usr.

JMS programs that get a message read the folders into JMS headers and properties before they see its text.
"""

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
TOPIC_PREFIX: Final = "topic://"
_ANY_ID: Final = bytes(24)
_TEXT: Final = "jms_text"
_PROPERTY_VALUE: Final = "a value of 24 characters"


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
        self.whole = _header([f"<mcd><Msd>{_TEXT}</Msd></mcd>", f"<jms>{jms}</jms>", f"<usr>{user}</usr>"])
        self.size = len(self.whole)
        cut = self.whole.find(_ANY_ID.hex().encode()) if is_reply else self.size
        self._head = self.whole[:cut]
        self._tail = self.whole[cut + 2 * len(_ANY_ID) :]

    def before(self, data: bytes, correlation_id: bytes) -> bytes:
        """Return the message: the header and its text."""
        if not self.is_reply:
            return self.whole + data
        return b"".join((self._head, correlation_id.hex().encode(), self._tail, data))


class JmsMessage:
    """The parts of a message that a JMS program reads from its MQRFH2."""

    def __init__(self) -> None:
        self.message_class = ""
        self.destination = ""
        self.timestamp_ms = 0
        self.is_persistent = False
        self.properties: dict[str, str] = {}
        self.data_at = 0
        """The offset of the text."""


def topic_header(topic: str, persistent: bool, properties: int = 0) -> bytes:
    """Return the header of all publications to one topic, with this many string properties of the application."""
    jms = f"<Dst>{TOPIC_PREFIX}{topic}</Dst><Tms>{time.time_ns() // 1_000_000}</Tms><Dlv>{2 if persistent else 1}</Dlv>"
    folders = [f"<mcd><Msd>{_TEXT}</Msd></mcd>", f"<jms>{jms}</jms>"]
    if properties:
        user = "".join([_element(f"property{number}", "", _PROPERTY_VALUE) for number in range(properties)])
        folders.append(f"<usr>{user}</usr>")
    return _header(folders)


def read_message(buffer: bytes, start: int, end: int) -> JmsMessage:
    """Read the MQRFH2 of a message as JMS programs do. Raises LoadFailed when there is none, or no text message."""
    found = JmsMessage()
    found.data_at = data_at(buffer, start, end)
    at = start + mq.MQRFH_STRUC_LENGTH_FIXED_2
    while at < found.data_at:
        size = int.from_bytes(buffer[at : at + 4], "little")
        if size < 0 or at + 4 + size > found.data_at:
            raise LoadFailed("a folder is longer than its MQRFH2")
        _read_folder(buffer[at + 4 : at + 4 + size].decode(), found)
        at += 4 + size
    if found.message_class != _TEXT or not found.destination:
        raise LoadFailed(f"a message of class {found.message_class!r} is not the JMS text message that was sent")
    return found


def _read_folder(folder: str, found: JmsMessage) -> None:
    name_end = folder.find(">")
    name = folder[1:name_end]
    for key, value in _elements(folder, name_end + 1):
        if name == "usr":
            found.properties[key] = value
        elif key == "Msd":
            found.message_class = value
        elif key == "Dst":
            found.destination = value
        elif key == "Tms":
            if not value.isdigit():
                raise LoadFailed(f"{value!r} is not the time of a JMS message")
            found.timestamp_ms = int(value)
        elif key == "Dlv":
            found.is_persistent = value == "2"


def _elements(folder: str, at: int) -> list[tuple[str, str]]:
    """Return names and values of the elements of a folder, from an offset on. Attributes are skipped."""
    found: list[tuple[str, str]] = []
    while folder[at : at + 1] == "<" and folder[at + 1 : at + 2] != "/":
        tag_end = folder.find(">", at)
        value_end = folder.find("</", tag_end)
        if tag_end < 0 or value_end < 0:
            raise LoadFailed("a folder of an MQRFH2 has an element without an end")
        found.append((folder[at + 1 : tag_end].partition(" ")[0], folder[tag_end + 1 : value_end]))
        at = folder.find(">", value_end) + 1
    return found


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
