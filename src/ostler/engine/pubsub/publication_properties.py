"""What the queue manager adds to publications: the topic, the subscriber's data, and whether it was retained.

They are message properties of the folder mqps. A block that holds nothing else says so in its first byte, so that a
getter who asked for no properties is not made to look through it.
"""

from __future__ import annotations

from typing import Final

from ostler.engine.properties.properties import Property
from ostler.engine.properties.property_block import PUBLICATION_LAYOUT, decode_block, encode_block
from ostler.model.constants import MQTYPE_BOOLEAN, MQTYPE_STRING

TOPIC: Final = "mqps.Top"
USER_DATA: Final = "mqps.Sud"
RETAINED: Final = "mqps.Ret"
_FOLDER: Final = "mqps."
_FOLDER_BYTES: Final = b"mqps."


def topic_block(topic: str) -> bytes:
    """The block of a publication whose publisher gave no properties."""
    return _marked(encode_block([_text(TOPIC, topic)]))


def publication_block(given: bytes, added: bytes) -> bytes:
    """A publisher's properties with those of `topic_block` behind them; what claims to be of ours is dropped."""
    if not given:
        return added
    if _FOLDER_BYTES in given:
        kept = [each for each in decode_block(given) if not each.name.startswith(_FOLDER)]
        given = encode_block(kept)
        if not given:
            return added
    return given + added[1:]


def copy_block(block: bytes, user_data: str, is_retained: bool) -> bytes:
    """The block of a copy: that of the publication with what is for one subscription."""
    more: list[Property] = []
    if user_data:
        more.append(_text(USER_DATA, user_data))
    if is_retained:
        more.append(Property(RETAINED, MQTYPE_BOOLEAN, True))
    if not more:
        return block
    added = encode_block(more)
    return block + added[1:] if block else _marked(added)


def without_additions(block: bytes) -> bytes:
    """Only what the publisher gave: for subscriptions that want nothing added."""
    if not block or block[0] == PUBLICATION_LAYOUT:
        return b""
    return encode_block([each for each in decode_block(block) if not each.name.startswith(_FOLDER)])


def topic_in(block: bytes) -> str:
    """The topic that a publication was made to; empty when the message is none."""
    if _FOLDER_BYTES not in block:
        return ""
    for each in decode_block(block):
        if each.name == TOPIC and isinstance(each.value, str):
            return each.value
    return ""


def _text(name: str, value: str) -> Property:
    return Property(name, MQTYPE_STRING, value)


def _marked(block: bytes) -> bytes:
    return bytes((PUBLICATION_LAYOUT,)) + block[1:]
