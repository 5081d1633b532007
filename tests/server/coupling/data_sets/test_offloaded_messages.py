"""Offloaded messages between real processes: data sets on a real disk, members killed, files damaged."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.server.coupling.group_processes import Group, wait_for

from ostler.server.coupling.repository.opening import open_repository

MEGABYTE = random.Random(1).randbytes(1 << 20)


@pytest.fixture
def group(tmp_path: Path) -> Iterator[Group]:
    made = Group(tmp_path)
    try:
        made.start("QMA", 1)
        made.start("QMB", 2)
        yield made
    finally:
        made.close()


def data_set(group: Group, owner: str) -> Path:
    return group.root / "groups" / "QSG1" / f"QSG1.{owner}.APP1"


@pytest.mark.parametrize(
    ("queue", "persistent"), [("SHARED.QUEUE", False), ("SHARED.QUEUE", True), ("DATABASE.QUEUE", True)]
)
def test_a_megabyte_put_at_one_member_is_got_at_another(group: Group, queue: str, persistent: bool) -> None:
    with group.connect("QMA") as at_a, group.connect("QMB") as at_b:
        at_a.put(queue, MEGABYTE, persistent=persistent)
        into = at_b.open(queue, "rw")
        with at_b.transaction():
            message = into.get(wait=10)
            assert message is not None
            assert message.data == MEGABYTE
        into.put(MEGABYTE[::-1], persistent=persistent)
        message = at_a.open(queue, "rw").get(wait=10)
        assert message is not None
        assert message.data == MEGABYTE[::-1]
        if queue == "SHARED.QUEUE":
            assert data_set(group, "QMA").stat().st_size >= 16 << 20
        else:
            repository = open_repository(str(group.root / "groups" / "QSG1" / "repository.db"), "QSG1")
            wait_for(lambda: repository.blob_ids("APP4") == [], "the members have not deleted what was got")
            repository.close()
