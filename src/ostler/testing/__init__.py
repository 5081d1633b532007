"""Queue managers for tests, with pytest (see `ostler.testing.plugin`) or without it.

    with ostler.testing.queue_manager(mqsc="DEFINE QLOCAL(ORDERS)") as qm:
        ...

`Simulation` runs queue managers and programs in a simulated world, with kills and cuts from a seed.

The names of this package are loaded on first use, because pytest loads the package in every run.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ostler.testing.isolation import IsolationError as IsolationError
    from ostler.testing.running import MqscError as MqscError
    from ostler.testing.running import RunningQueueManager as RunningQueueManager
    from ostler.testing.running import queue_manager as queue_manager
    from ostler.testing.simulation.application import SimulatedApplication as SimulatedApplication
    from ostler.testing.simulation.faults import Faults as Faults
    from ostler.testing.simulation.queue_manager import SimulatedQueueManager as SimulatedQueueManager
    from ostler.testing.simulation.scheduler import SimulationError as SimulationError
    from ostler.testing.simulation.world import Simulation as Simulation

__all__ = [
    "Faults",
    "IsolationError",
    "MqscError",
    "RunningQueueManager",
    "SimulatedApplication",
    "SimulatedQueueManager",
    "Simulation",
    "SimulationError",
    "queue_manager",
]

_PUBLIC = {
    "Faults": "ostler.testing.simulation.faults",
    "IsolationError": "ostler.testing.isolation",
    "MqscError": "ostler.testing.running",
    "RunningQueueManager": "ostler.testing.running",
    "SimulatedApplication": "ostler.testing.simulation.application",
    "SimulatedQueueManager": "ostler.testing.simulation.queue_manager",
    "Simulation": "ostler.testing.simulation.world",
    "SimulationError": "ostler.testing.simulation.scheduler",
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
