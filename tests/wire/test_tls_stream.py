"""Both sides of TLS in memory: whole, in pieces, broken off, changed on the way, and too much of it."""

from __future__ import annotations

import _ssl
import contextlib
import ctypes
import ssl
import sys
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.searching import SLOW_MACHINES, examples
from tests.world.tls_pairs import TestCertificates, make_certificates, shake_hands

from ostler.client.link.tls_client import ClientTls
from ostler.client.locate.connect_parameters import TlsSettings
from ostler.model.constants import MQRC_SSL_INITIALIZATION_ERROR, MQRC_UNKNOWN_CHANNEL_NAME
from ostler.server.tls.contexts import ChannelTls, RepositorySettings, TlsContexts
from ostler.wire.server_names import server_name
from ostler.wire.tls_stream import HANDSHAKE_BYTES_MAX, UNASKED_OUTPUT_BYTES_MAX, TlsFailed, TlsRules, TlsStream

CHANNEL = "APP.SVRCONN"
SPECS = ("ECDHE_RSA_AES_256_GCM_SHA384", "TLS_AES_256_GCM_SHA384")


@pytest.fixture(scope="module")
def certificates(tmp_path_factory: pytest.TempPathFactory) -> TestCertificates:
    return make_certificates(tmp_path_factory.mktemp("tls"))


def rules(certificates: TestCertificates, spec: str) -> TlsContexts:
    channel = ChannelTls(CHANNEL, spec)
    place = RepositorySettings("QM1", certificates.manager.parent)
    return TlsContexts(lambda: place, lambda name: channel if name == CHANNEL else None)


def client_tls(certificates: TestCertificates, spec: str) -> ClientTls:
    return ClientTls(TlsSettings(cipher_spec=spec, key_repository=str(certificates.client)))


def pair(certificates: TestCertificates, spec: str = SPECS[1]) -> tuple[TlsStream, TlsStream]:
    return client_tls(certificates, spec).stream(CHANNEL), rules(certificates, spec).stream()


def ready_pair(certificates: TestCertificates, spec: str = SPECS[1]) -> tuple[TlsStream, TlsStream]:
    client, server = pair(certificates, spec)
    shake_hands(client, server)
    return client, server


@pytest.mark.parametrize("spec", SPECS)
def test_both_sides_know_each_other(certificates: TestCertificates, spec: str) -> None:
    client, server = ready_pair(certificates, spec)
    assert server.channel_name == CHANNEL
    assert (server.cipher, client.cipher) == (spec, spec)
    assert server.protocol == ("TLSv1.3" if spec == SPECS[1] else "TLSv1.2")
    assert server.peer_subject().values("CN") == ["app1"]
    assert client.peer_subject().values("OU") == ["Broking", "Desk 7"]
    assert server.peer_issuer().values("CN") == ["Test authority"]


@pytest.mark.parametrize("spec", SPECS)
def test_what_is_said_arrives(certificates: TestCertificates, spec: str) -> None:
    client, server = ready_pair(certificates, spec)
    long = bytes(range(256)) * 4000
    client.encrypt(b"request")
    client.encrypt(long)
    assert server.receive_data(client.take_output()) == b"request" + long
    server.encrypt(b"reply")
    assert server.has_output
    assert client.receive_data(server.take_output()) == b"reply"
    assert not server.has_output


@pytest.mark.parametrize("spec", SPECS)
def test_byte_by_byte(certificates: TestCertificates, spec: str) -> None:
    client, server = pair(certificates, spec)
    for _ in range(6):
        for one in client.take_output():
            assert server.receive_data(bytes((one,))) == b""
        for one in server.take_output():
            assert client.receive_data(bytes((one,))) == b""
    assert client.is_ready
    assert server.is_ready
    client.encrypt(b"request")
    assert b"".join([server.receive_data(bytes((one,))) for one in client.take_output()]) == b"request"


@pytest.mark.parametrize("spec", SPECS)
def test_what_comes_with_the_end_of_the_handshake_is_not_lost(certificates: TestCertificates, spec: str) -> None:
    client, server = pair(certificates, spec)
    while not client.is_ready:
        server.receive_data(client.take_output())
        client.receive_data(server.take_output())
    client.encrypt(b"x" * 200_000)
    assert server.receive_data(client.take_output()) == b"x" * 200_000


def test_nothing_is_known_before_the_handshake_is_done(certificates: TestCertificates) -> None:
    client, server = pair(certificates)
    assert (server.channel_name, server.suite, server.protocol, server.has_certificate) == ("", "", "", False)
    assert not server.can_encrypt
    with pytest.raises(AssertionError):
        client.encrypt(b"too early")


def test_a_proper_end_is_seen_by_the_other_side(certificates: TestCertificates) -> None:
    client, server = ready_pair(certificates)
    client.encrypt(b"last words")
    client.close()
    assert server.receive_data(client.take_output()) == b"last words"
    assert server.is_ended_by_peer
    assert server.receive_data(b"whatever comes behind the end") == b""
    server.receive_eof()
    server.close()
    client.close()


def test_an_end_in_the_handshake_is_a_failure(certificates: TestCertificates) -> None:
    client, server = pair(certificates)
    server.close()
    with pytest.raises(TlsFailed, match="AMQ9665E"):
        server.receive_eof()
    with pytest.raises(TlsFailed, match="AMQ9665E"):
        client.receive_eof()


@pytest.mark.parametrize("spec", SPECS)
def test_a_handshake_broken_off_at_any_byte_makes_nobody_ready(certificates: TestCertificates, spec: str) -> None:
    client, server = pair(certificates, spec)
    hello = client.take_output()
    server.receive_data(hello)
    answer = server.take_output()
    client.receive_data(answer)
    finish = client.take_output()
    fresh = rules(certificates, spec)
    for cut in range(0, len(hello), 7):
        stream = fresh.stream()
        assert stream.receive_data(hello[:cut]) == b""
        assert not stream.is_ready
        with pytest.raises(TlsFailed):
            stream.receive_eof()
    assert server.receive_data(finish[:-1]) == b""
    assert not server.is_ready
    server.receive_data(finish[-1:])
    assert server.is_ready


@pytest.mark.parametrize("spec", SPECS)
@settings(max_examples=examples(40), suppress_health_check=[HealthCheck.function_scoped_fixture, *SLOW_MACHINES])
@given(
    where=st.sampled_from(["hello", "answer", "finish"]),
    at=st.floats(0, 1, exclude_max=True),
    change=st.integers(1, 255),
)
def test_a_handshake_changed_on_the_way_fails(
    certificates: TestCertificates, spec: str, where: str, at: float, change: int
) -> None:
    client, server = pair(certificates, spec)

    def carry(data: bytes, name: str) -> bytes:
        if name != where or not data:
            return data
        place = int(at * len(data))
        return data[:place] + bytes((data[place] ^ change,)) + data[place + 1 :]

    with contextlib.suppress(TlsFailed):
        server.receive_data(carry(client.take_output(), "hello"))
        client.receive_data(carry(server.take_output(), "answer"))
        server.receive_data(carry(client.take_output(), "finish"))
        client.receive_data(server.take_output())
        if server.is_ready and client.is_ready:
            # The version in the header of a record is not protected, and nobody uses it.
            client.encrypt(b"through")
            assert server.receive_data(client.take_output()) == b"through"


@pytest.mark.parametrize("spec", SPECS)
def test_words_changed_on_the_way_are_never_given(certificates: TestCertificates, spec: str) -> None:
    client, server = ready_pair(certificates, spec)
    client.encrypt(b"pay 100")
    data = bytearray(client.take_output())
    data[-3] ^= 1
    with pytest.raises(TlsFailed, match="AMQ9620E") as caught:
        server.receive_data(bytes(data))
    assert caught.value.reason == MQRC_SSL_INITIALIZATION_ERROR


@given(data=st.binary(min_size=1, max_size=300))
@settings(max_examples=examples(30), suppress_health_check=[HealthCheck.function_scoped_fixture, *SLOW_MACHINES])
def test_random_bytes_instead_of_tls_fail(certificates: TestCertificates, data: bytes) -> None:
    _, server = ready_pair(certificates, SPECS[0])
    with contextlib.suppress(TlsFailed):
        assert server.receive_data(data) == b""
    with contextlib.suppress(TlsFailed):
        assert pair(certificates)[0].receive_data(data) == b""


def test_a_first_byte_that_is_no_tls_is_answered_with_an_alert(certificates: TestCertificates) -> None:
    _, server = pair(certificates)
    with pytest.raises(TlsFailed, match="begins no TLS handshake"):
        server.receive_data(b"GET / HTTP/1.1\r\n\r\n")
    assert server.take_output() == bytes((21, 3, 3, 0, 2, 2, 50))


def send_often(stream: TlsStream, data: bytes) -> None:
    for _ in range(10):
        stream.receive_data(data)


def test_a_handshake_has_a_limit(certificates: TestCertificates) -> None:
    client, server = pair(certificates, SPECS[0])
    server.receive_data(client.take_output())
    # The beginning of a certificate of 98,304 bytes, which OpenSSL would wait for.
    server.receive_data(b"\x16\x03\x03\x00\x04\x0b\x01\x80\x00")
    with pytest.raises(TlsFailed, match=f"over {HANDSHAKE_BYTES_MAX} bytes"):
        send_often(server, b"\x16\x03\x03\x3f\xfb" + bytes(16_379))


def test_a_renegotiation_is_refused(certificates: TestCertificates) -> None:
    """TLS 1.2 lets a client ask for another handshake at any time, which costs the server much more than the client."""
    client, server = ready_pair(certificates, SPECS[0])
    own = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    own.check_hostname = False
    own.verify_mode = ssl.CERT_NONE
    own.maximum_version = ssl.TLSVersion.TLSv1_2
    outgoing = ssl.MemoryBIO()
    with contextlib.suppress(ssl.SSLWantReadError):
        own.wrap_bio(ssl.MemoryBIO(), outgoing).do_handshake()
    # As plain text a second hello is an error; there is no way to send one encrypted from Python either.
    with pytest.raises(TlsFailed):
        server.receive_data(outgoing.read())
    assert rules(certificates, SPECS[0]).context(CHANNEL).options & ssl.OP_NO_RENEGOTIATION
    assert client.is_ready


@pytest.mark.skipif(
    sys.version_info >= (3, 15) or not hasattr(_ssl, "__file__"), reason="reaches into objects of the ssl module"
)
def test_a_peer_that_makes_tls_answer_and_does_not_read_is_ended(certificates: TestCertificates) -> None:
    """TLS 1.3 has each side answer a request for new keys; OpenSSL would do so without end."""
    server = rules(certificates, SPECS[1]).stream()
    incoming, outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
    context = client_tls(certificates, SPECS[1]).context(CHANNEL)
    client = context.wrap_bio(incoming, outgoing, server_hostname=server_name(CHANNEL))
    while not server.is_ready:
        with contextlib.suppress(ssl.SSLWantReadError):
            client.do_handshake()
        server.receive_data(outgoing.read())
        incoming.write(server.take_output())
    update = ctypes.CDLL(_ssl.__file__).SSL_key_update
    update.argtypes = [ctypes.c_void_p, ctypes.c_int]
    own: object = client._sslobj  # type: ignore[attr-defined]
    address = ctypes.c_void_p.from_address(id(own) + object.__basicsize__ + ctypes.sizeof(ctypes.c_void_p)).value

    def ask_for_new_keys() -> None:
        for _ in range(5_000):
            assert update(address, 1) == 1
            client.do_handshake()
            server.receive_data(outgoing.read())

    with pytest.raises(TlsFailed, match="requests replies of TLS without reading them"):
        ask_for_new_keys()
    assert len(server.take_output()) < UNASKED_OUTPUT_BYTES_MAX + 100


class _Own(TlsRules):
    """Any context, and a check that says no."""

    def __init__(self, context: ssl.SSLContext, refusal: str = "") -> None:
        self._context = context
        self._refusal = refusal

    def context(self, channel: str) -> ssl.SSLContext:
        return self._context

    def check(self, stream: TlsStream) -> None:
        if self._refusal:
            raise TlsFailed(MQRC_SSL_INITIALIZATION_ERROR, self._refusal)


@pytest.mark.parametrize("spec", SPECS)
def test_rules_are_asked_before_a_byte_is_given_and_the_peer_can_be_told(
    certificates: TestCertificates, spec: str
) -> None:
    server = TlsStream(_Own(rules(certificates, spec).context(CHANNEL), "not you"), is_server=True)
    client = client_tls(certificates, spec).stream(CHANNEL)
    with pytest.raises(TlsFailed, match="not you"):
        shake_hands(client, server)
    assert not server.is_ready
    assert server.can_encrypt
    server.encrypt(b"because of your name")
    assert client.receive_data(server.take_output()) == b"because of your name"


def test_a_client_that_names_no_channel_is_refused(certificates: TestCertificates) -> None:
    context = client_tls(certificates, SPECS[1]).context(CHANNEL)
    outgoing = ssl.MemoryBIO()
    with contextlib.suppress(ssl.SSLWantReadError):
        context.wrap_bio(ssl.MemoryBIO(), outgoing).do_handshake()
    server = rules(certificates, SPECS[1]).stream()
    with pytest.raises(TlsFailed, match="AMQ9639E"):
        server.receive_data(outgoing.read())
    assert server.take_output()[-1] == 109


def test_a_client_that_names_a_host_is_refused(certificates: TestCertificates) -> None:
    context = client_tls(certificates, SPECS[1]).context(CHANNEL)
    outgoing = ssl.MemoryBIO()
    with contextlib.suppress(ssl.SSLWantReadError):
        context.wrap_bio(ssl.MemoryBIO(), outgoing, server_hostname="mq.example.org").do_handshake()
    server = rules(certificates, SPECS[1]).stream()
    with pytest.raises(TlsFailed, match=r"AMQ9519E: server name 'mq\.example\.org'") as caught:
        server.receive_data(outgoing.read())
    assert caught.value.reason == MQRC_UNKNOWN_CHANNEL_NAME


def test_contexts_of_a_path_are_independent(certificates: TestCertificates, tmp_path: Path) -> None:
    """Two connections under the same rules do not disturb each other."""
    shared = rules(certificates, SPECS[1])
    clients = [client_tls(certificates, SPECS[1]).stream(CHANNEL) for _ in range(3)]
    servers = [shared.stream() for _ in clients]
    for client, server in zip(clients, servers, strict=True):
        shake_hands(client, server)
    with pytest.raises(TlsFailed):
        servers[1].receive_data(b"\x17\x03\x03\x00\x20" + bytes(32))
    clients[2].encrypt(b"still here")
    assert servers[2].receive_data(clients[2].take_output()) == b"still here"
