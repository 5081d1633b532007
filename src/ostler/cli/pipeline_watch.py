"""`ostler pipeline watch`: keep costs in the lake current from a running queue manager.

Ends with 0 when its time is over or it was interrupted, and with 2 when it cannot go on.
"""

from __future__ import annotations

import argparse
import sys
from typing import Final

from ostler.cli import commands, sample_connection
from ostler.cli.pipeline_options import USAGE, add_lake_option, add_spark_options, has_packages, spark_opener
from ostler.cli.sample_bodies import seconds

_SECONDS_MAX: Final = 365 * 24 * 3600.0
_INTERVAL: Final = 5.0
_DESCRIPTION: Final = """\
Take the statistics and accounting messages of a queue manager off their queues and into the lake, and make the table of
costs again each time. Every message is taken exactly once, whenever this is ended and begun again; the last batch is
remembered in the lake. ALTER QMGR STATQ(ON) STATMQI(ON) ACCTQ(ON) ACCTMQI(ON) makes a queue manager write them."""


def add_command(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = commands.add_command(subparsers, "watch", "keep costs current from a queue manager", _DESCRIPTION, USAGE)
    parser.add_argument("queue_manager", nargs="?", metavar="QMGR", help="the queue manager; else the default one")
    add_lake_option(parser)
    parser.add_argument(
        "--seconds",
        type=seconds,
        default=_SECONDS_MAX,
        metavar="N",
        help="end after so long, 0: take what is there; else only when interrupted",
    )
    parser.add_argument(
        "--interval", type=seconds, default=_INTERVAL, metavar="N", help="look every so many seconds (%(default)s)"
    )
    add_spark_options(parser)
    sample_connection.add_arguments(parser)
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    if not has_packages(("pyspark", "pyarrow")):
        return 1
    from ostler.model.errors import MQError
    from ostler.pipeline.refusals import PipelineRefused
    from ostler.pipeline.watch import Watch

    try:
        with sample_connection.connect(arguments, arguments.queue_manager) as connection:
            watch = Watch(connection, spark_opener(arguments), arguments.lake, lambda text: print(text, flush=True))
            print(f"Watching {connection.name}.", flush=True)
            try:
                watch.go_on(arguments.seconds, arguments.interval)
            except KeyboardInterrupt:
                print("Interrupted: what was begun is left on the queues.", file=sys.stderr)
    except sample_connection.UsageError as error:
        print(f"ostler pipeline watch: {error}", file=sys.stderr)
        return USAGE
    except (MQError, PipelineRefused) as error:
        print(f"ostler pipeline watch: {error}", file=sys.stderr)
        return USAGE
    found = watch.watched
    again = f", {found.known} were there already" if found.known else ""
    print(f"Taken: {found.messages} messages{again}. The tables are in {arguments.lake}.")
    return 0
