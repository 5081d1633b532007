"""Scripts: what comes back, line by line, and how it is counted."""

from __future__ import annotations

from ostler.command.script import Counts, run_script

from .conftest import LocalTarget, Operator

SCRIPT = """\
* Queues of the orders department

DEFINE QLOCAL(ORDERS) +
       DESCR('Orders that came in') +
* a comment in between
       REPLACE
define qlocal(orders) noreplace
DISPLAY QLOCAL(ORDERS) MAXDEPHT
dis ql(ORDERS) descr;
end
this is never read
"""


def test_a_script(operator: Operator) -> None:
    lines, counts = operator.script(SCRIPT)
    assert lines == [
        "       : * Queues of the orders department",
        "       : ",
        "     1 : DEFINE QLOCAL(ORDERS) +",
        "       :        DESCR('Orders that came in') +",
        "       : * a comment in between",
        "       :        REPLACE",
        "AMQ8006I: Ostler queue created.",
        "     2 : define qlocal(orders) noreplace",
        "AMQ8150E: Ostler queue ORDERS exists already. Use ALTER, or DEFINE with REPLACE.",
        "     3 : DISPLAY QLOCAL(ORDERS) MAXDEPHT",
        "AMQ8405I: Syntax error at the end of the part of the command below: MAXDEPHT is not a keyword of QLOCAL; "
        "did you mean MAXDEPTH?",
        "DISPLAY QLOCAL(ORDERS) MAXDEPHT",
        "     4 : dis ql(ORDERS) descr;",
        "AMQ8409I: Queue details.",
        "   QUEUE(ORDERS)                           TYPE(QLOCAL)",
        "   DESCR(Orders that came in)",
        "     5 : end",
        "4 MQSC commands read.",
        "One command has a syntax error.",
        "One valid MQSC command could not be processed.",
    ]
    assert (counts.read, counts.syntax_errors, counts.failed, counts.exit_code) == (4, 1, 1, 10)
    assert counts.as_json() == {"read": 4, "syntax_errors": 1, "failed": 1, "exit_code": 10}


def test_without_echo(operator: Operator) -> None:
    lines, counts = operator.script("ping qmgr\nquit\n", echo=False)
    assert lines == [
        "AMQ8415I: The Ostler queue manager answers.",
        "One MQSC command read.",
        "No commands have a syntax error.",
        "All valid MQSC commands were processed.",
    ]
    assert counts.exit_code == 0


def test_an_empty_script(operator: Operator) -> None:
    lines, counts = operator.script("")
    assert lines == [
        "No MQSC commands read.",
        "No commands have a syntax error.",
        "All valid MQSC commands were processed.",
    ]
    assert counts.exit_code == 0


def test_verifying_does_nothing(operator: Operator) -> None:
    text = "def ql(Q1)\ndelete ql(NONE)\ndef ql(Q2) maxdepth(x)\n"
    lines, counts = operator.script(text, verify_only=True, echo=False)
    assert lines[-3:] == [
        "3 MQSC commands read.",
        "One command has a syntax error.",
        "The commands were verified only: nothing was done.",
    ]
    assert counts.exit_code == 10
    assert operator.fails("dis ql(Q1)").startswith("AMQ8147E")


def test_a_command_that_is_cut_off_is_not_run(operator: Operator) -> None:
    lines, counts = operator.script("def ql(Q1) +\n", echo=False)
    assert lines[:2] == [
        "AMQ8405I: Syntax error at the end of the part of the command below: "
        "the last line asks for another one, and there is none.",
        "def ql(Q1)",
    ]
    assert (counts.read, counts.syntax_errors) == (1, 1)
    assert operator.fails("dis ql(Q1)").startswith("AMQ8147E")


def test_lines_may_come_one_by_one(target: LocalTarget) -> None:
    answers = run_script(target, iter(["def ql(Q1)\r\n", "dis ql(*) +\n", "where(maxdepth eq 5000)\n"]), echo=False)
    assert next(answers) == "AMQ8006I: Ostler queue created."
    *rest, counts = answers
    assert isinstance(counts, Counts)
    assert counts.read == 2
    assert "   QUEUE(Q1)                               TYPE(QLOCAL)" in rest


def test_a_script_as_found_in_the_wild(operator: Operator) -> None:
    text = """\
       * Developer queues
DEFINE QLOCAL('DEV.QUEUE.1') REPLACE
DEFINE QLOCAL('DEV.DEAD.LETTER.QUEUE') REPLACE
ALTER QMGR DEADQ('DEV.DEAD.LETTER.QUEUE') CHLAUTH(ENABLED)
DEFINE TOPIC('DEV.BASE.TOPIC') TOPICSTR('dev/') REPLACE
DEFINE AUTHINFO('DEV.AUTHINFO') AUTHTYPE(IDPWOS) CHCKCLNT(REQDADM) CHCKLOCL(OPTIONAL) ADOPTCTX(YES) REPLACE
ALTER QMGR CONNAUTH('DEV.AUTHINFO')
REFRESH SECURITY(*) TYPE(CONNAUTH)
DEFINE CHANNEL('DEV.APP.SVRCONN') CHLTYPE(SVRCONN) MCAUSER('app') REPLACE
DEFINE LISTENER('DEV.LISTENER.TCP') TRPTYPE(TCP) PORT(1414) CONTROL(QMGR) REPLACE
START LISTENER('DEV.LISTENER.TCP') IGNSTATE(YES)
"""
    for _ in range(2):
        lines, counts = operator.script(text)
        assert (counts.read, counts.exit_code) == (10, 0), lines
