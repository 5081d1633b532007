"""The structures of MQCONNX, MQSTAT and MQBEGIN."""

from __future__ import annotations

from typing import Final

from ostler.model import constants as mq
from ostler.model.structures.layout import BYTES, CHAR, CHARV, EMPTY_CHARV, INT32, POINTER, Field, Layout

# Connect options. Version 4 ends in four bytes of padding, where version 5 has its connection id.
MQCNO: Final = Layout(
    "MQCNO",
    mq.MQCNO_STRUC_ID,
    mq.MQRC_CNO_ERROR,
    {1: 12, 2: 24, 3: 152, 4: 168, 5: 200, 6: 224, 7: 256, 8: 272},
    [
        Field("StrucId", CHAR, 0, 4, mq.MQCNO_STRUC_ID, 1),
        Field("Version", INT32, 4, 4, 0, 1),
        Field("Options", INT32, 8, 4, mq.MQCNO_NONE, 1),
        Field("ClientConnOffset", INT32, 12, 4, 0, 2),
        Field("ClientConnPtr", POINTER, 16, 8, 0, 2),
        Field("ConnTag", BYTES, 24, 128, mq.MQCT_NONE, 3),
        Field("SSLConfigPtr", POINTER, 152, 8, 0, 4),
        Field("SSLConfigOffset", INT32, 160, 4, 0, 4),
        Field("ConnectionId", BYTES, 164, 24, mq.MQCONNID_NONE, 5),
        Field("SecurityParmsOffset", INT32, 188, 4, 0, 5),
        Field("SecurityParmsPtr", POINTER, 192, 8, 0, 5),
        Field("CCDTUrlPtr", POINTER, 200, 8, 0, 6),
        Field("CCDTUrlOffset", INT32, 208, 4, 0, 6),
        Field("CCDTUrlLength", INT32, 212, 4, 0, 6),
        Field("Reserved", BYTES, 216, 8, b"", 6),
        Field("ApplName", CHAR, 224, 28, mq.MQAN_NONE, 7),
        Field("Reserved2", BYTES, 252, 4, b"", 7),
        Field("BalanceParmsPtr", POINTER, 256, 8, 0, 8),
        Field("BalanceParmsOffset", INT32, 264, 4, 0, 8),
        Field("Reserved3", BYTES, 268, 4, b"", 8),
    ],
)

# Security parameters: user and password.
MQCSP: Final = Layout(
    "MQCSP",
    mq.MQCSP_STRUC_ID,
    mq.MQRC_CSP_ERROR,
    {1: 56, 2: 80, 3: 104},
    [
        Field("StrucId", CHAR, 0, 4, mq.MQCSP_STRUC_ID, 1),
        Field("Version", INT32, 4, 4, 0, 1),
        Field("AuthenticationType", INT32, 8, 4, mq.MQCSP_AUTH_NONE, 1),
        Field("Reserved1", BYTES, 12, 4, b"", 1),
        Field("CSPUserIdPtr", POINTER, 16, 8, 0, 1),
        Field("CSPUserIdOffset", INT32, 24, 4, 0, 1),
        Field("CSPUserIdLength", INT32, 28, 4, 0, 1),
        Field("Reserved2", BYTES, 32, 8, b"", 1),
        Field("CSPPasswordPtr", POINTER, 40, 8, 0, 1),
        Field("CSPPasswordOffset", INT32, 48, 4, 0, 1),
        Field("CSPPasswordLength", INT32, 52, 4, 0, 1),
        Field("Reserved3", BYTES, 56, 8, b"", 2),
        Field("InitialKeyPtr", POINTER, 64, 8, 0, 2),
        Field("InitialKeyOffset", INT32, 72, 4, 0, 2),
        Field("InitialKeyLength", INT32, 76, 4, 0, 2),
        Field("Reserved4", BYTES, 80, 8, b"", 3),
        Field("TokenPtr", POINTER, 88, 8, 0, 3),
        Field("TokenOffset", INT32, 96, 4, 0, 3),
        Field("TokenLength", INT32, 100, 4, 0, 3),
    ],
)

# Status of asynchronous puts and of reconnection.
MQSTS: Final = Layout(
    "MQSTS",
    mq.MQSTS_STRUC_ID,
    mq.MQRC_STS_ERROR,
    {1: 224, 2: 280},
    [
        Field("StrucId", CHAR, 0, 4, mq.MQSTS_STRUC_ID, 1),
        Field("Version", INT32, 4, 4, 0, 1),
        Field("CompCode", INT32, 8, 4, mq.MQCC_OK, 1),
        Field("Reason", INT32, 12, 4, mq.MQRC_NONE, 1),
        Field("PutSuccessCount", INT32, 16, 4, 0, 1),
        Field("PutWarningCount", INT32, 20, 4, 0, 1),
        Field("PutFailureCount", INT32, 24, 4, 0, 1),
        Field("ObjectType", INT32, 28, 4, mq.MQOT_Q, 1),
        Field("ObjectName", CHAR, 32, 48, b"", 1),
        Field("ObjectQMgrName", CHAR, 80, 48, b"", 1),
        Field("ResolvedObjectName", CHAR, 128, 48, b"", 1),
        Field("ResolvedQMgrName", CHAR, 176, 48, b"", 1),
        Field("ObjectString", CHARV, 224, 24, EMPTY_CHARV, 2),
        Field("SubName", CHARV, 248, 24, EMPTY_CHARV, 2),
        Field("OpenOptions", INT32, 272, 4, 0, 2),
        Field("SubOptions", INT32, 276, 4, 0, 2),
    ],
)

# Begin options.
MQBO: Final = Layout(
    "MQBO",
    mq.MQBO_STRUC_ID,
    mq.MQRC_BO_ERROR,
    {1: 12},
    [
        Field("StrucId", CHAR, 0, 4, mq.MQBO_STRUC_ID, 1),
        Field("Version", INT32, 4, 4, 0, 1),
        Field("Options", INT32, 8, 4, mq.MQBO_NONE, 1),
    ],
)
