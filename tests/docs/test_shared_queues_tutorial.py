"""The tutorial on shared queues does what it says: its commands run in order."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import pytest
from tests.docs.test_client_and_server import blocks

from ostler.server.config.directories import queue_managers
from ostler.server.coupling.facility_directory import facilities

PAGE = Path(__file__).resolve().parents[2] / "docs/tutorial/shared-queues.md"
SECONDS_MAX = 60


def kill_what_runs(data: Path) -> None:
    """Kill queue managers and facilities that a page which failed has left, each by its id."""
    found = [each.process for each in queue_managers(data) if each.running]
    records = [each.record() for each in facilities(data) if each.is_running()]
    for process in [*found, *(each.pid for each in records if each is not None)]:
        with suppress(ProcessLookupError):
            os.kill(process, signal.SIGKILL)


@pytest.mark.slow
@pytest.mark.skipif(not PAGE.exists(), reason="the documentation is not beside the tests")
def test_the_page_does_what_it_says(tmp_path: Path) -> None:
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
    try:
        for _, code, shown in blocks(PAGE.read_text()):
            # Not through pipes: the processes that are started would keep them open.
            with (tmp_path / "out").open("w+") as out, (tmp_path / "err").open("w+") as err:
                done = subprocess.run(
                    ["sh", "-ec", code],
                    env=environment,
                    cwd=tmp_path,
                    stdout=out,
                    stderr=err,
                    timeout=SECONDS_MAX,
                    check=False,
                )
            said = (tmp_path / "out").read_text()
            assert done.returncode == 0, f"{code}\n{said}{(tmp_path / 'err').read_text()}"
            if shown is not None:
                assert said == shown, (tmp_path / "err").read_text()
        assert [each for each in facilities(tmp_path / "data") if each.is_running()] == []
    finally:
        kill_what_runs(tmp_path / "data")
