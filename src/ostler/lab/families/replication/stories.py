"""Stories: what happens to the instances of a queue manager while clients work, and when.

A story is a list of chapters. Each begins at a share of the measured window, does something through the port, and may
report figures.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from ostler.lab.families import eventful_load
from ostler.lab.families.replication.points import ADDED_LATENCY, INSTANCES
from ostler.lab.families.task import RESULT
from ostler.lab.runner.contract import Metric
from ostler.lab.runner.queue_managers.plan import QueueManagerPlan, pair_commands
from ostler.lab.runner.replication.port import IN_SYNC_SECONDS_MAX, ArbiterKind, GroupPlan, ReplicatedQueueManager
from ostler.lab.scenarios.model import Scenario
from ostler.lab.scenarios.steps import Step
from ostler.lab.store.courses import IN_SYNC, LEADS, NOT_SENT, SWITCHED, SWITCHED_BACK

EVENT: Final = "event"
AWAY: Final = "away_seconds"
# Moments in the course of a window.
ANOTHER_LEADS: Final = "another leads"
BACK_IN_SYNC: Final = "in sync"
OTHER_SITE_LEADS: Final = "other site leads"
# Events of the scenarios.
KILLED: Final = "killed"
ENDED: Final = "ended in good order"
PLANNED: Final = "planned switch"
LOST_SITE: Final = "lost site"
LEADER: Final = "leader"
NEW_FOLLOWER: Final = "new follower"
_LEAD_SECONDS_MAX: Final = 60.0

Chapter = eventful_load.Chapter[ReplicatedQueueManager]


@dataclass(frozen=True)
class Story:
    """The copies, the clients and the chapters of a step. `seconds_least` is the least length of the window."""

    plan: GroupPlan
    clients: int
    chapters: tuple[Chapter, ...]
    seconds_least: float
    is_lossless: bool = True
    """No acknowledged message may be lost."""


def story_of(scenario: Scenario, step: Step, window_seconds: float) -> Story:
    """Return the story of a step in a window of so many seconds, and longer where an instance is away for long."""
    points, parameters = step.points, scenario.parameters

    def number(name: str, otherwise: int) -> int:
        return int(str(points.get(name, parameters.get(name, otherwise))))

    event = str(points.get(EVENT, ""))
    is_switch = event in (PLANNED, LOST_SITE)
    instances = 1 if is_switch else number(INSTANCES, 2)
    plan = GroupPlan(
        manager=QueueManagerPlan(commands=pair_commands(1)),
        instances=instances,
        copies=min(2, instances),
        has_recovery=is_switch,
        recovery_round_trip_ms=float(number(ADDED_LATENCY, 0)),
        arbiter=ArbiterKind(str(points.get("arbiter", parameters.get("arbiter", ArbiterKind.FILE)))),
        lease_seconds=number("lease_seconds", 5),
    )
    clients = number("clients", 4)
    if AWAY in points:
        away = float(str(points[AWAY]))
        chapters = _rejoin(str(points["instance"]), away)
        return Story(plan, clients, chapters, window_seconds + away)
    if event == KILLED:
        return Story(plan, clients, _killed(), window_seconds)
    if event == ENDED:
        return Story(plan, clients, _ended(), window_seconds)
    if event == PLANNED:
        return Story(plan, clients, _planned(), window_seconds)
    if event == LOST_SITE:
        return Story(
            plan, clients, (Chapter(0.33, lose_site, "site lost", OTHER_SITE_LEADS),), window_seconds, is_lossless=False
        )
    raise ValueError(f"{scenario.id} has no event {event!r}")


# -- high availability -------------------------------------------------------------------------------------------------


def _killed() -> tuple[Chapter, ...]:
    gone: list[str] = []

    def kill(group: ReplicatedQueueManager) -> list[Metric]:
        gone[:] = [group.leader()]
        began = time.perf_counter()
        group.kill(gone[0])
        group.wait_for_leader(_LEAD_SECONDS_MAX, other_than=gone[0])
        return [_metric(LEADS, time.perf_counter() - began)]

    return Chapter(0.33, kill, "leader killed", ANOTHER_LEADS), _returns(gone)


def _ended() -> tuple[Chapter, ...]:
    gone: list[str] = []

    def end(group: ReplicatedQueueManager) -> list[Metric]:
        gone[:] = [group.leader()]
        began = time.perf_counter()
        group.switch_over()
        group.wait_for_leader(_LEAD_SECONDS_MAX, other_than=gone[0])
        return [_metric(LEADS, time.perf_counter() - began)]

    return Chapter(0.33, end, "leader ended", ANOTHER_LEADS), _returns(gone)


def _returns(gone: Sequence[str]) -> Chapter:
    return Chapter(0.66, lambda group: start_again(group, gone[0]), "started again", BACK_IN_SYNC)


def _rejoin(which: str, away_seconds: float) -> tuple[Chapter, ...]:
    def leave_and_return(group: ReplicatedQueueManager) -> list[Metric]:
        leader = group.leader()
        gone = leader if which == LEADER else group.followers()[0]
        began = time.perf_counter()
        group.kill(gone)
        found: list[Metric] = []
        if gone == leader:
            group.wait_for_leader(_LEAD_SECONDS_MAX, other_than=gone)
            found.append(_metric(LEADS, time.perf_counter() - began))
        time.sleep(max(away_seconds - (time.perf_counter() - began), 0.0))
        return [*found, *start_again(group, gone, is_new=which == NEW_FOLLOWER)]

    return (Chapter(0.25, leave_and_return, f"{which} killed", BACK_IN_SYNC),)


def start_again(group: ReplicatedQueueManager, instance: str, *, is_new: bool = False) -> list[Metric]:
    """Start an instance, and tell how long it takes until it is in sync."""
    began = time.perf_counter()
    group.start(instance, is_new=is_new)
    group.wait_until_in_sync(IN_SYNC_SECONDS_MAX)
    return [_metric(IN_SYNC, time.perf_counter() - began)]


# -- disaster recovery -------------------------------------------------------------------------------------------------


def _planned() -> tuple[Chapter, ...]:
    def there(group: ReplicatedQueueManager) -> list[Metric]:
        return [_metric(NOT_SENT, group.recovery_backlog_bytes()), _metric(SWITCHED, _switch(group, is_planned=True))]

    def back(group: ReplicatedQueueManager) -> list[Metric]:
        group.wait_until_in_sync()
        return [_metric(SWITCHED_BACK, _switch(group, is_planned=True))]

    return Chapter(0.25, there, "switch", OTHER_SITE_LEADS), Chapter(0.6, back, "switch back", "this site leads")


def lose_site(group: ReplicatedQueueManager) -> list[Metric]:
    """Kill the leader, and let the other site lead with what it has."""
    behind = group.recovery_backlog_bytes()
    group.kill(group.leader())
    return [_metric(NOT_SENT, behind), _metric(SWITCHED, _switch(group, is_planned=False))]


def _switch(group: ReplicatedQueueManager, *, is_planned: bool) -> float:
    began = time.perf_counter()
    before = group.leader() if is_planned else ""
    group.switch_to_other_site(is_planned=is_planned)
    group.wait_for_leader(_LEAD_SECONDS_MAX, other_than=before)
    return time.perf_counter() - began


def _metric(name: str, value: float) -> Metric:
    return Metric(RESULT, name, float(value))
