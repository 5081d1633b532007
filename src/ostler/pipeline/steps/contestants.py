"""Names of contestants that determine which are compared with which."""

from __future__ import annotations

from typing import Final

ONE_QUEUE_MANAGER: Final = "Ostler, one queue manager"
"""The same load without message channels, in scenarios of two queue managers, which are compared with it."""
TWO_NODES: Final = ("RabbitMQ, shovel",)
"""Other products that do the work of message channels. They are not libraries, and not comparable with one queue
manager."""
# The mark of libraries in names: "RabbitMQ, pika", and of ours only this one.
PEER_LIBRARY: Final = ", "
OUR_LIBRARY: Final = "ostler.connect"
CHANNEL_OPTIONS: Final = ("batch_size", "channels", "cipher_spec", "messages", "round_trip_ms")
"""Options of message channels, which one queue manager does not have."""
