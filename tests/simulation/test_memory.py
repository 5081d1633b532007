"""Nothing of a simulation stays in memory, and so nothing of an event loop of the client does."""

from __future__ import annotations

import gc
import threading
import weakref

from ostler.testing.simulation.scenario import StandardScenario
from ostler.testing.simulation.world import Simulation


def run_cut_scenario() -> weakref.ref[Simulation]:
    with Simulation(0) as world:
        StandardScenario(world, 6, ["cut"]).run()
    return weakref.ref(world)


def test_a_world_is_freed() -> None:
    """Programs that reconnect wait in their event loops, which hold the world."""
    threads = threading.active_count()
    world = run_cut_scenario()
    gc.collect()
    assert world() is None
    assert threading.active_count() <= threads
