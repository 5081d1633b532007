"""The exit statuses of pipeline tasks."""

from __future__ import annotations

from typing import Final

DONE: Final = 0
FOUND: Final = 1
"""Done, with findings to review: quarantined rows, broken rules, a release that is worse."""
REFUSED: Final = 2
"""Failed. Tables are unchanged."""
NOTHING_TO_COMPARE: Final = 3
PACKAGE_MISSING: Final = 4
JAVA_MISSING: Final = 5


class TaskFailed(Exception):
    """A task cannot begin: the message and the exit status."""

    def __init__(self, status: int, text: str) -> None:
        super().__init__(text)
        self.status = status
