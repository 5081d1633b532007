"""The tables of a running queue manager: its activity by interval, and the accounting of connections.

Nothing here needs Spark: programs that show these tables read the same definitions.
"""

from __future__ import annotations

from typing import Final

from ostler.pipeline.lake.tables import LakeColumn, LakeTable, Layer

SCENARIO: Final = "live"
CONTESTANT: Final = "ostler"
RUN_PREFIX: Final = "live-"
QUEUE_MANAGER, QUEUE, CHANNEL = "queue manager", "queue", "channel"

_MESSAGE: Final = (
    LakeColumn("run", "string", "the hour of its message: live-QM1-20261116T06Z"),
    LakeColumn("message", "string", "identifier of its message, in hexadecimal"),
    LakeColumn("queue_manager", "string", "the queue manager that sent it"),
)
_INTERVAL: Final = (
    LakeColumn("began", "timestamp", "when the interval began"),
    LakeColumn("ended", "timestamp", "when it ended"),
    LakeColumn("seconds", "double", "length of the interval, in whole seconds, from the record"),
)
_VERBS: Final = (
    LakeColumn("puts", "bigint", "messages put, by MQPUT and MQPUT1", True),
    LakeColumn("put_bytes", "bigint", "their length", True),
    LakeColumn("gets", "bigint", "messages got", True),
    LakeColumn("get_bytes", "bigint", "their length", True),
    LakeColumn("browses", "bigint", "messages browsed", True),
    LakeColumn("browse_bytes", "bigint", "their length", True),
    LakeColumn("failed", "bigint", "verbs that failed; a get that found no message among them", True),
    LakeColumn("opens", "bigint", "objects opened", True),
    LakeColumn("commits", "bigint", "units of work committed", True),
    LakeColumn("backouts", "bigint", "units of work backed out", True),
)

ACTIVITY: Final = LakeTable(
    "activity",
    Layer.GOLD,
    "What a queue manager that is watched did in each interval: it, its queues and its channels.",
    (
        *_MESSAGE,
        LakeColumn("scope", "string", "queue manager, queue or channel"),
        LakeColumn("object", "string", "name of the queue or channel, or empty"),
        LakeColumn("address", "string", "partner of the channel, or empty"),
        *_INTERVAL,
        *_VERBS,
        LakeColumn("expired", "bigint", "messages that expired", True),
        LakeColumn("depth_min", "bigint", "lowest depth of the queue", True),
        LakeColumn("depth_max", "bigint", "highest depth of the queue", True),
        LakeColumn("time_on_queue_us", "double", "how long messages that were got had waited, on average", True),
        LakeColumn("connections", "bigint", "applications that connected", True),
        LakeColumn("connections_max", "bigint", "most at the same time", True),
        LakeColumn("cpu_us", "bigint", "processor time of the queue manager", True),
        LakeColumn("log_bytes", "bigint", "written to its log", True),
        LakeColumn("log_forces", "bigint", "forces of its log", True),
        LakeColumn("requests", "bigint", "requests that came through the channel", True),
        LakeColumn("channel_bytes", "bigint", "bytes of the channel, both ways", True),
    ),
    ("message", "scope", "object", "address"),
    ("run",),
)
ACCOUNT: Final = LakeTable(
    "account",
    Layer.GOLD,
    "What each connection to a queue manager that is watched did: on the whole, and on each queue.",
    (
        *_MESSAGE,
        LakeColumn("connection", "string", "its identifier, as DISPLAY CONN shows it"),
        LakeColumn("sequence", "int", "which account of this connection, from 0"),
        LakeColumn("queue", "string", "the queue; empty for the whole connection"),
        LakeColumn("application", "string", "who connected"),
        LakeColumn("user", "string", "as whom"),
        LakeColumn("channel", "string", "through which channel, or empty"),
        LakeColumn("address", "string", "from where, or empty"),
        LakeColumn("connected", "timestamp", "since when; not in accounts of queues", True),
        *_INTERVAL,
        LakeColumn("is_last", "boolean", "whether the connection ended with it; not in accounts of queues", True),
        *_VERBS,
        LakeColumn("time_us", "bigint", "how long the queue manager worked for it, where records have it", True),
        LakeColumn("time_on_queue_us", "double", "how long messages that were got had waited, on average", True),
    ),
    ("message", "queue"),
    ("run",),
)
LIVE_TABLES: Final = {table.name: table for table in (ACTIVITY, ACCOUNT)}
