"""A shared repository in one file, for members on one machine: SQLite, whose log is forced at every commit."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from ostler.model.shared_repository import RepositoryRefused, RepositoryUnavailable
from ostler.server.coupling.repository.sql_repository import Session, SqlRepository, Value

_BUSY_SECONDS_MAX: Final = 10.0
_CACHE_KIB: Final = 2048
_STATEMENTS: Final = (
    "PRAGMA synchronous = FULL",
    f"PRAGMA cache_size = -{_CACHE_KIB}",
    "PRAGMA foreign_keys = OFF",
)
# Errors that go away by themselves, or with the machine they came with. All others need somebody.
_PASSING: Final = ("database is locked", "database table is locked", "disk I/O error", "unable to open", "interrupted")


class SqliteRepository(SqlRepository):
    def __init__(self, group: str, path: Path) -> None:
        super().__init__(group, str(path), "BLOB")
        self._path = path

    def _connect(self, create: bool) -> Session:
        if not create and not self._path.exists():
            raise RepositoryRefused(f"there is no repository {self._path}")
        if create:
            self._path.parent.mkdir(parents=True, exist_ok=True)
        return SqliteSession(self._path, create)

    def _take(self) -> tuple[Session, bool]:
        """A kept session of a file that was moved, deleted or replaced would go on with the old one."""
        session, is_kept = super()._take()
        if is_kept and isinstance(session, SqliteSession) and session.identity != _identity(self._path):
            session.close()
            self.close()
            return self._new(), False
        return session, is_kept


class SqliteSession(Session):
    def __init__(self, path: Path, create: bool) -> None:
        super().__init__()
        self._where = str(path)
        mode = "rwc" if create else "rw"
        try:
            self._connection = sqlite3.connect(
                f"{path.resolve().as_uri()}?mode={mode}",
                uri=True,
                timeout=_BUSY_SECONDS_MAX,
                isolation_level=None,
                check_same_thread=False,
            )
        except sqlite3.Error as error:
            raise self._translate(error) from None
        if create:
            self.query("PRAGMA journal_mode = WAL")
            _force_directory(path.parent)
        for each in _STATEMENTS:
            self.query(each)
        self.identity = _identity(path)

    def query(self, statement: str, values: Sequence[Value] = ()) -> list[tuple[Value, ...]]:
        try:
            return self._connection.execute(statement, values).fetchall()
        except sqlite3.Error as error:
            raise self._translate(error) from None

    def begin(self) -> None:
        self.query("BEGIN IMMEDIATE")
        self.has_begun = True

    def commit(self) -> None:
        self.query("COMMIT")

    def roll_back(self) -> None:
        if self._connection.in_transaction:
            self.query("ROLLBACK")

    def close(self) -> None:
        try:
            self._connection.close()
        except sqlite3.Error:
            return

    def _translate(self, error: sqlite3.Error) -> RepositoryUnavailable:
        text = f"the repository {self._where}: {error}"
        if any(each in str(error) for each in _PASSING):
            return RepositoryUnavailable(text)
        return RepositoryRefused(text)


def _identity(path: Path) -> tuple[int, int] | None:
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_dev, found.st_ino


def _force_directory(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
