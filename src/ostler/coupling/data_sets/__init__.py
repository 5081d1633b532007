"""Shared message data sets (SMDS) without their I/O: the layout of the files, space maps, the accounts of buffers."""
