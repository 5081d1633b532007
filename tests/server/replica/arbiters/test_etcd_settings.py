"""The stanza Arbiter as settings of etcd's client: a password file that only its owner reads."""

from __future__ import annotations

from pathlib import Path

import pytest

from ostler.server.config.replication_ini import ArbiterSection, ArbiterType
from ostler.server.queue_manager import ReplicationUnavailable
from ostler.server.replica.instance import etcd_settings


def settings(path: Path) -> ArbiterSection:
    files = (str(path), "/keys/ca", "/keys/certificate", "/keys/key")
    return ArbiterSection(ArbiterType.ETCD, ("https://127.0.0.1:2379",), 5, "", "ostler", *files)


def test_everything_of_the_stanza_is_passed_on(tmp_path: Path) -> None:
    path = tmp_path / "password"
    path.write_text("horses and carts\nwhat follows is not read\n")
    path.chmod(0o600)
    made = etcd_settings(settings(path))
    assert (made.user, made.password) == ("ostler", "horses and carts")
    assert (made.ca_file, made.certificate_file, made.key_file) == ("/keys/ca", "/keys/certificate", "/keys/key")
    assert (made.endpoints, made.lease_seconds) == (("https://127.0.0.1:2379",), 5)


@pytest.mark.parametrize(
    ("data", "mode", "problem"),
    [
        (b"horses\n", 0o640, "has mode 640, so others can read it"),
        (b"horses\n", 0o604, "has mode 604"),
        (b"\n", 0o600, "no password in its first line"),
        (b"\xff\xfe\n", 0o600, "no password in its first line"),
        (bytes(5000), 0o600, "no password in its first line"),
    ],
)
def test_a_password_file_that_cannot_be_used(tmp_path: Path, data: bytes, mode: int, problem: str) -> None:
    path = tmp_path / "password"
    path.write_bytes(data)
    path.chmod(mode)
    with pytest.raises(ReplicationUnavailable, match=problem):
        etcd_settings(settings(path))


def test_a_password_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(ReplicationUnavailable, match="No such file"):
        etcd_settings(settings(tmp_path / "none"))
