"""One suite for all engines of the port: every test with a `facility` runs against each."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from tests.coupling.facility_under_test import FacilityUnderTest, MachineUnderTest
from tests.coupling.redis_under_test import RedisUnderTest

ENGINES: dict[str, type[FacilityUnderTest]] = {"own": MachineUnderTest, "redis": RedisUnderTest}


@pytest.fixture(params=ENGINES)
def facility(request: pytest.FixtureRequest) -> Iterator[FacilityUnderTest]:
    made = ENGINES[request.param]()
    yield made
    made.close()
