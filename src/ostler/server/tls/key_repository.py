"""Key repositories: certificates and keys in the files that SSLKEYR names.

SSLKEYR is a path without an extension, as in MQ. The first of these that exists is used:

    <SSLKEYR>/        a directory: <label>.crt and <label>.key for each own certificate (the .crt may hold its chain),
                      ca.crt with the trusted certificate authorities, crl.pem with revocation lists.
                      A <label>.crt without a key belongs to a peer, and is trusted like those in ca.crt
    <SSLKEYR>.pem     one file with all of them; labels are the "friendlyName" that `openssl pkcs12` writes

Everything is read at once and kept in memory, so that later changes of the files have no effect until a refresh.
"""

from __future__ import annotations

import os
import re
import ssl
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

AUTHORITIES_FILE: Final = "ca.crt"
REVOCATIONS_FILE: Final = "crl.pem"
CERTIFICATE_ENDING: Final = ".crt"
KEY_ENDING: Final = ".key"
BUNDLE_ENDING: Final = ".pem"
DEFAULT_LABEL_PREFIX: Final = "ibmwebspheremq"
_FILE_BYTES_MAX: Final = 1_048_576
_FILES_MAX: Final = 1_000
_FOREIGN_ENDINGS: Final = (".kdb", ".p12", ".jks")
_BLOCK: Final = re.compile(rb"-----BEGIN ([A-Z0-9 ]+)-----\s.*?-----END \1-----", re.DOTALL)
_FRIENDLY_NAME: Final = re.compile(rb"friendlyName:[ \t]*(\S[^\r\n]*)")


class RepositoryError(Exception):
    """A repository is missing or cannot be used. The text names the file."""


@dataclass(frozen=True)
class OwnCertificate:
    """A certificate with its key. `files` names the files they came from."""

    label: str
    chain: bytes
    key: bytes = field(repr=False)
    files: str


@dataclass(frozen=True)
class KeyRepository:
    """The contents of a repository when it was loaded."""

    path: Path
    certificates: dict[str, OwnCertificate]
    authorities: bytes
    revocations: bytes
    password: str = field(default="", repr=False)

    def find(self, label: str, defaults: Sequence[str]) -> OwnCertificate | None:
        """Return the certificate of a label. Without a label: the first default that exists, else the only one."""
        if label:
            return self.certificates.get(label)
        for each in defaults:
            if each in self.certificates:
                return self.certificates[each]
        return next(iter(self.certificates.values())) if len(self.certificates) == 1 else None

    def load_certificate(self, context: ssl.SSLContext, certificate: OwnCertificate) -> None:
        """Load a certificate and its key into a context. Raises RepositoryError when they cannot be used."""
        password = _Password(self.password)
        with _as_file(certificate.chain + b"\n" + certificate.key) as in_memory:
            try:
                context.load_cert_chain(in_memory, password=password.ask)
            except _NoPassword:
                raise RepositoryError(f"{certificate.files}: the key is encrypted, and there is no password") from None
            except (ssl.SSLError, ValueError) as error:
                raise RepositoryError(f"{certificate.files}: {_explain(error, password.is_asked)}") from None

    def load_trust(self, context: ssl.SSLContext) -> None:
        """Let a context accept certificates that are signed by the authorities and not revoked."""
        if self.authorities:
            _load_trust(context, self.authorities, self.path, "certificates of authorities")
        if self.revocations:
            _load_trust(context, self.revocations, self.path, "revocation lists")
            context.verify_flags |= ssl.VERIFY_CRL_CHECK_LEAF


class _NoPassword(Exception):
    """OpenSSL asked for a password, and none is configured."""


class _Password:
    """Gives the password to OpenSSL, which would prompt on the terminal otherwise, and wait."""

    def __init__(self, text: str) -> None:
        self._text = text
        self.is_asked = False

    def ask(self) -> str:
        if not self._text:
            raise _NoPassword
        self.is_asked = True
        return self._text


def default_labels(name: str) -> tuple[str, ...]:
    """Return the labels to try when CERTLABL is blank: MQ's default label, then the bare name."""
    return (DEFAULT_LABEL_PREFIX + name.lower(), name.lower())


def load_repository(path: Path, password: str = "") -> KeyRepository:
    """Read the repository at the path in SSLKEYR. Raises RepositoryError if it is missing or unreadable."""
    # A migrated queue manager may still have key.kdb in SSLKEYR; the files beside it are used.
    stem = path.with_suffix("") if path.suffix in _FOREIGN_ENDINGS else path
    try:
        if stem.is_dir():
            return _from_directory(stem, password)
        for bundle in (stem.with_name(stem.name + BUNDLE_ENDING), stem):
            if bundle.is_file() and bundle.suffix == BUNDLE_ENDING:
                return _from_bundle(bundle, password)
    except OSError as error:
        raise RepositoryError(f"{error.filename or path} cannot be read: {error.strerror}") from None
    raise RepositoryError(_missing_text(stem))


def from_files(ca_file: str, certificate_file: str, key_file: str, password: str) -> KeyRepository:
    """Return a repository made of single files; a key may be in its certificate's file. Raises RepositoryError."""
    certificates: dict[str, OwnCertificate] = {}
    try:
        authorities = _read(Path(ca_file)) if ca_file else b""
        if certificate_file:
            key = _read(Path(key_file)) if key_file else b""
            files = f"{certificate_file} and {key_file}" if key_file else certificate_file
            certificates[""] = OwnCertificate("", _read(Path(certificate_file)), key, files)
    except OSError as error:
        raise RepositoryError(f"{error.filename} cannot be read: {error.strerror}") from None
    return KeyRepository(Path(ca_file or certificate_file), certificates, authorities, b"", password)


def file_name(label: str) -> str:
    """Return the file name of a label without its extension. Raises RepositoryError for an invalid label."""
    name = label.replace("/", "&")
    if not name or name.startswith(".") or "\0" in name or name + CERTIFICATE_ENDING == AUTHORITIES_FILE:
        raise RepositoryError(f"{label!r} cannot be the label of a certificate")
    return name


def _from_directory(path: Path, password: str) -> KeyRepository:
    names = sorted(os.listdir(path))
    if len(names) > _FILES_MAX:
        raise RepositoryError(f"{path} has {len(names)} files; {_FILES_MAX} are allowed")
    certificates: dict[str, OwnCertificate] = {}
    trusted: list[bytes] = []
    for name in names:
        stem, ending = os.path.splitext(name)
        if ending != CERTIFICATE_ENDING or name == AUTHORITIES_FILE or stem.startswith("."):
            continue
        certificate, key = path / name, path / (stem + KEY_ENDING)
        if not key.exists():
            trusted.append(_read(certificate))
            continue
        label = stem.replace("&", "/")
        certificates[label] = OwnCertificate(label, _read(certificate), _read(key), f"{certificate} and {key}")
    authorities, revocations = path / AUTHORITIES_FILE, path / REVOCATIONS_FILE
    if authorities.exists():
        trusted.append(_read(authorities))
    return KeyRepository(
        path, certificates, b"\n".join(trusted), _read(revocations) if revocations.exists() else b"", password
    )


def _from_bundle(path: Path, password: str) -> KeyRepository:
    """Read a bundle. The certificate that belongs to a key is found by trying."""
    data = _read(path)
    keys: list[tuple[str, bytes]] = []
    others: list[tuple[str, bytes]] = []
    revocations: list[bytes] = []
    end = 0
    for match in _BLOCK.finditer(data):
        named = _FRIENDLY_NAME.findall(data[end : match.start()])
        end = match.end()
        label = named[-1].decode("utf-8", "replace").strip() if named else ""
        kind = match[1]
        if kind.endswith(b"PRIVATE KEY"):
            keys.append((label, match[0]))
        elif kind == b"X509 CRL":
            revocations.append(match[0])
        elif kind in (b"CERTIFICATE", b"TRUSTED CERTIFICATE"):
            others.append((label, match[0]))
    if not others:
        raise RepositoryError(f"{path} holds no certificate")
    certificates: dict[str, OwnCertificate] = {}
    for label, key in keys:
        owner = _certificate_of_key(path, key, others, password)
        others.remove(owner)
        chosen = owner[0] or label or path.stem
        certificates[chosen] = OwnCertificate(chosen, owner[1], key, str(path))
    authorities = b"\n".join([pem for _, pem in others])
    return KeyRepository(path, certificates, authorities, b"\n".join(revocations), password)


def _certificate_of_key(
    path: Path, key: bytes, candidates: list[tuple[str, bytes]], password: str
) -> tuple[str, bytes]:
    probe = KeyRepository(path, {}, b"", b"", password)
    problem = RepositoryError(f"{path} holds a key, but not the certificate that belongs to it")
    for label, certificate in candidates:
        try:
            probe.load_certificate(
                ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER), OwnCertificate(label, certificate, key, str(path))
            )
        except RepositoryError as error:
            # A wrong password is wrong for all of them; a certificate of another key is expected here.
            if "password" in str(error):
                problem = error
            continue
        return label, certificate
    raise problem


def _missing_text(path: Path) -> str:
    for ending in _FOREIGN_ENDINGS:
        foreign = path.with_name(path.name + ending)
        if foreign.exists():
            return (
                f"{foreign} is a key database of another kind. Write it as {path}{BUNDLE_ENDING}: export it to PKCS "
                f"#12 if it is not that already, then openssl pkcs12 -in FILE.p12 -nodes -out {path}{BUNDLE_ENDING}"
            )
    return f"there is no key repository {path}: neither a directory of that name nor {path}{BUNDLE_ENDING}"


def _read(path: Path) -> bytes:
    with open(path, "rb") as file:
        data = file.read(_FILE_BYTES_MAX + 1)
    if len(data) > _FILE_BYTES_MAX:
        raise RepositoryError(f"{path} is longer than {_FILE_BYTES_MAX} bytes")
    return data


@contextmanager
def _as_file(data: bytes) -> Iterator[str]:
    """Give a path to bytes in memory: `ssl` takes keys from files only, and these must not be written to disk."""
    descriptor = os.memfd_create("ostler-tls", os.MFD_CLOEXEC)
    try:
        with open(descriptor, "wb", closefd=False) as file:
            file.write(data)
        yield f"/proc/self/fd/{descriptor}"
    finally:
        os.close(descriptor)


def _load_trust(context: ssl.SSLContext, data: bytes, path: Path, what: str) -> None:
    with _as_file(data) as in_memory:
        try:
            context.load_verify_locations(cafile=in_memory)
        except ssl.SSLError as error:
            raise RepositoryError(f"{path}: the {what} are not PEM that OpenSSL reads ({error.reason})") from None


def _explain(error: Exception, is_password_asked: bool) -> str:
    reason = getattr(error, "reason", None) or ""
    if reason in ("KEY_VALUES_MISMATCH", "KEY_TYPE_MISMATCH", "NO_CERTIFICATE_ASSIGNED"):
        return "the key does not belong to the certificate"
    if is_password_asked:
        return "the password does not open the key"
    if not reason or reason == "NO_START_LINE":
        return "no certificate with its key in PEM form"
    return str(reason).replace("_", " ").lower()
