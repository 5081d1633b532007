"""TLS over real sockets: a queue manager, its channels, and clients that are welcome or not."""

from __future__ import annotations

import socket
import ssl
import threading
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from tests.world.tls_pairs import TestCertificates, make_certificates

import ostler
from ostler.client.api.connection import Connection
from ostler.client.locate.connect_parameters import TlsSettings
from ostler.model.constants import (
    MQRC_KEY_REPOSITORY_ERROR,
    MQRC_SSL_INITIALIZATION_ERROR,
    MQRC_SSL_PEER_NAME_MISMATCH,
    MQRC_UNKNOWN_CHANNEL_NAME,
)
from ostler.model.errors import MQError
from ostler.server.tls.key_repository import default_labels
from ostler.testing import RunningQueueManager, queue_manager

CHANNELS = """\
DEFINE QLOCAL(ORDERS)
DEFINE CHANNEL(BOTH) CHLTYPE(SVRCONN) SSLCIPH(ANY_TLS12_OR_HIGHER) SSLCAUTH(REQUIRED)
DEFINE CHANNEL(ANONYMOUS) CHLTYPE(SVRCONN) SSLCIPH(ANY_TLS12_OR_HIGHER) SSLCAUTH(OPTIONAL)
DEFINE CHANNEL(PEER) CHLTYPE(SVRCONN) SSLCIPH(ANY_TLS12_OR_HIGHER) SSLPEER('CN=somebody else')
DEFINE CHANNEL(PLAIN) CHLTYPE(SVRCONN)
"""


@pytest.fixture(scope="module")
def qm() -> Iterator[RunningQueueManager]:
    with queue_manager(mqsc=CHANNELS) as running:
        yield running


@pytest.fixture(scope="module")
def made(qm: RunningQueueManager) -> TestCertificates:
    return make_certificates(qm.manager.directory.path, qm.name)


@pytest.fixture
def settings(made: TestCertificates) -> TlsSettings:
    return TlsSettings(key_repository=str(made.client), peer_name="OU=Broking")


def connect(qm: RunningQueueManager, channel: str, tls: TlsSettings | None) -> Connection:
    return ostler.connect(qm.name, qm.connection_name, channel=channel, tls=tls)


def refused(qm: RunningQueueManager, channel: str, tls: TlsSettings | None) -> MQError:
    with pytest.raises(MQError) as caught:
        connect(qm, channel, tls)
    return caught.value


@pytest.mark.parametrize(
    "spec", ["", "TLS_AES_128_GCM_SHA256", "ECDHE_RSA_AES_256_CBC_SHA384", "TLS_RSA_WITH_AES_256_GCM_SHA384"]
)
def test_messages_go_through(qm: RunningQueueManager, settings: TlsSettings, spec: str) -> None:
    body = bytes(range(256)) * 8_000
    with connect(qm, "BOTH", replace(settings, cipher_spec=spec)) as connection, connection.open("ORDERS") as queue:
        queue.put(body)
        queue.put(b"small")
        first, second = queue.get(), queue.get()
    assert first is not None
    assert second is not None
    assert (first.body, second.body) == (body, b"small")


def test_tls_and_plain_share_a_port(qm: RunningQueueManager, settings: TlsSettings) -> None:
    with connect(qm, "BOTH", settings) as secure, connect(qm, "PLAIN", None) as plain:
        plain.put("ORDERS", b"across")
        with secure.open("ORDERS") as queue:
            message = queue.get()
    assert message is not None
    assert message.body == b"across"


def test_clients_that_are_not_welcome(qm: RunningQueueManager, made: TestCertificates, settings: TlsSettings) -> None:
    anonymous = TlsSettings(cipher_spec="ANY_TLS12", ca_file=str(made.ca_file))
    assert refused(qm, "BOTH", anonymous).reason == MQRC_SSL_INITIALIZATION_ERROR
    assert refused(qm, "BOTH", None).reason == MQRC_SSL_INITIALIZATION_ERROR
    assert refused(qm, "PLAIN", settings).reason == MQRC_SSL_INITIALIZATION_ERROR
    assert refused(qm, "NONE.SUCH", settings).reason == MQRC_UNKNOWN_CHANNEL_NAME
    assert refused(qm, "BOTH", replace(settings, peer_name="CN=other")).reason == MQRC_SSL_PEER_NAME_MISMATCH
    assert refused(qm, "PEER", settings)
    with connect(qm, "ANONYMOUS", anonymous) as connection:
        connection.put("ORDERS", b"from nobody")
    qm.mqsc("CLEAR QLOCAL(ORDERS)")
    noted = "\n".join(qm.manager.notices)
    for number in ("AMQ9637E", "AMQ9639E", "AMQ9635E", "AMQ9519E", "AMQ9636E"):
        assert number in noted


def test_certificates_are_renewed_while_connections_go_on(
    qm: RunningQueueManager, made: TestCertificates, settings: TlsSettings
) -> None:
    label = default_labels(qm.name)[0]
    with connect(qm, "BOTH", settings) as before:
        key = made.manager / f"{label}.key"
        good = key.read_bytes()
        key.write_bytes(b"spoilt")
        with pytest.raises(MQError, match="stay in use") as caught:
            qm.server.refresh_tls()
        assert caught.value.reason == MQRC_KEY_REPOSITORY_ERROR
        connect(qm, "BOTH", settings).close()
        key.write_bytes(good)
        made.authority.issue(made.manager, label, [("CN", "renewed"), ("OU", "Broking")])
        qm.mqsc("REFRESH SECURITY TYPE(SSL)")
        connect(qm, "BOTH", replace(settings, peer_name="CN=renewed")).close()
        before.put("ORDERS", b"still here")
    qm.mqsc("CLEAR QLOCAL(ORDERS)")


def test_many_at_once(qm: RunningQueueManager, settings: TlsSettings) -> None:
    """Handshakes of several clients in one pass of the reactor do not get in each other's way."""
    done: list[int] = []

    def work(number: int) -> None:
        with connect(qm, "BOTH", settings) as connection:
            for _ in range(5):
                connection.put("ORDERS", b"x" * 5_000)
            done.append(number)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert sorted(done) == list(range(8))
    assert qm.depth("ORDERS") == 40
    qm.mqsc("CLEAR QLOCAL(ORDERS)")


@pytest.mark.parametrize("piece", [1, 100, 100_000])
def test_a_client_that_breaks_off_in_the_handshake_leaves_nothing(
    qm: RunningQueueManager, settings: TlsSettings, made: TestCertificates, piece: int
) -> None:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.load_verify_locations(made.ca_file)
    outgoing = ssl.MemoryBIO()
    client = context.wrap_bio(ssl.MemoryBIO(), outgoing, server_hostname="both.chl.ostler")
    with pytest.raises(ssl.SSLWantReadError):
        client.do_handshake()
    with socket.create_connection((qm.host, qm.port)) as connected:
        connected.sendall(outgoing.read()[:piece])
    with connect(qm, "BOTH", settings) as connection:
        connection.put("ORDERS", b"x")
    qm.mqsc("CLEAR QLOCAL(ORDERS)")
    assert qm.depth("ORDERS") == 0


def test_the_repository_is_where_sslkeyr_says(
    qm: RunningQueueManager, made: TestCertificates, settings: TlsSettings, tmp_path: Path
) -> None:
    made.authority.issue(tmp_path / "elsewhere", "tls", [("CN", "elsewhere")], "ec")
    qm.mqsc(f"ALTER QMGR SSLKEYR('{tmp_path / 'elsewhere'}')\nREFRESH SECURITY TYPE(SSL)")
    try:
        connect(qm, "BOTH", replace(settings, peer_name="CN=elsewhere")).close()
    finally:
        qm.mqsc("ALTER QMGR SSLKEYR(' ')\nREFRESH SECURITY TYPE(SSL)")
