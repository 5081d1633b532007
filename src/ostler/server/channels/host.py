"""The parts of the server that message channels use, as protocols, so that channels do not import the server."""

from __future__ import annotations

from typing import Protocol

from ostler.model.definitions import Definition
from ostler.server.channels.limits import ChannelCounts
from ostler.server.channels.mca import ChannelAgent
from ostler.server.net.link import ServerLink
from ostler.server.net.reactor import Reactor
from ostler.server.queue_manager import QueueManager
from ostler.wire.channel_frames import ChannelHello


class PingHandler(Protocol):
    """Handles agents that ping or are pinged (PING CHANNEL)."""

    def answer_ping(self, link: ServerLink, request: int, hello: ChannelHello, definition: Definition) -> None: ...
    def on_ping_frame(self, agent: ChannelAgent, type: int, request: int, payload: bytes) -> None: ...
    def on_ping_ended(self, agent: ChannelAgent, text: str) -> None: ...


class ChannelHost(Protocol):
    """The server of a queue manager."""

    @property
    def manager(self) -> QueueManager: ...
    @property
    def reactor(self) -> Reactor: ...
    @property
    def channel_commands(self) -> PingHandler: ...

    def client_channel_counts(self) -> ChannelCounts: ...
    def is_serving(self) -> bool: ...
    def note(self, text: str) -> None: ...
    def note_link(self, link: ServerLink, why: str) -> None: ...
