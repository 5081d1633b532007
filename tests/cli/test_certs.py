"""`ostler certs`: what it makes is what both sides of TLS take."""

from __future__ import annotations

import argparse
import json
import stat
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.world.tls_pairs import shake_hands

from ostler.cli import certs as certificates
from ostler.cli.framework.commands import CommandFailed, CommandParser
from ostler.client.link.tls_client import ClientTls
from ostler.client.locate.connect_parameters import TlsSettings
from ostler.server.config.directories import QueueManagerDirectory, create_queue_manager
from ostler.server.config.qm_ini import QueueManagerIni
from ostler.server.tls.certificate_maker import Authority, CertificateError, is_valid_for
from ostler.server.tls.contexts import ChannelTls, RepositorySettings, TlsContexts

Certs = Callable[..., int]
CHANNEL = ChannelTls("APP.SVRCONN", "ANY_TLS12_OR_HIGHER")


@pytest.fixture
def manager(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> QueueManagerDirectory:
    monkeypatch.setenv("OSTLER_DATA", str(tmp_path / "data"))
    monkeypatch.chdir(tmp_path)
    return create_queue_manager(tmp_path / "data", "QM1", QueueManagerIni(""))


@pytest.fixture
def certs(manager: QueueManagerDirectory) -> Certs:
    """Run the command in this process."""

    def run(*arguments: str) -> int:
        parser = CommandParser(prog="ostler")
        subparsers: argparse._SubParsersAction[argparse.ArgumentParser]
        subparsers = parser.add_subparsers(dest="command", parser_class=CommandParser)
        certificates.add_command(subparsers)
        parsed = parser.parse_args(["certs", *arguments])
        status: int = parsed.run(parsed)
        return status

    return run


def test_two_commands_are_enough(certs: Certs, manager: QueueManagerDirectory, tmp_path: Path) -> None:
    assert certs("create", "QM1") == 0
    assert certs("create", "QM1", "--client", "app1", "--subject", "CN=app1,OU=Payments,O=Bank") == 0
    settings = RepositorySettings("QM1", manager.path / "ssl")
    server = TlsContexts(lambda: settings, {CHANNEL.name: CHANNEL}.get).stream()
    client = ClientTls(TlsSettings(key_repository=str(tmp_path / "app1"), peer_name="CN=QM1")).stream(CHANNEL.name)
    shake_hands(client, server)
    assert server.peer_subject().attributes[:3] == [("O", "Bank"), ("OU", "Payments"), ("CN", "app1")]


def test_keys_are_for_their_owner_alone(certs: Certs, manager: QueueManagerDirectory) -> None:
    certs("create", "QM1")
    keys = [*(manager.path / "ssl").rglob("*.key")]
    assert sorted(path.name for path in keys) == ["ca.key", "ibmwebspheremqqm1.key"]
    assert {stat.S_IMODE(path.stat().st_mode) for path in keys} == {0o600}
    assert [path.name for path in (manager.path / "ssl").rglob(".making*")] == []


def test_the_authority_is_made_once(certs: Certs, manager: QueueManagerDirectory) -> None:
    certs("create", "QM1")
    authority = Authority(manager.path / "ssl" / "ca")
    before = authority.certificate.read_bytes()
    certs("create", "QM1", "--client", "app1")
    assert authority.certificate.read_bytes() == before
    with pytest.raises(CertificateError, match="there is an authority"):
        authority.create("another")


def test_a_certificate_is_replaced_only_on_request(
    certs: Certs, manager: QueueManagerDirectory, capsys: pytest.CaptureFixture[str]
) -> None:
    certs("create", "QM1")
    path = manager.path / "ssl" / "key" / "ibmwebspheremqqm1.crt"
    before = path.read_bytes()
    assert certs("create", "QM1") == 1
    assert "exists already; --replace" in capsys.readouterr().err
    assert path.read_bytes() == before
    assert certs("create", "QM1", "--replace") == 0
    assert path.read_bytes() != before


def test_one_authority_for_several(certs: Certs, manager: QueueManagerDirectory, tmp_path: Path) -> None:
    shared = str(tmp_path / "shared")
    create_queue_manager(tmp_path / "data", "QM2", QueueManagerIni(""))
    assert certs("create", "QM1", "--authority", shared) == 0
    assert certs("create", "QM2", "--authority", shared) == 0
    copies = [path.read_bytes() for path in (tmp_path / "data").rglob("ca.crt")]
    assert copies == [(tmp_path / "shared" / "ca.crt").read_bytes()] * 2


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (("--subject", "nonsense"), "'nonsense' is not one of"),
        (("--subject", "DNQ=x"), "DNQ cannot be in the subject"),
        (("--days", "0"), "0 days are not between"),
        (("--label", "ca"), "cannot be the label"),
        (("--output", "x"), "--output is for clients"),
        (("--host", "a,DNS:b"), "'a,DNS:b' is no host name"),
    ],
)
def test_what_cannot_be_made(
    certs: Certs, capsys: pytest.CaptureFixture[str], arguments: tuple[str, ...], text: str
) -> None:
    assert certs("create", "QM1", *arguments) == 1
    assert text in capsys.readouterr().err


def test_no_such_queue_manager(certs: Certs) -> None:
    with pytest.raises(CommandFailed, match="QM9"):
        certs("create", "QM9")


def test_show(certs: Certs, manager: QueueManagerDirectory, capsys: pytest.CaptureFixture[str]) -> None:
    certs("create", "QM1", "--days", "20", "--key", "ec", "--subject", "CN=QM1,OU=A/B+C,OU=é,O=Bank")
    key = manager.path / "ssl" / "key" / "ibmwebspheremqqm1.key"
    capsys.readouterr()
    assert certs("show", "QM1", "--json") == 0
    own, authority = json.loads(capsys.readouterr().out)
    assert own["Subject"] == "CN=QM1,OU=é,OU=A/B\\+C,O=Bank"
    assert own["Issuer"] == authority["Subject"] == "CN=QM1 authority,O=Ostler"
    assert own["Attention"] == "it expires in 19 days"
    assert own["Key"] == "ibmwebspheremqqm1.key"
    assert "Attention" not in authority
    key.chmod(0o644)
    assert certs("show", str(key.with_suffix(".crt"))) == 0
    assert "chmod 600" in capsys.readouterr().out
    key.unlink()
    assert certs("show", str(key.parent)) == 0
    assert "none beside it" in capsys.readouterr().out


def test_nothing_to_show(certs: Certs, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert certs("show", "QM1") == 1
    assert "ostler certs create makes it" in capsys.readouterr().err
    assert certs("show", str(tmp_path)) == 1
    assert "there is no certificate in" in capsys.readouterr().err
    (tmp_path / "x.crt").write_text("spoilt")
    assert certs("show", str(tmp_path / "x.crt")) == 1
    assert "openssl x509 failed" in capsys.readouterr().err


def test_without_openssl(certs: Certs, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setenv("PATH", "")
    assert certs("create", "QM1") == 1
    assert "the program openssl is needed" in capsys.readouterr().err


def test_validity_is_asked_of_openssl(certs: Certs, manager: QueueManagerDirectory) -> None:
    certs("create", "QM1", "--days", "2")
    path = manager.path / "ssl" / "key" / "ibmwebspheremqqm1.crt"
    assert is_valid_for(path, 86_400)
    assert not is_valid_for(path, 3 * 86_400)
