"""What a caller may rely on of a shared repository, with each engine: SQLite and PostgreSQL."""

from __future__ import annotations

import random
import signal
import subprocess
import sys
import threading

import pytest
from tests.server.coupling.repository.conftest import Place

from ostler.model import shared_repository as kinds
from ostler.model.coupling.group_rows import BackupRow, GroupRow, MemberRow, decode_row
from ostler.model.shared_repository import (
    ABSENT,
    PART_BYTES,
    BlobNotFound,
    RepositoryRefused,
    Row,
    RowChanged,
    SharedRepository,
)
from ostler.server.coupling.repository.sql_repository import SqlRepository

STRUCTURE = "APPL1"


def entry(number: int) -> bytes:
    return number.to_bytes(16, "big")


# -- rows --------------------------------------------------------------------------------------------------------------


def test_a_row_is_read_as_it_was_written(repository: SharedRepository) -> None:
    data = bytes(range(256))
    version = repository.write(kinds.QUEUES, "PAY.ROLL/1", data, ABSENT)
    assert repository.read(kinds.QUEUES, "PAY.ROLL/1") == Row(kinds.QUEUES, "PAY.ROLL/1", data, version)
    assert repository.read(kinds.QUEUES, "PAY") is None
    assert repository.read(kinds.OBJECTS, "PAY.ROLL/1") is None


def test_a_row_is_created_once(repository: SharedRepository) -> None:
    version = repository.write(kinds.QUEUES, "Q", b"first", ABSENT)
    with pytest.raises(RowChanged) as caught:
        repository.write(kinds.QUEUES, "Q", b"second", ABSENT)
    assert caught.value.found == version
    found = repository.read(kinds.QUEUES, "Q")
    assert found is not None
    assert found.data == b"first"


def test_a_write_compares_the_version(repository: SharedRepository) -> None:
    first = repository.write(kinds.QUEUES, "Q", b"1", ABSENT)
    second = repository.write(kinds.QUEUES, "Q", b"2", first)
    assert second > first
    with pytest.raises(RowChanged):
        repository.write(kinds.QUEUES, "Q", b"3", first)
    with pytest.raises(RowChanged):
        repository.delete(kinds.QUEUES, "Q", first)
    assert [row.data for row in repository.rows(kinds.QUEUES)] == [b"2"]
    repository.delete(kinds.QUEUES, "Q", second)
    assert repository.rows(kinds.QUEUES) == []
    with pytest.raises(RowChanged) as caught:
        repository.write(kinds.QUEUES, "Q", b"4", second)
    assert caught.value.found == ABSENT


def test_a_version_is_never_used_twice(repository: SharedRepository) -> None:
    """A row that is deleted and written again is another one."""
    seen = []
    for _ in range(5):
        seen.append(repository.write(kinds.MEMBERS, "QM1", b"same", ABSENT))
        repository.delete(kinds.MEMBERS, "QM1", seen[-1])
    assert len(set(seen)) == 5
    assert seen == sorted(seen)


def test_without_a_version_anything_is_replaced(repository: SharedRepository) -> None:
    repository.delete(kinds.QUEUES, "Q", None)
    repository.write(kinds.QUEUES, "Q", b"1", None)
    repository.write(kinds.QUEUES, "Q", b"2", None)
    assert [row.data for row in repository.rows(kinds.QUEUES)] == [b"2"]
    repository.delete(kinds.QUEUES, "Q", None)
    assert repository.rows(kinds.QUEUES) == []


def test_rows_of_a_kind_come_in_the_order_of_their_names(repository: SharedRepository) -> None:
    names = ["b", "a", "C", "A.B", "a%", "_"]
    for name in names:
        repository.write(kinds.OBJECTS, name, name.encode(), ABSENT)
    repository.write(kinds.QUEUES, "other", b"", ABSENT)
    assert [row.name for row in repository.rows(kinds.OBJECTS)] == sorted(names)


def test_the_change_number_grows_with_each_change(place: Place, repository: SharedRepository) -> None:
    peer = place.open()
    numbers = [peer.change_number()]
    version = repository.write(kinds.QUEUES, "Q", b"1", ABSENT)
    numbers.append(peer.change_number())
    repository.delete(kinds.QUEUES, "Q", version)
    numbers.append(peer.change_number())
    assert numbers == sorted(set(numbers))
    with pytest.raises(RowChanged):
        repository.delete(kinds.QUEUES, "Q", version)
    repository.write_blob(STRUCTURE, entry(1), b"body")
    repository.read(kinds.QUEUES, "Q")
    assert peer.change_number() == numbers[-1]


def test_groups_do_not_see_each_other(place: Place, repository: SharedRepository) -> None:
    other = Place(place.where, f"X{place.group[1:]}")
    second = other.open()
    second.create()
    repository.write(kinds.QUEUES, "Q", b"1", ABSENT)
    repository.write_blob(STRUCTURE, entry(1), b"body")
    assert second.rows(kinds.QUEUES) == []
    assert second.blob_ids(STRUCTURE) == []
    assert second.change_number() == 0
    second.destroy()
    assert [row.data for row in repository.rows(kinds.QUEUES)] == [b"1"]
    other.close()


def test_a_group_that_is_not_there_is_refused(place: Place, repository: SharedRepository) -> None:
    wrong = Place(place.where, "NONE").open()
    with pytest.raises(RepositoryRefused, match="no queue-sharing group NONE"):
        wrong.change_number()
    assert not place.open().create(), "the group was there"


@pytest.mark.parametrize(("kind", "name", "data"), [("nonsense", "Q", b""), (kinds.QUEUES, "", b"")])
def test_a_row_that_nobody_can_have_meant_is_an_error(
    repository: SharedRepository, kind: str, name: str, data: bytes
) -> None:
    with pytest.raises(ValueError, match="is no"):
        repository.write(kind, name, data, None)


def test_many_writers_lose_no_change(place: Place, repository: SharedRepository) -> None:
    """Each adds one to a number, by comparing versions. The sum is right, and no version was given twice."""
    writers, rounds = 4, 10
    repository.write(kinds.NUMBERS, "n", b"0", ABSENT)
    versions: list[int] = []
    failures: list[BaseException] = []

    def add() -> None:
        own = place.open()
        try:
            for _ in range(rounds):
                for _ in range(1000):
                    row = own.read(kinds.NUMBERS, "n")
                    assert row is not None
                    try:
                        versions.append(own.write(kinds.NUMBERS, "n", b"%d" % (int(row.data) + 1), row.version))
                        break
                    except RowChanged:
                        continue
        except BaseException as failure:
            failures.append(failure)

    threads = [threading.Thread(target=add) for _ in range(writers)]
    for each in threads:
        each.start()
    for each in threads:
        each.join(60)
    assert failures == []
    assert repository.rows(kinds.NUMBERS)[0].data == b"%d" % (writers * rounds)
    assert len(set(versions)) == writers * rounds


_WRITER = """
import sys
from ostler.server.coupling.repository.opening import open_repository
repository = open_repository(sys.argv[1], sys.argv[2])
for number in range(1_000_000):
    repository.write("queues", f"Q{number}", b"data", 0)
    repository.write_blob("APPL1", number.to_bytes(16, "big"), b"body" * 10)
    print(number, flush=True)
"""


def test_what_was_acknowledged_is_there_when_the_writer_is_killed(place: Place, repository: SharedRepository) -> None:
    process = subprocess.Popen(
        [sys.executable, "-c", _WRITER, place.where, place.group], stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    for line in process.stdout:
        if int(line) >= 20:
            break
    process.send_signal(signal.SIGKILL)
    last = max([20, *(int(line) for line in process.stdout)])
    process.wait()
    names = {row.name for row in repository.rows(kinds.QUEUES)}
    assert {f"Q{number}" for number in range(last + 1)} <= names
    for number in range(last + 1):
        assert repository.read_blob(STRUCTURE, entry(number), 0, 100) == b"body" * 10
    # The dead one holds no lock.
    repository.write(kinds.QUEUES, "after", b"", ABSENT)


# -- blobs -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("size", [0, 1, PART_BYTES - 1, PART_BYTES, PART_BYTES + 1, 9 * PART_BYTES + 5])
def test_a_blob_is_read_as_it_was_written(repository: SharedRepository, size: int) -> None:
    body = random.Random(size).randbytes(size)
    repository.write_blob(STRUCTURE, entry(1), body)
    assert repository.read_blob(STRUCTURE, entry(1), 0, size) == body
    assert repository.read_blob(STRUCTURE, entry(1), 0, size + 10) == body
    assert repository.blob_ids(STRUCTURE) == [entry(1)]


def test_any_range_of_a_blob_can_be_read(repository: SharedRepository) -> None:
    size = 3 * PART_BYTES + 1000
    body = random.Random(1).randbytes(size)
    repository.write_blob(STRUCTURE, entry(1), body)
    edges = [0, 1, PART_BYTES - 1, PART_BYTES, PART_BYTES + 1, 2 * PART_BYTES, size - 1, size, size + 5, 9 * PART_BYTES]
    for offset in edges:
        for length in (0, 1, 2, 1000, PART_BYTES, PART_BYTES + 1, size):
            assert repository.read_blob(STRUCTURE, entry(1), offset, length) == body[offset : offset + length], offset


def test_a_blob_is_replaced_as_a_whole(repository: SharedRepository) -> None:
    repository.write_blob(STRUCTURE, entry(1), bytes(3 * PART_BYTES))
    repository.write_blob(STRUCTURE, entry(1), b"short")
    assert repository.read_blob(STRUCTURE, entry(1), 0, 4 * PART_BYTES) == b"short"


def test_blobs_are_deleted_by_their_identifiers(repository: SharedRepository) -> None:
    ids = [entry(number) for number in range(450)]
    for each in ids[:5]:
        repository.write_blob(STRUCTURE, each, b"body")
    repository.write_blob("OTHER", ids[0], b"other")
    repository.delete_blobs(STRUCTURE, [ids[0], ids[2], *ids[4:]])
    repository.delete_blobs(STRUCTURE, [])
    assert repository.blob_ids(STRUCTURE) == [ids[1], ids[3]]
    assert (repository.blob_count(STRUCTURE), repository.blob_count("NONE")) == (2, 0)
    assert repository.blob_ids("OTHER") == [ids[0]]
    with pytest.raises(BlobNotFound):
        repository.read_blob(STRUCTURE, ids[0], 0, 10)


def test_a_blob_that_was_cut_off_is_listed_and_not_read(repository: SqlRepository) -> None:
    """Parts are written from the last to the first: a writer that dies leaves the last ones."""
    repository.write_blob(STRUCTURE, entry(1), bytes(3 * PART_BYTES))
    repository._run(lambda session: session.query("DELETE FROM ostler_blobs WHERE part = 0"))
    with pytest.raises(BlobNotFound):
        repository.read_blob(STRUCTURE, entry(1), PART_BYTES, 100)
    assert repository.blob_ids(STRUCTURE) == [entry(1)]


def test_a_blob_beyond_the_longest_message_is_an_error(repository: SharedRepository) -> None:
    with pytest.raises(ValueError, match="at most"):
        repository.write_blob(STRUCTURE, entry(1), bytes(kinds.BLOB_BYTES_MAX + 1))


# -- what is in rows ---------------------------------------------------------------------------------------------------


def test_rows_of_the_group_are_read_as_they_were_written() -> None:
    group = GroupRow("QSG1", "/run/cf.sock", "CF01", "/var/cf", 64)
    assert GroupRow.decode(group.encode()) == group
    member = MemberRow("QM1", 3, 940, "host(1414)", "/var/qm1", "/var/qm1/log")
    assert MemberRow.decode(member.encode()) == member
    backup = BackupRow("APPL1", 3, "QM1", 1000, 2000, "ab" * 16, 5, 6, 7, 8)
    assert BackupRow.decode(backup.encode()) == backup


@pytest.mark.parametrize("change", [lambda data: data[:-1], lambda data: b"\x02" + data[1:], lambda data: data + b"x"])
def test_a_damaged_row_is_refused(change: object) -> None:
    assert callable(change)
    with pytest.raises(ValueError, match="row"):
        MemberRow.decode(change(MemberRow("QM1", 3).encode()))


def test_a_row_of_another_kind_is_refused() -> None:
    with pytest.raises(ValueError, match="not of group"):
        decode_row("group", MemberRow("QM1", 3).encode())
