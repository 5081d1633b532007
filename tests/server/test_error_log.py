"""The error log: lines, numbers, rotation, and notices that go there."""

from __future__ import annotations

import re
import threading
from pathlib import Path

import pytest

from ostler.server.error_log import SIZE_BYTES_DEFAULT, ErrorLog, Notices, size_setting, with_number

LINE = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z - Process\(\d+\) QMgr\(QM1\) AMQ\d{4}[A-Z]: .+")


def lines(directory: Path, part: int = 1) -> list[str]:
    return (directory / f"AMQERR0{part}.LOG").read_text().splitlines()


def test_a_message_is_one_line_with_time_process_and_queue_manager(tmp_path: Path) -> None:
    log = ErrorLog(tmp_path / "errors", "QM1")
    log.write("AMQ8003I: Queue manager QM1 started.")
    log.write("something\n  without a number")
    written = lines(tmp_path / "errors")
    assert [bool(LINE.fullmatch(line)) for line in written] == [True, True]
    assert written[1].endswith("AMQ6109I: something without a number")
    log.close()


def test_an_earlier_log_is_gone_on_with(tmp_path: Path) -> None:
    for text in ("AMQ8003I: one.", "AMQ8003I: two."):
        log = ErrorLog(tmp_path, "QM1")
        log.write(text)
        log.close()
    assert [line.split()[-1] for line in lines(tmp_path)] == ["one.", "two."]


def test_parts_move_on_and_the_oldest_goes(tmp_path: Path) -> None:
    log = ErrorLog(tmp_path, "QM1", size_bytes_max=300)
    for number in range(30):
        log.write(f"AMQ8003I: message {number}.")
    log.close()
    kept = [line.rpartition(" ")[2] for part in (3, 2, 1) for line in lines(tmp_path, part)]
    assert kept == [f"{number}." for number in range(30 - len(kept), 30)], "the newest ones, in order, none twice"
    assert all((tmp_path / f"AMQERR0{part}.LOG").stat().st_size <= 300 for part in (1, 2, 3))
    assert sorted(each.name for each in tmp_path.iterdir()) == ["AMQERR01.LOG", "AMQERR02.LOG", "AMQERR03.LOG"]


def test_threads_do_not_tear_lines(tmp_path: Path) -> None:
    log = ErrorLog(tmp_path, "QM1", size_bytes_max=20_000)

    def write(name: int) -> None:
        for number in range(50):
            log.write(f"AMQ8003I: thread {name} message {number}.")

    threads = [threading.Thread(target=write, args=(name,)) for name in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    log.close()
    written = [
        line for part in (1, 2, 3) if (tmp_path / f"AMQERR0{part}.LOG").exists() for line in lines(tmp_path, part)
    ]
    assert len(written) == 200
    assert all(LINE.fullmatch(line) for line in written)


def test_an_echo_hears_what_is_written(tmp_path: Path) -> None:
    heard: list[str] = []
    ErrorLog(tmp_path, "QM1", echo=heard.append).write("AMQ8003I: started.")
    assert heard == ["AMQ8003I: started."]


def test_a_place_that_cannot_be_written_loses_lines_and_nothing_else(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    log = ErrorLog(tmp_path / "file" / "errors", "QM1")
    log.write("AMQ8003I: started.")
    assert log.lines_lost == 1


def test_notices_are_written_and_only_the_newest_kept(tmp_path: Path) -> None:
    notices = Notices(ErrorLog(tmp_path, "QM1"), ["AMQ7469W: before."])
    for number in range(1005):
        notices.append(f"AMQ7469W: {number}.")
    notices.extend(["AMQ7469W: last."])
    assert len(notices) == 1000
    assert notices[-1] == "AMQ7469W: last."
    assert len(lines(tmp_path)) == 1007


@pytest.mark.parametrize(
    ("text", "size"),
    [
        (None, SIZE_BYTES_DEFAULT),
        ("much", SIZE_BYTES_DEFAULT),
        ("1", 32_768),
        ("65536", 65_536),
        ("9" * 12, 2_147_483_648),
    ],
)
def test_sizes_are_held_within_range(text: str | None, size: int) -> None:
    assert size_setting(text) == size


def test_numbers_are_kept_or_given() -> None:
    assert with_number("AMQ7017S: bad") == "AMQ7017S: bad"
    assert with_number("bad") == "AMQ6109I: bad"
