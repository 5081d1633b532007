"""Sessions behind the Python API: in process, and over a link with reconnection."""
