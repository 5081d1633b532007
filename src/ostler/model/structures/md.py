"""Message descriptor, MQMD: the offsets of its fields for the hot paths, and its layout."""

from __future__ import annotations

from typing import Final, final

from ostler.model import constants as mq
from ostler.model.structures.layout import BYTES, CHAR, INT32, Field, Layout, trim

MD_STRUC_ID: Final = 0
MD_VERSION: Final = 4
MD_REPORT: Final = 8
MD_MSG_TYPE: Final = 12
MD_EXPIRY: Final = 16
MD_FEEDBACK: Final = 20
MD_ENCODING: Final = 24
MD_CODED_CHAR_SET_ID: Final = 28
MD_FORMAT: Final = 32
MD_PRIORITY: Final = 40
MD_PERSISTENCE: Final = 44
MD_MSG_ID: Final = 48
MD_CORREL_ID: Final = 72
MD_BACKOUT_COUNT: Final = 96
MD_REPLY_TO_Q: Final = 100
MD_REPLY_TO_Q_MGR: Final = 148
MD_USER_IDENTIFIER: Final = 196
MD_ACCOUNTING_TOKEN: Final = 208
MD_APPL_IDENTITY_DATA: Final = 240
MD_PUT_APPL_TYPE: Final = 272
MD_PUT_APPL_NAME: Final = 276
MD_PUT_DATE: Final = 304
MD_PUT_TIME: Final = 312
MD_APPL_ORIGIN_DATA: Final = 320
MD_GROUP_ID: Final = 324
MD_MSG_SEQ_NUMBER: Final = 348
MD_OFFSET: Final = 352
MD_MSG_FLAGS: Final = 356
MD_ORIGINAL_LENGTH: Final = 360

MD_BYTES_1: Final = 324
MD_BYTES_2: Final = 364
MD_BYTES: Final = 364

MQMD: Final = Layout(
    "MQMD",
    mq.MQMD_STRUC_ID,
    mq.MQRC_MD_ERROR,
    {1: MD_BYTES_1, 2: MD_BYTES_2},
    [
        Field("StrucId", CHAR, MD_STRUC_ID, 4, mq.MQMD_STRUC_ID, 1),
        Field("Version", INT32, MD_VERSION, 4, 0, 1),
        Field("Report", INT32, MD_REPORT, 4, mq.MQRO_NONE, 1),
        Field("MsgType", INT32, MD_MSG_TYPE, 4, mq.MQMT_DATAGRAM, 1),
        Field("Expiry", INT32, MD_EXPIRY, 4, mq.MQEI_UNLIMITED, 1),
        Field("Feedback", INT32, MD_FEEDBACK, 4, mq.MQFB_NONE, 1),
        Field("Encoding", INT32, MD_ENCODING, 4, mq.MQENC_NATIVE, 1),
        Field("CodedCharSetId", INT32, MD_CODED_CHAR_SET_ID, 4, mq.MQCCSI_Q_MGR, 1),
        Field("Format", CHAR, MD_FORMAT, 8, mq.MQFMT_NONE, 1),
        Field("Priority", INT32, MD_PRIORITY, 4, mq.MQPRI_PRIORITY_AS_Q_DEF, 1),
        Field("Persistence", INT32, MD_PERSISTENCE, 4, mq.MQPER_PERSISTENCE_AS_Q_DEF, 1),
        Field("MsgId", BYTES, MD_MSG_ID, 24, mq.MQMI_NONE, 1),
        Field("CorrelId", BYTES, MD_CORREL_ID, 24, mq.MQCI_NONE, 1),
        Field("BackoutCount", INT32, MD_BACKOUT_COUNT, 4, 0, 1),
        Field("ReplyToQ", CHAR, MD_REPLY_TO_Q, 48, b"", 1),
        Field("ReplyToQMgr", CHAR, MD_REPLY_TO_Q_MGR, 48, b"", 1),
        Field("UserIdentifier", CHAR, MD_USER_IDENTIFIER, 12, b"", 1),
        Field("AccountingToken", BYTES, MD_ACCOUNTING_TOKEN, 32, mq.MQACT_NONE, 1),
        Field("ApplIdentityData", CHAR, MD_APPL_IDENTITY_DATA, 32, b"", 1),
        Field("PutApplType", INT32, MD_PUT_APPL_TYPE, 4, mq.MQAT_NO_CONTEXT, 1),
        Field("PutApplName", CHAR, MD_PUT_APPL_NAME, 28, b"", 1),
        Field("PutDate", CHAR, MD_PUT_DATE, 8, b"", 1),
        Field("PutTime", CHAR, MD_PUT_TIME, 8, b"", 1),
        Field("ApplOriginData", CHAR, MD_APPL_ORIGIN_DATA, 4, b"", 1),
        Field("GroupId", BYTES, MD_GROUP_ID, 24, mq.MQGI_NONE, 2),
        Field("MsgSeqNumber", INT32, MD_MSG_SEQ_NUMBER, 4, 1, 2),
        Field("Offset", INT32, MD_OFFSET, 4, 0, 2),
        Field("MsgFlags", INT32, MD_MSG_FLAGS, 4, mq.MQMF_NONE, 2),
        Field("OriginalLength", INT32, MD_ORIGINAL_LENGTH, 4, mq.MQOL_UNDEFINED, 2),
    ],
)

# A version 2 descriptor with initial values.
MD_DEFAULT: Final = bytes(MQMD.default(2))


@final
class Md:
    """A message descriptor with properties for its fields, which reads and changes its buffer in place.

    Texts are read without their padding. Hot paths use the offsets above instead.
    """

    def __init__(self, buffer: bytearray | None = None) -> None:
        self.buffer: bytearray = bytearray(MD_DEFAULT) if buffer is None else buffer

    def _number(self, field: str) -> int:
        return MQMD.read_int(self.buffer, field)

    def _text(self, field: str) -> str:
        return trim(MQMD.read_bytes(self.buffer, field)).decode(errors="replace")

    @property
    def version(self) -> int:
        return self._number("Version")

    @version.setter
    def version(self, value: int) -> None:
        MQMD.patch(self.buffer, "Version", value)

    @property
    def report(self) -> int:
        return self._number("Report")

    @report.setter
    def report(self, value: int) -> None:
        MQMD.patch(self.buffer, "Report", value)

    @property
    def msg_type(self) -> int:
        return self._number("MsgType")

    @msg_type.setter
    def msg_type(self, value: int) -> None:
        MQMD.patch(self.buffer, "MsgType", value)

    @property
    def expiry(self) -> int:
        return self._number("Expiry")

    @expiry.setter
    def expiry(self, value: int) -> None:
        MQMD.patch(self.buffer, "Expiry", value)

    @property
    def feedback(self) -> int:
        return self._number("Feedback")

    @feedback.setter
    def feedback(self, value: int) -> None:
        MQMD.patch(self.buffer, "Feedback", value)

    @property
    def encoding(self) -> int:
        return self._number("Encoding")

    @encoding.setter
    def encoding(self, value: int) -> None:
        MQMD.patch(self.buffer, "Encoding", value)

    @property
    def coded_char_set_id(self) -> int:
        return self._number("CodedCharSetId")

    @coded_char_set_id.setter
    def coded_char_set_id(self, value: int) -> None:
        MQMD.patch(self.buffer, "CodedCharSetId", value)

    @property
    def format(self) -> str:
        return self._text("Format")

    @format.setter  # noqa: A003 - MQ names the field so
    def format(self, value: str) -> None:
        MQMD.patch(self.buffer, "Format", value)

    @property
    def priority(self) -> int:
        return self._number("Priority")

    @priority.setter
    def priority(self, value: int) -> None:
        MQMD.patch(self.buffer, "Priority", value)

    @property
    def persistence(self) -> int:
        return self._number("Persistence")

    @persistence.setter
    def persistence(self, value: int) -> None:
        MQMD.patch(self.buffer, "Persistence", value)

    @property
    def msg_id(self) -> bytes:
        return MQMD.read_bytes(self.buffer, "MsgId")

    @msg_id.setter
    def msg_id(self, value: bytes) -> None:
        MQMD.patch(self.buffer, "MsgId", value)

    @property
    def correl_id(self) -> bytes:
        return MQMD.read_bytes(self.buffer, "CorrelId")

    @correl_id.setter
    def correl_id(self, value: bytes) -> None:
        MQMD.patch(self.buffer, "CorrelId", value)

    @property
    def backout_count(self) -> int:
        return self._number("BackoutCount")

    @backout_count.setter
    def backout_count(self, value: int) -> None:
        MQMD.patch(self.buffer, "BackoutCount", value)

    @property
    def reply_to_q(self) -> str:
        return self._text("ReplyToQ")

    @reply_to_q.setter
    def reply_to_q(self, value: str) -> None:
        MQMD.patch(self.buffer, "ReplyToQ", value)

    @property
    def reply_to_q_mgr(self) -> str:
        return self._text("ReplyToQMgr")

    @reply_to_q_mgr.setter
    def reply_to_q_mgr(self, value: str) -> None:
        MQMD.patch(self.buffer, "ReplyToQMgr", value)

    @property
    def user_identifier(self) -> str:
        return self._text("UserIdentifier")

    @user_identifier.setter
    def user_identifier(self, value: str) -> None:
        MQMD.patch(self.buffer, "UserIdentifier", value)

    @property
    def accounting_token(self) -> bytes:
        return MQMD.read_bytes(self.buffer, "AccountingToken")

    @accounting_token.setter
    def accounting_token(self, value: bytes) -> None:
        MQMD.patch(self.buffer, "AccountingToken", value)

    @property
    def appl_identity_data(self) -> str:
        return self._text("ApplIdentityData")

    @appl_identity_data.setter
    def appl_identity_data(self, value: str) -> None:
        MQMD.patch(self.buffer, "ApplIdentityData", value)

    @property
    def put_appl_type(self) -> int:
        return self._number("PutApplType")

    @put_appl_type.setter
    def put_appl_type(self, value: int) -> None:
        MQMD.patch(self.buffer, "PutApplType", value)

    @property
    def put_appl_name(self) -> str:
        return self._text("PutApplName")

    @put_appl_name.setter
    def put_appl_name(self, value: str) -> None:
        MQMD.patch(self.buffer, "PutApplName", value)

    @property
    def put_date(self) -> str:
        return self._text("PutDate")

    @put_date.setter
    def put_date(self, value: str) -> None:
        MQMD.patch(self.buffer, "PutDate", value)

    @property
    def put_time(self) -> str:
        return self._text("PutTime")

    @put_time.setter
    def put_time(self, value: str) -> None:
        MQMD.patch(self.buffer, "PutTime", value)

    @property
    def appl_origin_data(self) -> str:
        return self._text("ApplOriginData")

    @appl_origin_data.setter
    def appl_origin_data(self, value: str) -> None:
        MQMD.patch(self.buffer, "ApplOriginData", value)

    @property
    def group_id(self) -> bytes:
        return MQMD.read_bytes(self.buffer, "GroupId")

    @group_id.setter
    def group_id(self, value: bytes) -> None:
        MQMD.patch(self.buffer, "GroupId", value)

    @property
    def msg_seq_number(self) -> int:
        return self._number("MsgSeqNumber")

    @msg_seq_number.setter
    def msg_seq_number(self, value: int) -> None:
        MQMD.patch(self.buffer, "MsgSeqNumber", value)

    @property
    def offset(self) -> int:
        return self._number("Offset")

    @offset.setter
    def offset(self, value: int) -> None:
        MQMD.patch(self.buffer, "Offset", value)

    @property
    def msg_flags(self) -> int:
        return self._number("MsgFlags")

    @msg_flags.setter
    def msg_flags(self, value: int) -> None:
        MQMD.patch(self.buffer, "MsgFlags", value)

    @property
    def original_length(self) -> int:
        return self._number("OriginalLength")

    @original_length.setter
    def original_length(self, value: int) -> None:
        MQMD.patch(self.buffer, "OriginalLength", value)
