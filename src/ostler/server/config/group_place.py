"""Where this machine finds the queue-sharing groups that it knows: <data root>/groups/<group>/group.ini.

    QueueSharingGroup:
       Name=QSG1
       Repository=postgresql://ostler@db.example.com/ostler     or the path of a file
       GroupDirectory=/shared/QSG1

The group itself is in its shared repository. The file is for its owner: a repository's address may have a password.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from ostler.server.config.ini_file import ConfigurationError, IniFile
from ostler.server.config.sharing_ini import NAME, STANZA

REPOSITORY_FILE: Final = "repository.db"
_FILE: Final = "group.ini"
_DIRECTORY_MODE: Final = 0o700


@dataclass(frozen=True)
class GroupPlace:
    """The repository and the directory of a group, as one machine reaches them."""

    name: str
    directory: Path
    """What all members share: data sets, and the repository if it is a file."""
    repository: str


def groups_directory(root: Path) -> Path:
    return root / "groups"


def default_place(root: Path, name: str, directory: Path | None, repository: str) -> GroupPlace:
    """Return the place of a group that has these, or those of this data root."""
    directory = directory or groups_directory(root) / name
    return GroupPlace(name, directory, repository or str(directory / REPOSITORY_FILE))


def read_place(root: Path, name: str) -> GroupPlace | None:
    """Return the place of a group; None if this data root does not know it. Raises ConfigurationError."""
    path = groups_directory(root) / name / _FILE
    if not path.exists():
        return None
    file = IniFile.read(path)
    directory = file.get(STANZA, "GroupDirectory") or ""
    repository = file.get(STANZA, "Repository") or ""
    if file.get(STANZA, "Name") != name or not directory or not repository:
        raise ConfigurationError(str(path), 0, f"is not of queue-sharing group {name}, or not whole")
    return GroupPlace(name, Path(directory), repository)


def write_place(root: Path, place: GroupPlace) -> None:
    """Write the place of a group. Raises ConfigurationError and OSError."""
    own = groups_directory(root) / place.name
    for each in (own, place.directory):
        each.mkdir(mode=_DIRECTORY_MODE, parents=True, exist_ok=True)
    file = IniFile("", str(own / _FILE))
    values = [("Name", place.name), ("Repository", place.repository), ("GroupDirectory", str(place.directory))]
    try:
        file.replace_stanzas(STANZA, [values])
    except ValueError as error:
        raise ConfigurationError(str(own / _FILE), 0, str(error)) from None
    file.write(own / _FILE)


def forget_place(root: Path, name: str) -> None:
    """Remove the file, and the directory if nothing is left in it."""
    path = groups_directory(root) / name / _FILE
    path.unlink(missing_ok=True)
    try:
        path.parent.rmdir()
    except OSError:
        return


def known_groups(root: Path) -> list[str]:
    """Return the names of the groups of a data root."""
    try:
        names = sorted(os.listdir(groups_directory(root)))
    except (FileNotFoundError, NotADirectoryError):
        return []
    return [name for name in names if NAME.fullmatch(name) and (groups_directory(root) / name / _FILE).exists()]
