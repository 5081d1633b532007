"""The port that loads have to a queue manager, be it one process or a group of copies."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Protocol

from ostler.lab.runner.contract import Metric
from ostler.lab.runner.queue_managers.plan import QueueManagerPlan
from ostler.lab.sampling.process_sampler import WatchedProcess


class LoadedManager(Protocol):
    """A running queue manager that clients are connected to."""

    name: str
    plan: QueueManagerPlan
    root: Path

    @property
    def address(self) -> tuple[str, int]: ...

    @property
    def local_path(self) -> str: ...

    @property
    def authority_file(self) -> str: ...

    @property
    def is_alive(self) -> bool: ...

    def watched(self) -> list[WatchedProcess]: ...

    def metrics(self) -> list[Metric]: ...

    def accounting(self) -> Sequence[Metric]: ...

    def describe_end(self) -> str: ...
