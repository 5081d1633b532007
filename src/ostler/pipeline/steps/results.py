"""Results: values of experiments that are not rates, such as the memory of a connection."""

from __future__ import annotations

from typing import Final

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from ostler.lab.store.segments import MEASURED
from ostler.pipeline.lake.spark_schemas import as_table
from ostler.pipeline.lake.tables import RESULT

_EXPERIMENT: Final = "experiment"


def results(statistics: DataFrame, runs: DataFrame) -> DataFrame:
    """Return the median of each repetition's values by name, from named metrics of bronze."""
    found = statistics.filter((F.col("source") == _EXPERIMENT) & (F.col("phase") == MEASURED))
    name = F.trim(F.concat_ws(" ", "object", "name")).alias("name")
    return as_table(
        found.join(runs.select("run", "scenario"), "run")
        .groupBy("run", "scenario", "contestant", "step", "repetition", name)
        .agg(F.median("value").alias("value"), F.count("value").alias("count")),
        RESULT,
    )
