"""The program and the test of the guide are real: they are run as the guide has them."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

GUIDE = Path(__file__).resolve().parents[2] / "docs" / "how-to" / "unchanged-programs.md"
FILE = re.compile(r"^```python file=(\S+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


@pytest.mark.skipif(not GUIDE.exists(), reason="the documentation is not beside the tests")
def test_the_guide(tmp_path: Path, program_environment: Callable[[str, Path], dict[str, str]]) -> None:
    text = GUIDE.read_text()
    for name, content in FILE.findall(text):
        (tmp_path / name).write_text(content)
    # The plugin is named here, so that it is there whether Ostler is installed or only on the path.
    environment = {**program_environment("ibmmq", tmp_path), "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    command = [sys.executable, "-m", "pytest", "-q", "-p", "ostler.testing.plugin", "--rootdir", str(tmp_path)]
    done = subprocess.run(
        command, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=120, check=False
    )
    promised = re.findall(r"^```text\n(.*?)\n```$", text, re.MULTILINE | re.DOTALL)
    assert len(promised) == 1
    assert promised[0] in done.stdout, done.stdout + done.stderr
    assert done.returncode == 0
