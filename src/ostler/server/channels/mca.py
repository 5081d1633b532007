"""The message channel agent (MCA): runs a sans-IO channel end of `channel/` on a link of the reactor."""

from __future__ import annotations

from abc import ABCMeta, abstractmethod
from typing import TYPE_CHECKING, Final, final

from mypy_extensions import i64, mypyc_attr

from ostler.channel.message_writer import BACKLOG_BYTES
from ostler.channel.port import ChannelPort, EndReason
from ostler.channel.receiver import ReceivingEnd
from ostler.channel.sender import SendingEnd
from ostler.engine.connection import Connection
from ostler.server.net.link import CLOSING, NEW, ServerLink
from ostler.server.net.link_agent import LinkAgent
from ostler.wire.channel_frames import XQH_BYTES, ChannelHello
from ostler.wire.frames import CHANNEL_HELLO

if TYPE_CHECKING:
    from ostler.server.net.reactor import Reactor

_MICROSECOND_NS: Final = 1000
_INTERNAL_ERROR: Final = "AMQ6109E: Channel {} ended because of an internal error: {}: {}."


@mypyc_attr(allow_interpreted_subclasses=True)
class ChannelAgentHandler(metaclass=ABCMeta):
    """Handles the events of channel agents, on the reactor's thread and under the engine's lock."""

    @abstractmethod
    def on_agent_ended(self, agent: ChannelAgent, end_reason: EndReason, reason: i64, text: str) -> None:
        """An agent has ended; its link closes by itself."""

    @abstractmethod
    def on_agent_changed(self, agent: ChannelAgent) -> None:
        """The state of an agent's channel end has changed."""

    @abstractmethod
    def on_agent_hello(self, agent: ChannelAgent, request: int, payload: bytes) -> None:
        """A hello has arrived for an agent without a channel end, because a requester has called its sender."""

    @abstractmethod
    def on_agent_frame(self, agent: ChannelAgent, type: int, request: int, payload: bytes) -> None:
        """Another frame has arrived for an agent without a channel end: of a ping, or a refusal."""

    @abstractmethod
    def note_channel(self, text: str) -> None:
        """Write an operator message."""


@final
class ChannelAgent(LinkAgent):
    """The MCA of one channel instance or ping. It has no channel end until the roles are negotiated."""

    def __init__(self, reactor: Reactor, handler: ChannelAgentHandler, channel: str, link: ServerLink) -> None:
        super().__init__(reactor)
        self.handler = handler
        self.channel = channel
        self.link = link
        self.instance: object = None  # the ChannelInstance; None for a ping
        self.connection: Connection | None = None
        self.sending: SendingEnd | None = None
        self.receiving: ReceivingEnd | None = None
        self.has_ended = False

    def port(self) -> LinkChannelPort:
        return LinkChannelPort(self)

    def on_negotiated(self, agreed: ChannelHello) -> None:
        """Apply the negotiated limits and heartbeat interval to the link."""
        longest: i64 = agreed.message_bytes_max + XQH_BYTES
        self.link.apply_negotiated(agreed.segment_bytes, longest, agreed.heartbeat_seconds)

    def has_instance(self) -> bool:
        return self.instance is not None

    def receive_frame(self, type: i64, request: i64, buffer: bytes, start: i64, end: i64) -> None:
        sending = self.sending
        receiving = self.receiving
        if receiving is not None:
            receiving.receive_frame(type, request, buffer, start, end)
        elif sending is not None:
            sending.receive_frame(type, request, buffer, start, end)
        elif type == CHANNEL_HELLO:
            self.handler.on_agent_hello(self, request, buffer[start:end])
        else:
            self.handler.on_agent_frame(self, type, request, buffer[start:end])

    def pump(self) -> None:
        if self.has_ended:
            return
        if self.sending is not None:
            self.sending.pump()
        elif self.receiving is not None:
            self.receiving.pump()

    def fire(self, now_ms: i64) -> None:
        self.on_timer()

    def on_timer(self) -> None:
        if self.has_ended:
            return
        if self.sending is not None:
            self.sending.on_timer()
        elif self.receiving is not None:
            self.receiving.on_timer()

    def on_room_made(self) -> None:
        """Continue after an attempt to make log space."""
        if self.has_ended:
            return
        if self.sending is not None:
            self.sending.on_room_made()
        elif self.receiving is not None:
            self.receiving.on_room_made()

    def stop(self) -> None:
        """End the channel after the current batch."""
        if self.sending is not None:
            self.sending.stop()
        elif self.receiving is not None:
            self.receiving.stop()
        else:
            self.finish(EndReason.RETRYABLE, 0, "")

    def on_closed(self, why: str) -> None:
        if not self.has_ended:
            self.finish(EndReason.RETRYABLE, 0, why)

    def on_internal_error(self, error: Exception) -> None:
        self.handler.note_channel(_INTERNAL_ERROR.format(self.channel, type(error).__name__, error))
        self.finish(EndReason.RETRYABLE, 0, str(error))

    def finish(self, end_reason: EndReason, reason: i64, text: str) -> None:
        """End at once; the link closes when all is sent."""
        if self.has_ended:
            return
        self.has_ended = True
        self.reactor.wheel.remove(self)
        if self.sending is not None:
            self.sending.on_connection_lost()
        if self.receiving is not None:
            self.receiving.on_connection_lost()
        link = self.link
        link.agent = None
        self.handler.on_agent_ended(self, end_reason, reason, text)
        if link.state < CLOSING:
            link.close_after_flush(text or "the channel ended")
        # Their ports refer to this agent: break the reference cycle.
        self.sending = None
        self.receiving = None


@final
class LinkChannelPort(ChannelPort):
    """The port of a channel end over a link of the reactor."""

    def __init__(self, agent: ChannelAgent) -> None:
        self.agent = agent
        self.link = agent.link
        self.reactor: Reactor = agent.reactor

    def send(self, data: bytes) -> None:
        self.link.send(data)

    def send_after(self, lsn: i64, data: bytes) -> None:
        # A frame does not overtake durable ones that are about to be released.
        reactor = self.reactor
        if lsn <= reactor.released_lsn or (self.link.gated == 0 and lsn <= reactor.durable_lsn()):
            self.link.send(data)
        else:
            reactor.send_when_durable(lsn, self.link, data)

    def backlog_bytes(self) -> i64:
        backlog: i64 = self.link.backlog_bytes()
        if backlog > BACKLOG_BYTES:
            self.agent.wants_room = True
        return backlog

    def schedule_pump(self) -> None:
        self.agent.mark()

    def set_timer(self, milliseconds: i64) -> None:
        if not self.agent.has_ended:
            self.reactor.wheel.add(self.agent, self.reactor.now_ms + (milliseconds if milliseconds > 0 else 0))

    def pause(self, is_paused: bool) -> None:
        link = self.link
        link.is_deferred = is_paused
        link.last_received_ms = self.reactor.now_ms  # input was not read meanwhile
        self.reactor.update_interest(link)

    def make_room(self) -> None:
        self.reactor.handler.make_room(self.agent.on_room_made)

    def rekey(self) -> None:
        self.link.rekey()

    def traffic_bytes(self) -> i64:
        link = self.link
        if link.tls is None or link.is_rekeying:
            return 0  # counted again once the new keys are in use
        return link.sent_bytes + link.received_bytes - link.keyed_bytes

    def silence_ms(self) -> i64:
        return self.reactor.now_ms - self.link.last_received_ms

    def now_us(self) -> i64:
        return i64(self.reactor.monotonic_ns()) // _MICROSECOND_NS

    def finish(self, end_reason: EndReason, reason: i64, text: str) -> None:
        self.agent.finish(end_reason, reason, text)

    def note(self, text: str) -> None:
        self.agent.handler.note_channel(text)

    def notify_changed(self) -> None:
        agent = self.agent
        sending = agent.sending
        if sending is not None and self.link.state == NEW and sending.partner:
            agent.on_negotiated(sending.agreed)
        agent.handler.on_agent_changed(agent)
