"""Messages as rows: the columns of the data source, one table for reading and writing.

Rows are made a batch at a time, column by column, from stored descriptors: a Python message for each would cost more
than getting it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from functools import cached_property, lru_cache
from struct import Struct
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import pyarrow as pa  # type: ignore[import-untyped]

from ostler.client.api.get_options import to_message
from ostler.client.api.message import Message
from ostler.client.api.property_types import PropertyValue, property_values
from ostler.client.session.session import StoredMessage
from ostler.engine.conversion.code_pages import MalformedTextError, UnknownCodePageError, decode
from ostler.engine.properties.property_control import properties_on_get, starts_with_rfh2
from ostler.engine.pubsub.publication_properties import RETAINED, TOPIC
from ostler.engine.pubsub.topic_strings import check_published
from ostler.model import constants as mq
from ostler.model.errors import MQError
from ostler.pipeline.errors import PipelineError
from ostler.pipeline.source.kinds import KINDS

if TYPE_CHECKING:
    from pyspark.sql.types import StructType

_BATCH_ROWS: Final = 4096
_BATCH_BYTES: Final = 4 << 20
# All fields of a descriptor but its first two, with date and time as one field.
_DESCRIPTOR: Final = Struct("<8x6i8s2i24s24si48s48s12s32s32si28s16s4s24s3i4x")
_FIELDS: Final = (
    *("report", "message_type", "expiry", "feedback", "encoding", "ccsid", "format", "priority", "persistence"),
    *("message_id", "correlation_id", "backout_count", "reply_to", "reply_to_manager", "user", "accounting_token"),
    *("identity_data", "application_type", "application", "stamp", "origin_data", "group_id", "sequence_number"),
    *("offset", "flags"),
)
_STRING: Final = mq.MQFMT_STRING
_UTF_8: Final = 1208
_UTF_8_LIKE: Final = (mq.MQCCSI_Q_MGR, _UTF_8)
_NULL_ID: Final = bytes(24)
# As in the descriptor; MQPER_PERSISTENCE_AS_Q_DEF determines nothing.
_PERSISTENT: Final = {0: False, 1: True, 2: None}


class Read(NamedTuple):
    """A message on its way into Spark: its source, and its position among all messages read."""

    queue: str
    position: int
    taken: StoredMessage

    @property
    def message(self) -> Message:
        """Return the message as a program would have got it."""
        return to_message(self.taken, {})


class Rows:
    """Columns of messages: their source, fields of descriptors, bodies, properties."""

    def __init__(self, reads: Sequence[Read]) -> None:
        self.reads = reads
        self.properties: list[list[tuple[str, str | None]]] = []
        self.topics: list[str | None] = []
        self.retained: list[bool | None] = []
        self.bodies: list[bytes] = []
        self._descriptors: list[bytes] = []
        for read in reads:
            md, body, property_block, _, _ = read.taken
            shown: list[tuple[str, str | None]] = []
            topic: PropertyValue = None
            is_retained: PropertyValue = False
            if property_block or starts_with_rfh2(md):
                # As MQGET does: properties separate from the body.
                view = properties_on_get(md, body, property_block, mq.MQPROP_ALL, mq.MQGMO_PROPERTIES_IN_HANDLE, True)
                md, body = view.md, view.body
                found = property_values(view.property_set.properties) if view.property_set is not None else {}
                topic, is_retained = found.pop(TOPIC, None), found.pop(RETAINED, False)
                shown = [(name, _shown(value)) for name, value in found.items()]
            self._descriptors.append(md)
            self.bodies.append(body)
            self.properties.append(shown)
            self.topics.append(_shown(topic))
            self.retained.append(None if topic is None else bool(is_retained))

    @cached_property
    def fields(self) -> dict[str, Sequence[Any]]:
        """Return each field of all descriptors; decoded only if a column needs it."""
        columns = zip(*_DESCRIPTOR.iter_unpack(b"".join(self._descriptors)), strict=True)
        return dict(zip(_FIELDS, columns, strict=True))

    def texts(self) -> list[str | None]:
        """Return the bodies that are text according to their descriptors, and can be decoded."""
        fields = self.fields
        described = zip(self.bodies, fields["format"], fields["ccsid"], fields["encoding"], strict=True)
        return [
            _decoded(body, ccsid, encoding) if kind == _STRING else None for body, kind, ccsid, encoding in described
        ]


def _decoded(body: bytes, ccsid: int, encoding: int) -> str | None:
    try:
        return body.decode() if ccsid in _UTF_8_LIKE else decode(body, ccsid, encoding)
    except (UnknownCodePageError, MalformedTextError, UnicodeDecodeError):
        return None


def _shown(value: PropertyValue) -> str | None:
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "true" if value else "false"
    return value.hex() if isinstance(value, bytes) else str(value)


# Neighbours on a queue often come from the same program: most values repeat.
@lru_cache(maxsize=1024)
def _characters(field: bytes) -> str:
    return field.partition(b"\0")[0].rstrip(b" ").decode("utf-8", "replace")


@lru_cache(maxsize=1024)
def _when(stamp: bytes) -> datetime | None:
    """Return PutDate and PutTime, yyyymmddhhmmssth, in GMT."""
    try:
        year, month, day = int(stamp[:4]), int(stamp[4:6]), int(stamp[6:8])
        hour, minute, second = int(stamp[8:10]), int(stamp[10:12]), int(stamp[12:14])
        return datetime(year, month, day, hour, minute, second, int(stamp[14:16]) * 10_000, UTC)
    except ValueError:
        return None


def _field(name: str) -> Getter:
    return lambda rows: rows.fields[name]


def _words(name: str) -> Getter:
    """Return a character field; null when it is blank."""
    return lambda rows: [_characters(field) or None for field in rows.fields[name]]


def _identifier(name: str) -> Getter:
    return lambda rows: [None if field == _NULL_ID else field for field in rows.fields[name]]


Getter = Callable[[Rows], Sequence[object]]

_GETTERS: Final[dict[str, Getter]] = {
    "queue": lambda rows: [read.queue for read in rows.reads],
    "position": lambda rows: [read.position for read in rows.reads],
    "body": lambda rows: rows.bodies,
    "text": Rows.texts,
    "properties": lambda rows: rows.properties,
    "topic": lambda rows: rows.topics,
    "retained": lambda rows: rows.retained,
    "message_id": _identifier("message_id"),
    "correlation_id": _identifier("correlation_id"),
    "group_id": _identifier("group_id"),
    "sequence_number": _field("sequence_number"),
    "segment_offset": _field("offset"),
    "flags": _field("flags"),
    "message_type": _field("message_type"),
    "format": lambda rows: [_characters(field) for field in rows.fields["format"]],
    "encoding": _field("encoding"),
    "ccsid": _field("ccsid"),
    "priority": _field("priority"),
    "persistent": lambda rows: [_PERSISTENT.get(field, False) for field in rows.fields["persistence"]],
    "expiry_seconds": lambda rows: [None if field < 0 else field / 10 for field in rows.fields["expiry"]],
    "report": _field("report"),
    "feedback": _field("feedback"),
    "reply_to": _words("reply_to"),
    "reply_to_manager": _words("reply_to_manager"),
    "user": _words("user"),
    "accounting_token": lambda rows: [field.rstrip(b"\0") or None for field in rows.fields["accounting_token"]],
    "identity_data": _words("identity_data"),
    "application": _words("application"),
    "application_type": _field("application_type"),
    "origin_data": _words("origin_data"),
    "put_time": lambda rows: [_when(field) for field in rows.fields["stamp"]],
    "backout_count": _field("backout_count"),
}

COLUMNS: Final = {name: (kind, _GETTERS[name]) for name, kind in KINDS.items()}
"""The type of each column, and the function that makes it."""


def check_read_schema(schema: StructType) -> None:
    """Check a user's schema: it must be a subset of our columns."""
    for field in schema.fields:
        known = COLUMNS.get(field.name)
        if known is None:
            raise PipelineError(f"There is no column {field.name!r} to read. There are: {', '.join(COLUMNS)}.")
        if field.dataType.simpleString() != known[0]:
            raise PipelineError(f"Column {field.name} is {known[0]}, not {field.dataType.simpleString()}.")


def record_batches(reads: Iterable[Read], schema: StructType) -> Iterator[pa.RecordBatch]:
    """Yield messages in Arrow batches, each of bounded size."""
    from pyspark.sql.pandas.types import to_arrow_schema

    arrow = to_arrow_schema(schema, timezone="UTC")
    getters = [COLUMNS[field.name][1] for field in schema.fields]
    held: list[Read] = []
    held_bytes = 0
    for read in reads:
        held.append(read)
        held_bytes += len(read.taken.body)
        if len(held) >= _BATCH_ROWS or held_bytes >= _BATCH_BYTES:
            yield _batch(held, getters, arrow)
            held, held_bytes = [], 0
    if held:
        yield _batch(held, getters, arrow)


def _batch(reads: Sequence[Read], getters: Sequence[Getter], arrow: pa.Schema) -> pa.RecordBatch:
    rows = Rows(reads)
    columns = [pa.array(getter(rows), type=field.type) for getter, field in zip(getters, arrow, strict=True)]
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
_TOPIC_TYPES: Final = ("string",)
# Columns of a read that do not affect a new message; a topic does, where messages are published.
_IGNORED: Final = (
    "queue",
    "position",
    "topic",
    "retained",
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
    """Reject unknown columns, and rows without a body."""
    kinds = {field.name: field.dataType.simpleString() for field in schema.fields}
    if not any(name in kinds for name in _BODIES):
        raise PipelineError(
            f"A message needs a body: a column body (binary or string), text or value. There are: {', '.join(kinds)}."
        )
    for name, kind in kinds.items():
        if name == "topic" and kind not in _TOPIC_TYPES:
            raise PipelineError(f"Column topic is {kind}; a topic is a string.")
        if name in _IGNORED:
            continue
        allowed = _BODY_TYPES if name in _BODIES else _WRITABLE.get(name, ((), ""))[0]
        if not allowed:
            wanted = ", ".join((*_BODIES, *_WRITABLE))
            raise PipelineError(f"Column {name!r} is no part of a message. Drop it, or name it one of: {wanted}.")
        if kind not in allowed:
            raise PipelineError(f"Column {name} is {kind}; a message has it as {' or '.join(allowed)}.")


def messages_of(batch: pa.RecordBatch, persistent: bool | None, topic: str = "") -> Iterator[Message]:
    """Yield the messages of rows. A null is as if the column did not exist.

    With a topic, messages wait to be published: each has the property of a publication, with the row's own topic or
    else this one. The queue manager replaces it when the message is published.
    """
    for row in batch.to_pylist():
        message = _message(row, persistent)
        if topic:
            message.properties = {**message.properties, TOPIC: _topic(row.get("topic"), topic)}
        yield message


def _topic(own: str | None, usual: str) -> str:
    """Return the topic of a row. It is checked here: a release could not continue after an invalid one."""
    if own is None:
        return usual
    try:
        check_published(own)
    except MQError as error:
        raise PipelineError(f"A row cannot be published to topic {own[:80]!r}. {error}") from error
    return own


def _message(row: Mapping[str, Any], persistent: bool | None) -> Message:
    fields: dict[str, Any] = {"persistent": persistent}
    for name, (_, target) in _WRITABLE.items():
        value = row.get(name)
        if value is not None:
            fields[target] = dict(value) if name == "properties" else value
    # A row that was read has its body twice; the bytes are the body, and text is its decoding.
    body = next((row[name] for name in _BODIES if row.get(name) is not None), b"")
    if isinstance(body, str) and fields.get("format") in (None, ""):
        fields["format"] = None
    return Message(body, **fields)
