"""Messages as JSON, a line each: what `get --json` writes and `put --json` reads.

Text is under "body", bytes are under "body_hex". Identifiers and other bytes are hexadecimal digits. Properties are
numbers, text, true, false and null; one of bytes is {"hex": "..."}.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from ostler.client.api.dead_letter_header import DeadLetterHeader
from ostler.client.api.dead_letters import as_dead_letter
from ostler.client.api.message import Message
from ostler.client.api.property_types import PropertyValue

_BYTES: Final = ("message_id", "correlation_id", "group_id")
_NUMBERS: Final = (
    "priority",
    "message_type",
    "encoding",
    "ccsid",
    "report",
    "feedback",
    "sequence_number",
    "offset",
    "flags",
    "original_length",
)
_TEXTS: Final = ("reply_to", "reply_to_manager", "format")
# What only the queue manager knows: written, and not read.
_KNOWN_AFTERWARDS: Final = ("user", "application", "backout_count")


def json_of(message: Message) -> dict[str, object]:
    """All that is said of a message."""
    said: dict[str, object] = (
        {"body": message.body} if isinstance(message.body, str) else {"body_hex": message.data.hex()}
    )
    for name in _BYTES:
        if value := getattr(message, name):
            said[name] = value.hex()
    for name in (*_NUMBERS, *_TEXTS, *_KNOWN_AFTERWARDS):
        said[name] = getattr(message, name)
    said["persistent"] = message.persistent
    said["expiry"] = message.expiry
    said["put_time"] = message.put_time.isoformat() if message.put_time is not None else None
    said["properties"] = {
        name: {"hex": value.hex()} if isinstance(value, bytes) else value for name, value in message.properties.items()
    }
    header = as_dead_letter(message).header
    if header is not None:
        said["dead_letter"] = header_json(header)
    if message.topic:
        said |= {"topic": message.topic, "is_retained": message.is_retained, "user_data": message.user_data}
    return said


def header_json(header: DeadLetterHeader) -> dict[str, object]:
    """What a dead-letter header says."""
    return {
        "reason": header.reason,
        "reason_name": header.reason_name,
        "queue": header.queue,
        "queue_manager": header.manager,
        "encoding": header.encoding,
        "ccsid": header.ccsid,
        "format": header.format,
        "application_type": header.application_type,
        "application": header.application,
        "put_time": header.put_time.isoformat() if header.put_time is not None else None,
    }


def message_of(said: object) -> Message:
    """The message that was said. ValueError for what is none; keys that are not known are not minded."""
    if not isinstance(said, dict):
        raise ValueError("it is no object")
    message = Message(_body(said))
    for name in _BYTES:
        if said.get(name):
            setattr(message, name, _unhexed(name, said[name]))
    for name in _NUMBERS:
        value = said.get(name)
        if value is not None:
            if not isinstance(value, int) or isinstance(value, bool):
                raise ValueError(f"{name} is no whole number")
            setattr(message, name, value)
    for name in _TEXTS:
        value = said.get(name)
        if value is not None:
            if not isinstance(value, str):
                raise ValueError(f"{name} is no text")
            setattr(message, name, value)
    message.persistent = _optional(said, "persistent", bool)
    expiry = said.get("expiry")
    if expiry is not None and (isinstance(expiry, bool) or not isinstance(expiry, int | float)):
        raise ValueError("expiry is no number of seconds")
    message.expiry = expiry
    message.properties = _properties(said.get("properties") or {})
    return message


def _body(said: Mapping[str, object]) -> bytes | str:
    if "body_hex" in said:
        return _unhexed("body_hex", said["body_hex"])
    body = said.get("body", "")
    if not isinstance(body, str):
        raise ValueError("body is no text")
    return body


def _optional(said: Mapping[str, object], name: str, kind: type[bool]) -> bool | None:
    value = said.get(name)
    if value is not None and not isinstance(value, kind):
        raise ValueError(f"{name} is neither true nor false")
    return value


def _unhexed(name: str, value: object) -> bytes:
    if not isinstance(value, str):
        raise ValueError(f"{name} are no hexadecimal digits")
    return bytes.fromhex(value)


def _properties(said: object) -> dict[str, PropertyValue]:
    if not isinstance(said, dict):
        raise ValueError("properties is no object")
    properties: dict[str, PropertyValue] = {}
    for name, value in said.items():
        if isinstance(value, dict):
            properties[name] = _unhexed(f"property {name}", value.get("hex"))
        elif value is None or isinstance(value, str | int | float):
            properties[name] = value
        else:
            raise ValueError(f"property {name} is a list")
    return properties
