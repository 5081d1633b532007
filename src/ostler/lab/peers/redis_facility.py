"""A Redis server of our own as coupling facility: on a local socket, with an append-only file."""

from __future__ import annotations

import socket
import subprocess
import time
from contextlib import closing
from pathlib import Path

from ostler.lab.peers.broker_process import LOOPBACK, ended_with_us, free_port
from ostler.lab.peers.packages import PeerUnavailable, environment_for, unpack_packages
from ostler.lab.peers.redis import NAME, PACKAGES, PROOF

EVERY_SECOND = "everysec"
ALWAYS = "always"
_START_SECONDS_MAX = 20.0
_END_SECONDS_MAX = 10.0
_POLL_SECONDS = 0.01


class RedisFacility:
    """A server with its state in `scratch`, which must be a short path. It can be killed and started again."""

    def __init__(self, scratch: Path, forces: str = EVERY_SECOND, settings: dict[str, str] | None = None) -> None:
        """Raises PeerUnavailable."""
        self._root = unpack_packages(NAME, PACKAGES, PROOF)
        self.directory = scratch
        self.socket = scratch / "redis.sock"
        self._settings = {
            "port": "0",
            "unixsocket": str(self.socket),
            "dir": str(scratch),
            "daemonize": "no",
            "loglevel": "warning",
            "save": "",
            "appendonly": "yes",
            "appendfsync": forces,
            "maxmemory-policy": "noeviction",
            **(settings or {}),
        }
        scratch.mkdir(parents=True, exist_ok=True)
        self._process: subprocess.Popen[bytes] | None = None
        self.start()

    @property
    def address(self) -> str:
        """Its local socket, as qm.ini has it."""
        return f"redis+unix://{self.socket}"

    @property
    def pid(self) -> int:
        return self._process.pid if self._process is not None else 0

    def start(self) -> None:
        """Start it, fresh or as it was left. Raises PeerUnavailable."""
        self.socket.unlink(missing_ok=True)
        options = [word for key, value in self._settings.items() for word in (f"--{key}", value)]
        with (self.directory / "redis.log").open("ab") as log:
            self._process = subprocess.Popen(
                ended_with_us([str(self._root / PROOF), *options]),
                env=environment_for(self._root),
                cwd=self.directory,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
            )
        deadline = time.monotonic() + _START_SECONDS_MAX
        while not self._answers():
            if self._process.poll() is not None or time.monotonic() > deadline:
                self.kill()
                log_text = (self.directory / "redis.log").read_text(errors="replace")[-300:]
                raise PeerUnavailable(f"{NAME} did not start: {log_text}")
            time.sleep(_POLL_SECONDS)

    def _answers(self) -> bool:
        """Return True when it has read its file and takes commands; one that wants a password does."""
        with closing(socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)) as probe:
            probe.settimeout(1.0)
            try:
                probe.connect(str(self.socket))
                probe.sendall(b"PING\r\n")
                return probe.recv(100).startswith((b"+PONG", b"-NOAUTH"))
            except OSError:
                return False

    def kill(self) -> None:
        """End it as a crash does."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None

    def end(self) -> None:
        if self._process is not None:
            self._process.terminate()
            try:
                self._process.wait(_END_SECONDS_MAX)
            except subprocess.TimeoutExpired:
                self._process.kill()
                self._process.wait()
            self._process = None


def fetch() -> None:
    """Unpack it unless it is here. Raises PeerUnavailable."""
    unpack_packages(NAME, PACKAGES, PROOF)


def network_settings(**others: str) -> dict[str, str]:
    """Return the settings for a server that also listens on a loopback port."""
    return {"bind": LOOPBACK, "port": str(free_port()), **others}
