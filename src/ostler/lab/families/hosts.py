"""The queue manager of a single application: in its own process, or in another one on this machine."""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Final

from ostler import __version__
from ostler.client.locate.embedded import start
from ostler.lab.common.embedded import NAME
from ostler.lab.families.set_up.run_descriptions import plan_text
from ostler.lab.families.task import Task
from ostler.lab.families.task_process import Agreement, ReadyTask, TaskProcess
from ostler.lab.runner.contract import IN_ONE_PROCESS, Contestant, ContestantKind, Metric, PointSpec
from ostler.lab.runner.queue_managers.child import read_metrics, run_commands
from ostler.lab.runner.queue_managers.plan import QueueManagerPlan
from ostler.lab.runner.queue_managers.process import LabQueueManager
from ostler.lab.store.roles import DRIVER, QUEUE_MANAGER
from ostler.server.queue_manager import QueueManager

LOCAL: Final = Contestant(
    "Ostler, bound locally",
    ContestantKind.OSTLER,
    "the application has a process of its own; what is persistent is forced before a verb returns",
    version=__version__,
)
EMBEDDED: Final = Contestant(
    IN_ONE_PROCESS,
    ContestantKind.OSTLER,
    "the application is in the queue manager's process; what is persistent is forced before a verb returns",
    version=__version__,
)
_DATA_VARIABLE: Final = "OSTLER_DATA"


class OpenHost(ABC):
    """An opened host, in the process of the application."""

    @abstractmethod
    def metrics(self) -> list[Metric]:
        """Return the counters of the queue manager, if it is in this process."""

    @abstractmethod
    def close(self) -> None: ...


class Host(ABC):
    """Opened in the process of the application; afterwards MQCONN finds the queue manager."""

    @abstractmethod
    def open(self) -> OpenHost: ...


@dataclass(frozen=True)
class OwnProcess(Host):
    """A new queue manager in the process of the application."""

    root: Path
    plan: QueueManagerPlan

    def open(self) -> OpenHost:
        manager = start(NAME, self.root, True, self.plan.log, False)
        try:
            run_commands(manager, self.plan.commands)
        except BaseException:
            manager.end("preemptive")
            raise
        return _Embedded(manager)


@dataclass(frozen=True)
class OtherProcess(Host):
    """A queue manager that already runs on this machine, in the given directory."""

    root: Path

    def open(self) -> OpenHost:
        # This process contains the application only: nothing else reads its environment.
        os.environ[_DATA_VARIABLE] = str(self.root)
        return _Elsewhere()


class _Embedded(OpenHost):
    def __init__(self, manager: QueueManager) -> None:
        self.manager = manager

    def metrics(self) -> list[Metric]:
        return [Metric(source, name, float(value)) for source, name, value in read_metrics(self.manager)]

    def close(self) -> None:
        # End as in a crash, which is quick: its messages are not needed again.
        self.manager.end("preemptive")


class _Elsewhere(OpenHost):
    def metrics(self) -> list[Metric]:
        return []

    def close(self) -> None:
        return


class Hosts:
    """The hosts of one experiment: one queue manager for all local bindings, and a new one for each embedded
    application."""

    def __init__(self, scratch: Path, plan: QueueManagerPlan) -> None:
        self._scratch = scratch
        self._plan = plan
        self._made = 0
        self._manager: LabQueueManager | None = None

    @property
    def configuration(self) -> dict[str, str]:
        """The set-up of its queue managers, which are all alike."""
        return {"queue manager": plan_text(self._plan)}

    def manager(self) -> LabQueueManager:
        """Return the queue manager in another process. It is started at the first call, and again when it has died."""
        if self._manager is None or not self._manager.is_alive:
            self._made += 1
            self._manager = LabQueueManager(self._scratch / f"local-{self._made}", self._plan)
        return self._manager

    def host(self, contestant: Contestant) -> Host:
        if contestant.name == LOCAL.name:
            return OtherProcess(self.manager().root)
        self._made += 1
        return OwnProcess(self._scratch / f"embedded-{self._made}", self._plan)

    def prepare(
        self,
        contestant: Contestant,
        make: Callable[[Host], Task],
        point_spec: PointSpec,
        agreements: Sequence[Agreement] = (),
    ) -> ReadyTask:
        """Prepare a task with its queue manager. `make` is called with the host, in the process of the application."""
        hosted = partial(make, self.host(contestant))
        if contestant.name == EMBEDDED.name:
            return ReadyTask(point_spec, TaskProcess(hosted, QUEUE_MANAGER), agreements=agreements)
        manager = self.manager()
        return ReadyTask(point_spec, TaskProcess(hosted, DRIVER), manager.watched(), manager.metrics, agreements)

    def close(self) -> None:
        if self._manager is not None:
            self._manager.end()
