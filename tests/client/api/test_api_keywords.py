"""Keywords of the API: misspelt ones are refused, whatever the flavour; `timeout` is another name of `wait`."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Callable, Coroutine
from typing import Any

import pytest

import ostler

numbers = itertools.count(1)
SECONDS_MAX = 60.0


def run(test: Coroutine[Any, Any, None]) -> None:
    asyncio.run(asyncio.wait_for(test, SECONDS_MAX))


@pytest.fixture
def name(site: Any) -> str:
    made = f"KEYWORDS.{next(numbers)}"
    site.admin.define("QLOCAL", made)
    return made


Verb = Callable[..., Any]
# How each verb is called, with keywords; and what is misspelt, with what was meant.
OF_QUEUES: dict[str, Verb] = {
    "get": lambda queue, **given: queue.get(**given),
    "browse": lambda queue, **given: queue.browse(**given),
    "messages": lambda queue, **given: queue.messages(**given),
    "consume": lambda queue, **given: queue.consume(print, **given),
}
MISSPELT = [("sellector", "selector"), ("wiat", "wait"), ("time_out", "timeout"), ("max_byte", "max_bytes")]


def refused(keyword: str, meant: str) -> Any:
    return pytest.raises(TypeError, match=f"^unknown keyword {keyword}; did you mean {meant}\\?$")


@pytest.mark.parametrize("verb", OF_QUEUES)
@pytest.mark.parametrize(("keyword", "meant"), MISSPELT)
def test_a_misspelt_keyword_is_refused(site: Any, way: str, name: str, verb: str, keyword: str, meant: str) -> None:
    with site.connect(way) as qm, qm.open(name, "rwb") as queue, qm.subscribe("some/topic") as subscription:
        queue.put("stays")
        with refused(keyword, meant):
            OF_QUEUES[verb](queue, **{keyword: 1})
        if verb != "browse":
            with refused(keyword, meant):
                OF_QUEUES[verb](subscription, **{keyword: 1})
        assert queue.depth == 1


@pytest.mark.parametrize("verb", OF_QUEUES)
@pytest.mark.parametrize(("keyword", "meant"), MISSPELT[:2])
def test_a_misspelt_keyword_is_refused_by_tasks(
    site: Any, way: str, name: str, verb: str, keyword: str, meant: str
) -> None:
    async def test() -> None:
        async with await site.connect_task(way) as qm:
            queue = await qm.open(name, "rwb")
            subscription = await qm.subscribe("some/topic")
            for each in (queue, subscription)[: 1 if verb == "browse" else 2]:
                with refused(keyword, meant):
                    asked = OF_QUEUES[verb](each, **{keyword: 1})
                    if verb in ("get", "consume"):
                        await asked

    run(test())


def test_other_verbs_refuse_misspelt_keywords(site: Any, name: str) -> None:
    with site.connect("local") as qm, qm.open(name) as queue, qm.topic("some/topic") as topic:
        with refused("durabel", "durable"):
            qm.subscribe("some/topic", durabel=True)
        with refused("thread", "threads"):
            queue.consume(print, thread=3)
        for verb in (queue.put, topic.publish, lambda body, **given: qm.put(name, body, **given)):
            with refused("persistant", "persistent"):
                verb("text", persistant=True)
            with refused("persistant", "persistent"):
                verb(ostler.Message("text"), persistant=True)
        with refused("priorty", "priority"):
            qm.request(name, "text", wait=1, priorty=3)
        with refused("priorty", "priority"):
            qm.publish("some/topic", "text", priorty=3)
        with refused("priorty", "priority"):
            ostler.Message("text").reply("text", priorty=3)
        assert queue.depth == 0


def test_a_keyword_that_is_like_no_other(site: Any, name: str) -> None:
    with site.connect("local") as qm:
        queue = qm.open(name)
        with pytest.raises(TypeError, match=r"^unknown keyword xyz; there are convert, correlation_id,"):
            queue.get(xyz=1)


def test_timeout_is_another_name_of_wait(site: Any, way: str, name: str) -> None:
    with site.connect(way) as qm, qm.open(name, "rwb") as queue:
        assert queue.get(timeout=0.01) is None
        assert list(queue.messages(timeout=0.01)) == []
        assert list(queue.browse(timeout=0.01)) == []
        for verb in OF_QUEUES.values():
            with pytest.raises(TypeError, match="timeout is another name of wait"):
                verb(queue, timeout=1, wait=1)
        with pytest.raises(ostler.MQError, match="No reply"):
            qm.request(name, "text", timeout=0.01)
        with pytest.raises(TypeError, match="timeout is another name of wait"):
            qm.request(name, "text", timeout=1, wait=1)
        with pytest.raises(TypeError, match="give wait"):
            qm.request(name, "text")


def test_timeout_waits(site: Any, way: str, name: str) -> None:
    async def test() -> None:
        async with await site.connect_task(way) as qm, await qm.open(name, "r") as queue:
            getting = asyncio.create_task(queue.get(timeout=SECONDS_MAX))
            await asyncio.to_thread(site.until_waiting, name)
            site.admin.put(name, "in time")
            got = await getting
            assert got is not None
            assert got.body == "in time"
            with pytest.raises(TypeError, match="give wait"):
                await qm.request(name, "text")

    run(test())
