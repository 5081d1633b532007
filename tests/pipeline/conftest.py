"""One Spark for all tests of the pipeline: starting it takes longer than most of them."""

from __future__ import annotations

from collections.abc import Iterator
from importlib.util import find_spec

import pytest

if find_spec("pyspark") is None:
    collect_ignore_glob = ["test_spark_*.py"]
else:
    from pyspark.sql import SparkSession

    from ostler.pipeline.spark.session import open_session

    @pytest.fixture(scope="session")
    def spark() -> Iterator[SparkSession]:
        """Two cores, little memory, few partitions; and nothing compiled that runs for a moment only."""
        settings = {
            "spark.driver.memory": "1g",
            "spark.sql.shuffle.partitions": "2",
            "spark.default.parallelism": "2",
            "spark.sql.adaptive.enabled": "false",
            "spark.sql.codegen.wholeStage": "false",
            "spark.sql.codegen.factoryMode": "NO_CODEGEN",
            "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
        }
        session = open_session("local[2]", "ostler tests", settings)
        yield session
        session.stop()
