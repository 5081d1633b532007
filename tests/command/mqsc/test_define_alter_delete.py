"""DEFINE, ALTER, DELETE and CLEAR."""

from __future__ import annotations

from dataclasses import replace

import pytest
from tests.command.conftest import LocalCommandContext, Operator, Program

from ostler.command.admin.context import ChannelStatus
from ostler.model import constants as mq
from ostler.model.attributes import ObjectType, Value
from ostler.server.queue_manager import QueueManager


def attributes(manager: QueueManager, kind: ObjectType, name: str) -> dict[str, Value]:
    with manager.lock:
        return manager.engine.of_type(kind)[name].attributes


@pytest.mark.parametrize(
    ("define", "alter", "delete", "numbers"),
    [
        ("def ql(X)", "alt ql(X) maxdepth(5)", "del ql(X)", "8006 8008 8007"),
        ("DEFINE QALIAS(X) TARGET(Y)", "alter qa(X) targq(Z)", "delete qa(X)", "8006 8008 8007"),
        ("def qr(X) rname(a) rqmname(b)", "alt qr(X) xmitq(c)", "delete qr(X)", "8006 8008 8007"),
        ("def qm(X) deftype(permdyn)", "alt qm(X) noshare", "delete qm(X)", "8006 8008 8007"),
        ("def chl(X) chltype(svrconn)", "alt chl(X) chltype(svrconn) hbint(5)", "delete chl(X)", "8014 8016 8015"),
        ("def lstr(X) port(1415)", "alt lstr(X) port(1416)", "delete lstr(X)", "8626 8623 8628"),
        ("def service(X) startcmd('/bin/a')", "alt service(X) control(qmgr)", "delete service(X)", "8625 8624 8627"),
        ("def process(X) applicid('a')", "alt pro(X) userdata('b')", "delete pro(X)", "8010 8012 8011"),
        ("def nl(X) names(a,b)", "alt nl(X) names(c)", "delete nl(X)", "8552 8551 8553"),
        ("def topic(X) topicstr('a/b')", "alt topic(X) pub(disabled)", "delete topic(X)", "8690 8691 8692"),
        (
            "def authinfo(X) authtype(idpwos)",
            "alt authinfo(X) authtype(idpwos) chckclnt(none)",
            "delete authinfo(X)",
            "8563 8567 8564",
        ),
    ],
)
def test_objects_come_change_and_go(operator: Operator, define: str, alter: str, delete: str, numbers: str) -> None:
    answers = [line for command in (define, alter, delete) for line in operator.says(command)]
    assert [answer[3:8] for answer in answers] == [f"{number}I" for number in numbers.split()]
    assert operator.fails(alter) == "AMQ8147E: Ostler object X not found."
    assert operator.fails(delete) == "AMQ8147E: Ostler object X not found."


def test_a_queue_with_everything(operator: Operator, manager: QueueManager) -> None:
    operator.says(
        "define qlocal('Mixed.Case') maxdepth(7) defpsist(yes) noshare trigger trigtype(every) initq(SYSTEM.X) "
        "descr('It''s a queue, (really)') boqname('') capexpry(nolimit)"
    )
    found = attributes(manager, ObjectType.QLOCAL, "Mixed.Case")
    assert found["MAXDEPTH"] == 7
    assert found["DEFPSIST"] == mq.MQPER_PERSISTENT
    assert found["SHARE"] == mq.MQQA_NOT_SHAREABLE
    assert found["TRIGGER"] == mq.MQTC_ON
    assert found["DESCR"] == "It's a queue, (really)"
    assert found["BOQNAME"] == ""


def test_what_is_there_is_not_defined_again(operator: Operator) -> None:
    operator.says("def ql(Q1)")
    refusal = "exists already. Use ALTER, or DEFINE with REPLACE."
    assert operator.fails("def ql(Q1) noreplace") == f"AMQ8150E: Ostler queue Q1 {refusal}"
    assert operator.fails("def qa(Q1) replace") == f"AMQ8150E: Ostler queue Q1 {refusal}"
    operator.says("def chl(C1) chltype(svrconn)")
    assert operator.fails("def chl(C1) chltype(svrconn)") == f"AMQ8226E: Ostler channel C1 {refusal}"


def test_replace_forgets_what_is_not_given_again(operator: Operator, manager: QueueManager, program: Program) -> None:
    operator.says("def ql(Q1) maxdepth(5) descr('old')")
    made = attributes(manager, ObjectType.QLOCAL, "Q1")
    program.put("Q1")
    operator.target.hours_on = 30
    operator.says("def ql(Q1) maxmsgl(1000) replace")
    found = attributes(manager, ObjectType.QLOCAL, "Q1")
    assert (found["MAXDEPTH"], found["MAXMSGL"], found["DESCR"]) == (5000, 1000, "")
    assert (found["CRDATE"], found["CRTIME"]) == (made["CRDATE"], made["CRTIME"])
    assert found["ALTDATE"] != made["ALTDATE"]
    assert manager.engine.queues["Q1"].depth == 1


def test_a_dynamic_queue_that_is_replaced_stays_dynamic(
    operator: Operator, manager: QueueManager, program: Program
) -> None:
    name = program.open("SYSTEM.DEFAULT.MODEL.QUEUE", mq.MQOO_OUTPUT).name
    operator.says(f"def ql('{name}') maxdepth(5) replace")
    found = attributes(manager, ObjectType.QLOCAL, name)
    assert (found["MAXDEPTH"], found["DEFTYPE"]) == (5, mq.MQQDT_TEMPORARY_DYNAMIC)
    assert manager.engine.queues[name].is_temporary


def test_replace_does_not_change_the_type(operator: Operator) -> None:
    operator.says("def chl(C1) chltype(svrconn)")
    assert "C1 is a SVRCONN, and stays one" in operator.fails("def chl(C1) chltype(rcvr) replace")
    assert "CHLTYPE cannot be altered" in operator.fails("alt chl(C1) chltype(rcvr)")


def test_like(operator: Operator, manager: QueueManager) -> None:
    operator.says("def ql(Q1) maxdepth(5) descr('one')")
    operator.says("def ql(Q2) like(Q1) maxmsgl(10)")
    found = attributes(manager, ObjectType.QLOCAL, "Q2")
    assert (found["MAXDEPTH"], found["MAXMSGL"], found["DESCR"]) == (5, 10, "one")
    assert operator.fails("def ql(Q3) like(NONE)") == "AMQ8147E: Ostler object NONE not found."
    operator.says("def chl(C1) chltype(svrconn) maxinst(3)")
    operator.says("def chl(C2) like(C1)")
    assert attributes(manager, ObjectType.CHANNEL, "C2")["MAXINST"] == 3
    assert "C1 is not of type RCVR" in operator.fails("def chl(C3) chltype(rcvr) like(C1)")


def test_a_new_object_is_like_the_default_object(operator: Operator, manager: QueueManager) -> None:
    operator.says("alter chl(SYSTEM.DEF.SVRCONN) chltype(svrconn) maxinst(9)")
    operator.says("alter lstr(SYSTEM.DEFAULT.LISTENER.TCP) backlog(7)")
    operator.says("def chl(C1) chltype(svrconn)")
    operator.says("def lstr(L1)")
    assert attributes(manager, ObjectType.CHANNEL, "C1")["MAXINST"] == 9
    assert attributes(manager, ObjectType.CHANNEL, "C1")["DESCR"] == ""
    assert attributes(manager, ObjectType.LISTENER, "L1")["BACKLOG"] == 7


def test_the_queue_manager(operator: Operator, manager: QueueManager) -> None:
    assert operator.says("alter qmgr deadq(DLQ) maxmsgl(200000)") == ["AMQ8005I: Ostler queue manager changed."]
    assert (manager.engine.dead_letter_queue, manager.engine.message_bytes_max) == ("DLQ", 200_000)


def test_a_change_reaches_those_who_have_the_queue_open(operator: Operator, program: Program) -> None:
    operator.says("def ql(Q1)")
    operator.says("def ql(Q2)")
    operator.says("def qa(A1) target(Q1)")
    handle = program.open("A1", mq.MQOO_OUTPUT)
    operator.says("alter qa(A1) descr('still leads to Q1')")
    assert handle.valid
    assert operator.fails("alter qa(A1) target(Q2)") == (
        "AMQ8148E: The queue A1 is open. Close it first, or use FORCE."
    )
    assert operator.fails("def qa(A1) target(Q2) replace noforce").startswith("AMQ8148E: ")
    assert handle.valid
    operator.says("alter qa(A1) target(Q2) force")
    assert not handle.valid


def test_what_concerns_those_who_have_the_queue_open_needs_force(operator: Operator, program: Program) -> None:
    operator.says("def ql(Q1)")
    handle = program.open("Q1", mq.MQOO_INPUT_SHARED)
    assert operator.fails("alter ql(Q1) noshare").startswith("AMQ8148E: ")
    assert operator.fails("alter ql(Q1) usage(xmitq)").startswith("AMQ8148E: ")
    operator.says("alter ql(Q1) share maxdepth(10)")  # nothing that they would feel
    operator.says("alter ql(Q1) noshare force")
    assert handle.valid


def test_a_queue_that_is_not_empty(operator: Operator, program: Program) -> None:
    operator.says("def ql(Q1)")
    program.put("Q1")
    assert operator.fails("delete ql(Q1)").startswith("AMQ8143E: ")
    assert operator.fails("delete ql(Q1) nopurge").startswith("AMQ8143E: ")
    assert operator.says("clear ql(Q1)") == ["AMQ8022I: Ostler queue cleared."]
    program.put("Q1")
    assert operator.says("delete ql(Q1) purge") == ["AMQ8007I: Ostler queue deleted."]


def test_a_queue_in_use(operator: Operator, program: Program) -> None:
    operator.says("def ql(Q1)")
    program.open("Q1", mq.MQOO_OUTPUT)
    assert operator.fails("delete ql(Q1)").startswith("AMQ8148E: ")
    assert operator.fails("clear ql(Q1)").startswith("AMQ8148E: ")
    assert operator.fails("clear ql(NONE)") == "AMQ8147E: Ostler object NONE not found."


def test_what_runs_is_not_deleted(operator: Operator, target: LocalCommandContext) -> None:
    operator.says("def lstr(L1) port(1415)")
    operator.says("start lstr(L1)")
    assert operator.fails("delete lstr(L1)") == "AMQ8148E: Ostler listener L1 is in use. Stop it first."
    operator.says("def chl(C1) chltype(svrconn)")
    target.channels.append(ChannelStatus("C1"))
    assert operator.fails("delete chl(C1)") == "AMQ8148E: Ostler channel C1 is in use. Stop it first."
    target.channels[0] = ChannelStatus("C1", status="STOPPED")
    assert operator.says("delete chl(C1)") == ["AMQ8015I: Ostler channel deleted."]


def test_message_channels_are_deleted_at_rest(operator: Operator, target: LocalCommandContext) -> None:
    operator.says("def chl(C1) chltype(sdr) conname(there) xmitq(X)")
    for status in ("RUNNING", "RETRYING", "BINDING", "PAUSED"):
        target.channels = [ChannelStatus("C1", "SDR", status)]
        assert operator.fails("delete chl(C1)") == "AMQ8148E: Ostler channel C1 is in use. Stop it first."
    saved = ChannelStatus("C1", "SDR", instance="SAVED", in_doubt=True)
    target.channels = [ChannelStatus("C1", "SDR", "STOPPED"), saved]
    assert "MQRCCF_CHANNEL_INDOUBT" in operator.fails("delete chl(C1)")
    target.channels = [replace(saved, in_doubt=False)]
    assert operator.says("delete chl(C1)") == ["AMQ8015I: Ostler channel deleted."]


def test_deleting_what_is_gone_may_be_well(operator: Operator) -> None:
    assert operator.says("delete ql(Q1) ignstate(yes)") == ["AMQ8007I: Ostler queue deleted."]
    assert operator.fails("delete ql(Q1) ignstate(no)").startswith("AMQ8147E: ")


@pytest.mark.parametrize(
    ("command", "until", "why"),
    [
        ("defin ql(Q1)", "defin", "DEFIN is not a command; did you mean DEFINE?"),
        ("xyz ql(Q1)", "xyz", "XYZ is not a command."),
        ("define qlocl(Q1)", "define qlocl", "QLOCL cannot be used with DEFINE; did you mean QLOCAL?"),
        ("define queue(Q1)", "define queue", "QUEUE cannot be used with DEFINE."),
        ("define ql", "define ql", "QL needs a name in brackets."),
        ("define ql()", "define ql(", "'' is not a valid name of a QLOCAL."),
        ("define ql('a b')", "define ql('a b'", "'a b' is not a valid name of a QLOCAL."),
        ("define ql(Q*)", "define ql(Q*", "'Q*' is not a valid name of a QLOCAL."),
        ("define chl(NAME.OF.MORE.THAN.20X) chltype(rcvr)", "define chl(NAME.OF.MORE.THAN.20X", "is not a valid name"),
        ("define ql(Q1) maxdepht(5)", "define ql(Q1) maxdepht", "is not a keyword of QLOCAL; did you mean MAXDEPTH?"),
        ("define ql(Q1) target(Q2)", "define ql(Q1) target", "TARGET is not a keyword of QLOCAL"),
        ("define ql(Q1) maxdepth", "define ql(Q1) maxdepth", "MAXDEPTH needs a value in brackets."),
        ("define ql(Q1) maxdepth()", "define ql(Q1) maxdepth()", "MAXDEPTH has empty brackets"),
        ("define ql(Q1) maxdepth(5 6)", "define ql(Q1) maxdepth(5 6", "takes one value"),
        ("define ql(Q1) maxdepth(many) share", "define ql(Q1) maxdepth(many", "MAXDEPTH('MANY')"),
        ("define ql(Q1) maxdepth(-1)", "define ql(Q1) maxdepth(-1", "is not between 0 and 999999999."),
        ("define ql(Q1) defpsist(perhaps)", "define ql(Q1) defpsist(perhaps", "is not one of its words, NO, YES."),
        ("define ql(Q1) share(yes)", "define ql(Q1) share(yes)", "SHARE takes no value."),
        ("define ql(Q1) share noshare", "define ql(Q1) share noshare", "SHARE is given twice."),
        ("define ql(Q1) put(enabled) put(disabled)", "define ql(Q1) put(enabled) put", "PUT is given twice."),
        ("define ql(Q1) curdepth(5)", "define ql(Q1) curdepth", "the queue manager sets it."),
        ("define ql(Q1) descr(two words)", "define ql(Q1) descr(two words", "put text with blanks in quotes."),
        ("define ql(Q1) replace noreplace", "define ql(Q1) replace noreplace", "exclude each other."),
        ("define ql(Q1) replace(yes)", "define ql(Q1) replace(yes)", "REPLACE takes no value."),
        ("define ql(Q1) like", "define ql(Q1) like", "LIKE needs a value in brackets."),
        ("define ql(Q1) like(a b)", "define ql(Q1) like(a b", "LIKE takes one value."),
        ("define chl(C1)", "define chl(C1)", "CHLTYPE is missing: it is the type of the channel."),
        ("define chl(C1) maxinst(5) chltype(sdr)", "define chl(C1) maxinst", "MAXINST does not belong to SDR."),
        ("define chl(C1) chltype(odd)", "define chl(C1) chltype(odd", "CHLTYPE('ODD')"),
        ("define nl(N) names(a,'b c')", "define nl(N) names(a,'b c'", "is not a valid name"),
        ("alter qmgr(TEST) deadq(X)", "alter qmgr(TEST", "QMGR takes no name"),
        ("delete qmgr", "delete qmgr", "QMGR cannot be used with DELETE."),
        ("delete ql(Q1) purge nopurge", "delete ql(Q1) purge nopurge", "exclude each other."),
        ("delete qa(Q1) purge", "delete qa(Q1) purge", "PURGE does not belong to DELETE QA."),
        ("delete ql(Q1) ignstate(perhaps)", "delete ql(Q1) ignstate(perhaps", "IGNSTATE is one of NO, YES."),
        ("clear qa(Q1)", "clear qa", "QA cannot be used with CLEAR"),
        ("clear ql(Q1) now", "clear ql(Q1) now", "NOW does not belong to CLEAR QL."),
    ],
)
def test_what_is_wrong_is_pointed_at(operator: Operator, command: str, until: str, why: str) -> None:
    said, part = operator.is_wrong(command)
    assert part == until
    assert why in said


def test_an_unknown_word_gets_a_list(operator: Operator) -> None:
    lines, _ = operator.run("xyz ql(Q1)")
    assert lines[2].startswith("AMQ8426I: The commands are ALTER, ARCHIVE, BACKUP, CLEAR, DEFINE, DELETE, DISPLAY, ")
    lines, _ = operator.run("clear xyz(Q1)")
    assert lines[2:] == ["AMQ8427I: CLEAR takes QLOCAL, TOPICSTR."]
    lines, _ = operator.run("move xyz(Q1)")
    assert lines[2:] == ["AMQ8427I: MOVE takes QLOCAL."]


def test_attributes_that_do_not_go_together(operator: Operator) -> None:
    assert operator.fails("def chl(C1) chltype(sdr) xmitq(X)") == "AMQ8214E: A channel of type SDR needs CONNAME."
    assert operator.fails("def ql(Q1) qdepthhi(10) qdepthlo(20)") == (
        "AMQ8101E: Ostler refused the command, MQRCCF_Q_ATTR_CONFLICT (3223): QDEPTHHI(10) is below QDEPTHLO(20)."
    )
    operator.says("def chl(C1) chltype(svrconn)")
    assert "XMITQ does not belong to SVRCONN" in operator.fails("alter chl(C1) xmitq(X)")


def test_a_password_is_not_repeated(operator: Operator) -> None:
    said, _ = operator.is_wrong(f"define authinfo(A) authtype(idpwldap) ldappwd('{'secret' * 50}')")
    assert "secret" not in said


def test_a_client_channel_may_share_its_name(operator: Operator) -> None:
    operator.says("DEFINE CHANNEL(APP) CHLTYPE(SVRCONN)")
    operator.says("DEFINE CHANNEL(APP) CHLTYPE(CLNTCONN) CONNAME('localhost(1414)')")
    shown = operator.says("DISPLAY CHANNEL(APP)")
    assert sum("CHANNEL(APP)" in line for line in shown) == 2
    operator.says("DELETE CHANNEL(APP) CHLTABLE(CLNTTBL)")
    assert sum("CHLTYPE(SVRCONN)" in line for line in operator.says("DISPLAY CHANNEL(APP)")) == 1


def test_attributes_of_zos_are_not_inherited(operator: Operator) -> None:
    operator.says("alter nl(SYSTEM.DEFAULT.NAMELIST) nltype(cluster) descr(x)")
    operator.says("def nl(N1) names(A)")
    assert "NLTYPE" not in " ".join(operator.says("dis nl(N1)"))
    operator.says("def nl(N2) like(SYSTEM.DEFAULT.NAMELIST)")
    assert "NLTYPE(CLUSTER)" in " ".join(operator.says("dis nl(N2)"))


def test_a_topic_belongs_to_one_topic_object(operator: Operator) -> None:
    operator.says("def topic(T1) topicstr('a/b')")
    expected = (
        "AMQ8101E: Ostler refused the command, MQRCCF_TOPICSTR_ALREADY_EXISTS (3300): T1 has the topic string a/b"
    )
    assert operator.fails("def topic(T2) topicstr('a/b')").startswith(expected)
    assert operator.fails("def topic(T2) like(T1)").startswith(expected)
    operator.says("def topic(T1) topicstr('a/b') descr('again') replace")
    operator.says("def topic(T2) topicstr('a/B')")
    assert operator.fails("def topic(T2) topicstr('a/b') replace").startswith(expected)
    operator.says("delete topic(T1)")
    operator.says("def topic(T3) topicstr('a/b')")
