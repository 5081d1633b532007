"""Tasks on topic trees, each in a process of its own: idle watch, subscribe, display."""

from __future__ import annotations

import os
import re
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import ostler
from ostler.client.link.control import NotRunningError, control
from ostler.lab.common.processor_time import process_ns
from ostler.lab.families.held_connections import resident_bytes
from ostler.lab.families.task import RESULT, Loop, ProcessorUse, Task, count_in, wait_until
from ostler.lab.families.topics.tree_manager import DEAD_LETTER_QUEUE, DESTINATION, MADE
from ostler.lab.load.mq.mqsc_by_message import MqscByMessage
from ostler.lab.load.progress import ProgressReporter, ReportProgress
from ostler.lab.load.timeline import COOLING_DOWN, MEASURED, PhaseRecorder
from ostler.lab.runner.contract import Metric, PointFailed
from ostler.lab.runner.queue_managers.plan import NAME
from ostler.server.config.directories import QueueManagerDirectory

LOOK: Final = "look"
SUBSCRIBE: Final = "MQSUB"
CLOSE: Final = "MQCLOSE"
DISPLAY: Final = "display"
MINUTE_US: Final = "queue manager us per minute"
SERVER_US: Final = "queue manager us per subscription"
APPLICATION_US: Final = "application us per subscription"
BOTH_US: Final = "queue manager and application us per subscription"
SUBSCRIPTIONS: Final = "subscriptions in the window"
SUBSCRIPTIONS_PER_SECOND: Final = "subscriptions per second, tried beforehand"
DISPLAY_CPU: Final = "queue manager processor seconds per display"
DISPLAY_SECONDS: Final = "seconds per display"
DISPLAYED: Final = "topics displayed"
MEMORY_GROWN: Final = "memory grown while displaying, bytes"
ANSWERS: Final = "answers in time"
GIVEN_UP: Final = "displays given up"
DEAD_LETTERS: Final = "answers on the dead-letter queue"
NEW_TOPIC: Final = "new topic"
ONE_LEVEL: Final = "wildcard +"
ALL_LEVELS: Final = "wildcard #"
_POLL_SECONDS: Final = 0.05
_GROUP: Final = 1000
_TRIED: Final = 1000
_TRY_SECONDS_MAX: Final = 0.5
_IDLE_SECONDS_MAX: Final = 60.0
_DEPTH: Final = re.compile(r"CURDEPTH\(([0-9]+)\)")
_ALL_TOPICS: Final = "DISPLAY TPSTATUS('#') TYPE(TOPIC)"
_ONE_TOPIC: Final = "AMQ8754I"


class ServerUse:
    """Processor time of a queue manager between two phases."""

    def __init__(self, pid: int) -> None:
        self._pid = pid
        self._from = self._from_ns = 0
        self.nanoseconds = 0
        self.seconds = 0.0

    def entered(self, phase: int) -> None:
        if phase == MEASURED:
            self._from, self._from_ns = process_ns(self._pid), time.perf_counter_ns()
        elif phase == COOLING_DOWN:
            self.nanoseconds = process_ns(self._pid) - self._from
            self.seconds = (time.perf_counter_ns() - self._from_ns) / 1e9

    def minute_us(self) -> float:
        return self.nanoseconds / 1000 / self.seconds * 60


class IdleWatch(Loop):
    """Reads the processor time of an idle queue manager without disturbing it."""

    main_operation = LOOK

    def __init__(self, pid: int) -> None:
        self._pid = pid
        self._use = ServerUse(pid)

    def begin(self, recorder: PhaseRecorder) -> None:
        self._polls = recorder.operation(LOOK)
        self._use = ServerUse(self._pid)

    def entered(self, phase: int) -> None:
        self._use.entered(phase)

    def turn(self) -> int:
        time.sleep(_POLL_SECONDS)
        began = time.perf_counter_ns()
        process_ns(self._pid)
        end = time.perf_counter_ns()
        self._polls.record(began, end)
        return end

    def results(self) -> list[Metric]:
        return [Metric(RESULT, MINUTE_US, self._use.minute_us())]

    def close(self) -> None:
        return


class SubscribeLoop(Loop):
    """Subscribes to a new topic, ends the subscription, and leaves the topic in the tree; or subscribes with a
    wildcard right below the root of the topics that are there.

    All have the same destination queue, so that the subscription is measured and not a queue. `metrics` returns the
    rate of a short trial.
    """

    main_operation = SUBSCRIBE

    def __init__(self, root: Path, pid: int, kind: str = NEW_TOPIC) -> None:
        self._pid = pid
        self._kind = kind
        self._connection = ostler.connect(NAME, data=root, binding="local")
        self._queue = self._connection.open(DESTINATION, "r")
        self._subscribed = self._before = self._within = 0
        self._server, self._own = ServerUse(pid), ProcessorUse()
        self._rate = self._try()

    def _try(self) -> float:
        """Return how many subscriptions can be made and ended in a second."""
        began = time.perf_counter()
        done = 0
        while done < _TRIED and time.perf_counter() - began < _TRY_SECONDS_MAX:
            self._connection.subscribe(self._topic(done, "tried"), queue=self._queue).close()
            done += 1
        return done / (time.perf_counter() - began)

    def _topic(self, number: int, prefix: str) -> str:
        if self._kind == ALL_LEVELS:
            return f"{MADE}/#"
        if self._kind == ONE_LEVEL:
            return f"{MADE}/+/+/{number % _GROUP}"
        return f"{prefix}/{os.getpid()}/{number // _GROUP}/{number % _GROUP}"

    def metrics(self) -> list[Metric]:
        return [Metric(RESULT, SUBSCRIPTIONS_PER_SECOND, self._rate)]

    def begin(self, recorder: PhaseRecorder) -> None:
        self._subscribes, self._closes = recorder.operation(SUBSCRIBE), recorder.operation(CLOSE)
        self._server, self._own = ServerUse(self._pid), ProcessorUse()
        self._before = self._within = 0

    def entered(self, phase: int) -> None:
        self._server.entered(phase)
        self._own.entered(phase)
        if phase == MEASURED:
            self._before = self._subscribed
        elif phase == COOLING_DOWN:
            self._within = self._subscribed - self._before

    def turn(self) -> int:
        topic = self._topic(self._subscribed, "new")
        began = time.perf_counter_ns()
        subscription = self._connection.subscribe(topic, queue=self._queue)
        between = time.perf_counter_ns()
        subscription.close()
        end = time.perf_counter_ns()
        self._subscribed += 1
        self._subscribes.record(began, between)
        self._closes.record(between, end)
        return end

    def results(self) -> list[Metric]:
        if not self._within:
            return []
        server, own = (each / 1000 / self._within for each in (self._server.nanoseconds, self._own.nanoseconds))
        found = {SERVER_US: server, APPLICATION_US: own, BOTH_US: server + own, SUBSCRIPTIONS: self._within}
        return [Metric(RESULT, name, value) for name, value in found.items()]

    def close(self) -> None:
        self._connection.close()


class DisplayTask(Task):
    """Displays all topics over the socket that runmqsc uses, and discards the lines."""

    def __init__(self, directory: QueueManagerDirectory, pid: int) -> None:
        self._directory = directory
        self._pid = pid
        self._shown = 0

    def try_once(self) -> float:
        """Return how many seconds a display takes, until the queue manager is idle again."""
        began = time.perf_counter()
        self._display()
        self._settle()
        return time.perf_counter() - began

    def run(self, recorder: PhaseRecorder, report: ReportProgress) -> list[Metric]:
        timeline = recorder.timeline
        recorder.operation(DISPLAY)
        progress = ProgressReporter(recorder, DISPLAY, 0, report)
        results: list[Metric] = []
        now = wait_until(timeline.measured_ns)
        done = taken_ns = 0
        # One that would outlast the window does not begin, unless it is the only one.
        while done == 0 or now + taken_ns < timeline.cool_ns:
            began_ns = now
            used = process_ns(self._pid)
            with _MemoryWatch(self._pid) as memory:
                began = time.perf_counter()
                self._display()
                seconds = time.perf_counter() - began
                self._settle()
            now = time.perf_counter_ns()
            taken_ns = now - began_ns
            count_in(recorder, MEASURED, DISPLAY, seconds, now)
            metrics = (
                (DISPLAY_SECONDS, seconds),
                (DISPLAY_CPU, (process_ns(self._pid) - used) / 1e9),
                (MEMORY_GROWN, float(memory.grown)),
                *self._found().items(),
            )
            results += [Metric(RESULT, name, value, position=done) for name, value in metrics]
            done += 1
            if now >= progress.next_ns:
                progress.report(now, done)
        return results

    def _display(self) -> None:
        """Display all topics."""
        self._shown = sum(line.startswith(_ONE_TOPIC) for line in self._lines(_ALL_TOPICS))

    def _settle(self) -> None:
        """Wait until the queue manager has ended the command."""

    def _found(self) -> dict[str, float]:
        return {DISPLAYED: float(self._shown)}

    def _lines(self, command: str) -> Iterator[str]:
        try:
            for reply in control(self._directory, "mqsc", text=command, echo=False):
                yield str(reply.get("line", ""))
        except NotRunningError as error:
            raise PointFailed(str(error)) from None

    def close(self) -> None:
        return


class UtilityTask(DisplayTask):
    """Displays all topics as CSQUTIL does: by a command message, whose answers it waits for no longer than RESPTIME.

    Then its reply queue is gone, and answers that come later are not deliverable.
    """

    def __init__(self, root: Path, directory: QueueManagerDirectory, pid: int, response_seconds: float) -> None:
        super().__init__(directory, pid)
        self._root = root
        self._response_seconds = response_seconds
        self._is_complete = True
        self._dead_before = 0

    def _display(self) -> None:
        self._dead_before = self._depth()
        with ostler.connect(NAME, data=self._root, binding="local") as connection:
            self._shown, self._is_complete = MqscByMessage(connection).answers(_ALL_TOPICS, self._response_seconds)

    def _settle(self) -> None:
        """Wait until the queue manager is idle: it goes on after a time-out."""
        deadline = time.monotonic() + _IDLE_SECONDS_MAX
        used = -1
        while not self._is_complete and time.monotonic() < deadline:
            before, used = used, process_ns(self._pid)
            if before >= 0 and used - before < 1e9 * _POLL_SECONDS / 5:
                return
            time.sleep(_POLL_SECONDS)

    def _found(self) -> dict[str, float]:
        return {
            ANSWERS: float(self._shown),
            GIVEN_UP: float(not self._is_complete),
            DEAD_LETTERS: float(self._depth() - self._dead_before),
        }

    def _depth(self) -> int:
        for line in self._lines(f"DISPLAY QLOCAL({DEAD_LETTER_QUEUE}) CURDEPTH"):
            found = _DEPTH.search(line)
            if found is not None:
                return int(found[1])
        raise PointFailed(f"{DEAD_LETTER_QUEUE} is not there")


class _MemoryWatch:
    """The largest growth of a process's memory, sampled a hundred times a second."""

    def __init__(self, pid: int) -> None:
        self._pid = pid
        self._before = self._most = resident_bytes(pid)
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)

    @property
    def grown(self) -> int:
        return self._most - self._before

    def __enter__(self) -> _MemoryWatch:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join()
        self._look()

    def _watch(self) -> None:
        while not self._over.wait(0.01):
            self._look()

    def _look(self) -> None:
        self._most = max(self._most, resident_bytes(self._pid))
