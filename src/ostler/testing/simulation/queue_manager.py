"""A queue manager of the simulated world: production code from the reactor to the recovery log, and its lives."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Final, cast

from ostler.command.mqsc.script import ScriptCounts, run_script
from ostler.server.config.directories import QueueManagerDirectory
from ostler.server.config.qm_ini import LogSection
from ostler.testing.running import MqscError
from ostler.testing.simulation.audit import audit_engine
from ostler.testing.simulation.machine import SimulatedMachine, StorageDevice
from ostler.testing.simulation.scheduler import Guard, Process, SimulationError, Task
from ostler.testing.simulation.surroundings import Surroundings
from ostler.testing.without_security import allow_any_principal, disable_security

if TYPE_CHECKING:
    from ostler.server.assembly import Server
    from ostler.server.queue_manager import QueueManager

CHANNEL: Final = "DEV.APP.SVRCONN"
PORT: Final = 1414
LISTENER: Final = "SIMULATION.LISTENER"
# Small, so that checkpoints are frequent and the log becomes full.
LOG: Final = LogSection(primary_files=3, secondary_files=2, file_pages=64)
_START_SECONDS: Final = 600.0
_END_SECONDS: Final = 600.0


class SimulatedQueueManager:
    """A queue manager that may be killed and started again. Its disk is kept.

    Its methods are called by the world's own thread, such as that of a test, or by a thread of `Simulation.spawn`.
    """

    def __init__(self, world: Surroundings, name: str, address: str, data: Path) -> None:
        self.name = name
        self.address = address
        self.channel = CHANNEL
        self.lives = 0
        self._world = world
        self._data = data
        self._host = world.network.add_host(address)
        self._device = StorageDevice(world.scheduler)
        self._machine: SimulatedMachine | None = None
        self._manager: QueueManager | None = None
        self._server: Server | None = None

    @property
    def connection_name(self) -> str:
        """The connection name for programs of the simulation."""
        return f"{self.address}({PORT})"

    @property
    def is_running(self) -> bool:
        """True while its process lives and its log can be written."""
        return self._server is not None and self._manager is not None and not self._manager.writer.failure

    @property
    def has_process(self) -> bool:
        """True from `start` to `kill` or `end`."""
        return self._machine is not None

    @property
    def manager(self) -> QueueManager:
        """The queue manager object."""
        if self._manager is None:
            raise SimulationError(f"queue manager {self.name} is not running")
        return self._manager

    @property
    def server(self) -> Server:
        """The server of the queue manager, with its sockets."""
        if self._server is None:
            raise SimulationError(f"queue manager {self.name} is not running")
        return self._server

    @property
    def machine(self) -> SimulatedMachine:
        """The machine that it runs on, until its process ends."""
        if self._machine is None:
            raise SimulationError(f"queue manager {self.name} is not running")
        return self._machine

    @property
    def storage(self) -> StorageDevice:
        """Its disk."""
        return self._device

    # -- lives ---------------------------------------------------------------------------------------------------------

    def start(self) -> None:
        """Start it, or start it again. Raises SimulationError when it cannot recover."""
        assert self._machine is None, f"{self.name} runs already"
        self.lives += 1
        self._host.is_up = True
        process = Process(self.name)
        self._machine = SimulatedMachine(self._world.network, self._host, process, self._device)
        self._world.note(self.name, "starts", f"life {self.lives}")
        self.call(self._start, _START_SECONDS)

    def _start(self) -> None:
        from ostler.server.queue_manager import QueueManager, create_queue_manager

        assert self._machine is not None
        directory = QueueManagerDirectory(self._data, self.name)
        is_new = not directory.exists()
        if is_new:
            allow_any_principal(create_queue_manager(self._data, self.name, LOG, machine=self._machine))
        manager = QueueManager(directory, self._machine)
        self._machine.process.guards.append(cast(Guard, manager.lock))
        manager.start()
        if is_new:
            disable_security(manager)
        self._manager = manager
        server = self._world.new_server(manager)
        server.start()
        self._server = server
        if is_new:
            self._run_mqsc(
                f"DEFINE CHANNEL({CHANNEL}) CHLTYPE(SVRCONN) TRPTYPE(TCP) HBINT(5) SHARECNV(4)\n"
                f"DEFINE LISTENER({LISTENER}) TRPTYPE(TCP) PORT({PORT}) CONTROL(QMGR)\n"
                f"START LISTENER({LISTENER})"
            )

    def kill(self, power: bool = True, garbage: bool = False) -> None:
        """Kill its process, in the middle of whatever it does. `start` starts it again.

        With `power` the whole machine loses power: of what was not forced to its disk each sector is kept, lost or
        torn, with `garbage` spoiled, and its partners are not told. Without, its files are as it wrote them, and the
        kernel closes its sockets.
        """
        machine = self.machine
        self._world.note(self.name, "is killed", "power" if power else "process")
        self._host.is_up = not power
        self._world.scheduler.kill(machine.process)
        machine.drop_sockets(power)
        if power:
            self._device.disk = self._device.disk.crash(self._world.chance.randrange(1 << 30), garbage=garbage)
        self._machine = self._manager = self._server = None

    def end(self, mode: str = "immediate") -> None:
        """End it in order, as endmqm does."""
        server, machine = self.server, self.machine
        self._world.note(self.name, "ends", mode)
        self.call(lambda: server.end(mode), _END_SECONDS)
        self._world.scheduler.kill(machine.process)
        machine.drop_sockets(False)
        self._machine = self._manager = self._server = None

    # -- work ----------------------------------------------------------------------------------------------------------

    def call(self, work: Callable[[], None], seconds: float = 300.0) -> None:
        """Run a function on a thread of its process. Its exception is raised here; so is SimulationError if it hangs.

        Returns silently when the process is killed meanwhile.
        """
        machine = self.machine
        task = Task(self._world.scheduler, machine.process, work, "control")
        task.start()
        task.join(seconds)
        if task.is_alive():
            raise SimulationError(f"{self.name}: {work!r} has not ended after {seconds:g} seconds")
        if task.failure is not None and not machine.process.is_dead:
            self._world.scheduler.failures = [each for each in self._world.scheduler.failures if each[0] is not task]
            raise task.failure

    def mqsc(self, text: str) -> list[str]:
        """Run MQSC commands and return the lines of the answer. Raises MqscError when a command fails."""
        lines: list[str] = []
        self.call(lambda: lines.extend(self._run_mqsc(text)))
        return lines

    def _run_mqsc(self, text: str) -> list[str]:
        lines: list[str] = []
        for answer in run_script(self.server.target, text, echo=False):
            if isinstance(answer, ScriptCounts):
                if answer.exit_code:
                    raise MqscError("\n".join([*(line.strip() for line in text.splitlines()), *lines]))
            else:
                lines.append(answer)
        return lines

    def depth(self, queue: str) -> int:
        """Return the number of messages on a queue, uncommitted ones included."""
        return int(self.manager.engine.queues[queue].depth)

    def audit(self) -> None:
        """Count everything about its queues again. Raises InvariantViolated."""
        audit_engine(self.manager.engine)
