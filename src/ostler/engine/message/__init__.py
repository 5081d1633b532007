"""Messages and their descriptors (MQMD, MQMDE)."""
