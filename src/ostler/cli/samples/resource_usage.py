"""`ostler amqsrua`: shows the resource publications of a queue manager, as IBM MQ's sample of this name."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from typing import Final, NamedTuple

from ostler.cli.samples import resource_metadata as metadata
from ostler.cli.samples.connection import UsageError, connect
from ostler.cli.samples.resource_metadata import Element, Elements, ResourceClass, ResourceType
from ostler.client.api.connection import Connection
from ostler.client.api.message import Message
from ostler.model import constants as mq
from ostler.model.errors import MQError
from ostler.model.pcf import Integer, Integer64, String

_DONE: Final = 0
_MICROSECONDS: Final = 1_000_000
# Without a publication for so long, a reason is suggested.
_HINT_SECONDS: Final = 30.0
# Rates of shorter intervals would mislead.
_INTERVAL_US_MIN: Final = 10_000
_FIXED: Final = frozenset((mq.MQIAMO_MONITOR_CLASS, mq.MQIAMO_MONITOR_TYPE, mq.MQIAMO64_MONITOR_INTERVAL))


class Publication(NamedTuple):
    """The values of one publication."""

    put_time: str
    queue_manager: str
    object: str
    interval_us: int
    values: list[tuple[Element, int]]


def amqsrua(arguments: argparse.Namespace) -> int:
    """Shows publications until enough have arrived, or none in time."""
    limit: int | None = arguments.count
    with connect(arguments, arguments.queue_manager) as connection:
        of_class = _chosen_class(arguments, metadata.classes(connection, arguments.prefix))
        of_type = _chosen_type(arguments, of_class, metadata.types(connection, of_class))
        found = metadata.elements(connection, of_type)
        name = _object_name(arguments, of_class)
        topic = found.topic.replace(metadata.OBJECT, name.replace("/", "&"))
        if not arguments.quiet:
            print(f"subscribed to {topic} of {connection.name}", file=sys.stderr, flush=True)
        count = _show_all(connection, arguments, topic, found, (of_class.name, of_type.name))
    if limit is not None and count < limit:
        raise MQError(mq.MQRC_NO_MSG_AVAILABLE, f"{count} publications came of {limit} asked for. {_hint(name)}")
    return _DONE


def _show_all(
    connection: Connection, arguments: argparse.Namespace, topic: str, found: Elements, kind: tuple[str, str]
) -> int:
    limit: int | None = arguments.count
    wait: float | None = arguments.wait
    count = 0
    with connection.subscribe(topic, new_only=True) as subscription:
        while limit is None or count < limit:
            message = subscription.get(wait=_HINT_SECONDS if wait is None else wait)
            if message is None and wait is not None:
                break
            if message is None:
                if not arguments.quiet:
                    print(
                        f"nothing was published for {_HINT_SECONDS:.0f} s. {_hint(arguments.object)}", file=sys.stderr
                    )
                continue
            count += 1
            publication = _read(message, found)
            lines = [_json(publication, kind)] if arguments.json else _lines(publication)
            print("\n".join(lines), flush=True)
    return count


def _hint(name: str) -> str:
    if name:
        return f"A queue has data only while it exists: check DISPLAY QLOCAL({name})."
    return "Data comes every MonitorPublishHeartBeat seconds (qm.ini), 10 as a rule: wait longer than that."


# -- choices -----------------------------------------------------------------------------------------------------------


def _chosen_class(arguments: argparse.Namespace, known: Sequence[ResourceClass]) -> ResourceClass:
    at = _choice("-c", "class", arguments.resource_class, [(each.name, each.description) for each in known])
    return known[at]


def _chosen_type(arguments: argparse.Namespace, of_class: ResourceClass, known: Sequence[ResourceType]) -> ResourceType:
    what = f"type of {of_class.name}"
    at = _choice("-t", what, arguments.resource_type, [(each.name, each.description) for each in known])
    return known[at]


def _choice(option: str, what: str, given: str, known: Sequence[tuple[str, str]]) -> int:
    """Returns the index of a name that was given, or else is asked for on standard input."""
    names = [name for name, _ in known]
    if not given:
        print("\n".join(f"{name} : {description}" for name, description in known), file=sys.stderr)
        given = _answer(f"Enter the {what}", f"{option} was not given; {what}: {', '.join(names)}")
    for at, name in enumerate(names):
        if name.upper() == given.upper():
            return at
    raise UsageError(f"there is no {what} {given}; {option} takes {', '.join(names)}")


def _object_name(arguments: argparse.Namespace, of_class: ResourceClass) -> str:
    if not of_class.is_per_object:
        if arguments.object:
            raise UsageError(f"{of_class.name} has no data of single objects; leave -o out")
        return ""
    if not arguments.object:
        arguments.object = _answer(
            f"Enter the name of an object for {of_class.name}", f"{of_class.name} needs -o with the name of an object"
        )
    return str(arguments.object)


def _answer(prompt: str, otherwise: str) -> str:
    print(f"{prompt}: ", end="", file=sys.stderr, flush=True)
    line = sys.stdin.readline().strip()
    if not line:
        raise UsageError(otherwise)
    return line


# -- publications ------------------------------------------------------------------------------------------------------


def _read(message: Message, found: Elements) -> Publication:
    """Returns the values of a publication. Elements that the metadata does not describe are ignored."""
    queue_manager = name = ""
    interval_us = 0
    values: list[tuple[Element, int]] = []
    for each in metadata.decoded(message.data, found.topic).parameters:
        if isinstance(each, String):
            if each.parameter == mq.MQCA_Q_MGR_NAME:
                queue_manager = each.value.rstrip()
            else:
                name = each.value.rstrip()
        elif isinstance(each, (Integer, Integer64)):
            if each.parameter == mq.MQIAMO64_MONITOR_INTERVAL:
                interval_us = each.value
            elif each.parameter in found.by_number and each.parameter not in _FIXED:
                values.append((found.by_number[each.parameter], each.value))
    put_time = message.put_time.isoformat() if message.put_time is not None else ""
    return Publication(put_time, queue_manager, name, interval_us, values)


def _lines(publication: Publication) -> list[str]:
    beginning = f"{publication.object:<48} " if publication.object else ""
    lines = [
        f"Publication received at {publication.put_time}, interval {publication.interval_us / _MICROSECONDS:.3f} s"
    ]
    for element, value in publication.values:
        rate = _rate(element, value, publication.interval_us)
        per_second = f" {rate:,.0f}/sec" if rate is not None and round(rate) > 0 else ""
        lines.append(f"{beginning}{element.description} {_shown(element.datatype, value)}{per_second}")
    return lines


def _rate(element: Element, value: int, interval_us: int) -> float | None:
    """Returns the rate per second of an element that counts in intervals; None for others."""
    if element.datatype != mq.MQIAMO_MONITOR_DELTA or interval_us < _INTERVAL_US_MIN:
        return None
    return value * _MICROSECONDS / interval_us


def _shown(datatype: int, value: int) -> str:
    """Returns a value with its unit."""
    if datatype == mq.MQIAMO_MONITOR_PERCENT:
        return f"{value / 100:.2f}%"
    if datatype == mq.MQIAMO_MONITOR_HUNDREDTHS:
        return f"{value / 100:.2f}"
    if datatype == mq.MQIAMO_MONITOR_LSN:
        return f"<{value >> 48 & 0xFFFF}:{value >> 32 & 0xFFFF}:{value >> 16 & 0xFFFF}:{value & 0xFFFF}>"
    if datatype == mq.MQIAMO_MONITOR_TIMESTAMP:
        return (
            datetime.fromtimestamp(value / _MICROSECONDS, UTC).isoformat(sep=" ", timespec="seconds") if value else "-"
        )
    return f"{value}{_UNITS.get(datatype, '')}"


_UNITS: Final = {
    mq.MQIAMO_MONITOR_KB: "KB",
    mq.MQIAMO_MONITOR_MB: "MB",
    mq.MQIAMO_MONITOR_GB: "GB",
    mq.MQIAMO_MONITOR_MICROSEC: " uSec",
}


def _json(publication: Publication, kind: tuple[str, str]) -> str:
    """Returns a publication as a JSON object; percentages and averages as numbers with fractions."""
    scaled = (mq.MQIAMO_MONITOR_PERCENT, mq.MQIAMO_MONITOR_HUNDREDTHS)
    values = {
        element.description: value / 100 if element.datatype in scaled else value
        for element, value in publication.values
    }
    rates = {
        element.description: round(rate, 3)
        for element, value in publication.values
        if (rate := _rate(element, value, publication.interval_us)) is not None
    }
    shown = {
        "queue_manager": publication.queue_manager,
        "class": kind[0],
        "type": kind[1],
        "object": publication.object,
        "put_time": publication.put_time,
        "interval_seconds": publication.interval_us / _MICROSECONDS,
        "values": values,
        "per_second": rates,
    }
    return json.dumps(shown, ensure_ascii=False)


PROGRAMS: Final[dict[str, Callable[[argparse.Namespace], int]]] = {"amqsrua": amqsrua}
