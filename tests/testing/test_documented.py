"""What the guide to testing shows is run: the program on stock ibmmq with its test, and the blocks without pytest."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from importlib.metadata import entry_points
from importlib.util import find_spec
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "how-to" / "test-your-programs.md"
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)

pytestmark = pytest.mark.skipif(not PAGE.exists(), reason="the documentation is not beside the tests")


def blocks(language: str) -> list[str]:
    return [text for name, text in BLOCK.findall(PAGE.read_text()) if name == language]


def python(*arguments: str, directory: Path) -> str:
    clean = {name: value for name, value in os.environ.items() if not name.startswith(("MQ", "PYTEST", "OSTLER"))}
    path = os.pathsep.join([str(ROOT / "dropin" / "src"), *(path for path in sys.path if path)])
    done = subprocess.run(
        [sys.executable, *arguments],
        env={**clean, "PYTHONPATH": path},
        cwd=directory,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.mark.slow
@pytest.mark.skipif(find_spec("ibmmq") is None, reason="ibmmq is not installed")
def test_an_unchanged_program_and_its_test(tmp_path: Path) -> None:
    files = {found[1]: text for text in blocks("py") if (found := re.match(r"# (\w+\.py)\n", text))}
    assert set(files) == {"shop.py", "test_shop.py"}
    for name, text in files.items():
        (tmp_path / name).write_text(text)
    installed = any(each.value == "ostler.testing.plugin" for each in entry_points(group="pytest11"))
    plugin = [] if installed else ["-p", "ostler.testing.plugin"]
    assert "1 passed" in python("-m", "pytest", "-p", "no:cacheprovider", *plugin, directory=tmp_path)


@pytest.mark.parametrize("number", range(2))
def test_the_blocks_without_pytest(tmp_path: Path, number: int) -> None:
    programs, printed = blocks("python"), blocks("text")
    assert len(programs) == len(printed) == 2
    assert python("-c", programs[number], directory=tmp_path) == printed[number]
