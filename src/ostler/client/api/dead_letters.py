"""Dead letters: messages behind a header, MQDLH, that says why they could not be delivered, and where they were to go.

`dead_letter` puts the header in front, as an application does that gives a message up. `DeadLetterHeader.of` and
`without_header` read it and take it off. `DeadLetterQueue` lists dead letters, puts them back and drops them:

    with ostler.connect("QM1") as connection:
        dead = DeadLetterQueue(connection)
        full = [each.token for each in dead.letters() if each.reason == MQRC_Q_FULL]
        print(dead.retry(full).done, "were put back")
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import TYPE_CHECKING, Final

from ostler.client.api.get_options import to_message
from ostler.client.api.message import Message, put_moment
from ostler.client.session.runtime import run
from ostler.client.session.session import GetOptions, Session, StoredMessage
from ostler.engine.conversion.code_pages import MalformedTextError, UnknownCodePageError, decode
from ostler.engine.message.message import (
    CCSID_AT,
    ENCODING_AT,
    FLAGS_AT,
    FORMAT_AT,
    GROUP_ID_AT,
    NULL_ID,
    PRIORITY_AT,
)
from ostler.engine.message.timestamps import PutClock
from ostler.engine.open import OpenRequest
from ostler.model import constants
from ostler.model.constants import (
    MQAT_UNIX,
    MQCCSI_INHERIT,
    MQENC_INTEGER_MASK,
    MQENC_INTEGER_NORMAL,
    MQENC_NATIVE,
    MQFMT_DEAD_LETTER_HEADER,
    MQFMT_MD_EXTENSION,
    MQGMO_BROWSE_FIRST,
    MQGMO_BROWSE_NEXT,
    MQGMO_MSG_UNDER_CURSOR,
    MQMF_LAST_SEGMENT,
    MQMF_SEGMENT,
    MQOO_SAVE_ALL_CONTEXT,
    MQOT_Q,
    MQPMO_FAIL_IF_QUIESCING,
    MQPMO_PASS_ALL_CONTEXT,
    MQPMO_SYNCPOINT,
    MQRC_BACKED_OUT,
    MQRC_DLH_ERROR,
    MQRC_NO_MSG_UNDER_CURSOR,
    MQRC_UNKNOWN_OBJECT_NAME,
)
from ostler.model.errors import MQError
from ostler.model.reasons import TABLE
from ostler.model.structures.headers import MQDLH, MQMDE

if TYPE_CHECKING:
    from ostler.client.api.connection import Connection
    from ostler.client.api.queue import Queue

# The part of the descriptor that only version 2 has, as it is for a message that is in no group.
_NO_GROUP: Final = NULL_ID + b"\1\0\0\0" + bytes(8) + b"\xff\xff\xff\xff"
_APPLICATION_BYTES: Final = 28
# Where encoding, code page and format stand side by side, and where a descriptor extension has the group's fields.
_HEADER_CONTENT_AT: Final = MQDLH.offset("Encoding")
_EXTENSION_CONTENT_AT: Final = MQMDE.offset("Encoding")
_EXTENSION_GROUP_AT: Final = MQMDE.offset("GroupId")
_HEADER_BYTES: Final = MQDLH.size()
_EXTENSION_BYTES: Final = MQMDE.size()
_FORMAT_BYTES: Final = 8
_UTF_8: Final = 1208
_BATCH: Final = 50
_FEEDBACKS: Final = {
    value: name for name, value in vars(constants).items() if name.startswith("MQFB_") and isinstance(value, int)
}
_PUT: Final = MQPMO_SYNCPOINT | MQPMO_PASS_ALL_CONTEXT | MQPMO_FAIL_IF_QUIESCING


def dead_letter(md: bytes, body: bytes, queue: str, session: Session, reason: int) -> tuple[bytes, bytes]:
    """Descriptor and body of a message of this queue as it goes on the dead-letter queue."""
    content = md[ENCODING_AT:PRIORITY_AT]
    group = md[GROUP_ID_AT:]
    extension = b""
    if int.from_bytes(md[FLAGS_AT : FLAGS_AT + 4], "little") & (MQMF_SEGMENT | MQMF_LAST_SEGMENT):
        # With the header in front it is no segment any more; what made it one moves behind the header.
        extension = _extension(content, group)
        content = _native(session.ccsid, MQFMT_MD_EXTENSION)
        group = _NO_GROUP
    header = MQDLH.default()
    MQDLH.patch(header, "Reason", reason)
    MQDLH.patch(header, "DestQName", queue)
    MQDLH.patch(header, "DestQMgrName", session.name)
    header[_HEADER_CONTENT_AT : _HEADER_CONTENT_AT + len(content)] = content
    MQDLH.patch(header, "PutApplType", MQAT_UNIX)
    MQDLH.patch(header, "PutApplName", session.application.encode("utf-8")[-_APPLICATION_BYTES:])
    stamp = PutClock().stamp(int(time.time() * 1000))
    MQDLH.patch(header, "PutDate", stamp[:8])
    MQDLH.patch(header, "PutTime", stamp[8:])
    outer = _native(session.ccsid, MQFMT_DEAD_LETTER_HEADER)
    dead_md = md[:ENCODING_AT] + outer + md[PRIORITY_AT:GROUP_ID_AT] + group
    return dead_md, bytes(header) + extension + body


def _native(ccsid: int, format: bytes) -> bytes:
    """Encoding, code page and format, as a descriptor has them side by side, for what is written here."""
    return MQENC_NATIVE.to_bytes(4, "little") + ccsid.to_bytes(4, "little", signed=True) + format


def _extension(content: bytes, group: bytes) -> bytes:
    extension = MQMDE.default()
    extension[_EXTENSION_CONTENT_AT : _EXTENSION_CONTENT_AT + len(content)] = content
    extension[_EXTENSION_GROUP_AT : _EXTENSION_GROUP_AT + len(group)] = group
    return bytes(extension)


# -- reading the header ------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class DeadLetterHeader:
    """The fields of an MQDLH, as Python has them. Text is without blanks at its end."""

    version: int
    reason: int
    queue: str  # DestQName
    manager: str  # DestQMgrName
    encoding: int
    ccsid: int
    format: str
    application_type: int
    application: str
    put_time: datetime | None  # when it became a dead letter

    @property
    def reason_name(self) -> str:
        """The name of the reason, an MQRC or MQFB constant; its number, if it has none."""
        return reason_name(self.reason)

    @property
    def destination(self) -> str:
        """Queue and queue manager, as in ORDERS@QM2."""
        return f"{self.queue}@{self.manager}" if self.manager else self.queue

    @classmethod
    def of(cls, message: Message) -> DeadLetterHeader:
        """The header of a message of format MQDEAD. MQRC_DLH_ERROR when it has none."""
        return cls.read(message.format or "", message.data, message.encoding, message.ccsid)

    @classmethod
    def read(cls, format: str, data: bytes, encoding: int, ccsid: int) -> DeadLetterHeader:
        """The header in front of the data of a message, in the encoding and code page that its descriptor names."""
        if format != MQFMT_DEAD_LETTER_HEADER.decode().rstrip():
            raise MQError(
                MQRC_DLH_ERROR, f"The message has format {format or 'MQFMT_NONE'}, and no dead-letter header."
            )
        is_little = encoding & MQENC_INTEGER_MASK != MQENC_INTEGER_NORMAL
        if len(data) < _HEADER_BYTES or _text(data[:4], ccsid, encoding) != "DLH":
            raise MQError(MQRC_DLH_ERROR, "The message does not begin with a dead-letter header.")

        def number(name: str) -> int:
            return MQDLH.read_int(data, name, is_little)

        def words(name: str) -> str:
            return _text(MQDLH.read_bytes(data, name), ccsid, encoding)

        inner_ccsid = number("CodedCharSetId")
        return cls(
            version=number("Version"),
            reason=number("Reason"),
            queue=words("DestQName"),
            manager=words("DestQMgrName"),
            encoding=number("Encoding"),
            ccsid=ccsid if inner_ccsid == MQCCSI_INHERIT else inner_ccsid,
            format=words("Format"),
            application_type=number("PutApplType"),
            application=words("PutApplName"),
            put_time=put_moment(words("PutDate"), words("PutTime")),
        )


def reason_name(number: int) -> str:
    """The name of what MQDLH has as a reason: an MQRC, or an MQFB constant of channels and trigger monitors."""
    known = TABLE.get(number)
    return known.name if known is not None else _FEEDBACKS.get(number, str(number))


def reason_number(name: str) -> int | None:
    """The number of a reason, given as a number or a name, with or without MQRC_ or MQFB_; None for any other word."""
    word = name.strip().upper()
    if word.isascii() and word.isdigit():
        return int(word)
    for prefix in ("", "MQRC_", "MQFB_"):
        found = getattr(constants, prefix + word, None)
        if isinstance(found, int) and (prefix or word.startswith(("MQRC_", "MQRCCF_", "MQFB_"))):
            return found
    return None


def without_header(md: bytes, body: bytes) -> tuple[bytes, bytes]:
    """Descriptor and body as they were before the message became a dead letter. MQRC_DLH_ERROR when it is none.

    Encoding, code page and format are those of the header. A segment is a segment again.
    """
    header = DeadLetterHeader.read(_format(md), body, _number(md, ENCODING_AT), _number(md, CCSID_AT))
    body = body[_HEADER_BYTES:]
    content = _content(header.encoding, header.ccsid, header.format)
    group = md[GROUP_ID_AT:]
    if header.format == MQFMT_MD_EXTENSION.decode().rstrip():
        content, group = _inside_extension(header, body)
        body = body[_EXTENSION_BYTES:]
    return md[:ENCODING_AT] + content + md[PRIORITY_AT:GROUP_ID_AT] + group, body


def _inside_extension(header: DeadLetterHeader, data: bytes) -> tuple[bytes, bytes]:
    """What a descriptor extension says of the data behind it: its content fields, and those of the group."""
    is_little = header.encoding & MQENC_INTEGER_MASK != MQENC_INTEGER_NORMAL
    if len(data) < _EXTENSION_BYTES or _text(data[:4], header.ccsid, header.encoding) != "MDE":
        raise MQError(MQRC_DLH_ERROR, "The message has no descriptor extension behind its dead-letter header.")
    ccsid = MQMDE.read_int(data, "CodedCharSetId", is_little)
    content = _content(
        MQMDE.read_int(data, "Encoding", is_little),
        header.ccsid if ccsid == MQCCSI_INHERIT else ccsid,
        _text(MQMDE.read_bytes(data, "Format"), header.ccsid, header.encoding),
    )
    numbers = ("MsgSeqNumber", "Offset", "MsgFlags", "OriginalLength")
    group = MQMDE.read_bytes(data, "GroupId")
    return content, group + b"".join(_signed(MQMDE.read_int(data, name, is_little)) for name in numbers)


def _content(encoding: int, ccsid: int, format: str) -> bytes:
    return _signed(encoding) + _signed(ccsid) + format.encode("ascii", "replace")[:_FORMAT_BYTES].ljust(_FORMAT_BYTES)


def _text(data: bytes, ccsid: int, encoding: int) -> str:
    """Text of a header. One in a code page that is not known is read as what most are."""
    try:
        decoded = decode(data, ccsid if ccsid > 0 else _UTF_8, encoding)
    except (UnknownCodePageError, MalformedTextError):
        decoded = data.decode("ascii", "replace")
    return decoded.partition("\0")[0].rstrip(" ")


def _format(md: bytes) -> str:
    return md[FORMAT_AT : FORMAT_AT + _FORMAT_BYTES].partition(b"\0")[0].rstrip().decode("ascii", "replace")


def _number(md: bytes, at: int) -> int:
    return int.from_bytes(md[at : at + 4], "little", signed=True)


def _signed(value: int) -> bytes:
    return value.to_bytes(4, "little", signed=True)


# -- the dead-letter queue ---------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class DeadLetter:
    """One message of a dead-letter queue, as it was found there. `header` is None for one that has no MQDLH."""

    message: Message
    header: DeadLetterHeader | None

    @property
    def token(self) -> bytes:
        """Names this very message, as long as it is on the queue; identifiers need not be unique."""
        return self.message.token

    @property
    def reason(self) -> int:
        """Why it is here; 0 when nothing says so."""
        return self.header.reason if self.header is not None else 0

    @property
    def body_bytes(self) -> int:
        """The length of the message without its header."""
        return len(self.message.data) - (_HEADER_BYTES if self.header is not None else 0)

    def original(self) -> Message:
        """The message as it was before it became a dead letter; one without a header as it is."""
        if self.header is None:
            return self.message
        message = self.message
        outside = Message(
            message.data,
            format=message.format,
            encoding=message.encoding,
            ccsid=message.ccsid,
            group_id=message.group_id,
            sequence_number=message.sequence_number,
            offset=message.offset,
            flags=message.flags,
            original_length=message.original_length,
        )
        md, body = without_header(outside.packed(), message.data)
        inside = to_message(StoredMessage(md, body, b"", message.token, 0), {})
        return replace(
            message,
            body=inside.body,
            format=inside.format,
            encoding=inside.encoding,
            ccsid=inside.ccsid,
            group_id=inside.group_id,
            sequence_number=inside.sequence_number,
            offset=inside.offset,
            flags=inside.flags,
            original_length=inside.original_length,
            properties={**inside.properties, **message.properties},
        )


@dataclass(slots=True)
class Outcome:
    """What came of a retry or drop: how many were done, and those that stay on the queue, by token, with the reason."""

    done: int = 0
    refused: dict[bytes, MQError] = field(default_factory=dict)


Tell = Callable[[int], None]
"""Told how many messages are done with, and committed."""


class DeadLetterQueue:
    """The dead letters of a queue manager, over any connection. Other units of work of the connection must be over."""

    def __init__(self, connection: Connection, queue: str = "") -> None:
        """`queue` is the queue manager's DEADQ, unless another one is named. MQError when there is none."""
        self.connection = connection
        self.name = queue or run(connection.inner.session.dead_letter_queue())
        if not self.name:
            raise MQError(
                MQRC_UNKNOWN_OBJECT_NAME,
                f"Queue manager {connection.name} has no dead-letter queue: ALTER QMGR DEADQ(...) names one.",
            )

    def letters(self) -> Iterator[DeadLetter]:
        """Look at all messages of the queue. They stay where they are."""
        with self.connection.open(self.name, "b") as queue, queue.browse() as browser:
            while (message := browser.next()) is not None:
                yield as_dead_letter(message)

    def retry(self, tokens: Iterable[bytes], to: str = "", to_manager: str = "", tell: Tell | None = None) -> Outcome:
        """Put messages back where they were to go, or on the queue `to`, as they were before they died.

        The header goes; encoding, code page and format, group and segment are what it says; identifiers, properties,
        persistence and context are kept. Getting and putting are one unit of work: a crash neither loses nor doubles
        a message. One that cannot be put stays on the queue, and the outcome says why.
        """
        if to == self.name and to_manager in ("", self.connection.name):
            raise MQError(
                MQRC_UNKNOWN_OBJECT_NAME, f"{to} is the queue that the dead letters are on. Name another one."
            )
        session = self.connection.inner.session

        def put_back(queue: Queue, taken: StoredMessage) -> None:
            target, manager, md, body = _way_back(taken, to, to_manager)
            if target == self.name and manager in ("", self.connection.name):
                raise MQError(
                    MQRC_UNKNOWN_OBJECT_NAME, f"It was to go to {target}, where it is. Name another queue for it."
                )
            request = OpenRequest(MQOT_Q, target, 0)
            request.manager_name = manager
            run(session.put1(request, md, _PUT, taken.property_block, body, queue.inner.handle))

        return self._each(tokens, put_back, tell)

    def drop(self, tokens: Iterable[bytes], tell: Tell | None = None) -> Outcome:
        """Take messages off the queue for good, in units of work."""
        return self._each(tokens, lambda queue, taken: None, tell)

    def _each(
        self,
        tokens: Iterable[bytes],
        act: Callable[[Queue, StoredMessage], None],
        tell: Tell | None,
        batch_max: int = _BATCH,
    ) -> Outcome:
        """Take the messages in their order and act on each, in units of work of several.

        When one fails its whole unit of work is backed out; from then on each message has a unit of work of its own.
        """
        wanted = set(tokens)
        outcome = Outcome()
        with self.connection.open(self.name, "sb", options=MQOO_SAVE_ALL_CONTEXT) as queue:
            step = MQGMO_BROWSE_FIRST
            batch: list[bytes] = []
            while wanted:
                found = self._look(queue, step)
                step = MQGMO_BROWSE_NEXT
                if found is not None and found.token not in wanted:
                    continue
                if found is not None:
                    taken = self._take(queue)
                    if taken is None:
                        continue  # somebody else was faster
                    batch.append(taken.token)
                    wanted.discard(taken.token)
                    try:
                        act(queue, taken)
                    except MQError as error:
                        self.connection.back_out()
                        if len(batch) > 1:
                            wanted.update(batch)
                            step = MQGMO_BROWSE_FIRST
                        else:
                            outcome.refused[taken.token] = error
                        batch, batch_max = [], 1
                        continue
                if batch and (found is None or len(batch) >= batch_max or not wanted):
                    refusal = self._commit()
                    if refusal is not None:
                        if len(batch) > 1:
                            wanted.update(batch)
                        else:
                            outcome.refused[batch[0]] = refusal
                        batch, batch_max, step = [], 1, MQGMO_BROWSE_FIRST
                        continue
                    outcome.done += len(batch)
                    batch = []
                    if tell is not None:
                        tell(outcome.done)
                if found is None:
                    break
        return outcome

    def _look(self, queue: Queue, step: int) -> StoredMessage | None:
        asked: GetOptions = {"options": step}
        return run(queue.inner.get_stored(asked))

    def _take(self, queue: Queue) -> StoredMessage | None:
        asked: GetOptions = {"options": MQGMO_MSG_UNDER_CURSOR, "syncpoint": True}
        try:
            return run(queue.inner.get_stored(asked))
        except MQError as error:
            if error.reason != MQRC_NO_MSG_UNDER_CURSOR:
                raise
            return None

    def _commit(self) -> MQError | None:
        """Commit; the error if the queue manager has backed it out instead, for instance because its log was full."""
        try:
            self.connection.commit()
        except MQError as error:
            if error.reason != MQRC_BACKED_OUT:
                raise
            return error
        return None


def as_dead_letter(message: Message) -> DeadLetter:
    """A message as a dead letter, with what its header says, if it has one."""
    try:
        return DeadLetter(message, DeadLetterHeader.of(message))
    except MQError:
        return DeadLetter(message, None)


def _way_back(taken: StoredMessage, to: str, to_manager: str) -> tuple[str, str, bytes, bytes]:
    """Where a message goes, and as what."""
    try:
        header = DeadLetterHeader.read(
            _format(taken.md), taken.body, _number(taken.md, ENCODING_AT), _number(taken.md, CCSID_AT)
        )
    except MQError as error:
        if not to:
            raise MQError(MQRC_DLH_ERROR, f"{error.detail} Name a queue to put it on.") from None
        return to, to_manager, taken.md, taken.body
    md, body = without_header(taken.md, taken.body)
    target = to or header.queue
    if not target:
        raise MQError(MQRC_DLH_ERROR, "The dead-letter header names no queue. Name one to put the message on.")
    return target, to_manager if to else header.manager, md, body
