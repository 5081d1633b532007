"""A shared repository in PostgreSQL, for members on several machines.

A call waits for its answer a limited time, also for a server that has stopped and whose machine still acknowledges.
"""

from __future__ import annotations

import time
from collections.abc import Generator, Sequence
from typing import Any, Final, TypeVar, cast

import psycopg
from psycopg import errors

from ostler.model.shared_repository import RepositoryRefused, RepositoryUnavailable
from ostler.server.coupling.repository.sql_repository import Session, SqlRepository, Value

_CONNECT_SECONDS_MAX: Final = 5
_ANSWER_SECONDS_MAX: Final = 15.0
_CREATING: Final = 0x4F53544C  # of the advisory lock under which tables are made
_SETTINGS: Final = (
    "SET synchronous_commit TO on",  # whatever the server's default is
    "SET lock_timeout TO '10s'",
    "SET statement_timeout TO '60s'",
    "SET idle_in_transaction_session_timeout TO '60s'",
)
# Bodies of messages are compressed already, or not worth it: PostgreSQL keeps them as they are.
_STORAGE: Final = "ALTER TABLE ostler_blobs ALTER COLUMN data SET STORAGE EXTERNAL"

_T = TypeVar("_T")


class _TooLate(Exception):
    """The server has not answered in time."""


class _LimitedConnection(psycopg.Connection[tuple[Any, ...]]):
    """A connection whose calls end after some seconds, with or without an answer."""

    def wait(self, gen: Generator[Any, Any, _T], *options: Any, **named: Any) -> _T:
        return super().wait(_limited(gen, time.monotonic() + _ANSWER_SECONDS_MAX), *options, **named)


def _limited(gen: Generator[Any, Any, _T], deadline: float) -> Generator[Any, Any, _T]:
    """Yield what the generator waits for, and end it at the deadline. psycopg sends nothing now and then."""
    try:
        wanted = next(gen)
        while True:
            ready = yield wanted
            if not ready and time.monotonic() > deadline:
                raise _TooLate
            wanted = gen.send(ready)
    except StopIteration as end:
        return cast(_T, end.value)


class PostgresRepository(SqlRepository):
    """`url` is one of libpq: postgresql://user:password@host:port/database?sslmode=verify-full."""

    def __init__(self, group: str, url: str, where: str) -> None:
        super().__init__(group, where, "BYTEA")
        self._url = url

    def _connect(self, create: bool) -> Session:
        session = PostgresSession(self._url, self.where)
        if create:
            session.is_creating = True
        return session

    def create(self) -> bool:
        is_new = super().create()
        session = self._connect(False)
        try:
            session.query(_STORAGE)
        finally:
            session.close()
        return is_new


class PostgresSession(Session):
    def __init__(self, url: str, where: str) -> None:
        super().__init__()
        self._where = where
        self.is_creating = False
        try:
            self._connection = _LimitedConnection.connect(
                url, autocommit=True, connect_timeout=_CONNECT_SECONDS_MAX, application_name="ostler"
            )
        except psycopg.Error as error:
            raise self._translate(error) from None
        for each in _SETTINGS:
            self.query(each)

    def query(self, statement: str, values: Sequence[Value] = ()) -> list[tuple[Value, ...]]:
        text = statement.replace("?", "%s")
        try:
            with self._connection.cursor(binary=True) as cursor:
                cursor.execute(cast("Any", text), values or None)
                return cursor.fetchall() if cursor.description is not None else []
        except _TooLate:
            self._connection.close()
            raise RepositoryUnavailable(
                f"the repository {self._where} has not answered within {_ANSWER_SECONDS_MAX:.0f} s"
            ) from None
        except psycopg.Error as error:
            raise self._translate(error) from None

    def begin(self) -> None:
        self.query("BEGIN")
        self.has_begun = True
        if self.is_creating:
            self.query("SELECT pg_advisory_xact_lock(?)", (_CREATING,))

    def commit(self) -> None:
        self.query("COMMIT")

    def roll_back(self) -> None:
        try:
            self.query("ROLLBACK")
        except RepositoryUnavailable:
            self._connection.close()

    def close(self) -> None:
        self._connection.close()

    def _translate(self, error: psycopg.Error) -> RepositoryUnavailable:
        text = f"the repository {self._where}: {' '.join(str(error).split())}"
        if isinstance(error, errors.UndefinedTable):
            return RepositoryRefused(f"the repository {self._where} has no tables of a queue-sharing group")
        state = error.sqlstate or ""
        # 08 connection, 40 serialization, 53300 too many connections, 55 locks, 57 ended by the operator, 58 system.
        if isinstance(error, psycopg.OperationalError) and (
            not state or state[:2] in ("08", "40", "55", "57", "58") or state == "53300"
        ):
            return RepositoryUnavailable(text)
        return RepositoryRefused(text)
