"""Scenarios in which an instance or a site is lost, hands over or comes back, while clients put and get without end."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Final

from ostler.lab.families.eventful_load import BEYOND_SECONDS, EventfulLoad
from ostler.lab.families.replication.numbered_clients import NumberedClients
from ostler.lab.families.replication.replicated_loads import group_text
from ostler.lab.families.replication.stories import story_of
from ostler.lab.families.set_up.fresh_groups import FreshGroups
from ostler.lab.families.task_process import TaskProcess
from ostler.lab.runner.contract import (
    PUT,
    Contestant,
    ContestantKind,
    Experiment,
    PointSpec,
    ReadyLoad,
    RunContext,
)
from ostler.lab.runner.replication.by_commands import start_group
from ostler.lab.runner.replication.port import GroupPlan, ReplicatedQueueManager, StartGroup
from ostler.lab.scenarios.steps import Step

OSTLER: Final = Contestant(
    "Ostler",
    ContestantKind.OSTLER,
    "forced by two instances before an answer, or by the only one of a site",
)


class FailoverExperiment(Experiment):
    """A new group for every point: a story leaves it otherwise than it was."""

    def __init__(self, context: RunContext, start: StartGroup = start_group) -> None:
        self._context = context
        self._groups = FreshGroups(start, context.scratch)
        window_seconds = context.settings.measured_seconds
        self._stories = {step.number: story_of(context.scenario, step, window_seconds) for step in context.steps}

    def contestants(self) -> Sequence[Contestant]:
        return [OSTLER]

    @property
    def configuration(self) -> Mapping[str, str]:
        plans = dict.fromkeys(story.plan for story in self._stories.values())
        return {f"copies, form {number}": group_text(plan) for number, plan in enumerate(plans, 1)}

    def prepare(self, contestant: Contestant, step: Step) -> ReadyLoad:
        story = self._stories[step.number]
        group = self._new_group(story.plan)
        body_bytes = self._context.scenario.message_bytes[0]
        point_spec = PointSpec(clients=2 * story.clients, message_bytes=body_bytes, persistent=True, main_operation=PUT)
        make = partial(NumberedClients, group.name, tuple(group.addresses), story.clients, body_bytes)
        return EventfulLoad(
            group,
            group.watched,
            TaskProcess(make, beyond_seconds=BEYOND_SECONDS),
            story.chapters,
            point_spec,
            self._context,
            seconds_least=story.seconds_least,
            is_lossless=story.is_lossless,
        )

    def _new_group(self, plan: GroupPlan) -> ReplicatedQueueManager:
        self._context.note(f"Queue manager {plan.manager.name} starts with {plan.all_instances} instances.")
        return self._groups.new(plan)

    def close(self) -> None:
        self._groups.end()
