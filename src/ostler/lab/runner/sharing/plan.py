"""The plan of a queue-sharing group: its members, its structures, its shared queues and its coupling facility."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final

from ostler.lab.runner.queue_managers.plan import DEPTH_MAX, QueueManagerPlan

GROUP: Final = "LABG"
MESSAGE_BYTES_MAX: Final = 104_857_600
_KILOBYTE: Final = 1024
_RULES: Final = 3
"""OFFLD1, OFFLD2 and OFFLD3."""


class FacilityKind(StrEnum):
    """The engine that holds the structures."""

    OWN = "own"
    REDIS = "Redis"


class RepositoryKind(StrEnum):
    """The engine of the shared repository, which keeps messages of OFFLOAD(DB2)."""

    SQLITE = "SQLite"
    POSTGRESQL = "PostgreSQL"


class Offload(StrEnum):
    """The place of messages that a structure does not hold whole."""

    NONE = "NONE"
    SMDS = "SMDS"
    DB2 = "DB2"


@dataclass(frozen=True)
class StructurePlan:
    """A structure. Zeros are the product's defaults."""

    name: str
    level: int = 5
    offload: Offload = Offload.NONE
    offloads_all: bool = False
    """All six values of the rules are 0: nothing stays in the structure that can be elsewhere."""
    is_recoverable: bool = False
    block_bytes: int = 0
    buffers: int = 0

    has_data_sets: bool = False
    """It has data sets although messages go elsewhere: OFFLOAD will be changed."""

    @property
    def data_set_group(self) -> str:
        """DSGROUP; empty: it has no data sets."""
        return f"LAB.*.{self.name}" if self.offload is Offload.SMDS or self.has_data_sets else ""

    def attributes(self) -> str:
        """Return the attributes of its definition in MQSC."""
        found = [f"CFLEVEL({self.level})", f"RECOVER({'YES' if self.is_recoverable else 'NO'})"]
        if self.offload is not Offload.NONE and self.level >= 5:
            found.append(f"OFFLOAD({self.offload})")
        elif self.level >= 5:
            # It has no data sets, and keeps all that it may: OFFLOAD cannot be NONE at this level.
            found.append("OFFLOAD(DB2) " + " ".join(f"OFFLD{number}SZ(64K)" for number in range(1, _RULES + 1)))
        if self.data_set_group:
            found.append(f"DSGROUP('{self.data_set_group}')")
        if self.offloads_all:
            found += [f"OFFLD{number}SZ(0K) OFFLD{number}TH(0)" for number in range(1, _RULES + 1)]
        if self.block_bytes:
            found.append(f"DSBLOCK({_block(self.block_bytes)})")
        if self.buffers:
            found.append(f"DSBUFS({self.buffers})")
        return " ".join(found)


@dataclass(frozen=True)
class SharedQueue:
    """A shared queue. One that is searched by correlation identifier has an index for it."""

    name: str
    structure: str
    is_indexed: bool = False

    def attributes(self) -> str:
        index = "CORRELID" if self.is_indexed else "NONE"
        return (
            f"QSGDISP(SHARED) CFSTRUCT({self.structure}) INDXTYPE({index}) SHARE DEFSOPT(SHARED) "
            f"MAXDEPTH({DEPTH_MAX}) MAXMSGL({MESSAGE_BYTES_MAX})"
        )


@dataclass(frozen=True)
class SharingPlan:
    """A group. `manager` is the plan of every member, without the shared queues."""

    manager: QueueManagerPlan = field(default_factory=QueueManagerPlan)
    members: int = 1
    structures: tuple[StructurePlan, ...] = (StructurePlan("LAB1"),)
    queues: tuple[SharedQueue, ...] = ()
    facility: FacilityKind = FacilityKind.OWN
    facility_cores: float = 0.0
    """The processors that the coupling facility may use; 0: all."""
    is_remote: bool = False
    """Members reach the facility over TCP and not over its local socket."""
    structure_megabytes: int = 512
    repository: RepositoryKind = RepositoryKind.SQLITE

    def commands(self) -> Iterator[str]:
        """Yield MQSC for the structures and the shared queues, for one member: the group has them then."""
        for structure in self.structures:
            yield f"DEFINE CFSTRUCT({structure.name}) {structure.attributes()}"
        for queue in self.queues:
            yield f"DEFINE QLOCAL({queue.name}) {queue.attributes()}"


def shared_pairs(pairs: int, structures: tuple[StructurePlan, ...]) -> tuple[SharedQueue, ...]:
    """Return pairs of request and reply queues, named as in `load.mq.client`, one structure after the other."""
    found = []
    for pair in range(pairs):
        structure = structures[pair % len(structures)].name
        found.append(SharedQueue(f"LAB.REQUEST.{pair}", structure))
        found.append(SharedQueue(f"LAB.REPLY.{pair}", structure, is_indexed=True))
    return tuple(found)


def _block(size: int) -> str:
    return "1M" if size == _KILOBYTE * _KILOBYTE else f"{size // _KILOBYTE}K"
