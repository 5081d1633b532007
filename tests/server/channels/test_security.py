"""Channels with TLS, channel authentication rules, and the users messages are put as."""

from __future__ import annotations

import getpass
import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Unpack

import pytest
from tests.server.channels.support.channel_routes import DEAD, Route, Routes, dead_letter, eventually, queue_managers

from ostler.client.api.message import MessageFields
from ostler.model import constants as mq
from ostler.model.pcf import Header, Integer, String, decode, encode
from ostler.server.tls.certificate_maker import Authority
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
        for qm in made:
            # Each trusts the others with all that it may do itself; what happens without that has tests of its own.
            qm.mqsc("SET CHLAUTH('*') TYPE(ADDRESSMAP) ADDRESS('127.0.0.1') USERSRC(CHANNEL)")
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
        chstatus = way.chstatus(qm)
        assert chstatus.security_protocol.startswith("TLS")
        assert f"CN={other}" in chstatus.peer_name
        assert "CN=Both" in chstatus.certificate_issuer
    if not spec.startswith("ANY"):
        assert way.chstatus().cipher_spec == spec
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
    assert way.chstatus().security_protocol.startswith("TLS")


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
    assert way.chstatus(way.there).peer_name == ""


def test_keys_are_changed_under_load(route: Routes) -> None:
    route.here.mqsc("ALTER QMGR SSLRKEYC(40000)")
    way = route(f"{ANY} BATCHSZ(10)", ANY).run()
    sent = [b"%d " % number + os.urandom(1000) for number in range(400)]
    for start in range(0, 400, 40):
        way.put(*sent[start : start + 40])
    assert way.bodies(400) == sent
    way.settled()
    here, there = way.chstatus(), way.chstatus(way.there)
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
    assert way.chstatus(way.there).user == "carrier"


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
    assert way.chstatus(way.there).user == carrier
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


class Trusting:
    """Takes away the rule that trusts partners, for the time of a test."""

    def __init__(self, qm: RunningQueueManager) -> None:
        self.qm = qm

    def __enter__(self) -> None:
        self.qm.mqsc("SET CHLAUTH('*') TYPE(ADDRESSMAP) ADDRESS('127.0.0.1') ACTION(REMOVE)")

    def __exit__(self, *_: object) -> None:
        self.qm.mqsc("SET CHLAUTH('*') TYPE(ADDRESSMAP) ADDRESS('127.0.0.1') USERSRC(CHANNEL)")


@pytest.fixture
def no_rules(pair: list[RunningQueueManager]) -> Iterator[None]:
    with Trusting(pair[1]):
        yield


@pytest.mark.usefixtures("no_rules")
@pytest.mark.parametrize("kinds", [("SDR", "RCVR"), ("SVR", "RQSTR"), ("SDR", "RQSTR"), ("SVR", "RCVR")])
@pytest.mark.parametrize("attributes", ["", "PUTAUT(CTX)"])
def test_without_a_user_and_a_rule_messages_are_put_as_nobody(
    route: Routes, kinds: tuple[str, str], attributes: str
) -> None:
    way = route("SHORTRTY(0) LONGRTY(0)", attributes, kinds=kinds)
    way.put(b"kept")
    (way.there if kinds[1] == "RQSTR" else way.here).mqsc(f"START CHANNEL({way.channel})")
    note = way.until_noted("AMQ8077W", way.there)
    assert "User nobody has no " in note
    assert "has no MCAUSER and no channel authentication rule" in note
    assert f"SET CHLAUTH({way.channel}) TYPE(QMGRMAP)" in note
    assert f"setmqaut -m FAR -n {way.target} -t queue -p USER +put +setall" in note
    way.until_noted("AMQ9565E")
    assert way.there.depth(way.target) == 0
    assert "nobody" not in way.notes(), "the partner is told no more than that it is not authorized"


@pytest.mark.usefixtures("no_rules")
def test_what_nobody_may_is_enough_for_a_channel_without_a_user(route: Routes) -> None:
    way = route()
    way.there.mqsc(f"""
        SET AUTHREC OBJTYPE(QMGR) GROUP('nobody') AUTHADD(SETALL)
        SET AUTHREC PROFILE({way.target}) OBJTYPE(QUEUE) GROUP('nobody') AUTHADD(PUT,SETALL)
    """)
    try:
        way.run()
        assert way.chstatus(way.there).user == "nobody"
        way.put(b"for everybody")
        assert way.get().data == b"for everybody"
    finally:
        way.there.mqsc("DELETE AUTHREC OBJTYPE(QMGR) GROUP('nobody')")


@pytest.mark.usefixtures("no_rules")
@pytest.mark.parametrize("kinds", [("SDR", "RCVR"), ("SVR", "RQSTR")])
def test_a_rule_gives_the_user_of_a_channel_without_one(route: Routes, carrier: str, kinds: tuple[str, str]) -> None:
    way = route(kinds=kinds)
    way.there.mqsc(f"""
        SET AUTHREC PROFILE({way.target}) OBJTYPE(QUEUE) PRINCIPAL('{carrier}') AUTHADD(PUT,SETALL)
        SET CHLAUTH({way.channel}) TYPE(QMGRMAP) QMNAME(NEAR) ADDRESS('127.0.0.1') USERSRC(MAP) MCAUSER('{carrier}')
    """)
    way.put(b"by rule")
    (way.there if kinds[1] == "RQSTR" else way.here).mqsc(f"START CHANNEL({way.channel})")
    assert way.get().data == b"by rule"
    assert way.chstatus(way.there).user == carrier


@pytest.mark.usefixtures("no_rules")
def test_a_requester_is_kept_from_a_server_by_rule(route: Routes) -> None:
    way = route(kinds=("SVR", "RQSTR"))
    way.there.mqsc(f"SET CHLAUTH({way.channel}) TYPE(QMGRMAP) QMNAME(NEAR) USERSRC(NOACCESS)")
    way.put(b"kept")
    way.there.mqsc(f"START CHANNEL({way.channel})")
    assert "queue manager NEAR from 127.0.0.1 is refused" in way.until_noted("AMQ9777E", way.there)
    assert way.there.depth(way.target) == 0


# -- a partner that says it is an administrator ------------------------------------------------------------------------

COMMANDS = "SYSTEM.ADMIN.COMMAND.QUEUE"


def escape(command: str) -> bytes:
    """An MQSC command as a PCF message."""
    parameters = (Integer(mq.MQIACF_ESCAPE_TYPE, mq.MQET_MQSC), String(mq.MQCACF_ESCAPE_TEXT, command))
    return encode(Header(mq.MQCFT_COMMAND_XR, mq.MQCMD_ESCAPE), parameters, 1208)


def forge(way: Route, queue: str, command: str, user: str, **fields: Unpack[MessageFields]) -> None:
    """Send a command to a queue of the other side, in the name of somebody there."""
    name = f"{way.channel}.FORGED"
    leads = f"RNAME({queue}) RQMNAME({way.there.name}) XMITQ({way.transmission})"
    way.here.mqsc(f"DEFINE QREMOTE({name}) {leads} REPLACE")
    with way.here.connect() as connection:
        connection.put(
            name,
            escape(command),
            format=mq.MQFMT_ADMIN.decode(),
            user=user,
            persistent=True,
            options=mq.MQPMO_SET_IDENTITY_CONTEXT,
            **fields,
        )


def is_defined(way: Route, queue: str) -> bool:
    with way.there.manager.lock:
        return queue in way.there.manager.engine.queues


ADMINISTRATORS = ["root", "mqm", getpass.getuser(), ""]


@pytest.mark.usefixtures("no_rules")
@pytest.mark.parametrize("attributes", ["", "PUTAUT(CTX)"])
@pytest.mark.parametrize("user", ADMINISTRATORS)
def test_a_stranger_gives_no_commands_over_a_channel_without_a_user(route: Routes, attributes: str, user: str) -> None:
    way = route("SHORTRTY(0) LONGRTY(0)", attributes)
    forge(way, COMMANDS, f"DEFINE QLOCAL({way.channel}.OWNED)", user)
    way.start().until("STOPPED")
    way.until_noted("AMQ9565E")
    assert not is_defined(way, f"{way.channel}.OWNED")


def test_a_rule_for_the_channel_itself_lets_commands_through(route: Routes) -> None:
    """So that the test above fails for the reason that it means."""
    way = route()
    forge(way, COMMANDS, f"DEFINE QLOCAL({way.channel}.OWNED)", "root")
    way.run()
    eventually(lambda: is_defined(way, f"{way.channel}.OWNED"))


def test_the_user_of_a_channel_gives_no_commands_by_reports(route: Routes, carrier: str) -> None:
    """The queue manager puts reports with the authority of the user in the message, which the partner chooses."""
    way = route("", f"MCAUSER('{carrier}')").run()
    way.there.mqsc(f"SET AUTHREC PROFILE({way.target}) OBJTYPE(QUEUE) PRINCIPAL('{carrier}') AUTHADD(PUT,SETALL)")
    own = f"{way.channel}.OWNED"
    asked = {
        way.target: mq.MQRO_COA_WITH_FULL_DATA | mq.MQRO_COD_WITH_FULL_DATA | mq.MQRO_EXPIRATION_WITH_FULL_DATA,
        "NOT.THERE": mq.MQRO_EXCEPTION_WITH_FULL_DATA,
    }
    for queue, report in asked.items():
        forge(way, queue, f"DEFINE QLOCAL({own})", "root", report=report, reply_to=COMMANDS, reply_to_manager="FAR")
        assert dead_letter(way.there).reason == mq.MQRC_NOT_AUTHORIZED
    assert "in the name of root, an administrator" in way.notes(way.there)
    assert way.there.depth(way.target) == 0
    assert not is_defined(way, own)


def test_reports_for_an_administrator_go_where_the_channel_may_put(route: Routes, carrier: str) -> None:
    way = route("", f"MCAUSER('{carrier}')").run()
    answers = f"{way.channel}.ANSWERS"
    way.there.mqsc(f"""
        DEFINE QLOCAL({answers})
        SET AUTHREC PROFILE({answers}) OBJTYPE(QUEUE) PRINCIPAL('{carrier}') AUTHADD(PUT)
        SET AUTHREC PROFILE({way.target}) OBJTYPE(QUEUE) PRINCIPAL('{carrier}') AUTHADD(PUT,SETALL)
    """)
    forge(way, way.target, "PING QMGR", "root", report=mq.MQRO_COA, reply_to=answers, reply_to_manager="FAR")
    assert way.get(answers).is_report


def test_reports_are_no_commands(pair: list[RunningQueueManager]) -> None:
    qm = pair[1]
    qm.mqsc("DEFINE QLOCAL(REPORTED.ON) REPLACE")
    body = escape("DEFINE QLOCAL(BY.REPORT)")
    with qm.connect() as connection:
        connection.put(
            "REPORTED.ON", body, format="MQADMIN", report=mq.MQRO_COA_WITH_FULL_DATA, reply_to=COMMANDS, persistent=True
        )
    dead = dead_letter(qm)
    assert (dead.reason, dead.queue) == (mq.MQRC_MSG_TYPE_ERROR, COMMANDS)
    assert any("AMQ8506W" in each for each in qm.manager.notices)
    with qm.manager.lock:
        assert "BY.REPORT" not in qm.manager.engine.queues


def test_the_queue_manager_itself_may_everything(route: Routes) -> None:
    way = route().run()
    assert way.chstatus(way.there).user == ""
    way.put(b"as itself")
    assert way.get().data == b"as itself"
    eventually(way.is_empty)
