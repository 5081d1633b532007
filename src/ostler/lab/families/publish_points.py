"""Translation of scenarios with one-way messages into loads: producers and consumers, publishers and subscribers."""

from __future__ import annotations

import os
from dataclasses import replace
from typing import Final

from ostler.lab.families.load_points import LoadPoint, load_point
from ostler.lab.load import spec
from ostler.lab.load.mq.publish import subscriber_queue
from ostler.lab.runner.contract import GET
from ostler.lab.runner.queue_managers.plan import pair_commands
from ostler.lab.scenarios.model import Binding, Scenario
from ostler.lab.scenarios.steps import Step

_JMS: Final = "JMS"
_ALL: Final = "all"


def one_way_point(scenario: Scenario, step: Step) -> LoadPoint:
    """Return a producer and a consumer for each queue, both clients."""
    queues = int(str(step.points.get("triplets", step.points.get("queues", 1))))
    found = load_point(scenario, step)
    is_asynchronous = scenario.parameters.get("default_put_response") == "ASYNC"
    is_read_ahead = scenario.parameters.get("default_read_ahead") == "YES"
    attributes = f"{'DEFPRESP(ASYNC)' if is_asynchronous else ''} {'DEFREADA(YES)' if is_read_ahead else ''}".strip()
    conversations = int(str(scenario.parameters.get("shared_conversations", 1)))
    manager = replace(found.manager, commands=pair_commands(queues, 0, attributes), conversations=conversations)
    return replace(
        found,
        kind=spec.ONE_WAY,
        requesters=queues,
        responders=queues,
        pairs=queues,
        goes_round=False,
        requester_binding=Binding.CLIENT,
        responder_binding=Binding.CLIENT,
        manager=manager,
        conversations=conversations,
        async_put=is_asynchronous,
        read_ahead=is_read_ahead,
        receivers_count="triplets" in step.points,
        main_operation=GET,
    )


def publish_point(scenario: Scenario, step: Step) -> LoadPoint:
    """Return publishers and subscribers, all clients: one topic with many subscribers, or as many topics as
    publishers."""
    points = step.points
    found = load_point(scenario, step)
    topics = int(str(points.get("triplets", 1)))
    subscribers = int(str(points.get("subscribers", 1)))
    # All steps have the queues of the largest one, so that they can share a queue manager and its log.
    queues = max(topics * subscribers, _largest(scenario, "triplets") * _largest(scenario, "subscribers"))
    commands = tuple(f"DEFINE QLOCAL({subscriber_queue(each)}) MAXDEPTH(999999999)" for each in range(queues))
    unit = int(str(scenario.parameters.get("subscriber_unit_messages", 1)))
    return replace(
        found,
        kind=spec.PUBLISH,
        requesters=topics,
        responders=topics * subscribers,
        pairs=topics,
        subscribers=subscribers,
        receivers_count=True,
        goes_round=False,
        units=spec.EVERYBODY if found.persistent else spec.NOBODY,
        consumer_unit=unit,
        messages=spec.JMS if points.get("api") == _JMS else spec.PLAIN,
        requester_binding=Binding.CLIENT,
        responder_binding=Binding.CLIENT,
        manager=replace(found.manager, commands=commands, cores=cores_of(step)),
        main_operation=GET,
        parameters={
            "subscribers": str(subscribers),
            "topics": str(topics),
            "messages in a subscriber's unit of work": str(unit if found.persistent else 0),
        },
    )


def private_queue_point(scenario: Scenario, step: Step) -> LoadPoint:
    """Return requests and replies on pairs of private queues, by applications of each kind for a pair and by cores."""
    found = load_point(scenario, step)
    tasks = int(str(step.points.get("tasks_per_pair", 1)))
    return replace(
        found,
        requesters=found.requesters * tasks,
        responders=found.responders * tasks,
        manager=replace(found.manager, cores=cores_of(step)),
    )


def cores_of(step: Step) -> int:
    """Return the cores that the queue manager may use; 0: all, also where it may use as many as there are."""
    given = step.points.get("cores", _ALL)
    cores = 0 if given == _ALL else int(given)
    return 0 if cores == len(os.sched_getaffinity(0)) else cores


def _largest(scenario: Scenario, name: str) -> int:
    values = [sweep.values for sweep in scenario.sweeps if sweep.name == name]
    return max((int(str(each)) for points in values for each in points), default=1)
