"""Trusted applications: programs that run inside the queue manager's process.

An application is a function, `module:function`, that is called with text arguments. It connects with
`ostler.connect(...)` as any other program does, and finds the queue manager in its own process. Its result becomes an
exit status.
"""

from __future__ import annotations

import importlib
import os
import re
import sys
import threading
import traceback
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final

_TARGET: Final = re.compile(r"[A-Za-z_][\w.]*:[A-Za-z_][\w.]*")
_PATHS_MAX: Final = 32
_FAILED: Final = 1

Report = Callable[[str], None]


class ApplicationRefused(Exception):
    """The application cannot be loaded; the text is the reason."""


class TrustedApplication:
    """One application: loaded at construction, run by `start` on a thread of its own or by `run` on the caller's."""

    def __init__(self, target: str, path: Sequence[str] = (), arguments: Sequence[str] = ()) -> None:
        """Raises ApplicationRefused. The directories in `path` are searched for modules before all others."""
        self.target = target
        self.status = 0
        self.failure = ""
        self._arguments = list(arguments)
        self._function = _load(target, path)
        self._done = threading.Event()
        self._report: Report | None = None
        self._thread: threading.Thread | None = None

    @property
    def is_alive(self) -> bool:
        return self._thread is not None and not self._done.is_set()

    def start(self, report: Report | None = None, when_done: Callable[[], None] | None = None) -> None:
        """Run it in a thread. `report` hears in a line how it ended; `when_done` is called after that."""
        self._report = report

        def work() -> None:
            try:
                self.run()
            finally:
                self._done.set()
                if when_done is not None:
                    when_done()

        self._thread = threading.Thread(target=work, name=f"trusted {self.target}", daemon=True)
        self._thread.start()

    def wait(self, seconds: float) -> bool:
        """Wait for its end for that long at most; return True when it has ended."""
        return self._done.wait(seconds)

    def run(self) -> int:
        try:
            result = self._function(*self._arguments)
            self.status = result & 0xFF if isinstance(result, int) else 0
        except SystemExit as leaving:
            self.status = _exit_status(leaving)
        except BaseException:
            self.failure = traceback.format_exc()
            self.status = _FAILED
        if self._report is not None:
            how = f"failed: {self.failure}" if self.failure else f"ended with status {self.status}."
            self._report(f"AMQ8026{'E' if self.failure else 'I'}: Application {self.target} {how}")
        return self.status


def _load(target: str, path: Sequence[str]) -> Callable[..., object]:
    if not _TARGET.fullmatch(target):
        raise ApplicationRefused(f"{target[:200]!r} does not name a function: write module:function.")
    if len(path) > _PATHS_MAX:
        raise ApplicationRefused(f"{len(path)} module directories are too many; {_PATHS_MAX} are allowed.")
    for directory in reversed(path):
        if not os.path.isabs(directory) or not Path(directory).is_dir():
            raise ApplicationRefused(f"{directory!r} is not the absolute path of a directory.")
        if directory not in sys.path:
            sys.path.insert(0, directory)
    module_name, _, names = target.partition(":")
    try:
        importlib.invalidate_caches()
        found: object = importlib.import_module(module_name)
    except Exception as error:
        raise ApplicationRefused(
            f"The module {module_name} cannot be loaded: {type(error).__name__}: {error}."
        ) from error
    for name in names.split("."):
        try:
            found = getattr(found, name)
        except AttributeError:
            raise ApplicationRefused(f"There is no {names} in the module {module_name}.") from None
    if not callable(found):
        raise ApplicationRefused(f"{target} is not a function.")
    return found


def _exit_status(leaving: SystemExit) -> int:
    if leaving.code is None:
        return 0
    return leaving.code & 0xFF if isinstance(leaving.code, int) else _FAILED
