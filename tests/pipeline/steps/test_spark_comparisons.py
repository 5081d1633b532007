"""Figures that are laid side by side, and the verdicts on them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from math import exp
from random import Random
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from pyspark.sql import Row, SparkSession
from pyspark.sql import functions as F
from tests.pipeline.steps.analysis_samples import figure, metrics, point, points, run, runs, table

from ostler.lab.families.channels.distributed import ONE_MANAGER
from ostler.lab.families.sharing.shared_loads import PRIVATE
from ostler.lab.peers.registry import REPLICATED
from ostler.lab.runner import contract as lab_contract
from ostler.lab.runner.shovel_peer import CONTESTANT as SHOVELS
from ostler.lab.store.courses import RATE_BEFORE_GROWTH, RATE_IN_GROWTH
from ostler.pipeline.lake.tables import BRONZE, COMPARISON, CONTESTANT, RESULT
from ostler.pipeline.steps.comparison_metrics import comparison_metrics, memory_metrics, story_metrics
from ostler.pipeline.steps.comparisons import comparisons
from ostler.pipeline.steps.contestants import (
    COPIED_PEERS,
    ONE_QUEUE_MANAGER,
    PRIVATE_QUEUES,
    TWO_NODES,
    WITHOUT_COPIES,
)
from ostler.pipeline.steps.curves import curve_steps
from ostler.pipeline.steps.ratios import phase_comparisons, printed_ratios
from ostler.pipeline.steps.verdicts import PAIR_COLUMNS, student_quantile, with_verdict

_PAIRS = (
    "kind string, subject string, scenario string, series string, clients int, metric string, more_is_better boolean, "
    "is_comparable boolean, left_name string, right_name string, left_run string, right_run string, "
    "left_values array<double>, right_values array<double>, noise_percent double, left_driver string, "
    "right_driver string, left_promise string, right_promise string"
)


def _pair(subject: str, left: Sequence[float], right: Sequence[float], **others: Any) -> tuple[Any, ...]:
    empty = ("kind", "scenario", "series", "metric", "left_name", "right_name", "left_run", "right_run")
    row: dict[str, Any] = {
        **dict.fromkeys(empty, ""),
        "subject": subject,
        "clients": None,
        "more_is_better": True,
        "is_comparable": True,
        "left_values": [float(each) for each in left],
        "right_values": [float(each) for each in right],
        "noise_percent": 0.0,
        **dict.fromkeys(("left_driver", "right_driver"), "lean"),
        **dict.fromkeys(("left_promise", "right_promise"), "forced"),
    }
    return tuple((row | others)[name] for name in PAIR_COLUMNS)


def test_verdicts(spark: SparkSession) -> None:
    steady = (100, 101, 99)
    pairs = [
        _pair("same", steady, (105, 104, 106)),
        _pair("better", steady, (108, 107, 109)),
        _pair("worse", (108, 107, 109), steady),
        _pair("slower", steady, (120, 121, 119), more_is_better=False),
        _pair("noisy machine", steady, (108, 107, 109), noise_percent=5.0),
        _pair("shaken", (100, 70, 140), (130, 180, 90)),
        _pair("once", (100,), (150,)),
        _pair("nothing", (0, 0), (150, 150)),
        _pair("stopped", steady, (0, 0, 0)),
        _pair("another thing", steady, (300, 301), is_comparable=False),
        _pair("another driver", steady, (300, 301, 302), left_driver="library"),
        _pair("exactly", (100, 100), (200, 200)),
        # By hand: logarithms are 0 and 2 on the right, 0 and 0 on the left. The error is 1, with one degree of freedom.
        _pair("Welch", (1, 1), (1, 7.38905609893065)),
    ]
    found = {row["subject"]: row for row in with_verdict(spark.createDataFrame(pairs, _PAIRS)).collect()}
    assert {name: row["verdict"] for name, row in found.items()} == {
        "same": "same",
        "better": "better",
        "worse": "worse",
        "slower": "worse",
        "noisy machine": "same",
        "shaken": "same",
        "once": "better",
        "nothing": "not comparable",
        "stopped": "worse",
        "another thing": "not comparable",
        "another driver": "not comparable",
        "exactly": "better",
        "Welch": "same",
    }
    better = found["better"]
    assert better["change_percent"] == pytest.approx(8.0)
    assert better["low_percent"] < 8.0 < better["high_percent"]
    assert better["tolerance_percent"] == 6.0
    assert found["noisy machine"]["tolerance_percent"] == 11.0
    assert (found["once"]["low_percent"], found["once"]["high_percent"]) == (None, None)
    assert (found["once"]["left_repetitions"], found["another thing"]["right_repetitions"]) == (1, 2)
    assert found["exactly"]["low_percent"] == pytest.approx(100.0)
    assert found["Welch"]["low_percent"] == pytest.approx(100 * (2.718281828 ** (1 - 12.706) - 1))
    assert found["Welch"]["high_percent"] == pytest.approx(100 * (2.718281828 ** (1 + 12.706) - 1), rel=1e-6)


def test_boundaries_of_the_tolerance(spark: SparkSession) -> None:
    """6 % are within 6 %, up and down, and the noise comes on top. With one repetition nothing else counts."""
    pairs = [
        _pair("up", (100,), (106,)),
        _pair("up, beyond", (100,), (106.001,)),
        _pair("down", (106,), (100,)),
        _pair("down, beyond", (106.001,), (100,)),
        _pair("down by 6 of 100", (100,), (94,)),
        _pair("noise", (100,), (109,), noise_percent=3.0),
        _pair("noise, beyond", (109.001,), (100,), noise_percent=3.0),
        _pair("times", (100,), (106.001,), more_is_better=False),
        _pair("times, beyond", (106.001,), (100,), more_is_better=False),
        _pair("to a half", (200,), (100,), noise_percent=94.0),
        _pair("to less than a half", (200.1,), (100,), noise_percent=94.0),
        # The interval is 0 % to 21 % or so: what may be nothing is nothing.
        _pair("unsure", (100, 100), (100, 121)),
    ]
    found = {row["subject"]: row["verdict"] for row in with_verdict(spark.createDataFrame(pairs, _PAIRS)).collect()}
    assert found == {
        "up": "same",
        "up, beyond": "better",
        "down": "same",
        "down, beyond": "worse",
        "down by 6 of 100": "worse",
        "noise": "same",
        "noise, beyond": "worse",
        "times": "worse",
        "times, beyond": "better",
        "to a half": "same",
        "to less than a half": "worse",
        "unsure": "same",
    }


def test_quantiles_between_whole_degrees_of_freedom(spark: SparkSession) -> None:
    wanted = {1.0: 12.706, 1.5: 6.017, 2.0: 4.303, 2.5: 3.575, 4.5: 2.659, 30.0: 2.042, 1000.0: 2.042}
    frame = spark.createDataFrame([(each,) for each in wanted], "freedom double")
    found = {row[0]: row[1] for row in frame.select("freedom", student_quantile(F.col("freedom"))).collect()}
    assert found == {freedom: pytest.approx(value, rel=0.03) for freedom, value in wanted.items()}


_PAIRS_EACH = 600


@settings(
    max_examples=2,
    deadline=None,
    phases=(Phase.generate,),
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(ratio=st.floats(0.05, 20), spread=st.floats(0.01, 0.4), seed=st.integers(0, 2**32))
def test_intervals_have_the_true_ratio_in_them(spark: SparkSession, ratio: float, spread: float, seed: int) -> None:
    """Simulated repetitions whose ratio is known: in 95 of 100 pairs it is within the interval."""
    chance = Random(seed)

    def measured(middle: float, count: int) -> list[float]:
        return [middle * exp(chance.gauss(0, spread)) for _ in range(count)]

    sizes = ((2, 2), (3, 3), (5, 4), (8, 8))
    pairs = [
        _pair(f"{left} {right}", measured(1000, left), measured(1000 * ratio, right))
        for left, right in sizes
        for _ in range(_PAIRS_EACH)
    ]
    within: Counter[str] = Counter()
    for row in with_verdict(spark.createDataFrame(pairs, _PAIRS)).collect():
        assert row["low_percent"] > -100
        within[row["subject"]] += row["low_percent"] <= 100 * (ratio - 1) <= row["high_percent"]
    # Four standard errors of such a share are 3.6 %. With two repetitions Welch is on the safe side.
    for subject, count in within.items():
        assert 0.914 <= count / _PAIRS_EACH <= 0.999, subject
    assert len(within) == len(sizes)


# -- one lake, looked at from all sides: planning takes Spark longer than the work -----------------------------------

_RELEASES, _PRODUCTS, _OPTIONS = "zos-pq-np-in-scal", "p2p-multi-np", "rr-cc-tls-np"
_LOGGING, _TRUSTED, _CHANNELS = "linear-vs-circular-logging", "local-trusted-np", "dq-channels"


def _releases() -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    made = [
        run("first", scenario=_RELEASES),
        run("second", 1, scenario=_RELEASES),
        run("third", 2, scenario=_RELEASES, version="1.1"),
        run("quick", 3, scenario=_RELEASES, parameters={"is_quick": "True"}),
        run("elsewhere", 4, scenario=_RELEASES, machine="another"),
        run("slow", 5, scenario=_RELEASES, version="1.2"),
        run("wider", 6, scenario=_RELEASES, version="1.3"),
    ]
    # The last one is of a machine that has become slower: what anybody does there takes longer.
    rates = ((100, 500), (102, 500), (200, 550), (999, 500), (999, 500), (120, 300), (240, 300))
    rows = [
        point(rate, clients, run=each["run"], scenario=_RELEASES, contestant=name, kind=kind, noise_percent=None)
        for each, (ours, bare) in zip(made, rates, strict=True)
        for name, kind, rate in (("Ostler", "ostler", ours), ("bare ping-pong", "limit", bare))
        for clients in ((1, 8) if each["run"] == "wider" else (1, 2))
    ]
    return made, rows


def _products() -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    contestants = (
        ("Ostler", "ostler", 1000.0),
        ("Ostler, ostler.connect", "ostler", 500.0),
        ("Ostler, pipelined", "ostler", 2000.0),
        ("RabbitMQ", "peer", 800.0),
        ("RabbitMQ, pika", "peer", 700.0),
        ("bare ping-pong", "limit", 4000.0),
    )
    rows = [
        point(rate, 4, run="products", scenario=_PRODUCTS, contestant=name, kind=kind, repetition=repetition)
        for name, kind, rate in contestants
        for repetition in (0, 1)
    ]
    return [run("products", scenario=_PRODUCTS)], rows


def _options() -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    sizes = (("none", 2048, 1000), ("A, old", 2048, 400), ("B", 2048, 600), ("none", 20480, 100), ("B", 20480, 90))
    rows = [
        point(
            rate,
            1,
            run="options",
            scenario=_OPTIONS,
            step=step,
            series=f"cipher_spec={cipher}, message_bytes={size}",
            parameters={
                "requesters": "1",
                "cipher_spec": cipher,
                "message_bytes": str(size),
                "operation": "round trip",
            },
            message_bytes=size,
        )
        for step, (cipher, size, rate) in enumerate(sizes)
    ]
    return [run("options", scenario=_OPTIONS)], rows


def _ratios() -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    made = [
        run("np"),
        run("old", 0, scenario="client-rr-pm", machine="another"),
        run("pm", 1, scenario="client-rr-pm"),
        run("logged", scenario=_LOGGING),
        run("bound", scenario=_TRUSTED),
        run("plain", scenario="zos-chl-1-4"),
        run("secret", scenario="zos-chl-1-4-ssl"),
        run("plain-rr", scenario="local-rr-np"),
        run("slow-rr", scenario="local-rr-pm", compiled=False),
    ]
    kept = {"scenario": "client-rr-pm", "persistent": True}
    rows = [
        *(point(400, 1, run="np", repetition=number) for number in (0, 1)),
        point(399, 1, run="old", **kept),
        *(point(200, 1, run="pm", repetition=number, **kept) for number in (0, 1)),
        point(100, 4, run="plain", scenario="zos-chl-1-4"),
        point(80, 4, run="secret", scenario="zos-chl-1-4-ssl"),
        point(400, 1, run="plain-rr", scenario="local-rr-np"),
        point(50, 1, run="slow-rr", scenario="local-rr-pm", persistent=True),
    ]
    for run_name, scenario, option, values in (
        ("logged", _LOGGING, "log", {"circular": 100, "linear, extents reused": 90}),
        ("bound", _TRUSTED, "responder_binding", {"local": 100, "trusted": 147}),
    ):
        rows += [
            point(rate, 1, run=run_name, scenario=scenario, series=f"{option}={value}", parameters={option: value})
            for value, rate in values.items()
        ]
    return made, rows


def _channels() -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Two queue managers over one and four channels, one queue manager and two nodes of another product."""
    who = (
        ("Ostler", "ostler", {1: 500, 4: 600}),
        (ONE_QUEUE_MANAGER, "ostler", {1: 1000}),
        (TWO_NODES[0], "peer", {1: 100, 4: 150}),
    )
    rows = [
        point(
            rate,
            50,
            run="joined",
            scenario=_CHANNELS,
            contestant=name,
            kind=kind,
            step=channels,
            series=f"channels={channels}, cipher_spec=none",
            parameters={"channels": str(channels), "cipher_spec": "none"},
        )
        for name, kind, rates in who
        for channels, rate in rates.items()
    ]
    rows += [
        point(rate, 7, run="apart", scenario="dq-rr-np", contestant=name)
        for name, rate in (("Ostler", 300), (ONE_QUEUE_MANAGER, 400))
    ]
    return [run("joined", scenario=_CHANNELS), run("apart", scenario="dq-rr-np")], rows


def _copies() -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """A queue manager with copies and without, and another product with copies, through its library, too."""
    who = (
        ("Ostler", "ostler", 800),
        (WITHOUT_COPIES, "ostler", 1000),
        (COPIED_PEERS[0], "peer", 400),
        (f"{COPIED_PEERS[0]}, pika", "peer", 300),
    )
    rows = [
        point(rate, 50, run="copied", scenario="ha-three-copies", contestant=name, kind=kind, persistent=True)
        for name, kind, rate in who
    ]
    return [run("copied", scenario="ha-three-copies")], rows


def _shared() -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Shared queues beside private ones, and levels of structures with two repositories."""
    rows = [
        point(rate, 10, run="shared", scenario="sq-shared-private", contestant=name)
        for name, rate in (("Ostler", 250), (PRIVATE_QUEUES, 1000))
    ]
    steps = (("CFLEVEL(4)", "SQLite", 100), ("CFLEVEL(5)", "SQLite", 250), ("CFLEVEL(5)", "PostgreSQL", 240))
    rows += [
        point(
            rate,
            5,
            run="levels",
            scenario=_LEVELS,
            step=step,
            message_bytes=65536,
            series=f"level={level}, message_bytes=65536, repository={repository}",
            parameters={"level": level, "message_bytes": "65536", "repository": repository},
        )
        for step, (level, repository, rate) in enumerate(steps)
    ]
    return [run("shared", scenario="sq-shared-private"), run("levels", scenario=_LEVELS)], rows


_LEVELS = "smds-cf4-vs-cf5-rate"
_PRINTED = [
    figure(1, "client-rr-np", 1000, clients=9),
    figure(2, "client-rr-np", 900, clients=20),
    figure(3, "client-rr-pm", 250, section="Another section"),
    figure(4, "client-rr-np", 800, product_version="V5.2"),
    figure(5, "client-rr-pm", 100, product_version="V5.2"),
    figure(6, "client-rr-pm", 999, basis="estimate"),
    figure(7, "client-rr-pm", 999, platform="another machine"),
    figure(8, "client-rr-pm", 999, table_or_figure="prose"),
    figure(9, "client-rr-pm", 99, message_bytes=256),
    figure(10, "appl-c1", 2000),
    figure(11, "appl-c1", 500, message_bytes=20480),
    figure(12, "local-rr-np", 6393, platform="a third machine"),
    figure(13, "local-trusted-np", 9421, platform="a third machine"),
    figure(14, "dq-rr-np", 4722, platform="a third machine"),
    figure(15, "local-rr-pm", 1177, platform="a third machine"),
]


@pytest.fixture(scope="module")
def compared(spark: SparkSession) -> list[Row]:
    parts = (_releases(), _products(), _options(), _ratios(), _channels(), _copies(), _shared())
    made = [each for part, _ in parts for each in part]
    rows = [each for _, part in parts for each in part]
    measured, listed, contestants = points(spark, rows), runs(spark, made), table(spark, CONTESTANT, [])
    ours = comparison_metrics(measured, curve_steps(measured), listed, contestants).localCheckpoint()
    memory = memory_metrics(table(spark, RESULT, []), table(spark, BRONZE["phase"], []), listed, contestants)
    printed = metrics(spark, _PRINTED)
    found = comparisons(ours, memory, printed, printed_ratios(printed))
    assert tuple(found.columns) == COMPARISON.names
    return found.collect()


def test_keys_tell_rows_apart(compared: list[Row]) -> None:
    keys = [tuple(row[name] for name in COMPARISON.key) for row in compared]
    assert len(keys) > 30
    assert len(set(keys)) == len(keys)


def test_releases_and_repeats(compared: list[Row]) -> None:
    found = [row for row in compared if row["metric"] == "rate" and row["kind"] in ("release", "repeat")]
    assert {(row["kind"], row["subject"], row["left_run"], row["right_run"]) for row in found} == {
        ("repeat", "Ostler, the same again", "first", "second"),
        ("release", "Ostler: 1.1 a after 1.0 a", "second", "third"),
        ("release", "Ostler: 1.2 a after 1.1 a", "third", "slow"),
        ("release", "Ostler: 1.3 a after 1.2 a", "slow", "wider"),
        ("repeat", "bare ping-pong, the same again", "first", "second"),
        ("repeat", "bare ping-pong, the same again", "second", "third"),
        ("repeat", "bare ping-pong, the same again", "third", "slow"),
        ("repeat", "bare ping-pong, the same again", "slow", "wider"),
    }
    # Its peak is one of other numbers of clients: there is only one that both have.
    assert {row["clients"] for row in found if row["right_run"] == "wider"} == {1}
    release = [row for row in found if row["right_run"] == "third" and row["kind"] == "release"]
    assert {row["clients"] for row in release} == {None, 1, 2}
    assert {(row["left_value"], row["right_value"], row["verdict"]) for row in release} == {(102.0, 200.0, "better")}
    assert {row["tolerance_percent"] for row in release} == {21.0}


def test_what_the_machine_did_is_noise(compared: list[Row]) -> None:
    slow = [row for row in compared if row["metric"] == "rate" and row["right_run"] == "slow"]
    ours = [row for row in slow if row["kind"] == "release"]
    assert {row["verdict"] for row in ours} == {"same"}
    # 550 are 83.3 % above 300.
    assert {round(row["tolerance_percent"], 1) for row in ours} == {89.3}
    bare = [row for row in slow if row["kind"] == "repeat"]
    assert {(row["verdict"], row["tolerance_percent"]) for row in bare} == {("worse", 21.0)}


def test_products(compared: list[Row]) -> None:
    found = [row for row in compared if row["kind"] == "product" and row["scenario"] == _PRODUCTS]
    peaks = {row["subject"]: row for row in found if row["metric"] == "rate" and row["clients"] is None}
    assert {name: row["verdict"] for name, row in peaks.items()} == {
        "Ostler to RabbitMQ": "better",
        "Ostler, pipelined to RabbitMQ": "better",
        "Ostler, ostler.connect to RabbitMQ, pika": "worse",
        "Ostler, pipelined to bare ping-pong": "not comparable",
        "Ostler to bare ping-pong": "not comparable",
        "Ostler, ostler.connect to bare ping-pong": "not comparable",
    }
    assert peaks["Ostler to RabbitMQ"]["our_ratio"] == 1.25
    assert peaks["Ostler to bare ping-pong"]["our_ratio"] == 0.25
    times = [row for row in found if row["metric"].startswith("mean") and row["subject"] == "Ostler to RabbitMQ"]
    assert [(row["clients"], row["verdict"], row["left_value"]) for row in times] == [(4, "better", 5000.0)]


def test_options(compared: list[Row]) -> None:
    found = [row for row in compared if row["metric"] == "rate" and row["clients"] is None]
    of_tls = [row for row in found if row["kind"] == "option" and row["scenario"] == _OPTIONS]
    assert {(row["subject"], row["series"]): round(row["our_ratio"], 3) for row in of_tls} == {
        ("TLS with A, old to plain", "Ostler, message_bytes=2048"): 0.4,
        ("TLS with B to plain", "Ostler, message_bytes=2048"): 0.6,
        ("TLS with B to plain", "Ostler, message_bytes=20480"): 0.9,
        ("20480 bytes to 2048", "Ostler, cipher_spec=none"): 0.1,
        ("20480 bytes to 2048", "Ostler, cipher_spec=B"): 0.15,
    }


def test_ratios_of_ours_beside_published_ones(compared: list[Row]) -> None:
    found = {
        (row["subject"], row["left_run"], row["right_run"]): row
        for row in compared
        if (row["kind"], row["metric"]) == ("ratio", "rate")
    }
    ours = found["persistent to nonpersistent", "np", "pm"]
    assert (ours["published_ratio"], ours["our_ratio"], ours["verdict"]) == (0.25, 0.5, "better")
    assert (ours["left_value"], ours["right_value"], ours["series"]) == (400.0, 200.0, "2048 bytes, Ostler")
    assert ours["published_source"] == "A report: A section, Table 1; Another section, Table 1 (figures 1 and 3)"
    older = found["persistent to nonpersistent", "figure 4", "figure 5"]
    assert (older["published_ratio"], older["our_ratio"], older["verdict"]) == (0.125, None, "not comparable")
    size = found["size to size", "figure 10", "figure 11"]
    assert (size["published_ratio"], size["series"]) == (0.25, "2048 to 20480 bytes, a machine")
    pairs = {pair[1:] for pair in found if pair[0] == "persistent to nonpersistent"}
    assert pairs == {("np", "pm"), ("plain-rr", "slow-rr"), ("figure 4", "figure 5")}
    # What was compiled and what was not are two programs.
    uneven = found["persistent to nonpersistent", "plain-rr", "slow-rr"]
    assert (uneven["our_ratio"], uneven["verdict"]) == (0.125, "not comparable")
    assert uneven["published_ratio"] == pytest.approx(1177 / 6393)


def test_ratios_by_options_and_without_printed_figures(compared: list[Row]) -> None:
    found = {row["subject"]: row for row in compared if (row["kind"], row["metric"]) == ("ratio", "rate")}
    linear, binding = found["linear to circular"], found["trusted to standard"]
    assert (linear["published_ratio"], linear["our_ratio"], linear["verdict"]) == (None, 0.9, "not comparable")
    assert "without printed figures" in linear["published_source"]
    assert binding["published_ratio"] == pytest.approx(9421 / 6393)
    assert (binding["scenario"], binding["left_run"], binding["verdict"]) == (_TRUSTED, "bound", "same")
    tls = [
        row["our_ratio"]
        for row in compared
        if (row["kind"], row["metric"]) == ("ratio", "rate") and row["subject"] == "TLS to plain"
    ]
    assert sorted(round(ratio, 3) for ratio in tls) == [0.4, 0.6, 0.8, 0.9]


def test_names_are_those_of_the_laboratory() -> None:
    assert (ONE_MANAGER.name, (SHOVELS.name,)) == (ONE_QUEUE_MANAGER, TWO_NODES)
    assert lab_contract.WITHOUT_COPIES == WITHOUT_COPIES
    assert tuple(each.title for each in REPLICATED) == COPIED_PEERS
    assert PRIVATE.name == PRIVATE_QUEUES


def test_two_queue_managers_to_one_and_to_two_nodes(compared: list[Row]) -> None:
    """Whatever channels there are, the load is that of the same one queue manager; it is not held against two nodes."""
    peaks = [
        row for row in compared if row["metric"] == "rate" and row["clients"] is None and row["left_run"] == "joined"
    ]
    assert {(row["kind"], row["subject"], row["series"]): round(row["our_ratio"], 2) for row in peaks} == {
        ("option", "two queue managers to one", "Ostler, channels=1, cipher_spec=none"): 0.5,
        ("option", "two queue managers to one", "Ostler, channels=4, cipher_spec=none"): 0.6,
        ("option", "4 channels to one", "Ostler, cipher_spec=none"): 1.2,
        ("option", "4 channels to one", "RabbitMQ, shovel, cipher_spec=none"): 1.5,
        ("product", "Ostler to RabbitMQ, shovel", "channels=1, cipher_spec=none"): 5.0,
        ("product", "Ostler to RabbitMQ, shovel", "channels=4, cipher_spec=none"): 4.0,
    }


def test_copies_to_none_and_to_products_with_copies(compared: list[Row]) -> None:
    """A queue manager without copies is held against none that has them."""
    peaks = [
        row for row in compared if row["metric"] == "rate" and row["clients"] is None and row["left_run"] == "copied"
    ]
    assert {(row["kind"], row["subject"]): round(row["our_ratio"], 2) for row in peaks} == {
        ("option", "copies to none"): 0.8,
        ("product", "Ostler to RabbitMQ quorum queues"): 2.0,
    }


def test_two_queue_managers_to_local_are_of_one_run(compared: list[Row]) -> None:
    (row,) = (
        row
        for row in compared
        if (row["kind"], row["metric"]) == ("ratio", "rate") and row["subject"] == "two queue managers to local"
    )
    assert (row["left_run"], row["right_run"], row["our_ratio"]) == ("apart", "apart", 0.75)
    assert row["published_ratio"] == pytest.approx(4722 / 6393)


def test_shared_queues_to_private_ones(compared: list[Row]) -> None:
    (row,) = (
        row
        for row in compared
        if row["scenario"] == "sq-shared-private" and row["metric"] == "rate" and row["clients"] is None
    )
    assert (row["subject"], row["our_ratio"], row["left_name"]) == ("shared queues to private ones", 0.25, PRIVATE.name)


def test_a_ratio_in_the_text_of_a_report_stands_beside_ours(compared: list[Row]) -> None:
    """Of rates alone: the text says nothing of processor time."""
    of_levels = [row for row in compared if row["subject"] == "CFLEVEL(5) to CFLEVEL(4)" and row["kind"] == "ratio"]
    (rate,) = (row for row in of_levels if row["metric"] == "rate" and row["our_ratio"] is not None)
    assert (rate["published_ratio"], rate["our_ratio"], rate["verdict"]) == (3.0, 2.5, "worse")
    assert "in the text" in rate["published_source"]
    (cost,) = (row for row in of_levels if row["metric"] == "broker processor time, us")
    assert (cost["published_ratio"], cost["verdict"]) == (None, "not comparable")


def test_puts_while_a_data_set_grows_to_those_before(spark: SparkSession) -> None:
    values = {RATE_BEFORE_GROWTH: [1000.0, 1000.0], RATE_IN_GROWTH: [500.0, 500.0]}
    rows = [
        {
            "run": "grown",
            "scenario": "smds-expansion",
            "contestant": "Ostler",
            "step": 0,
            "series": "",
            "repetition": at,
            "name": name,
            "value": value,
            "count": 1,
        }
        for name, found in values.items()
        for at, value in enumerate(found)
    ]
    phase = {
        "run": "grown",
        "contestant": "Ostler",
        "step": 0,
        "repetition": 0,
        "phase": "measured",
        "clients": 10,
        "message_bytes": 65536,
        "persistent": False,
        "scenario": "smds-expansion",
        "parameters": {},
    }
    who = {"run": "grown", "contestant": "Ostler", "kind": "ostler", "driver": "lean", "promise": "put"}
    listed = runs(spark, [run("grown", scenario="smds-expansion")])
    ours = story_metrics(
        table(spark, RESULT, rows), table(spark, BRONZE["phase"], [phase]), listed, table(spark, CONTESTANT, [who])
    )
    (row,) = phase_comparisons(ours).collect()
    assert (row["subject"], row["our_ratio"]) == ("puts while a data set grows to those before", 0.5)
    assert row["published_ratio"] == pytest.approx(0.394, abs=0.001)
    assert (row["left_value"], row["right_value"]) == (1000.0, 500.0)
