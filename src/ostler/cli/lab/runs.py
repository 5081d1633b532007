"""Finds the run that a command line names: a directory, a name below the directory of runs, or a prefix."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Final

RUNS: Final = Path("lab-runs")
_SHOWN_MAX: Final = 5


def add_runs_option(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--runs", type=Path, default=RUNS, metavar="DIR", help="where runs are looked for by name (%(default)s)"
    )


def find_run(text: str, runs: Path) -> Path:
    """Returns the directory of a run. Raises RunUnreadable, with suggestions, if none or several match."""
    from ostler.lab.scenarios.loader import near_names
    from ostler.lab.store.manifest import MANIFEST, RunUnreadable
    from ostler.lab.store.run_reader import stored_runs

    for path in (Path(text), runs / text):
        if (path / MANIFEST).is_file():
            return path
    if "/" in text or text in (".", "..") or Path(text).is_dir():
        raise RunUnreadable(f"{text} is not the directory of a run: it has no {MANIFEST}.")
    known = {path.name: path for path in stored_runs(runs) if (path / MANIFEST).is_file()}
    if not known:
        raise RunUnreadable(
            f"There is no run {text!r}: {runs} holds none. Name its directory, or where runs are: --runs."
        )
    begun = [name for name in known if name.startswith(text)]
    if len(begun) == 1:
        return known[begun[0]]
    if begun:
        raise RunUnreadable(f"{len(begun)} runs begin with {text!r}: {_listed(begun)}. Name one of them.")
    near = near_names(text, tuple(known))
    hint = f"Did you mean {' or '.join(near)}?" if near else f"It holds {_listed(list(known))}."
    raise RunUnreadable(f"There is no run {text!r} in {runs}. {hint}")


def _listed(names: list[str]) -> str:
    """Returns the last names, which are the newest, as names end with a time."""
    more = f"{len(names) - _SHOWN_MAX} more, " if len(names) > _SHOWN_MAX else ""
    return more + ", ".join(names[-_SHOWN_MAX:])
