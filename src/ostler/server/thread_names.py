"""Names of threads where the kernel shows them, as in `top -H` and `ps -L`: Python tells it only from 3.14 on."""

from __future__ import annotations

import threading
from contextlib import suppress
from typing import Final

_BYTES_MAX: Final = 15


def show_thread_name() -> None:
    """Let the kernel know this thread by the name that Python has for it, cut to what it keeps."""
    name = threading.current_thread().name.encode()[:_BYTES_MAX]
    # Elsewhere than on Linux, and where /proc is hidden, threads just have no names.
    with suppress(OSError), open(f"/proc/self/task/{threading.get_native_id()}/comm", "wb") as comm:
        comm.write(name)
