"""First failure reports: what is known at the moment an invariant fails, in a file for support.

The file is `errors/AMQ<process>.<number>.FDC` below the queue manager's directory, as IBM MQ's First Failure Support
Technology names it. It holds counts, names and stacks, but no message data and no attributes that could be secret.
"""

from __future__ import annotations

import contextlib
import os
import socket
import sys
import threading
import time
import traceback
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Final

from ostler.engine.core import Engine
from ostler.log.recovery_log import RecoveryLog

_FILES_MAX: Final = 100
_ROWS_MAX: Final = 500
_WIDTH: Final = 118


def write_report(errors: Path, engine: Engine, log: RecoveryLog | None, failure: BaseException) -> Path:
    """Write the report of a failure and force it to the disk. Raises OSError."""
    text = "".join(_lines(engine, log, failure))
    errors.mkdir(mode=0o700, exist_ok=True)
    path, descriptor = _create(errors)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(text.encode(errors="replace"))
            file.flush()
            os.fsync(file.fileno())
    except OSError:
        path.unlink(missing_ok=True)  # half a report misleads
        raise
    return path


def _create(errors: Path) -> tuple[Path, int]:
    for number in range(_FILES_MAX):
        path = errors / f"AMQ{os.getpid()}.{number}.FDC"
        with contextlib.suppress(FileExistsError):
            return path, os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    raise FileExistsError(f"this process has {_FILES_MAX} reports in {errors} already")


def _lines(engine: Engine, log: RecoveryLog | None, failure: BaseException) -> Iterable[str]:
    now = time.time()
    thread = threading.current_thread()
    yield _frame("Ostler First Failure Symptom Report")
    fields = {
        "Date/Time": time.strftime("%a %d %B %Y %H:%M:%S %Z", time.localtime(now)),
        "UTC Time": f"{now:.6f}",
        "Host Name": socket.gethostname(),
        "Program Name": " ".join(sys.argv[:1]),
        "Python": sys.version.split()[0],
        "Process": str(os.getpid()),
        "Thread": f"{thread.ident} {thread.name}",
        "QueueManager": engine.name,
        "Major Errorcode": "STOP_ALL",
        "Probe Type": type(failure).__name__,
        "Probe Description": f"AMQ6184S: {failure}",
    }
    for name, value in fields.items():
        yield f"{name:<18}:- {value}\n"
    yield "\n"
    # A part that cannot be described, as its state is damaged, must not keep the others from being written.
    yield from _section("Stack of the failure", lambda: traceback.format_exception(failure))
    yield from _section("Recovery log", lambda: _describe_log(engine, log))
    yield from _section("Queues", lambda: _describe_queues(engine))
    yield from _section("Units of work", lambda: _describe_units(engine))
    yield from _section("Connections", lambda: _describe_connections(engine))
    yield from _section("Stacks of all threads", _describe_threads)


def _frame(title: str) -> str:
    line = "+" + "-" * _WIDTH + "+\n"
    return f"{line}| {title:<{_WIDTH - 2}} |\n{line}\n"


def _section(title: str, describe: Callable[[], Iterable[str]]) -> Iterable[str]:
    yield _frame(title)
    try:
        rows = list(describe())
    except Exception as error:
        rows = [f"This part cannot be described: {error!r}\n"]
    yield from rows[:_ROWS_MAX]
    if len(rows) > _ROWS_MAX:
        yield f"... and {len(rows) - _ROWS_MAX} more\n"
    yield "\n"


def _describe_log(engine: Engine, log: RecoveryLog | None) -> Iterable[str]:
    yield f"last record appended up to LSN {engine.appended_lsn}\n"
    if log is not None:
        yield f"end of the log at LSN {log.end_lsn()}, durable up to LSN {log.durable_lsn()}\n"
        yield f"restart from LSN {log.writer.restart_lsn}, checkpoint {engine.checkpoint_number}\n"


def _describe_queues(engine: Engine) -> Iterable[str]:
    for queue in engine.queues_by_id.values():
        yield (
            f"{queue.name} id {queue.queue_id} depth {queue.depth} uncommitted {queue.uncommitted} "
            f"slots {queue.slots.count} next {queue.next_seq} waiting {queue.waiting.count} "
            f"inputs {queue.inputs} outputs {queue.outputs} resident {queue.resident_bytes_persistent}+"
            f"{queue.resident_bytes_nonpersistent}{' DAMAGED' if queue.damaged else ''}\n"
        )


def _describe_units(engine: Engine) -> Iterable[str]:
    for unit in engine.units_of_work.values():
        yield f"{unit.number} state {unit.state} entries {len(unit.entries)} first LSN {unit.first_lsn}\n"


def _describe_connections(engine: Engine) -> Iterable[str]:
    for connection in engine.connections.values():
        unit = connection.unit_of_work
        yield (
            f"{connection.number} {connection.application} user {connection.user} handles {len(connection.handles)} "
            f"unit of work {unit.number if unit is not None else 'none'}\n"
        )


def _describe_threads() -> Iterable[str]:
    names = {thread.ident: thread.name for thread in threading.enumerate()}
    for number, frame in sys._current_frames().items():
        yield f"Thread {number} {names.get(number, '')}\n"
        yield from traceback.format_stack(frame)
        yield "\n"
