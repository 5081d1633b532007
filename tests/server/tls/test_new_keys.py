"""New keys for clients (SSLRKEYC, KeyResetCount): over real sockets, between messages, with all that is under way."""

from __future__ import annotations

import asyncio
import os
import socket
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import pytest
from tests.client.remote_site import OK, structure
from tests.world.tls_pairs import TestCertificates, make_certificates

import ostler
from ostler import mqi
from ostler.client.link.tls_client import ClientTls
from ostler.client.locate.binding import connect_handle
from ostler.client.locate.connect_parameters import ConnectParameters, TlsSettings
from ostler.command.admin.context import ChannelStatus
from ostler.model import constants as mq
from ostler.testing import RunningQueueManager, queue_manager
from ostler.wire.connect_frames import Hello, decode_hello
from ostler.wire.frames import FAREWELL, HEARTBEAT, HELLO, PROTOCOL_VERSION, REKEY, FrameReader, frame
from ostler.wire.payload_codec import PayloadReader
from ostler.wire.replies import decode_reason

CHANNELS = """\
DEFINE QLOCAL(ORDERS) MAXDEPTH(100000)
DEFINE CHANNEL(APPS) CHLTYPE(SVRCONN) SSLCIPH(ANY_TLS12_OR_HIGHER)
DEFINE CHANNEL(PLAIN) CHLTYPE(SVRCONN)
"""
SPECS = pytest.mark.parametrize("spec", ["TLS_AES_128_GCM_SHA256", "ECDHE_RSA_AES_256_GCM_SHA384"])
BODY = os.urandom(5_000)


@pytest.fixture(scope="module")
def qm() -> Iterator[RunningQueueManager]:
    with queue_manager(mqsc=CHANNELS) as running:
        yield running


@pytest.fixture(scope="module")
def made(qm: RunningQueueManager) -> TestCertificates:
    return make_certificates(qm.manager.directory.path, qm.name)


@pytest.fixture
def settings(qm: RunningQueueManager, made: TestCertificates) -> Iterator[TlsSettings]:
    yield TlsSettings(key_repository=str(made.client))
    qm.mqsc("ALTER QMGR SSLRKEYC(0)\nCLEAR QLOCAL(ORDERS)")


def status_of(qm: RunningQueueManager) -> ChannelStatus:
    """The status of the one connection that is there; those of earlier tests may be about to close."""
    found = [each for each in qm.server.channel_status() if each.name == "APPS" and each.conversations]
    assert len(found) == 1
    return found[0]


def connect(qm: RunningQueueManager, tls: TlsSettings) -> ostler.Connection:
    return ostler.connect(qm.name, qm.connection_name, channel="APPS", tls=tls)


@SPECS
def test_the_client_asks_for_new_keys(qm: RunningQueueManager, settings: TlsSettings, spec: str) -> None:
    with connect(qm, replace(settings, cipher_spec=spec, key_reset_bytes=40_000)) as connection:
        with connection.open("ORDERS") as queue:
            for _ in range(60):
                queue.put(BODY)
                message = queue.get(wait=30)
                assert message is not None
                assert message.body == BODY
        status = status_of(qm)
        assert status.key_resets >= 8
        assert status.key_reset_ms > 0
        shown = "\n".join(qm.mqsc("DISPLAY CHSTATUS(APPS) SSLRKEYS SSLKEYDA SSLKEYTI"))
        assert f"SSLRKEYS({status.key_resets})" in shown
        assert "SSLKEYDA( )" not in shown


def test_the_queue_manager_s_count_is_for_clients_that_have_none(
    qm: RunningQueueManager, settings: TlsSettings
) -> None:
    qm.mqsc("ALTER QMGR SSLRKEYC(1)")  # counts as 32,768
    with connect(qm, settings) as connection, connection.open("ORDERS", "w") as queue:
        for _ in range(30):
            queue.put(BODY)
        assert 3 <= status_of(qm).key_resets <= 5


def test_the_smaller_count_applies(qm: RunningQueueManager, settings: TlsSettings) -> None:
    qm.mqsc("ALTER QMGR SSLRKEYC(500000)")
    with connect(qm, replace(settings, key_reset_bytes=100_000)) as connection, connection.open("ORDERS", "w") as queue:
        for _ in range(45):
            queue.put(BODY)
        assert status_of(qm).key_resets == 2


def test_without_a_count_keys_stay(qm: RunningQueueManager, settings: TlsSettings) -> None:
    with connect(qm, settings) as connection, connection.open("ORDERS", "w") as queue:
        for _ in range(60):
            queue.put(BODY)
        assert status_of(qm).key_resets == 0
        assert "SSLKEYDA( )" in "\n".join(qm.mqsc("DISPLAY CHSTATUS(APPS) SSLKEYDA"))


def test_the_environment_may_name_the_count(
    qm: RunningQueueManager, settings: TlsSettings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MQSSLRESET", "40000")
    with connect(qm, settings) as connection, connection.open("ORDERS", "w") as queue:
        for _ in range(30):
            queue.put(BODY)
        assert status_of(qm).key_resets >= 3


def test_large_messages_go_on_under_the_next_keys(qm: RunningQueueManager, settings: TlsSettings) -> None:
    """Every message is many times the count: keys change between its segments."""
    body = os.urandom(2_000_000)
    with connect(qm, replace(settings, key_reset_bytes=40_000)) as connection, connection.open("ORDERS") as queue:
        for _ in range(3):
            queue.put(body)
        for _ in range(3):
            message = queue.get(wait=30)
            assert message is not None
            assert message.body == body
        assert status_of(qm).key_resets >= 30


def work_on_shared_socket(qm: RunningQueueManager, tls: TlsSettings, number: int, rounds: int) -> None:
    """Put and wait for it, so many times, on a conversation of its own."""
    parameters = ConnectParameters(
        qm.name, "client", qm.connection_name, "APPS", tls=tls, is_shared=True, sharing_conversations=10
    )
    hconn = connect_handle(parameters)
    od = structure("MQOD", ObjectName="ORDERS")
    hobj, code, reason = mqi.MQOPEN(hconn, od, mq.MQOO_INPUT_SHARED | mq.MQOO_OUTPUT)
    assert (code, reason) == OK
    own = (b"thread %d" % number).ljust(24, b"\0")
    for each in range(rounds):
        body = b"%d %d" % (number, each) + BODY
        sent = structure("MQMD", 2, CorrelId=own)
        assert mqi.MQPUT(hconn, hobj, sent, structure("MQPMO"), body) == OK
        wanted = structure("MQMD", 2, CorrelId=own)
        options = structure(
            "MQGMO", 2, Options=mq.MQGMO_WAIT, WaitInterval=60_000, MatchOptions=mq.MQMO_MATCH_CORREL_ID
        )
        got, _, code, reason = mqi.MQGET(hconn, hobj, wanted, options, 10_000)
        assert (code, reason) == OK
        assert got == body
    mqi.MQDISC(hconn)


def test_conversations_that_share_a_connection_go_on(qm: RunningQueueManager, settings: TlsSettings) -> None:
    """Several threads put and wait on one socket, while any of them may be the one that asks for new keys."""
    tls = replace(settings, key_reset_bytes=40_000)
    rounds, threads = 40, 6
    first = connect_handle(
        ConnectParameters(
            qm.name, "client", qm.connection_name, "APPS", tls=tls, is_shared=True, sharing_conversations=10
        )
    )
    with ThreadPoolExecutor(threads) as pool:
        done = [pool.submit(work_on_shared_socket, qm, tls, number, rounds) for number in range(threads)]
        for each in done:
            each.result(120)
    assert status_of(qm).key_resets >= rounds * threads * 2 * len(BODY) // 40_000 // 2
    mqi.MQDISC(first)
    assert qm.depth("ORDERS") == 0


def test_a_consumer_that_only_receives_gets_new_keys(qm: RunningQueueManager, settings: TlsSettings) -> None:
    with qm.connect() as local:
        for _ in range(200):
            local.put("ORDERS", BODY)
    with connect(qm, replace(settings, key_reset_bytes=40_000)) as connection, connection.open("ORDERS", "r") as queue:
        assert [message.body == BODY for message in queue] == [True] * 200
        assert status_of(qm).key_resets >= 5


def test_event_loops_change_keys_too(qm: RunningQueueManager, settings: TlsSettings) -> None:
    tls = replace(settings, key_reset_bytes=40_000)
    large = os.urandom(1_000_000)

    async def one(number: int) -> None:
        connection = await ostler.aio.connect(qm.name, qm.connection_name, channel="APPS", tls=tls)
        async with connection as here, await here.open("ORDERS") as queue:
            for body in (BODY, large, BODY, BODY, large):
                await queue.put(body, correlation_id=b"task %d" % number)
                got = await queue.get(wait=60, correlation_id=b"task %d" % number)
                assert got is not None
                assert got.body == body

    async def main() -> None:
        connection = await ostler.aio.connect(qm.name, qm.connection_name, channel="APPS", tls=tls)
        async with connection:
            await asyncio.gather(*[one(number) for number in range(4)])
            assert status_of(qm).key_resets >= 50

    asyncio.run(main())


def test_clients_of_the_version_before_keep_their_keys(
    qm: RunningQueueManager, settings: TlsSettings, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A queue manager of an older release answers HELLO with its own version, and without the count."""
    qm.mqsc("ALTER QMGR SSLRKEYC(40000)")
    monkeypatch.setattr("ostler.server.channels.settings.PROTOCOL_VERSION", 2)
    with connect(qm, replace(settings, key_reset_bytes=40_000)) as connection, connection.open("ORDERS", "w") as queue:
        for _ in range(60):
            queue.put(BODY)
        assert status_of(qm).key_resets == 0


# -- clients that break the protocol -----------------------------------------------------------------------------------


class RawClient:
    """A client made of a socket and TLS, which says what it is told to."""

    def __init__(self, qm: RunningQueueManager, tls: TlsSettings | None, version: int = PROTOCOL_VERSION) -> None:
        host, port = qm.connection_name.rstrip(")").split("(")
        self._socket = socket.create_connection((host, int(port)), 30)
        channel = "APPS" if tls is not None else "PLAIN"
        self._tls = ClientTls(tls).stream(channel) if tls is not None else None
        self._reader = FrameReader(1 << 20)
        self._send(b"")
        while self._tls is not None and not self._tls.is_ready:
            self._receive()
        proposal = Hello(channel)
        proposal.version = version
        proposal.heartbeat_seconds = 300
        self.negotiated = decode_hello(self.ask(frame(HELLO, 0, 1, proposal.encode()))[1][8:])

    def _send(self, data: bytes) -> None:
        if self._tls is not None:
            if data:
                self._tls.encrypt(data)
            data = self._tls.take_output()
        self._socket.sendall(data)

    def _receive(self) -> None:
        data = self._socket.recv(65536)
        assert data, "the queue manager closed the connection"
        self._reader.feed(self._tls.receive_data(data) if self._tls is not None else data)
        self._send(b"")

    def ask(self, data: bytes) -> tuple[int, bytes]:
        """Send a frame; type and payload of the next one that comes."""
        self._send(data)
        while not self._reader.next():
            self._receive()
        return int(self._reader.type), self._reader.buffer[self._reader.start : self._reader.end]

    def close(self) -> None:
        self._socket.close()


def farewell_of(client: RawClient, data: bytes) -> str:
    kind, payload = client.ask(data)
    client.close()
    assert kind == FAREWELL
    reason, text = decode_reason(PayloadReader(payload))
    assert reason == mq.MQRC_CONNECTION_ERROR
    return text


def test_new_keys_need_tls_the_version_and_some_bytes(qm: RunningQueueManager, settings: TlsSettings) -> None:
    rekey = frame(REKEY, 0, 1)
    assert "new keys again after a few bytes" in farewell_of(RawClient(qm, settings), rekey)
    assert "this version of the protocol does not have" in farewell_of(RawClient(qm, settings, 2), rekey)
    plain = RawClient(qm, None)
    for _ in range(1000):  # heartbeats, to have enough bytes
        plain.ask(frame(HEARTBEAT, 0, 1))
    assert "new keys without TLS" in farewell_of(plain, rekey)


def test_the_count_is_in_the_reply_to_hello_for_those_who_know_it(
    qm: RunningQueueManager, settings: TlsSettings
) -> None:
    qm.mqsc("ALTER QMGR SSLRKEYC(40000)")
    found = []
    for tls, version in ((settings, 3), (settings, 2), (settings, 1), (None, 3)):
        client = RawClient(qm, tls, version)
        found.append((int(client.negotiated.version), int(client.negotiated.key_reset_bytes)))
        client.close()
    assert found == [(3, 40_000), (2, 0), (1, 0), (3, 0)]
