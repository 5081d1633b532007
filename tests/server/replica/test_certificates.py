"""The certificates of a group: its instances accept each other and nobody else."""

from __future__ import annotations

import ssl
import stat
from pathlib import Path

import pytest

from ostler.model.connection_names import Address
from ostler.server.replica.certificates import check_repository, issue_certificate, make_authority
from ostler.server.tls.certificate_maker import Authority, CertificateError
from ostler.server.tls.key_repository import load_repository

HERE = Address("127.0.0.1", 4441)


def node(authority: Authority, directory: Path, name: str) -> Path:
    repository = directory / name
    issue_certificate(authority, repository, "north", name, HERE)
    return repository


def context(repository: Path, is_server: bool) -> ssl.SSLContext:
    made = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER if is_server else ssl.PROTOCOL_TLS_CLIENT)
    made.verify_mode = ssl.CERT_REQUIRED
    loaded = load_repository(repository)
    (certificate,) = loaded.certificates.values()
    loaded.load_certificate(made, certificate)
    loaded.load_trust(made)
    return made


def shake_hands(server: Path, client: Path) -> object:
    """Let two ends talk in memory; return the certificate of the client as the server sees it."""
    to_server, to_client = ssl.MemoryBIO(), ssl.MemoryBIO()
    ends = [
        context(server, True).wrap_bio(to_server, to_client, server_side=True),
        context(client, False).wrap_bio(to_client, to_server, server_hostname="127.0.0.1"),
    ]
    for _ in range(10):
        for end in ends:
            try:
                end.do_handshake()
            except ssl.SSLWantReadError:
                continue
    return ends[0].getpeercert()


def test_instances_of_a_group_accept_each_other(tmp_path: Path) -> None:
    authority = make_authority(tmp_path / "ca", "north")
    peer = shake_hands(node(authority, tmp_path, "alpha"), node(authority, tmp_path, "beta"))
    assert isinstance(peer, dict)
    subject = {name: value for part in peer["subject"] for name, value in part}
    assert (subject["commonName"], subject["organizationalUnitName"]) == ("beta", "north")


def test_a_stranger_is_refused(tmp_path: Path) -> None:
    """Even one whose authority has the same name, and whose certificate has the name of an instance."""
    ours = node(make_authority(tmp_path / "ca", "north"), tmp_path, "alpha")
    theirs = node(make_authority(tmp_path / "other" / "ca", "north"), tmp_path / "other", "beta")
    with pytest.raises(ssl.SSLError):
        shake_hands(ours, theirs)


def test_an_authority_is_made_once(tmp_path: Path) -> None:
    first = make_authority(tmp_path / "ca", "north").certificate.read_bytes()
    assert make_authority(tmp_path / "ca", "north").certificate.read_bytes() == first


def test_keys_are_for_their_owner(tmp_path: Path) -> None:
    repository = node(make_authority(tmp_path / "ca", "north"), tmp_path, "alpha")
    key = repository / "alpha.key"
    assert stat.S_IMODE(key.stat().st_mode) == 0o600
    check_repository(repository, "alpha")
    key.chmod(0o640)
    with pytest.raises(CertificateError, match="has mode 640"):
        check_repository(repository, "alpha")
    key.chmod(0o400)
    check_repository(repository, "alpha")
    with pytest.raises(CertificateError, match=r"there is no .*beta\.crt"):
        check_repository(repository, "beta")
    (repository / "ca.crt").unlink()
    with pytest.raises(CertificateError, match=r"there is no .*ca\.crt"):
        check_repository(repository, "alpha")
