"""Threads have names that the kernel shows, so that the log's processor time can be told from the rest."""

from __future__ import annotations

import threading
import time
from contextlib import suppress
from pathlib import Path

from ostler.server.queue_manager import QueueManager, create_queue_manager


def kernel_names() -> set[str]:
    found = set()
    for path in Path("/proc/self/task").glob("*/comm"):
        # Threads of others may end meanwhile.
        with suppress(OSError):
            found.add(path.read_text().strip())
    return found


def test_the_logs_thread_is_known_to_the_kernel(tmp_path: Path) -> None:
    manager = QueueManager(create_queue_manager(tmp_path, "NAMES"))
    manager.start()
    try:
        # The thread names itself before it does anything else, but it may not have had a core yet.
        deadline = time.monotonic() + 60
        while "ostler-log" not in kernel_names() and time.monotonic() < deadline:
            threading.Event().wait(0.01)
        assert "ostler-log" in kernel_names()
    finally:
        manager.end("immediate")
