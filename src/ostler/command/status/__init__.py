"""Rows of DISPLAY ... STATUS for MQSC and PCF."""
