"""Objects defined by an MQSC script against the same objects defined by a loop inside a process.

Each object is durable before its answer is shown, either way. runmqsc counts whole: its start, its connection, the
reading and echoing of the script.
"""

from __future__ import annotations

import os
import time
from dataclasses import asdict, dataclass
from pathlib import Path

from ostler.client.locate.embedded import start
from ostler.command.mqsc.script import ScriptCounts, run_script
from ostler.lab.bench.command_line import LOG, NAME, create, queue_name, runmqsc, started
from ostler.lab.bench.result import Aim, Result
from ostler.lab.common.own_process import MeasurementFailed, Report
from ostler.lab.common.samples import Measurement, ratio
from ostler.model.attributes import ObjectType, Value
from ostler.model.definitions import new_definition
from ostler.server.admin.command_context import ManagerCommandContext

TITLE = "DEFINE QLOCAL by script"
LOOP = "a loop in one process"
SCRIPT = "the script in one process"
BATCH = "runmqsc"
RATIO_MAX = 3.0
_RECORD_BYTES = 4096
_FORCES = 500


@dataclass(frozen=True)
class Parameters:
    objects: int = 10_000
    rounds: int = 3


FULL = Parameters()
QUICK = Parameters(2000, 2)


def script(objects: int) -> str:
    """The commands, each of one line."""
    lines = [
        f"DEFINE QLOCAL({queue_name(each)}) DESCR('Queue number {each}') MAXDEPTH(1000)" for each in range(objects)
    ]
    return "\n".join([*lines, ""])


def run(parameters: Parameters, scratch: Path, report: Report) -> Result:
    result = Result("mqsc-define", TITLE, asdict(parameters))
    text = script(parameters.objects)
    ways = ((LOOP, _loop), (SCRIPT, _script), (BATCH, _batch))
    seconds: dict[str, list[float]] = {name: [] for name, _ in ways}
    for turn in range(parameters.rounds):
        for number, (name, way) in enumerate(ways):
            report((turn + number / len(ways)) / parameters.rounds, f"{parameters.objects:,} objects by {name}")
            seconds[name].append(way(scratch / f"{turn}-{number}", parameters.objects, text))
    force = _force_seconds(scratch)
    _note(result, parameters.objects, seconds, force)
    return result


def _loop(root: Path, objects: int, text: str) -> float:
    manager = start(NAME, root, True, LOG, False)
    began = time.perf_counter()
    for number in range(objects):
        attributes: dict[str, Value] = {"DESCR": f"Queue number {number}", "MAXDEPTH": 1000}
        manager.define(new_definition(ObjectType.QLOCAL, queue_name(number), attributes))
    seconds = time.perf_counter() - began
    _check(len([name for name in manager.engine.queues if name.startswith("LAB.QUEUE.")]), objects)
    manager.end("preemptive")
    return seconds


def _script(root: Path, objects: int, text: str) -> float:
    manager = start(NAME, root, True, LOG, False)
    began = time.perf_counter()
    *_, counts = run_script(ManagerCommandContext(manager), text)
    seconds = time.perf_counter() - began
    assert isinstance(counts, ScriptCounts)
    _check(counts.read - counts.failed - counts.syntax_errors, objects)
    manager.end("preemptive")
    return seconds


def _batch(root: Path, objects: int, text: str) -> float:
    create(root, 0)
    path = root / "define.mqsc"
    path.write_text(text, encoding="utf-8")
    with started(root):
        began = time.perf_counter()
        _, last = runmqsc(root, path)
        seconds = time.perf_counter() - began
    if f"{objects} MQSC commands read.".encode() not in last or b"All valid MQSC commands were processed." not in last:
        raise MeasurementFailed(f"runmqsc ended with: {last.decode()}")
    return seconds


def _check(found: int, expected: int) -> None:
    if found != expected:
        raise MeasurementFailed(f"{found} objects were defined, and not {expected}")


def _force_seconds(directory: Path) -> float:
    """Seconds for one write and force of a block: no object can be durable in less by itself."""
    path = directory / "force"
    block = os.urandom(_RECORD_BYTES)
    with path.open("wb", buffering=0) as file:
        file.write(bytes(_RECORD_BYTES * _FORCES))
        os.fdatasync(file.fileno())
        began = time.perf_counter()
        for number in range(_FORCES):
            os.pwrite(file.fileno(), block, number * _RECORD_BYTES)
            os.fdatasync(file.fileno())
        seconds = (time.perf_counter() - began) / _FORCES
    path.unlink()
    return seconds


def _note(result: Result, objects: int, seconds: dict[str, list[float]], force: float) -> None:
    limit = Measurement("a force for each object", "objects/s", (1 / force,))
    result.limits.append(limit)
    result.table.append(["way", "objects", "seconds", "objects/s", "times the loop"])
    loop = Measurement(LOOP, "s", tuple(seconds[LOOP]))
    for name, samples in seconds.items():
        taken = Measurement("time", "s", tuple(samples), {"way": name})
        rate = Measurement("rate", "objects/s", tuple(objects / each for each in samples), {"way": name})
        result.measurements += [taken, rate]
        times = ratio(taken.median, loop.median)
        result.ratios[f"{name} / {LOOP}"] = times
        result.table.append([name, f"{objects:,}", f"{taken.median:.2f}", f"{rate.median:,.0f}", f"{times:.2f}"])
    result.table.append([limit.name, f"{objects:,}", f"{objects * force:.2f}", f"{limit.median:,.0f}", "-"])
    times = result.ratios[f"{BATCH} / {LOOP}"]
    result.aims.append(Aim(f"{BATCH} against {LOOP}, times", RATIO_MAX, times, True))
    result.notes.append("runmqsc is timed from its start to its end, with the echo of the script.")
