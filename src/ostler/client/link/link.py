"""The port between remote connections and a socket: requests go out, replies come back.

A link carries conversations; each is a connection to the queue manager. Two flavours implement the port: a blocking
one for threads, whose coroutines never suspend (see `waits.run`), and one for the tasks of an event loop. So what is
built on a link is written once.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable

from ostler.model.constants import MQCC_FAILED, MQRC_CONNECTION_BROKEN
from ostler.model.errors import MQError
from ostler.wire.connect_frames import ConnectArguments, ConnectReply, Hello, decode_connect_reply
from ostler.wire.frames import CONNECT, DISCONNECT, MalformedFrame
from ostler.wire.payload_codec import numbers_payload
from ostler.wire.replies import ReplyHead, decode_reply

PartHandler = Callable[[int, bytes], None]
"""Is told type and payload of what comes under a request's number before its reply: MESSAGE, OUTPUT."""


class LinkListener(ABC):
    """Whom a link tells what nobody asked for. Called by whoever reads the link, from any thread: be short, do not
    raise, and do not wait."""

    @abstractmethod
    def on_notice(self, reason: int, text: str) -> None:
        """NOTICE: the queue manager quiesces, or the connection does."""

    @abstractmethod
    def on_link_broken(self, error: MQError) -> None:
        """The link is gone. Comes once, also when the queue manager said farewell; not after `detach` or `close`."""


class PendingRequest(ABC):
    """A request under way."""

    number: int

    @abstractmethod
    async def reply(self) -> bytes:
        """The payload of the reply, completion and reason first. May be asked for again when the wait was interrupted.

        MQError (MQRC_CONNECTION_BROKEN or what FAREWELL said) when the link breaks first.
        """

    @abstractmethod
    def forget(self) -> None:
        """Nobody waits for the reply any more: it is dropped when it comes. The number is not used until then."""


class Link(ABC):
    """A socket on which HELLO was exchanged. Threads or tasks may share it."""

    agreed: Hello

    @property
    @abstractmethod
    def failure(self) -> MQError | None:
        """Why the link is of no use any more; None while it is."""

    @property
    def is_shared(self) -> bool:
        """Whether others use the link already."""
        return False

    @abstractmethod
    def attach(self, listener: LinkListener) -> int | None:
        """Have a conversation number that is free; None when the link carries as many as were agreed."""

    @abstractmethod
    def detach(self, conversation: int) -> None:
        """Give a conversation number back. The link closes itself behind the last one."""

    @abstractmethod
    async def send_request(
        self, conversation: int, type: int, payload: bytes, on_part: PartHandler | None = None
    ) -> PendingRequest:
        """Send a request. It waits only while the socket takes no more; interrupted then, nothing is sent, or all is.

        MQError when the link is broken.
        """

    async def exchange(self, conversation: int, type: int, payload: bytes = b"") -> bytes:
        """Send a request and wait for its reply. Interrupted, the reply is forgotten: not for gets."""
        asked = await self.send_request(conversation, type, payload)
        try:
            return await asked.reply()
        except BaseException:
            asked.forget()
            raise

    @abstractmethod
    def poll(self) -> None:
        """Take in what has come while nobody waited: perhaps the link is no more."""

    @abstractmethod
    def send(self, conversation: int, type: int, payload: bytes) -> None:
        """Send a small frame that has no reply: CANCEL, SETTLE, CREDIT. A broken link swallows it."""

    @abstractmethod
    def send_numbered(self, conversation: int, type: int, payload: bytes) -> None:
        """Send a small request whose reply nobody waits for. A broken link swallows it."""

    @abstractmethod
    def close(self) -> None:
        """Close the socket. Those who wait get MQRC_CONNECTION_BROKEN."""


def connection_broken(text: str, reason: int = MQRC_CONNECTION_BROKEN) -> MQError:
    return MQError(reason, text)


def check_reply(payload: bytes) -> ReplyHead:
    """A reply that did not fail. Raises MQError for one that did."""
    try:
        replied = decode_reply(payload)
        if replied.completion != MQCC_FAILED:
            return replied
        detail = replied.reader.rest().decode("utf-8", "replace")
        raise MQError(replied.reason, detail)
    except MalformedFrame as error:
        raise protocol_error(error) from None


def protocol_error(error: MalformedFrame) -> MQError:
    return MQError(MQRC_CONNECTION_BROKEN, f"The queue manager sent what this client does not understand: {error}.")


async def connect_conversation(
    link: Link, asked: ConnectArguments, listener: LinkListener
) -> tuple[int, ConnectReply] | None:
    """Make a conversation of the link a connection; None when the link has no room for another one."""
    conversation = link.attach(listener)
    if conversation is None:
        return None
    try:
        replied = check_reply(await link.exchange(conversation, CONNECT, asked.encode()))
        return conversation, decode_connect_reply(replied.reader)
    except MalformedFrame as error:
        link.detach(conversation)
        raise protocol_error(error) from None
    except MQError:
        link.detach(conversation)
        raise
    except BaseException:
        # Perhaps it becomes a connection, which then is nobody's.
        link.send_numbered(conversation, DISCONNECT, numbers_payload([0]))
        link.detach(conversation)
        raise


async def disconnect_conversation(link: Link, conversation: int, commit: bool) -> None:
    """MQDISC. The conversation is over, whatever comes of it. Raises MQError when the commit failed."""
    try:
        check_reply(await link.exchange(conversation, DISCONNECT, numbers_payload([int(commit)])))
    finally:
        link.detach(conversation)
