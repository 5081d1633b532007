"""Workers that use the Python libraries of brokers."""
