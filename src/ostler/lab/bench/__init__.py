"""The benchmarks of `ostler bench`."""
