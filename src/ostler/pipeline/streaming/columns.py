"""Messages as rows: the columns of the data source, one table for reading and writing."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import pyarrow as pa  # type: ignore[import-untyped]

from ostler.client.message import Message
from ostler.client.property_types import PropertyValue
from ostler.pipeline.refusals import PipelineRefused

if TYPE_CHECKING:
    from pyspark.sql.types import StructType

_BATCH_ROWS: Final = 4096
_BATCH_BYTES: Final = 4 << 20


class Read(NamedTuple):
    """A message on its way into Spark: where it comes from, and its place among all that were read."""

    queue: str
    position: int
    message: Message


def _text(read: Read) -> str | None:
    body = read.message.body
    return body if isinstance(body, str) else None


def _shown(value: PropertyValue) -> str | None:
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "true" if value else "false"
    return value.hex() if isinstance(value, bytes) else str(value)


def _properties(read: Read) -> list[tuple[str, str | None]]:
    return [(name, _shown(value)) for name, value in read.message.properties.items()]


Getter = Callable[[Read], object]

COLUMNS: Final[dict[str, tuple[str, Getter]]] = {
    "queue": ("string", lambda read: read.queue),
    "position": ("bigint", lambda read: read.position),
    "body": ("binary", lambda read: read.message.data),
    "text": ("string", _text),
    "properties": ("map<string,string>", _properties),
    "message_id": ("binary", lambda read: read.message.message_id or None),
    "correlation_id": ("binary", lambda read: read.message.correlation_id or None),
    "group_id": ("binary", lambda read: read.message.group_id or None),
    "sequence_number": ("int", lambda read: read.message.sequence_number),
    "segment_offset": ("int", lambda read: read.message.offset),
    "flags": ("int", lambda read: read.message.flags),
    "message_type": ("int", lambda read: read.message.message_type),
    "format": ("string", lambda read: read.message.format),
    "encoding": ("int", lambda read: read.message.encoding),
    "ccsid": ("int", lambda read: read.message.ccsid),
    "priority": ("int", lambda read: read.message.priority),
    "persistent": ("boolean", lambda read: read.message.persistent),
    "expiry_seconds": ("double", lambda read: read.message.expiry),
    "report": ("int", lambda read: read.message.report),
    "feedback": ("int", lambda read: read.message.feedback),
    "reply_to": ("string", lambda read: read.message.reply_to or None),
    "reply_to_manager": ("string", lambda read: read.message.reply_to_manager or None),
    "user": ("string", lambda read: read.message.user or None),
    "accounting_token": ("binary", lambda read: read.message.accounting_token or None),
    "identity_data": ("string", lambda read: read.message.identity_data or None),
    "application": ("string", lambda read: read.message.application or None),
    "application_type": ("int", lambda read: read.message.application_type),
    "origin_data": ("string", lambda read: read.message.origin_data or None),
    "put_time": ("timestamp", lambda read: read.message.put_time),
    "backout_count": ("int", lambda read: read.message.backout_count),
}

SCHEMA: Final = ", ".join(f"{name} {kind}" for name, (kind, _) in COLUMNS.items())
"""All columns, as Spark writes a schema."""


def check_read_schema(schema: StructType) -> None:
    """Whoever asks for a schema of their own picks among our columns."""
    for field in schema.fields:
        known = COLUMNS.get(field.name)
        if known is None:
            raise PipelineRefused(f"There is no column {field.name!r} to read. There are: {', '.join(COLUMNS)}.")
        if field.dataType.simpleString() != known[0]:
            raise PipelineRefused(f"Column {field.name} is {known[0]}, not {field.dataType.simpleString()}.")


def record_batches(reads: Iterable[Read], schema: StructType) -> Iterator[pa.RecordBatch]:
    """Messages in batches of Arrow, each of bounded size."""
    from pyspark.sql.pandas.types import to_arrow_schema

    arrow = to_arrow_schema(schema, timezone="UTC")
    getters = [COLUMNS[field.name][1] for field in schema.fields]
    held: list[Read] = []
    held_bytes = 0
    for read in reads:
        held.append(read)
        held_bytes += len(read.message.body)
        if len(held) >= _BATCH_ROWS or held_bytes >= _BATCH_BYTES:
            yield _batch(held, getters, arrow)
            held, held_bytes = [], 0
    if held:
        yield _batch(held, getters, arrow)


def _batch(reads: Sequence[Read], getters: Sequence[Getter], arrow: pa.Schema) -> pa.RecordBatch:
    columns = [
        pa.array([getter(read) for read in reads], type=field.type)
        for getter, field in zip(getters, arrow, strict=True)
    ]
    return pa.RecordBatch.from_arrays(columns, schema=arrow)


# -- writing -----------------------------------------------------------------------------------------------------------

_WRITABLE: Final[dict[str, tuple[tuple[str, ...], str]]] = {
    "message_id": (("binary",), "message_id"),
    "correlation_id": (("binary",), "correlation_id"),
    "group_id": (("binary",), "group_id"),
    "sequence_number": (("int",), "sequence_number"),
    "flags": (("int",), "flags"),
    "message_type": (("int",), "message_type"),
    "format": (("string",), "format"),
    "encoding": (("int",), "encoding"),
    "ccsid": (("int",), "ccsid"),
    "priority": (("int",), "priority"),
    "persistent": (("boolean",), "persistent"),
    "expiry_seconds": (("double", "int"), "expiry"),
    "report": (("int",), "report"),
    "feedback": (("int",), "feedback"),
    "reply_to": (("string",), "reply_to"),
    "reply_to_manager": (("string",), "reply_to_manager"),
    "properties": (("map<string,string>",), "properties"),
}
_BODIES: Final = ("body", "text", "value")
_BODY_TYPES: Final = ("binary", "string")
# What was read and says nothing about a new message.
_IGNORED: Final = (
    "queue",
    "position",
    "segment_offset",
    "user",
    "accounting_token",
    "identity_data",
    "application",
    "application_type",
    "origin_data",
    "put_time",
    "backout_count",
)


def check_write_schema(schema: StructType) -> None:
    """Refuse columns that are no part of a message, and rows without a body."""
    kinds = {field.name: field.dataType.simpleString() for field in schema.fields}
    if not any(name in kinds for name in _BODIES):
        raise PipelineRefused(
            f"A message needs a body: a column body (binary or string), text or value. There are: {', '.join(kinds)}."
        )
    for name, kind in kinds.items():
        if name in _IGNORED:
            continue
        allowed = _BODY_TYPES if name in _BODIES else _WRITABLE.get(name, ((), ""))[0]
        if not allowed:
            wanted = ", ".join((*_BODIES, *_WRITABLE))
            raise PipelineRefused(f"Column {name!r} is no part of a message. Drop it, or name it one of: {wanted}.")
        if kind not in allowed:
            raise PipelineRefused(f"Column {name} is {kind}; a message has it as {' or '.join(allowed)}.")


def messages_of(batch: pa.RecordBatch, persistent: bool | None) -> Iterator[Message]:
    """The messages of rows. A null is as if the column were not there."""
    for row in batch.to_pylist():
        yield _message(row, persistent)


def _message(row: Mapping[str, Any], persistent: bool | None) -> Message:
    fields: dict[str, Any] = {"persistent": persistent}
    for name, (_, target) in _WRITABLE.items():
        value = row.get(name)
        if value is not None:
            fields[target] = dict(value) if name == "properties" else value
    # A row that was read has its body twice; the bytes are the body, and text is its reading.
    body = next((row[name] for name in _BODIES if row.get(name) is not None), b"")
    if isinstance(body, str) and fields.get("format") in (None, ""):
        fields["format"] = None
    return Message(body, **fields)
