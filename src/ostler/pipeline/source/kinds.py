"""The columns of the data source and their types, without the code that fills them.

Spark imports these in processes that do nothing else, and importing the client takes half a second.
"""

from __future__ import annotations

from typing import Final

KINDS: Final[dict[str, str]] = {
    "queue": "string",
    "position": "bigint",
    "body": "binary",
    "text": "string",
    "properties": "map<string,string>",
    "topic": "string",
    "retained": "boolean",
    "message_id": "binary",
    "correlation_id": "binary",
    "group_id": "binary",
    "sequence_number": "int",
    "segment_offset": "int",
    "flags": "int",
    "message_type": "int",
    "format": "string",
    "encoding": "int",
    "ccsid": "int",
    "priority": "int",
    "persistent": "boolean",
    "expiry_seconds": "double",
    "report": "int",
    "feedback": "int",
    "reply_to": "string",
    "reply_to_manager": "string",
    "user": "string",
    "accounting_token": "binary",
    "identity_data": "string",
    "application": "string",
    "application_type": "int",
    "origin_data": "string",
    "put_time": "timestamp",
    "backout_count": "int",
}

SCHEMA: Final = ", ".join(f"{name} {kind}" for name, kind in KINDS.items())
"""All columns, in Spark's syntax of a schema."""
