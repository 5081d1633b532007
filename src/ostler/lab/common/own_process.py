"""Measurements in a process of their own: without leftovers of others, and with a time limit.

The process is spawned, not forked, so that its memory is only its own.
"""

from __future__ import annotations

import multiprocessing
import time
import traceback
from collections.abc import Callable
from multiprocessing.connection import Connection
from typing import TypeVar

T = TypeVar("T")

Report = Callable[[float, str], None]
"""Called with the fraction done, and the current activity."""

_PROGRESS = "progress"
_FAILED = "failed"
_DONE = "done"
_POLL_SECONDS = 0.2


class MeasurementFailed(Exception):
    """A measurement ended without a result. The text has the reason."""


def ignore_report(fraction: float, what: str) -> None:
    """Ignore a report."""


def part_of(report: Report, begin: float, end: float) -> Report:
    """Return a report whose 0 to 1 is a part of another one's."""

    def report_part(fraction: float, what: str) -> None:
        report(begin + (end - begin) * fraction, what)

    return report_part


def in_own_process(function: Callable[[Report], T], seconds_max: float, report: Report = ignore_report) -> T:
    """Call a function in a new process, and return its result. Function, arguments and result must be picklable."""
    context = multiprocessing.get_context("spawn")
    ours, theirs = context.Pipe()
    process = context.Process(target=_child, args=(theirs, function))
    process.start()
    theirs.close()
    deadline = time.monotonic() + seconds_max
    try:
        while True:
            if time.monotonic() > deadline:
                raise MeasurementFailed(f"it was ended: it took longer than {seconds_max:.0f} seconds")
            if not ours.poll(_POLL_SECONDS):
                continue
            message = ours.recv()
            if message[0] == _PROGRESS:
                report(message[1], message[2])
            elif message[0] == _FAILED:
                raise MeasurementFailed(message[1])
            else:
                result: T = message[1]
                return result
    except EOFError:
        process.join(1)
        raise MeasurementFailed(f"its process ended with status {process.exitcode}") from None
    finally:
        ours.close()
        process.join(1)
        if process.is_alive():
            process.kill()
            process.join()


def _child(connection: Connection, function: Callable[[Report], object]) -> None:
    def report_part(fraction: float, what: str) -> None:
        connection.send((_PROGRESS, fraction, what))

    try:
        result = function(report_part)
    except KeyboardInterrupt:
        connection.send((_FAILED, "it was interrupted"))
    except Exception:
        connection.send((_FAILED, traceback.format_exc()))
    else:
        connection.send((_DONE, result))
