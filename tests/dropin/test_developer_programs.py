"""The programs that `ostler dev` shows run as they are, on both packages."""

from __future__ import annotations

import re
import subprocess
import sys
import textwrap
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from tests.free_ports import free_port

Environment = Callable[[str, Path], dict[str, str]]


def _ostler(environment: dict[str, str], *arguments: str) -> str:
    command = [sys.executable, "-m", "ostler.cli.main", *arguments]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def shown(program_environment: Environment, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, Path]]:
    """What `ostler dev` says, and where its queue manager is."""
    data = tmp_path_factory.mktemp("developer")
    environment = program_environment("ibmmq", data)
    said = _ostler(environment, "dev", "QM1", "--port", str(free_port()), "--app-password", "passw0rd")
    yield said, data
    _ostler(environment, "endmqm", "-i", "QM1")


@pytest.mark.parametrize("package", ["ibmmq", "pymqi"])
def test_the_program_that_is_shown_runs(
    package: str, shown: tuple[str, Path], program_environment: Environment
) -> None:
    said, data = shown
    match = re.search(rf"^A program with {package}.*?:\n\n(.*?)\n\n(?=\S|  ostler )", said, re.MULTILINE | re.DOTALL)
    assert match is not None
    environment = program_environment(package, data / "elsewhere")
    environment |= {"MQ_APP_PASSWORD": "passw0rd"}
    command = [sys.executable, "-c", textwrap.dedent(match[1])]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=120, check=False)
    assert (done.stdout, done.stderr) == ("b'hello'\n", "")
