"""Channels with exits, which are not supported: they are refused unless qm.ini ignores exits."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from tests.server.channels.support.channel_routes import Route, Routes, eventually, queue_managers

import ostler
from ostler.model import constants as mq
from ostler.model.errors import MQError
from ostler.server.config.qm_ini import QueueManagerIni
from ostler.testing import RunningQueueManager, queue_manager

EXIT = "/opt/bank/checkuser(check)"


@pytest.fixture(scope="module")
def pair() -> Iterator[list[RunningQueueManager]]:
    with queue_managers("HERE", "THERE") as made:
        yield made


@pytest.fixture
def route(pair: list[RunningQueueManager]) -> Iterator[Routes]:
    routes = Routes(*pair)
    yield routes
    routes.close()


def connect(qm: RunningQueueManager) -> ostler.Connection:
    return ostler.connect(qm.name, qm.connection_name, channel=qm.channel, user="ann")


def alter_client_channel(qm: RunningQueueManager, attributes: str) -> list[str]:
    return qm.mqsc(f"ALTER CHANNEL({qm.channel}) CHLTYPE(SVRCONN) {attributes}")


@pytest.mark.parametrize("attribute", ["SCYEXIT", "SENDEXIT", "RCVEXIT"])
def test_clients_do_not_come_in_past_an_exit(attribute: str) -> None:
    with queue_manager("EXITS") as qm:
        connect(qm).close()
        lines = alter_client_channel(qm, f"{attribute}('{EXIT}')")
        assert any(line.startswith("AMQ8016I") for line in lines)
        with pytest.raises(MQError, match="has exits and does not run") as caught:
            connect(qm)
        assert caught.value.reason == mq.MQRC_CHANNEL_NOT_AVAILABLE
        assert EXIT not in caught.value.detail
        (note,) = [each for each in qm.manager.notices if "AMQ9535E" in each]
        assert f"{attribute}({EXIT})" in note
        assert f"ALTER CHANNEL({qm.channel}) CHLTYPE(SVRCONN) {attribute}('')" in note
        assert "IgnoreExits=YES" in note
        alter_client_channel(qm, f"{attribute}('')")
        connect(qm).close()


def test_exits_are_ignored_when_the_administrator_says_so() -> None:
    with queue_manager("EXITS") as qm:
        alter_client_channel(qm, f"SCYEXIT('{EXIT}')")
        path = qm.manager.directory.ini
        qm.end()
        ini = QueueManagerIni.read(path)
        ini.set_value("Channels", "IgnoreExits", "YES")
        ini.write(path)
        qm.start()
        connect(qm).close()


@pytest.mark.parametrize("attribute", ["SCYEXIT", "MSGEXIT", "SENDEXIT", "RCVEXIT", "MREXIT"])
def test_a_receiver_takes_no_messages_past_an_exit(route: Routes, attribute: str) -> None:
    way = route("SHORTRTY(0) LONGRTY(0)", f"{attribute}('{EXIT}')")
    way.put(b"kept")
    way.start().until("STOPPED")
    note = way.until_noted("AMQ9535E", way.there)
    assert f"{attribute}({EXIT})" in note
    assert "has exits and does not run" in way.notes()
    assert EXIT not in way.notes()
    assert "has exits and does not run" in way.refused("PING CHANNEL({})")
    assert way.there.depth(way.target) == 0
    way.alter(f"{attribute}('')", way.there)
    way.run()
    assert way.get().data == b"kept"


@pytest.mark.parametrize("kinds", [("SDR", "RCVR"), ("SVR", "RQSTR")])
def test_the_end_that_calls_does_not_start_without_its_exit(route: Routes, kinds: tuple[str, str]) -> None:
    given = f"MSGEXIT('{EXIT}')"
    way = route(given, given, kinds=kinds)
    calling = way.there if kinds[1] == "RQSTR" else way.here
    said = way.refused("START CHANNEL({})", calling)
    assert "AMQ9535E" in said
    assert "MSGEXIT" in said
    assert way.state(calling) == "INACTIVE"


def test_an_exit_that_comes_while_a_channel_retries_ends_it(route: Routes) -> None:
    way = route("SHORTRTY(999999999) SHORTTMR(0) CONNAME('127.0.0.1(1)')")
    way.start()
    eventually(lambda: "AMQ9202E" in way.notes())
    way.alter(f"SCYEXIT('{EXIT}')")
    way.until("STOPPED")
    assert "AMQ9535E" in way.notes()


def test_a_trigger_does_not_start_a_channel_with_an_exit(route: Routes) -> None:
    way: Route = route(f"SENDEXIT('{EXIT}')")
    way.here.mqsc(
        f"ALTER QLOCAL({way.transmission}) TRIGGER TRIGTYPE(FIRST) INITQ(SYSTEM.CHANNEL.INITQ) TRIGDATA({way.channel})"
    )
    way.put(b"kept")
    way.until_noted("AMQ9519E")
    assert "exits are not run here" in way.notes()
    assert way.here.depth(way.transmission) == 1
