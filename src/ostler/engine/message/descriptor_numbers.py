"""Integers of packed descriptors: read in place, changed by making a new descriptor."""

from __future__ import annotations

from librt.strings import BytesWriter, read_i32_le, write_i32_le, write_i64_le
from mypy_extensions import i32, i64


def field(md: bytes, at: i64) -> i64:
    """Return the integer at an offset of a descriptor."""
    return i64(read_i32_le(md, at))


def with_field(md: bytes, at: i64, value: i64) -> bytes:
    """Return a copy of a descriptor with one integer changed."""
    return md[:at] + four_bytes(value) + md[at + 4 :]


def four_bytes(value: i64) -> bytes:
    writer = BytesWriter()
    write_i32_le(writer, i32(value))
    return writer.getvalue()


def two_numbers(a: i64, b: i64) -> bytes:
    """Return two numbers in 16 bytes."""
    writer = BytesWriter()
    write_i64_le(writer, a)
    write_i64_le(writer, b)
    return writer.getvalue()
