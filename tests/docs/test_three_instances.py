"""The tutorial on three instances does what it says: its commands and programs run in order."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from tests.docs.test_client_and_server import blocks
from tests.free_ports import free_port

PAGE = Path(__file__).resolve().parents[2] / "docs/tutorial/three-instances.md"
SECONDS_MAX = 60


@pytest.mark.slow
@pytest.mark.skipif(not PAGE.exists(), reason="the documentation is not beside the tests")
def test_the_page_does_what_it_says(tmp_path: Path) -> None:
    text = PAGE.read_text().replace("1414", str(free_port())).replace("4444", str(free_port()))
    programs = tmp_path / "bin"
    programs.mkdir()
    (programs / "ostler").write_text(f'#!/bin/sh\nexec {sys.executable} -m ostler.cli.main "$@"\n')
    (programs / "ostler").chmod(0o755)
    environment = {name: value for name, value in os.environ.items() if not name.startswith("MQ")}
    environment |= {
        "OSTLER_DATA": str(tmp_path / "data"),
        "PYTHONPATH": os.pathsep.join(path for path in sys.path if path),
        "PATH": f"{programs}{os.pathsep}{os.environ['PATH']}",
    }

    def run(language: str, code: str) -> tuple[int, str, str]:
        command = [sys.executable, "-c", code] if language == "python" else ["sh", "-ec", code]
        # Not through pipes: the instances that are started would keep them open.
        with (tmp_path / "out").open("w+") as out, (tmp_path / "err").open("w+") as err:
            done = subprocess.run(
                command, env=environment, cwd=tmp_path, stdout=out, stderr=err, timeout=SECONDS_MAX, check=False
            )
        return done.returncode, (tmp_path / "out").read_text(), (tmp_path / "err").read_text()

    found = blocks(text)
    try:
        for language, code, shown in found:
            status, out, err = run(language, code)
            assert status == 0, f"{code}\n{out}{err}"
            if shown is not None:
                assert out == shown, err
    finally:
        run(*found[-1][:2])
