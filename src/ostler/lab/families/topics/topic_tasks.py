"""Tasks on topic trees, each in a process of its own: idle watch, subscribe, display."""

from __future__ import annotations

import os
import threading
import time
from pathlib import Path
from typing import Final

import ostler
from ostler.client.link.control import NotRunningError, control
from ostler.lab.common.processor_time import process_ns
from ostler.lab.families.held_connections import resident_bytes
from ostler.lab.families.task import RESULT, Loop, ProcessorUse, Task, count_in, wait_until
from ostler.lab.families.topics.tree_manager import DESTINATION
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
DISPLAY_CPU: Final = "queue manager processor seconds per display"
DISPLAY_SECONDS: Final = "seconds per display"
DISPLAYED: Final = "topics displayed"
MEMORY_GROWN: Final = "memory grown while displaying, bytes"
_POLL_SECONDS: Final = 0.05
_GROUP: Final = 1000
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
    """Subscribes to a new topic, ends the subscription, and leaves the topic in the tree.

    All have the same destination queue, so that the subscription is measured and not a queue.
    """

    main_operation = SUBSCRIBE

    def __init__(self, root: Path, pid: int) -> None:
        self._pid = pid
        self._connection = ostler.connect(NAME, data=root, binding="local")
        self._queue = self._connection.open(DESTINATION, "r")
        self._subscribed = self._before = self._within = 0
        self._server, self._own = ServerUse(pid), ProcessorUse()

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
        number = self._subscribed
        topic = f"new/{os.getpid()}/{number // _GROUP}/{number % _GROUP}"
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
        return [
            Metric(RESULT, SERVER_US, self._server.nanoseconds / 1000 / self._within),
            Metric(RESULT, APPLICATION_US, self._own.nanoseconds / 1000 / self._within),
        ]

    def close(self) -> None:
        self._connection.close()


class DisplayTask(Task):
    """Displays all topics over the socket that runmqsc uses, and discards the lines."""

    def __init__(self, directory: QueueManagerDirectory, pid: int) -> None:
        self._directory = directory
        self._pid = pid

    def run(self, recorder: PhaseRecorder, report: ReportProgress) -> list[Metric]:
        timeline = recorder.timeline
        recorder.operation(DISPLAY)
        progress = ProgressReporter(recorder, DISPLAY, 0, report)
        results: list[Metric] = []
        now = wait_until(timeline.measured_ns)
        done = 0
        # A display may outlast the window: it counts in the window in which it began.
        while done == 0 or now < timeline.cool_ns:
            used = process_ns(self._pid)
            with _MemoryWatch(self._pid) as memory:
                began = time.perf_counter()
                topics = self._display()
                seconds = time.perf_counter() - began
            now = time.perf_counter_ns()
            count_in(recorder, MEASURED, DISPLAY, seconds, now)
            metrics = (
                (DISPLAY_SECONDS, seconds),
                (DISPLAY_CPU, (process_ns(self._pid) - used) / 1e9),
                (MEMORY_GROWN, float(memory.grown)),
                (DISPLAYED, float(topics)),
            )
            results += [Metric(RESULT, name, value, position=done) for name, value in metrics]
            done += 1
            if now >= progress.next_ns:
                progress.report(now, done)
        return results

    def _display(self) -> int:
        """Return the number of topics displayed."""
        topics = 0
        try:
            for reply in control(self._directory, "mqsc", text=_ALL_TOPICS, echo=False):
                if str(reply.get("line", "")).startswith(_ONE_TOPIC):
                    topics += 1
        except NotRunningError as error:
            raise PointFailed(str(error)) from None
        return topics

    def close(self) -> None:
        return


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
