"""`ostler dev`: a queue manager with the configuration MQ developers know."""
