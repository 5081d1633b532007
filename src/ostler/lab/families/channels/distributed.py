"""Family `distributed`: requests and replies, or one-way messages, between two queue managers over message channels.

In the same run: the same load on one queue manager, and two RabbitMQ nodes with shovels between them.
"""

from __future__ import annotations

import shutil
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Final

from ostler.lab.families.channels.distributed_points import (
    CIPHER_SPEC,
    DESCRIPTORS_KEPT,
    IN_THE_PLACE_OF,
    MOST,
    DistributedPoint,
    distributed_point,
)
from ostler.lab.families.channels.drain import DRAINED_PARAMETER, ChannelDrain
from ostler.lab.families.channels.memory import ChannelMemory
from ostler.lab.families.channels.pair_description import point_texts
from ostler.lab.families.load_experiment import ON_SCHEDULE, VERB_BY_VERB, LoadExperiment, OstlerContestant
from ostler.lab.families.load_points import LoadPoint
from ostler.lab.families.ready_loads import AnyLoad, ReadyDriverLoad, ReadyOstlerLoad, open_load
from ostler.lab.load.drivers.connection_flood import sockets_max
from ostler.lab.load.mq.client import own_reply_queue
from ostler.lab.load.timeline import Timeline
from ostler.lab.peers import rabbitmq
from ostler.lab.runner.contract import (
    Contestant,
    ContestantKind,
    Experiment,
    Metric,
    PointFailed,
    PointSpec,
    ReadyLoad,
    RunContext,
    Watcher,
    WorkerCounts,
)
from ostler.lab.runner.queue_managers.channel_wiring import FAST, USUAL_BATCH, Wiring
from ostler.lab.runner.queue_managers.pair import QueueManagerPair, channel_metrics
from ostler.lab.runner.queue_managers.process import LabQueueManager
from ostler.lab.runner.shovel_peer import CONTESTANT as SHOVELS
from ostler.lab.runner.shovel_peer import ShovelPeer
from ostler.lab.sampling.process_sampler import WatchedProcess
from ostler.lab.scenarios.model import Binding, Deviation, LoadKind, Scenario, StopKind
from ostler.lab.scenarios.steps import Step

ONE_MANAGER: Final = OstlerContestant("Ostler, one queue manager")
SHOVELS_MAX: Final = 50
"""More shovels show nothing new, and take a node long to start."""
_SHOWN_CHANNELS_MAX: Final = 100


def experiment(context: RunContext) -> Experiment:
    load = context.scenario.load
    if load is not None and load.kind is LoadKind.IDLE:
        return ChannelMemory(context)
    if DRAINED_PARAMETER in context.scenario.parameters:
        return ChannelDrain(context)
    return DistributedExperiment(context)


class ReadyPairLoad(ReadyOstlerLoad):
    """A load on two queue managers. The metrics of their channels are among the results."""

    def __init__(self, loads: Sequence[AnyLoad], point_spec: PointSpec, pair: QueueManagerPair, kind: str) -> None:
        super().__init__(loads[0], loads[1:], point_spec, pair.managers, kind)
        self._pair = pair
        self._channels_before: dict[tuple[str, str], float] = {}

    def processes(self) -> Sequence[WatchedProcess]:
        return [*super().processes(), *self._pair.watched()]

    def run(self, timeline: Timeline, watcher: Watcher) -> Sequence[WorkerCounts]:
        self._channels_before = self._channels()
        return super().run(timeline, watcher)

    def results(self) -> Sequence[Metric]:
        found = list(super().results())
        now = self._channels()
        done = {key: value - self._channels_before.get(key, 0.0) for key, value in now.items()}
        for (manager, name), value in done.items():
            found.append(Metric("channels", name, value, manager))
            if name == "batches" and value:
                found.append(Metric("channels", "messages per batch", done[manager, "messages"] / value, manager))
        return found

    def _channels(self) -> dict[tuple[str, str], float]:
        if self._pair.wiring.routes > _SHOWN_CHANNELS_MAX:
            return {}
        return {(each.object, each.name): each.value for each in channel_metrics(self._pair)}


class DistributedExperiment(LoadExperiment):
    """Two queue managers, one queue manager, and shovels under the same load."""

    def __init__(self, context: RunContext) -> None:
        load, stop = context.scenario.load, context.scenario.stop
        is_rated = load is not None and load.since_put and stop is not None and stop.kind is StopKind.RESPONSE_TIME
        scheduled = (ON_SCHEDULE,) if is_rated else ()
        super().__init__(context, distributed_point, (VERB_BY_VERB, *scheduled, ONE_MANAGER))
        self._joined: QueueManagerPair | None = None
        self._joined_for: tuple[object, ...] = ()
        self._shovels: ShovelPeer | None = None
        self._absent: dict[str, str] = {}
        for asked, used in dict.fromkeys(map(_replaced_cipher, self._points.values())):
            if asked:
                context.note(f"{asked} is refused today: channels use {used} in its place.")

    def _point(self, number: int) -> DistributedPoint:
        found = self._points[number]
        assert isinstance(found, DistributedPoint)
        return found

    # -- who takes part ------------------------------------------------------------------------------------------------

    def _ostler(self, ours: OstlerContestant) -> Contestant | None:
        found = super()._ostler(ours)
        if ours is not ONE_MANAGER or found is None:
            return found
        # Steps that differ in channels only are the same load for one queue manager.
        steps: list[int] = []
        seen: list[LoadPoint] = []
        for number in sorted(self._points):
            load = replace(self._point(number), wiring=Wiring(), parameters={})
            if load not in seen:
                seen.append(load)
                steps.append(number)
        return replace(found, steps=frozenset(steps))

    def _peer_contestants(self) -> list[Contestant]:
        points = {number: self._point(number) for number in self._points}
        able = {number: point for number, point in points.items() if _can_shovel(point)}
        if rabbitmq.NAME not in self._context.settings.peers or not able:
            return []
        lines = {(point.persistent, point.wiring.round_trip_ms) for point in able.values()}
        shovels = max(point.wiring.routes for point in able.values())
        self._context.note("Two RabbitMQ nodes start, with shovels between them.")
        self._shovels = ShovelPeer.started(self._context.scratch / "shovels", sorted(lines), shovels, self._absent)
        if self._shovels is None:
            return []
        self._stack.callback(self._shovels.close)
        return [replace(SHOVELS, steps=frozenset(able), version=self._shovels.version)]

    @property
    def absent(self) -> Mapping[str, str]:
        return self._absent

    @property
    def deviations(self) -> Sequence[Deviation]:
        replaced = dict.fromkeys(map(_replaced_cipher, self._points.values()))
        declared = {each.what for each in self._context.scenario.deviations}
        found = [
            Deviation(f"Channels use {used} in the place of {asked}", f"{asked} is refused today.")
            for asked, used in replaced
            if asked and f"Channels use {used}" not in declared
        ]
        return [*found, *super().deviations]

    def _configuration_texts(self, point: LoadPoint) -> Mapping[str, str]:
        return point_texts(point)

    # -- one point -----------------------------------------------------------------------------------------------------

    def prepare(self, contestant: Contestant, step: Step) -> ReadyLoad:
        if contestant.kind is not ContestantKind.PEER:
            return super().prepare(contestant, step)
        point, shovels = self._point(step.number), self._shovels
        assert shovels is not None
        ended = shovels.describe_end()
        if ended:
            raise PointFailed(ended)
        load = self._load(contestant.name, self._context.settings.drivers)
        open_load(load, shovels.spec_like(self._spec(point, VERB_BY_VERB, ()), point.wiring))
        return ReadyDriverLoad(load, self._point_spec(point), shovels.watched())

    def _prepare_ostler(self, ours: OstlerContestant, point: LoadPoint) -> ReadyLoad:
        if ours is ONE_MANAGER:
            return super()._prepare_ostler(ours, point)
        assert isinstance(point, DistributedPoint)
        pair = self._pair(point)
        made = self._spec(point, ours, [pair.asking])
        at_client = point.responder_binding is Binding.CLIENT
        there = pair.answering.address if at_client else pair.answering.local_path
        made = replace(made, responder_address=there, routes=point.wiring.routes)
        if Binding.TRUSTED not in (point.requester_binding, point.responder_binding):
            driver = self._load(ours.name, self._context.settings.drivers)
            open_load(driver, made)
            return ReadyPairLoad([driver], self._point_spec(point), pair, point.kind)
        asking = self._at(ours, point.requester_binding, pair.asking)
        answering = self._at(ours, point.responder_binding, pair.answering)
        open_load(answering, replace(made, requesters=range(0)))
        open_load(asking, replace(made, responders=range(0)))
        return ReadyPairLoad([asking, answering], self._point_spec(point), pair, point.kind)

    def _at(self, ours: OstlerContestant, binding: Binding, manager: LabQueueManager) -> AnyLoad:
        """Return the drivers of the applications at one of the queue managers."""
        if binding is Binding.TRUSTED:
            return self._trusted(ours.name, manager)
        return self._load(ours.name, self._context.settings.drivers)

    # -- what runs -----------------------------------------------------------------------------------------------------

    def _pair(self, point: DistributedPoint) -> QueueManagerPair:
        """Return both queue managers and their channels: the running ones if they are alive and match the point."""
        plan_of_both = replace(point.manager, commands=())
        own_replies = point.requesters if point.own_replies else 0
        wanted = (plan_of_both, point.wiring, point.pairs, own_replies)
        joined = self._joined
        if joined is not None and self._joined_for == wanted and joined.is_alive:
            return joined
        self._part()
        _check_descriptors(point, self._context.scenario)
        self._made += 1
        directory = self._context.scratch / f"joined-{self._made}"
        is_accounting = self._context.settings.accounting
        names = tuple(own_reply_queue(number) for number in range(own_replies))
        made = replace(plan_of_both, is_accounting=is_accounting)
        self._joined = QueueManagerPair(directory, made, point.wiring, point.pairs, names, report=self._context.note)
        self._joined_for = wanted
        return self._joined

    def _part(self) -> None:
        if self._joined is not None:
            self._joined.end()
            with suppress(OSError):
                shutil.rmtree(self._joined.asking.root)
            self._joined = None

    def close(self) -> None:
        for load in self._loads.values():
            load.end()
        self._loads.clear()
        self._part()
        super().close()


def _replaced_cipher(point: LoadPoint) -> tuple[str, str]:
    """Return the requested CipherSpec and its substitute; empty where it is used itself."""
    return point.parameters.get(IN_THE_PLACE_OF, ""), point.parameters.get(CIPHER_SPEC, "")


def _can_shovel(point: DistributedPoint) -> bool:
    """Shovels can do the same: nothing encrypted, and no channel option that they lack."""
    wiring = point.wiring
    usual = wiring.batch_size == USUAL_BATCH and wiring.nonpersistent_speed == FAST
    return usual and not wiring.cipher_spec and wiring.routes <= SHOVELS_MAX


def _check_descriptors(point: DistributedPoint, scenario: Scenario) -> None:
    """Check the limit of descriptors before thousands of channels are defined that could not connect."""
    most = sockets_max(DESCRIPTORS_KEPT)
    needed = 2 * point.wiring.routes + point.requesters
    if needed > most:
        fit = most * point.wiring.routes // needed
        sweep = next((each.name for each in scenario.sweeps if MOST in each.values), "")
        hint = f". --set {sweep}={MOST} measures as many" if sweep else ""
        raise PointFailed(
            f"a queue manager may have {most:,} sockets here, and {point.wiring.routes:,} pairs of channels with their "
            f"applications need {needed:,}: about {fit:,} pairs fit{hint}"
        )
