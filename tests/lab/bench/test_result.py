"""Result files, aims, and what is said about the machine."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path

import pytest

from ostler.lab.bench.result import Aim, Conditions, Result, write_result
from ostler.lab.common.machine import CpuTimes, cpu_use_between, describe, file_system
from ostler.lab.common.samples import Measurement


def conditions(others: float = 0.0, first: float = 100.0, last: float = 100.0) -> Conditions:
    cpu = {"others_percent": others, "steal_percent": 0.0}
    return Conditions("compiled", {"cores": 2}, datetime(2026, 1, 2, tzinfo=UTC), 1.5, cpu, first, last)


@pytest.mark.parametrize(
    ("measured", "at_most", "met"), [(11.0, True, True), (13.0, True, False), (13.0, False, True), (11.0, False, False)]
)
def test_an_aim_is_a_ceiling_or_a_floor(measured: float, at_most: bool, met: bool) -> None:
    assert Aim("something", 12.0, measured, at_most).met is met


def test_a_result_file_has_all_that_a_reader_needs(tmp_path: Path) -> None:
    result = Result("depth", "At depth", {"depths": [10]})
    result.measurements.append(Measurement("fifo", "ns", (1.0, 2.0, 3.0), {"depth": 10}))
    result.limits.append(Measurement("bare", "ns", (0.5,)))
    result.ratios["fifo / bare"] = 4.0
    result.aims.append(Aim("flat", 2.0, 1.1, True))
    path = write_result(tmp_path / "new", result, conditions())
    assert path == tmp_path / "new" / "depth.json"
    read = json.loads(path.read_text())
    assert read["schema"] == 1
    assert (read["name"], read["flavour"], read["time"]) == ("depth", "compiled", "2026-01-02T00:00:00+00:00")
    assert read["python"].split()[1][0].isdigit()
    assert read["measurements"][0]["median"] == 2.0
    assert read["limits"][0]["samples"] == [0.5]
    assert read["ratios"] == {"fifo / bare": 4.0}
    assert read["aims"] == [{"text": "flat", "limit": 2.0, "at_most": True, "measured": 1.1, "met": True}]
    assert [each.name for each in path.parent.iterdir()] == ["depth.json"], "nothing unfinished is left"


def test_a_measurement_is_found_by_name_and_labels() -> None:
    result = Result("depth", "At depth", {})
    result.measurements.append(Measurement("fifo", "ns", (1.0,), {"depth": 10}))
    result.measurements.append(Measurement("fifo", "ns", (2.0,), {"depth": 20}))
    assert result.find("fifo", depth=20).median == 2.0
    with pytest.raises(KeyError):
        result.find("fifo", depth=30)


def test_figures_of_a_busy_machine_are_marked() -> None:
    assert conditions().is_quiet()
    assert not conditions(others=50.0).is_quiet()
    assert not conditions(last=130.0).is_quiet()
    assert conditions(last=130.0).noise_percent() == pytest.approx(30.0)


def test_shares_of_the_machine_add_up() -> None:
    before = CpuTimes(0.0, 100.0, 40.0, 1.0, 10.0, 0.5)
    after = CpuTimes(10.0, 120.0, 50.0, 2.0, 14.0, 0.7)
    shown = cpu_use_between(before, after)
    assert shown["steal_percent"] == 5.0
    assert shown["own_percent"] == 20.0
    assert shown["others_percent"] == 25.0
    assert (shown["load_before"], shown["load_after"]) == (0.5, 0.7)


def test_the_machine_is_described(tmp_path: Path) -> None:
    shown = describe(tmp_path)
    assert set(shown) == {"system", "processor", "cores", "memory_megabytes", "file_system"}
    assert all(shown.values())
    assert file_system(Path("/proc/self")) == "proc"
