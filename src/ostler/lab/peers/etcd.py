"""An etcd of our own, for trials and tests of an arbiter. It is no broker, and is not measured."""

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
_ONLY = "only"


@dataclass(frozen=True)
class Ports:
    """The ports of a member: for clients, and for other members."""

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
    peer = launch_member(scratch, _ONLY, {_ONLY: ports}, certificate, key)
    peer.wait_until_listening(_START_SECONDS_MAX)
    return peer


def launch_member(
    scratch: Path, name: str, members: dict[str, Ports], certificate: Path | None = None, key: Path | None = None
) -> Peer:
    """Start one member of a cluster with its state in `scratch`, and do not wait: it listens when a majority runs.

    Raises PeerUnavailable.
    """
    ports = members[name]
    root = unpack_packages(NAME, PACKAGES, PROOF)
    scratch.mkdir(parents=True, exist_ok=True)
    peer = Peer(NAME, version(root), ports.client, scratch / "etcd.log", durability=DURABILITY)
    clients = f"{'https' if certificate else 'http'}://{LOOPBACK}:{ports.client}"
    urls = {each: f"http://{LOOPBACK}:{members[each].peer}" for each in members}
    command = [str(root / PROOF), "--name", name, "--data-dir", str(scratch / "data")]
    command += ["--listen-client-urls", clients, "--advertise-client-urls", clients]
    command += ["--listen-peer-urls", urls[name], "--initial-advertise-peer-urls", urls[name]]
    command += ["--initial-cluster", ",".join(f"{each}={url}" for each, url in urls.items())]
    command += ["--logger", "zap", "--log-level", "error"]
    if certificate and key:
        command += ["--cert-file", str(certificate), "--key-file", str(key)]
    # Variables named ETCD_... would be taken for options.
    environment = {name: value for name, value in environment_for(root).items() if not name.startswith("ETCD_")}
    peer.add(command, environment, scratch)
    return peer


def version(root: Path) -> str:
    """Return the version from `etcd Version: 3.4.23`."""
    words = output_of(NAME, [str(root / PROOF), "--version"], environment_for(root)).split()
    return words[2] if len(words) > 2 else ""
