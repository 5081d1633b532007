"""Figures in the report: text, spreads, places on charts, curves and looks."""

from __future__ import annotations

import math
from itertools import pairwise
from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.pipeline.report.report_samples import arrow_tables, point, sample_rows

from ostler.pipeline.report import numbers
from ostler.pipeline.report.charts.charts import (
    Axis,
    Bar,
    BarChart,
    BarPart,
    ChartLine,
    Dot,
    DotChart,
    LineChart,
    Strip,
    Style,
    spans_decades,
)
from ostler.pipeline.report.charts.curves import choose_sweep, curves, group_name, series_words
from ostler.pipeline.report.charts.labels import apart, wrap_pixels
from ostler.pipeline.report.charts.scales import evenly, linear, logarithmic, thinned, tick_text, ticks
from ostler.pipeline.report.charts.spreads import spread
from ostler.pipeline.report.charts.styles import contestant_styles
from ostler.pipeline.report.charts.svg import chart_svg
from ostler.pipeline.report.context import described
from ostler.pipeline.report.rows import PointRow, read_tables

POSITIVE = st.floats(1e-6, 1e9)


@pytest.mark.parametrize(
    ("value", "text"),
    [(21143, "21,100"), (3.0651, "3.07"), (0.04123, "0.0412"), (999.6, "1,000"), (0, "0"), (None, numbers.NOTHING)],
)
def test_figures_have_three_digits(value: float | None, text: str) -> None:
    assert numbers.figure(value) == text


@given(POSITIVE)
def test_figures_are_never_further_off_than_half_a_digit(value: float) -> None:
    assert float(numbers.figure(value).replace(",", "")) == pytest.approx(value, rel=0.00501)


def test_sizes_and_percents_read_as_the_reports_write_them() -> None:
    assert [numbers.size(each) for each in (256, 2048, 204800, 2 * 1024**2, 1536)] == [
        "256 bytes", "2 KB", "200 KB", "2 MB", "1.50 KB",
    ]  # fmt: skip
    assert [numbers.percent(each, signed=True) for each in (-9.94, 12.4, 0.0)] == [
        f"{numbers.MINUS}9.9 %",
        "+12 %",
        "0 %",
    ]
    assert [numbers.duration(each) for each in (950, 12_300, 4.5e6, 2e9)] == ["950 ns", "12.3 µs", "4.50 ms", "2.00 s"]


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(None, numbers.NOTHING), (36.6, "37 s"), (59.7, "1 min"), (106.2, "1 min 46 s"), (4800.0, "1 h 20 min")],
)
def test_spans_of_time_are_told_as_people_say_them(seconds: float | None, text: str) -> None:
    assert numbers.span(seconds) == text


def test_one_repetition_has_no_interval_and_two_have_their_range() -> None:
    one, two = spread([5.0, None]), spread([4.0, 8.0])
    assert one is not None
    assert two is not None
    assert (one.middle, one.low, one.high) == (5.0, None, None)
    assert (two.middle, two.low, two.high) == (6.0, 4.0, 8.0)
    assert spread([None]) is None


def test_the_interval_is_that_of_student_on_logarithms() -> None:
    found = spread([math.exp(1.0), math.exp(2.0), math.exp(3.0)])
    assert found is not None
    assert found.high is not None
    half = 4.303 / math.sqrt(3)
    assert math.log(found.high) == pytest.approx(2.0 + half, rel=1e-6)


@given(st.lists(POSITIVE, min_size=2, max_size=12))
def test_the_median_is_within_its_interval(values: list[float]) -> None:
    found = spread(values)
    assert found is not None
    assert found.low is not None
    assert found.high is not None
    assert 0 < found.low <= found.middle <= found.high


# -- axes --------------------------------------------------------------------------------------------------------------


@given(st.lists(POSITIVE, min_size=1, max_size=8), st.booleans())
def test_ticks_and_values_are_within_the_axis(values: list[float], is_log: bool) -> None:
    scale = logarithmic(values, 400, 20) if is_log else linear(values, 400, 20)
    marks = ticks(scale)
    assert all(20 <= scale.at(each) <= 400 for each in (*values, *marks))
    assert marks == sorted(set(marks))
    assert is_log or (marks[0] == 0 and len(marks) >= 3)


@given(st.lists(st.integers(1, 10_000), min_size=1, max_size=30))
def test_ticks_that_are_kept_do_not_touch(values: list[int]) -> None:
    scale = logarithmic([float(each) for each in values], 0, 300)
    kept = thinned([float(each) for each in values], scale, lambda _: 10)
    assert {min(values), max(values)} <= set(kept)
    places = [scale.at(each) for each in kept]
    assert all(b - a >= 20 for a, b in pairwise(places[:-1]))


@given(st.lists(st.floats(0, 300), min_size=1, max_size=10))
def test_labels_are_never_on_one_another(wanted: list[float]) -> None:
    places = sorted(apart(wanted, [15.0] * len(wanted), 0, 300))
    assert all(b - a >= 15 - 1e-6 for a, b in pairwise(places))
    assert places[0] >= 7.5 - 1e-6
    assert places[-1] <= 292.5 + 1e-6


def test_ticks_are_short() -> None:
    assert [tick_text(each) for each in (0.05, 300, 1500, 20_000, 2.5e6, -20)] == [
        "0.05", "300", "1,500", "20k", "2.5M", f"{numbers.MINUS}20",
    ]  # fmt: skip


def test_values_far_apart_want_a_logarithmic_axis() -> None:
    assert spans_decades([1, 20])
    assert not spans_decades([1, 19])
    assert not spans_decades([0, 1000])
    assert not spans_decades([])


def test_names_wrap_onto_lines_of_a_width() -> None:
    assert wrap_pixels("Ostler", 100, 2) == ("Ostler",)
    assert wrap_pixels("Ostler, ostler.connect", 100, 2) == ("Ostler,", "ostler.connect")
    # A number stays with its unit, and what is left out is shown.
    assert wrap_pixels("batches of 50 messages", 60, 3) == ("batches", "of", "50 mess…")
    assert wrap_pixels("bare exchanges over a Unix socket", 100, 2)[1].endswith("…")


# -- curves and looks --------------------------------------------------------------------------------------------------


def _points(*given_points: dict[str, object]) -> list[PointRow]:
    rows = sample_rows()
    rows["point"] = [point("local-rr-np-1", "local-rr-np", "Ostler", "ostler", **each) for each in given_points]
    return read_tables(arrow_tables(rows).get).points


def test_a_sweep_of_clients_is_a_curve_for_each_series() -> None:
    points = _points(
        {"clients": 4, "rate": 30.0},
        {"clients": 1, "rate": 10.0},
        {"clients": 4, "rate": 50.0, "repetition": 1},
        {"clients": 1, "series": "message_bytes=2048, cipher_spec=AES"},
    )
    sweep = choose_sweep(points)
    assert sweep is not None
    assert sweep.name == "clients"
    plain, secret = curves(points, sweep)
    assert (plain.group, secret.group) == ("2 KB, nonpersistent", "2 KB, nonpersistent, cipher spec AES")
    assert [(at, each.middle) for at, each in plain.along(lambda point: point.rate)] == [(1, 10.0), (4, 40.0)]


def test_without_a_sweep_of_clients_sizes_or_parameters_are_followed() -> None:
    sizes = _points({"message_bytes": 50, "series": "message_bytes=50"}, {"message_bytes": 2048})
    rules = _points({"series": "rules=10"}, {"series": "rules=1000"})
    one = _points({}, {"repetition": 1})
    by_size, by_rule = choose_sweep(sizes), choose_sweep(rules)
    assert by_size is not None
    assert by_rule is not None
    assert (by_size.name, by_rule.name, choose_sweep(one)) == ("message_bytes", "rules", None)
    assert [len(each.steps) for each in curves(rules, by_rule)] == [2]
    assert len(curves(one, None)) == 1


def test_the_first_sweep_of_a_scenario_is_followed() -> None:
    points = _points(
        {"series": "batch_size=10, round_trip_ms=0"},
        {"series": "batch_size=50, round_trip_ms=10"},
    )
    found = [choose_sweep(points, order) for order in ((), ("round_trip_ms", "batch_size"))]
    assert [each.label for each in found if each] == ["batch size", "round trip of the distance, ms"]
    by_channel = choose_sweep(_points({"clients": 4}, {"clients": 8}), (), "4 for each channel")
    assert by_channel is not None
    assert (by_channel.name, by_channel.label) == ("clients", "clients, 4 for each channel")


def test_values_with_commas_stay_together() -> None:
    series = "batch_size=50, channels=1, messages=nonpersistent, FAST, round_trip_ms=10"
    assert series_words(series) == "batch size 50, 1 channel, nonpersistent, FAST, round trip 10 ms"
    (point,) = _points({"series": series})
    assert group_name(point, None) == "2 KB, nonpersistent, batch size 50, 1 channel, FAST, round trip 10 ms"
    (kept,) = _points({"series": "messages=persistent", "persistent": True})
    assert group_name(kept, None) == "2 KB, persistent"
    assert series_words("Ostler, one queue manager, log=linear, extents new") == (
        "Ostler, one queue manager, log linear, extents new"
    )


def test_series_and_titles_are_told_in_words_and_once() -> None:
    assert series_words("message_bytes=2048, persistence=persistent, cipher_spec=none") == (
        "2 KB, persistent, cipher spec none"
    )
    assert described("2 KB requests, persistent", "2 KB, persistent") == "2 KB requests, persistent"
    assert described("20 KB and 200 KB requests", "20 KB, persistent") == "20 KB and 200 KB requests, 20 KB, persistent"


def test_ways_of_a_product_share_its_colour_and_limits_are_grey() -> None:
    styles = contestant_styles(
        [("RabbitMQ", "peer"), ("Ostler, in one process", "ostler"), ("Ostler", "ostler"), ("ping-pong", "limit")]
    )
    assert styles["Ostler"].colour == styles["Ostler, in one process"].colour == 0
    assert styles["Ostler"] != styles["Ostler, in one process"]
    assert styles["RabbitMQ"].colour == 1
    assert [name for name, style in styles.items() if style.is_limit] == ["ping-pong"]


# -- drawings ----------------------------------------------------------------------------------------------------------


def _line(name: str, *heights: float) -> ChartLine:
    dots = tuple(
        Dot(
            2.0**number,
            height,
            height * 0.9,
            height * 1.1,
            f"{2**number} clients",
            f"{height}/s",
            "9 to 11",
            "range of two",
        )
        for number, height in enumerate(heights)
    )
    return ChartLine(name, Style(0, 0), dots)


@pytest.mark.parametrize("heights", [(5.0,), (1.0, 2.0, 4.0), (0.0, 0.0)])
@pytest.mark.parametrize("is_log", [True, False])
def test_line_charts_are_drawings_with_a_value_in_every_dot(heights: tuple[float, ...], is_log: bool) -> None:
    lines = (_line('<a "b" & c>', *heights), _line("other", *heights))
    chart = LineChart("Rate", Axis("clients", is_log), Axis("a second", is_log), lines)
    drawn = ElementTree.fromstring(chart_svg(chart, "f-1"))
    dots = [each for each in drawn.iter("path") if "dot" in each.get("class", "").split()]
    assert len(dots) == 2 * len(heights)
    assert {each.get("data-name") for each in dots} == {'<a "b" & c>', "other"}
    assert all(
        each.get("data-value") and each.get("data-across") and each.get("data-spread") and each.get("data-basis")
        for each in dots
    )
    words = [each.text for each in drawn.iter("text")]
    assert "Rate" in words
    assert any(word and word.startswith("clients") for word in words)


def test_dot_charts_have_a_row_for_each_name_and_a_key() -> None:
    dot = Dot(-5.0, 0.0, -8.0, -1.0, "old → new", "5 % less")
    strips = tuple(Strip(name, (("worse", Style(1, 4), dot),)) for name in ("first", "second"))
    drawn = ElementTree.fromstring(chart_svg(DotChart("Change", Axis("change, %"), strips, 0.0), "f-2"))
    words = [each.text for each in drawn.iter("text")]
    assert words.count("worse") == 1
    assert [each for each in words if each in ("first", "second")] == ["first", "second"]


def test_long_names_of_rows_take_two_lines_and_are_not_cut() -> None:
    name = "Ostler, in one process to bare exchanges over a Unix socket, mqi-response-time, at the peak"
    strips = (Strip(name, (("same", Style(0, 0), Dot(1.0, 0.0, None, None, "x", "1")),)),)
    drawn = ElementTree.fromstring(chart_svg(DotChart("Change", Axis("%"), strips), "f-4"))
    words = [each.text or "" for each in drawn.iter("text") if each.get("class") == "name"]
    assert len(words) == 2
    assert " ".join(words) == name


def test_charts_side_by_side_share_an_axis() -> None:
    def drawn(value: float) -> list[str | None]:
        strips = (Strip("row", (("Ostler", Style(0, 0), Dot(value, 0.0, None, None, "x", "1")),)),)
        chart = DotChart("Peaks", Axis("a second", True, domain=(10.0, 10_000.0)), strips)
        words = ElementTree.fromstring(chart_svg(chart, "f-5")).iter("text")
        return [each.text for each in words if each.get("class") == "tick"]

    assert drawn(20.0) == drawn(9000.0)
    assert "10k" in drawn(20.0)


def test_an_axis_of_percents_ends_at_a_hundred() -> None:
    chart = LineChart("Busy", Axis("clients"), Axis("%", top=100.0), (_line("Ostler", 30.0, 99.0),))
    drawn = ElementTree.fromstring(chart_svg(chart, "f-3"))
    words = [each.text for each in drawn.iter("text")]
    assert "100" in words
    assert "120" not in words


@given(st.lists(st.floats(0, 1e6), min_size=2, max_size=8, unique=True), st.floats(0, 1e6))
def test_marks_of_an_even_axis_are_equally_far_apart(values: list[float], other: float) -> None:
    scale = evenly(values, 20, 400)
    places = [scale.at(each) for each in sorted(values)]
    gaps = [b - a for a, b in pairwise(places)]
    assert gaps == pytest.approx([gaps[0]] * len(gaps))
    assert places[0] > 20
    assert places[-1] < 400
    assert places[0] <= scale.at(other) <= places[-1]


def test_a_flat_line_goes_all_along_the_axis() -> None:
    dot = Dot(4.0, 7.0, None, None, "4", "7")
    lines = (ChartLine("one", Style(0, 0), (dot,), is_flat=True), _line("other", 1.0, 2.0, 9.0))
    chart = LineChart("Rate", Axis("x", ticks=(0.0, 1.0, 4.0), is_even=True), Axis("y"), lines)
    drawn = ElementTree.fromstring(chart_svg(chart, "f-6"))
    path = next(each.get("points", "") for each in drawn.iter("polyline"))
    (left, one), (right, other) = (each.split(",") for each in path.split())
    assert one == other
    assert float(right) - float(left) > 200
    assert any(each.text == "x (not to scale)" for each in drawn.iter("text"))


def test_bars_have_a_part_for_each_share_and_what_they_come_to() -> None:
    shares = (BarPart("near <1>", Style(0, 1), 30.0, "30 us"), BarPart("far", Style(1, 1), 10.0, "10 us"))
    bars = (Bar("Ostler & co", shares, "40 us"), Bar("one", shares[:1], "30 us"))
    drawn = ElementTree.fromstring(chart_svg(BarChart("Time", Axis("us"), bars), "f-7"))
    rectangles = [each for each in drawn.iter("rect") if "dot" in each.get("class", "").split()]
    widths = [float(each.get("width", "0")) for each in rectangles]
    assert [each.get("data-name") for each in rectangles] == ["near <1>", "far", "near <1>"]
    assert widths == pytest.approx([widths[0], widths[0] / 3, widths[0]], abs=0.2)
    words = [each.text for each in drawn.iter("text")]
    assert {"Time", "us", "Ostler & co", "40 us"} <= set(words)
    # Whose colour is whose is said once.
    assert words.count("far") == 1
