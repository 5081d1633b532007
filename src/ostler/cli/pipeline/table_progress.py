"""A progress bar on the terminal, while tables are made; plain lines elsewhere."""

from __future__ import annotations

from types import TracebackType
from typing import TYPE_CHECKING, TextIO

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID


class TableProgress:
    """Prints a line for each table; on a terminal a bar below them shows how many tables are written."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._bar: Progress | None = None
        self._task: TaskID | None = None

    def __enter__(self) -> TableProgress:
        if self._stream.isatty():
            self._start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._bar is not None:
            self._bar.stop()

    def say(self, text: str) -> None:
        if self._bar is None:
            print(text, file=self._stream, flush=True)
        else:
            self._bar.console.print(text, markup=False, highlight=False)

    def advance(self, written: int, tables: int) -> None:
        """Show that so many of all tables are written."""
        if self._bar is not None and self._task is not None:
            self._bar.update(self._task, description="Making tables", completed=written, total=tables)

    def _start(self) -> None:
        # Loaded late: where the output is no terminal, nothing needs it.
        from rich.console import Console
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

        self._bar = Progress(
            TextColumn("{task.description}"),
            BarColumn(),
            MofNCompleteColumn(),
            TimeElapsedColumn(),
            console=Console(file=self._stream),
            transient=True,
        )
        self._task = self._bar.add_task("Starting Spark", total=None)
        self._bar.start()
