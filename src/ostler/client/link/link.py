"""The link port: requests of remote connections go out over a socket, replies come back.

A link carries conversations; each is a connection to the queue manager. The port has two implementations: a blocking
one for threads, whose coroutines never suspend (see `runtime.run`), and one for the tasks of an event loop. So the
sessions above a link are written once.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable

from ostler.client.link.succession import Succession
from ostler.model import constants as mq
from ostler.model.errors import MQError
from ostler.wire.connect_frames import ConnectArguments, ConnectReply, Hello, decode_connect_reply
from ostler.wire.frames import CONNECT, DISCONNECT, MalformedFrame
from ostler.wire.payload_codec import numbers_payload
from ostler.wire.replies import ReplyHead, decode_reply

PartHandler = Callable[[int, bytes], None]
"""Receives type and payload of each part that arrives under a request's number before its reply: MESSAGE, OUTPUT."""


class LinkListener(ABC):
    """Receives the unsolicited events of a link. The thread that reads the link calls it: it must be short, must not
    raise and must not wait."""

    @abstractmethod
    def on_notice(self, reason: int, text: str) -> None:
        """NOTICE: the queue manager quiesces, or the connection does."""

    @abstractmethod
    def on_link_broken(self, error: MQError) -> None:
        """The link is broken. Called once, also after FAREWELL; not after `detach` or `close`."""


class PendingRequest(ABC):
    """A request that has been sent and waits for its reply."""

    number: int

    @abstractmethod
    async def reply(self) -> bytes:
        """Return the payload of the reply, completion and reason first. May be called again after an interruption.

        Raises MQError (MQRC_CONNECTION_BROKEN or the reason of FAREWELL) when the link breaks first.
        """

    @abstractmethod
    def forget(self) -> None:
        """Drop the reply when it comes. The request number is not used again until then."""


class Link(ABC):
    """A socket after the exchange of HELLO. Threads or tasks may share it."""

    negotiated: Hello

    @property
    @abstractmethod
    def failure(self) -> MQError | None:
        """The error that broke the link; None while it works."""

    @abstractmethod
    def watch_succession(self, succession: Succession) -> None:
        """Leave the link when its queue manager is silent, and a later leader of it is found.

        Ignored for a queue manager without copies, and when the link is watched already.
        """

    @property
    def is_shared(self) -> bool:
        """True when other conversations use the link already."""
        return False

    @abstractmethod
    def attach(self, listener: LinkListener) -> int | None:
        """Return a free conversation number; None when the link carries as many as were negotiated (SHARECNV)."""

    @abstractmethod
    def detach(self, conversation: int) -> None:
        """Release a conversation number. The link closes itself after the last one."""

    @abstractmethod
    async def send_request(
        self,
        conversation: int,
        type: int,
        payload: bytes,
        on_part: PartHandler | None = None,
        registered: list[PendingRequest] | None = None,
    ) -> PendingRequest:
        """Send a request. Waits only while the socket is full; interrupted there, the request is sent whole or not.

        The request is appended to `registered` before it is sent: a caller that is interrupted when the bytes have
        left, and before it has the result, can cancel it.

        Raises MQError when the link is broken.
        """

    async def exchange(self, conversation: int, type: int, payload: bytes = b"") -> bytes:
        """Send a request and return its reply. An interruption drops the reply, so this is not for gets."""
        asked = await self.send_request(conversation, type, payload)
        try:
            return await asked.reply()
        except BaseException:
            asked.forget()
            raise

    @abstractmethod
    def poll(self) -> None:
        """Process frames that arrived while no request waited, and so find out whether the link is broken."""

    @abstractmethod
    def send(self, conversation: int, type: int, payload: bytes) -> None:
        """Send a small frame that has no reply: CANCEL, SETTLE, CREDIT. Does nothing on a broken link."""

    @abstractmethod
    def send_numbered(self, conversation: int, type: int, payload: bytes) -> None:
        """Send a small request and drop its reply. Does nothing on a broken link."""

    @abstractmethod
    def close(self) -> None:
        """Close the socket. Pending requests fail with MQRC_CONNECTION_BROKEN."""


def connection_broken(text: str, reason: int = mq.MQRC_CONNECTION_BROKEN) -> MQError:
    return MQError(reason, text)


def check_reply(payload: bytes) -> ReplyHead:
    """Decode a reply. Raises MQError when its completion code is MQCC_FAILED."""
    try:
        replied = decode_reply(payload)
        if replied.completion != mq.MQCC_FAILED:
            return replied
        detail = replied.reader.rest().decode("utf-8", "replace")
        raise MQError(replied.reason, detail)
    except MalformedFrame as error:
        raise protocol_error(error) from None


def protocol_error(error: MalformedFrame) -> MQError:
    return MQError(mq.MQRC_CONNECTION_BROKEN, f"The queue manager violated the protocol: {error}.")


async def connect_conversation(
    link: Link, asked: ConnectArguments, listener: LinkListener
) -> tuple[int, ConnectReply] | None:
    """Open a conversation and CONNECT it. Returns None when the link has no free conversation."""
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
        # CONNECT may still succeed at the queue manager: end that connection.
        link.send_numbered(conversation, DISCONNECT, numbers_payload([0]))
        link.detach(conversation)
        raise


async def disconnect_conversation(link: Link, conversation: int, commit: bool) -> None:
    """MQDISC. The conversation ends in any case. Raises MQError when the commit failed."""
    try:
        check_reply(await link.exchange(conversation, DISCONNECT, numbers_payload([int(commit)])))
    finally:
        link.detach(conversation)
