"""Repositories that are away, damaged, held, or of another release."""

from __future__ import annotations

import signal
import sqlite3
import time
from pathlib import Path

import pytest
from tests.server.coupling.repository.postgres_server import PostgresOfTest

from ostler.model import shared_repository as kinds
from ostler.model.shared_repository import ABSENT, RepositoryRefused, RepositoryUnavailable
from ostler.server.coupling.repository import postgres_repository, sqlite_repository
from ostler.server.coupling.repository.opening import describe, open_repository


def test_a_path_without_a_repository_is_refused_and_nothing_is_made(tmp_path: Path) -> None:
    where = tmp_path / "missing.db"
    with pytest.raises(RepositoryRefused, match="there is no repository"):
        open_repository(str(where), "QSG1").change_number()
    assert list(tmp_path.iterdir()) == []


def test_a_file_of_something_else_is_refused(tmp_path: Path) -> None:
    where = tmp_path / "text.db"
    where.write_text("This is no database, and long enough to see it." * 10)
    with pytest.raises(RepositoryRefused):
        open_repository(str(where), "QSG1").change_number()


def test_a_later_format_is_refused(tmp_path: Path) -> None:
    where = str(tmp_path / "r.db")
    open_repository(where, "QSG1").create()
    with sqlite3.connect(where) as connection:
        connection.execute("UPDATE ostler_format SET version = 2")
    with pytest.raises(RepositoryRefused, match="format 2"):
        open_repository(where, "QSG1").change_number()
    with pytest.raises(RepositoryRefused, match="format 2"):
        open_repository(where, "QSG1").create()


def test_a_repository_that_somebody_holds_is_unavailable_for_a_while(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sqlite_repository, "_BUSY_SECONDS_MAX", 0.1)
    where = str(tmp_path / "r.db")
    repository = open_repository(where, "QSG1")
    repository.create()
    holder = sqlite3.connect(where, isolation_level=None)
    holder.execute("BEGIN IMMEDIATE")
    with pytest.raises(RepositoryUnavailable, match="locked"):
        repository.write(kinds.QUEUES, "Q", b"", ABSENT)
    assert repository.rows(kinds.QUEUES) == [], "readers do not wait for a writer"
    holder.execute("ROLLBACK")
    holder.close()
    repository.write(kinds.QUEUES, "Q", b"", ABSENT)
    repository.close()


def test_a_repository_in_sqlite_is_forced_at_every_commit(tmp_path: Path) -> None:
    repository = open_repository(str(tmp_path / "r.db"), "QSG1")
    repository.create()
    assert repository._run(lambda session: session.query("PRAGMA synchronous")) == [(2,)]
    assert repository._run(lambda session: session.query("PRAGMA journal_mode")) == [("wal",)]
    repository.close()


def test_another_scheme_is_refused() -> None:
    with pytest.raises(RepositoryRefused, match="neither a path nor"):
        open_repository("mysql://root:secret@host/db", "QSG1")


def test_passwords_are_not_shown() -> None:
    shown = describe("postgresql://ostler:secret@host:5432/mq?password=secret&sslmode=require")
    assert shown == "postgresql://ostler@host:5432/mq"


def test_a_server_that_is_not_there_is_unavailable() -> None:
    repository = open_repository("postgresql://ostler@127.0.0.1:1/postgres", "QSG1")
    with pytest.raises(RepositoryUnavailable) as caught:
        repository.change_number()
    assert not isinstance(caught.value, RepositoryRefused)


def test_a_database_that_is_not_there_is_refused(shared_postgres: PostgresOfTest) -> None:
    where = shared_postgres.url.replace("/postgres", "/nothing")
    with pytest.raises(RepositoryUnavailable, match="nothing"):
        open_repository(where, "QSG1").change_number()


def test_a_killed_server_comes_back_with_everything(own_postgres: PostgresOfTest) -> None:
    repository = open_repository(own_postgres.url, "QSG1")
    repository.create()
    repository.write(kinds.QUEUES, "Q", b"data", ABSENT)
    repository.write_blob("APPL1", b"1" * 16, b"body")
    own_postgres.kill()
    with pytest.raises(RepositoryUnavailable):
        repository.change_number()
    own_postgres.start()
    row = repository.read(kinds.QUEUES, "Q")
    assert row is not None
    assert row.data == b"data"
    assert repository.read_blob("APPL1", b"1" * 16, 0, 10) == b"body"
    # Connections that were kept over a restart are replaced without anybody noticing.
    own_postgres.kill()
    own_postgres.start()
    repository.write(kinds.QUEUES, "Q", b"more", row.version)
    repository.close()


def test_a_server_that_stands_still_is_given_up(own_postgres: PostgresOfTest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its machine still acknowledges what is sent, so that no time-out of TCP helps."""
    monkeypatch.setattr(postgres_repository, "_ANSWER_SECONDS_MAX", 0.5)
    monkeypatch.setattr(postgres_repository, "_CONNECT_SECONDS_MAX", 2)
    repository = open_repository(own_postgres.url, "QSG1")
    repository.create()
    assert repository.change_number() == 0
    own_postgres.signal(signal.SIGSTOP)
    began = time.monotonic()
    with pytest.raises(RepositoryUnavailable):
        repository.change_number()
    assert time.monotonic() - began < 10
    own_postgres.signal(signal.SIGCONT)
    repository.write(kinds.QUEUES, "Q", b"", ABSENT)
    repository.close()
