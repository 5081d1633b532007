"""Finding the shared repository that a configuration names: the path of a file, or postgresql://..."""

from __future__ import annotations

from pathlib import Path
from urllib.parse import urlsplit, urlunsplit

from ostler.model.shared_repository import RepositoryRefused
from ostler.server.coupling.repository.sql_repository import SqlRepository
from ostler.server.coupling.repository.sqlite_repository import SqliteRepository

_SCHEMES = ("postgresql://", "postgres://")


def is_database_url(where: str) -> bool:
    return where.startswith(_SCHEMES)


def open_repository(where: str, group: str) -> SqlRepository:
    """Return the repository of a group. Nothing is connected yet. Raises RepositoryRefused."""
    if not is_database_url(where):
        if "://" in where:
            raise RepositoryRefused(f"{describe(where)} is neither a path nor postgresql://...")
        return SqliteRepository(group, Path(where))
    try:
        from ostler.server.coupling.repository.postgres_repository import PostgresRepository
    except ImportError:
        raise RepositoryRefused(
            "a repository in PostgreSQL needs the package psycopg; install it with: pip install 'ostler[sharing]'"
        ) from None
    return PostgresRepository(group, where, describe(where))


def describe(where: str) -> str:
    """Return the place for messages, without a password."""
    if "://" not in where:
        return where
    parts = urlsplit(where)
    place = parts.netloc
    if "@" in place:
        user, _, host = place.rpartition("@")
        place = f"{user.partition(':')[0]}@{host}"
    return urlunsplit((parts.scheme, place, parts.path, "", ""))
