"""An instance that wants a base: it was created empty, or has given its copy up.

All instances of a queue manager have the same log, with the same identity. The first instance is created with a log;
the others are created empty (crtmqm --replica, crtdrsecondary). One whose log or files are damaged, whose log the
leader cannot continue, or that lost a partition gives its copy up. Such an instance takes identity, definitions,
messages and log from the leader as a base. Until that is whole the file `base-wanted` is in its directory, and it can
neither lead nor vote. The copy that was there is set aside then, not deleted.

    want_base(directory.path, why)      durable on return; the next start of the process takes a base
"""

from __future__ import annotations

from pathlib import Path
from typing import Final

from ostler.replica.base_files import WANTED_PATH
from ostler.server.config.ini_file import ConfigurationError, IniFile, force_directory, write_atomically

FILE_NAME: Final = WANTED_PATH
FORMAT: Final = 1
_STANZA: Final = "BaseWanted"
_CREATED_EMPTY: Final = "it was created empty"
_TEXT: Final = """\
# This instance takes a base from the leader of its group, and removes this file when it has it. Until then the copy
# that is here, if any, is where it was: end the instance and remove this file to use it again.
{stanza}:
   Format={format}
   Reason={why}
"""


def mark_of_empty() -> dict[str, bytes]:
    """Return the file that marks an instance as empty: it is there as soon as the instance is."""
    return {FILE_NAME: _text(_CREATED_EMPTY)}


def _text(why: str) -> bytes:
    return _TEXT.format(stanza=_STANZA, format=FORMAT, why=" ".join(why.split())).encode()


def want_base(directory: Path, why: str) -> None:
    """Note that the instance in a directory gives its copy up and takes a base. Nothing is moved or removed yet.

    Durable on return. A process that runs the instance has to begin anew. Raises OSError.
    """
    write_atomically(directory / FILE_NAME, _text(why))
    force_directory(directory)


def wants_base(directory: Path) -> bool:
    """Return True when the instance in a directory wants a base. Raises ConfigurationError for a newer format."""
    path = directory / FILE_NAME
    if not path.exists():
        return False
    found = IniFile.read(path).get(_STANZA, "Format") or ""
    if found != str(FORMAT):
        raise ConfigurationError(str(path), 0, f"has format {found or 'none'}; this release knows format {FORMAT}")
    return True


def reason_for_base(directory: Path) -> str:
    """Return why the instance wants a base."""
    return IniFile.read(directory / FILE_NAME).get(_STANZA, "Reason") or _CREATED_EMPTY
