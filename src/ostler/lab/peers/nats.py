"""A NATS server of our own, with JetStream if asked."""

from __future__ import annotations

import os
from pathlib import Path

from ostler.lab.peers.broker_process import LOOPBACK, Peer, free_port
from ostler.lab.peers.packages import environment_for, output_of, unpack_packages

NAME = "nats"
PACKAGES = ("nats-server",)
PROOF = "usr/sbin/nats-server"
IN_MEMORY = "nothing is kept, at most once"
IN_FILES = "JetStream: streams in files, written before acknowledgements, forced later"
START_SECONDS_MAX = 20.0
# By default it accepts messages of one megabyte, and disconnects a client with 64 of them to read.
_MESSAGE_BYTES_MAX = 8 << 20
_PENDING_BYTES_MAX = 512 << 20
LIMITS = f"max_payload: {_MESSAGE_BYTES_MAX}\nmax_pending: {_PENDING_BYTES_MAX}\n"


def start(scratch: Path, jetstream: bool = False) -> Peer:
    """Start it with its state in `scratch`. Raises PeerUnavailable."""
    root = unpack_packages(NAME, PACKAGES, PROOF)
    program = str(root / PROOF)
    scratch.mkdir(parents=True, exist_ok=True)
    port = free_port()
    peer = Peer(NAME, version(root), port, scratch / "nats.log", durability=IN_FILES if jetstream else IN_MEMORY)
    settings = scratch / "nats.conf"
    settings.write_text(LIMITS)
    command = [program, "--config", str(settings), "--addr", LOOPBACK, "--port", str(port)]
    if jetstream:
        command += ["--jetstream", "--store_dir", str(scratch / "store")]
    peer.add(command, os.environ, scratch)
    peer.wait_until_listening(START_SECONDS_MAX)
    return peer


def version(root: Path) -> str:
    """Return the version from `nats-server: v2.9.10`."""
    return output_of(NAME, [str(root / PROOF), "--version"], environment_for(root)).split("v")[-1].strip()
