"""The page on clients and servers does what it says: its commands and programs run in order."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from tests.free_ports import free_port

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs/tutorial/client-and-server.md"
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
PORT = "1414"


def blocks(text: str) -> list[tuple[str, str, str | None]]:
    """Language and text of what is to be run, each with the output that follows it, if the page shows any."""
    found: list[tuple[str, str, str | None]] = []
    for language, content in BLOCK.findall(text):
        if language == "text":
            before, code, _ = found[-1]
            found[-1] = (before, code, content)
        else:
            found.append((language, content, None))
    return found


@pytest.mark.slow
@pytest.mark.skipif(not PAGE.exists(), reason="the documentation is not beside the tests")
def test_the_page_does_what_it_says(tmp_path: Path) -> None:
    text = PAGE.read_text().replace(PORT, str(free_port()))
    programs = tmp_path / "bin"
    programs.mkdir()
    (programs / "python").write_text(f'#!/bin/sh\nexec {sys.executable} "$@"\n')
    (programs / "ostler").write_text(
        f"#!/bin/sh\nexec {sys.executable} -c 'from ostler.cli.main import main; raise SystemExit(main())' \"$@\"\n"
    )
    for program in programs.iterdir():
        program.chmod(0o755)
    environment = {name: value for name, value in os.environ.items() if not name.startswith("MQ")}
    environment |= {
        "OSTLER_DATA": str(tmp_path / "data"),
        "PYTHONPATH": os.pathsep.join(path for path in sys.path if path),
        "PATH": f"{programs}{os.pathsep}{os.environ['PATH']}",
    }

    def run(language: str, code: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-c", code] if language == "python" else ["sh", "-ec", code]
        # Not through pipes: the queue manager that is started would keep them open.
        with (tmp_path / "out").open("w+") as out, (tmp_path / "err").open("w+") as err:
            done = subprocess.run(command, env=environment, stdout=out, stderr=err, timeout=120, check=False)
        return subprocess.CompletedProcess(
            done.args, done.returncode, (tmp_path / "out").read_text(), (tmp_path / "err").read_text()
        )

    try:
        for language, code, shown in blocks(text):
            done = run(language, code)
            assert done.returncode == 0, f"{code}\n{done.stdout}{done.stderr}"
            if shown is not None:
                assert done.stdout == shown
    finally:
        run("sh", "ostler endmqm -i QM1 || true")
