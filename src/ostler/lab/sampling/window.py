"""A measured window: all its samples, summed up for tables, the live view and flags."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ostler.lab.sampling.flags import LIMITS, Flag, Limits, find_flags
from ostler.lab.sampling.noise import Noise
from ostler.lab.sampling.samples import Collected


@dataclass(frozen=True)
class RoleUse:
    """The use of all processes of one role in a window."""

    processes: int
    user_us: int
    system_us: int
    resident_bytes_most: int
    """The highest sum of all its processes in any sample."""
    written_bytes: int

    @property
    def cpu_us(self) -> int:
        return self.user_us + self.system_us


class SampleWindow(Collected):
    """A sink for one phase, or for a few that belong together. It keeps a few rows for each second."""

    @property
    def seconds(self) -> float:
        return sum(each.interval.microseconds for each in self.machines) / 1e6

    @property
    def steal_percent(self) -> float:
        total = sum(each.total_us for each in self.machines)
        return 100 * sum(each.steal_us for each in self.machines) / total if total else 0.0

    @property
    def busy_percent(self) -> float:
        total = sum(each.total_us for each in self.machines)
        return 100 * sum(each.busy_us for each in self.machines) / total if total else 0.0

    def by_role(self) -> dict[str, RoleUse]:
        """Return the use of each role, in the order of their names."""
        found: dict[str, RoleUse] = {}
        for role in sorted({each.role for each in self.processes}):
            samples = [each for each in self.processes if each.role == role]
            resident: dict[int, int] = {}
            for each in samples:
                resident[each.interval.ended_ns] = resident.get(each.interval.ended_ns, 0) + each.resident_bytes
            found[role] = RoleUse(
                processes=len({each.pid for each in samples}),
                user_us=sum(each.user_us for each in samples),
                system_us=sum(each.system_us for each in samples),
                resident_bytes_most=max(resident.values()),
                written_bytes=sum(each.written_bytes or 0 for each in samples),
            )
        return found

    def core_percent_now(self) -> dict[str, float]:
        """Return the use in percent of one core, by role, in the last sample: for the live view."""
        found: dict[str, float] = {}
        if not self.machines:
            return found
        last = self.machines[-1].interval
        for each in self.processes:
            if each.interval == last:
                found[each.role] = found.get(each.role, 0.0) + each.core_percent
        return found

    def flags(self, noises: Sequence[Noise] = (), limits: Limits = LIMITS) -> list[Flag]:
        return find_flags(self.processes, self.machines, self.events, noises, limits)
