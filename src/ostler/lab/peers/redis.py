"""A Redis server of our own: in memory only, or with an append-only file that is forced before every answer."""

from __future__ import annotations

from pathlib import Path

from ostler.lab.peers.broker_process import LOOPBACK, Peer, free_port
from ostler.lab.peers.packages import PeerUnavailable, environment_for, output_of, unpack_packages

NAME = "redis"
PACKAGES = ("redis-server", "redis-tools", "libatomic1", "libjemalloc2", "liblzf1")
PROOF = "usr/bin/redis-server"
IN_MEMORY = "nothing is written to disk"
FORCED = "append-only file, forced before each answer; commands that arrive together share a force"
_START_SECONDS_MAX = 20.0


def start(scratch: Path, forced: bool = False) -> Peer:
    """Start it with its state in `scratch`. Raises PeerUnavailable."""
    root = unpack_packages(NAME, PACKAGES, PROOF)
    scratch.mkdir(parents=True, exist_ok=True)
    port = free_port()
    peer = Peer(NAME, version(root), port, scratch / "redis.log", durability=FORCED if forced else IN_MEMORY)
    settings = {
        "bind": LOOPBACK,
        "port": str(port),
        "dir": str(scratch),
        "daemonize": "no",
        "loglevel": "warning",
        # Snapshots would be a second write to disk, at arbitrary times.
        "save": "",
        "appendonly": "yes" if forced else "no",
        "appendfsync": "always",
    }
    options = [word for key, value in settings.items() for word in (f"--{key}", value)]
    peer.add([str(root / PROOF), *options], environment_for(root), scratch)
    peer.wait_until_listening(_START_SECONDS_MAX)
    return peer


def version(root: Path) -> str:
    """Return the version from `Redis server v=7.0.15 sha=...`."""
    text = output_of(NAME, [str(root / PROOF), "--version"], environment_for(root))
    for word in text.split():
        if word.startswith("v="):
            return word[2:]
    raise PeerUnavailable(f"{NAME}: {PROOF} does not report its version: {text[:80]}")
