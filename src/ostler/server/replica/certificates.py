"""The certificates of a group: one authority, and a key repository with one certificate for each node.

Only certificates of this authority may take part in replication: who can send log records can write anything. So the
authority is not that of channels, and its key is needed only to add nodes. Keys have mode 600.
"""

from __future__ import annotations

import os
import stat
from pathlib import Path
from typing import Final

from ostler.model.connection_names import Address
from ostler.server.tls.certificate_maker import Authority, CertificateError
from ostler.server.tls.key_repository import AUTHORITIES_FILE, CERTIFICATE_ENDING, KEY_ENDING, file_name

_DAYS: Final = 3650
_ORGANIZATION: Final = "Ostler replication"
_KEY_MODE: Final = 0o600
_DIRECTORY_MODE: Final = 0o700


def make_authority(directory: Path, group: str) -> Authority:
    """Return the authority of a group, made if there is none yet. Raises CertificateError and OSError."""
    authority = Authority(directory)
    if not authority.exists():
        directory.mkdir(_DIRECTORY_MODE, parents=True, exist_ok=True)
        authority.create(f"{group} replication authority", "ec")
    return authority


def issue_certificate(authority: Authority, repository: Path, group: str, node: str, address: Address) -> None:
    """Write the key repository of a node. The subject names group and node, which the other end compares.

    Raises CertificateError and OSError.
    """
    repository.mkdir(_DIRECTORY_MODE, parents=True, exist_ok=True)
    subject = [("CN", node), ("OU", group), ("O", _ORGANIZATION)]
    authority.issue(repository, node, subject, "ec", _DAYS, (address.host,))


def check_repository(repository: Path, node: str) -> None:
    """Raise CertificateError when a key repository lacks the certificate of a node, or others may read its key."""
    stem = file_name(node)
    key = repository / (stem + KEY_ENDING)
    for path in (repository / (stem + CERTIFICATE_ENDING), key, repository / AUTHORITIES_FILE):
        if not path.is_file():
            raise CertificateError(f"there is no {path}")
    mode = stat.S_IMODE(os.stat(key).st_mode)
    if mode & ~_KEY_MODE:
        raise CertificateError(f"{key} has mode {mode:o}, and others could use it: chmod 600 {key}")
