"""Queue managers for tests, with pytest (see `ostler.testing.plugin`) or without it.

    with ostler.testing.queue_manager(mqsc="DEFINE QLOCAL(ORDERS)") as qm:
        ...

The names of this package are loaded on first use, because pytest loads the package in every run.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ostler.testing.isolation import IsolationError as IsolationError
    from ostler.testing.running import MqscError as MqscError
    from ostler.testing.running import RunningQueueManager as RunningQueueManager
    from ostler.testing.running import queue_manager as queue_manager

__all__ = ["IsolationError", "MqscError", "RunningQueueManager", "queue_manager"]

_PUBLIC = {
    "IsolationError": "ostler.testing.isolation",
    "MqscError": "ostler.testing.running",
    "RunningQueueManager": "ostler.testing.running",
    "queue_manager": "ostler.testing.running",
}


def __getattr__(name: str) -> object:
    from importlib import import_module

    if name not in _PUBLIC:
        raise AttributeError(f"module 'ostler.testing' has no attribute {name!r}")
    found: object = getattr(import_module(_PUBLIC[name]), name)
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return sorted({*globals(), *_PUBLIC})
