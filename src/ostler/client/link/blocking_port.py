"""The link port on a blocking link: a thread that waits for a reply sleeps."""

from __future__ import annotations

from contextlib import suppress
from typing import Final

from ostler.client.link.blocking_link import ClientConversation
from ostler.client.link.dial import client_conversation, local_conversation
from ostler.client.link.link import Link, LinkListener, PartHandler, PendingRequest
from ostler.client.link.succession import Succession
from ostler.client.link.waiters import LinkBroken, PayloadStream, ReplyWaiter
from ostler.client.locate.connect_parameters import Endpoint, TlsSettings
from ostler.model.errors import MQError
from ostler.server.config.directories import QueueManagerDirectory
from ostler.wire.connect_frames import Hello
from ostler.wire.frames import OUTPUT

_OUTPUTS_MAX: Final = 1 << 20


class _BlockingRequest(PendingRequest):
    def __init__(
        self,
        conversation: ClientConversation,
        waiter: ReplyWaiter,
        stream: PayloadStream | None,
        on_part: PartHandler | None,
    ) -> None:
        self.number = int(waiter.request())
        self._conversation = conversation
        self._waiter = waiter
        self._stream = stream
        self._on_part = on_part

    async def reply(self) -> bytes:
        waiter = self._waiter
        try:
            self._conversation.link.finish(waiter)
        except LinkBroken as error:
            raise MQError(error.reason, error.text) from None
        if self._stream is not None and self._on_part is not None:
            self._conversation.link.close_stream(self._stream)
            while self._stream.count() > 0:
                self._on_part(OUTPUT, self._stream.take())
        return waiter.buffer[waiter.start : waiter.end]

    def forget(self) -> None:
        if self._stream is not None:
            self._conversation.link.close_stream(self._stream)


class BlockingPort(Link):
    """One conversation of a blocking link. The link itself assigns conversation numbers."""

    def __init__(self, conversation: ClientConversation) -> None:
        self._conversation = conversation
        self._listener: LinkListener | None = None
        self._is_attached = False
        link = conversation.link
        self.negotiated = Hello()
        self.negotiated.version = link.version
        self.negotiated.segment_bytes = link.segment_bytes
        self.negotiated.message_bytes_max = link.message_bytes_max

    def watch_succession(self, succession: Succession) -> None:
        self._conversation.link.watch_succession(succession)

    @property
    def failure(self) -> MQError | None:
        link = self._conversation.link
        return MQError(int(link.broken), link.broken_text) if link.broken else None

    def attach(self, listener: LinkListener) -> int | None:
        if self._is_attached:
            return None
        self._is_attached = True
        self._listener = listener
        self._conversation.on_notice = self._on_conversation_notice
        return int(self._conversation.number)

    def _on_conversation_notice(self) -> None:
        listener, failure = self._listener, self.failure
        if listener is None:
            return
        if failure is not None:
            self._listener = None
            listener.on_link_broken(failure)
        else:
            listener.on_notice(int(self._conversation.notice), "")

    def detach(self, conversation: int) -> None:
        self._listener = None
        self._conversation.close()

    async def send_request(
        self,
        conversation: int,
        type: int,
        payload: bytes,
        on_part: PartHandler | None = None,
        registered: list[PendingRequest] | None = None,
    ) -> PendingRequest:
        own = self._conversation
        stream: PayloadStream | None = None
        try:
            waiter = own.register_request(type)
            if on_part is not None:
                stream = PayloadStream(waiter.key, OUTPUT, _OUTPUTS_MAX)
                link = own.link
                link.state.acquire()
                link.streams[stream.key] = stream
                link.state.release()
            request = _BlockingRequest(own, waiter, stream, on_part)
            if registered is not None:
                registered.append(request)
            try:
                own.send(waiter, waiter.request(), type, [payload])
            except BaseException:
                if registered is not None:
                    registered.remove(request)  # it was not sent: nobody answers it
                raise
            return request
        except LinkBroken as error:
            raise MQError(error.reason, error.text) from None

    async def exchange(self, conversation: int, type: int, payload: bytes = b"") -> bytes:
        try:
            waiter = self._conversation.exchange(type, payload)
        except LinkBroken as error:
            raise MQError(error.reason, error.text) from None
        return waiter.buffer[waiter.start : waiter.end]

    def poll(self) -> None:
        self._conversation.link.read_available()

    def send(self, conversation: int, type: int, payload: bytes) -> None:
        self._conversation.post(type, payload)

    def send_numbered(self, conversation: int, type: int, payload: bytes) -> None:
        with suppress(LinkBroken):
            self._conversation.send_request(type, payload)

    def close(self) -> None:
        self.detach(0)


def local_port(directory: QueueManagerDirectory) -> BlockingPort:
    """Return a link over the Unix socket of a queue manager."""
    return BlockingPort(local_conversation(directory, shares=False).conversation)


def client_port(endpoint: Endpoint, tls: TlsSettings | None) -> BlockingPort:
    """Return a link over the network."""
    return BlockingPort(client_conversation(endpoint, tls, shares=False).conversation)
