"""Broker processes beside the measurement: started on free loopback ports, watched, and ended by their process ids."""

from __future__ import annotations

import shutil
import socket
import subprocess
import threading
import time
from collections.abc import Mapping
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path

from ostler.lab.peers.packages import PeerUnavailable

LOOPBACK = "127.0.0.1"
_POLL_SECONDS = 0.05
_END_SECONDS_MAX = 10.0
_LINES_SHOWN = 5
_CONFIGURATION_FILES = (".conf", ".xml")


def free_port() -> int:
    """Return a loopback port on which nobody listens."""
    with closing(socket.socket(socket.AF_INET, socket.SOCK_STREAM)) as probe:
        probe.bind((LOOPBACK, 0))
        found: int = probe.getsockname()[1]
        return found


@dataclass
class Peer:
    """A running broker. `processes` are ended in the reverse order of their start."""

    name: str
    version: str
    port: int
    log_file: Path
    processes: list[subprocess.Popen[bytes]] = field(default_factory=list)
    durability: str = ""
    """The guarantee of an acknowledgement: the data on disk at that time."""
    commands: list[list[str]] = field(default_factory=list)
    follower_pids: list[int] = field(default_factory=list)
    """The processes of a cluster that only hold copies of what clients send to another one of it."""
    member_ports: list[int] = field(default_factory=list)
    """The ports of all members of a cluster, the one that clients use first; empty for a single broker."""

    @property
    def pids(self) -> list[int]:
        return [each.pid for each in self.processes]

    def add(self, command: list[str], environment: Mapping[str, str], directory: Path) -> None:
        with self.log_file.open("ab") as log:
            started = subprocess.Popen(
                ended_with_us(command),
                env=dict(environment),
                cwd=directory,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
            )
        self.processes.append(started)
        self.commands.append(command)

    @property
    def configuration(self) -> str:
        """Its durability, the commands that started it, and its configuration files, without the directory of its
        state."""
        directory = self.log_file.parent
        lines = [f"Durability: {self.durability}.", *(" ".join(command) for command in self.commands)]
        for path in sorted(each for each in directory.glob("*") if each.suffix in _CONFIGURATION_FILES):
            lines += ["", f"{path.name}:", path.read_text(errors="replace").rstrip()]
        return "\n".join(lines).replace(str(directory), "STATE")

    def wait_until_listening(self, seconds_max: float, port: int = 0) -> None:
        """Wait until its port answers, or another one. Raises PeerUnavailable when a process ends before, or it takes
        too long.

        If anything else ends the wait, such as control-C, the broker is ended: the caller does not have it yet.
        """
        try:
            self._wait_until_listening(seconds_max, port or self.port)
        except BaseException:
            self.end()
            raise

    def _wait_until_listening(self, seconds_max: float, port: int) -> None:
        deadline = time.monotonic() + seconds_max
        while time.monotonic() < deadline:
            for each in self.processes:
                if each.poll() is not None:
                    raise PeerUnavailable(f"{self.name} ended with status {each.returncode}: {self._last_lines()}")
            if _listens(port):
                return
            time.sleep(_POLL_SECONDS)
        raise PeerUnavailable(f"{self.name} did not listen within {seconds_max:.0f} s: {self._last_lines()}")

    def describe_end(self) -> str:
        """Describe how it ended; empty while all its processes run."""
        for each in self.processes:
            if each.poll() is not None:
                return f"{self.name} ended with status {each.returncode}: {self._last_lines()}"
        return ""

    def end(self) -> None:
        for each in reversed(self.processes):
            if each.poll() is None:
                each.terminate()
                try:
                    each.wait(_END_SECONDS_MAX)
                except subprocess.TimeoutExpired:
                    each.kill()
                    each.wait()
        self.processes.clear()

    def _last_lines(self) -> str:
        try:
            lines = self.log_file.read_text(errors="replace").splitlines()
        except OSError:
            return "it said nothing"
        return " / ".join(line.strip() for line in lines[-_LINES_SHOWN:]) or "it said nothing"


def ended_with_us(command: list[str]) -> list[str]:
    """Return the command wrapped so that the kernel ends it when we are killed and cannot do so ourselves.

    The kernel watches the thread that starts it, which must not end before the process does.
    """
    tool = shutil.which("setpriv")
    if tool is None or threading.current_thread() is not threading.main_thread():
        return command
    return [tool, "--pdeathsig", "KILL", "--", *command]


def _listens(port: int) -> bool:
    with closing(socket.socket(socket.AF_INET, socket.SOCK_STREAM)) as probe:
        probe.settimeout(1.0)
        return probe.connect_ex((LOOPBACK, port)) == 0
