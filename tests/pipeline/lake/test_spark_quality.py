"""Every rule is kept by a sound row, and broken by one that is not."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from pyspark.sql import SparkSession

from ostler.pipeline.errors import PipelineError
from ostler.pipeline.lake.quality import RULES
from ostler.pipeline.lake.spark_schemas import spark_schema
from ostler.pipeline.lake.tables import BRONZE, PUBLISHED, LakeTable
from ostler.pipeline.steps.ingest import rejected_samples, sound_samples
from ostler.pipeline.steps.published import (
    printed_figures,
    published_figures,
    published_text,
    read_figures,
    rejected_figures,
)

Row = dict[str, object]

KEY: Row = {"run": "r", "contestant": "ostler", "step": 0, "repetition": 0, "phase": "measured"}
SOUND: dict[str, Row] = {
    "phase": {
        "scenario": "s",
        "began": datetime(2026, 11, 16, tzinfo=UTC),
        "seconds": 1.0,
        "clients": 1,
        "message_bytes": 2048,
        "persistent": True,
        "rate_per_second": None,
        "parameters": {"a": "b"},
    },
    "operation": {
        "worker": 0,
        "second": 0,
        "operation": "put",
        "count": 2,
        "failed": 0,
        "late": 0,
        "lowest_ns": 10,
        "highest_ns": 20,
        "total_ns": 30,
    },
    "latency": {"worker": 0, "second": 0, "operation": "put", "bucket": 10, "count": 1},
    "event": {"second": 0, "kind": "flag", "name": "steal", "text": "some", "value": None},
    "statistic": {"second": 0, "source": "log", "record": 0, "object": "", "name": "n", "position": 0, "value": 1.0},
}
OTHERS: Row = {"bigint": 1, "int": 1, "double": 1.0, "string": "x"}

# What breaks rules that do not follow from a single column.
SPOILT: dict[str, list[tuple[str, Row]]] = {
    "phase": [
        ("seconds-none", {"seconds": 0.0}),
        ("clients-negative", {"clients": -1}),
        ("message-bytes-negative", {"message_bytes": -1}),
    ],
    "operation": [
        ("extremes-missing", {"lowest_ns": None}),
        ("extremes-missing", {"highest_ns": None}),
        ("extremes-missing", {"count": 0}),
        ("extremes-turned", {"lowest_ns": 30}),
        ("total-outside", {"total_ns": 41}),
        ("total-outside", {"total_ns": 19}),
        ("total-outside", {"count": 0, "lowest_ns": None, "highest_ns": None, "total_ns": 1}),
    ],
    "latency": [
        ("bucket-unknown", {"bucket": -1}),
        ("bucket-unknown", {"bucket": 4608}),
        ("count-none", {"count": 0}),
    ],
    "machine": [("cores-none", {"cores": 0}), ("core-percent-impossible", {"busiest_core_percent": 150.0})],
    "event": [("kind-unknown", {"kind": "rumour"})],
}
KEPT: dict[str, list[Row]] = {
    "phase": [{"phase": "warm-up", "seconds": 0.0}, {"parameters": {}}, {"rate_per_second": 5.5}],
    "operation": [
        {"count": 0, "lowest_ns": None, "highest_ns": None, "total_ns": 0},
        {"count": 1 << 40, "lowest_ns": 1 << 20, "highest_ns": 1 << 20, "total_ns": 1 << 60},
    ],
    "latency": [{"bucket": 0}, {"bucket": 4607}],
    "statistic": [{"value": -1.0}],
}


def sound_row(table: LakeTable) -> Row:
    usual: Row = {each.name: OTHERS.get(each.type) for each in table.columns}
    return usual | KEY | SOUND.get(table.name, {})


def spoilt_rows(table: LakeTable) -> list[tuple[str, Row]]:
    """Rules with rows that break them, and no rule before."""
    found: list[tuple[str, Row]] = [
        (f"{each.name}-empty", {each.name: None}) for each in table.columns if not each.optional
    ]
    negative = [rule.name for rule in RULES[table.name] if rule.name.endswith("-negative")]
    known = {f"{each.name}-negative": each for each in table.columns}
    found += [
        (name, {known[name].name: -1.0 if known[name].type == "double" else -1}) for name in negative if name in known
    ]
    real = [each.name for each in table.columns if each.type == "double"]
    found += [(f"{each}-no-number", {each: value}) for each in real for value in (float("nan"), float("-inf"))]
    found += [("phase-unknown", {"phase": "lunch"}), *SPOILT.get(table.name, [])]
    return [(rule, sound_row(table) | changes) for rule, changes in found]


@pytest.mark.parametrize("name", sorted(BRONZE))
def test_rows_that_break_a_rule_are_told_with_it(spark: SparkSession, name: str) -> None:
    table = BRONZE[name]
    spoilt = spoilt_rows(table)
    kept = [sound_row(table), *(sound_row(table) | changes for changes in KEPT.get(name, []))]
    # The contestant, which no rule looks at but for being there, numbers the rows.
    rows = [row if row["contestant"] is None else row | {"contestant": f"{at}"} for at, (_, row) in enumerate(spoilt)]
    values = [tuple(row[column] for column in table.names) for row in [*rows, *kept]]
    samples = spark.createDataFrame(values, spark_schema(table)).persist()
    rejected = {row["row"]: row for row in rejected_samples(samples, table).collect()}
    found = [row["rule"] for row in rejected.values()]
    assert sorted(found) == sorted(rule for rule, _ in spoilt)
    assert set(found) == {rule.name for rule in RULES[name]}
    assert all(row["reason"] and row["table"] == name for row in rejected.values())
    assert sound_samples(samples, table).count() == len(kept)
    samples.unpersist()


def test_all_published_figures_keep_the_rules(spark: SparkSession) -> None:
    read = read_figures(printed_figures(spark, published_text())).persist()
    assert rejected_figures(read).count() == 0
    rows = published_figures(read).orderBy("figure").collect()
    assert len(rows) == 1613
    assert [row["figure"] for row in rows] == list(range(1, 1614))
    first = rows[0]
    assert (first["report"], first["scenario"], first["value"]) == ("zos-v71", "zos-pq-np-out-scal", 1_000_000.0)
    assert first["variants"] == {"queues": "private", "qmgrs": "1", "cps": "30"}
    assert (first["message_bytes"], first["clients"]) == (None, None)
    named = [row["variants"] for row in rows if "offload all messages" in row["variants"]]
    assert named == [{"what": "default OFFLD3TH", "offload all messages": ""}]
    assert {row["basis"] for row in rows} > {"measured", "comparison", "calculated"}
    read.unpersist()


def test_printed_figures_that_make_no_sense_are_set_aside(spark: SparkSession) -> None:
    head = ",".join(PUBLISHED.names)
    sound = dict.fromkeys(PUBLISHED.names, "") | {"figure": "1", "report": "zos-v71", "value": "5"}
    sound |= {"metric": "messages_per_s", "unit": "messages/s"}
    spoilt = {
        "report-unknown": {"report": "gazette"},
        "scenario-unknown": {"scenario": "lunch"},
        "value-no-number": {"value": "many"},
        "bytes-no-number": {"message_bytes": "2KB"},
        "clients-no-number": {"clients": "a few"},
        "metric-empty": {"unit": ""},
        "persistence-unknown": {"persistence": "sometimes"},
    }
    rows = [sound, *(sound | each for each in spoilt.values())]
    text = "\n".join([head, *(",".join(row[name] for name in PUBLISHED.names) for row in rows)])
    read = read_figures(printed_figures(spark, text)).persist()
    assert published_figures(read).count() == 1
    rejected = rejected_figures(read).collect()
    assert {row["rule"] for row in rejected} == set(spoilt) == {rule.name for rule in RULES[PUBLISHED.name]}
    assert '"value":"many"' in next(row["row"] for row in rejected if row["rule"] == "value-no-number")
    read.unpersist()


def test_a_file_with_other_columns_is_refused(spark: SparkSession) -> None:
    for text in ("", "figure,report\n1,zos-v71", f"{','.join(PUBLISHED.names)}\n1,zos-v71"):
        with pytest.raises(PipelineError, match="does not have the columns"):
            printed_figures(spark, text)
