"""Names and drivers of contestants, which determine who is compared with whom."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from pyspark.sql import Column

ONE_QUEUE_MANAGER: Final = "Ostler, one queue manager"
"""The same load without message channels, in scenarios of two queue managers, which are compared with it."""
PRIVATE_QUEUES: Final = "Ostler, private queues"
"""The same load on queues that nobody shares, in scenarios of queue-sharing groups."""
TWO_NODES: Final = ("RabbitMQ, shovel",)
"""Other products that do the work of message channels. They are not libraries, and not comparable with one queue
manager."""
WITHOUT_COPIES: Final = "Ostler without copies"
"""The same load on a queue manager without copies, in scenarios whose other contestants have copies."""
COPIED_PEERS: Final = ("RabbitMQ quorum queues", "NATS JetStream R3")
"""Other products that copy their queues, as their names begin. They are not comparable with a queue manager that does
not."""
# The mark of libraries in names: "RabbitMQ, pika", and of ours only this one.
PEER_LIBRARY: Final = ", "
OUR_LIBRARY: Final = "ostler.connect"
CHANNEL_OPTIONS: Final = ("batch_size", "channels", "cipher_spec", "messages", "round_trip_ms")
"""Options of message channels, which one queue manager does not have."""
LEAN, LIBRARY, PROBE = "lean", "library", "probe"
"""The maker of requests: compiled frames of the laboratory, a library of Python, or a probe of a limit."""
_PEER: Final = "peer"
_LIMIT: Final = "limit"


def driver_of(name: str, kind: str) -> str:
    """Return the driver of a contestant of whom the manifest does not say it."""
    if kind == _LIMIT:
        return PROBE
    is_library = OUR_LIBRARY in name or (kind == _PEER and PEER_LIBRARY in name and name not in TWO_NODES)
    return LIBRARY if is_library else LEAN


def known_driver() -> Column:
    """Return the column `driver`, or where it is empty the driver by the columns `contestant` and `kind`."""
    # Reports use the names above, and need no Spark.
    from pyspark.sql import functions as F

    name, kind = F.col("contestant"), F.col("kind")
    is_peer_library = (kind == _PEER) & F.contains(name, F.lit(PEER_LIBRARY)) & ~name.isin(*TWO_NODES)
    found = (
        F.when(kind == _LIMIT, PROBE)
        .when(F.contains(name, F.lit(OUR_LIBRARY)) | is_peer_library, LIBRARY)
        .otherwise(LEAN)
    )
    return F.coalesce(F.when(F.col("driver") != "", F.col("driver")), found)
