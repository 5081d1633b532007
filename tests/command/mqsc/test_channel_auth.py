"""SET CHLAUTH and DISPLAY CHLAUTH: what they say, what they do, and what they refuse."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from tests.command.conftest import LocalCommandContext, Operator

from ostler.command.admin.channel_auth import RuleQuery, rules, set_rule
from ostler.command.admin.context import CommandRefused
from ostler.model.attributes import ObjectType, Value
from ostler.model.constants import (
    MQCAUT_ADDRESSMAP,
    MQCAUT_USERMAP,
    MQRCCF_CHLAUTH_ACTION_ERROR,
    MQRCCF_CHLAUTH_NOT_FOUND,
    MQRCCF_CHLAUTH_TYPE_ERROR,
    MQRCCF_WRONG_CHLAUTH_MATCH,
)
from ostler.model.errors import MQError
from ostler.server.queue_manager import QueueManager

SET = ["AMQ8877I: Ostler channel authentication record set."]
PAGE = Path(__file__).resolve().parents[3] / "docs" / "how-to" / "channel-authentication.md"
TITLE = "AMQ8878I: Channel authentication record details."


def shown(operator: Operator, command: str) -> list[str]:
    """The answer without the times at which rules were made."""
    return [
        re.sub(r"ALTTIME\([0-9.]+\)", "ALTTIME(t)", re.sub(r"ALTDATE\([0-9-]+\)", "ALTDATE(d)", line))
        for line in operator.says(command)
    ]


def profiles(operator: Operator, command: str) -> list[str]:
    """The profiles and types of the rules that a command shows."""
    text = "\n".join(operator.says(command))
    return [f"{name} {kind}" for name, kind in re.findall(r"CHLAUTH\(([^)]*)\) +TYPE\((\w+)\)", text)]


@pytest.fixture
def bare(operator: Operator) -> Operator:
    """Somebody at the keyboard of a queue manager without rules."""
    operator.says("SET CHLAUTH('*') TYPE(BLOCKUSER) ACTION(REMOVEALL)")
    operator.says("SET CHLAUTH('SYSTEM.*') TYPE(ADDRESSMAP) ACTION(REMOVEALL)")
    operator.says("SET CHLAUTH(SYSTEM.ADMIN.SVRCONN) TYPE(ADDRESSMAP) ADDRESS('*') ACTION(REMOVE)")
    return operator


# -- layout ------------------------------------------------------------------------------------------------------------


def test_a_new_queue_manager_shows_three_rules(operator: Operator) -> None:
    assert operator.says("DISPLAY CHLAUTH(*)") == [
        TITLE,
        "   CHLAUTH(SYSTEM.ADMIN.SVRCONN)           TYPE(ADDRESSMAP)",
        "   ADDRESS(*)                              USERSRC(CHANNEL)",
        TITLE,
        "   CHLAUTH(SYSTEM.*)                       TYPE(ADDRESSMAP)",
        "   ADDRESS(*)                              USERSRC(NOACCESS)",
        TITLE,
        "   CHLAUTH(*)                              TYPE(BLOCKUSER)",
        "   USERLIST(*MQADMIN)",
    ]


def test_all_attributes_of_every_type(bare: Operator) -> None:
    for command in (
        "SET CHLAUTH(APP) TYPE(ADDRESSMAP) ADDRESS('10.0.0.*') USERSRC(NOACCESS) WARN(YES) DESCR('no')",
        "SET CHLAUTH(APP) TYPE(USERMAP) CLNTUSER('alice') MCAUSER('bob') CHCKCLNT(REQUIRED)",
        "SET CHLAUTH(APP) TYPE(SSLPEERMAP) SSLPEER('CN=a') SSLCERTI('O=b') MCAUSER('carol') ADDRESS('host')",
        "SET CHLAUTH(APP) TYPE(QMGRMAP) QMNAME('QM*') USERSRC(CHANNEL)",
        "SET CHLAUTH(APP) TYPE(BLOCKUSER) USERLIST('x', 'y')",
        "SET CHLAUTH('*') TYPE(BLOCKADDR) ADDRLIST('10.1.*', '10.2.*')",
    ):
        assert bare.says(command) == SET
    assert shown(bare, "DIS CHLAUTH(*) ALL") == [
        TITLE,
        "   CHLAUTH(APP)                            TYPE(SSLPEERMAP)",
        "   DESCR( )                                CUSTOM( )",
        "   SSLPEER(CN=a)                           SSLCERTI(O=b)",
        "   ADDRESS(host)                           MCAUSER(carol)",
        "   USERSRC(MAP)                            CHCKCLNT(ASQMGR)",
        "   ALTDATE(d)                     ALTTIME(t)",
        TITLE,
        "   CHLAUTH(APP)                            TYPE(USERMAP)",
        "   DESCR( )                                CUSTOM( )",
        "   ADDRESS( )                              CLNTUSER(alice)",
        "   MCAUSER(bob)                            USERSRC(MAP)",
        "   CHCKCLNT(REQUIRED)                      ALTDATE(d)",
        "   ALTTIME(t)",
        TITLE,
        "   CHLAUTH(APP)                            TYPE(QMGRMAP)",
        "   DESCR( )                                CUSTOM( )",
        "   ADDRESS( )                              QMNAME(QM*)",
        "   USERSRC(CHANNEL)                        ALTDATE(d)",
        "   ALTTIME(t)",
        TITLE,
        "   CHLAUTH(APP)                            TYPE(ADDRESSMAP)",
        "   DESCR(no)                               CUSTOM( )",
        "   ADDRESS(10.0.0.*)                       USERSRC(NOACCESS)",
        "   WARN(YES)                               ALTDATE(d)",
        "   ALTTIME(t)",
        TITLE,
        "   CHLAUTH(APP)                            TYPE(BLOCKUSER)",
        "   DESCR( )                                CUSTOM( )",
        "   USERLIST(x,y)                           WARN(NO)",
        "   ALTDATE(d)                     ALTTIME(t)",
        TITLE,
        "   CHLAUTH(*)                              TYPE(BLOCKADDR)",
        "   DESCR( )                                CUSTOM( )",
        "   ADDRLIST(10.1.*,10.2.*)                 WARN(NO)",
        "   ALTDATE(d)                     ALTTIME(t)",
    ]


def test_a_wide_comment_and_a_list_stand_on_lines_of_their_own(bare: Operator) -> None:
    bare.says("SET CHLAUTH(APP) TYPE(BLOCKUSER) USERLIST('x') DESCR('A comment that is too wide for one column')")
    assert shown(bare, "DIS CHLAUTH(APP)")[1:5] == [
        "   CHLAUTH(APP)                            TYPE(BLOCKUSER)",
        "   DESCR(A comment that is too wide for one column)",
        "   CUSTOM( )",
        "   USERLIST(x)                             WARN(NO)",
    ]


def test_attributes_are_shown_by_name_and_chosen_by_value(bare: Operator) -> None:
    bare.says("SET CHLAUTH(A) TYPE(ADDRESSMAP) ADDRESS('*') MCAUSER('bob') DESCR('first')")
    bare.says("SET CHLAUTH(B) TYPE(USERMAP) CLNTUSER('alice') USERSRC(NOACCESS) WARN(YES)")
    assert bare.says("DIS CHLAUTH(A) DESCR") == [
        TITLE,
        "   CHLAUTH(A)                              TYPE(ADDRESSMAP)",
        "   DESCR(first)                            ADDRESS(*)",
        "   MCAUSER(bob)                            USERSRC(MAP)",
    ]
    assert bare.says("DIS CHLAUTH(*) WHERE(WARN EQ YES)") == [
        TITLE,
        "   CHLAUTH(B)                              TYPE(USERMAP)",
        "   CLNTUSER(alice)                         USERSRC(NOACCESS)",
        "   WARN(YES)",
    ]
    assert profiles(bare, "DIS CHLAUTH(*) WHERE(MCAUSER LK 'b*')") == ["A ADDRESSMAP"]
    assert bare.fails("DIS CHLAUTH(*) WHERE(MCAUSER EQ 'zoe')").startswith("AMQ8884E: ")


def test_disabled_rules_are_shown_as_such(operator: Operator) -> None:
    operator.says("ALTER QMGR CHLAUTH(DISABLED)")
    assert operator.says("DIS CHLAUTH(SYSTEM.ADMIN.SVRCONN)")[0].startswith("AMQ8898I: ")


# -- which rules -------------------------------------------------------------------------------------------------------


def test_matching_profiles(bare: Operator) -> None:
    for profile in ("SYSTEM.*", "SYSTEM.DEF.*", "SYSTEM.DEF.SVRCONN", "SYSTEM.ADMIN.SVRCONN", "OTHER", "*"):
        bare.says(f"SET CHLAUTH('{profile}') TYPE(ADDRESSMAP) ADDRESS('*') USERSRC(CHANNEL)")
    found = {
        match: [line.split()[0] for line in profiles(bare, f"DIS CHLAUTH('SYSTEM.*.SVRCONN') MATCH({match})")]
        for match in ("GENERIC", "ALL")
    }
    assert found["GENERIC"] == ["SYSTEM.ADMIN.SVRCONN", "SYSTEM.DEF.SVRCONN"]
    assert found["ALL"] == ["SYSTEM.ADMIN.SVRCONN", "SYSTEM.DEF.SVRCONN", "SYSTEM.DEF.*", "SYSTEM.*", "*"]
    assert profiles(bare, "DIS CHLAUTH('SYSTEM.*') MATCH(EXACT)") == ["SYSTEM.* ADDRESSMAP"]
    assert len(profiles(bare, "DIS CHLAUTH('SYSTEM.*')")) == 4
    assert [line.split()[0] for line in profiles(bare, "DIS CHLAUTH(OTHER) MATCH(ALL)")] == ["OTHER", "*"]
    assert bare.fails("DIS CHLAUTH(NONE)").startswith("AMQ8884E: ")
    assert bare.fails("DIS CHLAUTH(*) TYPE(USERMAP)").startswith("AMQ8884E: ")
    assert len(profiles(bare, "DIS CHLAUTH(*) TYPE(ADDRESSMAP)")) == 6
    assert len(profiles(bare, "DIS CHLAUTH(*) TYPE")) == 6


def test_run_check_shows_what_a_connection_would_meet(operator: Operator) -> None:
    operator.says("SET CHLAUTH(APP) TYPE(ADDRESSMAP) ADDRESS('10.*') USERSRC(NOACCESS) WARN(YES)")
    operator.says("SET CHLAUTH(APP) TYPE(ADDRESSMAP) ADDRESS('*') MCAUSER('bob')")
    operator.says("SET CHLAUTH(APP) TYPE(SSLPEERMAP) SSLPEER('CN=carol') SSLCERTI('O=Trust') USERSRC(CHANNEL)")
    operator.says("SET CHLAUTH('*') TYPE(BLOCKADDR) ADDRLIST('10.9.*')")
    check = "DIS CHLAUTH({}) MATCH(RUNCHECK) ADDRESS('{}') CLNTUSER('{}')"
    assert profiles(operator, check.format("APP", "11.0.0.1", "alice")) == ["APP ADDRESSMAP"]
    assert profiles(operator, check.format("APP", "10.0.0.1", "alice")) == ["APP ADDRESSMAP", "APP ADDRESSMAP"]
    assert profiles(operator, check.format("APP", "10.9.0.1", "alice")) == ["* BLOCKADDR"]
    with_name = check.format("APP", "11.0.0.1", "alice") + " SSLPEER('CN=carol,O=x') SSLCERTI('O=Trust')"
    assert profiles(operator, with_name) == ["APP SSLPEERMAP"]
    assert profiles(operator, check.format("SYSTEM.DEF.SVRCONN", "11.0.0.1", "alice")) == ["SYSTEM.* ADDRESSMAP"]
    assert operator.says(check.format("OTHER", "11.0.0.1", "alice")) == [
        "AMQ9783I: No record matches this connection; the channel runs with MCAUSER('alice')."
    ]
    operator.says("DEFINE CHANNEL(OTHER) CHLTYPE(SVRCONN) TRPTYPE(TCP) MCAUSER('dave')")
    assert "MCAUSER('dave')" in operator.says(check.format("OTHER", "11.0.0.1", "alice"))[0]
    operator.says("SET CHLAUTH(OTHER) TYPE(BLOCKUSER) USERLIST('dave')")
    assert profiles(operator, check.format("OTHER", "11.0.0.1", "alice")) == ["OTHER BLOCKUSER"]


def test_run_check_knows_administrators(operator: Operator, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(LocalCommandContext, "is_administrator", lambda self, user: user == "root")
    check = "DIS CHLAUTH(APP) MATCH(RUNCHECK) ADDRESS('10.0.0.1') CLNTUSER('{}')"
    assert profiles(operator, check.format("root")) == ["* BLOCKUSER"]
    assert operator.says(check.format("alice"))[0].startswith("AMQ9783I: ")


@pytest.mark.parametrize(
    "words",
    [
        "CLNTUSER('a')",
        "ADDRESS('10.0.0.1')",
        "ADDRESS('10.*') CLNTUSER('a')",
        "ADDRESS('host') CLNTUSER('a')",
        "ADDRESS('10.0.0.1') CLNTUSER('a*')",
        "ADDRESS('10.0.0.1') CLNTUSER('a') QMNAME('QM1')",
        "ADDRESS('10.0.0.1') CLNTUSER('a') TYPE(USERMAP)",
        "ADDRESS('10.0.0.1') CLNTUSER('a') SSLPEER('nobody')",
    ],
)
def test_run_check_is_about_one_connection(operator: Operator, words: str) -> None:
    assert operator.fails(f"DIS CHLAUTH(APP) MATCH(RUNCHECK) {words}").startswith("AMQ8101E: ")


# -- changes -----------------------------------------------------------------------------------------------------------


def test_rules_are_added_replaced_and_removed(bare: Operator) -> None:
    one = "SET CHLAUTH(APP) TYPE(ADDRESSMAP) ADDRESS('10.0.0.1')"
    assert bare.says(f"{one} MCAUSER('bob') DESCR('x')") == SET
    assert bare.fails(f"{one} MCAUSER('eve')").startswith("AMQ8883E: ")
    assert "MCAUSER(bob)" in "".join(bare.says("DIS CHLAUTH(APP)"))
    assert bare.says(f"{one} USERSRC(CHANNEL) ACTION(REPLACE)") == SET
    assert "DESCR( )" in "".join(bare.says("DIS CHLAUTH(APP)"))
    assert bare.fails("SET CHLAUTH(APP) TYPE(ADDRESSMAP) ADDRESS('10.0.0.2') ACTION(REMOVE)").startswith("AMQ8884E: ")
    assert bare.says(f"{one} ACTION(REMOVE)") == SET
    assert bare.fails("DIS CHLAUTH(APP)").startswith("AMQ8884E: ")
    assert bare.says("SET CHLAUTH(APP) TYPE(ADDRESSMAP) ACTION(REMOVEALL)") == SET


def test_remove_all_leaves_other_profiles_and_types(bare: Operator) -> None:
    for words in ("ADDRESSMAP) ADDRESS('10.0.0.1", "ADDRESSMAP) ADDRESS('10.0.0.2", "USERMAP) CLNTUSER('a"):
        bare.says(f"SET CHLAUTH(APP) TYPE({words}') USERSRC(CHANNEL)")
    bare.says("SET CHLAUTH('APP*') TYPE(ADDRESSMAP) ADDRESS('10.0.0.1') USERSRC(CHANNEL)")
    bare.says("SET CHLAUTH(APP) TYPE(ADDRESSMAP) ACTION(REMOVEALL)")
    assert profiles(bare, "DIS CHLAUTH(*)") == ["APP USERMAP", "APP* ADDRESSMAP"]


def test_lists_grow_and_shrink(bare: Operator) -> None:
    one = "SET CHLAUTH(APP) TYPE(BLOCKUSER) USERLIST"
    bare.says(f"{one}('a', 'b') WARN(YES)")
    bare.says(f"{one}('b', 'c')")
    assert bare.says("DIS CHLAUTH('APP*')")[2] == "   USERLIST(a,b,c)                         WARN(YES)"
    assert bare.fails(f"{one}('a', 'z') ACTION(REMOVE)").startswith("AMQ8884E: ")
    bare.says(f"{one}('b') ACTION(REMOVE)")
    assert "USERLIST(a,c) " in bare.says("DIS CHLAUTH('APP*')")[2]
    bare.says(f"{one}('d') ACTION(REPLACE)")
    assert bare.says("DIS CHLAUTH('APP*')")[2] == "   USERLIST(d)"
    bare.says(f"{one}('d') ACTION(REMOVE)")
    assert bare.fails("DIS CHLAUTH(APP)").startswith("AMQ8884E: ")
    bare.says(f"{one}('a')")
    bare.says(f"{one}() ACTION(REPLACE)")
    assert bare.fails("DIS CHLAUTH(APP)").startswith("AMQ8884E: ")


def test_ranges_do_not_overlap(bare: Operator) -> None:
    one = "SET CHLAUTH(APP) TYPE(ADDRESSMAP) USERSRC(CHANNEL) ADDRESS('{}')"
    bare.says(one.format("10.0.0.10-20"))
    assert "MQRCCF_IPADDR_RANGE_CONFLICT" in bare.fails(one.format("10.0.0.15-25"))
    bare.says(one.format("10.0.0.10-20") + " ACTION(REPLACE)")
    bare.says(one.format("10.0.0.12-18"))
    bare.says(one.format("10.0.0.21-25"))
    bare.says("SET CHLAUTH('APP*') TYPE(ADDRESSMAP) USERSRC(CHANNEL) ADDRESS('10.0.0.15-25')")
    bare.says("SET CHLAUTH(APP) TYPE(USERMAP) CLNTUSER('a') USERSRC(CHANNEL) ADDRESS('10.0.0.15-25')")
    assert len(profiles(bare, "DIS CHLAUTH(*)")) == 5


@pytest.mark.parametrize(
    ("words", "number"),
    [
        ("TYPE(ADDRESSMAP) ADDRESS('10.0.0.1')", "AMQ8101E"),
        ("TYPE(ADDRESSMAP) USERSRC(CHANNEL)", "AMQ8101E"),
        ("TYPE(ADDRESSMAP) ADDRESS('10.0.0') USERSRC(CHANNEL)", "AMQ8101E"),
        ("TYPE(ADDRESSMAP) ADDRESS('*') CLNTUSER('a') USERSRC(CHANNEL)", "AMQ8882E"),
        ("TYPE(ADDRESSMAP) ADDRESS('*') USERSRC(CHANNEL) MCAUSER('a')", "AMQ8886E"),
        ("TYPE(ADDRESSMAP) ADDRESS('*') MCAUSER('a') WARN(YES)", "AMQ8886E"),
        ("TYPE(ADDRESSMAP) ADDRESS('*') USERSRC(NOACCESS) ACTION(REMOVE)", "AMQ8885E"),
        ("TYPE(ADDRESSMAP) ADDRESS('*') ACTION(REMOVEALL)", "AMQ8885E"),
        ("TYPE(QMGRMAP) QMNAME(QM) USERSRC(CHANNEL) CHCKCLNT(REQUIRED)", "AMQ8882E"),
        ("TYPE(BLOCKUSER)", "AMQ8101E"),
        ("TYPE(BLOCKUSER) USERLIST('a') ADDRESS('*')", "AMQ8882E"),
        ("TYPE(BLOCKADDR) ADDRLIST('10.0.0.1')", "AMQ8101E"),
        ("TYPE(USERMAP) CLNTUSER('*') USERSRC(CHANNEL)", "AMQ8101E"),
        ("TYPE(SSLPEERMAP) SSLPEER('me') USERSRC(CHANNEL)", "AMQ8101E"),
    ],
)
def test_what_is_no_rule_is_refused(bare: Operator, words: str, number: str) -> None:
    assert bare.fails(f"SET CHLAUTH(APP) {words}").startswith(f"{number}: ")
    assert bare.target.manager.engine.of_type(ObjectType.CHLAUTH) == {}


@pytest.mark.parametrize(
    ("command", "segment"),
    [
        ("SET CHLAUTH TYPE(USERMAP)", "SET CHLAUTH"),
        ("SET CHLAUTH(APP) ADDRESS('*')", "SET CHLAUTH(APP) ADDRESS('*')"),
        ("SET CHLAUTH('A B') TYPE(USERMAP)", "SET CHLAUTH('A B'"),
        ("SET CHLAUTH(APP) TYPE(USRMAP)", "SET CHLAUTH(APP) TYPE(USRMAP"),
        ("SET CHLAUTH(APP) TYPE(USERMAP) CLIENT('a')", "SET CHLAUTH(APP) TYPE(USERMAP) CLIENT"),
        ("SET CHLAUTH(APP) TYPE(USERMAP) ACTION(DELETE)", "SET CHLAUTH(APP) TYPE(USERMAP) ACTION(DELETE"),
        ("DIS CHLAUTH(*) MATCH(SOME)", "DIS CHLAUTH(*) MATCH(SOME"),
        ("DIS CHLAUTH(*) ADDRESS('10.0.0.1') ALL", "DIS CHLAUTH(*) ADDRESS('10.0.0.1')"),
        ("DIS CHLAUTH(APP) TYPE(BLOCKADDR)", "DIS CHLAUTH(APP) TYPE(BLOCKADDR)"),
        ("DIS CHLAUTH(*) COLOUR", "DIS CHLAUTH(*) COLOUR"),
        ("DIS CHLAUTH(*) USERSRC(MAP)", "DIS CHLAUTH(*) USERSRC(MAP)"),
    ],
)
def test_wrong_words_are_pointed_at(operator: Operator, command: str, segment: str) -> None:
    assert operator.is_wrong(command)[1] == segment


# -- authority, restart, parts -----------------------------------------------------------------------------------------


def test_rules_need_authority_on_the_queue_manager(operator: Operator, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(LocalCommandContext, "is_authorized", lambda self, object_type, name, mask: False)
    assert operator.fails("SET CHLAUTH(A) TYPE(ADDRESSMAP) ADDRESS('*') USERSRC(CHANNEL)").startswith("AMQ8135E: ")
    assert operator.fails("DIS CHLAUTH(*)").startswith("AMQ8135E: ")
    with pytest.raises(CommandRefused):
        rules(operator.target, RuleQuery("*"))


def test_rules_survive_a_restart(operator: Operator, manager: QueueManager) -> None:
    operator.says("SET CHLAUTH(APP) TYPE(SSLPEERMAP) SSLPEER('CN=\"a, b\",O=c') MCAUSER('bob') DESCR('é')")
    operator.says("SET CHLAUTH('SYSTEM.*') TYPE(ADDRESSMAP) ACTION(REMOVEALL)")
    before = operator.says("DIS CHLAUTH(*) ALL")
    manager.end("preemptive")
    again = QueueManager(manager.directory)
    again.start()
    try:
        assert Operator(LocalCommandContext(again)).says("DIS CHLAUTH(*) ALL") == before
    finally:
        again.end("immediate")


def test_rules_by_their_parts(operator: Operator) -> None:
    target = operator.target
    set_rule(target, {"CHLAUTH": "APP", "TYPE": MQCAUT_USERMAP, "CLNTUSER": "a", "MCAUSER": "b"})
    [row] = rules(target, RuleQuery("APP"))
    assert (row["TYPE"], row["CLNTUSER"], row["MCAUSER"], row["ADDRESS"]) == (MQCAUT_USERMAP, "a", "b", "")
    assert "WARN" not in row
    set_rule(target, {"CHLAUTH": "APP", "TYPE": MQCAUT_USERMAP, "CLNTUSER": "a"}, "REMOVE")
    assert rules(target, RuleQuery("APP")) == []
    wrong: list[tuple[dict[str, Value], str, int]] = [
        ({"CHLAUTH": "APP", "TYPE": MQCAUT_USERMAP, "CLNTUSER": "a"}, "REMOVE", MQRCCF_CHLAUTH_NOT_FOUND),
        ({"CHLAUTH": "APP", "TYPE": MQCAUT_ADDRESSMAP, "ADDRESS": "*"}, "CHANGE", MQRCCF_CHLAUTH_ACTION_ERROR),
        ({"CHLAUTH": "APP"}, "ADD", MQRCCF_CHLAUTH_TYPE_ERROR),
    ]
    for attributes, action, reason in wrong:
        with pytest.raises(MQError) as refusal:
            set_rule(target, attributes, action)
        assert refusal.value.reason == reason
    for question in (RuleQuery("*", match="FIRST"), RuleQuery("*", client_user="a")):
        with pytest.raises(MQError) as refusal:
            rules(target, question)
        assert refusal.value.reason == MQRCCF_WRONG_CHLAUTH_MATCH


@pytest.mark.skipif(not PAGE.exists(), reason="the documentation is not beside the tests")
def test_the_commands_of_the_guide_do_what_it_says(operator: Operator) -> None:
    sets, check = re.findall(r"^```text\n(.*?)^```$", PAGE.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
    for command in sets.splitlines():
        assert operator.says(command) == SET
    assert profiles(operator, check.strip()) == ["ORDERS.* ADDRESSMAP"]
    elsewhere = check.strip().replace("10.20.3.4", "11.20.3.4")
    assert profiles(operator, elsewhere) == ["* ADDRESSMAP"]
    assert profiles(operator, f"{elsewhere} SSLPEER('CN=billing,O=Example')") == ["ORDERS.* SSLPEERMAP"]
