"""The description of the hardware below a run: read from the real kernel, and timed on a real directory."""

from __future__ import annotations

from pathlib import Path

from ostler.lab.common import hardware


def test_forces_are_timed_and_leave_nothing_behind(tmp_path: Path) -> None:
    error, times = hardware.force_times_ns(tmp_path, count=5, seconds_max=60.0)
    assert error == ""
    assert len(times) == 5
    assert min(times) > 0
    assert list(tmp_path.iterdir()) == []


def test_at_least_one_force_is_timed_however_little_time_there_is(tmp_path: Path) -> None:
    assert len(hardware.force_times_ns(tmp_path, count=5, seconds_max=0.0)[1]) == 1


def test_forces_are_described_with_median_and_99th_percentile(tmp_path: Path) -> None:
    found = hardware.describe_forces(tmp_path, 20, 60.0)
    assert (found["bytes"], found["count"]) == (4096, 20)
    assert isinstance(found["median_us"], float)
    assert isinstance(found["p99_us"], float)
    assert 0 < found["median_us"] <= found["p99_us"]


def test_a_place_that_cannot_be_written_has_an_error_and_no_description(tmp_path: Path) -> None:
    error, times = hardware.force_times_ns(tmp_path / "none")
    assert "No such file" in error
    assert times == ()
    assert hardware.describe_forces(tmp_path / "none", 1, 1.0) == {}


def test_a_device_has_a_scheduler_in_one_word_or_is_not_described(tmp_path: Path) -> None:
    found = hardware.describe_device(tmp_path)
    assert set(found) <= {"scheduler", "rotates", "write_cache"}
    if "scheduler" in found:
        assert "[" not in str(found["scheduler"])
        assert len(str(found["scheduler"]).split()) == 1
    # There is no block device below the kernel's own files.
    assert hardware.describe_device(Path("/proc")) == {}


def test_the_clock_is_read_in_less_than_a_millisecond() -> None:
    found = hardware.describe_processors()
    assert isinstance(found["clock_ns"], int)
    assert 0 < found["clock_ns"] < 1_000_000
    assert isinstance(found["governors"], list)
    assert hardware.read_text("/proc/no-such-file") == ""
