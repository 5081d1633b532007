"""A RabbitMQ node of our own, with an Erlang port mapper of its own, on loopback only.

The scripts of the packages expect to find Erlang below `/usr`. The Erlang emulator is started without them, with the
same arguments, so that it runs from anywhere.
"""

from __future__ import annotations

import os
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
_START_SECONDS_MAX = 90.0
_SETTINGS = "loopback_users = none\nlog.file.level = warning\nlog.console.level = warning\n"
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
    root = unpack_packages(NAME, PACKAGES, PROOF)
    emulators = sorted(root.glob(_EMULATOR))
    if not emulators:
        raise PeerUnavailable(f"{NAME}: there is no Erlang below {root}")
    home = sorted(root.glob(_SERVER))[-1]
    scratch.mkdir(parents=True, exist_ok=True)
    (scratch / "plugins").write_text(f"[{','.join(plugins)}].\n")
    settings = _SETTINGS
    if definitions:
        (scratch / "definitions.json").write_text(definitions)
        settings += f"load_definitions = {scratch / 'definitions.json'}\n"
    (scratch / "rabbitmq.conf").write_text(settings)
    environment = _environment(root, emulators[-1], home, scratch, port)
    peer = Peer(NAME, version(root), port, scratch / "rabbitmq.log", durability=DURABILITY)
    mapper_port = environment["ERL_EPMD_PORT"]
    peer.add([str(emulators[-1] / "epmd"), "-port", mapper_port, "-address", LOOPBACK], environment, scratch)
    peer.add([str(emulators[-1] / "erlexec"), *_OPTIONS], environment, scratch)
    peer.wait_until_listening(_START_SECONDS_MAX)
    return peer


def version(root: Path) -> str:
    """Return the version from the name of its directory."""
    return sorted(root.glob(_SERVER))[-1].name.rpartition("-")[2]


def _environment(root: Path, emulator: Path, home: Path, scratch: Path, port: int) -> dict[str, str]:
    return {
        **{key: value for key, value in os.environ.items() if not key.startswith(("RABBITMQ_", "ERL_"))},
        "ROOTDIR": str(root / "usr/lib/erlang"),
        "BINDIR": str(emulator),
        "EMU": "beam",
        "PROGNAME": str(emulator / "erlexec"),
        "PATH": f"{emulator}{os.pathsep}{os.environ.get('PATH', '')}",
        "HOME": str(scratch),
        "ERL_LIBS": str(home / "plugins"),
        "ERL_EPMD_PORT": str(free_port()),
        "ERL_EPMD_ADDRESS": LOOPBACK,
        "ERL_MAX_PORTS": "65536",
        "ERL_MAX_ETS_TABLES": "50000",
        "RABBITMQ_HOME": str(home),
        "RABBITMQ_PLUGINS_DIR": str(home / "plugins"),
        "RABBITMQ_NODENAME": f"lab{port}@localhost",
        "RABBITMQ_NODE_IP_ADDRESS": LOOPBACK,
        "RABBITMQ_NODE_PORT": str(port),
        "RABBITMQ_DIST_PORT": str(free_port()),
        "RABBITMQ_MNESIA_BASE": str(scratch / "mnesia"),
        "RABBITMQ_LOG_BASE": str(scratch / "log"),
        "RABBITMQ_CONFIG_FILE": str(scratch / "rabbitmq"),
        "RABBITMQ_CONF_ENV_FILE": str(scratch / "none"),
        "RABBITMQ_ENABLED_PLUGINS_FILE": str(scratch / "plugins"),
        "RABBITMQ_PID_FILE": str(scratch / "pid"),
    }
