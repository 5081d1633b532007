"""Connection to the name of a queue-sharing group on this machine: any of its members that runs here will do."""

from __future__ import annotations

from pathlib import Path

from ostler.server.config.directories import QueueManagerDirectory, queue_managers
from ostler.server.config.ini_file import ConfigurationError
from ostler.server.config.qm_ini import QueueManagerIni
from ostler.server.config.sharing_ini import NAME, STANZA


def running_member(root: Path, group: str) -> QueueManagerDirectory | None:
    """Return the directory of a member that runs here; None when there is none, or the name is not that of a group."""
    if not NAME.fullmatch(group):
        return None
    for entry in queue_managers(root):
        if not entry.running:
            continue
        directory = QueueManagerDirectory(root, entry.name)
        try:
            if QueueManagerIni.read(directory.ini).get(STANZA, "Name") == group:
                return directory
        except (ConfigurationError, OSError):
            continue  # it is somebody else's, or cannot be read now
    return None
