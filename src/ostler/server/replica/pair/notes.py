"""The file `pair` of an instance without an arbiter: its notes about the pair, in the queue manager's directory.

It is replaced as a whole and forced. An instance whose file names another instance was copied from there: it has noted
nothing.
"""

from __future__ import annotations

import json
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any, Final

from ostler.model.arbiter import InSyncSet, check_in_sync
from ostler.replica.pair_side import PairNote, emptied
from ostler.server.config.ini_file import ConfigurationError, write_atomically

FILE_NAME: Final = "pair"
FORMAT: Final = 1
_BYTES_MAX: Final = 64 << 10


def read_note(directory: Path, instance: str) -> PairNote | None:
    """Return the note; None when there is none. Raises ConfigurationError for a file that cannot be used."""
    path = directory / FILE_NAME
    try:
        with path.open("rb") as file:
            data = file.read(_BYTES_MAX + 1)
    except FileNotFoundError:
        return None
    try:
        found = json.loads(data)
        if found["format"] != FORMAT:
            problem = f"has format {found['format']}; this release knows format {FORMAT}"
            raise ConfigurationError(str(path), 0, problem)
        note = _note(found["note"])
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        raise ConfigurationError(str(path), 0, "is damaged; makehaprimary on the partner decides without it") from None
    return note if note.instance == instance else emptied(replace(note, instance=instance, incarnation=0))


def _note(found: dict[str, Any]) -> PairNote:
    in_sync = found["in_sync"]
    note = PairNote(
        instance=str(found["instance"]),
        incarnation=int(found["incarnation"]),
        last_term=int(found["last_term"]),
        in_sync=InSyncSet(**{**in_sync, "members": tuple(in_sync["members"])}) if in_sync is not None else None,
        has_resigned=bool(found["has_resigned"]),
        founder=str(found["founder"]),
        preferred=str(found["preferred"]),
        suspended=tuple(str(each) for each in found["suspended"]),
        settings_version=int(found["settings_version"]),
        settings_writer=str(found["settings_writer"]),
        partition_lsn=int(found["partition_lsn"]),
        is_resolved=bool(found["is_resolved"]),
        resolution=int(found["resolution"]),
        heard_resolution=int(found.get("heard_resolution", 0)),
    )
    if note.in_sync is not None:
        check_in_sync(note.in_sync.members, note.in_sync.copies)
    return note


def write_note(directory: Path, note: PairNote) -> None:
    """Make the note durable. Raises OSError."""
    document = {"format": FORMAT, "note": asdict(note)}
    write_atomically(directory / FILE_NAME, json.dumps(document, indent=1).encode())
