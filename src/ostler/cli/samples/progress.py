"""A progress bar on the terminal, for work that takes more than a moment."""

from __future__ import annotations

import sys
import time
from types import TracebackType
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from rich.progress import Progress as RichProgress
    from rich.progress import TaskID

_PATIENCE_SECONDS: Final = 2.0


class MessageProgress:
    """Counts messages; shows a progress bar on a terminal if it takes long."""

    def __init__(
        self, what: str, total: int | None, is_wanted: bool = True, patience_seconds: float = _PATIENCE_SECONDS
    ) -> None:
        self._what = what
        self._total = total
        self._is_wanted = is_wanted and sys.stderr.isatty()
        self._patience_seconds = patience_seconds
        self._began = time.monotonic()
        self._bar: RichProgress | None = None
        self._task: TaskID | None = None
        self.count = 0

    def __enter__(self) -> MessageProgress:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._bar is not None:
            self._bar.stop()

    def advance(self) -> None:
        self.count += 1
        if not self._is_wanted:
            return
        if self._bar is None:
            if time.monotonic() - self._began < self._patience_seconds:
                return
            self._start()
        assert self._bar is not None
        assert self._task is not None
        self._bar.update(self._task, completed=self.count)

    def _start(self) -> None:
        # Loaded late: importing rich takes longer than most of these programs run.
        from rich.console import Console
        from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeElapsedColumn, TimeRemainingColumn
        from rich.progress import Progress as RichProgress

        self._bar = RichProgress(
            TextColumn("{task.description}"),
            BarColumn(),
            MofNCompleteColumn(),
            TimeElapsedColumn(),
            TimeRemainingColumn(),
            console=Console(stderr=True),
            transient=True,
        )
        self._task = self._bar.add_task(self._what, total=self._total)
        self._bar.start()
