"""A group whose next leader is the same queue manager, started again from its directory after it was killed.

Everything about it is real but the copies: processes that are killed, recovery from the log, clients that connect again
at the same address. So experiments can be tried whole, whether the product can copy or not.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from pathlib import Path

from ostler.lab.runner.contract import Metric, PointFailed
from ostler.lab.runner.queue_managers.process import LabQueueManager
from ostler.lab.runner.replication.port import IN_SYNC_SECONDS_MAX, GroupPlan, ReplicatedQueueManager
from ostler.lab.sampling.process_sampler import WatchedProcess
from ostler.lab.store.roles import LEADER, QUEUE_MANAGER, role_at

NAMES = ("alpha", "beta", "gamma")
OTHER_SITE = "omega"


class RestartingGroup(ReplicatedQueueManager):
    def __init__(self, root: Path, group: GroupPlan) -> None:
        self.root = root
        self.group = group
        self.plan = group.manager
        self.name = group.manager.name
        self.done: list[str] = []
        """What was asked for, in order."""
        self.distances: list[tuple[float, float]] = []
        self._lock = threading.Lock()
        self._manager = LabQueueManager(root, self.plan, role=role_at(QUEUE_MANAGER, LEADER))
        self._leader = NAMES[0]
        self._running = set(NAMES[: group.instances])

    @property
    def address(self) -> tuple[str, int]:
        return self._manager.address

    @property
    def addresses(self) -> Sequence[tuple[str, int]]:
        # Nobody listens at the first of them.
        return [("127.0.0.1", 1), self.address]

    @property
    def is_alive(self) -> bool:
        return self._manager.is_alive

    def watched(self) -> list[WatchedProcess]:
        return self._manager.watched()

    def metrics(self) -> list[Metric]:
        return self._manager.metrics()

    def describe_end(self) -> str:
        return self._manager.describe_end()

    def set_distances(self, round_trip_ms: float, recovery_round_trip_ms: float) -> None:
        self.distances.append((round_trip_ms, recovery_round_trip_ms))

    def leader(self) -> str:
        return self._leader if self._manager.is_alive else ""

    def followers(self) -> list[str]:
        return sorted(self._running - {self._leader})

    def kill(self, instance: str) -> None:
        self.done.append(f"kill {instance}")
        self._running.discard(instance)
        if instance == self._leader:
            self._manager.kill()

    def start(self, instance: str, *, is_new: bool = False) -> None:
        self.done.append(f"start {instance}{' anew' if is_new else ''}")
        self._running.add(instance)

    def switch_over(self) -> None:
        self.done.append("switch over")
        self._running.discard(self._leader)
        self._manager.end()

    def wait_for_leader(self, seconds_max: float, other_than: str = "") -> str:
        if not self._manager.is_alive:
            others = sorted(self._running - {other_than})
            if not others:
                raise PointFailed("nobody is left to lead")
            self._manager = self._manager.start_again()
            self._leader = others[0]
        return self._leader

    def wait_until_in_sync(self, seconds_max: float = IN_SYNC_SECONDS_MAX) -> None:
        self.done.append("in sync")

    def recovery_backlog_bytes(self) -> int:
        return 4096

    def switch_to_other_site(self, *, is_planned: bool) -> None:
        self.done.append("planned switch" if is_planned else "unplanned switch")
        self._running = {NAMES[0] if self._leader == OTHER_SITE else OTHER_SITE}
        if is_planned:
            self._manager.end()

    def end(self) -> None:
        self._manager.end()
