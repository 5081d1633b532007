"""START, STOP, PING, RESET and RESOLVE CHANNEL for message channels.

Commands come from other threads; the work is posted to the reactor.
"""

from __future__ import annotations

import os
import socket
import threading
from collections.abc import Callable
from functools import partial
from typing import Final, TypeVar

from ostler.channel import states, sync_records
from ostler.channel.in_doubt import resolve_all, resolve_up_to
from ostler.channel.negotiation import ChannelSettings, check_agreement, negotiate, propose, text_of
from ostler.channel.port import EndReason
from ostler.channel.refusals import quote_partner, refusal_in
from ostler.channel.states import ENDED, STOP_COMPLETE, STOP_REQUESTED, STOPPED
from ostler.channel.sync_records import DesiredState, batches_in_doubt
from ostler.command.admin.context import CHANNEL_ACTIVE, CHANNEL_NOT_ACTIVE, CommandRefused
from ostler.command.status.channel_status import ChannelStatus
from ostler.engine.core import Engine
from ostler.engine.events import channel_events
from ostler.engine.queue.delivery import send_own_messages
from ostler.model import constants as mq
from ostler.model.attributes import ObjectType, subtype_of
from ostler.model.definitions import Definition
from ostler.model.errors import MQError
from ostler.server.channels.group_channels import default_disposition
from ostler.server.channels.group_commands import GroupChannelCommands, RunsElsewhere
from ostler.server.channels.host import ChannelHost
from ostler.server.channels.instance import CALLER_TYPES, RECEIVER_TYPES, SENDER_TYPES, ChannelInstance
from ostler.server.channels.mca import ChannelAgent
from ostler.server.channels.outbound import ConnectAttempt
from ostler.server.channels.service import ChannelService
from ostler.server.channels.status import all_statuses
from ostler.server.net.link import ServerLink
from ostler.server.tls.contexts import ChannelTls, TlsContexts
from ostler.wire.channel_frames import (
    PING_BYTES_MAX,
    PINGS,
    ChannelHello,
    decode_channel_hello,
    hello_frame,
    welcome_frame,
)
from ostler.wire.frames import CHANNEL_HELLO, CHANNEL_PING, FAREWELL, REPLY, MalformedFrame, frame
from ostler.wire.payload_codec import PayloadReader
from ostler.wire.replies import decode_reason
from ostler.wire.tls_stream import TlsFailed

Result = TypeVar("Result")

_PING_SECONDS: Final = 60.0
_SERVING_CHECK_SECONDS: Final = 2.0


class Ping:
    """A PING CHANNEL in progress."""

    def __init__(self, name: str, data: bytes, done: threading.Event) -> None:
        self.name = name
        self.data = data
        self.done = done
        self.failure = "the partner did not answer in time"
        self.attempt: ConnectAttempt | None = None
        self.agent: ChannelAgent | None = None

    def on_connect_failed(self, text: str) -> None:
        self.finish(f"AMQ9202E: the partner cannot be reached. {text}")

    def finish(self, failure: str) -> None:
        """Set the result; an empty failure is success."""
        if not self.done.is_set():
            self.failure = failure
            self.done.set()


class ChannelCommands:
    """The channel commands of a server."""

    def __init__(self, server: ChannelHost, channels: ChannelService, tls: TlsContexts) -> None:
        self._server = server
        self._channels = channels
        self._tls = tls
        self._groups = GroupChannelCommands(channels)
        self._pings: dict[ChannelAgent, Ping] = {}

    # -- from other threads --------------------------------------------------------------------------------------------

    def start(self, name: str, disposition: str = "") -> None:
        """START CHANNEL. CommandRefused and MQError."""
        self._run_durably(partial(self._channels.start, name, disposition))
        if self._is_of_group(name, disposition):
            self._groups.await_start(name)

    def stop(
        self, name: str, mode: str, status: str, connection_name: str, queue_manager: str, disposition: str = ""
    ) -> None:
        """STOP CHANNEL. CommandRefused; RunsElsewhere if another member runs it."""
        if self._is_of_group(name, disposition) and not self._is_here(name):
            holder = self._groups.holder(name)
            if holder and holder != self._channels.engine.name:
                raise RunsElsewhere(holder)
            if status != "STOPPED":
                raise CommandRefused(CHANNEL_NOT_ACTIVE, f"Channel {name} is not active.")
            self._groups.set_state(name, DesiredState.STOPPED)
            return
        self._run_durably(partial(stop_channel, self._channels, name, mode, status, connection_name, queue_manager))

    def _is_of_group(self, name: str, disposition: str) -> bool:
        """Return True if a command is for the channel of the group: as given, as it runs, or by DEFCDISP."""
        with self._server.manager.turn:
            definition = self._channels.require(name)
            if subtype_of(ObjectType.CHANNEL, definition.attributes) not in SENDER_TYPES:
                return False
            instance = self._channels.outbound_instances.get(name)
            if not disposition and instance is not None and instance.state != states.INACTIVE:
                disposition = instance.disposition
            return (disposition or default_disposition(definition)) != "PRIVATE"

    def _is_received_by_group(self, name: str, disposition: str) -> bool:
        """Return True if RESET is for the positions of the group at a receiving end: as given, or by DEFCDISP."""
        with self._server.manager.turn as engine:
            definition = self._channels.require(name)
            if subtype_of(ObjectType.CHANNEL, definition.attributes) not in RECEIVER_TYPES:
                return False
            if engine.sharing is None and not disposition:
                return False
            return (disposition or default_disposition(definition)) != "PRIVATE"

    def _is_here(self, name: str) -> bool:
        with self._server.manager.turn:
            instance = self._channels.outbound_instances.get(name)
            return instance is not None and instance.state != states.INACTIVE

    def _run_durably(self, task: Callable[[], None]) -> None:
        """Run a task on the reactor's thread, and wait until its changes are durable."""
        lsn = self._run(partial(_run_to_lsn, task, self._channels.engine))
        self._server.manager.writer.wait_durable(lsn)

    def status(self) -> list[ChannelStatus]:
        """Return the rows of DISPLAY CHSTATUS."""
        self._server.reactor.post(self._channels.forget_deleted)
        with self._server.manager.turn:
            return [each for each in all_statuses(self._channels) if self._channels.find(each.name) is not None]

    def reset(self, name: str, sequence_number: int, disposition: str = "") -> None:
        """RESET CHANNEL. CommandRefused and MQError."""
        if self._is_of_group(name, disposition):
            self._groups.reset_sender(name, sequence_number)
            return
        if self._is_received_by_group(name, disposition):
            self._groups.reset_receiver(name, sequence_number)
            return
        lsn = self._run(partial(self._reset, name, sequence_number))
        if lsn:
            self._server.manager.writer.wait_durable(lsn)

    def resolve(self, name: str, action: str, luwid: bytes, disposition: str = "") -> str:
        """RESOLVE CHANNEL: return a warning for the operator or an empty text. CommandRefused."""
        if self._is_of_group(name, disposition):
            self._groups.resolve(name, action, luwid)
            return ""
        lsn, warning = self._run(partial(self._resolve, name, action, luwid))
        self._server.manager.writer.wait_durable(lsn)
        return warning

    def ping(self, name: str, data_bytes: int) -> None:
        """PING CHANNEL: return when the partner has answered. CommandRefused."""
        ping = Ping(name, os.urandom(data_bytes), self._server.manager.machine.event())
        self._run(partial(self._ping, ping))
        in_time = ping.done.wait(_PING_SECONDS)
        self._run(partial(self._end_ping, ping))
        if not in_time or ping.failure:
            why = ping.failure if ping.failure.startswith("AMQ") else f"AMQ9999E: {ping.failure.rstrip('.')}."
            number, _, text = why.partition(": ")
            raise CommandRefused(number, f"Channel {name} cannot be pinged: {text}")

    def _run(self, task: Callable[[], Result]) -> Result:
        """Run a task on the reactor's thread and return its result; its exception is raised here."""
        results: list[Result] = []
        errors: list[Exception] = []
        done = self._server.manager.machine.event()
        self._server.reactor.post(partial(_run_task, task, results, errors, done))
        while not done.wait(_SERVING_CHECK_SECONDS):
            if not self._server.is_serving():
                raise MQError(mq.MQRC_Q_MGR_STOPPING, f"Queue manager {self._server.manager.name} has ended.")
        if errors:
            raise errors.pop()  # a list in this frame would form a reference cycle with its traceback
        return results[0]

    # -- on the reactor's thread ---------------------------------------------------------------------------------------

    def _reset(self, name: str, sequence_number: int) -> int:
        channels = self._channels
        definition = channels.require(name)
        if channels.is_active(name):
            raise CommandRefused(CHANNEL_ACTIVE, f"Channel {name} is in use. Stop it before it is reset.")
        if subtype_of(ObjectType.CHANNEL, definition.attributes) in SENDER_TYPES:
            in_doubt = batches_in_doubt(channels.engine, name)
            if in_doubt:
                raise CommandRefused(
                    "AMQ8101E",
                    f"Channel {name} is in doubt about {len(in_doubt)} batches. START or RESOLVE it first.",
                )
            record = channels.records.find(sync_records.SENDING, name).successor()
            record.sequence = sequence_number - 1
            record.is_reset = True
            return int(channels.records.write(record))
        lsn = 0
        for old in channels.records.all():
            if old.kind == sync_records.RECEIVING and old.channel == name:
                record = old.successor()
                record.sequence = sequence_number - 1
                record.luwid = old.luwid  # the last committed batch stays known
                lsn = int(channels.records.write(record))
        return lsn

    def _resolve(self, name: str, action: str, luwid: bytes) -> tuple[int, str]:
        channels = self._channels
        engine, records = channels.engine, channels.records
        channels.require(name)
        in_doubt = batches_in_doubt(engine, name)
        if not in_doubt:
            raise CommandRefused("AMQ8101E", f"Channel {name} is not in doubt about any messages.")
        if channels.is_active(name):
            raise CommandRefused(CHANNEL_ACTIVE, f"Channel {name} is in use, and resolves its batches itself.")
        count = len(in_doubt)
        warning = ""
        if luwid:
            committed = resolve_up_to(engine, records, name, luwid)
            if committed < 0:
                known = ", ".join(each.luwid.hex().upper() for each in in_doubt)
                raise CommandRefused(
                    "AMQ8101E",
                    f"Channel {name} is not in doubt about batch {luwid.hex().upper()}, but about {known}, and the one "
                    f"before them was {records.find(sync_records.SENDING, name).luwid.hex().upper()}.",
                )
            channels.note_channel(
                f"AMQ8025I: Channel {name} was resolved: {committed} batches of {count} are committed, "
                f"{count - committed} are backed out."
            )
        else:
            resolve_all(engine, records, name, action == "COMMIT")
            if count > 1:
                done = "committed" if action == "COMMIT" else "backed out"
                warning = (
                    f"AMQ8025W: Channel {name} was in doubt about {count} batches, and all of them were {done}. If the "
                    f"partner has committed some only, messages are {'lost' if action == 'COMMIT' else 'duplicated'}. "
                    "ACTION(COMMIT) with LUWID, as LSTLUWID there, resolves each by itself."
                )
                channels.note_channel(warning)
        return int(engine.journal.end_lsn()), warning

    # -- pings ---------------------------------------------------------------------------------------------------------

    def _ping(self, ping: Ping) -> None:
        channels = self._channels
        definition = channels.require(ping.name)
        if channels.is_active(ping.name):
            raise CommandRefused(CHANNEL_ACTIVE, f"Channel {ping.name} is in use, so its partner is reachable.")
        names = text_of(definition, "CONNAME")
        if not names:
            raise CommandRefused("AMQ8101E", f"Channel {ping.name} has no CONNAME to ping.")
        on_connected = partial(self._on_ping_connected, ping, definition)
        ping.attempt = channels.connector.connect(
            names, text_of(definition, "LOCLADDR"), 0, on_connected, ping.on_connect_failed
        )

    def _on_ping_connected(self, ping: Ping, definition: Definition, sock: socket.socket, address: str) -> None:
        channels = self._channels
        link = ServerLink(channels.reactor, sock, address, False)
        agent = ChannelAgent(channels.reactor, channels, ping.name, link)
        link.agent = agent
        ping.agent = agent
        self._pings[agent] = ping
        try:
            channels.reactor.add(link)
            asked = ChannelTls.of(definition)
            if asked.cipher_spec:
                link.start_tls(self._tls.client_stream(asked))
        except (TlsFailed, OSError) as error:
            agent.finish(EndReason.RETRYABLE, 0, str(error))
            return
        hello = propose(ChannelSettings(definition), channels.engine.name, channels.engine.ccsid, PINGS)
        link.send(hello_frame(hello))

    def _end_ping(self, ping: Ping) -> None:
        if ping.attempt is not None:
            ping.attempt.cancel()
        if ping.agent is not None:
            self._pings.pop(ping.agent, None)
            ping.agent.finish(EndReason.NORMAL, 0, "")
        ping.attempt = ping.agent = None

    def answer_ping(self, link: ServerLink, request: int, hello: ChannelHello, definition: Definition) -> None:
        """Answer a partner that pings a channel. MQError if the definitions of both ends do not match."""
        engine = self._channels.engine
        self._channels.inbound.check_receiver(hello, definition)
        agreed = negotiate(hello, ChannelSettings(definition), engine.name, engine.ccsid)
        agent = ChannelAgent(self._channels.reactor, self._channels, hello.channel, link)
        link.agent = agent
        link.send(welcome_frame(request, agreed))
        agent.on_negotiated(agreed)

    def on_ping_frame(self, agent: ChannelAgent, type: int, request: int, payload: bytes) -> None:
        """Handle a frame of an agent that pings or is pinged."""
        ping = self._pings.get(agent)
        if ping is None:
            if type != CHANNEL_PING or len(payload) > PING_BYTES_MAX:
                raise MalformedFrame(f"a frame of type {type} is not expected now")
            agent.link.send(frame(CHANNEL_PING | REPLY, 0, request, payload))
        elif type == CHANNEL_HELLO | REPLY:
            refusal = refusal_in(payload, ping.name)
            if refusal is not None:
                ping.finish(refusal.text)
                return
            agreed = decode_channel_hello(payload, 8)
            check_agreement(agreed, ChannelSettings(self._channels.require(ping.name)))
            agent.on_negotiated(agreed)
            agent.link.send(frame(CHANNEL_PING, 0, 1, ping.data))
        elif type == FAREWELL:
            ping.finish(quote_partner("The partner", decode_reason(PayloadReader(payload))[1]))
        elif type == CHANNEL_PING | REPLY:
            ping.finish("" if payload == ping.data else "the reply differs from the data that was sent")
        else:
            raise MalformedFrame(f"a frame of type {type} is not expected now")

    def on_ping_ended(self, agent: ChannelAgent, text: str) -> None:
        ping = self._pings.pop(agent, None)
        if ping is not None:
            ping.finish(text or "the connection was closed")


def stop_channel(
    channels: ChannelService, name: str, mode: str, status: str, connection_name: str, queue_manager: str
) -> None:
    """STOP CHANNEL: stop the instances that CONNAME and QMNAME select. CommandRefused."""
    definition = channels.require(name)
    kind = subtype_of(ObjectType.CHANNEL, definition.attributes)
    selected = [each for each in channels.inbound_instances.values() if each.name == name]
    if name in channels.outbound_instances:
        selected.append(channels.outbound_instances[name])
    if connection_name:
        selected = [each for each in selected if connection_name in (each.host, each.address)]
    if queue_manager:
        selected = [each for each in selected if each.partner == queue_manager]
    is_whole = not connection_name and not queue_manager
    own = channels.outbound_instances.get(name)
    if own is not None and own.disposition == "SHARED" and own in selected:
        pass  # the group keeps its state
    elif status == "STOPPED" and is_whole:
        channels.set_desired_state(name, DesiredState.STOPPED)
        if kind in RECEIVER_TYPES:
            channels.stopped.add(name)
        if kind in CALLER_TYPES and name not in channels.outbound_instances:
            channels.outbound_instances[name] = ChannelInstance(definition, False)
            selected.append(channels.outbound_instances[name])
        send_own_messages(channels.engine, channel_events.on_channel_stopped_by_user(channels.engine, name), None)
    elif is_whole:
        channels.records.delete(sync_records.DESIRED_STATE, name)
        channels.stopped.discard(name)
    if not selected and status != "STOPPED":
        raise CommandRefused(CHANNEL_NOT_ACTIVE, f"Channel {name} is not active.")
    for instance in selected:
        _stop_instance(channels, instance, mode, status)


def _stop_instance(channels: ChannelService, instance: ChannelInstance, mode: str, status: str) -> None:
    agent = instance.agent
    if agent is None:
        channels.cancel_pending(instance)
        channels.capacity.release()
        instance.apply(STOP_COMPLETE if status == "STOPPED" else _ending_event(instance))
        channels.groups.release(instance, DesiredState.STOPPED if status == "STOPPED" else DesiredState.NONE)
        return
    instance.status_after = status
    if mode == "QUIESCE":
        instance.apply(STOP_REQUESTED)
        agent.stop()
    else:
        agent.finish(EndReason.RETRYABLE, 0, f"AMQ9528I: Channel {instance.name} was stopped with MODE({mode}).")


def _ending_event(instance: ChannelInstance) -> int:
    return states.ENABLED if instance.state in (states.INACTIVE, STOPPED) else ENDED


def _run_to_lsn(task: Callable[[], None], engine: Engine) -> int:
    """Run a task, and return the LSN at which its changes are durable."""
    task()
    return int(engine.journal.end_lsn())


def _run_task(
    task: Callable[[], Result], results: list[Result], errors: list[Exception], done: threading.Event
) -> None:
    try:
        results.append(task())
    except Exception as error:
        errors.append(error)
    done.set()
