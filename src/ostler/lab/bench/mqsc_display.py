"""DISPLAY of very many queues through runmqsc: lines a second, and how much memory either side needs for it."""

from __future__ import annotations

import sys
import time
from dataclasses import asdict, dataclass
from pathlib import Path

from ostler.lab.bench.command_line import Watch, count_lines, create, runmqsc, started
from ostler.lab.bench.result import Aim, Result
from ostler.lab.common.own_process import MeasurementFailed, Report, part_of
from ostler.lab.common.samples import Measurement

TITLE = "DISPLAY of many queues through runmqsc"
GROWTH_MEGABYTES_MAX = 32.0
_ALL = "all attributes"
_NAMES = "names only"
_LINE = "   QDEPTHHI(80)                            QDEPTHLO(20)"
_WRITER = "import sys\nfor _ in range(int(sys.argv[1])): print(sys.argv[2])"


@dataclass(frozen=True)
class Parameters:
    queues: int = 100_000
    rounds: int = 2


FULL = Parameters()
QUICK = Parameters(10_000, 1)


@dataclass(frozen=True)
class Shown:
    """One display: its lines and seconds, and by how many bytes both processes grew for it."""

    lines: int
    seconds: float
    server_bytes: int
    client_bytes: int


def run(parameters: Parameters, scratch: Path, report: Report) -> Result:
    result = Result("mqsc-display", TITLE, asdict(parameters))
    create(scratch, parameters.queues, part_of(report, 0.0, 0.3))
    scripts = {_NAMES: "DISPLAY QLOCAL(LAB.*)\n", _ALL: "DISPLAY QLOCAL(LAB.*) ALL\n"}
    found: dict[str, list[Shown]] = {name: [] for name in scripts}
    with started(scratch) as pid:
        # What runmqsc needs to show one queue is what it needs anyway.
        one = _shown(scratch, pid, "DISPLAY QLOCAL(LAB.QUEUE.000000) ALL\n")
        for turn in range(parameters.rounds):
            for number, (name, text) in enumerate(scripts.items()):
                done = (turn + number / len(scripts)) / parameters.rounds
                report(0.3 + 0.7 * done, f"{parameters.queues:,} queues, {name}")
                found[name].append(_shown(scratch, pid, text))
    _note(result, parameters, found, one)
    return result


def _shown(root: Path, pid: int, text: str) -> Shown:
    path = root / "display.mqsc"
    path.write_text(text, encoding="utf-8")
    server = Watch(pid)
    clients: list[Watch] = []
    began = time.perf_counter()
    lines, last = runmqsc(root, path, lambda number: clients.append(Watch(number)))
    seconds = time.perf_counter() - began
    server.end()
    clients[0].end()
    if b"All valid MQSC commands were processed." not in last:
        raise MeasurementFailed(f"runmqsc ended with: {last.decode()}")
    return Shown(lines, seconds, server.growth, clients[0].highest)


def _bare_rate(root: Path, lines: int) -> float:
    """Lines a second that a process prints which does nothing else."""
    began = time.perf_counter()
    count_lines([sys.executable, "-c", _WRITER, str(lines), _LINE], root)
    return lines / (time.perf_counter() - began)


def _note(result: Result, parameters: Parameters, found: dict[str, list[Shown]], one: Shown) -> None:
    lines = max(each.lines for each in found[_ALL])
    if min(each.lines for each in found[_NAMES]) < 2 * parameters.queues:
        raise MeasurementFailed("not all queues were shown")
    limit = Measurement("lines that a process only prints", "lines/s", (_bare_rate(Path.cwd(), lines),))
    result.limits.append(limit)
    result.table.append(["display", "lines", "seconds", "lines/s", "server grew MB", "runmqsc grew MB"])
    for name, shown in found.items():
        labels = {"display": name}
        rate = Measurement("rate", "lines/s", tuple(each.lines / each.seconds for each in shown), {**labels})
        server = Measurement("memory of the server", "MB", tuple(each.server_bytes / 1e6 for each in shown), {**labels})
        grown = tuple(max(0, each.client_bytes - one.client_bytes) / 1e6 for each in shown)
        client = Measurement("memory of runmqsc", "MB", grown, {**labels})
        result.measurements += [rate, server, client]
        seconds = sorted(each.seconds for each in shown)[len(shown) // 2]
        result.table.append(
            [
                f"{parameters.queues:,} queues, {name}",
                f"{shown[0].lines:,}",
                f"{seconds:.2f}",
                f"{rate.median:,.0f}",
                f"{max(server.samples):.1f}",
                f"{max(grown):.1f}",
            ]
        )
        for side, measurement in (("the server", server), ("runmqsc", client)):
            text = f"MB by which {side} grew, {name}"
            result.aims.append(Aim(text, GROWTH_MEGABYTES_MAX, max(measurement.samples), True))
    result.table.append([limit.name, f"{lines:,}", f"{lines / limit.median:.2f}", f"{limit.median:,.0f}", "-", "-"])
    result.notes.append(f"runmqsc needs {one.client_bytes / 1e6:.0f} MB to show one queue; growth is beyond that.")
