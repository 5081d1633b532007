"""Queue managers that connect to this one, and want to send by a channel or be sent to."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from ostler.channel import port
from ostler.channel.delivery import Arrivals
from ostler.channel.negotiation import ChannelSettings, agree, number_of
from ostler.channel.receiver import ReceivingEnd
from ostler.channel.states import CALLED, CALLED_BACK, ENDED, REQUESTING, RUNNING, STOPPED
from ostler.command.admin.context import CommandRefused
from ostler.model.attributes import ObjectType, subtype_of
from ostler.model.constants import (
    MQCC_FAILED,
    MQKAI_AUTO,
    MQRC_CHANNEL_NOT_AVAILABLE,
    MQRC_Q_MGR_STOPPING,
    MQRC_UNKNOWN_CHANNEL_NAME,
)
from ostler.model.definitions import Definition
from ostler.model.errors import MQError
from ostler.server.channels.admission import ChannelAdmission
from ostler.server.channels.instance import AT_REST, RECEIVING, SENDING, Instance
from ostler.server.channels.mca import MessageAgent
from ostler.server.net.link import CLOSING, ServerLink
from ostler.server.net.outgoing_sockets import keep_alive_seconds, set_keep_alive
from ostler.wire.channel_frames import PINGS, SENDS, ChannelHello, decode_channel_hello
from ostler.wire.frames import CHANNEL_END, CHANNEL_HELLO, frame
from ostler.wire.replies import failure_frame

if TYPE_CHECKING:
    from ostler.server.channels.service import MessageChannels


class Callers:
    """On the reactor's thread, under the engine's lock."""

    def __init__(self, channels: MessageChannels, admission: ChannelAdmission) -> None:
        self._channels = channels
        self._admission = admission
        self._name = channels.engine.name

    def greet(self, link: ServerLink, request: int, payload: bytes) -> None:
        """A queue manager has connected, and wants to use a channel."""
        hello = decode_channel_hello(payload)
        refused = partial(self._turn_away, link, request)
        if self._channels.is_ending:
            refused(MQError(MQRC_Q_MGR_STOPPING, f"Queue manager {self._name} is ending."))
            return
        if hello.version < 1:
            refused(MQError(MQRC_CHANNEL_NOT_AVAILABLE, f"Version {hello.version} of channels is not spoken here."))
            return
        then = partial(self._admitted, link, request, hello)
        self._admission.consider(link, hello.channel, hello.queue_manager, then, refused)

    def _turn_away(self, link: ServerLink, request: int, error: MQError) -> None:
        text = error.detail or str(error)
        link.send(failure_frame(CHANNEL_HELLO, 0, request, MQCC_FAILED, error.reason, text))
        link.last_word(f"refused: {text}")

    def _admitted(self, link: ServerLink, request: int, hello: ChannelHello, user: str) -> None:
        """A partner may use the channel, in the name of a user."""
        if link.state >= CLOSING:
            return
        try:
            definition = self._channels.require(hello.channel)
            if hello.purpose == PINGS:
                self._channels.server.channel_commands.answer_ping(link, request, hello, definition)
            elif hello.purpose == SENDS:
                self._receive_by(link, request, hello, definition, user)
            else:
                self._requested(link, request, hello, definition)
        except MQError as error:
            self._channels.server.note_link(link, error.detail)
            self._turn_away(link, request, error)
        except CommandRefused as refusal:
            self._turn_away(link, request, MQError(MQRC_CHANNEL_NOT_AVAILABLE, f"{refusal}"))

    def _receive_by(
        self, link: ServerLink, request: int, hello: ChannelHello, definition: Definition, user: str
    ) -> None:
        """A sending end has connected. MQError."""
        name, partner = hello.channel, hello.queue_manager
        self.check_receiver(hello, definition)
        # Who would be refused anyhow ends nobody's connection.
        agree(hello, ChannelSettings(definition), self._name, self._channels.engine.ccsid)
        old = self._in_the_way(name, partner)
        for before in old:
            self._check_adoption(before, partner, link)
        own = self._channels.calling.get(name)
        waiting = own if own is not None and own.state == REQUESTING else None
        self._channels.places.check_partner(name, link, waiting, *old)
        for before in old:
            self._end_old(before, partner)
        instance = Instance(definition, True)
        if waiting is not None:
            waiting.happens(CALLED_BACK)
            waiting.happens(ENDED)
        instance.happens(CALLED)
        self._channels.called[(name, partner)] = instance
        self.receive(self._channels.new_agent(instance, link), request, hello, user)

    def check_receiver(self, hello: ChannelHello, definition: Definition) -> None:
        """MQError when a sending end that has connected, or pings, does not find a receiving one that may be used."""
        name = hello.channel
        kind = subtype_of(ObjectType.CHANNEL, definition.attributes)
        if kind not in RECEIVING:
            raise MQError(
                MQRC_UNKNOWN_CHANNEL_NAME,
                f"AMQ9547E: Channel {name} is {kind} at {self._name}; {hello.queue_manager} needs RCVR or RQSTR there.",
            )
        if name in self._channels.stopped:
            raise MQError(MQRC_CHANNEL_NOT_AVAILABLE, f"AMQ9558E: Channel {name} is stopped at {self._name}.")

    def _in_the_way(self, name: str, partner: str) -> list[Instance]:
        """The instances that a new one cannot run beside: they count by the same record, or are the channel itself."""
        own = self._channels.calling.get(name)  # a requester that has called, and is called now
        found = (self._channels.called.get((name, partner)), own)
        return [each for each in found if each is not None and each.is_receiving]

    def _check_adoption(self, before: Instance, partner: str, link: ServerLink) -> None:
        """MQError when a partner that has connected again must not take the place of an instance."""
        is_same_address = before.host == link.address.partition("(")[0]
        why = self._channels.places.adoption.why_not(before.kind, before.partner == partner, is_same_address)
        if why:
            raise _in_use(before, why)

    def _end_old(self, before: Instance, partner: str) -> None:
        """A partner that connects again has lost its old connection, whatever it looks like from here."""
        self._channels.note_now_and_then(
            f"AMQ9543I {before.name} {before.host}",
            f"AMQ9543I: Channel {before.name}: {partner} has connected again; its old connection is given up.",
        )
        if before.agent is not None:
            before.agent.finish(port.FAILED, 0, "the partner has connected again")

    def _check_sending(self, before: Instance, partner: str, link: ServerLink) -> None:
        """MQError when a requester must not take the place of who has messages from a channel."""
        calls: bool = not before.is_called
        if before.agent is None or (calls and (before.kind == "SVR" or before.state != RUNNING)):
            # It calls by itself, now and whenever that is cut. A sender is asked to call again; a server that calls
            # would only be answered, and nobody would call any more.
            raise MQError(MQRC_CHANNEL_NOT_AVAILABLE, f"AMQ9514E: Channel {before.name} is in use at {self._name}.")
        self._check_adoption(before, partner, link)

    def check_free(self, name: str, partner: str) -> None:
        """MQError when a partner uses a channel already: two ends must not count by the same record."""
        before = self._channels.called.get((name, partner))
        if before is not None and before.agent is not None:
            raise _in_use(before, "it runs already, and needs no second connection")

    def receive(self, agent: MessageAgent, request: int, hello: ChannelHello, user: str) -> None:
        """Be the receiving end of a link. MQError."""
        instance = agent.instance
        assert isinstance(instance, Instance)
        instance.partner = hello.queue_manager
        instance.address = agent.link.address
        instance.user = user
        definition = instance.definition
        alive = keep_alive_seconds(number_of(definition, "KAINT", MQKAI_AUTO), number_of(definition, "HBINT", 300))
        set_keep_alive(agent.link.sock, alive)
        connection = self._channels.connect_as(user, instance.name)
        agent.connection = connection
        settings = ChannelSettings(instance.definition)
        arrivals = Arrivals(self._channels.engine, connection, instance.definition)
        end = ReceivingEnd(self._channels.engine, self._channels.records, settings, connection, arrivals, agent.port())
        try:
            end.welcome(request, hello)
        except MQError:
            agent.finish(port.FAILED, 0, "")
            raise
        agent.receiving = end
        agent.opened(end.agreed)
        self._channels.running(instance)
        # Strangers may connect as often as they like.
        text = f"AMQ9002I: Channel '{instance.name}' is starting, for {instance.partner} at {instance.host}."
        self._channels.note_now_and_then(f"AMQ9002I {instance.name} {instance.host}", text)

    def _requested(self, link: ServerLink, request: int, hello: ChannelHello, definition: Definition) -> None:
        """A requester has connected. MQError."""
        name = hello.channel
        kind = subtype_of(ObjectType.CHANNEL, definition.attributes)
        if kind not in SENDING:
            raise MQError(
                MQRC_UNKNOWN_CHANNEL_NAME,
                f"AMQ9547E: Channel {name} is {kind} at {self._name}; requesters need SVR or SDR there.",
            )
        before = self._channels.calling.get(name)
        if before is not None and before.state not in AT_REST:
            self._check_sending(before, hello.queue_manager, link)
        if kind == "SVR":
            self._channels.places.check_partner(name, link, before)
        if before is not None and before.state not in AT_REST:
            self._end_old(before, hello.queue_manager)
        if before is not None and before.state == STOPPED:
            raise MQError(MQRC_CHANNEL_NOT_AVAILABLE, f"AMQ9558E: Channel {name} is stopped at {self._name}.")
        if kind == "SDR":
            link.send(frame(CHANNEL_END, 0, request))
            link.last_word("the requester is called back")
            self._channels.call_back(name)
            return
        if before is not None:
            self._channels.cease(before)
        instance = Instance(definition, True)
        instance.happens(CALLED)
        instance.partner = hello.queue_manager
        instance.address = link.address
        self._channels.open_transmission_queue(instance)
        self._channels.calling[name] = instance
        self._channels.send_from(self._channels.new_agent(instance, link), instance, ChannelSettings(definition))


def _in_use(instance: Instance, why: str) -> MQError:
    """The refusal of a partner, which tries again by itself. Until then the old connection may have ended."""
    name = instance.name
    whose = f"is in use by {instance.partner} from {instance.address}, and not taken over: {why}"
    advice = f"STOP CHANNEL({name}) MODE(FORCE) STATUS(INACTIVE) ends a connection that is none any more"
    return MQError(MQRC_CHANNEL_NOT_AVAILABLE, f"AMQ9514E: Channel {name} {whose}. {advice}.")
