"""Scripts: what comes back, line by line, and how it is counted."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from tests.command.conftest import LocalCommandContext, Operator

from ostler.command.admin import objects as administration
from ostler.command.admin.context import CommandContext
from ostler.command.mqsc.script import ScriptCounts, run_script
from ostler.engine.core import Engine
from ostler.model.attributes import ObjectType
from ostler.model.constants import MQRC_Q_MGR_NOT_AVAILABLE
from ostler.model.errors import MQError
from ostler.server.admin.command_context import ManagerCommandContext
from ostler.server.queue_manager import QueueManager

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
        "the last line is continued, but there is no next line.",
        "def ql(Q1)",
    ]
    assert (counts.read, counts.syntax_errors) == (1, 1)
    assert operator.fails("dis ql(Q1)").startswith("AMQ8147E")


def test_lines_may_come_one_by_one(target: LocalCommandContext) -> None:
    answers = run_script(target, iter(["def ql(Q1)\r\n", "dis ql(*) +\n", "where(maxdepth eq 5000)\n"]), echo=False)
    assert next(answers) == "AMQ8006I: Ostler queue created."
    *rest, counts = answers
    assert isinstance(counts, ScriptCounts)
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


# -- changes that wait together ----------------------------------------------------------------------------------------


class Pipelining(LocalCommandContext):
    """Notes in which order changes were made, waited for and told."""

    def __init__(self, manager: QueueManager) -> None:
        super().__init__(manager)
        self.story: list[str] = []
        self.is_broken = False

    def as_pipelined(self) -> CommandContext:
        return self

    def change(self, change: Callable[[Engine], int]) -> None:
        self.query(change)
        self.story.append("changed")

    def wait_durable(self) -> None:
        self.story.append("settled")
        if self.is_broken:
            raise MQError(MQRC_Q_MGR_NOT_AVAILABLE, "the disk is gone")


def told(target: Pipelining, text: str | list[str]) -> list[str | ScriptCounts]:
    answers: list[str | ScriptCounts] = []
    for answer in run_script(target, text, echo=False):
        if isinstance(answer, str) and "created" in answer:
            target.story.append("told")
        answers.append(answer)
    return answers


def test_changes_are_waited_for_together_before_any_is_told(manager: QueueManager) -> None:
    target = Pipelining(manager)
    told(target, "def ql(A)\ndef ql(B)\ndis ql(A) descr\ndef ql(C)\n")
    story = " ".join(each for each in target.story if each != "settled")
    assert story == "changed changed told told changed told"
    first_told = target.story.index("told")
    assert target.story[first_told - 1] == "settled"
    assert target.story[-2:] == ["settled", "told"]


def test_a_long_script_is_told_of_a_few_at_a_time(manager: QueueManager) -> None:
    target = Pipelining(manager)
    told(target, "".join(f"def ql(A.{number})\n" for number in range(200)))
    runs = "".join({"changed": "c", "settled": "s", "told": "t"}[each] for each in target.story)
    assert runs.replace("s", "") == "c" * 64 + "t" * 64 + "c" * 64 + "t" * 64 + "c" * 64 + "t" * 64 + "c" * 8 + "t" * 8
    assert "ct" not in runs


def test_line_after_line_is_answered_at_once(manager: QueueManager) -> None:
    target = Pipelining(manager)
    told(target, ["def ql(A)", "def ql(B)"])
    assert [each for each in target.story if each != "settled"] == ["changed", "told", "changed", "told"]


def test_what_is_not_durable_is_not_told_as_done(manager: QueueManager) -> None:
    target = Pipelining(manager)
    target.is_broken = True
    *lines, counts = told(target, "def ql(A)\ndef ql(nonsense\ndef ql(B)\n")
    assert isinstance(counts, ScriptCounts)
    assert (counts.read, counts.syntax_errors, counts.failed) == (3, 1, 2)
    assert not any("created" in str(line) for line in lines)
    assert [str(line)[:8] for line in lines[:4]] == ["AMQ8101E", "AMQ8405I", "def ql(n", "AMQ8101E"]


def test_a_pipelined_target_owes_the_wait(manager: QueueManager) -> None:
    whole = ManagerCommandContext(manager)
    target = whole.as_pipelined()
    assert target is not whole
    before = manager.log.durable_lsn()
    target.change(
        partial(administration.define_object, kind=ObjectType.QLOCAL, name="Q", attributes={}, like=None, replace=False)
    )
    assert manager.log.durable_lsn() == before
    target.wait_durable()
    assert manager.log.durable_lsn() > before
