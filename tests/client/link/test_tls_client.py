"""The client's side of TLS: settings, and who is accepted as a queue manager."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import pytest
from tests.world.tls_pairs import TestCertificates, make_certificates, shake_hands

from ostler.client.link.tls_client import ClientTls, as_error
from ostler.client.locate.connect_parameters import TlsSettings
from ostler.model.constants import (
    MQRC_KEY_REPOSITORY_ERROR,
    MQRC_SSL_INITIALIZATION_ERROR,
    MQRC_SSL_PEER_NAME_ERROR,
    MQRC_SSL_PEER_NAME_MISMATCH,
    MQRC_UNSUPPORTED_CIPHER_SUITE,
)
from ostler.model.errors import MQError
from ostler.server.tls.certificate_maker import Authority
from ostler.server.tls.contexts import ChannelTls, RepositorySettings, TlsContexts
from ostler.wire.tls_stream import TlsFailed, TlsStream

CHANNEL = ChannelTls("APP.SVRCONN", "ANY_TLS12_OR_HIGHER")


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> TestCertificates:
    return make_certificates(tmp_path_factory.mktemp("tls"))


@pytest.fixture
def repository(made: TestCertificates) -> TlsSettings:
    return TlsSettings(cipher_spec="ANY_TLS13", key_repository=str(made.client))


def connect(made: TestCertificates, settings: TlsSettings, channel: ChannelTls = CHANNEL) -> TlsStream:
    place = RepositorySettings("QM1", made.manager.parent)
    server = TlsContexts(lambda: place, {channel.name: channel}.get).stream()
    shake_hands(ClientTls(settings).stream(channel.name), server)
    return server


def test_a_key_repository(made: TestCertificates, repository: TlsSettings) -> None:
    assert connect(made, repository).peer_subject().values("CN") == ["app1"]


def test_single_files(made: TestCertificates) -> None:
    settings = TlsSettings(
        cipher_spec="ANY_TLS13",
        ca_file=str(made.ca_file),
        certificate_file=str(made.client / "app1.crt"),
        key_file=str(made.client / "app1.key"),
    )
    assert connect(made, settings).peer_subject().values("CN") == ["app1"]


def test_a_certificate_and_its_key_in_one_file(made: TestCertificates, tmp_path: Path) -> None:
    both = tmp_path / "both.pem"
    both.write_bytes((made.client / "app1.key").read_bytes() + (made.client / "app1.crt").read_bytes())
    settings = TlsSettings(cipher_spec="ANY_TLS13", ca_file=str(made.ca_file), certificate_file=str(both))
    assert connect(made, settings).has_certificate


def test_trust_alone_makes_an_anonymous_client(made: TestCertificates) -> None:
    settings = TlsSettings(cipher_spec="ANY_TLS13", ca_file=str(made.ca_file))
    assert not connect(made, settings, dataclasses.replace(CHANNEL, client_authentication="OPTIONAL")).has_certificate


def test_the_label_is_of_the_user_unless_it_is_given(made: TestCertificates, tmp_path: Path) -> None:
    for label in ("ibmwebspheremqalice", "ibmwebspheremqbob"):
        made.authority.issue(tmp_path, label, [("CN", label[-5:])], "ec")
    settings = TlsSettings(cipher_spec="ANY_TLS13", key_repository=str(tmp_path))
    place = RepositorySettings("QM1", made.manager.parent)
    for user, label, name in (("Alice", "", "alice"), ("Alice", "ibmwebspheremqbob", "mqbob")):
        server = TlsContexts(lambda: place, {CHANNEL.name: CHANNEL}.get).stream()
        client = ClientTls(dataclasses.replace(settings, certificate_label=label), user)
        shake_hands(client.stream(CHANNEL.name), server)
        assert server.peer_subject().values("CN") == [name]


@pytest.mark.parametrize("peer_name", ["CN=QM1", "CN=qm*,OU=Broking", "OU=Broking,OU=Desk 7,C=GB"])
def test_a_queue_manager_with_the_right_name(made: TestCertificates, repository: TlsSettings, peer_name: str) -> None:
    assert connect(made, dataclasses.replace(repository, peer_name=peer_name)).is_ready


def test_a_queue_manager_with_another_name(made: TestCertificates, repository: TlsSettings) -> None:
    with pytest.raises(TlsFailed, match=r"AMQ9636E.*CN=QM1.*requires CN=QM2") as caught:
        connect(made, dataclasses.replace(repository, peer_name="CN=QM2"))
    assert caught.value.reason == MQRC_SSL_PEER_NAME_MISMATCH
    assert as_error(caught.value).reason == MQRC_SSL_PEER_NAME_MISMATCH


def test_a_queue_manager_whom_nobody_vouches_for(
    made: TestCertificates, repository: TlsSettings, tmp_path: Path
) -> None:
    stranger = Authority(tmp_path)
    stranger.create("Somebody else", "ec")
    with pytest.raises(TlsFailed, match="AMQ9633E: the other side's certificate is not accepted") as caught:
        connect(made, dataclasses.replace(repository, ca_file=str(stranger.certificate)))
    assert caught.value.reason == MQRC_SSL_INITIALIZATION_ERROR


def test_a_suite_that_was_not_asked_for_is_refused(made: TestCertificates, repository: TlsSettings) -> None:
    stream = connect(made, repository)
    ClientTls(repository).check(stream)
    other = ClientTls(dataclasses.replace(repository, cipher_spec="TLS_AES_128_GCM_SHA256"))
    with pytest.raises(TlsFailed, match="AMQ9631E"):
        other.check(stream)


@pytest.mark.parametrize(
    ("changes", "reason", "text"),
    [
        ({"cipher_spec": "NONE_SUCH"}, MQRC_UNSUPPORTED_CIPHER_SUITE, "no CipherSpec 'NONE_SUCH'"),
        ({"cipher_spec": "RC4_SHA_US"}, MQRC_UNSUPPORTED_CIPHER_SUITE, "is refused"),
        ({"peer_name": "QM1"}, MQRC_SSL_PEER_NAME_ERROR, "'QM1'"),
        ({"key_repository": "/none/such"}, MQRC_KEY_REPOSITORY_ERROR, "there is no key repository /none/such"),
        ({"certificate_label": "nobody"}, MQRC_KEY_REPOSITORY_ERROR, "label 'nobody'"),
        ({"key_repository": ""}, MQRC_KEY_REPOSITORY_ERROR, "or set MQSSLKEYR"),
        ({"ca_file": "/none/ca.crt"}, MQRC_KEY_REPOSITORY_ERROR, "/none/ca.crt cannot be read"),
        ({"certificate_file": "/none/x.crt"}, MQRC_KEY_REPOSITORY_ERROR, "/none/x.crt cannot be read"),
    ],
)
def test_settings_that_cannot_be_used(repository: TlsSettings, changes: dict[str, str], reason: int, text: str) -> None:
    with pytest.raises(MQError) as caught:
        ClientTls(dataclasses.replace(repository, **changes))
    assert caught.value.reason == reason
    assert text in caught.value.detail


def test_a_repository_without_trust(made: TestCertificates, tmp_path: Path) -> None:
    made.authority.issue(tmp_path / "key", "app1", [("CN", "app1")], "ec")
    (tmp_path / "key" / "ca.crt").unlink()
    with pytest.raises(MQError, match=r"no certificate of an authority \(ca\.crt\)"):
        ClientTls(TlsSettings(cipher_spec="ANY", key_repository=str(tmp_path / "key")))


def test_without_a_cipher_spec_the_best_that_both_sides_have_is_used(
    made: TestCertificates, repository: TlsSettings
) -> None:
    assert connect(made, dataclasses.replace(repository, cipher_spec="")).cipher == "TLS_AES_256_GCM_SHA384"


def test_secrets_are_not_shown(repository: TlsSettings) -> None:
    assert "secret" not in repr(dataclasses.replace(repository, key_password="secret"))
