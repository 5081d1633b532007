"""The memory of both ends of message channels that have carried a message and stay connected."""

from __future__ import annotations

import os
import time
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Final

import ostler
from ostler import __version__
from ostler.client.link.control import control
from ostler.lab.families.channels.pair_description import pair_texts
from ostler.lab.families.held_connections import (
    MEMORY_AT_START,
    MEMORY_PER_CHANNEL,
    ConnectionServer,
    OnFreshServers,
    resident_bytes,
)
from ostler.lab.families.task import RESULT, Task, wait_until
from ostler.lab.families.task_process import ReadyTask, TaskProcess
from ostler.lab.load.mq.client import request_queue, routed_queue
from ostler.lab.load.progress import ProgressReporter, ReportProgress
from ostler.lab.load.timeline import PhaseRecorder
from ostler.lab.runner.contract import (
    CONNECT,
    GET,
    PUT,
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
from ostler.lab.runner.queue_managers.plan import QueueManagerPlan
from ostler.lab.scenarios.steps import Step
from ostler.server.config.directories import QueueManagerDirectory
from ostler.server.config.qm_ini import LogSection

OSTLER: Final = Contestant("Ostler", ContestantKind.OSTLER, "two queue managers that are new", version=__version__)
SENDING: Final = "memory per sending end, bytes"
RECEIVING: Final = "memory per receiving end, bytes"
_LOG: Final = LogSection(primary_files=3, file_pages=1024)
_CHANNELS, _CHANNELS_QUICK = 200, 40
# The first few make queue managers import and allocate what they need only once.
_WARMING: Final = 5
_RUNNING: Final = "RUNNING"
_START_SECONDS_MAX: Final = 30.0
_GET_SECONDS_MAX: Final = 30.0
_POLL_SECONDS: Final = 0.005


class ChannelMemory(Experiment):
    """Every run has two queue managers of its own."""

    def __init__(self, context: RunContext) -> None:
        self._context = context
        self._made = 0

    def contestants(self) -> Sequence[Contestant]:
        return [OSTLER]

    @property
    def configuration(self) -> Mapping[str, str]:
        count = _CHANNELS_QUICK if self._context.settings.is_quick else _CHANNELS
        return pair_texts(QueueManagerPlan(log=_LOG), Wiring(routes=count + _WARMING), 1)

    def prepare(self, contestant: Contestant, step: Step) -> ReadyLoad:
        return self.channels(int(step.points["message_bytes"]))

    def channels(self, message_bytes: int) -> ReadyLoad:
        """Prepare channels that carry a message of that size, and stay."""
        count = _CHANNELS_QUICK if self._context.settings.is_quick else _CHANNELS
        point_spec = PointSpec(count, message_bytes, False, main_operation=CONNECT)
        return OnFreshServers(point_spec, partial(self._server, count, message_bytes))

    def _server(self, channels: int, message_bytes: int) -> ConnectionServer:
        self._made += 1
        root = self._context.scratch / f"channels-{self._made}"
        plan = QueueManagerPlan(log=_LOG, is_accounting=self._context.settings.accounting)
        return _PairServer(root, plan, channels, message_bytes)

    def close(self) -> None:
        return


class _PairServer(ConnectionServer):
    def __init__(self, root: Path, plan: QueueManagerPlan, channels: int, message_bytes: int) -> None:
        self._wiring = Wiring(routes=channels + _WARMING)
        self._pair = QueueManagerPair(root, plan, self._wiring, 1, starts_channels=False)
        self._message_bytes = message_bytes

    def prepare(self, point_spec: PointSpec) -> ReadyTask:
        asking, answering = self._pair.managers
        pids = asking.pid, answering.pid
        port = answering.address[1]
        make = partial(ChannelMemoryTask, asking.root, pids, port, self._wiring, self._message_bytes)
        watched = [*asking.watched(), *answering.watched()]
        return ReadyTask(point_spec, TaskProcess(make), watched, asking.metrics)

    def end(self) -> None:
        self._pair.end()


class ChannelMemoryTask(Task):
    """Starts one channel after the other, and sends a message through it."""

    def __init__(self, root: Path, pids: tuple[int, int], port: int, wiring: Wiring, message_bytes: int) -> None:
        self._directory = QueueManagerDirectory(root, ASKING)
        self._pids = pids
        self._port = port
        self._wiring = wiring
        self._body = os.urandom(message_bytes)
        self._asking = ostler.connect(ASKING, data=root, binding="local")
        self._answering = ostler.connect(ANSWERING, data=root, binding="local")
        self._intake = self._answering.open(request_queue(0), "r")

    def run(self, recorder: PhaseRecorder, report: ReportProgress) -> list[Metric]:
        progress = ProgressReporter(recorder, CONNECT, 0, report)
        at_start = resident_bytes(self._pids[0])
        commands = wires.sender_commands(self._wiring, ASKING, ANSWERING, self._port)
        channels = self._wiring.routes - _WARMING
        wait_until(recorder.timeline.begin_ns)
        before = [resident_bytes(pid) for pid in self._pids]
        for route in range(self._wiring.routes):
            if route == _WARMING:
                wait_until(recorder.timeline.measured_ns)
                before = [resident_bytes(pid) for pid in self._pids]
            now = self._channel(recorder, route, commands[2 * route : 2 * route + 2])
            if now >= progress.next_ns:
                progress.report(now, route)
        sending, receiving = (
            (resident_bytes(pid) - was) / channels for pid, was in zip(self._pids, before, strict=True)
        )
        wait_until(recorder.timeline.cool_ns)
        return [
            Metric(RESULT, MEMORY_AT_START, at_start),
            Metric(RESULT, SENDING, sending),
            Metric(RESULT, RECEIVING, receiving),
            Metric(RESULT, MEMORY_PER_CHANNEL, sending + receiving),
        ]

    def _channel(self, recorder: PhaseRecorder, route: int, commands: Sequence[str]) -> int:
        """Start one more channel and send a message through it. Returns the time at which it arrived."""
        name = wires.channel_name(ASKING, ANSWERING, route)
        began = time.perf_counter_ns()
        self._mqsc("\n".join(commands))
        deadline = time.monotonic() + _START_SECONDS_MAX
        while self._state(name) != _RUNNING:
            if time.monotonic() > deadline:
                raise PointFailed(f"channel {name} does not run after {_START_SECONDS_MAX:.0f} s")
            time.sleep(_POLL_SECONDS)
        running = time.perf_counter_ns()
        self._asking.put(routed_queue(0, route), self._body)
        put = time.perf_counter_ns()
        message = self._intake.get(wait=_GET_SECONDS_MAX)
        got = time.perf_counter_ns()
        if message is None or message.body != self._body:
            raise PointFailed("the message that was got is not the one that was put")
        recorder.operation(CONNECT).record(began, running)
        recorder.operation(PUT).record(running, put)
        recorder.operation(GET).record(put, got)
        return got

    def _state(self, name: str) -> str:
        return wires.states(self._mqsc(f"DISPLAY CHSTATUS({name}) STATUS")).get(name, "")

    def _mqsc(self, text: str) -> list[str]:
        replies = control(self._directory, "mqsc", text=text, echo=False)
        return [str(reply["line"]) for reply in replies if "line" in reply]

    def close(self) -> None:
        self._asking.close()
        self._answering.close()
