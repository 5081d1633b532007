"""A queue manager under load: a process of its own with a TCP listener, its Unix socket, and pairs of queues."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from ostler.lab.runner.queue_managers.plan import CHANNEL, NAME, QueueManagerPlan, pair_commands
from ostler.lab.runner.queue_managers.process import LabQueueManager
from ostler.server.config.qm_ini import LogSection

__all__ = ["CHANNEL", "NAME", "LogCounters", "OstlerServer"]


@dataclass(frozen=True)
class LogCounters:
    """The counters of the log."""

    forces: int
    written_bytes: int


class OstlerServer:
    """A queue manager for the benchmarks of the command line."""

    def __init__(self, root: Path, pairs: int, log_file_pages: int) -> None:
        log = LogSection(primary_files=4, file_pages=log_file_pages)
        self._manager = LabQueueManager(root, QueueManagerPlan(log=log, commands=pair_commands(pairs)))
        self.local_path = self._manager.local_path

    @property
    def pids(self) -> list[int]:
        return [self._manager.pid]

    @property
    def address(self) -> tuple[str, int]:
        return self._manager.address

    @property
    def port(self) -> int:
        return self._manager.address[1]

    def log_moment(self) -> LogCounters:
        found = {each.name: int(each.value) for each in self._manager.metrics() if each.source == "log"}
        return LogCounters(found["forces"], found["written_bytes"])

    def end(self) -> None:
        self._manager.end()
