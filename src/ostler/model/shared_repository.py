"""The shared repository as a port: the small consistent store of a queue-sharing group, which z/OS has in Db2.

It holds *rows*, each with a kind, a name, data and a version, and *blobs*: bodies of shared messages that are offloaded
there (OFFLOAD(DB2)). SQLite is one, for members on one machine; PostgreSQL another.
`tests/server/coupling/repository/test_repository_contract.py` runs one suite against both.

What a caller may rely on:

- Every change of a row is atomic and durable when the call returns, and all changes have one order.
- Versions grow. A version is never used twice, not even for a row that was deleted and written again.
- `change_number` grows with every change of a row. Whoever reads it first and the rows then misses nothing: rows that
  come later have changed it. Blobs do not change it.
- `write` and `delete` compare the version that the caller has read: RowChanged means that nothing was done.
- A blob is durable when `write_blob` returns. One that was cut off by a crash may be there in parts: `blob_ids` lists
  it, and `read_blob` does not return it. Nobody but its writer knows whether an entry names it.

A lost answer: every operation may raise RepositoryUnavailable, and then it may have happened or not. Whoever wants to
know reads the row. RepositoryRefused, a kind of it, means that repeating does not help until somebody has put it right:
a wrong password, a store of another group, a disk that is full.

All calls block, for a time that the implementation limits. They may be made on several threads at once, never on that
of the reactor and never in a turn of the engine.
"""

from __future__ import annotations

from abc import ABCMeta, abstractmethod
from dataclasses import dataclass
from typing import Final

from mypy_extensions import mypyc_attr

# The kinds of rows, and what their names are. `ostler.model.coupling.group_rows` has what is in them.
GROUP: Final = "group"
"""The group itself, by its name: one row."""
NUMBERS: Final = "numbers"
"""The highest member number that was ever given: one row, by the name of the group."""
MEMBERS: Final = "members"
"""The group roll: members by the names of their queue managers."""
STRUCTURES: Final = "structures"
"""Definitions of CFSTRUCT, by their names."""
STRUCTURE_STATUS: Final = "structure-status"
"""What is known of structures: times of failure and of recovery, by the names of structures."""
BACKUPS: Final = "backups"
"""The last backup of structures, by their names."""
QUEUES: Final = "queues"
"""Definitions of shared queues, by their names."""
OBJECTS: Final = "objects"
"""Definitions of group objects, by type and name: `QLOCAL PAYROLL`."""
DATA_SETS: Final = "data-sets"
"""Definitions of shared message data sets (ALTER SMDS), by structure and queue manager: `APPL1 QM1`."""
DATA_SET_STATUS: Final = "data-set-status"
"""Status and access of shared message data sets, by structure and queue manager: `APPL1 QM1`."""
KINDS: Final = (
    GROUP,
    NUMBERS,
    MEMBERS,
    STRUCTURES,
    STRUCTURE_STATUS,
    BACKUPS,
    QUEUES,
    OBJECTS,
    DATA_SETS,
    DATA_SET_STATUS,
)

ABSENT: Final = 0
"""The version of a row that is not there, for `write`: create it, and fail if somebody else has."""
ROW_BYTES_MAX: Final = 1 << 20
NAME_CHARACTERS_MAX: Final = 128
PART_BYTES: Final = 1 << 20
"""Blobs are kept in parts of so many bytes."""
BLOB_BYTES_MAX: Final = 128 << 20
"""The longest message of MQ has 100 MB; its properties come on top."""


class RepositoryUnavailable(Exception):
    """The repository gave no usable answer in time. The operation may have happened or not."""


class RepositoryRefused(RepositoryUnavailable):
    """The repository does not do this until somebody has put it right. Nothing happened."""


class RowChanged(Exception):
    """The row has another version than the caller expected. Nothing was done."""

    def __init__(self, kind: str, name: str, expected: int, found: int) -> None:
        super().__init__(f"the row {name} of {kind} has version {found}, not {expected}")
        self.kind = kind
        self.name = name
        self.expected = expected
        self.found = found
        """ABSENT: there is no such row."""


class BlobNotFound(Exception):
    """There is no whole blob of this name."""


@dataclass(frozen=True)
class Row:
    kind: str
    name: str
    data: bytes
    version: int


@mypyc_attr(allow_interpreted_subclasses=True)
class SharedRepository(metaclass=ABCMeta):
    """The repository of one group. The module says what a caller may rely on."""

    @abstractmethod
    def read(self, kind: str, name: str) -> Row | None:
        """Return a row, or None."""

    @abstractmethod
    def rows(self, kind: str) -> list[Row]:
        """Return all rows of a kind at one moment, in the order of their names."""

    @abstractmethod
    def write(self, kind: str, name: str, data: bytes, expected_version: int | None) -> int:
        """Write a row, and return its new version. Raises RowChanged.

        `expected_version`: that of the row that the caller has read; ABSENT: there must be none; None: whatever is
        there is replaced.
        """

    @abstractmethod
    def delete(self, kind: str, name: str, expected_version: int | None) -> None:
        """Delete a row. Raises RowChanged; with None a row that is not there is no error."""

    @abstractmethod
    def change_number(self) -> int:
        """Return a number that grows with each change of a row."""

    @abstractmethod
    def write_blob(self, structure: str, entry_id: bytes, data: bytes) -> None:
        """Write a blob, or replace it. It is durable when this returns."""

    @abstractmethod
    def read_blob(self, structure: str, entry_id: bytes, offset: int, length: int) -> bytes:
        """Return bytes of a blob, fewer than `length` at its end. Raises BlobNotFound."""

    @abstractmethod
    def delete_blobs(self, structure: str, entry_ids: list[bytes]) -> None:
        """Delete blobs. Those that are not there are no error."""

    @abstractmethod
    def blob_ids(self, structure: str) -> list[bytes]:
        """Return the identifiers of all blobs of a structure, also of those that are there in parts, in their order."""

    @abstractmethod
    def blob_count(self, structure: str) -> int:
        """Return the number of whole blobs of a structure."""

    @abstractmethod
    def close(self) -> None:
        """Release connections and files. Never raises. A later call opens them again."""


def check_row(kind: str, name: str, data: bytes) -> None:
    """Raise ValueError for a row that no repository may store."""
    if kind not in KINDS:
        raise ValueError(f"{kind!r} is no kind of rows")
    if not 0 < len(name) <= NAME_CHARACTERS_MAX or "\0" in name:
        raise ValueError(f"{name[:60]!r} is no name of a row: 1 to {NAME_CHARACTERS_MAX} characters")
    if len(data) > ROW_BYTES_MAX:
        raise ValueError(f"a row of {len(data)} bytes; at most {ROW_BYTES_MAX} are kept")
