"""What the reactor asks of the server it works for."""

from __future__ import annotations

from abc import ABCMeta, abstractmethod
from collections.abc import Callable
from typing import TYPE_CHECKING

from mypy_extensions import mypyc_attr

from ostler.wire.connect_frames import ConnectArguments, Hello
from ostler.wire.tls_stream import TlsStream

if TYPE_CHECKING:
    from ostler.server.net.conversation import ServerConversation
    from ostler.server.net.link import ServerLink


@mypyc_attr(allow_interpreted_subclasses=True)
class ReactorHandler(metaclass=ABCMeta):
    """What the reactor leaves to the server: who may come in, and all that is not on the busiest path.

    Called on the reactor's thread, under the engine's lock. Nothing here may wait.
    """

    @abstractmethod
    def on_hello(self, link: ServerLink, hello: Hello) -> Hello:
        """A link says what it wants: what it gets, or MQError."""

    @abstractmethod
    def on_channel_hello(self, link: ServerLink, request: int, payload: bytes) -> None:
        """A queue manager wants to use a message channel: answered now or later."""

    @abstractmethod
    def new_tls_stream(self, link: ServerLink) -> TlsStream:
        """A link begins with TLS. TlsFailed when there is none here."""

    @abstractmethod
    def on_connect(self, link: ServerLink, number: int, request: int, asked: ConnectArguments) -> None:
        """An application connects: make its conversation and answer it, or MQError."""

    @abstractmethod
    def handle_request(
        self, conversation: ServerConversation, type: int, number: int, buffer: bytes, start: int, end: int
    ) -> None:
        """A request that is not on the busiest path."""

    @abstractmethod
    def release_connection(self, conversation: ServerConversation, commits: bool) -> int:
        """A conversation is over: let its connection go; 0 or the reason."""

    @abstractmethod
    def run_command(self, link: ServerLink, conversation: int, request: int, payload: bytes) -> None:
        """A command for the queue manager itself."""

    @abstractmethod
    def accept(self, fd: int) -> None:
        """Connections wait on a listening socket: take some of them."""

    @abstractmethod
    def is_considering(self, link: ServerLink) -> bool:
        """Whether somebody on a link waits to be let in."""

    @abstractmethod
    def on_link_closed(self, link: ServerLink) -> None:
        """A link is gone."""

    @abstractmethod
    def note_link(self, link: ServerLink, why: str) -> None:
        """Something about a link that the operator may want to know."""

    @abstractmethod
    def note(self, text: str) -> None:
        """Something else that the operator may want to know."""

    @abstractmethod
    def make_room(self, then: Callable[[], None]) -> None:
        """The log is full: have room made, elsewhere, and `then` posted to the reactor."""
