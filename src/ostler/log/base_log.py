"""The log of a copy that takes a base: it begins in the middle of its leader's log."""

from __future__ import annotations

from ostler.log.control_file import ControlState, create_control_file
from ostler.log.extents import ExtentStore
from ostler.log.lives import create_lives
from ostler.log.restart import ACTIVE_NAME
from ostler.log.settings import LogSettings
from ostler.log.stream_format import StreamShape
from ostler.model.disk import Disk
from ostler.model.log_life import Life


def create_base_log(
    disk: Disk, directory: str, settings: LogSettings, identity: bytes, restart_lsn: int, lives: list[Life]
) -> None:
    """Create a log without blocks whose first extent is that of `restart_lsn`, in the last of its leader's lives.

    The leader's blocks are taken from the beginning of that extent on. A start needs all of them up to the LSNs that
    the files beside speak of. Raises LogSpace.
    """
    shape = StreamShape(identity, settings.file_pages)
    first = int(shape.extent_of(restart_lsn))
    active = f"{directory}/{ACTIVE_NAME}"
    disk.make_directory(active)
    disk.force_directory(directory)
    store = ExtentStore(disk, active, shape)
    store.first, store.last = first, first - 1
    for _ in range(settings.primary_files):
        store.allocate()
    store.close()
    create_lives(disk, directory, identity, lives)
    state = ControlState(identity, settings)
    state.epoch, state.life_start_lsn = lives[-1].epoch, lives[-1].start_lsn
    state.restart_lsn = state.checkpoint_lsn = state.media_lsn = restart_lsn
    state.durable_lsn = int(shape.start_of(first))
    state.oldest_extent, state.archived_extent = first, first - 1
    state.last_extent = first + settings.primary_files - 1
    create_control_file(disk, directory, state)
