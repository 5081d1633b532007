"""A bare ping-pong server and its clients: the limit of the machine."""
