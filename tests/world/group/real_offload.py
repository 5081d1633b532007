"""Real stores of offloaded messages for simulated members: files and a database, whose every use is a step by hand."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from concurrent.futures import Executor, Future
from functools import partial
from pathlib import Path
from typing import Any

from tests.world.group.group_world import MemberWorld

from ostler.server.coupling.blobs.blob_store import BlobStore
from ostler.server.coupling.data_sets.group_states import GroupStates
from ostler.server.coupling.data_sets.offload_service import OffloadService
from ostler.server.coupling.repository.sql_repository import SqlRepository
from ostler.server.machine import Machine


class SteppedExecutor(Executor):
    """Tasks wait in `steps`."""

    def __init__(self, steps: deque[Callable[[], object]]) -> None:
        self._steps = steps

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        self._steps.append(partial(fn, *args, **kwargs))
        return Future()

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        self._steps.clear()


class InlineExecutor(Executor):
    """Tasks run at once: parts of one transfer, for which its task waits."""

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        done: Future[Any] = Future()
        try:
            done.set_result(fn(*args, **kwargs))
        except Exception as error:
            done.set_exception(error)
        return done


class SteppedMachine(Machine):
    def __init__(self, steps: deque[Callable[[], object]]) -> None:
        super().__init__()
        self._steps = steps

    def executor(self, threads_max: int, name: str) -> Executor:
        return SteppedExecutor(self._steps) if name in ("ostler-smds", "ostler-blob") else InlineExecutor()


class RealOffload:
    """The stores of one life of a member."""

    def __init__(self, member: MemberWorld, directory: Path, repository: SqlRepository) -> None:
        self.steps: deque[Callable[[], object]] = deque()
        self.notes: list[str] = []
        machine = SteppedMachine(self.steps)
        sharing = member.member.sharing
        self.repository = repository
        self.blobs = BlobStore(repository, sharing, machine, self.steps.append, self.notes.append)
        states = GroupStates(repository, self.notes.append)
        self.service = OffloadService(
            member.engine, sharing, machine, self.steps.append, self.notes.append, directory, states, self.blobs
        )
        sharing.offload = self.service
        member.member.observers.append(self.service.events)
        member.offload_step = self.step

    def step(self) -> bool:
        if not self.steps:
            return False
        self.steps.popleft()()
        return True

    def noted(self, number: str) -> list[str]:
        """Messages to operators with a number."""
        return [each for each in self.notes if each.startswith(number)]

    def close(self) -> None:
        self.service.close()
        self.repository.close()
