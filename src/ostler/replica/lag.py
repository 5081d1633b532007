"""How far the copy at another site is behind, in bytes and in seconds; and how far replies may go then.

The leader samples where its log ends. What was offered between two samples has the time of the later one, so the lag in
seconds is too short by at most the distance of two samples.
"""

from __future__ import annotations

from collections import deque
from typing import Final

from mypy_extensions import i64

SAMPLES_MAX: Final = 4096
NO_LIMIT: Final = -1


class LagSample:
    def __init__(self, seconds: float, position: i64) -> None:
        self.seconds: Final[float] = seconds
        self.position: Final[i64] = position


class LagMeter:
    """The ends of a log over time, from the first one that the other site has not forced."""

    def __init__(self) -> None:
        self._samples: deque[LagSample] = deque()

    def note(self, now: float, position: i64, forced: i64) -> None:
        """The log ends at `position` now, and the other site has forced it up to `forced`."""
        samples = self._samples
        while samples and samples[0].position <= forced:
            samples.popleft()
        if position > forced and (not samples or position > samples[-1].position):
            samples.append(LagSample(now, position))
        if len(samples) > SAMPLES_MAX:
            # A site that is away for long: every other sample is enough.
            self._samples = deque([each for index, each in enumerate(samples) if index % 2 == 0])

    def seconds(self, now: float) -> float:
        """Return how long the oldest part of the log that the other site lacks has been there; 0 if it lacks none."""
        return max(0.0, now - self._samples[0].seconds) if self._samples else 0.0

    def reach(self, now: float, seconds: i64) -> i64:
        """Return how far replies may go so that the lag stays below so many seconds; NO_LIMIT: as far as they like."""
        samples = self._samples
        if not samples or now <= samples[0].seconds + float(seconds):
            return NO_LIMIT
        reach: i64 = 0
        for sample in samples:
            if sample.seconds > samples[0].seconds + float(seconds):
                break
            reach = sample.position
        return reach


class LagLimits:
    """RecoveryLagMB and RecoveryLagSeconds; NO_LIMIT without. With `slows` replies wait, else only people are told."""

    def __init__(self, bytes_max: i64, seconds_max: i64, slows: bool) -> None:
        self.bytes_max: Final[i64] = bytes_max
        self.seconds_max: Final[i64] = seconds_max
        self.slows: Final[bool] = slows

    def is_exceeded(self, lag_bytes: i64, lag_seconds: float) -> bool:
        is_too_much: bool = self.bytes_max >= 0 and lag_bytes > self.bytes_max
        is_too_long: bool = self.seconds_max >= 0 and lag_seconds > float(self.seconds_max)
        return is_too_much or is_too_long
