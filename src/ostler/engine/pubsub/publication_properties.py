"""Properties that the queue manager adds to publications: topic, subscription user data, retained.

They are message properties of the folder mqps. The first byte of a property block marks a block that holds only these,
so that a get without properties need not decode it.
"""

from __future__ import annotations

from typing import Final

from ostler.engine.properties.properties import Property
from ostler.engine.properties.property_block import PUBLICATION_LAYOUT, decode_block, encode_block
from ostler.model import constants as mq

TOPIC: Final = "mqps.Top"
USER_DATA: Final = "mqps.Sud"
RETAINED: Final = "mqps.Ret"
_FOLDER: Final = "mqps."
_FOLDER_BYTES: Final = b"mqps."


def topic_block(topic: str) -> bytes:
    """Return the property block of a publication whose publisher set no properties."""
    return _mark_publication(encode_block([_text(TOPIC, topic)]))


def publication_block(given: bytes, added: bytes) -> bytes:
    """Return the publisher's properties followed by `added` of `topic_block`. Publishers cannot set mqps properties."""
    if not given:
        return added
    if _FOLDER_BYTES in given:
        kept = [each for each in decode_block(given) if not each.name.startswith(_FOLDER)]
        given = encode_block(kept)
        if not given:
            return added
    return given + added[1:]


def copy_block(block: bytes, user_data: str, is_retained: bool) -> bytes:
    """Return the property block of a copy: the publication's, with the properties of one subscription."""
    more: list[Property] = []
    if user_data:
        more.append(_text(USER_DATA, user_data))
    if is_retained:
        more.append(Property(RETAINED, mq.MQTYPE_BOOLEAN, True))
    if not more:
        return block
    added = encode_block(more)
    return block + added[1:] if block else _mark_publication(added)


def without_additions(block: bytes) -> bytes:
    """Return the publisher's properties alone, for PSPROP(NONE) and copies with a header."""
    if not block or block[0] == PUBLICATION_LAYOUT:
        return b""
    return encode_block([each for each in decode_block(block) if not each.name.startswith(_FOLDER)])


def topic_in(block: bytes) -> str:
    """Return the topic a message was published to; empty if it is no publication."""
    if _FOLDER_BYTES not in block:
        return ""
    for each in decode_block(block):
        if each.name == TOPIC and isinstance(each.value, str):
            return each.value
    return ""


def _text(name: str, value: str) -> Property:
    return Property(name, mq.MQTYPE_STRING, value)


def _mark_publication(block: bytes) -> bytes:
    return bytes((PUBLICATION_LAYOUT,)) + block[1:]
