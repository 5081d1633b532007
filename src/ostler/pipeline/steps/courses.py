"""Windows in which something happens: its moments, and the rate in tenths of a second."""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from ostler.lab.store.courses import MOMENT, TENTH, TENTHS_PER_SECOND
from ostler.lab.store.segments import MEASURED
from ostler.pipeline.lake.spark_schemas import as_table
from ostler.pipeline.lake.tables import COURSE


def courses(statistics: DataFrame, runs: DataFrame) -> DataFrame:
    """Return the table of courses, from named metrics of bronze."""
    is_tenth = F.col("source") == TENTH
    found = statistics.filter(F.col("source").isin(MOMENT, TENTH) & (F.col("phase") == MEASURED))
    return as_table(
        found.join(runs.select("run", "scenario"), "run").withColumns(
            {
                "kind": F.col("source"),
                "at": F.when(is_tenth, F.col("position") / TENTHS_PER_SECOND).otherwise(F.col("value")),
                "rate": F.when(is_tenth, F.col("value") * TENTHS_PER_SECOND),
            }
        ),
        COURSE,
    )
