"""The address of the queue manager as options of Spark's data source: the one that the sample programs use."""

from __future__ import annotations

import argparse
import os
from collections.abc import Mapping
from pathlib import Path

from ostler.cli.samples import connection as sample_connection
from ostler.client.locate import ccdt
from ostler.client.locate.endpoints import parse_mqserver
from ostler.server.config.default_manager import default_name
from ostler.server.config.directories import QueueManagerDirectory, data_root
from ostler.server.net.local_socket import socket_path


def source_options(arguments: argparse.Namespace, environment: Mapping[str, str] = os.environ) -> dict[str, str]:
    """Returns the options. Raises UsageError without an address, MQError for an invalid environment."""
    tls = _tls_options(arguments)
    table = ccdt.location("", environment)
    server = environment.get("MQSERVER", "").strip()
    name = arguments.queue_manager or ""
    if arguments.connection:
        found = {"connectionName": arguments.connection}
    elif (arguments.channel or tls or not _runs_here(name, environment)) and server:
        channel, addresses = parse_mqserver(server)
        found = {"connectionName": ",".join(f"{each.host}({each.port})" for each in addresses), "channel": channel}
    elif (arguments.channel or tls or not _runs_here(name, environment)) and table is not None:
        found = {"ccdt": str(table.absolute())}
    elif arguments.channel or tls:
        raise sample_connection.UsageError("a channel and TLS are for the network: give -c host(1414)")
    else:
        name = name or default_name(data_root(environment))
        if not name:
            raise sample_connection.UsageError(
                "name a queue manager; there is no default one, and neither -c nor MQSERVER names one"
            )
        found = {"binding": "local", "data": str(data_root(environment))}
    if arguments.channel:
        found["channel"] = arguments.channel
    if arguments.user:
        found["user"] = arguments.user
        found["password"] = sample_connection.password(arguments.user, arguments.password_file, "", environment)
    return {"queueManager": name, **found, **tls}


def _runs_here(name: str, environment: Mapping[str, str]) -> bool:
    """Returns whether a queue manager of this name runs on this machine: it precedes the environment."""
    if not name:
        return False
    directory = QueueManagerDirectory(data_root(environment), name)
    try:
        return directory.exists() and socket_path(directory).exists()
    except ValueError:
        return False


def _tls_options(arguments: argparse.Namespace) -> dict[str, str]:
    tls = sample_connection.tls_settings(arguments)
    if tls is None:
        return {}
    options = {"cipherSpec": tls.cipher_spec, "certificateLabel": tls.certificate_label, "peerName": tls.peer_name}
    options["keyPassword"] = tls.key_password
    # Spark's workers have other working directories.
    paths = {
        "caFile": tls.ca_file,
        "certificateFile": tls.certificate_file,
        "keyFile": tls.key_file,
        "keyRepository": tls.key_repository,
    }
    options |= {name: str(Path(path).absolute()) for name, path in paths.items() if path}
    return {name: value for name, value in options.items() if value}
