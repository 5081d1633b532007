"""Object descriptor, MQOD: the offsets of its fields for the hot paths, and its layout."""

from __future__ import annotations

from typing import Final

from ostler.model import constants as mq
from ostler.model.structures.layout import BYTES, CHAR, CHARV, EMPTY_CHARV, INT32, POINTER, Field, Layout

OD_STRUC_ID: Final = 0
OD_VERSION: Final = 4
OD_OBJECT_TYPE: Final = 8
OD_OBJECT_NAME: Final = 12
OD_OBJECT_Q_MGR_NAME: Final = 60
OD_DYNAMIC_Q_NAME: Final = 108
OD_ALTERNATE_USER_ID: Final = 156
OD_RECS_PRESENT: Final = 168
OD_KNOWN_DEST_COUNT: Final = 172
OD_UNKNOWN_DEST_COUNT: Final = 176
OD_INVALID_DEST_COUNT: Final = 180
OD_OBJECT_REC_OFFSET: Final = 184
OD_RESPONSE_REC_OFFSET: Final = 188
OD_OBJECT_REC_PTR: Final = 192
OD_RESPONSE_REC_PTR: Final = 200
OD_ALTERNATE_SECURITY_ID: Final = 208
OD_RESOLVED_Q_NAME: Final = 248
OD_RESOLVED_Q_MGR_NAME: Final = 296
OD_OBJECT_STRING: Final = 344
OD_SELECTION_STRING: Final = 368
OD_RES_OBJECT_STRING: Final = 392
OD_RESOLVED_TYPE: Final = 416

OD_BYTES_1: Final = 168
OD_BYTES_2: Final = 208
OD_BYTES_3: Final = 344
OD_BYTES_4: Final = 424
OD_BYTES: Final = 424

MQOD: Final = Layout(
    "MQOD",
    mq.MQOD_STRUC_ID,
    mq.MQRC_OD_ERROR,
    {1: OD_BYTES_1, 2: OD_BYTES_2, 3: OD_BYTES_3, 4: OD_BYTES_4},
    [
        Field("StrucId", CHAR, OD_STRUC_ID, 4, mq.MQOD_STRUC_ID, 1),
        Field("Version", INT32, OD_VERSION, 4, 0, 1),
        Field("ObjectType", INT32, OD_OBJECT_TYPE, 4, mq.MQOT_Q, 1),
        Field("ObjectName", CHAR, OD_OBJECT_NAME, 48, b"", 1),
        Field("ObjectQMgrName", CHAR, OD_OBJECT_Q_MGR_NAME, 48, b"", 1),
        Field("DynamicQName", CHAR, OD_DYNAMIC_Q_NAME, 48, b"AMQ.*", 1),
        Field("AlternateUserId", CHAR, OD_ALTERNATE_USER_ID, 12, b"", 1),
        Field("RecsPresent", INT32, OD_RECS_PRESENT, 4, 0, 2),
        Field("KnownDestCount", INT32, OD_KNOWN_DEST_COUNT, 4, 0, 2),
        Field("UnknownDestCount", INT32, OD_UNKNOWN_DEST_COUNT, 4, 0, 2),
        Field("InvalidDestCount", INT32, OD_INVALID_DEST_COUNT, 4, 0, 2),
        Field("ObjectRecOffset", INT32, OD_OBJECT_REC_OFFSET, 4, 0, 2),
        Field("ResponseRecOffset", INT32, OD_RESPONSE_REC_OFFSET, 4, 0, 2),
        Field("ObjectRecPtr", POINTER, OD_OBJECT_REC_PTR, 8, 0, 2),
        Field("ResponseRecPtr", POINTER, OD_RESPONSE_REC_PTR, 8, 0, 2),
        Field("AlternateSecurityId", BYTES, OD_ALTERNATE_SECURITY_ID, 40, mq.MQSID_NONE, 3),
        Field("ResolvedQName", CHAR, OD_RESOLVED_Q_NAME, 48, b"", 3),
        Field("ResolvedQMgrName", CHAR, OD_RESOLVED_Q_MGR_NAME, 48, b"", 3),
        Field("ObjectString", CHARV, OD_OBJECT_STRING, 24, EMPTY_CHARV, 4),
        Field("SelectionString", CHARV, OD_SELECTION_STRING, 24, EMPTY_CHARV, 4),
        Field("ResObjectString", CHARV, OD_RES_OBJECT_STRING, 24, EMPTY_CHARV, 4),
        Field("ResolvedType", INT32, OD_RESOLVED_TYPE, 4, mq.MQOT_NONE, 4),
    ],
)
