"""Several partners on one channel, silent partners, and queues that change while a channel runs."""

from __future__ import annotations

import socket
from collections.abc import Iterator

import pytest
from tests.server.channels.support.channel_proxy import Proxy
from tests.server.channels.support.channel_routes import Route, Routes, eventually, queue_managers

from ostler.command.status.channel_status import CURRENT
from ostler.testing import RunningQueueManager


@pytest.fixture(scope="module")
def three() -> Iterator[list[RunningQueueManager]]:
    with queue_managers("NEAR", "FAR", "AWAY") as made:
        yield made


@pytest.fixture
def route(three: list[RunningQueueManager]) -> Iterator[Routes]:
    routes = Routes(three[0], three[1])
    yield routes
    routes.close()


# -- several partners --------------------------------------------------------------------------------------------------


@pytest.fixture
def two_ways(route: Routes, three: list[RunningQueueManager]) -> Iterator[tuple[Route, Route]]:
    """Two queue managers send to a third by the same channel."""
    first, away = route(), three[2]
    away.mqsc(f"""
        DEFINE QLOCAL({first.transmission}) USAGE(XMITQ)
        DEFINE QREMOTE({first.out}) RNAME({first.target}) RQMNAME(FAR) XMITQ({first.transmission})
        DEFINE CHANNEL({first.channel}) CHLTYPE(SDR) XMITQ({first.transmission}) +
          CONNAME('127.0.0.1({route.there.port})')
    """)
    second = Route(away, route.there, first.channel)
    yield first, second
    second.close()


def partners(way: Route) -> dict[str, str]:
    """Who uses a channel at the receiving side, and how it goes."""
    return {
        each.remote_manager: each.status
        for each in way.there.server.channel_status()
        if each.name == way.channel and each.instance == CURRENT
    }


def test_partners_on_one_channel_count_by_themselves(two_ways: tuple[Route, Route]) -> None:
    first, second = two_ways
    first.run()
    second.run()
    eventually(lambda: partners(first) == {"NEAR": "RUNNING", "AWAY": "RUNNING"})
    first.put(b"n1", b"n2", b"n3")
    second.put(b"a1")
    assert sorted(first.bodies(4)) == [b"a1", b"n1", b"n2", b"n3"]
    for way, count in ((first, 3), (second, 1)):
        way.settled()
        assert way.chstatus().last_sequence == count
    saved = {
        each.remote_manager: each.last_sequence
        for each in first.there.server.channel_status()
        if each.name == first.channel and each.instance != CURRENT
    }
    assert saved == {"NEAR": 3, "AWAY": 1}


def test_one_of_two_partners_is_stopped(two_ways: tuple[Route, Route]) -> None:
    first, second = two_ways
    first.run()
    second.run()
    first.stop("QMNAME(AWAY) STATUS(INACTIVE)", first.there)
    second.until("RETRYING")
    assert partners(first) == {"NEAR": "RUNNING"}
    second.stop()
    first.put(b"goes on")
    assert first.get().data == b"goes on"


def test_all_partners_are_stopped(two_ways: tuple[Route, Route]) -> None:
    first, second = two_ways
    first.run()
    second.run()
    first.stop(where=first.there)
    for way in two_ways:
        way.until("RETRYING")
    eventually(lambda: set(partners(first).values()) == {"STOPPED"})


def test_a_partner_that_comes_again_has_lost_its_connection(route: Routes) -> None:
    with Proxy(route.there.port) as proxy:
        way = route("SHORTRTY(9) SHORTTMR(1)", port=proxy.port).run()
        way.put(b"before")
        way.get()
        way.settled()
        proxy.abandon()
        way.until("RETRYING")
        assert way.state(way.there) == "RUNNING"
        way.put(b"after")
        way.limit_end_wait()
        assert way.get().data == b"after"
        assert "AMQ9543I" in way.notes(way.there)
        assert way.chstatus(way.there).messages == 1


# -- partners that say nothing -----------------------------------------------------------------------------------------


@pytest.fixture
def silent() -> Iterator[int]:
    """A port where somebody listens and says nothing."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        yield listener.getsockname()[1]


@pytest.mark.parametrize("mode", ["QUIESCE", "FORCE"])
def test_a_channel_that_waits_for_its_partner_is_stopped(route: Routes, silent: int, mode: str) -> None:
    way = route(f"CONNAME('127.0.0.1({silent})')")
    way.start().until("BINDING")
    assert "AMQ9514E" in way.refused("START CHANNEL({})")
    way.stop(f"MODE({mode})")
    way.until("STOPPED")


def test_a_requester_that_waits_for_its_partner_is_stopped(route: Routes, silent: int) -> None:
    way = route("", f"CONNAME('127.0.0.1({silent})')", kinds=("SVR", "RQSTR"))
    way.there.mqsc(f"START CHANNEL({way.channel})")
    way.until("BINDING", way.there)
    way.stop(where=way.there)
    way.until("STOPPED", way.there)


def test_what_answers_is_no_queue_manager(route: Routes) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        way = route(f"CONNAME('127.0.0.1({listener.getsockname()[1]})') SHORTRTY(1) SHORTTMR(3600)")
        way.start()
        peer, _ = listener.accept()
        with peer:
            peer.recv(4096)
            peer.sendall(b"220 mail.example ESMTP ready\r\n")
            way.until("RETRYING")
    assert "ended abnormally" in way.notes()


# -- queues that change ------------------------------------------------------------------------------------------------


def test_a_transmission_queue_that_gives_nothing(route: Routes) -> None:
    way = route("SHORTRTY(9) SHORTTMR(3600)").run()
    way.here.mqsc(f"ALTER QLOCAL({way.transmission}) GET(DISABLED)")
    way.until("RETRYING")
    assert way.transmission in way.until_noted("AMQ9508E")
    way.put(b"waits")
    way.here.mqsc(f"ALTER QLOCAL({way.transmission}) GET(ENABLED)")
    way.start()
    assert way.get().data == b"waits"


def test_queues_of_a_running_channel_cannot_be_deleted(route: Routes) -> None:
    way = route().run()
    assert "AMQ8148E" in way.refused(f"DELETE QLOCAL({way.transmission})")
    way.stop("STATUS(INACTIVE)")
    way.until("INACTIVE")
    way.here.mqsc(f"DELETE QLOCAL({way.transmission})")
    way.start().until("STOPPED")
    assert "USAGE(XMITQ)" in way.until_noted("AMQ9509E")


def test_nobody_else_gets_from_the_queue_of_a_running_channel(route: Routes) -> None:
    way = route().run()
    with way.here.connect() as connection, pytest.raises(Exception, match="OBJECT_IN_USE"):
        connection.open(way.transmission, "r")


def test_an_alias_leads_elsewhere_from_now_on(route: Routes) -> None:
    way = route().run()
    way.there.mqsc(f"""
        DELETE QLOCAL({way.target})
        DEFINE QLOCAL({way.target}.1)
        DEFINE QLOCAL({way.target}.2)
        DEFINE QALIAS({way.target}) TARGET({way.target}.1)
    """)
    way.put(b"1")
    assert way.get(f"{way.target}.1").data == b"1"
    way.there.mqsc(f"ALTER QALIAS({way.target}) TARGET({way.target}.2) FORCE")
    way.put(b"2")
    assert way.get(f"{way.target}.2").data == b"2"


def test_messages_for_a_topic_are_published(route: Routes) -> None:
    way = route().run()
    way.there.mqsc(f"""
        DELETE QLOCAL({way.target})
        DEFINE TOPIC({way.target}.T) TOPICSTR('news/{way.channel}')
        DEFINE QALIAS({way.target}) TARGET({way.target}.T) TARGTYPE(TOPIC)
    """)
    with way.there.connect() as connection, connection.subscribe(f"news/{way.channel}") as subscription:
        way.put(b"read all about it")
        message = subscription.get(wait=10)
    assert message is not None
    assert message.data == b"read all about it"


# -- triggers ----------------------------------------------------------------------------------------------------------


def test_without_its_initiator_nothing_is_triggered(route: Routes) -> None:
    way = route()
    way.here.mqsc(f"ALTER QLOCAL({way.transmission}) TRIGGER TRIGTYPE(FIRST) INITQ(SYSTEM.CHANNEL.INITQ)")
    way.here.mqsc("STOP CHINIT")
    try:
        way.put(b"waits")
        assert way.state() == "INACTIVE"
        assert way.here.depth(way.transmission) == 1
    finally:
        way.here.mqsc("START CHINIT")
    assert way.get().data == b"waits"
