"""The structures of MQSUB, MQSUBRQ, MQCB and MQCTL."""

from __future__ import annotations

from typing import Final

from ostler.model import constants as mq
from ostler.model.structures.layout import BYTES, CHAR, CHARV, EMPTY_CHARV, INT32, POINTER, Field, Layout

# Subscription descriptor. The gaps before SelectionString and ResObjectString are alignment.
MQSD: Final = Layout(
    "MQSD",
    mq.MQSD_STRUC_ID,
    mq.MQRC_SD_ERROR,
    {1: 344},
    [
        Field("StrucId", CHAR, 0, 4, mq.MQSD_STRUC_ID, 1),
        Field("Version", INT32, 4, 4, 0, 1),
        Field("Options", INT32, 8, 4, mq.MQSO_NON_DURABLE, 1),
        Field("ObjectName", CHAR, 12, 48, b"", 1),
        Field("AlternateUserId", CHAR, 60, 12, b"", 1),
        Field("AlternateSecurityId", BYTES, 72, 40, mq.MQSID_NONE, 1),
        Field("SubExpiry", INT32, 112, 4, mq.MQEI_UNLIMITED, 1),
        Field("ObjectString", CHARV, 120, 24, EMPTY_CHARV, 1),
        Field("SubName", CHARV, 144, 24, EMPTY_CHARV, 1),
        Field("SubUserData", CHARV, 168, 24, EMPTY_CHARV, 1),
        Field("SubCorrelId", BYTES, 192, 24, mq.MQCI_NONE, 1),
        Field("PubPriority", INT32, 216, 4, mq.MQPRI_PRIORITY_AS_PUBLISHED, 1),
        Field("PubAccountingToken", BYTES, 220, 32, mq.MQACT_NONE, 1),
        Field("PubApplIdentityData", CHAR, 252, 32, b"", 1),
        Field("SelectionString", CHARV, 288, 24, EMPTY_CHARV, 1),
        Field("SubLevel", INT32, 312, 4, 1, 1),
        Field("ResObjectString", CHARV, 320, 24, EMPTY_CHARV, 1),
    ],
)

# Subscription request options.
MQSRO: Final = Layout(
    "MQSRO",
    mq.MQSRO_STRUC_ID,
    mq.MQRC_SRO_ERROR,
    {1: 16},
    [
        Field("StrucId", CHAR, 0, 4, mq.MQSRO_STRUC_ID, 1),
        Field("Version", INT32, 4, 4, 0, 1),
        Field("Options", INT32, 8, 4, mq.MQSRO_FAIL_IF_QUIESCING, 1),
        Field("NumPubs", INT32, 12, 4, 0, 1),
    ],
)

# Callback descriptor.
MQCBD: Final = Layout(
    "MQCBD",
    mq.MQCBD_STRUC_ID,
    mq.MQRC_CBD_ERROR,
    {1: 168},
    [
        Field("StrucId", CHAR, 0, 4, mq.MQCBD_STRUC_ID, 1),
        Field("Version", INT32, 4, 4, 0, 1),
        Field("CallbackType", INT32, 8, 4, mq.MQCBT_MESSAGE_CONSUMER, 1),
        Field("Options", INT32, 12, 4, mq.MQCBDO_NONE, 1),
        Field("CallbackArea", POINTER, 16, 8, 0, 1),
        Field("CallbackFunction", POINTER, 24, 8, 0, 1),
        Field("CallbackName", CHAR, 32, 128, b"", 1),
        Field("MaxMsgLength", INT32, 160, 4, mq.MQCBD_FULL_MSG_LENGTH, 1),
    ],
)

# Callback context. Programs only receive it, so an invalid one is an internal error.
MQCBC: Final = Layout(
    "MQCBC",
    mq.MQCBC_STRUC_ID,
    mq.MQRC_UNEXPECTED_ERROR,
    {1: 56, 2: 64},
    [
        Field("StrucId", CHAR, 0, 4, mq.MQCBC_STRUC_ID, 1),
        Field("Version", INT32, 4, 4, 0, 1),
        Field("CallType", INT32, 8, 4, 0, 1),
        Field("Hobj", INT32, 12, 4, mq.MQHO_UNUSABLE_HOBJ, 1),
        Field("CallbackArea", POINTER, 16, 8, 0, 1),
        Field("ConnectionArea", POINTER, 24, 8, 0, 1),
        Field("CompCode", INT32, 32, 4, mq.MQCC_OK, 1),
        Field("Reason", INT32, 36, 4, mq.MQRC_NONE, 1),
        Field("State", INT32, 40, 4, mq.MQCS_NONE, 1),
        Field("DataLength", INT32, 44, 4, 0, 1),
        Field("BufferLength", INT32, 48, 4, 0, 1),
        Field("Flags", INT32, 52, 4, mq.MQCBCF_NONE, 1),
        Field("ReconnectDelay", INT32, 56, 4, 0, 2),
    ],
)

# Control options.
MQCTLO: Final = Layout(
    "MQCTLO",
    mq.MQCTLO_STRUC_ID,
    mq.MQRC_CTLO_ERROR,
    {1: 24},
    [
        Field("StrucId", CHAR, 0, 4, mq.MQCTLO_STRUC_ID, 1),
        Field("Version", INT32, 4, 4, 0, 1),
        Field("Options", INT32, 8, 4, mq.MQCTLO_NONE, 1),
        Field("Reserved", INT32, 12, 4, 0, 1),
        Field("ConnectionArea", POINTER, 16, 8, 0, 1),
    ],
)
