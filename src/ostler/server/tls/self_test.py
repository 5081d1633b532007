"""Self-tests of certificates before they are used: TLS handshakes in memory."""

from __future__ import annotations

import ssl
from typing import Final

from ostler.model.cipher_specs import require
from ostler.server.tls.key_repository import KeyRepository, OwnCertificate, RepositoryError
from ostler.server.tls.suites import new_context
from ostler.wire.tls_stream import TlsFailed, TlsRules, TlsStream

_ROUND_TRIPS: Final = 4
# It suits any key.
_ANY_SPEC: Final = "ANY_TLS12_OR_HIGHER"


class _SelfTestRules(TlsRules):
    """The TLS rules of a self-test: they accept any peer."""

    def __init__(self, context: ssl.SSLContext) -> None:
        self._context = context

    def context(self, channel: str) -> ssl.SSLContext:
        return self._context

    def check(self, stream: TlsStream) -> None:
        return


def self_test_server(context: ssl.SSLContext, cipher_spec: str, certificate: OwnCertificate) -> None:
    """Check that certificate, key and CipherSpec fit, and that the certificate is valid. Raises RepositoryError."""
    other = new_context(require(cipher_spec), is_server=False)
    _trust_only(other, certificate)
    _handshake(other, context, certificate, f" with CipherSpec {cipher_spec}")


def self_test_client(repository: KeyRepository, certificate: OwnCertificate) -> None:
    """Check a client's certificate in the same way. Which suites suit its key is for the server to decide."""
    client = new_context(require(_ANY_SPEC), is_server=False)
    client.verify_mode = ssl.CERT_NONE
    server = new_context(require(_ANY_SPEC), is_server=True)
    server.verify_mode = ssl.CERT_REQUIRED
    repository.load_certificate(client, certificate)
    repository.load_certificate(server, certificate)
    _trust_only(server, certificate)
    _handshake(client, server, certificate, "")


def _trust_only(context: ssl.SSLContext, certificate: OwnCertificate) -> None:
    context.verify_flags |= ssl.VERIFY_X509_PARTIAL_CHAIN
    try:
        context.load_verify_locations(cadata=certificate.chain.decode("ascii", "replace"))
    except ssl.SSLError as error:
        raise RepositoryError(f"{certificate.files}: {error.reason}") from None


def _handshake(
    client_context: ssl.SSLContext, server_context: ssl.SSLContext, certificate: OwnCertificate, how: str
) -> None:
    try:
        server = TlsStream(_SelfTestRules(server_context), is_server=True)
        client = TlsStream(_SelfTestRules(client_context), is_server=False, channel="TRIAL")
        for _ in range(_ROUND_TRIPS):
            server.receive_data(client.take_output())
            client.receive_data(server.take_output())
        assert server.is_ready
        assert client.is_ready
    except TlsFailed as failure:
        raise RepositoryError(f"{certificate.files} cannot be used{how}: {str(failure).rstrip('.')}") from None
