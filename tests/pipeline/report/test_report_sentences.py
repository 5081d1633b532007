"""Sentences of charts: knees of hand-made curves, changes, and no claim within the noise."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.pipeline.report.report_samples import row, sample_rows, sample_tables

from ostler.pipeline.report import numbers
from ostler.pipeline.report.build import render
from ostler.pipeline.report.charts.charts import Axis, ChartLine, Dot, DotChart, LineChart, Strip, Style
from ostler.pipeline.report.charts.sentences import (
    change_words,
    chart_sentence,
    course_sentence,
    drift_sentence,
    find_knee,
    is_same,
    limit_sentence,
    limit_words,
    other_sentence,
    rate_sentence,
    trend_sentence,
)

Points = list[tuple[float, float]]


def _clients(value: float) -> str:
    return numbers.count(int(value), "client")


# -- the knee ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("points", "at", "peak_at", "is_open"),
    [
        # Saturates at four clients.
        ([(1, 100), (2, 190), (4, 290), (8, 300), (16, 299)], 4, 8, False),
        # Falls behind its peak.
        ([(1, 100), (2, 200), (4, 150), (8, 90)], 2, 2, False),
        # Rises to the end.
        ([(1, 100), (2, 200), (4, 400)], 4, 4, True),
        # Flat: the first step is enough.
        ([(1, 100), (2, 101), (4, 100)], 1, 2, False),
        # In any order, and of equal rates the fewest clients are the peak.
        ([(8, 300), (1, 100), (4, 300)], 4, 4, False),
    ],
)
def test_the_knee_is_the_first_step_near_the_peak(points: Points, at: float, peak_at: float, is_open: bool) -> None:
    knee = find_knee(points)
    assert knee is not None
    assert (knee.at, knee.peak_at, knee.is_open) == (at, peak_at, is_open)


@pytest.mark.parametrize("points", [[], [(1, 5)], [(1, 5), (2, 9)], [(1, 0), (2, 0), (4, 0)], [(1, math.nan)] * 4])
def test_curves_without_a_shape_have_no_knee(points: Points) -> None:
    assert find_knee(points) is None


def test_a_smaller_share_is_reached_with_fewer_clients() -> None:
    points: Points = [(1, 100), (2, 190), (4, 272), (8, 300)]
    early, late = find_knee(points, 0.9), find_knee(points, 0.95)
    assert early is not None
    assert late is not None
    assert (early.at, late.at) == (4, 8)


@given(st.lists(st.tuples(st.integers(1, 1000), st.floats(1, 1e9)), min_size=3, max_size=12, unique_by=lambda p: p[0]))
def test_the_knee_is_never_behind_the_peak_and_reaches_its_share(points: list[tuple[int, float]]) -> None:
    knee = find_knee([(float(at), value) for at, value in points])
    assert knee is not None
    assert knee.at <= knee.peak_at
    assert knee.value >= 0.95 * knee.peak
    assert knee.peak == max(value for _, value in points)


# -- changes and noise -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("value", "other", "noise", "text"),
    [
        (105.0, 100.0, 0.0, "the same within the noise"),
        (120.0, 100.0, 20.0, "the same within the noise"),
        (120.0, 100.0, 8.0, "20 % higher"),
        (38.0, 100.0, 8.0, "62 % lower"),
        (240.0, 100.0, 8.0, f"2.40 {numbers.TIMES} as high"),
        (5.0, 0.0, 8.0, "higher"),
    ],
)
def test_changes_are_told_beyond_the_noise_only(value: float, other: float, noise: float, text: str) -> None:
    assert change_words(value, other, noise) == text


def test_the_noise_counts_from_the_smaller_whichever_comes_first() -> None:
    for one, other in ((100.0, 113.9), (113.9, 100.0)):
        assert is_same(one, other, 8.0)
        assert not is_same(one, other, 7.0)


def test_a_rate_is_told_with_its_peak_and_knee() -> None:
    points: Points = [(1, 100), (4, 290), (8, 300), (16, 240)]
    assert rate_sentence("Ostler", points, _clients, "1/s", 5.0) == (
        "Ostler has its peak of 300 1/s with 8 clients, and 95 % of it already with 4 clients; "
        "with 16 clients it is 20 % lower."
    )
    # On a noisy machine a fall of a fifth is no fall.
    noisy = rate_sentence("Ostler", points, _clients, "1/s", 30.0)
    assert noisy.endswith("of it already with 4 clients.")


def test_a_rate_that_rises_or_stays_is_told_so() -> None:
    rising = rate_sentence("Ostler", [(1, 100), (4, 200), (8, 400)], _clients, "1/s", 5.0)
    assert rising == (
        f"Ostler still rises at the last step: 400 1/s with 8 clients, 4.00 {numbers.TIMES} as high as with 1 client."
    )
    flat = rate_sentence("Ostler", [(1, 100), (4, 104), (8, 99)], _clients, "1/s", 5.0)
    assert flat == "Ostler stays at about 100 1/s from 1 client to 8 clients, within the noise."
    assert rate_sentence("Ostler", [(1, 0), (4, 0)], _clients, "1/s", 5.0) == "Ostler completed nothing."
    assert rate_sentence("Ostler", [(4, 50)], _clients, "1/s", 5.0) == "Ostler: 50.0 1/s with 4 clients."
    assert rate_sentence("Ostler", [(1, math.nan)], _clients, "1/s", 5.0) == ""


@given(st.lists(st.floats(99, 101), min_size=2, max_size=8), st.floats(0, 50))
def test_what_is_within_the_noise_is_never_called_a_peak(values: list[float], noise: float) -> None:
    points = [(float(at), value) for at, value in enumerate(values, 1)]
    told = rate_sentence("Ostler", points, _clients, "1/s", noise) + trend_sentence(
        "Ostler", points, _clients, "", noise
    )
    assert told.count("within the noise") == 2
    assert not any(word in told for word in ("peak", "rises", "higher", "lower", "as high"))


def test_other_values_are_told_from_the_first_step_to_the_last() -> None:
    told = trend_sentence("Ostler", [(1, 2.0), (16, 3.0)], _clients, "ms", 5.0)
    assert told == "Ostler: 2.00 ms with 1 client, 3.00 ms with 16 clients (50 % higher)."
    assert other_sentence("At their peaks", 100.0, [("NATS", 38.0), ("Redis", 101.0)], 5.0) == (
        "At their peaks NATS is 62 % lower and Redis is the same within the noise."
    )
    assert other_sentence("At their peaks", 0.0, [("NATS", 38.0)], 5.0) == ""
    assert limit_sentence("log", "the disk was busy.") == "The limit is the log: the disk was busy."
    assert limit_sentence("unknown", "nothing was full") == "No single limit was found: nothing was full."
    assert limit_sentence("log", "") == ""


def test_a_limit_is_told_once_in_a_list() -> None:
    reached = "the load asked for 800 a second and had them: no limit was reached"
    assert limit_words("unknown", reached) == reached
    assert limit_words("unknown", "nothing was full.") == "no limit was found; nothing was full"
    assert limit_words("log", "the disk was busy 97% of the time") == (
        "limited by the log; the disk was busy 97 % of the time"
    )


def test_the_course_over_time_tells_a_drift_but_no_chance() -> None:
    steady = [(float(at), 100.0 + (at * 7) % 11) for at in range(60)]
    falling = [(float(at), 100.0 - at) for at in range(60)]
    assert course_sentence("Ostler", steady, "1/s").endswith("no drift beyond that.")
    assert "the last third is" in course_sentence("Ostler", falling, "1/s")
    assert course_sentence("Ostler", [(0.0, 5.0)], "1/s") == ""
    dropped = [(float(at), 100.0 if at < 40 else 60.0) for at in range(60)]
    assert drift_sentence("NATS", dropped) == "NATS: the last third is 40 % lower than the first."
    assert drift_sentence("NATS", steady) == drift_sentence("NATS", dropped[:10]) == drift_sentence("NATS", []) == ""
    assert course_sentence("Ostler", [(0.0, 5.0), (1.0, 5.0)], "1/s") == "Ostler: median 5.00 1/s."


# -- charts ------------------------------------------------------------------------------------------------------------


def test_charts_without_a_sentence_get_one_from_their_dots() -> None:
    dots = tuple(Dot(float(at), at * 2.0, None, None, f"{at} KB", f"{at * 2} MB/s") for at in (1, 2))
    line = LineChart("Bytes", Axis("size"), Axis("MB/s"), (ChartLine("Ostler", Style(0, 0), dots),))
    assert chart_sentence(line) == "Highest: Ostler, 4 MB/s (2 KB)."
    strips = tuple(
        Strip(name, ((verdict, Style(0, 0), Dot(1.0, 0.0, None, None, "", "")),))
        for name, verdict in (("a", "same"), ("b", "worse"), ("c", "same"))
    )
    assert chart_sentence(DotChart("Change", Axis("%"), strips, 0.0)) == "Of 3 changes: 2 same and 1 worse."
    assert chart_sentence(DotChart("Change", Axis("%"), (), 0.0)) == ""
    assert chart_sentence(LineChart("Rate", Axis("x"), Axis("y"), ())) == ""


def test_the_rate_of_a_scenario_is_told_with_its_limit_and_brokers_of_its_kind() -> None:
    rows = sample_rows()
    for each in rows["scaling"]:
        each["why"] = "all cores together were 97% busy"
    for name in ("RabbitMQ, pika", "NATS"):
        rows["contestant"].append(
            row("contestant", run="local-rr-np-2", contestant=name, kind="peer", promise="promise of Ostler")
        )
        rows["point"] += [
            each | {"contestant": name, "kind": "peer", "rate": each["rate"] / 2}
            for each in rows["point"]
            if each["contestant"] == "Ostler" and each["run"] == "local-rr-np-2"
        ]
    page = render(sample_tables(rows))
    part = page.partition('id="scenario-local-rr-np"')[2]
    told = part.partition('<p class="said">')[2].partition("</p>")[0]
    assert told.startswith("Ostler still rises at the last step: 4,080 round trips/s with 16 clients")
    assert "The limit is the machine: all cores together were 97\N{NO-BREAK SPACE}% busy." in told
    # A library is not set against a driver, and another promise is named where it is.
    assert "At their peaks NATS is 50 % lower and RabbitMQ (another promise) is 60 % lower." in told
    assert "pika" not in told
