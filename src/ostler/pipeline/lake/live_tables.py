"""The tables of what a queue manager tells while it runs: its activity by interval, and the accounts of connections.

Nothing here needs Spark: whoever shows these tables reads the same definitions.
"""

from __future__ import annotations

from typing import Final

from ostler.pipeline.lake.tables import Column, LakeTable, Layer

SCENARIO: Final = "live"
CONTESTANT: Final = "ostler"
RUN_PREFIX: Final = "live-"
QUEUE_MANAGER, QUEUE, CHANNEL = "queue manager", "queue", "channel"

_MESSAGE: Final = (
    Column("run", "string", "the hour it was told in: live-QM1-20261116T06Z"),
    Column("message", "string", "identifier of the message that told it, in hexadecimal"),
    Column("queue_manager", "string", "who told it"),
)
_INTERVAL: Final = (
    Column("began", "timestamp", "when the interval began"),
    Column("ended", "timestamp", "when it ended"),
    Column("seconds", "double", "length of the interval, in whole seconds, as records tell it"),
)
_VERBS: Final = (
    Column("puts", "bigint", "messages put, by MQPUT and MQPUT1", True),
    Column("put_bytes", "bigint", "their length", True),
    Column("gets", "bigint", "messages got", True),
    Column("get_bytes", "bigint", "their length", True),
    Column("browses", "bigint", "messages browsed", True),
    Column("browse_bytes", "bigint", "their length", True),
    Column("failed", "bigint", "verbs that failed; a get that found no message among them", True),
    Column("opens", "bigint", "objects opened", True),
    Column("commits", "bigint", "units of work committed", True),
    Column("backouts", "bigint", "units of work backed out", True),
)

ACTIVITY: Final = LakeTable(
    "activity",
    Layer.GOLD,
    "What a queue manager that is watched did in each interval: it, its queues and its channels.",
    (
        *_MESSAGE,
        Column("scope", "string", "queue manager, queue or channel"),
        Column("object", "string", "name of the queue or channel, or empty"),
        Column("address", "string", "partner of the channel, or empty"),
        *_INTERVAL,
        *_VERBS,
        Column("expired", "bigint", "messages that expired", True),
        Column("depth_min", "bigint", "lowest depth of the queue", True),
        Column("depth_max", "bigint", "highest depth of the queue", True),
        Column("time_on_queue_us", "double", "how long messages that were got had waited, on average", True),
        Column("connections", "bigint", "applications that connected", True),
        Column("connections_max", "bigint", "most at the same time", True),
        Column("cpu_us", "bigint", "processor time of the queue manager", True),
        Column("log_bytes", "bigint", "written to its log", True),
        Column("log_forces", "bigint", "forces of its log", True),
        Column("requests", "bigint", "requests that came through the channel", True),
        Column("channel_bytes", "bigint", "bytes of the channel, both ways", True),
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
        Column("connection", "string", "its identifier, as DISPLAY CONN shows it"),
        Column("sequence", "int", "which account of this connection, from 0"),
        Column("queue", "string", "the queue; empty for the whole connection"),
        Column("application", "string", "who connected"),
        Column("user", "string", "as whom"),
        Column("channel", "string", "through which channel, or empty"),
        Column("address", "string", "from where, or empty"),
        Column("connected", "timestamp", "since when; accounts of queues do not tell", True),
        *_INTERVAL,
        Column("is_last", "boolean", "whether the connection ended with it; accounts of queues do not tell", True),
        *_VERBS,
        Column("time_us", "bigint", "how long the queue manager worked for it, where records tell that", True),
        Column("time_on_queue_us", "double", "how long messages that were got had waited, on average", True),
    ),
    ("message", "queue"),
    ("run",),
)
LIVE_TABLES: Final = {table.name: table for table in (ACTIVITY, ACCOUNT)}
