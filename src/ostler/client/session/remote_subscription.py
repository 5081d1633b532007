"""A subscription that is open over a link: its verbs as frames."""

from __future__ import annotations

from ostler.client.link.link import Link, check_reply, protocol_error
from ostler.client.locate.routes import JoinedLink
from ostler.client.mqi.remote.topics import managed_arguments, resubscribe_options
from ostler.client.session.link_session import LinkSession
from ostler.client.session.remote_queue import RemoteQueue
from ostler.client.session.session import OpenQueue, OpenSubscription
from ostler.model import constants as mq
from ostler.model.errors import MQError
from ostler.wire.frames import CLOSE, SUBSCRIBE, SUBSCRIPTION_REQUEST, MalformedFrame
from ostler.wire.payload_codec import numbers_payload
from ostler.wire.subscribe_frames import (
    SUBSCRIPTIONS_VERSION,
    SubscribeArguments,
    SubscribeReply,
    decode_subscribe_reply,
)

_COUNT_MAX = 0x7FFFFFFF


def check_version(link: Link) -> None:
    """Raise MQError when the queue manager's protocol version has no subscriptions and publication levels."""
    if link.negotiated.version < SUBSCRIPTIONS_VERSION:
        raise MQError(
            mq.MQRC_FUNCTION_NOT_SUPPORTED, f"The queue manager has version {link.negotiated.version} of the protocol."
        )


async def subscribe(
    session: LinkSession, asked: SubscribeArguments, destination: OpenQueue | None
) -> RemoteSubscription:
    def build() -> bytes:
        check_version(session.link)
        asked.destination = destination.number if destination is not None else 0
        return asked.encode()

    replied = check_reply(await session.call(SUBSCRIBE, build))
    try:
        found = decode_subscribe_reply(replied.reader)
    except MalformedFrame as error:
        raise protocol_error(error) from None
    return RemoteSubscription(session, asked, destination, found, replied.reason)


class RemoteSubscription(OpenSubscription):
    __slots__ = (
        "__weakref__",
        "_asked",
        "_described",
        "_destination",
        "_is_open",
        "_lost",
        "_provided",
        "_session",
        "_warning",
    )

    def __init__(
        self,
        session: LinkSession,
        asked: SubscribeArguments,
        provided: OpenQueue | None,
        found: SubscribeReply,
        warning: int,
    ) -> None:
        self._session = session
        self._asked = asked
        self._provided = provided
        self._described = found
        self._warning = warning
        self._is_open = True
        self._lost: MQError | None = None  # why it could not be created again
        self._destination: RemoteQueue | None = None
        if found.destination.hobj:
            self._destination = RemoteQueue(session, managed_arguments(asked, found), found.destination)

    @property
    def number(self) -> int:
        return self._described.hsub

    @property
    def described(self) -> SubscribeReply:
        return self._described

    @property
    def destination(self) -> OpenQueue | None:
        return self._destination

    @property
    def warning(self) -> int:
        return self._warning

    async def reopen(self, joined: JoinedLink) -> None:
        """Subscribe again over a new link: resume a durable subscription, create another one."""
        asked = self._asked
        options = asked.options
        asked.options = resubscribe_options(asked, bool(self._described.options & mq.MQSO_DURABLE))
        try:
            check_version(joined.link)
            asked.destination = self._provided.number if self._provided is not None else 0
            payload = await joined.link.exchange(joined.conversation, SUBSCRIBE, asked.encode())
            found = decode_subscribe_reply(check_reply(payload).reader)
        except MalformedFrame as error:
            raise protocol_error(error) from None
        except MQError as error:
            if error.reason in (mq.MQRC_SUBSCRIPTION_IN_USE, mq.MQRC_SUB_ALREADY_EXISTS):
                # The queue manager may not have noticed yet that the old link is broken.
                raise
            self._lost = MQError(mq.MQRC_OBJECT_CHANGED, f"After reconnecting there is no subscription: {error}")
            if self._destination is not None:
                self._destination.mark_lost(self._lost)
            return
        finally:
            asked.options = options
        self._described = found
        if self._destination is not None:
            self._destination.replace(managed_arguments(asked, found), found.destination)

    def _check(self) -> None:
        if not self._is_open:
            self._session.check()
            raise MQError(mq.MQRC_HOBJ_ERROR, "The subscription is closed.")
        if self._lost is not None:
            raise MQError(self._lost.reason, self._lost.detail)

    async def request(self, action: int, options: int) -> int:
        def build() -> bytes:
            self._check()
            return numbers_payload([self.number, action, options])

        replied = check_reply(await self._session.call(SUBSCRIPTION_REQUEST, build))
        try:
            return replied.reader.count(_COUNT_MAX)
        except MalformedFrame as error:
            raise protocol_error(error) from None

    async def close(self, options: int = 0) -> int:
        session = self._session
        if not self._is_open or session.closed:
            return 0
        reason = 0
        if self._lost is None and session.is_usable():

            def build() -> bytes:
                return numbers_payload([self.number, options])

            reason = check_reply(await session.call(CLOSE, build)).reason
        self._is_open = False
        session.forget_subscription(self)
        return reason
