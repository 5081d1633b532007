"""Three NATS servers in one cluster, for JetStream streams with three replicas.

A stream acknowledges when a majority of the servers has written a message to its file. None of them forces it before
that: it is what Ostler calls an acknowledgement from memory.
"""

from __future__ import annotations

import json
import os
import socket
import time
from contextlib import closing
from pathlib import Path
from typing import Final

from ostler.lab.load.nats.jetstream import stream_config
from ostler.lab.peers.broker_process import LOOPBACK, Peer, free_port
from ostler.lab.peers.nats import LIMITS, NAME, PACKAGES, PROOF, START_SECONDS_MAX, version
from ostler.lab.peers.packages import PeerUnavailable, unpack_packages

SERVERS: Final = 3
DURABILITY: Final = "JetStream R3: written by a majority of three servers before acknowledgements, forced later"
_READY_SECONDS_MAX: Final = 60.0
_ANSWER_SECONDS_MAX: Final = 5.0
_POLL_SECONDS: Final = 0.1
_TRIAL: Final = "LABTRIAL"


def start(scratch: Path, servers: int = SERVERS) -> Peer:
    """Start a cluster with its state in `scratch`, and return it when it can make a stream with as many replicas.

    Raises PeerUnavailable.
    """
    root = unpack_packages(NAME, PACKAGES, PROOF)
    scratch.mkdir(parents=True, exist_ok=True)
    ports, route_ports = [free_port() for _ in range(servers)], [free_port() for _ in range(servers)]
    peer = Peer(NAME, version(root), ports[0], scratch / "nats.log", durability=DURABILITY)
    peer.member_ports = ports
    try:
        for number, port in enumerate(ports, 1):
            settings = scratch / f"server{number}.conf"
            settings.write_text(_settings(scratch, number, port, route_ports))
            peer.add([str(root / PROOF), "--config", str(settings)], os.environ, scratch)
        for port in ports:
            peer.wait_until_listening(START_SECONDS_MAX, port)
        for port in ports:
            _wait_until_ready(peer, port, servers)
    except BaseException:
        peer.end()
        raise
    return peer


def _settings(scratch: Path, number: int, port: int, route_ports: list[int]) -> str:
    routes = ", ".join(f"nats://{LOOPBACK}:{each}" for each in route_ports)
    return (
        f"server_name: lab{number}\n"
        f"listen: {LOOPBACK}:{port}\n"
        f"{LIMITS}"
        f"jetstream {{ store_dir: {json.dumps(str(scratch / f'store{number}'))} }}\n"
        f"cluster {{ name: LAB, listen: {LOOPBACK}:{route_ports[number - 1]}, routes: [{routes}] }}\n"
    )


def _wait_until_ready(peer: Peer, port: int, replicas: int) -> None:
    """Wait until a server takes part: it passes on a request for a stream that all servers have a copy of."""
    make_stream(peer, port, stream_config(_TRIAL, replicas))
    ask(port, f"$JS.API.STREAM.DELETE.{_TRIAL}", {})


def make_stream(peer: Peer, port: int, wanted: dict[str, object]) -> None:
    """Make a stream unless it exists, and wait until it has a leader. Raises PeerUnavailable.

    A cluster answers nothing while it holds an election, so the request is sent again.
    """
    name = wanted["name"]
    deadline = time.monotonic() + _READY_SECONDS_MAX
    answer: dict[str, object] = {}
    while time.monotonic() < deadline:
        ended = peer.describe_end()
        if ended:
            raise PeerUnavailable(ended)
        try:
            answer = ask(port, f"$JS.API.STREAM.CREATE.{name}", wanted)
            if "error" not in answer:
                return
        except (OSError, ValueError) as failure:
            answer = {"error": str(failure)}
        time.sleep(_POLL_SECONDS)
    raise PeerUnavailable(
        f"{NAME}: the cluster did not make the stream {name} within {_READY_SECONDS_MAX:.0f} s: {answer.get('error')}"
    )


def ask(port: int, subject: str, wanted: dict[str, object]) -> dict[str, object]:
    """Send a request to a server, and return its answer. Raises OSError, and ValueError for an answer of another
    kind."""
    body = json.dumps(wanted).encode()
    inbox = f"_INBOX.lab{time.monotonic_ns()}"
    options = b'CONNECT {"verbose":false,"pedantic":false,"headers":true,"no_responders":true}\r\n'
    with closing(socket.create_connection((LOOPBACK, port), _ANSWER_SECONDS_MAX)) as link:
        link.sendall(options + f"SUB {inbox} 1\r\nPUB {subject} {inbox} {len(body)}\r\n".encode() + body + b"\r\n")
        received = b""
        while True:
            data = link.recv(65_536)
            if not data:
                raise OSError("the server closed the connection")
            received += data
            if b"HMSG" in received:
                raise ValueError("nobody answers it yet")
            at = received.find(b"MSG ")
            end = received.find(b"\r\n", at)
            if at < 0 or end < 0:
                continue
            size = int(received[at:end].split()[-1])
            if len(received) >= end + 2 + size:
                found = json.loads(received[end + 2 : end + 2 + size])
                if not isinstance(found, dict):
                    raise ValueError(f"the answer is {found!r}")
                return found
