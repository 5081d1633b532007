"""Data conversion between code pages and encodings (MQGMO_CONVERT)."""
