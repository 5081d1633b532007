"""Effects of channel attributes: batches, compression, conversion, intervals, addresses."""

from __future__ import annotations

import socket

import pytest
from tests.server.channels.support.channel_proxy import FORWARD, Proxy
from tests.server.channels.support.channel_routes import Route, Routes, dead_letter, eventually

from ostler.model import constants as mq
from ostler.testing import RunningQueueManager
from ostler.wire.frames import HEARTBEAT


def shown(way: Route, words: str = "ALL", where: RunningQueueManager | None = None) -> str:
    return "\n".join((where or way.here).mqsc(f"DISPLAY CHSTATUS({way.channel}) {words}"))


# -- batches -----------------------------------------------------------------------------------------------------------


def test_batches_end_when_they_are_full(route: Routes) -> None:
    way = route("BATCHSZ(5) MONCHL(HIGH)")
    way.put(*[b"%d" % number for number in range(20)])
    way.run()
    way.bodies(20)
    way.settled()
    chstatus = way.chstatus()
    assert (chstatus.messages, chstatus.batches, chstatus.batch_size) == (20, 4, 5)
    assert chstatus.batch_fill[0] == 5
    assert way.chstatus(way.there).batches == 4
    assert chstatus.last_sequence == chstatus.current_sequence == 20


def test_the_smaller_batch_size_counts(route: Routes) -> None:
    way = route("BATCHSZ(50)", "BATCHSZ(2)")
    way.put(*[b"%d" % number for number in range(8)])
    way.run()
    way.bodies(8)
    way.settled()
    assert way.chstatus().batches == 4
    assert "BATCHSZ(2)" in shown(way)


def test_batches_end_when_the_queue_is_empty(route: Routes) -> None:
    way = route("BATCHSZ(50)").run()
    way.put(b"alone")
    way.get()
    eventually(lambda: way.chstatus().batches == 1)
    assert way.chstatus().messages == 1


def test_batches_stay_open_for_their_interval(route: Routes) -> None:
    way = route("BATCHINT(1000)").run()
    with way.here.connect() as connection:
        for number in range(3):
            connection.put(way.out, b"%d" % number, persistent=True)
            eventually(lambda count=number + 1: way.chstatus().messages == count)  # type: ignore[misc]
    assert way.chstatus().batches == 0
    assert way.chstatus().current_messages == 3
    assert way.bodies(3) == [b"0", b"1", b"2"]
    eventually(lambda: way.chstatus().batches == 1)


def test_a_full_batch_does_not_wait_for_its_interval(route: Routes) -> None:
    way = route("BATCHINT(99999) BATCHSZ(2)").run()
    way.put(b"1", b"2")
    assert way.bodies(2) == [b"1", b"2"]


def test_batches_end_at_a_length(route: Routes) -> None:
    way = route("BATCHLIM(1)")
    way.put(*[bytes(2000)] * 5)
    way.run()
    way.bodies(5)
    way.settled()
    assert way.chstatus().batches == 5


def test_batches_have_no_length_of_their_own(route: Routes) -> None:
    way = route("BATCHLIM(0)")
    way.put(*[bytes(2000)] * 5)
    way.run()
    way.bodies(5)
    way.settled()
    assert way.chstatus().batches == 1


def test_fast_messages_are_in_no_batch(route: Routes) -> None:
    way = route().run()
    way.put(b"fast", persistent=False)
    way.get()
    assert way.chstatus().nonpersistent_speed == "FAST"
    assert way.chstatus(way.there).messages == 1
    assert way.chstatus(way.there).batches == 0
    assert way.chstatus().current_sequence == 0


@pytest.mark.parametrize("sides", [("NPMSPEED(NORMAL)", ""), ("", "NPMSPEED(NORMAL)")])
def test_normal_messages_are_in_batches(route: Routes, sides: tuple[str, str]) -> None:
    """What one side wants safe is safe."""
    way = route(*sides).run()
    way.put(b"safe", persistent=False)
    came = way.get()
    assert came.persistent is False
    eventually(lambda: way.chstatus().batches == 1)
    assert "NPMSPEED(NORMAL)" in shown(way)
    assert "NPMSPEED(NORMAL)" in shown(way, where=way.there)
    assert way.chstatus().current_sequence == 1


def test_the_partner_is_asked_before_a_batch_ends(route: Routes) -> None:
    with Proxy(route.there.port) as proxy:
        way = route("BATCHHB(1) BATCHINT(50)", port=proxy.port).run()
        way.put(b"checked")
        assert way.get().data == b"checked"
        assert proxy.frames[(FORWARD, "HEARTBEAT")] >= 1


def test_a_batch_is_not_in_doubt_when_the_partner_does_not_answer(route: Routes) -> None:
    with Proxy(route.there.port) as proxy:
        way = route("BATCHHB(50) BATCHINT(100) SHORTRTY(0) LONGRTY(0)", port=proxy.port).run()
        proxy.swallow(FORWARD, HEARTBEAT)
        way.put(b"back again")
        way.until("STOPPED")
        assert not way.chstatus().in_doubt
        assert way.here.depth(way.transmission) == 1
        assert "AMQ9259E" in way.notes()
        proxy.let_through()
        way.start()
        assert way.get().data == b"back again"


# -- sequence numbers --------------------------------------------------------------------------------------------------


def test_sequence_numbers_wrap(route: Routes) -> None:
    way = route("SEQWRAP(100)", "SEQWRAP(100)").run()
    sent = [b"%d" % number for number in range(250)]
    way.put(*sent)
    assert way.bodies(250) == sent
    way.settled()
    assert way.chstatus().last_sequence == 50
    assert way.saved(way.there).last_sequence == 50
    way.stop()
    way.until("STOPPED")
    way.run()
    way.put(*sent[:60])
    assert way.bodies(60) == sent[:60]
    way.settled()
    assert way.chstatus().last_sequence == 10


def test_different_wraps_do_not_go_together(route: Routes) -> None:
    way = route("SEQWRAP(100)", "SEQWRAP(200)")
    way.start().until("STOPPED")
    for qm in (way.here, way.there):
        note = way.until_noted("AMQ9505E", qm)
        assert "100 at NEAR, 200 at FAR" in note
        assert "Alter SEQWRAP" in note
    way.alter("SEQWRAP(100)", way.there)
    way.run()


# -- compression -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("method", ["RLE", "ZLIBFAST", "ZLIBHIGH", "LZ4FAST", "LZ4HIGH"])
@pytest.mark.parametrize("header", ["NONE", "SYSTEM"])
def test_messages_are_compressed(route: Routes, method: str, header: str) -> None:
    attributes = f"COMPMSG({method}) COMPHDR({header}) MONCHL(LOW)"
    way = route(attributes, attributes).run()
    sent = [b"a" * 5000, b"b", b"", bytes(range(256)) * 4, b"c" * 400_000]
    way.put(*sent)
    way.put(*sent, persistent=False)
    assert sorted(way.bodies(10)) == sorted(sent * 2)
    status = shown(way)
    assert f"COMPMSG({method},{method})" in status
    assert f"COMPHDR({header},{header})" in status
    assert way.chstatus().compression_rate[0] > 60
    way.settled()
    plain = sum(len(body) for body in sent)
    assert way.chstatus().bytes_sent < plain
    assert f"COMPMSG({method},{method})" in shown(way, where=way.there)


def test_headers_alone_are_compressed(route: Routes) -> None:
    way = route("COMPHDR(SYSTEM) MONCHL(LOW)", "COMPHDR(SYSTEM)").run()
    way.put(b"x" * 100)
    assert way.get().data == b"x" * 100
    assert way.chstatus().message_compression == ("NONE", "NONE")
    assert way.chstatus().header_compression == ("SYSTEM", "SYSTEM")
    assert way.chstatus().compression_rate[0] > 0


def test_the_first_method_that_both_have_counts(route: Routes) -> None:
    way = route("COMPMSG(ZLIBHIGH,RLE)", "COMPMSG(LZ4FAST,RLE,ZLIBFAST)").run()
    assert way.chstatus().message_compression[0] == "RLE"


def test_nothing_is_compressed_that_one_side_does_not_want(route: Routes) -> None:
    way = route("COMPMSG(ZLIBFAST) COMPHDR(SYSTEM)").run()
    way.put(b"x" * 1000)
    way.get()
    assert way.chstatus().message_compression[0] == "NONE"
    assert way.chstatus().header_compression[0] == "NONE"


# -- conversion --------------------------------------------------------------------------------------------------------


def test_the_sender_converts_when_it_is_to(route: Routes) -> None:
    way = route("CONVERT(YES)").run()
    way.here.put(way.out, "Gruß", ccsid=500, persistent=True)
    came = way.get()
    assert (came.text, came.ccsid) == ("Gruß", int(way.there.manager.engine.ccsid))
    assert came.data == "Gruß".encode()


def test_the_sender_does_not_convert_by_itself(route: Routes) -> None:
    way = route().run()
    way.here.put(way.out, "Gruß", ccsid=500)
    came = way.get()
    assert (came.text, came.ccsid) == ("Gruß", 500)
    assert came.data == "Gruß".encode("cp500")


def test_what_cannot_be_converted_is_dead_lettered(route: Routes) -> None:
    way = route("CONVERT(YES)").run()
    way.here.put(way.out, b"\xff\xfe\1", ccsid=500, format="OWN", persistent=True)
    dead = dead_letter(way.here)
    assert (dead.reason, dead.queue, dead.body) == (mq.MQRC_FORMAT_ERROR, way.target, b"\xff\xfe\1")
    way.here.put(way.out, b"\xff\xfe\2", ccsid=500, persistent=True)
    came = way.get()
    assert (came.data, came.ccsid) == (b"\xff\xfe\2", 500)


# -- time --------------------------------------------------------------------------------------------------------------


def test_a_channel_without_work_disconnects_and_is_triggered_again(route: Routes) -> None:
    way = route("DISCINT(1)")
    way.here.mqsc(
        f"ALTER QLOCAL({way.transmission}) TRIGGER TRIGTYPE(FIRST) INITQ(SYSTEM.CHANNEL.INITQ) TRIGDATA({way.channel})"
    )
    way.put(b"first")
    assert way.get().data == b"first"
    way.until("INACTIVE").until("INACTIVE", way.there)
    assert "ended normally" in way.until_noted("AMQ9001I")
    assert way.saved().last_sequence == way.saved(way.there).last_sequence == 1
    way.put(b"second")
    assert way.get().data == b"second"


def test_a_trigger_does_not_start_what_was_stopped(route: Routes) -> None:
    way = route()
    way.stop()
    way.until("STOPPED")
    way.here.mqsc(f"ALTER QLOCAL({way.transmission}) TRIGGER TRIGTYPE(EVERY) INITQ(SYSTEM.CHANNEL.INITQ)")
    way.put(b"kept")
    eventually(lambda: way.here.depth("SYSTEM.CHANNEL.INITQ") == 0)
    assert way.state() == "STOPPED"
    assert way.here.depth(way.transmission) == 1


def test_the_longer_heartbeat_counts(route: Routes) -> None:
    way = route("HBINT(2)", "HBINT(7)").run()
    assert (way.chstatus().heartbeat_seconds, way.chstatus(way.there).heartbeat_seconds) == (7, 7)


def test_hearts_beat_while_nothing_else_happens(route: Routes) -> None:
    with Proxy(route.there.port) as proxy:
        way = route("HBINT(1)", "HBINT(1)", port=proxy.port).run()
        eventually(lambda: proxy.frames[(FORWARD, "HEARTBEAT")] + proxy.frames[(FORWARD, "HEARTBEAT REPLY")] > 0)
        assert way.state() == "RUNNING"


# -- addresses ---------------------------------------------------------------------------------------------------------


def dead_port() -> int:
    """A port of this machine where nobody listens."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def test_the_first_address_that_answers_is_taken(route: Routes) -> None:
    way = route(f"CONNAME('127.0.0.1({dead_port()}),127.0.0.1({route.there.port})')").run()
    assert way.chstatus().connection_name == f"127.0.0.1({route.there.port})"
    way.put(b"second address")
    assert way.get().data == b"second address"


def test_nobody_at_any_address(route: Routes) -> None:
    first, second = dead_port(), dead_port()
    way = route(f"CONNAME('127.0.0.1({first}),127.0.0.1({second})') SHORTRTY(0) LONGRTY(0)")
    way.start().until("STOPPED")
    note = way.until_noted("AMQ9202E")
    assert str(first) in note
    assert str(second) in note


def test_the_own_address_is_bound_as_the_channel_says(route: Routes) -> None:
    way = route("LOCLADDR('127.0.0.2')").run()
    assert way.chstatus(way.there).connection_name.startswith("127.0.0.2")
    assert way.chstatus().local_address.startswith("127.0.0.2(")


def test_own_ports_are_taken_from_a_range(route: Routes) -> None:
    way = route("LOCLADDR('(23000,23999)')").run()
    port = int(way.chstatus().local_address.partition("(")[2].rstrip(")"))
    assert 23000 <= port <= 23999


def test_the_system_keeps_connections_alive_as_the_channel_says(route: Routes) -> None:
    way = route("KAINT(17)").run()
    agent = way.here.server.channels.outbound_instances[way.channel].agent
    assert agent is not None
    sock = agent.link.sock
    assert sock.getsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE) != 0
    assert sock.getsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPIDLE) == 17
    assert way.chstatus().keep_alive_seconds == 17
