"""Queue managers with a topic tree, and a probe of their response: a light client with frequent requests.

A tree is kept from one turn to the next, since a million topics take a while to create; removed topics are created
again.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from pathlib import Path
from typing import Final, Protocol

import ostler
from ostler.lab.families.held_connections import resident_bytes
from ostler.lab.families.task import RESULT, Loop, wait_until
from ostler.lab.load.mq.topic_maker import GROUPED, MAKE, RETAIN
from ostler.lab.load.timeline import MEASURED, PhaseRecorder
from ostler.lab.runner.contract import ROUND_TRIP, Metric, PointFailed
from ostler.lab.runner.queue_managers.child import TOPIC_ROUNDS, TOPICS_REMOVED
from ostler.lab.runner.queue_managers.plan import CHANNEL, QueueManagerPlan
from ostler.lab.runner.queue_managers.process import LabQueueManager
from ostler.lab.store.histogram import merge, percentile_ns
from ostler.lab.store.roles import QUEUE_MANAGER
from ostler.server.config.qm_ini import LogSection

PROBED: Final = "LAB.PROBE"
DESTINATION: Final = "LAB.DESTINATION"
DEAD_LETTER_QUEUE: Final = "LAB.DEAD.LETTERS"
MADE: Final = "lab"
"""The first level of all topics that are made in groups."""
MEMORY_PER_TOPIC: Final = "memory per topic, bytes"
TOPICS: Final = "topics"
PROBES_PER_SECOND: Final = 500.0
LAG: Final = "loop lag p99.9, ms"
WHILE: Final = "round trip while topics go"
LAG_BEFORE: Final = "loop lag p99.9 before, idle, ms"
LAG_WHILE: Final = "loop lag p99.9 while topics go, ms"
NEVER: Final = 0
_LOG: Final = LogSection(primary_files=3, file_pages=4096)
# Otherwise unused topics beyond 100,000 would go at once, and not after TREELIFE.
_STANZAS: Final = {"TuningParameters": {"TopicNodesKept": "999999999"}}
_AT_ONCE: Final = 50_000
_SURPLUS_MAX: Final = 1.25
_SECOND_NS: Final = 1_000_000_000
_COUNT: Final = re.compile(r"TPCOUNT\(([0-9]+)\)")


def tree_plan(is_accounting: bool) -> QueueManagerPlan:
    """Return the plan of a queue manager for topic trees. TREELIFE is NEVER until it is changed."""
    queues = (PROBED, DESTINATION, DEAD_LETTER_QUEUE)
    commands = (
        *(f"DEFINE QLOCAL({name}) MAXDEPTH(999999999)" for name in queues),
        f"ALTER QMGR TREELIFE({NEVER}) DEADQ({DEAD_LETTER_QUEUE})",
    )
    return QueueManagerPlan(log=_LOG, commands=commands, stanzas=_STANZAS, is_accounting=is_accounting)


class TopicTreeManager:
    """A queue manager and its tree. TREELIFE is NEVER until it is changed."""

    def __init__(self, root: Path, is_accounting: bool, say: Callable[[str], None]) -> None:
        plan = tree_plan(is_accounting)
        self.manager = LabQueueManager(root, plan)
        self._say = say
        self._generation = 0
        self._own = self.topics()
        """The number of topics it has from the start."""
        shown = sum("TOPICSTR(" in line for line in self.manager.mqsc("DISPLAY TPSTATUS('#')"))
        self._hidden = self._own - shown
        """The number of system topics, which no wildcard above them shows."""
        self.memory_per_topic = 0.0
        """From the topics created first; later ones may reuse memory."""

    def topics(self) -> int:
        """Return the number of nodes in the tree, including the root, as displayed."""
        for line in self.manager.mqsc("DISPLAY PUBSUB ALL"):
            found = _COUNT.search(line)
            if found is not None:
                return int(found[1])
        raise PointFailed("DISPLAY PUBSUB shows no number of topics")

    def displayed(self) -> int:
        """Return the number of nodes that DISPLAY TPSTATUS('#') shows."""
        return self.topics() - self._hidden

    def made(self) -> int:
        """Return the number of created nodes that still exist."""
        return self.topics() - self._own

    def live(self, seconds: int) -> None:
        """Set TREELIFE."""
        self.manager.mqsc(f"ALTER QMGR TREELIFE({seconds})")

    def fill(self, topics: int, levels: int = GROUPED, retain: bool = False) -> int:
        """Create topics until there are at least this many, with TREELIFE(NEVER), and return their number."""
        self.live(NEVER)
        there = self.made()
        missing = topics - there
        if missing <= 0:
            return there
        self._generation += 1
        prefix = f"{MADE}/{self._generation}" if levels == GROUPED else f"{MADE}{self._generation}"
        branches = missing if levels == GROUPED else -(-missing // levels)
        memory = resident_bytes(self.manager.pid)
        for first in range(0, branches, _AT_ONCE):
            if first:
                self._say(f"{first * max(levels, 1):,} of {missing:,} topics are there.")
            count = min(_AT_ONCE, branches - first)
            self.manager.call_trusted(MAKE, prefix, str(first), str(count), str(levels), RETAIN if retain else "")
        now = self.made()
        if now < topics:
            raise PointFailed(f"there are {now:,} topics, and {topics:,} were made")
        if not self.memory_per_topic:
            self.memory_per_topic = (resident_bytes(self.manager.pid) - memory) / (now - there)
        return now

    def refill(self, topics: int, seconds_max: float) -> int:
        """Create topics as `fill` does, and remove all before that when a quarter more than wanted are there: those of
        earlier subscriptions stay until TREELIFE is over. Returns their number."""
        if self.made() > _SURPLUS_MAX * topics:
            self.empty(seconds_max)
        return self.fill(topics)

    def counters(self) -> tuple[int, int]:
        """Return how many topics were removed, and how often all were examined, since its start."""
        found = {each.name: each.value for each in self.manager.metrics() if each.source == QUEUE_MANAGER}
        return int(found[TOPICS_REMOVED]), int(found[TOPIC_ROUNDS])

    def empty(self, seconds_max: float, life_seconds: int = 1) -> None:
        """Let all topics that may go be removed, with that TREELIFE; bounded. TREELIFE is NEVER then."""
        self.live(life_seconds)
        deadline = time.monotonic() + seconds_max
        while self.made() > 0:
            if time.monotonic() > deadline:
                raise PointFailed(f"{self.made():,} topics were still there after {seconds_max:.0f} s")
            time.sleep(0.1)
        self.live(NEVER)

    def end(self) -> None:
        self.manager.end()


class SharedFlag(Protocol):
    """Set while topics are removed; shared by two processes."""

    value: int


class LagProbe(Loop):
    """A client that gets from an empty queue at a fixed rate: one request and its answer each time.

    Nothing is easier for a queue manager, so that a longer time shows how late its loop was. It is timed from when a
    request was due, so waiting behind others counts.
    """

    main_operation = ROUND_TRIP

    def __init__(self, address: tuple[str, int], flag: SharedFlag | None = None, is_idle_first: bool = False) -> None:
        """With `is_idle_first` nothing else happens in the warm-up, which is the control of the window."""
        self._connection = ostler.connect("", f"{address[0]}({address[1]})", channel=CHANNEL)
        self._queue = self._connection.open(PROBED, "r")
        self._flag = flag
        self._is_idle_first = is_idle_first
        self._every_ns = round(_SECOND_NS / PROBES_PER_SECOND)
        self._next_ns = 0
        self._recorder: PhaseRecorder | None = None

    def begin(self, recorder: PhaseRecorder) -> None:
        self._recorder = recorder
        self._all = recorder.operation(ROUND_TRIP)
        self._within = recorder.operation(WHILE) if self._flag is not None else None
        self._next_ns = recorder.timeline.begin_ns

    def turn(self) -> int:
        due = self._next_ns
        self._next_ns += self._every_ns
        wait_until(due)
        goes = self._flag is not None and self._flag.value
        if self._queue.get(wait=0) is not None:
            raise PointFailed(f"there is a message on {PROBED}")
        end = time.perf_counter_ns()
        self._all.record(due, end)
        if goes and self._within is not None:
            self._within.record(due, end)
        return end

    def results(self) -> list[Metric]:
        assert self._recorder is not None
        found = [lag(LAG, ROUND_TRIP, self._recorder)]
        if self._is_idle_first:
            found.append(lag(LAG_BEFORE, ROUND_TRIP, self._recorder, idle=True))
        if self._within is not None:
            found.append(lag(LAG_WHILE, WHILE, self._recorder))
        return [each for each in found if each is not None]

    def close(self) -> None:
        self._connection.close()


def lag(name: str, operation: str, recorder: PhaseRecorder, idle: bool = False) -> Metric | None:
    """Return p99.9 of all operations that ended within the window or after it; `idle`: of those before it."""
    buckets: dict[int, int] = {}
    highest = 0
    for phase in recorder.phases[:MEASURED] if idle else recorder.phases[MEASURED:]:
        for second in phase.operation(operation).seconds.values():
            merge(buckets, second.counts)
            highest = max(highest, second.highest_ns)
    if not buckets:
        return None
    return Metric(RESULT, name, percentile_ns(buckets, 99.9, highest) / 1e6)
