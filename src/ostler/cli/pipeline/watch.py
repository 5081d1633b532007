"""`ostler pipeline watch`: keeps activity, accounts and costs in the lake current from a running queue manager.

Exit statuses: 0 when its time is over or it was interrupted, 2 on failure.
"""

from __future__ import annotations

import argparse
import logging
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import Event
from types import FrameType
from typing import TYPE_CHECKING, Final

from ostler.cli.framework import commands
from ostler.cli.pipeline.options import USAGE, add_lake_option, add_spark_options, require_packages, spark_opener
from ostler.cli.pipeline.watch_options import source_options
from ostler.cli.pipeline.watch_view import WatchView
from ostler.cli.samples import connection as sample_connection
from ostler.cli.samples.bodies import seconds

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from ostler.pipeline.live.watch import LiveWatch

_INTERVAL: Final = 5.0
_CONNECT: Final = "sc://"
_NO_CONNECT: Final = (
    "with Spark Connect, the driver that would change the lake is elsewhere. Give another --master, or none."
)
_DESCRIPTION: Final = """\
Take the statistics and accounting messages of a queue manager off their queues and into the lake, through a stream of
Spark, and keep the tables activity, account and cost current. Every message is taken exactly once, whenever this is
ended and begun again. On a terminal, a table shows the last interval. When the queue manager ends, it is waited for.
ALTER QMGR STATQ(ON) STATMQI(ON) ACCTQ(ON) ACCTMQI(ON) makes a queue manager write these messages."""


def add_command(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = commands.add_command(subparsers, "watch", "keep tables current from a queue manager", _DESCRIPTION, USAGE)
    parser.add_argument("queue_manager", nargs="?", metavar="QMGR", help="the queue manager; else the default one")
    add_lake_option(parser)
    parser.add_argument(
        "--seconds",
        type=seconds,
        metavar="N",
        help="end after so long, 0: take what is there; else only when interrupted",
    )
    parser.add_argument(
        "--interval", type=seconds, default=_INTERVAL, metavar="N", help="poll every so many seconds (%(default)s)"
    )
    parser.add_argument("--wait", action="store_true", help="wait for a queue manager that is not there yet")
    parser.add_argument("--rows", type=_rows, default=10, metavar="N", help="show so many queues (%(default)s)")
    parser.add_argument("--plain", action="store_true", help="a line for each batch instead of a table")
    add_spark_options(parser)
    sample_connection.add_arguments(parser)
    parser.set_defaults(run=run)


def _rows(text: str) -> int:
    if not text.isdecimal() or not 1 <= int(text) <= 1000:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number from 1 to 1000")
    return int(text)


def run(arguments: argparse.Namespace) -> int:
    require_packages(("pyspark", "pyarrow"))
    from ostler.model.errors import MQError
    from ostler.pipeline.errors import PipelineError
    from ostler.pipeline.live.watch import LiveWatch

    if arguments.master.startswith(_CONNECT):
        print(f"ostler pipeline watch: {_NO_CONNECT}", file=sys.stderr)
        return USAGE
    view = WatchView(sys.stdout, arguments.rows, sys.stdout.isatty() and not arguments.plain)
    try:
        watch = LiveWatch(
            _opener(arguments), arguments.lake, source_options(arguments), view.message, view.show, arguments.wait
        )
        with _end_at_signals(watch.over):
            watch.go_on(arguments.seconds, arguments.interval)
    except (sample_connection.UsageError, MQError, PipelineError) as error:
        print(f"ostler pipeline watch: {error}", file=sys.stderr)
        return USAGE
    view.message(_summary(watch, arguments))
    return 0


def _opener(arguments: argparse.Namespace) -> Callable[[], SparkSession]:
    """Returns a function that opens Spark and restores the handler of control-C, which Spark replaces."""
    from ostler.pipeline.spark.session import SHORT_SETTINGS

    arguments.conf = [*SHORT_SETTINGS.items(), *arguments.conf]
    open_spark = spark_opener(arguments)

    def open_and_restore_handler() -> SparkSession:
        handler = signal.getsignal(signal.SIGINT)
        try:
            return open_spark()
        finally:
            signal.signal(signal.SIGINT, handler)

    return open_and_restore_handler


def _summary(watch: LiveWatch, arguments: argparse.Namespace) -> str:
    again = f", {watch.known} were there already" if watch.known else ""
    odd = f", {watch.unreadable} of them not records and quarantined" if watch.unreadable else ""
    return f"Taken: {watch.messages} messages{odd}{again}. The tables are in {arguments.lake}."


@contextmanager
def _end_at_signals(over: Event) -> Iterator[None]:
    """Sets an event at control-C and SIGTERM, so that a batch is completed; a second signal ends at once."""

    def end(number: int, frame: FrameType | None) -> None:
        if over.is_set():
            raise KeyboardInterrupt
        over.set()
        # Spark's libraries log errors about the shutdown.
        logging.disable(logging.CRITICAL)

    before = {each: signal.signal(each, end) for each in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for each, handler in before.items():
            signal.signal(each, handler)
