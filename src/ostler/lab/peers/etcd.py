"""An etcd of our own with one member, for trials and tests of an arbiter. It is no broker, and is not measured."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from ostler.lab.peers.broker_process import LOOPBACK, Peer, free_port
from ostler.lab.peers.packages import environment_for, output_of, unpack_packages

NAME = "etcd"
PACKAGES = ("etcd-server",)
PROOF = "usr/bin/etcd"
DURABILITY = "the write-ahead log is forced before each answer"
_START_SECONDS_MAX = 20.0


@dataclass(frozen=True)
class Ports:
    """Where it listens: for clients, and for other members, of which there are none."""

    client: int
    peer: int


def free_ports() -> Ports:
    return Ports(free_port(), free_port())


def fetch() -> None:
    """Unpack it unless it is here. Raises PeerUnavailable."""
    unpack_packages(NAME, PACKAGES, PROOF)


def start(scratch: Path, ports: Ports, certificate: Path | None = None, key: Path | None = None) -> Peer:
    """Start it with its state in `scratch`, fresh or as it was left there. With a certificate it speaks TLS only.

    It listens when this returns, and answers soon after. Raises PeerUnavailable.
    """
    root = unpack_packages(NAME, PACKAGES, PROOF)
    scratch.mkdir(parents=True, exist_ok=True)
    peer = Peer(NAME, version(root), ports.client, scratch / "etcd.log", durability=DURABILITY)
    clients = f"{'https' if certificate else 'http'}://{LOOPBACK}:{ports.client}"
    members = f"http://{LOOPBACK}:{ports.peer}"
    command = [str(root / PROOF), "--name", "only", "--data-dir", str(scratch / "data")]
    command += ["--listen-client-urls", clients, "--advertise-client-urls", clients]
    command += ["--listen-peer-urls", members, "--initial-advertise-peer-urls", members]
    command += ["--initial-cluster", f"only={members}", "--logger", "zap", "--log-level", "error"]
    if certificate and key:
        command += ["--cert-file", str(certificate), "--key-file", str(key)]
    # Variables named ETCD_... would be taken for options.
    environment = {name: value for name, value in environment_for(root).items() if not name.startswith("ETCD_")}
    peer.add(command, environment, scratch)
    peer.wait_until_listening(_START_SECONDS_MAX)
    return peer


def version(root: Path) -> str:
    """Return the version from `etcd Version: 3.4.23`."""
    words = output_of(NAME, [str(root / PROOF), "--version"], environment_for(root)).split()
    return words[2] if len(words) > 2 else ""
