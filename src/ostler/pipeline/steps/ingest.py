"""Ingest: samples of the laboratory into bronze, as measured, with every rule of the schema enforced."""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Final

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from ostler.lab.store.manifest import Manifest
from ostler.pipeline.lake.quality import RULES
from ostler.pipeline.lake.rule_columns import broken_rows, kept_rows
from ostler.pipeline.lake.run_files import FileProblem, FoundRun, problem_row
from ostler.pipeline.lake.spark_schemas import as_table, spark_schema
from ostler.pipeline.lake.tables import ENTRANT, REJECTED, RUN, LakeTable

# The structure of the list in manifests.
_ENTRANTS: Final = "array<struct<name string, kind string, promise string, version string>>"


def read_samples(spark: SparkSession, table: LakeTable, paths: Sequence[str]) -> DataFrame:
    """Return the rows of sound files of one table, with its own schema and not that of the files."""
    schema = spark_schema(table)
    return spark.read.schema(schema).parquet(*paths) if paths else spark.createDataFrame([], schema)


def sound_samples(samples: DataFrame, table: LakeTable) -> DataFrame:
    """Return the samples that keep all rules."""
    return as_table(kept_rows(samples, RULES[table.name]), table)


def rejected_samples(samples: DataFrame, table: LakeTable) -> DataFrame:
    """Return the other samples, each with the first rule that it violates."""
    return broken_rows(samples, RULES[table.name], table)


def rejected_files(spark: SparkSession, problems: Iterable[FileProblem]) -> DataFrame:
    """Return files that were quarantined before any row of them was read."""
    return spark.createDataFrame([problem_row(each) for each in problems], spark_schema(REJECTED))


# -- manifests ---------------------------------------------------------------------------------------------------------


def run_table(spark: SparkSession, runs: Sequence[FoundRun]) -> DataFrame:
    """Return the table of runs, from manifests."""
    return spark.createDataFrame([_run_row(each) for each in runs], spark_schema(RUN))


def entrant_table(spark: SparkSession, runs: Sequence[FoundRun]) -> DataFrame:
    """Return the table of contestants, from manifests."""
    rows = [row for each in runs for row in _entrant_rows(each.stored.manifest)]
    return spark.createDataFrame(rows, spark_schema(ENTRANT))


def with_runs(before: DataFrame, fresh: DataFrame, table: LakeTable, names: Sequence[str]) -> DataFrame:
    """Return a small table by run, with the rows of some runs replaced."""
    others = before.filter(~F.col("run").isin(list(names)))
    return as_table(others.unionByName(fresh), table)


def reread_manifests(runs: DataFrame) -> DataFrame:
    """Return the table of runs, from the stored environments: lakes of the first steps have the version of the lake
    there."""
    fields = F.get_json_object("environment", "$.versions.ostler")
    return as_table(runs.withColumn("version", F.coalesce(fields, F.col("version"))), RUN)


def reread_contestants(runs: DataFrame) -> DataFrame:
    """Return the table of contestants, from the stored environments."""
    listed = F.from_json(F.get_json_object("environment", "$.entrants"), _ENTRANTS)
    named = runs.select("run", F.inline(listed)).filter(F.col("name") != "").dropDuplicates(["run", "name"])
    texts = [F.coalesce(F.col(name), F.lit("")).alias(name) for name in ("kind", "promise", "version")]
    return as_table(named.select("run", F.col("name").alias("contestant"), *texts), ENTRANT)


def _run_row(run: FoundRun) -> tuple[object, ...]:
    manifest = run.stored.manifest
    environment = manifest.environment
    return (
        manifest.run,
        manifest.scenario,
        _moment(manifest.began),
        _moment(manifest.ended),
        run.stored.condition.value,
        manifest.schema_version,
        str(_under(environment, "versions").get("ostler", "")),
        str(environment.get("revision", "")),
        environment.get("compiled") is True,
        _machine_text(_under(environment, "machine")),
        str(_under(environment, "kernel").get("release", "")),
        _disk_text(_under(environment, "disk")),
        _noise_percent(environment),
        shlex.join(manifest.command),
        {name: _value_text(value) for name, value in manifest.parameters.items()},
        [f"{each.name}: {each.text}" for each in manifest.flags],
        json.dumps(dict(environment), sort_keys=True),
        str(run.stored.directory),
        run.content,
    )


def _entrant_rows(manifest: Manifest) -> list[tuple[str, ...]]:
    listed = manifest.environment.get("entrants")
    found: dict[str, tuple[str, ...]] = {}
    for each in listed if isinstance(listed, list) else []:
        if isinstance(each, dict) and each.get("name"):
            fields = tuple(str(each.get(name, "")) for name in ("name", "kind", "promise", "version"))
            found[fields[0]] = (manifest.run, *fields)
    return list(found.values())


def _moment(text: str) -> datetime | None:
    try:
        return datetime.fromisoformat(text)
    except ValueError:
        return None


def _under(environment: Mapping[str, object], name: str) -> Mapping[str, object]:
    found = environment.get(name)
    return found if isinstance(found, dict) else {}


def _value_text(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else "" if value is None else str(value)


def _machine_text(machine: Mapping[str, object]) -> str:
    if not machine:
        return ""
    memory = machine.get("memory_megabytes")
    fields = f", {memory / 1024:.0f} GiB" if isinstance(memory, int | float) else ""
    return f"{machine.get('processor', 'unknown processor')}, {machine.get('cores', '?')} cores{fields}"


def _disk_text(disk: Mapping[str, object]) -> str:
    return " on ".join(str(disk[name]) for name in ("file_system", "device") if disk.get(name))


def _noise_percent(environment: Mapping[str, object]) -> float | None:
    percent = _under(environment, "noise").get("percent")
    return float(percent) if isinstance(percent, int | float) else None
