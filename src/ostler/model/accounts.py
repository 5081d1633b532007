"""Data for statistics and accounting messages beyond the running counters, kept only while they are enabled."""

from __future__ import annotations

from typing import Final, final

from mypy_extensions import i64

from ostler.model.counters import Counts

# MQDISCONNECT numbers: how connections end.
DISCONNECTED: Final = 0
LOST: Final = 1
ENDED_BY_MANAGER: Final = 2

_SHORT_SHIFT: Final = 5
_LONG_SHIFT: Final = 10
_SCALE: Final = 10


@final
class Spread:
    """Count, sum and extremes of some values."""

    def __init__(self) -> None:
        self.count: i64 = 0
        self.total: i64 = 0
        self.lowest: i64 = 0
        self.highest: i64 = 0

    def add(self, value: i64) -> None:
        if self.count == 0:
            self.lowest = value
            self.highest = value
        elif value < self.lowest:
            self.lowest = value
        elif value > self.highest:
            self.highest = value
        self.count += 1
        self.total += value


@final
class MovingAverage:
    """Two moving averages of a value: over the last few dozen, and over the last few thousand."""

    def __init__(self) -> None:
        self.count: i64 = 0
        self._short: i64 = 0
        self._long: i64 = 0

    def add(self, value: i64) -> None:
        scaled: i64 = value << _SCALE
        if self.count == 0:
            self._short = scaled
            self._long = scaled
        else:
            self._short += (scaled - self._short) >> _SHORT_SHIFT
            self._long += (scaled - self._long) >> _LONG_SHIFT
        self.count += 1

    def short_term(self) -> int:
        return self._short >> _SCALE

    def long_term(self) -> int:
        return self._long >> _SCALE


@final
class QueueAccount:
    """The activity of one connection on one queue since its last accounting message."""

    def __init__(self, name: str, queue_type: i64, definition_type: i64, created_date: str, created_time: str) -> None:
        self.name = name
        self.queue_type: i64 = queue_type
        self.definition_type: i64 = definition_type
        self.created_date = created_date
        self.created_time = created_time
        self.opened_ms: i64 = 0
        self.handles: i64 = 0  # open now
        self.begin()

    def begin(self) -> None:
        """Reset the counters for a new account; the time of the open stays."""
        self.opens: i64 = 0
        self.closed_ms: i64 = 0
        self.puts = Spread()  # bytes of the messages
        self.puts_persistent = Spread()
        self.puts_failed: i64 = 0
        self.put1s: i64 = 0  # of the puts
        self.put1s_persistent: i64 = 0
        self.put1s_failed: i64 = 0
        self.gets = Spread()
        self.gets_persistent = Spread()
        self.gets_failed: i64 = 0
        self.browses = Spread()
        self.browses_persistent = Spread()
        self.browses_failed: i64 = 0
        self.ages = Spread()  # milliseconds that messages got had been on the queue
        self.ages_persistent = Spread()
        self.callbacks: list[int] = [0, 0, 0, 0]  # MQCB: registered, deregistered, resumed, suspended
        self.callbacks_failed: i64 = 0
        self.has_activity = False

    def count_put(self, size_bytes: i64, is_persistent: bool, is_put1: bool) -> None:
        self.has_activity = True
        if is_persistent:
            self.puts_persistent.add(size_bytes)
            self.put1s_persistent += int(is_put1)
        else:
            self.puts.add(size_bytes)
            self.put1s += int(is_put1)

    def count_get(self, size_bytes: i64, is_persistent: bool, age_ms: i64) -> None:
        self.has_activity = True
        if is_persistent:
            self.gets_persistent.add(size_bytes)
            self.ages_persistent.add(age_ms)
        else:
            self.gets.add(size_bytes)
            self.ages.add(age_ms)

    def count_browse(self, size_bytes: i64, is_persistent: bool) -> None:
        self.has_activity = True
        if is_persistent:
            self.browses_persistent.add(size_bytes)
        else:
            self.browses.add(size_bytes)

    def count_failed_put(self, is_put1: bool) -> None:
        self.has_activity = True
        if is_put1:
            self.put1s_failed += 1
        else:
            self.puts_failed += 1

    def count_failed_get(self, is_browse: bool) -> None:
        self.has_activity = True
        if is_browse:
            self.browses_failed += 1
        else:
            self.gets_failed += 1

    def count_callback(self, effect: i64) -> None:
        """Count an MQCB by its effect, an index of `callbacks`, or -1 if it failed."""
        self.has_activity = True
        if effect < 0:
            self.callbacks_failed += 1
        else:
            self.callbacks[effect] += 1


@final
class ConnectionAccount:
    """The accounts of one connection. It exists only if any of them is enabled."""

    def __init__(self, counts_verbs: bool, queue_switch: i64, started_ms: i64) -> None:
        self.counts_verbs = counts_verbs
        self.queue_switch: i64 = queue_switch  # MQMON_NONE: not for any queue; OFF or ON: for queues with ACCTQ(QMGR)
        self.started_ms: i64 = started_ms  # of the interval
        self.sequence: i64 = 0
        self.base: Counts = {}  # the connection's counters when the interval began
        self.queues: dict[str, QueueAccount] = {}
        # Time spent in the queue manager for this connection, where the server measures it.
        self.busy_ns: i64 = 0


APPLICATIONS_MAX: Final = 10_000
"""More names of applications are not counted: a client may choose its name."""


@final
class ApplicationInstances:
    """The connections of applications of one name: those that are there, and those that began and ended so far."""

    def __init__(self) -> None:
        self.now: i64 = 0
        self.started: i64 = 0
        self.ended: i64 = 0


@final
class ManagerStatistics:
    """The queue manager's own counters, beside those of verbs."""

    def __init__(self) -> None:
        self.connects: i64 = 0
        self.connects_failed: i64 = 0
        self.connections_high: i64 = 0  # at the same time, since statistics were last written
        self.connections_high_monitored: i64 = 0  # since they were last published on system topics
        self.disconnects: i64 = 0
        self.disconnects_lost: i64 = 0
        self.disconnects_by_manager: i64 = 0
        self.applications: dict[str, ApplicationInstances] = {}
        self.keeps_ended_applications = False
        """Names without a connection stay, until their last figures are published on a system topic."""
        # Snapshots at the begin of the interval; None: statistics of verbs are disabled.
        self.verbs_base: Counts | None = None
        self.manager_base: Counts = {}

    def application_started(self, name: str) -> None:
        found = self.applications.get(name)
        if found is None:
            if len(self.applications) >= APPLICATIONS_MAX:
                return
            found = self.applications[name] = ApplicationInstances()
        found.now += 1
        found.started += 1

    def application_ended(self, name: str) -> None:
        found = self.applications.get(name)
        if found is None or found.now == 0:
            return
        found.now -= 1
        found.ended += 1
        if found.now == 0 and not self.keeps_ended_applications:
            del self.applications[name]

    def counts(self) -> Counts:
        return {
            "connects": self.connects,
            "connects_failed": self.connects_failed,
            "disconnects": self.disconnects,
            "disconnects_lost": self.disconnects_lost,
            "disconnects_by_manager": self.disconnects_by_manager,
        }
