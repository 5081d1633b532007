"""A program of the simulated world: a coroutine on an event loop of its own, in a process of its own."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from typing import Any, Final

from ostler.testing.simulation.event_loop import SimulatedLoop
from ostler.testing.simulation.machine import SimulatedMachine
from ostler.testing.simulation.scheduler import Killed, Process, SimulationError, Task
from ostler.testing.simulation.surroundings import Surroundings

Program = Callable[[], Coroutine[object, object, object]]
_WAIT_SECONDS: Final = 600.0


class SimulatedApplication:
    """A program that runs until its coroutine returns or it is killed."""

    def __init__(self, world: Surroundings, name: str, address: str, program: Program) -> None:
        self.name = name
        self._world = world
        self._program = program
        self._coroutine: Coroutine[object, object, object] | None = None
        host = world.network.hosts.get(address) or world.network.add_host(address)
        self.process = Process(name)
        self._machine = SimulatedMachine(world.network, host, self.process)
        self._task = Task(world.scheduler, self.process, self._run, "program")
        self._task.start()

    def _run(self) -> None:
        loop = SimulatedLoop(self._machine)
        try:
            self._coroutine = self._program()
            loop.run_until_complete(self._coroutine)
        except Killed:
            loop.abandon()
            raise
        loop.close()
        self._machine.drop_sockets(False)

    @property
    def is_running(self) -> bool:
        return self._task.is_alive()

    def kill(self) -> None:
        """Kill its process, in the middle of whatever it does. The kernel closes its sockets."""
        self._world.note(self.name, "is killed", "")
        self._world.scheduler.kill(self.process)
        self._machine.drop_sockets(False)

    def wait(self, seconds: float = _WAIT_SECONDS) -> None:
        """Wait for its end. Raises SimulationError if it has not ended after so many simulated seconds."""
        self._task.join(seconds)
        if self._task.is_alive():
            where = " > ".join(self._waits_in())
            raise SimulationError(f"program {self.name} has not ended after {seconds:g} seconds: it waits in {where}")

    def _waits_in(self) -> list[str]:
        """Return the functions of its coroutine, the outermost first."""
        found: list[str] = []
        at: Any = self._coroutine
        while at is not None and hasattr(at, "cr_frame"):
            if at.cr_frame is not None:
                found.append(f"{at.cr_code.co_name}:{at.cr_frame.f_lineno}")
            at = at.cr_await
        return found
