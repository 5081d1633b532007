"""The blocking link as a port for remote connections: a thread that asks sleeps until it is answered."""

from __future__ import annotations

from contextlib import suppress
from typing import Final

from ostler.client.link.conversation import Conversation
from ostler.client.link.dial import client_conversation, local_conversation
from ostler.client.link.link import Asked, Link, Listener, More
from ostler.client.link.waiters import LinkBroken, Stream, Waiter
from ostler.client.locate.connect_parameters import Endpoint, TlsSettings
from ostler.model.errors import MQError
from ostler.server.config.directories import QueueManagerDirectory
from ostler.wire.connect_frames import Hello
from ostler.wire.frames import OUTPUT

_OUTPUTS_MAX: Final = 1 << 20


class _BlockingAsked(Asked):
    def __init__(self, conversation: Conversation, waiter: Waiter, stream: Stream | None, more: More | None) -> None:
        self.number = int(waiter.request())
        self._conversation = conversation
        self._waiter = waiter
        self._stream = stream
        self._more = more

    async def reply(self) -> bytes:
        waiter = self._waiter
        try:
            self._conversation.link.finish(waiter)
        except LinkBroken as error:
            raise MQError(error.reason, error.text) from None
        if self._stream is not None and self._more is not None:
            self._conversation.link.close_stream(self._stream)
            while self._stream.count() > 0:
                self._more(OUTPUT, self._stream.take())
        return waiter.buffer[waiter.start : waiter.end]

    def forget(self) -> None:
        if self._stream is not None:
            self._conversation.link.close_stream(self._stream)


class BlockingPort(Link):
    """One conversation of a blocking link, which the link shares out itself."""

    def __init__(self, conversation: Conversation) -> None:
        self._conversation = conversation
        self._listener: Listener | None = None
        self._is_attached = False
        link = conversation.link
        self.agreed = Hello()
        self.agreed.version = link.version
        self.agreed.segment_bytes = link.segment_bytes
        self.agreed.message_bytes_max = link.message_bytes_max

    @property
    def failure(self) -> MQError | None:
        link = self._conversation.link
        return MQError(int(link.broken), link.broken_text) if link.broken else None

    def attach(self, listener: Listener) -> int | None:
        if self._is_attached:
            return None
        self._is_attached = True
        self._listener = listener
        self._conversation.on_notice = self._told
        return int(self._conversation.number)

    def _told(self) -> None:
        listener, failure = self._listener, self.failure
        if listener is None:
            return
        if failure is not None:
            self._listener = None
            listener.link_broke(failure)
        else:
            listener.noticed(int(self._conversation.notice), "")

    def detach(self, conversation: int) -> None:
        self._listener = None
        self._conversation.close()

    async def ask(self, conversation: int, type: int, payload: bytes, more: More | None = None) -> Asked:
        own = self._conversation
        try:
            if more is None:
                return _BlockingAsked(own, own.begin(type, payload), None, None)
            waiter = own.expect(type)
            stream = Stream(waiter.key, OUTPUT, _OUTPUTS_MAX)
            link = own.link
            link.state.acquire()
            link.streams[stream.key] = stream
            link.state.release()
            own.send(waiter, waiter.request(), type, [payload])
            return _BlockingAsked(own, waiter, stream, more)
        except LinkBroken as error:
            raise MQError(error.reason, error.text) from None

    async def exchange(self, conversation: int, type: int, payload: bytes = b"") -> bytes:
        try:
            waiter = self._conversation.ask(type, payload)
        except LinkBroken as error:
            raise MQError(error.reason, error.text) from None
        return waiter.buffer[waiter.start : waiter.end]

    def look(self) -> None:
        self._conversation.link.read_available()

    def send(self, conversation: int, type: int, payload: bytes) -> None:
        self._conversation.post(type, payload)

    def send_numbered(self, conversation: int, type: int, payload: bytes) -> None:
        with suppress(LinkBroken):
            self._conversation.begin(type, payload)

    def close(self) -> None:
        self.detach(0)


def local_port(directory: QueueManagerDirectory) -> BlockingPort:
    """A link over the Unix socket of a queue manager."""
    return BlockingPort(local_conversation(directory, shares=False).conversation)


def client_port(endpoint: Endpoint, tls: TlsSettings | None) -> BlockingPort:
    """A link over the network."""
    return BlockingPort(client_conversation(endpoint, tls, shares=False).conversation)
