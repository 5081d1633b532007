"""The list of compiled modules, as setup.py makes it."""

from __future__ import annotations

import importlib.util
import os
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def compiled_sources() -> list[str]:
    """Return the paths of all modules that setup.py compiles."""
    spec = importlib.util.spec_from_file_location("ostler_setup", ROOT / "setup.py")
    assert spec is not None
    assert spec.loader is not None
    setup = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(setup)
    here = Path.cwd()
    os.chdir(ROOT)  # setup.py runs there
    try:
        sources: list[str] = setup.hot_sources()
    finally:
        os.chdir(here)
    return sources
