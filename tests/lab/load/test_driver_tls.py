"""Clients of a driver that speak TLS: any client does, without knowing of it."""

from __future__ import annotations

import time
from collections.abc import Iterator

import pytest
from tests.lab.load.answering_server import AnsweringServer
from tests.lab.load.recorded import done_in

from ostler.lab.load import spec
from ostler.lab.load.client import LoadFailed
from ostler.lab.load.drivers.start import start_driver
from ostler.lab.load.spec import LoadSpec, TlsSpec
from ostler.lab.load.timeline import Timeline
from ostler.lab.store.rows import OperationRow
from ostler.model.cipher_specs import require
from ostler.server.tls.certificate_maker import Authority
from ostler.server.tls.suites import new_context

CIPHER_SPECS = ("ECDHE_RSA_AES_256_GCM_SHA384", "TLS_AES_128_GCM_SHA256")
# More than a record of TLS holds, and more than a socket takes at once.
BLOCK_BYTES = 300_000


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    made = Authority(tmp_path_factory.mktemp("authority"))
    made.create("Tests")
    made.issue(made.directory, "server", [("CN", "LAB")])
    return made


@pytest.fixture(params=CIPHER_SPECS)
def cipher_spec(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def server(authority: Authority, cipher_spec: str) -> Iterator[AnsweringServer]:
    context = new_context(require(cipher_spec), is_server=True)
    context.load_cert_chain(authority.directory / "server.crt", authority.directory / "server.key")
    made = AnsweringServer(context=context)
    yield made
    made.end()


def secured(server: AnsweringServer, authority: Authority, cipher_spec: str, block_bytes: int) -> LoadSpec:
    tls = TlsSpec(cipher_spec, str(authority.certificate))
    return LoadSpec(spec.BARE, server.address, range(3), range(0), 1, block_bytes, False, "LAB.SVRCONN", tls=tls)


@pytest.mark.parametrize("block_bytes", [64, BLOCK_BYTES])
def test_round_trips_under_tls(
    server: AnsweringServer, authority: Authority, cipher_spec: str, block_bytes: int
) -> None:
    driver = start_driver(secured(server, authority, cipher_spec, block_bytes))
    assert done_in(driver) == server.accepted == 3
    recorder = driver.run(Timeline.starting(time.perf_counter_ns(), 0, 0.05, 0), lambda moment: None)
    rows = [row for phase in recorder.phases for row in phase.rows(0) if isinstance(row, OperationRow)]
    assert sum(row.count for row in rows) >= 3
    driver.close()


def test_another_cipher_spec_than_the_servers_is_told(
    server: AnsweringServer, authority: Authority, cipher_spec: str
) -> None:
    other = CIPHER_SPECS[1 - CIPHER_SPECS.index(cipher_spec)]
    with pytest.raises(LoadFailed, match=r"AMQ9\d\d\dE|closed a connection"):
        start_driver(secured(server, authority, other, 64))


def test_a_server_whose_certificate_nobody_vouches_for_is_told(
    server: AnsweringServer, cipher_spec: str, tmp_path_factory: pytest.TempPathFactory
) -> None:
    strangers = Authority(tmp_path_factory.mktemp("strangers"))
    strangers.create("Strangers")
    with pytest.raises(LoadFailed, match="certificate is not accepted"):
        start_driver(secured(server, strangers, cipher_spec, 64))


def test_a_missing_authority_or_an_unknown_cipher_spec_is_told(
    server: AnsweringServer, authority: Authority, tmp_path_factory: pytest.TempPathFactory
) -> None:
    with pytest.raises(LoadFailed, match="NO_SUCH_SPEC"):
        start_driver(secured(server, authority, "NO_SUCH_SPEC", 64))
    with pytest.raises(LoadFailed, match=r"ca\.crt"):
        start_driver(secured(server, Authority(tmp_path_factory.mktemp("empty")), CIPHER_SPECS[0], 64))
