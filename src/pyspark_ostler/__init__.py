"""Where Spark looks for the data source `ostler`: it imports every module whose name begins with `pyspark_`.

spark.read.format("ostler").option("host", "localhost").option("queueManager", "QM1").option("queue", "ORDERS").load()
"""

from ostler.pipeline.source.source import OstlerSource as DefaultSource

__all__ = ["DefaultSource"]
