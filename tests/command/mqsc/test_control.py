"""START, STOP, PING and REFRESH."""

from __future__ import annotations

import pytest
from tests.command.conftest import LocalCommandContext, Operator, Program

from ostler.command.admin.context import CHANNEL_ACTIVE, ChannelStatus, CommandRefused
from ostler.model import constants as mq
from ostler.model.errors import MQError


def test_listeners(operator: Operator, target: LocalCommandContext) -> None:
    operator.says("def lstr(L1) port(1415)")
    assert operator.says("start listener(L1)") == ["AMQ8021I: Request to start Ostler listener accepted."]
    assert [(status.name, status.port) for status in target.listener_status()] == [("L1", 1415)]
    assert operator.fails("sta lstr(L1)") == "AMQ8730W: Listener L1 is active already."
    assert operator.says("start lstr(L1) ignstate(yes)") == ["AMQ8021I: Request to start Ostler listener accepted."]
    assert operator.says("stop lstr(L1)") == ["AMQ8706I: Request to stop Ostler listener accepted."]
    assert operator.fails("stop lstr(L1)") == "AMQ8731W: Listener L1 is not active."
    assert operator.says("stop lstr(L1) ignstate(yes)") == ["AMQ8706I: Request to stop Ostler listener accepted."]
    assert operator.fails("start lstr(NONE)") == "AMQ8147E: Ostler object NONE not found."
    assert operator.fails("start lstr(NONE) ignstate(yes)") == "AMQ8147E: Ostler object NONE not found."


def test_the_listener_without_a_name(operator: Operator, target: LocalCommandContext) -> None:
    operator.says("start listener")
    assert list(target.listeners) == ["SYSTEM.DEFAULT.LISTENER.TCP"]


def test_channels(operator: Operator, target: LocalCommandContext) -> None:
    operator.says("def chl(C1) chltype(svrconn)")
    assert operator.fails("stop chl(C1)") == "AMQ9533W: Channel C1 is not active."
    assert operator.says("stop chl(C1) ignstate(yes)") == ["AMQ8019I: Stop of Ostler channel accepted."]
    target.channels.append(ChannelStatus("C1"))
    assert operator.says("stop channel(C1)") == ["AMQ8019I: Stop of Ostler channel accepted."]
    operator.says("stop chl(C1) mode(force) status(inactive)")
    operator.says("stop chl(C1) conname('10.0.0.1')")
    assert operator.says("start chl(C1)") == ["AMQ8018I: Start of Ostler channel accepted."]
    assert target.asked == [
        ("stop", "C1", "QUIESCE", "STOPPED", "", ""),
        ("stop", "C1", "FORCE", "INACTIVE", "", ""),
        ("stop", "C1", "QUIESCE", "INACTIVE", "10.0.0.1", ""),
        ("start", "C1"),
    ]
    assert operator.fails("start chl(NONE)") == "AMQ8227E: Channel NONE not found."


def test_ping_and_refresh(operator: Operator, target: LocalCommandContext) -> None:
    assert operator.says("ping qmgr;") == ["AMQ8415I: The Ostler queue manager answers."]
    assert operator.says("refresh security type(ssl)") == ["AMQ8560I: Ostler security cache refreshed."]
    assert operator.says("ref security(*)") == ["AMQ8560I: Ostler security cache refreshed."]
    assert operator.says("refresh security type(connauth)") == ["AMQ8560I: Ostler security cache refreshed."]
    assert target.asked == [("refresh",), ("refresh security", "AUTHSERV"), ("refresh security", "CONNAUTH")]


@pytest.mark.parametrize(
    ("command", "until", "why"),
    [
        ("start ql(Q1)", "start ql", "QL cannot be used with START."),
        ("start chl", "start chl", "CHL needs a name in brackets."),
        ("start chl(C1) mode(force)", "start chl(C1) mode", "MODE does not belong to START CHL."),
        ("stop lstr", "stop lstr", "LSTR needs a name in brackets."),
        ("stop chl(C1) mode(gently)", "stop chl(C1) mode(gently", "MODE is one of QUIESCE, FORCE, TERMINATE."),
        ("stop chl(C1) status(stopped) conname(a)", "stop chl(C1) status(stopped) conname(a)", "does not go with CONN"),
        ("stop chl(C1) qmname(QM2) status(stopped)", "stop chl(C1) qmname(QM2) status(stopped)", "not go with QMNAME"),
        ("ping chl(C1) datalen(1)", "ping chl(C1) datalen(1", "DATALEN is a number between 16 and 32768"),
        ("reset chl(C1) seqnum(x)", "reset chl(C1) seqnum(x", "SEQNUM is a number between 1 and 999999999"),
        ("resolve chl(C1)", "resolve chl(C1)", "ACTION is missing"),
        (
            "resolve chl(C1) action(commit) luwid(12)",
            "resolve chl(C1) action(commit) luwid(12)",
            "LUWID has 16 hexadecimal digits",
        ),
        (
            "resolve chl(C1) action(backout) luwid(0123456789abcdef)",
            "resolve chl(C1) action(backout) luwid(0123456789abcdef)",
            "LUWID goes with ACTION(COMMIT)",
        ),
        ("stop conn(12)", "stop conn(12", "16 hexadecimal digits"),
        ("reset qmgr", "reset qmgr", "TYPE is missing"),
        (
            "reset qmgr type(statistics) child(A)",
            "reset qmgr type(statistics) child(A)",
            "CHILD goes with TYPE(PUBSUB)",
        ),
        ("reset qmgr type(reducelog) reduce(x)", "reset qmgr type(reducelog) reduce(x)", "REDUCE is AUTO, ONE, MAX"),
        ("refresh qmgr type(early)", "refresh qmgr type(early", "TYPE is one of CONFIGEV, PROXYSUB, EXPIRY"),
        ("suspend qmgr", "suspend qmgr", "SUSPEND QMGR takes CLUSTER or CLUSNL"),
        ("set policy(P)", "set policy", "messages are not protected by policies here"),
        ("start qmgr", "start qmgr", "use strmqm and endmqm"),
        ("reset tpipe(X)", "reset tpipe", "TPIPE belongs to the IMS bridge"),
        ("display thread(*)", "display thread(*)", "use DISPLAY CONN"),
        ("rverify security(A)", "rverify security", "exists on z/OS only"),
        ("dis clusqmgr(*) maxdepth", "dis clusqmgr(*) maxdepth", "MAXDEPTH is not a keyword"),
        ("ping qmgr(TEST)", "ping qmgr(TEST", "QMGR takes no name."),
        ("refresh qlocal", "refresh qlocal", "QLOCAL cannot be used with REFRESH."),
        ("refresh security(all)", "refresh security(all", "SECURITY takes (*) or nothing."),
        ("refresh security type(odd)", "refresh security type(odd", "TYPE is one of AUTHSERV, CONNAUTH, SSL."),
    ],
)
def test_what_is_wrong_is_pointed_at(operator: Operator, command: str, until: str, why: str) -> None:
    said, part = operator.is_wrong(command)
    assert part == until
    assert why in said


def test_services(operator: Operator, target: LocalCommandContext) -> None:
    operator.says("def service(S1) servtype(server) startcmd('/bin/sleep') startarg(5)")
    assert operator.fails("dis svstatus(*)") == "AMQ8147E: Ostler object * not found."
    assert operator.says("start service(S1)") == ["AMQ8733I: Request to start Ostler service accepted."]
    assert operator.fails("start service(S1)") == "AMQ8737W: Service S1 is active already."
    operator.says("start service(S1) ignstate(yes)")
    assert operator.says("dis svstatus(S1)")[:3] == [
        "AMQ8632I: Service status.",
        "   SERVICE(S1)                             STATUS(RUNNING)",
        "   PID(4712)                               SERVTYPE(SERVER)",
    ]
    assert operator.fails("delete service(S1)").startswith("AMQ8148E: ")
    assert operator.says("stop service(S1)") == ["AMQ8732I: Request to stop Ostler service accepted."]
    assert operator.fails("stop service(S1)") == "AMQ8738W: Service S1 is not active."
    operator.says("stop service(S1) ignstate(yes)")
    assert operator.fails("start service(NONE)") == "AMQ8147E: Ostler object NONE not found."


def test_the_command_server(operator: Operator, target: LocalCommandContext) -> None:
    operator.says("start cmdserv")
    operator.says("stop cmdserv")
    assert target.asked == [("start command server",), ("stop command server",)]


def test_the_channel_initiator(operator: Operator, target: LocalCommandContext) -> None:
    assert operator.says("start chinit") == ["AMQ8024I: Ostler channel initiator started."]
    operator.says("start chinit initq(MY.INITQ)")
    assert operator.says("stop chinit") == ["AMQ8732I: Request to stop the Ostler channel initiator accepted."]
    assert target.asked == [("start initiator", ""), ("start initiator", "MY.INITQ"), ("stop initiator",)]


def defined(operator: Operator, kind: str) -> None:
    given = "" if kind in ("rcvr", "clusrcvr") else "conname(there)"
    given += " xmitq(X)" if kind in ("sdr", "svr") else ""
    operator.says(f"def chl(C1) chltype({kind}) {given}")


@pytest.mark.parametrize("kind", ["sdr", "svr", "rcvr", "rqstr"])
def test_message_channels(operator: Operator, target: LocalCommandContext, kind: str) -> None:
    defined(operator, kind)
    assert operator.says("start chl(C1)") == ["AMQ8018I: Start of Ostler channel accepted."]
    target.channels.append(ChannelStatus("C1", kind.upper()))
    operator.says("stop chl(C1) mode(terminate)")
    assert operator.says("stop chl(C1) qmname(QM2)") == ["AMQ8019I: Stop of Ostler channel accepted."]
    assert operator.says("reset chl(C1)") == ["AMQ8023I: Ostler channel reset."]
    operator.says("reset chl(C1) seqnum(7)")
    assert target.asked == [
        ("start", "C1"),
        ("stop", "C1", "TERMINATE", "STOPPED", "", ""),
        ("stop", "C1", "QUIESCE", "INACTIVE", "", "QM2"),
        ("reset", "C1", "1"),
        ("reset", "C1", "7"),
    ]


@pytest.mark.parametrize("kind", ["sdr", "svr"])
def test_channels_that_send(operator: Operator, target: LocalCommandContext, kind: str) -> None:
    defined(operator, kind)
    assert operator.says("ping chl(C1)") == ["AMQ8020I: Ping of Ostler channel complete."]
    operator.says("ping channel(C1) datalen(32768)")
    assert operator.says("resolve chl(C1) action(commit)") == ["AMQ8025I: Ostler channel resolved."]
    target.channel_warning = "AMQ8025W: There were two."
    said = operator.says("resolve channel(C1) action(backout)")
    assert said == ["AMQ8025I: Ostler channel resolved.", "AMQ8025W: There were two."]
    operator.says("resolve channel(C1) action(commit) luwid('0123456789abCDEF')")
    assert target.asked == [
        ("ping", "C1", "16"),
        ("ping", "C1", "32768"),
        ("resolve", "C1", "COMMIT"),
        ("resolve", "C1", "BACKOUT"),
        ("resolve", "C1", "COMMIT", "0123456789abcdef"),
    ]


def test_the_disposition_of_a_channel(operator: Operator, target: LocalCommandContext) -> None:
    defined(operator, "sdr")
    operator.says("start chl(C1) chldisp(shared)")
    operator.says("start chl(C1) chldisp(default)")
    target.channels.append(ChannelStatus("C1", "SDR"))
    operator.says("stop chl(C1) chldisp(fixshared)")
    operator.says("ping chl(C1) chldisp(shared)")
    operator.says("reset chl(C1) chldisp(shared)")
    operator.says("resolve chl(C1) action(commit) chldisp(private)")
    assert target.asked == [
        ("start", "C1", "CHLDISP(SHARED)"),
        ("start", "C1"),
        ("stop", "C1", "QUIESCE", "STOPPED", "", "", "CHLDISP(FIXSHARED)"),
        ("ping", "C1", "16"),
        ("reset", "C1", "1", "CHLDISP(SHARED)"),
        ("resolve", "C1", "COMMIT", "CHLDISP(PRIVATE)"),
    ]


def test_the_status_of_shared_channels_is_selected(operator: Operator, target: LocalCommandContext) -> None:
    shared = ChannelStatus("C1", "SDR", disposition="SHARED")
    target.channels += [shared, ChannelStatus("C2", "SDR", disposition="PRIVATE")]
    said = " ".join(operator.says("dis chs(*) chldisp(shared)"))
    assert "CHANNEL(C1)" in said
    assert "CHANNEL(C2)" not in said
    assert "CHANNEL(C2)" in " ".join(operator.says("dis chstatus(*) chldisp(all)"))


@pytest.mark.parametrize("kind", ["rcvr", "rqstr"])
def test_channels_that_receive(operator: Operator, target: LocalCommandContext, kind: str) -> None:
    defined(operator, kind)
    wrong = f"does not apply to channel C1, which is of type {kind.upper()}."
    assert operator.fails("ping chl(C1)") == f"AMQ9512E: PING {wrong}"
    assert operator.fails("resolve chl(C1) action(commit)") == f"AMQ8101E: RESOLVE {wrong}"
    assert target.asked == []


@pytest.mark.parametrize("kind", ["clussdr", "clusrcvr"])
def test_channels_of_clusters_do_not_run_yet(operator: Operator, target: LocalCommandContext, kind: str) -> None:
    defined(operator, kind)
    said = f"AMQ8101E: Channel C1 is of type {kind.upper()}, which this release does not support."
    assert operator.fails("start chl(C1)") == said
    assert operator.fails("reset chl(C1)") == said
    assert operator.fails("stop chl(C1)") == "AMQ9533W: Channel C1 is not active."
    operator.says("stop chl(C1) ignstate(yes)")
    if kind == "clussdr":
        assert operator.fails("ping chl(C1)") == said
        assert operator.fails("resolve chl(C1) action(commit)") == said
    assert target.asked == []


@pytest.mark.parametrize(
    "command", ["start chl(C1)", "ping chl(C1)", "reset chl(C1)", "resolve chl(C1) action(commit)"]
)
def test_what_a_channel_is_refused_with(operator: Operator, target: LocalCommandContext, command: str) -> None:
    defined(operator, "sdr")
    target.channel_refusal = CommandRefused(CHANNEL_ACTIVE, "Channel C1 is in use.")
    assert operator.fails(command) == "AMQ9514E: Channel C1 is in use."
    target.channel_refusal = MQError(mq.MQRCCF_HOST_NOT_AVAILABLE, "Host there does not answer.")
    assert operator.fails(command) == "AMQ9202E: Host there does not answer."
    target.channel_refusal = MQError(mq.MQRCCF_CHANNEL_INDOUBT, "Resolve it first.")
    assert operator.fails(command).endswith("MQRCCF_CHANNEL_INDOUBT (4025): Resolve it first.")
    assert target.asked == []


def test_a_channel_that_runs_already_may_be_ignored(operator: Operator, target: LocalCommandContext) -> None:
    defined(operator, "sdr")
    target.channel_refusal = CommandRefused(CHANNEL_ACTIVE, "Channel C1 is in use.")
    assert operator.says("start chl(C1) ignstate(yes)") == ["AMQ8018I: Start of Ostler channel accepted."]


def test_commands_that_are_not_for_a_channel(operator: Operator) -> None:
    operator.says("def chl(C1) chltype(svrconn)")
    operator.says("def chl(C2) chltype(clntconn) conname(here)")
    assert "does not apply to channel C1" in operator.fails("ping chl(C1)")
    assert "does not apply to channel C1" in operator.fails("reset chl(C1)")
    assert "does not apply to channel C2, which is of type CLNTCONN" in operator.fails("start chl(C2)")
    assert operator.fails("ping chl(NONE)") == "AMQ8227E: Channel NONE not found."


def test_a_connection_is_stopped(operator: Operator, target: LocalCommandContext, program: Program) -> None:
    identity = program.connection.connection_id.hex().upper()
    assert operator.says(f"stop conn({identity[32:]})") == ["AMQ8457I: Ostler connection stopped."]
    operator.says(f"stop conn({identity[32:]}) extconn({identity[:32]})")
    assert target.asked == [("stop connection", str(program.connection.number))] * 2
    assert operator.fails(f"stop conn({identity[32:]}) extconn({'0' * 32})").startswith("AMQ8461I: ")


def test_the_queue_manager_is_reset_and_refreshed(operator: Operator, target: LocalCommandContext) -> None:
    assert operator.says("reset qmgr type(statistics)") == ["AMQ8649I: Reset of Ostler queue manager accepted."]
    operator.says("reset qmgr type(advancelog)")
    operator.says("archive log")
    operator.says("refresh qmgr type(expiry)")
    operator.says("refresh qmgr type(proxysub)")
    assert "switched off" in operator.fails("refresh qmgr type(configev)")
    operator.says("alter qmgr configev(enabled)")
    operator.says("refresh qmgr type(configev) object(queue) name('A*') inclint(5)")
    assert target.asked == [
        ("write statistics",),
        ("advance log",),
        ("advance log",),
        ("expire messages",),
        ("refresh configuration", "QLOCAL", "QALIAS", "QREMOTE", "QMODEL", "A*", "5"),
    ]
    assert operator.fails("reset qmgr type(pubsub) child(A)").startswith("AMQ8101E: A is not a partner")


def test_there_are_no_clusters(operator: Operator) -> None:
    assert operator.fails("dis clusqmgr(*) cluster channel status") == "AMQ8147E: Ostler object * not found."
    assert operator.fails("dis qcluster(A*) clusqmgr") == "AMQ8147E: Ostler object A* not found."
    assert operator.fails("dis tcluster(*) all") == "AMQ8147E: Ostler object * not found."
    for command in (
        "refresh cluster(INV) repos(yes)",
        "reset cluster(INV) action(forceremove) qmname(QM2) queues(yes)",
        "suspend qmgr cluster(INV) mode(force)",
        "resume qmgr cluster(INV)",
    ):
        assert "does not join clusters" in operator.fails(command)
