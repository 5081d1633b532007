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
# Set by the queue manager: written, but not read.
_SET_BY_MANAGER: Final = ("user", "application", "backout_count")


def json_of(message: Message) -> dict[str, object]:
    """Returns a message as a JSON object."""
    values: dict[str, object] = (
        {"body": message.body} if isinstance(message.body, str) else {"body_hex": message.data.hex()}
    )
    for name in _BYTES:
        if value := getattr(message, name):
            values[name] = value.hex()
    for name in (*_NUMBERS, *_TEXTS, *_SET_BY_MANAGER):
        values[name] = getattr(message, name)
    values["persistent"] = message.persistent
    values["expiry"] = message.expiry
    values["put_time"] = message.put_time.isoformat() if message.put_time is not None else None
    values["properties"] = {
        name: {"hex": value.hex()} if isinstance(value, bytes) else value for name, value in message.properties.items()
    }
    header = as_dead_letter(message).header
    if header is not None:
        values["dead_letter"] = header_json(header)
    if message.topic:
        values |= {"topic": message.topic, "is_retained": message.is_retained, "user_data": message.user_data}
    return values


def header_json(header: DeadLetterHeader) -> dict[str, object]:
    """Returns a dead-letter header as a JSON object."""
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


def message_of(values: object) -> Message:
    """Returns the message of a JSON object. Raises ValueError for an invalid one; ignores unknown keys."""
    if not isinstance(values, dict):
        raise ValueError("it is not an object")
    message = Message(_body(values))
    for name in _BYTES:
        if values.get(name):
            setattr(message, name, _from_hex(name, values[name]))
    for name in _NUMBERS:
        value = values.get(name)
        if value is not None:
            if not isinstance(value, int) or isinstance(value, bool):
                raise ValueError(f"{name} is not a whole number")
            setattr(message, name, value)
    for name in _TEXTS:
        value = values.get(name)
        if value is not None:
            if not isinstance(value, str):
                raise ValueError(f"{name} is not text")
            setattr(message, name, value)
    message.persistent = _optional(values, "persistent", bool)
    expiry = values.get("expiry")
    if expiry is not None and (isinstance(expiry, bool) or not isinstance(expiry, int | float)):
        raise ValueError("expiry is not a number of seconds")
    message.expiry = expiry
    message.properties = _properties(values.get("properties") or {})
    return message


def _body(values: Mapping[str, object]) -> bytes | str:
    if "body_hex" in values:
        return _from_hex("body_hex", values["body_hex"])
    body = values.get("body", "")
    if not isinstance(body, str):
        raise ValueError("body is not text")
    return body


def _optional(values: Mapping[str, object], name: str, kind: type[bool]) -> bool | None:
    value = values.get(name)
    if value is not None and not isinstance(value, kind):
        raise ValueError(f"{name} is neither true nor false")
    return value


def _from_hex(name: str, value: object) -> bytes:
    if not isinstance(value, str):
        raise ValueError(f"{name} is not hexadecimal digits")
    return bytes.fromhex(value)


def _properties(values: object) -> dict[str, PropertyValue]:
    if not isinstance(values, dict):
        raise ValueError("properties is not an object")
    properties: dict[str, PropertyValue] = {}
    for name, value in values.items():
        if isinstance(value, dict):
            properties[name] = _from_hex(f"property {name}", value.get("hex"))
        elif value is None or isinstance(value, str | int | float):
            properties[name] = value
        else:
            raise ValueError(f"property {name} is a list")
    return properties
