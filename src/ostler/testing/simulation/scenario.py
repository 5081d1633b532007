"""The standard scenario of `ostler simulate`: two queue managers with channels, programs with reconnection, faults.

Programs put, get and move messages at both queue managers and over the channels between them, in and out of units of
work, while faults happen. Then everything is repaired, and what is there is held against what the programs were told.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Final, TextIO

from ostler.engine.unit_of_work import PREPARED
from ostler.testing.simulation.account import Account
from ostler.testing.simulation.application import SimulatedApplication
from ostler.testing.simulation.faults import Faults
from ostler.testing.simulation.programs import Getter, Mover, Putter, WorkingProgram, drain
from ostler.testing.simulation.queue_manager import SimulatedQueueManager
from ostler.testing.simulation.scheduler import SimulationError
from ostler.testing.simulation.world import Simulation

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

FAULTS: Final = 6
_NAMES: Final = ("QM1", "QM2")
_QUEUES: Final = ("IN", "OUT", "DEAD")
_QUIET_SECONDS: Final = 900.0
_STOPPING_SECONDS: Final = 60


@dataclass(frozen=True)
class ScenarioResult:
    """A run that has found nothing wrong."""

    seed: int
    digest: str
    events: int
    seconds: float  # simulated
    messages: int
    units: int


def _definitions(name: str, partner: str, partner_address: str) -> str:
    return f"""
        DEFINE QLOCAL(IN) MAXDEPTH(2000)
        DEFINE QLOCAL(OUT) MAXDEPTH(2000)
        DEFINE QLOCAL(DEAD) MAXDEPTH(20000)
        ALTER QMGR DEADQ(DEAD)
        DEFINE QLOCAL({partner}) USAGE(XMITQ)
        DEFINE QREMOTE(THERE) RNAME(OUT) RQMNAME({partner}) XMITQ({partner})
        DEFINE CHANNEL({name}.{partner}) CHLTYPE(SDR) CONNAME('{partner_address}(1414)') XMITQ({partner}) +
          SHORTTMR(1) SHORTRTY(999999) HBINT(5) BATCHSZ(5) DISCINT(0)
        DEFINE CHANNEL({partner}.{name}) CHLTYPE(RCVR) HBINT(5)
    """


class StandardScenario:
    """One run of the standard scenario in a world."""

    def __init__(self, world: Simulation, faults: int = FAULTS, kinds: Sequence[str] = ()) -> None:
        self._world = world
        self._count = faults
        self._kinds = kinds
        self._faults = Faults(world)
        self._faults.kinds["kill program"] = self._kill_program
        self.account = Account()
        self._programs: list[tuple[Callable[[], WorkingProgram], WorkingProgram, SimulatedApplication]] = []

    def run(self) -> None:
        """Run it. Raises SimulationError, or whatever else went wrong."""
        one, two = (self._world.queue_manager(name) for name in _NAMES)
        for here, there in ((one, two), (two, one)):
            here.mqsc(_definitions(here.name, there.name, there.address))
        for here, there in ((one, two), (two, one)):
            here.mqsc(f"START CHANNEL({here.name}.{there.name})")
            self._start_programs(here)
        self._faults.run(self._count, self._kinds)
        self._world.check_failures()
        self._faults.heal()
        self._world.sleep(1.0)
        self._end()

    # -- programs ------------------------------------------------------------------------------------------------------

    def _start_programs(self, here: SimulatedQueueManager) -> None:
        common = (here.connection_name, here.channel, self.account)
        self._start(partial(Putter, f"put.{here.name}", *common, ["IN", "THERE"]))
        self._start(partial(Mover, f"move.{here.name}", *common, "IN", "THERE"))
        self._start(partial(Getter, f"get.{here.name}", *common, "OUT"))

    def _start(self, make: Callable[[], WorkingProgram]) -> None:
        program = make()
        self._programs.append((make, program, self._world.application(program.name, program.run)))

    def _kill_program(self) -> None:
        """kill -9 of a program, which is started again."""
        chosen = self._world.chance.choice(self._programs)
        make, _, running = chosen
        running.kill()
        self._programs.remove(chosen)
        self._start(make)

    # -- the end -------------------------------------------------------------------------------------------------------

    def _end(self) -> None:
        """Let all work come to an end, and hold what is there against what programs were told."""
        for _, program, _ in self._programs:
            program.is_ending = True
        for _, _, running in self._programs:
            running.wait(_QUIET_SECONDS)
        self._world.check_failures()
        managers = list(self._world.queue_managers.values())
        self._settle_channels()
        left: list[str] = []
        for each in managers:
            self._check_leaks(each)  # a connection that nobody has missed yet may hold messages
            each.audit()
            self._drain(each, left)
        self.account.check(left)
        for each in managers:
            self._check_leaks(each)
            each.audit()
            # What was got must not come back.
            each.kill()
            each.start()
        self._world.wait_until(self._is_quiet, "messages are still on their way after a restart", _QUIET_SECONDS)
        again: list[str] = []
        for each in managers:
            each.audit()
            self._drain(each, again)
            each.end()
        if again:
            raise SimulationError(f"{again[0][:40]!r} and others came back after they were got: {len(again)}")
        self._world.check_failures()

    def _settle_channels(self) -> None:
        """Wait until nothing is on its way. SimulationError.

        A channel that is stopping cannot be started. It stops when its partner answers or was silent for too long, so
        all are started repeatedly.
        """
        for _ in range(int(_QUIET_SECONDS / _STOPPING_SECONDS) - 1):
            self._start_channels()
            with suppress(SimulationError):
                self._world.wait_until(self._is_quiet, "messages are still on their way", _STOPPING_SECONDS)
                return
        self._start_channels()
        self._world.wait_until(self._is_quiet, "messages are still on their way", _STOPPING_SECONDS)

    def _start_channels(self) -> None:
        for each in self._world.queue_managers.values():
            for channel in self._faults.senders(each):
                self._faults.try_mqsc(each, f"START CHANNEL({channel})")

    def _drain(self, each: SimulatedQueueManager, found: list[str]) -> None:
        program = partial(drain, each.connection_name, each.channel, _QUEUES, found)
        self._world.application(f"drain.{each.name}", program).wait(_QUIET_SECONDS)

    def _is_quiet(self) -> bool:
        for each in self._world.queue_managers.values():
            engine = each.manager.engine
            partner = next(name for name in _NAMES if name != each.name)
            if engine.queues[partner].depth or engine.queues[partner].uncommitted:
                return False
            if any(unit.state == PREPARED for unit in engine.units_of_work.values()):
                return False
        return True

    def _check_leaks(self, each: SimulatedQueueManager) -> None:
        """After the end of all programs no connection and no link of theirs is left. SimulationError."""
        engine = each.manager.engine
        reactor = each.server.reactor

        def is_clean() -> bool:
            links = [link for link in reactor.links.values() if link.agent is None]
            owned = [found for found in engine.connections.values() if found.application.startswith(_OURS)]
            return not links and not owned

        self._world.wait_until(
            is_clean, f"{each.name} still has connections of programs that have ended", _QUIET_SECONDS
        )
        if reactor.counters.internal_errors or reactor.counters.malformed:
            raise SimulationError(f"{each.name}: internal errors: {each.manager.notices[-5:]}")


_OURS: Final = ("put.", "get.", "move.", "drain")


def run_seed(seed: int, faults: int = FAULTS, trace: TextIO | None = None, kinds: Sequence[str] = ()) -> ScenarioResult:
    """Run the standard scenario with a seed and so many faults, of some kinds or of all.

    Raises SimulationError, or whatever else went wrong.
    """
    with Simulation(seed, trace=trace) as world:
        scenario = StandardScenario(world, faults, kinds)
        scenario.run()
    return ScenarioResult(
        seed,
        world.trace.digest(),
        world.trace.events,
        world.seconds,
        scenario.account.made,
        len(scenario.account.units),
    )
