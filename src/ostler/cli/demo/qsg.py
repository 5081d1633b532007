"""`ostler qsg demo`: makes a queue-sharing group of three members, kills one under load, and counts what was lost."""

from __future__ import annotations

import argparse
import signal
import sys
import threading
import time
from collections import Counter
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Final

from rich.console import Console
from rich.markup import escape
from rich.status import Status as Spinner

from ostler import __version__
from ostler.cli.demo.applications import Applications
from ostler.cli.demo.failover_account import FailoverAccount
from ostler.cli.demo.server import CommandRun, ServerFailed
from ostler.cli.demo.sharing_group import GROUP, MEMBERS, QUEUE, SharingGroup
from ostler.cli.demo.stage import scratch, terminated, titled_table
from ostler.cli.framework import commands
from ostler.cli.framework.exit_statuses import Status
from ostler.cli.framework.flavour import is_compiled
from ostler.client.api.connection import Connection
from ostler.model.coupling import terms as cf
from ostler.model.errors import MQError

_SECONDS: Final = 9
_SECONDS_MAX: Final = 3600
_HELD: Final = 10
_VICTIM: Final = MEMBERS[1]
_REFRESH_SECONDS: Final = 0.1
_GET_SECONDS: Final = 5.0
_WIDTH: Final = 100  # of a command in the account


class SharingAccount(FailoverAccount):
    """Also knows when messages were got that a dead member held, and what was put since a moment."""

    def __init__(self) -> None:
        super().__init__()
        self._held: set[str] = set()
        self._held_lock = threading.Lock()
        self.freed_at: list[float] = []

    def hold(self, names: set[str]) -> None:
        """A member has got these messages in a unit of work that it never commits."""
        with self._held_lock:
            self._held = set(names)

    def got(self, name: str) -> None:
        super().got(name)
        with self._held_lock:
            if name in self._held:
                self._held.discard(name)
                self.freed_at.append(time.monotonic())

    @property
    def still_held(self) -> int:
        return len(self._held)


def add_demo(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--seconds",
        type=_seconds,
        default=_SECONDS,
        metavar="N",
        help="how long applications work: before the kill, without the member, and with it again (%(default)s)",
    )
    parser.add_argument(
        "--redis", action="store_true", help="take a Redis server as coupling facility, instead of one of our own"
    )
    parser.add_argument("--directory", type=Path, metavar="DIR", help="where to make it: an empty or a new directory")
    parser.add_argument("--keep", action="store_true", help="then keep it running for your own trials, until Ctrl-C")
    parser.set_defaults(run=run)


def _seconds(text: str) -> int:
    number = commands.whole_number(text)
    if not 1 <= number <= _SECONDS_MAX:
        raise argparse.ArgumentTypeError(f"a number from 1 to {_SECONDS_MAX}")
    return number


def run(arguments: argparse.Namespace) -> int:
    # SIGTERM must end the members, too.
    signal.signal(signal.SIGTERM, terminated)
    try:
        with scratch(arguments.directory, "ostler-qsg-") as root:
            return _Demonstration(root, arguments).run()
    except (ServerFailed, MQError, OSError) as failure:
        print(f"ostler qsg demo: {failure}", file=sys.stderr)
        return Status.UNEXPECTED


class _Demonstration:
    def __init__(self, root: Path, arguments: argparse.Namespace) -> None:
        self._console = Console(highlight=False)
        self._phase_seconds = arguments.seconds / 3
        self._keeps: bool = arguments.keep
        self._group = SharingGroup(root, arguments.redis, self._show_command)
        self._account = SharingAccount()
        self._applications: list[Applications] = []
        self._holder: Connection | None = None

    def run(self) -> int:
        """Returns the exit status. The processes of the group have ended by then."""
        try:
            broken = self._run()
            if self._keeps:
                self._keep_running()
        finally:
            # A second Ctrl-C must not leave processes behind.
            before = signal.signal(signal.SIGINT, signal.SIG_IGN)
            try:
                self._group.close()
            finally:
                signal.signal(signal.SIGINT, before)
        return Status.UNEXPECTED if broken else Status.DONE

    def _run(self) -> list[str]:
        flavour = "compiled" if is_compiled() else "interpreted"
        self._say(f"Ostler {__version__}, {flavour}. All of it happens on this machine, in {self._group.root}.\n")
        self._group.make()
        self._say(
            f"\n{', '.join(MEMBERS)} are members of {GROUP}. The coupling facility is {self._group.facility_words}."
        )
        self._say(
            f"At each member one application puts persistent messages on {QUEUE} and one gets them, in units of work "
            "and without a pause.\n"
        )
        for number, name in enumerate(MEMBERS):
            connect = partial(self._group.connect, name)
            self._applications.append(Applications(connect, QUEUE, self._account, 1, 1, number))
        self._work("all three members work")
        began, away, held = self._kill()
        self._work(f"{_VICTIM} is dead, the others work")
        during = self._account.puts_since(began)
        self._group.run("strmqm", _VICTIM)
        self._group.wait_until(
            lambda: self._group.state(_VICTIM) == cf.MEMBER_ACTIVE_STATE, f"{_VICTIM} has not joined again"
        )
        self._work(f"{_VICTIM} is back")
        for applications in self._applications:
            applications.stop()
        left = self._applications[0].messages_left()
        return self._show(left, away, held, during)

    def _kill(self) -> tuple[float, float, int]:
        """Kills a member that holds messages. Returns the moment, the take-over time, and how many it held."""
        held = self._hold_messages()
        self._account.hold(held)
        began = time.monotonic()
        process = self._group.kill(_VICTIM)
        self._show_command(CommandRun(f"kill -9 {process}", 0.0, ""))
        self._group.wait_until(lambda: not self._account.still_held, f"messages that {_VICTIM} held are not free")
        freed = max(self._account.freed_at, default=began)
        self._group.wait_until(lambda: self._group.state(_VICTIM) == cf.MEMBER_LEFT, f"nobody recovers {_VICTIM}")
        self._group.wait_until(lambda: not self._group.process(_VICTIM), f"{_VICTIM} does not end")
        away = freed - began
        self._say(
            f"      {_VICTIM} is dead with {len(held)} messages in a unit of work; others got them {away:.2f} s later."
        )
        return began, away, len(held)

    def _hold_messages(self) -> set[str]:
        """Gets messages at the member that is to die, in a unit of work that ends with it."""
        connection = self._group.connect(_VICTIM)
        queue = connection.open(QUEUE, "r")
        found: set[str] = set()
        while len(found) < _HELD:
            message = queue.get(wait=_GET_SECONDS, syncpoint=True)
            if message is None:
                raise ServerFailed(f"no message came on {QUEUE} within {_GET_SECONDS:.0f} seconds")
            found.add(message.data.decode())
        self._holder = connection  # it is open until the member dies
        return found

    def _work(self, what: str) -> None:
        """Lets the applications work for a while, and shows how far they are."""
        deadline = time.monotonic() + self._phase_seconds
        with self._console.status(what) as spinner:
            while time.monotonic() < deadline:
                self._refresh(spinner, what)
                for applications in self._applications:
                    if applications.failures:
                        raise applications.failures[0]
                time.sleep(_REFRESH_SECONDS)

    def _refresh(self, spinner: Spinner, what: str) -> None:
        account = self._account
        spinner.update(f"{what}: {account.puts:,} put, {account.gets:,} got")

    def _show(self, left: Counter[str], away: float, held: int, during: int) -> list[str]:
        """Prints the results; returns the broken promises."""
        verdict = self._account.judge(left)
        table = titled_table(f"{_VICTIM} is killed")
        for heading in ("messages held", "held s", "put meanwhile"):
            table.add_column(heading, justify="right")
        table.add_row(f"{held:,}", f"{away:.2f}", f"{during:,}")
        self._console.print()
        self._console.print(table)
        table = titled_table("Persistent messages")
        for heading in ("put", "got", "left", "in doubt", "lost", "twice"):
            table.add_column(heading, justify="right")
        counts = (self._account.puts, self._account.gets, left.total(), self._account.doubtful)
        table.add_row(*(f"{each:,}" for each in (*counts, len(verdict.lost), len(verdict.doubled))))
        self._console.print(table)
        self._say(
            "Held: from kill -9 until other members had got the messages of the dead one's unit of work. In doubt: the "
            "member died before the answer came, so that the application cannot know.\n"
        )
        for sentence in verdict.sentences:
            self._console.print(f"[red]A promise was broken:[/red] {escape(sentence)}", soft_wrap=True)
        if not verdict.sentences:
            self._console.print("[green]Nothing was lost, and nothing came twice.[/green]")
        return verdict.sentences

    def _keep_running(self) -> None:
        """Leaves the group to the user until Ctrl-C, which is no failure here, or SIGTERM."""
        self._say(f"\nThe group goes on until you press Ctrl-C here. In another terminal:\n\n{self._hints()}\n")
        with suppress(KeyboardInterrupt):
            while True:
                signal.pause()

    def _hints(self) -> str:
        lines = [
            f"export OSTLER_DATA={self._group.root}",
            f"ostler qsg show {GROUP}                        # facility, members, structures",
            f"echo hello | ostler put {QUEUE} {MEMBERS[0]}     # at one member",
            f"ostler get {QUEUE} {MEMBERS[2]}                  # at another",
            f"echo 'PING QMGR CMDSCOPE(*)' | ostler runmqsc {MEMBERS[0]}",
        ]
        return "\n".join(f"    {line}" for line in lines)

    def _say(self, text: str) -> None:
        self._console.print(escape(text), soft_wrap=True)

    def _show_command(self, done: CommandRun) -> None:
        took = f"{done.seconds:.2f} s" if done.seconds else ""
        self._console.print(f"[bold]{escape(f'$ {done.words}'.ljust(_WIDTH) + took.rjust(8))}[/bold]", soft_wrap=True)
