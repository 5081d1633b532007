"""The data source `ostler`, under a name that Spark finds: it imports every module that begins with `pyspark_`.

spark.read.format("ostler").option("host", "localhost").option("queueManager", "QM1").option("queue", "ORDERS").load()
"""

from ostler.pipeline.source.source import OstlerSource as DefaultSource

__all__ = ["DefaultSource"]
