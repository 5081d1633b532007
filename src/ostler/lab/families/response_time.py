"""Family `response-time`: one application puts a message on an empty queue and gets it back, size by size.

It is bound locally, as in the report, and also embedded in the queue manager's process. The limits beside both are the
least work: a table entry and a queue, exchanges with another process, forced writes of a log.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Final

from ostler import mqi
from ostler.lab.common.embedded import NAME, QUEUE
from ostler.lab.common.probes import BarePair, ForcedFile
from ostler.lab.common.put_and_get import PutAndGet, connected
from ostler.lab.families.bare_exchange import BareExchange
from ostler.lab.families.hosts import EMBEDDED, LOCAL, Host, Hosts
from ostler.lab.families.micro.tasks import Batch, BatchLoop
from ostler.lab.families.task import RESULT, Loop, Task, measured_count
from ostler.lab.families.task_process import Agreement, ReadyTask, TaskProcess
from ostler.lab.load.timeline import PhaseRecorder
from ostler.lab.runner.contract import (
    OVER_A_SOCKET,
    Contestant,
    ContestantKind,
    Experiment,
    Metric,
    PointSpec,
    ReadyLoad,
    RunContext,
)
from ostler.lab.runner.queue_managers.plan import QueueManagerPlan
from ostler.lab.scenarios.model import Persistence, Scenario, StopKind
from ostler.lab.scenarios.steps import Step
from ostler.lab.store.roles import PROBE
from ostler.server.config.qm_ini import LogSection, LogType

PUT: Final = "MQPUT"
GET: Final = "MQGET"
PAIR: Final = "MQPUT and MQGET"
SAMPLES: Final = "samples"
SAMPLES_MISSING: Final = "samples missing"
AGREEMENTS: Final = (Agreement((PUT,), "puts"), Agreement((GET,), "gets"))
_PROBE_FILE_BYTES: Final = 64 << 20
_PAGE: Final = bytes(4096)
_FILE_PAGES: Final = 2048
_BARE: Final = "bare table and queue"
_EXCHANGES: Final = f"bare exchanges{OVER_A_SOCKET}"
_FORCES: Final = "writing and forcing"


def experiment(context: RunContext) -> Experiment:
    return ResponseTime(context)


class ResponseTime(Experiment):
    """Two bindings, and limits for each persistence."""

    def __init__(self, context: RunContext) -> None:
        self._context = context
        pages = context.scenario.parameters.get("log_file_pages", _FILE_PAGES)
        log = LogSection(type=LogType.CIRCULAR, file_pages=pages if isinstance(pages, int) else _FILE_PAGES)
        commands = (f"DEFINE QLOCAL({QUEUE}) MAXDEPTH(999999999) MAXMSGL(104857600)",)
        plan = QueueManagerPlan(NAME, log, commands=commands, is_accounting=context.settings.accounting)
        self._hosts = Hosts(context.scratch, plan)

    @property
    def configuration(self) -> Mapping[str, str]:
        return self._hosts.configuration

    def contestants(self) -> Sequence[Contestant]:
        found = [LOCAL, EMBEDDED]
        if self._context.settings.limits:
            steps = self._context.steps
            plain = frozenset(step.number for step in steps if not is_persistent(step))
            forced = frozenset(step.number for step in steps if is_persistent(step))
            promises = (
                (_EXCHANGES, "the data there and back between two processes, nothing kept", plain),
                (_BARE, "an identifier in a deque and the data in a dictionary", plain),
                (_FORCES, "the data and then a page written to a file that is there, each forced", forced),
            )
            found += [
                Contestant(name, ContestantKind.LIMIT, promise, steps) for name, promise, steps in promises if steps
            ]
        return found

    def prepare(self, contestant: Contestant, step: Step) -> ReadyLoad:
        size, persistent = int(step.points["message_bytes"]), is_persistent(step)
        point_spec = PointSpec(1, size, persistent, main_operation=PAIR)
        if contestant.kind is ContestantKind.LIMIT:
            return ReadyTask(point_spec, TaskProcess(self._limit(contestant, step, size), PROBE))
        wanted = wanted_samples(self._context.scenario, self._context.settings.is_quick)
        make = partial(PutAndGetLoop, size=size, persistent=persistent, samples_wanted=wanted)
        return self._hosts.prepare(contestant, make, point_spec, AGREEMENTS)

    def _limit(self, contestant: Contestant, step: Step, size: int) -> Callable[[], Task]:
        if contestant.name == _BARE:
            return partial(bare_pairs, size)
        if contestant.name == _EXCHANGES:
            return partial(BareExchange, size, (PUT, GET), PAIR)
        return partial(ForceLoop, self._context.scratch / f"forced-{step.number}", size)

    def close(self) -> None:
        self._hosts.close()


def is_persistent(step: Step) -> bool:
    return step.points.get("persistence") == Persistence.PERSISTENT.value


def wanted_samples(scenario: Scenario, is_quick: bool) -> int:
    """Return the number of samples of a point in the report; 0 for the quick form."""
    stop = scenario.stop
    return int(stop.limit) if stop is not None and stop.kind is StopKind.SAMPLES and not is_quick else 0


class PutAndGetLoop(Loop):
    """The application. A window ends by time: a shortage of samples is reported."""

    main_operation = PAIR

    def __init__(self, host: Host, size: int, persistent: bool, samples_wanted: int) -> None:
        self._host = host.open()
        self._hconn = connected(NAME)
        self._application = PutAndGet(self._hconn, QUEUE, size, persistent)
        self._samples_wanted = samples_wanted

    def begin(self, recorder: PhaseRecorder) -> None:
        self._recorder = recorder
        self._puts, self._gets, self._pairs = (recorder.operation(name) for name in (PUT, GET, PAIR))

    def turn(self) -> int:
        began, between, end = self._application.sample()
        self._puts.record(began, between)
        self._gets.record(between, end)
        self._pairs.record(began, end)
        return end

    def results(self) -> list[Metric]:
        count = measured_count(self._recorder, PAIR)
        found = [Metric(RESULT, SAMPLES, count)]
        if self._samples_wanted:
            found.append(Metric(RESULT, SAMPLES_MISSING, max(self._samples_wanted - count, 0)))
        return found

    def metrics(self) -> list[Metric]:
        return self._host.metrics()

    def close(self) -> None:
        mqi.MQDISC(self._hconn)
        self._host.close()


def bare_pairs(size: int) -> BatchLoop:
    """Return the least work to keep a message and find it again, in Python."""
    return BatchLoop(Batch(PAIR, BarePair(os.urandom(size)).run, 1))


class ForceLoop(Loop):
    """The least work of a log: the message forced for the put, and a page for the get."""

    main_operation = PAIR

    def __init__(self, path: Path, size: int) -> None:
        self._body = os.urandom(size)
        self._file = ForcedFile(path, _PROBE_FILE_BYTES)

    def begin(self, recorder: PhaseRecorder) -> None:
        self._puts, self._gets, self._pairs = (recorder.operation(name) for name in (PUT, GET, PAIR))

    def turn(self) -> int:
        began = time.perf_counter_ns()
        self._file.write_and_force(self._body)
        between = time.perf_counter_ns()
        self._file.write_and_force(_PAGE)
        end = time.perf_counter_ns()
        self._puts.record(began, between)
        self._gets.record(between, end)
        self._pairs.record(began, end)
        return end

    def close(self) -> None:
        self._file.close()
