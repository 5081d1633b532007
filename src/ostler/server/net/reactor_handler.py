"""Callbacks of the reactor: what it leaves to the server."""

from __future__ import annotations

from abc import ABCMeta, abstractmethod
from collections.abc import Callable
from typing import TYPE_CHECKING

from mypy_extensions import mypyc_attr

from ostler.engine.outcomes import UnitOutcome
from ostler.wire.connect_frames import ConnectArguments, Hello
from ostler.wire.tls_stream import TlsStream

if TYPE_CHECKING:
    from ostler.server.net.conversation import ServerConversation
    from ostler.server.net.link import ServerLink


@mypyc_attr(allow_interpreted_subclasses=True)
class ReactorHandler(metaclass=ABCMeta):
    """Decides on admission, and handles all requests that are not on the hot path.

    Every method is called on the reactor's thread, under the engine's lock, and must not block.
    """

    @abstractmethod
    def on_hello(self, link: ServerLink, hello: Hello) -> Hello:
        """Return the negotiated values of a client's link. MQError refuses it."""

    @abstractmethod
    def on_channel_hello(self, link: ServerLink, request: int, payload: bytes) -> None:
        """Start a message channel on a link. The reply may be sent later."""

    @abstractmethod
    def new_tls_stream(self, link: ServerLink) -> TlsStream:
        """Return the stream for a link whose peer starts TLS. Raises TlsFailed if TLS is not configured."""

    @abstractmethod
    def on_connect(self, link: ServerLink, number: int, request: int, asked: ConnectArguments) -> None:
        """Authenticate an application, and start its conversation now or later. MQError refuses it."""

    @abstractmethod
    def handle_request(
        self, conversation: ServerConversation, type: int, number: int, buffer: bytes, start: int, end: int
    ) -> None:
        """Handle a request that the conversation does not handle itself."""

    @abstractmethod
    def release_connection(self, conversation: ServerConversation, commits: bool) -> UnitOutcome:
        """Disconnect the connection of a conversation that has ended."""

    @abstractmethod
    def run_command(self, link: ServerLink, conversation: int, request: int, payload: bytes) -> None:
        """Run a COMMAND."""

    @abstractmethod
    def accept(self, fd: int) -> None:
        """Accept connections that wait on a listening socket."""

    @abstractmethod
    def is_admission_pending(self, link: ServerLink) -> bool:
        """Return True while the authentication of a user on a link is not decided."""

    @abstractmethod
    def on_link_closed(self, link: ServerLink) -> None:
        """Release everything that belongs to a link."""

    @abstractmethod
    def note_link(self, link: ServerLink, why: str) -> None:
        """Write an operator message about a link."""

    @abstractmethod
    def note(self, text: str) -> None:
        """Write an operator message."""

    @abstractmethod
    def make_room(self, then: Callable[[], None]) -> None:
        """Free log space on another thread, and post `then` to the reactor."""
