"""Bodies of shared messages as blobs of the shared repository: OFFLOAD(DB2)."""
