"""The headers before message data, and the trigger messages."""

from __future__ import annotations

from typing import Final

from ostler.model import constants as mq
from ostler.model.structures.layout import BYTES, CHAR, INT32, LETTER, Field, Layout
from ostler.model.structures.md import MD_BYTES_1, MQMD

UTF_8: Final = 1208

# Dead-letter header: the reason, and the original destination.
MQDLH: Final = Layout(
    "MQDLH",
    mq.MQDLH_STRUC_ID,
    mq.MQRC_DLH_ERROR,
    {1: 172},
    [
        Field("StrucId", CHAR, 0, 4, mq.MQDLH_STRUC_ID, 1),
        Field("Version", INT32, 4, 4, 0, 1),
        Field("Reason", INT32, 8, 4, mq.MQRC_NONE, 1),
        Field("DestQName", CHAR, 12, 48, b"", 1),
        Field("DestQMgrName", CHAR, 60, 48, b"", 1),
        Field("Encoding", INT32, 108, 4, 0, 1),
        Field("CodedCharSetId", INT32, 112, 4, mq.MQCCSI_UNDEFINED, 1),
        Field("Format", CHAR, 116, 8, mq.MQFMT_NONE, 1),
        Field("PutApplType", INT32, 124, 4, 0, 1),
        Field("PutApplName", CHAR, 128, 28, b"", 1),
        Field("PutDate", CHAR, 156, 8, b"", 1),
        Field("PutTime", CHAR, 164, 8, b"", 1),
    ],
)

# Rules and formatting header 2: the fixed part, before the folders of properties.
MQRFH2: Final = Layout(
    "MQRFH2",
    mq.MQRFH_STRUC_ID,
    mq.MQRC_RFH_ERROR,
    {2: 36},
    [
        Field("StrucId", CHAR, 0, 4, mq.MQRFH_STRUC_ID, 1),
        Field("Version", INT32, 4, 4, 0, 1),
        Field("StrucLength", INT32, 8, 4, 36, 1),
        Field("Encoding", INT32, 12, 4, mq.MQENC_NATIVE, 1),
        Field("CodedCharSetId", INT32, 16, 4, mq.MQCCSI_INHERIT, 1),
        Field("Format", CHAR, 20, 8, mq.MQFMT_NONE, 1),
        Field("Flags", INT32, 28, 4, mq.MQRFH_NO_FLAGS, 1),
        Field("NameValueCCSID", INT32, 32, 4, UTF_8, 2),
    ],
    grows=True,
)

# Transmission-queue header: the destination of a message, and its descriptor.
MQXQH: Final = Layout(
    "MQXQH",
    mq.MQXQH_STRUC_ID,
    mq.MQRC_XQH_ERROR,
    {1: 428},
    [
        Field("StrucId", CHAR, 0, 4, mq.MQXQH_STRUC_ID, 1),
        Field("Version", INT32, 4, 4, 0, 1),
        Field("RemoteQName", CHAR, 8, 48, b"", 1),
        Field("RemoteQMgrName", CHAR, 56, 48, b"", 1),
        Field("MsgDesc", BYTES, 104, MD_BYTES_1, bytes(MQMD.default(1)), 1),
    ],
)

# Descriptor extension: the fields of MQMD version 2 that version 1 lacks.
MQMDE: Final = Layout(
    "MQMDE",
    mq.MQMDE_STRUC_ID,
    mq.MQRC_MDE_ERROR,
    {2: 72},
    [
        Field("StrucId", CHAR, 0, 4, mq.MQMDE_STRUC_ID, 1),
        Field("Version", INT32, 4, 4, 0, 1),
        Field("StrucLength", INT32, 8, 4, 72, 1),
        Field("Encoding", INT32, 12, 4, mq.MQENC_NATIVE, 1),
        Field("CodedCharSetId", INT32, 16, 4, mq.MQCCSI_UNDEFINED, 1),
        Field("Format", CHAR, 20, 8, mq.MQFMT_NONE, 1),
        Field("Flags", INT32, 28, 4, mq.MQMDEF_NONE, 1),
        Field("GroupId", BYTES, 32, 24, mq.MQGI_NONE, 2),
        Field("MsgSeqNumber", INT32, 56, 4, 1, 2),
        Field("Offset", INT32, 60, 4, 0, 2),
        Field("MsgFlags", INT32, 64, 4, mq.MQMF_NONE, 2),
        Field("OriginalLength", INT32, 68, 4, mq.MQOL_UNDEFINED, 2),
    ],
)

# IMS header: carried for programs that talk to an IMS bridge elsewhere.
MQIIH: Final = Layout(
    "MQIIH",
    mq.MQIIH_STRUC_ID,
    mq.MQRC_IIH_ERROR,
    {1: 84},
    [
        Field("StrucId", CHAR, 0, 4, mq.MQIIH_STRUC_ID, 1),
        Field("Version", INT32, 4, 4, 0, 1),
        Field("StrucLength", INT32, 8, 4, 84, 1),
        Field("Encoding", INT32, 12, 4, 0, 1),
        Field("CodedCharSetId", INT32, 16, 4, 0, 1),
        Field("Format", CHAR, 20, 8, mq.MQFMT_NONE, 1),
        Field("Flags", INT32, 28, 4, mq.MQIIH_NONE, 1),
        Field("LTermOverride", CHAR, 32, 8, b"", 1),
        Field("MFSMapName", CHAR, 40, 8, b"", 1),
        Field("ReplyToFormat", CHAR, 48, 8, mq.MQFMT_NONE, 1),
        Field("Authenticator", CHAR, 56, 8, mq.MQIAUT_NONE, 1),
        Field("TranInstanceId", BYTES, 64, 16, mq.MQITII_NONE, 1),
        Field("TranState", LETTER, 80, 1, mq.MQITS_NOT_IN_CONVERSATION, 1),
        Field("CommitMode", LETTER, 81, 1, mq.MQICM_COMMIT_THEN_SEND, 1),
        Field("SecurityScope", LETTER, 82, 1, mq.MQISS_CHECK, 1),
        Field("Reserved", CHAR, 83, 1, b"", 1),
    ],
)

# Trigger message, which the queue manager puts on an initiation queue.
MQTM: Final = Layout(
    "MQTM",
    mq.MQTM_STRUC_ID,
    mq.MQRC_TM_ERROR,
    {1: 684},
    [
        Field("StrucId", CHAR, 0, 4, mq.MQTM_STRUC_ID, 1),
        Field("Version", INT32, 4, 4, 0, 1),
        Field("QName", CHAR, 8, 48, b"", 1),
        Field("ProcessName", CHAR, 56, 48, b"", 1),
        Field("TriggerData", CHAR, 104, 64, b"", 1),
        Field("ApplType", INT32, 168, 4, 0, 1),
        Field("ApplId", CHAR, 172, 256, b"", 1),
        Field("EnvData", CHAR, 428, 128, b"", 1),
        Field("UserData", CHAR, 556, 128, b"", 1),
    ],
)

# Trigger message in character format, which a trigger monitor passes to the program it starts.
MQTMC2: Final = Layout(
    "MQTMC2",
    mq.MQTMC_STRUC_ID,
    mq.MQRC_TMC_ERROR,
    {1: 684, 2: 732},
    [
        Field("StrucId", CHAR, 0, 4, mq.MQTMC_STRUC_ID, 1),
        Field("Version", CHAR, 4, 4, b"", 1),
        Field("QName", CHAR, 8, 48, b"", 1),
        Field("ProcessName", CHAR, 56, 48, b"", 1),
        Field("TriggerData", CHAR, 104, 64, b"", 1),
        Field("ApplType", CHAR, 168, 4, b"", 1),
        Field("ApplId", CHAR, 172, 256, b"", 1),
        Field("EnvData", CHAR, 428, 128, b"", 1),
        Field("UserData", CHAR, 556, 128, b"", 1),
        Field("QMgrName", CHAR, 684, 48, b"", 2),
    ],
)
