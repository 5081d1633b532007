"""Published figures stand beside ours only where metric and variant agree."""

from __future__ import annotations

from typing import Any

import pytest
from tests.pipeline.report.report_samples import BEGAN, Rows, point, row, sample_tables

from ostler.lab.scenarios.loader import catalogue
from ostler.pipeline.report.build import render
from ostler.pipeline.report.published_match import OurFigure, our_figure

RUN = "run-1"


def _rows(scenario: str, points: list[dict[str, Any]], published: dict[str, Any]) -> Rows:
    known = {"figure": 1, "scenario": scenario, "message_bytes": 2048, "basis": "measured", "report_title": "A report"}
    return {
        "run": [row("run", run=RUN, scenario=scenario, condition="complete", began=BEGAN, compiled=True)],
        "point": [point(RUN, scenario, **({"contestant": "Ostler", "kind": "ostler"} | each)) for each in points],
        "published": [row("published", **(known | published))],
    }


def ours(scenario: str, points: list[dict[str, Any]], **published: Any) -> OurFigure | None:
    tables = sample_tables(_rows(scenario, points, published))
    return our_figure(tables.published[0], catalogue().scenarios.get(scenario), tables.points)


def trips(**more: Any) -> dict[str, Any]:
    return {"metric": "round_trips_per_s", "unit": "round trips/s", "value": 100.0, **more}


def test_a_cipher_spec_stands_beside_the_same_one_only() -> None:
    points = [
        {"step": step, "rate": rate, "parameters": [("cipher_spec", cipher)]}
        for step, rate, cipher in ((0, 900.0, "none"), (1, 500.0, "ECDHE_RSA_AES_256_GCM_SHA384"))
    ]
    for cipher, rate in (("none", 900.0), ("ECDHE_RSA_AES_256_GCM_SHA384", 500.0)):
        found = ours("rr-cc-tls-np", points, **trips(variants=[("cipher", cipher)]))
        assert found is not None
        assert found.value == rate
    other = trips(variants=[("cipher", "TLS_RSA_WITH_AES_256_CBC_SHA256")])
    assert ours("rr-cc-tls-np", points, **other) is None


@pytest.mark.parametrize(
    ("metric", "unit", "clients", "value"),
    [
        # Puts and gets together, as that report counts them; and puts by themselves.
        ("messages_per_s", "messages/s", 5, 500.0),
        ("messages_per_s", "messages/s", 81, 500.0),
        ("publications_per_s", "publications/s", 5, 100.0),
        # A publication rate belongs to its number of subscribers.
        ("publications_per_s", "publications/s", 81, None),
        ("round_trips_per_s", "round trips/s", 5, None),
        ("cpu_percent", "%", 5, None),
    ],
)
def test_what_is_counted_is_the_same(metric: str, unit: str, clients: int, value: float | None) -> None:
    points = [
        {"operation": operation, "rate": rate, "clients": 5, "is_main": operation == "get"}
        for operation, rate in (("put", 100.0), ("get", 400.0))
    ]
    found = ours("pubsub-1n-np", points, metric=metric, unit=unit, clients=clients, value=1.0)
    assert (found.value if found else None) == value


def test_messages_of_other_reports_are_not_puts_and_gets() -> None:
    points = [{"operation": operation, "rate": 100.0} for operation in ("put", "get")]
    assert ours("zos-pq-np-out-scal", points, metric="messages_per_s", unit="messages/s", value=1.0) is None


def test_publications_of_one_publisher_are_a_share() -> None:
    points = [{"operation": each, "rate": 8000.0, "clients": 10, "is_main": each == "get"} for each in ("put", "get")]
    found = ours(
        "pubsub-multi-np", points, metric="publications_per_s", unit="publications/s per publisher", clients=10,
        value=1.0, variants=[("rate_per_producer", "1600/s"), ("api", "MQI")],
    )  # fmt: skip
    assert found is not None
    assert found.value == 1600.0


@pytest.mark.parametrize(
    ("variants", "parameters", "is_shown"),
    [
        ([("api", "MQI")], [], True),
        ([("api", "JMS")], [], False),
        ([("think_time", "0"), ("bind", "FASTPATH channels")], [], True),
        ([("cores", "4")], [], False),
        ([("cores", "4")], [("cores", "4")], True),
        ([("cores", "8")], [("cores", "4")], False),
        ([("subscribers", "4")], [("subscribers", "4")], True),
        ([("ha", "synchronous replication")], [], False),
        ([("ha", "synchronous replication")], [("replication", "synchronous")], True),
        ([("ha", "synchronous replication")], [("replication", "none")], False),
        ([("latency_ms", "10")], [("added_latency_ms", "1")], False),
        ([("server", "trusted")], [], False),
        ([("server", "non-trusted")], [], True),
        ([("server", "trusted")], [("responder_binding", "trusted")], True),
        ([("qmgrs", "1")], [], True),
        ([("qmgrs", "10")], [], False),
        ([("a variant that nobody knows", "x")], [], False),
    ],
)
def test_a_variant_that_is_not_ours_is_not_set_beside_ours(
    variants: list[tuple[str, str]], parameters: list[tuple[str, str]], is_shown: bool
) -> None:
    points = [{"rate": 700.0, "parameters": parameters}]
    assert (ours("client-rr-np", points, **trips(variants=variants)) is not None) is is_shown


def test_size_and_persistence_are_the_same() -> None:
    points = [{"rate": 700.0, "persistent": True}]
    assert ours("client-rr-pm", points, **trips(persistence="persistent")) is not None
    assert ours("client-rr-pm", points, **trips(persistence="nonpersistent")) is None
    assert ours("client-rr-pm", points, **trips(message_bytes=20480)) is None


def test_the_lean_driver_of_ostler_stands_there_and_nobody_else() -> None:
    points = [
        {"contestant": "Ostler", "rate": 700.0},
        {"contestant": "Ostler, one queue manager", "rate": 900.0},
        {"contestant": "Ostler, ostler.connect", "rate": 800.0},
        {"contestant": "RabbitMQ", "kind": "peer", "rate": 5000.0},
    ]
    assert ours("client-rr-np", points, **trips()) == OurFigure(700.0, 1, "Ostler")


def test_the_median_of_repetitions_of_the_best_step_is_taken() -> None:
    points = [
        {"step": step, "repetition": number, "clients": step + 1, "rate": rate}
        for step, rates in ((0, (10.0, 20.0, 30.0)), (1, (40.0, 60.0, 90.0)))
        for number, rate in enumerate(rates)
    ]
    assert ours("client-rr-np", points, **trips()) == OurFigure(60.0, 2, "Ostler")


def test_the_page_sets_only_the_same_side_by_side() -> None:
    points = [{"rate": 900.0, "parameters": [("cipher_spec", "none")]}]
    published = trips(variants=[("cipher", "TLS_RSA_WITH_AES_256_CBC_SHA256")], persistence="nonpersistent")
    page = render(sample_tables(_rows("rr-cc-tls-np", points, published)))
    part = page.partition('id="published-rates"')[2].partition("</section>")[0]
    shown, _, alone = part.partition("<details")
    assert "no data yet" in shown
    assert "TLS_<wbr>RSA_<wbr>WITH" in alone
    assert ">900<" not in part
