"""Families: the code that runs scenarios, by name.

To add one, write the module that runs it, name its function here as `module:function`, and give the scenarios its
name in their data file. A family without a runner is known but cannot be run yet.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True)
class Family:
    """A family. `runner` is `module:function`, loaded only when a scenario of the family is run; empty while there is
    none. `benchmark` is the command of `ostler bench` that measures something similar meanwhile."""

    name: str
    title: str
    runner: str = ""
    benchmark: str = ""


_LOADS: Final = "ostler.lab.families.loads"

_ALL: Final = (
    Family("request-reply", "requests and replies on one pair of queues, the next as soon as the reply is in",
           f"{_LOADS}:request_reply", benchmark="request-reply"),
    Family("large", "requests and replies of 20 KB and 200 KB on one pair of queues", f"{_LOADS}:request_reply"),
    Family("rated", "requests at a fixed rate: how many applications can be answered within a second",
           f"{_LOADS}:request_reply"),
    Family("trusted", "requests and replies with responders inside the queue manager's process",
           f"{_LOADS}:verbs_only"),
    Family("short-session", "connect, a few round trips, disconnect, again", f"{_LOADS}:sessions"),
    Family("capacity", "as many connected applications as possible, each with little to do",
           f"{_LOADS}:verbs_only", benchmark="connections"),
    Family("response-time", "put and get of a single application by size of messages",
           "ostler.lab.families.response_time:experiment", "mqi-response-time"),
    Family("verb-timing", "every verb of a single application, timed on its own",
           "ostler.lab.families.verb_timing:experiment", "mqi-verb-timing"),
    Family("queue-sets", "requests and replies on ten pairs of queues, with applications bound locally or as clients",
           f"{_LOADS}:request_reply_pipelined", benchmark="request-reply"),
    Family("tls", "requests and replies of clients through each CipherSpec", f"{_LOADS}:verbs_only"),
    Family("jms-messages", "requests and replies with messages as JMS programs send them", f"{_LOADS}:jms_messages"),
    Family("logging", "persistent round trips by the type and the size of the log", f"{_LOADS}:verbs_only"),
    Family("implicit-syncpoint", "persistent puts outside units of work against units of work", f"{_LOADS}:verbs_only"),
    Family("file-systems", "persistent round trips by what the log is on", f"{_LOADS}:verbs_only"),
    Family("private-queues", "requests and replies in one queue manager, on one to fifteen pairs of queues",
           f"{_LOADS}:private_queues"),
    Family("pass-through", "one client puts and one gets, for each of a growing number of queues", f"{_LOADS}:one_way"),
    Family("point-to-point", "producers at a fixed rate, each with its own queue and consumer", f"{_LOADS}:one_way"),
    Family("appliance", "client requests and replies on one or ten queue managers",
           f"{_LOADS}:request_reply_pipelined"),
    Family("connection-scaling", "how fast thousands of clients connect",
           "ostler.lab.families.connection_scaling:experiment", "connections"),
    Family("chlauth-connect", "the cost of connecting by the number of channel authentication rules",
           "ostler.lab.families.channel_rules:experiment", "chlauth-connect-cost"),
    Family("chlauth-restart", "the time of a restart by the number of channel authentication rules",
           "ostler.lab.families.channel_rules:experiment", "chlauth-restart"),
    Family("properties", "messages with properties by PROPCTL of the queue",
           "ostler.lab.families.properties:experiment"),
    Family("storage", "memory for each connection, channel and object",
           "ostler.lab.families.storage:experiment", "memory"),
    Family("trace", "the cost of tracing"),
    Family("distributed", "requests and replies, or messages one way, between two queue managers over message "
           "channels, beside the same on one of them and on two RabbitMQ nodes with shovels",
           "ostler.lab.families.channels.distributed:experiment"),
    Family("cluster", "requests to one of several queue managers of a cluster"),
    Family("publish-subscribe", "one publisher and many subscribers, or many pairs of them",
           f"{_LOADS}:publish_subscribe"),
    Family("topic-tree", "what large topic trees cost", "ostler.lab.families.topics.topic_tree:experiment"),
    Family("neighbours", "what a client feels of another one that does whatever it may",
           "ostler.lab.families.neighbours.hostile_neighbour:experiment"),
    Family("shared-queues", "requests and replies on queues that several queue managers share"),
    Family("shared-data-sets", "large messages of shared queues on disk: formatting, growth, backup, recovery"),
    Family("bridge", "requests to transactions of another system"),
    Family("replication", "client requests and replies on queue managers that are copied to other machines"),
)  # fmt: skip

FAMILIES: Final[dict[str, Family]] = {family.name: family for family in _ALL}
