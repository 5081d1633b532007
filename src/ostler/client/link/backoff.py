"""Backoff of reconnection: growing delays before each attempt, with random jitter.

The jitter keeps the many clients of a queue manager that failed from coming back all at once.
"""

from __future__ import annotations

import random
import re
from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

from ostler.model import constants as mq
from ostler.model.errors import MQError

DELAYS_VARIABLE: Final = "OSTLER_RECONNECT_DELAYS"
TIMEOUT_VARIABLE: Final = "OSTLER_RECONNECT_TIMEOUT"
TIMEOUT_SECONDS: Final = 1800.0
_STEPS_MAX: Final = 100
_MILLISECONDS_MAX: Final = 3_600_000
_STEP: Final = re.compile(r"\(\s*(\d{1,9})\s*(?:,\s*(\d{1,9})\s*)?\)")


class DelayStep(NamedTuple):
    """A delay: a fixed part and a random part of at most `jitter_ms`."""

    fixed_ms: int
    jitter_ms: int


# The defaults of MQ's clients (mqclient.ini, ReconDelay): the fixed part doubles up to 25 seconds, jitter is a quarter.
STEPS: Final = (
    DelayStep(1_000, 250),
    DelayStep(2_000, 500),
    DelayStep(4_000, 1_000),
    DelayStep(8_000, 2_000),
    DelayStep(16_000, 4_000),
    DelayStep(25_000, 6_250),
)


def parse_delays(text: str) -> tuple[DelayStep, ...]:
    """Parse delays in the format of ReconDelay in mqclient.ini: (1000,200)(2000,200)(4000,1000). The last repeats."""
    steps = [DelayStep(int(fixed), int(jitter or 0)) for fixed, jitter in _STEP.findall(text)]
    left = _STEP.sub("", text).strip()
    if left or not steps:
        raise _invalid_delays(text, "write each as (milliseconds,random milliseconds)")
    if len(steps) > _STEPS_MAX or any(max(step) > _MILLISECONDS_MAX for step in steps):
        raise _invalid_delays(text, f"there may be {_STEPS_MAX} of at most {_MILLISECONDS_MAX} milliseconds")
    return tuple(steps)


def settings_of(environment: Mapping[str, str]) -> tuple[tuple[DelayStep, ...], float]:
    """Return the delays and the timeout in seconds that the environment asks for, or the defaults.

    Raises MQRC_CHANNEL_CONFIG_ERROR for delays that cannot be read.
    """
    delays = environment.get(DELAYS_VARIABLE, "")
    timeout = environment.get(TIMEOUT_VARIABLE, "")
    return parse_delays(delays) if delays else STEPS, float(timeout) if timeout.isdecimal() else TIMEOUT_SECONDS


def _invalid_delays(text: str, why: str) -> MQError:
    return MQError(mq.MQRC_CHANNEL_CONFIG_ERROR, f"{text[:100]!r} are not valid reconnection delays: {why}.")


class Backoff:
    """The delays of one reconnection. `restart` begins anew when the next link breaks."""

    def __init__(
        self, chance: random.Random, steps: Sequence[DelayStep] = STEPS, timeout_seconds: float = TIMEOUT_SECONDS
    ) -> None:
        assert steps
        self._chance = chance
        self._steps = tuple(steps)
        self._timeout_seconds = timeout_seconds
        self.attempts = 0

    def restart(self) -> None:
        self.attempts = 0

    def next_delay(self, elapsed_seconds: float) -> float | None:
        """Return the seconds to wait before the next attempt; None when the time since the link broke is up."""
        left = self._timeout_seconds - elapsed_seconds
        if left <= 0:
            return None
        step = self._steps[min(self.attempts, len(self._steps) - 1)]
        self.attempts += 1
        delay_ms = step.fixed_ms + self._chance.uniform(0, step.jitter_ms)
        # The last attempt is made when the time is up, not after.
        return min(delay_ms / 1000, left)
