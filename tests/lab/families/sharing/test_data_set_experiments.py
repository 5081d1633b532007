"""Experiments on data sets: their plans, and the figures that they make of a course."""

from __future__ import annotations

from pathlib import Path

import pytest

from ostler.lab.families.sharing.data_sets.formatting import format_records
from ostler.lab.families.sharing.data_sets.groups import format_beforehand
from ostler.lab.families.sharing.data_sets.growth import GROWTHS, SHARE, growth_metrics, growths
from ostler.lab.families.sharing.data_sets.switching import BACK, TO_DATABASE, phase_rates
from ostler.lab.families.sharing.experiments import _DATA_SETS
from ostler.lab.runner.contract import Metric, PointFailed
from ostler.lab.runner.sharing.plan import Offload, SharedQueue, SharingPlan, StructurePlan
from ostler.lab.scenarios.loader import catalogue
from ostler.lab.store.courses import (
    GROWN_SECONDS,
    MOMENT,
    RATE_AFTER_GROWTH,
    RATE_BEFORE_GROWTH,
    RATE_IN_GROWTH,
    RATES_OF_OFFLOAD,
    TENTH,
)
from ostler.server.coupling.data_sets.data_set_file import open_data_set


def test_every_scenario_of_data_sets_has_an_experiment() -> None:
    found = [each for each in catalogue().scenarios.values() if each.family == "shared-data-sets"]
    assert sorted(str(each.parameters["subject"]) for each in found) == sorted(_DATA_SETS)


def test_rates_of_phases_are_those_between_the_moments() -> None:
    course = [Metric(TENTH, "put", value, position=at) for at, value in enumerate([5, 5, 1, 1, 1, 4, 4])]
    moments = [Metric(MOMENT, TO_DATABASE, 0.2), Metric(MOMENT, BACK, 0.5)]
    found = {each.name: each.value for each in phase_rates([*moments, *course])}
    assert found == dict(zip(RATES_OF_OFFLOAD, (50.0, 10.0, 40.0), strict=True))
    assert phase_rates(course) == []


def test_a_data_set_is_formatted_beforehand_as_its_owner_opens_it(tmp_path: Path) -> None:
    structure = StructurePlan("LAB1", block_bytes=64 << 10)
    format_beforehand(tmp_path / "LAB.QM.LAB1", structure, "QM", 1, 2)
    opened = open_data_set(tmp_path / "LAB.QM.LAB1", True)
    assert opened is not None
    assert (opened.blocks, opened.header.structure, opened.header.owner) == (32, "LAB1", "QM")
    opened.close()


def test_formatting_tells_what_it_took(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    format_records(str(tmp_path), 256)
    assert (tmp_path / "LAB.FORMAT.LAB1").stat().st_size == 256 * 4096
    assert "seconds" in capsys.readouterr().out


def test_commands_define_structures_and_queues() -> None:
    structure = StructurePlan("LAB1", offload=Offload.DB2, offloads_all=True, has_data_sets=True, buffers=7)
    plan = SharingPlan(structures=(structure,), queues=(SharedQueue("Q", "LAB1"),))
    text = " ".join(plan.commands())
    for wanted in (
        "DSGROUP('LAB.*.LAB1')",
        "DSBUFS(7)",
        "OFFLD3SZ(0K)",
        "OFFLOAD(DB2)",
        "DEFINE QLOCAL(Q) QSGDISP(SHARED)",
    ):
        assert wanted in text


HEAD, WHERE = "Process(7) QMgr(LAB0)", "SMDS(LAB0) CFSTRUCT(LAB1) data set X"
LOG = f"""\
2026-11-18T11:00:00.100Z - {HEAD} AMQ7525I: Formatting 6553 pages of {WHERE}.
2026-11-18T11:00:00.300Z - {HEAD} AMQ7526I: Formatting {WHERE} is complete.
2026-11-18T11:00:00.350Z - {HEAD} AMQ7527I: {WHERE} was expanded: 6553 pages added, total pages 72088.
2026-11-18T11:00:01.000Z - {HEAD} AMQ7525I: Formatting 7208 pages of {WHERE}.
"""


def test_growths_are_read_from_the_error_log_with_milliseconds(tmp_path: Path) -> None:
    log = tmp_path / "AMQERR01.LOG"
    assert growths(log) == []
    log.write_text(LOG)
    ((began, ended),) = growths(log)
    assert ended - began == 250_000_000
    assert began % 1_000_000_000 == 100_000_000


def test_puts_are_counted_before_a_growth_meanwhile_and_after() -> None:
    """Two growths of half a second: 10 puts a second before the first, 4 in both, 8 otherwise."""
    second = 1_000_000_000
    grown = [(2 * second, 5 * second // 2), (4 * second, 9 * second // 2)]
    before = [number * second // 10 for number in range(20)]
    inside = [2 * second + 1, 2 * second + 2, 4 * second + 1, 4 * second + 2]
    after = [3 * second + number for number in range(8)] + [5 * second + number for number in range(12)]
    found = growth_metrics([*before, *inside, *after], 0, 6 * second, second, grown)
    told = {each.name: each.value for each in found if each.source != MOMENT}
    assert told == {
        RATE_BEFORE_GROWTH: 10.0,
        RATE_IN_GROWTH: 4.0,
        RATE_AFTER_GROWTH: pytest.approx(20 / 3),
        SHARE: 0.4,
        GROWN_SECONDS: 0.5,
        GROWTHS: 2.0,
    }
    assert [each.value for each in found if each.source == MOMENT] == [1.0, 3.5]


def test_a_window_without_a_growth_has_failed() -> None:
    with pytest.raises(PointFailed, match="has not grown"):
        growth_metrics([5], 0, 10, 0, [(20, 30)])
