"""The connection options of the sample programs: address, user and TLS.

A password is never an argument, as other users of the machine could read it. It comes from a file, from
OSTLER_PASSWORD, or from a prompt.
"""

from __future__ import annotations

import argparse
import getpass
import os
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import ostler
from ostler.client.api.connection import Connection
from ostler.client.locate.connect_parameters import TlsSettings
from ostler.client.locate.registry import running_managers
from ostler.server.config.default_manager import default_name
from ostler.server.config.directories import INSTANCE_SEPARATOR, QueueManagerDirectory, data_root, locate

ANY_CIPHER: Final = "ANY_TLS12_OR_HIGHER"
_CLIENT_VARIABLES: Final = ("MQSERVER", "MQCCDTURL", "MQCHLLIB", "MQCHLTAB")
_SECRET_BYTES_MAX: Final = 4096
_TLS: Final = (
    # option, metavar, field of TlsSettings, help
    ("cipher", "SPEC", "cipher_spec", "the CipherSpec, by MQ's name; --tls alone: " + ANY_CIPHER),
    ("ca-file", "FILE", "ca_file", "certificates to trust, in PEM"),
    ("certificate", "FILE", "certificate_file", "the certificate to show, in PEM"),
    ("key", "FILE", "key_file", "its key, in PEM"),
    ("key-repository", "PATH", "key_repository", "a key repository instead of these files"),
    ("certificate-label", "LABEL", "certificate_label", "which certificate of the repository"),
    ("peer-name", "PATTERN", "peer_name", "what the server's certificate must be for, such as CN=QM1"),
)


class UsageError(Exception):
    """Invalid usage; the text is the reason."""


def add_arguments(parser: argparse.ArgumentParser, prefix: str = "", has_short: bool = True) -> None:
    """Adds the options. With a prefix, such as "to-", they are those of a second connection.

    Without `has_short` there is no -c, for a program whose own it is.
    """
    group = parser.add_argument_group("where it goes" if prefix else "connection")
    short = ["-c"] if has_short and not prefix else []
    group.add_argument(
        *short,
        f"--{prefix}connection",
        metavar="NAMES",
        default="",
        help="connect over the network: host(1414),host2(1414)",
    )
    group.add_argument(f"--{prefix}channel", metavar="NAME", default="", help="the server-connection channel to use")
    group.add_argument(f"--{prefix}user", metavar="NAME", help="who connects; the password is asked for, unless")
    group.add_argument(
        f"--{prefix}password-file",
        type=Path,
        metavar="FILE",
        help=f"it is in a file, or in {_password_variable(prefix)}",
    )
    group.add_argument(f"--{prefix}tls", action="store_true", help="secure the connection")
    for option, metavar, _, words in _TLS:
        group.add_argument(f"--{prefix}{option}", metavar=metavar, default="", help=words)
    group.add_argument(
        f"--{prefix}key-password-file", type=Path, metavar="FILE", help="what the key is locked with, in a file"
    )


def connect(arguments: argparse.Namespace, queue_manager: str | None, prefix: str = "") -> Connection:
    """Connects according to the options."""
    options = _Options(arguments, prefix)
    given: dict[str, Any] = {}
    if options.text("connection"):
        given["connection_name"] = options.text("connection")
    if options.text("channel"):
        given["channel"] = options.text("channel")
    tls = tls_settings(arguments, prefix)
    if tls is not None:
        given["tls"] = tls
    is_remote = bool(given) or any(os.environ.get(name) for name in _CLIENT_VARIABLES)
    user = options.text("user")
    if user:
        given["user"] = user
        given["password"] = password(user, options.path("password-file"), prefix, os.environ)
    name = _name(queue_manager, is_remote)
    if INSTANCE_SEPARATOR in name:
        directory = _instance(name, is_remote)
        name = directory.name
        given |= {"binding": "local", "data": directory.root}
    elif not is_remote and not any(each.name == name for each in running_managers()):
        # A stopped queue manager is not started for one command: nonpersistent messages would end with it.
        given["binding"] = "local"
    return ostler.connect(name, application=f"ostler {arguments.command}", **given)


def tls_settings(arguments: argparse.Namespace, prefix: str = "") -> TlsSettings | None:
    """Returns the TLS settings of the options; None without any."""
    options = _Options(arguments, prefix)
    fields: dict[str, Any] = {field: options.text(option) for option, _, field, _ in _TLS}
    locked = options.path("key-password-file")
    if not (getattr(arguments, f"{prefix}tls".replace("-", "_")) or any(fields.values()) or locked):
        return None
    fields["cipher_spec"] = fields["cipher_spec"] or ANY_CIPHER
    return TlsSettings(**fields, key_password=_secret(locked) if locked else "")


class _Options:
    """The options of one of the two connections."""

    def __init__(self, arguments: argparse.Namespace, prefix: str) -> None:
        self._values = vars(arguments)
        self._prefix = prefix

    def text(self, option: str) -> str:
        return str(self._values[self._key(option)] or "")

    def path(self, option: str) -> Path | None:
        found = self._values[self._key(option)]
        return found if isinstance(found, Path) else None

    def _key(self, option: str) -> str:
        return f"{self._prefix}{option}".replace("-", "_")


def _name(queue_manager: str | None, is_remote: bool) -> str:
    """Returns the name to connect to. Without one: any queue manager over the network, else the default one here."""
    if queue_manager is not None or is_remote:
        return queue_manager or ""
    found = default_name(data_root(os.environ))
    if not found:
        raise UsageError("name a queue manager; there is no default one, and neither -c nor MQSERVER names one")
    return found


def _instance(name: str, is_remote: bool) -> QueueManagerDirectory:
    """Returns the directory of an instance of this machine, such as QM1@alpha."""
    if is_remote:
        manager = name.partition(INSTANCE_SEPARATOR)[0]
        raise UsageError(f"{name} is an instance of this machine; over the network name the queue manager: {manager}")
    try:
        return locate(data_root(os.environ), name)
    except ValueError as error:
        raise UsageError(str(error)) from None


# -- secrets -----------------------------------------------------------------------------------------------------------


def _password_variable(prefix: str) -> str:
    return f"OSTLER_{prefix.replace('-', '_').upper()}PASSWORD"


def password(user: str, file: Path | None, prefix: str, environment: Mapping[str, str]) -> str:
    """Returns the password: from the file, else from the environment, else from a prompt."""
    if file is not None:
        return _secret(file)
    variable = _password_variable(prefix)
    if variable in environment:
        return environment[variable]
    # The prompt uses the terminal, as standard input may be a pipe.
    try:
        with open("/dev/tty"):
            pass
    except OSError:
        raise UsageError(
            f"there is no terminal to ask for the password of {user}: give --{prefix}password-file or {variable}"
        ) from None
    return getpass.getpass(f"Password of {user}: ", stream=sys.stderr)


def _secret(path: Path) -> str:
    """Returns the first line of a file."""
    try:
        with path.open("rb") as file:
            line = file.readline(_SECRET_BYTES_MAX)
        return line.decode().rstrip("\r\n")
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"{path} holds no password: {error}") from None
