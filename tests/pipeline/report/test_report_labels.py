"""Names of lines that do not collide, legends where there is no room, and panels instead of many lines."""

from __future__ import annotations

import math
from itertools import pairwise
from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ostler.pipeline.report.charts.charts import (
    Axis,
    Bar,
    BarChart,
    BarPart,
    Chart,
    ChartLine,
    Dot,
    DotChart,
    LineChart,
    Strip,
    Style,
)
from ostler.pipeline.report.charts.labels import apart, label_column, text_pixels, wrap_pixels
from ostler.pipeline.report.charts.multiples import LINES_MAX, small_multiples
from ostler.pipeline.report.charts.over_time import TimeValue, time_chart
from ostler.pipeline.report.charts.svg import chart_svg
from ostler.pipeline.report.html.document import NumberedReport

_SVG_TEXT = 12.0


def _line(name: str, *heights: float, style: Style | None = None) -> ChartLine:
    dots = tuple(Dot(2.0**at, value, None, None, f"{2**at} clients", f"{value}/s") for at, value in enumerate(heights))
    return ChartLine(name, style or Style(0, 0), dots)


def _chart(*lines: ChartLine, is_detail: bool = False) -> LineChart:
    return LineChart("Rate", Axis("clients", True), Axis("a second"), lines, sentence="Said.", is_detail=is_detail)


def _drawn(chart: Chart) -> ElementTree.Element:
    return ElementTree.fromstring(chart_svg(chart, "f-1"))


def _texts(drawn: ElementTree.Element, kind: str) -> list[ElementTree.Element]:
    return [each for each in drawn.iter("text") if kind in each.get("class", "").split()]


# -- the solver --------------------------------------------------------------------------------------------------------


@given(st.lists(st.tuples(st.floats(0, 300), st.floats(10, 40)), min_size=1, max_size=7))
def test_labels_are_apart_within_the_column_and_in_the_order_of_their_lines(
    labels: list[tuple[float, float]],
) -> None:
    wanted, heights = [each for each, _ in labels], [each for _, each in labels]
    places = apart(wanted, heights, 0, 300)
    order = sorted(range(len(labels)), key=lambda number: places[number])
    assert all(
        places[after] - places[before] >= (heights[before] + heights[after]) / 2 - 1e-6
        for before, after in pairwise(order)
    )
    assert [wanted[number] for number in order] == sorted(wanted)
    assert places[order[0]] - heights[order[0]] / 2 >= -1e-6
    assert places[order[-1]] + heights[order[-1]] / 2 <= 300 + 1e-6


def test_labels_with_room_stay_where_they_want_to_be_and_others_share_the_way() -> None:
    assert apart([50.0, 150.0], [20.0, 20.0], 0, 300) == [50.0, 150.0]
    # Both at 100: one goes up and one down, equally far.
    assert apart([100.0, 100.0], [20.0, 20.0], 0, 300) == [90.0, 110.0]
    # Near the edge there is only one way.
    assert apart([2.0, 2.0], [20.0, 20.0], 0, 300) == [10.0, 30.0]


def test_labels_without_room_or_too_long_are_left_to_the_legend() -> None:
    assert label_column(["a", "b"], [10.0, 200.0], 0, 250, 90, 11.5) is not None
    many = [f"line {number}" for number in range(30)]
    assert label_column(many, [float(number) for number in range(30)], 0, 250, 90, 11.5) is None
    assert (
        label_column(["a name that is much too long for three lines beside a chart"], [10.0], 0, 250, 60, 11.5) is None
    )


@given(st.text(st.characters(codec="ascii", exclude_categories=["Cc"]), min_size=1, max_size=80), st.floats(40, 300))
def test_lines_of_a_wrapped_name_are_never_wider_than_their_room(name: str, pixels: float) -> None:
    assert all(text_pixels(each) <= pixels for each in wrap_pixels(name, pixels, 3))


# -- drawings ----------------------------------------------------------------------------------------------------------


def test_few_lines_have_their_names_beside_them() -> None:
    drawn = _drawn(_chart(_line("Ostler", 1.0, 2.0, 4.0), _line("RabbitMQ", 1.0, 2.0, 4.1)))
    labels = _texts(drawn, "label")
    assert [each.text for each in labels] == ["Ostler", "RabbitMQ"]
    heights = sorted(float(each.get("y", "0")) for each in labels)
    assert heights[1] - heights[0] >= 12
    assert drawn.get("viewBox") == "0 0 410 300"
    assert len([each for each in drawn.iter("path") if each.get("class") == "leader"]) == 2


def test_many_lines_have_a_legend_below_with_whole_names_and_no_two_on_one_another() -> None:
    names = [f"Apache ActiveMQ Artemis with journal number {number}" for number in range(5)]
    lines = [
        _line(name, 1.0, 2.0, 3.0 + number / 100, style=Style(number, number)) for number, name in enumerate(names)
    ]
    drawn = _drawn(_chart(*lines))
    labels = _texts(drawn, "label")
    assert [each.text for each in labels] == names
    boxes = [(float(each.get("x", "0")), float(each.get("y", "0")), text_pixels(each.text or "")) for each in labels]
    assert all(y > 300 for _, y, _ in boxes)
    assert all(y1 != y2 or x1 + width <= x2 for (x1, y1, width), (x2, y2, _) in pairwise(boxes))
    assert float((drawn.get("viewBox") or "").split()[3]) > boxes[-1][1]


@pytest.mark.parametrize(
    "heights", [(), (5.0,), (0.0, 0.0), (1e9, 2e9, 1e12), (1e-9, 1.0), (math.nan, 2.0), (math.inf, math.nan)]
)
@pytest.mark.parametrize("is_log", [True, False])
def test_odd_values_make_a_drawing_all_the_same(heights: tuple[float, ...], is_log: bool) -> None:
    chart = LineChart("Rate", Axis("clients", is_log), Axis("a second", is_log), (_line("Ostler", *heights),))
    drawn = _drawn(chart)
    text = ElementTree.tostring(drawn, encoding="unicode")
    assert "nan" not in text
    assert "inf" not in text.replace("info", "")
    known = [each for each in heights if math.isfinite(each)]
    dots = [each for each in drawn.iter("path") if "dot" in each.get("class", "").split()]
    assert len(dots) == len(known)
    assert bool(known) != any(each.text == "nothing measured" for each in drawn.iter("text"))
    # Ticks are within the drawing, however long their numbers are.
    assert all(float(each.get("x", "0")) - text_pixels(each.text or "") >= 0 for each in _texts(drawn, "tick")
               if each.get("text-anchor") == "end")  # fmt: skip


def test_charts_of_rows_without_known_values_are_drawn() -> None:
    strip = Strip("row", (("same", Style(0, 0), Dot(math.nan, 0.0, None, None, "x", "?")),))
    assert _drawn(DotChart("Change", Axis("%"), (strip,), 0.0)) is not None
    assert _drawn(DotChart("Change", Axis("%"), ())) is not None
    assert _drawn(BarChart("Time", Axis("us"), (Bar("none", ()),))) is not None


def test_a_drawing_is_described_for_those_who_do_not_see_it() -> None:
    part = BarPart("near", Style(0, 0), 3.0, "3 us")
    charts: tuple[Chart, ...] = (
        _chart(_line("Ostler", 1.0, 2.0)),
        DotChart("Rate", Axis("%"), (Strip("row", ()),), sentence="Said."),
        BarChart("Rate", Axis("us"), (Bar("row", (part,), "3 us"),), sentence="Said."),
    )
    for chart in charts:
        drawn = _drawn(chart)
        title, text = drawn.find("title"), drawn.find("desc")
        assert title is not None
        assert text is not None
        assert title.text == "Rate"
        assert (text.text or "").endswith("Said.")
        assert drawn.get("aria-labelledby") == f"{title.get('id')} {text.get('id')}"
        assert drawn.get("role") == "img"


# -- small multiples ---------------------------------------------------------------------------------------------------


def _many(count: int) -> list[ChartLine]:
    made = [_line("Ostler", 1.0, 2.0, 900.0)]
    made += [_line(f"peer {number // 2}{', library' if number % 2 else ''}", 5.0, 6.0) for number in range(count - 1)]
    return made


def test_few_lines_stay_in_one_chart() -> None:
    chart = _chart(*_many(LINES_MAX))
    assert small_multiples(chart) == [chart]


@pytest.mark.parametrize("count", [6, 11, 20])
def test_every_line_is_in_one_panel_and_the_first_in_all(count: int) -> None:
    chart = _chart(*_many(count))
    panels = small_multiples(chart)
    assert all(len(panel.lines) <= LINES_MAX for panel in panels)
    assert all(panel.lines[0].name == "Ostler" for panel in panels)
    others = [line.name for panel in panels for line in panel.lines[1:]]
    assert sorted(others) == sorted(line.name for line in chart.lines[1:])
    # What is not in a panel is behind it, and a product is with its library.
    assert all(len(panel.lines) + len(panel.backdrop) == count for panel in panels)
    assert any({"peer 0", "peer 0, library"} <= {line.name for line in panel.lines} for panel in panels)
    assert [panel.sentence for panel in panels] == ["Said.", *[""] * (len(panels) - 1)]


def test_panels_share_their_axes() -> None:
    panels = small_multiples(_chart(*_many(12)))
    ticks = [[each.text for each in _texts(_drawn(panel), "tick")] for panel in panels]
    assert len(ticks) > 2
    assert all(each == ticks[0] for each in ticks)


def test_limits_have_a_panel_of_their_own() -> None:
    limits = [_line(f"probe {number}", 9.0, style=Style(0, 3, True)) for number in range(3)]
    panels = small_multiples(_chart(*_many(8), *limits))
    assert [[line.name for line in panel.lines[1:]] for panel in panels][-1] == ["probe 0", "probe 1", "probe 2"]


def test_a_chart_of_details_is_one_panel_of_products() -> None:
    (panel,) = small_multiples(_chart(*_many(12), is_detail=True))
    assert [line.name for line in panel.lines] == ["Ostler", "peer 0", "peer 1", "peer 2", "peer 3"]
    assert len(panel.backdrop) == 7


def test_figures_split_crowded_charts_and_say_something_of_each() -> None:
    bars = BarChart("Time", Axis("us"), (Bar("row", (BarPart("near", Style(0, 0), 3.0, "3 us"),), "3 us"),))
    figure = NumberedReport({}).figure("Rates", [_chart(*_many(12)), bars], [])
    assert len(figure.charts) > 3
    assert figure.charts[-1].sentence == "Most: row, 3 us, of which near is 100 %."


# -- over time ---------------------------------------------------------------------------------------------------------


def test_values_over_time_are_a_line_for_each_series() -> None:
    rows = [TimeValue(float(at), 100.0 + at % 3, name) for name in ("Ostler", "NATS") for at in range(30)]
    chart = time_chart("Rate over time", "round trips a second", rows, "1/s")
    assert chart is not None
    assert [(line.name, len(line.dots), line.is_dense) for line in chart.lines] == [
        ("Ostler", 30, True),
        ("NATS", 30, True),
    ]
    assert chart.sentence.startswith("Ostler: median 101 1/s")
    # The last second is a whole one.
    assert chart.across.top == 30.0
    hidden = [each for each in _drawn(chart).iter("path") if "dense" in each.get("class", "").split()]
    assert len(hidden) == 60


def test_a_long_window_is_thinned_to_medians_with_their_range() -> None:
    chart = time_chart("Rate", "a second", [TimeValue(float(at), float(at % 10), "Ostler") for at in range(1200)])
    assert chart is not None
    (line,) = chart.lines
    assert len(line.dots) == 120
    assert (line.dots[0].y, line.dots[0].low, line.dots[0].high) == (4.5, 0.0, 9.0)
    assert line.dots[0].across == "seconds 0 to 9"


def test_unknown_values_are_left_out_and_one_moment_is_no_chart() -> None:
    rows = [TimeValue(0.0, 5.0, "a"), TimeValue(1.0, None, "a"), TimeValue(2.0, math.nan, "a")]
    assert time_chart("Rate", "a second", rows) is None
    chart = time_chart("Rate", "a second", [*rows, TimeValue(3.0, 7.0, "a")])
    assert chart is not None
    assert [dot.x for dot in chart.lines[0].dots] == [0.0, 3.0]


def test_a_share_over_time_ends_at_its_top_unless_it_exceeds_it() -> None:
    rows = [TimeValue(0.0, 5.0, "a"), TimeValue(1.0, 80.0, "a")]
    within = time_chart("Busy", "%", rows, "%", top=100.0)
    beyond = time_chart("Busy", "%", [*rows, TimeValue(2.0, 130.0, "a")], "%", top=100.0)
    assert within is not None
    assert beyond is not None
    assert (within.up.top, beyond.up.top) == (100.0, None)
