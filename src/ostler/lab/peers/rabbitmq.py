"""A RabbitMQ node of our own, with an Erlang port mapper of its own, on loopback only.

The scripts of the packages expect to find Erlang below `/usr`. The Erlang emulator is started without them, with the
same arguments, so that it runs from anywhere.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from ostler.lab.peers.broker_process import LOOPBACK, Peer, free_port
from ostler.lab.peers.packages import PeerUnavailable, unpack_packages

NAME = "rabbitmq"
PACKAGES = (
    "rabbitmq-server", "erlang-base", "erlang-crypto", "erlang-eldap", "erlang-inets", "erlang-mnesia",
    "erlang-os-mon", "erlang-parsetools", "erlang-public-key", "erlang-runtime-tools", "erlang-ssl",
    "erlang-syntax-tools", "erlang-tools", "erlang-xmerl", "erlang-asn1", "erlang-ftp", "erlang-tftp", "erlang-snmp",
)  # fmt: skip
_SERVER = "usr/lib/rabbitmq/lib/rabbitmq_server-*"
PROOF = f"{_SERVER}/plugins"
DURABILITY = "durable messages forced before confirms; transient ones in memory"
_EMULATOR = "usr/lib/erlang/erts-*/bin"
START_SECONDS_MAX = 90.0
SETTINGS = "loopback_users = none\nlog.file.level = warning\nlog.console.level = warning\n"
# The options of the packages: allocators, limits, and schedulers that do not spin while idle.
_OPTIONS = (
    "-noinput", "-s", "rabbit", "boot", "-boot", "start_sasl", "+W", "w", "+B", "i",
    "+MBas", "ageffcbf", "+MHas", "ageffcbf", "+MBlmbcs", "512", "+MHlmbcs", "512", "+MMmcs", "30",
    "+P", "1048576", "+t", "5000000", "+stbt", "db", "+zdbbl", "128000",
    "+sbwt", "none", "+sbwtdcpu", "none", "+sbwtdio", "none",
    "-syslog", "logger", "[]", "-syslog", "syslog_error_logger", "false",
    "-kernel", "prevent_overlapping_partitions", "false", "-kernel", "inet_dist_use_interface", "{127,0,0,1}",
)  # fmt: skip


def start(scratch: Path) -> Peer:
    """Start it with its state in `scratch`. Raises PeerUnavailable."""
    return start_node(scratch, free_port())


def start_node(scratch: Path, port: int, plugins: tuple[str, ...] = (), definitions: str = "") -> Peer:
    """Start a node that listens on the given port. `definitions` are its initial definitions, as JSON.

    Raises PeerUnavailable.
    """
    installation = find_installation()
    scratch.mkdir(parents=True, exist_ok=True)
    (scratch / "plugins").write_text(f"[{','.join(plugins)}].\n")
    settings = SETTINGS
    if definitions:
        (scratch / "definitions.json").write_text(definitions)
        settings += f"load_definitions = {scratch / 'definitions.json'}\n"
    (scratch / "rabbitmq.conf").write_text(settings)
    peer = Peer(NAME, version(installation.root), port, scratch / "rabbitmq.log", durability=DURABILITY)
    environment = installation.environment(scratch, "rabbitmq", port, free_port())
    peer.add(installation.mapper(environment), environment, scratch)
    peer.add(installation.emulator_command(), environment, scratch)
    peer.wait_until_listening(START_SECONDS_MAX)
    return peer


@dataclass(frozen=True)
class Installation:
    """The unpacked packages: where Erlang is, and where RabbitMQ is."""

    root: Path
    emulator: Path
    home: Path

    def mapper(self, environment: Mapping[str, str]) -> list[str]:
        """Return the command of an Erlang port mapper."""
        return [str(self.emulator / "epmd"), "-port", environment["ERL_EPMD_PORT"], "-address", LOOPBACK]

    def emulator_command(self, *more: str) -> list[str]:
        """Return the command of a node."""
        return [str(self.emulator / "erlexec"), *_OPTIONS, *more]

    def environment(self, state: Path, name: str, port: int, mapper_port: int) -> dict[str, str]:
        """Return the environment of a node: `state` is the directory of all its files, `name` that of its configuration
        file there."""
        return {
            **{key: value for key, value in os.environ.items() if not key.startswith(("RABBITMQ_", "ERL_"))},
            "ROOTDIR": str(self.root / "usr/lib/erlang"),
            "BINDIR": str(self.emulator),
            "EMU": "beam",
            "PROGNAME": str(self.emulator / "erlexec"),
            "PATH": f"{self.emulator}{os.pathsep}{os.environ.get('PATH', '')}",
            "HOME": str(state),
            "ERL_LIBS": str(self.home / "plugins"),
            "ERL_EPMD_PORT": str(mapper_port),
            "ERL_EPMD_ADDRESS": LOOPBACK,
            "ERL_MAX_PORTS": "65536",
            "ERL_MAX_ETS_TABLES": "50000",
            "RABBITMQ_HOME": str(self.home),
            "RABBITMQ_PLUGINS_DIR": str(self.home / "plugins"),
            "RABBITMQ_NODENAME": node_name(port),
            "RABBITMQ_NODE_IP_ADDRESS": LOOPBACK,
            "RABBITMQ_NODE_PORT": str(port),
            "RABBITMQ_DIST_PORT": str(free_port()),
            "RABBITMQ_MNESIA_BASE": str(state / "mnesia"),
            "RABBITMQ_LOG_BASE": str(state / "log"),
            "RABBITMQ_CONFIG_FILE": str(state / name),
            "RABBITMQ_CONF_ENV_FILE": str(state / "none"),
            "RABBITMQ_ENABLED_PLUGINS_FILE": str(state / "plugins"),
            "RABBITMQ_PID_FILE": str(state / f"{name}.pid"),
        }


def find_installation() -> Installation:
    """Return the packages, and fetch them first if needed. Raises PeerUnavailable."""
    root = unpack_packages(NAME, PACKAGES, PROOF)
    emulators = sorted(root.glob(_EMULATOR))
    if not emulators:
        raise PeerUnavailable(f"{NAME}: there is no Erlang below {root}")
    return Installation(root, emulators[-1], sorted(root.glob(_SERVER))[-1])


def node_name(port: int) -> str:
    """Return the name of the node that listens on a port."""
    return f"lab{port}@localhost"


def version(root: Path) -> str:
    """Return the version from the name of its directory."""
    return sorted(root.glob(_SERVER))[-1].name.rpartition("-")[2]
