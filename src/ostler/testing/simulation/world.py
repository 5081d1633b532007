"""The simulated world: queue managers and programs on a simulated disk, network and clock, from one seed.

    with Simulation(seed=7) as world:
        qm = world.queue_manager("QM1", mqsc="DEFINE QLOCAL(ORDERS) DEFPSIST(YES)")
        world.application("orders", partial(put_orders, qm.connection_name))
        world.sleep(2)
        qm.kill()
        qm.start()
        world.finish()

Everything that could make two runs differ comes from the seed: the order of threads, the delays of the network, the
time that a disk takes, what a power failure leaves, and the module `random` in programs.
"""

from __future__ import annotations

import gc
import random
import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import Final, TextIO

from ostler.testing.simulation.application import Program, SimulatedApplication
from ostler.testing.simulation.queue_manager import SimulatedQueueManager
from ostler.testing.simulation.scheduler import START_NS, Process, SimulationError, Task
from ostler.testing.simulation.surroundings import Surroundings

_NETWORK: Final = "127.1.0"
_PROGRAMS: Final = "127.2.0.1"
_STEP_SECONDS: Final = 0.05


class Simulation(Surroundings):
    """A world of queue managers and programs. Use it in a `with` block, and one at a time in a process."""

    def __init__(self, seed: int | str = 0, *, trace: TextIO | None = None) -> None:
        """`trace` is a file that gets a line for each event."""
        super().__init__(seed, trace)
        self.queue_managers: dict[str, SimulatedQueueManager] = {}
        self.applications: list[SimulatedApplication] = []
        self.refusals: list[str] = []  # answers to commands that may be refused
        self._data = Path()
        self._random_state: object = None
        self._collects = False

    # -- life ----------------------------------------------------------------------------------------------------------

    def __enter__(self) -> Simulation:
        self._data = Path(tempfile.mkdtemp(prefix="ostler-simulation-"))
        self._random_state = random.getstate()
        random.seed(f"programs {self.seed}")
        # A collection ends objects at a time that depends on the memory of this process.
        self._collects = gc.isenabled()
        gc.disable()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """End all processes. Raises SimulationError when a thread has failed, unless another error leaves the block."""
        try:
            for process in [*self._processes()]:
                self.scheduler.kill(process)
        finally:
            random.setstate(self._random_state)  # type: ignore[arg-type]
            if self._collects:
                gc.enable()
            shutil.rmtree(self._data, ignore_errors=True)
        if error is None:
            self.check_failures()

    def _processes(self) -> list[Process]:
        found = [each.machine.process for each in self.queue_managers.values() if each.has_process]
        found += [each.process for each in self.applications]
        return found

    def check_failures(self) -> None:
        """Raise SimulationError if a program, or a thread of a queue manager, has ended with an exception."""
        for task, error in self.scheduler.failures:
            raise SimulationError(f"{task.process.name}/{task.name} failed: {error!r}") from error

    # -- members -------------------------------------------------------------------------------------------------------

    def queue_manager(self, name: str, mqsc: str = "") -> SimulatedQueueManager:
        """Create a queue manager, start it, and run MQSC commands there."""
        address = f"{_NETWORK}.{len(self.queue_managers) + 1}"
        made = self.queue_managers[name] = SimulatedQueueManager(self, name, address, self._data)
        made.start()
        if mqsc:
            made.mqsc(mqsc)
        return made

    def application(self, name: str, program: Program) -> SimulatedApplication:
        """Start a program: a function without arguments that returns a coroutine. It has a process of its own."""
        self.note(name, "starts", "")
        made = SimulatedApplication(self, name, _PROGRAMS, program)
        self.applications.append(made)
        return made

    def spawn(self, name: str, work: Callable[[], None]) -> Task:
        """Run a function of the test on a thread of its own, such as one that kills queue managers."""
        made = Task(self.scheduler, self.scheduler.world, work, name)
        made.start()
        return made

    # -- time ----------------------------------------------------------------------------------------------------------

    @property
    def seconds(self) -> float:
        """The simulated time since the beginning."""
        return (self.scheduler.now_ns - START_NS) / 1e9

    def sleep(self, seconds: float) -> None:
        """Let simulated time pass."""
        self.scheduler.sleep(seconds)

    def wait_until(self, condition: Callable[[], bool], missing: str, seconds: float = 600.0) -> None:
        """Wait until a condition holds. Raises SimulationError, with what is missing, when it does not in time."""
        until = self.seconds + seconds
        while not condition():
            if self.seconds > until:
                raise SimulationError(f"{missing} after {seconds:g} seconds")
            self.sleep(_STEP_SECONDS)

    def finish(self, seconds: float = 600.0) -> None:
        """Wait for the end of all programs, and check that no thread has failed. SimulationError."""
        for each in self.applications:
            each.wait(seconds)
        self.check_failures()
