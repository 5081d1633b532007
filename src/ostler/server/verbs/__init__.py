"""MQI verbs that arrive as requests on a link."""
