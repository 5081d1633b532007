"""A new group of queue managers for every point: what a point leaves behind is not what the next one begins with."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Generic, Protocol, TypeVar


class StartedGroup(Protocol):
    @property
    def root(self) -> Path: ...
    def end(self) -> None: ...


Group = TypeVar("Group", bound=StartedGroup)
Plan = TypeVar("Plan")


class FreshGroups(Generic[Plan, Group]):
    """At most one group at a time, each in a directory of its own, which goes with it."""

    def __init__(self, start: Callable[[Path, Plan], Group], scratch: Path) -> None:
        self._start = start
        self._scratch = scratch
        self._group: Group | None = None
        self._made = 0

    def new(self, plan: Plan) -> Group:
        """End the group before, and start one. Raises RunAborted when it does not start."""
        self.end()
        self._made += 1
        self._group = self._start(self._scratch / f"group-{self._made}", plan)
        return self._group

    def end(self) -> None:
        if self._group is not None:
            self._group.end()
            shutil.rmtree(self._group.root, ignore_errors=True)
            self._group = None
