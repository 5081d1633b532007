"""The roles of processes in samples: words that the laboratory and the pipeline share."""

from __future__ import annotations

from typing import Final

QUEUE_MANAGER: Final = "queue-manager"
DRIVER: Final = "driver"
NEIGHBOUR: Final = "neighbour"
"""A process that takes resources away from measured ones, on purpose."""
PEER: Final = "peer"
PROBE: Final = "probe"
LABORATORY: Final = "laboratory"
# The role of one of two joined brokers has its end: that of requesters and producers is near, the other one far.
NEAR: Final = "near"
FAR: Final = "far"
# The role of an instance of a replicated broker: the one that clients use, its synchronous copies, and its copy at a
# recovery site.
LEADER: Final = "leader"
FOLLOWER: Final = "follower"
RECOVERY: Final = "recovery"
# The role of the coupling facility of a queue-sharing group, whose members have no end.
FACILITY: Final = "facility"
# That of the server of its shared repository, where it has one.
REPOSITORY: Final = "repository"
END: Final = "/"
"""The separator between a role and its end."""

LOG_THREAD: Final = "ostler-log"
"""The prefix of the names of threads that write logs, where Python sets the kernel's names."""


def role_at(role: str, end: str) -> str:
    """Return the role of one of several joined brokers: queue-manager/far."""
    return f"{role}{END}{end}"


def role_kind(role: str) -> str:
    """Return a role without its end."""
    return role.partition(END)[0]


def role_end(role: str) -> str:
    """Return near or far, leader, follower or recovery, facility or repository; empty without a partner."""
    return role.partition(END)[2]
