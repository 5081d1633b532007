"""Inbound channel requests: hellos of queue managers that connect to this one, to send or to request messages."""

from __future__ import annotations

from functools import partial
from typing import Protocol

from ostler.channel.delivery import InboundDelivery
from ostler.channel.group.group_sender import StartedBy
from ostler.channel.group.shared_position import GroupPositions
from ostler.channel.negotiation import ChannelSettings, negotiate, number_of
from ostler.channel.port import EndReason
from ostler.channel.receiver import ReceivingEnd
from ostler.channel.states import CALLED, CALLED_BACK, ENDED, REQUESTING, RUNNING, STOPPED
from ostler.channel.sync_records import SyncRecords
from ostler.command.admin.context import CommandRefused
from ostler.engine.connection import Connection
from ostler.model import constants as mq
from ostler.model.attributes import ObjectType, subtype_of
from ostler.model.definitions import Definition
from ostler.model.errors import MQError
from ostler.server.channels.admission import ChannelAdmission
from ostler.server.channels.capacity import ChannelCapacity, ChannelInstances
from ostler.server.channels.group_channels import GroupChannels
from ostler.server.channels.instance import IDLE_STATES, RECEIVER_TYPES, SENDER_TYPES, ChannelInstance
from ostler.server.channels.mca import ChannelAgent
from ostler.server.net.link import CLOSING, ServerLink
from ostler.server.net.outgoing_sockets import keep_alive_seconds, set_keep_alive
from ostler.wire.channel_frames import PINGS, SENDS, ChannelHello, decode_channel_hello
from ostler.wire.frames import CHANNEL_END, CHANNEL_HELLO, frame
from ostler.wire.replies import failure_frame


class ChannelStarter(ChannelInstances, Protocol):
    """The parts of ChannelService that start and end the instances of inbound channels."""

    @property
    def records(self) -> SyncRecords: ...
    @property
    def capacity(self) -> ChannelCapacity: ...
    @property
    def groups(self) -> GroupChannels: ...

    def require(self, name: str) -> Definition: ...
    def connect_as(self, user: str, channel: str) -> Connection: ...
    def open_transmission_queue(self, instance: ChannelInstance) -> None: ...
    def new_agent(self, instance: ChannelInstance, link: ServerLink) -> ChannelAgent: ...
    def start_sender(self, agent: ChannelAgent, instance: ChannelInstance, settings: ChannelSettings) -> None: ...
    def mark_running(self, instance: ChannelInstance) -> None: ...
    def cancel_pending(self, instance: ChannelInstance) -> None: ...
    def call_requester_back(self, name: str) -> None: ...
    def note_rate_limited(self, key: str, text: str) -> None: ...


class InboundChannels:
    """Starts inbound channel instances, on the reactor's thread and under the engine's lock."""

    def __init__(self, channels: ChannelStarter, admission: ChannelAdmission) -> None:
        self._channels = channels
        self._admission = admission
        self._name = channels.engine.name
        self.positions = GroupPositions(channels.engine)

    def handle_hello(self, link: ServerLink, request: int, payload: bytes) -> None:
        """Handle the first frame of a queue manager that has connected."""
        hello = decode_channel_hello(payload)
        reject = partial(self._reject, link, request)
        if self._channels.is_ending:
            reject(MQError(mq.MQRC_Q_MGR_STOPPING, f"Queue manager {self._name} is ending."))
            return
        if hello.version < 1:
            reject(MQError(mq.MQRC_CHANNEL_NOT_AVAILABLE, f"Version {hello.version} of channels is not supported."))
            return
        on_admitted = partial(self._admitted, link, request, hello)
        self._admission.consider(link, hello.channel, hello.queue_manager, on_admitted, reject)

    def _reject(self, link: ServerLink, request: int, error: MQError) -> None:
        text = error.detail or str(error)
        link.send(failure_frame(CHANNEL_HELLO, 0, request, mq.MQCC_FAILED, error.reason, text))
        link.close_after_flush(f"refused: {text}")

    def _admitted(self, link: ServerLink, request: int, hello: ChannelHello, user: str) -> None:
        """Start the channel of an admitted partner, whose messages are put as `user`."""
        if link.state >= CLOSING:
            return
        try:
            definition = self._channels.require(hello.channel)
            if hello.purpose == PINGS:
                self._channels.server.channel_commands.answer_ping(link, request, hello, definition)
            elif hello.purpose == SENDS:
                self._accept_sender(link, request, hello, definition, user)
            else:
                self._accept_requester(link, request, hello, definition)
        except MQError as error:
            self._channels.server.note_link(link, error.detail)
            self._reject(link, request, error)
        except CommandRefused as refusal:
            self._reject(link, request, MQError(mq.MQRC_CHANNEL_NOT_AVAILABLE, f"{refusal}"))

    def _accept_sender(
        self, link: ServerLink, request: int, hello: ChannelHello, definition: Definition, user: str
    ) -> None:
        """Start a receiving end for a sender that has connected. MQError."""
        name, partner = hello.channel, hello.queue_manager
        self.check_receiver(hello, definition)
        # A partner that is refused must not end an existing connection.
        negotiate(hello, ChannelSettings(definition), self._name, self._channels.engine.ccsid)
        conflicting = self._conflicting_instances(name, partner)
        for before in conflicting:
            self._check_adoption(before, partner, link)
        own = self._channels.outbound_instances.get(name)
        waiting = own if own is not None and own.state == REQUESTING else None
        self._channels.capacity.check_inbound(name, link, waiting, *conflicting)
        for before in conflicting:
            self._replace(before, partner)
        instance = ChannelInstance(definition, True)
        if waiting is not None:
            waiting.apply(CALLED_BACK)
            waiting.apply(ENDED)
        instance.apply(CALLED)
        self._channels.inbound_instances[(name, partner)] = instance
        self.start_receiver(self._channels.new_agent(instance, link), request, hello, user)

    def check_receiver(self, hello: ChannelHello, definition: Definition) -> None:
        """MQError if the channel of a sender that has connected or pings is not a receiving one, or is stopped."""
        name = hello.channel
        kind = subtype_of(ObjectType.CHANNEL, definition.attributes)
        if kind not in RECEIVER_TYPES:
            raise MQError(
                mq.MQRC_UNKNOWN_CHANNEL_NAME,
                f"AMQ9547E: Channel {name} is {kind} at {self._name}; {hello.queue_manager} needs RCVR or RQSTR there.",
            )
        if name in self._channels.stopped:
            raise MQError(mq.MQRC_CHANNEL_NOT_AVAILABLE, f"AMQ9558E: Channel {name} is stopped at {self._name}.")

    def _conflicting_instances(self, name: str, partner: str) -> list[ChannelInstance]:
        """Return the instances that would use the same sync record or the same channel as a new one."""
        own = self._channels.outbound_instances.get(name)  # a requester that has called, and is now called back
        found = (self._channels.inbound_instances.get((name, partner)), own)
        return [each for each in found if each is not None and each.is_receiving]

    def _check_adoption(self, before: ChannelInstance, partner: str, link: ServerLink) -> None:
        """MQError if AdoptNewMCA does not let a partner that has connected again replace an instance."""
        is_same_address = before.host == link.address.partition("(")[0]
        why = self._channels.capacity.adoption.refusal_reason(before.kind, before.partner == partner, is_same_address)
        if why:
            raise _in_use(before, why)

    def _replace(self, before: ChannelInstance, partner: str) -> None:
        """End an instance whose partner has connected again, since that partner has lost its old connection."""
        self._channels.note_rate_limited(
            f"AMQ9543I {before.name} {before.host}",
            f"AMQ9543I: Channel {before.name}: {partner} has connected again; its old connection is closed.",
        )
        if before.agent is not None:
            before.agent.finish(EndReason.RETRYABLE, 0, "the partner has connected again")

    def _check_sending(self, before: ChannelInstance, partner: str, link: ServerLink) -> None:
        """MQError if a requester may not replace the partner that a channel sends to."""
        is_outbound: bool = not before.is_inbound
        if before.agent is None or (is_outbound and (before.kind == "SVR" or before.state != RUNNING)):
            # It connects by itself, and again after a failure. A sender is asked to call back; an outbound server would
            # only be answered, and would not connect any more.
            raise MQError(mq.MQRC_CHANNEL_NOT_AVAILABLE, f"AMQ9514E: Channel {before.name} is in use at {self._name}.")
        self._check_adoption(before, partner, link)

    def check_free(self, name: str, partner: str) -> None:
        """MQError if a partner already uses a channel: two ends must not use the same sync record."""
        before = self._channels.inbound_instances.get((name, partner))
        if before is not None and before.agent is not None:
            raise _in_use(before, "it runs already, and needs no second connection")

    def start_receiver(self, agent: ChannelAgent, request: int, hello: ChannelHello, user: str) -> None:
        """Start the receiving end of a link. MQError."""
        instance = agent.instance
        assert isinstance(instance, ChannelInstance)
        instance.partner = hello.queue_manager
        instance.address = agent.link.address
        instance.user = user
        definition = instance.definition
        alive = keep_alive_seconds(number_of(definition, "KAINT", mq.MQKAI_AUTO), number_of(definition, "HBINT", 300))
        set_keep_alive(agent.link.sock, alive)
        connection = self._channels.connect_as(user, instance.name)
        agent.connection = connection
        settings = ChannelSettings(instance.definition)
        delivery = InboundDelivery(self._channels.engine, connection, instance.definition)
        end = ReceivingEnd(self._channels.engine, self._channels.records, settings, connection, delivery, agent.port())
        end.waker = agent
        sharing = self._channels.engine.sharing
        if agent.link.is_for_group and sharing is not None:
            end.manager_name = sharing.group
            end.position = self.positions.new(instance.name, end.port)
            instance.disposition = "SHARED"
        try:
            end.welcome(request, hello)
        except MQError:
            agent.finish(EndReason.RETRYABLE, 0, "")
            raise
        agent.receiving = end
        agent.on_negotiated(end.agreed)
        self._channels.mark_running(instance)
        # Rate-limited: an unauthenticated peer may connect at any rate.
        text = f"AMQ9002I: Channel '{instance.name}' is starting, for {instance.partner} at {instance.host}."
        self._channels.note_rate_limited(f"AMQ9002I {instance.name} {instance.host}", text)

    def _accept_requester(self, link: ServerLink, request: int, hello: ChannelHello, definition: Definition) -> None:
        """Start a sending end for a requester that has connected, or call it back. MQError."""
        name = hello.channel
        kind = subtype_of(ObjectType.CHANNEL, definition.attributes)
        if kind not in SENDER_TYPES:
            raise MQError(
                mq.MQRC_UNKNOWN_CHANNEL_NAME,
                f"AMQ9547E: Channel {name} is {kind} at {self._name}; requesters need SVR or SDR there.",
            )
        before = self._channels.outbound_instances.get(name)
        if before is not None and before.state not in IDLE_STATES:
            self._check_sending(before, hello.queue_manager, link)
        if kind == "SVR":
            self._channels.capacity.check_inbound(name, link, before)
        if before is not None and before.state not in IDLE_STATES:
            self._replace(before, hello.queue_manager)
        if before is not None and before.state == STOPPED:
            raise MQError(mq.MQRC_CHANNEL_NOT_AVAILABLE, f"AMQ9558E: Channel {name} is stopped at {self._name}.")
        if kind == "SDR":
            link.send(frame(CHANNEL_END, 0, request))
            link.close_after_flush("the requester is called back")
            self._channels.call_requester_back(name)
            return
        if before is not None:
            self._channels.cancel_pending(before)
        instance = ChannelInstance(definition, True)
        instance.apply(CALLED)
        instance.partner = hello.queue_manager
        instance.address = link.address
        self._channels.groups.choose(instance, "", StartedBy.TRIGGER)
        self._channels.open_transmission_queue(instance)
        self._channels.groups.begin(instance)
        self._channels.outbound_instances[name] = instance
        self._channels.start_sender(self._channels.new_agent(instance, link), instance, ChannelSettings(definition))


def _in_use(instance: ChannelInstance, why: str) -> MQError:
    """Return the refusal of a partner; it retries, and by then the old connection may have ended."""
    name = instance.name
    whose = f"is in use by {instance.partner} from {instance.address}, and not taken over: {why}"
    advice = f"STOP CHANNEL({name}) MODE(FORCE) STATUS(INACTIVE) ends a dead connection"
    return MQError(mq.MQRC_CHANNEL_NOT_AVAILABLE, f"AMQ9514E: Channel {name} {whose}. {advice}.")
