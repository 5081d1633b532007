"""The disk port over a real directory."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ostler.model.disk import DiskFailed, DiskFull
from ostler.server.storage.real_disk import RealDisk


@pytest.fixture
def disk(tmp_path: Path) -> RealDisk:
    made = RealDisk(tmp_path / "base")
    made.make_directory("")
    return made


def test_what_was_written_is_read(disk: RealDisk) -> None:
    file = disk.open("one", create=True)
    file.write_at(0, [b"abc", b"", b"def"])
    file.write_at(10, [b"xyz"])
    assert file.read_at(0, 13) == b"abcdef\0\0\0\0xyz"
    assert file.read_at(11, 100) == b"yz"
    assert file.read_at(50, 5) == b""
    assert file.size_bytes() == 13
    file.force()
    file.truncate(4)
    assert file.read_at(0, 100) == b"abcd"
    file.close()
    file.close()
    again = disk.open("one", create=False)
    assert again.read_at(0, 4) == b"abcd"
    again.close()


def test_more_parts_than_one_call_takes(disk: RealDisk) -> None:
    parts = [bytes([n % 256]) * (n % 5) for n in range(5000)]
    file = disk.open("many", create=True)
    file.write_at(7, parts)
    assert file.read_at(7, 100_000) == b"".join(parts)
    file.write_at(0, [])
    assert file.size_bytes() == 7 + sum(len(part) for part in parts)
    file.close()


@given(st.lists(st.tuples(st.integers(0, 200), st.lists(st.binary(max_size=50), max_size=6)), max_size=12))
def test_a_file_is_what_a_plain_array_of_bytes_would_be(writes: list[tuple[int, list[bytes]]]) -> None:
    expected = bytearray()
    with tempfile.TemporaryDirectory() as base:
        file = RealDisk(base).open("file", create=True)
        for offset, parts in writes:
            data = b"".join(parts)
            file.write_at(offset, parts)
            if data:
                expected.extend(bytes(max(0, offset + len(data) - len(expected))))
                expected[offset : offset + len(data)] = data
        assert file.read_at(0, 10_000) == expected
        assert file.size_bytes() == len(expected)
        file.close()


def test_only_the_owner_may_look(disk: RealDisk, tmp_path: Path) -> None:
    disk.make_directory("a/b")
    disk.open("a/b/file", create=True).close()
    assert stat.S_IMODE(os.stat(tmp_path / "base/a/b/file").st_mode) == 0o600
    for directory in ("base", "base/a", "base/a/b"):
        assert stat.S_IMODE(os.stat(tmp_path / directory).st_mode) == 0o700


def test_names_and_directories(disk: RealDisk) -> None:
    assert disk.names("nothing") == []
    disk.make_directory("queues/ONE")
    disk.make_directory("queues/ONE")
    disk.open("queues/b", create=True).close()
    disk.open("queues/a", create=True).close()
    assert disk.names("queues") == ["ONE", "a", "b"]
    assert disk.names("") == ["queues"]
    assert disk.exists("queues/a")
    assert disk.exists("queues")
    assert not disk.exists("queues/c")
    assert not disk.exists("queues/a/deeper")
    disk.rename("queues/a", "queues/b")
    disk.force_directory("queues")
    assert disk.names("queues") == ["ONE", "b"]
    disk.remove("queues/b")
    disk.remove("queues/b")
    disk.open("queues/ONE/deep", create=True).close()
    disk.remove("queues/ONE")
    assert disk.names("queues") == []
    assert disk.free_bytes() > 0


def test_removing_a_link_leaves_what_it_points_to(disk: RealDisk, tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere/file").write_bytes(b"kept")
    (tmp_path / "base/link").symlink_to(tmp_path / "elsewhere")
    disk.remove("link")
    assert not disk.exists("link")
    assert (tmp_path / "elsewhere/file").read_bytes() == b"kept"


@pytest.mark.parametrize("path", ["/etc/passwd", "..", "../x", "a/../../x", "a//b", "./a", "a/", "a\0b"])
def test_a_path_cannot_leave_the_base(disk: RealDisk, path: str) -> None:
    with pytest.raises(ValueError, match="not a path below"):
        disk.open(path, create=True)
    with pytest.raises(ValueError, match="not a path below"):
        disk.make_directory(path)
    with pytest.raises(ValueError, match="not a path below"):
        disk.rename("x", path)


def test_a_refusal_has_the_path_and_the_words_of_the_system(disk: RealDisk) -> None:
    with pytest.raises(DiskFailed, match=r"base/absent: cannot open: No such file or directory"):
        disk.open("absent", create=False)
    disk.open("file", create=True).close()
    with pytest.raises(DiskFailed, match=r"base/file: cannot list: Not a directory"):
        disk.names("file")
    with pytest.raises(DiskFailed, match=r"base/file/sub: cannot make the directory"):
        disk.make_directory("file/sub")
    with pytest.raises(DiskFailed, match=r"base/absent: cannot rename to other"):
        disk.rename("absent", "other")
    with pytest.raises(DiskFailed, match=r"base/absent: cannot force the directory"):
        disk.force_directory("absent")


def test_a_closed_file_refuses_everything(disk: RealDisk) -> None:
    file = disk.open("file", create=True)
    file.close()
    with pytest.raises(DiskFailed, match="cannot read"):
        file.read_at(0, 1)
    with pytest.raises(DiskFailed, match="cannot write"):
        file.write_at(0, [b"x"])
    with pytest.raises(DiskFailed, match="cannot set its size"):
        file.truncate(0)
    with pytest.raises(DiskFailed, match="cannot get its size"):
        file.size_bytes()


def test_a_force_that_failed_is_never_tried_again(disk: RealDisk, tmp_path: Path) -> None:
    # A device that cannot be forced stands in for one that fails.
    (tmp_path / "base/device").symlink_to("/dev/null")
    file = disk.open("device", create=False)
    with pytest.raises(DiskFailed, match="cannot force data"):
        file.force()
    with pytest.raises(DiskFailed, match="earlier force failed"):
        file.force()
    file.close()


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="the system has no /dev/full")
def test_no_space_is_told_from_other_failures(disk: RealDisk, tmp_path: Path) -> None:
    (tmp_path / "base/device").symlink_to("/dev/full")
    file = disk.open("device", create=False)
    with pytest.raises(DiskFull, match="No space left on device"):
        file.write_at(0, [b"abc"])
    with pytest.raises(DiskFull, match="No space left on device"):
        file.write_at(0, [b"abc", b"def"])
    file.close()


LIMITED = """
import resource, sys
from ostler.model.disk import DiskFull
from ostler.server.storage.real_disk import RealDisk

resource.setrlimit(resource.RLIMIT_FSIZE, (10_000, 10_000))
disk = RealDisk(sys.argv[1])
file = disk.open("file", create=True)
file.write_at(0, [b"a" * 4000, b"b" * 4000])
for parts in ([b"c" * 1000, b"d" * 500, b"e" * 4000, b"f"], [b"g" * 4000]):
    try:
        file.write_at(8000, parts)
    except DiskFull as full:
        print("full:", full)
    else:
        print("not full")
try:
    file.truncate(20_000)
except DiskFull:
    print("full")
print(file.size_bytes(), file.read_at(7999, 3))
file.write_at(8000, [b"fits"])
file.force()
"""


def test_a_limit_reached_in_the_middle_of_a_write_is_a_full_disk(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", LIMITED, str(tmp_path)],
        capture_output=True,
        text=True,
        timeout=60,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        check=False,
    )
    assert done.stderr == ""
    lines = done.stdout.splitlines()
    assert lines[0].startswith("full:")
    assert "File too large" in lines[0]
    assert lines[1].startswith("full:")
    assert lines[2:] == ["full", "10000 b'bgg'"]
    assert (tmp_path / "file").read_bytes()[8000:8004] == b"fits"
