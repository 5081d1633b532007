"""How a channel makes messages smaller on their way: COMPMSG and COMPHDR.

    method              what is sent
    RLE, SYSTEM         pieces: the length of plain bytes, these, the length of a run, the byte that is repeated
    ZLIBFAST, ZLIBHIGH  a zlib stream
    LZ4FAST, LZ4HIGH    the length of the data, then an LZ4 block

Lengths are little-endian numbers of 7 bits a byte, the high bit saying that more follow; that of an LZ4 block has
4 bytes. What comes from a partner may be anything: nothing is expanded beyond what the caller allows.
"""

from __future__ import annotations

import re
import zlib
from typing import Final

import lz4.block  # type: ignore[import-untyped]
from librt.strings import BytesWriter, read_i32_le, write_i32_le
from mypy_extensions import i32, i64, u8

from ostler.model.constants import (
    MQCOMPRESS_ANY,
    MQCOMPRESS_LZ4FAST,
    MQCOMPRESS_LZ4HIGH,
    MQCOMPRESS_NONE,
    MQCOMPRESS_RLE,
    MQCOMPRESS_SYSTEM,
    MQCOMPRESS_ZLIBFAST,
    MQCOMPRESS_ZLIBHIGH,
)
from ostler.wire.frames import MalformedFrame

# The words of COMPMSG and COMPHDR.
METHODS: Final[dict[str, int]] = {
    "NONE": MQCOMPRESS_NONE,
    "RLE": MQCOMPRESS_RLE,
    "ZLIBFAST": MQCOMPRESS_ZLIBFAST,
    "ZLIBHIGH": MQCOMPRESS_ZLIBHIGH,
    "SYSTEM": MQCOMPRESS_SYSTEM,
    "LZ4FAST": MQCOMPRESS_LZ4FAST,
    "LZ4HIGH": MQCOMPRESS_LZ4HIGH,
    "ANY": MQCOMPRESS_ANY,
}

# Shorter data is not worth the work: a descriptor alone takes more.
WORTHWHILE_BYTES: Final = 64

_LEVEL_FAST: Final = 1
_LEVEL_HIGH: Final = 9
_LZ4_LENGTH_BYTES: Final = 4
_LZ4_RATIO_MAX: Final = 255  # a byte of a block stands for no more than this
# A run costs four bytes or so, and ends the plain bytes before it: shorter ones than eight are not worth it.
_EQUAL: Final = bytes(7)  # as many neighbours that do not differ
_MORE_EQUAL: Final = re.compile(rb"\0*")
_DIFFERENCES_BYTES: Final = 32_768  # at a time: numbers that stay in the processor's cache
_LENGTH_BITS_MAX: Final = 35


def choose(wanted: tuple[str, ...], offered: tuple[str, ...]) -> int:
    """The method for a channel: the first that the sending end wants and the other end offers, or none at all.

    Both are values of COMPMSG or of COMPHDR. ANY offers everything.
    """
    offers_any = "ANY" in offered
    for word in wanted:
        if word == "ANY":
            return _first_of(offered)
        if word in METHODS and (offers_any or word in offered):
            return METHODS[word]
    return MQCOMPRESS_NONE


def _first_of(offered: tuple[str, ...]) -> int:
    """Both ends take what comes: the first real method of the other end's list, or the quickest."""
    for word in offered:
        if word != "ANY" and word in METHODS:
            return METHODS[word]
    return MQCOMPRESS_LZ4FAST if "ANY" in offered else MQCOMPRESS_NONE


def compress_if_smaller(method: i64, data: bytes) -> bytes | None:
    """The data compressed, or None when that does not make it smaller: then it is sent as it is."""
    if method == MQCOMPRESS_NONE or len(data) < WORTHWHILE_BYTES:
        return None
    made = compress(method, data)
    return made if len(made) < len(data) else None


def compress(method: i64, data: bytes) -> bytes:
    """The data made smaller, or larger when it cannot be. ValueError for a method there is not."""
    if method == MQCOMPRESS_NONE:
        return data
    if method == MQCOMPRESS_RLE or method == MQCOMPRESS_SYSTEM:
        return _compress_runs(data)
    if method == MQCOMPRESS_ZLIBFAST:
        return zlib.compress(data, _LEVEL_FAST)
    if method == MQCOMPRESS_ZLIBHIGH:
        return zlib.compress(data, _LEVEL_HIGH)
    if method == MQCOMPRESS_LZ4FAST or method == MQCOMPRESS_LZ4HIGH:
        mode = "fast" if method == MQCOMPRESS_LZ4FAST else "high_compression"
        block: bytes = lz4.block.compress(data, mode=mode, store_size=False)
        writer = BytesWriter()
        write_i32_le(writer, i32(len(data)))
        writer.write(block)
        return writer.getvalue()
    raise ValueError(f"There is no compression method {method}.")


def expand(method: i64, data: bytes, bytes_max: i64) -> bytes:
    """What `compress` was given. Raises MalformedFrame for what it has not made, or what has more than `bytes_max`."""
    if method == MQCOMPRESS_NONE:
        if len(data) > bytes_max:
            raise _too_long(bytes_max)
        return data
    if method == MQCOMPRESS_RLE or method == MQCOMPRESS_SYSTEM:
        return _expand_runs(data, bytes_max)
    if method == MQCOMPRESS_ZLIBFAST or method == MQCOMPRESS_ZLIBHIGH:
        return _expand_zlib(data, bytes_max)
    if method == MQCOMPRESS_LZ4FAST or method == MQCOMPRESS_LZ4HIGH:
        return _expand_lz4(data, bytes_max)
    raise MalformedFrame(f"compression method {method} does not exist")


def _too_long(bytes_max: i64) -> MalformedFrame:
    return MalformedFrame(f"compressed data has more than the {bytes_max} bytes that are allowed")


def _expand_zlib(data: bytes, bytes_max: i64) -> bytes:
    stream = zlib.decompressobj()
    try:
        # One more than allowed: to see that there is more, and because no limit at all is written as zero.
        expanded = stream.decompress(data, bytes_max + 1)
    except zlib.error as error:
        raise MalformedFrame(f"compressed data is no zlib stream: {error}") from None
    if len(expanded) > bytes_max:
        raise _too_long(bytes_max)
    if not stream.eof or stream.unused_data:
        raise MalformedFrame("a zlib stream does not end where the data ends")
    return expanded


def _expand_lz4(data: bytes, bytes_max: i64) -> bytes:
    if len(data) <= _LZ4_LENGTH_BYTES:
        raise MalformedFrame("an LZ4 block is cut off")
    length: i64 = i64(read_i32_le(data, 0))
    if length > bytes_max:
        raise _too_long(bytes_max)
    if length < 0 or length > (len(data) - _LZ4_LENGTH_BYTES) * _LZ4_RATIO_MAX:
        raise MalformedFrame(f"no LZ4 block of this size holds {length} bytes")
    try:
        expanded: bytes = lz4.block.decompress(memoryview(data)[_LZ4_LENGTH_BYTES:], uncompressed_size=length)
    except (lz4.block.LZ4BlockError, ValueError) as error:
        raise MalformedFrame(f"compressed data is no LZ4 block: {error}") from None
    if len(expanded) != length:
        raise MalformedFrame(f"an LZ4 block holds {len(expanded)} bytes and says {length}")
    return expanded


# -- run-length encoding -----------------------------------------------------------------------------------------------


def _compress_runs(data: bytes) -> bytes:
    writer = BytesWriter()
    differences = _differences(data)
    at = 0
    start = differences.find(_EQUAL)
    while start >= 0:
        more = _MORE_EQUAL.match(differences, start + len(_EQUAL))
        assert more is not None
        end = more.end() + 1
        _write_length(writer, start - at)
        writer.write(data[at:start])
        _write_length(writer, end - start)
        writer.append(u8(data[start]))
        at = end
        start = differences.find(_EQUAL, at)
    if at < len(data):
        _write_length(writer, len(data) - at)
        writer.write(data[at:])
    return writer.getvalue()


def _differences(data: bytes) -> bytes:
    """For each byte but the last a zero if the next one is the same. By long numbers, not byte by byte."""
    parts: list[bytes] = []
    for at in range(0, len(data) - 1, _DIFFERENCES_BYTES):
        piece = data[at : at + _DIFFERENCES_BYTES + 1]
        number = int.from_bytes(piece, "little")
        parts.append((number ^ number >> 8).to_bytes(len(piece), "little")[:-1])
    return b"".join(parts)


def _write_length(writer: BytesWriter, length: i64) -> None:
    while length > 0x7F:
        writer.append(u8(length & 0x7F | 0x80))
        length >>= 7
    writer.append(u8(length))


def _expand_runs(data: bytes, bytes_max: i64) -> bytes:
    writer = BytesWriter()
    room: i64 = bytes_max
    at: i64 = 0
    end: i64 = len(data)
    while at < end:
        length, at = _read_length(data, at)
        if length > end - at:
            raise MalformedFrame("run-length encoded data is cut off")
        if length > room:
            raise _too_long(bytes_max)
        writer.write(data[at : at + length])
        room -= length
        at += length
        if at == end:
            break
        length, at = _read_length(data, at)
        if at == end:
            raise MalformedFrame("run-length encoded data is cut off")
        if length > room:
            raise _too_long(bytes_max)
        writer.write(data[at : at + 1] * length)
        room -= length
        at += 1
    return writer.getvalue()


def _read_length(data: bytes, at: i64) -> tuple[i64, i64]:
    """A length, and where it ends."""
    length: i64 = 0
    shift: i64 = 0
    while True:
        if at >= len(data) or shift >= _LENGTH_BITS_MAX:
            raise MalformedFrame("a length in run-length encoded data has no end")
        byte: i64 = data[at]
        at += 1
        length |= (byte & 0x7F) << shift
        shift += 7
        if byte <= 0x7F:
            return length, at
