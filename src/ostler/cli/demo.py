"""`ostler demo`: a queue manager is made, used, killed and started again, and what survived is counted."""

from __future__ import annotations

import argparse
import json
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import Final

from rich import box
from rich.console import Console
from rich.progress import BarColumn, Progress, TaskID, TextColumn
from rich.table import Table

from ostler.cli.demo_account import LOAD, NAME, Account, expanded, judge
from ostler.cli.demo_server import FirstMessage, ServerFailed, first_message
from ostler.cli.flavour import flavour
from ostler.log.errors import LogRefused, LogSpace
from ostler.model.disk import DiskFailed, DiskFull
from ostler.server.directories import QueueManagerDirectory
from ostler.server.qm_ini import LogSection
from ostler.server.queue_manager import create_queue_manager

_LOAD_SECONDS: Final = 0.5
_WORKER_SECONDS_MAX: Final = 120.0
_STEPS: Final = 12
_MESSAGES: Final = 10_000
# Large enough that no checkpoint comes between: the restart shall have something to replay.
_LOG: Final = LogSection(file_pages=24_576)


class DemoFailed(Exception):
    """The demonstration cannot go on; the words say why."""


def add_command(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    description = (
        "Make a queue manager, exchange messages, kill it with SIGKILL, start it again and count what survived."
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
    console = Console(highlight=False)
    given: Path | None = arguments.directory
    try:
        root = given.absolute() if given is not None else Path(tempfile.mkdtemp(prefix="ostler-demo-"))
        directory = QueueManagerDirectory(root, NAME)
        if directory.exists():
            raise DemoFailed(f"there is a queue manager {NAME} in {root} already; name another directory")
        is_ours = given is None or not root.exists()
        try:
            return _play(console, directory, arguments.messages, arguments.keep)
        finally:
            if not arguments.keep:
                shutil.rmtree(root if is_ours else directory.path, ignore_errors=True)
    except (DemoFailed, ServerFailed, OSError, DiskFull, DiskFailed, LogSpace, LogRefused) as failure:
        print(f"ostler demo: {failure}", file=sys.stderr)
        return 1


def _play(console: Console, directory: QueueManagerDirectory, messages: int, keep: bool) -> int:
    story = Story(console, directory, messages)
    story.play()
    broken = story.show()
    story.show_files(keep)
    for sentence in broken:
        console.print(f"[red]A promise was broken:[/red] {sentence}", soft_wrap=True)
    if not broken:
        console.print("[green]Every promise was kept.[/green]")
    return 1 if broken else 0


# -- the queue manager's process ---------------------------------------------------------------------------------------


class Worker:
    """A child process that runs the queue manager and says what it does."""

    def __init__(self, part: str, root: Path, messages: int) -> None:
        command = [sys.executable, "-m", "ostler.cli.demo_worker", part, str(root), "--messages", str(messages)]
        self._stderr = tempfile.TemporaryFile()  # noqa: SIM115 - closed with the worker
        self._process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=self._stderr)
        # A worker that hangs is killed; whoever waits for its next line then sees the end of it.
        self._watch = threading.Timer(_WORKER_SECONDS_MAX, self._process.kill)
        self._watch.daemon = True
        self._watch.start()

    def __enter__(self) -> Worker:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._watch.cancel()
        if self._process.poll() is None:
            self._process.kill()
        self._process.wait()
        assert self._process.stdout is not None
        self._process.stdout.close()
        self._stderr.close()

    def events(self) -> Iterator[dict[str, object]]:
        """What it says, until it ends. A line that was cut short by its end is not said."""
        assert self._process.stdout is not None
        for line in self._process.stdout:
            if line.endswith(b"\n"):
                event: dict[str, object] = json.loads(line)
                yield event

    def kill(self) -> None:
        self._process.send_signal(signal.SIGKILL)

    def check(self, expected: int) -> None:
        """Raise DemoFailed unless it ended with this status."""
        status = self._process.wait()
        if status != expected:
            self._stderr.seek(0)
            last = self._stderr.read().decode(errors="replace").strip().splitlines()[-1:]
            raise DemoFailed(f"the queue manager's process ended with status {status}: {''.join(last) or 'no words'}")


# -- from beginning to end ---------------------------------------------------------------------------------------------


class Story:
    """The demonstration, from beginning to end."""

    def __init__(self, console: Console, directory: QueueManagerDirectory, messages: int) -> None:
        self._console = console
        self._directory = directory
        self._messages = messages
        self.account = Account()
        self._rates: list[tuple[str, int, float]] = []
        self._create_seconds = 0.0
        self._start_seconds = 0.0
        self._first_seconds = 0.0
        self._restarted: dict[str, float] = {}
        self._served = FirstMessage(0.0, 0.0, 0.0)
        self._step: Callable[[str], None] = print

    def play(self) -> None:
        columns = (BarColumn(), TextColumn("{task.description}"))
        quiet = not self._console.is_terminal
        with Progress(*columns, console=self._console, transient=True, disable=quiet) as bar:
            task = bar.add_task("making a queue manager", total=_STEPS)
            self._step = partial(_advance, bar, task)
            self._create()
            self._use_and_kill()
            self._start_again()
            self._step("starting one as a server")
            self._served = first_message(self._directory.root)

    def _create(self) -> None:
        began = time.perf_counter()
        create_queue_manager(self._directory.root, NAME, _LOG)
        self._create_seconds = time.perf_counter() - began
        self._step("starting it")

    def _use_and_kill(self) -> None:
        began = time.perf_counter()
        account = self.account
        with Worker("before", self._directory.root, self._messages) as worker:
            for event in worker.events():
                kind = event["event"]
                if kind == "started":
                    self._start_seconds = _number(event["seconds"])
                elif kind == "first":
                    self._first_seconds = time.perf_counter() - began
                elif kind == "exchanging":
                    self._step(f"exchanging messages: {event['name']}")
                elif kind == "exchanged":
                    self._rates.append((str(event["name"]), int(_number(event["messages"])), _number(event["seconds"])))
                elif kind == "acknowledged":
                    account.acknowledged[str(event["queue"])] = int(_number(event["through"]))
                elif kind == "unit":
                    account.open_puts, account.open_gets = int(_number(event["puts"])), int(_number(event["gets"]))
                    self._step("putting until the kill")
                    threading.Timer(_LOAD_SECONDS, worker.kill).start()
            worker.check(-signal.SIGKILL)
        if LOAD not in account.acknowledged:
            raise DemoFailed("the queue manager was killed before it acknowledged any message")

    def _start_again(self) -> None:
        self._step("starting it again")
        with Worker("after", self._directory.root, self._messages) as worker:
            for event in worker.events():
                if event["event"] == "restarted":
                    self._restarted = {key: _number(value) for key, value in event.items() if key != "event"}
                    self._step("counting what is there")
                elif event["event"] == "found":
                    self.account.found[str(event["queue"])] = expanded(event["numbers"])
            worker.check(0)

    # -- showing -------------------------------------------------------------------------------------------------------

    def show(self) -> list[str]:
        """Print the tables; the promises that were broken."""
        console = self._console
        console.print(f"Ostler, {flavour()}. Queue manager {NAME} was made in {self._create_seconds:.2f} s.")
        console.print(
            f"Its process had exchanged a first message {self._first_seconds:.2f} s after it was started; "
            f"{self._start_seconds:.2f} s of that the queue manager took.",
            soft_wrap=True,
        )
        rates = _table("Messages of 1 KB, put and got by one program")
        for heading in ("messages", "exchanged", "seconds", "messages/s"):
            rates.add_column(heading, justify="left" if heading == "messages" else "right")
        for name, count, seconds in self._rates:
            rates.add_row(name, f"{count:,}", f"{seconds:.2f}", f"{count / seconds:,.0f}")
        console.print(rates)
        promises = judge(self.account)
        table = _table("Killed with SIGKILL, started again")
        for heading in ("messages", "acknowledged", "found after", "promised", "kept"):
            table.add_column(heading, justify="right" if heading in ("acknowledged", "found after") else "left")
        for each in promises:
            kept = "[red]no[/red]" if each.broken else "[green]yes[/green]"
            table.add_row(each.what, each.acknowledged, each.found, each.promise, kept)
        console.print(table)
        console.print(
            f"A unit of work was open at the kill: it had put {self.account.open_puts} messages and got "
            f"{self.account.open_gets} of the committed ones, which are back.",
            soft_wrap=True,
        )
        self._show_restart()
        self._show_server()
        return [each.broken for each in promises if each.broken]

    def _show_restart(self) -> None:
        found = self._restarted
        seconds = max(found["seconds"], 1e-6)
        self._console.print(
            f"The restart took {seconds:.2f} s: {found['records']:,.0f} log records with {found['messages']:,.0f} "
            f"messages were replayed, {found['records'] / seconds:,.0f} records/s; units of work backed out: "
            f"{found['units']:.0f}.",
            soft_wrap=True,
        )

    def _show_server(self) -> None:
        served = self._served
        self._console.print(
            f"As a server: `ostler crtmqm` took {served.create:.2f} s, `ostler strmqm` {served.start:.2f} s; "
            f"{served.first:.2f} s after its call a first message had been put and got over the local socket.",
            soft_wrap=True,
        )

    def show_files(self, keep: bool) -> None:
        console, path = self._console, self._directory.path
        sizes = ", ".join(f"{name} {_size(path / name) / 1e6:,.1f} MB" for name in ("log", "queues"))
        state = "are" if keep else "were (--keep leaves them)"
        console.print(f"\nIts files {state} in {path}: qm.ini, {sizes}.", soft_wrap=True)
        if keep:
            data = str(self._directory.root)
            console.print(
                f'Next:  python -c "import ostler; print(ostler.connect({NAME!r}, data={data!r}).display', end=""
            )
            console.print("('QLOCAL', 'DEMO.*', 'CURDEPTH'))\"", soft_wrap=True)
        console.print("Next:  ostler bench --quick    measures this installation in a few minutes")


def _advance(bar: Progress, task: TaskID, words: str) -> None:
    bar.update(task, description=words, advance=1)


def _table(title: str) -> Table:
    return Table(title=title, title_justify="left", title_style="bold", box=box.SIMPLE_HEAD)


def _number(value: object) -> float:
    assert isinstance(value, int | float)
    return value


def _size(path: Path) -> int:
    return sum(each.stat().st_size for each in path.rglob("*") if each.is_file())
