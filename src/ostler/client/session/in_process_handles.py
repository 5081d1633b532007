"""What a session on a queue manager of this process has open: queues, topics and subscriptions."""

from __future__ import annotations

from collections.abc import Coroutine
from typing import TYPE_CHECKING

from ostler.client.api import administration
from ostler.client.api.get_options import GetOptions
from ostler.client.session.session import BackoutRules, OpenQueue, OpenSubscription, Put, Taken
from ostler.engine.connection import Handle
from ostler.engine.pubsub.subscribe import Subscribed as EngineSubscribed
from ostler.model.attributes import Value
from ostler.model.constants import MQRC_HOBJ_ERROR
from ostler.model.errors import MQError
from ostler.server.verbs.opened_subscriptions import describe_subscribed
from ostler.wire.subscribe_frames import LEVEL_HIGHEST, Subscribed

if TYPE_CHECKING:
    from ostler.client.session.in_process import LocalSession


class LocalQueue(OpenQueue):
    """A queue that is open in the engine of this process."""

    __slots__ = ("_session", "handle")

    def __init__(self, session: LocalSession, handle: Handle) -> None:
        self._session = session
        self.handle = handle

    @property
    def number(self) -> int:
        return self.handle.number

    @property
    def name(self) -> str:
        return self.handle.name if self.handle.created_dynamic else self.handle.object_name

    @property
    def selection(self) -> str:
        selector = self.handle.selector
        return selector.text if selector is not None else ""

    @property
    def topic(self) -> str:
        opened = self.handle.topic
        return opened.topic if opened is not None else ""

    # The two that are used most hand the coroutine on as it is.

    def put(
        self, md: bytes, options: int, block: bytes, body: bytes, level: int = LEVEL_HIGHEST
    ) -> Coroutine[object, None, Put]:
        return self._session.put(self.handle, md, options, block, body, level)

    def get(self, asked: GetOptions, browse: int = 0) -> Coroutine[object, None, Taken | None]:
        return self._session.get(self.handle, asked, browse)

    async def close(self, options: int = 0) -> int:
        return await self._session.close_handle(self.handle, options)

    async def depth(self) -> int:
        queue = self.handle.queue
        if queue is None:
            raise MQError(MQRC_HOBJ_ERROR)
        return queue.depth

    async def inquire(self, name: str) -> Value | None:
        definition = self.handle.definition
        queue = self.handle.queue
        with self._session.turn() as engine:
            if queue is not None and not self.handle.definitions_on_path:
                definition = queue.definition
            if definition is None:
                raise MQError(MQRC_HOBJ_ERROR)
            return administration.attribute_value(engine, definition, name)

    async def backout_rules(self) -> BackoutRules | None:
        queue = self.handle.queue
        if queue is None:
            return None
        return BackoutRules(queue.name, queue.backout_threshold, str(queue.definition.attributes.get("BOQNAME") or ""))


class LocalSubscription(OpenSubscription):
    """A subscription that is open in the engine of this process."""

    __slots__ = ("_described", "_destination", "_session", "_warning", "handle")

    def __init__(self, session: LocalSession, made: EngineSubscribed) -> None:
        self._session = session
        self._described = describe_subscribed(made)
        self._warning = made.warning
        self.handle = made.handle
        self._destination = LocalQueue(session, made.destination) if made.destination is not None else None

    @property
    def number(self) -> int:
        return self.handle.number

    @property
    def described(self) -> Subscribed:
        return self._described

    @property
    def destination(self) -> OpenQueue | None:
        return self._destination

    @property
    def warning(self) -> int:
        return self._warning

    async def request(self, action: int, options: int) -> int:
        return await self._session.request_publications(self.handle, action, options)

    async def close(self, options: int = 0) -> int:
        return await self._session.close_handle(self.handle, options)
