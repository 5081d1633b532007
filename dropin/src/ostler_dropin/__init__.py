"""Shared parts of the modules `ibmmqc` and `pymqe`: connecting, shared handles, values of properties."""
