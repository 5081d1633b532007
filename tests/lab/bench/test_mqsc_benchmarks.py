"""The benchmarks of MQSC once, as small as can be. Nothing is timed."""

from __future__ import annotations

from pathlib import Path

import pytest

pytest.importorskip("hdrh", reason="the laboratory's packages are not installed")

from tests.lab.bench.test_benchmarks import written

from ostler.lab.bench import mqsc_define, mqsc_display
from ostler.lab.common.own_process import ignore_report


@pytest.mark.slow
def test_defines(tmp_path: Path) -> None:
    result = mqsc_define.run(mqsc_define.Parameters(7, 1), tmp_path, ignore_report)
    read = written(result, tmp_path)
    assert [each["labels"]["way"] for each in read["measurements"] if each["unit"] == "s"] == [
        mqsc_define.LOOP,
        mqsc_define.SCRIPT,
        mqsc_define.BATCH,
    ]
    taken = {each["labels"]["way"]: each["median"] for each in read["measurements"] if each["unit"] == "s"}
    times = taken[mqsc_define.BATCH] / taken[mqsc_define.LOOP]
    assert [aim["limit"] for aim in read["aims"]] == [3.0]
    assert read["aims"][0]["measured"] == pytest.approx(times)


@pytest.mark.slow
def test_displays(tmp_path: Path) -> None:
    result = mqsc_display.run(mqsc_display.Parameters(5, 1), tmp_path, ignore_report)
    read = written(result, tmp_path)
    # A title and a line for each queue, and few others.
    assert result.table[1][0] == "5 queues, names only"
    assert 0 <= int(result.table[1][1]) - 2 * 5 < 10
    assert len(read["aims"]) == 4
    assert all(aim["at_most"] for aim in read["aims"])
