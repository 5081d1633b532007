"""Storage that fails below one directory of a real process: its fsync, or its space.

A small library is built with the C compiler and preloaded into the process; without a compiler the test is skipped.
"""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

_SOURCE = Path(__file__).with_suffix(".c")
FORCE = "force"
SPACE = "space"


class FailingStorage:
    """For one process. Files below `root` are concerned."""

    def __init__(self, directory: Path, root: Path) -> None:
        compiler = shutil.which("cc") or shutil.which("gcc")
        if compiler is None:
            pytest.skip("there is no C compiler to build the library that makes storage fail")
        library = directory / "failing_storage.so"
        if not library.exists():
            command = [compiler, "-shared", "-fPIC", "-O1", "-o", str(library), str(_SOURCE), "-ldl"]
            subprocess.run(command, check=True, capture_output=True, text=True)
        self._switch = directory / f"{root.name}.fails"
        self.environment = {
            "LD_PRELOAD": str(library),
            "FAILING_STORAGE_ROOT": str(root),
            "FAILING_STORAGE_SWITCH": str(self._switch),
        }

    def fail(self, what: str) -> None:
        """Let it fail from now on: FORCE or SPACE."""
        new = self._switch.with_suffix(".new")
        new.write_text(what)
        new.replace(self._switch)

    def mend(self) -> None:
        self._switch.unlink(missing_ok=True)
