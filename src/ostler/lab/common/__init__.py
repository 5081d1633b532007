"""Measurements that several families and benchmarks share."""
