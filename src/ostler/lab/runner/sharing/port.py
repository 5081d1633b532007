"""The port to a queue-sharing group: what experiments need of it, whoever makes it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final

from ostler.lab.runner.contract import Metric
from ostler.lab.runner.queue_managers.process import LabQueueManager
from ostler.lab.runner.sharing.plan import SharingPlan
from ostler.lab.sampling.process_sampler import WatchedProcess

STRUCTURES: Final = "structures"
"""The source of metrics of structures. Their object is the structure."""
USED_PERCENT: Final = "structure used, %"
ENTRIES: Final = "messages in the structure"
OFFLOADED: Final = "messages offloaded"
BUFFER_WAITS: Final = "requests that waited for a buffer, %"
READS_SAVED: Final = "reads saved by buffers, %"
LOWEST_FREE: Final = "lowest number of free buffers"
"""Figures of DISPLAY USAGE TYPE(SMDS)."""


class SharingGroup(ABC):
    """A running group. The caller ends it; it ends by itself when this process is gone.

    Methods raise PointFailed with a sentence when something does not happen, or is refused. Members are numbered from
    0.
    """

    plan: SharingPlan
    root: Path

    @property
    @abstractmethod
    def members(self) -> Sequence[LabQueueManager]:
        """The queue managers, in the order of their numbers. One that was killed stays until it is started again."""

    @property
    @abstractmethod
    def is_alive(self) -> bool:
        """The facility and all members run."""

    @abstractmethod
    def describe_end(self) -> str:
        """Describe the end of a process of the group; empty while all run."""

    @abstractmethod
    def watched_facility(self) -> list[WatchedProcess]:
        """Return the processes of the coupling facility, and of a server of the repository, to sample. Members are
        watched by their users."""

    @abstractmethod
    def results(self) -> list[Metric]:
        """Return what the structures hold now, by structure."""

    @abstractmethod
    def data_set_figures(self, member: int) -> list[Metric]:
        """Return the figures of a member's data sets since the last call, by structure."""

    @property
    @abstractmethod
    def directory(self) -> Path:
        """The directory of the group: data sets, and a repository in a file."""

    @abstractmethod
    def mqsc(self, member: int, text: str) -> list[str]:
        """Run commands at a member, and return what it says."""

    @abstractmethod
    def watched(self) -> list[WatchedProcess]:
        """Return all processes to sample: the members that run, the coupling facility, a server of the repository."""

    @abstractmethod
    def wait_until_recovered(self, member: int, seconds_max: float) -> None:
        """Wait until peers have settled all units of a member that was killed."""

    @abstractmethod
    def kill(self, member: int) -> None:
        """End a member at once, as kill -9."""

    @abstractmethod
    def stop(self, member: int) -> None:
        """End a member in good order, as endmqm -i."""

    @abstractmethod
    def start(self, member: int) -> None:
        """Start a member that has ended, and wait until it is in the group again."""

    @property
    @abstractmethod
    def limit_note(self) -> str:
        """How the processors of the facility are limited; empty: they are not."""

    @abstractmethod
    def end(self) -> None:
        """End all members in good order, and the facility behind them. Repeated calls do nothing."""


StartSharing = Callable[[Path, SharingPlan], SharingGroup]
"""Creates and starts a group below a directory, and returns it when all members can use the shared queues. Raises
RunAborted when it does not start."""
