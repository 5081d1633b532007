"""The places of side files in the directory of a queue manager, and what of them is copied.

    passwords              the password file
    ssl/                   key repositories, with private keys; not ssl/ca, whose key makes certificates
    qm.env, service.env    stored variables
    qm.ini                 COPIED_STANZAS; all others, such as Log and NativeHALocalInstance, are the instance's

Links are not followed, and not copied: what they lead to is the machine's.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from ostler.model.replication import KEYS, PASSWORDS, SETTINGS, VARIABLES
from ostler.replica.side_files import FILES_MAX, SideSet, SideSetRefused
from ostler.security.passwords import PasswordFileError
from ostler.server.config.directories import QueueManagerDirectory
from ostler.server.config.ini_file import ConfigurationError, IniFile
from ostler.server.config.qm_ini import COPIED_STANZAS, QueueManagerIni
from ostler.server.config.variables import MANAGER_FILE
from ostler.server.security.password_store import FILE_NAME, read_passwords
from ostler.server.services import ENVIRONMENT_FILE
from ostler.wire.replica_frames import SIDE_SET_BYTES_MAX

INI_NAME: Final = "qm.ini"
_KEYS_DIRECTORY: Final = "ssl"
_AUTHORITY: Final = "ssl/ca"
_FIXED: Final = {
    PASSWORDS: (FILE_NAME,),
    VARIABLES: (MANAGER_FILE, ENVIRONMENT_FILE),
    SETTINGS: (INI_NAME,),
}

Stanzas = dict[str, list[list[tuple[str, str]]]]
"""The stanzas of a file by name: the attributes and values of each."""
Signature = tuple[tuple[str, int, int, int, int], ...]
"""Identifies a state of a set's files, from inode, times and size of each."""


def paths_of(directory: QueueManagerDirectory, name: str) -> list[str]:
    """Return the files of a set that exist, as paths below the directory. Raises OSError and SideSetRefused."""
    if name == KEYS:
        found: list[str] = []
        for path in _key_files(directory.path):
            found.append(path)
            if len(found) > FILES_MAX:
                raise SideSetRefused(f"there are more than {FILES_MAX} files")
        return sorted(found)
    return [path for path in _FIXED.get(name, ()) if _is_file(directory.path / path)]


def _key_files(base: Path) -> Iterator[str]:
    waiting = [_KEYS_DIRECTORY] if not (base / _KEYS_DIRECTORY).is_symlink() else []
    while waiting:
        below = waiting.pop()
        try:
            entries = list(os.scandir(base / below))
        except (FileNotFoundError, NotADirectoryError):
            continue
        for entry in entries:
            path = f"{below}/{entry.name}"
            if entry.is_dir(follow_symlinks=False) and path != _AUTHORITY:
                waiting.append(path)
            elif entry.is_file(follow_symlinks=False) and not entry.name.endswith("+new"):
                yield path


def _is_file(path: Path) -> bool:
    try:
        return stat.S_ISREG(os.lstat(path).st_mode)
    except FileNotFoundError:
        return False


def signature_of(directory: QueueManagerDirectory, name: str) -> Signature:
    """Return the state of a set's files. Raises OSError and SideSetRefused."""
    found = []
    for path in paths_of(directory, name):
        state = os.lstat(directory.path / path)
        found.append((path, state.st_ino, state.st_mtime_ns, state.st_ctime_ns, state.st_size))
    return tuple(found)


def read_set(directory: QueueManagerDirectory, name: str) -> SideSet | None:
    """Return a set as it is here; None when there is nothing of it. Raises OSError and SideSetRefused.

    What the queue manager could not use itself is refused: copies are better off with what they have.
    """
    paths = paths_of(directory, name)
    if not paths:
        return None
    if name == SETTINGS:
        return SideSet(name, {INI_NAME: _settings_text(directory).encode()})
    if name == PASSWORDS:
        try:
            read_passwords(directory.path / FILE_NAME)
        except PasswordFileError as error:
            raise SideSetRefused(f"{directory.path / FILE_NAME} cannot be used: {error}") from None
    files: dict[str, bytes] = {}
    left = SIDE_SET_BYTES_MAX
    for path in paths:
        files[path] = _read(directory.path / path, left)
        left -= len(files[path])
    return SideSet(name, files)


def _read(path: Path, bytes_max: int) -> bytes:
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC)
    with os.fdopen(descriptor, "rb") as file:
        data = file.read(bytes_max + 1)
    if len(data) > bytes_max:
        raise SideSetRefused(f"the files have more than {SIDE_SET_BYTES_MAX} bytes")
    return data


def _settings_text(directory: QueueManagerDirectory) -> str:
    try:
        QueueManagerIni.read(directory.ini)
        found = stanzas_of(IniFile.read(directory.ini))
    except ConfigurationError as error:
        raise SideSetRefused(str(error)) from None
    made = IniFile("")
    try:
        for name, contents in found.items():
            made.replace_stanzas(name, contents)
    except ValueError as error:
        raise SideSetRefused(f"{directory.ini}: {error}") from None
    return made.text()


def stanzas_of(file: IniFile) -> Stanzas:
    """Return the stanzas of a file that are copied, in the order of COPIED_STANZAS. Absent ones are empty."""
    return {
        name: [
            [(each.name, each.value) for each in stanza.attributes]
            for stanza in file.stanzas
            if stanza.name.lower() == name.lower()
        ]
        for name in COPIED_STANZAS
    }


def check_path(name: str, path: str) -> None:
    """Raise SideSetRefused for a path that a set cannot have."""
    if name != KEYS:
        is_allowed = path in _FIXED.get(name, ())
    else:
        parts = path.split("/")
        is_inside = parts[0] == _KEYS_DIRECTORY and len(parts) > 1 and not f"{path}/".startswith(f"{_AUTHORITY}/")
        is_allowed = is_inside and all(part not in ("", ".", "..") and part.isprintable() for part in parts)
    if not is_allowed:
        raise SideSetRefused(f"{path!r} does not belong to the {name}")
