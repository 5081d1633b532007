"""Publishing and subscribing with the Python API, over every binding."""

from __future__ import annotations

import asyncio
import itertools
import threading
from collections.abc import Iterator
from typing import Any

import pytest

import ostler
from ostler.client.api.connection import Connection
from ostler.model import constants as mqc
from ostler.model.errors import MQError

_numbers = itertools.count(1)


@pytest.fixture
def qm(site: Any, way: str) -> Iterator[Connection]:
    connection = site.connect(way, application="topics")
    yield connection
    connection.close()


@pytest.fixture
def topic() -> str:
    return f"markets/{next(_numbers)}"


def reason(error: pytest.ExceptionInfo[MQError]) -> int:
    return error.value.reason


# -- publishing --------------------------------------------------------------------------------------------------------


def test_publication_comes_with_its_topic(qm: Connection, topic: str) -> None:
    with qm.subscribe(f"{topic}/#", user_data="mine") as subscription:
        qm.publish(f"{topic}/fruit", "plums", priority=7, properties={"colour": "blue"})
        message = subscription.get(wait=30)
    assert message is not None
    assert (message.text, message.topic, message.user_data) == ("plums", f"{topic}/fruit", "mine")
    assert (message.priority, message.properties, message.is_retained) == (7, {"colour": "blue"}, False)
    assert message.correlation_id == subscription.correlation_id


def test_open_topic_publishes_often(qm: Connection, topic: str) -> None:
    with qm.subscribe(topic) as subscription, qm.topic(topic) as target:
        assert target.topic == topic
        for number in range(3):
            target.publish(b"%d" % number)
        assert [message.body for message in subscription.messages()] == [b"0", b"1", b"2"]
    with pytest.raises(MQError) as refused:
        target.publish(b"closed")
    assert reason(refused) == mqc.MQRC_HOBJ_ERROR


def test_topic_object_goes_before_the_topic(site: Any, qm: Connection, topic: str) -> None:
    name = f"TOPIC.{next(_numbers)}"
    site.admin.define("TOPIC", name, TOPICSTR=topic)
    with qm.topic("fruit", object_name=name) as target, qm.subscribe("fruit", object_name=name) as subscription:
        assert target.topic == subscription.topic == f"{topic}/fruit"
        target.publish("through the object")
        qm.publish("fruit", "at once", object_name=name)
        assert [message.text for message in subscription.messages()] == ["through the object", "at once"]


def test_alias_queue_publishes(site: Any, qm: Connection, topic: str) -> None:
    number = next(_numbers)
    site.admin.define("TOPIC", f"TOPIC.{number}", TOPICSTR=topic)
    site.admin.define("QALIAS", f"ALIAS.{number}", TARGET=f"TOPIC.{number}", TARGTYPE="TOPIC")
    with qm.subscribe(topic) as subscription, qm.open(f"ALIAS.{number}", "w") as alias:
        alias.put("by an open alias")
        qm.put(f"ALIAS.{number}", "by its name")
        assert [message.text for message in subscription.messages()] == ["by an open alias", "by its name"]


def test_retained_publication(qm: Connection, topic: str) -> None:
    qm.publish(topic, "yesterday", retain=True)
    with qm.topic(topic) as target:
        target.publish("today", retain=True, persistent=True)
    with qm.subscribe(topic) as subscription:
        message = subscription.get()
        assert message is not None
        assert (message.text, message.is_retained, message.topic) == ("today", True, topic)
    with qm.subscribe(topic, new_only=True) as subscription:
        assert subscription.get() is None


def test_request_for_retained_publications(qm: Connection, topic: str) -> None:
    with qm.subscribe(topic, on_request=True) as subscription:
        assert subscription.request() == 0
        qm.publish(topic, "kept", retain=True)
        assert subscription.get() is None
        assert subscription.request() == 1
        message = subscription.get()
        assert message is not None
        assert message.is_retained


@pytest.mark.parametrize("is_open", [True, False])
def test_levels_of_publications(qm: Connection, topic: str, is_open: bool) -> None:
    with qm.subscribe(topic, level=5) as high, qm.subscribe(topic, level=2) as low, qm.topic(topic) as target:

        def publish(body: str, level: int) -> None:
            if is_open:
                target.publish(body, level=level)
            else:
                qm.publish(topic, body, level=level)

        publish("all", 9)
        publish("below", 3)
        with pytest.raises(MQError) as refused:
            publish("none", 10)
        assert reason(refused) == mqc.MQRC_PMO_ERROR
        assert [message.text for message in high.messages()] == ["all"]
        assert [message.text for message in low.messages()] == ["below"]


def test_warning_when_nobody_is_there(qm: Connection, topic: str) -> None:
    published = qm.publish(topic, "hello?", options=mqc.MQPMO_WARN_IF_NO_SUBS_MATCHED)
    assert published.warning == mqc.MQRC_NO_SUBS_MATCHED


def test_publication_that_was_got_can_be_put(qm: Connection, topic: str) -> None:
    with qm.subscribe(topic) as subscription, qm.open_dynamic() as queue:
        qm.publish(topic, "pass it on", properties={"colour": "red"})
        message = subscription.get()
        assert message is not None
        queue.put(message)
        passed = queue.get()
        assert passed is not None
        assert (passed.text, passed.properties, passed.topic) == ("pass it on", {"colour": "red"}, "")


# -- units of work -----------------------------------------------------------------------------------------------------


def test_publications_are_part_of_transactions(qm: Connection, topic: str) -> None:
    with qm.subscribe(topic) as subscription, qm.topic(topic) as target:
        with qm.transaction():
            target.publish("one")
            qm.publish(topic, "two")
            assert subscription.get(syncpoint=False) is None
        assert [message.text for message in subscription.messages()] == ["one", "two"]
        with pytest.raises(ZeroDivisionError):
            _publish_in_vain(qm, target)
        assert subscription.get() is None


def _publish_in_vain(qm: Connection, target: ostler.Topic) -> None:
    with qm.transaction():
        target.publish("never")
        raise ZeroDivisionError


def test_gets_of_publications_are_part_of_transactions(qm: Connection, topic: str) -> None:
    with qm.subscribe(topic) as subscription:
        qm.publish(topic, "again")
        with pytest.raises(ZeroDivisionError):
            _get_in_vain(qm, subscription)
        message = subscription.get()
        assert message is not None
        assert message.backout_count == 1


def _get_in_vain(qm: Connection, subscription: ostler.Subscription) -> None:
    with qm.transaction():
        assert subscription.get(wait=30) is not None
        raise ZeroDivisionError


# -- subscriptions -----------------------------------------------------------------------------------------------------


def test_iteration_waits_for_publications(qm: Connection, topic: str) -> None:
    found: list[str] = []
    with qm.subscribe(topic) as subscription:

        def publish() -> None:
            for number in range(3):
                qm.publish(topic, str(number))

        thread = threading.Thread(target=publish)
        thread.start()
        for message in subscription:
            found.append(message.text)
            if len(found) == 3:
                break
        thread.join()
    assert found == ["0", "1", "2"]


def test_durable_subscription_is_resumed(site: Any, way: str, qm: Connection, topic: str) -> None:
    name = f"DURABLE.{next(_numbers)}"
    with site.connect(way) as other, other.subscribe(topic, durable=True, name=name) as subscription:
        assert subscription.is_durable
        assert subscription.name == name
        with pytest.raises(MQError) as refused:
            qm.subscribe(topic, durable=True, name=name)
        assert reason(refused) == mqc.MQRC_SUBSCRIPTION_IN_USE
    qm.publish(topic, "meanwhile", persistent=True)
    subscription = qm.subscribe(topic, durable=True, name=name)
    assert [message.text for message in subscription.messages()] == ["meanwhile"]
    subscription.close(remove=True)
    assert qm.publish(topic, "", options=mqc.MQPMO_WARN_IF_NO_SUBS_MATCHED).warning == mqc.MQRC_NO_SUBS_MATCHED


def test_subscription_is_altered(qm: Connection, topic: str) -> None:
    name = f"ALTERED.{next(_numbers)}"
    qm.subscribe(topic, durable=True, name=name, user_data="old").close()
    with qm.subscribe(topic, durable=True, name=name, user_data="new", alter=True) as subscription:
        qm.publish(topic, "data")
        message = subscription.get()
        assert message is not None
        assert message.user_data == "new"
        subscription.close(remove=True)


def test_other_ends_with_its_block(qm: Connection, topic: str) -> None:
    with qm.subscribe(topic, name="PASSING"):
        pass
    assert qm.publish(topic, "", options=mqc.MQPMO_WARN_IF_NO_SUBS_MATCHED).warning == mqc.MQRC_NO_SUBS_MATCHED


@pytest.mark.parametrize("is_open", [True, False])
def test_publications_come_to_a_queue_of_choice(site: Any, qm: Connection, topic: str, is_open: bool) -> None:
    name = f"CHOICE.{next(_numbers)}"
    site.admin.define("QLOCAL", name)
    with qm.open(name) as queue, qm.subscribe(topic, queue=queue if is_open else name) as subscription:
        qm.publish(topic, "here")
        assert queue.depth == 1
        message = subscription.get()
        assert message is not None
        assert message.text == "here"
        assert subscription.queue.name == name


def test_selector_wildcards_and_correlation(qm: Connection, topic: str) -> None:
    wanted = {"selector": "colour = 'red'", "correlation_id": b"C" * 24, "priority": 3}
    with (
        qm.subscribe(f"{topic}/*", wildcards="characters", **wanted) as red,  # type: ignore[arg-type]
        qm.subscribe(f"{topic}/+") as one,
    ):
        qm.publish(f"{topic}/a/b", "red", properties={"colour": "red"})
        qm.publish(f"{topic}/a", "blue", properties={"colour": "blue"})
        message = red.get()
        assert message is not None
        assert (message.text, message.correlation_id, message.priority) == ("red", b"C" * 24, 3)
        assert red.get() is None
        assert [message.text for message in one.messages()] == ["blue"]


def test_subscription_is_consumed(qm: Connection, topic: str) -> None:
    found: list[str] = []
    done = threading.Event()

    def handle(message: ostler.Message, connection: Connection) -> None:
        found.append(message.topic)
        if len(found) == 2:
            done.set()

    with qm.subscribe(f"{topic}/#") as subscription, subscription.consume(handle):
        qm.publish(f"{topic}/a", "a")
        qm.publish(f"{topic}/b", "b")
        assert done.wait(60)
    assert found == [f"{topic}/a", f"{topic}/b"]


def test_handles_are_given_back(site: Any, way: str, topic: str) -> None:
    application = f"handles {next(_numbers)}"
    with site.connect(way, application=application) as own:
        with own.subscribe(topic), own.topic(topic):
            assert site.handles(application) == 3
        assert site.handles(application) == 0


def test_what_is_shown(qm: Connection, topic: str) -> None:
    with qm.subscribe(topic) as subscription, qm.topic(topic) as target:
        assert repr(target) == f"<topic {topic} of {qm.name}>"
        assert repr(subscription) == f"<subscription without a name to {topic} of {qm.name}>"
        assert subscription.hsub != target.hobj


# -- what is refused ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("expected", "wanted"),
    [
        (mqc.MQRC_SUB_NAME_ERROR, {"durable": True}),
        (mqc.MQRC_SELECTOR_SYNTAX_ERROR, {"selector": "colour ="}),
        (mqc.MQRC_UNKNOWN_OBJECT_NAME, {"object_name": "NO.SUCH.TOPIC"}),
        (mqc.MQRC_UNKNOWN_OBJECT_NAME, {"object_name": "X" * 60}),
        (mqc.MQRC_UNKNOWN_OBJECT_NAME, {"queue": "NO.SUCH.QUEUE"}),
        (mqc.MQRC_OPTIONS_ERROR, {"wildcards": "none"}),
        (mqc.MQRC_OPTIONS_ERROR, {"level": 1 << 40}),
        (mqc.MQRC_PRIORITY_ERROR, {"priority": 12}),
        (mqc.MQRC_EXPIRY_ERROR, {"expiry": 0}),
        (mqc.MQRC_SUB_NAME_ERROR, {"name": "N" * 10241}),
        (mqc.MQRC_SUB_NAME_ERROR, {"name": "\ud800"}),
        (mqc.MQRC_SUB_USER_DATA_ERROR, {"user_data": "U" * 10241}),
        (mqc.MQRC_MD_ERROR, {"correlation_id": b"C" * 25}),
        (mqc.MQRC_NO_SUBSCRIPTION, {"name": "NONE", "options": mqc.MQSO_RESUME}),
    ],
)
def test_subscriptions_that_cannot_be(qm: Connection, topic: str, expected: int, wanted: dict[str, Any]) -> None:
    with pytest.raises(MQError) as refused:
        qm.subscribe(topic, **wanted)
    assert reason(refused) == expected


def test_queue_of_another_connection(site: Any, way: str, qm: Connection, topic: str) -> None:
    with site.connect(way) as other, other.open_dynamic() as queue:
        with pytest.raises(MQError) as refused:
            qm.subscribe(topic, queue=queue)
        assert reason(refused) == mqc.MQRC_HOBJ_ERROR


def test_topics_that_cannot_be(site: Any, qm: Connection, topic: str) -> None:
    for wrong, expected in (
        ("", mqc.MQRC_UNKNOWN_OBJECT_NAME),
        ("\ud800", mqc.MQRC_OBJECT_STRING_ERROR),
        ("x" * 10241, mqc.MQRC_OBJECT_STRING_ERROR),
        ("$SYS/MQ/x", mqc.MQRC_ADMIN_TOPIC_STRING_ERROR),
    ):
        with pytest.raises(MQError) as refused:
            qm.publish(wrong, "data")
        assert reason(refused) == expected
        with pytest.raises(MQError) as refused:
            qm.topic(wrong)
        assert reason(refused) == expected
    site.admin.define("TOPIC", f"CLOSED.{next(_numbers)}", TOPICSTR=topic, PUB="DISABLED", SUB="DISABLED")
    with pytest.raises(MQError) as refused:
        qm.publish(topic, "data")
    assert reason(refused) == mqc.MQRC_PUT_INHIBITED
    with pytest.raises(MQError) as refused:
        qm.subscribe(topic)
    assert reason(refused) == mqc.MQRC_SUB_INHIBITED


def test_closed_subscription(qm: Connection, topic: str) -> None:
    subscription = qm.subscribe(topic)
    subscription.close()
    subscription.close()
    for verb in (subscription.get, subscription.request):
        with pytest.raises(MQError) as refused:
            verb()
        assert reason(refused) == mqc.MQRC_HOBJ_ERROR


def test_resumed_subscription_knows_its_queue(site: Any, qm: Connection, topic: str) -> None:
    number = next(_numbers)
    site.admin.define("QLOCAL", f"LED.{number}")
    name = f"LEADING.{number}"
    qm.subscribe(topic, durable=True, name=name, queue=f"LED.{number}").close()
    qm.publish(topic, "meanwhile")
    with qm.subscribe(name=name, options=mqc.MQSO_RESUME) as subscription:
        assert subscription.topic == topic
        assert subscription.queue.name == f"LED.{number}"
        assert [message.text for message in subscription.messages()] == ["meanwhile"]
        subscription.close(remove=True)


# -- tasks -------------------------------------------------------------------------------------------------------------


def test_tasks_publish_and_subscribe(site: Any, way: str, topic: str) -> None:
    async def main() -> list[str]:
        async with await site.connect_task(way) as qm, await qm.subscribe(f"{topic}/#") as subscription:
            async with await qm.topic(f"{topic}/a") as target:
                await target.publish("one")
            await qm.publish(f"{topic}/b", "two", retain=True)
            async with qm.transaction():
                await qm.publish(f"{topic}/c", "three")
            found: list[str] = []
            async for message in subscription:
                found.append(f"{message.topic} {message.text}")
                if len(found) == 3:
                    break
            assert await subscription.request() == 1
            assert await subscription.get(wait=30) is not None
            return found

    assert asyncio.run(main()) == [f"{topic}/a one", f"{topic}/b two", f"{topic}/c three"]


def test_tasks_wait_side_by_side(site: Any, way: str, topic: str) -> None:
    async def main() -> list[str]:
        async with await site.connect_task(way) as qm:
            subscriptions = [await qm.subscribe(topic) for _ in range(5)]
            waiting = [asyncio.create_task(each.get(wait=60)) for each in subscriptions]
            await asyncio.sleep(0)
            await qm.publish(topic, "all of you")
            found = await asyncio.gather(*waiting)
            for each in subscriptions:
                await each.close()
            return [message.text for message in found if message is not None]

    assert asyncio.run(main()) == ["all of you"] * 5
