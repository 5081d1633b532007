"""Three RabbitMQ nodes in one cluster, for quorum queues: each has a leader and two followers, which force before a
message is confirmed.

All nodes share an Erlang port mapper and a cookie, both of the cluster's own directory. The second and the third node
find the first by its name and join it at their first start.
"""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Final

from ostler.lab.peers.broker_process import Peer, free_port
from ostler.lab.peers.packages import PeerUnavailable
from ostler.lab.peers.rabbitmq import (
    NAME,
    SETTINGS,
    START_SECONDS_MAX,
    Installation,
    find_installation,
    node_name,
    version,
)

NODES: Final = 3
DURABILITY: Final = "quorum queues on three nodes: forced at a majority of them before confirms"
_ASK_SECONDS_MAX: Final = 30.0


def start(scratch: Path, nodes: int = NODES) -> Peer:
    """Start a cluster with its state in `scratch`, and return it when all nodes are members.

    Clients connect to the first node. Queues that they declare there have their leaders there, so no message takes
    another hop before it is copied. Raises PeerUnavailable.
    """
    installation = find_installation()
    scratch.mkdir(parents=True, exist_ok=True)
    (scratch / "plugins").write_text("[].\n")
    ports = [free_port() for _ in range(nodes)]
    mapper_port = free_port()
    peer = Peer(NAME, version(installation.root), ports[0], scratch / "rabbitmq.log", durability=DURABILITY)
    try:
        for number, port in enumerate(ports):
            name = f"node{number + 1}"
            (scratch / f"{name}.conf").write_text(_settings(ports[0]) if number else SETTINGS)
            environment = installation.environment(scratch, name, port, mapper_port)
            if not number:
                peer.add(installation.mapper(environment), environment, scratch)
            peer.add(installation.emulator_command(), environment, scratch)
            if number:
                peer.follower_pids.append(peer.pids[-1])
            peer.wait_until_listening(START_SECONDS_MAX, port)
        members = set(ask_node(installation, scratch, ports[0], mapper_port, "rabbit_nodes:all_running()").split())
        wanted = {node_name(port) for port in ports}
        if members != wanted:
            raise PeerUnavailable(f"{NAME}: the cluster has the nodes {sorted(members)}, and not {sorted(wanted)}")
    except BaseException:
        peer.end()
        raise
    peer.member_ports = ports
    return peer


def _settings(first_port: int) -> str:
    return (
        f"{SETTINGS}cluster_formation.peer_discovery_backend = classic_config\n"
        f"cluster_formation.classic_config.nodes.1 = {node_name(first_port)}\n"
    )


def ask_node(installation: Installation, scratch: Path, port: int, mapper_port: int, call: str) -> str:
    """Evaluate an Erlang call that returns a list of atoms at a node, and return them with blanks between. Raises
    PeerUnavailable."""
    module, _, function = call.removesuffix("()").partition(":")
    program = (
        f"case rpc:call('{node_name(port)}', {module}, {function}, []) of "
        'Found when is_list(Found) -> [io:format("~s ", [Each]) || Each <- Found]; '
        'Other -> io:format(standard_error, "~0p", [Other]) end, halt().'
    )
    environment = installation.environment(scratch, "ask", port, mapper_port)
    command = [str(installation.emulator / "erlexec"), "-noinput", "-sname", f"ask{port}@localhost", "-eval", program]
    try:
        done = subprocess.run(
            command, env=environment, cwd=scratch, capture_output=True, text=True, timeout=_ASK_SECONDS_MAX, check=False
        )
    except (OSError, subprocess.TimeoutExpired) as failure:
        raise PeerUnavailable(f"{NAME}: its first node cannot be asked for its members: {failure}") from None
    if done.returncode or not done.stdout.strip():
        text = " ".join((done.stderr or done.stdout).split())[-300:]
        raise PeerUnavailable(f"{NAME}: its first node does not tell its members: {text or 'it said nothing'}")
    return done.stdout
