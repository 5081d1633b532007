"""States of structures and of shared message data sets, in rows of the shared repository, so that all members agree.

status      NOTFOUND -> NEW -> ACTIVE -> EMPTY (closed by its owner without messages) -> ACTIVE
            any but NOTFOUND -> FAILED -> INRECOVER -> RECOVERED -> ACTIVE
access      ENABLED; SUSPENDED with FAILED, and back with RECOVERED; DISABLED by RESET SMDS
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final

from mypy_extensions import i64

from ostler.model.attributes import ObjectType, Value
from ostler.model.coupling.group_rows import RowLayout
from ostler.model.definitions import Definition, new_definition

NOTFOUND: Final = "NOTFOUND"
NEW: Final = "NEW"
ACTIVE: Final = "ACTIVE"
FAILED: Final = "FAILED"
INRECOVER: Final = "INRECOVER"
RECOVERED: Final = "RECOVERED"
EMPTY: Final = "EMPTY"
STATUSES: Final = (NOTFOUND, NEW, ACTIVE, FAILED, INRECOVER, RECOVERED, EMPTY)

ENABLED: Final = "ENABLED"
SUSPENDED: Final = "SUSPENDED"
DISABLED: Final = "DISABLED"
ACCESSES: Final = (ENABLED, SUSPENDED, DISABLED)

_WITHOUT_CONTENTS: Final = (NOTFOUND, NEW, EMPTY, RECOVERED)


class WrongState(Exception):
    """The data set cannot have that status or access now."""


def data_set_row_name(structure: str, owner: str) -> str:
    """Return the name of the rows about one queue manager's data set for a structure."""
    return f"{structure} {owner}"


_DATA_SET: Final = RowLayout(
    "data set status",
    ("structure", "structure", ""),
    ("owner", "owner", ""),
    ("status", "status", ""),
    ("access", "access", ""),
    ("failed_ms", "failed", 0),
    ("recovered_ms", "recovered", 0),
)


@dataclass(frozen=True)
class DataSetStatus:
    """STATUS and ACCESS of the data set that one queue manager writes for a structure."""

    structure: str
    owner: str
    status: str = NOTFOUND
    access: str = ENABLED
    failed_ms: int = 0
    """By the clock of the member that noticed, in milliseconds since 1970; 0: never."""
    recovered_ms: int = 0

    def is_usable(self) -> bool:
        """Return True when members may open it."""
        return self.access == ENABLED and self.status not in (FAILED, INRECOVER)

    def may_be_made(self) -> bool:
        """Return True when nothing is lost if the file is not there: it is made, or made anew."""
        return self.status in _WITHOUT_CONTENTS

    def with_status(self, status: str, now_ms: i64) -> DataSetStatus:
        """Return it with another status. Access follows: FAILED suspends it, RECOVERED gives it back."""
        access = self.access
        failed_ms, recovered_ms = self.failed_ms, self.recovered_ms
        if status == FAILED:
            failed_ms = int(now_ms)
            access = SUSPENDED if access == ENABLED else access
        elif status == RECOVERED:
            recovered_ms = int(now_ms)
            access = ENABLED if access == SUSPENDED else access
        return replace(self, status=status, access=access, failed_ms=failed_ms, recovered_ms=recovered_ms)

    def reset(self, status: str, access: str, now_ms: i64) -> DataSetStatus:
        """Return what RESET SMDS makes of it; an empty word leaves that as it is. Raises WrongState."""
        changed = self
        if status:
            is_right = (
                self.status == FAILED if status == RECOVERED else self.status not in (FAILED, NOTFOUND, INRECOVER)
            )
            if not is_right:
                raise WrongState(f"STATUS({status}) cannot follow STATUS({self.status})")
            changed = self.with_status(status, now_ms)
        if access == ENABLED and self.status == INRECOVER:
            raise WrongState(f"ACCESS({access}) is not possible with STATUS({self.status})")
        return replace(changed, access=access) if access else changed

    def encode(self) -> bytes:
        return _DATA_SET.encode(self)

    @staticmethod
    def decode(data: bytes) -> DataSetStatus:
        """Raises ValueError. A status or access of a later release means that the data set is not used."""
        row = DataSetStatus(**_DATA_SET.decode(data))
        status = row.status if row.status in STATUSES else FAILED
        return replace(row, status=status, access=row.access if row.access in ACCESSES else SUSPENDED)


@dataclass(frozen=True)
class DataSetOptions:
    """ALTER SMDS: options of one queue manager's data set that override those of the structure; 0: they do not."""

    structure: str
    owner: str
    buffers: int = 0
    expand: int = 0

    def definition(self) -> Definition:
        """Return the definition of type SMDS that members keep."""
        attributes: dict[str, Value] = {"CFSTRUCT": self.structure, "DSBUFS": self.buffers, "DSEXPAND": self.expand}
        return new_definition(ObjectType.SMDS, f"{self.structure}/{self.owner}", attributes)

    def encode(self) -> bytes:
        return self.definition().encode()

    @staticmethod
    def decode(data: bytes) -> DataSetOptions:
        """Raises ValueError for damage, and for another kind of row."""
        return DataSetOptions.of_definition(Definition.decode(data))

    @staticmethod
    def of_definition(definition: Definition) -> DataSetOptions:
        """Raises ValueError for a definition of another type."""
        if definition.object_type != ObjectType.SMDS:
            raise ValueError(f"a definition of {definition.object_type.name}, not of SMDS")
        structure, _, owner = definition.name.partition("/")
        buffers, expand = definition.attributes.get("DSBUFS"), definition.attributes.get("DSEXPAND")
        return DataSetOptions(
            structure, owner, buffers if isinstance(buffers, int) else 0, expand if isinstance(expand, int) else 0
        )


_STRUCTURE: Final = RowLayout(
    "structure status",
    ("structure", "structure", ""),
    ("failed_ms", "failed", 0),
    ("recovered_ms", "recovered", 0),
)


@dataclass(frozen=True)
class StructureStatusRow:
    """Times of a structure's last failure and recovery, by the clocks of the members that noticed them."""

    structure: str
    failed_ms: int = 0
    recovered_ms: int = 0

    def encode(self) -> bytes:
        return _STRUCTURE.encode(self)

    @staticmethod
    def decode(data: bytes) -> StructureStatusRow:
        """Raises ValueError, as `decode_row`."""
        return StructureStatusRow(**_STRUCTURE.decode(data))
