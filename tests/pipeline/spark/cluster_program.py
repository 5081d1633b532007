"""Takes runs into a lake on a master, as a program: a process can have one Spark only, and tests have theirs."""

from __future__ import annotations

import json
import sys
from pathlib import Path

from ostler.pipeline.run import run_pipeline
from ostler.pipeline.spark.session import open_session

JAVA_OPTIONS = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"

if __name__ == "__main__":
    master, runs, lake = sys.argv[1:]
    settings = {"spark.driver.memory": "1g", "spark.executor.memory": "512m", "spark.sql.shuffle.partitions": "2"}
    settings |= {"spark.driver.host": "127.0.0.1", "spark.driver.bindAddress": "127.0.0.1"}
    # Nothing begins before all workers are there, and nothing is compiled that runs for a moment only.
    settings |= {"spark.scheduler.minRegisteredResourcesRatio": "1.0", "spark.sql.codegen.wholeStage": "false"}
    settings |= {"spark.cores.max": "2", "spark.executor.extraJavaOptions": JAVA_OPTIONS}
    settings |= {"spark.driver.extraJavaOptions": JAVA_OPTIONS, "spark.sql.codegen.factoryMode": "NO_CODEGEN"}
    spark = open_session(master, settings=settings)
    outcome = run_pipeline(lambda rows: spark, Path(lake), [Path(runs)], gold=())
    executors = spark.sparkContext._jsc.sc().getExecutorMemoryStatus().size() - 1  # type: ignore[union-attr]
    print(json.dumps({"executors": executors, "taken": outcome.taken}))
    spark.stop()
