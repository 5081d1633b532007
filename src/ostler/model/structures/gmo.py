"""Get options, MQGMO: the offsets of its fields for the hot paths, and its layout."""

from __future__ import annotations

from typing import Final

from ostler.model import constants as mq
from ostler.model.structures.layout import BYTES, CHAR, INT32, INT64, LETTER, Field, Layout

GMO_STRUC_ID: Final = 0
GMO_VERSION: Final = 4
GMO_OPTIONS: Final = 8
GMO_WAIT_INTERVAL: Final = 12
GMO_SIGNAL1: Final = 16
GMO_SIGNAL2: Final = 20
GMO_RESOLVED_Q_NAME: Final = 24
GMO_MATCH_OPTIONS: Final = 72
GMO_GROUP_STATUS: Final = 76
GMO_SEGMENT_STATUS: Final = 77
GMO_SEGMENTATION: Final = 78
GMO_MSG_TOKEN: Final = 80
GMO_RETURNED_LENGTH: Final = 96
GMO_MSG_HANDLE: Final = 104

GMO_BYTES_1: Final = 72
GMO_BYTES_2: Final = 80
GMO_BYTES_3: Final = 100
GMO_BYTES_4: Final = 112
GMO_BYTES: Final = 112

MQGMO: Final = Layout(
    "MQGMO",
    mq.MQGMO_STRUC_ID,
    mq.MQRC_GMO_ERROR,
    {1: GMO_BYTES_1, 2: GMO_BYTES_2, 3: GMO_BYTES_3, 4: GMO_BYTES_4},
    [
        Field("StrucId", CHAR, GMO_STRUC_ID, 4, mq.MQGMO_STRUC_ID, 1),
        Field("Version", INT32, GMO_VERSION, 4, 0, 1),
        Field("Options", INT32, GMO_OPTIONS, 4, mq.MQGMO_NO_WAIT, 1),
        Field("WaitInterval", INT32, GMO_WAIT_INTERVAL, 4, 0, 1),
        Field("Signal1", INT32, GMO_SIGNAL1, 4, 0, 1),
        Field("Signal2", INT32, GMO_SIGNAL2, 4, 0, 1),
        Field("ResolvedQName", CHAR, GMO_RESOLVED_Q_NAME, 48, b"", 1),
        Field("MatchOptions", INT32, GMO_MATCH_OPTIONS, 4, mq.MQMO_MATCH_MSG_ID + mq.MQMO_MATCH_CORREL_ID, 2),
        Field("GroupStatus", LETTER, GMO_GROUP_STATUS, 1, mq.MQGS_NOT_IN_GROUP, 2),
        Field("SegmentStatus", LETTER, GMO_SEGMENT_STATUS, 1, mq.MQSS_NOT_A_SEGMENT, 2),
        Field("Segmentation", LETTER, GMO_SEGMENTATION, 1, mq.MQSEG_INHIBITED, 2),
        Field("Reserved1", CHAR, 79, 1, b"", 2),
        Field("MsgToken", BYTES, GMO_MSG_TOKEN, 16, mq.MQMTOK_NONE, 3),
        Field("ReturnedLength", INT32, GMO_RETURNED_LENGTH, 4, mq.MQRL_UNDEFINED, 3),
        Field("Reserved2", INT32, 100, 4, 0, 4),
        Field("MsgHandle", INT64, GMO_MSG_HANDLE, 8, mq.MQHM_NONE, 4),
    ],
)
