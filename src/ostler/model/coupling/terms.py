"""Terms of the coupling facility: statuses of answers, states, matches, modes, and the limits that it keeps."""

from __future__ import annotations

from typing import Final

# Limits.
MEMBERS_MAX: Final = 31
STRUCTURES_MAX: Final = 63
HEADERS_MAX: Final = 512
"""Shared queues of a structure."""
UNIT_OPERATIONS_MAX: Final = 10_000
UNITS_MAX: Final = 65_536
"""Descriptors of a facility, tombstones included."""
UNITS_LISTED_MAX: Final = 4_096
"""Descriptors in one answer of UNITS."""
LOCKS_MAX: Final = 10_000
LOCKS_LISTED_MAX: Final = 400
"""Locks in one answer of LOCKS."""
ID_WATCHES_MAX: Final = 100_000
"""Watches for one identifier, of a structure."""
REFUSED_MAX: Final = 10_000
"""Refused persistent puts of a member that it has not forgotten yet."""
ID_BYTES: Final = 16
IDENTITY_BYTES: Final = 16
"""Of a facility, and of the incarnation of a structure."""
STRUCTURE_NAME_BYTES_MAX: Final = 16
QUEUE_NAME_BYTES_MAX: Final = 48
MEMBER_NAME_BYTES_MAX: Final = 48
LOCK_NAME_BYTES_MAX: Final = 256
LOCK_VALUE_BYTES_MAX: Final = 1024
XID_BYTES_MAX: Final = 160
TEXT_BYTES_MAX: Final = 4096
"""Of an announcement."""
REFERENCE_BYTES_MAX: Final = 256
ENTRY_DATA_BYTES_MAX: Final = 64 << 10
"""Descriptor, properties and body of an entry together. Members offload what MQ would offload, from 63 KB on."""
SLICE_BYTES_MAX: Final = 512 << 10
"""Entries in one answer of LIST or DUMP, or in one LOAD. One entry always fits."""
SLICE_ENTRIES_MAX: Final = 10_000
TAKEN_TOGETHER_MAX: Final = 1_000
"""Further entries that one GET takes."""
FREED_MAX: Final = 3_000
"""References in one answer of TAKE_FREED."""
FORGET_MAX: Final = 4_096
WAKE_MS: Final = 2
"""The next watcher is told after this time if the queue is still not empty."""

# Statuses. The numbers of reasons stand behind those that applications get.
OK: Final = 0
NO_MESSAGE: Final = 1  # 2033
TOO_LONG: Final = 2  # 2080; the entry stays, and the answer has it, cut
Q_FULL: Final = 3  # 2053
STRUCTURE_FULL: Final = 4  # 2192
IN_USE: Final = 5  # 2042, an open that excludes or is excluded
FENCED: Final = 6  # the member was given up; it must JOIN again
UNKNOWN_STRUCTURE: Final = 7  # 2348
NOT_CONNECTED: Final = 8  # the member has not connected to the structure, or nobody joined on this link
STRUCTURE_FAILED: Final = 9  # 2373
STRUCTURE_IN_USE: Final = 10  # 2346, another one recovers or backs it up
MEMBER_ACTIVE: Final = 11  # JOIN or recovery of a member whose link is alive
IN_RECOVERY: Final = 12  # 2346, a peer recovers the member
UNKNOWN_MEMBER: Final = 13
UNKNOWN_UNIT: Final = 14
UNIT_DECIDED: Final = 15  # the unit is in doubt, committed or backed out: no more operations
UNIT_FULL: Final = 16  # 2024
LIMIT: Final = 17  # a limit of the facility: structures, queues, members, units, locks, watches
LOCKED: Final = 18  # another owner has the lock
NOT_LOCKED: Final = 19
DUPLICATE_ID: Final = 20  # an entry with this identifier is there
ALREADY_DONE: Final = 21  # a put with this `logged` number was run before
UNITS_LEFT: Final = 22  # units in flight keep the member from leaving or from being recovered
NOT_EMPTY: Final = 23  # the structure has entries or other members
WRONG_STATE: Final = 24  # the structure or member is in another state than the program needs
BAD_PROGRAM: Final = 25  # a field is out of its range
STALE_START: Final = 26  # JOIN with an older start than the facility knows, or with another name for the number
LINK_LOST: Final = 27  # made by the member's link: no answer came, and the program may have been run

STATUS_NAMES: Final = (
    "OK",
    "NO_MESSAGE",
    "TOO_LONG",
    "Q_FULL",
    "STRUCTURE_FULL",
    "IN_USE",
    "FENCED",
    "UNKNOWN_STRUCTURE",
    "NOT_CONNECTED",
    "STRUCTURE_FAILED",
    "STRUCTURE_IN_USE",
    "MEMBER_ACTIVE",
    "IN_RECOVERY",
    "UNKNOWN_MEMBER",
    "UNKNOWN_UNIT",
    "UNIT_DECIDED",
    "UNIT_FULL",
    "LIMIT",
    "LOCKED",
    "NOT_LOCKED",
    "DUPLICATE_ID",
    "ALREADY_DONE",
    "UNITS_LEFT",
    "NOT_EMPTY",
    "WRONG_STATE",
    "BAD_PROGRAM",
    "STALE_START",
    "LINK_LOST",
)

# States of members.
MEMBER_ACTIVE_STATE: Final = 1
MEMBER_FAILED: Final = 2
MEMBER_RECOVERING: Final = 3
MEMBER_LEFT: Final = 4
MEMBER_STATES: Final = ("", "ACTIVE", "FAILED", "RECOVERING", "LEFT")

# States of structures.
STRUCTURE_ACTIVE: Final = 1
STRUCTURE_STATE_FAILED: Final = 2
STRUCTURE_INBACKUP: Final = 3
STRUCTURE_INRECOVER: Final = 4
STRUCTURE_STATES: Final = ("", "ACTIVE", "FAILED", "INBACKUP", "INRECOVER")

# States of units.
UNIT_INFLIGHT: Final = 1
UNIT_INDOUBT: Final = 2
UNIT_COMMITTED: Final = 3
UNIT_BACKED_OUT: Final = 4
UNIT_STATES: Final = ("", "INFLIGHT", "INDOUBT", "COMMITTED", "BACKED_OUT")

# Places of an entry.
COMMITTED: Final = 1
UNCOMMITTED: Final = 2
GOT: Final = 3

# Flags of entries.
PERSISTENT: Final = 1
GROUPED: Final = 2  # part of a message group or a segment

# Matches of GET and WATCH. MSG_ID, CORREL_ID and GROUP_ID compare 24 bytes of the entry's descriptor.
FIRST: Final = 0
MSG_ID: Final = 1
CORREL_ID: Final = 2
MSG_AND_CORREL_ID: Final = 3
GROUP_ID: Final = 4
ENTRY_ID: Final = 5
FIRST_AFTER_KEY: Final = 6
AT_KEY: Final = 7

# Modes of GET.
BROWSE: Final = 0
REMOVE: Final = 1
CLAIM: Final = 2  # the entry becomes GOT by the unit
CLAIM_IF_NEEDED: Final = 3  # claims a persistent or offloaded entry into the unit, and removes any other

# Options of OPEN and CLOSE.
INPUT_SHARED: Final = 1
INPUT_EXCLUSIVE: Final = 2
OUTPUT: Final = 4

# Indexes of a queue, for OPEN.
INDEX_MSG_ID: Final = 1
INDEX_CORREL_ID: Final = 2
INDEX_GROUP_ID: Final = 4

# Modes of WATCH.
WATCH_OFF: Final = 0
WATCH_WAITERS: Final = 1  # one watcher at a time is told
WATCH_TRIGGERS: Final = 2  # every such watcher is told when the queue becomes non-empty
