"""A shared repository in tables: the statements, which both engines have in common.

    ostler_format    the version of these tables: one row
    ostler_groups    a group, and the number of its last change
    ostler_rows      rows, by group, kind and name
    ostler_blobs     parts of blobs, by group, structure, entry and number of the part

A change takes the row of its group first, so changes have one order, and are seen in it. The parts of a blob are
written from the last to the first: without a first part it is not whole.
"""

from __future__ import annotations

import threading
from abc import abstractmethod
from collections.abc import Callable, Sequence
from typing import Final, TypeVar

from ostler.model.shared_repository import (
    ABSENT,
    BLOB_BYTES_MAX,
    PART_BYTES,
    BlobNotFound,
    RepositoryRefused,
    RepositoryUnavailable,
    Row,
    RowChanged,
    SharedRepository,
    check_row,
)

FORMAT: Final = 1
_SESSIONS_MAX: Final = 14  # ten blob tasks, and others
_PARTS_AT_ONCE: Final = 4  # in one transaction: others wait no longer than for these
_BLOBS_AT_ONCE: Final = 200

Value = int | str | bytes | None
_T = TypeVar("_T")

_TABLES: Final = (
    "CREATE TABLE IF NOT EXISTS ostler_format (version INTEGER NOT NULL)",
    "CREATE TABLE IF NOT EXISTS ostler_groups (name TEXT PRIMARY KEY, number BIGINT NOT NULL)",
    "CREATE TABLE IF NOT EXISTS ostler_rows (group_name TEXT NOT NULL, kind TEXT NOT NULL, name TEXT NOT NULL,"
    " version BIGINT NOT NULL, data {blob} NOT NULL, PRIMARY KEY (group_name, kind, name))",
    "CREATE TABLE IF NOT EXISTS ostler_blobs (group_name TEXT NOT NULL, structure TEXT NOT NULL, entry {blob} NOT NULL,"
    " part INTEGER NOT NULL, total BIGINT NOT NULL, data {blob} NOT NULL,"
    " PRIMARY KEY (group_name, structure, entry, part))",
)
_OF_ROW: Final = " FROM ostler_rows WHERE group_name = ? AND kind = ? AND name = ?"
_OF_BLOB: Final = " FROM ostler_blobs WHERE group_name = ? AND structure = ? AND entry = ?"


class Session:
    """One connection to the database. Its methods raise RepositoryUnavailable and RepositoryRefused."""

    def __init__(self) -> None:
        self.has_begun = False  # a transaction, since it was taken from the others

    @abstractmethod
    def query(self, statement: str, values: Sequence[Value] = ()) -> list[tuple[Value, ...]]:
        """Run a statement with `?` for each value, and return its rows."""

    @abstractmethod
    def begin(self) -> None:
        """Begin a transaction that changes something."""

    @abstractmethod
    def commit(self) -> None:
        """Commit it. It is durable when this returns."""

    @abstractmethod
    def roll_back(self) -> None:
        """Roll back whatever is open. Raises nothing when the connection is gone."""

    @abstractmethod
    def close(self) -> None: ...


class SqlRepository(SharedRepository):
    """The tables of one group. `where` is shown in messages and has no password."""

    def __init__(self, group: str, where: str, blob_type: str) -> None:
        self.group = group
        self.where = where
        self._blob_type = blob_type
        self._free: list[Session] = []
        self._lock = threading.Lock()
        self._slots = threading.BoundedSemaphore(_SESSIONS_MAX)

    @abstractmethod
    def _connect(self, create: bool) -> Session:
        """Return a new session. `create`: the store may have to be made first."""

    # -- sessions ------------------------------------------------------------------------------------------------------

    def _run(self, work: Callable[[Session], _T]) -> _T:
        """Run work with a session of its own. A kept one that turns out to be dead is replaced, once."""
        with self._slots:
            session, is_kept = self._take()
            try:
                return self._use(session, work)
            except RepositoryRefused:
                raise
            except RepositoryUnavailable:
                if not is_kept or session.has_begun:
                    raise
            self.close()
            return self._use(self._new(), work)

    def _take(self) -> tuple[Session, bool]:
        with self._lock:
            if self._free:
                return self._free.pop(), True
        return self._new(), False

    def _new(self) -> Session:
        session = self._connect(False)
        try:
            self._check(session)
        except BaseException:
            session.close()
            raise
        return session

    def _use(self, session: Session, work: Callable[[Session], _T]) -> _T:
        session.has_begun = False
        try:
            result = work(session)
        except (RowChanged, BlobNotFound):
            session.roll_back()
            self._keep(session)
            raise
        except BaseException:
            session.close()
            raise
        self._keep(session)
        return result

    def _keep(self, session: Session) -> None:
        with self._lock:
            self._free.append(session)

    def _check(self, session: Session) -> None:
        found = session.query("SELECT version FROM ostler_format")
        if found and found[0][0] != FORMAT:
            raise RepositoryRefused(
                f"the repository {self.where} has format {found[0][0]!r}; this release reads format {FORMAT}"
            )
        if not found or not session.query("SELECT 1 FROM ostler_groups WHERE name = ?", (self.group,)):
            raise RepositoryRefused(f"the repository {self.where} has no queue-sharing group {self.group}")

    def close(self) -> None:
        with self._lock:
            free = self._free
            self._free = []
        for session in free:
            session.close()

    # -- the group -----------------------------------------------------------------------------------------------------

    def create(self) -> bool:
        """Make the tables and the group unless they are there. Return False if the group was there."""
        session = self._connect(True)
        try:
            session.begin()
            for each in _TABLES:
                session.query(each.format(blob=self._blob_type))
            if not session.query("SELECT version FROM ostler_format"):
                session.query("INSERT INTO ostler_format (version) VALUES (?)", (FORMAT,))
            is_new = not session.query("SELECT 1 FROM ostler_groups WHERE name = ?", (self.group,))
            if is_new:
                session.query("INSERT INTO ostler_groups (name, number) VALUES (?, 0)", (self.group,))
            session.commit()
            self._check(session)
            return is_new
        finally:
            session.close()

    def destroy(self) -> None:
        """Delete the group with all its rows and blobs."""

        def work(session: Session) -> None:
            session.begin()
            for table in ("ostler_blobs", "ostler_rows"):
                session.query(f"DELETE FROM {table} WHERE group_name = ?", (self.group,))
            session.query("DELETE FROM ostler_groups WHERE name = ?", (self.group,))
            session.commit()

        self._run(work)
        self.close()

    # -- rows ----------------------------------------------------------------------------------------------------------

    def read(self, kind: str, name: str) -> Row | None:
        found = self._run(
            lambda session: session.query("SELECT name, version, data" + _OF_ROW, (self.group, kind, name))
        )
        return _row(kind, found[0]) if found else None

    def rows(self, kind: str) -> list[Row]:
        statement = "SELECT name, version, data FROM ostler_rows WHERE group_name = ? AND kind = ?"
        found = self._run(lambda session: session.query(statement, (self.group, kind)))
        return sorted((_row(kind, each) for each in found), key=lambda row: row.name)

    def write(self, kind: str, name: str, data: bytes, expected_version: int | None) -> int:
        check_row(kind, name, data)

        def work(session: Session) -> int:
            number = self._begin_change(session, kind, name, expected_version)
            session.query("DELETE" + _OF_ROW, (self.group, kind, name))
            session.query(
                "INSERT INTO ostler_rows (group_name, kind, name, version, data) VALUES (?, ?, ?, ?, ?)",
                (self.group, kind, name, number, data),
            )
            session.commit()
            return number

        return self._run(work)

    def delete(self, kind: str, name: str, expected_version: int | None) -> None:
        check_row(kind, name, b"")

        def work(session: Session) -> None:
            self._begin_change(session, kind, name, expected_version)
            session.query("DELETE" + _OF_ROW, (self.group, kind, name))
            session.commit()

        self._run(work)

    def _begin_change(self, session: Session, kind: str, name: str, expected: int | None) -> int:
        """Begin a transaction, count the change, and compare the version of a row. Return the number of the change."""
        session.begin()
        session.query("UPDATE ostler_groups SET number = number + 1 WHERE name = ?", (self.group,))
        counted = session.query("SELECT number FROM ostler_groups WHERE name = ?", (self.group,))
        if not counted:
            raise RepositoryRefused(f"the queue-sharing group {self.group} was deleted from {self.where}")
        if expected is not None:
            found = session.query("SELECT version" + _OF_ROW, (self.group, kind, name))
            version = _integer(found[0][0]) if found else ABSENT
            if version != expected:
                raise RowChanged(kind, name, expected, version)
        return _integer(counted[0][0])

    def change_number(self) -> int:
        found = self._run(
            lambda session: session.query("SELECT number FROM ostler_groups WHERE name = ?", (self.group,))
        )
        if not found:
            raise RepositoryRefused(f"the queue-sharing group {self.group} was deleted from {self.where}")
        return _integer(found[0][0])

    # -- blobs ---------------------------------------------------------------------------------------------------------

    def write_blob(self, structure: str, entry_id: bytes, data: bytes) -> None:
        if len(data) > BLOB_BYTES_MAX:
            raise ValueError(f"a blob of {len(data)} bytes; at most {BLOB_BYTES_MAX} are kept")
        key = (self.group, structure, entry_id)
        parts = list(range(max((len(data) - 1) // PART_BYTES, 0), -1, -1))

        def work(session: Session) -> None:
            for first in range(0, len(parts), _PARTS_AT_ONCE):
                session.begin()
                if first == 0:
                    session.query("DELETE" + _OF_BLOB, key)
                for part in parts[first : first + _PARTS_AT_ONCE]:
                    piece = data[part * PART_BYTES : (part + 1) * PART_BYTES]
                    session.query(
                        "INSERT INTO ostler_blobs (group_name, structure, entry, part, total, data)"
                        " VALUES (?, ?, ?, ?, ?, ?)",
                        (*key, part, len(data), piece),
                    )
                session.commit()

        self._run(work)

    def read_blob(self, structure: str, entry_id: bytes, offset: int, length: int) -> bytes:
        if offset < 0 or length < 0:
            raise ValueError(f"a range of {length} bytes from {offset}")
        first = offset // PART_BYTES
        last = (offset + max(length, 1) - 1) // PART_BYTES
        statement = (
            "SELECT part, total, CASE WHEN part BETWEEN ? AND ? THEN data END"
            + _OF_BLOB
            + " AND (part = 0 OR part BETWEEN ? AND ?) ORDER BY part"
        )
        values = (first, last, self.group, structure, entry_id, first, last)
        found = self._run(lambda session: session.query(statement, values))
        if not found or found[0][0] != 0:
            raise BlobNotFound(f"{self.where} has no body {entry_id.hex()} of the structure {structure}")
        pieces = [_bytes(each[2]) for each in found if each[2] is not None]
        wanted = min(length, max(_integer(found[0][1]) - offset, 0))
        start = offset - first * PART_BYTES
        body = b"".join(pieces)[start : start + wanted]
        if len(body) != wanted:
            raise BlobNotFound(f"{self.where} has only a part of the body {entry_id.hex()} of {structure}")
        return body

    def delete_blobs(self, structure: str, entry_ids: list[bytes]) -> None:
        def work(session: Session) -> None:
            for first in range(0, len(entry_ids), _BLOBS_AT_ONCE):
                some = entry_ids[first : first + _BLOBS_AT_ONCE]
                marks = ", ".join("?" for _ in some)
                session.begin()
                session.query(
                    f"DELETE FROM ostler_blobs WHERE group_name = ? AND structure = ? AND entry IN ({marks})",
                    (self.group, structure, *some),
                )
                session.commit()

        self._run(work)

    def blob_count(self, structure: str) -> int:
        statement = "SELECT COUNT(*) FROM ostler_blobs WHERE group_name = ? AND structure = ? AND part = 0"
        found = self._run(lambda session: session.query(statement, (self.group, structure)))
        return _integer(found[0][0])

    def blob_ids(self, structure: str) -> list[bytes]:
        statement = "SELECT DISTINCT entry FROM ostler_blobs WHERE group_name = ? AND structure = ?"
        found = self._run(lambda session: session.query(statement, (self.group, structure)))
        return sorted(_bytes(each[0]) for each in found)


def _row(kind: str, values: tuple[Value, ...]) -> Row:
    name, version, data = values
    return Row(kind, str(name), _bytes(data), _integer(version))


def _integer(value: Value) -> int:
    assert isinstance(value, int)
    return value


def _bytes(value: Value) -> bytes:
    assert isinstance(value, bytes | memoryview)
    return bytes(value)
