"""The speed at which one channel empties its transmission queue, while nothing else is done.

Messages are put while the channel is stopped. Then it is started, and the queue at the other end is polled until all of
them have arrived. The time between the first messages seen and the last is the channel's own: neither its start nor an
application counts.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Final

import ostler
from ostler import __version__
from ostler.client.link.control import control
from ostler.lab.common.processor_time import process_ns
from ostler.lab.families.channels.distributed_points import DistributedPoint, distributed_point
from ostler.lab.families.channels.pair_description import pair_texts
from ostler.lab.families.load_points import LoadPoint
from ostler.lab.families.set_up.run_descriptions import configuration_of
from ostler.lab.families.task import RESULT, Loop
from ostler.lab.families.task_process import ReadyTask, TaskProcess
from ostler.lab.load.mq.client import request_queue, routed_queue
from ostler.lab.load.timeline import PhaseRecorder
from ostler.lab.runner.contract import (
    Contestant,
    ContestantKind,
    Experiment,
    Metric,
    PointFailed,
    PointSpec,
    ReadyLoad,
    RunContext,
)
from ostler.lab.runner.queue_managers import channel_wiring as wires
from ostler.lab.runner.queue_managers.channel_wiring import ANSWERING, ASKING, Wiring
from ostler.lab.runner.queue_managers.pair import QueueManagerPair
from ostler.lab.scenarios.steps import Step
from ostler.server.config.directories import QueueManagerDirectory

DRAINED_PARAMETER: Final = "drained_messages"
"""Scenarios with this parameter use this experiment."""
DRAIN: Final = "drain"
DRAINED: Final = "messages drained"
"""A parameter of points: the number of messages of each drain."""
RATE: Final = "messages per second of the channel"
PER_BATCH: Final = "messages per batch"
SENDING: Final = "processor time of the sending queue manager, us per message"
RECEIVING: Final = "processor time of the receiving queue manager, us per message"
OSTLER: Final = Contestant("Ostler", ContestantKind.OSTLER, "persistent messages exactly once", version=__version__)
_QUICK_PART: Final = 5
_LEAST: Final = 500
_ENOUGH_MS: Final = 2000
_UNIT: Final = 100
_POLL_SECONDS: Final = 0.004
_LAST_BATCH_POLLS: Final = 50
_SECONDS_MAX: Final = 60.0
_CHANNEL: Final = wires.channel_name(ASKING, ANSWERING, 0)


class ChannelDrain(Experiment):
    """Two queue managers, which are kept until a step needs other channels."""

    def __init__(self, context: RunContext) -> None:
        self._context = context
        self._points = {step.number: distributed_point(context.scenario, step) for step in context.steps}
        self._pair: QueueManagerPair | None = None
        self._made = 0

    def contestants(self) -> Sequence[Contestant]:
        return [OSTLER]

    @property
    def configuration(self) -> Mapping[str, str]:
        def texts(point: LoadPoint) -> Mapping[str, str]:
            assert isinstance(point, DistributedPoint)
            return pair_texts(point.manager, point.wiring, 1)

        return configuration_of(self._points, self._context.steps, texts)

    def prepare(self, contestant: Contestant, step: Step) -> ReadyLoad:
        point = self._points[step.number]
        pair = self._joined(point)
        count = messages_to_drain(int(str(self._context.scenario.parameters[DRAINED_PARAMETER])), point.wiring)
        if self._context.settings.is_quick:
            count = max(count // _QUICK_PART, _LEAST)
        pids = pair.asking.pid, pair.answering.pid
        work = Work(pair.asking.root, pids, count, point.body_bytes, point.persistent, point.wiring.batch_size)
        parameters = {**point.parameters, DRAINED: str(count)}
        point_spec = PointSpec(1, point.body_bytes, point.persistent, None, parameters, DRAIN)
        watched = [*pair.asking.watched(), *pair.answering.watched(), *pair.watched()]
        return ReadyTask(point_spec, TaskProcess(partial(DrainTask, work)), watched, pair.answering.metrics)

    def _joined(self, point: DistributedPoint) -> QueueManagerPair:
        if self._pair is not None and self._pair.wiring == point.wiring and self._pair.is_alive:
            return self._pair
        self.close()
        self._made += 1
        root = self._context.scratch / f"drain-{self._made}"
        self._pair = QueueManagerPair(root, replace(point.manager, commands=()), point.wiring, 1)
        return self._pair

    def close(self) -> None:
        if self._pair is not None:
            self._pair.end()
            self._pair = None


def messages_to_drain(most: int, wiring: Wiring) -> int:
    """Return fewer messages over a distance, where small batches take long: what one batch for each round trip carries
    in 2 s."""
    if not wiring.round_trip_ms:
        return most
    return min(most, max(_LEAST, _ENOUGH_MS // wiring.round_trip_ms * wiring.batch_size))


@dataclass(frozen=True)
class Work:
    """The description of a drain: queue managers and messages."""

    root: Path
    pids: tuple[int, int]
    messages: int
    body_bytes: int
    persistent: bool
    batch_size: int


class DrainTask(Loop):
    """Stops the channel, puts, starts it, and polls the arrival of the messages."""

    main_operation = DRAIN

    def __init__(self, work: Work) -> None:
        self._work = work
        self._directories = [QueueManagerDirectory(work.root, name) for name in (ASKING, ANSWERING)]
        self._asking = ostler.connect(ASKING, data=work.root, binding="local")
        self._answering = ostler.connect(ANSWERING, data=work.root, binding="local")
        self._output = self._asking.open(routed_queue(0, 0), "w")
        self._body = bytes(work.body_bytes)
        self._found: list[Metric] = []
        self._turns = 0

    def begin(self, recorder: PhaseRecorder) -> None:
        self._drains = recorder.operation(DRAIN)
        self._found = []
        self._turns = 0

    def turn(self) -> int:
        self._mqsc(0, f"STOP CHANNEL({_CHANNEL})")
        self._until(lambda: self._state() in ("STOPPED", ""), "does not stop")
        # Clear the messages of the last turn. A running channel has the queue open for some seconds more; a stopped one
        # has not.
        self._until(self._is_cleared, "does not leave its queue")
        self._fill()
        # The channel carries messages before the command is answered, and the first of them must be seen.
        start = threading.Thread(target=self._mqsc, args=(0, f"START CHANNEL({_CHANNEL})"), daemon=True)
        began, end = self._drain(start)
        self._note_batches()
        self._drains.record(began, end)
        return end

    def _is_cleared(self) -> bool:
        return any("AMQ8022I" in line for line in self._mqsc(1, f"CLEAR QLOCAL({request_queue(0)})"))

    def _fill(self) -> None:
        for number in range(1, self._work.messages + 1):
            self._output.put(self._body, persistent=self._work.persistent, syncpoint=True)
            if number % _UNIT == 0 or number == self._work.messages:
                self._asking.commit()

    def _drain(self, start: threading.Thread) -> tuple[int, int]:
        """Start the channel, and return when the first message had arrived, and when the last had."""
        wanted = self._work.messages
        used = [process_ns(pid) for pid in self._work.pids]
        started = time.perf_counter_ns()
        start.start()
        # A queue cannot be cleared while it is open.
        with self._answering.open(request_queue(0), "s") as target:
            self._until(lambda: target.depth > 0, "brings nothing")
            began, first = time.perf_counter_ns(), target.depth
            self._until(lambda: target.depth >= wanted, "does not bring everything")
            end = time.perf_counter_ns()
        start.join()
        used = [process_ns(pid) - was for pid, was in zip(self._work.pids, used, strict=True)]
        # Messages that were there at the first poll came as fast as the others, but not before the start.
        began = max(end - (end - began) * wanted // max(wanted - first, 1), started)
        self._found.append(Metric(RESULT, RATE, wanted * 1e9 / (end - began), position=self._turns))
        # Over a distance much is sent before anything is seen, so that all processor time is divided by all messages.
        for name, spent in zip((SENDING, RECEIVING), used, strict=True):
            self._found.append(Metric(RESULT, name, spent / 1e3 / wanted, position=self._turns))
        return began, end

    def _note_batches(self) -> None:
        for _ in range(_LAST_BATCH_POLLS):
            lines = self._mqsc(0, wires.status_command(ASKING, ANSWERING))
            messages, batches = (wires.total(lines, name) for name in ("MSGS", "BATCHES"))
            if messages <= batches * self._work.batch_size:
                break
            # A batch is counted when its confirmation has arrived. Fast non-persistent messages belong to no batch.
            time.sleep(_POLL_SECONDS)
        if batches:
            self._found.append(Metric(RESULT, PER_BATCH, messages / batches, position=self._turns))
        self._turns += 1

    def _state(self) -> str:
        return wires.states(self._mqsc(0, wires.status_command(ASKING, ANSWERING))).get(_CHANNEL, "")

    def _until(self, is_so: Callable[[], bool], otherwise: str) -> None:
        deadline = time.monotonic() + _SECONDS_MAX
        while not is_so():
            if time.monotonic() > deadline:
                raise PointFailed(f"channel {_CHANNEL} {otherwise} within {_SECONDS_MAX:.0f} s")
            time.sleep(_POLL_SECONDS)

    def _mqsc(self, manager: int, text: str) -> list[str]:
        replies = control(self._directories[manager], "mqsc", text=text, echo=False)
        return [str(reply["line"]) for reply in replies if "line" in reply]

    def results(self) -> list[Metric]:
        return self._found

    def close(self) -> None:
        self._asking.close()
        self._answering.close()
