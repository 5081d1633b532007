"""The data of an instance whose partner was chosen by a person (makehaprimary): renamed, never deleted.

    <queue manager>/partitioned-20261117T213000/    checkpoint, objects, queues and log as they were
    <LogPath>/<queue manager>+partitioned-.../      the log, when qm.ini has it elsewhere

Settings, certificates, passwords and error logs stay. The instance is empty then, and takes everything from its leader.
An interruption at any point is made good by the next start: the name is in the note of the pair.
"""

from __future__ import annotations

import os
import time
from dataclasses import replace
from pathlib import Path
from typing import Final

from ostler.engine.core import QUEUES_PATH, TEMPORARY_PATH
from ostler.engine.recovery.checkpoint import CATALOGUE_PATH, INSTANCE_PATH, MANIFEST_PATH
from ostler.replica.pair_side import PairNote, emptied
from ostler.server.config.ini_file import force_directory, write_atomically
from ostler.server.queue_manager import LOG_DIRECTORY, QueueManager
from ostler.server.replica.base_wanted import mark_of_empty
from ostler.server.replica.pair.notes import write_note

_PREFIX: Final = "partitioned-"
_PARTS: Final = (INSTANCE_PATH, MANIFEST_PATH, CATALOGUE_PATH, QUEUES_PATH, TEMPORARY_PATH, LOG_DIRECTORY)


def begin_aside(directory: Path, note: PairNote) -> PairNote:
    """Note under which name the data are set aside. Nothing is moved yet. Raises OSError."""
    name = _PREFIX + time.strftime("%Y%m%dT%H%M%S", time.gmtime())
    count = 0
    while (directory / name).exists():
        count += 1
        name = f"{name.split('.')[0]}.{count}"
    begun = replace(note, aside=name)
    write_note(directory, begun)
    return begun


def finish_aside(manager: QueueManager, note: PairNote) -> Path:
    """Move the data, mark the instance as empty, and return where the data are now. Raises OSError."""
    directory = manager.directory.path
    target = directory / note.aside
    target.mkdir(exist_ok=True)
    for part in _PARTS:
        if (directory / part).exists():
            os.rename(directory / part, target / part)
    if manager.settings.log.path:
        log = Path(manager.settings.log.path) / directory.name
        if log.exists():
            os.rename(log, log.with_name(f"{log.name}+{note.aside}"))
            force_directory(log.parent)
    force_directory(target)
    # The creation of a queue manager makes them.
    (directory / QUEUES_PATH).mkdir(exist_ok=True)
    (directory / LOG_DIRECTORY).mkdir(exist_ok=True)
    for name, data in mark_of_empty().items():
        write_atomically(directory / name, data)
    write_note(directory, emptied(note))
    return target
