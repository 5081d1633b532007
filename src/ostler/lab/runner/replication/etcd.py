"""A single etcd on loopback, as the arbiter of groups in a run. On one machine more members would decide nothing."""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import Final

from ostler.lab.peers.broker_process import LOOPBACK, Peer, free_port
from ostler.lab.peers.packages import PeerUnavailable, output_of

NAME: Final = "etcd"
_START_SECONDS_MAX: Final = 30.0


def start(scratch: Path) -> Peer:
    """Start it with its state in `scratch`. Raises PeerUnavailable when it is not installed or does not start."""
    program = shutil.which(NAME)
    if program is None:
        raise PeerUnavailable("etcd is not installed: apt-get install etcd-server, or use the file arbiter")
    scratch.mkdir(parents=True, exist_ok=True)
    port, peer_port = free_port(), free_port()
    version = output_of(NAME, [program, "--version"], dict(os.environ)).splitlines()[0].rpartition(" ")[2]
    etcd = Peer(NAME, version, port, scratch / "etcd.log", durability="forced before each answer")
    client, peers = f"http://{LOOPBACK}:{port}", f"http://{LOOPBACK}:{peer_port}"
    command = [
        program, "--name", "lab", "--data-dir", str(scratch / "data"),
        "--listen-client-urls", client, "--advertise-client-urls", client,
        "--listen-peer-urls", peers, "--initial-advertise-peer-urls", peers, "--initial-cluster", f"lab={peers}",
    ]  # fmt: skip
    etcd.add(command, os.environ, scratch)
    etcd.wait_until_listening(_START_SECONDS_MAX)
    return etcd
