"""Channels under TLS, channel rules, and the users in whose name messages are put."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.server.channel_routes import DEAD, Routes, dead_letter, eventually, queue_managers

from ostler.model import constants as mq
from ostler.model.pcf import Integer, decode
from ostler.server.certificate_maker import Authority
from ostler.testing import RunningQueueManager

ANY = "SSLCIPH(ANY_TLS12_OR_HIGHER)"
STUBBORN = "SHORTRTY(3) SHORTTMR(3600)"
EVENTS = "SYSTEM.ADMIN.CHANNEL.EVENT"


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    made = Authority(tmp_path_factory.mktemp("authority") / "ca")
    made.create("Both", "ec")
    return made


@pytest.fixture(scope="module")
def three(authority: Authority) -> Iterator[list[RunningQueueManager]]:
    """Two with certificates, and one with none of its own."""
    with queue_managers("NEAR", "FAR", "BARE", guarded=True) as made:
        keys(made[2]).mkdir(parents=True)
        shutil.copyfile(authority.certificate, keys(made[2]) / "ca.crt")
        for qm in made[:2]:
            subject = [("CN", qm.name), ("OU", "Channels"), ("O", "Ostler")]
            authority.issue(keys(qm), f"ibmwebspheremq{qm.name.lower()}", subject, "ec")
        yield made


def keys(qm: RunningQueueManager) -> Path:
    return qm.manager.directory.path / "ssl" / "key"


@pytest.fixture
def pair(three: list[RunningQueueManager]) -> list[RunningQueueManager]:
    return three[:2]


@pytest.fixture
def bare(three: list[RunningQueueManager]) -> RunningQueueManager:
    return three[2]


@pytest.fixture
def route(pair: list[RunningQueueManager]) -> Iterator[Routes]:
    routes = Routes(*pair)
    yield routes
    routes.close()
    for qm in pair:
        qm.mqsc(f"ALTER QMGR SSLRKEYC(0) CHLEV(DISABLED) SSLEV(DISABLED)\nCLEAR QLOCAL({DEAD})\nCLEAR QLOCAL({EVENTS})")


# -- TLS ---------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("spec", ["ANY_TLS12_OR_HIGHER", "TLS_AES_256_GCM_SHA384", "ECDHE_ECDSA_AES_128_GCM_SHA256"])
def test_messages_go_under_tls(route: Routes, spec: str) -> None:
    way = route(f"SSLCIPH({spec})", f"SSLCIPH({spec})").run()
    sent = [b"secret", os.urandom(400_000), b"end"]
    way.put(*sent)
    assert way.bodies(3) == sent
    for qm, other in ((way.here, "FAR"), (way.there, "NEAR")):
        figures = way.figures(qm)
        assert figures.security_protocol.startswith("TLS")
        assert f"CN={other}" in figures.peer_name
        assert "CN=Both" in figures.certificate_issuer
    if not spec.startswith("ANY"):
        assert way.figures().cipher_spec == spec
    way.stop("STATUS(INACTIVE)")
    way.until("INACTIVE")
    way.here.mqsc(f"PING CHANNEL({way.channel})")


def test_the_channel_is_not_known_there(route: Routes) -> None:
    way = route(f"{ANY} SHORTRTY(5) SHORTTMR(3600)", ANY)
    way.there.mqsc(f"DELETE CHANNEL({way.channel})")
    way.start().until("STOPPED")
    assert f"AMQ9520E: Channel {way.channel} is not defined at the partner. Define it there" in way.notes()
    way.there.mqsc(f"DEFINE CHANNEL({way.channel}) CHLTYPE(RCVR) {ANY}")
    way.run()


@pytest.mark.parametrize("kinds", [("SVR", "RQSTR"), ("SDR", "RQSTR")])
def test_requesters_speak_tls(route: Routes, kinds: tuple[str, str]) -> None:
    way = route(ANY, ANY, kinds=kinds)
    way.put(b"secret")
    way.there.mqsc(f"START CHANNEL({way.channel})")
    assert way.get().data == b"secret"
    assert way.figures().security_protocol.startswith("TLS")


def test_peers_are_looked_at(route: Routes) -> None:
    way = route(f"{ANY} SSLPEER('CN=FAR,OU=Chan*')", f"{ANY} SSLPEER('CN=NEAR')").run()
    way.put(b"known")
    assert way.get().data == b"known"


@pytest.mark.parametrize("side", ["sender", "receiver"])
def test_a_certificate_of_somebody_else_stops_the_channel(route: Routes, side: str) -> None:
    wrong = "SSLPEER('CN=ELSEWHERE')"
    way = route(f"{ANY} {STUBBORN} {wrong if side == 'sender' else ''}", f"{ANY} {wrong if side != 'sender' else ''}")
    way.put(b"kept")
    way.start().until("STOPPED")
    assert "AMQ9636E" in way.until_noted("AMQ9636E", way.here if side == "sender" else way.there)
    assert way.here.depth(way.transmission) == 1
    way.alter("SSLPEER('')", way.here if side == "sender" else way.there)
    way.run()
    assert way.get().data == b"kept"


@pytest.mark.parametrize(
    ("sender", "receiver"),
    [
        ("SSLCIPH(TLS_AES_256_GCM_SHA384)", "SSLCIPH(ECDHE_ECDSA_AES_128_GCM_SHA256)"),
        ("SSLCIPH(ECDHE_ECDSA_AES_128_GCM_SHA256)", "SSLCIPH(ECDHE_ECDSA_AES_256_GCM_SHA384)"),
        (ANY, ""),
        ("", ANY),
    ],
)
def test_ciphers_must_agree(route: Routes, sender: str, receiver: str) -> None:
    way = route(f"{sender} {STUBBORN}", receiver)
    way.put(b"kept")
    way.start().until("STOPPED")
    assert way.here.depth(way.transmission) == 1
    note = way.notes() + way.notes(way.there)
    assert any(number in note for number in ("AMQ9631E", "AMQ9635E", "AMQ9639E", "AMQ9641E", "AMQ9616E")), note
    assert "SSLCIPH" in note
    way.alter("SSLCIPH('')")
    way.alter("SSLCIPH('')", way.there)
    way.run()
    assert way.get().data == b"kept"


def test_who_has_no_certificate_is_refused_where_one_is_required(route: Routes, bare: RunningQueueManager) -> None:
    way = route(f"{ANY} {STUBBORN}", ANY, here=bare)
    way.start().until("STOPPED")
    eventually(lambda: "AMQ9637E" in "\n".join(way.there.manager.notices))
    assert "SSLCIPH" in way.notes()
    way.alter("SSLCAUTH(OPTIONAL)", way.there)
    way.run()
    way.put(b"from nobody")
    assert way.get().data == b"from nobody"
    assert way.figures(way.there).peer_name == ""


def test_keys_are_changed_under_load(route: Routes) -> None:
    route.here.mqsc("ALTER QMGR SSLRKEYC(40000)")
    way = route(f"{ANY} BATCHSZ(10)", ANY).run()
    sent = [b"%d " % number + os.urandom(1000) for number in range(400)]
    for start in range(0, 400, 40):
        way.put(*sent[start : start + 40])
    assert way.bodies(400) == sent
    way.settled()
    here, there = way.figures(), way.figures(way.there)
    assert here.key_resets >= 5
    assert abs(here.key_resets - there.key_resets) <= 1
    assert here.key_reset_ms > 0
    status = "\n".join(way.here.mqsc(f"DISPLAY CHSTATUS({way.channel}) SSLRKEYS SSLKEYDA SSLKEYTI"))
    assert f"SSLRKEYS({here.key_resets})" in status
    way.put(*sent[:40], persistent=False)
    assert way.bodies(40) == sent[:40]


def test_tls_failures_are_events(route: Routes) -> None:
    route.here.mqsc("ALTER QMGR SSLEV(ENABLED) CHLEV(DISABLED)")
    way = route(f"{ANY} {STUBBORN} SSLPEER('CN=ELSEWHERE')", ANY)
    way.start().until("STOPPED")
    message = way.here.get(EVENTS, wait=5)
    assert message is not None
    event = decode(message.data)
    assert event.header.reason == mq.MQRC_CHANNEL_SSL_ERROR
    found = {each.parameter: each.value for each in event.parameters if isinstance(each, Integer)}
    assert found[mq.MQIACF_REASON_QUALIFIER] == mq.MQRQ_SSL_PEER_NAME_ERROR


# -- channel rules -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "rule",
    [
        "TYPE(QMGRMAP) QMNAME(NEAR) USERSRC(NOACCESS)",
        "TYPE(ADDRESSMAP) ADDRESS('127.*') USERSRC(NOACCESS)",
    ],
)
def test_a_rule_keeps_a_partner_out(route: Routes, rule: str) -> None:
    way = route(STUBBORN)
    way.there.mqsc(f"ALTER QMGR CHLEV(EXCEPTION)\nSET CHLAUTH({way.channel}) {rule}")
    way.put(b"kept")
    way.start().until("STOPPED")
    assert "AMQ9557E" in way.until_noted("AMQ9557E")
    note = way.until_noted("AMQ9777E", way.there)
    assert "queue manager NEAR from 127.0.0.1 is refused" in note
    message = way.there.get(EVENTS, wait=5)
    assert message is not None
    assert decode(message.data).header.reason == mq.MQRC_CHANNEL_BLOCKED
    assert "AMQ9557E" in way.refused("PING CHANNEL({})")
    kind, rest = rule.split(" ")[:2]
    way.there.mqsc(f"SET CHLAUTH({way.channel}) {kind} {rest} ACTION(REMOVE)")
    way.run()
    assert way.get().data == b"kept"


def test_blocked_addresses_are_hung_up_on(route: Routes) -> None:
    way = route("SHORTRTY(0) LONGRTY(0)")
    way.there.mqsc("SET CHLAUTH('*') TYPE(BLOCKADDR) ADDRLIST('127.0.0.1')")
    try:
        way.start().until("STOPPED")
    finally:
        way.there.mqsc("SET CHLAUTH('*') TYPE(BLOCKADDR) ACTION(REMOVEALL)")
    way.run()


def test_a_rule_gives_a_partner_its_user(route: Routes) -> None:
    way = route()
    way.there.mqsc(f"SET CHLAUTH({way.channel}) TYPE(QMGRMAP) QMNAME(NEAR) USERSRC(MAP) MCAUSER('carrier')")
    way.run()
    assert way.figures(way.there).user == "carrier"


# -- in whose name messages are put ------------------------------------------------------------------------------------


@pytest.fixture
def carrier(pair: list[RunningQueueManager]) -> str:
    """A user who may put on the dead-letter queue, with all context, and on nothing else."""
    pair[1].mqsc(f"""
        SET AUTHREC OBJTYPE(QMGR) PRINCIPAL('carrier') AUTHADD(CONNECT,SETALL,ALTUSR)
        SET AUTHREC PROFILE({DEAD}) OBJTYPE(QUEUE) PRINCIPAL('carrier') AUTHADD(PUT,SETALL)
    """)
    return "carrier"


def test_who_may_not_put_has_it_dead_lettered(route: Routes, carrier: str) -> None:
    way = route("", f"MCAUSER('{carrier}')").run()
    assert way.figures(way.there).user == carrier
    way.put(b"not for you")
    dead = dead_letter(way.there)
    assert (dead.reason, dead.body) == (mq.MQRC_NOT_AUTHORIZED, b"not for you")
    way.there.mqsc(f"SET AUTHREC PROFILE({way.target}) OBJTYPE(QUEUE) PRINCIPAL('{carrier}') AUTHADD(PUT,SETALL)")
    way.put(b"for you")
    assert way.get().data == b"for you"


def test_who_may_not_even_dead_letter_stops_the_channel(route: Routes) -> None:
    way = route("SHORTRTY(0) LONGRTY(0)", "MCAUSER('stranger')")
    way.put(b"kept")
    way.start().until("STOPPED")
    for qm in (way.here, way.there):
        assert f"({mq.MQRC_NOT_AUTHORIZED})" in way.until_noted("AMQ9565E", qm)
    way.alter("MCAUSER('')", way.there)
    way.run()
    assert way.get().data == b"kept"


def test_the_user_of_the_message_counts_where_the_channel_says_so(route: Routes, carrier: str) -> None:
    way = route("", f"MCAUSER('{carrier}') PUTAUT(CTX)").run()
    way.there.mqsc(f"""
        SET AUTHREC PROFILE({way.target}) OBJTYPE(QUEUE) PRINCIPAL('{carrier}') AUTHADD(SETALL)
        SET AUTHREC PROFILE({way.target}) OBJTYPE(QUEUE) PRINCIPAL('ann') AUTHADD(PUT)
    """)
    with way.here.connect() as connection:
        for user in ("ann", "bob"):
            connection.put(way.out, user, user=user, persistent=True, options=mq.MQPMO_SET_IDENTITY_CONTEXT)
    assert way.get().text == "ann"
    assert dead_letter(way.there).reason == mq.MQRC_NOT_AUTHORIZED


def test_the_queue_manager_itself_may_everything(route: Routes) -> None:
    way = route().run()
    assert way.figures(way.there).user == ""
    way.put(b"as itself")
    assert way.get().data == b"as itself"
    eventually(way.is_empty)
