"""Publishes the use of resources on system topics, `$SYS/MQ/INFO/QMGR/<name>/Monitor`, as IBM MQ does.

Metadata is published at the start and retained. Data is published every interval (MonitorPublishHeartBeat) on topics
that have a subscription, and nothing is computed for others. Values of an interval are differences of the counters
that the engine keeps anyway; the first ones on a topic cover the time since the start, as their interval says. A pass
over many queues releases the engine's lock after a few of them.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Final, NamedTuple

from ostler.engine.core import Engine
from ostler.engine.pubsub.own_publication import clear_retained_below, publish_own
from ostler.engine.pubsub.topic_strings import ADMINISTRATIVE
from ostler.engine.queue.queue import Queue
from ostler.model import constants as mq
from ostler.model.counters import Counts, queue_counts, verb_counts
from ostler.observe.resource_messages import all_metadata, data_message, data_topic, metadata_topic, monitor_topic
from ostler.observe.resource_table import CLASSES, STATAPP, ResourceClass, ResourceType
from ostler.observe.resource_values import queue_values, verb_values
from ostler.observe.statistics import difference
from ostler.server.log_statistics import log_values
from ostler.server.manager_core import ManagerCore
from ostler.server.supervised_thread import SupervisedThread
from ostler.server.system_figures import disk_values, memory_values, processor_times, processor_values

# Queues whose counters are read, or whose data is published, before the lock is released for others.
_QUEUES_AT_ONCE: Final = 8
_NANOSECONDS: Final = 1000  # of a microsecond

Message = tuple[str, bytes]
"""A topic and the data to publish on it."""


class _Sample(NamedTuple):
    """Counters at a time."""

    at_ns: int
    counts: Counts


class _QueueSample(NamedTuple):
    """Counters of a queue at a time, and the types of data that have a subscription."""

    queue: Queue
    depth: int
    at_ns: int
    counts: Counts
    types: list[ResourceType]


class ResourcePublisher:
    """One for each queue manager, with a thread of its own. `publish` is called by one thread at a time."""

    def __init__(self, manager: ManagerCore, log_path: Path) -> None:
        self._manager = manager
        self._log_path = log_path
        self._stop = manager.machine.event()
        self._start = _Sample(0, {})
        self._published: dict[str, _Sample] = {}  # the last publication of each topic, without those of queues
        self._queues: dict[int, tuple[int, tuple[int, ...]]] = {}  # time and counters, by the number of the queue
        self._applications: dict[str, tuple[int, int, int]] = {}  # time, started and ended, by the name
        self._slowest_us = 0
        self._slowest_at_us = 0
        self._thread = SupervisedThread(
            "ostler-monitor",
            "publisher of resources",
            self._run,
            self._stop.is_set,
            manager.note,
            stopping=self._stop,
            machine=manager.machine,
        )

    # -- life ----------------------------------------------------------------------------------------------------------

    def begin(self) -> None:
        """Publish the metadata and begin the first interval, when the queue manager has started."""
        self._start = _Sample(self._manager.machine.monotonic_ns(), processor_times())
        metadata = all_metadata(self._manager.name)
        with self._manager.turn as engine:
            for each in metadata:
                publish_own(engine, each.topic, mq.MQFMT_ADMIN, each.body, retains=True)
            # Another release may have left others, in an orderly end.
            clear_retained_below(engine, metadata_topic(self._manager.name), {each.topic for each in metadata})
            engine.topics.counts.begin(engine.topics.counts.of_monitoring)
        self._thread.start()

    def stop(self) -> None:
        self._stop.set()
        self._thread.join()

    def _run(self) -> None:
        seconds = self._manager.settings.tuning.publication_interval_seconds
        while not self._stop.wait(seconds):
            self.publish()

    # -- a pass --------------------------------------------------------------------------------------------------------

    def publish(self) -> None:
        """Publish the data of all topics that have a subscription."""
        slowest_us = int(self._manager.writer.counters.max_us)
        if slowest_us > self._slowest_us:
            self._slowest_us = slowest_us
            self._slowest_at_us = time.time_ns() // _NANOSECONDS
        for of_class in CLASSES:
            if of_class.name == STATAPP:
                self._publish_applications(of_class)
            elif of_class.is_per_object:
                self._publish_queues(of_class)
            else:
                self._publish_class(of_class)

    def _send(self, messages: Sequence[Message]) -> None:
        with self._manager.turn as engine:
            for topic, body in messages:
                publish_own(engine, topic, mq.MQFMT_ADMIN, body)

    # -- the queue manager ---------------------------------------------------------------------------------------------

    def _publish_class(self, of_class: ResourceClass) -> None:
        name = self._manager.name
        topics = {each: data_topic(name, of_class, each) for each in of_class.types}
        with self._manager.turn:
            tree = self._manager.engine.topics
            wanted = {each: topic for each, topic in topics.items() if tree.matching_topic(topic)}
        if not wanted:
            return
        now, states = self._read(of_class)
        messages: list[Message] = []
        for of_type, topic in wanted.items():
            before = self._published.get(topic, self._start)
            interval_us = (now.at_ns - before.at_ns) // _NANOSECONDS
            values = self._values(of_class, difference(now.counts, before.counts), interval_us)
            messages.append((topic, data_message(name, of_class, of_type, interval_us, {**values, **states})))
            self._published[topic] = now
        self._send(messages)

    def _read(self, of_class: ResourceClass) -> tuple[_Sample, Counts]:
        """Return the counters of a class now, and its values that are states."""
        manager = self._manager
        if of_class.name == "CPU":
            return _Sample(self._manager.machine.monotonic_ns(), processor_times()), memory_values()
        with manager.turn as engine:
            at_ns = self._manager.machine.monotonic_ns()
            if of_class.name == "DISK":
                metrics = manager.log.metrics
                counts = {"log_physical_bytes": metrics.physical_bytes, "log_logical_bytes": metrics.logical_bytes}
                states = log_values(manager.log.status(), metrics, manager.writer.counters, manager.log.durable_lsn())
            else:
                counts = {**verb_counts(engine.counters), **engine.statistics.counts()}
                states = _take_marks(engine)
        if of_class.name == "DISK":
            directory = manager.directory
            states |= disk_values(directory.path, directory.errors, self._log_path)
            states["log_slowest_at_us"] = self._slowest_at_us
        return _Sample(at_ns, counts), states

    def _values(self, of_class: ResourceClass, counts: Counts, interval_us: int) -> Counts:
        if of_class.name == "CPU":
            return processor_values(counts, interval_us)
        return verb_values(counts) if of_class.name == "STATMQI" else counts

    # -- queues --------------------------------------------------------------------------------------------------------

    def _publish_queues(self, of_class: ResourceClass) -> None:
        kept: dict[int, tuple[int, tuple[int, ...]]] = {}
        names = self._queue_names(of_class)
        for first in range(0, len(names), _QUEUES_AT_ONCE):
            messages: list[Message] = []
            for sample in self._read_queues(of_class, names[first : first + _QUEUES_AT_ONCE]):
                messages += self._queue_messages(of_class, sample)
                kept[sample.queue.queue_id] = (sample.at_ns, tuple(sample.counts.values()))
            if messages:
                self._send(messages)
            if self._stop.is_set():
                return
        self._queues = kept

    def _queue_names(self, of_class: ResourceClass) -> list[str]:
        with self._manager.turn as engine:
            return self._watched_names(of_class, engine.queues)

    def _watched_names(self, of_class: ResourceClass, all_names: Iterable[str]) -> list[str]:
        """Return the names of objects that may have a subscription: all of them, if one has wildcards. In a turn."""
        engine = self._manager.engine
        if engine.topics.has_wildcards_below(ADMINISTRATIVE):
            return list(all_names)
        node = engine.topics.find(f"{monitor_topic(self._manager.name)}/{of_class.name}")
        children = node.children if node is not None else None
        return [name.replace("&", "/") for name in children] if children is not None else []

    def _read_queues(self, of_class: ResourceClass, names: Sequence[str]) -> list[_QueueSample]:
        """Return the counters of those that exist and have a subscription."""
        found: list[_QueueSample] = []
        with self._manager.turn as engine:
            at_ns = self._manager.machine.monotonic_ns()
            for name in names:
                queue = engine.queues.get(name)
                if queue is None:
                    continue
                topics = ((each, data_topic(self._manager.name, of_class, each, name)) for each in of_class.types)
                types = [each for each, topic in topics if engine.topics.matching_topic(topic)]
                if types:
                    found.append(_QueueSample(queue, int(queue.depth), at_ns, queue_counts(queue.counters), types))
        return found

    def _queue_messages(self, of_class: ResourceClass, sample: _QueueSample) -> list[Message]:
        before_ns, before = self._queues.get(sample.queue.queue_id, (self._start.at_ns, ()))
        interval_us = (sample.at_ns - before_ns) // _NANOSECONDS
        counts = sample.counts
        if before:
            counts = {name: value - b for (name, value), b in zip(counts.items(), before, strict=True)}
        values = queue_values(counts, sample.depth)
        name = sample.queue.name
        manager = self._manager.name
        return [
            (
                data_topic(manager, of_class, each, name),
                data_message(manager, of_class, each, interval_us, values, name),
            )
            for each in sample.types
        ]

    # -- applications --------------------------------------------------------------------------------------------------

    def _publish_applications(self, of_class: ResourceClass) -> None:
        """Publish the instances of applications by name: connections, as nothing moves them."""
        manager = self._manager.name
        (of_type,) = of_class.types
        messages: list[Message] = []
        published: dict[str, tuple[int, int, int]] = {}
        with self._manager.turn as engine:
            found = engine.statistics.applications
            watched = self._watched_names(of_class, found)
            at_ns = self._manager.machine.monotonic_ns()
            for name in watched:
                instances = found.get(name)
                topic = data_topic(manager, of_class, of_type, name)
                if instances is None or not engine.topics.matching_topic(topic):
                    continue
                before_ns, started, ended = self._applications.get(name, (self._start.at_ns, 0, 0))
                values = {
                    "instances": int(instances.now),
                    "instances_started": int(instances.started) - started,
                    "instances_ended": int(instances.ended) - ended,
                }
                interval_us = (at_ns - before_ns) // _NANOSECONDS
                messages.append((topic, data_message(manager, of_class, of_type, interval_us, values, name)))
                published[name] = (at_ns, int(instances.started), int(instances.ended))
            for name in [each for each, instances in found.items() if instances.now == 0]:
                del found[name]
                published.pop(name, None)
            engine.statistics.keeps_ended_applications = bool(watched) or engine.topics.has_wildcards_below(
                ADMINISTRATIVE
            )
        self._applications = published
        if messages:
            self._send(messages)


def _take_marks(engine: Engine) -> Counts:
    """Return the highest and lowest numbers since the last call, and begin new ones. With the lock held."""
    statistics = engine.statistics
    subscriptions = engine.topics.counts
    marks = subscriptions.of_monitoring
    durable, others = 0, len(marks.high) // 2
    found = {
        "connections_high": int(statistics.connections_high_monitored),
        "durable_high": marks.high[durable],
        "durable_low": marks.low[durable],
        "nondurable_high": marks.high[others],
        "nondurable_low": marks.low[others],
    }
    statistics.connections_high_monitored = len(engine.connections)
    subscriptions.begin(marks)
    return found
