"""A private certificate authority and the certificates that it issues, made with the `openssl` program.

For tests, demonstrations and closed networks. Files from any other certificate authority can be used as well.
"""

from __future__ import annotations

import os
import secrets
import shutil
import socket
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal

from ostler.server.config.environment import without_secrets
from ostler.server.tls.key_repository import AUTHORITIES_FILE, CERTIFICATE_ENDING, KEY_ENDING, file_name

KeyType = Literal["rsa", "ec"]
AUTHORITY_KEY_FILE: Final = "ca.key"
AUTHORITY_DAYS: Final = 3_650
# The longest validity that common software accepts in a server's certificate.
CERTIFICATE_DAYS: Final = 825
_SECONDS_MAX: Final = 120
_KEY_OPTIONS: Final[dict[str, list[str]]] = {
    "rsa": ["-newkey", "rsa:2048"],
    "ec": ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256"],
}
# SSLPEER's attribute types and OpenSSL's, in the order of a certificate: from the country to the common name.
_SUBJECT_TYPES: Final = {
    "C": "C",
    "ST": "ST",
    "L": "L",
    "STREET": "street",
    "PC": "postalCode",
    "DC": "DC",
    "O": "O",
    "OU": "OU",
    "T": "title",
    "CN": "CN",
    "UID": "UID",
    "MAIL": "emailAddress",
}
_REQUEST_CONFIGURATION: Final = "[req]\ndistinguished_name=none\nstring_mask=utf8only\n[none]\n"
_AUTHORITY_EXTENSIONS: Final = """\
basicConstraints=critical,CA:TRUE
keyUsage=critical,keyCertSign,cRLSign
subjectKeyIdentifier=hash
"""
_CERTIFICATE_EXTENSIONS: Final = """\
basicConstraints=critical,CA:FALSE
keyUsage=critical,digitalSignature,keyEncipherment
extendedKeyUsage=serverAuth,clientAuth
subjectKeyIdentifier=hash
authorityKeyIdentifier=keyid
"""


class CertificateError(Exception):
    """A certificate could not be made or read. The text contains the error of `openssl`."""


@dataclass(frozen=True)
class Authority:
    """A certificate authority in a directory: the public ca.crt and the secret ca.key."""

    directory: Path

    @property
    def certificate(self) -> Path:
        return self.directory / AUTHORITIES_FILE

    @property
    def key(self) -> Path:
        return self.directory / AUTHORITY_KEY_FILE

    def exists(self) -> bool:
        return self.certificate.exists() and self.key.exists()

    def create(self, name: str, key_type: KeyType = "rsa", days: int = AUTHORITY_DAYS) -> None:
        """Create the authority. Raises CertificateError, also if there is one: its certificates would be void."""
        if self.certificate.exists() or self.key.exists():
            raise CertificateError(f"there is an authority in {self.directory} already")
        self.directory.mkdir(0o700, parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=self.directory, prefix=".making-") as scratch:
            work = Path(scratch)
            _request(work, [("O", "Ostler"), ("CN", name)], key_type)
            (work / "extensions").write_text(_AUTHORITY_EXTENSIONS)
            signing = ["-signkey", str(work / "key")]
            _sign(work, signing, days)
            _move(work / "key", self.key, 0o600)
            _move(work / "certificate", self.certificate, 0o644)

    def issue(
        self,
        directory: Path,
        label: str,
        subject: list[tuple[str, str]],
        key_type: KeyType = "rsa",
        days: int = CERTIFICATE_DAYS,
        host_names: tuple[str, ...] = (),
    ) -> tuple[Path, Path]:
        """Write <label>.crt, <label>.key and ca.crt to a key repository, replacing older ones.

        The certificate is valid for both sides of a connection. `subject` has types as in SSLPEER. Each file is
        replaced as a whole; a queue manager loads them with REFRESH SECURITY TYPE(SSL).
        """
        if not self.exists():
            raise CertificateError(f"there is no authority in {self.directory}")
        directory.mkdir(0o700, parents=True, exist_ok=True)
        stem = file_name(label)
        certificate, key = directory / (stem + CERTIFICATE_ENDING), directory / (stem + KEY_ENDING)
        with tempfile.TemporaryDirectory(dir=directory, prefix=".making-") as scratch:
            work = Path(scratch)
            _request(work, subject, key_type)
            (work / "extensions").write_text(_CERTIFICATE_EXTENSIONS + _alternative_names(host_names))
            _sign(work, ["-CA", str(self.certificate), "-CAkey", str(self.key)], days)
            shutil.copyfile(self.certificate, work / "authority")
            _move(work / "key", key, 0o600)
            _move(work / "certificate", certificate, 0o644)
            _move(work / "authority", directory / AUTHORITIES_FILE, 0o644)
        return certificate, key


def describe_certificate(path: Path) -> dict[str, str]:
    """Return subject, issuer, serial number, validity and SHA-256 fingerprint of a PEM file's first certificate."""
    options = ["-noout", "-subject", "-issuer", "-serial", "-startdate", "-enddate", "-fingerprint", "-sha256"]
    shown = _openssl(["x509", "-in", str(path), *options, "-nameopt", "RFC2253,utf8,-esc_msb"])
    found: dict[str, str] = {}
    for line in shown.splitlines():
        name, _, value = line.partition("=")
        found[name.strip().lower()] = value.strip()
    return found


def is_valid_for(path: Path, seconds: int) -> bool:
    """Return True when the first certificate in a PEM file is still valid so many seconds from now."""
    try:
        _openssl(["x509", "-in", str(path), "-noout", "-checkend", str(seconds)])
    except CertificateError:
        return False
    return True


def own_host_names() -> tuple[str, ...]:
    """Return the names under which this machine is usually reached."""
    return tuple(dict.fromkeys(("localhost", socket.gethostname())))


def _request(work: Path, subject: list[tuple[str, str]], key_type: KeyType) -> None:
    configuration = work / "configuration"
    configuration.write_text(_REQUEST_CONFIGURATION)
    options = ["-nodes", "-utf8", "-sha256", "-config", str(configuration), *_KEY_OPTIONS[key_type]]
    files = ["-keyout", str(work / "key"), "-out", str(work / "request")]
    _openssl(["req", "-new", *options, *files, "-subj", _subject(subject)])


def _sign(work: Path, signing: list[str], days: int) -> None:
    options = ["-sha256", "-days", str(days), "-set_serial", f"0x{_serial_number()}"]
    files = ["-in", str(work / "request"), "-extfile", str(work / "extensions"), "-out", str(work / "certificate")]
    _openssl(["x509", "-req", *options, *files, *signing])


def _serial_number() -> str:
    """Return a random serial number of at most 20 bytes, never negative."""
    return f"4{secrets.token_hex(16)[1:]}"


def _subject(subject: list[tuple[str, str]]) -> str:
    """Return the subject for `openssl req`, in the order of a certificate; several OU keep their order."""
    parts: list[str] = []
    for kind, name in _SUBJECT_TYPES.items():
        for given, value in subject:
            if given == kind:
                escaped = value.replace("\\", "\\\\").replace("/", "\\/").replace("+", "\\+")
                parts.append(f"/{name}={escaped}")
    unknown = [given for given, _ in subject if given not in _SUBJECT_TYPES]
    if unknown or not parts:
        raise CertificateError(f"{', '.join(unknown) or 'nothing'} cannot be in the subject of a certificate")
    return "".join(parts)


def _alternative_names(host_names: tuple[str, ...]) -> str:
    if not host_names:
        return ""
    names: list[str] = []
    for host in host_names:
        if not host or any(character in host for character in ",\n\r ="):
            raise CertificateError(f"{host!r} is no host name")
        is_address = ":" in host or host.replace(".", "").isdigit()
        names.append(f"{'IP' if is_address else 'DNS'}:{host}")
    return f"subjectAltName={','.join(names)}\n"


def _move(source: Path, target: Path, mode: int) -> None:
    os.chmod(source, mode)
    os.replace(source, target)


def _openssl(arguments: list[str]) -> str:
    try:
        done = subprocess.run(
            ["openssl", *arguments],
            capture_output=True,
            text=True,
            timeout=_SECONDS_MAX,
            check=False,
            stdin=subprocess.DEVNULL,
            umask=0o077,
            env=without_secrets(os.environ),
        )
    except FileNotFoundError:
        raise CertificateError("the program openssl is needed to make certificates, and is not installed") from None
    except subprocess.TimeoutExpired:
        raise CertificateError(f"openssl {arguments[0]} did not end within {_SECONDS_MAX} seconds") from None
    if done.returncode != 0:
        said = [line for line in done.stderr.splitlines() if line.strip()]
        raise CertificateError(f"openssl {arguments[0]} failed: {said[-1] if said else 'no reason given'}")
    return done.stdout
