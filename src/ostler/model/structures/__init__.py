"""The structures of the MQI as they lie in memory: one table per structure, and the offsets the hot paths use."""
