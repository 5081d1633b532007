"""Parser of statistics and accounting messages within Spark: PCF bodies come in as Arrow, records go out as Arrow.

A message of verbs is one record. A message of queues or channels has a record for each of them. An unreadable message
is a row, too: with the problem, and without a record.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Final

import pyarrow as pa  # type: ignore[import-untyped]

from ostler.model.pcf import PcfError
from ostler.observe.record_reader import Field, Record, read_record
from ostler.server.statistics_writer import ACCOUNTING_QUEUE, STATISTICS_QUEUE

WATCHER: Final = "ostler pipeline watch"
"""The name of the application that reads. Its own accounting is ignored, or there would be new messages without end."""
SOURCES: Final = {STATISTICS_QUEUE: "statistics", ACCOUNTING_QUEUE: "accounting"}
READ_COLUMNS: Final = {
    "queue": "string",
    "position": "bigint",
    "body": "binary",
    "message_id": "binary",
    "put_time": "timestamp",
}
READ_SCHEMA: Final = ", ".join(f"{name} {kind}" for name, kind in READ_COLUMNS.items())
"""The columns requested from the data source."""
RECORD_COLUMNS: Final = {
    "message": "string",
    "place": "bigint",
    "part": "int",
    "source": "string",
    "told": "timestamp",
    "problem": "string",
    "kind": "string",
    "object": "string",
    "queue_manager": "string",
    "began": "timestamp",
    "ended": "timestamp",
    "connection": "string",
    "sequence": "int",
    "application": "string",
    "user": "string",
    "channel": "string",
    "address": "string",
    "connected": "timestamp",
    "is_last": "boolean",
    "figures": "map<string,array<bigint>>",
}
RECORD_SCHEMA: Final = ", ".join(f"{name}: {kind}" for name, kind in RECORD_COLUMNS.items())
"""The columns of records: `place` and `part` give the order; `figures` has numbers by their names in MQ's
documentation."""

# The object of a record, the most specific name first.
_OBJECTS: Final = ("QName", "ChannelName", "ConnectionId")
_NO_METRICS: Final = frozenset(
    {"CommandLevel", "ObjectCount", "SeqNumber", "MsgSeqNumber", "Control", "ApplicationPid", "ApplicationTid"}
    | {"DiscType", "ChannelType", "QType", "QDefinitionType"}
)
_MOMENT: Final = "%Y-%m-%d %H.%M.%S"


def read_messages(
    queues: pa.Array, positions: pa.Array, bodies: pa.Array, message_ids: pa.Array, put_times: pa.Array
) -> pa.Array:
    """Arrow function of Spark: turns columns of READ_SCHEMA into a list of rows of RECORD_SCHEMA for each message."""
    columns = (each.to_pylist() for each in (queues, positions, bodies, message_ids, put_times))
    found = [list(message_rows(*message)) for message in zip(*columns, strict=True)]
    return pa.array(found, type=pa.list_(pa.struct(_arrow_fields())))


def _arrow_fields() -> list[pa.Field]:
    types = {
        "string": pa.string(),
        "bigint": pa.int64(),
        "int": pa.int32(),
        "boolean": pa.bool_(),
        "timestamp": pa.timestamp("us", tz="UTC"),
        "map<string,array<bigint>>": pa.map_(pa.string(), pa.list_(pa.int64())),
    }
    return [pa.field(name, types[kind]) for name, kind in RECORD_COLUMNS.items()]


def message_rows(
    queue: str, position: int, body: bytes | None, message_id: bytes | None, put_time: datetime | None
) -> Iterator[dict[str, object]]:
    """Return the rows of one message; none for the watcher's own accounting."""
    put_at = put_time or datetime.now(UTC)
    key: dict[str, object] = {
        "message": (message_id or b"").hex(),
        "place": position,
        "part": 0,
        "source": SOURCES[queue],
        "told": put_at,
    }
    try:
        record = read_record(body or b"")
    except PcfError as error:
        yield {**key, "problem": f"{len(body or b'')} bytes on {queue}: {error}"}
        return
    if _text(record, "ApplicationName") == WATCHER:
        return
    whole = {**key, "kind": _text(record, "RecordType"), **_about(record, put_at)}
    groups = [each for value in record.values() if isinstance(value, list) for each in value if isinstance(each, dict)]
    for part, each in enumerate(groups or [record]):
        yield {**whole, "part": part, **_of_part(record, each), "figures": _metrics(each)}


def _about(record: Record, put_at: datetime) -> dict[str, object]:
    """Return the queue manager, the interval, and the connection of a record."""
    sequence = record.get("SeqNumber")
    return {
        "queue_manager": _text(record, "QueueManager"),
        "began": _moment(record, "IntervalStart") or put_at,
        "ended": _moment(record, "IntervalEnd") or put_at,
        "connection": _text(record, "ConnectionId"),
        "sequence": sequence if isinstance(sequence, int) else 0,
        "application": _text(record, "ApplicationName"),
        "user": _text(record, "UserId"),
        "connected": _moment(record, "Conn"),
        "is_last": "DiscType" in record if record["RecordType"] == "MQIAccounting" else None,
    }


def _of_part(record: Record, part: Record) -> dict[str, object]:
    return {
        "object": next((_text(part, name) for name in _OBJECTS if name in part), ""),
        "channel": _text(part, "ChannelName") or _text(record, "ChannelName"),
        "address": _text(part, "ConnName") or _text(record, "ConnName"),
    }


def _metrics(record: Record) -> list[tuple[str, list[int]]]:
    found = [(name, _numbers(value)) for name, value in record.items() if name not in _NO_METRICS]
    return [(name, numbers) for name, numbers in found if numbers]


def _numbers(value: Field) -> list[int]:
    if isinstance(value, int):
        return [value]
    return [each for each in value if isinstance(each, int)] if isinstance(value, list) else []


def _text(record: Record, name: str) -> str:
    # Names in fixed fields are padded with blanks or zeros.
    value = record.get(name, "")
    return value.rstrip(" \0").strip() if isinstance(value, str) else ""


def _moment(record: Record, prefix: str) -> datetime | None:
    text = f"{_text(record, f'{prefix}Date')} {_text(record, f'{prefix}Time')}"
    try:
        return datetime.strptime(text, _MOMENT).replace(tzinfo=UTC)
    except ValueError:
        return None
