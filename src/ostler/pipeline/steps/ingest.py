"""Ingest: samples of the laboratory into bronze, as measured, with every rule of the schema enforced."""

from __future__ import annotations

import json
import shlex
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime
from typing import Final

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from ostler.pipeline.lake.lake_frames import empty_frame, table_frame
from ostler.pipeline.lake.quality import RULES
from ostler.pipeline.lake.rule_columns import broken_rows, kept_rows
from ostler.pipeline.lake.run_files import FileProblem, FoundRun, problem_row
from ostler.pipeline.lake.spark_schemas import as_table, spark_schema
from ostler.pipeline.lake.tables import CONTESTANT, DISCLOSURE, REJECTED, RUN, LakeTable
from ostler.pipeline.steps.contestants import driver_of, known_driver

# Both names of the list in manifests, the newer one first.
_CONTESTANTS: Final = ("contestants", "entrants")
# The structure of the list in manifests.
_CONTESTANT_FIELDS: Final = "array<struct<name string, kind string, promise string, version string, driver string>>"


def read_samples(spark: SparkSession, table: LakeTable, paths: Sequence[str]) -> DataFrame:
    """Return the rows of sound files of one table, with its own schema and not that of the files."""
    return spark.read.schema(spark_schema(table)).parquet(*paths) if paths else empty_frame(spark, table)


def sound_samples(samples: DataFrame, table: LakeTable) -> DataFrame:
    """Return the samples that keep all rules."""
    return as_table(kept_rows(samples, RULES[table.name]), table)


def rejected_samples(samples: DataFrame, table: LakeTable) -> DataFrame:
    """Return the other samples, each with the first rule that it violates."""
    return broken_rows(samples, RULES[table.name], table)


def rejected_files(spark: SparkSession, problems: Iterable[FileProblem]) -> DataFrame:
    """Return files that were quarantined before any row of them was read."""
    return table_frame(spark, REJECTED, [problem_row(each) for each in problems])


# -- manifests ---------------------------------------------------------------------------------------------------------


def manifest_table(spark: SparkSession, table: LakeTable, runs: Sequence[FoundRun]) -> DataFrame:
    """Return a table of MANIFEST_TABLES, from manifests."""
    return table_frame(spark, table, [row for each in runs for row in _ROWS[table.name](each)])


def with_runs(before: DataFrame, fresh: DataFrame, table: LakeTable, names: Sequence[str]) -> DataFrame:
    """Return a small table by run, with the rows of some runs replaced."""
    others = before.filter(~F.col("run").isin(list(names)))
    return as_table(others.unionByName(fresh), table)


def reread(table: LakeTable, runs: DataFrame) -> DataFrame:
    """Return a table of MANIFEST_TABLES, from what the lake has of manifests."""
    return _REREAD[table.name](runs)


def reread_manifests(runs: DataFrame) -> DataFrame:
    """Return the table of runs, from the stored environments: lakes of the first steps have the version of the lake
    there."""
    fields = F.get_json_object("environment", "$.versions.ostler")
    return as_table(runs.withColumn("version", F.coalesce(fields, F.col("version"))), RUN)


def reread_contestants(runs: DataFrame) -> DataFrame:
    """Return the table of contestants, from the stored environments."""
    texts_of = [F.get_json_object("environment", f"$.{name}") for name in _CONTESTANTS]
    listed = F.from_json(F.coalesce(*texts_of), _CONTESTANT_FIELDS)
    named = runs.select("run", F.inline(listed)).filter(F.col("name") != "").dropDuplicates(["run", "name"])
    texts = [F.coalesce(F.col(name), F.lit("")).alias(name) for name in ("kind", "promise", "version", "driver")]
    found = named.select("run", F.col("name").alias("contestant"), *texts)
    return as_table(found.withColumn("driver", known_driver()), CONTESTANT)


def reread_disclosures(runs: DataFrame) -> DataFrame:
    """Return the table of disclosures, from the stored environments. There are as few as manifests."""
    stored = runs.select("run", "scenario", "environment").collect()
    rows = [row for run, scenario, text in stored for row in _disclosed(run, scenario, json.loads(text or "{}"))]
    return table_frame(runs.sparkSession, DISCLOSURE, rows)


def _run_rows(run: FoundRun) -> list[tuple[object, ...]]:
    manifest = run.stored.manifest
    environment = manifest.environment
    row = (
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
    return [row]


def _contestant_rows(run: FoundRun) -> list[tuple[object, ...]]:
    manifest = run.stored.manifest
    listed = next((given for name in _CONTESTANTS if (given := manifest.environment.get(name))), None)
    found: dict[str, tuple[object, ...]] = {}
    for each in listed if isinstance(listed, list) else []:
        if isinstance(each, dict) and each.get("name"):
            name, kind, promise, version = (str(each.get(key, "")) for key in ("name", "kind", "promise", "version"))
            driver = str(each.get("driver") or driver_of(name, kind))
            found[name] = (manifest.run, name, kind, promise, version, driver)
    return list(found.values())


def _disclosure_rows(run: FoundRun) -> list[tuple[object, ...]]:
    manifest = run.stored.manifest
    return _disclosed(manifest.run, manifest.scenario, manifest.environment)


def _disclosed(run: str, scenario: str, environment: Mapping[str, object]) -> list[tuple[object, ...]]:
    """Return what the environment of a manifest says beside figures. Laboratories of other versions say less or
    more."""
    needs = _under(environment, "left_out").items()
    said: dict[str, list[tuple[object, object]]] = {
        "stand-in": list(_under(environment, "stand_ins").items()),
        "left-out": [(name, ", ".join(map(str, each))) for name, each in needs if isinstance(each, list)],
        "deviation": [(each.get("what"), each.get("why")) for each in _listed(environment, "deviations")],
        "configuration": [(each.get("name"), each.get("text")) for each in _listed(environment, "configuration")],
    }
    workload = environment.get("workload")
    if workload is not None:
        said["workload"] = [("", workload if isinstance(workload, str) else json.dumps(workload))]
    return [
        (run, scenario, kind, position, str(name or ""), str(text or ""))
        for kind, pairs in said.items()
        for position, (name, text) in enumerate(pairs)
    ]


def _listed(environment: Mapping[str, object], name: str) -> list[Mapping[str, object]]:
    found = environment.get(name)
    return [each for each in found if isinstance(each, dict)] if isinstance(found, list) else []


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


MANIFEST_TABLES: Final = (RUN, CONTESTANT, DISCLOSURE)
"""The tables that are made of manifests."""
_ROWS: Final[Mapping[str, Callable[[FoundRun], list[tuple[object, ...]]]]] = {
    RUN.name: _run_rows,
    CONTESTANT.name: _contestant_rows,
    DISCLOSURE.name: _disclosure_rows,
}
_REREAD: Final[Mapping[str, Callable[[DataFrame], DataFrame]]] = {
    RUN.name: reread_manifests,
    CONTESTANT.name: reread_contestants,
    DISCLOSURE.name: reread_disclosures,
}
