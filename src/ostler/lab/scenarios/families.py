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
    none. The module may belong to a part above the laboratory, such as the pipeline."""

    name: str
    title: str
    runner: str = ""


_LOADS: Final = "ostler.lab.families.loads"
_MICRO: Final = "ostler.lab.families.micro"

_ALL: Final = (
    Family("request-reply", "requests and replies on one pair of queues, the next as soon as the reply is in",
           f"{_LOADS}:request_reply"),
    Family("large", "requests and replies of 20 KB and 200 KB on one pair of queues", f"{_LOADS}:request_reply"),
    Family("rated", "requests at a fixed rate: how many applications can be answered within a second",
           f"{_LOADS}:rated"),
    Family("trusted", "requests and replies with responders inside the queue manager's process",
           f"{_LOADS}:verbs_only"),
    Family("short-session", "connect, a few round trips, disconnect, again", f"{_LOADS}:sessions"),
    Family("capacity", "as many connected applications as possible, each with little to do",
           f"{_LOADS}:verbs_only"),
    Family("response-time", "put and get of a single application by size of messages",
           "ostler.lab.families.response_time:experiment"),
    Family("verb-timing", "every verb of a single application, timed on its own",
           "ostler.lab.families.verb_timing:experiment"),
    Family("queue-sets", "requests and replies on ten pairs of queues, with applications bound locally or as clients",
           f"{_LOADS}:request_reply_pipelined"),
    Family("tls", "requests and replies of clients through each CipherSpec", f"{_LOADS}:verbs_only"),
    Family("jms-messages", "requests and replies with messages as JMS programs send them", f"{_LOADS}:jms_messages"),
    Family("logging", "persistent round trips by the type and the size of the log", f"{_LOADS}:verbs_only"),
    Family("implicit-syncpoint", "persistent puts outside units of work against units of work", f"{_LOADS}:verbs_only"),
    Family("file-systems", "persistent round trips by what the log is on", f"{_LOADS}:verbs_only"),
    Family("units-of-work", "messages one way by the number of messages in a unit of work", f"{_LOADS}:units_of_work"),
    Family("getters", "messages one way by the number of getters that wait: handed over, buffered or spilled",
           f"{_LOADS}:getters"),
    Family("patterns", "messages one way against round trips", f"{_LOADS}:patterns"),
    Family("log-disks", "persistent round trips with queues and log on one disk or on two", f"{_LOADS}:log_disks"),
    Family("triggered", "requests that start the application which answers them",
           "ostler.lab.families.design.triggered:experiment"),
    Family("creation", "the time to create a queue manager by number and size of its log files",
           "ostler.lab.families.design.creation:experiment"),
    Family("private-queues", "requests and replies in one queue manager, on one to fifteen pairs of queues",
           f"{_LOADS}:private_queues"),
    Family("pass-through", "one client puts and one gets, for each of a growing number of queues", f"{_LOADS}:one_way"),
    Family("point-to-point", "producers at a fixed rate, each with its own queue and consumer", f"{_LOADS}:one_way"),
    Family("appliance", "client requests and replies on one or ten queue managers",
           f"{_LOADS}:request_reply_pipelined"),
    Family("connection-scaling", "how fast thousands of clients connect",
           "ostler.lab.families.connection_scaling:experiment"),
    Family("chlauth-connect", "the cost of connecting by the number of channel authentication rules",
           "ostler.lab.families.channel_rules:experiment"),
    Family("chlauth-restart", "the time of a restart by the number of channel authentication rules",
           "ostler.lab.families.channel_rules:experiment"),
    Family("properties", "messages with properties by PROPCTL of the queue",
           "ostler.lab.families.properties:experiment"),
    Family("storage", "memory for each connection, channel and object",
           "ostler.lab.families.storage:experiment"),
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
    Family("put-get-cost", "non-persistent puts and gets in one process, by interface",
           f"{_MICRO}.put_get_cost:experiment"),
    Family("queue-depth", "puts and gets on deep queues, and the memory of their messages",
           f"{_MICRO}.queue_depth:experiment"),
    Family("group-commit", "durable commits of units of work in flight together", f"{_MICRO}.group_commit:experiment"),
    Family("message-restart", "restarts with many persistent messages", f"{_MICRO}.message_restart:experiment"),
    Family("mqsc-define", "objects defined by scripts", f"{_MICRO}.mqsc_scripts:define"),
    Family("mqsc-display", "very many queues displayed by runmqsc", f"{_MICRO}.mqsc_scripts:display"),
    Family("topic-matching", "publications matched against many subscriptions with wildcards",
           f"{_MICRO}.topic_matching:experiment"),
    Family("driver-overhead", "the cost of the laboratory's own driver", f"{_MICRO}.driver_overhead:experiment"),
    Family("spark-queues", "queues as sources and sinks of Spark", "ostler.pipeline.families.queues:experiment"),
    Family("spark-steps", "steps of the pipeline beside plain Spark", "ostler.pipeline.families.steps:experiment"),
    Family("shared-queues", "requests and replies on queues that several queue managers share",
           "ostler.lab.families.sharing.experiments:shared_queues"),
    Family("shared-data-sets", "large messages of shared queues on disk: formatting, growth, backup, recovery",
           "ostler.lab.families.sharing.experiments:shared_data_sets"),
    Family("bridge", "requests to transactions of another system"),
    Family("replication", "queue managers that are copied to other machines: client requests and replies, and the "
           "loss of an instance or a site", "ostler.lab.families.replication.experiments:experiment"),
)  # fmt: skip

FAMILIES: Final[dict[str, Family]] = {family.name: family for family in _ALL}
