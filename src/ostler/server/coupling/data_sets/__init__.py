"""Shared message data sets (SMDS): files that hold the bodies of shared messages outside their structures."""
