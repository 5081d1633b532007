"""Definitions of a queue-sharing group at three simulated members with one real repository."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.command.pcf.pcf_requests import Administrator
from tests.world.group.group_commands import GroupCommands
from tests.world.group.group_world import GroupWorld

from ostler.command.group.catalogue import GroupCatalogue
from ostler.command.group.roll import MemberRefused
from ostler.command.group.row_keys import RowKey, data_set_key, key_of_local, object_key, queue_key, structure_key
from ostler.model import constants as mq
from ostler.model.attributes import ObjectType
from ostler.model.coupling.group_rows import MemberRow
from ostler.model.coupling.status_rows import DataSetOptions, data_set_row_name
from ostler.model.definitions import Definition, new_definition
from ostler.model.errors import MQError
from ostler.model.shared_repository import (
    ABSENT,
    DATA_SETS,
    MEMBERS,
    NUMBERS,
    QUEUES,
    RepositoryUnavailable,
    Row,
    SharedRepository,
)
from ostler.server.coupling.repository.sqlite_repository import SqliteRepository

SHARED = "QSGDISP(SHARED) CFSTRUCT(APP1)"
INPUT_OUTPUT = mq.MQOO_INPUT_SHARED | mq.MQOO_OUTPUT


@pytest.fixture
def group(tmp_path: Path) -> Iterator[GroupCommands]:
    made = GroupCommands(GroupWorld("QM1", "QM2", "QM3"), tmp_path / "repository.db")
    yield made
    made.close()


@pytest.fixture
def shared(group: GroupCommands) -> GroupCommands:
    group.at("QM1").says("DEFINE CFSTRUCT(APP1) CFLEVEL(4) RECOVER(YES)")
    group.at("QM1").says(f"DEFINE QLOCAL(ORDERS) {SHARED} DEFSOPT(SHARED) SHARE")
    return group


# -- structures --------------------------------------------------------------------------------------------------------


def test_a_structure_that_is_defined_at_one_member_is_there_at_all(group: GroupCommands) -> None:
    assert group.at("QM1").says("DEFINE CFSTRUCT(APP1)").startswith("AMQ8890I")
    for name in ("QM1", "QM2", "QM3"):
        said = group.at(name).says("DISPLAY CFSTRUCT(APP1)")
        assert "CFLEVEL(3)" in said, "the default is that of MQ"
        assert "OFFLOAD(NONE)" in said
    group.at("QM3").says("ALTER CFSTRUCT(APP1) DESCR('orders')")
    assert "DESCR(orders)" in group.at("QM1").says("DISPLAY CFSTRUCT(APP1) DESCR")
    assert "exists already" in group.at("QM2").fails("DEFINE CFSTRUCT(APP1)")
    group.at("QM2").says("DELETE CFSTRUCT(APP1)")
    assert "not found" in group.at("QM1").fails("DISPLAY CFSTRUCT(APP1)")


def test_what_mq_refuses_of_structures(group: GroupCommands) -> None:
    one = group.at("QM1")
    assert "(3236)" in one.fails("DEFINE CFSTRUCT(CSQ_ADMIN)")
    assert "(3358)" in one.fails("DEFINE CFSTRUCT(APP1) CFLEVEL(5)")
    assert "asterisk" in one.fails("DEFINE CFSTRUCT(APP1) CFLEVEL(5) DSGROUP('A.B')")
    assert "needs CFLEVEL(5)" in one.fails("DEFINE CFSTRUCT(APP1) OFFLOAD(DB2)")
    assert "needs CFLEVEL(3)" in one.fails("DEFINE CFSTRUCT(APP1) CFLEVEL(2) RECOVER(YES)")
    one.says("DEFINE CFSTRUCT(APP1) CFLEVEL(4)")
    assert "(3213)" in one.fails("ALTER CFSTRUCT(APP1) CFLEVEL(3)")
    assert "(3213)" in one.fails("DEFINE CFSTRUCT(APP1) CFLEVEL(3) REPLACE")
    one.says("ALTER CFSTRUCT(APP1) CFLEVEL(5)")
    said = group.at("QM2").says("DISPLAY CFSTRUCT(APP1) OFFLOAD OFFLD1SZ")
    assert ("OFFLOAD(DB2)" in said, "OFFLD1SZ(64K)" in said) == (True, True)


def test_structures_below_level_5_terminate_who_loses_them(group: GroupCommands) -> None:
    one = group.at("QM1")
    assert "needs CFLEVEL(5)" in one.fails("DEFINE CFSTRUCT(APP1) CFLEVEL(4) CFCONLOS(TOLERATE)")
    one.says("DEFINE CFSTRUCT(APP1) CFLEVEL(4)")
    assert "CFCONLOS(TERMINATE)" in group.at("QM2").says("DISPLAY CFSTRUCT(APP1) CFCONLOS")
    assert "needs CFLEVEL(5)" in one.fails("ALTER CFSTRUCT(APP1) CFCONLOS(ASQMGR)")
    one.says("ALTER CFSTRUCT(APP1) CFLEVEL(5)")
    assert "CFCONLOS(ASQMGR)" in group.at("QM2").says("DISPLAY CFSTRUCT(APP1) CFCONLOS")
    one.says("ALTER CFSTRUCT(APP1) CFCONLOS(TOLERATE)")
    assert "CFCONLOS(TOLERATE)" in group.at("QM2").says("DISPLAY CFSTRUCT(APP1) CFCONLOS")
    one.says("DEFINE CFSTRUCT(APP2) LIKE(APP1)")
    assert "CFCONLOS(TOLERATE)" in one.says("DISPLAY CFSTRUCT(APP2) CFCONLOS")


def test_a_level_that_is_raised_holds_at_members_that_are_connected(shared: GroupCommands) -> None:
    world = shared.world.members[1]
    world.open(world.connect(), "ORDERS", INPUT_OUTPUT)
    assert world.member.sharing.structures["APP1"].level == 4
    shared.at("QM1").says("ALTER CFSTRUCT(APP1) CFLEVEL(5) OFFLOAD(SMDS) DSGROUP('A.*.B')")
    assert world.member.sharing.structures["APP1"].level == 5


def test_settings_of_data_sets_are_those_of_the_group(group: GroupCommands) -> None:
    group.at("QM1").says("DEFINE CFSTRUCT(APP1) CFLEVEL(5) DSGROUP('A.*.B')")
    options = DataSetOptions("APP1", "QM2", 7, mq.MQDSE_NO)
    group.at("QM1").catalogue.repository.write(DATA_SETS, data_set_row_name("APP1", "QM2"), options.encode(), ABSENT)
    group.poll()
    for each in group.members.values():
        (definition,) = each.world.engine.of_type(ObjectType.SMDS).values()
        assert (definition.name, definition.attributes["DSBUFS"]) == ("APP1/QM2", 7)
    group.at("QM2").says("DELETE CFSTRUCT(APP1)")
    for each in group.members.values():
        assert not each.world.engine.of_type(ObjectType.SMDS)


# -- shared queues -----------------------------------------------------------------------------------------------------


def test_a_shared_queue_is_usable_at_every_member(shared: GroupCommands) -> None:
    one, two, _ = shared.world.members
    out = one.connect()
    one.put(out, one.open(out, "ORDERS", mq.MQOO_OUTPUT), b"order")
    application = two.connect()
    request = two.get(application, two.open(application, "ORDERS", INPUT_OUTPUT))
    assert request.body == b"order"
    shared.at("QM3").says("ALTER QLOCAL(ORDERS) QSGDISP(SHARED) MAXDEPTH(7)")
    assert "MAXDEPTH(7)" in shared.at("QM1").says("DISPLAY QLOCAL(ORDERS) MAXDEPTH")


def test_a_shared_queue_needs_a_structure_and_a_free_name(group: GroupCommands) -> None:
    one = group.at("QM1")
    assert "(3236)" in one.fails("DEFINE QLOCAL(ORDERS) QSGDISP(SHARED)")
    assert "(3236)" in one.fails(f"DEFINE QLOCAL(ORDERS) {SHARED}")
    one.says("DEFINE CFSTRUCT(APP1)")
    assert "is for local queues" in one.fails("DEFINE QALIAS(ORDERS) QSGDISP(SHARED)")
    one.says("DEFINE QLOCAL(ORDERS)")
    assert one.fails(f"DEFINE QLOCAL(ORDERS) {SHARED}").startswith("AMQ8150E")
    # A private queue at another member hides the shared one there, and the error log says so once.
    group.at("QM1").says("DELETE QLOCAL(ORDERS)")
    group.at("QM3").says("DEFINE QLOCAL(ORDERS) DESCR('private')")
    one.says(f"DEFINE QLOCAL(ORDERS) {SHARED}")
    assert group.at("QM3").numbers() == ["AMQ7544W"]
    group.poll()
    assert group.at("QM3").numbers() == []
    assert "DESCR(private)" in group.at("QM3").says("DISPLAY QLOCAL(ORDERS) DESCR")
    group.at("QM3").says("DELETE QLOCAL(ORDERS)")
    group.poll()
    assert "QSGDISP(SHARED)" in group.at("QM3").says("DISPLAY QLOCAL(ORDERS) QSGDISP")


def test_a_shared_queue_is_deleted_when_it_is_empty_and_closed_in_the_group(shared: GroupCommands) -> None:
    two = shared.world.members[1]
    application = two.connect()
    handle = two.open(application, "ORDERS", INPUT_OUTPUT)
    two.put(application, handle, b"order")
    delete = "DELETE QLOCAL(ORDERS) QSGDISP(SHARED)"
    assert shared.at("QM1").fails(delete).startswith("AMQ8148E")
    two.close(application, handle)
    assert shared.at("QM1").fails(delete).startswith("AMQ8143E")
    assert "AMQ8143E" in shared.at("QM3").fails("DELETE CFSTRUCT(APP1)")
    assert "CURDEPTH(1)" in shared.at("QM3").says("DISPLAY QLOCAL(ORDERS) CURDEPTH")
    assert "not found" in shared.at("QM1").fails("DELETE QLOCAL(ORDERS)"), "QSGDISP(QMGR) is the default"
    shared.at("QM1").says(f"{delete} PURGE")
    for world in shared.world.members:
        assert "ORDERS" not in world.engine.queues
    shared.at("QM3").says("DELETE CFSTRUCT(APP1)")


def test_a_delete_without_the_facility_is_refused(shared: GroupCommands) -> None:
    shared.world.members[0].port.lose()
    assert "(2345)" in shared.at("QM1").fails("DELETE QLOCAL(ORDERS) QSGDISP(SHARED)")
    assert "ORDERS" in shared.world.members[0].engine.queues


# -- group objects -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("noun", "attributes", "change", "shown"),
    [
        ("QLOCAL", "", "MAXDEPTH(9)", "MAXDEPTH(9)"),
        ("QALIAS", "TARGET(A)", "TARGET(B)", "TARGET(B)"),
        ("QREMOTE", "RNAME(A) RQMNAME(QM9)", "RNAME(B)", "RNAME(B)"),
        ("QMODEL", "", "MAXMSGL(100)", "MAXMSGL(100)"),
        ("PROCESS", "", "APPLICID('run')", "APPLICID(run)"),
        ("NAMELIST", "NAMES(A)", "NAMES(A,B)", "NAMCOUNT(2)"),
        ("CHANNEL", "CHLTYPE(SVRCONN)", "CHLTYPE(SVRCONN) MAXINST(3)", "MAXINST(3)"),
        ("TOPIC", "TOPICSTR('a/b')", "DURSUB(NO)", "DURSUB(NO)"),
        ("AUTHINFO", "AUTHTYPE(IDPWOS)", "AUTHTYPE(IDPWOS) CHCKCLNT(NONE)", "CHCKCLNT(NONE)"),
    ],
)
def test_group_objects_have_copies_at_all_members(
    group: GroupCommands, noun: str, attributes: str, change: str, shown: str
) -> None:
    one, two = group.at("QM1"), group.at("QM2")
    one.says(f"DEFINE {noun}(GROUPED) QSGDISP(GROUP) {attributes}")
    for each in group.members.values():
        assert "QSGDISP(COPY)" in each.says(f"DISPLAY {noun}(GROUPED) QSGDISP")
        both = each.says(f"DISPLAY {noun}(GROUPED) QSGDISP(ALL) ALL")
        assert ("QSGDISP(COPY)" in both, "QSGDISP(GROUP)" in both) == (True, True)
    two.says(f"ALTER {noun}(GROUPED) QSGDISP(GROUP) {change}")
    for each in group.members.values():
        assert shown in each.says(f"DISPLAY {noun}(GROUPED) QSGDISP(COPY) ALL")
        assert shown in each.says(f"DISPLAY {noun}(GROUPED) QSGDISP(GROUP) ALL")
    assert "not found" in two.fails(f"DELETE {noun}(GROUPED)"), "the copy has another disposition"
    two.says(f"DELETE {noun}(GROUPED) QSGDISP(GROUP)")
    for each in group.members.values():
        assert "not found" in each.fails(f"DISPLAY {noun}(GROUPED) QSGDISP(ALL)")


def test_a_copy_may_differ_until_its_group_object_changes(group: GroupCommands) -> None:
    one, two = group.at("QM1"), group.at("QM2")
    one.says("DEFINE QALIAS(A) QSGDISP(GROUP) TARGET(ONE)")
    two.says("ALTER QALIAS(A) QSGDISP(COPY) TARGET(OTHER)")
    one.says("DEFINE NAMELIST(N) QSGDISP(GROUP)")
    assert "TARGET(OTHER)" in two.says("DISPLAY QALIAS(A) TARGET")
    two.says("DELETE QALIAS(A) QSGDISP(COPY)")
    two.says("DEFINE QALIAS(A) QSGDISP(COPY) DESCR('own')")
    said = two.says("DISPLAY QALIAS(A) TARGET DESCR")
    assert ("TARGET(ONE)" in said, "DESCR(own)" in said) == (True, True)
    one.says("ALTER QALIAS(A) QSGDISP(GROUP) TARGET(TWO)")
    assert "TARGET(TWO)" in two.says("DISPLAY QALIAS(A) TARGET")
    assert "not found" in two.fails("DEFINE QALIAS(B) QSGDISP(COPY)")


def test_a_copy_in_use_fails_singly(group: GroupCommands) -> None:
    group.at("QM1").says("DEFINE QLOCAL(TARGET1)")
    group.at("QM2").says("DEFINE QLOCAL(TARGET1)")
    group.at("QM1").says("DEFINE QALIAS(A) QSGDISP(GROUP) TARGET(TARGET1)")
    two = group.world.members[1]
    two.open(two.connect(), "A", mq.MQOO_OUTPUT)
    group.at("QM2").numbers()
    group.at("QM1").says("ALTER QALIAS(A) QSGDISP(GROUP) TARGET(TARGET2)")
    assert group.at("QM2").numbers() == ["AMQ7544W"]
    assert "TARGET(TARGET1)" in group.at("QM2").says("DISPLAY QALIAS(A) TARGET")
    assert "TARGET(TARGET2)" in group.at("QM3").says("DISPLAY QALIAS(A) TARGET")
    group.poll()
    assert group.at("QM2").numbers() == []


def test_dispositions_keep_apart(shared: GroupCommands) -> None:
    one = shared.at("QM1")
    one.says("DEFINE QLOCAL(OWN)")
    one.says("DEFINE QLOCAL(COPIED) QSGDISP(GROUP)")
    shown = {word: one.says(f"DISPLAY QLOCAL(O*) QSGDISP({word}) ALL") for word in ("LIVE", "ALL", "QMGR", "PRIVATE")}
    assert ["QUEUE(ORDERS)" in text for text in shown.values()] == [True, True, False, False]
    assert all("QUEUE(OWN)" in text for text in shown.values())
    assert "QUEUE(OWN)" not in one.says("DISPLAY QLOCAL(*) QSGDISP(SHARED)")
    assert "(3211)" in one.fails("DEFINE QLOCAL(ORDERS) REPLACE")
    assert "(3211)" in one.fails("DEFINE QLOCAL(COPIED) REPLACE")
    assert one.fails("ALTER QLOCAL(ORDERS) MAXDEPTH(1)").startswith("AMQ8147E")
    assert "exists already" in one.fails("DEFINE QLOCAL(COPIED) QSGDISP(GROUP)")


# -- members that were down, lost announcements, existing definitions --------------------------------------------------


def test_a_member_that_was_down_gets_changes_and_deletions_at_its_start(shared: GroupCommands) -> None:
    three = shared.world.members[2]
    shared.at("QM1").says("DEFINE QALIAS(OLD) QSGDISP(GROUP) TARGET(ORDERS)")
    three.die()
    shared.world.settle()
    shared.at("QM1").says(f"DEFINE QLOCAL(NEW) {SHARED}")
    shared.at("QM1").says("DELETE QLOCAL(ORDERS) QSGDISP(SHARED)")
    shared.at("QM1").says("DELETE QALIAS(OLD) QSGDISP(GROUP)")
    shared.at("QM1").says("ALTER CFSTRUCT(APP1) DESCR('changed')")
    three.come_back()
    assert "ORDERS" in three.engine.queues, "its log has it"
    again = shared.start(three)
    assert ("ORDERS" in three.engine.queues, "NEW" in three.engine.queues) == (False, True)
    assert "OLD" not in three.engine.of_type(ObjectType.QALIAS)
    assert "DESCR(changed)" in again.says("DISPLAY CFSTRUCT(APP1) DESCR")
    assert sorted(again.numbers()) == ["AMQ7542I", "AMQ7545I", "AMQ7545I"]


def test_a_lost_announcement_is_made_good_by_the_poll(shared: GroupCommands) -> None:
    shared.at("QM2").is_deaf = True
    shared.at("QM1").says(f"DEFINE QLOCAL(NEW) {SHARED}")
    two = shared.world.members[1]
    assert "NEW" not in two.engine.queues
    shared.poll()
    assert "NEW" in two.engine.queues


def test_definitions_from_before_the_repository_are_brought_into_it(tmp_path: Path) -> None:
    world = GroupWorld("QM1", "QM2", "QM3")
    world.define_structure("APP1", level=4)
    world.define_queue("ORDERS")
    world.members[1].define_queue("ORDERS", {"QSGDISP": 2, "CFSTRUCT": "APP1", "MAXDEPTH": 9}, replace=True)
    world.members[2].define_queue("ONLY.HERE", {"QSGDISP": 2, "CFSTRUCT": "APP1"})
    group = GroupCommands(world, tmp_path / "repository.db")
    assert group.at("QM1").numbers() == ["AMQ7543I", "AMQ7543I"]
    told = group.at("QM2").noted
    assert len(told) == 1, told
    assert "MAXDEPTH(5000) instead of MAXDEPTH(9)" in told[0]
    assert "MAXDEPTH(5000)" in group.at("QM2").says("DISPLAY QLOCAL(ORDERS) MAXDEPTH")
    assert group.at("QM3").numbers() == ["AMQ7543I"]
    assert "ONLY.HERE" in world.members[0].engine.queues
    group.close()


def test_a_deleted_name_that_is_defined_again_stays(shared: GroupCommands) -> None:
    shared.at("QM1").says("DELETE QLOCAL(ORDERS) QSGDISP(SHARED)")
    shared.at("QM2").says(f"DEFINE QLOCAL(ORDERS) {SHARED} MAXDEPTH(3)")
    shared.poll()
    for each in shared.members.values():
        assert "MAXDEPTH(3)" in each.says("DISPLAY QLOCAL(ORDERS) MAXDEPTH")


def test_a_new_repository_gets_what_members_have(shared: GroupCommands, tmp_path: Path) -> None:
    for each in shared.members.values():
        each.catalogue.repository.close()
    for each in tmp_path.glob("repository.db*"):
        each.unlink()
    with pytest.raises(RepositoryUnavailable):
        shared.at("QM1").catalogue.refresh()
    assert "(2342)" in shared.at("QM1").fails("DEFINE QLOCAL(X) QSGDISP(GROUP)")
    made = SqliteRepository("QSG1", shared.path)
    assert made.create()
    shared.poll()
    assert [row.name for row in made.rows(QUEUES)] == ["ORDERS"]
    assert [row.name for row in made.rows(MEMBERS)] == ["QM1", "QM2", "QM3"]
    made.close()


def test_an_unknown_name_while_the_repository_is_away(shared: GroupCommands) -> None:
    one = shared.world.members[0]
    one.member.sharing.knows_definitions = False
    with pytest.raises(MQError) as refused:
        one.open(one.connect(), "UNHEARD.OF", mq.MQOO_OUTPUT)
    assert refused.value.reason == mq.MQRC_DB2_NOT_AVAILABLE
    one.open(one.connect(), "ORDERS", mq.MQOO_OUTPUT)
    one.member.sharing.knows_definitions = True
    with pytest.raises(MQError) as refused:
        one.open(one.connect(), "UNHEARD.OF", mq.MQOO_OUTPUT)
    assert refused.value.reason == mq.MQRC_UNKNOWN_OBJECT_NAME


class Interrupting(SharedRepository):
    """A repository in which somebody else changes a row just before each of the first writes."""

    def __init__(self, inner: SharedRepository, change: bytes, times: int) -> None:
        self._inner = inner
        self._change = change
        self.times = times

    def write(self, kind: str, name: str, data: bytes, expected_version: int | None) -> int:
        if self.times:
            self.times -= 1
            self._inner.write(kind, name, self._change, None)
        return self._inner.write(kind, name, data, expected_version)

    def read(self, kind: str, name: str) -> Row | None:
        return self._inner.read(kind, name)

    def rows(self, kind: str) -> list[Row]:
        return self._inner.rows(kind)

    def delete(self, kind: str, name: str, expected_version: int | None) -> None:
        self._inner.delete(kind, name, expected_version)

    def change_number(self) -> int:
        return self._inner.change_number()

    def write_blob(self, structure: str, entry_id: bytes, data: bytes) -> None:
        raise NotImplementedError

    def read_blob(self, structure: str, entry_id: bytes, offset: int, length: int) -> bytes:
        raise NotImplementedError

    def delete_blobs(self, structure: str, entry_ids: list[bytes]) -> None:
        raise NotImplementedError

    def blob_ids(self, structure: str) -> list[bytes]:
        return []

    def blob_count(self, structure: str) -> int:
        return 0

    def close(self) -> None:
        self._inner.close()


def test_two_alters_at_the_same_time_both_count(shared: GroupCommands) -> None:
    catalogue: GroupCatalogue = shared.at("QM1").catalogue
    before, _ = catalogue.read(queue_key("ORDERS"))
    assert before is not None
    other = before.with_changes({"DESCR": "by another"}).encode()
    catalogue.repository = Interrupting(catalogue.repository, other, 2)
    shared.at("QM1").says("ALTER QLOCAL(ORDERS) QSGDISP(SHARED) MAXDEPTH(6)")
    said = shared.at("QM3").says("DISPLAY QLOCAL(ORDERS) MAXDEPTH DESCR")
    assert ("MAXDEPTH(6)" in said, "DESCR(by another)" in said) == (True, True)
    catalogue.repository = Interrupting(catalogue.repository, other, 1000)
    assert "AMQ8148E" in shared.at("QM1").fails("ALTER QLOCAL(ORDERS) QSGDISP(SHARED) MAXDEPTH(7)")


# -- the roll ----------------------------------------------------------------------------------------------------------


def test_the_roll_refuses_a_number_of_another_member(group: GroupCommands) -> None:
    catalogue = group.at("QM1").catalogue
    repository = catalogue.repository
    assert [(each.name, each.number) for each in catalogue.members()] == [("QM1", 1), ("QM2", 2), ("QM3", 3)]
    for member, text in ((MemberRow("QM4", 2), "belongs to queue manager QM2"), (MemberRow("QM2", 4), "is member 2")):
        catalogue.member = member
        with pytest.raises(MemberRefused, match=f"AMQ7540E: .*{text}"):
            catalogue.enrol()
    assert len(repository.rows(MEMBERS)) == 3
    catalogue.member = MemberRow("QM7", 7, 940, "/var/qm7.sock")
    catalogue.enrol()
    numbers = repository.rows(NUMBERS)
    assert [row.name for row in numbers] == ["QSG1"]
    version = repository.rows(MEMBERS)[-1].version
    catalogue.enrol()
    assert repository.rows(MEMBERS)[-1].version == version, "an unchanged member writes nothing"


def test_display_group_and_queue_manager(shared: GroupCommands) -> None:
    shared.world.members[2].die()
    shared.world.settle()
    said = shared.at("QM1").says("DISPLAY GROUP")
    assert said.count("QSGNAME(QSG1)") == 3
    parts = said.split("AMQ8900I")[1:]
    assert [("QMNAME(QM" in part, "STATUS(ACTIVE)" in part) for part in parts] == [
        (True, True),
        (True, True),
        (True, False),
    ]
    repository = shared.at("QM1").catalogue.repository
    repository.write_blob("APP1", bytes(4) + (3).to_bytes(4, "big") + bytes(8), b"body")
    assert "AMQ8901W" in shared.at("QM1").says("DISPLAY GROUP OBSMSGS(YES)")
    assert "AMQ8901W" not in shared.at("QM1").says("DISPLAY GROUP")
    assert "QSGNAME(QSG1)" in shared.at("QM1").says("DISPLAY QMGR QSGNAME")


# -- PCF ---------------------------------------------------------------------------------------------------------------


def test_pcf_has_the_same_dispositions(group: GroupCommands) -> None:
    one, two = Administrator(group.at("QM1")), Administrator(group.at("QM2"))
    one.done(mq.MQCMD_CREATE_CF_STRUC, {mq.MQCA_CF_STRUC_NAME: "APP1"})
    name = {mq.MQCA_Q_NAME: "ORDERS", mq.MQIA_Q_TYPE: mq.MQQT_LOCAL}
    shared = {mq.MQIA_QSG_DISP: mq.MQQSGD_SHARED}
    one.done(mq.MQCMD_CREATE_Q, {**name, **shared, mq.MQCA_CF_STRUC_NAME: "APP1"})
    group.settle()
    [found] = two.does(mq.MQCMD_INQUIRE_Q, {mq.MQCA_Q_NAME: "ORDERS", **shared})
    assert found[mq.MQIA_QSG_DISP] == mq.MQQSGD_SHARED
    two.done(mq.MQCMD_CHANGE_Q, {**name, **shared, mq.MQIA_MAX_Q_DEPTH: 4})
    group.settle()
    assert group.world.members[0].engine.queues["ORDERS"].definition.attributes["MAXDEPTH"] == 4
    grouped = {mq.MQIA_QSG_DISP: mq.MQQSGD_GROUP}
    alias = {mq.MQCA_Q_NAME: "A", mq.MQIA_Q_TYPE: mq.MQQT_ALIAS}
    two.done(mq.MQCMD_CREATE_Q, {**alias, **grouped, mq.MQCA_BASE_OBJECT_NAME: "ORDERS"})
    group.settle()
    everything = one.does(mq.MQCMD_INQUIRE_Q, {mq.MQCA_Q_NAME: "A", mq.MQIA_QSG_DISP: mq.MQQSGD_ALL})
    assert sorted(int(str(each[mq.MQIA_QSG_DISP])) for each in everything) == [mq.MQQSGD_COPY, mq.MQQSGD_GROUP]
    assert two.fails(mq.MQCMD_DELETE_Q, {mq.MQCA_Q_NAME: "A"})[0] == mq.MQRC_UNKNOWN_OBJECT_NAME
    two.done(mq.MQCMD_DELETE_Q, {mq.MQCA_Q_NAME: "A", **grouped})
    two.done(mq.MQCMD_DELETE_Q, {mq.MQCA_Q_NAME: "ORDERS", **shared})
    group.settle()
    assert "ORDERS" not in group.world.members[0].engine.queues
    members = one.does(mq.MQCMD_INQUIRE_QSG)
    assert [str(each[mq.MQCA_Q_MGR_NAME]).strip() for each in members] == ["QM1", "QM2", "QM3"]
    assert {each[mq.MQIACF_Q_MGR_STATUS] for each in members} == {mq.MQQSGS_ACTIVE}


# -- rows --------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("key", "local"),
    [
        (structure_key("APP1"), (ObjectType.CFSTRUCT, "APP1")),
        (data_set_key("APP1", "QM1"), (ObjectType.SMDS, "APP1/QM1")),
        (queue_key("ORDERS"), (ObjectType.QLOCAL, "ORDERS")),
        (object_key(ObjectType.CLNTCONN, "TO.QM1"), (ObjectType.CLNTCONN, "TO.QM1")),
        (RowKey("objects", "FUTURE X"), None),
    ],
)
def test_names_of_rows(key: RowKey, local: tuple[ObjectType, str] | None) -> None:
    assert key.local() == local
    assert key.deleted is None
    assert key.deletion.deleted == key


def test_a_row_that_cannot_be_read_stops_no_other(shared: GroupCommands) -> None:
    repository = shared.at("QM1").catalogue.repository
    repository.write(QUEUES, "BROKEN", b"\xff\xff", None)
    repository.write("objects", "FUTURE X", b"\x01what", None)
    queue = new_definition(ObjectType.QLOCAL, "WHOLE", {"QSGDISP": mq.MQQSGD_SHARED, "CFSTRUCT": "APP1"})
    repository.write(QUEUES, "WHOLE", queue.encode(), None)
    shared.poll()
    for each in shared.members.values():
        assert "WHOLE" in each.world.engine.queues
        assert each.numbers() == ["AMQ7546E"]
    assert key_of_local(Definition.decode(queue.encode())) == queue_key("WHOLE")
