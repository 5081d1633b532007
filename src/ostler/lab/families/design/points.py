"""Loads of scenarios on the design of applications: units of work, getters that wait, one way against round trip, and
the disk of the log."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from ostler.lab.families.load_points import LoadPoint, load_point
from ostler.lab.load import spec
from ostler.lab.runner.contract import GET
from ostler.lab.scenarios.model import Scenario
from ostler.lab.scenarios.steps import Step

ONE_WAY: Final = "one way"
SECOND_DISK: Final = "a disk of its own"
_WINDOW_MESSAGES: Final = 4000
"""Producers wait when more messages are in flight: a measurement needs no more."""


def unit_of_work_point(scenario: Scenario, step: Step) -> LoadPoint:
    """Return producers and consumers that commit after so many messages."""
    messages = int(step.points["messages_per_unit"])
    found = _one_way(load_point(scenario, step), _number(scenario, "producers", 4), _number(scenario, "consumers", 4))
    return replace(found, units=spec.EVERYBODY, producer_unit=messages, consumer_unit=messages)


def getters_point(scenario: Scenario, step: Step) -> LoadPoint:
    """Return putters of one queue and getters of it, none of which uses units of work."""
    putters, getters = int(step.points["putters"]), int(step.points["getters"])
    found = _one_way(load_point(scenario, step), putters, getters)
    return replace(found, units=spec.NOBODY, shows_queue_shares=True)


def pattern_point(scenario: Scenario, step: Step) -> LoadPoint:
    """Return round trips, or as many producers and consumers of the request queues alone."""
    found = load_point(scenario, step)
    if step.points["pattern"] != ONE_WAY:
        return found
    one_way = _one_way(found, found.requesters, found.responders)
    return replace(one_way, units=found.units, requester_binding=found.requester_binding)


def log_disk_point(scenario: Scenario, step: Step) -> LoadPoint:
    """Return round trips with the log on the disk of the queues, or on another one."""
    return replace(load_point(scenario, step), on_second_disk=step.points["log_on"] == SECOND_DISK)


def _one_way(found: LoadPoint, producers: int, consumers: int) -> LoadPoint:
    return replace(
        found,
        kind=spec.ONE_WAY,
        requesters=producers,
        responders=max(consumers, found.pairs),
        goes_round=False,
        window=_WINDOW_MESSAGES,
        main_operation=GET,
    )


def _number(scenario: Scenario, name: str, otherwise: int) -> int:
    return int(str(scenario.parameters.get(name, otherwise)))
