"""The parts that all members of a simulated world share: the scheduler, the network, chance and the trace."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING, TextIO

from ostler.testing.simulation.network import Network
from ostler.testing.simulation.scheduler import Scheduler
from ostler.testing.simulation.trace import Trace

if TYPE_CHECKING:
    from ostler.server.assembly import Server
    from ostler.server.queue_manager import QueueManager


class Surroundings:
    """The world as its members see it."""

    def __init__(self, seed: int | str, trace: TextIO | None) -> None:
        self.seed = seed
        self.trace = Trace(trace)
        self.scheduler = Scheduler(f"scheduler {seed}", self.trace)
        self.network = Network(self.scheduler)
        self.chance = random.Random(f"world {seed}")

    def note(self, who: str, what: str, detail: str) -> None:
        """Add a line to the trace."""
        self.trace.note(self.scheduler.now_ns, who, what, detail)

    def new_server(self, manager: QueueManager) -> Server:
        """Return the server of a queue manager that starts."""
        from ostler.server.assembly import Server

        return Server(manager)
