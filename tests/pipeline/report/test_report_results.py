"""The table of what a scenario found besides rates."""

from __future__ import annotations

import pytest
from tests.pipeline.report.report_samples import Rows, point, row, sample_tables

from ostler.pipeline.report.context import make_context
from ostler.pipeline.report.html.document import ReportTable
from ostler.pipeline.report.sections.results import result_table

RUN, SCENARIO = "run-1", "dq-drain"


def told(results: list[dict[str, object]]) -> list[list[str]] | None:
    """Cells of the table, by rows."""
    rows: Rows = {"run": [row("run", run=RUN, scenario=SCENARIO, condition="complete")], "point": [], "result": []}
    series = "batches_of=50, distance_ms=10"
    for contestant, kind in (("Ostler", "ostler"), ("Other", "peer")):
        rows["point"].append(point(RUN, SCENARIO, contestant, kind, series=series, step=0, clients=1))
    rows["result"] = [row("result", run=RUN, scenario=SCENARIO, **each) for each in results]
    made = result_table(make_context(sample_tables(rows)), SCENARIO, RUN)
    if made is None:
        return None
    assert isinstance(made, ReportTable)
    return [[str(cell.text) for cell in cells] for cells in made.rows]


def test_there_is_none_without_results() -> None:
    assert told([]) is None


@pytest.mark.parametrize("others", [(), (20.0,), (20.0, 30.0)])
def test_repetitions_are_one_row_with_their_spread(others: tuple[float, ...]) -> None:
    values = (10.0, *others)
    found = told(
        [{"contestant": "Ostler", "name": "bytes", "repetition": at, "value": value} for at, value in enumerate(values)]
    )
    assert found is not None
    ((messages, clients, contestant, figure, middle, low, high),) = found
    assert "50" in messages
    assert "10 ms" in messages
    assert (clients, contestant, figure) == ("1", "Ostler", "bytes")
    assert float(middle) == {1: 10.0, 2: 15.0, 3: 20.0}[len(values)]
    if others:
        assert float(low) <= float(middle) <= float(high)
    else:
        assert low == high


def test_ostler_comes_first_and_steps_in_their_order() -> None:
    found = told(
        [
            {"contestant": contestant, "step": step, "name": "bytes", "value": 1.0}
            for step in (1, 0)
            for contestant in ("Other", "Ostler")
        ]
    )
    assert found is not None
    assert [(cells[0], cells[2]) for cells in found][2:] == [("step 1", "Ostler"), ("step 1", "Other")]
    assert [cells[2] for cells in found][:2] == ["Ostler", "Other"]
