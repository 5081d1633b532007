"""Queues as sources and sinks of Spark: `spark.read.format("ostler")` and its three relatives.

Only `source`, `readers` and `writers` need Spark. The rest moves messages through staging queues, with the client API.
`docs/decisions/0015-queues-in-spark.md` describes the design and its guarantees.
"""
