"""Family `driver-overhead`: the cost of the laboratory's own driver, beside a loop over sockets that does nothing else.

All send blocks to an echo on as many connections. The processor time of the driver for each round trip is what it takes
away from a broker on the same machine; the rate is what it could drive at most.
"""

from __future__ import annotations

import subprocess
import time
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Final

from ostler.lab.families.micro.tasks import limit, ostler, parameter
from ostler.lab.families.task import Task, wait_until
from ostler.lab.families.task_process import ReadyTask, TaskProcess
from ostler.lab.load.bare import server as bare_server
from ostler.lab.load.bare.loop import BareLoop
from ostler.lab.load.progress import ReportProgress
from ostler.lab.load.spec import BARE, LoadSpec
from ostler.lab.load.timeline import PhaseRecorder
from ostler.lab.runner.contract import (
    ROUND_TRIP,
    Contestant,
    ContestantKind,
    Experiment,
    Metric,
    PointSpec,
    ReadyLoad,
    RunContext,
)
from ostler.lab.runner.limits import PING_PONG, LimitProbes, contestant_of, end_server, start_server
from ostler.lab.sampling.process_sampler import WatchedProcess
from ostler.lab.scenarios.steps import Step
from ostler.lab.store.roles import DRIVER, PROBE

CLOSED: Final = ostler("driver", "every reply is checked and timed, the next block follows at once")
RATED: Final = ostler("driver at a fixed rate", "every reply is checked and timed, blocks are sent when they are due")
LOOP: Final = limit("bare socket loop", "the same block again and again; nothing is looked at")
_SLICE_SECONDS: Final = 1.0


def experiment(context: RunContext) -> Experiment:
    return DriverOverhead(context)


class DriverOverhead(Experiment):
    def __init__(self, context: RunContext) -> None:
        self._context = context
        self._probes = LimitProbes(context.scratch)

    def contestants(self) -> Sequence[Contestant]:
        return [CLOSED, RATED, LOOP] if self._context.settings.limits else [CLOSED, RATED]

    def prepare(self, contestant: Contestant, step: Step) -> ReadyLoad:
        clients, size = int(step.points["connections"]), int(step.points["message_bytes"])
        point_spec = PointSpec(clients, size, False, main_operation=ROUND_TRIP)
        if contestant.kind is ContestantKind.LIMIT:
            return _BareLoops(point_spec)
        like = LoadSpec(BARE, "", range(clients), range(0), 1, size, False)
        if contestant.name == RATED.name:
            rate = float(parameter(self._context, "rate_per_second"))
            point_spec = replace(point_spec, rate_per_second=rate)
            like = replace(like, rate_per_second=rate / clients)
        return self._probes.prepare(contestant_of(PING_PONG), like, point_spec)

    def close(self) -> None:
        self._probes.close()


class _BareLoops(ReadyTask):
    """The bare loop, with an echo of its own."""

    def __init__(self, point_spec: PointSpec) -> None:
        self._server: subprocess.Popen[bytes]
        self._server, address = start_server(bare_server.ECHO, point_spec.message_bytes)
        try:
            make = partial(BareLoopTask, address, point_spec.clients, point_spec.message_bytes)
            super().__init__(point_spec, TaskProcess(make, DRIVER), [WatchedProcess(PROBE, self._server.pid)])
        except BaseException:
            end_server(self._server)
            raise

    def close(self) -> None:
        super().close()
        end_server(self._server)


class BareLoopTask(Task):
    """Runs the loop second by second; it has no times of single blocks, so all have the mean."""

    def __init__(self, address: tuple[str, int], connections: int, block_bytes: int) -> None:
        self._loop = BareLoop(address, connections, block_bytes)
        self._connections = connections

    def run(self, recorder: PhaseRecorder, report: ReportProgress) -> list[Metric]:
        timeline = recorder.timeline
        now = wait_until(timeline.begin_ns)
        for phase, end_ns in zip(
            recorder.phases, (timeline.measured_ns, timeline.cool_ns, timeline.end_ns), strict=True
        ):
            while now < end_ns:
                began = now
                count = self._loop.run(min((end_ns - now) / 1e9, _SLICE_SECONDS))
                now = time.perf_counter_ns()
                ended = min(now, end_ns - 1)
                # Each connection has one block under way all the time.
                phase.operation(ROUND_TRIP).record_batch(ended - (now - began) * self._connections, ended, count)
        return []

    def close(self) -> None:
        self._loop.close()
