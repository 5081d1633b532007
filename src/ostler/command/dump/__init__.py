"""dmpmqcfg: definitions as MQSC text."""
