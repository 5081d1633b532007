"""Benchmarks of the pipeline and of queues in Spark."""
