"""Offload: where the bodies of shared messages are that are not in their structure, and when they go there.

A body is stored before its entry is put, and the entry has a *reference* to it. Shared message data sets (SMDS) are one
place, blobs of the group's repository (OFFLOAD(DB2)) another. The engine submits and never waits; continuations are
called later, in turns of the engine.
"""

from __future__ import annotations

from abc import ABCMeta, abstractmethod
from typing import Final, final

from mypy_extensions import i64, mypyc_attr

from ostler.model.coupling.entries import HEADER_BYTES, OFFLOADED_ELEMENTS, Entry, elements_of

# Places of a body.
IN_STRUCTURE: Final = 0
IN_DATA_SET: Final = 1
IN_DATABASE: Final = 2
NOWHERE: Final = 3
"""The structure cannot have such a message: MQRC_WRONG_CF_LEVEL."""

ENTRY_MESSAGE_BYTES_MAX: Final = 63 * 1024
"""Descriptor, properties and body of an entry. Longer messages are always offloaded."""
DATABASE_LEVEL: Final = 4
"""The lowest CFLEVEL of a structure with messages beyond 63 KB, which are in the database."""
RULES_LEVEL: Final = 5
"""The lowest CFLEVEL of a structure with offload rules and data sets."""
_DESCRIPTOR_BYTES: Final = 364


@final
class OffloadRules:
    """CFLEVEL, OFFLOAD and OFFLD1 to OFFLD3 of a structure."""

    def __init__(self, level: i64, place: i64) -> None:
        """`place` is that of OFFLOAD at level 5: IN_DATA_SET or IN_DATABASE, or IN_STRUCTURE for NONE."""
        self.level: i64 = level
        self.place: i64 = place
        if level < RULES_LEVEL:
            self.place = IN_DATABASE if level == DATABASE_LEVEL else IN_STRUCTURE
        self._thresholds: list[i64] = []
        self._sizes: list[i64] = []

    def add(self, threshold_percent: i64, size_bytes: i64) -> None:
        """Add a rule: messages above a size are offloaded once the structure is so full. 64 KB: the rule is off."""
        self._thresholds.append(threshold_percent)
        self._sizes.append(size_bytes)

    def choose(self, properties_bytes: i64, body_bytes: i64, used_bytes: i64, limit_bytes: i64) -> i64:
        """Return the place of a message's body, in a structure that is so full."""
        message_bytes: i64 = properties_bytes + body_bytes
        if _DESCRIPTOR_BYTES + message_bytes > ENTRY_MESSAGE_BYTES_MAX:
            if self.place == IN_STRUCTURE or _DESCRIPTOR_BYTES + properties_bytes > ENTRY_MESSAGE_BYTES_MAX:
                return NOWHERE
            return self.place
        if self.level < RULES_LEVEL or self.place == IN_STRUCTURE or not is_worth_it(properties_bytes, body_bytes):
            return IN_STRUCTURE
        length: i64 = message_bytes + HEADER_BYTES
        number: i64 = 0
        while number < len(self._sizes):
            if length > self._sizes[number] and is_reached(self._thresholds[number], used_bytes, limit_bytes):
                return self.place
            number += 1
        return IN_STRUCTURE


def is_worth_it(properties_bytes: i64, body_bytes: i64) -> bool:
    """Return False for a body that fits beside the header: its entry would be no smaller without it."""
    return elements_of(properties_bytes + body_bytes) > max(elements_of(properties_bytes), OFFLOADED_ELEMENTS)


def is_reached(threshold_percent: i64, used: i64, limit: i64) -> bool:
    """Return True when so many percent are used. A threshold of 0 is always reached."""
    return used * 100 >= threshold_percent * limit


@mypyc_attr(allow_interpreted_subclasses=True)
class BodyStored(metaclass=ABCMeta):
    @abstractmethod
    def stored(self, reason: i64, reference: bytes) -> None:
        """The body is where it must be before the entry is put; or the reason why not, and nothing is stored."""


@mypyc_attr(allow_interpreted_subclasses=True)
class BodyFetched(metaclass=ABCMeta):
    @abstractmethod
    def fetched(self, reason: i64, body: bytes) -> None:
        """The whole body of exactly that entry; or the reason why it cannot be had."""


@mypyc_attr(allow_interpreted_subclasses=True)
class Offload(metaclass=ABCMeta):
    """The bodies outside structures as the engine of a member sees them. Calls come in turns and never wait."""

    @abstractmethod
    def reason(self, structure: str, place: i64) -> i64:
        """Return 0, or the reason why nothing can be stored there now."""

    @abstractmethod
    def store(self, structure: str, place: i64, entry: Entry, continuation: BodyStored) -> None:
        """Store the body of an entry; that of a persistent one is forced. Never calls back before it returns."""

    @abstractmethod
    def on_put(self, structure: str, entry: Entry, is_known: bool, is_there: bool) -> None:
        """An entry with a reference was put, or was refused (`is_there` false) and its body goes.

        Not `is_known`: no answer came. The body stays until the facility has been asked what it has.
        """

    @abstractmethod
    def fetch(self, structure: str, entry: Entry, continuation: BodyFetched) -> None:
        """Read the body of an entry that has a reference. Never calls back before it returns."""
