"""`ostler demo`: creates a queue manager, uses it over sockets, kills and restarts it, and counts what survived."""

from __future__ import annotations

import argparse
import shutil
import signal
import sys
import tempfile
from functools import partial
from pathlib import Path
from typing import Final

from rich import box
from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, Progress, TaskID, TextColumn
from rich.table import Table

from ostler import __version__
from ostler.cli.demo.account import NAME, PERSISTENT, judge
from ostler.cli.demo.server import ServerFailed
from ostler.cli.demo.story import BINDINGS, RESPONDERS, DemoFailed, Demonstration, Findings
from ostler.cli.framework.flavour import is_compiled
from ostler.model.errors import MQError
from ostler.server.config.directories import QueueManagerDirectory

_STEPS: Final = 24
_MESSAGES: Final = 10_000
_WIDTH: Final = 48  # of a command in the account


def add_command(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    description = (
        "Make a queue manager, start it as a process of its own, use it in process, over its local socket and over "
        "TCP, kill it with SIGKILL, start it again and count what survived. Everything happens on 127.0.0.1 and in one "
        "directory, and takes about half a minute."
    )
    parser = subparsers.add_parser("demo", help="see a queue manager survive kill -9", description=description)
    parser.add_argument("--directory", type=Path, metavar="D", help="where to make it (a temporary directory)")
    parser.add_argument("--keep", action="store_true", help="leave its files there")
    parser.add_argument("--messages", type=_positive, default=_MESSAGES, metavar="N", help="how many (%(default)s)")
    parser.set_defaults(run=run)


def _positive(text: str) -> int:
    number = int(text)
    if not 100 <= number <= 1_000_000:
        raise argparse.ArgumentTypeError("a number from 100 to 1000000")
    return number


def run(arguments: argparse.Namespace) -> int:
    # SIGTERM must end the queue manager, too.
    signal.signal(signal.SIGTERM, _terminated)
    console = Console(highlight=False)
    given: Path | None = arguments.directory
    try:
        root = given.absolute() if given is not None else Path(tempfile.mkdtemp(prefix="ostler-demo-"))
        directory = QueueManagerDirectory(root, NAME)
        if directory.exists():
            raise DemoFailed(f"there is a queue manager {NAME} in {root} already; name another directory")
        is_ours = given is None or not root.exists()
        try:
            return _run_demonstration(console, directory, arguments.messages, arguments.keep)
        finally:
            if not arguments.keep:
                shutil.rmtree(root if is_ours else directory.path, ignore_errors=True)
    except (DemoFailed, ServerFailed, MQError, OSError) as failure:
        print(f"ostler demo: {failure}", file=sys.stderr)
        return 1


def _terminated(number: int, frame: object) -> None:
    sys.exit(128 + number)


def _run_demonstration(console: Console, directory: QueueManagerDirectory, messages: int, keep: bool) -> int:
    flavour = "compiled" if is_compiled() else "interpreted"
    console.print(
        f"Ostler {__version__}, {flavour}. All of it happens on this machine, in {directory.root}.\n", soft_wrap=True
    )
    columns = (BarColumn(), TextColumn("{task.description}"))
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as bar:
        task = bar.add_task("", total=_STEPS)
        demonstration = Demonstration(
            directory, messages, partial(_advance, bar, task), partial(_print_command, console)
        )
        findings = demonstration.run()
    broken = show(console, findings)
    _show_files(console, directory, keep)
    for sentence in broken:
        console.print(f"[red]A promise was broken:[/red] {sentence}", soft_wrap=True)
    if not broken:
        console.print("[green]Every promise was kept.[/green]")
    return 1 if broken else 0


def _advance(bar: Progress, task: TaskID, words: str) -> None:
    bar.update(task, description=words, advance=1)


def _print_command(console: Console, words: str, seconds: float, remark: str) -> None:
    """Prints a command, its duration, and a remark."""
    took = f"{seconds:.2f} s" if seconds else ""
    line = (f"$ {words}".ljust(_WIDTH) + took.rjust(7)).rstrip()
    console.print(f"[bold]{escape(line)}[/bold]", soft_wrap=True)
    if remark:
        console.print(f"      {escape(remark)}", soft_wrap=True)


# -- results -----------------------------------------------------------------------------------------------------------


def show(console: Console, findings: Findings) -> list[str]:
    """Prints the tables; returns the violated guarantees."""
    console.print()
    console.print(_exchanged(findings))
    console.print(_answered(findings))
    account = findings.account
    promises = judge(account)
    table = _table("Killed with SIGKILL, started again")
    for heading in ("messages", "acknowledged", "found", "promised", "kept"):
        table.add_column(heading, justify="right" if heading in ("acknowledged", "found") else "left")
    for each in promises:
        kept = "[red]no[/red]" if each.broken else "[green]yes[/green]"
        table.add_row(each.what, each.acknowledged, each.found, each.promise, kept)
    console.print(table)
    replay = findings.replay
    console.print(
        f"A unit of work was open at the kill: it had put {account.open_puts} messages and got {account.open_gets} of "
        f"the committed ones, which are back (units of work backed out: {replay.units_backed_out}). The restart "
        f"replayed {replay.records:,} log records, {replay.records / max(replay.seconds, 1e-3):,.0f} a second.",
        soft_wrap=True,
    )
    return [each.broken for each in promises if each.broken]


def _exchanged(findings: Findings) -> Table:
    table = _table("Messages of 1 KB, put and got by one program: messages a second")
    table.add_column("messages")
    rates: dict[str, dict[str, str]] = {}
    for each in findings.exchanged:
        rates.setdefault(each.name, {})[each.binding] = f"{each.messages / each.seconds:,.0f}"
    for where in BINDINGS.values():
        table.add_column(where, justify="right")
    for name, found in rates.items():
        table.add_row(name, *(found.get(where, "") for where in BINDINGS.values()))
    return table


def _answered(findings: Findings) -> Table:
    table = _table(f"Requests of 2 KB, non-persistent, {RESPONDERS} responders: round trips")
    for heading in ("over", "requesters", "answered", "a second", "median ms", "99 % ms"):
        table.add_column(heading, justify="left" if heading == "over" else "right")
    for each in findings.answered:
        table.add_row(
            each.binding,
            str(each.requesters),
            f"{each.requests:,}",
            f"{each.requests / each.seconds:,.0f}",
            f"{each.median_seconds * 1000:.2f}",
            f"{each.slow_seconds * 1000:.2f}",
        )
    return table


def _show_files(console: Console, directory: QueueManagerDirectory, keep: bool) -> None:
    path = directory.path
    sizes = ", ".join(f"{name} {_size(path / name) / 1e6:,.1f} MB" for name in ("log", "queues"))
    state = "are" if keep else "were (--keep leaves them)"
    console.print(f"\nIts files {state} in {path}: qm.ini, {sizes}.", soft_wrap=True)
    if keep:
        console.print(f"Next:  export OSTLER_DATA={directory.root}", soft_wrap=True)
        console.print(
            f"       ostler strmqm {NAME}; ostler browse {PERSISTENT} {NAME} --count 3 --details", soft_wrap=True
        )
    console.print("Next:  ostler dev                       makes a queue manager for your own programs")
    console.print("       ostler lab run @micro --quick    measures this installation in a few minutes")


def _table(title: str) -> Table:
    return Table(title=title, title_justify="left", title_style="bold", box=box.SIMPLE_HEAD)


def _size(path: Path) -> int:
    return sum(each.stat().st_size for each in path.rglob("*") if each.is_file())
