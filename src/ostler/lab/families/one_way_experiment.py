"""Experiments whose steps need cores, JMS messages, or rates of messages that were put and got.

Steps that need more cores than the machine has are left out for every contestant, and declared as a deviation.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Final

from ostler.lab.common.processor_time import process_ns
from ostler.lab.families.load_experiment import LoadExperiment, OstlerContestant
from ostler.lab.families.load_points import LoadPoint
from ostler.lab.families.task import RESULT, wait_until
from ostler.lab.load import spec
from ostler.lab.load.spec import LoadSpec
from ostler.lab.load.timeline import MEASURED, Timeline
from ostler.lab.runner.contract import (
    GET,
    PUT,
    Contestant,
    ContestantKind,
    Metric,
    ReadyLoad,
    Watcher,
    WorkerCounts,
    WrappedLoad,
)
from ostler.lab.runner.queue_managers.loaded_manager import LoadedManager
from ostler.lab.scenarios.model import Deviation
from ostler.lab.scenarios.steps import Step
from ostler.lab.store.roles import PEER, QUEUE_MANAGER, role_kind

MESSAGES: Final = "messages per second, put and got"
PUBLICATIONS: Final = "publications per second"
OF_EACH_PUBLISHER: Final = "publications per second of each publisher"
DELIVERIES: Final = "deliveries per second"
PUTS: Final = "puts per second"
OF_EACH_PRODUCER: Final = "puts per second of each producer"
GETS: Final = "gets per second"
MEGABYTES: Final = "megabytes per second"
COST_PER_MEGABYTE: Final = "broker us per megabyte"
_MEGABYTE: Final = 1 << 20


class CoresExperiment(LoadExperiment):
    """Loads on queue managers that may use some of the cores."""

    def contestants(self) -> Sequence[Contestant]:
        return [kept for each in super().contestants() if (kept := self._possible(each)) is not None]

    def _possible(self, contestant: Contestant) -> Contestant | None:
        """Return the contestant with the steps that it can run; None without any."""
        steps = frozenset(
            number
            for number, point in self._points.items()
            if contestant.does(number) and self._can_do(contestant, point)
        )
        return replace(contestant, steps=steps) if steps else None

    def _can_do(self, contestant: Contestant, point: LoadPoint) -> bool:
        is_ours = contestant.kind is ContestantKind.OSTLER
        return point.manager.cores <= _cores() and (is_ours or point.messages == spec.PLAIN)

    @property
    def deviations(self) -> Sequence[Deviation]:
        asked = sorted({point.manager.cores for point in self._points.values() if point.manager.cores > _cores()})
        if not asked:
            return super().deviations
        listed = ", ".join(str(each) for each in asked)
        here = f"This machine has {_cores()}, which the drivers use as well."
        return [*super().deviations, Deviation(f"The points with {listed} cores are not measured", here)]


def _cores() -> int:
    return len(os.sched_getaffinity(0))


class OneWayExperiment(CoresExperiment):
    """Producers and consumers, or publishers and subscribers. Messages count when they are put and when they are
    got."""

    def prepare(self, contestant: Contestant, step: Step) -> ReadyLoad:
        ready = super().prepare(contestant, step)
        if contestant.kind is ContestantKind.LIMIT:
            return ready
        with_cost = "processor time per megabyte" in self._context.scenario.metrics
        return MessageRates(ready, self._points[step.number], with_cost)

    def _can_do(self, contestant: Contestant, point: LoadPoint) -> bool:
        ours = self._ostler_contestants.get(contestant.name)
        # The Python API has neither asynchronous put nor read-ahead.
        is_too_much = ours is not None and ours.is_library and (point.async_put or point.read_ahead)
        return not is_too_much and super()._can_do(contestant, point)

    def _spec(self, point: LoadPoint, ours: OstlerContestant, managers: Sequence[LoadedManager]) -> LoadSpec:
        made = super()._spec(point, ours, managers)
        return replace(made, messages=point.messages) if point.messages != spec.PLAIN else made


class MessageRates(WrappedLoad):
    """A load whose rates are also reported as the reports of publish/subscribe and of pass-through define them."""

    def __init__(self, inner: ReadyLoad, point: LoadPoint, with_cost: bool) -> None:
        super().__init__(inner)
        self._point = point
        self._with_cost = with_cost
        self._rates: list[Metric] = []
        self._used_ns = 0

    def run(self, timeline: Timeline, watcher: Watcher) -> Sequence[WorkerCounts]:
        self._rates, self._used_ns = [], 0
        beside = threading.Thread(target=self._watch_cost, args=(timeline,), daemon=True)
        if self._with_cost:
            beside.start()
        counted = self._inner.run(timeline, watcher)
        if self._with_cost:
            beside.join()
        self._rates = message_rates(self._point, counted, timeline.measured_seconds, self._used_ns)
        return counted

    def _watch_cost(self, timeline: Timeline) -> None:
        pids = [each.pid for each in self._inner.processes() if role_kind(each.role) in (QUEUE_MANAGER, PEER)]
        # The load reports a broker that has ended.
        with suppress(OSError):
            wait_until(timeline.measured_ns)
            before = sum(process_ns(pid) for pid in pids)
            wait_until(timeline.cool_ns)
            self._used_ns = sum(process_ns(pid) for pid in pids) - before

    def results(self) -> Sequence[Metric]:
        return [*super().results(), *self._rates]


def message_rates(point: LoadPoint, counted: Sequence[WorkerCounts], seconds: float, used_ns: int) -> list[Metric]:
    """Return the rates of a window: puts, gets and both together, and the data that was got.

    `used_ns` is the processor time of the broker in the window, 0 where it is not asked for.
    """
    puts, gets = _within(counted, PUT) / seconds, _within(counted, GET) / seconds
    is_published = point.kind == spec.PUBLISH
    megabytes = gets * point.body_bytes / _MEGABYTE
    found = {
        MESSAGES: puts + gets,
        PUBLICATIONS if is_published else PUTS: puts,
        OF_EACH_PUBLISHER if is_published else OF_EACH_PRODUCER: puts / point.requesters,
        DELIVERIES if is_published else GETS: gets,
        MEGABYTES: megabytes,
    }
    if used_ns and megabytes:
        found[COST_PER_MEGABYTE] = used_ns / 1000 / seconds / megabytes
    return [Metric(RESULT, name, value) for name, value in found.items()]


def _within(counted: Sequence[WorkerCounts], operation: str) -> int:
    return sum(
        second.count for each in counted for second in each.phases[MEASURED].operation(operation).seconds.values()
    )
