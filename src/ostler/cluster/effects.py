"""Effects: what a repository wants done. They are values; the caller carries them out in one unit of work, in order."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, final

from ostler.cluster.messages import ClusterMessage
from ostler.cluster.record_codec import Entry
from ostler.cluster.records import Key

# Kinds of reports.
FORGED: Final = "forged"
"""A record that its sender may not tell: neither its owner nor a full repository."""
REPEATED: Final = "repeated"
"""An owner told a version that it had told before, or an older one: sent twice, or a queue manager with an old log."""
CLONED: Final = "cloned"
"""Two queue managers have one QMID, or one of them was restored from a backup."""
NOT_HEARD: Final = "not heard"
"""An owner has not renewed its record in time; told once a day (AMQ9456, AMQ9469)."""
NOT_A_REPOSITORY: Final = "not a full repository"
"""A CLUSSDR of another member leads here, and this is a partial repository."""
REMOVED_HERE: Final = "removed"
"""This queue manager was removed from the cluster by RESET CLUSTER."""
NO_REPOSITORY: Final = "no full repository"
"""No full repository is known; told once a day."""


@final
@dataclass(frozen=True)
class Send:
    """Put a message for SYSTEM.CLUSTER.COMMAND.QUEUE on the transmission queue of a channel; it must not expire."""

    channel: str
    message: ClusterMessage


@final
@dataclass(frozen=True)
class Store:
    """Keep an entry in place of the one with the same key (`encode_entry`)."""

    key: Key
    entry: Entry


@final
@dataclass(frozen=True)
class Discard:
    """Drop the entry with this key from the store."""

    key: Key


@final
@dataclass(frozen=True)
class KeepMark:
    """Keep the last version of own records and the time of the last tick. They outlive the membership."""

    last_version: int
    ticked_ms: int


@final
@dataclass(frozen=True)
class DefineChannel:
    """Define an automatic CLUSSDR (CLUSSDRA, CLUSSDRB), or change it; it counts from its next start."""

    channel: str
    qmid: str
    manager: str
    attributes: dict[str, int | str | tuple[str, ...]]


@final
@dataclass(frozen=True)
class RemoveChannel:
    """Drop the automatic part of a CLUSSDR, once no messages wait for it and none is in doubt."""

    channel: str
    qmid: str


@final
@dataclass(frozen=True)
class Answered:
    """Go on with the verbs that wait for these names."""

    names: tuple[str, ...]


@final
@dataclass(frozen=True)
class Report:
    """Tell the administrator: error log, events."""

    kind: str
    qmid: str
    """The queue manager that it is about."""
    text: str


Effect = Send | Store | Discard | KeepMark | DefineChannel | RemoveChannel | Answered | Report
