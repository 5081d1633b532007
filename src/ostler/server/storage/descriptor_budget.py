"""The shares of a process's file descriptors.

    other        streams, locks, the error log, listeners, directories being forced, pipes of services and commands
    log          the control file and extents of the recovery log
    local        connections of the owner on the local socket, so that runmqsc and endmqm can always connect
    queue_files  open queue files; the least recently used ones are closed beyond that
    links        connections of clients and channels

The shares add up to the limit, so that none of them can use up what another one needs. Links may borrow of queue files
(`net/accept.py`), which have so many fewer open then.
"""

from __future__ import annotations

import resource
from dataclasses import dataclass
from typing import Final

_LIMIT_MAX: Final = 1 << 20
_OTHER: Final = 64
_LOCAL: Final = 16
_LOG_MAX: Final = 64
# Beside the extents: the control file, one being prepared, one being read.
_LOG_BESIDE_EXTENTS: Final = 4
_QUEUE_FILES_MIN: Final = 4
_QUEUE_FILES_MAX: Final = 8192
_LINKS_MIN: Final = 4


@dataclass(frozen=True)
class DescriptorBudget:
    """The shares of one process, in descriptors."""

    limit: int
    other: int
    log: int
    local: int
    queue_files: int
    links: int


def descriptor_budget(limit: int, log_files: int = 5) -> DescriptorBudget:
    """Divide `limit` descriptors for a queue manager whose log may have `log_files` extents.

    Fixed shares shrink in proportion when the limit is small. A quarter of the rest is for queue files, three
    quarters are for links.
    """
    other = min(_OTHER, limit // 4)
    log = min(log_files, _LOG_MAX, max(limit // 8, 2)) + _LOG_BESIDE_EXTENTS
    local = max(min(_LOCAL, limit // 16), 2)
    rest = max(limit - other - log - local, _QUEUE_FILES_MIN + _LINKS_MIN)
    queue_files = max(min(rest // 4, _QUEUE_FILES_MAX), _QUEUE_FILES_MIN)
    return DescriptorBudget(limit, other, log, local, queue_files, rest - queue_files)


def process_budget(log_files: int = 5) -> DescriptorBudget:
    """Return the budget for this process's current limit. A server raises the limit first (`raise_limit`)."""
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    limit = _LIMIT_MAX if soft == resource.RLIM_INFINITY else min(soft, _LIMIT_MAX)
    return descriptor_budget(limit, log_files)


def raise_limit() -> int:
    """Raise the limit of this process to its hard limit, and return it."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = _LIMIT_MAX if hard == resource.RLIM_INFINITY else min(hard, _LIMIT_MAX)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
        soft = wanted
    return wanted if soft == resource.RLIM_INFINITY else soft
