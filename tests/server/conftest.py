"""A queue manager whose reactor the tests turn by hand."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from ostler.server.qm_ini import LogSection
from ostler.server.queue_manager import QueueManager, create_queue_manager
from ostler.testing.wire_bench import WireBench


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
