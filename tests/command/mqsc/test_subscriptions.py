"""SUB, COMMINFO, CFSTRUCT and STGCLASS."""

from __future__ import annotations

import re

import pytest
from tests.command.conftest import Operator


def identifier(operator: Operator, name: str) -> str:
    found = re.search(r"SUBID\(([0-9A-F]{48})\)", "\n".join(operator.says(f"dis sub({name}) subid")))
    assert found is not None
    return found.group(1)


def test_a_subscription(operator: Operator) -> None:
    operator.says("def ql(Q1)")
    assert operator.says("def sub(S1) topicstr('a/b') dest(Q1)") == ["AMQ8094I: Ostler subscription created."]
    lines = operator.says("dis sub(S1)")
    assert lines[0] == "AMQ8096I: Subscription details."
    assert lines[1] == f"   SUBID({identifier(operator, 'S1')})"
    text = " ".join(lines)
    for part in ("SUB(S1)", "TOPICSTR(a/b)", "DEST(Q1)", "DESTQMGR(TEST)", "SUBTYPE(ADMIN)", "SELTYPE(NONE)"):
        assert part in text
    assert operator.says("alter sub(S1) userdata('for me')") == ["AMQ8095I: Ostler subscription changed."]
    assert "USERDATA(for me)" in " ".join(operator.says("dis sub(S1) userdata"))
    assert operator.fails("def sub(S1) topicstr('a/b') dest(Q1)").startswith("AMQ8150E: ")
    assert operator.says("delete sub(S1)") == ["AMQ8097I: Ostler subscription deleted."]
    assert operator.fails("dis sub(S1)") == "AMQ8147E: Ostler object S1 not found."
    assert operator.fails("delete sub(S1)") == "AMQ8147E: Ostler object S1 not found."
    operator.says("delete sub(S1) ignstate(yes)")


def test_a_subscription_goes_by_its_identifier(operator: Operator) -> None:
    operator.says("def ql(Q1)")
    operator.says("def sub('orders of Ann') topicstr(orders) dest(Q1)")
    operator.says("def sub(S2) topicstr(orders) dest(Q1)")
    mine = identifier(operator, "'orders of Ann'")
    assert mine != identifier(operator, "S2")
    assert "SUB(orders of Ann)" in " ".join(operator.says(f"dis sub subid({mine})"))
    operator.says(f"alter sub subid({mine}) pubprty(3)")
    assert "PUBPRTY(3)" in " ".join(operator.says("dis sub('orders of Ann') pubprty"))
    assert operator.fails(f"delete sub(S2) subid({mine})").startswith("AMQ8147E: ")
    operator.says(f"delete sub subid({mine})")
    assert operator.fails(f"dis sub subid({mine})") == f"AMQ8147E: Ostler object {mine} not found."


def test_what_a_subscription_keeps(operator: Operator) -> None:
    operator.says("def ql(Q1)")
    operator.says("def ql(Q2)")
    operator.says("def sub(S1) topicstr(a) dest(Q1) userdata(x)")
    before = identifier(operator, "S1")
    operator.says("def sub(S1) dest(Q2) replace")
    text = " ".join(operator.says("dis sub(S1)"))
    assert "DEST(Q2)" in text
    assert "TOPICSTR(A)" in text
    assert "USERDATA( )" in text
    assert identifier(operator, "S1") == before
    assert "TOPICSTR" in operator.fails("alter sub(S1) topicstr(b)")
    assert "TOPICSTR" in operator.fails("def sub(S1) topicstr(b) dest(Q2) replace")


def test_where_a_subscription_leads(operator: Operator) -> None:
    assert "There is no queue NONE" in operator.fails("def sub(S1) topicstr(a) dest(NONE)")
    assert "needs DEST" in operator.fails("def sub(S1) topicstr(a)")
    operator.says("def sub(S1) topicstr(a) destclas(managed)")
    operator.says("def sub(S2) topicstr(a) dest(NONE) destqmgr(ELSEWHERE)")
    assert "There is no topic object NONE" in operator.fails("def sub(S3) topicobj(NONE) destclas(managed)")


def test_no_subscription_while_publish_subscribe_is_off(operator: Operator) -> None:
    operator.says("def ql(Q1)")
    operator.says("alter qmgr psmode(disabled)")
    assert "MQRCCF_PUBSUB_INHIBITED (3318)" in operator.fails("def sub(S1) topicstr(a) dest(Q1)")
    operator.says("alter qmgr psmode(enabled)")
    operator.says("def sub(S1) topicstr(a) dest(Q1)")


def test_which_subscriptions_are_shown(operator: Operator) -> None:
    operator.says("def sub(S1) topicstr(a) destclas(managed)")
    assert len([line for line in operator.says("dis sub(S*)") if line.startswith("AMQ8096I")]) == 2  # and the default
    assert operator.fails("dis sub(S1) subtype(proxy)").startswith("AMQ8147E: ")
    assert operator.fails("dis sub(S1) durable(no)").startswith("AMQ8147E: ")
    operator.says("dis sub(S1) subtype(all) durable(yes)")
    operator.says("dis sub(*) where(topicstr eq 'A')")


@pytest.mark.parametrize(
    ("command", "until", "why"),
    [
        ("dis sub", "dis sub", "needs a name"),
        ("dis sub subid(12)", "dis sub subid(12", "48 hexadecimal digits"),
        ("def sub(S1) topicstr(a) subtype(api)", "def sub(S1) topicstr(a) subtype(api)", "is SUBTYPE(ADMIN)"),
        ("alter sub(S1) maxdepth(3)", "alter sub(S1) maxdepth", "MAXDEPTH is not a keyword of SUB"),
    ],
)
def test_what_is_wrong_is_pointed_at(operator: Operator, command: str, until: str, why: str) -> None:
    said, part = operator.is_wrong(command)
    assert part == until
    assert why in said


@pytest.mark.parametrize(
    ("define", "alter", "name", "part"),
    [
        ("def comminfo(C1) port(1500)", "alter comminfo(C1) port(1501)", "comminfo(C1)", "PORT(1501)"),
        ("def cfstruct(APP1) cflevel(4)", "alter cfstruct(APP1) recover(yes)", "cfstruct(APP1)", "RECOVER(YES)"),
        ("def stgclass(FAST) psid(4)", "alter stgclass(FAST) psid(5)", "stgclass(FAST)", "PSID(5)"),
    ],
)
def test_what_later_parts_need_is_kept(operator: Operator, define: str, alter: str, name: str, part: str) -> None:
    operator.says(define)
    operator.says(alter)
    assert part in " ".join(operator.says(f"dis {name}"))
    assert operator.fails(define).startswith("AMQ8150E: ")
    operator.says(f"delete {name}")
    assert operator.fails(f"dis {name}").startswith("AMQ8147E: ")


def test_a_command_for_this_queue_manager_alone(operator: Operator) -> None:
    operator.says("def ql(Q1) cmdscope(test) qsgdisp(qmgr)")
    operator.says("dis ql(Q1) cmdscope(' ') qsgdisp(live)")
    operator.says("dis ql(Q1) cmdscope(*) maxdepth")
    assert operator.fails("alter ql(Q1) maxdepth(3) cmdscope(OTHER)") == (
        "AMQ8101E: CMDSCOPE(OTHER) names another queue manager, and this queue manager is in no queue-sharing group."
    )
    for command in ("def ql(Q2) qsgdisp(shared)", "alter ql(Q1) qsgdisp(group)", "delete ql(Q1) qsgdisp(copy)"):
        assert "MQRCCF_Q_MGR_NOT_IN_QSG (3212)" in operator.fails(command)
    assert "(3212)" in operator.fails("dis ql(*) qsgdisp(shared)")
    assert "(3212)" in operator.fails("dis group")
    assert "MQRCCF_GROUPUR_CHECKS_FAILED (3319)" in operator.fails("alter qmgr groupur(enabled)")
    operator.says("alter qmgr groupur(disabled)")


def test_client_channels_share_names(operator: Operator) -> None:
    operator.says("def chl(APP) chltype(svrconn)")
    operator.says("def chl(APP) chltype(clntconn) conname(here)")
    operator.says("alter chl(APP) chltype(clntconn) descr('for clients')")
    operator.says("alter chl(APP) chltype(svrconn) descr('for the server')")
    text = " ".join(operator.says("dis chl(APP) descr"))
    assert "DESCR(for clients)" in text
    assert "DESCR(for the server)" in text
    operator.says("def chl(APP2) chltype(clntconn) like(APP)")
    assert "DESCR(for clients)" in " ".join(operator.says("dis chl(APP2) descr"))
    operator.says("delete chl(APP)")
    assert operator.fails("delete chl(APP)") == "AMQ8147E: APP is a client channel: delete it with CHLTABLE(CLNTTBL)."
    operator.says("delete chl(APP) chltable(clnttbl)")
