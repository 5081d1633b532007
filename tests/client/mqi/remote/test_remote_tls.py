"""The raw verbs under TLS: threads that share a secured link, large messages, passwords, reconnection."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.client.remote_site import OK, RemoteSite

from ostler import mqi
from ostler.client.locate.connect_parameters import TlsSettings
from ostler.model import constants as mqc
from ostler.model.attributes import ObjectType
from ostler.model.errors import MQError
from ostler.server.tls.certificate_maker import Authority

CHANNEL = "TLS.SVRCONN"
QUICKLY = {"OSTLER_RECONNECT_DELAYS": "(10,10)", "OSTLER_RECONNECT_TIMEOUT": "20"}


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    made = Authority(tmp_path_factory.mktemp("authority"))
    made.create("Tests", "ec")
    return made


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory, authority: Authority) -> Iterator[RemoteSite]:
    made = RemoteSite(tmp_path_factory.mktemp("secure"), "SECURE")
    secure(made, authority)
    made.queue("Q")
    yield made
    made.end()


def secure(site: RemoteSite, authority: Authority) -> None:
    """Give a queue manager a certificate, and a channel that wants TLS."""
    place: Path = site.data / "keys"
    authority.issue(place, f"ibmwebspheremq{site.name.lower()}", [("CN", site.name)], "ec")
    manager = site.manager.engine.manager.with_changes({"SSLKEYR": str(place)})
    site.manager.define(manager, replace=True)
    site.define(ObjectType.CHANNEL, CHANNEL, CHLTYPE="SVRCONN", SSLCIPH="ANY_TLS12_OR_HIGHER", SSLCAUTH="OPTIONAL")
    site.server.refresh_tls()


@pytest.fixture(params=["ANY_TLS12", "ANY_TLS13_OR_HIGHER"])
def tls(authority: Authority, request: pytest.FixtureRequest) -> TlsSettings:
    return TlsSettings(cipher_spec=request.param, ca_file=str(authority.certificate), peer_name="CN=SECURE")


def test_messages_short_and_long(site: RemoteSite, tls: TlsSettings) -> None:
    program = site.connect(channel=CHANNEL, tls=tls, user="me", password="secret")
    hobj = program.open("Q")
    for size in (0, 1, 5_000, 3_000_000):
        data = os.urandom(size)
        assert program.put(hobj, data) == 0
        assert program.get(hobj) == (data, 0)
    assert program.leave() == OK


def test_threads_that_share_a_link(site: RemoteSite, tls: TlsSettings) -> None:
    programs = [site.connect(channel=CHANNEL, tls=tls) for _ in range(6)]
    assert len({id(each.remote.conversation.link) for each in programs}) == 1
    got: list[bytes] = []

    def work(number: int) -> None:
        program = programs[number]
        hobj = program.open("Q")
        for turn in range(15):
            assert program.put(hobj, b"%d.%d." % (number, turn) + b"x" * (turn * 20_000)) == 0
            data, reason = program.get(hobj, mqc.MQGMO_WAIT | mqc.MQGMO_NO_SYNCPOINT, 20_000)
            assert reason == 0
            got.append(data.rstrip(b"x"))

    threads = [threading.Thread(target=work, args=(number,)) for number in range(6)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    assert sorted(got) == sorted(b"%d.%d." % (number, turn) for number in range(6) for turn in range(15))
    assert all(each.leave() == OK for each in programs)


def test_links_with_and_without_tls_are_not_mixed(site: RemoteSite, tls: TlsSettings) -> None:
    secured, plain = site.connect(channel=CHANNEL, tls=tls), site.connect()
    assert secured.remote.conversation.link is not plain.remote.conversation.link
    assert [secured.leave(), plain.leave()] == [OK, OK]


def test_somebody_else_answers(site: RemoteSite, authority: Authority) -> None:
    wrong = TlsSettings(cipher_spec="ANY_TLS12", ca_file=str(authority.certificate), peer_name="CN=OTHER")
    with pytest.raises(MQError) as refused:
        site.connect(channel=CHANNEL, tls=wrong, user="me", password="secret")
    assert refused.value.reason == mqc.MQRC_SSL_PEER_NAME_MISMATCH


def test_reconnection_is_secured_too(tmp_path: Path, authority: Authority) -> None:
    site = RemoteSite(tmp_path, "SECURE")
    secure(site, authority)
    site.queue("Q")
    settings = TlsSettings(cipher_spec="ANY_TLS12_OR_HIGHER", ca_file=str(authority.certificate))
    program = site.connect(channel=CHANNEL, tls=settings, environment=QUICKLY, reconnect="yes")
    hobj = program.open("Q")
    assert program.put(hobj, b"kept", persistence=1) == 0
    site.end()
    site.begin()
    assert program.get(hobj, mqc.MQGMO_SYNCPOINT) == (b"kept", 0)
    assert mqi.MQCMIT(program.hconn) == OK
    assert program.leave() == OK
    site.end()
