"""Commands on topics and subscriptions that live: what programs made, what is retained, very many of them."""

from __future__ import annotations

import re
import time

import pytest
from tests.command.conftest import LocalCommandContext, Operator, Program
from tests.command.pcf.pcf_requests import Administrator

from ostler.command.admin.command_events import command_number
from ostler.command.dump.dump import DumpOptions, ScriptLayout, dump
from ostler.command.mqsc.interpreter import run_command
from ostler.command.status.topic_walk import TopicPattern, TopicWalk
from ostler.engine import objects
from ostler.model import constants as mq
from ostler.model.attributes import ObjectType
from ostler.server.queue_manager import QueueManager


def value(operator: Operator, command: str, name: str) -> str:
    """The one value of an attribute in an answer."""
    found = re.findall(rf"\b{name}\(([^)]*)\)", "\n".join(operator.says(command)))
    assert len(found) == 1, found
    return str(found[0])


def topics(operator: Operator, command: str) -> list[str]:
    return re.findall(r"\bTOPICSTR\(([^)]*)\)", "\n".join(operator.says(command)))


# -- subscriptions by command ------------------------------------------------------------------------------------------


def test_a_subscription_made_by_command_gets_publications(operator: Operator, program: Program) -> None:
    operator.says("def ql(Q1)")
    operator.says("def topic(PRICES) topicstr('price')")
    operator.says("def sub(S1) topicobj(PRICES) topicstr('+') dest(Q1)")
    handle = program.open_topic("fruit", "PRICES")
    assert program.publish(handle) == 0
    assert program.depth("Q1") == 1
    assert value(operator, "dis sbstatus(S1) nummsgs", "NUMMSGS") == "1"
    assert value(operator, "dis sbstatus(S1) lmsgdate", "LMSGDATE") == "2023-11-14"
    operator.says("def ql(Q2)")
    operator.says("alter sub(S1) dest(Q2)")
    assert program.publish(handle) == 0
    assert (program.depth("Q1"), program.depth("Q2")) == (1, 1)
    operator.says("delete sub(S1)")
    assert program.publish(handle) == 0
    assert program.depth("Q2") == 1


def test_a_managed_queue_comes_and_goes_with_its_subscription(operator: Operator, program: Program) -> None:
    operator.says("def sub(S1) topicstr(a) destclas(managed)")
    queue = value(operator, "dis sub(S1) dest", "DEST")
    assert queue.startswith("SYSTEM.MANAGED.DURABLE.")
    assert program.publish(program.open_topic("A")) == 0
    assert program.depth(queue) == 1
    operator.says("def sub(S1) userdata(x) replace")
    assert value(operator, "dis sub(S1) dest", "DEST") == queue
    assert "the queue manager's" in operator.fails("alter sub(S1) dest(Q1)")
    operator.says("def sub(S2) like(S1)")
    assert value(operator, "dis sub(S2) dest", "DEST") != queue
    operator.says("delete sub(S1)")
    assert queue not in program.manager.engine.queues


def test_what_was_retained_goes_to_a_new_subscription(operator: Operator, program: Program) -> None:
    assert program.publish(program.open_topic("a/b"), options=mq.MQPMO_RETAIN) == 0
    operator.says("def sub(S1) topicstr('a/#') destclas(managed)")
    operator.says("def sub(S2) topicstr('a/#') destclas(managed) reqonly(yes)")
    assert program.depth(value(operator, "dis sub(S1) dest", "DEST")) == 1
    assert program.depth(value(operator, "dis sub(S2) dest", "DEST")) == 0


def test_what_was_retained_is_cleared(operator: Operator, program: Program) -> None:
    of_the_manager = program.depth("SYSTEM.RETAINED.PUB.QUEUE")  # metadata of its system topics
    assert program.publish(program.open_topic("a/b"), options=mq.MQPMO_RETAIN) == 0
    assert value(operator, "dis tps('a/b') retained", "RETAINED") == "YES"
    operator.says("clear topicstr('a') clrtype(retained)")
    assert value(operator, "dis tps('a/b') retained", "RETAINED") == "YES"
    assert operator.says("clear topicstr('a/b') clrtype(retained)") == ["AMQ8721I: Ostler topic string cleared."]
    assert value(operator, "dis tps('a/b') retained", "RETAINED") == "NO"
    assert program.depth("SYSTEM.RETAINED.PUB.QUEUE") == of_the_manager
    assert "MQRC_TOPIC_STRING_ERROR" in operator.fails("clear topicstr('a/#') clrtype(retained)")


@pytest.mark.parametrize(
    ("attributes", "reason"),
    [
        ("topicstr('a') destclas(managed) selector('x =')", "MQRC_SELECTOR_SYNTAX_ERROR"),
        ("topicstr('a%b') destclas(managed) wschema(char)", "MQRC_TOPIC_STRING_ERROR"),
        ("topicstr('closed/a') destclas(managed)", "MQRC_SUB_INHIBITED"),
        ("topicstr('brief/a') destclas(managed)", "MQRC_DURABILITY_NOT_ALLOWED"),
        ("topicstr('a') destclas(managed) dest(Q1)", "MQRCCF_ATTR_VALUE_ERROR"),
        ("topicstr('a') destclas(managed) durable(no)", "MQRCCF_ATTR_VALUE_ERROR"),
        ("topicstr('modelless') destclas(managed)", "AMQ8147E"),
    ],
)
def test_subscriptions_that_are_refused_leave_nothing(operator: Operator, attributes: str, reason: str) -> None:
    operator.says("def topic(CLOSED) topicstr('closed') sub(disabled)")
    operator.says("def topic(BRIEF) topicstr('brief') dursub(no)")
    operator.says("def topic(MODELLESS) topicstr('modelless') mdurmdl(NONE)")
    queues = set(operator.target.manager.engine.queues)
    assert reason in operator.fails(f"def sub(S1) {attributes}")
    assert "S1" not in operator.target.manager.engine.of_type(ObjectType.SUB)
    assert set(operator.target.manager.engine.queues) == queues


# -- subscriptions of programs -----------------------------------------------------------------------------------------


def test_subscriptions_of_programs_are_shown(operator: Operator, program: Program) -> None:
    program.subscribe("a/b", "KEPT", mq.MQSO_DURABLE)
    program.subscribe("a/+", "NAMED")
    unnamed = program.subscribe("a/c").subscription.identifier.hex().upper()
    text = " ".join(operator.says("dis sub(KEPT)"))
    for part in (
        "SUBTYPE(API)",
        "DURABLE(YES)",
        "DESTCLAS(MANAGED)",
        "PUBPRTY(ASPUB)",
        "SUBUSER(ann)",
        "VARUSER(FIXED)",
    ):
        assert part in text
    assert value(operator, "dis sub(NAMED) durable", "DURABLE") == "NO"
    assert value(operator, f"dis sub subid({unnamed})", "TOPICSTR") == "a/c"
    assert topics(operator, "dis sub(*) subtype(api) topicstr") == ["a/c", "a/b", "a/+"]  # by name
    assert topics(operator, "dis sub(*) subtype(api) durable(no) topicstr") == ["a/c", "a/+"]
    assert operator.fails("dis sub(KEPT) subtype(admin)").startswith("AMQ8147E: ")
    connection = program.connection.connection_id.hex().upper()
    assert value(operator, "dis sbstatus(KEPT) actconn", "ACTCONN") == connection


def test_a_subscription_in_use_stays(operator: Operator, program: Program) -> None:
    made = program.subscribe("a", "MINE", mq.MQSO_DURABLE)
    assert operator.fails("delete sub(MINE)") == "AMQ8148E: The subscription MINE is in use."
    assert operator.fails("def sub(MINE) topicstr(a) destclas(managed)").startswith("AMQ8150E: ")
    queue = made.subscription.destination
    assert made.destination is not None
    program.close(made.destination)
    program.close(made.handle)
    operator.says("delete sub(MINE)")
    assert queue not in program.manager.engine.queues


def test_a_program_s_subscription_is_altered(operator: Operator, program: Program) -> None:
    program.subscribe("a", "PASSING")
    operator.says("alter sub(PASSING) pubprty(7)")
    assert value(operator, "dis sub(PASSING) pubprty", "PUBPRTY") == "7"
    assert program.manager.engine.topics.by_name["PASSING"].priority == 7
    assert "PASSING" not in program.manager.engine.of_type(ObjectType.SUB)
    assert operator.fails("def sub(PASSING) topicstr(a) destclas(managed) replace").startswith("AMQ8150E: ")


# -- topics ------------------------------------------------------------------------------------------------------------


def test_publishers_and_subscribers_of_a_topic(operator: Operator, program: Program) -> None:
    program.subscribe("a/b", "S1")
    program.subscribe("a/#", "S2")
    handle = program.open_topic("a/b")
    program.publish(handle)
    program.publish(handle)
    text = " ".join(operator.says("dis tps('a/b')"))
    for part in ("PUBCOUNT(1)", "SUBCOUNT(1)", "RETAINED(NO)", "ADMIN( )", "DURSUB(YES)"):
        assert part in text
    text = " ".join(operator.says("dis tps('a/b') type(pub)"))
    for part in ("NUMPUBS(2)", "LPUBDATE(2023-11-14)", f"ACTCONN({program.connection.connection_id.hex().upper()})"):
        assert part in text
    assert topics(operator, "dis tps('a/#') type(sub)") == ["a/b", "a/#"]
    assert value(operator, "dis tps('a/b') type(sub)", "NUMMSGS") == "2"
    assert topics(operator, "dis tps('a/#')") == ["a", "a/b", "a/#"]
    assert operator.fails("dis tps('a/#') type(sub) subtype(admin)").startswith("AMQ8147E: ")
    program.close(handle)
    assert operator.fails("dis tps('a/b') type(pub)").startswith("AMQ8147E: ")


def test_a_topic_object_in_use_stays(operator: Operator, program: Program) -> None:
    operator.says("def topic(NEWS) topicstr('news')")
    handle = program.open_topic("", "NEWS")
    assert operator.fails("delete topic(NEWS)").startswith("AMQ8148E: ")
    operator.says("alter topic(NEWS) pub(disabled)")
    assert program.publish(handle) == mq.MQRC_PUT_INHIBITED
    operator.says("alter topic(NEWS) pub(asparent)")
    assert program.publish(handle) == 0
    program.close(handle)
    operator.says("delete topic(NEWS)")


def test_an_alias_queue_leads_to_a_topic(operator: Operator, program: Program) -> None:
    operator.says("def ql(Q1)")
    operator.says("def topic(NEWS) topicstr('news')")
    operator.says("def sub(S1) topicstr('news') dest(Q1)")
    operator.says("def qa(A1) target(NEWS) targtype(topic)")
    program.put("A1")
    assert program.depth("Q1") == 1


# -- very many ---------------------------------------------------------------------------------------------------------


@pytest.fixture
def forest(manager: QueueManager) -> QueueManager:
    """50,000 topics, in 100 groups."""
    with manager.lock:
        now_ms = int(time.time() * 1000)
        for at in range(50_000):
            manager.engine.topics.ensure(f"many/{at % 100}/{at}", now_ms)
    return manager


def test_many_topics_are_shown_in_slices(forest: QueueManager, target: LocalCommandContext, operator: Operator) -> None:
    running = run_command(target, "dis tps('many/#')")
    for _ in range(10):
        next(running)
    assert target.looks == 1
    assert forest.engine.topics.readers == 1
    # A topic that comes meanwhile does not disturb.
    forest.engine.topics.ensure("many/new", forest.engine.now_ms)
    shown = {line for line in running if "TOPICSTR" in line}
    assert len(shown) + 5 == 50_000 + 100 + 1 + 1
    assert target.looks > 250
    assert forest.engine.topics.readers == 0


def test_a_display_that_is_given_up_lets_go(forest: QueueManager, target: LocalCommandContext) -> None:
    running = run_command(target, "dis tps('#')")
    next(running)
    running.close()
    assert forest.engine.topics.readers == 0


def test_a_display_that_takes_too_long_lets_go(forest: QueueManager) -> None:
    engine = forest.engine
    walk = TopicWalk(TopicPattern("#"))
    engine.now_ms = 1_000
    walk.step(engine, 10)
    assert engine.topics.readers == 1
    engine.now_ms = 62_000
    assert len(walk.step(engine, 10)) > 0
    assert engine.topics.readers == 0
    walk.end(engine)
    assert engine.topics.readers == 0


def test_only_what_can_fit_is_looked_at(forest: QueueManager, operator: Operator, target: LocalCommandContext) -> None:
    target.looks = 0
    assert len(topics(operator, "dis tps('many/7/+')")) == 500
    assert target.looks < 10
    target.looks = 0
    assert topics(operator, "dis tps('many/+/5007')") == ["many/7/5007"]
    assert target.looks < 10


def test_many_subscriptions_are_shown_in_slices(
    operator: Operator, program: Program, target: LocalCommandContext
) -> None:
    operator.says("def ql(Q1)")
    for at in range(250):
        operator.says(f"def sub(S{at:03}) topicstr('a') dest(Q1)")
    target.looks = 0
    names = re.findall(r"\bSUB\((S[0-9]+)\)", "\n".join(operator.says("dis sub(S*)")))
    assert names == [f"S{at:03}" for at in range(250)]
    assert target.looks >= 5
    assert len(topics(operator, "dis tps('a') type(sub)")) == 250


# -- the same by PCF ---------------------------------------------------------------------------------------------------


def test_subscriptions_of_programs_by_pcf(target: LocalCommandContext, program: Program) -> None:
    admin = Administrator(target)
    made = program.subscribe("a/b", "MINE", mq.MQSO_DURABLE).subscription
    (found,) = admin.does(mq.MQCMD_INQUIRE_SUBSCRIPTION, {mq.MQBACF_SUB_ID: made.identifier})
    assert found[mq.MQCACF_SUB_NAME] == "MINE"
    assert found[mq.MQIACF_SUB_TYPE] == mq.MQSUBTYPE_API
    assert found[mq.MQIACF_PUB_PRIORITY] == mq.MQPRI_PRIORITY_AS_PUBLISHED
    assert found[mq.MQCACF_DESTINATION] == made.destination
    program.publish(program.open_topic("a/b"))
    (status,) = admin.does(mq.MQCMD_INQUIRE_SUB_STATUS, {mq.MQCACF_SUB_NAME: "MINE"})
    assert status[mq.MQIACF_MESSAGE_COUNT] == 1
    assert status[mq.MQBACF_CONNECTION_ID] == program.connection.connection_id
    assert admin.fails(mq.MQCMD_DELETE_SUBSCRIPTION, {mq.MQCACF_SUB_NAME: "MINE"}) == (mq.MQRCCF_SUBSCRIPTION_IN_USE,)


def test_topics_by_pcf(target: LocalCommandContext, program: Program) -> None:
    admin = Administrator(target)
    topic = mq.MQCA_TOPIC_STRING
    handle = program.open_topic("a/b")
    program.publish(handle, options=mq.MQPMO_RETAIN)
    (found,) = admin.does(mq.MQCMD_INQUIRE_TOPIC_STATUS, {topic: "a/b"})
    assert found[mq.MQIACF_RETAINED_PUBLICATION] == 1
    assert found[mq.MQIA_PUB_COUNT] == 1
    about = {topic: "#", mq.MQIACF_TOPIC_STATUS_TYPE: mq.MQIACF_TOPIC_PUB}
    (publisher,) = admin.does(mq.MQCMD_INQUIRE_TOPIC_STATUS, about)
    assert publisher[mq.MQIACF_PUBLISH_COUNT] == 1
    admin.done(mq.MQCMD_CLEAR_TOPIC_STRING, {topic: "a/b", mq.MQIACF_CLEAR_TYPE: mq.MQCLRT_RETAINED})
    (found,) = admin.does(mq.MQCMD_INQUIRE_TOPIC_STATUS, {topic: "a/b"})
    assert found[mq.MQIACF_RETAINED_PUBLICATION] == 0


# -- a dump ------------------------------------------------------------------------------------------------------------


def test_durable_subscriptions_are_dumped(operator: Operator, program: Program) -> None:
    operator.says("def topic(NEWS) topicstr('news')")
    operator.says("def sub(S1) topicobj(NEWS) topicstr('+') destclas(managed)")
    program.subscribe("a/b", "KEPT", mq.MQSO_DURABLE)
    program.subscribe("a/b", "PASSING")
    operator.says("delete topic(NEWS)")
    engine = program.manager.engine
    known = [each for kind in engine.definitions for each in objects.all_of_type(engine, kind)]
    asked = DumpOptions(exports=frozenset({"sub", "object", "authrec"}), pattern="*", layout=ScriptLayout.ONE_LINE)
    script = [line for line in dump(known, asked) if "DEFINE SUB" in line or "MANAGED.DURABLE" in line]
    assert script == [
        "DEFINE SUB('KEPT') DESTCLAS(MANAGED) SUBUSER('ann') TOPICSTR('a/b') VARUSER(FIXED) REPLACE",
        "DEFINE SUB('S1') DESTCLAS(MANAGED) SUBUSER('') TOPICSTR('news/+') REPLACE",
        "DEFINE SUB('SYSTEM.DEFAULT.SUB') SUBUSER('') REPLACE",
    ]


@pytest.mark.parametrize(
    ("verb", "noun", "number"),
    [
        ("DEFINE", "SUB", mq.MQCMD_CREATE_SUBSCRIPTION),
        ("ALTER", "SUB", mq.MQCMD_CHANGE_SUBSCRIPTION),
        ("DELETE", "SUB", mq.MQCMD_DELETE_SUBSCRIPTION),
        ("DISPLAY", "SUB", mq.MQCMD_INQUIRE_SUBSCRIPTION),
        ("DISPLAY", "SBSTATUS", mq.MQCMD_INQUIRE_SUB_STATUS),
        ("DISPLAY", "TPSTATUS", mq.MQCMD_INQUIRE_TOPIC_STATUS),
        ("CLEAR", "TOPICSTR", mq.MQCMD_CLEAR_TOPIC_STRING),
    ],
)
def test_command_events_say_what_was_done(verb: str, noun: str, number: int) -> None:
    assert command_number(verb, noun) == number
