"""The default queue manager of a data root, for commands and applications that name none.

Its name is in `mqs.ini` in the data root, in MQ's form:

    DefaultQueueManager:
       Name=QM1
"""

from __future__ import annotations

from pathlib import Path
from typing import Final

from ostler.server.config.ini_file import ConfigurationError, IniFile

_STANZA: Final = "DefaultQueueManager"
_ATTRIBUTE: Final = "Name"


def mqs_ini(root: Path) -> Path:
    return root / "mqs.ini"


def default_name(root: Path) -> str:
    """Return the name of the default queue manager, or empty. Raises ConfigurationError."""
    path = mqs_ini(root)
    if not path.exists():
        return ""
    return IniFile.read(path).get(_STANZA, _ATTRIBUTE) or ""


def set_default(root: Path, name: str) -> None:
    """Make a queue manager the default one. Raises ConfigurationError."""
    path = mqs_ini(root)
    file = IniFile.read(path) if path.exists() else IniFile("# Settings of all queue managers here.\n", str(path))
    file.set_value(_STANZA, _ATTRIBUTE, name)
    file.write(path)


def clear_default(root: Path, name: str) -> bool:
    """Remove the default if it is this queue manager; return True if it was. Raises ConfigurationError."""
    path = mqs_ini(root)
    if not path.exists():
        return False
    file = IniFile.read(path)
    if file.get(_STANZA, _ATTRIBUTE) != name:
        return False
    file.delete_value(_STANZA, _ATTRIBUTE)
    file.write(path)
    return True


__all__ = ["ConfigurationError", "clear_default", "default_name", "mqs_ini", "set_default"]
