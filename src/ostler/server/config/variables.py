"""Environment variables that are stored for queue managers (setmqvar), and applied when one is started.

They are in files of NAME=value lines: `qm.env` in the directory of a queue manager for that one, and `mqs.env` in the
data root for all. Those of the queue manager override those for all, which override the environment of strmqm.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from ostler.server.config.directories import QueueManagerDirectory
from ostler.server.config.environment import is_secret
from ostler.server.config.ini_file import write_atomically

MANAGER_FILE: Final = "qm.env"
GLOBAL_FILE: Final = "mqs.env"
PREFIXES: Final = ("AMQ", "MQ", "GSK", "OSTLER_")
"""MQ's appliance takes names that begin with AMQ, MQ or GSK."""
_NEVER: Final = frozenset(
    ("MQ_JAVA_DATA_PATH", "MQ_INSTALLATION_PATH", "MQCHLLIB", "MQCHLTAB", "MQS_KEYSTORE_CONF", "OSTLER_DATA")
)
_LINE: Final = re.compile(r"\s*([A-Za-z_]\w*)\s*=(.*)")
_NAME: Final = re.compile(r"[A-Za-z_]\w*", re.ASCII)


class VariableRefused(ValueError):
    """A variable that cannot be stored. The text gives the reason."""


def manager_file(directory: QueueManagerDirectory) -> Path:
    return directory.path / MANAGER_FILE


def global_file(root: Path) -> Path:
    return root / GLOBAL_FILE


def read_variables(path: Path) -> dict[str, str]:
    """Return the variables of an environment file, NAME=value on each line; none when there is no file."""
    try:
        lines = path.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return {}
    found = (_LINE.fullmatch(line) for line in lines if not line.lstrip().startswith("#") and "\0" not in line)
    return {match.group(1): match.group(2).strip() for match in found if match is not None}


def check_variable(name: str, value: str) -> None:
    """Raise VariableRefused for a name or a value that cannot be stored. The meaning of a value is not checked."""
    if not _NAME.fullmatch(name):
        raise VariableRefused(f"{name!r} is not the name of a variable.")
    if not name.startswith(PREFIXES):
        raise VariableRefused(f"{name} does not begin with {', '.join(PREFIXES[:-1])} or {PREFIXES[-1]}.")
    if name in _NEVER:
        raise VariableRefused(f"{name} cannot be set for a queue manager.")
    if is_secret(name):
        raise VariableRefused(f"{name} looks like a password; the environment of a process can be read by others.")
    if any(character in value for character in "\0\r\n") or value != value.strip():
        raise VariableRefused("The value has line ends, or spaces at its ends.")


def set_variable(path: Path, name: str, value: str) -> None:
    """Store a variable. Raises VariableRefused and OSError."""
    check_variable(name, value)
    _write(path, {**read_variables(path), name: value})


def delete_variable(path: Path, name: str) -> bool:
    """Remove a variable; return False when there is none of that name. Raises OSError."""
    stored = read_variables(path)
    if name not in stored:
        return False
    del stored[name]
    _write(path, stored)
    return True


def _write(path: Path, variables: Mapping[str, str]) -> None:
    lines = [f"{name}={value}\n" for name, value in sorted(variables.items())]
    write_atomically(path, "".join(lines).encode())


def variables_of_manager(directory: QueueManagerDirectory) -> dict[str, str]:
    """Return the stored variables that a queue manager is started with."""
    return {**read_variables(global_file(directory.root)), **read_variables(manager_file(directory))}
