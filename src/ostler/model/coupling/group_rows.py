"""What is in the rows of a shared repository that are not definitions of objects.

A row is a version, its kind, and attributes with names, in the encoding of definitions. So a later release adds
attributes, and an older one keeps those that it does not know.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final, final

from ostler.model.definitions import AttributeReader, add_attributes, add_text

VERSION: Final = 1

RowValue = int | str | tuple[str, ...]
RowValues = dict[str, RowValue]


def encode_row(kind: str, values: RowValues) -> bytes:
    parts: list[bytes] = [bytes((VERSION,))]
    add_text(parts, kind)
    add_attributes(parts, values)
    return b"".join(parts)


def decode_row(kind: str, data: bytes) -> RowValues:
    """Raises ValueError for another kind, another version, or damage."""
    reader = AttributeReader(data, "row")
    version = reader.integer(1)
    if version != VERSION:
        raise ValueError(f"a row of version {version}; this release reads version {VERSION}")
    found = reader.text()
    if found != kind:
        raise ValueError(f"a row of {found[:48]!r}, not of {kind}")
    return reader.attributes()


def integer_of(values: RowValues, name: str) -> int:
    value = values.get(name, 0)
    return value if isinstance(value, int) else 0


@final
class RowLayout:
    """The attributes of a kind of rows: a field of its class, a name in the row, and the value when it is missing."""

    def __init__(self, kind: str, *attributes: tuple[str, str, RowValue]) -> None:
        self.kind = kind
        self.attributes = attributes

    def encode(self, row: object) -> bytes:
        return encode_row(self.kind, {name: getattr(row, field) for field, name, _ in self.attributes})

    def decode(self, data: bytes) -> dict[str, Any]:
        """Return the values by fields; one of another type counts as missing. Raises ValueError, as `decode_row`."""
        values = decode_row(self.kind, data)
        found: dict[str, Any] = {}
        for field, name, missing in self.attributes:
            value = values.get(name, missing)
            found[field] = value if type(value) is type(missing) else missing
        return found


_GROUP: Final = RowLayout(
    "group",
    ("name", "name", ""),
    ("facility", "facility", ""),
    ("facility_name", "facility name", ""),
    ("facility_directory", "facility directory", ""),
    ("structure_megabytes", "structure megabytes", 0),
)


@dataclass(frozen=True)
class GroupRow:
    """The group itself."""

    name: str
    facility: str
    """Where the coupling facility answers: the path of a socket, host(port), or redis://..."""
    facility_name: str = ""
    """The facility of our own that must answer there."""
    facility_directory: str = ""
    """Not empty: members start the facility by themselves, with this directory."""
    structure_megabytes: int = 0
    """The size of structures that members make; 0: the default."""

    def encode(self) -> bytes:
        return _GROUP.encode(self)

    @staticmethod
    def decode(data: bytes) -> GroupRow:
        """Raises ValueError, as `decode_row`."""
        return GroupRow(**_GROUP.decode(data))


_MEMBER: Final = RowLayout(
    "member",
    ("name", "name", ""),
    ("number", "number", 0),
    ("level", "level", 0),
    ("address", "address", ""),
    ("data_directory", "data directory", ""),
    ("log_directory", "log directory", ""),
)


@dataclass(frozen=True)
class MemberRow:
    """A queue manager of the group roll. Its number was never given to another one, and never will be."""

    name: str
    number: int
    level: int = 0
    """The release of the queue manager, as its command level."""
    address: str = ""
    """Where peers reach it: host(port), or the path of its socket; empty: unknown."""
    data_directory: str = ""
    log_directory: str = ""

    def encode(self) -> bytes:
        return _MEMBER.encode(self)

    @staticmethod
    def decode(data: bytes) -> MemberRow:
        """Raises ValueError, as `decode_row`."""
        return MemberRow(**_MEMBER.decode(data))


_BACKUP: Final = RowLayout(
    "backup",
    ("structure", "structure", ""),
    ("member", "member", 0),
    ("member_name", "member name", ""),
    ("start_lsn", "start LSN", 0),
    ("end_lsn", "end LSN", 0),
    ("incarnation", "incarnation", ""),
    ("began_ms", "began", 0),
    ("ended_ms", "ended", 0),
    ("entries", "entries", 0),
    ("size_bytes", "bytes", 0),
    ("logs", "logs", ()),
)


@dataclass(frozen=True)
class BackupRow:
    """The last backup of a structure that ended well: where its records are, and from where logs must be merged."""

    structure: str
    member: int
    """The number of the member in whose log it is."""
    member_name: str
    start_lsn: int
    end_lsn: int
    incarnation: str
    """Of the structure, in hexadecimal digits."""
    began_ms: int
    ended_ms: int
    """By the clock of the member, in milliseconds since 1970."""
    entries: int = 0
    size_bytes: int = 0
    logs: tuple[str, ...] = ()
    """From where the logs of members must be kept: number and LSN, for each that was active."""

    def positions(self) -> list[tuple[int, int]]:
        """Return the numbers of members, each with the LSN from which its log must be kept. Raises ValueError."""
        found: list[tuple[int, int]] = []
        for each in self.logs:
            number, lsn = each.split(" ")
            found.append((int(number), int(lsn)))
        return found

    def encode(self) -> bytes:
        return _BACKUP.encode(self)

    @staticmethod
    def decode(data: bytes) -> BackupRow:
        """Raises ValueError, as `decode_row`."""
        return BackupRow(**_BACKUP.decode(data))
