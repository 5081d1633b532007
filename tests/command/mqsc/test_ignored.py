"""What is stored and has no effect is said when it is set, and only then."""

from __future__ import annotations

import pytest

from ostler.command.admin.objects import ignored_values_text
from ostler.command.mqsc.script import ScriptCounts, run_script
from ostler.model.attributes import ObjectType, Value, attributes_of, defaults, ignored
from ostler.server.admin.command_context import ManagerCommandContext
from ostler.server.queue_manager import QueueManager

WARNING = "AMQ8698W: "


def said(manager: QueueManager, *commands: str) -> list[str]:
    """The warnings that commands are answered with; all of them must be done."""
    lines: list[str] = []
    for answer in run_script(ManagerCommandContext(manager), "\n".join(commands), echo=False):
        if isinstance(answer, ScriptCounts):
            assert answer.exit_code == 0, "\n".join(lines)
        else:
            lines.append(answer)
    warnings = [line.removeprefix(WARNING) for line in lines if line.startswith(WARNING)]
    return [text.removeprefix("Stored and displayed, but ignored: ") for text in warnings]


@pytest.mark.parametrize(
    ("command", "told"),
    [
        ("DEFINE QLOCAL(Q) CLUSTER(SALES)", "CLUSTER(SALES)."),
        ("DEFINE QLOCAL(Q) CLUSTER(' ') DEFBIND(OPEN) MAXDEPTH(7) DISTL(NO)", ""),
        ("DEFINE QALIAS(Q) TARGET(T) CLUSNL(LIST) CLWLPRTY(3)", "CLUSNL(LIST), CLWLPRTY(3)."),
        ("DEFINE QLOCAL(Q) STREAMQ(OTHER)", "STREAMQ(OTHER)."),
        ("DEFINE CHANNEL(C) CHLTYPE(CLUSRCVR) CONNAME('h') CLUSTER(SALES)", "CHLTYPE(CLUSRCVR), CLUSTER(SALES)."),
        ("DEFINE CHANNEL(C) CHLTYPE(RCVR) TRPTYPE(TCP)", ""),
        ("DEFINE CHANNEL(C) CHLTYPE(RCVR) TRPTYPE(LU62)", "TRPTYPE(LU62)."),
        ("ALTER QMGR REPOS(SALES)", "REPOS(SALES)."),
        ("ALTER QMGR SSLFIPS(YES) SSLCRLNL(LIST)", "SSLFIPS(YES), SSLCRLNL(LIST)."),
        ("ALTER QMGR CHAD(ENABLED) CHADEXIT('e')", "CHAD(ENABLED), CHADEXIT(e)."),
        ("ALTER QMGR CHAD(DISABLED) CHADEXIT(' ') SSLFIPS(NO)", ""),
        ("DEFINE TOPIC(T) TOPICSTR('t') MCAST(ENABLED)", "MCAST(ENABLED)."),
        ("DEFINE TOPIC(T) TOPICSTR('t') MCAST(DISABLED)", ""),
        ("DEFINE COMMINFO(I)", "COMMINFO."),
    ],
)
def test_what_has_no_effect_is_said(manager: QueueManager, command: str, told: str) -> None:
    assert said(manager, command) == ([told] if told else [])


def test_exits_and_ldap_say_what_follows(manager: QueueManager) -> None:
    (text,) = said(manager, "DEFINE CHANNEL(C) CHLTYPE(SVRCONN) SCYEXIT('/opt/check(user)')")
    assert text == (
        "Exits are not run here: with SCYEXIT(/opt/check(user)) the channel does not run, "
        "unless IgnoreExits=YES in qm.ini."
    )
    assert said(manager, "ALTER CHANNEL(C) CHLTYPE(SVRCONN) SCYEXIT('')") == []
    (text,) = said(manager, "DEFINE AUTHINFO(L) AUTHTYPE(IDPWLDAP) CONNAME('h') SHORTUSR('s') USRFIELD('u')")
    assert text.startswith("AUTHTYPE(IDPWLDAP).")
    assert "no password is right" in text


def test_secrets_are_not_shown(manager: QueueManager) -> None:
    (text,) = said(manager, "ALTER QMGR INITKEY('secret')")
    assert "secret" not in text


def test_what_an_object_is_like_is_not_said_again(manager: QueueManager) -> None:
    assert said(
        manager, "DEFINE QLOCAL(A) CLUSTER(SALES)", "DEFINE QLOCAL(B) LIKE(A)", "ALTER QLOCAL(B) DESCR('b')"
    ) == ["CLUSTER(SALES)."]


def test_defaults_are_set_without_a_word() -> None:
    for kind in ObjectType:
        for attribute in attributes_of(kind):
            if attribute.default is not None:
                value = defaults(kind).get(attribute.name, attribute.default)
                found = [each for each in ignored(kind, {attribute.name: value}) if each != kind.value]
                assert not found, attribute.name


def test_every_ignored_word_is_a_word() -> None:
    for kind in ObjectType:
        for attribute in attributes_of(kind):
            words = {word for word, _ in attribute.words}
            assert set(attribute.ignored_words) <= words, attribute.name
            assert not (attribute.is_ignored and attribute.ignored_words), attribute.name


def test_structures_are_ignored_outside_groups_only() -> None:
    given: dict[str, Value] = {"CFLEVEL": 4, "RECOVER": 1}
    assert ignored_values_text(ObjectType.CFSTRUCT, given, is_in_group=True) == ""
    assert "CFSTRUCT" in ignored_values_text(ObjectType.CFSTRUCT, given)
