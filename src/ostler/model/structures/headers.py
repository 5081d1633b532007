"""The headers before message data, and the trigger messages."""

from __future__ import annotations

from typing import Final

from ostler.model.constants import (
    MQCCSI_INHERIT,
    MQCCSI_UNDEFINED,
    MQDLH_STRUC_ID,
    MQENC_NATIVE,
    MQFMT_NONE,
    MQGI_NONE,
    MQIAUT_NONE,
    MQICM_COMMIT_THEN_SEND,
    MQIIH_NONE,
    MQIIH_STRUC_ID,
    MQISS_CHECK,
    MQITII_NONE,
    MQITS_NOT_IN_CONVERSATION,
    MQMDE_STRUC_ID,
    MQMDEF_NONE,
    MQMF_NONE,
    MQOL_UNDEFINED,
    MQRC_DLH_ERROR,
    MQRC_IIH_ERROR,
    MQRC_MDE_ERROR,
    MQRC_NONE,
    MQRC_RFH_ERROR,
    MQRC_TM_ERROR,
    MQRC_TMC_ERROR,
    MQRC_XQH_ERROR,
    MQRFH_NO_FLAGS,
    MQRFH_STRUC_ID,
    MQTM_STRUC_ID,
    MQTMC_STRUC_ID,
    MQXQH_STRUC_ID,
)
from ostler.model.structures.layout import BYTES, CHAR, INT32, LETTER, Field, Layout
from ostler.model.structures.md import MD_BYTES_1, MQMD

UTF_8: Final = 1208

# Dead-letter header: the reason, and the original destination.
MQDLH: Final = Layout(
    "MQDLH",
    MQDLH_STRUC_ID,
    MQRC_DLH_ERROR,
    {1: 172},
    [
        Field("StrucId", CHAR, 0, 4, MQDLH_STRUC_ID, 1),
        Field("Version", INT32, 4, 4, 0, 1),
        Field("Reason", INT32, 8, 4, MQRC_NONE, 1),
        Field("DestQName", CHAR, 12, 48, b"", 1),
        Field("DestQMgrName", CHAR, 60, 48, b"", 1),
        Field("Encoding", INT32, 108, 4, 0, 1),
        Field("CodedCharSetId", INT32, 112, 4, MQCCSI_UNDEFINED, 1),
        Field("Format", CHAR, 116, 8, MQFMT_NONE, 1),
        Field("PutApplType", INT32, 124, 4, 0, 1),
        Field("PutApplName", CHAR, 128, 28, b"", 1),
        Field("PutDate", CHAR, 156, 8, b"", 1),
        Field("PutTime", CHAR, 164, 8, b"", 1),
    ],
)

# Rules and formatting header 2: the fixed part, before the folders of properties.
MQRFH2: Final = Layout(
    "MQRFH2",
    MQRFH_STRUC_ID,
    MQRC_RFH_ERROR,
    {2: 36},
    [
        Field("StrucId", CHAR, 0, 4, MQRFH_STRUC_ID, 1),
        Field("Version", INT32, 4, 4, 0, 1),
        Field("StrucLength", INT32, 8, 4, 36, 1),
        Field("Encoding", INT32, 12, 4, MQENC_NATIVE, 1),
        Field("CodedCharSetId", INT32, 16, 4, MQCCSI_INHERIT, 1),
        Field("Format", CHAR, 20, 8, MQFMT_NONE, 1),
        Field("Flags", INT32, 28, 4, MQRFH_NO_FLAGS, 1),
        Field("NameValueCCSID", INT32, 32, 4, UTF_8, 2),
    ],
    grows=True,
)

# Transmission-queue header: the destination of a message, and its descriptor.
MQXQH: Final = Layout(
    "MQXQH",
    MQXQH_STRUC_ID,
    MQRC_XQH_ERROR,
    {1: 428},
    [
        Field("StrucId", CHAR, 0, 4, MQXQH_STRUC_ID, 1),
        Field("Version", INT32, 4, 4, 0, 1),
        Field("RemoteQName", CHAR, 8, 48, b"", 1),
        Field("RemoteQMgrName", CHAR, 56, 48, b"", 1),
        Field("MsgDesc", BYTES, 104, MD_BYTES_1, bytes(MQMD.default(1)), 1),
    ],
)

# Descriptor extension: the fields of MQMD version 2 that version 1 lacks.
MQMDE: Final = Layout(
    "MQMDE",
    MQMDE_STRUC_ID,
    MQRC_MDE_ERROR,
    {2: 72},
    [
        Field("StrucId", CHAR, 0, 4, MQMDE_STRUC_ID, 1),
        Field("Version", INT32, 4, 4, 0, 1),
        Field("StrucLength", INT32, 8, 4, 72, 1),
        Field("Encoding", INT32, 12, 4, MQENC_NATIVE, 1),
        Field("CodedCharSetId", INT32, 16, 4, MQCCSI_UNDEFINED, 1),
        Field("Format", CHAR, 20, 8, MQFMT_NONE, 1),
        Field("Flags", INT32, 28, 4, MQMDEF_NONE, 1),
        Field("GroupId", BYTES, 32, 24, MQGI_NONE, 2),
        Field("MsgSeqNumber", INT32, 56, 4, 1, 2),
        Field("Offset", INT32, 60, 4, 0, 2),
        Field("MsgFlags", INT32, 64, 4, MQMF_NONE, 2),
        Field("OriginalLength", INT32, 68, 4, MQOL_UNDEFINED, 2),
    ],
)

# IMS header: carried for programs that talk to an IMS bridge elsewhere.
MQIIH: Final = Layout(
    "MQIIH",
    MQIIH_STRUC_ID,
    MQRC_IIH_ERROR,
    {1: 84},
    [
        Field("StrucId", CHAR, 0, 4, MQIIH_STRUC_ID, 1),
        Field("Version", INT32, 4, 4, 0, 1),
        Field("StrucLength", INT32, 8, 4, 84, 1),
        Field("Encoding", INT32, 12, 4, 0, 1),
        Field("CodedCharSetId", INT32, 16, 4, 0, 1),
        Field("Format", CHAR, 20, 8, MQFMT_NONE, 1),
        Field("Flags", INT32, 28, 4, MQIIH_NONE, 1),
        Field("LTermOverride", CHAR, 32, 8, b"", 1),
        Field("MFSMapName", CHAR, 40, 8, b"", 1),
        Field("ReplyToFormat", CHAR, 48, 8, MQFMT_NONE, 1),
        Field("Authenticator", CHAR, 56, 8, MQIAUT_NONE, 1),
        Field("TranInstanceId", BYTES, 64, 16, MQITII_NONE, 1),
        Field("TranState", LETTER, 80, 1, MQITS_NOT_IN_CONVERSATION, 1),
        Field("CommitMode", LETTER, 81, 1, MQICM_COMMIT_THEN_SEND, 1),
        Field("SecurityScope", LETTER, 82, 1, MQISS_CHECK, 1),
        Field("Reserved", CHAR, 83, 1, b"", 1),
    ],
)

# Trigger message, which the queue manager puts on an initiation queue.
MQTM: Final = Layout(
    "MQTM",
    MQTM_STRUC_ID,
    MQRC_TM_ERROR,
    {1: 684},
    [
        Field("StrucId", CHAR, 0, 4, MQTM_STRUC_ID, 1),
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
    MQTMC_STRUC_ID,
    MQRC_TMC_ERROR,
    {1: 684, 2: 732},
    [
        Field("StrucId", CHAR, 0, 4, MQTMC_STRUC_ID, 1),
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
