"""Mutual TLS between the instances of a group.

Who can send the log can write anything into every queue. So both sides present a certificate of the group's own
authority, never one of a channel, and its common name is the name of the instance. The name that an instance gives in
its first frame must be that of its certificate.
"""

from __future__ import annotations

import ssl
from pathlib import Path
from typing import Final

from ostler.model import constants as mq
from ostler.model.cipher_specs import require
from ostler.server.tls.key_repository import RepositoryError, load_repository
from ostler.server.tls.suites import new_context
from ostler.wire.tls_stream import ALERT_UNRECOGNIZED_NAME, TlsFailed, TlsRules, TlsStream

# In place of a channel's name in the handshake: a partner that wants a channel has the wrong address.
SERVER_NAME: Final = "REPLICATION"


class GroupTls:
    """Makes both sides of connections within a group, from the key repository of the group."""

    def __init__(
        self,
        repository: Path,
        password: str,
        label: str,
        cipher_spec: str,
        instances: frozenset[str] | None,
        server_name: str = SERVER_NAME,
    ) -> None:
        """`label` is that of this instance's certificate; `instances` are the names that may connect, None: all that
        the group's authority has certified, whose names are compared later. `server_name` is what both sides mean to
        speak. Raises RepositoryError and MQError."""
        loaded = load_repository(repository, password)
        certificate = loaded.find(label, ())
        if certificate is None:
            raise RepositoryError(f"{loaded.path} holds no certificate with its key under label {label!r}")
        if not loaded.authorities:
            raise RepositoryError(f"{loaded.path} holds no certificate of the group's authority (ca.crt)")
        self._instances = instances
        self._server_name = server_name
        self._contexts: dict[bool, ssl.SSLContext] = {}
        for is_server in (False, True):
            context = new_context(require(cipher_spec), is_server)
            loaded.load_certificate(context, certificate)
            loaded.load_trust(context)
            context.verify_mode = ssl.CERT_REQUIRED
            self._contexts[is_server] = context

    def stream(self, is_server: bool) -> TlsStream:
        """Return one side of a new connection."""
        rules = _GroupRules(self._contexts[is_server], self._instances, self._server_name)
        return TlsStream(rules, is_server, "" if is_server else self._server_name)


class _GroupRules(TlsRules):
    def __init__(self, context: ssl.SSLContext, instances: frozenset[str] | None, server_name: str) -> None:
        self._context = context
        self._instances = instances
        self._server_name = server_name

    def context(self, channel: str) -> ssl.SSLContext:
        if channel != self._server_name:
            raise TlsFailed(
                mq.MQRC_UNKNOWN_CHANNEL_NAME,
                f"AMQ3230E: channel {channel!r} was asked for at the address for {self._server_name.lower()}.",
                ALERT_UNRECOGNIZED_NAME,
            )
        return self._context

    def check(self, stream: TlsStream) -> None:
        name = certified_instance(stream)
        if self._instances is not None and name not in self._instances:
            known = ", ".join(sorted(self._instances))
            raise TlsFailed(
                mq.MQRC_SSL_PEER_NAME_MISMATCH,
                f"AMQ3230E: the certificate of {stream.peer_subject()} is of no instance of the group ({known}).",
            )


def certified_instance(stream: TlsStream) -> str:
    """Return the instance that the certificate of the peer names; empty for none."""
    names = stream.peer_subject().values("CN")
    return names[0] if len(names) == 1 else ""
