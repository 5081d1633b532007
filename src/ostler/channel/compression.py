"""Compression of messages (COMPMSG) and message headers (COMPHDR) on a channel.

    method              format
    RLE, SYSTEM         pieces: the length of plain bytes, these bytes, the length of a run, the repeated byte
    ZLIBFAST, ZLIBHIGH  a zlib stream
    LZ4FAST, LZ4HIGH    the length of the data, then an LZ4 block

Lengths are little-endian numbers of 7 bits a byte, with the high bit set if more bytes follow; the length of an LZ4
block has 4 bytes. Data from a partner is untrusted: it is never expanded beyond the limit that the caller gives.
"""

from __future__ import annotations

import re
import zlib
from typing import Final

import lz4.block  # type: ignore[import-untyped]
from librt.strings import BytesWriter, read_i32_le, write_i32_le
from mypy_extensions import i32, i64, u8

from ostler.model import constants as mq
from ostler.wire.frames import MalformedFrame

# The keywords of COMPMSG and COMPHDR.
METHODS: Final[dict[str, int]] = {
    "NONE": mq.MQCOMPRESS_NONE,
    "RLE": mq.MQCOMPRESS_RLE,
    "ZLIBFAST": mq.MQCOMPRESS_ZLIBFAST,
    "ZLIBHIGH": mq.MQCOMPRESS_ZLIBHIGH,
    "SYSTEM": mq.MQCOMPRESS_SYSTEM,
    "LZ4FAST": mq.MQCOMPRESS_LZ4FAST,
    "LZ4HIGH": mq.MQCOMPRESS_LZ4HIGH,
    "ANY": mq.MQCOMPRESS_ANY,
}

# Shorter data is sent as it is: a descriptor alone is longer.
COMPRESS_BYTES_MIN: Final = 64

_LEVEL_FAST: Final = 1
_LEVEL_HIGH: Final = 9
_LZ4_LENGTH_BYTES: Final = 4
_LZ4_RATIO_MAX: Final = 255  # bytes that one byte of a block can expand to
# A run costs about four bytes and ends the plain bytes before it, so runs of less than eight bytes do not pay.
_EQUAL: Final = bytes(7)  # the differences of eight equal bytes
_MORE_EQUAL: Final = re.compile(rb"\0*")
_DIFFERENCES_BYTES: Final = 32_768  # at a time: numbers of this size stay in the processor's cache
_LENGTH_BITS_MAX: Final = 35


def choose(wanted: tuple[str, ...], offered: tuple[str, ...]) -> int:
    """Return the method for a channel: the first of the sending end's list that the receiving end offers, or none.

    Both are values of COMPMSG or of COMPHDR. ANY offers every method.
    """
    offers_any = "ANY" in offered
    for word in wanted:
        if word == "ANY":
            return _first_of(offered)
        if word in METHODS and (offers_any or word in offered):
            return METHODS[word]
    return mq.MQCOMPRESS_NONE


def _first_of(offered: tuple[str, ...]) -> int:
    """Return the method if the sending end has ANY: the first method of the other end's list, or the fastest one."""
    for word in offered:
        if word != "ANY" and word in METHODS:
            return METHODS[word]
    return mq.MQCOMPRESS_LZ4FAST if "ANY" in offered else mq.MQCOMPRESS_NONE


def compress_if_smaller(method: i64, data: bytes) -> bytes | None:
    """Return the compressed data, or None if that is not smaller; the data is then sent as it is."""
    if method == mq.MQCOMPRESS_NONE or len(data) < COMPRESS_BYTES_MIN:
        return None
    made = compress(method, data)
    return made if len(made) < len(data) else None


def compress(method: i64, data: bytes) -> bytes:
    """Return the compressed data, which may be longer than the data. ValueError for an unknown method."""
    if method == mq.MQCOMPRESS_NONE:
        return data
    if method == mq.MQCOMPRESS_RLE or method == mq.MQCOMPRESS_SYSTEM:
        return _compress_runs(data)
    if method == mq.MQCOMPRESS_ZLIBFAST:
        return zlib.compress(data, _LEVEL_FAST)
    if method == mq.MQCOMPRESS_ZLIBHIGH:
        return zlib.compress(data, _LEVEL_HIGH)
    if method == mq.MQCOMPRESS_LZ4FAST or method == mq.MQCOMPRESS_LZ4HIGH:
        mode = "fast" if method == mq.MQCOMPRESS_LZ4FAST else "high_compression"
        block: bytes = lz4.block.compress(data, mode=mode, store_size=False)
        writer = BytesWriter()
        write_i32_le(writer, i32(len(data)))
        writer.write(block)
        return writer.getvalue()
    raise ValueError(f"There is no compression method {method}.")


def expand(method: i64, data: bytes, bytes_max: i64) -> bytes:
    """Reverse `compress`. MalformedFrame if the data is not its output, or expands to more than `bytes_max` bytes."""
    if method == mq.MQCOMPRESS_NONE:
        if len(data) > bytes_max:
            raise _too_long(bytes_max)
        return data
    if method == mq.MQCOMPRESS_RLE or method == mq.MQCOMPRESS_SYSTEM:
        return _expand_runs(data, bytes_max)
    if method == mq.MQCOMPRESS_ZLIBFAST or method == mq.MQCOMPRESS_ZLIBHIGH:
        return _expand_zlib(data, bytes_max)
    if method == mq.MQCOMPRESS_LZ4FAST or method == mq.MQCOMPRESS_LZ4HIGH:
        return _expand_lz4(data, bytes_max)
    raise MalformedFrame(f"compression method {method} does not exist")


def _too_long(bytes_max: i64) -> MalformedFrame:
    return MalformedFrame(f"compressed data expands to more than the allowed {bytes_max} bytes")


def _expand_zlib(data: bytes, bytes_max: i64) -> bytes:
    stream = zlib.decompressobj()
    try:
        # One byte more than allowed, to detect longer data, and because zero would mean no limit.
        expanded = stream.decompress(data, bytes_max + 1)
    except zlib.error as error:
        raise MalformedFrame(f"compressed data is not a zlib stream: {error}") from None
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
        raise MalformedFrame(f"compressed data is not an LZ4 block: {error}") from None
    if len(expanded) != length:
        raise MalformedFrame(f"an LZ4 block holds {len(expanded)} bytes, but declares {length}")
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
    """Return, for each byte but the last, its difference (XOR) from the next byte; computed with long integers."""
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
    """Return a length and the offset behind it."""
    length: i64 = 0
    shift: i64 = 0
    while True:
        if at >= len(data) or shift >= _LENGTH_BITS_MAX:
            raise MalformedFrame("a length in run-length encoded data is not terminated")
        byte: i64 = data[at]
        at += 1
        length |= (byte & 0x7F) << shift
        shift += 7
        if byte <= 0x7F:
            return length, at
