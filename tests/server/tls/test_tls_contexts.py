"""The rules of channels: which client may speak, with which cipher, and what a refresh does."""

from __future__ import annotations

import dataclasses
import shutil
import ssl
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.world.tls_pairs import ELLIPTIC_LABEL, TestCertificates, make_certificates, shake_hands

from ostler.client.link.tls_client import ClientTls
from ostler.client.locate.connect_parameters import TlsSettings
from ostler.model.attributes import ObjectType
from ostler.model.cipher_specs import cipher_specs, require
from ostler.model.constants import (
    MQRC_KEY_REPOSITORY_ERROR,
    MQRC_SSL_CERTIFICATE_REVOKED,
    MQRC_SSL_INITIALIZATION_ERROR,
    MQRC_SSL_PEER_NAME_ERROR,
    MQRC_SSL_PEER_NAME_MISMATCH,
    MQRC_UNKNOWN_CHANNEL_NAME,
    MQRC_UNSUPPORTED_CIPHER_SUITE,
)
from ostler.model.definitions import new_definition
from ostler.model.errors import MQError
from ostler.server.tls.certificate_maker import Authority
from ostler.server.tls.contexts import ChannelTls, RepositorySettings, TlsContexts, channel_mismatch, plaintext_refusal
from ostler.server.tls.suites import choose_suites_1_3, new_context
from ostler.wire.tls_stream import TlsFailed, TlsRules, TlsStream

NAME = "APP.SVRCONN"
ANY = "ANY_TLS12_OR_HIGHER"
USABLE = [spec.name for spec in cipher_specs() if not spec.refusal]
DEFAULT = "ibmwebspheremqqm1"


@pytest.fixture(scope="module")
def original(tmp_path_factory: pytest.TempPathFactory) -> TestCertificates:
    return make_certificates(tmp_path_factory.mktemp("tls"))


@pytest.fixture
def made(original: TestCertificates, tmp_path: Path) -> TestCertificates:
    """A copy that a test may spoil."""
    shutil.copytree(original.authority.directory.parent, tmp_path / "all")
    top = tmp_path / "all"
    return TestCertificates(Authority(top / "ca"), top / "ssl" / "key", top / "client")


class World:
    """A queue manager's channels and certificates, and a client."""

    def __init__(self, made: TestCertificates, channel: ChannelTls) -> None:
        self.made = made
        self.channels = {channel.name: channel}
        self.settings = RepositorySettings("QM1", made.manager.parent)
        self.contexts = TlsContexts(lambda: self.settings, self.channels.get)

    def client(self, spec: str, **changes: str) -> ClientTls:
        settings = TlsSettings(cipher_spec=spec, key_repository=str(self.made.client))
        return ClientTls(dataclasses.replace(settings, **changes))

    def connect(self, spec: str, name: str = NAME, **changes: str) -> tuple[TlsStream, TlsStream]:
        client, server = self.client(spec, **changes).stream(name), self.contexts.stream()
        shake_hands(client, server)
        return client, server


def world(
    made: TestCertificates,
    spec: str = ANY,
    client_authentication: str = "REQUIRED",
    peer_name: str = "",
    certificate_label: str = "",
) -> World:
    return World(made, ChannelTls(NAME, spec, client_authentication, peer_name, certificate_label))


def refusal(action: Callable[[], object]) -> TlsFailed:
    with pytest.raises(TlsFailed) as caught:
        action()
    return caught.value


@pytest.mark.parametrize("spec", USABLE)
def test_every_cipher_spec_works(original: TestCertificates, spec: str) -> None:
    label = ELLIPTIC_LABEL if "ECDSA" in spec else ""
    client, server = world(original, spec, certificate_label=label).connect(spec)
    assert require(spec).allows(server.suite)
    if not spec.startswith("ANY"):
        assert (client.cipher, server.cipher) == (spec, spec)


def test_tls_1_3_with_a_suite_that_cannot_be_chosen_is_refused_afterwards(original: TestCertificates) -> None:
    """A peer that chooses for itself: whatever the handshake comes to is checked."""
    here = world(original, "TLS_AES_128_GCM_SHA256")
    open_context = new_context(require("ANY_TLS13"), is_server=True)
    known = here.contexts.context(NAME)
    assert known.maximum_version == ssl.TLSVersion.TLSv1_3

    class Careless(TlsRules):
        def context(self, channel: str) -> ssl.SSLContext:
            open_context.load_cert_chain(original.manager / f"{DEFAULT}.crt", original.manager / f"{DEFAULT}.key")
            return open_context

        def check(self, stream: TlsStream) -> None:
            here.contexts.check(stream)

    server = TlsStream(Careless(), is_server=True)
    failure = refusal(lambda: shake_hands(here.client("ANY_TLS13").stream(NAME), server))
    assert failure.reason == MQRC_SSL_INITIALIZATION_ERROR
    assert "AMQ9631E" in failure.text
    assert "negotiated TLS_AES_256_GCM_SHA384, but the CipherSpec is TLS_AES_128_GCM_SHA256" in failure.text


def test_suites_of_tls_1_3_can_be_chosen_here() -> None:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    assert choose_suites_1_3(context, ("TLS_CHACHA20_POLY1305_SHA256",))
    newer = [each["name"] for each in context.get_ciphers() if each["protocol"] == "TLSv1.3"]
    assert newer == ["TLS_CHACHA20_POLY1305_SHA256"]
    assert not choose_suites_1_3(context, ("NONE_SUCH",))


@pytest.mark.parametrize(
    ("server_spec", "client_spec"),
    [
        ("ECDHE_RSA_AES_256_GCM_SHA384", "ECDHE_RSA_AES_128_GCM_SHA256"),
        ("ANY_TLS13", "ANY_TLS12"),
        ("ANY_TLS12", "ANY_TLS13"),
        ("TLS_AES_128_GCM_SHA256", "TLS_AES_256_GCM_SHA384"),
        ("ECDHE_RSA_AES_256_GCM_SHA384", "ECDHE_ECDSA_AES_256_GCM_SHA384"),
    ],
)
def test_specs_that_do_not_meet(original: TestCertificates, server_spec: str, client_spec: str) -> None:
    here = world(original, server_spec)
    client, server = here.client(client_spec).stream(NAME), here.contexts.stream()
    failure = refusal(lambda: shake_hands(client, server))
    assert failure.reason == MQRC_SSL_INITIALIZATION_ERROR
    assert "AMQ9616E" in failure.text
    # The client hears of it as well.
    assert "AMQ9616E" in refusal(lambda: client.receive_data(server.take_output())).text


def test_an_rsa_certificate_does_not_do_for_ecdsa(original: TestCertificates) -> None:
    failure = refusal(lambda: world(original, "ECDHE_ECDSA_AES_256_GCM_SHA384").contexts.context(NAME))
    assert failure.reason == MQRC_KEY_REPOSITORY_ERROR
    assert f"{DEFAULT}.crt" in failure.text
    assert "cannot be used with CipherSpec ECDHE_ECDSA_AES_256_GCM_SHA384" in failure.text


def test_a_channel_that_is_not_there(original: TestCertificates) -> None:
    here = world(original)
    client, server = here.client(ANY).stream("OTHER"), here.contexts.stream()
    failure = refusal(lambda: shake_hands(client, server))
    assert (failure.reason, failure.text) == (MQRC_UNKNOWN_CHANNEL_NAME, "AMQ9519E: there is no channel OTHER.")
    assert refusal(lambda: client.receive_data(server.take_output())).reason == MQRC_UNKNOWN_CHANNEL_NAME


def test_a_channel_without_a_cipher_spec(original: TestCertificates) -> None:
    here = world(original, "")
    client, server = here.client(ANY).stream(NAME), here.contexts.stream()
    assert "AMQ9635E" in refusal(lambda: shake_hands(client, server)).text
    assert "has no CipherSpec" in refusal(lambda: client.receive_data(server.take_output())).text


def test_a_channel_with_a_spec_that_is_refused(original: TestCertificates) -> None:
    failure = refusal(lambda: world(original, "TRIPLE_DES_SHA_US").contexts.context(NAME))
    assert failure.reason == MQRC_UNSUPPORTED_CIPHER_SUITE
    assert "SSL 3.0" in failure.text


@pytest.mark.parametrize("spec", ["ANY_TLS12", "ANY_TLS13"])
def test_a_client_without_a_certificate(original: TestCertificates, spec: str) -> None:
    anonymous = {"key_repository": "", "ca_file": str(original.ca_file)}
    here = world(original, spec)
    client, server = here.client(spec, **anonymous).stream(NAME), here.contexts.stream()
    assert "AMQ9637E" in refusal(lambda: shake_hands(client, server)).text
    with pytest.raises(TlsFailed):
        client.receive_data(server.take_output())
    _, server = world(original, spec, client_authentication="OPTIONAL").connect(spec, **anonymous)
    assert not server.has_certificate
    assert str(server.peer_subject()) == ""


def test_a_channel_that_is_altered_during_the_handshake(original: TestCertificates) -> None:
    here = world(original, client_authentication="OPTIONAL")
    _, server = here.connect(ANY, key_repository="", ca_file=str(original.ca_file))
    here.contexts.check(server)
    here.channels[NAME] = ChannelTls(NAME, ANY)
    assert (
        "AMQ9637E: the other side of channel APP.SVRCONN sent no certificate"
        in refusal(lambda: here.contexts.check(server)).text
    )
    here.channels[NAME] = ChannelTls(NAME, "TRIPLE_DES_SHA_US")
    assert "AMQ9635E" in refusal(lambda: here.contexts.check(server)).text
    del here.channels[NAME]
    assert "AMQ9519E" in refusal(lambda: here.contexts.check(server)).text


@pytest.mark.parametrize("authentication", ["REQUIRED", "OPTIONAL"])
@pytest.mark.parametrize("spec", ["ANY_TLS12", "ANY_TLS13"])
def test_a_client_whom_nobody_vouches_for(made: TestCertificates, spec: str, authentication: str) -> None:
    stranger = Authority(made.client.parent / "stranger")
    stranger.create("Somebody else", "ec")
    stranger.issue(made.client, "app1", [("CN", "app1")], "ec")
    here = world(made, spec, client_authentication=authentication)
    failure = refusal(lambda: here.connect(spec, ca_file=str(made.ca_file)))
    assert failure.reason == MQRC_SSL_INITIALIZATION_ERROR
    assert "AMQ9633E: the other side's certificate is not accepted" in failure.text


def test_ssl_peer_of_the_channel(original: TestCertificates) -> None:
    world(original, peer_name="CN=app*,OU=Payments").connect(ANY)
    failure = refusal(lambda: world(original, peer_name="CN=app2").connect(ANY))
    assert failure.reason == MQRC_SSL_PEER_NAME_MISMATCH
    assert "AMQ9636E" in failure.text
    assert "CN=app1,OU=Payments,O=Ostler; SSLPEER requires CN=app2" in failure.text


def test_ssl_peer_without_a_certificate_is_no_match(original: TestCertificates) -> None:
    here = world(original, client_authentication="OPTIONAL", peer_name="CN=*")
    failure = refusal(lambda: here.connect(ANY, key_repository="", ca_file=str(original.ca_file)))
    assert failure.reason == MQRC_SSL_PEER_NAME_MISMATCH
    assert "no certificate" in failure.text


def test_ssl_peer_that_is_no_pattern(original: TestCertificates) -> None:
    assert refusal(lambda: world(original, peer_name="nonsense").connect(ANY)).reason == MQRC_SSL_PEER_NAME_ERROR


def test_the_conversation_must_be_on_the_channel_of_the_handshake(original: TestCertificates) -> None:
    _, server = world(original).connect(ANY)
    assert channel_mismatch(server, NAME) == ""
    assert "named channel APP.SVRCONN, the conversation is for OTHER" in channel_mismatch(server, "OTHER")
    assert "OTHER does not use TLS" in plaintext_refusal("OTHER")


def test_the_label_of_the_channel_comes_before_the_queue_managers(original: TestCertificates) -> None:
    here = world(original, "ANY_TLS12")
    here.settings = dataclasses.replace(here.settings, certificate_label=ELLIPTIC_LABEL)
    assert "ECDSA" in here.connect("ANY_TLS12")[1].cipher
    here.channels[NAME] = dataclasses.replace(here.channels[NAME], certificate_label=DEFAULT)
    assert "ECDHE_RSA" in here.connect("ANY_TLS12")[1].cipher


def test_labels_that_are_not_there_are_named(original: TestCertificates) -> None:
    failure = refusal(lambda: world(original, certificate_label="nobody").contexts.context(NAME))
    assert failure.reason == MQRC_KEY_REPOSITORY_ERROR
    assert f"under label 'nobody'; there are: elliptic, {DEFAULT}" in failure.text


def test_no_repository(original: TestCertificates, tmp_path: Path) -> None:
    here = world(original)
    here.settings = RepositorySettings("QM1", tmp_path)
    client, server = here.client(ANY).stream(NAME), here.contexts.stream()
    assert "AMQ9657E" in refusal(lambda: shake_hands(client, server)).text
    assert "See its error log" in refusal(lambda: client.receive_data(server.take_output())).text
    assert "no channel uses TLS yet" in here.contexts.refresh()
    # It is looked for again when the next client comes.
    shutil.copytree(original.manager, tmp_path / "key")
    here.connect(ANY)


def test_required_needs_somebody_to_judge_by(made: TestCertificates) -> None:
    (made.manager / "ca.crt").unlink()
    assert "SSLCAUTH is REQUIRED" in refusal(lambda: world(made).contexts.context(NAME)).text
    world(made, client_authentication="OPTIONAL").contexts.context(NAME)


def test_contexts_are_kept(original: TestCertificates) -> None:
    here = world(original)
    assert here.contexts.context(NAME) is here.contexts.context(NAME)


def test_a_refresh_takes_new_certificates_and_leaves_connections_alone(made: TestCertificates) -> None:
    here = world(made)
    client, server = here.connect(ANY)
    before = client.peer_subject()
    made.authority.issue(made.manager, DEFAULT, [("CN", "QM1 renewed")])
    assert here.connect(ANY)[0].peer_subject().values("CN") == ["QM1"]
    assert here.contexts.refresh() == f"2 certificates loaded from {made.manager}."
    assert here.connect(ANY)[0].peer_subject().values("CN") == ["QM1 renewed"]
    client.encrypt(b"still here")
    assert server.receive_data(client.take_output()) == b"still here"
    assert str(client.peer_subject()) == str(before)


def spoil_key(path: Path) -> None:
    shutil.copyfile(path / f"{ELLIPTIC_LABEL}.key", path / f"{DEFAULT}.key")


def spoil_certificate(path: Path) -> None:
    (path / f"{DEFAULT}.crt").write_text("spoilt")


def spoil_authority(path: Path) -> None:
    (path / "ca.crt").write_text("spoilt")


def remove_certificate(path: Path) -> None:
    (path / f"{DEFAULT}.crt").unlink()


def remove_all(path: Path) -> None:
    shutil.rmtree(path)


def spoil_another(path: Path) -> None:
    (path / f"{ELLIPTIC_LABEL}.key").write_text("spoilt")


@pytest.mark.parametrize(
    "spoil", [spoil_key, spoil_certificate, spoil_authority, remove_certificate, remove_all, spoil_another]
)
def test_a_refresh_with_bad_files_keeps_the_old_ones(made: TestCertificates, spoil: Callable[[Path], None]) -> None:
    here = world(made)
    here.connect(ANY)
    if spoil is remove_certificate:
        here.settings = dataclasses.replace(here.settings, certificate_label=DEFAULT)
    spoil(made.manager)
    with pytest.raises(MQError, match="stay in use") as caught:
        here.contexts.refresh()
    assert caught.value.reason == MQRC_KEY_REPOSITORY_ERROR
    assert str(made.manager) in caught.value.detail
    assert here.connect(ANY)[0].peer_subject().values("CN") == ["QM1"]


def own_authority(made: TestCertificates) -> Path:
    """The authority with a register, as `openssl ca` needs one."""
    directory = made.authority.directory
    (directory / "index.txt").touch()
    (directory / "serial").write_text("1000\n")
    (directory / "crlnumber").write_text("1000\n")
    configuration = directory / "ca.cnf"
    configuration.write_text(
        f"[ca]\ndefault_ca=own\n[own]\ndatabase={directory}/index.txt\nserial={directory}/serial\n"
        f"crlnumber={directory}/crlnumber\nnew_certs_dir={directory}\ncertificate={directory}/ca.crt\n"
        f"private_key={directory}/ca.key\ndefault_md=sha256\ndefault_days=30\ndefault_crl_days=30\npolicy=any\n"
        "unique_subject=no\n[any]\ncommonName=supplied\n[req]\ndistinguished_name=none\n[none]\n"
    )
    return configuration


def openssl(*arguments: str) -> None:
    subprocess.run(["openssl", *arguments], check=True, capture_output=True, timeout=60)


def test_a_revoked_client(made: TestCertificates) -> None:
    configuration = str(own_authority(made))
    here = world(made)
    here.connect(ANY)
    revocations = str(made.manager / "crl.pem")
    openssl("ca", "-config", configuration, "-gencrl", "-out", revocations)
    here.contexts.refresh()
    here.connect(ANY)
    openssl("ca", "-config", configuration, "-revoke", str(made.client / "app1.crt"))
    openssl("ca", "-config", configuration, "-gencrl", "-out", revocations)
    here.contexts.refresh()
    client, server = here.client(ANY).stream(NAME), here.contexts.stream()
    failure = refusal(lambda: shake_hands(client, server))
    assert failure.reason == MQRC_SSL_CERTIFICATE_REVOKED
    assert "certificate revoked" in failure.text
    assert refusal(lambda: client.receive_data(server.take_output())).reason == MQRC_SSL_CERTIFICATE_REVOKED


def expired(made: TestCertificates, directory: Path, label: str) -> None:
    """Put a certificate in the place of another that was good in the year 2020 only."""
    configuration, request = str(own_authority(made)), str(directory / "request")
    key, certificate = str(directory / f"{label}.key"), str(directory / f"{label}.crt")
    openssl("req", "-new", "-config", configuration, "-key", key, "-subj", "/CN=old", "-out", request)
    dates = ["-startdate", "20200101000000Z", "-enddate", "20201231000000Z"]
    openssl("ca", "-batch", "-config", configuration, "-in", request, "-out", certificate, "-notext", *dates)


def test_an_expired_client(made: TestCertificates) -> None:
    expired(made, made.client, "app1")
    assert "certificate has expired" in refusal(lambda: world(made).connect(ANY)).text


def test_a_refresh_does_not_take_an_expired_certificate(made: TestCertificates) -> None:
    here = world(made)
    here.connect(ANY)
    expired(made, made.manager, DEFAULT)
    with pytest.raises(MQError, match=r"certificate has expired.*stay in use"):
        here.contexts.refresh()
    here.connect(ANY)


def test_sessions_are_not_remembered_without_bound(original: TestCertificates) -> None:
    here = world(original, "ANY_TLS12", certificate_label=ELLIPTIC_LABEL)
    here.contexts = TlsContexts(lambda: here.settings, here.channels.get, sessions_max=5)
    client = here.client("ANY_TLS12")
    counts = []
    for _ in range(12):
        server = here.contexts.stream()
        shake_hands(client.stream(NAME), server)
        # OpenSSL forgets the session of a connection that breaks off.
        server.close()
        counts.append(here.contexts.context(NAME).session_stats()["number"])
    assert counts == [1, 2, 3, 4, 0, 1, 2, 3, 4, 0, 1, 2]


def test_rules_from_definitions(tmp_path: Path) -> None:
    channel = new_definition(
        ObjectType.CHANNEL,
        NAME,
        {"CHLTYPE": "SVRCONN", "SSLCIPH": ANY, "SSLCAUTH": "OPTIONAL", "SSLPEER": "CN=app1", "CERTLABL": "x"},
    )
    assert ChannelTls.of(channel) == ChannelTls(NAME, ANY, "OPTIONAL", "CN=app1", "x")
    plain = new_definition(ObjectType.CHANNEL, NAME, {"CHLTYPE": "SVRCONN"})
    assert ChannelTls.of(plain) == ChannelTls(NAME)
    manager = new_definition(ObjectType.QMGR, "QM1", {"SSLKEYR": "/certs/key", "CERTLABL": "y"})
    settings = RepositorySettings.of(manager, tmp_path)
    assert (settings.path, settings.certificate_label) == (Path("/certs/key"), "y")
    blank = RepositorySettings.of(new_definition(ObjectType.QMGR, "QM1", {}), tmp_path)
    assert blank.path == tmp_path / "ssl" / "key"
