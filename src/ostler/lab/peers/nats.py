"""A NATS server of our own, with JetStream if asked."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

from ostler.lab.peers.packages import PeerUnavailable, unpacked
from ostler.lab.peers.running import LOOPBACK, Peer, free_port

NAME = "nats"
_PROOF = "usr/sbin/nats-server"
_START_SECONDS_MAX = 20.0


def start(scratch: Path, jetstream: bool = False) -> Peer:
    """Start it with its state in `scratch`. Raises PeerUnavailable."""
    program = str(unpacked(NAME, ("nats-server",), _PROOF) / _PROOF)
    scratch.mkdir(parents=True, exist_ok=True)
    port = free_port()
    peer = Peer(NAME, _version(program), port, scratch / "nats.log")
    command = [program, "--addr", LOOPBACK, "--port", str(port)]
    if jetstream:
        command += ["--jetstream", "--store_dir", str(scratch / "store")]
    peer.add(command, os.environ, scratch)
    peer.wait_until_listening(_START_SECONDS_MAX)
    return peer


def _version(program: str) -> str:
    try:
        said = subprocess.run([program, "--version"], capture_output=True, text=True, timeout=20, check=True).stdout
    except (OSError, subprocess.SubprocessError) as failure:
        raise PeerUnavailable(f"{NAME}: {program} cannot be run: {failure}") from None
    return said.split("v")[-1].strip()
