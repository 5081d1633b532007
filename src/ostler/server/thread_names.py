"""Names of threads in the kernel, for `top -H` and `ps -L`. Python sets them itself from 3.14 on."""

from __future__ import annotations

import threading
from contextlib import suppress
from typing import Final

_BYTES_MAX: Final = 15


def show_thread_name() -> None:
    """Set the kernel's name of this thread to its Python name, cut to 15 bytes."""
    name = threading.current_thread().name.encode()[:_BYTES_MAX]
    # Without Linux's /proc, threads have no names in the kernel.
    with suppress(OSError), open(f"/proc/self/task/{threading.get_native_id()}/comm", "wb") as comm:
        comm.write(name)
