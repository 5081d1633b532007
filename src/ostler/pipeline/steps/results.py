"""Results: values of experiments that are not rates, such as the memory of a connection."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from ostler.lab.scenarios.loader import catalogue
from ostler.lab.scenarios.model import Scenario
from ostler.lab.store.segments import MEASURED
from ostler.pipeline.lake.spark_schemas import as_table
from ostler.pipeline.lake.tables import RESULT
from ostler.pipeline.steps.series import series_text

_EXPERIMENT: Final = "experiment"


def results(statistics: DataFrame, runs: DataFrame, phases: DataFrame) -> DataFrame:
    """Return the median of each repetition's values by name, from named metrics and phases of bronze."""
    series = series_text({name: tuple(each.name for each in found.sweeps) for name, found in _scenarios()})
    points = (
        phases.filter(F.col("phase") == MEASURED)
        .dropDuplicates(["run", "contestant", "step"])
        .select("run", "contestant", "step", series.alias("series"))
    )
    found = statistics.filter((F.col("source") == _EXPERIMENT) & (F.col("phase") == MEASURED))
    name = F.trim(F.concat_ws(" ", "object", "name")).alias("name")
    return as_table(
        found.join(runs.select("run", "scenario"), "run")
        .groupBy("run", "scenario", "contestant", "step", "repetition", name)
        .agg(F.median("value").alias("value"), F.count("value").alias("count"))
        .join(points, ["run", "contestant", "step"], "left"),
        RESULT,
    )


def _scenarios() -> Iterable[tuple[str, Scenario]]:
    return catalogue().scenarios.items()
