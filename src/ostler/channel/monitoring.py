"""What is measured of a channel that somebody watches (MONCHL, STATCHL).

Counters are kept for every channel, in `batch.py`. What needs a clock, or asks the partner for an answer, is here; an
end that nobody watches has no monitor, and pays for a comparison.

    network time   a heartbeat goes out when all is sent and confirmed, and its answer comes back at once: no log is
                   waited for. A channel that never rests sends one now and then all the same, which travels behind
                   the messages under way
    time in queue  from the counters of the transmission queue, which nobody else gets from
"""

from __future__ import annotations

from typing import Final, final

from mypy_extensions import i64

from ostler.channel.port import ChannelPort
from ostler.engine.queue.queue import Queue
from ostler.model.accounts import MovingAverage, Spread
from ostler.model.constants import MQMON_HIGH, MQMON_LOW, MQMON_MEDIUM
from ostler.wire.channel_frames import TIMED
from ostler.wire.frames import HEARTBEAT, frame

_MICROSECONDS: Final = 1000
# How long it takes at least from one heartbeat to the next.
_PAUSES_US: Final[dict[int, int]] = {MQMON_LOW: 1_000_000, MQMON_MEDIUM: 100_000, MQMON_HIGH: 10_000}
_RESTLESS_US: Final = 1_000_000  # so much longer while messages are under way
_NEVER: Final = -1


@final
class ChannelMonitor:
    """The averages of one end, since it was started. Times are microseconds."""

    def __init__(self, port: ChannelPort, level: i64) -> None:
        """`level` is a number of MQMON: how often the network is measured."""
        self.network = MovingAverage()
        self.network_spread = Spread()  # since it was taken last
        self.queue_times = MovingAverage()
        self.batch_sizes = MovingAverage()
        self.packing_times = MovingAverage()
        self.savings = MovingAverage()  # by compression, in percent
        self._port = port
        self._pause_us: i64 = i64(_PAUSES_US.get(level, 1_000_000))
        self._asked_us: i64 = _NEVER
        self._next_us: i64 = 0
        self._queue: Queue | None = None  # the transmission queue
        self._gets: i64 = 0
        self._age_ms: i64 = 0

    def begin(self, queue: Queue) -> None:
        """A sending end begins with its transmission queue as it is."""
        self._queue = queue
        self._gets = queue.counters.gets
        self._age_ms = queue.counters.age_total_ms
        self._next_us = self._port.now_us()
        self._ask(True)

    def sends(self, has_no_batch: bool) -> None:
        """A message was got from the transmission queue and is about to be sent, while a batch is under way or not."""
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
            self._ask(True)  # there may never be one

    def packed(self, began_us: i64, plain_bytes: i64, packed_bytes: i64) -> None:
        """A message was compressed, or expanded again."""
        self.packing_times.add(self._port.now_us() - began_us)
        self.savings.add(100 - 100 * packed_bytes // plain_bytes if plain_bytes > 0 else 0)

    def batch_over(self, messages: i64, was_last: bool) -> None:
        """The partner has committed a batch: the last one that was under way, or not."""
        self.batch_sizes.add(messages)
        self._ask(was_last)

    def _ask(self, has_rest: bool) -> None:
        """Have the partner answer, unless it was asked a short while ago."""
        queue = self._queue
        if queue is None or self._asked_us != _NEVER:
            return
        now_us: i64 = self._port.now_us()
        if now_us >= self._next_us + (0 if has_rest and queue.depth == 0 else _RESTLESS_US):
            self._asked_us = now_us
            self._next_us = now_us + self._pause_us
            self._port.send(frame(HEARTBEAT, 0, TIMED))

    def answered(self) -> None:
        """The partner has answered a heartbeat that is timed."""
        if self._asked_us == _NEVER:
            return
        took_us: i64 = self._port.now_us() - self._asked_us
        self._asked_us = _NEVER
        self.network.add(took_us)
        self.network_spread.add(took_us)

    def take_network_spread(self) -> Spread:
        """The network times since this was called last."""
        spread = self.network_spread
        self.network_spread = Spread()
        return spread
