"""One suite over the stores of offloaded messages: data sets, and blobs of a repository in SQLite and in PostgreSQL.

Members and their facility are simulated; files and databases are real.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from tests.server.coupling.repository.postgres_server import PostgresOfTest
from tests.world.group.group_world import GroupWorld, MemberWorld
from tests.world.group.real_offload import RealOffload

from ostler.engine import objects
from ostler.engine.connection import Connection
from ostler.engine.handle import Handle
from ostler.model import constants as mq
from ostler.model.attributes import ObjectType, Value
from ostler.model.coupling.entries import make_id
from ostler.model.definitions import new_definition
from ostler.model.shared_repository import RepositoryUnavailable
from ostler.server.coupling.repository.opening import open_repository
from ostler.server.coupling.repository.sql_repository import SqlRepository

LONG = bytes(range(256)) * 400  # 100 KB
SMDS: dict[str, Value] = {"DSGROUP": "QSG1.*.APP1", "OFFLOAD": mq.MQCFOFFLD_SMDS}
DB2: dict[str, Value] = {"DSGROUP": "QSG1.*.APP1", "OFFLOAD": mq.MQCFOFFLD_DB2}
_groups = itertools.count(1)


@pytest.fixture(scope="session")
def postgres() -> Iterator[PostgresOfTest]:
    server = PostgresOfTest()
    yield server
    server.close()


class Pair:
    """Two members that share a queue. `place`: SMDS or DB2."""

    def __init__(self, directory: Path, where: str, more: dict[str, Value], level: int = 5) -> None:
        self.directory = directory
        self.where = where
        self.name = f"G{next(_groups):03}"
        self.offloads: dict[str, RealOffload] = {}
        self.repository = open_repository(where, self.name)
        assert self.repository.create()
        self.more = more
        self.group = GroupWorld("QM1", "QM2", equip=self.equip)
        self.group.define_structure("APP1", level=level, more=more)
        self.group.define_queue("Q", attributes={"MAXMSGL": 104_857_600})
        self.a, self.b = self.group.members
        self.at_a, self.out = opened(self.a)
        self.at_b, self.into = opened(self.b)
        self.ticks()

    def equip(self, member: MemberWorld) -> None:
        before = self.offloads.get(member.name)
        if before is not None:
            before.close()
        self.offloads[member.name] = RealOffload(member, self.directory, self.open_repository())

    def open_repository(self) -> SqlRepository:
        return open_repository(self.where, self.name)

    def ticks(self) -> None:
        for member in self.group.members:
            if member.is_up:
                self.offloads[member.name].service.on_tick()
        self.group.ticks()

    def alter(self, more: dict[str, Value]) -> None:
        for member in self.group.members:
            changed = new_definition(ObjectType.CFSTRUCT, "APP1", {"CFLEVEL": 5, "RECOVER": 1, **more})
            member.acknowledge(int(objects.define(member.engine, changed, replace=True)))

    def come_back(self, member: MemberWorld) -> None:
        member.come_back()
        opened(member)
        self.ticks()

    def places(self, member: MemberWorld) -> tuple[int, int]:
        return self.offloads[member.name].service.messages_by_place("APP1")

    def kept(self) -> int:
        """Bodies that the stores of both members keep."""
        held = sum(len(each.service.structures["APP1"].sets.own.entries()) for each in self._open())
        return held + len(self.repository.blob_ids("APP1"))

    def _open(self) -> list[RealOffload]:
        return [each for each in self.offloads.values() if "APP1" in each.service.structures]

    def close(self) -> None:
        for each in self.offloads.values():
            each.close()
        self.repository.destroy()


def opened(member: MemberWorld) -> tuple[Connection, Handle]:
    application = member.connect()
    return application, member.open(application, "Q", mq.MQOO_INPUT_SHARED | mq.MQOO_OUTPUT | mq.MQOO_BROWSE)


def drain(member: MemberWorld) -> list[bytes]:
    """Get all messages."""
    application, handle = opened(member)
    found = []
    while (got := member.get(application, handle)).reason == 0:
        found.append(got.body)
    assert got.reason == mq.MQRC_NO_MSG_AVAILABLE
    return found


@pytest.fixture
def make(tmp_path: Path) -> Iterator[Callable[..., Pair]]:
    made: list[Pair] = []

    def build(where: str, more: dict[str, Value], level: int = 5) -> Pair:
        made.append(Pair(tmp_path, where, more, level))
        return made[-1]

    yield build
    for each in made:
        each.close()


@pytest.fixture(params=["smds", "sqlite", "postgresql", "level 4"])
def pair(request: pytest.FixtureRequest, tmp_path: Path, make: Callable[..., Pair]) -> Pair:
    file = str(tmp_path / "repository.db")
    if request.param == "smds":
        return make(file, SMDS)
    if request.param == "level 4":
        return make(file, {"OFFLOAD": mq.MQCFOFFLD_NONE}, 4)
    return make(file if request.param == "sqlite" else request.getfixturevalue("postgres").url, DB2)


@pytest.fixture
def database(tmp_path: Path, make: Callable[..., Pair]) -> Pair:
    return make(str(tmp_path / "repository.db"), DB2)


@pytest.mark.parametrize("persistence", [0, 1])
@pytest.mark.parametrize("syncpoint", [False, True])
def test_a_body_is_read_by_another_member_and_freed_by_its_owner(pair: Pair, persistence: int, syncpoint: bool) -> None:
    assert pair.a.put(pair.at_a, pair.out, LONG, persistence=persistence, syncpoint=syncpoint).reason == 0
    assert pair.kept() == 1
    if syncpoint:
        assert pair.b.get(pair.at_b, pair.into).reason == mq.MQRC_NO_MSG_AVAILABLE
        assert pair.a.commit(pair.at_a)[0] == 0
    assert sorted(pair.places(pair.a)) == [0, 1]
    options = mq.MQGMO_SYNCPOINT if syncpoint else mq.MQGMO_NO_SYNCPOINT
    got = pair.b.get(pair.at_b, pair.into, options)
    assert (got.reason, got.body) == (0, LONG)
    if syncpoint:
        assert pair.b.commit(pair.at_b)[0] == 0
    assert pair.group.entries() == {"committed": 0, "uncommitted": 0, "got": 0}
    assert pair.kept() == 0, "the owner has freed what another member got"
    assert pair.places(pair.a) == (0, 0)


def test_a_unit_that_is_backed_out_frees_its_bodies(pair: Pair) -> None:
    pair.a.put(pair.at_a, pair.out, LONG, syncpoint=True)
    pair.a.put(pair.at_a, pair.out, LONG[1:], syncpoint=True)
    assert pair.kept() == 2
    assert pair.a.back_out(pair.at_a) == 0
    pair.group.settle()
    assert pair.kept() == 0


def test_a_get_that_is_backed_out_leaves_the_body(pair: Pair) -> None:
    pair.a.put(pair.at_a, pair.out, LONG)
    assert pair.b.get(pair.at_b, pair.into, mq.MQGMO_SYNCPOINT).body == LONG
    assert pair.b.back_out(pair.at_b) == 0
    assert pair.kept() == 1
    assert pair.a.get(pair.at_a, pair.out).body == LONG


def test_a_refused_put_frees_its_body(pair: Pair) -> None:
    for member in pair.group.members:
        member.engine.queues["Q"].depth_max = 1
    assert pair.a.put(pair.at_a, pair.out, LONG).reason == 0
    assert pair.a.put(pair.at_a, pair.out, LONG).reason == mq.MQRC_Q_FULL
    assert pair.kept() == 1


def test_messages_of_a_dead_member_are_read_and_freed_when_it_is_back(pair: Pair) -> None:
    for number in range(3):
        assert pair.a.put(pair.at_a, pair.out, LONG[number:]).reason == 0
    pair.a.die()
    pair.group.settle()
    assert pair.b.get(pair.at_b, pair.into).body == LONG
    pair.come_back(pair.a)
    assert pair.kept() == 2, "the owner knows what went while it was away"
    assert pair.b.get(pair.at_b, pair.into).body == LONG[1:]
    assert drain(pair.a) == [LONG[2:]]
    assert pair.kept() == 0


def test_a_body_whose_put_never_happened_goes_with_the_next_start(pair: Pair) -> None:
    pair.a.put(pair.at_a, pair.out, LONG)
    pair.b.put(pair.at_b, pair.into, LONG[1:])
    with pair.group.hold():
        pair.a.put_later(pair.at_a, pair.out, LONG[2:], persistence=0)
        offload = pair.offloads["QM1"]
        assert offload.step(), "the body is written"
        assert pair.kept() == 3 or pair.places(pair.a)[0]
        pair.a.die()
    pair.group.settle()
    pair.come_back(pair.a)
    assert pair.kept() == 2
    assert sorted(map(len, drain(pair.b))) == sorted([len(LONG), len(LONG) - 1])


@pytest.mark.parametrize("is_sent", [False, True])
def test_a_body_without_an_answer_is_kept_only_if_its_entry_is_there(pair: Pair, is_sent: bool) -> None:
    pair.a.put(pair.at_a, pair.out, LONG[1:])
    assert drain(pair.b) == [LONG[1:]]
    with pair.group.hold():
        later = pair.a.put_later(pair.at_a, pair.out, LONG, persistence=0)
        offload = pair.offloads["QM1"]
        while not pair.a.port.outgoing:
            assert offload.step(), "the body was not written"
        if is_sent:
            assert pair.a.port.send_one()
        pair.a.port.lose(unheard=1 if is_sent else 0)
        pair.a.join()
    pair.group.settle()
    assert later.reason == mq.MQRC_CF_NOT_AVAILABLE
    pair.ticks()
    pair.ticks()
    assert pair.kept() == (1 if is_sent else 0)
    assert drain(pair.b) == ([LONG] if is_sent else [])


def test_offload_is_switched_there_and_back_under_messages_of_both(tmp_path: Path, make: Callable[..., Pair]) -> None:
    pair = make(str(tmp_path / "repository.db"), SMDS)
    expected = []
    for number, more in enumerate((SMDS, DB2, SMDS, DB2)):
        pair.alter(more)
        pair.ticks()
        for member, application, handle in ((pair.a, pair.at_a, pair.out), (pair.b, pair.at_b, pair.into)):
            body = LONG[number:] + member.name.encode()
            assert member.put(application, handle, body).reason == 0
            expected.append(body)
    assert pair.places(pair.a) == (2, 2)
    assert pair.repository.blob_count("APP1") == 4
    assert drain(pair.b) == expected
    assert pair.kept() == 0


def test_without_the_repository_only_long_messages_are_refused(database: Pair, monkeypatch: pytest.MonkeyPatch) -> None:
    pair = database
    assert pair.a.put(pair.at_a, pair.out, LONG).reason == 0
    offload = pair.offloads["QM1"]
    repository = offload.repository
    connect = repository._connect

    def refuse(create: bool) -> object:
        raise RepositoryUnavailable("it is away")

    repository.close()
    monkeypatch.setattr(repository, "_connect", refuse)
    assert pair.a.put(pair.at_a, pair.out, LONG).reason == mq.MQRC_DB2_NOT_AVAILABLE
    assert pair.a.put(pair.at_a, pair.out, LONG, syncpoint=True).reason == mq.MQRC_DB2_NOT_AVAILABLE
    assert pair.a.get(pair.at_a, pair.out).reason == mq.MQRC_DB2_NOT_AVAILABLE
    assert pair.a.get(pair.at_a, pair.out, mq.MQGMO_BROWSE_FIRST).reason == mq.MQRC_DB2_NOT_AVAILABLE
    assert pair.a.put(pair.at_a, pair.out, b"short", syncpoint=True).reason == 0
    assert pair.a.commit(pair.at_a)[0] == 0
    assert pair.group.entries() == {"committed": 2, "uncommitted": 0, "got": 0}
    assert len(offload.noted("AMQ7581E")) == 1
    pair.ticks()
    monkeypatch.setattr(repository, "_connect", connect)
    pair.ticks()
    assert len(offload.noted("AMQ7582I")) == 1
    assert pair.a.put(pair.at_a, pair.out, LONG[1:]).reason == 0
    assert drain(pair.a) == [LONG, b"short", LONG[1:]]
    pair.ticks()
    assert pair.kept() == 0


def test_rules_keep_messages_in_the_structure_while_the_repository_is_away(
    tmp_path: Path, make: Callable[..., Pair], monkeypatch: pytest.MonkeyPatch
) -> None:
    rules: dict[str, Value] = {f"OFFLD{number}TH": 0 for number in (1, 2, 3)}
    rules |= {f"OFFLD{number}SZ": "0K" for number in (1, 2, 3)}
    pair = make(str(tmp_path / "repository.db"), {**DB2, **rules})
    assert pair.a.put(pair.at_a, pair.out, bytes(2000)).reason == 0
    assert pair.places(pair.a) == (0, 1)
    pair.offloads["QM1"].blobs._is_away = True
    assert pair.a.put(pair.at_a, pair.out, bytes(2001)).reason == 0
    assert pair.places(pair.a) == (0, 1)
    assert [len(each) for each in drain(pair.b)] == [2000, 2001]


def test_a_blob_that_is_not_the_message_is_never_returned(database: Pair) -> None:
    pair = database
    pair.a.put(pair.at_a, pair.out, LONG)
    (blob,) = pair.repository.blob_ids("APP1")
    for damaged in (LONG[:-1] + b"?", LONG[:-1], b""):
        pair.repository.write_blob("APP1", blob, damaged)
        assert pair.b.get(pair.at_b, pair.into).reason == mq.MQRC_DB2_NOT_AVAILABLE
    pair.repository.delete_blobs("APP1", [blob])
    assert pair.b.get(pair.at_b, pair.into, mq.MQGMO_SYNCPOINT).reason == mq.MQRC_DB2_NOT_AVAILABLE
    assert pair.b.commit(pair.at_b)[0] == mq.MQRC_BACKED_OUT
    assert pair.offloads["QM2"].noted("AMQ7583W")
    pair.repository.write_blob("APP1", blob, LONG)
    assert pair.b.get(pair.at_b, pair.into).body == LONG


def test_a_member_deletes_only_its_own_orphans(database: Pair) -> None:
    pair = database
    pair.a.put(pair.at_a, pair.out, LONG)
    for member, start in ((1, 1), (2, 1), (1, 9), (7, 1)):
        pair.repository.write_blob("APP1", make_id(member, start, 1000), b"nobody's")
    pair.a.die()
    pair.group.settle()
    pair.come_back(pair.a)
    left = pair.repository.blob_ids("APP1")
    assert make_id(1, 1, 1000) not in left
    assert make_id(1, 9, 1000) in left, "it is of a start that has not been: somebody else's group"
    assert {make_id(2, 1, 1000), make_id(7, 1, 1000)} <= set(left)
    assert len(left) == 4
    assert pair.offloads["QM1"].noted("AMQ7584I")
    assert drain(pair.b) == [LONG]


def test_a_comparison_leaves_bodies_alone_whose_puts_wait_for_the_log(database: Pair) -> None:
    pair = database
    offload = pair.offloads["QM1"]
    with pair.group.hold():
        later = pair.a.put_later(pair.at_a, pair.out, LONG, persistence=1)
        while not pair.a.port.outgoing:
            assert offload.step(), "the body was not written"
        offload.blobs.compare("APP1")
        while offload.step() or pair.a.port.send_one() or pair.a.port.hear_one():
            pass
        assert pair.a.port.outgoing, "the put waits for its record"
        assert offload.blobs.structures["APP1"].is_compared
    pair.group.settle()
    assert later.reason == 0
    assert drain(pair.b) == [LONG]
