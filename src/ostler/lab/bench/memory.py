"""How much memory a million queued messages take with the default buffers, each case in a process of its own."""

from __future__ import annotations

import gc
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path

import psutil

from ostler.lab.bench.result import Aim, Result
from ostler.lab.common.embedded import PUTS_PER_COMMIT, QUEUE, EmbeddedApplication, fresh
from ostler.lab.common.own_process import Report, in_own_process, part_of
from ostler.lab.common.samples import Measurement, ratio
from ostler.model import constants as mq

TITLE = "Resident memory with many messages queued and default buffers"
RESIDENT_MEGABYTES_MAX = 300.0
_MESSAGES_OF_AIM = 1_000_000
_SLICE = 20 * PUTS_PER_COMMIT
_OBJECT_HEAD_BYTES = 33  # of a bytes object
_SECONDS_MAX = 400.0


@dataclass(frozen=True)
class Parameters:
    messages: int = _MESSAGES_OF_AIM
    body_bytes: int = 1024


FULL = Parameters()
QUICK = Parameters(messages=200_000)


@dataclass(frozen=True)
class Seen:
    """Resident bytes of the process before the messages came, with all of them, and at most."""

    before: int
    loaded: int
    highest: int
    depth: int


def run(parameters: Parameters, scratch: Path, report: Report) -> Result:
    result = Result("memory", TITLE, asdict(parameters))
    result.table.append(["messages", "resident MB", "highest MB", "MB without them", "bytes for each message"])
    cases = (("non-persistent", False), ("persistent", True))
    for number, (name, persistent) in enumerate(cases):
        told = part_of(report, number / len(cases), (number + 1) / len(cases))
        measure = partial(load, parameters, scratch / name, persistent)
        _note(result, parameters, name, in_own_process(measure, _SECONDS_MAX, told))
    bodies = parameters.messages * (parameters.body_bytes + _OBJECT_HEAD_BYTES)
    result.limits.append(Measurement("bodies kept in memory", "MB", (bodies / 1e6,)))
    result.notes.append(f"All bodies in memory would take {bodies / 1e6:,.0f} MB.")
    return result


def load(parameters: Parameters, root: Path, persistent: bool, report: Report) -> Seen:
    """Fill a queue in this process, and see how large it grows."""
    process = psutil.Process()
    with fresh(root) as manager:
        application = EmbeddedApplication(manager)
        output = application.open(QUEUE, mq.MQOO_OUTPUT)
        body = bytes(parameters.body_bytes)
        application.load(output, min(PUTS_PER_COMMIT, parameters.messages), body, persistent)
        before = highest = process.memory_info().rss
        depth = min(PUTS_PER_COMMIT, parameters.messages)
        while depth < parameters.messages:
            count = min(_SLICE, parameters.messages - depth)
            application.load(output, count, body, persistent)
            depth += count
            highest = max(highest, process.memory_info().rss)
            report(depth / parameters.messages, f"{depth:,} messages queued")
        gc.collect()
        loaded = process.memory_info().rss
        found = manager.engine.queues[QUEUE].depth
        application.close()
    return Seen(before, loaded, highest, found)


def _note(result: Result, parameters: Parameters, name: str, seen: Seen) -> None:
    if seen.depth != parameters.messages:
        raise AssertionError(f"{seen.depth} messages are queued, not {parameters.messages}")
    each = ratio(seen.loaded - seen.before, parameters.messages)
    labels = {"messages": name}
    result.measurements += [
        Measurement("resident", "MB", (seen.loaded / 1e6,), {**labels}),
        Measurement("highest", "MB", (seen.highest / 1e6,), {**labels}),
        Measurement("without messages", "MB", (seen.before / 1e6,), {**labels}),
        Measurement("memory for each message", "bytes", (each,), {**labels}),
    ]
    result.table.append(
        [
            f"{parameters.messages:,} {name}",
            f"{seen.loaded / 1e6:,.0f}",
            f"{seen.highest / 1e6:,.0f}",
            f"{seen.before / 1e6:,.0f}",
            f"{each:,.0f}",
        ]
    )
    if parameters.messages >= _MESSAGES_OF_AIM:
        text = f"{name}: resident MB with {parameters.messages:,} messages"
        result.aims.append(Aim(text, RESIDENT_MEGABYTES_MAX, max(seen.loaded, seen.highest) / 1e6, True))
