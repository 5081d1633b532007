"""Other brokers from Debian packages: downloaded and unpacked into a cache, never installed, or used where installed.

Nothing is run as a system service and nothing outside the cache is changed. Where packages are unavailable, the reason
and the remedy are reported, and a measurement continues without that peer.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from pathlib import Path

CACHE_VARIABLE = "OSTLER_PEERS_CACHE"
_COMMAND_SECONDS_MAX = 300.0
_VERSION_SECONDS_MAX = 20.0
_WORDS_SHOWN = 300


class PeerUnavailable(Exception):
    """A peer is unavailable or does not start. The text has the reason and the remedy."""


def cache_directory() -> Path:
    """Return the directory of unpacked packages: `OSTLER_PEERS_CACHE`, or below the user's cache directory."""
    given = os.environ.get(CACHE_VARIABLE, "")
    if given:
        return Path(given)
    base = os.environ.get("XDG_CACHE_HOME", "")
    return (Path(base) if base else _home() / ".cache") / "ostler" / "peers"


def _home() -> Path:
    """Return the user's home directory, or the working directory without one."""
    try:
        return Path.home()
    except RuntimeError:
        return Path.cwd()


def find_unpacked(name: str, proof: str) -> Path | None:
    """Return the directory of the packages' files, installed or in the cache. Nothing is downloaded."""
    for root in (Path("/"), cache_directory() / name):
        if any(root.glob(proof)):
            return root
    return None


def unpack_packages(name: str, packages: tuple[str, ...], proof: str) -> Path:
    """Return a directory with the packages' files below it, as they would be below `/`.

    `proof` is a file that shows that they exist, by its path in the packages; it may be a pattern. Installed files are
    preferred, then the cache, and only then are packages downloaded.
    """
    found = find_unpacked(name, proof)
    if found is not None:
        return found
    root = cache_directory() / name
    try:
        _download_and_unpack(name, packages, root)
    except OSError as failure:
        # Another process may have unpacked it at the same time.
        if not any(root.glob(proof)):
            advice = f"set {CACHE_VARIABLE} to a directory with room that you may write to"
            raise PeerUnavailable(f"{name} cannot be unpacked: {failure} ({advice})") from None
    if not any(root.glob(proof)):
        raise PeerUnavailable(f"{name}: the packages {' '.join(packages)} hold no {proof}")
    return root


def environment_for(root: Path) -> dict[str, str]:
    """Return our environment, in which a program finds its unpacked shared libraries before the system's."""
    environment = dict(os.environ)
    if root != Path("/"):
        found = [str(each) for each in sorted(root.glob("usr/lib/*-linux-gnu*"))]
        found += [str(each) for each in sorted(root.glob("lib/*-linux-gnu*"))]
        known = environment.get("LD_LIBRARY_PATH", "")
        environment["LD_LIBRARY_PATH"] = os.pathsep.join([*found, known] if known else found)
    return environment


def output_of(name: str, command: list[str], environment: dict[str, str]) -> str:
    """Return the output of a program, shortened. Raises PeerUnavailable when it cannot be run here.

    The exit status is ignored: some programs end with another than 0 when they show their help.
    """
    try:
        done = subprocess.run(
            command, env=environment, capture_output=True, text=True, timeout=_VERSION_SECONDS_MAX, check=False
        )
    except (OSError, subprocess.SubprocessError) as failure:
        raise PeerUnavailable(f"{name}: {command[0]} cannot be run: {failure}") from None
    if "error while loading shared libraries" in done.stderr:
        raise PeerUnavailable(f"{name} cannot be run here: {' '.join(done.stderr.split())[-_WORDS_SHOWN:]}")
    return (done.stdout or done.stderr).strip()


def _download_and_unpack(name: str, packages: tuple[str, ...], root: Path) -> None:
    missing = [tool for tool in ("apt-get", "dpkg-deb") if shutil.which(tool) is None]
    if missing:
        raise PeerUnavailable(
            f"{name} is not installed, and without {' and '.join(missing)} its Debian packages cannot be fetched"
        )
    root.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=f"{name}-", dir=root.parent) as scratch:
        downloads, fresh = Path(scratch, "packages"), Path(scratch, "root")
        downloads.mkdir()
        fresh.mkdir()
        _run(name, ["apt-get", "-q", "download", *packages], downloads)
        for package in sorted(downloads.glob("*.deb")):
            _run(name, ["dpkg-deb", "--extract", str(package), str(fresh)], downloads)
        # The cache contains a peer completely or not at all, whoever else unpacks at the same time.
        shutil.rmtree(root, ignore_errors=True)
        os.replace(fresh, root)


def _run(name: str, command: list[str], directory: Path) -> None:
    try:
        done = subprocess.run(
            command, cwd=directory, capture_output=True, text=True, timeout=_COMMAND_SECONDS_MAX, check=False
        )
    except subprocess.TimeoutExpired:
        raise PeerUnavailable(
            f"{name}: {' '.join(command[:3])} took longer than {_COMMAND_SECONDS_MAX:.0f} s"
        ) from None
    if done.returncode != 0:
        text = " ".join((done.stderr or done.stdout).split())[-_WORDS_SHOWN:]
        raise PeerUnavailable(
            f"{name} is not installed and its packages cannot be fetched: {' '.join(command[:3])} said: {text} "
            f"(perhaps `apt-get update` helps; or install {name}, or unpack its packages below {cache_directory()})"
        )
