"""Online monitoring and statistics of one channel end (MONCHL, STATCHL).

Every channel keeps the counters of `batch.py`. This module has the values that need a clock or a reply of the partner;
an end without monitoring has no monitor, and pays for one comparison.

    network time   round trip of a heartbeat, which the partner answers without waiting for its log. It is sent when all
                   batches are confirmed. A busy channel sends one at longer intervals, behind the messages under way
    time in queue  from the counters of the transmission queue, which only this channel gets from
"""

from __future__ import annotations

from typing import Final, final

from mypy_extensions import i64

from ostler.channel.port import ChannelPort
from ostler.engine.queue.queue import Queue
from ostler.model import constants as mq
from ostler.model.accounts import MovingAverage, Spread
from ostler.wire.channel_frames import HEARTBEAT_TIMED
from ostler.wire.frames import HEARTBEAT, frame

_MICROSECONDS: Final = 1000
# The minimum time between two heartbeats, by level.
_PAUSES_US: Final[dict[int, int]] = {mq.MQMON_LOW: 1_000_000, mq.MQMON_MEDIUM: 100_000, mq.MQMON_HIGH: 10_000}
_BUSY_US: Final = 1_000_000  # added while messages are under way
_NEVER: Final = -1


@final
class ChannelMonitor:
    """The averages of one end since it was started. Times are in microseconds."""

    def __init__(self, port: ChannelPort, level: i64) -> None:
        """`level` is MQMON_LOW, MQMON_MEDIUM or MQMON_HIGH, and sets the interval of the network measurement."""
        self.network = MovingAverage()
        self.network_spread = Spread()  # since the last `take_network_spread`
        self.queue_times = MovingAverage()
        self.batch_sizes = MovingAverage()
        self.packing_times = MovingAverage()
        self.savings = MovingAverage()  # of compression, in percent
        self._port = port
        self._pause_us: i64 = i64(_PAUSES_US.get(level, 1_000_000))
        self._sent_us: i64 = _NEVER
        self._next_us: i64 = 0
        self._queue: Queue | None = None  # the transmission queue
        self._gets: i64 = 0
        self._age_ms: i64 = 0

    def begin(self, queue: Queue) -> None:
        """Start to measure a sending end, from the current counters of its transmission queue."""
        self._queue = queue
        self._gets = queue.counters.gets
        self._age_ms = queue.counters.age_total_ms
        self._next_us = self._port.now_us()
        self._measure_network(True)

    def on_send(self, has_no_batch: bool) -> None:
        """Measure a message that was got from the transmission queue. `has_no_batch`: no batch is open or in flight."""
        queue = self._queue
        if queue is None:
            return
        counters = queue.counters
        gets: i64 = counters.gets - self._gets
        if gets > 0:
            self.queue_times.add((counters.age_total_ms - self._age_ms) * _MICROSECONDS // gets)
        self._gets = counters.gets
        self._age_ms = counters.age_total_ms
        if has_no_batch:
            self._measure_network(True)  # all messages may be sent outside batches

    def on_packed(self, began_us: i64, plain_bytes: i64, packed_bytes: i64) -> None:
        """Measure the compression or expansion of a message."""
        self.packing_times.add(self._port.now_us() - began_us)
        self.savings.add(100 - 100 * packed_bytes // plain_bytes if plain_bytes > 0 else 0)

    def on_batch(self, messages: i64, was_last: bool) -> None:
        """Measure a committed batch. `was_last`: no other batch is in flight."""
        self.batch_sizes.add(messages)
        self._measure_network(was_last)

    def _measure_network(self, is_idle: bool) -> None:
        """Send a timed heartbeat, unless the last one is recent."""
        queue = self._queue
        if queue is None or self._sent_us != _NEVER:
            return
        now_us: i64 = self._port.now_us()
        if now_us >= self._next_us + (0 if is_idle and queue.depth == 0 else _BUSY_US):
            self._sent_us = now_us
            self._next_us = now_us + self._pause_us
            self._port.send(frame(HEARTBEAT, 0, HEARTBEAT_TIMED))

    def on_heartbeat_reply(self) -> None:
        """Measure the round trip of a timed heartbeat."""
        if self._sent_us == _NEVER:
            return
        took_us: i64 = self._port.now_us() - self._sent_us
        self._sent_us = _NEVER
        self.network.add(took_us)
        self.network_spread.add(took_us)

    def take_network_spread(self) -> Spread:
        """Return the network times since the last call."""
        spread = self.network_spread
        self.network_spread = Spread()
        return spread
