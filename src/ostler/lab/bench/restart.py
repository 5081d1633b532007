"""How fast a queue manager comes back with many persistent messages: from its log alone, and from a checkpoint.

For the log alone the log is made so large that no checkpoint falls due while the messages are put. Each start is in a
process of its own, as a real one is.
"""

from __future__ import annotations

import shutil
import time
import zlib
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path

from ostler.client.locate.embedded import start
from ostler.lab.bench.result import Aim, Result
from ostler.lab.common.embedded import (
    NAME,
    PUTS_PER_COMMIT,
    QUEUE,
    EmbeddedApplication,
    descriptor,
    fresh,
    get_options,
    number_of,
    put_options,
    with_number,
)
from ostler.lab.common.own_process import MeasurementFailed, Report, in_own_process, part_of
from ostler.lab.common.samples import Measurement, ratio
from ostler.model import constants as mq
from ostler.model.structures.gmo import MQGMO
from ostler.server.config.directories import QueueManagerDirectory
from ostler.server.config.qm_ini import PAGE_BYTES, LogSection

TITLE = "Restart with many persistent messages"
FROM_LOG = "from the log"
FROM_FILE = "from the queue file"
REPLAYED_PER_SECOND_MIN = 77_000.0
_SECONDS_MAX = 400.0
_READ_BYTES = 1 << 20
_RECORD_BYTES = 512  # a record beside its body, generously: descriptor, heads and its part of block headers
_CHECKPOINT_SHARE = 4  # a checkpoint falls due when a quarter of the primary files was written
_FILE_PAGES = 65_535
_FILES_MIN = 3
_ROUNDS_REPORTED = 20


@dataclass(frozen=True)
class Parameters:
    messages: int = 1_000_000
    body_bytes: int = 1024
    rounds: int = 3


FULL = Parameters()
QUICK = Parameters(messages=100_000)


def log_for(parameters: Parameters) -> LogSection:
    """A log that takes all messages without a checkpoint."""
    size = parameters.messages * (parameters.body_bytes + _RECORD_BYTES) * _CHECKPOINT_SHARE
    pages = min(_FILE_PAGES, max(256, size // _FILES_MIN // PAGE_BYTES))
    files = max(_FILES_MIN, -(-size // (pages * PAGE_BYTES)))
    return LogSection(primary_files=files, secondary_files=2, file_pages=pages)


@dataclass(frozen=True)
class Start:
    """One start: its seconds, the depth of the queue, how much came from the log, and the first message's number."""

    seconds: float
    depth: int
    replayed: int
    first: int
    log_bytes: int


def run(parameters: Parameters, scratch: Path, report: Report) -> Result:
    result = Result("restart", TITLE, asdict(parameters))
    log = log_for(parameters)
    _check_space(parameters, log, scratch)
    directory = QueueManagerDirectory(scratch, NAME)
    began = time.monotonic()
    in_own_process(partial(load, parameters, scratch, log), _SECONDS_MAX, part_of(report, 0.0, 0.5))
    loading_seconds = time.monotonic() - began
    from_log = _starts(parameters, directory, part_of(report, 0.5, 0.9))
    _check(from_log, parameters, parameters.messages)
    read_seconds = _read_log(directory.log, from_log[0].log_bytes)
    # An orderly end takes a checkpoint: from then on the messages are in the queue's file.
    in_own_process(partial(start_again, directory, "immediate"), _SECONDS_MAX)
    from_file = _starts(parameters, directory, part_of(report, 0.9, 1.0))
    _check(from_file, parameters, 0)
    _note(result, parameters, from_log, from_file, read_seconds)
    result.notes.append(
        f"Making the log and putting the messages took {loading_seconds:,.1f} s; the log holds "
        f"{from_log[0].log_bytes >> 20:,} MB."
    )
    return result


def _check_space(parameters: Parameters, log: LogSection, scratch: Path) -> None:
    messages = parameters.messages * (parameters.body_bytes + _RECORD_BYTES)
    needed = log.file_bytes() * (log.primary_files + 1) + messages
    free = shutil.disk_usage(scratch).free
    if free < needed:
        raise MeasurementFailed(f"it needs {needed >> 20:,} MB in {scratch}, and {free >> 20:,} MB are free")


def _starts(parameters: Parameters, directory: QueueManagerDirectory, report: Report) -> list[Start]:
    """Several starts, each ended as in a crash, so that the next one finds the same."""
    starts: list[Start] = []
    for number in range(parameters.rounds):
        told = part_of(report, number / parameters.rounds, (number + 1) / parameters.rounds)
        starts.append(in_own_process(partial(start_again, directory, "preemptive"), _SECONDS_MAX, told))
    return starts


def load(parameters: Parameters, root: Path, log: LogSection, report: Report) -> None:
    """Put the messages, numbered, and end as in a crash."""
    report(0.0, f"making a log of {log.file_bytes() * log.primary_files >> 20:,} MB")
    with fresh(root, log) as manager:
        application = EmbeddedApplication(manager)
        output = application.open(QUEUE, mq.MQOO_OUTPUT)
        md, pmo = descriptor(True), put_options(syncpoint=True)
        body = bytes(parameters.body_bytes)
        for number in range(parameters.messages):
            application.put(output, with_number(body, number), md, pmo)
            if number % PUTS_PER_COMMIT == PUTS_PER_COMMIT - 1:
                application.commit()
                if number % (_ROUNDS_REPORTED * PUTS_PER_COMMIT) == PUTS_PER_COMMIT - 1:
                    report(number / parameters.messages, f"putting {parameters.messages:,} messages")
        application.commit()


def start_again(directory: QueueManagerDirectory, end: str, report: Report) -> Start:
    """Start, see what is there, and end in the given way."""
    began = time.perf_counter()
    manager = start(directory.name, directory.root, progress=partial(_replaying, report))
    seconds = time.perf_counter() - began
    application = EmbeddedApplication(manager)
    browse = application.open(QUEUE, mq.MQOO_BROWSE)
    gmo = bytearray(get_options())
    MQGMO.patch(gmo, "Options", mq.MQGMO_BROWSE_FIRST)
    first = application.get(browse, descriptor(False), bytes(gmo))
    seen = Start(
        seconds,
        manager.engine.queues[QUEUE].depth,
        manager.restart.messages,
        number_of(first) if first is not None else -1,
        manager.log.restart_report.read_bytes,
    )
    application.close()
    manager.end(end)
    return seen


def _replaying(report: Report, done_bytes: int, total_bytes: int) -> None:
    report(done_bytes / total_bytes if total_bytes else 1.0, "replaying the log")


def _check(starts: list[Start], parameters: Parameters, replayed: int) -> None:
    expected = (parameters.messages, replayed, 0)
    for each in starts:
        found = (each.depth, each.replayed, each.first)
        if found != expected:
            raise MeasurementFailed(
                "a restart did not find what was committed: messages, replayed from the log, number of the first are "
                f"{found} and should be {expected}"
            )


def _read_log(directory: Path, size_bytes: int) -> float:
    """Seconds for reading so much of the log and checksumming it: no replay can be faster."""
    left = size_bytes
    began = time.perf_counter()
    for path in sorted(path for path in directory.rglob("*") if path.is_file()):
        checksum = 0
        with path.open("rb", buffering=0) as file:
            while left > 0 and (data := file.read(min(_READ_BYTES, left))):
                checksum = zlib.crc32(data, checksum)
                left -= len(data)
    return time.perf_counter() - began


def _note(
    result: Result, parameters: Parameters, from_log: list[Start], from_file: list[Start], read_seconds: float
) -> None:
    count = parameters.messages
    limit = Measurement("reading and checksumming the log", "messages/s", (count / read_seconds,))
    result.limits.append(limit)
    result.table.append(["restart", "seconds", "messages/s", "share of reading the log"])
    for name, starts in ((FROM_LOG, from_log), (FROM_FILE, from_file)):
        seconds = Measurement("restart", "s", tuple(each.seconds for each in starts), {"messages": name})
        rate = Measurement("rate", "messages/s", tuple(count / each.seconds for each in starts), {"messages": name})
        result.measurements += [seconds, rate]
        share = ratio(rate.median, limit.median)
        result.ratios[f"{name} / reading the log"] = share
        shown = f"{share:.0%}" if name == FROM_LOG else "-"
        result.table.append([f"{count:,} {name}", f"{seconds.median:.2f}", f"{rate.median:,.0f}", shown])
    result.table.append([limit.name, f"{read_seconds:.2f}", f"{limit.median:,.0f}", "100%"])
    rate = result.find("rate", messages=FROM_LOG)
    result.aims.append(Aim("messages/s replayed from the log", REPLAYED_PER_SECOND_MIN, rate.median, False))
