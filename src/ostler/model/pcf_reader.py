"""Decoder of PCF messages. Import it from `pcf`."""

from __future__ import annotations

import struct
from typing import Final, final

from ostler.model import constants as mq
from ostler.model.pcf_parameters import (
    CODECS,
    UTF_8,
    ByteString,
    ByteStringFilter,
    Group,
    Header,
    Integer,
    Integer64,
    Integer64List,
    IntegerFilter,
    IntegerList,
    Parameter,
    PcfError,
    PcfMessage,
    String,
    StringFilter,
    StringList,
)

# Groups may contain groups, but no real message is nested this deep.
GROUP_DEPTH_MAX: Final = 8

_MESSAGE_TYPES: Final = frozenset(
    {
        mq.MQCFT_ACCOUNTING,
        mq.MQCFT_APP_ACTIVITY,
        mq.MQCFT_COMMAND,
        mq.MQCFT_COMMAND_XR,
        mq.MQCFT_EVENT,
        mq.MQCFT_REPORT,
        mq.MQCFT_RESPONSE,
        mq.MQCFT_STATISTICS,
        mq.MQCFT_STATUS,
        mq.MQCFT_TRACE_ROUTE,
        mq.MQCFT_USER,
        mq.MQCFT_XR_ITEM,
        mq.MQCFT_XR_MSG,
        mq.MQCFT_XR_SUMMARY,
    }
)


def decode(data: bytes, ccsid: int = UTF_8, big_endian: bool = False) -> PcfMessage:
    """Decode the message that fills `data` exactly. `ccsid` is that of the message descriptor. Raises PcfError."""
    if len(data) < mq.MQCFH_STRUC_LENGTH:
        raise PcfError(mq.MQRCCF_MSG_LENGTH_ERROR, f"{len(data)} bytes are less than a PCF header")
    reader = _Reader(data, ">" if big_endian else "<", ccsid)
    if reader.integer(4) != mq.MQCFH_STRUC_LENGTH:
        raise PcfError(mq.MQRCCF_CFH_LENGTH_ERROR, f"the header says it has {reader.integer(4)} bytes")
    header = Header(
        type=reader.integer(0),
        version=reader.integer(8),
        command=reader.integer(12),
        sequence_number=reader.integer(16),
        control=reader.integer(20),
        completion=reader.integer(24),
        reason=reader.integer(28),
    )
    _check_header(header)
    count = reader.integer(32)
    # Every parameter takes at least sixteen bytes, so an impossible count is detected first.
    if not 0 <= count <= (len(data) - mq.MQCFH_STRUC_LENGTH) // mq.MQCFIN_STRUC_LENGTH:
        raise PcfError(mq.MQRCCF_CFH_PARM_COUNT_ERROR, f"{count} parameters do not fit in {len(data)} bytes")
    reader.at = mq.MQCFH_STRUC_LENGTH
    parameters = reader.parameters(count, 0)
    if reader.at != len(data):
        raise PcfError(mq.MQRCCF_MSG_LENGTH_ERROR, f"{len(data) - reader.at} bytes follow the last parameter")
    return PcfMessage(header, parameters)


def _check_header(header: Header) -> None:
    if header.type not in _MESSAGE_TYPES:
        raise PcfError(mq.MQRCCF_CFH_TYPE_ERROR, f"{header.type} is not a type of PCF message")
    if not mq.MQCFH_VERSION_1 <= header.version <= mq.MQCFH_VERSION_3:
        raise PcfError(mq.MQRCCF_CFH_VERSION_ERROR, f"the header has no version {header.version}")
    if header.control not in (mq.MQCFC_LAST, mq.MQCFC_NOT_LAST):
        raise PcfError(mq.MQRCCF_CFH_CONTROL_ERROR, f"{header.control} is not a control option")
    if header.sequence_number < 1:
        raise PcfError(mq.MQRCCF_CFH_MSG_SEQ_NUMBER_ERR, "message sequence numbers begin at 1")


@final
class _Reader:
    """Reads the parameter structures. `at` is where the next one begins."""

    def __init__(self, data: bytes, order: str, ccsid: int) -> None:
        self.data = data
        self.at = 0
        self.ccsid = ccsid
        self.order = order
        self._integer = struct.Struct(order + "i")

    def integer(self, offset: int) -> int:
        """Return the number at an offset in the structure. The caller has checked the length."""
        value: int = self._integer.unpack_from(self.data, self.at + offset)[0]
        return value

    def parameters(self, count: int, depth: int) -> tuple[Parameter, ...]:
        found: list[Parameter] = []
        while len(found) < count:
            left = len(self.data) - self.at
            if left < mq.MQCFIN_STRUC_LENGTH:
                raise PcfError(mq.MQRCCF_CFH_PARM_COUNT_ERROR, f"the message ends after {len(found)} parameters")
            length = self.integer(4)
            if not mq.MQCFIN_STRUC_LENGTH <= length <= left:
                reason = _LENGTH_REASONS.get(self.integer(0), mq.MQRCCF_STRUCTURE_TYPE_ERROR)
                raise PcfError(reason, f"a parameter says it has {length} bytes, of {left} that are left")
            found.append(self._parameter(length, depth))
        return tuple(found)

    def _parameter(self, length: int, depth: int) -> Parameter:
        kind = self.integer(0)
        if kind == mq.MQCFT_GROUP:
            return self._group(length, depth)
        if kind in (mq.MQCFT_INTEGER, mq.MQCFT_INTEGER64, mq.MQCFT_INTEGER_FILTER):
            item = self._fixed(kind, length)
        elif kind in (mq.MQCFT_INTEGER_LIST, mq.MQCFT_INTEGER64_LIST):
            item = self._integer_list(kind, length)
        elif kind == mq.MQCFT_STRING_LIST:
            item = self._string_list(length)
        elif kind in _BYTES_FIXED:
            item = self._with_bytes(kind, length)
        else:
            raise PcfError(mq.MQRCCF_STRUCTURE_TYPE_ERROR, f"{kind} is not a type of PCF parameter")
        self.at += length
        return item

    def _fixed(self, type: int, length: int) -> Parameter:
        parameter = self.integer(8)
        if type == mq.MQCFT_INTEGER:
            _check(length == mq.MQCFIN_STRUC_LENGTH, mq.MQRCCF_CFIN_LENGTH_ERROR)
            return Integer(parameter, self.integer(12))
        if type == mq.MQCFT_INTEGER64:
            _check(length == mq.MQCFIN64_STRUC_LENGTH, mq.MQRCCF_CFIN_LENGTH_ERROR)
            value: int = struct.unpack_from(self.order + "q", self.data, self.at + 16)[0]
            return Integer64(parameter, value)
        _check(length == mq.MQCFIF_STRUC_LENGTH, mq.MQRCCF_CFIF_LENGTH_ERROR)
        return IntegerFilter(parameter, self.integer(12), self.integer(16))

    def _integer_list(self, type: int, length: int) -> Parameter:
        parameter, count = self.integer(8), self.integer(12)
        width = 4 if type == mq.MQCFT_INTEGER_LIST else 8
        _check(count >= 0, mq.MQRCCF_CFIL_COUNT_ERROR)
        _check(length == mq.MQCFIL_STRUC_LENGTH_FIXED + count * width, mq.MQRCCF_CFIL_LENGTH_ERROR)
        letter = "i" if type == mq.MQCFT_INTEGER_LIST else "q"
        values: tuple[int, ...] = struct.unpack_from(
            f"{self.order}{count}{letter}", self.data, self.at + mq.MQCFIL_STRUC_LENGTH_FIXED
        )
        return IntegerList(parameter, values) if type == mq.MQCFT_INTEGER_LIST else Integer64List(parameter, values)

    def _string_list(self, length: int) -> Parameter:
        _check(length >= mq.MQCFSL_STRUC_LENGTH_FIXED, mq.MQRCCF_CFSL_LENGTH_ERROR)
        parameter, ccsid, count, width = self.integer(8), self.integer(12), self.integer(16), self.integer(20)
        _check(count >= 0, mq.MQRCCF_CFSL_COUNT_ERROR)
        # Strings of length 0 could be claimed in any number.
        _check(width > 0 or (count == 0 and width == 0), mq.MQRCCF_CFSL_STRING_LENGTH_ERR)
        _check(count * width <= length - mq.MQCFSL_STRUC_LENGTH_FIXED, mq.MQRCCF_CFSL_TOTAL_LENGTH_ERROR)
        start = self.at + mq.MQCFSL_STRUC_LENGTH_FIXED
        codec = self._codec(ccsid)
        values = [self._text(start + width * index, width, codec) for index in range(count)]
        return StringList(parameter, tuple(values), ccsid)

    def _with_bytes(self, type: int, length: int) -> Parameter:
        """Read a string or byte string, or a filter of them: the last fixed field is the length of the data."""
        fixed = _BYTES_FIXED[type]
        _check(length >= fixed, _LENGTH_REASONS[type])
        parameter, size = self.integer(8), self.integer(fixed - 4)
        _check(0 <= size <= length - fixed, _SIZE_REASONS[type])
        start = self.at + fixed
        if type == mq.MQCFT_STRING:
            ccsid = self.integer(12)
            return String(parameter, self._text(start, size, self._codec(ccsid)), ccsid)
        if type == mq.MQCFT_STRING_FILTER:
            ccsid = self.integer(16)
            return StringFilter(parameter, self.integer(12), self._text(start, size, self._codec(ccsid)), ccsid)
        data = self.data[start : start + size]
        if type == mq.MQCFT_BYTE_STRING:
            return ByteString(parameter, data)
        return ByteStringFilter(parameter, self.integer(12), data)

    def _group(self, length: int, depth: int) -> Parameter:
        parameter, count = self.integer(8), self.integer(12)
        _check(length == mq.MQCFGR_STRUC_LENGTH, mq.MQRCCF_CFGR_LENGTH_ERROR)
        left = len(self.data) - self.at - mq.MQCFGR_STRUC_LENGTH
        _check(0 <= count <= left // mq.MQCFIN_STRUC_LENGTH, mq.MQRCCF_CFGR_PARM_COUNT_ERROR)
        _check(depth < GROUP_DEPTH_MAX, mq.MQRCCF_CFGR_PARM_COUNT_ERROR)
        self.at += mq.MQCFGR_STRUC_LENGTH
        return Group(parameter, self.parameters(count, depth + 1))

    def _codec(self, ccsid: int) -> str:
        codec = CODECS.get(ccsid or self.ccsid)
        if codec is None:
            raise PcfError(mq.MQRCCF_CCSID_ERROR, f"strings are not read in code page {ccsid or self.ccsid}")
        return codec

    def _text(self, start: int, size: int, codec: str) -> str:
        try:
            return self.data[start : start + size].decode(codec).rstrip(" \0")
        except UnicodeDecodeError:
            raise PcfError(mq.MQRCCF_CCSID_ERROR, f"a string is not text in its code page, {codec}") from None


# For the structures that end in bytes: the length of the fixed part, and the reasons for wrong lengths.
_BYTES_FIXED: Final[dict[int, int]] = {
    mq.MQCFT_STRING: mq.MQCFST_STRUC_LENGTH_FIXED,
    mq.MQCFT_BYTE_STRING: mq.MQCFBS_STRUC_LENGTH_FIXED,
    mq.MQCFT_STRING_FILTER: mq.MQCFSF_STRUC_LENGTH_FIXED,
    mq.MQCFT_BYTE_STRING_FILTER: mq.MQCFBF_STRUC_LENGTH_FIXED,
}
_SIZE_REASONS: Final[dict[int, int]] = {
    mq.MQCFT_STRING: mq.MQRCCF_CFST_STRING_LENGTH_ERR,
    mq.MQCFT_BYTE_STRING: mq.MQRCCF_CFBS_STRING_LENGTH_ERR,
    mq.MQCFT_STRING_FILTER: mq.MQRCCF_CFSF_FILTER_VAL_LEN_ERR,
    mq.MQCFT_BYTE_STRING_FILTER: mq.MQRCCF_CFBF_FILTER_VAL_LEN_ERR,
}
_LENGTH_REASONS: Final[dict[int, int]] = {
    mq.MQCFT_INTEGER: mq.MQRCCF_CFIN_LENGTH_ERROR,
    mq.MQCFT_INTEGER64: mq.MQRCCF_CFIN_LENGTH_ERROR,
    mq.MQCFT_INTEGER_LIST: mq.MQRCCF_CFIL_LENGTH_ERROR,
    mq.MQCFT_INTEGER64_LIST: mq.MQRCCF_CFIL_LENGTH_ERROR,
    mq.MQCFT_STRING: mq.MQRCCF_CFST_LENGTH_ERROR,
    mq.MQCFT_STRING_LIST: mq.MQRCCF_CFSL_LENGTH_ERROR,
    mq.MQCFT_BYTE_STRING: mq.MQRCCF_CFBS_LENGTH_ERROR,
    mq.MQCFT_INTEGER_FILTER: mq.MQRCCF_CFIF_LENGTH_ERROR,
    mq.MQCFT_STRING_FILTER: mq.MQRCCF_CFSF_LENGTH_ERROR,
    mq.MQCFT_BYTE_STRING_FILTER: mq.MQRCCF_CFBF_LENGTH_ERROR,
    mq.MQCFT_GROUP: mq.MQRCCF_CFGR_LENGTH_ERROR,
}


def _check(is_fine: bool, reason: int) -> None:
    if not is_fine:
        raise PcfError(reason, f"a parameter's lengths or counts contradict each other ({reason})")
