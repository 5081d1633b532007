"""A queue or topic that is open over a link: its verbs as frames."""

from __future__ import annotations

from typing import Final

from ostler.client.api.get_options import GetParameters, get_parameters, length_limit
from ostler.client.link.link import PendingRequest, check_reply, protocol_error
from ostler.client.locate.routes import JoinedLink
from ostler.client.session.link_session import LinkSession
from ostler.client.session.session import BackoutRules, GetOptions, OpenQueue, Put, StoredMessage
from ostler.engine.message.message import MESSAGE_ID_AT, PERSISTENCE_AT
from ostler.engine.open import OpenRequest
from ostler.engine.queue.get_request import BROWSE_OPTIONS
from ostler.model import constants as mq
from ostler.model.attributes import ObjectType, Value, require, to_text
from ostler.model.errors import MQError
from ostler.wire.frames import CANCEL, CLOSE, GET, INQUIRE, OPEN, PUBLISH, PUT, SETTLE, MalformedFrame
from ostler.wire.object_frames import (
    CHARACTERS_MAX,
    CREATED,
    REMOTE,
    InquireArguments,
    OpenArguments,
    OpenReply,
    decode_open_reply,
)
from ostler.wire.payload_codec import NAME_BYTES, PayloadReader, numbers_payload
from ostler.wire.put_get_frames import (
    AS_STORED,
    GOT_BLOCK_BYTES,
    GOT_DATA_BYTES,
    GOT_FIXED_BYTES,
    GOT_MD,
    GOT_TOKEN,
    HELD,
    HELD_IF_PERSISTENT,
    MD_BYTES,
    NO_TOKEN,
    SELECTOR_BYTES_MAX,
    WANTS_PROPERTIES,
    WANTS_TOKEN,
    get_payload,
    publish_payload,
    put_payload,
)
from ostler.wire.replies import REPLY_FIXED_BYTES
from ostler.wire.subscribe_frames import LEVEL_HIGHEST

_IN_UNIT: Final = mq.MQGMO_SYNCPOINT | mq.MQGMO_SYNCPOINT_IF_PERSISTENT
_STORED: Final = WANTS_PROPERTIES | WANTS_TOKEN | AS_STORED
_BYTES_MAX: Final = 0x7FFFFFFF
_TYPES: Final = {
    mq.MQQT_LOCAL: ObjectType.QLOCAL,
    mq.MQQT_ALIAS: ObjectType.QALIAS,
    mq.MQQT_REMOTE: ObjectType.QREMOTE,
    mq.MQQT_MODEL: ObjectType.QMODEL,
}


def open_arguments(request: OpenRequest) -> OpenArguments:
    """Convert an open request to the arguments of OPEN. Names that are too long are refused, not truncated."""
    for name in (request.name, request.manager_name, request.dynamic_name):
        if len(name.encode("utf-8", "replace")) > NAME_BYTES:
            raise MQError(mq.MQRC_UNKNOWN_OBJECT_NAME, f"{name[:60]!r} is too long to be a name.")
    if len(request.selection.encode("utf-8", "replace")) > SELECTOR_BYTES_MAX:
        raise MQError(mq.MQRC_SELECTION_STRING_ERROR, f"A selector has at most {SELECTOR_BYTES_MAX} bytes.")
    arguments = OpenArguments(request.object_type, request.name, request.options)
    arguments.manager_name = request.manager_name
    arguments.dynamic_name = request.dynamic_name
    arguments.alternate_user = request.alternate_user
    arguments.selection = request.selection
    arguments.object_string = request.topic_string
    return arguments


def _is_persistent(reply: bytes) -> bool:
    """Return whether a reply to GET has removed a persistent message."""
    at = GOT_MD + PERSISTENCE_AT
    is_off = int.from_bytes(reply[4:8], "little") != mq.MQRC_TRUNCATED_MSG_FAILED
    return is_off and int.from_bytes(reply[at : at + 4], "little") == mq.MQPER_PERSISTENT


def decode_put_reply(payload: bytes) -> Put:
    """Decode the reply to PUT or PUT1."""
    replied = check_reply(payload)
    md = payload[REPLY_FIXED_BYTES : REPLY_FIXED_BYTES + MD_BYTES]
    if len(md) != MD_BYTES:
        raise protocol_error(MalformedFrame("a reply to a put without a descriptor"))
    return Put(md, replied.reason)


class RemoteQueue(OpenQueue):
    __slots__ = ("__weakref__", "_arguments", "_is_open", "_lost", "_opened", "_session")

    def __init__(self, session: LinkSession, arguments: OpenArguments, opened: OpenReply) -> None:
        self._session = session
        self._arguments = arguments
        self._opened = opened
        self._is_open = True
        self._lost: MQError | None = None  # why it could not be opened again

    @property
    def number(self) -> int:
        return self._opened.hobj

    @property
    def name(self) -> str:
        return self._opened.name if self._opened.flags & CREATED else self._arguments.name

    @property
    def selection(self) -> str:
        return self._arguments.selection

    @property
    def topic(self) -> str:
        return self._opened.object_string

    def mark_lost(self, error: MQError) -> None:
        """Record that the queue could not be reopened after reconnection. Its verbs raise this error."""
        self._lost = error

    def replace(self, arguments: OpenArguments, opened: OpenReply) -> None:
        """Use another queue: the managed destination of a subscription that was created again."""
        self._arguments = arguments
        self._opened = opened

    def _check(self) -> None:
        if not self._is_open:
            self._session.check()
            raise MQError(mq.MQRC_HOBJ_ERROR, f"{self.name} is closed.")
        if self._lost is not None:
            raise MQError(self._lost.reason, self._lost.detail)

    async def reopen(self, joined: JoinedLink) -> None:
        """Open the queue again over a new link. A dynamic queue that is gone is created again under its name."""
        arguments = self._arguments
        if self._opened.flags & CREATED:
            arguments.dynamic_name = self._opened.name
        payload = await joined.link.exchange(joined.conversation, OPEN, arguments.encode())
        try:
            self._opened = decode_open_reply(check_reply(payload).reader, joined.link.negotiated.version)
        except MalformedFrame as error:
            raise protocol_error(error) from None
        except MQError as error:
            self._lost = MQError(mq.MQRC_OBJECT_CHANGED, f"After reconnecting {self.name} cannot be opened: {error}")

    # -- putting -------------------------------------------------------------------------------------------------------

    async def put(self, md: bytes, options: int, property_block: bytes, body: bytes, level: int = LEVEL_HIGHEST) -> Put:
        session = self._session
        in_unit = bool(options & mq.MQPMO_SYNCPOINT)
        if in_unit:
            await session.resolve_abandoned_gets(True)
        session.check_length(body)

        def build() -> bytes:
            self._check()
            if level == LEVEL_HIGHEST:
                return put_payload(self._opened.hobj, options, 0, md, property_block, body)
            session.check_level(level)
            return publish_payload(level, self._opened.hobj, options, 0, md, property_block, body)

        kind = PUT if level == LEVEL_HIGHEST else PUBLISH
        done = decode_put_reply(await session.call(kind, build, in_unit, not in_unit))
        session.unit_size += in_unit
        return done

    # -- getting -------------------------------------------------------------------------------------------------------

    async def get(self, asked: GetOptions, browse: int = 0) -> StoredMessage | None:
        session = self._session
        parameters = get_parameters(session, asked, browse)
        in_unit = bool(parameters.options & _IN_UNIT)
        held = 0
        if not parameters.options & (_IN_UNIT | BROWSE_OPTIONS):
            held = HELD if session.runtime.may_be_cancelled() else HELD_IF_PERSISTENT
        selector = (asked.get("selector") or "").encode("utf-8", "replace")
        if len(selector) > SELECTOR_BYTES_MAX:
            raise MQError(mq.MQRC_SELECTION_STRING_ERROR, f"A selector has at most {SELECTOR_BYTES_MAX} bytes.")
        limit = min(length_limit(asked), _BYTES_MAX)
        deadline = session.runtime.monotonic() + parameters.wait_ms / 1000
        wait_ms = parameters.wait_ms
        while True:
            await session.ensure_link()
            self._check()
            if in_unit:
                await session.resolve_abandoned_gets(True)
                session.check_unit()
            generation = session.generation
            settle_request: PendingRequest | None = None
            try:
                payload, settle_request = await self._exchange(
                    self._payload(parameters, wait_ms, limit, held, selector), in_unit, held
                )
            except MQError as error:
                await session.reconnect(error, generation)
            else:
                ending = session.ending_error(payload)
                if ending is not None:
                    await session.reconnect(ending, generation)
                elif settle_request is None or await self._confirm_removal(settle_request, payload, generation):
                    return self._decode_message(payload)
            if wait_ms > 0:
                wait_ms = min(wait_ms, max(1, int((deadline - session.runtime.monotonic()) * 1000)))

    def _payload(self, parameters: GetParameters, wait_ms: int, limit: int, held: int, selector: bytes) -> bytes:
        # A held message is in a unit of work, though not in the program's.
        options = parameters.options & ~mq.MQGMO_NO_SYNCPOINT if held else parameters.options
        return get_payload(
            self._opened.hobj,
            options,
            wait_ms,
            parameters.match,
            limit,
            0,
            0,
            _STORED | held,
            parameters.message_id,
            parameters.correlation_id,
            parameters.group_id,
            parameters.sequence_number,
            0,
            NO_TOKEN,
            selector,
        )

    async def _exchange(self, payload: bytes, in_unit: bool, held: int) -> tuple[bytes, PendingRequest | None]:
        """Send a GET. Returns its reply, and the SETTLE whose reply has to be waited for.

        When interrupted, the message stays on the queue.
        """
        session = self._session
        link, conversation = session.link, session.conversation
        registered: list[PendingRequest] = []
        try:
            request = await link.send_request(conversation, GET, payload, None, registered)
            session.waiting.add(request)
            if session.is_interrupted:
                link.send(conversation, CANCEL, numbers_payload([request.number]))
            reply = await request.reply()
            if int.from_bytes(reply[:4], "little") == mq.MQCC_FAILED:
                return reply, None
            session.unit_size += in_unit
            if held and _is_persistent(reply):
                return reply, await link.send_request(conversation, SETTLE, numbers_payload([request.number, 1]))
            if held == HELD:
                link.send(conversation, SETTLE, numbers_payload([request.number, 1]))
            return reply, None
        except MQError:
            raise
        except BaseException:
            for sent in registered:
                link.send(conversation, CANCEL, numbers_payload([sent.number]))
                if in_unit:
                    session.abandoned_gets.append(sent)
                else:
                    sent.forget()
                    if held:
                        link.send(conversation, SETTLE, numbers_payload([sent.number, 0]))
            raise
        finally:
            session.waiting.difference_update(registered)

    async def _confirm_removal(self, settle_request: PendingRequest, got: bytes, generation: int) -> bool:
        """Wait until the removal of a persistent message is durable. Returns False when the message was put back.

        Raises MQError when the get is in doubt: the link broke before the queue manager answered.
        """
        session = self._session
        try:
            reply = await session.runtime.defer_interrupts(settle_request)
        except MQError as error:
            identifier = got[GOT_MD + MESSAGE_ID_AT : GOT_MD + MESSAGE_ID_AT + 24].hex()
            doubt = f"The link broke in the middle of a get: message {identifier} is off the queue, or comes again."
            try:
                await session.reconnect(error, generation)
            except MQError as gone:
                raise MQError(gone.reason, f"{gone.detail} {doubt}".strip()) from error
            raise MQError(mq.MQRC_CALL_INTERRUPTED, doubt) from error
        reason = int.from_bytes(reply[4:8], "little")
        if reason == mq.MQRC_BACKED_OUT:
            return False  # backed out to make room in the log
        ending = session.ending_error(reply)
        if ending is not None:
            await session.reconnect(ending, generation)
            return False
        check_reply(reply)
        return True

    def _decode_message(self, payload: bytes) -> StoredMessage | None:
        completion = int.from_bytes(payload[:4], "little")
        reason = int.from_bytes(payload[4:8], "little")
        if completion == mq.MQCC_FAILED:
            if self._session.closed:
                raise MQError(mq.MQRC_CONNECTION_BROKEN, "The connection was closed.")
            if reason == mq.MQRC_NO_MSG_AVAILABLE:
                return None
            raise MQError(reason, payload[REPLY_FIXED_BYTES:].decode("utf-8", "replace"))
        if len(payload) < GOT_FIXED_BYTES:
            if reason == 0:
                raise protocol_error(MalformedFrame("a reply to a get without a message"))
            raise MQError(reason, completion=completion)
        if reason == mq.MQRC_TRUNCATED_MSG_FAILED:
            length = int.from_bytes(payload[GOT_DATA_BYTES : GOT_DATA_BYTES + 4], "little")
            raise MQError(reason, f"The message has {length} bytes.", mq.MQCC_WARNING)
        block_bytes = int.from_bytes(payload[GOT_BLOCK_BYTES:GOT_MD], "little")
        body_at = GOT_FIXED_BYTES + block_bytes
        if body_at > len(payload):
            raise protocol_error(MalformedFrame("the properties of a message have a wrong length"))
        return StoredMessage(
            payload[GOT_MD:GOT_FIXED_BYTES],
            payload[body_at:],
            payload[GOT_FIXED_BYTES:body_at],
            payload[GOT_TOKEN:GOT_BLOCK_BYTES],
            reason,
        )

    # -- the rest ------------------------------------------------------------------------------------------------------

    async def close(self, options: int = 0) -> int:
        session = self._session
        if not self._is_open or session.closed:
            return 0

        def build() -> bytes:
            return numbers_payload([self._opened.hobj, options])

        if self._lost is None and session.is_usable():
            replied = check_reply(await session.call(CLOSE, build))
            reason = replied.reason
        else:
            reason = 0
        self._is_open = False
        session.forget_queue(self)
        return reason

    async def inquire_numbers(self, selectors: list[int]) -> tuple[list[int], list[str]]:
        """MQINQ. Returns integers and texts in the order of their selectors."""
        if not self._arguments.options & mq.MQOO_INQUIRE:
            name = self._opened.name if self._opened.flags & CREATED else self._arguments.name
            own = await self._session.open(OpenRequest(self._arguments.object_type, name, mq.MQOO_INQUIRE))
            assert isinstance(own, RemoteQueue)
            try:
                return await own.inquire_numbers(selectors)
            finally:
                await own.close()

        def build() -> bytes:
            self._check()
            return InquireArguments(self._opened.hobj, selectors, [], b"").encode()

        replied = check_reply(await self._session.call(INQUIRE, build))
        try:
            integers = replied.reader.integers(len(selectors))
            return integers, _texts(replied.reader, len(selectors))
        except MalformedFrame as error:
            raise protocol_error(error) from None

    async def depth(self) -> int:
        if self._arguments.name != self._opened.name and not self._opened.flags & CREATED:
            # Opened through an alias, which has no depth of its own.
            session = self._session
            own = await session.open(OpenRequest(self._arguments.object_type, self._opened.name, mq.MQOO_INQUIRE))
            try:
                return await own.depth()
            finally:
                await own.close()
        integers, _ = await self.inquire_numbers([mq.MQIA_CURRENT_Q_DEPTH])
        return integers[0]

    async def inquire(self, name: str) -> Value | None:
        (kind,), _ = await self.inquire_numbers([mq.MQIA_Q_TYPE])
        attribute = require(_TYPES.get(kind, ObjectType.QLOCAL), name)
        integers, texts = await self.inquire_numbers([attribute.pcf])
        if attribute.pcf > mq.MQIA_LAST or not integers:
            return texts[0]
        text = to_text(attribute, integers[0])
        return integers[0] if text == str(integers[0]) else text

    async def backout_rules(self) -> BackoutRules | None:
        opened = self._opened
        if opened.flags & REMOTE:
            return None
        try:
            (threshold,), (name,) = await self.inquire_numbers([mq.MQIA_BACKOUT_THRESHOLD, mq.MQCA_BACKOUT_REQ_Q_NAME])
        except MQError:
            threshold, name = opened.backout_threshold, opened.backout_queue
        if self._arguments.name != opened.name and not opened.flags & CREATED:
            threshold, name = opened.backout_threshold, opened.backout_queue
        return BackoutRules(opened.name, threshold, name)


def _texts(reader: PayloadReader, most: int) -> list[str]:
    texts: list[str] = []
    for _ in range(reader.count(most)):
        text = reader.fixed(reader.count(CHARACTERS_MAX))
        texts.append(text.rstrip(b" \0").decode("utf-8", "replace"))
    return texts
