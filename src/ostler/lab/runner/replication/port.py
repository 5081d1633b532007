"""The port to a queue manager with copies: what experiments need of it, whoever makes it.

An instance is one copy of the queue manager, a process with a directory of its own. Applications use the one that
leads. A recovery instance is a copy at another site, which leads only after a switch.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from pathlib import Path
from typing import Final

from ostler.lab.runner.contract import Metric
from ostler.lab.runner.queue_managers.plan import QueueManagerPlan
from ostler.lab.sampling.process_sampler import WatchedProcess

IN_SYNC_SECONDS_MAX: Final = 120.0
"""A copy has this long to have everything, unless an experiment says otherwise."""


class ArbiterKind(StrEnum):
    """The arbiter that decides which instance leads. A pair can be without."""

    NONE = "none"
    FILE = "file"
    ETCD = "etcd"


@dataclass(frozen=True)
class GroupPlan:
    """A queue manager and its copies. `manager` is the plan of all instances."""

    manager: QueueManagerPlan = field(default_factory=QueueManagerPlan)
    instances: int = 2
    """The instances that are copied to synchronously, with the one that leads; 1: none but that."""
    copies: int = 2
    """The disks that must have a record before its application is answered."""
    has_recovery: bool = False
    """A copy that nobody waits for is at another site."""
    round_trip_ms: float = 0.0
    """The distance between the instances of the group."""
    recovery_round_trip_ms: float = 0.0
    """The distance to the other site."""
    acknowledges_from_memory: bool = False
    """Copies acknowledge what they have received, before they force it."""
    arbiter: ArbiterKind = ArbiterKind.FILE
    lease_seconds: int = 5
    """The time after which others may lead when the leader shows no sign of life."""

    @property
    def all_instances(self) -> int:
        return self.instances + self.has_recovery

    @property
    def shape(self) -> GroupPlan:
        """The plan that all have in common which differ in the length of their distances only: a running group can be
        moved further away, but not be given a distance."""
        return replace(
            self,
            round_trip_ms=min(self.round_trip_ms, 1.0),
            recovery_round_trip_ms=min(self.recovery_round_trip_ms, 1.0),
        )


class ReplicatedQueueManager(ABC):
    """A running queue manager with its copies. The caller ends it; it ends by itself when this process is gone.

    Methods raise PointFailed with a sentence when something does not happen, or is refused. They may be called from any
    thread.
    """

    name: str
    plan: QueueManagerPlan
    root: Path

    # -- for loads -----------------------------------------------------------------------------------------------------

    @property
    @abstractmethod
    def address(self) -> tuple[str, int]:
        """The address of the instance that leads."""

    @property
    def local_path(self) -> str:
        """The path of a local socket. There is none for a group: applications are clients."""
        return ""

    @property
    def authority_file(self) -> str:
        """The certificate that clients trust; empty without TLS."""
        return ""

    def accounting(self) -> Sequence[Metric]:
        """Return statistics and accounting messages. They are not collected of groups."""
        return ()

    @property
    @abstractmethod
    def addresses(self) -> Sequence[tuple[str, int]]:
        """The connection list: every address at which an instance may lead."""

    @property
    @abstractmethod
    def is_alive(self) -> bool:
        """All instances run that should."""

    @abstractmethod
    def watched(self) -> list[WatchedProcess]:
        """Return the processes to sample now: the leader, its followers, the recovery instance, and relays."""

    @abstractmethod
    def metrics(self) -> list[Metric]:
        """Return the counters of the leader, as `LabQueueManager.metrics` does."""

    @abstractmethod
    def describe_end(self) -> str:
        """Describe the end of an instance that should run."""

    @abstractmethod
    def set_distances(self, round_trip_ms: float, recovery_round_trip_ms: float) -> None:
        """Change the distances of a group that was made with others. Those that it has none of stay so."""

    # -- for stories ---------------------------------------------------------------------------------------------------

    @abstractmethod
    def leader(self) -> str:
        """Return the name of the instance that leads; empty while none does."""

    @abstractmethod
    def followers(self) -> list[str]:
        """Return the names of the instances of the group that run and do not lead."""

    @abstractmethod
    def kill(self, instance: str) -> None:
        """End an instance at once, as kill -9."""

    @abstractmethod
    def start(self, instance: str, *, is_new: bool = False) -> None:
        """Start an instance that has ended, from its directory, or from an empty one if it is to be replaced."""

    @abstractmethod
    def switch_over(self) -> None:
        """End the leader in good order, so that a follower leads (endmqm -s)."""

    @abstractmethod
    def wait_for_leader(self, seconds_max: float, other_than: str = "") -> str:
        """Wait until an instance leads, and return its name."""

    @abstractmethod
    def wait_until_in_sync(self, seconds_max: float = IN_SYNC_SECONDS_MAX) -> None:
        """Wait until every instance that runs has everything."""

    @abstractmethod
    def recovery_backlog_bytes(self) -> int:
        """Return how much of the log the recovery instance does not have yet."""

    @abstractmethod
    def switch_to_other_site(self, *, is_planned: bool) -> None:
        """Let the other site lead: after the rest of the log has been sent there, or, unplanned, with what it has. Its
        partner is its recovery instance from then on, once it runs."""

    @abstractmethod
    def end(self) -> None:
        """End all instances in good order, and relays and arbiter with them. Repeated calls do nothing."""


StartGroup = Callable[[Path, GroupPlan], ReplicatedQueueManager]
"""Creates and starts a queue manager with its copies below a directory, and returns it when all copies are in sync.
Raises RunAborted when it does not start."""
