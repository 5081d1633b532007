"""Messages of the Python API, and their conversion to and from the packed descriptor (MQMD)."""

from __future__ import annotations

import struct
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Final, TypedDict, Unpack

from ostler.client.api.keywords import unknown_keyword
from ostler.client.api.property_types import PropertyValue
from ostler.engine.conversion.code_pages import MalformedTextError, UnknownCodePageError, decode, encode
from ostler.model import constants as mq
from ostler.model.errors import MQError

_DESCRIPTOR: Final = struct.Struct("<4s7i8s2i24s24si48s48s12s32s32si28s8s8s4s24s4i")
_NULL_ID: Final = bytes(24)
_UTF_8: Final = 1208
_STRING: Final = mq.MQFMT_STRING.decode().rstrip()
_AS_QUEUE_DEFINED: Final = 2
_TENTHS: Final = 10


class MessageFields(TypedDict, total=False):
    """The keywords of a put: fields of `Message`."""

    message_id: bytes
    correlation_id: bytes
    priority: int | None
    persistent: bool | None
    expiry: float | None
    reply_to: str
    reply_to_manager: str
    message_type: int
    format: str | None
    encoding: int
    ccsid: int
    report: int
    feedback: int
    properties: Mapping[str, PropertyValue]
    group_id: bytes
    sequence_number: int
    offset: int
    flags: int
    original_length: int
    user: str
    accounting_token: bytes
    identity_data: str
    application: str
    application_type: int
    origin_data: str
    put_time: datetime | None


_FIELDS: Final = frozenset(MessageFields.__annotations__)


@dataclass(slots=True)
class Message:
    """One message: its body, the fields of its descriptor, its properties.

    In a message to put, None leaves a field to the queue. A body of type str is put as MQSTR in UTF-8, or in the code
    page `ccsid`. A message that was got has all fields filled in; a body of format MQSTR is a str.
    """

    body: bytes | str = b""
    message_id: bytes = b""
    correlation_id: bytes = b""
    priority: int | None = None
    persistent: bool | None = None
    # Seconds until it expires; None: never.
    expiry: float | None = None
    reply_to: str = ""
    reply_to_manager: str = ""
    message_type: int = mq.MQMT_DATAGRAM
    # None: MQSTR for text, blank for bytes.
    format: str | None = None
    encoding: int = mq.MQENC_NATIVE
    # 0: UTF-8 for text, the queue manager's code page for bytes.
    ccsid: int = mq.MQCCSI_Q_MGR
    report: int = 0
    feedback: int = 0
    properties: Mapping[str, PropertyValue] = field(default_factory=dict)
    group_id: bytes = b""
    sequence_number: int = 1
    offset: int = 0
    flags: int = 0
    original_length: int = -1
    # The message context. The queue manager fills it in, unless the put sets it.
    user: str = ""
    accounting_token: bytes = b""
    identity_data: str = ""
    application: str = ""
    application_type: int = 0
    origin_data: str = ""
    put_time: datetime | None = None
    # Only of messages that were got.
    backout_count: int = 0
    token: bytes = b""
    # Of publications that were got: the topic string, whether it is a retained publication that was published before
    # the subscription was made, and the user data of the subscription.
    topic: str = ""
    is_retained: bool = False
    user_data: str = ""
    # The reason of the warning of the get, such as truncated or not converted; 0: none.
    warning: int = 0

    @property
    def text(self) -> str:
        """The body as text. Bytes are decoded from the code page of the message."""
        if isinstance(self.body, str):
            return self.body
        return _decode_text(self.body, self.ccsid, self.encoding)

    @property
    def data(self) -> bytes:
        """The body as bytes, as it is or would be put."""
        if isinstance(self.body, str):
            return _encode_text(self.body, self.ccsid, self.encoding)
        # Other kinds of buffers are copied: the program may go on writing to them.
        return self.body if type(self.body) is bytes else bytes(memoryview(self.body))

    @property
    def is_request(self) -> bool:
        return self.message_type == mq.MQMT_REQUEST

    @property
    def is_reply(self) -> bool:
        return self.message_type == mq.MQMT_REPLY

    @property
    def is_report(self) -> bool:
        return self.message_type == mq.MQMT_REPORT

    def reply(self, body: bytes | str, **fields: Unpack[MessageFields]) -> Message:
        """Return a reply to this request, with the identifiers and the expiry that its report options ask for."""
        passes_expiry = bool(self.report & mq.MQRO_PASS_DISCARD_AND_EXPIRY)
        answer = Message(
            body,
            message_id=self.message_id if self.report & mq.MQRO_PASS_MSG_ID else b"",
            correlation_id=self.correlation_id if self.report & mq.MQRO_PASS_CORREL_ID else self.message_id,
            priority=self.priority,
            persistent=self.persistent,
            expiry=self.expiry if passes_expiry else None,
            message_type=mq.MQMT_REPLY,
            report=self.report & mq.MQRO_DISCARD_MSG if passes_expiry else 0,
        )
        return as_message(answer, fields)

    def packed(self) -> bytes:
        """Return the packed descriptor, MQMD version 2. Raises MQError when a value does not fit its field."""
        is_text = isinstance(self.body, str)
        form = self.format if self.format is not None else (_STRING if is_text else "")
        persistence = _AS_QUEUE_DEFINED if self.persistent is None else int(self.persistent)
        try:
            return _DESCRIPTOR.pack(
                mq.MQMD_STRUC_ID,
                mq.MQMD_VERSION_2,
                self.report,
                self.message_type,
                _tenths(self.expiry),
                self.feedback,
                self.encoding,
                (self.ccsid or _UTF_8) if is_text else self.ccsid,
                _characters(form, 8, "format"),
                -1 if self.priority is None else self.priority,
                persistence,
                identifier(self.message_id),
                identifier(self.correlation_id),
                0,
                _characters(self.reply_to, 48, "reply_to"),
                _characters(self.reply_to_manager, 48, "reply_to_manager"),
                _characters(self.user, 12, "user"),
                _binary(self.accounting_token, 32, "accounting_token"),
                _characters(self.identity_data, 32, "identity_data"),
                self.application_type,
                _characters(self.application, 28, "application"),
                *_stamp(self.put_time),
                _characters(self.origin_data, 4, "origin_data"),
                identifier(self.group_id),
                self.sequence_number,
                self.offset,
                self.flags,
                self.original_length,
            )
        except struct.error:
            raise MQError(mq.MQRC_MD_ERROR, "A number in the message does not fit its field.") from None


def unpack_message(md: bytes, body: bytes, properties: dict[str, PropertyValue], warning: int = 0) -> Message:
    """Return the message of a stored descriptor and body."""
    fields = _DESCRIPTOR.unpack(md)
    expiry, encoding, ccsid = fields[4], fields[6], fields[7]
    form = _text(fields[8])
    message = Message(
        body=body,
        message_id=_id(fields[11]),
        correlation_id=_id(fields[12]),
        priority=fields[9],
        persistent=None if fields[10] == _AS_QUEUE_DEFINED else fields[10] == 1,
        expiry=None if expiry < 0 else expiry / _TENTHS,
        reply_to=_text(fields[14]),
        reply_to_manager=_text(fields[15]),
        message_type=fields[3],
        format=form,
        encoding=encoding,
        ccsid=ccsid,
        report=fields[2],
        feedback=fields[5],
        properties=properties,
        group_id=_id(fields[24]),
        sequence_number=fields[25],
        offset=fields[26],
        flags=fields[27],
        original_length=fields[28],
        user=_text(fields[16]),
        accounting_token=fields[17].rstrip(b"\0"),
        identity_data=_text(fields[18]),
        application=_text(fields[20]),
        application_type=fields[19],
        origin_data=_text(fields[23]),
        put_time=_when(fields[21] + fields[22]),
        backout_count=fields[13],
        warning=warning,
    )
    if form == _STRING:
        # Data that does not match its descriptor stays bytes.
        with suppress(MQError):
            message.body = _decode_text(body, ccsid, encoding)
    return message


def as_message(body: Message | bytes | str, fields: MessageFields) -> Message:
    """Return the message to put. Raises TypeError for an unknown field."""
    try:
        if isinstance(body, Message):
            return replace(body, **fields) if fields else body
        return Message(body, **fields)
    except TypeError as error:
        raise unknown_keyword(fields.keys(), _FIELDS) or error from None


def identifier(value: bytes) -> bytes:
    """Return a message, correlation or group identifier, padded to 24 bytes."""
    return _binary(value, 24, "identifier") if value else _NULL_ID


def _binary(value: bytes, length: int, name: str) -> bytes:
    if len(value) > length:
        raise MQError(mq.MQRC_MD_ERROR, f"{name} has {len(value)} bytes; it takes {length}.")
    return value.ljust(length, b"\0")


def _characters(value: str, length: int, name: str) -> bytes:
    data = value.encode("utf-8", "replace")
    if len(data) > length:
        raise MQError(mq.MQRC_MD_ERROR, f"{name} {value!r:.60} has {len(data)} bytes; it takes {length}.")
    return data.ljust(length)


def _tenths(expiry: float | None) -> int:
    """Return an expiry in tenths of a second, at least 1; 0 for no time at all, which the queue manager refuses."""
    if expiry is None:
        return mq.MQEI_UNLIMITED
    return max(1, round(expiry * _TENTHS)) if expiry > 0 else 0


def _text(field_bytes: bytes) -> str:
    return field_bytes.partition(b"\0")[0].rstrip(b" ").decode("utf-8", "replace")


def _id(field_bytes: bytes) -> bytes:
    return b"" if field_bytes == _NULL_ID else field_bytes


def _encode_text(body: str, ccsid: int, encoding: int) -> bytes:
    if ccsid in (mq.MQCCSI_Q_MGR, _UTF_8):
        return body.encode("utf-8", "replace")
    try:
        return encode(body, ccsid, encoding)
    except UnknownCodePageError:
        raise MQError(mq.MQRC_TARGET_CCSID_ERROR, f"Code page {ccsid} is not supported.") from None


def _decode_text(body: bytes, ccsid: int, encoding: int) -> str:
    try:
        if ccsid in (mq.MQCCSI_Q_MGR, _UTF_8):
            return body.decode("utf-8")
        return decode(body, ccsid, encoding)
    except (UnknownCodePageError, MalformedTextError, UnicodeDecodeError):
        raise MQError(mq.MQRC_TARGET_CCSID_ERROR, f"The body is not text in code page {ccsid}.") from None


def _stamp(when: datetime | None) -> tuple[bytes, bytes]:
    """Return PutDate and PutTime: yyyymmdd and hhmmssth, in UTC."""
    if when is None:
        return b" " * 8, b" " * 8
    moment = when.astimezone(UTC)
    return moment.strftime("%Y%m%d").encode(), (
        moment.strftime("%H%M%S") + f"{moment.microsecond // 10000:02}"
    ).encode()


def parse_put_time(date: str, moment: str) -> datetime | None:
    """Parse PutDate and PutTime of a descriptor or header; None when they are blank or invalid."""
    return _when(f"{date:8.8}{moment:8.8}".encode("ascii", "replace"))


def _when(stamp: bytes) -> datetime | None:
    try:
        year, month, day = int(stamp[:4]), int(stamp[4:6]), int(stamp[6:8])
        hour, minute, second = int(stamp[8:10]), int(stamp[10:12]), int(stamp[12:14])
        return datetime(year, month, day, hour, minute, second, int(stamp[14:16]) * 10000, UTC)
    except ValueError:
        return None
