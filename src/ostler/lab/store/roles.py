"""Roles of processes, as samples name them: the words that the laboratory and the pipeline share."""

from __future__ import annotations

from typing import Final

QUEUE_MANAGER: Final = "queue-manager"
DRIVER: Final = "driver"
NEIGHBOUR: Final = "neighbour"
"""Whoever takes something away from those who are measured, on purpose."""
PEER: Final = "peer"
PROBE: Final = "probe"
LABORATORY: Final = "laboratory"
# Of two that are joined, a role says which: that of requesters and producers is near, the other one far.
NEAR: Final = "near"
FAR: Final = "far"
END: Final = "/"
"""Between a role and the end that it is at."""

LOG_THREAD: Final = "ostler-log"
"""How names of the threads begin that write logs; the kernel knows them where Python tells it."""


def role_at(role: str, end: str) -> str:
    """The role of one of two that are joined: queue-manager/far."""
    return f"{role}{END}{end}"


def role_kind(role: str) -> str:
    """A role without the end that it is at."""
    return role.partition(END)[0]


def role_end(role: str) -> str:
    """Near or far; empty for whoever has no partner."""
    return role.partition(END)[2]
