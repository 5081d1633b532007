"""Administration: the effect of commands, whether they arrive as MQSC, as PCF or from the Python interface."""
