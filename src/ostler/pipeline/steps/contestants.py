"""What names of contestants tell: who is held against whom."""

from __future__ import annotations

from typing import Final

ONE_QUEUE_MANAGER: Final = "Ostler, one queue manager"
"""The same load without message channels, in scenarios of two queue managers: what these are held against."""
TWO_NODES: Final = ("RabbitMQ, shovel",)
"""Products of others that do what message channels do. They are no libraries, and one queue manager is not the same."""
# What clients that are libraries have in their names: "RabbitMQ, pika", and of ours only this one.
PEER_LIBRARY: Final = ", "
OUR_LIBRARY: Final = "ostler.connect"
CHANNEL_OPTIONS: Final = ("batch_size", "channels", "cipher_spec", "messages", "round_trip_ms")
"""Options of message channels, which one queue manager does not have."""
