"""Like with like: lean drivers beside lean drivers, libraries beside libraries, and promises said with each ratio."""

from __future__ import annotations

import re
from html import unescape
from typing import Any

import pytest
from tests.pipeline.report.report_samples import NEW, OLD, Rows, point, row, sample_rows, sample_tables

from ostler.pipeline.report import numbers
from ostler.pipeline.report.build import render
from ostler.pipeline.report.drivers import driver_words, product_of, promise_of
from ostler.pipeline.report.rows import ContestantRow

LEAN, LIBRARY, PROBE = "lean driver", "library", "probe"

SERIES = "message_bytes=2048"


@pytest.mark.parametrize(
    ("contestant", "kind", "driver", "product"),
    [
        ("Ostler", "ostler", LEAN, "Ostler"),
        ("Ostler, pipelined", "ostler", LEAN, "Ostler"),
        ("Ostler, ostler.connect", "ostler", LIBRARY, "Ostler"),
        ("Mosquitto", "peer", LEAN, "Mosquitto"),
        ("Mosquitto, paho-mqtt", "peer", LIBRARY, "Mosquitto"),
        ("RabbitMQ, shovel", "peer", LEAN, "RabbitMQ, shovel"),
        ("bare ping-pong", "limit", PROBE, "bare ping-pong"),
    ],
)
def test_contestants_have_a_driver_and_a_product(contestant: str, kind: str, driver: str, product: str) -> None:
    assert driver_words(contestant, kind) == driver
    assert product_of(contestant) == product


def test_promises_are_those_of_the_messages() -> None:
    both = "non-persistent: nothing kept. Persistent: forced before answers"
    contestants = [ContestantRow("r", "A", "peer", both, ""), ContestantRow("r", "B", "peer", "all forced", "")]
    assert promise_of(contestants, "r", "A", False) == "nothing kept"
    assert promise_of(contestants, "r", "A", True) == "forced before answers"
    assert promise_of(contestants, "r", "B", True) == "all forced"
    assert promise_of(contestants, "other", "B", True) == ""


def _peak(contestant: str, kind: str, rate: float) -> dict[str, Any]:
    known = {"run": NEW, "scenario": "local-rr-np", "series": SERIES, "message_bytes": 2048, "peak_clients": 16}
    return row("peak", contestant=contestant, kind=kind, peak_rate=rate, steps=3, repetitions=3, **known)


def _rows() -> Rows:
    """Mosquitto with both drivers, and Ostler with both: 0.64 and 2 times, never 15 times."""
    rows = sample_rows()
    rows["peak"] = [each for each in rows["peak"] if each["run"] != NEW and each["kind"] != "peer"]
    rows["peak"] += [
        _peak("Ostler", "ostler", 15_000.0),
        _peak("Ostler, ostler.connect", "ostler", 2_000.0),
        _peak("Mosquitto", "peer", 23_437.5),
        _peak("Mosquitto, paho-mqtt", "peer", 1_000.0),
    ]
    rows["point"] += [
        point(NEW, "local-rr-np", each["contestant"], each["kind"], rate=each["peak_rate"], clients=16, step=2)
        for each in rows["peak"]
        if each["run"] == NEW
    ]
    rows["contestant"] = [
        row(
            "contestant",
            run=NEW,
            contestant=each["contestant"],
            kind=each["kind"],
            promise=f"{each['contestant']} keeps",
        )
        for each in rows["peak"]
    ]
    return rows


def _highlights(rows: Rows) -> str:
    page = render(sample_tables(rows))
    return unescape(re.sub("<[^>]+>", "", page.partition('id="highlights"')[2].partition("</section>")[0]))


def _sentences(text: str) -> list[str]:
    return re.findall(r"(?:Lean drivers|Libraries), \w+: .*?\.(?=Lean|Libraries|Noise|No row|\d+ row|\n|$)", text)


def test_highlights_compare_like_with_like_only() -> None:
    told = _highlights(_rows())
    assert f"Lean drivers, nonpersistent: Ostler's peak is {numbers.times(0.64)} that of Mosquitto (" in told
    assert (
        f"Libraries, nonpersistent: Ostler's peak is {numbers.times(2.0)} that of Mosquitto through paho-mqtt" in told
    )
    assert numbers.times(15.0) not in told


def test_a_library_without_one_of_ours_is_in_no_highlight() -> None:
    rows = _rows()
    rows["peak"] = [each for each in rows["peak"] if "ostler.connect" not in each["contestant"]]
    told = _highlights(rows)
    assert "Lean drivers" in told
    assert "through paho-mqtt" not in told


def test_promises_are_in_the_sentence_of_the_ratio() -> None:
    told = _sentences(_highlights(_rows()))
    assert len(told) == 2
    for sentence in told:
        assert "Ostler promises: Ostler" in sentence
        assert "; Mosquitto: Mosquitto" in sentence
    rows = _rows()
    rows["contestant"] = []
    assert all("do not say what the two promise" in each for each in _sentences(_highlights(rows)))


def test_runs_of_other_promises_are_not_put_into_one_median() -> None:
    rows = _rows()
    more = {"run": "other", "scenario": "local-rr-pm"}
    rows["run"].append(rows["run"][1] | more)
    rows["point"] += [each | more for each in rows["point"] if each["run"] == NEW]
    rows["peak"] += [each | more for each in rows["peak"] if each["run"] == NEW]
    rows["contestant"] += [each | {"run": "other"} for each in rows["contestant"]]
    assert len(_sentences(_highlights(rows))) == 2
    assert "median of 2 curves" in _highlights(rows)
    rows["contestant"][-1]["promise"] = "another promise"
    assert len(_sentences(_highlights(rows))) == 3


def test_a_quarter_is_as_far_from_the_same_as_four_times() -> None:
    rows = _rows()
    rows["run"][1]["noise_percent"] = 80.0
    for each in rows["peak"]:
        if each["contestant"] == "Mosquitto":
            each["peak_rate"] = 4 * 15_000.0
    assert "within the noise" not in _sentences(_highlights(rows))[0]
    for each in rows["peak"]:
        if each["contestant"] == "Mosquitto":
            each["peak_rate"] = 1.8 * 15_000.0
    assert "within the noise" in _sentences(_highlights(rows))[0]


def test_the_glance_has_a_row_for_each_kind_of_driver() -> None:
    page = render(sample_tables(_rows()))
    assert "libraries" in page.partition("Peak rates at a glance")[2].partition("</figure>")[0]


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"parameters": [("is_quick", "true")]}, "the quick form"),
        ({"condition": "partial"}, "not complete"),
        ({"noise_percent": 40.0}, "noisy"),
        ({"compiled": False}, "interpreted"),
    ],
)
def test_doubts_are_on_top_of_the_page(change: dict[str, Any], words: str) -> None:
    rows = _rows()
    for each in rows["run"]:
        each |= {"compiled": True, "condition": "complete"}
    assert "Read with care" not in _highlights(rows)
    rows["run"][1] |= change
    # An older run that is complete and full would speak in its place.
    rows["run"] = [each for each in rows["run"] if each["run"] != OLD]
    rows["point"] = [each for each in rows["point"] if each["run"] != OLD]
    told = _highlights(rows)
    care = told.index("Read with care")
    assert words in told[care : care + 300]
    assert care < told.index("Lean drivers")


def test_full_processors_are_no_doubt_and_other_flags_are() -> None:
    rows = _rows()
    for each in rows["run"]:
        each |= {"compiled": True, "condition": "complete"}
    for each in rows["point"]:
        each["flags"] = ["machine-full"]
    assert "Read with care" not in _highlights(rows)
    rows["point"][-1]["flags"] = ["steal"]
    assert "1 run is flagged in some of its points" in _highlights(rows)
