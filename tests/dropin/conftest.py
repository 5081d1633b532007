"""The packages as they come from PyPI, and what real programs on them print, run in processes of their own."""

from __future__ import annotations

import contextlib
import importlib.util
import json
import os
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Callable
from pathlib import Path

import pytest

from ostler.testing import queue_manager

NAME = "DROPIN"
_HERE = Path(__file__).parent
_MODULES = _HERE.parent.parent / "dropin" / "src"
_PYMQI = "1.12.13"
_SECONDS_MAX = 240

sys.path.insert(0, str(_MODULES))

Printed = dict[str, dict[str, str]]
"""What each program printed, and what it said on the error stream."""


@pytest.fixture(params=["embedded", "local", "client"])
def binding(request: pytest.FixtureRequest) -> str:
    """embedded: the queue manager is in the program's process; local: over its Unix socket; client: over TCP."""
    found: str = request.param
    return found


@pytest.fixture(scope="session")
def package_path(request: pytest.FixtureRequest) -> Callable[[str], str]:
    """Where a package is, for PYTHONPATH: ibmmq is installed; pymqi is fetched once and unpacked."""

    def path(package: str) -> str:
        if package == "ibmmq":
            assert importlib.util.find_spec("ibmmq") is not None, "ibmmq is not installed; the extra `dev` brings it"
            return ""
        cache = request.config.cache
        assert cache is not None
        return str(_unpacked_pymqi(cache.mkdir("pymqi")))

    return path


def _unpacked_pymqi(directory: Path) -> Path:
    """pymqi's sources. It cannot be installed without other libraries, but unpacks to plain Python."""
    name = f"pymqi-{_PYMQI}"
    unpacked = directory / name
    if not unpacked.exists():
        # Another run may be at the same: each unpacks for itself, and what is there is there as a whole.
        with tempfile.TemporaryDirectory(dir=directory) as own:
            _fetch_pymqi(Path(own))
            with tarfile.open(Path(own, f"{name}.tar.gz")) as archive:
                archive.extractall(own, filter="data")
            with contextlib.suppress(OSError):
                Path(own, name).rename(unpacked)
    return unpacked / "code"


def _fetch_pymqi(directory: Path) -> None:
    command = [sys.executable, "-m", "pip", "download", f"pymqi=={_PYMQI}", "--no-binary", ":all:", "--no-deps"]
    done = subprocess.run([*command, "--dest", str(directory)], capture_output=True, text=True, check=False)
    if done.returncode:
        pytest.skip(f"pymqi cannot be fetched: {done.stderr.strip().splitlines()[-1]}")


@pytest.fixture(scope="session")
def program_environment(package_path: Callable[[str], str]) -> Callable[[str, Path], dict[str, str]]:
    """The environment of a program on a package; `data` holds its queue managers."""

    def environment(package: str, data: Path) -> dict[str, str]:
        made = {name: value for name, value in os.environ.items() if not name.startswith("MQ")}
        paths = [str(_MODULES), package_path(package), made.get("PYTHONPATH", "")]
        made["PYTHONPATH"] = os.pathsep.join(
            str(Path(each).resolve()) for part in paths if part for each in part.split(os.pathsep)
        )
        made["OSTLER_DATA"] = str(data)
        return made

    return environment


@pytest.fixture(scope="session")
def printed(
    program_environment: Callable[[str, Path], dict[str, str]], tmp_path_factory: pytest.TempPathFactory
) -> Callable[[str, str], Printed]:
    """What the programs of a package print over a binding. All are run when the first is asked for."""
    found: dict[tuple[str, str], Printed] = {}

    def of(package: str, binding: str) -> Printed:
        key = (package, binding)
        if key not in found:
            data = tmp_path_factory.mktemp(f"{package}-{binding}")
            found[key] = _run_all(package, binding, data, program_environment(package, data))
        return found[key]

    return of


def _run_all(package: str, binding: str, data: Path, environment: dict[str, str]) -> Printed:
    programs = _HERE / f"{package}_programs"
    command = [sys.executable, str(_HERE / "runner.py")]
    if binding == "embedded":
        return _run(programs, [*command, str(data), str(programs), NAME], environment)
    with queue_manager(NAME, mqsc=(_HERE / "objects.mqsc").read_text(), data=data) as running:
        command += ["-", str(programs), NAME]
        if binding == "client":
            command += [running.channel, running.connection_name]
            environment["OSTLER_DATA"] = str(data / "nothing")
            environment["OSTLER_ALLOW_PLAIN_PASSWORD"] = "1"
        return _run(programs, command, environment)


def _run(programs: Path, command: list[str], environment: dict[str, str]) -> Printed:
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=_SECONDS_MAX, check=False)
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    results = {each["program"]: {"output": each["output"], "errors": each["errors"]} for each in lines}
    for program in programs.glob("*.py"):
        results.setdefault(program.stem, {"output": "", "errors": f"it was not run to its end:\n{done.stderr}"})
    return results
