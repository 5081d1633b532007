"""`ostler lab peers`: lists the other brokers that can take part here, and how to install the rest."""

from __future__ import annotations

import argparse
import difflib
import json
import sys
from importlib.util import find_spec
from typing import TYPE_CHECKING

from rich import box
from rich.console import Console
from rich.table import Table

if TYPE_CHECKING:
    from ostler.lab.peers.registry import KnownPeer, PeerStatus

_DESCRIPTION = """\
Show the brokers that scenarios can be run against beside Ostler: where they are, their version, what they have on disk
when they acknowledge a message, and the Python library that is used. Nothing is left running. With --fetch,
Debian packages that are missing are downloaded and unpacked into a cache; nothing is installed."""
_COLOURS = {"installed": "green", "unpacked": "green", "not here": "yellow", "unusable": "red"}


def add_command(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = subparsers.add_parser(
        "peers", help="other brokers: which are here, and how to get the rest", description=_DESCRIPTION
    )
    parser.add_argument("names", nargs="*", metavar="NAME", help="a broker; all of them without names")
    parser.add_argument("--fetch", action="store_true", help="download and unpack what is missing")
    parser.add_argument("--json", action="store_true", dest="is_json", help="as JSON")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Returns 0 if all named peers can take part, 1 if one cannot, 2 for an unknown name."""
    if find_spec("psutil") is None:
        print("ostler lab needs the laboratory's packages: pip install 'ostler[lab]'", file=sys.stderr)
        return 1
    from ostler.lab.peers.registry import KNOWN, NAMES, inspect_peer

    for name in arguments.names:
        if name not in NAMES:
            close = difflib.get_close_matches(name, NAMES, 1)
            hint = f"Did you mean {close[0]}?" if close else f"There are {', '.join(NAMES)}."
            print(f"ostler lab peers: there is no peer {name}. {hint}", file=sys.stderr)
            return 2
    chosen = [each for each in KNOWN if not arguments.names or each.name in arguments.names]
    failures = _fetch(chosen) if arguments.fetch else {}
    found = [inspect_peer(each) for each in chosen]
    if arguments.is_json:
        print(json.dumps([each.as_json() for each in found], indent=2))
    else:
        _show(found)
    for reason in failures.values():
        print(f"ostler lab peers: {reason}", file=sys.stderr)
    return 0 if all(each.is_usable for each in found) else 1


def _fetch(chosen: list[KnownPeer]) -> dict[str, str]:
    """Fetches peers; returns the reasons of failures by name."""
    from ostler.lab.peers.packages import PeerUnavailable
    from ostler.lab.peers.registry import fetch

    failures: dict[str, str] = {}
    for peer in chosen:
        try:
            fetch(peer)
        except PeerUnavailable as reason:
            failures[peer.name] = str(reason)
    return failures


def _show(found: list[PeerStatus]) -> None:
    console = Console(highlight=False)
    if not console.is_terminal:
        _show_plainly(found)
        return
    table = Table(box=box.SIMPLE_HEAD)
    for heading in ("peer", "state", "version", "protocol", "Python library"):
        table.add_column(heading, no_wrap=True)
    for each in found:
        colour = _COLOURS[each.state]
        library = f"{each.peer.library} {each.library_version or '[yellow]missing[/yellow]'}"
        state = f"[{colour}]{each.state}[/{colour}]"
        table.add_row(each.peer.name, state, each.version, each.peer.protocol, library)
    console.print(table)
    console.print(" What is on disk when they acknowledge a message:", style="bold")
    for each in found:
        for durability in each.peer.durabilities:
            console.print(f"  {each.peer.name:<11}{durability}", markup=False, soft_wrap=True)
    for each in found:
        if each.advice:
            console.print(f" To do for {each.peer.name}: {each.advice}", style="yellow", markup=False, soft_wrap=True)


def _show_plainly(found: list[PeerStatus]) -> None:
    for each in found:
        library = f"{each.peer.library} {each.library_version or 'missing'}"
        head = f"{each.peer.name:<11}{each.state:<11}{each.version:<10}{each.peer.protocol:<12}{library}"
        print(head.rstrip())
        for durability in each.peer.durabilities:
            print(f"{'':<11}{durability}")
        if each.advice:
            print(f"{'':<11}to do: {each.advice}")
