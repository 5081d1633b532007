"""Metrics from the messages of the accounting and statistics queues."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from ostler.client.api.connection import Connection
from ostler.lab.runner.contract import Metric
from ostler.model.pcf import PcfError
from ostler.observe.record_reader import Field, Record, read_record
from ostler.server.statistics_writer import ACCOUNTING_QUEUE, STATISTICS_QUEUE

READER: Final = "ostler-lab-accounts"
"""The name of the application that reads them; its own accounting is ignored."""
SOURCES: Final = {"statistics": STATISTICS_QUEUE, "accounting": ACCOUNTING_QUEUE}
# The object of a record, the most specific name first.
_OBJECTS: Final = ("QName", "ChannelName", "ConnectionId")
# Numbers that are not metrics.
_NO_METRICS: Final = frozenset(
    {"CommandLevel", "ObjectCount", "SeqNumber", "MsgSeqNumber", "Control", "ApplicationPid", "ApplicationTid"}
    | {"DiscType", "ChannelType", "QType", "QDefinitionType"}
)
_MESSAGES_MAX: Final = 100_000


def take_metrics(connection: Connection, source: str, first_record: int = 0) -> list[Metric]:
    """Get all messages of a source, and return their metrics. Records are numbered from `first_record` on.

    Each message is a record, and so is each queue or channel group in it. Names have the kind of the record as prefix,
    `QueueStatistics.PutCount`; zeros are omitted.
    """
    metrics: list[Metric] = []
    record = first_record
    for message in _messages(connection, SOURCES[source]):
        found = message_metrics(source, message, record)
        metrics += found
        record = next_record(found, record)
    return metrics


def message_metrics(source: str, message: Record, first_record: int) -> list[Metric]:
    """Return the metrics of one message. Its records are numbered from `first_record` on."""
    return [
        figure
        for record, (part, kind, about) in enumerate(_parts(message), first_record)
        for figure in _metrics(source, record, kind, about, part)
    ]


def next_record(metrics: list[Metric], first_record: int) -> int:
    """Return the number of the record after these."""
    return max([first_record, *(each.record + 1 for each in metrics)])


def _messages(connection: Connection, queue_name: str) -> Iterator[Record]:
    with connection.open(queue_name, "r") as queue:
        for _ in range(_MESSAGES_MAX):
            message = queue.get(syncpoint=False)
            if message is None:
                return
            try:
                found = read_record(message.body if isinstance(message.body, bytes) else b"")
            except PcfError:
                continue  # not a PCF message of ours
            if str(found.get("ApplicationName", "")).strip() != READER:
                yield found


def _parts(message: Record) -> Iterator[tuple[Record, str, str]]:
    """Yield a message and the groups in it, each with the kind of the message and the object of the record."""
    kind = str(message["RecordType"])
    yield message, kind, _object(message)
    for value in message.values():
        if isinstance(value, list):
            for each in value:
                if isinstance(each, dict):
                    yield each, kind, _object(each)


def _object(record: Record) -> str:
    return next((str(record[name]).strip() for name in _OBJECTS if name in record), "")


def _metrics(source: str, record: int, kind: str, about: str, fields: Record) -> Iterator[Metric]:
    for name, value in fields.items():
        if name in _NO_METRICS:
            continue
        for position, number in enumerate(_numbers(value)):
            if number:
                yield Metric(source, f"{kind}.{name}", float(number), about, record, position)


def _numbers(value: Field) -> list[int]:
    if isinstance(value, int):
        return [value]
    return [each for each in value if isinstance(each, int)] if isinstance(value, list) else []
