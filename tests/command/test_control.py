"""START, STOP, PING and REFRESH."""

from __future__ import annotations

import pytest

from ostler.command.target import ChannelStatus

from .conftest import LocalTarget, Operator


def test_listeners(operator: Operator, target: LocalTarget) -> None:
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


def test_the_listener_without_a_name(operator: Operator, target: LocalTarget) -> None:
    operator.says("start listener")
    assert list(target.listeners) == ["SYSTEM.DEFAULT.LISTENER.TCP"]


def test_channels(operator: Operator, target: LocalTarget) -> None:
    operator.says("def chl(C1) chltype(svrconn)")
    assert operator.fails("stop chl(C1)") == "AMQ9533W: Channel C1 is not active."
    assert operator.says("stop chl(C1) ignstate(yes)") == ["AMQ8019I: Stop of Ostler channel accepted."]
    target.channels.append(ChannelStatus("C1"))
    assert operator.says("stop channel(C1)") == ["AMQ8019I: Stop of Ostler channel accepted."]
    operator.says("stop chl(C1) mode(force) status(inactive)")
    operator.says("stop chl(C1) conname('10.0.0.1')")
    assert operator.says("start chl(C1)") == ["AMQ8018I: Start of Ostler channel accepted."]
    assert target.asked == [
        ("stop", "C1", "QUIESCE", "STOPPED", ""),
        ("stop", "C1", "FORCE", "INACTIVE", ""),
        ("stop", "C1", "QUIESCE", "INACTIVE", "10.0.0.1"),
        ("start", "C1"),
    ]
    assert operator.fails("start chl(NONE)") == "AMQ8227E: Channel NONE not found."


def test_ping_and_refresh(operator: Operator, target: LocalTarget) -> None:
    assert operator.says("ping qmgr;") == ["AMQ8415I: The Ostler queue manager answers."]
    assert operator.says("refresh security type(ssl)") == ["AMQ8560I: Ostler security cache refreshed."]
    assert operator.says("ref security(*)") == ["AMQ8560I: Ostler security cache refreshed."]
    assert operator.says("refresh security type(connauth)") == ["AMQ8560I: Ostler security cache refreshed."]
    assert target.asked == [("refresh",)]


@pytest.mark.parametrize(
    ("command", "until", "why"),
    [
        ("start ql(Q1)", "start ql", "QL is not something to START."),
        ("start chl", "start chl", "CHL needs a name in brackets."),
        ("start chl(C1) mode(force)", "start chl(C1) mode", "MODE does not belong to START CHL."),
        ("stop lstr", "stop lstr", "LSTR needs a name in brackets."),
        ("stop chl(C1) mode(gently)", "stop chl(C1) mode(gently", "MODE is one of QUIESCE, FORCE, TERMINATE."),
        ("stop chl(C1) status(stopped) conname(a)", "stop chl(C1) status(stopped) conname(a)", "does not go with CONN"),
        ("ping chl(C1)", "ping chl", "CHL is not something to PING."),
        ("ping qmgr(TEST)", "ping qmgr(TEST", "QMGR takes no name."),
        ("refresh qlocal", "refresh qlocal", "QLOCAL is not something to REFRESH."),
        ("refresh security(all)", "refresh security(all", "SECURITY takes (*) or nothing."),
        ("refresh security type(odd)", "refresh security type(odd", "TYPE is one of AUTHSERV, CONNAUTH, SSL."),
    ],
)
def test_what_is_wrong_is_pointed_at(operator: Operator, command: str, until: str, why: str) -> None:
    said, part = operator.is_wrong(command)
    assert part == until
    assert why in said
