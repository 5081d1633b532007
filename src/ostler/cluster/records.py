"""Records of a cluster: what its queue managers tell one another.

A record belongs to its owner, the queue manager with its QMID. Its key is (kind, owner, name):

    kind       name                             attributes
    MANAGER    the CLUSRCVR, one record each    those of the channel; QMTYPE (NORMAL, REPOS), SUSPEND (YES, NO)
    QUEUE      the queue                        those that count elsewhere: DEFBIND, PUT, CLWLRANK, CLWLPRTY ...
    TOPIC      the topic object                 TOPICSTR, CLROUTE ...
    INTEREST   the name that was asked for      none: the owner wants to hear of queues and queue managers of this name

A version orders the records of one key: the milliseconds of the owner's clock, and always more than the owner's last
version. A queue manager that comes back with an older log so publishes newer versions nevertheless. A removed object is
a record, too, so that older ones do not bring it back.

`judge` is the whole rule of merging: the higher version counts; a removal by a full repository (FORCEREMOVE) has the
version it has seen, and wins at an equal one. Equal versions that differ otherwise come from two queue managers with
one QMID. So does a version that does not follow a version that is known (`is_fork`), unless the owner has lost its
latest versions: the record counts, and is reported.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, final

from ostler.model import constants as mq

MANAGER: Final = 1
QUEUE: Final = 2
TOPIC: Final = 3
INTEREST: Final = 4
KIND_NAMES: Final[dict[int, str]] = {MANAGER: "MANAGER", QUEUE: "QUEUE", TOPIC: "TOPIC", INTEREST: "INTEREST"}

# Attributes of MANAGER records that no channel has.
QMTYPE: Final = "QMTYPE"
SUSPEND: Final = "SUSPEND"

NORMAL_MANAGER: Final = 0
FULL_REPOSITORY: Final = 1

# Results of `judge`.
NEWER: Final = 1
SAME: Final = 2
OLDER: Final = 3
CLONED: Final = 4

# The life of records.
DAY_MS: Final = 24 * 60 * 60 * 1000
RENEWED_MS: Final = 27 * DAY_MS
"""An owner publishes its record again at this age; a question that was used is asked again."""
EXPIRED_MS: Final = 30 * DAY_MS
"""A record of this age is no answer to new questions."""
DISCARDED_MS: Final = 90 * DAY_MS
"""A record of this age is gone."""

Key = tuple[int, str, str]


@final
@dataclass(frozen=True)
class Record:
    """What an owner says of one of its objects. Nobody changes `attributes` in place."""

    kind: int
    owner: str
    """QMID."""
    manager: str
    """The name of the owner."""
    name: str
    version: int
    follows: int
    """The version that the owner had published of this key before; 0: none, or removed long ago."""
    created_ms: int
    """The owner's clock, for CLUSDATE and CLUSTIME. Nothing is decided by it."""
    attributes: dict[str, int | str | tuple[str, ...]]
    is_removed: bool = False
    remover: str = ""
    """The QMID of the full repository where RESET CLUSTER removed it; empty: the owner did."""

    def key(self) -> Key:
        return self.kind, self.owner, self.name

    def is_full(self) -> bool:
        """Return True for the MANAGER record of a full repository."""
        return self.kind == MANAGER and not self.is_removed and self.attributes.get(QMTYPE) == FULL_REPOSITORY

    def is_suspended(self) -> bool:
        return self.attributes.get(SUSPEND) == 1

    def is_direct_topic(self) -> bool:
        return self.kind == TOPIC and not self.is_removed and self.number("CLROUTE", 0) == mq.MQCLROUTE_DIRECT

    def number(self, name: str, default: int) -> int:
        value = self.attributes.get(name, default)
        return value if isinstance(value, int) else default

    def text(self, name: str) -> str:
        value = self.attributes.get(name, "")
        return value if isinstance(value, str) else ""


def next_version(now_ms: int, last_version: int) -> int:
    """Return the version of an owner's next record."""
    return max(now_ms, last_version + 1)


def judge(known: Record | None, offered: Record) -> int:
    """Compare an offered record with the one of the same key that is known."""
    if known is None or offered.version > known.version:
        return NEWER
    if offered.version < known.version:
        return OLDER
    if offered == known:
        return SAME
    if offered.remover and not known.is_removed:
        return NEWER
    if known.remover and known.is_removed:
        # Two full repositories may remove the same record. The order of their QMIDs decides, the same everywhere.
        is_later = offered.is_removed and offered.remover > known.remover
        return NEWER if is_later else OLDER
    return CLONED


def is_fork(known: Record | None, offered: Record) -> bool:
    """Return True if the owner of a newer record does not know the version that is known here.

    Either two queue managers have its QMID, or it was restored from a backup.
    """
    if known is None or known.is_removed or offered.version <= known.version or offered.remover:
        return False
    return offered.follows < known.version
