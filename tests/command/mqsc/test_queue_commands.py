"""MOVE QLOCAL, RESET QSTATS and CLEAR TOPICSTR."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.command.conftest import LOG, STARTED_MS, LocalCommandContext, Operator, Program

import ostler
from ostler.command.mqsc.interpreter import run_command
from ostler.engine.open import close_object
from ostler.engine.put import put
from ostler.model import constants as mq
from ostler.model.structures.catalogue import LAYOUTS
from ostler.server.admin.command_context import ManagerCommandContext
from ostler.server.queue_manager import QueueManager, create_queue_manager


def put_messages(program: Program, queue: str, bodies: list[bytes], persistence: int) -> None:
    handle = program.open(queue, mq.MQOO_OUTPUT)
    engine = program.manager.engine
    md = bytearray(LAYOUTS["MQMD"].default(2))
    with program.manager.lock:
        engine.now_ms = STARTED_MS
        for body in bodies:
            options = mq.MQPMO_NO_SYNCPOINT
            md[44:48] = persistence.to_bytes(4, "little")
            assert put(engine, program.connection, handle, bytes(md), options, b"", body, None).reason == 0
        close_object(engine, program.connection, handle, 0)


def bodies_of(manager: QueueManager, name: str) -> list[bytes]:
    queue = manager.engine.queues[name]
    slot = queue.slots.first()
    bodies: list[bytes] = []
    while slot >= 0:
        bodies.append(queue.load(slot).body)
        slot = queue.slots.following(slot)
    assert len(bodies) == queue.depth
    return bodies


def test_messages_move_in_their_order(operator: Operator, program: Program, manager: QueueManager) -> None:
    operator.says("def ql(Q1)")
    operator.says("def ql(Q2)")
    put_messages(program, "Q1", [b"a", b"b"], 1)
    put_messages(program, "Q1", [b"c"], 0)
    assert operator.says("move ql(Q1) toqlocal(Q2)") == ["AMQ8022I: Messages of Ostler queue Q1 moved to Q2."]
    assert bodies_of(manager, "Q1") == []
    assert bodies_of(manager, "Q2") == [b"a", b"b", b"c"]
    assert manager.engine.units_of_work == {}
    put_messages(program, "Q1", [b"d"], 1)
    assert operator.fails("move ql(Q1) toqlocal(Q2) type(move)").startswith("AMQ8143E: ")
    operator.says("move ql(Q1) toqlocal(Q2) type(add)")
    assert bodies_of(manager, "Q2") == [b"a", b"b", b"c", b"d"]


def test_what_was_moved_stays_moved(tmp_path: Path) -> None:
    directory = create_queue_manager(tmp_path, "TEST", LOG)
    manager = QueueManager(directory)
    manager.start()
    operator = Operator(LocalCommandContext(manager))
    operator.says("def ql(Q1)")
    operator.says("def ql(Q2)")
    put_messages(Program(manager), "Q1", [b"a", b"b"], 1)
    operator.says("move ql(Q1) toqlocal(Q2)")
    manager.end("preemptive")
    manager = QueueManager(directory)
    manager.start()
    assert bodies_of(manager, "Q1") == []
    assert bodies_of(manager, "Q2") == [b"a", b"b"]
    manager.end("immediate")


def test_what_does_not_fit_stays_where_it_is(operator: Operator, program: Program, manager: QueueManager) -> None:
    operator.says("def ql(Q1)")
    put_messages(program, "Q1", [b"aaaa", b"b"], 1)
    operator.says("def ql(SMALL) maxdepth(1)")
    assert "MQRC_Q_FULL" in operator.fails("move ql(Q1) toqlocal(SMALL)")
    operator.says("def ql(SHORT) maxmsgl(2)")
    assert "MQRC_MSG_TOO_BIG_FOR_Q" in operator.fails("move ql(Q1) toqlocal(SHORT)")
    operator.says("def ql(Q2)")
    handle = program.open("Q2", mq.MQOO_OUTPUT)
    assert operator.fails("move ql(Q1) toqlocal(Q2)").startswith("AMQ8148E: ")
    with manager.lock:
        close_object(manager.engine, program.connection, handle, 0)
    assert operator.fails("move ql(Q1) toqlocal(Q1)").startswith("AMQ8101E: ")
    assert operator.fails("move ql(Q1) toqlocal(NONE)") == "AMQ8147E: Ostler object NONE not found."
    assert operator.fails("move ql(NONE) toqlocal(Q1)") == "AMQ8147E: Ostler object NONE not found."
    assert bodies_of(manager, "Q1") == [b"aaaa", b"b"]
    queue = manager.engine.queues["Q1"]
    assert queue.slots.backout_count(queue.slots.first()) == 0
    assert manager.engine.units_of_work == {}


def test_figures_of_queues_begin_anew(operator: Operator, program: Program) -> None:
    operator.says("def ql(Q1)")
    operator.says("reset qstats(Q1)")
    program.put("Q1")
    program.put("Q1")
    lines = operator.says("reset qstats(Q1)")
    assert lines[0] == "AMQ8450I: Queue statistics."
    assert lines[1].split() == ["QSTATS(Q1)", "TYPE(QUEUE)"]
    assert "HIQDEPTH(2)" in lines[2]
    assert lines[3].split() == ["MSGSIN(2)", "MSGSOUT(0)"]
    assert "MSGSIN(0)" in "".join(operator.says("reset qstats(Q*)"))
    assert operator.fails("reset qstats(NONE*)") == "AMQ8147E: Ostler object NONE* not found."


def test_topics_are_cleared(operator: Operator) -> None:
    assert operator.says("clear topicstr('a/b') clrtype(retained)") == ["AMQ8721I: Ostler topic string cleared."]


@pytest.mark.parametrize(
    ("command", "until", "why"),
    [
        ("move ql(Q1)", "move ql(Q1)", "TOQLOCAL is missing"),
        ("move ql(Q1) toqlocal('?')", "move ql(Q1) toqlocal('?'", "is not a valid name"),
        ("move ql(Q1) toqlocal(Q2) type(all)", "move ql(Q1) toqlocal(Q2) type(all", "TYPE is one of MOVE, ADD"),
        ("reset qstats", "reset qstats", "needs a name"),
        ("reset qstats(A*B)", "reset qstats(A*B", "ends with an asterisk"),
        ("clear topicstr(a)", "clear topicstr(a)", "CLRTYPE(RETAINED) is missing"),
    ],
)
def test_what_is_wrong_is_pointed_at(operator: Operator, command: str, until: str, why: str) -> None:
    said, part = operator.is_wrong(command)
    assert part == until
    assert why in said


def test_a_long_move_is_waited_for(tmp_path: Path) -> None:
    """The thread that goes on with long searches moves the messages; the command returns when all are there."""
    manager = QueueManager(create_queue_manager(tmp_path, "LONGMOVE", LOG))
    manager.start()
    context = ManagerCommandContext(manager)
    try:
        for name in ("FROM", "TO"):
            list(run_command(context, f"define qlocal({name})"))
        with ostler.connect(manager) as program, program.open("FROM", "w") as queue:
            for number in range(1_200):
                queue.put(b"%d" % number, persistent=number % 100 == 0)
        assert list(run_command(context, "move qlocal(FROM) toqlocal(TO)")) == [
            "AMQ8022I: Messages of Ostler queue FROM moved to TO."
        ]
        assert bodies_of(manager, "TO") == [b"%d" % number for number in range(1_200)]
        assert bodies_of(manager, "FROM") == []
        assert not manager.engine.queues["TO"].is_moving
    finally:
        manager.end("immediate")
