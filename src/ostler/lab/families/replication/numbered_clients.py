"""Clients that never stop: producers and consumers of numbered persistent messages, in one process.

Each has a connection and a thread of its own. When its connection breaks, it connects again by the list of addresses,
as often as it takes. It does not use automatic reconnection: the laboratory has to see what was acknowledged, and when.
"""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable, Sequence
from typing import Final

from ostler.client.api.connection import Connection, connect
from ostler.client.api.message import Message
from ostler.client.api.queue import Queue
from ostler.lab.families.replication.history import History, longest_gap, tenths
from ostler.lab.families.task import RESULT, Task, wait_until
from ostler.lab.load.progress import ProgressReporter, ReportProgress
from ostler.lab.load.timeline import PhaseRecorder
from ostler.lab.runner.contract import GET, PUT, Metric, PointFailed
from ostler.lab.runner.queue_managers.plan import CHANNEL
from ostler.lab.store.courses import DOUBLED, IN_DOUBT, LOST, NO_SERVICE, TENTH
from ostler.model.errors import MQError

QUEUE: Final = "LAB.REQUEST.0"
UNKNOWN: Final = "messages got that nobody put"
GETS_IN_DOUBT: Final = "gets in doubt"
ACKNOWLEDGED: Final = "puts acknowledged"
RECONNECTIONS: Final = "reconnections"
_HEAD_BYTES: Final = 12
_RETRY_SECONDS: Final = 0.02
_GET_SECONDS: Final = 0.2
_WINDOW: Final = 2000
"""Producers wait while more messages than this are in flight: consumers have to catch up after a failover, too."""
_DRAIN_SECONDS_MAX: Final = 60.0
_EMPTY_LOOKS: Final = 5
"""A queue from which nothing was got so often in a row is empty. One of the looks may have found no leader."""
_RECONNECT_SECONDS_MAX: Final = 60.0
_POLL_SECONDS: Final = 0.05


class NumberedClients(Task):
    """As many producers as consumers. Counts puts and gets, and reports lost and doubled messages at the end."""

    def __init__(
        self,
        queue_manager: str,
        addresses: Sequence[tuple[str, int]],
        clients: int,
        body_bytes: int,
        *,
        is_spread: bool = False,
    ) -> None:
        """Where clients are spread, each begins with another address of the list, and goes on with those behind it."""
        self._queue_manager = queue_manager
        self._names = [f"{host}({port})" for host, port in addresses]
        self._is_spread = is_spread
        self._clients = clients
        self._body = bytes(max(body_bytes - _HEAD_BYTES, 0))
        self._turn = 0
        self._lock = threading.Lock()
        self._reset()

    def _reset(self) -> None:
        self._history = History()
        self._acknowledged_ns: list[int] = []
        self._in_flight = 0
        self._reconnections = 0
        self._failure = ""
        self._is_over = threading.Event()
        """Producers stop."""
        self._is_drained = threading.Event()
        """Consumers stop."""

    # -- the process ---------------------------------------------------------------------------------------------------

    def run(self, recorder: PhaseRecorder, report: ReportProgress) -> list[Metric]:
        self._reset()
        self._turn += 1
        self._puts, self._gets = recorder.operation(PUT), recorder.operation(GET)
        first = self._turn * self._clients
        producers = [self._thread(self._produce, first + number) for number in range(self._clients)]
        consumers = [self._thread(self._consume, number) for number in range(self._clients)]
        timeline = recorder.timeline
        wait_until(timeline.begin_ns)
        for thread in (*consumers, *producers):
            thread.start()
        progress = ProgressReporter(recorder, PUT, 0, report)
        while (now_ns := time.perf_counter_ns()) < timeline.end_ns and not self._failure:
            if now_ns >= progress.next_ns:
                with self._lock:
                    progress.report(now_ns, len(self._acknowledged_ns))
            time.sleep(_POLL_SECONDS)
        self._is_over.set()
        self._join(producers, "producers")
        # Whatever is on the queue now was put before: consumers get until there is nothing.
        self._join(consumers, "consumers")
        if self._failure:
            raise PointFailed(self._failure)
        return self._results(timeline.measured_ns, timeline.cool_ns)

    @staticmethod
    def _thread(target: Callable[[int], None], number: int) -> threading.Thread:
        return threading.Thread(target=target, args=(number,), daemon=True)

    def _join(self, threads: Sequence[threading.Thread], what: str) -> None:
        deadline = time.monotonic() + _DRAIN_SECONDS_MAX + _RECONNECT_SECONDS_MAX
        for thread in threads:
            thread.join(max(deadline - time.monotonic(), 0.0))
            if thread.is_alive():
                raise PointFailed(f"{what} did not come to an end within {_DRAIN_SECONDS_MAX:.0f} s")

    def _results(self, from_ns: int, to_ns: int) -> list[Metric]:
        history, gap = self._history, longest_gap(self._acknowledged_ns, from_ns, to_ns)
        found = {
            NO_SERVICE: gap.seconds,
            LOST: len(history.lost),
            DOUBLED: len(history.doubled),
            UNKNOWN: len(history.unknown),
            ACKNOWLEDGED: len(history.put),
            IN_DOUBT: len(history.put_in_doubt),
            GETS_IN_DOUBT: len(history.got_in_doubt),
            RECONNECTIONS: self._reconnections,
        }
        course = tenths(self._acknowledged_ns, from_ns, to_ns)
        return [
            *(Metric(RESULT, name, float(value)) for name, value in found.items()),
            *(Metric(TENTH, PUT, float(count), position=number) for number, count in enumerate(course)),
        ]

    def close(self) -> None:
        self._is_over.set()
        self._is_drained.set()

    # -- one client ----------------------------------------------------------------------------------------------------

    def _connection_names(self, number: int) -> str:
        at = number % len(self._names) if self._is_spread else 0
        return ",".join([*self._names[at:], *self._names[:at]])

    def _connected(self, number: int) -> Connection | None:
        """Connect, as often as it takes; None when it takes too long, or the run has failed."""
        deadline = time.monotonic() + _RECONNECT_SECONDS_MAX
        why = ""
        while time.monotonic() < deadline and not self._failure:
            try:
                return connect(
                    self._queue_manager,
                    self._connection_names(number),
                    channel=CHANNEL,
                    reconnect=False,
                    application="ostler-lab",
                )
            except MQError as error:
                why = str(error)
                with self._lock:
                    # The rate over time shows that there was a client, and nobody for it.
                    self._puts.fail(time.perf_counter_ns())
            time.sleep(_RETRY_SECONDS)
        with self._lock:
            waited = f"{_RECONNECT_SECONDS_MAX:.0f} s"
            self._failure = self._failure or f"no instance took a client for {waited}: {why}"
        return None

    def _leave(self, connection: Connection) -> None:
        with contextlib.suppress(MQError, OSError):
            connection.close(commit=False)
        with self._lock:
            self._reconnections += 1

    def _produce(self, producer: int) -> None:
        history, number = History(), 0
        connection = self._connected(producer)
        while connection is not None and not self._is_over.is_set():
            try:
                queue = connection.open(QUEUE, "w")
                while not self._is_over.is_set():
                    if self._in_flight >= _WINDOW:
                        time.sleep(_RETRY_SECONDS)
                        continue
                    number += 1
                    self._put_one(queue, history, (producer, number))
            except MQError:
                self._leave(connection)
                connection = self._connected(producer)
        if connection is not None:
            self._close_quietly(connection)
        with self._lock:
            self._history.add(history)

    def _put_one(self, queue: Queue, history: History, identity: tuple[int, int]) -> None:
        producer, number = identity
        body = producer.to_bytes(4, "big") + number.to_bytes(8, "big") + self._body
        began_ns = time.perf_counter_ns()
        try:
            queue.put(Message(body, persistent=True), syncpoint=False)
        except MQError:
            history.put_in_doubt.add(identity)
            with self._lock:
                self._in_flight += 1
                self._puts.fail(time.perf_counter_ns())
            raise
        ended_ns = time.perf_counter_ns()
        history.put.add(identity)
        with self._lock:
            self._in_flight += 1
            self._puts.record(began_ns, ended_ns)
            self._acknowledged_ns.append(ended_ns)

    def _consume(self, number: int) -> None:
        history = History()
        connection = self._connected(number)
        empty = 0
        deadline: float | None = None
        while connection is not None and empty < _EMPTY_LOOKS and not self._is_drained.is_set():
            try:
                queue = connection.open(QUEUE, "s")
                while empty < _EMPTY_LOOKS and not self._is_drained.is_set():
                    if self._is_over.is_set():
                        deadline = deadline or time.monotonic() + _DRAIN_SECONDS_MAX
                        if time.monotonic() > deadline:
                            raise PointFailed(f"the queue was not empty {_DRAIN_SECONDS_MAX:.0f} s behind the end")
                    got = self._get_one(connection, queue, history)
                    empty = 0 if got or not self._is_over.is_set() else empty + 1
            except PointFailed as failure:
                self._failure = str(failure)
                break
            except MQError:
                empty = 0
                self._leave(connection)
                connection = self._connected(number)
        if connection is not None:
            self._close_quietly(connection)
        with self._lock:
            self._history.add(history)

    def _get_one(self, connection: Connection, queue: Queue, history: History) -> bool:
        """Get a message in a unit of work and commit it; False when there was none."""
        began_ns = time.perf_counter_ns()
        message = queue.get(wait=_GET_SECONDS, syncpoint=True)
        if message is None:
            return False
        identity = int.from_bytes(message.data[:4], "big"), int.from_bytes(message.data[4:12], "big")
        try:
            connection.commit()
        except MQError:
            history.got_in_doubt.add(identity)
            raise
        history.got[identity] += 1
        with self._lock:
            self._in_flight -= 1
            self._gets.record(began_ns, time.perf_counter_ns())
        return True

    @staticmethod
    def _close_quietly(connection: Connection) -> None:
        with contextlib.suppress(MQError, OSError):
            connection.close()
