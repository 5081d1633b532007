"""Status rows for MQSC and PCF, by the names of their attributes."""
