"""The data of an instance whose partner was chosen by a person (makehaprimary): renamed, never deleted.

    <queue manager>/partitioned-20261117T213000/    checkpoint, objects, queues and log as they were
    <LogPath>/<queue manager>+partitioned-.../      the log, when qm.ini has it elsewhere

Settings, certificates, passwords and error logs stay. The instance is empty then, and takes everything from its leader.
An interruption at any point is made good by the next start: the name is in the note of the pair.
"""

from __future__ import annotations

import time
from dataclasses import replace
from pathlib import Path
from typing import Final

from ostler.replica.pair_side import PairNote, emptied
from ostler.server.queue_manager import QueueManager
from ostler.server.replica.pair.notes import write_note
from ostler.server.replica.site.set_aside import move_data

_PREFIX: Final = "partitioned-"


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
    move_data(manager, target, note.aside)
    write_note(directory, emptied(note))
    return target
