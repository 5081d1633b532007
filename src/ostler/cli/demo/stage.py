"""What demonstrations of groups have in common: a directory that goes with them, SIGTERM, tables."""

from __future__ import annotations

import shutil
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from rich import box
from rich.table import Table

from ostler.cli.demo.server import ServerFailed


def terminated(number: int, frame: object) -> None:
    """End in order on a signal, so that no process is left behind."""
    sys.exit(128 + number)


@contextmanager
def scratch(given: Path | None, prefix: str) -> Iterator[Path]:
    """Yields a directory for the group, and removes what is in it in the end."""
    if given is not None and given.exists() and (not given.is_dir() or any(given.iterdir())):
        raise ServerFailed(f"{given} is not an empty directory; name another one")
    root = given.absolute() if given is not None else Path(tempfile.mkdtemp(prefix=prefix))
    root.mkdir(mode=0o700, parents=True, exist_ok=True)
    try:
        yield root
    finally:
        shutil.rmtree(root, ignore_errors=True)


def titled_table(title: str) -> Table:
    return Table(title=title, title_justify="left", title_style="bold", box=box.SIMPLE_HEAD)
