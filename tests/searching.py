"""How far a random test looks whose examples take their time."""

from __future__ import annotations

import os

from hypothesis import HealthCheck

SEARCHES = os.environ.get("HYPOTHESIS_PROFILE") == "search"
SLOW_MACHINES = [HealthCheck.too_slow, HealthCheck.data_too_large]
"""Settings that allow something say these too: their list takes the place of that of all tests."""


def examples(count: int) -> int:
    """So many in a run of all tests; ten times as many in `make search`, which is there to look further."""
    return 10 * count if SEARCHES else count
