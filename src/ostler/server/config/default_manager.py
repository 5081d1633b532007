"""The default queue manager of a data root: the one that a command or an application without a name means.

It stands in `mqs.ini` in the data root, in the form that MQ has for it:

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
    """The name of the default queue manager; empty when there is none. Raises ConfigurationError."""
    path = mqs_ini(root)
    if not path.exists():
        return ""
    return IniFile.read(path).get(_STANZA, _ATTRIBUTE) or ""


def set_default(root: Path, name: str) -> None:
    """Make a queue manager the default one. Raises ConfigurationError."""
    path = mqs_ini(root)
    file = IniFile.read(path) if path.exists() else IniFile("# What all queue managers here share.\n", str(path))
    file.set_value(_STANZA, _ATTRIBUTE, name)
    file.write(path)


def clear_default(root: Path, name: str) -> bool:
    """A queue manager is gone: if it was the default, there is none now. Whether it was. Raises ConfigurationError."""
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
