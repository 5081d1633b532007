"""An instance that was created empty (crtmqm --replica, crtdrsecondary): it has no log of its own.

All instances of a queue manager have the same log, with the same identity. The first instance is created with a log;
the others are created empty, and take identity, definitions and messages from the leader as a base. Until that is done
the file `base-wanted` is in the directory of the queue manager, and the instance cannot be a leader.
"""

from __future__ import annotations

from pathlib import Path
from typing import Final

from ostler.server.config.ini_file import ConfigurationError, IniFile, force_directory

FILE_NAME: Final = "base-wanted"
FORMAT: Final = 1
_STANZA: Final = "BaseWanted"
_TEXT: Final = """\
# This instance was created empty. It takes a base from the leader of its group, which then removes this file.
{stanza}:
   Format={format}
"""


def mark_of_empty() -> dict[str, bytes]:
    """Return the file that marks an instance as empty: it is there as soon as the instance is."""
    return {FILE_NAME: _TEXT.format(stanza=_STANZA, format=FORMAT).encode()}


def is_empty(directory: Path) -> bool:
    """Return True when the instance in a directory wants a base. Raises ConfigurationError for a newer format."""
    path = directory / FILE_NAME
    if not path.exists():
        return False
    found = IniFile.read(path).get(_STANZA, "Format") or ""
    if found != str(FORMAT):
        raise ConfigurationError(str(path), 0, f"has format {found or 'none'}; this release knows format {FORMAT}")
    return True


def clear_empty(directory: Path) -> None:
    """Note that the instance has its base. Raises OSError."""
    (directory / FILE_NAME).unlink(missing_ok=True)
    force_directory(directory)
