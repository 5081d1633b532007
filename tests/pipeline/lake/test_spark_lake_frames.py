"""Tables of the lake as Spark reads them: what is in the files, whatever directories are called."""

from __future__ import annotations

from pathlib import Path

from pyspark.sql import SparkSession
from tests.pipeline.steps.analysis_samples import run, runs

from ostler.pipeline.lake.lake_change import LakeChange
from ostler.pipeline.lake.lake_frames import read_table, write_table
from ostler.pipeline.lake.tables import RUN


def test_the_version_of_a_run_is_not_that_of_the_lake(spark: SparkSession, tmp_path: Path) -> None:
    """Directories are called `version=1`, and Spark takes that for a column unless it is told not to."""
    with LakeChange(tmp_path) as change:
        write_table(change, runs(spark, [run(version="2.3.4")]), RUN)
        lake = change.commit({})
    assert [row["version"] for row in read_table(spark, lake, RUN).collect()] == ["2.3.4"]
    assert lake.read(RUN)["version"].to_pylist() == ["2.3.4"]
