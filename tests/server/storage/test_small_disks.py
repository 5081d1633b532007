"""A real queue manager on real file systems of a few megabytes: full, killed, started, emptied, filled again."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from tests.server.storage.small_disk import (
    NAME,
    REFUSALS,
    SmallDisk,
    body,
    can_mount,
    drain,
    file_system,
    fill,
    free_bytes,
    number_of,
    put_until_refused,
)

DATA_MEGABYTES = 24


@pytest.fixture
def stack(tmp_path: Path) -> Iterator[ExitStack]:
    if not can_mount(tmp_path):
        pytest.skip("mounting a small file system needs the super user")
    with ExitStack() as stack:
        yield stack


@pytest.fixture
def disk(stack: ExitStack, tmp_path: Path) -> SmallDisk:
    """A queue manager whose log and data are on one file system."""
    made = SmallDisk(stack.enter_context(file_system(tmp_path / "both", DATA_MEGABYTES)) / "data")
    stack.callback(made.close)
    made.create()
    made.start()
    made.define("Q")
    return made


@pytest.mark.parametrize("size", [2_000, 20_000, 700_000])
def test_a_disk_full_of_messages_is_emptied_by_gets_and_filled_again(disk: SmallDisk, size: int) -> None:
    with disk.connect() as connection, connection.open("Q", "rw") as queue:
        sent, reason = put_until_refused(queue, size)
        assert reason in REFUSALS
        assert drain(queue) == sent
        again, _ = put_until_refused(queue, size)
        assert len(again) > len(sent) // 2


@pytest.mark.parametrize("size", [20_000, 700_000])
def test_a_queue_manager_killed_on_a_full_disk_starts_and_is_emptied(disk: SmallDisk, size: int) -> None:
    with disk.connect() as connection, connection.open("Q", "rw") as queue:
        sent, _ = put_until_refused(queue, size)
    disk.kill()
    disk.start()
    with disk.connect() as connection, connection.open("Q", "rw") as queue:
        assert drain(queue) == sent
        assert len(put_until_refused(queue, size)[0]) > len(sent) // 2


def test_a_queue_manager_killed_again_and_again_while_it_is_emptied(disk: SmallDisk) -> None:
    with disk.connect() as connection, connection.open("Q", "rw") as queue:
        sent, _ = put_until_refused(queue, 20_000)
    got: list[int] = []
    while len(got) < len(sent):
        disk.kill()
        disk.start()
        with disk.connect() as connection, connection.open("Q", "rw") as queue:
            for _ in range(300):
                message = queue.get(syncpoint=True)
                if message is None:
                    break
                got.append(number_of(message))
                connection.commit()
    assert got == sent


def test_gets_under_syncpoint_and_what_is_backed_out(disk: SmallDisk) -> None:
    with disk.connect() as connection, connection.open("Q", "rw") as queue:
        sent, _ = put_until_refused(queue, 20_000)
        got: list[int] = []
        turn = 0
        while True:
            some = [message for _ in range(7) if (message := queue.get(syncpoint=True)) is not None]
            turn += 1
            if some and turn % 3 == 0:
                connection.back_out()
                continue
            connection.commit()
            got += [number_of(message) for message in some]
            if not some:
                break
        assert got == sent


def test_many_queues_share_a_full_disk(disk: SmallDisk) -> None:
    names = [f"Q.{number}" for number in range(40)]
    disk.define(*names)
    with disk.connect() as connection:
        queues = [connection.open(name, "rw") for name in names]
        sent: dict[int, list[int]] = {index: [] for index in range(len(queues))}
        refused: set[int] = set()
        number = 0
        while len(refused) < len(queues):
            for index in set(sent) - refused:
                put, reason = put_until_refused(queues[index], 15_000, number, 1)
                sent[index] += put
                number += 1
                if reason:
                    refused.add(index)
    disk.kill()
    disk.start()
    with disk.connect() as connection:
        for index, name in enumerate(names):
            with connection.open(name, "rw") as queue:
                assert drain(queue) == sent[index]
                queue.put(body(0, 15_000), persistent=True, syncpoint=False)


def test_start_commands_and_end_on_a_disk_without_a_byte(disk: SmallDisk) -> None:
    with disk.connect() as connection, connection.open("Q", "rw") as queue:
        for number in range(100):
            queue.put(body(number, 5_000), persistent=True, syncpoint=False)
    fill(disk.data.parent)
    assert free_bytes(disk.data.parent) == 0
    for _ in range(2):
        disk.end()
        disk.start()
    done = disk.command("runmqsc", NAME, text="DISPLAY QLOCAL(Q) CURDEPTH\n")
    assert "CURDEPTH(100)" in done.stdout, done.stdout + done.stderr
    disk.kill()
    disk.start()
    with disk.connect() as connection, connection.open("Q", "rw") as queue:
        assert drain(queue) == list(range(100))
    # Somebody made space: puts need nothing else.
    (disk.data.parent / "somebody else's").unlink()
    with disk.connect() as connection, connection.open("Q", "rw") as queue:
        for number in range(200):
            queue.put(body(number, 20_000), persistent=True, syncpoint=False)
        assert drain(queue) == list(range(200))


def test_a_queue_that_is_cleared_gives_its_space_back_though_nobody_read_it(disk: SmallDisk) -> None:
    with disk.connect() as connection, connection.open("Q", "rw") as queue:
        sent, _ = put_until_refused(queue, 20_000)
    disk.kill()
    disk.start()
    done = disk.command("runmqsc", NAME, text="CLEAR QLOCAL(Q)\n")
    assert done.returncode == 0, done.stdout
    with disk.connect() as connection, connection.open("Q", "rw") as queue:
        assert len(put_until_refused(queue, 20_000)[0]) > len(sent) // 2


@pytest.mark.parametrize("full", ["log", "data"])
def test_log_and_data_on_file_systems_of_their_own(stack: ExitStack, tmp_path: Path, full: str) -> None:
    log = stack.enter_context(file_system(tmp_path / "log", 12))
    data = stack.enter_context(file_system(tmp_path / "data", 16))
    disk = SmallDisk(data / "qm", log / "logs")
    stack.callback(disk.close)
    disk.create()
    disk.start()
    disk.define("Q")
    others = fill(log if full == "log" else data, 0 if full == "log" else 8 << 20)
    with disk.connect() as connection, connection.open("Q", "rw") as queue:
        sent, reason = put_until_refused(queue, 20_000)
        assert reason in REFUSALS
    disk.kill()
    disk.start()
    with disk.connect() as connection, connection.open("Q", "rw") as queue:
        assert drain(queue) == sent
        assert len(put_until_refused(queue, 20_000)[0]) > len(sent) // 2
        assert drain(queue)
    disk.end()
    others.unlink()
    disk.start()
    with disk.connect() as connection, connection.open("Q", "rw") as queue:
        queue.put("there is space", persistent=True)
        message = queue.get()
        assert message is not None
        assert message.text == "there is space"


def test_a_log_that_ran_full_refuses_no_get(stack: ExitStack, tmp_path: Path) -> None:
    """The smallest log, and a disk that is full: the reserve of the log is used up all the time."""
    disk = SmallDisk(stack.enter_context(file_system(tmp_path / "both", 12)) / "data")
    stack.callback(disk.close)
    disk.create(primary=2, secondary=1, pages=64)
    disk.start()
    disk.define("Q")
    with disk.connect() as connection, connection.open("Q", "rw") as queue:
        sent, _ = put_until_refused(queue, 3_000)
        assert drain(queue) == sent


def test_the_error_log_drops_whole_lines(stack: ExitStack, tmp_path: Path) -> None:
    from ostler.server.error_log import ErrorLog

    at = stack.enter_context(file_system(tmp_path / "errors", 1))
    log = ErrorLog(at / "errors", NAME)
    log.write("AMQ6109I: the first line")
    fill(at, 0)
    for number in range(200):
        log.write(f"AMQ6109I: line {number} " + "x" * 100)
    assert log.lines_lost > 0
    (at / "somebody else's").unlink()
    log.write("AMQ6109I: the last line")
    lines = (at / "errors" / "AMQERR01.LOG").read_text().splitlines()
    assert all("AMQ6109I: " in line and line.endswith(("x", "line")) for line in lines)
    assert lines[-1].endswith("the last line")
