"""TLS between queue managers: each end presents its certificate and verifies that of its partner."""

from __future__ import annotations

import dataclasses
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.world.tls_pairs import shake_hands

from ostler.model.attributes import ObjectType, Value
from ostler.model.cipher_specs import cipher_specs, require
from ostler.model.constants import (
    MQRC_KEY_REPOSITORY_ERROR,
    MQRC_SSL_INITIALIZATION_ERROR,
    MQRC_SSL_PEER_NAME_ERROR,
    MQRC_SSL_PEER_NAME_MISMATCH,
    MQRC_UNKNOWN_CHANNEL_NAME,
    MQRC_UNSUPPORTED_CIPHER_SUITE,
)
from ostler.model.definitions import new_definition
from ostler.model.errors import MQError
from ostler.server.channels.settings import is_message_channel, tls_requirements
from ostler.server.tls.certificate_maker import Authority
from ostler.server.tls.contexts import ChannelTls, RepositorySettings, TlsContexts
from ostler.wire.tls_stream import TlsFailed, TlsStream

CHANNEL = "QM1.TO.QM2"
ANY = "ANY_TLS12_OR_HIGHER"
BOTH_VERSIONS = ("ECDHE_RSA_AES_256_GCM_SHA384", "TLS_AES_256_GCM_SHA384")
USABLE = [spec.name for spec in cipher_specs() if not spec.refusal]
OWN = "ibmwebspheremqqm1"


@pytest.fixture(scope="module")
def original(tmp_path_factory: pytest.TempPathFactory) -> Path:
    top = tmp_path_factory.mktemp("partners")
    authority = Authority(top / "ca")
    authority.create("Both", "ec")
    for name in ("QM1", "QM2"):
        subject = [("CN", name), ("OU", "Channels"), ("O", "Ostler")]
        authority.issue(top / name / "key", f"ibmwebspheremq{name.lower()}", subject)
        authority.issue(top / name / "key", "elliptic", [("CN", f"{name} elliptic"), ("O", "Ostler")], "ec")
    return top


@pytest.fixture
def place(original: Path, tmp_path: Path) -> Path:
    """A copy that a test may spoil."""
    shutil.copytree(original, tmp_path / "all")
    return tmp_path / "all"


class Pair:
    """Two queue managers with a channel between them."""

    def __init__(self, place: Path, spec: str = ANY) -> None:
        self.place = place
        self.settings = {name: RepositorySettings(name, place / name) for name in ("QM1", "QM2")}
        self.sending = ChannelTls(CHANNEL, spec)
        self.channels = {CHANNEL: ChannelTls(CHANNEL, spec)}
        self.one = TlsContexts(lambda: self.settings["QM1"], lambda _: None)
        self.two = TlsContexts(lambda: self.settings["QM2"], self.channels.get)

    def sends(self, **changes: str) -> Pair:
        self.sending = dataclasses.replace(self.sending, **changes)
        return self

    def receives(self, **changes: str) -> Pair:
        self.channels[CHANNEL] = dataclasses.replace(self.channels[CHANNEL], **changes)
        return self

    def connect(self) -> tuple[TlsStream, TlsStream]:
        streams = self.one.client_stream(self.sending), self.two.stream()
        shake_hands(*streams)
        return streams

    def refusal(self) -> TlsFailed:
        return refusal(self.connect)


def refusal(action: Callable[[], object]) -> TlsFailed:
    with pytest.raises(TlsFailed) as caught:
        action()
    return caught.value


@pytest.mark.parametrize("spec", USABLE)
def test_every_cipher_spec_works(original: Path, spec: str) -> None:
    label = "elliptic" if "ECDSA" in spec else ""
    one, two = Pair(original, spec).receives(certificate_label=label).connect()
    assert require(spec).allows(one.suite)
    assert (one.suite, one.channel_name) == (two.suite, two.channel_name)
    assert (one.is_server, two.is_server) == (False, True)


@pytest.mark.parametrize("spec", BOTH_VERSIONS)
def test_both_queue_managers_show_their_certificates(original: Path, spec: str) -> None:
    one, two = Pair(original, spec).connect()
    assert one.peer_subject().values("CN") == ["QM2"]
    assert two.peer_subject().values("CN") == ["QM1"]
    assert two.channel_name == CHANNEL


def test_the_label_of_the_channel_comes_before_the_queue_managers(original: Path) -> None:
    pair = Pair(original)
    pair.settings["QM1"] = dataclasses.replace(pair.settings["QM1"], certificate_label="elliptic")
    assert pair.connect()[1].peer_subject().values("CN") == ["QM1 elliptic"]
    assert pair.sends(certificate_label=OWN).connect()[1].peer_subject().values("CN") == ["QM1"]


@pytest.mark.parametrize("spec", BOTH_VERSIONS)
def test_each_end_checks_ssl_peer(original: Path, spec: str) -> None:
    right = Pair(original, spec).sends(peer_name="CN=QM2,OU=Chan*").receives(peer_name="CN=QM1")
    right.connect()
    failure = Pair(original, spec).sends(peer_name="CN=QM3").refusal()
    assert failure.reason == MQRC_SSL_PEER_NAME_MISMATCH
    assert "AMQ9636E: the peer of channel QM1.TO.QM2 has " in failure.text
    assert "CN=QM2,OU=Channels,O=Ostler; SSLPEER requires CN=QM3" in failure.text
    failure = Pair(original, spec).receives(peer_name="CN=QM3").refusal()
    assert "CN=QM1,OU=Channels" in failure.text
    assert Pair(original, spec).sends(peer_name="nonsense").refusal().reason == MQRC_SSL_PEER_NAME_ERROR


@pytest.mark.parametrize("spec", BOTH_VERSIONS)
def test_who_refuses_the_partner_says_not_a_word(original: Path, spec: str) -> None:
    pair = Pair(original, spec).sends(peer_name="CN=QM3")
    one, two = pair.one.client_stream(pair.sending), pair.two.stream()
    with pytest.raises(TlsFailed):
        shake_hands(one, two)
    assert not one.is_ready


def test_cipher_specs_that_do_not_meet(original: Path) -> None:
    pair = Pair(original).sends(cipher_spec="ANY_TLS12").receives(cipher_spec="ANY_TLS13")
    one, two = pair.one.client_stream(pair.sending), pair.two.stream()
    failure = refusal(lambda: shake_hands(one, two))
    assert failure.reason == MQRC_SSL_INITIALIZATION_ERROR
    assert "AMQ9616E" in failure.text
    assert "AMQ9616E" in refusal(lambda: one.receive_data(two.take_output())).text


def test_the_remote_queue_manager_says_what_is_wrong_with_the_channel(original: Path) -> None:
    pair = Pair(original)
    one, two = pair.one.client_stream(ChannelTls("OTHER", ANY)), pair.two.stream()
    assert "there is no channel OTHER" in refusal(lambda: shake_hands(one, two)).text
    failure = refusal(lambda: one.receive_data(two.take_output()))
    assert failure.reason == MQRC_UNKNOWN_CHANNEL_NAME
    assert "the remote queue manager has no such channel" in failure.text
    pair.receives(cipher_spec="")
    one, two = pair.one.client_stream(pair.sending), pair.two.stream()
    assert "AMQ9635E" in refusal(lambda: shake_hands(one, two)).text
    assert "has no CipherSpec (SSLCIPH)" in refusal(lambda: one.receive_data(two.take_output())).text


@pytest.mark.parametrize("spec", ["", "NONE_SUCH", "TRIPLE_DES_SHA_US"])
def test_a_spec_that_cannot_be(original: Path, spec: str) -> None:
    failure = Pair(original).sends(cipher_spec=spec).refusal()
    assert failure.reason == MQRC_UNSUPPORTED_CIPHER_SUITE
    assert "AMQ9635E: for channel QM1.TO.QM2" in failure.text
    assert "ALTER CHANNEL" in failure.text


def test_a_label_that_is_not_there(original: Path) -> None:
    failure = Pair(original).sends(certificate_label="nobody").refusal()
    assert failure.reason == MQRC_KEY_REPOSITORY_ERROR
    assert "AMQ9657E: for channel QM1.TO.QM2" in failure.text
    assert "under label 'nobody'; there are: elliptic, ibmwebspheremqqm1" in failure.text
    assert "REFRESH SECURITY TYPE(SSL)" in failure.text


def forget_certificates(place: Path) -> None:
    for each in [*place.glob("QM1/key/elliptic.*"), *place.glob(f"QM1/key/{OWN}.*")]:
        each.unlink()


@pytest.mark.parametrize("spec", BOTH_VERSIONS)
def test_without_a_certificate_the_partner_decides(place: Path, spec: str) -> None:
    forget_certificates(place)
    one, two = Pair(place, spec).receives(client_authentication="OPTIONAL").connect()
    assert one.is_ready
    assert not two.has_certificate
    assert "AMQ9637E" in Pair(place, spec).refusal().text


def test_somebody_must_vouch_for_the_partner(place: Path) -> None:
    (place / "QM1" / "key" / "ca.crt").unlink()
    failure = Pair(place).refusal()
    assert failure.reason == MQRC_KEY_REPOSITORY_ERROR
    assert "to verify the partner with" in failure.text
    stranger = Authority(place / "stranger")
    stranger.create("Somebody else", "ec")
    shutil.copyfile(stranger.certificate, place / "QM1" / "key" / "ca.crt")
    assert "AMQ9633E" in Pair(place).refusal().text


def test_no_repository_and_then_one(place: Path, tmp_path: Path) -> None:
    pair = Pair(place)
    pair.settings["QM1"] = RepositorySettings("QM1", tmp_path)
    assert pair.refusal().reason == MQRC_KEY_REPOSITORY_ERROR
    shutil.copytree(place / "QM1" / "key", tmp_path / "key")
    pair.connect()


def test_contexts_are_kept_and_are_not_those_of_the_other_side(original: Path) -> None:
    contexts = TlsContexts(lambda: RepositorySettings("QM2", original / "QM2"), Pair(original).channels.get)
    asked = ChannelTls(CHANNEL, ANY)
    assert contexts.client_context(asked) is contexts.client_context(asked)
    assert contexts.client_context(asked) is not contexts.context(CHANNEL)


def test_a_refresh_takes_new_certificates_for_those_who_connect(place: Path) -> None:
    pair = Pair(place)
    one, two = pair.connect()
    Authority(place / "ca").issue(place / "QM1" / "key", OWN, [("CN", "QM1 renewed")])
    assert pair.connect()[1].peer_subject().values("CN") == ["QM1"]
    pair.one.refresh()
    assert pair.connect()[1].peer_subject().values("CN") == ["QM1 renewed"]
    one.encrypt(b"still here")
    assert two.receive_data(one.take_output()) == b"still here"


def test_a_refresh_with_bad_files_keeps_what_connects(place: Path) -> None:
    pair = Pair(place)
    pair.connect()
    (place / "QM1" / "key" / "ca.crt").unlink()
    with pytest.raises(MQError, match=r"verify the partner with.*stay in use"):
        pair.one.refresh()
    pair.connect()


def test_a_certificate_that_is_not_for_those_who_connect_is_found_out_here(place: Path) -> None:
    """Its own partner would refuse it, and say no more than that it is bad."""
    authority, work = Authority(place / "ca"), place / "QM1" / "key"
    issue_for(authority, work, OWN, "serverAuth")
    failure = Pair(place).refusal()
    assert failure.reason == MQRC_KEY_REPOSITORY_ERROR
    assert f"{OWN}.crt" in failure.text
    assert "unsuitable certificate purpose" in failure.text
    issue_for(authority, work, OWN, "clientAuth")
    Pair(place).connect()


def issue_for(authority: Authority, directory: Path, label: str, usage: str) -> None:
    key, certificate = directory / f"{label}.key", directory / f"{label}.crt"
    request, extensions = directory / "request", directory / "extensions"
    extensions.write_text(f"extendedKeyUsage={usage}\n")
    signing = ["-CA", str(authority.certificate), "-CAkey", str(authority.key), "-days", "3", "-set_serial", "7"]
    for arguments in (
        ["req", "-new", "-key", str(key), "-subj", "/CN=QM1", "-out", str(request)],
        ["x509", "-req", "-in", str(request), "-extfile", str(extensions), *signing, "-out", str(certificate)],
    ):
        subprocess.run(["openssl", *arguments], check=True, capture_output=True, timeout=60)


@pytest.mark.parametrize("kind", ["SDR", "SVR", "RCVR", "RQSTR", "SVRCONN"])
def test_handshakes_come_in_on_all_channels_that_others_connect_to(kind: str) -> None:
    values: dict[str, Value] = {"CHLTYPE": kind, "SSLCIPH": ANY, "SSLPEER": "CN=x", "CERTLABL": "y"}
    if kind in ("SDR", "SVR"):
        values["XMITQ"] = "Q"
    if kind in ("SDR", "RQSTR"):
        values["CONNAME"] = "localhost"
    definition = new_definition(ObjectType.CHANNEL, CHANNEL, values)
    # A sender has no SSLCAUTH: whoever asks it for messages shows who that is.
    assert tls_requirements(definition) == ChannelTls(CHANNEL, ANY, "REQUIRED", "CN=x", "y")
    assert is_message_channel(definition) == (kind != "SVRCONN")


def test_nobody_connects_to_other_channels() -> None:
    client = new_definition(ObjectType.CHANNEL, "C", {"CHLTYPE": "CLNTCONN", "CONNAME": "localhost", "SSLCIPH": ANY})
    assert tls_requirements(client) is None
    assert tls_requirements(None) is None
    assert not is_message_channel(client)
    assert not is_message_channel(None)
