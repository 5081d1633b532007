"""Data sets on a real disk whose files are deleted, cut, flipped and full, and the states that members see of them."""

from __future__ import annotations

import random
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from ostler.coupling.data_sets.layout import decode_reference
from ostler.coupling.data_sets.space_map import PAGE_BYTES
from ostler.model import constants as mq
from ostler.model.coupling.entries import make_id
from ostler.model.coupling.status_rows import (
    ACTIVE,
    DISABLED,
    EMPTY,
    ENABLED,
    FAILED,
    INRECOVER,
    NEW,
    NOTFOUND,
    RECOVERED,
    SUSPENDED,
    DataSetOptions,
    DataSetStatus,
    StructureStatusRow,
    WrongState,
)
from ostler.model.shared_repository import DATA_SET_STATUS, STRUCTURE_STATUS, RepositoryUnavailable
from ostler.server.coupling.data_sets.data_set_file import DataSetFailed
from ostler.server.coupling.data_sets.data_sets import DataSetSettings, StructureDataSets
from ostler.server.coupling.data_sets.group_states import GroupStates
from ostler.server.coupling.repository.opening import open_repository
from ostler.server.coupling.repository.sql_repository import SqlRepository

SETTINGS = DataSetSettings("QSG1.*.APP1", 64 << 10, 10, True)
BODY = random.Random(3).randbytes(200_000)


class Disk:
    """Members with data sets in one directory, and one repository."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.noted: list[str] = []
        self.repository: SqlRepository = open_repository(str(root / "repository.db"), "QSG1")
        self.repository.create()
        self.executor = ThreadPoolExecutor(8)
        self._puts = 0
        self._opened: list[StructureDataSets] = []

    def member(self, number: int = 1, settings: DataSetSettings = SETTINGS) -> StructureDataSets:
        states = GroupStates(self.repository, self.noted.append)
        states.refresh()
        made = StructureDataSets(
            "APP1", f"QM{number}", number, self.root, settings, self.noted.append, self.executor, self.executor, states
        )
        self._opened.append(made)
        return made

    def opened(
        self, number: int = 1, settings: DataSetSettings = SETTINGS, references: tuple[bytes, ...] = ()
    ) -> StructureDataSets:
        member = self.member(number, settings)
        member.open(b"file %03d" % len(self._opened))
        member.take_over(list(references))
        return member

    def put(self, member: StructureDataSets, body: bytes = BODY) -> tuple[bytes, bytes]:
        self._puts += 1
        id = make_id(1, 1, self._puts)
        reason, reference = member.store(id, body, True)
        assert reason == 0
        member.own.on_put(id, True, True)
        return id, reference

    def told(self, number: str) -> list[str]:
        return [line for line in self.noted if line.startswith(number)]

    def close(self) -> None:
        for each in self._opened:
            each.close()
        self.executor.shutdown()
        self.repository.close()


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Disk]:
    made = Disk(tmp_path)
    yield made
    made.close()


def test_the_messages_of_a_life(disk: Disk) -> None:
    member = disk.opened()
    name = "SMDS(QM1) CFSTRUCT(APP1) data set QSG1.QM1.APP1"
    assert disk.noted == [
        f"AMQ7521I: {name} now has STATUS(NEW).",
        f"AMQ7525I: Formatting 4096 pages of {name}.",
        f"AMQ7526I: Formatting {name} is complete.",
        *disk.told("AMQ7529W"),
        f"AMQ7522I: {name}: the space map will be rebuilt by scanning the structure.",
        f"AMQ7523I: {name}: the space map has been rebuilt, message count 0.",
        f"AMQ7521I: {name} now has STATUS(ACTIVE).",
    ]
    member.close()
    assert disk.noted[-1] == f"AMQ7521I: {name} now has STATUS(EMPTY)."
    assert (member.connection.status, member.connection.open_mode) == ("CLOSED", "NONE")
    assert disk.opened().status.status == ACTIVE


def test_one_with_messages_is_not_empty(disk: Disk) -> None:
    member = disk.opened()
    id, reference = disk.put(member)
    member.close()
    assert member.status.status == ACTIVE
    again = disk.opened(references=(reference,))
    assert again.fetch(id, reference) == (0, BODY)
    assert disk.told("AMQ7523I")[-1].endswith("message count 1.")


@pytest.mark.parametrize("how", ["deleted", "cut", "replaced"])
def test_a_file_that_is_gone_is_failed_for_all(disk: Disk, how: str) -> None:
    owner, reader = disk.opened(), disk.member(2)
    id, reference = disk.put(owner)
    assert reader.fetch(id, reference) == (0, BODY)
    path = owner.own.path
    if how == "cut":
        with path.open("r+b") as file:
            file.truncate(PAGE_BYTES * 20)
    else:
        path.unlink()
        if how == "replaced":
            path.write_bytes(b"something else" * 10_000)
    owner.look()
    assert (owner.status.status, owner.status.access) == (FAILED, SUSPENDED)
    assert (owner.connection.status, owner.connection.available) == ("DATAFAIL", "ERROR")
    assert owner.store(make_id(1, 1, 99), BODY, True) == (mq.MQRC_DATA_SET_NOT_AVAILABLE, b"")
    assert len(disk.told("AMQ7530E")) == 1
    assert reader.states.refresh()
    assert reader.fetch(id, reference) == (mq.MQRC_DATA_SET_NOT_AVAILABLE, b"")
    reader.look()
    assert reader.connections["QM1"].status == "NOTENABLED"
    owner.close()
    restarted = disk.member()
    with pytest.raises(DataSetFailed, match="FAILED"):
        restarted.open(b"identity")


def test_a_missing_file_is_not_made_while_messages_may_be_in_it(disk: Disk) -> None:
    owner = disk.opened()
    id, reference = disk.put(owner)
    owner.close()
    owner.own.path.unlink()
    again = disk.member()
    with pytest.raises(DataSetFailed, match="is not there"):
        again.open(b"another0")
    assert again.status.status == FAILED
    again.states.command("APP1", "QM1", lambda before: before.reset(RECOVERED, "", 5))
    made = disk.opened(references=(reference,))
    assert made.status.status == ACTIVE
    assert made.fetch(id, reference)[0] == mq.MQRC_DATA_SET_NOT_AVAILABLE
    assert "1 messages of the structure are not in it" in disk.told("AMQ7532E")[-1]


def test_a_flipped_bit_takes_one_message_only(disk: Disk) -> None:
    owner, reader = disk.opened(), disk.member(2)
    id, reference = disk.put(owner)
    other, intact = disk.put(owner, BODY[::-1])
    assert owner.transfers is not None
    owner.transfers.buffers.discard_all()
    place = int(decode_reference(reference).extents[0].page) * PAGE_BYTES + 70_000
    with owner.own.path.open("r+b") as file:
        file.seek(place)
        byte = file.read(1)[0]
        file.seek(place)
        file.write(bytes((byte ^ 4,)))
    for member in (reader, owner):
        assert member.fetch(id, reference) == (mq.MQRC_DATA_SET_NOT_AVAILABLE, b"")
        assert member.connections["QM1"].available == "ERROR"
        assert member.connections["QM1"].status == "DATAFAIL"
        assert member.fetch(other, intact) == (0, BODY[::-1])
    assert owner.status.status == ACTIVE
    assert owner.store(make_id(1, 1, 99), BODY, False)[0] == mq.MQRC_DATA_SET_NOT_AVAILABLE
    owner.start("QM1")
    assert owner.store(make_id(1, 1, 99), BODY, False)[0] == 0


def test_a_message_that_went_while_it_was_browsed_is_no_damage(disk: Disk) -> None:
    owner = disk.opened()
    id, reference = disk.put(owner)
    owner.own.free([reference])
    for _ in range(100):
        disk.put(owner, BODY[::-1])
    assert owner.fetch(id, reference)[0] == mq.MQRC_DATA_SET_NOT_AVAILABLE
    assert owner.connection.available == "NORMAL"
    assert not disk.told("AMQ7530E")


def test_full_and_expanded(disk: Disk) -> None:
    member = disk.opened(settings=SETTINGS._replace(expands=False))
    stored: list[bytes] = []
    while True:
        id = make_id(1, 1, len(stored) + 1)
        reason, reference = member.store(id, bytes(60 << 10), False)
        if reason:
            break
        stored.append(reference)
    assert reason == mq.MQRC_STORAGE_MEDIUM_FULL
    assert [line.split()[-2] for line in disk.told("AMQ7524W")] == ["90%", "92%", "94%", "96%", "98%"]
    assert len(disk.told("AMQ7528E")) == 1
    member.apply(SETTINGS)
    assert member.store(make_id(1, 1, 5000), bytes(60 << 10), False)[0] == 0
    assert disk.told("AMQ7527I")[0].endswith("was expanded: 416 pages added, total pages 4512.")
    assert member.own.expand_status == "NORMAL"


def test_stopped_while_transfers_are_under_way(disk: Disk) -> None:
    member = disk.opened()
    # Threads of their own: those of the disk move the blocks for which they wait.
    with ThreadPoolExecutor(4) as applications:
        puts = [applications.submit(member.store, make_id(1, 2, number), BODY, False) for number in range(50)]
        member.stop("QM1")
        assert {put.result()[0] for put in puts} <= {0, mq.MQRC_DATA_SET_NOT_AVAILABLE}
    assert not disk.told("AMQ7530E")
    assert (member.connection.status, member.connection.available) == ("CLOSED", "STOPPED")


def test_other_blocks_for_an_empty_data_set(disk: Disk) -> None:
    disk.opened().close()
    member = disk.opened(settings=SETTINGS._replace(block_bytes=128 << 10))
    assert member.own.file is not None
    assert (member.own.file.block_bytes, member.own.file.blocks) == (128 << 10, 128)
    id, reference = disk.put(member)
    assert member.fetch(id, reference) == (0, BODY)


def test_what_was_noticed_while_the_repository_was_away_is_written_later(
    disk: Disk, monkeypatch: pytest.MonkeyPatch
) -> None:
    member = disk.opened()

    def away(*_: object) -> None:
        raise RepositoryUnavailable("nobody answers")

    with monkeypatch.context() as patch:
        patch.setattr(disk.repository, "read", away)
        patch.setattr(disk.repository, "change_number", away)
        member.fail_own("its disk is broken")
        assert member.status.status == FAILED
        assert not member.states.refresh()
        assert len(disk.told("AMQ7533W")) == 1
        with pytest.raises(RepositoryUnavailable):
            member.states.command("APP1", "QM1", lambda before: before)
    other = GroupStates(disk.repository, disk.noted.append)
    other.refresh()
    assert other.status("APP1", "QM1").status == ACTIVE
    member.states.refresh()
    other.refresh()
    assert other.status("APP1", "QM1").status == FAILED


def test_rows_are_read_as_they_were_written() -> None:
    status = DataSetStatus("APP1", "QM1", RECOVERED, DISABLED, 5, 7)
    assert DataSetStatus.decode(status.encode()) == status
    options = DataSetOptions("APP1", "QM1", 7, mq.MQDSE_NO)
    assert DataSetOptions.decode(options.encode()) == options
    times = StructureStatusRow("APP1", 1, 2)
    assert StructureStatusRow.decode(times.encode()) == times
    with pytest.raises(ValueError, match="not of"):
        DataSetStatus.decode(options.encode())
    later = DataSetStatus("APP1", "QM1", "SHINING", "PERHAPS")
    assert DataSetStatus.decode(later.encode()) == DataSetStatus("APP1", "QM1", FAILED, SUSPENDED)


def test_a_row_that_nobody_understands_is_a_failed_data_set(disk: Disk) -> None:
    disk.repository.write(DATA_SET_STATUS, "APP1 QM1", b"\xff", None)
    assert disk.member().status.status == FAILED


@pytest.mark.parametrize(
    ("before", "status", "access", "after"),
    [
        (ACTIVE, FAILED, "", (FAILED, SUSPENDED)),
        (FAILED, RECOVERED, "", (RECOVERED, ENABLED)),
        (FAILED, RECOVERED, DISABLED, (RECOVERED, DISABLED)),
        (NEW, "", DISABLED, (NEW, DISABLED)),
        (EMPTY, FAILED, ENABLED, (FAILED, ENABLED)),
        (FAILED, FAILED, "", None),
        (ACTIVE, RECOVERED, "", None),
        (NOTFOUND, FAILED, "", None),
        (INRECOVER, FAILED, "", None),
        (INRECOVER, "", ENABLED, None),
    ],
)
def test_reset(before: str, status: str, access: str, after: tuple[str, str] | None) -> None:
    state = DataSetStatus("APP1", "QM1").with_status(before, 3)
    if after is None:
        with pytest.raises(WrongState):
            state.reset(status, access, 9)
        return
    changed = state.reset(status, access, 9)
    assert (changed.status, changed.access) == after
    if status == FAILED:
        assert changed.failed_ms == 9
    if status == RECOVERED:
        assert (changed.failed_ms, changed.recovered_ms) == (3, 9)


def test_times_of_structures_are_those_of_the_first_that_noticed(disk: Disk) -> None:
    clock = iter(range(1, 100))
    states = [GroupStates(disk.repository, disk.noted.append, lambda: next(clock)) for _ in range(2)]
    for each in states:
        each.note_structure("APP1", True)
    for each in states:
        each.note_structure("APP1", False)
    row = disk.repository.read(STRUCTURE_STATUS, "APP1")
    assert row is not None
    assert StructureStatusRow.decode(row.data) == StructureStatusRow("APP1", 1000, 2000)
