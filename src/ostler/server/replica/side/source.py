"""The side files of a leader: they are looked at once a second, and read when they have changed."""

from __future__ import annotations

import threading
from collections.abc import Callable
from time import monotonic
from typing import Final

from ostler.model.replication import SIDE_SETS
from ostler.replica.side_files import SideSet, SideSetRefused
from ostler.server.config.directories import QueueManagerDirectory
from ostler.server.rate_limited_log import RateLimitedLog
from ostler.server.replica.messages import replication_message
from ostler.server.replica.side.places import Signature, read_set, signature_of

_POLL_SECONDS: Final = 1.0


class SideFileSource:
    """The sets of one queue manager. Any thread may call."""

    def __init__(self, directory: QueueManagerDirectory, note: Callable[[str], None]) -> None:
        self._directory = directory
        self._notes = RateLimitedLog(note)
        self._turn = threading.Lock()
        self._looked_at = -_POLL_SECONDS
        self._signatures: dict[str, Signature] = {}
        self._sets: dict[str, SideSet] = {}

    def current(self) -> list[SideSet]:
        """Return the sets as they were within the last second. One that is gone stays as it was: absence is not sent.

        A set that cannot be read stays as it was, too, and that is told.
        """
        with self._turn:
            if monotonic() - self._looked_at >= _POLL_SECONDS:
                for name in SIDE_SETS:
                    self._look(name)
                self._looked_at = monotonic()
            return list(self._sets.values())

    def _look(self, name: str) -> None:
        try:
            signature = signature_of(self._directory, name)
            if signature == self._signatures.get(name):
                return
            found = read_set(self._directory, name)
        except (OSError, SideSetRefused) as error:
            text = replication_message("AMQ3295W", what=name, name=self._directory.name, why=error)
            self._notes.write(f"{name} {error}", text)
            return
        # Files that change while they are read have another signature the next time.
        self._signatures[name] = signature
        if found is not None:
            self._sets[name] = found
