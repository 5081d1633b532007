"""Certificates and keys in directories and bundles, right and wrong."""

from __future__ import annotations

import os
import shutil
import ssl
import subprocess
from pathlib import Path

import pytest
from tests.world.tls_pairs import ELLIPTIC_LABEL, TestCertificates, make_certificates

from ostler.server.tls.key_repository import (
    KeyRepository,
    RepositoryError,
    default_labels,
    file_name,
    from_files,
    load_repository,
)

DEFAULT = "ibmwebspheremqqm1"


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> TestCertificates:
    return make_certificates(tmp_path_factory.mktemp("tls"))


@pytest.fixture
def place(made: TestCertificates, tmp_path: Path) -> Path:
    """A copy that a test may spoil."""
    shutil.copytree(made.manager, tmp_path / "key")
    return tmp_path / "key"


def openssl(*arguments: str) -> None:
    subprocess.run(["openssl", *arguments], check=True, capture_output=True, timeout=60)


def use(repository: KeyRepository, label: str = "") -> ssl.SSLContext:
    certificate = repository.find(label, default_labels("QM1"))
    assert certificate is not None
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    repository.load_certificate(context, certificate)
    repository.load_trust(context)
    return context


def test_a_directory(place: Path) -> None:
    repository = load_repository(place)
    assert sorted(repository.certificates) == [ELLIPTIC_LABEL, DEFAULT]
    assert [each["subject"][-1] for each in use(repository).get_ca_certs()] == [(("commonName", "Test authority"),)]


def test_labels(place: Path) -> None:
    repository = load_repository(place)
    found = [repository.find(label, default_labels("QM1")) for label in ("", ELLIPTIC_LABEL, "nobody")]
    assert [each.label if each else "" for each in found] == [DEFAULT, ELLIPTIC_LABEL, ""]
    assert repository.find("", default_labels("QM2")) is None


def test_the_bare_name_and_the_only_certificate_will_do(place: Path) -> None:
    for ending in (".crt", ".key"):
        (place / (DEFAULT + ending)).rename(place / ("qm1" + ending))
    named = load_repository(place).find("", default_labels("QM1"))
    assert named is not None
    assert named.label == "qm1"
    for ending in (".crt", ".key"):
        (place / (ELLIPTIC_LABEL + ending)).unlink()
        (place / ("qm1" + ending)).rename(place / ("tls" + ending))
    only = load_repository(place).find("", default_labels("QM1"))
    assert only is not None
    assert only.label == "tls"


def test_a_certificate_without_a_key_is_trusted(place: Path) -> None:
    (place / f"{ELLIPTIC_LABEL}.key").unlink()
    repository = load_repository(place)
    assert sorted(repository.certificates) == [DEFAULT]
    assert (place / f"{ELLIPTIC_LABEL}.crt").read_bytes() in repository.authorities


def test_files_that_change_later_do_not_matter(place: Path) -> None:
    repository = load_repository(place)
    shutil.rmtree(place)
    assert use(repository).get_ca_certs()


def bundle(place: Path, *options: str) -> Path:
    """A PKCS #12 of the directory's certificate and its authority, written as `openssl` writes it."""
    exported, written = place.parent / "moved.p12", place.parent / "moved.pem"
    certificate, key = str(place / f"{DEFAULT}.crt"), str(place / f"{DEFAULT}.key")
    parts = ["-in", certificate, "-inkey", key, "-certfile", str(place / "ca.crt"), "-name", "ibmwebspheremqqm1"]
    openssl("pkcs12", "-export", *parts, "-out", str(exported), "-passout", "pass:secret")
    openssl("pkcs12", "-in", str(exported), "-passin", "pass:secret", "-out", str(written), *options)
    exported.unlink()
    return place.parent / "moved"


def test_a_bundle(place: Path) -> None:
    stem = bundle(place, "-nodes")
    for name in (stem, stem.with_suffix(".pem"), stem.with_suffix(".kdb")):
        repository = load_repository(name)
        assert list(repository.certificates) == [DEFAULT]
        assert len(use(repository).get_ca_certs()) == 1


def test_a_bundle_with_a_password(place: Path) -> None:
    stem = bundle(place, "-passout", "pass:open sesame")
    assert use(load_repository(stem, "open sesame"))
    with pytest.raises(RepositoryError, match=r"moved\.pem: the key is encrypted, and there is no password"):
        load_repository(stem)
    with pytest.raises(RepositoryError, match=r"moved\.pem: the password does not open the key"):
        load_repository(stem, "wrong")


def test_a_bundle_without_names_has_the_name_of_its_file(place: Path) -> None:
    parts = [place / f"{DEFAULT}.key", place / "ca.crt", place / f"{DEFAULT}.crt"]
    (place.parent / "all.pem").write_bytes(b"".join([path.read_bytes() for path in parts]))
    assert list(load_repository(place.parent / "all").certificates) == ["all"]


def test_a_bundle_with_a_foreign_key(place: Path) -> None:
    parts = [place / f"{ELLIPTIC_LABEL}.key", place / "ca.crt", place / f"{DEFAULT}.crt"]
    (place.parent / "all.pem").write_bytes(b"".join([path.read_bytes() for path in parts]))
    with pytest.raises(RepositoryError, match=r"all\.pem holds a key, but not the certificate"):
        load_repository(place.parent / "all")


@pytest.mark.parametrize("content", [b"", b"-----BEGIN CERTIFICATE-----\n", b"\xff" * 100])
def test_a_bundle_of_nothing(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "key.pem").write_bytes(content)
    with pytest.raises(RepositoryError, match=r"key\.pem holds no certificate"):
        load_repository(tmp_path / "key")


def test_nothing_there(tmp_path: Path) -> None:
    with pytest.raises(RepositoryError, match=r"there is no key repository .*key: neither a directory .*key\.pem"):
        load_repository(tmp_path / "key")


def test_a_key_database_of_mq_is_explained(tmp_path: Path) -> None:
    (tmp_path / "key.kdb").write_bytes(b"kdb")
    with pytest.raises(RepositoryError, match=r"key\.kdb is a key database of another kind.*openssl pkcs12"):
        load_repository(tmp_path / "key")


def test_a_key_of_another_certificate(place: Path) -> None:
    shutil.copyfile(place / f"{ELLIPTIC_LABEL}.key", place / f"{DEFAULT}.key")
    with pytest.raises(RepositoryError, match=rf"{DEFAULT}\.crt and .*the key does not belong to the certificate"):
        use(load_repository(place))


def test_a_spoilt_certificate(place: Path) -> None:
    (place / f"{DEFAULT}.crt").write_text("this is no certificate")
    with pytest.raises(RepositoryError, match=rf"{DEFAULT}\.crt and "):
        use(load_repository(place))


def test_a_spoilt_authority(place: Path) -> None:
    (place / "ca.crt").write_text("this is no certificate")
    with pytest.raises(RepositoryError, match="certificates of authorities are not PEM"):
        use(load_repository(place))


def test_an_encrypted_key(place: Path) -> None:
    key = str(place / f"{DEFAULT}.key")
    openssl("pkey", "-in", key, "-aes256", "-passout", "pass:open sesame", "-out", key + ".new")
    os.replace(key + ".new", key)
    assert use(load_repository(place, "open sesame"))
    with pytest.raises(RepositoryError, match="the password does not open the key"):
        use(load_repository(place, "wrong"))
    with pytest.raises(RepositoryError, match="the key is encrypted, and there is no password"):
        use(load_repository(place))


def test_a_file_that_is_too_long(place: Path) -> None:
    (place / "ca.crt").write_bytes(b"x" * 2_000_000)
    with pytest.raises(RepositoryError, match=r"ca\.crt is longer than"):
        load_repository(place)


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read every file")
def test_a_file_that_may_not_be_read(place: Path) -> None:
    (place / f"{DEFAULT}.key").chmod(0)
    with pytest.raises(RepositoryError, match=r"\.key cannot be read: Permission denied"):
        load_repository(place)


def test_single_files(made: TestCertificates) -> None:
    certificate, key = made.client / "app1.crt", made.client / "app1.key"
    assert use(from_files(str(made.ca_file), str(certificate), str(key), ""))
    with pytest.raises(RepositoryError, match=r"missing\.crt cannot be read: No such file"):
        from_files("missing.crt", "", "", "")


@pytest.mark.parametrize("label", ["", "../x".replace("/", "\0"), ".hidden", "ca"])
def test_labels_that_cannot_be_files(label: str) -> None:
    with pytest.raises(RepositoryError, match="cannot be the label"):
        file_name(label)


def test_a_label_never_leads_out_of_the_directory() -> None:
    assert file_name("a/../b") == "a&..&b"
    assert default_labels("QM/1") == ("ibmwebspheremqqm/1", "qm/1")
