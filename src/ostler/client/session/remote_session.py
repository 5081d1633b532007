"""The session over a link: verbs as requests and replies, written once for both flavours of the API.

A wait may be interrupted, by the cancellation of a task or by a KeyboardInterrupt. No message is lost by that. For a
get outside syncpoint that can be interrupted, the queue manager holds the message until this side acknowledges it
(SETTLE). The get of a persistent message returns when its removal is durable, so the message never comes back. When the
link breaks before the queue manager has confirmed that, the get is in doubt and fails.

With reconnection a broken link is replaced, open queues are reopened, durable subscriptions are resumed and others
created again. Waiting gets go on waiting for the rest of their time. A unit of work in progress is reported as backed
out. A put outside syncpoint, a commit or a SETTLE whose reply was lost ends with MQRC_CALL_INTERRUPTED: it may have
been done, or not. A queue manager that ends is treated as a broken link, except that units of work may be finished
while it quiesces.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Final

from ostler.client.link.link import (
    LinkListener,
    PendingRequest,
    check_reply,
    disconnect_conversation,
    protocol_error,
)
from ostler.client.locate.routes import JoinedLink, Route
from ostler.client.session import remote_administration, remote_subscription
from ostler.client.session.link_session import LinkSession
from ostler.client.session.reconnect import SessionReconnector
from ostler.client.session.remote_queue import RemoteQueue, decode_put_reply, open_arguments
from ostler.client.session.remote_subscription import RemoteSubscription
from ostler.client.session.runtime import Runtime
from ostler.client.session.session import OpenQueue, OpenSubscription, Put, Session
from ostler.command.admin.objects import Given
from ostler.engine.open import OpenRequest
from ostler.model import constants as mq
from ostler.model.attributes import ObjectType, Value
from ostler.model.errors import MQError
from ostler.server.queue_manager import QueueManager
from ostler.wire.connect_frames import ConnectReply
from ostler.wire.frames import (
    BACK,
    CANCEL,
    COMMAND,
    COMMIT,
    DISCONNECT,
    OPEN,
    PAYLOAD_OVERHEAD_BYTES,
    PUBLISH1,
    PUT1,
    MalformedFrame,
)
from ostler.wire.object_frames import OpenArguments, OpenReply, Put1Arguments, decode_open_reply
from ostler.wire.payload_codec import numbers_payload
from ostler.wire.subscribe_frames import LEVEL_HIGHEST, SubscribeArguments

_GONE: Final = (mq.MQRC_CONNECTION_BROKEN, mq.MQRC_CONNECTION_STOPPING, mq.MQRC_Q_MGR_STOPPING)
_QUIESCING: Final = (mq.MQRC_CONNECTION_QUIESCING, mq.MQRC_Q_MGR_QUIESCING)


async def connect_session(route: Route) -> RemoteSession:
    """Connect to a queue manager. Raises MQError when no endpoint accepts the connection."""
    session = RemoteSession(route)
    session.use_link(await route.connect(session))
    return session


class RemoteSession(LinkSession, LinkListener):
    """A connection over a link, made by `connect_session`."""

    def __init__(self, route: Route) -> None:
        self._route = route
        self.runtime: Runtime = route.dialler.runtime()
        self.closed = False
        self.transaction: object = None
        self.connected = ConnectReply()
        self.waiting: set[PendingRequest] = set()  # gets
        self.is_interrupted = False
        # Gets of the unit of work that were interrupted before their reply was seen.
        self.abandoned_gets: list[PendingRequest] = []
        self.unit_size = 0
        self._is_backed_out = False
        self._broken: MQError | None = None
        self._queues: set[RemoteQueue] = set()
        self._subscriptions: set[RemoteSubscription] = set()
        self._reconnector = SessionReconnector(self.runtime)
        self._has_no_link = False  # the last link was given up, and there is no other yet

    def use_link(self, joined: JoinedLink) -> None:
        self.link, self.conversation, self.connected = joined
        self._has_no_link = False

    @property
    def generation(self) -> int:
        return self._reconnector.generation

    @property
    def name(self) -> str:
        return self.connected.queue_manager

    @property
    def manager(self) -> QueueManager:
        raise MQError(mq.MQRC_ENVIRONMENT_ERROR, f"Queue manager {self.name} runs in another process.")

    @property
    def hconn(self) -> int:
        raise MQError(mq.MQRC_ENVIRONMENT_ERROR, "A connection to another process has no handle; MQCONNX makes one.")

    @property
    def application(self) -> str:
        return self._route.application

    @property
    def ccsid(self) -> int:
        return self.connected.ccsid

    def check(self) -> None:
        if self.closed:
            raise MQError(mq.MQRC_HCONN_ERROR, "The connection is closed.")
        if self._broken is not None:
            raise MQError(self._broken.reason, self._broken.detail)

    def is_usable(self) -> bool:
        return not self.closed and self._broken is None and (self._reconnects() or self.link.failure is None)

    def _reconnects(self) -> bool:
        return self._route.reconnect in ("yes", "qmgr")

    async def clone(self) -> Session:
        self.check()
        return await connect_session(self._route)

    # -- requests ------------------------------------------------------------------------------------------------------

    async def call(
        self, type: int, build: Callable[[], bytes], in_unit: bool = False, must_not_repeat: bool = False
    ) -> bytes:
        while True:
            await self.ensure_link()
            if in_unit:
                self.check_unit()
            generation = self.generation
            payload = build()
            if len(payload) > self.link.negotiated.message_bytes_max + PAYLOAD_OVERHEAD_BYTES:
                raise MQError(mq.MQRC_MSG_TOO_BIG_FOR_CHANNEL)
            if must_not_repeat and self._reconnects():
                # Find out now if the link is broken: a request that was not sent is not in doubt.
                self.link.poll()
            try:
                asked = await self.link.send_request(self.conversation, type, payload)
            except MQError as error:
                await self.reconnect(error, generation)
                continue
            try:
                reply = await asked.reply()
            except MQError as error:
                await self.reconnect(error, generation)
                if must_not_repeat:
                    raise MQError(mq.MQRC_CALL_INTERRUPTED) from error
                continue
            except BaseException:
                # The request has been sent and will be executed.
                self.unit_size += in_unit
                asked.forget()
                raise
            ending = self.ending_error(reply)
            if ending is None:
                return reply
            await self.reconnect(ending, generation)

    def ending_error(self, reply: bytes) -> MQError | None:
        if int.from_bytes(reply[:4], "little") != mq.MQCC_FAILED or not self._reconnects():
            return None
        reason = int.from_bytes(reply[4:8], "little")
        # A quiescing queue manager lets units of work finish.
        if reason in _GONE or (reason in _QUIESCING and not self.has_unit()):
            return MQError(reason)
        return None

    async def ensure_link(self) -> None:
        self.runtime.raise_deferred_interrupt()
        self.check()
        if self._has_no_link:
            await self.reconnect(MQError(mq.MQRC_CONNECTION_BROKEN), self.generation)
            self.check()

    async def reconnect(self, error: MQError, generation: int) -> None:
        if self.closed:
            raise MQError(mq.MQRC_CONNECTION_BROKEN, "The connection was closed.")
        if not self._reconnects():
            self._broken = error
            raise error
        try:
            await self._reconnector.reconnect(error, generation, self._connect_again)
        except MQError as hopeless:
            if hopeless.reason == mq.MQRC_RECONNECT_FAILED:
                self._broken = hopeless
            self.check()
            raise

    async def _connect_again(self) -> None:
        self._drop_link()
        name = self.name
        joined = await self._route.connect(self)
        try:
            if self._route.reconnect == "qmgr" and joined.connected.queue_manager != name:
                raise MQError(mq.MQRC_RECONNECT_Q_MGR_REQD, f"{joined.connected.queue_manager} answers, not {name}.")
            for queue in sorted(self._queues, key=lambda each: each.number):
                await queue.reopen(joined)
            for subscription in sorted(self._subscriptions, key=lambda each: each.number):
                await subscription.reopen(joined)
        except BaseException:
            joined.link.send_numbered(joined.conversation, DISCONNECT, numbers_payload([0]))
            joined.link.detach(joined.conversation)
            raise
        self.use_link(joined)

    def _drop_link(self) -> None:
        """Give up the link, and with it the unit of work."""
        if self._has_no_link:
            return
        self._has_no_link = True
        if self.unit_size or self.abandoned_gets:
            self._is_backed_out = True
            self.unit_size = 0
            self.abandoned_gets.clear()
        if self.link.failure is None:
            self.link.send_numbered(self.conversation, DISCONNECT, numbers_payload([0]))
            self.link.detach(self.conversation)

    def on_notice(self, reason: int, text: str) -> None:
        # The queue manager itself ends the waiting gets that fail when it quiesces.
        pass

    def on_link_broken(self, error: MQError) -> None:
        if not self._reconnects():
            self._broken = error

    # -- objects and messages ------------------------------------------------------------------------------------------

    async def open(self, request: OpenRequest) -> OpenQueue:
        arguments = open_arguments(request)
        queue = RemoteQueue(self, arguments, await self._open(arguments))
        self._queues.add(queue)
        return queue

    async def _open(self, arguments: OpenArguments) -> OpenReply:
        replied = check_reply(await self.call(OPEN, arguments.encode))
        try:
            return decode_open_reply(replied.reader, self.link.negotiated.version)
        except MalformedFrame as error:
            raise protocol_error(error) from None

    def forget_queue(self, queue: OpenQueue) -> None:
        self._queues.discard(queue)

    async def subscribe(self, asked: SubscribeArguments, destination: OpenQueue | None) -> OpenSubscription:
        made = await remote_subscription.subscribe(self, asked, destination)
        self._subscriptions.add(made)
        return made

    def forget_subscription(self, subscription: OpenSubscription) -> None:
        self._subscriptions.discard(subscription)

    async def put1(
        self,
        request: OpenRequest,
        md: bytes,
        options: int,
        property_block: bytes,
        body: bytes,
        source: OpenQueue | None = None,
        level: int = LEVEL_HIGHEST,
    ) -> Put:
        target = open_arguments(request)
        in_unit = bool(options & mq.MQPMO_SYNCPOINT)

        def build() -> bytes:
            context = source.number if source is not None else 0
            payload = Put1Arguments(target, options, context, md, property_block, body).encode()
            if level == LEVEL_HIGHEST:
                return payload
            self.check_level(level)
            return numbers_payload([level]) + payload

        await self.resolve_abandoned_gets(in_unit)
        self.check_length(body)
        kind = PUT1 if level == LEVEL_HIGHEST else PUBLISH1
        done = decode_put_reply(await self.call(kind, build, in_unit, not in_unit))
        self.unit_size += in_unit
        return done

    def check_level(self, level: int) -> None:
        remote_subscription.check_version(self.link)
        if not 0 <= level <= LEVEL_HIGHEST:
            raise MQError(mq.MQRC_PMO_ERROR, f"A publication level is 0 to {LEVEL_HIGHEST}.")

    def check_length(self, body: bytes) -> None:
        limit = self.link.negotiated.message_bytes_max
        if len(body) > limit:
            raise MQError(
                mq.MQRC_MSG_TOO_BIG_FOR_CHANNEL, f"The message has {len(body)} bytes; the channel takes {limit}."
            )

    async def dead_letter_queue(self) -> str:
        arguments = OpenArguments(mq.MQOT_Q_MGR, "", mq.MQOO_INQUIRE)
        manager = RemoteQueue(self, arguments, await self._open(arguments))
        try:
            _, (name,) = await manager.inquire_numbers([mq.MQCA_DEAD_LETTER_Q_NAME])
            return name
        finally:
            await manager.close()

    def interrupt(self) -> None:
        self.is_interrupted = True
        self._reconnector.stop()
        for asked in sorted(self.waiting, key=lambda each: each.number):
            self.link.send(self.conversation, CANCEL, numbers_payload([asked.number]))

    # -- units of work -------------------------------------------------------------------------------------------------

    def has_unit(self) -> bool:
        return self.unit_size > 0 or self._is_backed_out

    def check_unit(self) -> None:
        if self._is_backed_out:
            raise MQError(mq.MQRC_BACKED_OUT, "The unit of work was backed out. Back out, and do it again.")

    async def resolve_abandoned_gets(self, in_unit: bool) -> None:
        if not in_unit or not self.abandoned_gets:
            return
        took = 0
        for orphan in list(self.abandoned_gets):
            try:
                took += int.from_bytes((await orphan.reply())[:4], "little") != mq.MQCC_FAILED
            except MQError:
                # The link is broken, so the message is back on its queue.
                return
        if took:
            check_reply(await self.call(BACK, bytes))
            self._is_backed_out = self.unit_size > 0
            self.unit_size = 0
        self.abandoned_gets.clear()

    async def commit(self) -> None:
        try:
            await self.resolve_abandoned_gets(True)
            replied = check_reply(await self.call(COMMIT, bytes, in_unit=True, must_not_repeat=True))
            if replied.reason:
                raise MQError(replied.reason)
        finally:
            self._clear_unit()

    async def back_out(self) -> None:
        self.check()
        was_lost = self._is_backed_out
        self._clear_unit()
        if not was_lost:
            check_reply(await self.call(BACK, bytes))

    def _clear_unit(self) -> None:
        self.unit_size = 0
        self._is_backed_out = False
        self.abandoned_gets.clear()

    async def disconnect(self, commit: bool) -> None:
        if self.closed:
            return
        was_backed_out = False
        has_unit = self.has_unit() or bool(self.abandoned_gets)
        try:
            if self._broken is None and commit and has_unit:
                await self.resolve_abandoned_gets(True)
                was_backed_out = self._is_backed_out
        finally:
            self.closed = True
            self.interrupt()
        if self._broken is None and not self._has_no_link and self.link.failure is None:
            try:
                await disconnect_conversation(self.link, self.conversation, commit)
            except MQError:
                # After the link broke the queue manager has backed out the unit of work.
                if commit and has_unit:
                    raise
        if was_backed_out:
            raise MQError(mq.MQRC_BACKED_OUT)

    # -- administration ------------------------------------------------------------------------------------------------

    async def define(
        self, kind: ObjectType, name: str, given: Mapping[str, Given], like: str | None, replace: bool
    ) -> None:
        if replace and like is None:
            # An existing object keeps the attributes that are not given; with REPLACE of MQSC it would not.
            try:
                await self.alter(kind, name, given)
                return
            except MQError as error:
                if error.reason != mq.MQRC_UNKNOWN_OBJECT_NAME:
                    raise
        await self._mqsc(remote_administration.define(kind, name, given, like, replace))

    async def alter(self, kind: ObjectType, name: str, given: Mapping[str, Given]) -> None:
        await self._mqsc(remote_administration.alter(kind, name, given))

    async def delete(self, kind: ObjectType, name: str, purge: bool) -> None:
        await self._mqsc(remote_administration.delete(kind, name, purge))

    async def clear(self, queue: str) -> None:
        await self._mqsc(remote_administration.clear(queue))

    async def display(self, word: str, pattern: str, names: Sequence[str]) -> list[dict[str, Value]]:
        try:
            lines = await self._mqsc(remote_administration.display(word, pattern, names))
        except MQError as error:
            if error.reason == mq.MQRC_UNKNOWN_OBJECT_NAME and "*" in pattern:
                return []
            raise
        return remote_administration.parse_display(word, names, lines)

    async def _mqsc(self, text: str) -> list[str]:
        """Run a command and return the lines of its answer. Raises MQError when it failed."""
        lines: list[str] = []

        def on_part(_: int, payload: bytes) -> None:
            lines.extend(json.loads(payload).get("lines", ()))

        await self.ensure_link()
        payload = json.dumps({"action": "mqsc", "text": text, "echo": False}).encode()
        request = await self.link.send_request(self.conversation, COMMAND, payload, on_part)
        try:
            check_reply(await request.reply())
        except MQError as error:
            if error.reason == mq.MQRC_NOT_AUTHORIZED:
                detail = f"Objects are defined and displayed over the queue manager's own socket only. {error.detail}"
                raise MQError(error.reason, detail) from None
            raise
        except BaseException:
            request.forget()
            raise
        remote_administration.check_answer(lines)
        return lines
