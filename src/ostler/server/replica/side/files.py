"""The side files of one instance: its own as a source for others, and a store for those of its leader."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from ostler.server.config.directories import QueueManagerDirectory
from ostler.server.config.replication_ini import ReplicationSection
from ostler.server.replica.side.source import SideFileSource
from ostler.server.replica.side.store import SideFileStore


class SideFiles:
    def __init__(
        self, directory: QueueManagerDirectory, section: ReplicationSection, note: Callable[[str], None]
    ) -> None:
        self.source: Final = SideFileSource(directory, note)
        self.store: Final = SideFileStore(directory, section.side_files, note)
