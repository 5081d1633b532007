"""MQSC of queue-sharing groups: scope, structures, data sets, units in doubt."""
