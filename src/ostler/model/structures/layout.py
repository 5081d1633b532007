"""The layout of an MQI structure: offsets and initial values of its fields, and how they are read and changed.

A structure is never unpacked: a field is read at its offset and patched in place. The layouts are those of a C compiler
on Linux x86_64: little-endian, natural alignment, pointers of eight bytes. Headers inside messages may come from other
platforms, so fields can be read and patched in big-endian order, too.
"""

from __future__ import annotations

import struct
from typing import Final, NamedTuple, final

from ostler.model import constants as mq
from ostler.model.errors import MQError

CHAR: Final = "char"  # Text of fixed length, padded with blanks.
LETTER: Final = "letter"  # One character, read as its number, as the constants name it.
BYTES: Final = "bytes"  # Binary, padded with zeros.
INT32: Final = "int32"
INT64: Final = "int64"
POINTER: Final = "pointer"
CHARV: Final = "charv"  # A variable string: pointer, offset, buffer size, length, character set.

CHARV_BYTES: Final = 24
CHARV_POINTER: Final = 0
CHARV_OFFSET: Final = 8
CHARV_BUFFER_SIZE: Final = 12
CHARV_LENGTH: Final = 16
CHARV_CCSID: Final = 20

# An absent variable string, in the character set of the program.
EMPTY_CHARV: Final = bytes(CHARV_CCSID) + struct.pack("<i", mq.MQCCSI_APPL)

_ALIGNMENTS: Final[dict[str, int]] = {CHAR: 1, LETTER: 1, BYTES: 1, INT32: 4, INT64: 8, POINTER: 8, CHARV: 8}

_NUMBERS_LITTLE: Final[dict[str, struct.Struct]] = {
    LETTER: struct.Struct("<B"),
    INT32: struct.Struct("<i"),
    INT64: struct.Struct("<q"),
    POINTER: struct.Struct("<Q"),
}
_NUMBERS_BIG: Final[dict[str, struct.Struct]] = {
    LETTER: struct.Struct(">B"),
    INT32: struct.Struct(">i"),
    INT64: struct.Struct(">q"),
    POINTER: struct.Struct(">Q"),
}


class Field(NamedTuple):
    """One field: MQ's name, kind, offset, length, initial value, and the first version that has it."""

    name: str
    kind: str
    offset: int
    length: int
    default: int | bytes
    version: int


def pad(value: str | bytes, length: int) -> bytes:
    """Pad text with blanks to the length of its field. As in MQ, text ends at the first NUL."""
    text = value.encode() if isinstance(value, str) else bytes(value)
    text = text.partition(b"\0")[0]
    if len(text.rstrip(b" ")) > length:
        raise ValueError(f"a text of {len(text)} bytes does not fit a field of {length}")
    return text.ljust(length)[:length]


def trim(field: bytes) -> bytes:
    """Return the text of a field without its padding: up to the first NUL, without trailing blanks."""
    return field.partition(b"\0")[0].rstrip(b" ")


def charv_parts(name: str, offset: int, version: int) -> list[Field]:
    """Return the five parts of a variable string, named as in the Python packages: ObjectStringVSPtr and so on."""
    return [
        Field(name + "VSPtr", POINTER, offset + CHARV_POINTER, 8, 0, version),
        Field(name + "VSOffset", INT32, offset + CHARV_OFFSET, 4, 0, version),
        Field(name + "VSBufSize", INT32, offset + CHARV_BUFFER_SIZE, 4, 0, version),
        Field(name + "VSLength", INT32, offset + CHARV_LENGTH, 4, 0, version),
        Field(name + "VSCCSID", INT32, offset + CHARV_CCSID, 4, 0, version),
    ]


@final
class Layout:
    """A structure with its versions. `reason` is the reason code for an invalid structure."""

    def __init__(
        self, name: str, identifier: bytes, reason: int, sizes: dict[int, int], fields: list[Field], grows: bool = False
    ) -> None:
        self.name = name
        self.identifier = identifier
        self.reason = reason
        self.sizes = sizes
        self.fields = fields
        self.current_version: int = max(sizes)
        # A structure that grows has data of its own after the fixed part, counted in StrucLength.
        self.grows = grows
        self.by_name: dict[str, Field] = {}
        end = 0
        for field in fields:
            assert field.offset >= end, f"{name}.{field.name} overlaps the field before it"
            assert field.offset % _ALIGNMENTS[field.kind] == 0, f"{name}.{field.name} is not aligned"
            end = field.offset + field.length
            self.by_name[field.name] = field
            if field.kind == CHARV:
                for part in charv_parts(field.name, field.offset, field.version):
                    self.by_name[part.name] = part
        assert end <= sizes[self.current_version], f"{name} is longer than its size"
        self._defaults: dict[int, bytes] = {}
        for version in sizes:
            self._defaults[version] = self._first_values(version)

    def size(self, version: int = 0) -> int:
        """Return the size of a version in bytes; by default the newest."""
        return self.sizes[version or self.current_version]

    def offset(self, field: str) -> int:
        """Return the offset of a field."""
        return self.by_name[field].offset

    def default(self, version: int = 0) -> bytearray:
        """Return a structure with initial values; by default of the newest version."""
        return bytearray(self._defaults[version or self.current_version])

    def read(self, buffer: bytes | bytearray, field: str, encoding_little: bool = True) -> int | bytes:
        """Read a field: a number, or bytes with their padding for text, binary and variable strings."""
        row = self.by_name[field]
        numbers = _NUMBERS_LITTLE if encoding_little else _NUMBERS_BIG
        number = numbers.get(row.kind)
        if number is None:
            return bytes(buffer[row.offset : row.offset + row.length])
        found: int = number.unpack_from(buffer, row.offset)[0]
        return found

    def read_int(self, buffer: bytes | bytearray, field: str, encoding_little: bool = True) -> int:
        """Read a field that is a number."""
        value = self.read(buffer, field, encoding_little)
        assert isinstance(value, int), f"{self.name}.{field} is not a number"
        return value

    def read_bytes(self, buffer: bytes | bytearray, field: str) -> bytes:
        """Read a field that is text, binary or a variable string, with its padding."""
        value = self.read(buffer, field)
        assert isinstance(value, bytes), f"{self.name}.{field} is a number"
        return value

    def patch(self, buffer: bytearray, field: str, value: int | str | bytes, encoding_little: bool = True) -> None:
        """Change one field in place. A value that does not fit raises ValueError and changes nothing."""
        row = self.by_name[field]
        if row.offset + row.length > len(buffer):
            raise ValueError(f"{self.name}.{field} lies beyond the {len(buffer)} bytes of this version")
        buffer[row.offset : row.offset + row.length] = self._packed(row, value, encoding_little)

    def validate_header(self, buffer: bytes | bytearray, encoding_little: bool = True) -> int:
        """Check identifier, version and length, and return the version. Raises MQError with the structure's reason.

        Bytes may follow the structure, as a message follows its header.
        """
        assert "StrucId" in self.by_name, f"{self.name} has no header"
        if len(buffer) < 8:
            raise MQError(self.reason, f"{self.name} has {len(buffer)} bytes and needs at least 8.")
        if buffer[0:4] != self.identifier:
            raise MQError(self.reason, f"{self.name} does not begin with {self.identifier.decode()!r}.")
        version = self._version(buffer, encoding_little)
        size = self.sizes.get(version)
        if size is None:
            raise MQError(self.reason, f"{self.name} has no version {version}.")
        if len(buffer) < size:
            raise MQError(self.reason, f"{self.name} version {version} has {len(buffer)} bytes and needs {size}.")
        if "StrucLength" in self.by_name:
            length = self.read_int(buffer, "StrucLength", encoding_little)
            if self.grows:
                fits = size <= length <= len(buffer) and length % 4 == 0
            else:
                fits = length == size
            if not fits:
                raise MQError(self.reason, f"{self.name} has a StrucLength of {length}, which is wrong.")
        return version

    def _version(self, buffer: bytes | bytearray, encoding_little: bool) -> int:
        # MQTMC2 has its version as text, since it is passed to programs as a command line.
        if self.by_name["Version"].kind == INT32:
            return self.read_int(buffer, "Version", encoding_little)
        text = bytes(buffer[4:8]).strip()
        return int(text) if text.isdigit() else 0

    def _packed(self, row: Field, value: int | str | bytes, encoding_little: bool) -> bytes:
        numbers = _NUMBERS_LITTLE if encoding_little else _NUMBERS_BIG
        number = numbers.get(row.kind)
        if number is not None:
            if not isinstance(value, int):
                raise ValueError(f"{self.name}.{row.name} takes a number")
            try:
                return number.pack(value)
            except struct.error:
                raise ValueError(f"{value} does not fit {self.name}.{row.name}") from None
        if isinstance(value, int):
            raise ValueError(f"{self.name}.{row.name} takes text or bytes")
        if row.kind == CHAR:
            return pad(value, row.length)
        if isinstance(value, str):
            raise ValueError(f"{self.name}.{row.name} takes bytes")
        if len(value) > row.length:
            raise ValueError(f"{len(value)} bytes do not fit {self.name}.{row.name}, which has {row.length}")
        return bytes(value).ljust(row.length, b"\0")

    def _first_values(self, version: int) -> bytes:
        buffer = bytearray(self.sizes[version])
        for field in self.fields:
            if field.version <= version:
                self.patch(buffer, field.name, field.default)
        if "Version" in self.by_name:
            if self.by_name["Version"].kind == INT32:
                self.patch(buffer, "Version", version)
            else:
                self.patch(buffer, "Version", str(version).rjust(4))
        return bytes(buffer)
