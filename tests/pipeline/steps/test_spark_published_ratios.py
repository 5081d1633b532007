"""The rules over all published figures: what reports themselves say of their ratios must come out."""

from __future__ import annotations

from functools import cache

import pytest
from pyspark.sql import Row, SparkSession

from ostler.lab.scenarios.loader import catalogue
from ostler.lab.store.courses import BACKED_UP
from ostler.pipeline.steps.comparison_metrics import (
    CLIENTS_WITHIN_SECOND,
    MEMORY,
    MESSAGES,
    PROCESSOR_TIME,
    RATE,
    RESPONSE_TIME,
)
from ostler.pipeline.steps.published import printed_figures, published_figures, published_text, read_figures
from ostler.pipeline.steps.ratio_rules import RATIO_RULES
from ostler.pipeline.steps.ratios import published_ratios, rules_table


@cache
def _found(spark: SparkSession) -> list[Row]:
    published = published_figures(read_figures(printed_figures(spark, published_text())))
    return published_ratios(published, rules_table(spark)).filter("is_reference").collect()


def _ratio(
    spark: SparkSession,
    left: str,
    right: str,
    left_bytes: int,
    right_bytes: int,
    label: str = "",
    metric: str = RATE,
    place: int = -1,
) -> float:
    (row,) = (
        row
        for row in _found(spark)
        if (row["left_told"]["scenario"], row["right_told"]["scenario"]) == (left, right)
        and (row["left_bytes"], row["right_bytes"], row["label"]) == (left_bytes, right_bytes, label)
        and (row["metric"], row["place"]) == (metric, place)
    )
    return float(row["published_ratio"])


def test_every_rule_finds_figures_or_says_why_there_are_none(spark: SparkSession) -> None:
    found = {row["rule"] for row in _found(spark)}
    without = {rule.subject for number, rule in enumerate(RATIO_RULES) if number not in found and not rule.printed}
    assert without == {"linear to circular", "TLS to plain"}
    in_text = {rule.subject for rule in RATIO_RULES if rule.printed}
    assert in_text == {"CFLEVEL(5) to CFLEVEL(4)", "all offloaded to none", "32 buffers to 4"}
    assert all("without printed figures" in rule.source for rule in RATIO_RULES if rule.source)
    assert all(rule.source for number, rule in enumerate(RATIO_RULES) if number not in found)


def test_ratios_are_those_that_reports_tell(spark: SparkSession) -> None:
    # "About 66 %" with GCM and "41 %" with CBC.
    gcm = _ratio(spark, "rr-cc-tls-np", "rr-cc-tls-np", 2048, 2048, "ECDHE_RSA_AES_256_GCM_SHA384")
    cbc = _ratio(spark, "rr-cc-tls-np", "rr-cc-tls-np", 2048, 2048, "ECDHE_RSA_AES_256_CBC_SHA384")
    assert gcm == pytest.approx(0.66, abs=0.005)
    assert cbc == pytest.approx(0.41, abs=0.005)
    # 20.7 % are left with a millisecond between the machines.
    assert _ratio(spark, "appl-ha2", "appl-ha2-latency", 2048, 2048, "1") == pytest.approx(0.207, abs=0.0005)
    assert _ratio(spark, "local-rr-np", "local-rr-pm", 2048, 2048) == pytest.approx(1177 / 6393)
    assert _ratio(spark, "rr-bb-np", "rr-bb-np", 2048, 20480) == pytest.approx(174855 / 217623)
    assert _ratio(spark, "local-rr-np", "dq-rr-np", 2048, 2048) == pytest.approx(4722 / 6393)
    assert _ratio(spark, "rr-bb-np", "rr-dq-bb-np", 2048, 2048) == pytest.approx(268136 / 217623)
    assert _ratio(spark, "appl-c2", "appl-c4", 2048, 2048) == pytest.approx(166391 / 132101)


def test_models_of_the_appliance_are_compared(spark: SparkSession) -> None:
    found = [row for row in _found(spark) if row["subject"] == "model B to A" and row["metric"] == RATE]
    sizes = {(row["left_told"]["scenario"], row["left_bytes"]) for row in found}
    assert sizes == {(f"appl-c{number}", size) for number in (1, 2, 3, 4) for size in (256, 2048, 20480, 204800)}
    (row,) = (each for each in found if each["left_told"]["scenario"] == "appl-c1" and each["left_bytes"] == 2048)
    assert row["published_ratio"] == pytest.approx(119795 / 423218)
    assert row["product"] == "IBM MQ Appliance M2003"


def test_ratios_are_not_of_rates_alone(spark: SparkSession) -> None:
    footprint = ("zos-svrconn-footprint", "zos-svrconn-footprint")
    channel = ("zos-channel-footprint", "zos-channel-footprint")
    assert _ratio(spark, *channel, 1024, 1048576, metric=MEMORY) == pytest.approx(1134 / 103)
    # Of a channel: ten conversations share it.
    assert _ratio(spark, *footprint, 1024, 1024, "10", MEMORY) == pytest.approx(253 / 173)
    rated = ("client-rated-np", "client-rated-pm")
    assert _ratio(spark, *rated, 2048, 2048, metric=CLIENTS_WITHIN_SECOND) == pytest.approx(650 / 1350)
    cores = ("pubsub-multi-cores-np", "pubsub-multi-cores-np")
    assert _ratio(spark, *cores, 2048, 2048, "4", MESSAGES) == pytest.approx(86317 / 48088)
    found = {(row["subject"], row["metric"]) for row in _found(spark)}
    assert ("trusted to standard", RESPONSE_TIME) in found
    assert ("TLS to plain", PROCESSOR_TIME) in found
    assert {"JMS to MQI", "publish/subscribe to point-to-point", "own reply queues to a common one"} <= {
        subject for subject, _ in found
    }


def test_ratios_of_data_sets_are_those_of_the_table(spark: SparkSession) -> None:
    """1 : 3.4 : 4.6 of rates, 1 : 0.77 : 0.61 of processor time; backups are alike by size."""
    found = {
        (row["subject"], row["metric"]): row["published_ratio"]
        for row in _found(spark)
        if row["left_told"]["scenario"] == "smds-dsblock"
    }
    assert found["DSBLOCK(16K) to DSBLOCK(8K)", RATE] == pytest.approx(1603 / 466)
    assert found["DSBLOCK(128K) to DSBLOCK(8K)", RATE] == pytest.approx(2139 / 466)
    assert found["DSBLOCK(128K) to DSBLOCK(8K)", PROCESSOR_TIME] == pytest.approx(451 / 741)
    backup = ("smds-backup", "smds-backup")
    assert _ratio(spark, *backup, 1024, 5120, metric=BACKED_UP) == pytest.approx(74 / 71)
    assert _ratio(spark, *backup, 1024, 32768, metric=BACKED_UP) == pytest.approx(73 / 71)


def test_sources_are_told(spark: SparkSession) -> None:
    assert all("(figures " in row["published_source"] and ": " in row["published_source"] for row in _found(spark))


def test_scenarios_of_rules_are_known() -> None:
    known = catalogue().scenarios
    sides = [side for rule in RATIO_RULES for side in (rule.left, rule.right)]
    assert {each.scenario for each in sides} | {each.our_scenario or each.scenario for each in sides} <= set(known)
    for side in sides:
        sweeps = {sweep.name: sweep.values for sweep in known[side.our_scenario or side.scenario].sweeps}
        if side.parameter:
            assert side.parameter in sweeps
            assert side.our_value in {str(value) for value in sweeps[side.parameter]}
