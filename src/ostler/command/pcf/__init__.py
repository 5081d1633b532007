"""PCF: requests, values, replies."""
