"""DISPLAY TPSTATUS, SBSTATUS, PUBSUB, SMDS, USAGE and APSTATUS."""

from __future__ import annotations

import pytest
from tests.command.conftest import LocalCommandContext, Operator, Program

from ostler.command.status.topic_walk import TopicPattern


@pytest.mark.parametrize(
    ("place", "pattern", "fits"),
    [
        ("", "#", True),
        ("a/b/c", "#", True),
        ("a/b/c", "a/#", True),
        ("a", "a/#", True),
        ("a/b/c", "a/+/c", True),
        ("a/b/c", "a/+", False),
        ("a/b/c", "#/c", True),
        ("a/b/c", "#/b/#", True),
        ("a/b/c", "+/+/+", True),
        ("a/b", "a/b/+", False),
        ("a*b", "a*", False),
        ("", "+", False),
        ("", "", True),
        ("a", "", False),
    ],
)
def test_topics_match(place: str, pattern: str, fits: bool) -> None:
    assert TopicPattern(pattern).matches(place) == fits


def test_topics_take_what_is_open_from_above(operator: Operator) -> None:
    operator.says("def topic(T1) topicstr('price') defprty(5) pub(disabled) mdurmdl(MINE)")
    operator.says("def topic(T2) topicstr('price/fruit/apple') defprty(7)")
    text = " ".join(operator.says("dis tpstatus('price/fruit/apple')"))
    for part in ("ADMIN(T2)", "DEFPRTY(7)", "PUB(DISABLED)", "MDURMDL(MINE)", "SUB(ENABLED)", "CLROUTE(NONE)"):
        assert part in text
    assert "ASPARENT" not in text
    text = " ".join(operator.says("dis tps('price/fruit') admin defprty"))
    assert "ADMIN( )" in text
    assert "DEFPRTY(5)" in text
    assert "DEFPRTY(0)" in " ".join(operator.says("dis tps('') defprty"))
    assert operator.says("dis tps('price/+') defprty") == [
        "AMQ8754I: Topic status.",
        "   TOPICSTR(price/fruit)                   DEFPRTY(5)",
    ]
    assert operator.fails("dis tps('none')") == "AMQ8147E: Ostler object none not found."
    assert operator.fails("dis tps('#') where(defprty eq 9)").startswith("AMQ8147E: ")


def test_who_has_subscribed(operator: Operator) -> None:
    operator.says("def topic(T1) topicstr('price')")
    operator.says("def sub(S1) topicobj(T1) topicstr('fruit') destclas(managed)")
    assert "SUBCOUNT(1)" in " ".join(operator.says("dis tps('price/fruit')"))
    assert "SUBTYPE(ADMIN)" in " ".join(operator.says("dis tps('price/fruit') type(sub)"))
    assert operator.fails("dis tps('price') type(sub)").startswith("AMQ8147E: ")
    assert operator.fails("dis tps('price') type(pub)").startswith("AMQ8147E: ")
    lines = operator.says("dis sbstatus(S1)")
    assert lines[0] == "AMQ8099I: Subscription status."
    text = " ".join(lines)
    for part in ("SUB(S1)", "SUBID(414D5120", "TOPICSTR(price/fruit)", "NUMMSGS(0)", "DURABLE(YES)"):
        assert part in text
    assert operator.fails("dis sbs(NONE)") == "AMQ8147E: Ostler object NONE not found."


def test_publish_and_subscribe_as_a_whole(operator: Operator) -> None:
    assert operator.says("dis pubsub type(local)")[:2] == [
        "AMQ8723I: Publish and subscribe status.",
        "   QMNAME(TEST)                            TYPE(LOCAL)",
    ]
    assert "STATUS(ACTIVE)" in " ".join(operator.says("dis pubsub all"))
    operator.says("alter qmgr psmode(disabled)")
    assert "STATUS(INACTIVE)" in " ".join(operator.says("dis pubsub all"))
    operator.says("alter qmgr psmode(compat)")
    assert "STATUS(COMPAT)" in " ".join(operator.says("dis pubsub all"))
    assert operator.fails("dis pubsub type(parent)").startswith("AMQ8147E: ")


def test_shared_message_data_sets(operator: Operator) -> None:
    assert operator.fails("alter smds(*) cfstruct(APP1) dsbufs(7)") == "AMQ8147E: Ostler object APP1 not found."
    operator.says("def cfstruct(APP1) cflevel(5) offload(smds)")
    assert "DSBUFS(DEFAULT)" in " ".join(operator.says("dis smds(*) cfstruct(APP1)"))
    operator.says("alter smds(MQ01) cfstruct(APP1) dsbufs(7)")
    operator.says("alter smds(*) cfstruct(APP1) dsexpand(no)")
    text = " ".join(operator.says("dis smds(MQ01) cfstruct(*)"))
    assert "DSBUFS(7)" in text
    assert "DSEXPAND(NO)" in text
    assert len([line for line in operator.says("dis smds(*) cfstruct(APP1)") if line.startswith("AMQ8898I")]) == 2
    operator.says("def cfstruct(APP2) offload(db2)")
    assert operator.fails("alter smds(*) cfstruct(APP2) dsbufs(7)").startswith("AMQ8101E: ")
    operator.says("delete cfstruct(APP1)")
    operator.says("def cfstruct(APP1)")
    assert "DSBUFS(DEFAULT)" in " ".join(operator.says("dis smds(*) cfstruct(APP1)"))
    said, part = operator.is_wrong("dis smds(*)")
    assert (part, "CFSTRUCT is missing" in said) == ("dis smds(*)", True)


def test_how_much_room_there_is(operator: Operator, program: Program) -> None:
    operator.says("def ql(Q1)")
    held = sum(queue.depth for queue in program.manager.engine.queues.values())
    program.put("Q1")
    lines = operator.says("dis usage")
    assert lines[1] == "   PSID(0)                                 TYPE(PAGESET)"
    assert f"MSGS({held + 1})" in " ".join(lines)
    assert "LOGPRIM(3)" in " ".join(operator.says("dis usage type(dataset)"))
    assert operator.fails("dis usage psid(7)").startswith("AMQ8147E: ")
    assert "MQRCCF_Q_MGR_NOT_IN_QSG (3212)" in operator.fails("dis usage type(smds)")


def test_applications(operator: Operator, target: LocalCommandContext, program: Program) -> None:
    again = Program(target.manager)
    assert operator.says("dis apstatus('orders')") == [
        "AMQ8932I: Application status.",
        "   APPLNAME(orders)                        CLUSTER( )",
        "   COUNT(2)                                MOVCOUNT(0)",
        "   BALANCED(NOTAPPLIC)                     TYPE(APPL)",
    ]
    assert "CONNS(2)" in " ".join(operator.says("dis apstatus('orders') type(local)"))
    assert "QMNAME(TEST)" in " ".join(operator.says("dis apstatus(*) type(qmgr)"))
    assert operator.fails("dis apstatus(NONE)").startswith("AMQ8147E: ")
    target.manager.disconnect(again.connection)
    assert "COUNT(1)" in " ".join(operator.says("dis apstatus('orders')"))
