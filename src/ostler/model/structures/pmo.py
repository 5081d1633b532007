"""Put options, MQPMO: the offsets of its fields for the hot paths, and its layout."""

from __future__ import annotations

from typing import Final

from ostler.model import constants as mq
from ostler.model.structures.layout import CHAR, INT32, INT64, POINTER, Field, Layout

PMO_STRUC_ID: Final = 0
PMO_VERSION: Final = 4
PMO_OPTIONS: Final = 8
PMO_TIMEOUT: Final = 12
PMO_CONTEXT: Final = 16
PMO_KNOWN_DEST_COUNT: Final = 20
PMO_UNKNOWN_DEST_COUNT: Final = 24
PMO_INVALID_DEST_COUNT: Final = 28
PMO_RESOLVED_Q_NAME: Final = 32
PMO_RESOLVED_Q_MGR_NAME: Final = 80
PMO_RECS_PRESENT: Final = 128
PMO_PUT_MSG_REC_FIELDS: Final = 132
PMO_PUT_MSG_REC_OFFSET: Final = 136
PMO_RESPONSE_REC_OFFSET: Final = 140
PMO_PUT_MSG_REC_PTR: Final = 144
PMO_RESPONSE_REC_PTR: Final = 152
PMO_ORIGINAL_MSG_HANDLE: Final = 160
PMO_NEW_MSG_HANDLE: Final = 168
PMO_ACTION: Final = 176
PMO_PUB_LEVEL: Final = 180

PMO_BYTES_1: Final = 128
PMO_BYTES_2: Final = 160
PMO_BYTES_3: Final = 184
PMO_BYTES: Final = 184

MQPMO: Final = Layout(
    "MQPMO",
    mq.MQPMO_STRUC_ID,
    mq.MQRC_PMO_ERROR,
    {1: PMO_BYTES_1, 2: PMO_BYTES_2, 3: PMO_BYTES_3},
    [
        Field("StrucId", CHAR, PMO_STRUC_ID, 4, mq.MQPMO_STRUC_ID, 1),
        Field("Version", INT32, PMO_VERSION, 4, 0, 1),
        Field("Options", INT32, PMO_OPTIONS, 4, mq.MQPMO_NONE, 1),
        Field("Timeout", INT32, PMO_TIMEOUT, 4, -1, 1),
        Field("Context", INT32, PMO_CONTEXT, 4, 0, 1),
        Field("KnownDestCount", INT32, PMO_KNOWN_DEST_COUNT, 4, 0, 1),
        Field("UnknownDestCount", INT32, PMO_UNKNOWN_DEST_COUNT, 4, 0, 1),
        Field("InvalidDestCount", INT32, PMO_INVALID_DEST_COUNT, 4, 0, 1),
        Field("ResolvedQName", CHAR, PMO_RESOLVED_Q_NAME, 48, b"", 1),
        Field("ResolvedQMgrName", CHAR, PMO_RESOLVED_Q_MGR_NAME, 48, b"", 1),
        Field("RecsPresent", INT32, PMO_RECS_PRESENT, 4, 0, 2),
        Field("PutMsgRecFields", INT32, PMO_PUT_MSG_REC_FIELDS, 4, mq.MQPMRF_NONE, 2),
        Field("PutMsgRecOffset", INT32, PMO_PUT_MSG_REC_OFFSET, 4, 0, 2),
        Field("ResponseRecOffset", INT32, PMO_RESPONSE_REC_OFFSET, 4, 0, 2),
        Field("PutMsgRecPtr", POINTER, PMO_PUT_MSG_REC_PTR, 8, 0, 2),
        Field("ResponseRecPtr", POINTER, PMO_RESPONSE_REC_PTR, 8, 0, 2),
        Field("OriginalMsgHandle", INT64, PMO_ORIGINAL_MSG_HANDLE, 8, mq.MQHM_NONE, 3),
        Field("NewMsgHandle", INT64, PMO_NEW_MSG_HANDLE, 8, mq.MQHM_NONE, 3),
        Field("Action", INT32, PMO_ACTION, 4, mq.MQACTP_NEW, 3),
        Field("PubLevel", INT32, PMO_PUB_LEVEL, 4, 9, 3),
    ],
)
