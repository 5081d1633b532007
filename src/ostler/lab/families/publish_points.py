"""Translation of scenarios with one-way messages into loads: producers and consumers, publishers and subscribers."""

from __future__ import annotations

from dataclasses import replace

from ostler.lab.families.load_points import LoadPoint, load_point
from ostler.lab.load import spec
from ostler.lab.load.mq.publish import subscriber_queue
from ostler.lab.runner.contract import GET
from ostler.lab.runner.queue_managers.plan import pair_commands
from ostler.lab.scenarios.model import Binding, Scenario
from ostler.lab.scenarios.steps import Step


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
        main_operation=GET,
    )


def publish_point(scenario: Scenario, step: Step) -> LoadPoint:
    """Return publishers and subscribers, all clients: one topic with many subscribers, or as many topics as
    publishers."""
    points = step.points
    found = load_point(scenario, step)
    topics = int(str(points.get("triplets", 1)))
    subscribers = int(str(points.get("subscribers", 1)))
    queues = [subscriber_queue(number) for number in range(topics * subscribers)]
    commands = tuple(f"DEFINE QLOCAL({name}) MAXDEPTH(999999999)" for name in queues)
    return replace(
        found,
        kind=spec.PUBLISH,
        requesters=topics,
        responders=topics * subscribers,
        pairs=topics,
        subscribers=subscribers,
        goes_round=False,
        units=spec.EVERYBODY if found.persistent else spec.NOBODY,
        requester_binding=Binding.CLIENT,
        responder_binding=Binding.CLIENT,
        manager=replace(found.manager, commands=commands, cores=int(str(points.get("cores", 0)))),
        main_operation=GET,
        parameters={"subscribers": str(subscribers), "topics": str(topics)},
    )
