"""A PostgreSQL of our own, for trials and tests of a shared repository. It is no broker, and is not measured.

PostgreSQL does not run as root. When we do, it runs as the user nobody, with its state in a directory of its own below
the system's temporary directory, because that user need not reach ours.
"""

from __future__ import annotations

import os
import pwd
import shutil
import signal
import subprocess
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

from ostler.lab.peers.broker_process import LOOPBACK, Peer, free_port
from ostler.lab.peers.packages import PeerUnavailable, environment_for, output_of, unpack_packages

NAME = "postgresql"
PACKAGES = (
    "postgresql-15",
    "libcom-err2",
    "libgssapi-krb5-2",
    "libicu72",
    "libk5crypto3",
    "libkeyutils1",
    "libkrb5-3",
    "libkrb5support0",
    "libldap-2.5-0",
    "libpq5",
    "libsasl2-2",
    "libssl3",
    "libxml2",
)
PROOF = "usr/lib/postgresql/15/bin/postgres"
USER = "ostler"
DURABILITY = "the write-ahead log is forced at each commit"
_USER_FOR_ROOT = "nobody"
_START_SECONDS_MAX = 60.0
_INITIALISE_SECONDS_MAX = 120.0
_POLL_SECONDS = 0.02
_STATUS_LINE = 7  # of postmaster.pid


@dataclass
class PostgresServer:
    """A server and the directory of its state. The directory is removed by `remove`, not when the server ends."""

    peer: Peer
    directory: Path

    @property
    def url(self) -> str:
        return f"postgresql://{USER}@{LOOPBACK}:{self.peer.port}/postgres"

    def remove(self) -> None:
        """End the server at once and remove its state."""
        for process in self.peer.processes:
            process.send_signal(signal.SIGQUIT)  # or it would wait for its clients
        self.peer.end()
        shutil.rmtree(self.directory, ignore_errors=True)


def fetch() -> None:
    """Unpack it unless it is here. Raises PeerUnavailable."""
    unpack_packages(NAME, PACKAGES, PROOF)


def start(port: int = 0, directory: Path | None = None) -> PostgresServer:
    """Start it on a loopback port, with fresh state or with that of a directory that an earlier server has left.

    It answers when this returns. Raises PeerUnavailable.
    """
    root = unpack_packages(NAME, PACKAGES, PROOF)
    is_new = directory is None
    state = directory or Path(tempfile.mkdtemp(prefix="ostler-postgresql-"))
    try:
        if is_new:
            _give_away(state)
        root = _reachable(root, state)
        if is_new:
            _initialise(root, state)
        return PostgresServer(_launch(root, state, port or free_port()), state)
    except BaseException:
        if is_new:
            shutil.rmtree(state, ignore_errors=True)
        raise


def _launch(root: Path, state: Path, port: int) -> Peer:
    peer = Peer(NAME, _version(root), port, state / "postgresql.log", durability=DURABILITY)
    command = [str(root / PROOF), "-D", str(state / "data"), "-p", str(port), "-h", LOOPBACK]
    command += ["-c", "unix_socket_directories=", "-c", "timezone=GMT", "-c", "log_timezone=GMT", "-c", "jit=off"]
    peer.add(_unprivileged(command), environment_for(root), state)
    peer.wait_until_listening(_START_SECONDS_MAX)
    _wait_until_ready(peer, state)
    return peer


def _wait_until_ready(peer: Peer, state: Path) -> None:
    """Wait until it has read its log. It listens before, and refuses everybody."""
    deadline = time.monotonic() + _START_SECONDS_MAX
    while time.monotonic() < deadline and not peer.describe_end():
        try:
            lines = (state / "data" / "postmaster.pid").read_text().splitlines()
        except OSError:
            lines = []
        if len(lines) > _STATUS_LINE and lines[0] == str(peer.pids[0]) and lines[_STATUS_LINE].strip() == "ready":
            return
        time.sleep(_POLL_SECONDS)
    reason = peer.describe_end() or f"{NAME} was not ready within {_START_SECONDS_MAX:.0f} s"
    peer.end()
    raise PeerUnavailable(reason)


def _initialise(root: Path, state: Path) -> None:
    command = [str((root / PROOF).with_name("initdb")), "-D", str(state / "data"), "-U", USER, "-A", "trust"]
    command += ["--no-locale", "-E", "UTF8", "--no-sync"]
    try:
        done = subprocess.run(
            _unprivileged(command),
            env=environment_for(root),
            cwd=state,
            capture_output=True,
            text=True,
            timeout=_INITIALISE_SECONDS_MAX,
            check=False,
        )
    except (OSError, subprocess.SubprocessError) as failure:
        raise PeerUnavailable(f"{NAME}: initdb cannot be run: {failure}") from None
    if done.returncode != 0:
        raise PeerUnavailable(f"{NAME}: initdb said: {' '.join((done.stderr or done.stdout).split())[-300:]}")


def _version(root: Path) -> str:
    """Return the version from `postgres (PostgreSQL) 15.18 (Debian 15.18-0+deb12u1)`."""
    words = output_of(NAME, [str(root / PROOF), "--version"], environment_for(root)).split()
    return words[2] if len(words) > 2 else ""


def _unprivileged(command: list[str]) -> list[str]:
    if os.geteuid() != 0:
        return command
    tool = shutil.which("setpriv")
    if tool is None:
        raise PeerUnavailable(f"{NAME} does not run as root, and there is no setpriv to run it as another user")
    user = pwd.getpwnam(_USER_FOR_ROOT)
    # A change of the user ends the kernel's watch of the parent that `ended_with_us` asks for.
    return [
        tool,
        f"--reuid={user.pw_uid}",
        f"--regid={user.pw_gid}",
        "--clear-groups",
        "--pdeathsig",
        "KILL",
        "--",
        *command,
    ]


def _give_away(state: Path) -> None:
    """Let the user as whom the server runs have the directory."""
    if os.geteuid() == 0:
        user = pwd.getpwnam(_USER_FOR_ROOT)
        os.chown(state, user.pw_uid, user.pw_gid)


def _reachable(root: Path, state: Path) -> Path:
    """Return a place of the programs that the server's user may reach: the cache of root is often closed to others."""
    if os.geteuid() != 0 or root == Path("/"):
        return root
    if all(each.stat().st_mode & 0o001 for each in (root, *root.parents)):
        return root
    copied = state / "programs"
    if not copied.exists():
        shutil.copytree(root, copied, symlinks=True)
        copied.chmod(0o755)
    return copied
