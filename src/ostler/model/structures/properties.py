"""The structures of message handles and properties, and the variable string."""

from __future__ import annotations

from typing import Final

from ostler.model import constants as mq
from ostler.model.structures.layout import (
    CHAR,
    CHARV,
    CHARV_BUFFER_SIZE,
    CHARV_BYTES,
    CHARV_CCSID,
    CHARV_LENGTH,
    CHARV_OFFSET,
    CHARV_POINTER,
    EMPTY_CHARV,
    INT32,
    POINTER,
    Field,
    Layout,
)


def _options_only(name: str, identifier: bytes, reason: int, options: int) -> Layout:
    """Return the layout of a structure that has only options."""
    return Layout(
        name,
        identifier,
        reason,
        {1: 12},
        [
            Field("StrucId", CHAR, 0, 4, identifier, 1),
            Field("Version", INT32, 4, 4, 0, 1),
            Field("Options", INT32, 8, 4, options, 1),
        ],
    )


MQCMHO: Final = _options_only("MQCMHO", mq.MQCMHO_STRUC_ID, mq.MQRC_CMHO_ERROR, mq.MQCMHO_DEFAULT_VALIDATION)
MQDMHO: Final = _options_only("MQDMHO", mq.MQDMHO_STRUC_ID, mq.MQRC_DMHO_ERROR, mq.MQDMHO_NONE)
MQDMPO: Final = _options_only("MQDMPO", mq.MQDMPO_STRUC_ID, mq.MQRC_DMPO_ERROR, mq.MQDMPO_DEL_FIRST)
MQBMHO: Final = _options_only("MQBMHO", mq.MQBMHO_STRUC_ID, mq.MQRC_BMHO_ERROR, mq.MQBMHO_DELETE_PROPERTIES)
MQMHBO: Final = _options_only("MQMHBO", mq.MQMHBO_STRUC_ID, mq.MQRC_MHBO_ERROR, mq.MQMHBO_PROPERTIES_IN_MQRFH2)

# Options for setting a property.
MQSMPO: Final = Layout(
    "MQSMPO",
    mq.MQSMPO_STRUC_ID,
    mq.MQRC_SMPO_ERROR,
    {1: 20},
    [
        Field("StrucId", CHAR, 0, 4, mq.MQSMPO_STRUC_ID, 1),
        Field("Version", INT32, 4, 4, 0, 1),
        Field("Options", INT32, 8, 4, mq.MQSMPO_SET_FIRST, 1),
        Field("ValueEncoding", INT32, 12, 4, mq.MQENC_NATIVE, 1),
        Field("ValueCCSID", INT32, 16, 4, mq.MQCCSI_APPL, 1),
    ],
)

# Options for inquiring a property.
MQIMPO: Final = Layout(
    "MQIMPO",
    mq.MQIMPO_STRUC_ID,
    mq.MQRC_IMPO_ERROR,
    {1: 64},
    [
        Field("StrucId", CHAR, 0, 4, mq.MQIMPO_STRUC_ID, 1),
        Field("Version", INT32, 4, 4, 0, 1),
        Field("Options", INT32, 8, 4, mq.MQIMPO_INQ_FIRST, 1),
        Field("RequestedEncoding", INT32, 12, 4, mq.MQENC_NATIVE, 1),
        Field("RequestedCCSID", INT32, 16, 4, mq.MQCCSI_APPL, 1),
        Field("ReturnedEncoding", INT32, 20, 4, mq.MQENC_NATIVE, 1),
        Field("ReturnedCCSID", INT32, 24, 4, 0, 1),
        Field("Reserved1", INT32, 28, 4, 0, 1),
        Field("ReturnedName", CHARV, 32, 24, EMPTY_CHARV, 1),
        Field("TypeString", CHAR, 56, 8, b"", 1),
    ],
)

# Property descriptor.
MQPD: Final = Layout(
    "MQPD",
    mq.MQPD_STRUC_ID,
    mq.MQRC_PD_ERROR,
    {1: 24},
    [
        Field("StrucId", CHAR, 0, 4, mq.MQPD_STRUC_ID, 1),
        Field("Version", INT32, 4, 4, 0, 1),
        Field("Options", INT32, 8, 4, mq.MQPD_NONE, 1),
        Field("Support", INT32, 12, 4, mq.MQPD_SUPPORT_OPTIONAL, 1),
        Field("Context", INT32, 16, 4, mq.MQPD_NO_CONTEXT, 1),
        Field("CopyOptions", INT32, 20, 4, mq.MQCOPY_DEFAULT, 1),
    ],
)

# Variable string. It has no header, so it cannot be invalid.
MQCHARV: Final = Layout(
    "MQCHARV",
    b"",
    mq.MQRC_UNEXPECTED_ERROR,
    {1: CHARV_BYTES},
    [
        Field("VSPtr", POINTER, CHARV_POINTER, 8, 0, 1),
        Field("VSOffset", INT32, CHARV_OFFSET, 4, 0, 1),
        Field("VSBufSize", INT32, CHARV_BUFFER_SIZE, 4, 0, 1),
        Field("VSLength", INT32, CHARV_LENGTH, 4, 0, 1),
        Field("VSCCSID", INT32, CHARV_CCSID, 4, mq.MQCCSI_APPL, 1),
    ],
)
