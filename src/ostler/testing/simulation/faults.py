"""Faults from a seed: kills, power failures, cuts, slow and full disks, stopped channels, clocks that jump."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Final

from ostler.model.errors import MQError
from ostler.testing.running import MqscError
from ostler.testing.simulation.queue_manager import SimulatedQueueManager

if TYPE_CHECKING:
    from ostler.testing.simulation.world import Simulation

_SPACE_BYTES: Final = 1 << 40
_SLOW_FORCE_SECONDS: Final = 0.25
_DAY_SECONDS: Final = 86_400.0


class Faults:
    """Does harm to a world. Each fault is over when its method returns, but for the cut and the silenced connections.

    Call the methods from one thread of the world.
    """

    def __init__(self, world: Simulation) -> None:
        self._world = world
        self._chance = world.chance
        self.kinds: dict[str, Callable[[], None]] = {
            "kill": self.kill,
            "lose power": self.lose_power,
            "lose power at start": self.lose_power_at_start,
            "end": self.end,
            "cut": self.cut,
            "silence": self.silence,
            "part": self.part,
            "slow disk": self.slow_disk,
            "full disk": self.fill_disk,
            "failed force": self.fail_force,
            "stop channel": self.stop_channel,
            "wall clock": self.set_wall_clock,
        }

    def run(self, count: int, kinds: Sequence[str] = ()) -> None:
        """Do so many faults, of the kinds that are named or of all, with pauses in between."""
        names = list(kinds) or list(self.kinds)
        for _ in range(count):
            self._world.sleep(self._chance.choice([0.05, 0.3, 1.0, 2.0]) * self._chance.random())
            self.revive()
            name = self._chance.choice(names)
            self._world.note("world", "fault", name)
            self.kinds[name]()
        self.revive()

    def heal(self) -> None:
        """Repair everything: the network, the disks, and the queue managers that do not run."""
        self._world.network.heal()
        for each in self._world.queue_managers.values():
            each.storage.disk.fill(_SPACE_BYTES)
            each.storage.disk.fail_force(0)
        self.revive()

    def revive(self) -> None:
        """Start the queue managers that do not run, as a service manager would."""
        for each in self._world.queue_managers.values():
            if each.has_process and not each.is_running:
                # A force has failed, and the queue manager has ended: the machine is examined and started again.
                each.kill()
            self.start(each)

    def start(self, found: SimulatedQueueManager) -> None:
        """Start a queue manager that does not run. If its disk refuses to force meanwhile, its machine goes down."""
        while not found.has_process:
            refused = found.storage.disk.forces_refused
            try:
                found.start()
            except Exception:
                if found.storage.disk.forces_refused == refused:
                    raise
                found.kill()

    # -- queue managers ------------------------------------------------------------------------------------------------

    def _any(self) -> SimulatedQueueManager:
        return self._chance.choice(list(self._world.queue_managers.values()))

    def _rest(self) -> None:
        self._world.sleep(self._chance.choice([0.0, 0.5, 4.0]) * self._chance.random())

    def kill(self) -> None:
        """kill -9 of a queue manager."""
        found = self._any()
        found.kill(power=False)
        self._rest()
        self.start(found)

    def lose_power(self) -> None:
        """A power failure of the machine of a queue manager."""
        found = self._any()
        found.kill(garbage=self._chance.random() < 0.2)
        self._rest()
        self.start(found)

    def lose_power_at_start(self) -> None:
        """A power failure, and another one while the queue manager recovers from it."""
        found = self._any()
        found.kill()
        starting = self._world.spawn("start", found.start)
        self._world.sleep(0.05 * self._chance.random())
        if found.has_process:
            found.kill()
        starting.join()
        self.revive()

    def end(self) -> None:
        """An orderly end and a start."""
        found = self._any()
        try:
            found.end(self._chance.choice(["immediate", "quiesce"]))
        except MQError:
            if found.is_running:
                raise
            found.kill()
        self._rest()
        self.start(found)

    # -- the network ---------------------------------------------------------------------------------------------------

    def cut(self) -> None:
        """Reset some connections."""
        live = self._world.network.live()
        for connection in self._chance.sample(live, min(len(live), self._chance.randrange(1, 4))):
            connection.reset()

    def silence(self) -> None:
        """Lose all that is sent over a connection, in one direction or both, without either end being told."""
        live = self._world.network.live()
        if live:
            connection = self._chance.choice(live)
            connection.silence(self._chance.choice([connection.ends, connection.ends[:1], connection.ends[1:]]))

    def part(self) -> None:
        """Hold back everything between two machines for a while."""
        one, other = self._chance.sample(list(self._world.network.hosts), 2)
        self._world.network.part(one, other, self._chance.choice([0.1, 1.0, 8.0]))

    # -- disks and clocks ----------------------------------------------------------------------------------------------

    def slow_disk(self) -> None:
        """A disk whose forces take long, for a while."""
        storage = self._any().storage
        before, storage.force_seconds_max = storage.force_seconds_max, _SLOW_FORCE_SECONDS
        self._world.sleep(2.0 * self._chance.random())
        storage.force_seconds_max = before

    def fill_disk(self) -> None:
        """A disk without free space, for a while."""
        disk = self._any().storage.disk
        disk.fill(self._chance.choice([0, 5_000, 100_000]))
        self._world.sleep(3.0 * self._chance.random())
        disk.fill(_SPACE_BYTES)

    def fail_force(self) -> None:
        """A disk that refuses to force, once."""
        self._any().storage.disk.fail_force()

    def set_wall_clock(self) -> None:
        """Somebody sets the wall clock of a machine."""
        self._any().machine.wall_ahead_seconds += (self._chance.random() - 0.5) * _DAY_SECONDS

    # -- channels ------------------------------------------------------------------------------------------------------

    def stop_channel(self) -> None:
        """STOP CHANNEL and START CHANNEL of a sender."""
        found = self._any()
        channels = self.senders(found)
        if channels:
            name = self._chance.choice(channels)
            mode = self._chance.choice(["QUIESCE", "FORCE"])
            self.try_mqsc(found, f"STOP CHANNEL({name}) MODE({mode})")
            self._rest()
            self.try_mqsc(found, f"START CHANNEL({name})")

    def senders(self, found: SimulatedQueueManager) -> list[str]:
        """Return the names of the sender channels of a queue manager."""
        from ostler.model.attributes import ObjectType
        from ostler.model.constants import MQCHT_SENDER

        defined = found.manager.engine.of_type(ObjectType.CHANNEL).values()
        return sorted(
            each.name
            for each in defined
            if each.attributes.get("CHLTYPE") == MQCHT_SENDER and each.attributes.get("XMITQ")
        )

    def try_mqsc(self, found: SimulatedQueueManager, text: str) -> None:
        """Run a command that may be refused, such as START CHANNEL for one that runs."""
        try:
            found.mqsc(text)
        except (MqscError, MQError) as refused:
            self._world.note(found.name, "refuses", text)
            self._world.refusals.append(str(refused))
