"""How tasks of the pipeline end: a status for each reason that a script may want to tell from others."""

from __future__ import annotations

from typing import Final

DONE: Final = 0
FOUND: Final = 1
"""Done, and something was found that somebody should look at: rows set aside, rules broken, a release that is worse."""
REFUSED: Final = 2
"""It could not be done. Tables are as they were."""
NOTHING_TO_COMPARE: Final = 3
PACKAGE_MISSING: Final = 4
JAVA_MISSING: Final = 5


class TaskFailed(Exception):
    """A task cannot even begin: what to say, and the status to end with."""

    def __init__(self, status: int, text: str) -> None:
        super().__init__(text)
        self.status = status
