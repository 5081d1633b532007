"""A queue manager whose reactor the tests turn by hand, and two that have channels between them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.server.channels.support.channel_routes import Routes, queue_managers
from tests.world.wire_bench import WireBench

from ostler.server.config.qm_ini import LogSection
from ostler.server.queue_manager import QueueManager, create_queue_manager
from ostler.testing import RunningQueueManager


@pytest.fixture
def wire_bench(tmp_path: Path) -> Iterator[WireBench]:
    manager = QueueManager(
        create_queue_manager(tmp_path, "BENCH", LogSection(primary_files=3, file_pages=256, buffer_pages=4096))
    )
    manager.start()
    bench = WireBench(manager)
    bench.define("Q")
    yield bench
    bench.close()


@pytest.fixture(scope="module")
def pair() -> Iterator[list[RunningQueueManager]]:
    with queue_managers("NEAR", "FAR") as made:
        yield made


@pytest.fixture
def route(pair: list[RunningQueueManager]) -> Iterator[Routes]:
    """Makes channels from the first of both to the second, and stops them behind the test."""
    routes = Routes(*pair)
    yield routes
    routes.close()
