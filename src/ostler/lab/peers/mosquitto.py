"""A Mosquitto broker of our own.

It never forces a message before it acknowledges it: undelivered messages of persistent sessions are written to a file
from time to time, and at an orderly end.
"""

from __future__ import annotations

import os
import pwd
from pathlib import Path

from ostler.lab.peers.broker_process import LOOPBACK, Peer, free_port
from ostler.lab.peers.packages import PeerUnavailable, environment_for, output_of, unpack_packages

NAME = "mosquitto"
PACKAGES = ("mosquitto", "libcjson1", "libdlt2", "libmosquitto1", "libnsl2", "libtirpc3", "libwrap0")
PROOF = "usr/sbin/mosquitto"
DURABILITY = "sessions in memory, saved to a file every half hour and at the end; not forced before acknowledgements"
_START_SECONDS_MAX = 20.0
_MESSAGES_WAITING_MAX = 100_000


def start(scratch: Path) -> Peer:
    """Start it with its state in `scratch`. Raises PeerUnavailable."""
    root = unpack_packages(NAME, PACKAGES, PROOF)
    scratch.mkdir(parents=True, exist_ok=True)
    port = free_port()
    peer = Peer(NAME, version(root), port, scratch / "mosquitto.log", durability=DURABILITY)
    (scratch / "mosquitto.conf").write_text(_settings(scratch, port))
    command = [str(root / PROOF), "-c", str(scratch / "mosquitto.conf")]
    peer.add(command, environment_for(root), scratch)
    peer.wait_until_listening(_START_SECONDS_MAX)
    return peer


def version(root: Path) -> str:
    """Return the version from `mosquitto version 2.0.11`."""
    words = output_of(NAME, [str(root / PROOF), "-h"], environment_for(root)).split()
    if words[:2] != [NAME, "version"]:
        raise PeerUnavailable(f"{NAME}: {PROOF} does not report its version: {' '.join(words)[:80]}")
    return words[2]


def _settings(scratch: Path, port: int) -> str:
    # Started by root it would switch to a user of its own, who may not exist and does not own the directory.
    return "\n".join(
        (
            f"listener {port} {LOOPBACK}",
            "allow_anonymous true",
            f"user {pwd.getpwuid(os.getuid()).pw_name}",
            "persistence true",
            f"persistence_location {scratch}/",
            # Acknowledgements and messages follow each other: without this option they would delay one another.
            "set_tcp_nodelay true",
            f"max_queued_messages {_MESSAGES_WAITING_MAX}",
            "log_dest stderr",
            "log_type error",
            "log_type warning",
            "",
        )
    )
