"""`ostler ha demo`: makes three instances of a queue manager, kills the one that leads, and counts what was lost."""

from __future__ import annotations

import argparse
import signal
import sys
import time
from collections import Counter
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from rich.console import Console
from rich.markup import escape

from ostler import __version__
from ostler.cli.demo.account import NAME
from ostler.cli.demo.applications import Applications
from ostler.cli.demo.failover_account import FailoverAccount
from ostler.cli.demo.server import CommandRun, ServerFailed
from ostler.cli.demo.stage import scratch, terminated, titled_table
from ostler.cli.demo.trial_group import ADDRESSES, AUTOMATIC, ETCD, FILE, QUEUE, TrialGroup
from ostler.cli.framework import commands
from ostler.cli.framework.exit_statuses import Status
from ostler.cli.framework.flavour import is_compiled
from ostler.model.errors import MQError

_LEASE_SECONDS: Final = 3
_LEASE_SECONDS_MIN: Final = 2
_FAILOVERS_MAX: Final = 1000
_PUTTERS: Final = 3
_GETTERS: Final = 2
_PUTS_BETWEEN: Final = 100
_SECONDS_MAX: Final = 60.0
_POLL_SECONDS: Final = 0.02
_WIDTH: Final = 100  # of a command in the account


@dataclass(frozen=True)
class Failover:
    """One change of the leader, and how long no put was acknowledged."""

    how: str
    before: str
    after: str
    seconds_away: float


def add_command(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = commands.add_command(
        subparsers,
        "ha",
        "try copies of a queue manager on this machine",
        "Try a queue manager with copies on this machine.",
        Status.PARAMETER_WRONG,
    )
    actions = parser.add_subparsers(dest="action", metavar="ACTION", title="actions", required=True)
    demo = actions.add_parser(
        "demo",
        help="kill the leader of three instances under load, and count what was lost",
        description="Make three instances of a queue manager on loopback addresses of this machine, with etcd as "
        "arbiter where it is installed; let applications put and get persistent messages without a pause; kill the "
        "instance that leads with kill -9, and count what was lost. The exit status is 0 if nothing was lost and "
        "nothing came twice. All of it is in one directory, and is removed in the end.",
        allow_abbrev=False,
    )
    demo.usage_status = Status.PARAMETER_WRONG
    demo.add_argument(
        "--failovers", type=_failovers, default=3, metavar="N", help="how often to kill the leader (%(default)s)"
    )
    demo.add_argument(
        "--switches", type=_switches, default=1, metavar="N", help="then endmqm -s so often (%(default)s)"
    )
    demo.add_argument(
        "--arbiter",
        choices=(AUTOMATIC, ETCD, FILE),
        default=AUTOMATIC,
        help="who decides which instance leads; auto: etcd if it is installed, else the file",
    )
    demo.add_argument(
        "--lease", type=_lease, default=_LEASE_SECONDS, metavar="S", help="how long a dead leader is waited for (3)"
    )
    demo.add_argument("--directory", type=Path, metavar="D", help="where to make it: an empty or a new directory")
    demo.add_argument("--keep", action="store_true", help="then keep it running for your own trials, until Ctrl-C")
    demo.set_defaults(run=run)


def _failovers(text: str) -> int:
    return _number(text, 1, _FAILOVERS_MAX)


def _switches(text: str) -> int:
    return _number(text, 0, _FAILOVERS_MAX)


def _lease(text: str) -> int:
    return _number(text, _LEASE_SECONDS_MIN, 60)


def _number(text: str, lowest: int, highest: int) -> int:
    number = commands.whole_number(text)
    if not lowest <= number <= highest:
        raise argparse.ArgumentTypeError(f"a number from {lowest} to {highest}")
    return number


def run(arguments: argparse.Namespace) -> int:
    # SIGTERM must end the instances, too.
    signal.signal(signal.SIGTERM, terminated)
    try:
        with scratch(arguments.directory, "ostler-ha-") as root:
            return _Demonstration(root, arguments).run()
    except (ServerFailed, MQError, OSError) as failure:
        print(f"ostler ha demo: {failure}", file=sys.stderr)
        return Status.UNEXPECTED


class _Demonstration:
    def __init__(self, root: Path, arguments: argparse.Namespace) -> None:
        self._console = Console(highlight=False)
        self._failovers: int = arguments.failovers
        self._switches: int = arguments.switches
        self._keeps: bool = arguments.keep
        self._group = TrialGroup(root, arguments.arbiter, arguments.lease, self._show_command)
        self._account = FailoverAccount()
        self._found: list[Failover] = []

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
        hosts = ", ".join(f"{name} {host}" for name, host in ADDRESSES.items())
        self._say(f"\nThree instances of {NAME} are in sync: {hosts}. The arbiter is {self._group.arbiter_words}.")
        self._say(
            f"{_PUTTERS} applications put persistent messages and {_GETTERS} get them, without a pause, over "
            f"{self._group.connection_list}.\n"
        )
        applications = Applications(self._group.connect, QUEUE, self._account, _PUTTERS, _GETTERS)
        self._wait_for_puts(_PUTS_BETWEEN, time.monotonic(), applications)
        for number in range(self._failovers + self._switches):
            self._change_leader(number >= self._failovers, applications)
        applications.stop()
        left = applications.messages_left()
        return self._show(left)

    def _change_leader(self, in_order: bool, applications: Applications) -> None:
        leader = self._group.wait_for_leader()
        began = time.monotonic()
        if in_order:
            self._group.switch_over(leader)
            how = "endmqm -s"
        else:
            process = self._group.kill(leader)
            self._show_command(CommandRun(f"kill -9 {process}", 0.0, ""))
            how = "kill -9"
        after = self._group.wait_for_leader()
        self._wait_for_puts(_PUTS_BETWEEN, time.monotonic(), applications)
        away = self._account.seconds_away(began)
        self._found.append(Failover(how, leader, after, away))
        self._say(f"      {leader} is gone, {after} leads. No put was acknowledged for {away:.2f} s.")
        self._group.start(leader)
        self._group.wait_until_in_sync()

    def _wait_for_puts(self, count: int, since: float, applications: Applications) -> None:
        deadline = time.monotonic() + _SECONDS_MAX
        while self._account.puts_since(since) < count:
            if applications.failures:
                raise applications.failures[0]
            if time.monotonic() > deadline:
                raise ServerFailed(f"the applications got no acknowledgement for {_SECONDS_MAX:.0f} seconds")
            time.sleep(_POLL_SECONDS)

    def _show(self, left: Counter[str]) -> list[str]:
        """Prints the results; returns the broken promises."""
        verdict = self._account.judge(left)
        table = titled_table("Changes of the leader")
        for heading in ("", "how", "gone", "leads now", "away s"):
            table.add_column(heading, justify="right" if heading in ("", "away s") else "left")
        for number, each in enumerate(self._found, 1):
            table.add_row(str(number), each.how, each.before, each.after, f"{each.seconds_away:.2f}")
        self._console.print()
        self._console.print(table)
        table = titled_table("Persistent messages")
        for heading in ("put", "got", "left", "in doubt", "lost", "twice"):
            table.add_column(heading, justify="right")
        counts = (self._account.puts, self._account.gets, left.total(), self._account.doubtful)
        table.add_row(*(f"{each:,}" for each in (*counts, len(verdict.lost), len(verdict.doubled))))
        self._console.print(table)
        self._say(
            "In doubt: the link broke before the answer came (MQRC_CALL_INTERRUPTED), so that the application cannot "
            f"know. A dead leader is waited for, for up to the lease of {self._group.lease_seconds} s; a leader that "
            "ends in order is not.\n"
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
        names = " ".join(self._group.typed(name) for name in ADDRESSES)
        lines = [
            f"export OSTLER_DATA={self._group.root}",
            "ostler dspmq -o nativeha -x                  # who leads, who is in sync",
            f"echo hello | ostler put {QUEUE} {NAME}@alpha   # if alpha leads; a replica names the one that does",
            f"ostler endmqm -s {NAME}@alpha                 # hand over; ostler strmqm {NAME}@alpha brings it back",
            f"ostler rdqmstatus -m {NAME}@beta              # any of {names}",
        ]
        return "\n".join(f"    {line}" for line in lines)

    def _say(self, text: str) -> None:
        self._console.print(escape(text), soft_wrap=True)

    def _show_command(self, done: CommandRun) -> None:
        took = f"{done.seconds:.2f} s" if done.seconds else ""
        self._console.print(f"[bold]{escape(f'$ {done.words}'.ljust(_WIDTH) + took.rjust(8))}[/bold]", soft_wrap=True)
