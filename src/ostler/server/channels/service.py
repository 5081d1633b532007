"""The message channels of a queue manager: starts, runs, retries and ends their instances.

Everything runs on the reactor's thread and under the engine's lock, unless it says otherwise. The channel ends are in
`channel/`; `mca.py` connects them with the reactor.
"""

from __future__ import annotations

import os
import socket
from functools import partial
from typing import Final

from ostler.channel import states, sync_records
from ostler.channel.group.group_sender import StartedBy
from ostler.channel.negotiation import ChannelSettings, number_of, propose, text_of
from ostler.channel.port import EndReason
from ostler.channel.receiver import PAUSED
from ostler.channel.refusals import refusal_in, refusal_text
from ostler.channel.sender import SendingEnd
from ostler.channel.sender_position import unavailable_text
from ostler.channel.states import (
    CALLBACK_PROMISED,
    CALLED_BACK,
    CONNECTED,
    DISPATCHED,
    ENDED,
    FAILED,
    FAILED_PERMANENTLY,
    MESSAGE_RETRY,
    NEGOTIATED,
    REQUESTING,
    RETRIES_EXHAUSTED,
    RETRY_DUE,
    RETRY_OVER,
    RETRYING,
    START,
    STOP_COMPLETE,
    STOPPED,
)
from ostler.channel.sync_records import DesiredState, SyncRecord, SyncRecords
from ostler.command.admin.context import CHANNEL_ACTIVE, ApplicationStatus, CommandRefused
from ostler.engine.connection import Connection
from ostler.engine.events import channel_events
from ostler.engine.open import OpenRequest, complete_open, open_object
from ostler.engine.queue.delivery import send_own_messages
from ostler.model import constants as mq
from ostler.model.attributes import ObjectType, subtype_of, valid_name
from ostler.model.connection_names import parse_connection_names, parse_local_addresses
from ostler.model.definitions import Definition
from ostler.model.errors import MQError
from ostler.server.channels.admission import ChannelAdmission
from ostler.server.channels.capacity import ChannelCapacity
from ostler.server.channels.group_channels import GroupChannels
from ostler.server.channels.host import ChannelHost
from ostler.server.channels.inbound import InboundChannels
from ostler.server.channels.instance import (
    CALLER_TYPES,
    IDLE_STATES,
    RECEIVER_TYPES,
    SENDER_TYPES,
    ChannelInstance,
    RetryTimer,
)
from ostler.server.channels.mca import ChannelAgent, ChannelAgentHandler
from ostler.server.channels.monitoring import start_monitoring
from ostler.server.channels.outbound import OutboundConnector
from ostler.server.channels.settings import check_exits
from ostler.server.net.link import ServerLink
from ostler.server.net.new_keys import key_reset_bytes
from ostler.server.net.outgoing_sockets import keep_alive_seconds
from ostler.server.rate_limited_log import RateLimitedLog, printable
from ostler.server.security.os_users import user_name
from ostler.server.tls.contexts import ChannelTls, TlsContexts
from ostler.wire.channel_frames import REQUESTS, SENDS, decode_channel_hello, hello_frame
from ostler.wire.frames import CHANNEL_END, CHANNEL_HELLO, FAREWELL, REPLY, MalformedFrame, frame
from ostler.wire.replies import failure_frame, reason_payload
from ostler.wire.tls_stream import TlsFailed

_ENDING_MS: Final = 5_000
_CALL_BACK_MS: Final = 5_000  # the least time between two callbacks by a retrying sender
_NOTES_MAX: Final = 4096  # there may be thousands of channels, each with its own messages
_NOTE_LENGTH_MAX: Final = 1024  # partners choose parts of a message
_TLS_ATTRIBUTES: Final = "SSLCIPH at both ends, and at the error log of the partner"
_TLS_CUT: Final = "AMQ9665"  # the connection was closed during the handshake, for whatever reason
# Reasons for which a transmission queue may be opened later.
_TEMPORARY_REASONS: Final = (
    mq.MQRC_OBJECT_IN_USE,
    mq.MQRC_CF_NOT_AVAILABLE,
    mq.MQRC_CF_STRUC_FAILED,
    mq.MQRC_CF_STRUC_IN_USE,
)
_QUALIFIERS: Final = {
    EndReason.NORMAL: mq.MQRQ_CHANNEL_STOPPED_OK,
    EndReason.RETRYABLE: mq.MQRQ_CHANNEL_STOPPED_RETRY,
    EndReason.PERMANENT: mq.MQRQ_CHANNEL_STOPPED_ERROR,
}


class ChannelService(ChannelAgentHandler):
    """Owns the channel instances of a queue manager, and handles the events of their agents."""

    def __init__(self, server: ChannelHost, admission: ChannelAdmission, tls: TlsContexts) -> None:
        self.server = server
        self.manager = server.manager
        self.engine = server.manager.engine
        self.reactor = server.reactor
        self.records = SyncRecords(self.engine)
        self.connector = OutboundConnector(self.reactor.post, note=server.note, machine=server.manager.machine)
        self.outbound_instances: dict[str, ChannelInstance] = {}  # by channel name
        self.inbound_instances: dict[tuple[str, str], ChannelInstance] = {}  # by channel name and partner
        self.stopped: set[str] = set()  # receiving channels that are stopped
        self._called_back: dict[str, int] = {}  # time of the last callback by a retrying sender
        self.is_ending = False
        self._agents = 0  # number of agents of channel instances
        self._notes = RateLimitedLog(server.manager.note, _NOTES_MAX)
        self.capacity = ChannelCapacity(self, self._connect)
        self.admission = admission
        self.groups = GroupChannels(self)
        self.inbound = InboundChannels(self, admission)
        self._tls = tls

    # -- life ----------------------------------------------------------------------------------------------------------

    def begin(self) -> None:
        """Restore the desired states after a restart: start channels that ran, and keep stopped ones stopped."""
        self.records.load()
        for record in self.records.all():
            if record.kind != sync_records.DESIRED_STATE:
                continue
            definition = self.find(record.channel)
            if definition is None:
                self.records.delete(sync_records.DESIRED_STATE, record.channel)
            elif record.desired_state == DesiredState.STOPPED:
                self._restore_stopped(definition)
            elif record.desired_state == DesiredState.ACTIVE:
                try:
                    self.start(record.channel)
                except (CommandRefused, MQError) as error:
                    self.note_channel(f"AMQ9999E: Channel {record.channel} could not be restarted: {error}")
        self.groups.begin_looking()

    def _restore_stopped(self, definition: Definition) -> None:
        kind = subtype_of(ObjectType.CHANNEL, definition.attributes)
        if kind in CALLER_TYPES:
            instance = ChannelInstance(definition, False)
            instance.state = STOPPED
            self.outbound_instances[definition.name] = instance
        if kind in RECEIVER_TYPES:
            self.stopped.add(definition.name)

    def end(self, at_once: bool) -> None:
        """End all channels with the queue manager, after their batches or at once. They start again with it."""
        self.is_ending = True
        for instance in [*self.outbound_instances.values(), *self.inbound_instances.values()]:
            self.cancel_pending(instance)
            agent = instance.agent
            if agent is not None and at_once:
                text = f"AMQ9524E: Queue manager {self.engine.name} is ending."
                agent.link.send(frame(FAREWELL, 0, 0, reason_payload(mq.MQRC_Q_MGR_STOPPING, text)))
                agent.finish(EndReason.RETRYABLE, 0, text)
            elif agent is not None:
                agent.stop()
        if not at_once:
            # A partner that does not answer must not delay the end of the queue manager.
            self.reactor.wheel.add(RetryTimer(partial(self.end, True)), self.reactor.now_ms + _ENDING_MS)

    def close(self) -> None:
        self.connector.close()

    # -- starting ------------------------------------------------------------------------------------------------------

    def start(self, name: str, disposition: str = "", by: StartedBy = StartedBy.OPERATOR) -> None:
        """START CHANNEL. `disposition` is CHLDISP; empty: DEFCDISP of the channel. CommandRefused and MQError."""
        definition = self.require(name)
        kind = subtype_of(ObjectType.CHANNEL, definition.attributes)
        refusal = check_exits(definition, self.manager.settings.channels.ignores_exits)
        if refusal:
            raise CommandRefused("AMQ9535E", refusal.removeprefix("AMQ9535E: "))
        if kind in RECEIVER_TYPES:
            self.stopped.discard(name)
        if kind not in CALLER_TYPES:
            self.records.delete(sync_records.DESIRED_STATE, name)
            return
        if self.is_active(name):
            raise CommandRefused(CHANNEL_ACTIVE, f"Channel {name} is in use.")
        before = self.outbound_instances.get(name)
        if kind == "SVR" and not text_of(definition, "CONNAME"):
            self._enable_server(before, name)
            return
        self.capacity.check_start(name, kind, before)
        if before is not None:
            self.cancel_pending(before)
        instance = ChannelInstance(definition, False)
        self.groups.choose(instance, disposition, by)
        if before is not None:
            self.groups.replace(before, instance)
        instance.apply(START)
        self.outbound_instances[name] = instance
        self.set_desired_state(name, DesiredState.ACTIVE, instance)
        if self.capacity.acquire(instance):
            self.manager.note(f"AMQ9002I: Channel '{name}' is starting.")
            self._connect(instance)

    def _enable_server(self, instance: ChannelInstance | None, name: str) -> None:
        """Let requesters connect again to a stopped server without CONNAME. CommandRefused."""
        if instance is None or instance.state != STOPPED:
            raise CommandRefused(
                "AMQ8101E", f"Channel {name} is a server without CONNAME: it waits for its requester to connect."
            )
        instance.apply(states.ENABLED)
        self.records.delete(sync_records.DESIRED_STATE, name)

    def call_requester_back(self, name: str) -> None:
        """Connect to a requester that asked for it, without waiting for the retry interval."""
        instance = self.outbound_instances.get(name)
        if instance is not None and instance.state == RETRYING:
            now = self.reactor.now_ms
            if now - self._called_back.get(name, now - _CALL_BACK_MS) < _CALL_BACK_MS:
                return  # a peer that asks repeatedly must not cause repeated attempts
            self._called_back[name] = now
            self.cancel_pending(instance)
            instance.apply(ENDED)
        self.trigger(name)

    def trigger(self, name: str) -> None:
        """Start a channel whose transmission queue has messages, unless it runs, retries or is stopped."""
        instance = self.outbound_instances.get(name)
        if self.is_ending or (instance is not None and instance.state != states.INACTIVE):
            return
        try:
            self.start(name, by=StartedBy.TRIGGER)
        except (CommandRefused, MQError) as error:
            text = f"AMQ9519E: Channel {name} could not be started by its trigger: {error}"
            # The name may come from any application that can put to the initiation queue.
            self.note_rate_limited(f"trigger {name if self.find(name) is not None else ''}", text)

    def _connect(self, instance: ChannelInstance) -> None:
        """Connect to the partner of a channel."""
        definition = self.find(instance.name)
        if definition is None:
            self._on_ended(instance, EndReason.PERMANENT, f"AMQ9519E: Channel {instance.name} is not defined any more.")
            return
        instance.definition = definition
        instance.apply(DISPATCHED)
        refusal = check_exits(definition, self.manager.settings.channels.ignores_exits)
        if refusal:
            self._on_ended(instance, EndReason.PERMANENT, refusal)
            return
        try:
            parse_connection_names(text_of(definition, "CONNAME"))
            parse_local_addresses(text_of(definition, "LOCLADDR"))
        except MQError as error:
            self._cannot_open(instance, error)
            return
        if instance.position is not None:
            self.groups.begin(instance)
        else:
            self._open_queue(instance)

    def on_located(self, instance: ChannelInstance) -> None:
        """Go on with the start of a channel of the group whose position is known, or not to be had."""
        position = instance.position
        if position is None or instance.state != states.INITIALIZING or instance.connection is not None:
            return  # it was stopped meanwhile
        if position.is_elsewhere or position.is_unwanted:
            self.capacity.release()
            instance.apply(ENDED)
            self.groups.release(instance, None)
        elif position.failure:
            self._on_ended(instance, EndReason.RETRYABLE, unavailable_text(position))
        else:
            self._open_queue(instance)

    def _open_queue(self, instance: ChannelInstance) -> None:
        try:
            if instance.kind in SENDER_TYPES:
                self.open_transmission_queue(instance)
        except MQError as error:
            self._cannot_open(instance, error)
            return
        opening = instance.opening()
        if opening is None or instance.connection is None:
            self._call(instance)
        else:  # a shared queue, which the coupling facility opens for one member only
            opened = partial(self._opened, instance, instance.connection)
            self.engine.notify_when_done(opening, partial(self.reactor.post, opened))

    def _opened(self, instance: ChannelInstance, connection: Connection) -> None:
        """Go on with the start of a channel whose shared transmission queue is open, or is not."""
        if instance.connection is not connection or instance.state != states.INITIALIZING:
            return  # it was stopped meanwhile
        try:
            for handle in list(connection.handles.values()):
                complete_open(self.engine, connection, handle)
        except MQError as error:
            self._cannot_open(instance, error)
            return
        self._call(instance)

    def _cannot_open(self, instance: ChannelInstance, error: MQError) -> None:
        end_reason = EndReason.RETRYABLE if error.reason in _TEMPORARY_REASONS else EndReason.PERMANENT
        self._on_ended(instance, end_reason, f"AMQ9509E: Channel {instance.name}: {error.detail or error}")

    def _call(self, instance: ChannelInstance) -> None:
        """Call the partner of a channel whose transmission queue is open."""
        definition = instance.definition
        instance.address = text_of(definition, "CONNAME")
        alive = keep_alive_seconds(number_of(definition, "KAINT", mq.MQKAI_AUTO), number_of(definition, "HBINT", 300))
        instance.attempt = self.connector.connect(
            instance.address,
            text_of(definition, "LOCLADDR"),
            alive,
            partial(self._connected, instance),
            partial(self._not_connected, instance),
        )

    def open_transmission_queue(self, instance: ChannelInstance) -> None:
        """Open the transmission queue exclusively for this channel. MQError."""
        name = text_of(instance.definition, "XMITQ")
        queue = self.engine.queues.get(name)
        if queue is None or not queue.is_transmission:
            text = f"{name} is not a transmission queue. Define it with USAGE(XMITQ)."
            raise MQError(mq.MQRC_UNKNOWN_CHANNEL_NAME, text)
        options = mq.MQOO_INPUT_EXCLUSIVE | mq.MQOO_FAIL_IF_QUIESCING
        if queue.is_shared:
            options |= mq.MQOO_BROWSE  # the MCA waits by browsing
        connection = self.connect_as("", instance.name)
        try:
            open_object(
                self.engine,
                connection,
                OpenRequest(mq.MQOT_Q, name, options),
            )
        except MQError as error:
            self.manager.release(connection, False)
            if error.reason == mq.MQRC_OBJECT_IN_USE:
                raise MQError(error.reason, f"The transmission queue {name} is open for input elsewhere.") from None
            raise
        instance.connection = connection

    def connect_as(self, user: str, channel: str) -> Connection:
        """Return a connection for a user, or for the queue manager itself if `user` is empty."""
        own = user_name(self.manager.directory.path.stat().st_uid)
        connection = self.manager.admit(user or own, f"CHANNEL {channel}", mq.MQAT_QMGR)
        connection.is_privileged = not user or self.manager.guard.is_administrator(user)
        return connection

    def _connected(self, instance: ChannelInstance, sock: socket.socket, address: str) -> None:
        instance.attempt = None
        if self.is_ending or instance.state != states.INITIALIZING:
            sock.close()
            return
        instance.apply(CONNECTED)
        instance.address = address
        link = ServerLink(self.reactor, sock, address, False)
        agent = self.new_agent(instance, link)
        try:
            self.reactor.add(link)
            asked = ChannelTls.of(instance.definition)
            if asked.cipher_spec:
                link.start_tls(self._tls.client_stream(asked))
        except (TlsFailed, OSError) as error:
            agent.finish(EndReason.PERMANENT, 0, str(error))
            return
        settings = ChannelSettings(instance.definition)
        if instance.kind == "RQSTR":
            link.send(hello_frame(propose(settings, self.engine.name, self.engine.ccsid, REQUESTS)))
        else:
            self.start_sender(agent, instance, settings)

    def new_agent(self, instance: ChannelInstance, link: ServerLink) -> ChannelAgent:
        agent = ChannelAgent(self.reactor, self, instance.name, link)
        agent.instance = instance
        instance.agent = agent
        link.agent = agent
        self._agents += 1
        self.records.protect(self._agents)
        return agent

    def start_sender(self, agent: ChannelAgent, instance: ChannelInstance, settings: ChannelSettings) -> None:
        """Start the sending end of a link."""
        connection = instance.connection
        assert connection is not None
        if connection.broken:  # STOP CONN may have ended it meanwhile
            agent.finish(EndReason.RETRYABLE, 0, f"AMQ9509E: Channel {instance.name} has lost its transmission queue.")
            return
        handle = next(iter(connection.handles.values()))
        end = SendingEnd(self.engine, self.records, settings, connection, handle, agent.port())
        if instance.position is not None:
            end.position = instance.position
        end.waker = agent
        end.key_reset_bytes = key_reset_bytes(self.engine.manager)
        agent.sending = end
        end.start()

    def _not_connected(self, instance: ChannelInstance, text: str) -> None:
        instance.attempt = None
        if instance.state == states.INITIALIZING:
            advice = "See whether it and its listener run (DISPLAY LSSTATUS(*) there), and check CONNAME."
            text = f"AMQ9202E: Channel {instance.name}: the partner cannot be reached. {text} {advice}"
            self._on_ended(instance, EndReason.RETRYABLE, text)

    # -- events of agents ----------------------------------------------------------------------------------------------

    def on_agent_hello(self, agent: ChannelAgent, request: int, payload: bytes) -> None:
        instance = agent.instance
        if not isinstance(instance, ChannelInstance) or instance.kind != "RQSTR":
            raise MalformedFrame("a hello is not expected now")
        hello = decode_channel_hello(payload)
        if hello.channel != instance.name or hello.purpose != SENDS:
            raise MalformedFrame("a hello for another channel")
        if hello.version < 1 or not valid_name(hello.queue_manager):
            raise MalformedFrame("a hello with an invalid version or queue manager name")
        try:
            self.inbound.check_free(instance.name, hello.queue_manager)
            user = self.admission.user_of_called(agent.link, instance.definition, hello.queue_manager)
            self.inbound.start_receiver(agent, request, hello, user)
        except MQError as error:
            self.note_channel(error.detail)
            agent.link.send(failure_frame(CHANNEL_HELLO, 0, request, mq.MQCC_FAILED, error.reason, error.detail))

    def on_agent_frame(self, agent: ChannelAgent, type: int, request: int, payload: bytes) -> None:
        instance = agent.instance
        if not isinstance(instance, ChannelInstance):
            self.server.channel_commands.on_ping_frame(agent, type, request, payload)
        elif type == CHANNEL_END and instance.kind == "RQSTR":
            instance.apply(CALLBACK_PROMISED)
            agent.finish(EndReason.NORMAL, 0, "")
            if any(each.name == instance.name for each in self.inbound_instances.values()):
                # The callback has arrived before its announcement.
                instance.apply(CALLED_BACK)
                instance.apply(ENDED)
        elif type == CHANNEL_HELLO | REPLY and (refusal := refusal_in(payload, instance.name)) is not None:
            agent.finish(EndReason.RETRYABLE, refusal.reason, refusal.text)
        else:
            raise MalformedFrame(f"a frame of type {type} is not expected now")

    def on_agent_changed(self, agent: ChannelAgent) -> None:
        instance = agent.instance
        if not isinstance(instance, ChannelInstance):
            return
        sending, receiving = agent.sending, agent.receiving
        if sending is not None and instance.state == states.BINDING and sending.partner:
            instance.partner = sending.partner
            self.mark_running(instance)
        elif receiving is not None and receiving.state == PAUSED and instance.state == states.RUNNING:
            instance.apply(MESSAGE_RETRY)
        elif receiving is not None and receiving.state != PAUSED and instance.state == states.PAUSED:
            instance.apply(RETRY_OVER)
        elif sending is not None and sending.is_stopping and instance.state == states.RUNNING:
            instance.apply(states.END_DUE)

    def mark_running(self, instance: ChannelInstance) -> None:
        """Set an instance RUNNING, start its monitoring, and send the event Channel Started."""
        instance.apply(NEGOTIATED)
        instance.started_ms = int(self.engine.wall_ms())
        instance.is_start_reported = True
        start_monitoring(instance, self.engine, self.manager.statistics_writer.message_channels)
        queue = text_of(instance.definition, "XMITQ")
        send_own_messages(
            self.engine, channel_events.on_channel_started(self.engine, instance.name, queue, instance.address), None
        )

    def on_agent_ended(self, agent: ChannelAgent, end_reason: EndReason, reason: int, text: str) -> None:
        if agent.connection is not None:
            self.manager.release(agent.connection, False)
            agent.connection = None
        instance = agent.instance
        if not isinstance(instance, ChannelInstance):
            self.server.channel_commands.on_ping_ended(agent, text)
            return
        self._agents -= 1
        self.records.protect(self._agents)
        # The TLS handshake carries the channel name, too.
        if text.startswith("AMQ9520E") and end_reason is EndReason.RETRYABLE:
            end_reason, text = EndReason.PERMANENT, refusal_text(instance.name, mq.MQRC_UNKNOWN_CHANNEL_NAME, "")
        if text.startswith("AMQ96") and not text.startswith(_TLS_CUT):
            text = _tls_text(instance, text)
            self._report_tls_error(instance, text)
            end_reason = EndReason.PERMANENT  # a retry does not help with certificates and CipherSpecs
        self._on_ended(instance, end_reason, text)

    def _report_tls_error(self, instance: ChannelInstance, text: str) -> None:
        qualifier = mq.MQRQ_SSL_PEER_NAME_ERROR if text.startswith("AMQ9636") else mq.MQRQ_SSL_HANDSHAKE_ERROR
        queue = text_of(instance.definition, "XMITQ")
        event = channel_events.on_channel_ssl_error(self.engine, qualifier, instance.name, queue, instance.address)
        send_own_messages(self.engine, event, None)

    def _on_ended(self, instance: ChannelInstance, end_reason: EndReason, text: str) -> None:
        """Handle the end of a channel: release it, report the end, and retry or stop."""
        self.capacity.release()
        name = instance.name
        if instance.made_progress(int(self.engine.wall_ms())):
            instance.retries.reset()
        self._release(instance)
        instance.agent = None
        if instance.is_inbound and self.inbound_instances.get((name, instance.partner)) is instance:
            del self.inbound_instances[(name, instance.partner)]
        if text and end_reason != EndReason.NORMAL:
            text = text if text.startswith("AMQ") else f"AMQ9208E: Channel {name}: {text.rstrip('.')}."
            self._note_end(instance, text[:8], text)
        if end_reason == EndReason.NORMAL:
            self._note_end(instance, "normal", f"AMQ9001I: Channel '{name}' ended normally.")
        else:
            where = instance.address or text_of(instance.definition, "CONNAME")
            text_of_end = f"AMQ9999E: Channel '{name}' to '{where}' ended abnormally."
            self._note_end(instance, "abnormal", text_of_end)
        self._report_stopped(instance, end_reason, text)
        if instance.state == REQUESTING:
            return
        if self.is_ending:
            instance.apply(ENDED)
            self.groups.release(instance, None)
        elif self.groups.has_lost(instance) and not instance.status_after:
            instance.apply(ENDED)  # whoever has the lock next goes on
            self.groups.release(instance, None)
        elif instance.status_after == "STOPPED":
            instance.apply(STOP_COMPLETE)
            self.groups.release(instance, DesiredState.STOPPED)
        elif instance.status_after or end_reason == EndReason.NORMAL:
            self._set_inactive(instance)
        elif end_reason == EndReason.PERMANENT and not instance.is_inbound:
            instance.apply(FAILED_PERMANENTLY)
            self.set_desired_state(name, DesiredState.STOPPED, instance)
            text = f"AMQ9999E: Channel {name} is stopped. Correct the error, then START CHANNEL({name})."
            self._note_end(instance, "stopped", text)
        elif instance.is_inbound or instance.kind == "RQSTR":
            self._set_inactive(instance)
        else:
            self._retry(instance)

    def _set_inactive(self, instance: ChannelInstance) -> None:
        instance.apply(ENDED)
        self.groups.release(instance, DesiredState.NONE)
        if not instance.is_inbound or instance.kind == "RQSTR":
            self.records.delete(sync_records.DESIRED_STATE, instance.name)

    def _retry(self, instance: ChannelInstance) -> None:
        instance.apply(FAILED)
        seconds = int(instance.retries.next_seconds())
        if seconds < 0:
            instance.apply(RETRIES_EXHAUSTED)
            self.set_desired_state(instance.name, DesiredState.STOPPED, instance)
            self.note_channel(
                f"AMQ9999E: Channel {instance.name} has no retries left, and is stopped. START CHANNEL when its "
                "partner is available."
            )
            return
        instance.timer = RetryTimer(partial(self._retry_due, instance))
        self.reactor.wheel.add(instance.timer, self.reactor.now_ms + seconds * 1000)

    def _retry_due(self, instance: ChannelInstance) -> None:
        instance.timer = None
        if instance.state == RETRYING and not self.is_ending:
            instance.apply(RETRY_DUE)
            if self.capacity.acquire(instance):
                self._connect(instance)

    def _release(self, instance: ChannelInstance) -> None:
        if instance.connection is not None:
            self.manager.release(instance.connection, False)
            instance.connection = None

    def _report_stopped(self, instance: ChannelInstance, end_reason: EndReason, text: str) -> None:
        if not instance.is_start_reported:
            return
        instance.is_start_reported = False
        number = int(text[3:7]) if text[:3] == "AMQ" and text[3:7].isascii() and text[3:7].isdigit() else 0
        queue = text_of(instance.definition, "XMITQ")
        event = channel_events.on_channel_stopped(
            self.engine, _QUALIFIERS[end_reason], instance.name, queue, instance.address, number
        )
        send_own_messages(self.engine, event, None)

    def note_channel(self, text: str) -> None:
        self.note_rate_limited(text[:_NOTE_LENGTH_MAX], text)

    def note_rate_limited(self, key: str, text: str) -> None:
        """Write an operator message, unless one with the same key was written a moment ago."""
        self._notes.write(key, text[:_NOTE_LENGTH_MAX])

    def _note_end(self, instance: ChannelInstance, what: str, text: str) -> None:
        if instance.is_inbound:
            # Rate-limited by channel and host: an unauthenticated peer can cause it at any rate.
            self.note_rate_limited(f"{instance.name} {instance.host} {what}", text)
        else:
            self.manager.note(printable(text[:_NOTE_LENGTH_MAX]))  # not rate-limited: retries are rare enough

    # -- stopping ------------------------------------------------------------------------------------------------------

    def cancel_pending(self, instance: ChannelInstance) -> None:
        """Cancel the retry timer and the connection attempt of an instance."""
        if instance.timer is not None:
            self.reactor.wheel.remove(instance.timer)
            instance.timer = None
        if instance.attempt is not None:
            instance.attempt.cancel()
            instance.attempt = None
        if instance.agent is None:
            self._release(instance)

    # -- queries -------------------------------------------------------------------------------------------------------

    def forget_deleted(self) -> None:
        """Forget idle instances and stopped channels whose definitions were deleted."""
        for name in [each for each in self.outbound_instances if self.find(each) is None]:
            if self.outbound_instances[name].state in IDLE_STATES:
                self.cancel_pending(self.outbound_instances.pop(name))
                self.records.delete(sync_records.DESIRED_STATE, name)
        self.stopped = {each for each in self.stopped if self.find(each) is not None}

    def applications(self) -> dict[int, ApplicationStatus]:
        """Return the application status of the connections of channels, by connection number."""
        found: dict[int, ApplicationStatus] = {}
        for each in [*self.outbound_instances.values(), *self.inbound_instances.values()]:
            connection = each.connection or (each.agent.connection if each.agent is not None else None)
            if connection is not None:
                what = "Message channel agent"
                found[connection.number] = ApplicationStatus(os.getpid(), 0, what, each.name, each.address)
        return found

    def is_active(self, name: str) -> bool:
        """Return True if an instance is not idle, so that definition and records of the channel must not change."""
        instance = self.outbound_instances.get(name)
        if instance is not None and instance.state not in IDLE_STATES:
            return True
        return any(each.name == name for each in self.inbound_instances.values())

    def require(self, name: str) -> Definition:
        """Return the definition of a channel. CommandRefused if there is none."""
        definition = self.find(name)
        if definition is None:
            raise CommandRefused("AMQ8227E", f"Channel {name} not found.")
        return definition

    def find(self, name: str) -> Definition | None:
        return self.engine.of_type(ObjectType.CHANNEL).get(name)

    def set_desired_state(self, name: str, state: DesiredState, instance: ChannelInstance | None = None) -> None:
        """Save the desired state of a channel for a restart; that of a shared one is kept by its group."""
        if instance is not None and instance.is_group:
            if state is DesiredState.STOPPED:
                self.groups.release(instance, state)
            if instance.disposition == "SHARED":
                self.records.delete(sync_records.DESIRED_STATE, name)
                return
            state = DesiredState.FIXED if state is DesiredState.ACTIVE else state
        if self.records.find(sync_records.DESIRED_STATE, name).desired_state is state:
            return
        record = SyncRecord(sync_records.DESIRED_STATE, name, "")
        record.desired_state = state
        try:
            self.records.write(record)
        except MQError as error:
            self.note_channel(f"AMQ9509E: The state of channel {name} could not be saved: {error.detail or error}")


def _tls_text(instance: ChannelInstance, text: str) -> str:
    """Return the message of a TLS error with the channel name and advice."""
    number, _, rest = text.partition(": ")
    named = text if instance.name in text else f"{number}: Channel {instance.name}: {rest}"
    look_at = _TLS_ATTRIBUTES
    if number.startswith("AMQ9636"):
        is_from_partner = " reports: " in text  # so that here and there are exchanged
        here, there = ("there", "here") if is_from_partner else ("here", "there")
        look_at = f"SSLPEER {here} and the certificate {there}"
    return f"{named} Look at {look_at}."
