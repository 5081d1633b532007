"""Certificates for tests, and two sides of TLS that talk to each other in memory."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from ostler.server.tls.certificate_maker import Authority
from ostler.server.tls.key_repository import default_labels
from ostler.wire.tls_stream import TlsStream

ELLIPTIC_LABEL = "elliptic"
APPLICATION_LABEL = "app1"


@dataclass(frozen=True)
class TestCertificates:
    """An authority, a queue manager's key repository and a client's, all in one directory.

    `manager` holds an RSA certificate under the queue manager's default label and an EC one under ELLIPTIC_LABEL.
    """

    # Its name is not that of a test case.
    __test__ = False

    authority: Authority
    manager: Path
    client: Path

    @property
    def ca_file(self) -> Path:
        return self.authority.certificate


def make_certificates(directory: Path, queue_manager: str = "QM1") -> TestCertificates:
    """Make what both sides need; under half a second. The manager's are where it looks if `directory` is its own."""
    authority = Authority(directory / "ca")
    authority.create("Test authority", "ec")
    manager, client = directory / "ssl" / "key", directory / "client"
    subject = [("CN", queue_manager), ("OU", "Broking"), ("OU", "Desk 7"), ("O", "Ostler"), ("C", "GB")]
    authority.issue(manager, default_labels(queue_manager)[0], subject)
    authority.issue(manager, ELLIPTIC_LABEL, subject, "ec")
    authority.issue(client, APPLICATION_LABEL, [("CN", "app1"), ("OU", "Payments"), ("O", "Ostler")], "ec")
    return TestCertificates(authority, manager, client)


def shake_hands(client: TlsStream, server: TlsStream, turns_max: int = 8) -> None:
    """Carry bytes between both sides until they are ready. TlsFailed from the side that refuses first."""
    for _ in range(turns_max):
        server.receive_data(client.take_output())
        client.receive_data(server.take_output())
        if client.is_ready and server.is_ready:
            return
    raise AssertionError("the handshake does not come to an end")
