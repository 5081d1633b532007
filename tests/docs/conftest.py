"""Pages are followed as a reader would: commands are typed in a shell, programs run, and what they print compared."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.free_ports import free_port

ROOT = Path(__file__).resolve().parents[2]
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
PORT = "1414"
SECONDS_MAX = 120
SHOWN_MAX = 2000


def pattern_of(shown: str) -> str:
    """What a page shows of an output, as a pattern: three dots are any lines, and in a line any text."""
    lines = [r"(?:.*\n)*?" if line == "..." else _line_pattern(line) + r"\n" for line in shown.splitlines()]
    return "".join(lines)


def _line_pattern(line: str) -> str:
    return ".*".join(re.escape(part) for part in line.split("..."))


def typed(session: str) -> list[tuple[str, str]]:
    """The commands of a console session, each with what the page shows behind it."""
    found: list[tuple[str, str]] = []
    for line in session.splitlines():
        if line.startswith("$ "):
            found.append((line[2:], ""))
        else:
            command, shown = found[-1]
            found[-1] = (command, f"{shown}{line}\n")
    return found


class Reader:
    """Somebody who has a directory, a free port, and the programs `ostler` and `python`."""

    def __init__(self, place: Path) -> None:
        self.place = place
        self.port = str(free_port())
        programs = place / "bin"
        programs.mkdir()
        (programs / "python").write_text(f'#!/bin/sh\nexec {sys.executable} "$@"\n')
        (programs / "ostler").write_text(f'#!/bin/sh\nexec {sys.executable} -m ostler.cli.main "$@"\n')
        for program in programs.iterdir():
            program.chmod(0o755)
        clean = {name: value for name, value in os.environ.items() if not name.startswith(("MQ", "OSTLER"))}
        self._environment = {
            **clean,
            "HOME": str(place),
            "OSTLER_DATA": str(place / ".ostler"),
            "PYTHONPATH": os.pathsep.join(path for path in sys.path if path),
            "PATH": f"{programs}{os.pathsep}{os.environ['PATH']}",
        }

    def blocks(self, page: str) -> list[tuple[str, str]]:
        """Language and text of the fenced blocks of a page."""
        return BLOCK.findall((ROOT / page).read_text().replace(PORT, self.port))

    def run(self, *command: str, fails: bool = False) -> str:
        """What a program prints, errors included. It must succeed, or fail."""
        # Not through pipes: a queue manager that is started would keep them open.
        with (self.place / "output").open("w+") as output:
            done = subprocess.run(
                command,
                env=self._environment,
                cwd=self.place,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                timeout=SECONDS_MAX,
                check=False,
            )
        text = (self.place / "output").read_text()
        assert (done.returncode != 0) == fails, f"{command[-1]}\nexited with {done.returncode}:\n{text[-SHOWN_MAX:]}"
        return text

    def shell(self, command: str, fails: bool = False) -> str:
        return self.run("sh", "-ec", command, fails=fails)

    def follow_all(self, blocks: list[tuple[str, str]]) -> None:
        """Do what the blocks of a page say, in order. A text behind a program is what it prints."""
        output = ""
        for language, text in blocks:
            if language == "text":
                assert output == text
            else:
                output = self.follow(language, text)

    def follow(self, language: str, text: str) -> str:
        """Do what a block says; what was printed last. What it exports stays, as in the shell of a reader."""
        for line in text.splitlines() if language in ("sh", "console") else ():
            name, equals, value = line.removeprefix("$ ").removeprefix("export ").partition("=")
            if line.removeprefix("$ ").startswith("export ") and equals:
                self._environment[name] = "".join(shlex.split(value, comments=True))
        output = ""
        if language == "sh":
            output = self.shell(text)
        elif language == "python":
            output = self.run(sys.executable, "-c", text)
        elif language == "console":
            for command, shown in typed(text):
                # What a page shows as refused has to be refused.
                output = self.shell(command, fails=": MQRC_" in shown)
                if shown:
                    assert re.fullmatch(pattern_of(shown), output), f"{command} printed\n{output}"
        return output


@pytest.fixture
def reader(tmp_path: Path) -> Iterator[Reader]:
    if not (ROOT / "docs").exists():
        pytest.skip("the documentation is not beside the tests")
    one = Reader(tmp_path)
    yield one
    for name in ("QM1", "QM2"):
        one.shell(f"ostler endmqm -z -p {name} 2>&1 || true")
