"""The client side of TLS: a context made from the program's settings, and the checks of the peer.

Certificates come from single PEM files or from a key repository (see `ostler.server.tls.key_repository`). A client
always verifies the certificate of the queue manager: a trusted certificate authority must have signed it. With a peer
name (SSLPEER) its distinguished name must match, too.
"""

from __future__ import annotations

import dataclasses
import getpass
import os
import ssl
from pathlib import Path
from typing import Final

from ostler.client.locate.connect_parameters import TlsSettings
from ostler.model import constants as mq
from ostler.model.cipher_specs import CipherSpec, require
from ostler.model.distinguished_names import check_pattern
from ostler.model.errors import MQError
from ostler.server.tls.contexts import check_peer_name
from ostler.server.tls.key_repository import KeyRepository, RepositoryError, default_labels, from_files, load_repository
from ostler.server.tls.suites import check_suite, new_context
from ostler.wire.connect_frames import KEY_RESET_BYTES_MIN, KEY_RESET_VERSION, Hello
from ostler.wire.tls_stream import TlsFailed, TlsRules, TlsStream

# For programs that ask for TLS and name no CipherSpec.
DEFAULT_CIPHER_SPEC: Final = "ANY_TLS12_OR_HIGHER"


class ClientTls(TlsRules):
    """The TLS rules of a client. Files are read once, here; make another instance to read them again.

    Raises MQError: UNSUPPORTED_CIPHER_SUITE, KEY_REPOSITORY_ERROR, SSL_PEER_NAME_ERROR.
    """

    def __init__(self, settings: TlsSettings, user: str = "") -> None:
        """`user` gives the default label of a certificate; without one it is the user of this process."""
        self.settings = settings
        self.spec: CipherSpec = require(settings.cipher_spec or DEFAULT_CIPHER_SPEC)
        try:
            check_pattern(settings.peer_name)
        except ValueError as error:
            raise MQError(mq.MQRC_SSL_PEER_NAME_ERROR, f"{settings.peer_name!r}: {error}.") from None
        try:
            self._context = _make_context(self.spec, settings, user)
        except RepositoryError as error:
            raise MQError(mq.MQRC_KEY_REPOSITORY_ERROR, f"{error}.") from None

    def stream(self, channel: str) -> TlsStream:
        """Return the TLS stream of one new connection to a channel. Its first output is ready at once."""
        try:
            return TlsStream(self, is_server=False, channel=channel)
        except TlsFailed as failure:
            raise as_error(failure) from None

    def context(self, channel: str) -> ssl.SSLContext:
        return self._context

    def check(self, stream: TlsStream) -> None:
        check_suite(self.spec, stream)
        check_peer_name(self.settings.peer_name, stream)


def key_reset_bytes(settings: TlsSettings, negotiated: Hello) -> int:
    """Return the bytes after which a link asks for new keys: the client's or the queue manager's, whichever is fewer.

    0 means never; a queue manager of an older release does not change keys with clients.
    """
    if negotiated.version < KEY_RESET_VERSION:
        return 0
    wanted = [count for count in (settings.key_reset_bytes, int(negotiated.key_reset_bytes)) if count > 0]
    return max(min(wanted), KEY_RESET_BYTES_MIN) if wanted else 0


def as_error(failure: TlsFailed) -> MQError:
    """Convert a TLS failure to the error that verbs raise."""
    return MQError(failure.reason, failure.text)


def _make_context(spec: CipherSpec, settings: TlsSettings, user: str) -> ssl.SSLContext:
    repository, certificate = _repository(settings), None
    if settings.certificate_file:
        own = from_files("", settings.certificate_file, settings.key_file, settings.key_password)
        certificate = own.certificates[""]
    elif settings.key_repository:
        certificate = repository.find(settings.certificate_label, default_labels(user or _who()))
        if certificate is None and settings.certificate_label:
            raise RepositoryError(
                f"{repository.path} holds no certificate with its key under label {settings.certificate_label!r}"
            )
    if not repository.authorities:
        raise RepositoryError(
            f"{repository.path} holds no certificate of an authority (ca.crt) to verify the queue manager with"
        )
    context = new_context(spec, is_server=False)
    repository.load_trust(context)
    if certificate is not None:
        repository.load_certificate(context, certificate)
    return context


def _repository(settings: TlsSettings) -> KeyRepository:
    """Return the key repository. The authorities of `ca_file`, if given, replace its own."""
    if settings.key_repository:
        found = load_repository(Path(os.path.expanduser(settings.key_repository)), settings.key_password)
        if not settings.ca_file:
            return found
        other = from_files(settings.ca_file, "", "", "")
        return dataclasses.replace(found, path=other.path, authorities=other.authorities)
    if not settings.ca_file:
        raise RepositoryError(
            "TLS needs certificates to trust: give ca_file (a PEM file) or key_repository, or set MQSSLKEYR"
        )
    return dataclasses.replace(from_files(settings.ca_file, "", "", ""), password=settings.key_password)


def _who() -> str:
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        # In a container the user may have no name; then it has no default label either.
        return ""
