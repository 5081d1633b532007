"""`ostler pipeline bench`: rows a second of each step beside plain Spark, over synthetic samples; with --queues,
of queues in Spark beside plain programs and Parquet.

Exit statuses: 0 when everything was measured, whether aims were met or not, else 2.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
import time
from collections.abc import Callable
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Final

from ostler.cli.framework import commands
from ostler.cli.pipeline.options import USAGE, add_spark_options, is_java_problem, require_packages
from ostler.cli.pipeline.statuses import JAVA_MISSING

if TYPE_CHECKING:
    from ostler.lab.bench.result import Conditions, Result
    from ostler.lab.common.own_process import Report
    from ostler.pipeline.bench.bench import LakeBenchOptions
    from ostler.pipeline.bench.queue_bench import QueueBenchOptions

_ROWS: Final = 100_000_000
_ROWS_MAX: Final = 10_000_000_000
_MESSAGES: Final = 200_000
_MESSAGES_MAX: Final = 100_000_000
_BODY_BYTES: Final = 1024
_BODY_BYTES_MAX: Final = 1 << 20
_ROUNDS: Final = 3
_MINUTES: Final = 60
# A round is not interrupted, so its process may take this many times the time limit.
_PATIENCE: Final = 3
_DESCRIPTION: Final = """\
Make synthetic samples, and measure each step of the pipeline beside its bare counterpart in one Spark application:
ingest beside plain reading and writing of the same files, points beside plain reading and grouping. With --queues:
start a queue manager on loopback, and measure queues as sources and sinks of Spark beside a plain program that puts,
browses and gets, and beside Parquet. Shows a table, and writes a result file. What it makes meanwhile, up to 20 bytes a
row, or 8 times the messages, is removed."""


def add_command(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = commands.add_command(subparsers, "bench", "measure the steps beside plain Spark", _DESCRIPTION, USAGE)
    parser.add_argument(
        "--rows", type=_within(_ROWS_MAX), default=_ROWS, metavar="N", help="at least so many samples (%(default)s)"
    )
    parser.add_argument("--queues", action="store_true", help="measure queues in Spark instead of the steps")
    parser.add_argument(
        "--messages",
        type=_within(_MESSAGES_MAX),
        default=_MESSAGES,
        metavar="N",
        help="with --queues: so many messages (%(default)s)",
    )
    parser.add_argument(
        "--body-bytes",
        type=_within(_BODY_BYTES_MAX),
        default=_BODY_BYTES,
        metavar="N",
        help="with --queues: the length of a message (%(default)s)",
    )
    parser.add_argument(
        "--rounds", type=_within(100), default=_ROUNDS, metavar="N", help="measure so many times (%(default)s)"
    )
    parser.add_argument(
        "--minutes",
        type=_within(24 * 60),
        default=_MINUTES,
        metavar="N",
        help="begin no round after so many minutes, but the first (%(default)s)",
    )
    parser.add_argument(
        "--output", type=Path, default=Path("results"), metavar="DIR", help="where the result file goes (%(default)s)"
    )
    parser.add_argument("--scratch", type=Path, metavar="DIR", help="where samples and tables are made meanwhile")
    add_spark_options(parser)
    parser.set_defaults(run=run)


def _within(most: int) -> Callable[[str], int]:
    def number(text: str) -> int:
        digits = text.replace("_", "").replace(",", "")
        if not digits.isdecimal() or not 1 <= int(digits) <= most:
            raise argparse.ArgumentTypeError(f"{text!r} is not a whole number from 1 to {most:,}")
        return int(digits)

    return number


def run(arguments: argparse.Namespace) -> int:
    require_packages(("pyspark", "pyarrow", "psutil"))
    from ostler.lab.bench.result import write_result
    from ostler.lab.common.own_process import MeasurementFailed
    from ostler.pipeline.errors import PipelineError

    if arguments.master.startswith("sc://"):
        print(
            "ostler pipeline bench: Spark Connect does not report the driver's memory. Name a master.", file=sys.stderr
        )
        return USAGE
    try:
        result, conditions = _measure(_bench_options(arguments), arguments.scratch)
        path = write_result(arguments.output, result, conditions)
    except (MeasurementFailed, PipelineError) as failure:
        print(f"ostler pipeline bench: {_sentence(str(failure))}", file=sys.stderr)
        return JAVA_MISSING if is_java_problem(failure) else USAGE
    except OSError as error:
        print(f"ostler pipeline bench: {error.filename}: {error.strerror}. Name other places.", file=sys.stderr)
        return USAGE
    _show(result, conditions, path)
    return 0


def _bench_options(arguments: argparse.Namespace) -> LakeBenchOptions | QueueBenchOptions:
    from ostler.pipeline.bench.bench import LakeBenchOptions
    from ostler.pipeline.bench.queue_bench import QueueBenchOptions

    seconds, settings = 60.0 * arguments.minutes, dict(arguments.conf)
    if arguments.queues:
        return QueueBenchOptions(
            arguments.messages, arguments.body_bytes, arguments.rounds, seconds, arguments.master, settings
        )
    return LakeBenchOptions(arguments.rows, arguments.rounds, seconds, arguments.master, settings)


def _work(options: LakeBenchOptions | QueueBenchOptions, directory: Path) -> Callable[[Report], Result]:
    from ostler.pipeline.bench import bench, queue_bench

    if isinstance(options, queue_bench.QueueBenchOptions):
        return partial(queue_bench.measure, options, directory)
    return partial(bench.measure, options, directory)


def _sentence(text: str) -> str:
    """Returns the PipelineError in the output of the measuring process; else all of the output."""
    lines = text.strip().splitlines()
    _, is_refusal, refusal = lines[-1].partition("PipelineError: ") if lines else ("", "", "")
    return refusal if is_refusal else text


def _measure(options: LakeBenchOptions | QueueBenchOptions, scratch: Path | None) -> tuple[Result, Conditions]:
    from ostler.lab.bench.result import Conditions
    from ostler.lab.common.machine import cpu_use_between, describe, flavour, read_cpu_times
    from ostler.lab.common.own_process import in_own_process
    from ostler.lab.common.probes import bare_pair_ns
    from ostler.pipeline.spark.session import check_java

    # Checked before a process is started.
    check_java(os.environ)
    if scratch is not None:
        scratch.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="ostler-pipeline-bench-", dir=scratch) as directory:
        began, before, first = datetime.now(UTC), read_cpu_times(), bare_pair_ns()
        clock = time.monotonic()
        patience = _PATIENCE * options.seconds_max + 600
        result = in_own_process(_work(options, Path(directory)), patience, _progress())
        seconds = time.monotonic() - clock
        conditions = Conditions(
            flavour(),
            describe(Path(directory)),
            began,
            seconds,
            cpu_use_between(before, read_cpu_times()),
            first,
            bare_pair_ns(),
        )
    return result, conditions


def _progress() -> Report:
    """Returns a callback that prints each step on standard error, with the time since the start."""
    clock = time.monotonic()

    def report(fraction: float, what: str) -> None:
        print(f"{time.monotonic() - clock:6.0f} s  {what}", file=sys.stderr, flush=True)

    return report


def _show(result: Result, conditions: Conditions, path: Path) -> None:
    widths = [max(len(row[at]) for row in result.table) for at in range(len(result.table[0]))]
    is_figure = [any(row[at][:1].isdigit() for row in result.table[1:]) for at in range(len(widths))]
    for row in result.table:
        cells = [
            text.rjust(width) if figure else text.ljust(width)
            for text, width, figure in zip(row, widths, is_figure, strict=True)
        ]
        print("  ".join(cells).rstrip())
    for aim in result.aims:
        limit = f"{'at most' if aim.at_most else 'at least'} {aim.limit:g}"
        print(f"{aim.text}: {aim.measured:g}, {limit}: {'met' if aim.met else 'missed'}")
    for note in result.notes:
        print(note)
    cpu = conditions.cpu
    what = "rows" if "rows" in result.parameters else "messages"
    print(
        f"{result.parameters[what]:,} {what}; {conditions.seconds:.0f} s; others used {cpu['others_percent']:.0f}% "
        f"of the machine, {cpu['steal_percent']:.1f}% was stolen; {path}"
    )
    if not conditions.is_quiet():
        noise = f"the same loop took {conditions.noise_percent():.0f} % longer at one end of it than at the other"
        print(f"The machine was not quiet ({noise}): rates are not reliable, ratios of rounds side by side are.")
