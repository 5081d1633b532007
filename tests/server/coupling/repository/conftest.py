"""A repository of each engine for the tests of the contract. Each test has a group of its own."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.server.coupling.repository.postgres_server import PostgresOfTest

from ostler.server.coupling.repository.opening import open_repository
from ostler.server.coupling.repository.sql_repository import SqlRepository

_numbers = itertools.count(1)


@pytest.fixture(scope="session")
def shared_postgres() -> Iterator[PostgresOfTest]:
    server = PostgresOfTest()
    yield server
    server.close()


@pytest.fixture
def own_postgres() -> Iterator[PostgresOfTest]:
    server = PostgresOfTest()
    yield server
    server.close()


class Place:
    """Where a repository is, for several who open it."""

    def __init__(self, where: str, group: str) -> None:
        self.where = where
        self.group = group
        self._opened: list[SqlRepository] = []

    def open(self) -> SqlRepository:
        repository = open_repository(self.where, self.group)
        self._opened.append(repository)
        return repository

    def close(self) -> None:
        for each in self._opened:
            each.close()


@pytest.fixture(params=["sqlite", "postgresql"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Place]:
    group = f"G{next(_numbers):03}"
    if request.param == "sqlite":
        made = Place(str(tmp_path / "repository.db"), group)
    else:
        made = Place(request.getfixturevalue("shared_postgres").url, group)
    yield made
    made.close()


@pytest.fixture
def repository(place: Place) -> SqlRepository:
    made = place.open()
    assert made.create()
    return made
