"""Shared by the commands on queue-sharing groups: names, and the roll of a group in its shared repository."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from ostler.cli.framework.commands import CommandFailed, root
from ostler.cli.framework.exit_statuses import Status
from ostler.model.coupling.group_rows import GroupRow
from ostler.model.shared_repository import RepositoryRefused, RepositoryUnavailable
from ostler.server.config.group_place import GroupPlace, default_place, read_place
from ostler.server.config.ini_file import ConfigurationError
from ostler.server.config.sharing_ini import NAME
from ostler.server.coupling.group_roll import GroupRoll
from ostler.server.coupling.repository.opening import open_repository
from ostler.server.coupling.repository.sql_repository import SqlRepository


def add_group(parser: argparse.ArgumentParser, nargs: str | None = None) -> None:
    parser.add_argument("group", metavar="GROUP", nargs=nargs, help="its name: 1 to 4 of A-Z and 0-9, a letter first")


def add_place(parser: argparse.ArgumentParser) -> None:
    """Adds the options that say where the group is."""
    parser.add_argument(
        "--repository",
        metavar="WHERE",
        help="the shared repository: postgresql://USER@HOST/DATABASE, or a file (repository.db in the directory)",
    )
    parser.add_argument(
        "--directory", metavar="DIR", type=Path, help="what all members share, for data sets and the repository"
    )


def group_name(text: str) -> str:
    if not NAME.fullmatch(text):
        why = f"{text[:20]!r} is not the name of a queue-sharing group: 1 to 4 of A-Z and 0-9, a letter first."
        raise CommandFailed(Status.NAME_ERROR, "AMQ3855E", why=why)
    return text


def given_place(name: str, arguments: argparse.Namespace) -> GroupPlace:
    """Returns the place of a group: as the options say, or as this data root knows it, or where it would be."""
    directory = arguments.directory.absolute() if arguments.directory is not None else None
    repository = arguments.repository or ""
    if repository and "://" not in repository:
        repository = str(Path(repository).absolute())
    if not repository and directory is None:
        try:
            known = read_place(root(), name)
        except ConfigurationError as error:
            raise CommandFailed(Status.UNEXPECTED, "AMQ7076E", why=f"{error}.") from error
        if known is not None:
            return known
    return default_place(root().absolute(), name, directory, repository)


@contextmanager
def opened(place: GroupPlace) -> Iterator[SqlRepository]:
    """Yields the repository, and fails the command when that cannot be used."""
    try:
        repository = open_repository(place.repository, place.name)
        try:
            yield repository
        finally:
            repository.close()
    except RepositoryRefused as error:
        raise CommandFailed(Status.UNEXPECTED, "AMQ3880E", name=place.name, why=f"{error}.") from None
    except RepositoryUnavailable as error:
        raise CommandFailed(Status.NOT_AVAILABLE, "AMQ3880E", name=place.name, why=f"{error}.") from None


@contextmanager
def roll_of(name: str, arguments: argparse.Namespace) -> Iterator[tuple[GroupPlace, GroupRoll, GroupRow]]:
    """Yields a group that is there; fails without one."""
    place = given_place(group_name(name), arguments)
    if "://" not in place.repository and not Path(place.repository).exists():
        raise no_group(name, f"there is no repository {place.repository}")
    with opened(place) as repository:
        roll = GroupRoll(name, repository)
        group = roll.group()
        if group is None:
            raise no_group(name, "its repository does not have it")
        yield place, roll, group


def no_group(name: str, why: str) -> CommandFailed:
    return CommandFailed(Status.NAME_ERROR, "AMQ3879E", name=name, why=f"{why}.")
