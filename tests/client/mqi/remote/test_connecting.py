"""Which way `connect` takes, and what stands in the way: names, channels, environments, TLS, passwords."""

from __future__ import annotations

import asyncio
import getpass
import json
import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

import ostler
from ostler.client.locate.connect_parameters import TlsSettings
from ostler.client.mqi.remote.connect import ALLOW_PLAIN_PASSWORD
from ostler.client.session.in_process import LocalSession
from ostler.client.session.remote_session import RemoteSession
from ostler.model import constants as mq
from ostler.server.config.directories import QueueManagerDirectory, running_process
from ostler.server.net.local_socket import run_path, socket_path
from ostler.server.tls.certificate_maker import Authority

CHANNEL = "APP.SVRCONN"


@pytest.fixture(autouse=True)
def plain_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("MQSERVER", "MQCCDTURL", "MQCHLLIB", "MQCHLTAB", "MQSSLKEYR", ALLOW_PLAIN_PASSWORD):
        monkeypatch.delenv(name, raising=False)


def refused(reason: int) -> pytest.RaisesExc[ostler.MQError]:
    return pytest.RaisesExc(ostler.MQError, check=lambda error: error.reason == reason)


def way_of(connection: ostler.Connection) -> type:
    return type(connection.inner.session)


# -- which way -------------------------------------------------------------------------------------------------------


def test_a_queue_manager_of_this_process_is_nearest(site: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MQSERVER", "NO.SUCH/TCP/127.0.0.1(1)")
    with ostler.connect(site.name) as qm:
        assert way_of(qm) is LocalSession


def test_a_connection_name_leads_over_the_network(site: Any) -> None:
    with ostler.connect(site.name, site.address, channel=CHANNEL) as qm:
        assert way_of(qm) is RemoteSession
        assert qm.name == site.name


@pytest.mark.parametrize("name", ["", "*", "*ANYBODY"])
def test_whoever_answers_will_do(site: Any, name: str) -> None:
    with ostler.connect(name, site.address, channel=CHANNEL) as qm:
        assert qm.name == site.name


def test_addresses_are_tried_in_order(site: Any) -> None:
    with ostler.connect(site.name, f"127.0.0.1(1),{site.address}", channel=CHANNEL) as qm:
        assert qm.name == site.name


def test_nobody_there(site: Any) -> None:
    with pytest.raises(ostler.MQError, match=r"127\.0\.0\.1\(1\)") as caught:
        ostler.connect(site.name, "127.0.0.1(1),localhost(2)", channel=CHANNEL)
    assert caught.value.reason == mq.MQRC_HOST_NOT_AVAILABLE


def test_mqserver_says_where(site: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MQSERVER", f"{CHANNEL}/TCP/{site.address}")
    with ostler.connect("", data=tmp_path) as qm:
        assert (way_of(qm), qm.name) == (RemoteSession, site.name)
    with refused(mq.MQRC_Q_MGR_NAME_ERROR):
        ostler.connect("SOMEBODY", data=tmp_path)


@pytest.mark.parametrize("by_environment", [False, True])
def test_a_table_of_channels_says_where(
    site: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, by_environment: bool
) -> None:
    connection = {"connection": [{"host": "127.0.0.1", "port": site.port}], "queueManager": site.name}
    table = tmp_path / "ccdt.json"
    channel = {"name": CHANNEL, "type": "clientConnection", "clientConnection": connection}
    table.write_text(json.dumps({"channel": [channel]}))
    if by_environment:
        monkeypatch.setenv("MQCCDTURL", table.as_uri())
    ccdt = None if by_environment else table
    with ostler.connect(site.name, ccdt=ccdt, binding="client") as qm:
        assert (way_of(qm), qm.name) == (RemoteSession, site.name)


def test_another_process_reaches_it_over_its_own_socket(site: Any) -> None:
    site.admin.define("QLOCAL", "CONNECTING.Q", replace=True)
    program = (
        "import asyncio, ostler\n"
        f"with ostler.connect({site.name!r}) as qm:\n"
        "    qm.put('CONNECTING.Q', 'hello')\n"
        "async def main():\n"
        f"    async with await ostler.aio.connect({site.name!r}) as qm:\n"
        "        await qm.put('CONNECTING.Q', 'again')\n"
        "asyncio.run(main())\n"
    )
    environment = {
        **os.environ,
        "OSTLER_DATA": str(site.data),
        "PYTHONPATH": os.pathsep.join(path for path in sys.path if path),
    }
    subprocess.run([sys.executable, "-c", program], env=environment, check=True, timeout=60)
    with site.admin.open("CONNECTING.Q") as queue:
        messages = list(queue)
    assert [message.body for message in messages] == ["hello", "again"]
    assert {message.user for message in messages} == {getpass.getuser()}


def test_a_socket_left_behind_is_no_obstacle(tmp_path: Path) -> None:
    manager = ostler.start("LEFT", tmp_path, create=True)
    manager.end()
    run_path(manager.directory).mkdir(exist_ok=True)
    socket_path(manager.directory).touch()
    with refused(mq.MQRC_Q_MGR_NOT_AVAILABLE):
        ostler.connect("LEFT", data=tmp_path)
    with ostler.connect("LEFT", data=tmp_path, create=True) as qm:
        assert way_of(qm) is LocalSession
        qm.manager.end()


@pytest.mark.parametrize("flavour", ["threads", "tasks"])
def test_a_program_does_not_become_the_queue_manager_unless_told(tmp_path: Path, flavour: str) -> None:
    async def by_task(**given: Any) -> str:
        async with await ostler.aio.connect("STOPPED", data=tmp_path, **given) as qm:
            qm.manager.end("immediate")
            return qm.name

    def connect(**given: Any) -> str:
        if flavour == "tasks":
            return asyncio.run(by_task(**given))
        with ostler.connect("STOPPED", data=tmp_path, **given) as qm:
            qm.manager.end("immediate")
            return qm.name

    with pytest.raises(ostler.MQError, match="There is no queue manager STOPPED") as unknown:
        connect()
    assert unknown.value.reason == mq.MQRC_Q_MGR_NAME_ERROR
    with pytest.raises(ostler.MQError) as unknown:
        connect(binding="embedded")
    assert unknown.value.reason == mq.MQRC_Q_MGR_NAME_ERROR
    assert connect(create=True) == "STOPPED"
    with pytest.raises(ostler.MQError) as stopped:
        connect()
    assert stopped.value.reason == mq.MQRC_Q_MGR_NOT_AVAILABLE
    assert "strmqm STOPPED" in stopped.value.detail
    assert 'binding="embedded"' in stopped.value.detail
    assert not running_process(QueueManagerDirectory(tmp_path, "STOPPED"))[0]
    assert connect(binding="embedded") == "STOPPED"
    assert connect(create=True) == "STOPPED"


def test_a_queue_manager_within_another_program_is_told_of(tmp_path: Path) -> None:
    program = (
        "import ostler, sys; ostler.start('INSIDE', sys.argv[1], create=True); print(flush=True); sys.stdin.read()"
    )
    command = [sys.executable, "-c", program, str(tmp_path)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as other:
        assert other.stdout is not None
        other.stdout.readline()
        try:
            for given in ({}, {"create": True}, {"binding": "embedded"}):
                arguments: dict[str, Any] = given
                with pytest.raises(ostler.MQError, match=f"process {other.pid} ") as caught:
                    ostler.connect("INSIDE", data=tmp_path, **arguments)
                assert caught.value.reason == mq.MQRC_Q_MGR_NOT_AVAILABLE
        finally:
            other.communicate(b"\n")


def test_a_way_can_be_insisted_on(site: Any, tmp_path: Path) -> None:
    with refused(mq.MQRC_Q_MGR_NAME_ERROR):
        ostler.connect("NOT.THERE", binding="local", data=tmp_path)
    with refused(mq.MQRC_Q_MGR_NAME_ERROR):
        ostler.connect(site.name, binding="client")
    with refused(mq.MQRC_OPTIONS_ERROR):
        ostler.connect(site.name, site.address, binding="local")
    with refused(mq.MQRC_OPTIONS_ERROR):
        ostler.connect(site.name, binding="sideways")  # type: ignore[arg-type]
    manager = ostler.start("ENDED", tmp_path, create=True)
    manager.end()
    with refused(mq.MQRC_Q_MGR_NOT_AVAILABLE):
        ostler.connect("ENDED", binding="local", data=tmp_path)


# -- who answers -----------------------------------------------------------------------------------------------------


def test_the_wrong_queue_manager_or_channel(site: Any) -> None:
    with refused(mq.MQRC_Q_MGR_NAME_ERROR):
        ostler.connect("SOMEBODY", site.address, channel=CHANNEL)
    with refused(mq.MQRC_UNKNOWN_CHANNEL_NAME):
        ostler.connect(site.name, site.address, channel="NO.SUCH.CHANNEL")


def test_tasks_of_a_loop_share_sockets(site: Any) -> None:
    site.admin.alter("CHANNEL", CHANNEL, SHARECNV=4)

    async def main() -> None:
        async def work(number: int) -> ostler.aio.Connection:
            connection = await site.connect_task("client", application=f"task {number}")
            await connection.open_dynamic()
            return connection  # type: ignore[no-any-return]

        first = await work(0)
        rest = await asyncio.gather(*(work(number) for number in range(1, 4)))
        links = [link for link in list(site.server.reactor.links.values()) if link.channel == CHANNEL]
        assert len(links) == 1
        fifth = await work(5)
        links = [link for link in list(site.server.reactor.links.values()) if link.channel == CHANNEL]
        assert len(links) == 2
        await asyncio.gather(*(each.close() for each in (first, *rest, fifth)))

    try:
        asyncio.run(main())
    finally:
        site.admin.alter("CHANNEL", CHANNEL, SHARECNV=10)
    site.until(lambda: not [link for link in list(site.server.reactor.links.values()) if link.channel])


# -- TLS and passwords -----------------------------------------------------------------------------------------------


def test_a_password_is_not_sent_in_the_clear(site: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    away = "no-such-host.invalid(1414)"
    with refused(mq.MQRC_PASSWORD_PROTECTION_ERROR):
        ostler.connect("QM", away, channel=CHANNEL, user="fred", password="secret")
    # What stays on this machine may be sent anyway.
    with site.connect("client", user="fred", password="secret") as qm:
        assert qm.name == site.name
    monkeypatch.setenv(ALLOW_PLAIN_PASSWORD, "1")
    with refused(mq.MQRC_HOST_NOT_AVAILABLE):
        ostler.connect("QM", away, channel=CHANNEL, user="fred", password="secret")


@pytest.fixture(scope="module")
def secured(site: Any, tmp_path_factory: pytest.TempPathFactory) -> TlsSettings:
    """A channel under TLS, and what a client needs for it."""
    place = tmp_path_factory.mktemp("tls")
    authority = Authority(place / "authority")
    authority.create("Tests", "ec")
    authority.issue(place / "manager", f"ibmwebspheremq{site.name.lower()}", [("CN", site.name)], "ec")
    site.admin.alter("QMGR", SSLKEYR=str(place / "manager"))
    site.admin.define("CHANNEL", "TLS.SVRCONN", CHLTYPE="SVRCONN", SSLCIPH="ANY_TLS12_OR_HIGHER", SSLCAUTH="OPTIONAL")
    site.server.refresh_tls()
    return TlsSettings(cipher_spec="ANY_TLS13_OR_HIGHER", ca_file=str(authority.certificate))


def test_under_tls_both_flavours_work_and_passwords_travel(site: Any, secured: TlsSettings) -> None:
    site.admin.define("QLOCAL", "TLS.Q", MAXMSGL=10_000_000, replace=True)
    body = os.urandom(3_000_000)
    with ostler.connect(
        site.name, site.address, channel="TLS.SVRCONN", tls=secured, user="fred", password="secret"
    ) as qm:
        qm.put("TLS.Q", body)

    async def main() -> None:
        connection = await ostler.aio.connect(site.name, site.address, channel="TLS.SVRCONN", tls=secured)
        async with connection as qm, await qm.open("TLS.Q") as queue:
            got = await queue.get(wait=60)
            assert got is not None
            assert got.body == body
            await queue.put(body)
            assert [len(message.data) async for message in queue] == [len(body)]

    asyncio.run(main())


def test_a_channel_under_tls_wants_tls_and_one_without_does_not(site: Any, secured: TlsSettings) -> None:
    with pytest.raises(ostler.MQError):
        ostler.connect(site.name, site.address, channel="TLS.SVRCONN")
    with pytest.raises(ostler.MQError):
        ostler.connect(site.name, site.address, channel=CHANNEL, tls=secured)

    async def main() -> None:
        for channel, tls in (("TLS.SVRCONN", None), (CHANNEL, secured)):
            with pytest.raises(ostler.MQError):
                await ostler.aio.connect(site.name, site.address, channel=channel, tls=tls)

    asyncio.run(main())


# -- large messages --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("way", ["local", "client"], indirect=True)
def test_large_messages(site: Any, way: str) -> None:
    site.admin.alter("QMGR", MAXMSGL=104_857_600)
    site.admin.alter("CHANNEL", CHANNEL, MAXMSGL=104_857_600)
    site.admin.define("QLOCAL", "LARGE", MAXMSGL=104_857_600, replace=True)
    body = os.urandom(1 << 20) * 20
    with site.connect(way) as qm, qm.open("LARGE") as queue, ThreadPoolExecutor() as pool:
        waiting = pool.submit(queue.get, wait=60)
        queue.put(body, properties={"n": 1})
        got = waiting.result(60)
        assert got is not None
        assert (got.body == body, got.properties) == (True, {"n": 1})
    too_long = bytes(104_857_601)

    async def main() -> None:
        async with await site.connect_task(way) as qm, await qm.open("LARGE") as queue:
            others = [asyncio.create_task(qm.put("LARGE", str(number))) for number in range(10)]
            await asyncio.gather(queue.put(body), *others)
            sizes = sorted([len(message.data) async for message in queue])
            assert sizes == [1] * 10 + [len(body)]
            with refused(mq.MQRC_MSG_TOO_BIG_FOR_CHANNEL):
                await queue.put(too_long)
            assert await queue.depth() == 0

    asyncio.run(main())
