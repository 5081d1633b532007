"""The raw MQI verbs over a link to a queue manager in another process."""
