"""Message properties, MQRFH2 headers and PROPCTL."""
