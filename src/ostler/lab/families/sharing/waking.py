"""A get that waits at one member, and a put at another: how long until it is woken, on a machine at rest."""

from __future__ import annotations

import threading
import time
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Final

from ostler.client.api.connection import connect
from ostler.client.api.message import Message
from ostler.lab.families.set_up import run_descriptions
from ostler.lab.families.sharing.shared_loads import PRIVATE
from ostler.lab.families.task import Loop
from ostler.lab.families.task_process import ReadyTask, TaskProcess
from ostler.lab.load.timeline import PhaseOperation, PhaseRecorder
from ostler.lab.runner.contract import (
    Contestant,
    ContestantKind,
    Experiment,
    PointFailed,
    PointSpec,
    ReadyLoad,
    RunContext,
)
from ostler.lab.runner.queue_managers.plan import QueueManagerPlan
from ostler.lab.runner.sharing.by_commands import start_sharing
from ostler.lab.runner.sharing.plan import SharedQueue, SharingPlan
from ostler.lab.runner.sharing.port import SharingGroup, StartSharing
from ostler.lab.scenarios.steps import Step
from ostler.model.errors import MQError

WAKE_UP: Final = "wake-up"
GETTER: Final = "getter"
ELSEWHERE: Final = "at another queue manager"
_SHARED, _PRIVATE = "LAB.REQUEST.0", "LAB.PRIVATE"
_BODY_BYTES: Final = 64
_REST_SECONDS: Final = 0.01
"""Between two messages, so that everybody is at rest."""
_GET_SECONDS: Final = 0.2
_WOKEN_SECONDS_MAX: Final = 10.0
_OSTLER: Final = Contestant("Ostler", ContestantKind.OSTLER, "answered when the coupling facility has the message")
_ALONE: Final = Contestant(PRIVATE.name, ContestantKind.OSTLER, "answered when the message is queued in memory")


class WakeUpTask(Loop):
    """A thread that waits for a message, and another that puts one when it waits."""

    main_operation = WAKE_UP

    def __init__(self, putter: tuple[str, Path], getter: tuple[str, Path], queue: str) -> None:
        self._to = connect(putter[0], data=putter[1], binding="local", application="ostler-lab")
        self._from = connect(getter[0], data=getter[1], binding="local", application="ostler-lab")
        self._output = self._to.open(queue, "w")
        self._input = self._from.open(queue, "s")
        self._is_over = False
        self._failure = ""
        self._woken = threading.Event()
        self._woken_ns = 0
        self._thread = threading.Thread(target=self._wait, daemon=True)
        self._thread.start()

    def _wait(self) -> None:
        try:
            while not self._is_over:
                if self._input.get(wait=_GET_SECONDS, syncpoint=False) is not None:
                    self._woken_ns = time.perf_counter_ns()
                    self._woken.set()
        except MQError as error:
            self._failure = str(error)
            self._woken.set()

    def begin(self, recorder: PhaseRecorder) -> None:
        self._operation: PhaseOperation = recorder.operation(WAKE_UP)

    def turn(self) -> int:
        time.sleep(_REST_SECONDS)
        self._woken.clear()
        began_ns = time.perf_counter_ns()
        self._output.put(Message(bytes(_BODY_BYTES), persistent=False), syncpoint=False)
        if not self._woken.wait(_WOKEN_SECONDS_MAX) or self._failure:
            raise PointFailed(self._failure or f"a get was not woken within {_WOKEN_SECONDS_MAX:g} s")
        self._operation.record(began_ns, self._woken_ns)
        return self._woken_ns

    def close(self) -> None:
        self._is_over = True
        self._thread.join(_WOKEN_SECONDS_MAX)
        self._to.close()
        self._from.close()


class WakeUpExperiment(Experiment):
    """Two members, of which one has a private queue beside."""

    def __init__(self, context: RunContext, start: StartSharing = start_sharing) -> None:
        self._context = context
        self._start = start
        self._group: SharingGroup | None = None

    def contestants(self) -> Sequence[Contestant]:
        alone = frozenset(step.number for step in self._context.steps if step.points[GETTER] != ELSEWHERE)
        return [_OSTLER, Contestant(_ALONE.name, _ALONE.kind, _ALONE.promise, alone)] if alone else [_OSTLER]

    @property
    def configuration(self) -> Mapping[str, str]:
        return {"queue-sharing group": "\n".join(run_descriptions.shortened([*_plan().commands()]))}

    def prepare(self, contestant: Contestant, step: Step) -> ReadyLoad:
        group = self._running()
        putter, getter = group.members[0], group.members[1 if step.points[GETTER] == ELSEWHERE else 0]
        queue = _SHARED if contestant.name == _OSTLER.name else _PRIVATE
        task = partial(WakeUpTask, (putter.name, putter.root), (getter.name, getter.root), queue)
        point_spec = PointSpec(2, _BODY_BYTES, False, main_operation=WAKE_UP)
        return ReadyTask(point_spec, TaskProcess(task), group.watched(), putter.metrics)

    def _running(self) -> SharingGroup:
        if self._group is None or not self._group.is_alive:
            self.close()
            self._context.note("A queue-sharing group of 2 queue managers starts.")
            self._group = self._start(self._context.scratch / "group", _plan())
        return self._group

    def close(self) -> None:
        if self._group is not None:
            self._group.end()
            self._group = None


def _plan() -> SharingPlan:
    manager = QueueManagerPlan(commands=(f"DEFINE QLOCAL({_PRIVATE})",))
    return SharingPlan(manager=manager, members=2, queues=(SharedQueue(_SHARED, "LAB1"),))
