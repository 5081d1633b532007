"""The raw MQI verbs over C structures."""
