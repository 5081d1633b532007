"""Storage of queue-sharing groups, by the calculations of the z/OS V7.1 report.

A structure of the coupling facility holds list entries and elements. A message held whole needs one entry, and elements
for its header and body; an offloaded one needs an entry and two elements, and its body is in a shared message data set
(SMDS). A structure is as full as its elements are, so that offload rules are percentages of the elements in use.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from ostler.model.coupling.entries import (
    CONTROL_PARTS,
    ELEMENT_BYTES,
    ENTRY_BYTES,
    HEADER_BYTES,
    OFFLOADED_ELEMENTS,
    elements_of,
)
from ostler.model.coupling.terms import MEMBERS_MAX, STRUCTURES_MAX

OFFLOADED_BYTES: Final = ENTRY_BYTES + OFFLOADED_ELEMENTS * ELEMENT_BYTES
CONTROL_SHARE: Final = CONTROL_PARTS / 10_000
DATA_SET_BYTES_MAX: Final = 16 << 40
DATA_SET_PAGE_BYTES: Final = 4096
WHOLE_BYTES_MAX: Final = 63 << 10
"""Longer messages are never in a structure, but for their entry: they are in Db2 or in data sets."""
RULES_MAX: Final = 3
BLOCK_BYTES: Final = tuple(8 << 10 << power for power in range(8))
"""The values of DSBLOCK: 8K to 1M."""
BUFFERS_MAX: Final = 9999
CFLEVEL_LARGE: Final = 4
"""From this level on there are messages of more than 63 KB."""
CFLEVEL_OFFLOADING: Final = 5


@dataclass(frozen=True)
class OffloadRule:
    """OFFLDnTH and OFFLDnSZ: messages above a length are offloaded once this part of the elements is in use."""

    threshold_percent: int
    bytes_above: int


DEFAULT_RULES: Final = (OffloadRule(70, 32 << 10), OffloadRule(80, 4 << 10), OffloadRule(90, 0))


@dataclass(frozen=True)
class StructureCapacity:
    """The messages of one length that fit into a structure."""

    held_whole: int
    offloaded: int

    @property
    def messages(self) -> int:
        return self.held_whole + self.offloaded


def is_ever_offloaded(message_bytes: int) -> bool:
    """Return False for a message whose body fits beside its header in the elements of an offloaded one."""
    return elements_of(message_bytes) > OFFLOADED_ELEMENTS


def offload_threshold(message_bytes: int, rules: tuple[OffloadRule, ...] = DEFAULT_RULES) -> float | None:
    """Return the part of the elements in use from which messages of this length are offloaded; 0: always; None:
    never."""
    if not is_ever_offloaded(message_bytes):
        return None
    if message_bytes > WHOLE_BYTES_MAX:
        return 0.0
    length = message_bytes + HEADER_BYTES
    matching = [rule.threshold_percent for rule in rules if length > rule.bytes_above]
    return min(matching) / 100 if matching else None


def structure_capacity(
    structure_bytes: int, message_bytes: int, cflevel: int = 5, rules: tuple[OffloadRule, ...] = DEFAULT_RULES
) -> StructureCapacity:
    """Return the messages that a structure holds, with ALLOWAUTOALT(YES) and data sets that are large enough.

    The facility alters the ratio of entries to elements until both are used up. Below CFLEVEL(5) nothing is offloaded
    by rules, and messages of more than 63 KB are in Db2; below CFLEVEL(4) there are none.
    """
    assert cflevel >= CFLEVEL_LARGE or message_bytes <= WHOLE_BYTES_MAX
    units = structure_bytes * (1 - CONTROL_SHARE) / ELEMENT_BYTES
    each = int(elements_of(message_bytes))
    threshold = offload_threshold(message_bytes, rules if cflevel >= CFLEVEL_OFFLOADING else ())
    if threshold is None:
        return StructureCapacity(int(units / (each + ENTRY_BYTES / ELEMENT_BYTES)), 0)
    whole_each = threshold / each
    offloaded_each = (1 - threshold) / OFFLOADED_ELEMENTS
    elements = units / (1 + (whole_each + offloaded_each) * ENTRY_BYTES / ELEMENT_BYTES)
    return StructureCapacity(round(elements * whole_each), round(elements * offloaded_each))


def buffer_storage_bytes(block_bytes: int = 256 << 10, buffers: int = 100, structures: int = 1) -> int:
    """Return the storage that a queue manager reserves for buffers of data sets: DSBLOCK times DSBUFS a structure."""
    return block_bytes * buffers * structures


def data_set_messages(message_bytes: int, data_set_bytes: int = DATA_SET_BYTES_MAX, is_aligned: bool = False) -> int:
    """Return the messages that fit into a data set, headers included in their length.

    The report divides by the length, and by at least a page. With `is_aligned` each message begins on a page, which the
    report names as a reason for fewer.
    """
    length = max(message_bytes, DATA_SET_PAGE_BYTES)
    if is_aligned:
        length = -(-length // DATA_SET_PAGE_BYTES) * DATA_SET_PAGE_BYTES
    return data_set_bytes // length


def structure_bytes_for(offloaded_messages: int) -> int:
    """Return the part of a structure that offloaded messages need, without its own controls, as the report has it."""
    return offloaded_messages * OFFLOADED_BYTES


def group_bytes_max(
    queue_managers: int = MEMBERS_MAX, structures: int = STRUCTURES_MAX, data_set_bytes: int = DATA_SET_BYTES_MAX
) -> int:
    """Return the bytes of all data sets of a group: each queue manager has one for each structure."""
    return queue_managers * structures * data_set_bytes


@dataclass(frozen=True)
class SpreadLoad:
    """A load spread over several structures, each with a data set on a volume of its own."""

    structures: int
    rate_per_second: float
    """Of each structure."""
    written_bytes_per_second: float
    """To each data set."""

    @property
    def rate_of_all(self) -> float:
        return self.structures * self.rate_per_second

    @property
    def written_of_all(self) -> float:
        return self.structures * self.written_bytes_per_second


def predict_structures(measured: SpreadLoad, structures: int, rate_max: float = 0.0) -> SpreadLoad:
    """Return the load of another number of structures, each as loaded as in the measurement.

    `rate_max` is the rate that the coupling facility has been seen to carry; 0: unlimited.
    """
    wanted = structures * measured.rate_per_second
    part = min(1.0, rate_max / wanted) if rate_max and wanted else 1.0
    return SpreadLoad(structures, measured.rate_per_second * part, measured.written_bytes_per_second * part)
