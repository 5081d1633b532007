"""A queue manager with sockets: applications connect over its local socket and its listeners."""

from __future__ import annotations

import logging
from collections.abc import Callable
from functools import partial
from threading import Event
from typing import Final

from ostler.command.admin.context import (
    ApplicationStatus,
    ChannelStatus,
    CommandContext,
    CommandRefused,
    ListenerStatus,
)
from ostler.engine import syncpoint
from ostler.engine.outcomes import UnitOutcome
from ostler.engine.shared.connection_tags import TagLock, take_tag
from ostler.engine.shared.in_doubt import has_group_units, is_group_name
from ostler.engine.unit_of_work import PREPARED
from ostler.model import constants as mq
from ostler.model.attributes import ObjectType
from ostler.model.definitions import Definition
from ostler.model.errors import MQError
from ostler.server.admin.actions import Action
from ostler.server.admin.command_context import ServerCommandContext, UserCommandContext
from ostler.server.admin.command_server import CommandServer
from ostler.server.admin.executor import CommandExecutor
from ostler.server.admin.group_commands import GroupCommandServer
from ostler.server.admin.mqsc_action import run_mqsc
from ostler.server.channels.admission import ChannelAdmission
from ostler.server.channels.commands import ChannelCommands
from ostler.server.channels.initiator import ChannelInitiator
from ostler.server.channels.intra_group import IntraGroupService
from ostler.server.channels.limits import ChannelCounts
from ostler.server.channels.service import ChannelService
from ostler.server.channels.settings import (
    ClientInstances,
    check_exits,
    is_message_channel,
    is_server_connection,
    negotiate_client,
    negotiate_local,
    number_of,
    tls_requirements,
)
from ostler.server.channels.settings import text_of as text_attribute
from ostler.server.coupling.group_service import GroupService
from ostler.server.net.accept import Acceptor
from ostler.server.net.conversation import PendingDisconnect, ServerConversation, TagReply, completion_code
from ostler.server.net.link import CLOSING, ServerLink
from ostler.server.net.link_status import host_of, link_status
from ostler.server.net.listeners import ListenerRefused, ListenerSocket, open_listener
from ostler.server.net.local_socket import socket_path, unlink_local
from ostler.server.net.new_keys import key_reset_bytes
from ostler.server.net.reactor import Reactor
from ostler.server.net.reactor_handler import ReactorHandler
from ostler.server.queue_manager import QueueManager
from ostler.server.rate_limited_log import RateLimitedLog
from ostler.server.security.admission import Admission
from ostler.server.services import Services
from ostler.server.storage.memory_limits import link_bytes_max
from ostler.server.supervised_thread import SupervisedThread
from ostler.server.tls.contexts import ChannelTls, RepositorySettings, TlsContexts
from ostler.server.verbs.consume import add_credit, begin_get_any, begin_stream, end_stream
from ostler.server.verbs.objects import object_verb
from ostler.server.verbs.topics import topic_verb
from ostler.wire.connect_frames import ConnectArguments, ConnectReply, Hello
from ostler.wire.frames import (
    COMMAND,
    CONNECT,
    CREDIT,
    DISCONNECT,
    GET_ANY,
    REPLY,
    STREAM,
    UNSTREAM,
    MalformedFrame,
    frame,
)
from ostler.wire.payload_codec import PayloadReader
from ostler.wire.replies import reply_frame
from ostler.wire.tls_stream import TlsStream

log: Final = logging.getLogger("ostler.server")

_CONTROL_QMGR: Final = 0  # MQSVC_CONTROL_Q_MGR
_CONTROL_START: Final = 1  # MQSVC_CONTROL_Q_MGR_START
_FAREWELL_SECONDS: Final = 2.0
_IDENTITY_BYTES: Final = 12  # of the user in a message descriptor


class Server(ReactorHandler):
    """The network side of a queue manager that has been started. `start` opens its sockets."""

    def __init__(self, manager: QueueManager) -> None:
        self.manager = manager
        self.actions: dict[str, Action] = {"mqsc": partial(run_mqsc, self.context_for)}
        self.reactor = Reactor(manager.turn, manager.writer, self, manager.machine)
        manager.longest_pass = self.reactor.longest_pass
        self.reactor.memory.limit(link_bytes_max())
        manager.housekeeping.has_freed_much = self.reactor.memory.has_freed_much
        self.target = ServerCommandContext(self)
        self._executor = CommandExecutor(self.reactor, self.actions, manager.note)
        self._tls = TlsContexts(self._repository, self._channel_tls)
        self.admission = Admission(self)
        self._partners = ChannelAdmission(self, self.admission)
        self.channels = ChannelService(self, self._partners, self._tls)
        self.channel_commands = ChannelCommands(self, self.channels, self._tls)
        self.initiator = ChannelInitiator(manager, self.reactor, self.channels.trigger)
        self.services = Services(manager.name, manager.directory.path, manager.directory.root, manager.note)
        self.commands = CommandServer(manager, self.context_for)
        manager.statistics_writer.channels.links = self.reactor.links.values
        section = manager.settings.sharing
        self.sharing = GroupService(manager, self.reactor, section, self._terminate) if section is not None else None
        self._group_commands: GroupCommandServer | None = None
        self.intra_group: IntraGroupService | None = None
        if self.sharing is not None:
            sharing = self.sharing.member.sharing
            self._group_commands = GroupCommandServer(manager, sharing, self._context_for_member)
            self.intra_group = IntraGroupService(manager, self.reactor, self.channels.connect_as)
        self._listeners: dict[str, ListenerSocket] = {}
        self._by_fd: dict[int, ListenerSocket] = {}
        self._stopped_channels: set[str] = set()
        self._instances = ClientInstances()
        self._acceptor = Acceptor(self)
        self.notes = RateLimitedLog(manager.note)
        self._is_ending = False
        self._thread = SupervisedThread(
            "ostler-reactor",
            "thread that serves applications",
            self.reactor.run,
            self.reactor.is_stopping,
            manager.note,
            essential=self._reactor_failed,
            machine=manager.machine,
        )
        self._waiting_for_room: list[Callable[[], None]] = []  # for log space; of the reactor's thread

    # -- life ----------------------------------------------------------------------------------------------------------

    def start(self, with_listeners: bool = True) -> None:
        """Open the local socket and the listeners that start with the queue manager."""
        self._acceptor.open()
        own = self.manager.machine.listen_locally(self.manager.directory)
        own.setblocking(False)
        self._listen(ListenerSocket("", own, str(socket_path(self.manager.directory)), 0, 0, is_local=True))
        self.manager.on_stopping.append(self._stop)
        self._thread.start()
        if self.sharing is not None:
            self.sharing.begin()
        with self.manager.turn:
            definitions = list(self.manager.engine.of_type(ObjectType.LISTENER).values())
        for definition in definitions if with_listeners else ():
            if number_of(definition, "CONTROL") in (_CONTROL_QMGR, _CONTROL_START):
                try:
                    self.start_listener(definition.name)
                except (ListenerRefused, MQError) as error:
                    self.manager.note(f"AMQ9218E: {error}")
        if with_listeners:
            if self.manager.engine.manager.attributes.get("SCMDSERV", _CONTROL_QMGR) == _CONTROL_QMGR:
                self.commands.start()
            if self._group_commands is not None:
                self._group_commands.start()
            self.services.start_all(self._service_definitions())
            self.reactor.post(self._begin_channels)

    def _begin_channels(self) -> None:
        self.channels.begin()
        if self.intra_group is not None:
            self.intra_group.begin()
        if self.manager.engine.manager.attributes.get("SCHINIT", _CONTROL_QMGR) == _CONTROL_QMGR:
            self.initiator.begin()

    def start_channel_initiator(self, queue: str = "") -> None:
        """START CHINIT. Raises CommandRefused when it runs already."""
        with self.manager.turn:
            if not self.initiator.start(queue):
                raise CommandRefused("AMQ8101E", f"The channel initiator serves {queue or 'its queue'} already.")

    def stop_channel_initiator(self) -> None:
        """STOP CHINIT. Running channels are not affected. Raises CommandRefused when it is not running."""
        with self.manager.turn:
            if not self.initiator.stop():
                raise CommandRefused("AMQ8101E", "The channel initiator is not running.")

    def _service_definitions(self) -> list[Definition]:
        with self.manager.turn:
            return list(self.manager.engine.of_type(ObjectType.SERVICE).values())

    def end(self, mode: str = "quiesce", wait_seconds: float = 0.0) -> None:
        """End the queue manager; see `QueueManager.end`. Applications are notified first, and sockets closed last."""
        self._is_ending = True
        if mode == "quiesce" and wait_seconds > 0:
            self.manager.limit_end_wait(wait_seconds)  # the wait begins now, and services have no more time than that
        for listener in list(self._listeners.values()):
            if not listener.is_local:
                self._unlisten(listener)
        self.reactor.post(self._end_channels if mode == "quiesce" else self._break_channels)
        if mode == "quiesce":
            self.reactor.post(self._notify_quiescing)
        if mode != "preemptive":
            self.services.stop_all(self._service_definitions(), self.manager.end_seconds_left)
        self.commands.stop()
        if self._group_commands is not None:
            self._group_commands.stop()
        self.manager.end(mode, wait_seconds)

    def _terminate(self, cause: str) -> None:
        """Begin the end of a queue manager that must not go on. In a turn of the reactor."""
        ends_process = self.manager.on_termination
        if ends_process is not None:
            ends_process(cause)
        else:
            self.manager.machine.thread(partial(self.end, "immediate"), "ostler-end").start()

    def _end_channels(self) -> None:
        self.initiator.stop()
        self._stop_intra_group()
        self.channels.end(False)

    def _break_channels(self) -> None:
        self.initiator.stop()
        self._stop_intra_group()
        self.channels.end(True)

    def _stop_intra_group(self) -> None:
        if self.intra_group is not None:
            self.intra_group.stop()

    def _notify_quiescing(self) -> None:
        text = f"Queue manager {self.manager.name} is ending."
        for link in list(self.reactor.links.values()):
            if link.conversations:
                link.notice(mq.MQRC_CONNECTION_QUIESCING, text)

    def _stop(self) -> None:
        """Send a farewell on all links and close all sockets, when no verb succeeds any more."""
        self._is_ending = True
        if self.sharing is not None and self.manager.end_mode != "preemptive":
            self.sharing.leave()
        sent = self.manager.machine.event()
        self.reactor.post(partial(self._send_farewells, sent))
        sent.wait(_FAREWELL_SECONDS)
        deadline = self.manager.machine.monotonic() + _FAREWELL_SECONDS
        while self._is_sending() and self.manager.machine.monotonic() < deadline:
            self.manager.machine.sleep(0.002)
        self._close()

    def _is_sending(self) -> bool:
        return any(link.state == CLOSING for link in list(self.reactor.links.values()))

    def _send_farewells(self, sent: Event) -> None:
        for link in list(self.reactor.links.values()):
            link.send_farewell(mq.MQRC_CONNECTION_BROKEN, f"Queue manager {self.manager.name} has ended.")
        sent.set()

    def _close(self) -> None:
        for listener in list(self._by_fd.values()):
            self._unlisten(listener)
        self.reactor.stop()
        self._thread.join()
        self.reactor.close_all()
        if self.sharing is not None:
            self.sharing.close()
        self.channels.close()
        self.admission.close()
        for listener in self._by_fd.values():  # in case the reactor's thread has failed
            listener.close()
        self._by_fd.clear()
        # While the instance lock is still held: the next instance binds its own.
        unlink_local(self.manager.directory)
        self._acceptor.close()

    def _reactor_failed(self, why: str) -> None:
        last = why.strip().splitlines()[-1]
        log.error("The reactor failed: %s", why)
        if not self.manager.has_failed_invariant:
            self.manager.fail(f"The thread that serves applications failed: {last}")
        # No request is served any more: peers must not wait for ever.
        self.reactor.close_links(not self.manager.has_failed_invariant)

    # -- listeners -----------------------------------------------------------------------------------------------------

    def start_listener(self, name: str) -> int:
        """START LISTENER. Returns the port. Raises ListenerRefused and MQError."""
        with self.manager.turn:
            definition = self.manager.engine.of_type(ObjectType.LISTENER).get(name)
        if definition is None:
            raise MQError(mq.MQRC_UNKNOWN_OBJECT_NAME, f"There is no listener {name}.")
        if name in self._listeners:
            raise ListenerRefused(f"Listener {name} is running already.")
        if definition.attributes.get("INDISP") == mq.MQINBD_GROUP and self.sharing is None:
            raise ListenerRefused(f"Listener {name} has INDISP(GROUP), and this queue manager is in no group.")
        copies = self.manager.settings.replication
        own_address = copies.listener_address if copies is not None else ""
        listener = open_listener(definition, self.manager.machine.listen, own_address)
        self._listeners[name] = listener
        self._listen(listener)
        self.manager.note(f"AMQ5026I: Listener {name} listens on {listener.address} port {listener.port}.")
        return listener.port

    def stop_listener(self, name: str) -> None:
        listener = self._listeners.get(name)
        if listener is None:
            raise MQError(mq.MQRC_UNKNOWN_OBJECT_NAME, f"Listener {name} is not running.")
        self._unlisten(listener)

    def _listen(self, listener: ListenerSocket) -> None:
        fd = listener.sock.fileno()
        self._by_fd[fd] = listener
        self.reactor.post(partial(self.reactor.listen, fd))

    def _unlisten(self, listener: ListenerSocket) -> None:
        """Stop listening. Returns when the socket is closed."""
        self._listeners.pop(listener.name, None)
        done = self.manager.machine.event()
        self.reactor.post(partial(self._close_listener, listener, done))
        if self._thread.is_alive() and not self._thread.is_current():
            done.wait(_FAREWELL_SECONDS)

    def _close_listener(self, listener: ListenerSocket, done: Event) -> None:
        fd = listener.sock.fileno()
        if fd >= 0:
            self.reactor.unlisten(fd)
            self._by_fd.pop(fd, None)
            listener.close()
        done.set()

    def listener_status(self) -> list[ListenerStatus]:
        return [listener.status() for listener in list(self._listeners.values())]

    def port_of(self, name: str) -> int:
        """Return the port that a listener is bound to, also when its definition has port 0."""
        return self._listeners[name].port

    # -- channels ------------------------------------------------------------------------------------------------------

    def start_channel(self, name: str, disposition: str = "") -> None:
        """START CHANNEL: run a message channel; let clients use a stopped server-connection channel again."""
        if self._is_message_channel(name):
            self.channel_commands.start(name, disposition)
            return
        self._channel(name)
        self._stopped_channels.discard(name)

    def _is_message_channel(self, name: str) -> bool:
        with self.manager.turn:
            definition = self.manager.engine.of_type(ObjectType.CHANNEL).get(name)
        return definition is not None and is_message_channel(definition)

    def stop_channel(
        self,
        name: str,
        mode: str = "QUIESCE",
        status: str = "STOPPED",
        connection_name: str = "",
        queue_manager: str = "",
        disposition: str = "",
    ) -> None:
        """STOP CHANNEL: end the running instances of a channel, or those from one address."""
        if self._is_message_channel(name):
            self.channel_commands.stop(name, mode, status, connection_name, queue_manager, disposition)
            return
        self._channel(name)
        if status == "STOPPED" and not connection_name:
            self._stopped_channels.add(name)
        self.reactor.post(partial(self._stop_instances, name, mode, connection_name))

    def _stop_instances(self, name: str, mode: str, connection_name: str) -> None:
        for link in list(self.reactor.links.values()):
            if link.channel != name or (connection_name and host_of(link) != connection_name):
                continue
            text = f"Channel {name} was stopped."
            if mode == "QUIESCE" and link.conversations:
                link.notice(mq.MQRC_CONNECTION_QUIESCING, text)
                link.is_quiescing = True
            else:
                link.send_farewell(mq.MQRC_CONNECTION_BROKEN, text)

    def _channel(self, name: str) -> Definition:
        with self.manager.turn:
            definition = self.manager.engine.of_type(ObjectType.CHANNEL).get(name)
        if definition is None or not is_server_connection(definition):
            raise MQError(mq.MQRC_UNKNOWN_OBJECT_NAME, f"There is no channel {name} for clients.")
        return definition

    def channel_status(self) -> list[ChannelStatus]:
        """Return all running instances, and the channels that were stopped."""
        with self.manager.turn:
            found = [link_status(link) for link in self.reactor.links.values() if link.channel]
            running = {each.name for each in found}
            stopped = [name for name in self._stopped_channels if name not in running]
        found += [ChannelStatus(name, status="STOPPED", substate="") for name in sorted(stopped)]
        return found + self.channel_commands.status()

    def ping_channel(self, name: str, data_bytes: int) -> None:
        self.channel_commands.ping(name, data_bytes)

    def reset_channel(self, name: str, sequence_number: int, disposition: str = "") -> None:
        self.channel_commands.reset(name, sequence_number, disposition)

    def resolve_channel(self, name: str, action: str, luwid: bytes = b"", disposition: str = "") -> str:
        return self.channel_commands.resolve(name, action, luwid, disposition)

    def is_admission_pending(self, link: ServerLink) -> bool:
        """Return True while a peer on the link waits for admission."""
        return self.admission.is_admission_pending(link) or self._partners.is_admission_pending(link)

    def is_serving(self) -> bool:
        return self._thread.is_alive()

    def application_status(self) -> dict[int, ApplicationStatus]:
        with self.manager.turn:
            return {
                conversation.connection.number: ApplicationStatus(
                    int(link.process_id), 0, "", link.channel, host_of(link) if link.channel else ""
                )
                for link in self.reactor.links.values()
                for conversation in link.conversations.values()
            } | self.channels.applications()

    def refresh_tls(self) -> None:
        """REFRESH SECURITY TYPE(SSL): reload keys and certificates. Raises MQError, and then keeps the old ones."""
        result: list[MQError | str] = []
        done = self.manager.machine.event()
        self.reactor.post(partial(self._refresh_tls, result, done))
        while not done.wait(_FAREWELL_SECONDS):
            if not self._thread.is_alive():
                raise MQError(mq.MQRC_Q_MGR_STOPPING, f"Queue manager {self.manager.name} has ended.")
        if isinstance(result[0], MQError):
            raise result[0]
        self.manager.note(f"AMQ9718I: {result[0]}")

    def context_for(self, user: str, origin: int) -> CommandContext:
        """Return the context of a user's commands, with that user's authorities. `origin` is an MQEVO number."""
        return UserCommandContext(self, user, origin)

    def _context_for_member(self, user: str, origin: int) -> CommandContext:
        """Return the context of a command that another member of the queue-sharing group has sent."""
        return UserCommandContext(self, user, origin, is_from_member=True)

    def stop_connection(self, number: int) -> bool:
        """STOP CONN: break a connection. Returns False when there is none of that number."""
        with self.manager.turn:
            connection = self.manager.engine.connections.get(number)
            owner = connection.owner if connection is not None else None
        if connection is None:
            return False
        if not isinstance(owner, ServerConversation):
            return self.manager.break_connection(number)
        done = self.manager.machine.event()
        self.reactor.post(partial(self._break, number, owner, done))
        done.wait(_FAREWELL_SECONDS)
        return True

    def _break(self, number: int, conversation: ServerConversation, done: Event) -> None:
        """On the reactor's thread. The next verb of the application fails, and a waiting get is answered."""
        self.manager.break_connection_locked(number)
        link = conversation.link
        if len(link.conversations) <= 1:
            link.send_farewell(mq.MQRC_CONNECTION_BROKEN, "The connection was ended by an administrator.")
        done.set()

    def refresh_security(self, what: str) -> None:
        """REFRESH SECURITY: drop cached users and groups; with CONNAUTH read the authentication settings again."""
        with self.manager.turn:
            self.manager.users.forget()
            if what == "CONNAUTH":
                self.admission.configure()
            for connection in self.manager.engine.connections.values():
                # The user may not be an administrator any more.
                if connection.is_privileged and isinstance(connection.owner, ServerConversation):
                    connection.is_privileged = self.manager.users.is_administrator(connection.user)

    def _refresh_tls(self, result: list[MQError | str], done: Event) -> None:
        try:
            result.append(self._tls.refresh())
        except MQError as error:
            result.append(error)
        done.set()

    def _repository(self) -> RepositorySettings:
        return RepositorySettings.of(self.manager.engine.manager, self.manager.directory.path)

    def _channel_tls(self, name: str) -> ChannelTls | None:
        return tls_requirements(self.manager.engine.of_type(ObjectType.CHANNEL).get(name))

    # -- for the reactor, on its thread and under the engine's lock ----------------------------------------------------

    def accept(self, fd: int) -> None:
        listener = self._by_fd.get(fd)
        if listener is not None:
            self._acceptor.accept(listener)

    def on_hello(self, link: ServerLink, hello: Hello) -> Hello:
        if self._is_ending and not link.is_local:
            raise MQError(mq.MQRC_Q_MGR_STOPPING, f"Queue manager {self.manager.name} is ending.")
        channel = self.manager.engine.of_type(ObjectType.CHANNEL).get(hello.channel)
        if not link.is_local and is_server_connection(channel):
            self._check_exits(link, channel)
        try:
            if link.is_local:
                return negotiate_local(hello)
            is_stopped = hello.channel in self._stopped_channels
            agreed = negotiate_client(hello, channel, link, is_stopped)
            assert channel is not None
            self.channels.capacity.check_client(channel, link, self._instances)
        except MQError as error:
            self.note_link(link, error.detail)
            if error.reason == mq.MQRC_CHANNEL_NOT_AVAILABLE:
                self._acceptor.evict_idle()
            raise
        link.channel_user = text_attribute(channel, "MCAUSER")
        if link.tls is not None:
            agreed.key_reset_bytes = key_reset_bytes(self.manager.engine.manager)
        if self.manager.settings.replication is not None:
            agreed.log_identity = self.manager.log.writer.identity()
            agreed.life = self.manager.log.writer.epoch()
        self._instances.add(agreed.channel, link)
        return agreed

    def _check_exits(self, link: ServerLink, channel: Definition | None) -> None:
        """Raise MQError for a client on a channel whose exits are not run here. The error does not name the exits."""
        text = check_exits(channel, self.manager.settings.channels.ignores_exits)
        if text and channel is not None:
            self.note_link(link, text)
            raise MQError(
                mq.MQRC_CHANNEL_NOT_AVAILABLE, f"AMQ9535E: Channel {channel.name} has exits and does not run."
            )

    def client_channel_counts(self) -> ChannelCounts:
        return self._instances.channel_counts(self._stopped_channels)

    def on_channel_hello(self, link: ServerLink, request: int, payload: bytes) -> None:
        self.channels.inbound.handle_hello(link, request, payload)

    def new_tls_stream(self, link: ServerLink) -> TlsStream:
        return self._tls.stream()

    def on_connect(self, link: ServerLink, number: int, request: int, asked: ConnectArguments) -> None:
        manager = self.manager
        wanted = asked.queue_manager
        is_here = wanted in ("", manager.name) or wanted.startswith("*") or is_group_name(manager.engine, wanted)
        if not is_here:
            raise MQError(mq.MQRC_Q_MGR_NAME_ERROR, f"This is queue manager {manager.name}, not {wanted}.")
        self.check_accepts_connections(link)
        self.admission.handle_connect(link, number, request, asked)

    def check_accepts_connections(self, link: ServerLink) -> None:
        """Raise MQError when no application may connect over a link any more."""
        if link.channel and (link.is_quiescing or link.channel in self._stopped_channels):
            raise MQError(mq.MQRC_CHANNEL_NOT_AVAILABLE, f"Channel {link.channel} is stopped.")
        if link.is_for_commands:
            raise MQError(mq.MQRC_MAX_CONNS_LIMIT_REACHED, "Only connections for runmqsc and endmqm are left.")
        if self._is_ending:
            # The engine may not be quiescing yet, but peers were told so.
            raise MQError(mq.MQRC_CONNECTION_QUIESCING, f"Queue manager {self.manager.name} is ending.")

    def connect_application(
        self, link: ServerLink, number: int, request: int, asked: ConnectArguments, user: str, is_privileged: bool
    ) -> None:
        """Connect an admitted application: start its conversation and reply. Raises MQError when it cannot connect."""
        manager = self.manager
        connection = manager.admit(user, asked.application, asked.application_type, asked.options)
        connection.is_privileged = is_privileged
        engine = manager.engine
        connection.is_of_group = is_group_name(engine, asked.queue_manager) and has_group_units(engine)
        if not is_privileged and len(user.encode()) > _IDENTITY_BYTES:
            # A name cut to 12 bytes may be that of another user, with whose authority commands would run.
            connection.identity_context = b" " * _IDENTITY_BYTES + connection.identity_context[_IDENTITY_BYTES:]
        conversation = ServerConversation(link, number, connection)
        link.admit()
        connection.owner = conversation
        link.conversations[number] = conversation
        task: TagLock | None = None
        if asked.tag:
            process = int(link.process_id) if link.is_local else 0
            try:
                task = take_tag(manager.engine, connection, asked.tag, asked.options, process)
            except MQError:
                self._refuse_connection(conversation)
                raise
        reply = ConnectReply()
        reply.connection_id = connection.connection_id
        reply.queue_manager = manager.name
        reply.ccsid = manager.engine.ccsid
        reply.message_bytes_max = min(manager.engine.message_bytes_max, link.message_bytes_max)
        reply.handles_max = manager.engine.handles_max
        reply.user = user
        data = frame(CONNECT | REPLY, number, request, bytes(8) + reply.encode())
        if task is None:
            link.send(data)
        else:
            refuse = partial(self._refuse_connection, conversation)
            self.reactor.call_when_done(task, TagReply(conversation, request, task, data, refuse))

    def _refuse_connection(self, conversation: ServerConversation) -> None:
        """End a connection whose tag is in use."""
        conversation.close(False)
        conversation.link.conversations.pop(conversation.number, None)

    def handle_request(
        self, conversation: ServerConversation, type: int, number: int, buffer: bytes, start: int, end: int
    ) -> None:
        if object_verb(conversation, type, number, buffer, start, end):
            return
        if topic_verb(conversation, type, number, buffer, start, end):
            return
        payload = buffer[start:end]
        if type == DISCONNECT:
            self._disconnect(conversation, number, payload)
        elif type == GET_ANY:
            begin_get_any(conversation, number, payload)
        elif type == STREAM:
            begin_stream(conversation, number, payload)
        elif type == CREDIT:
            add_credit(conversation, payload)
        elif type == UNSTREAM:
            end_stream(conversation, number, payload)
        elif type == COMMAND:
            self.run_command(conversation.link, int(conversation.number), number, payload)
        else:
            raise MalformedFrame(f"a frame of type {type} where it cannot be")

    def _disconnect(self, conversation: ServerConversation, number: int, payload: bytes) -> None:
        reader = PayloadReader(payload)
        commits = reader.integer() != 0
        reader.check_end()
        connection = conversation.connection
        unit = connection.unit_of_work
        is_long = unit is not None and (len(unit.entries) > syncpoint.ENTRIES_AT_ONCE or unit.shared is not None)
        if commits and unit is not None and is_long and unit.state != PREPARED:
            committed = syncpoint.commit(conversation.engine, connection, True)
            leave = partial(self._leave, conversation, number, False, committed)
            if committed.task is not None:
                self.reactor.call_when_done(committed.task, PendingDisconnect(conversation, leave))
            else:
                leave()
        else:
            self._leave(conversation, number, commits, None)

    def _leave(
        self, conversation: ServerConversation, number: int, commits: bool, committed: UnitOutcome | None
    ) -> None:
        """Disconnect. `committed` is the outcome of a commit that has been made before."""
        link = conversation.link
        conversation.connection.has_disconnected = True
        outcome = conversation.close(commits)
        if committed is not None and outcome.reason == mq.MQRC_NONE:
            outcome = committed
        link.conversations.pop(conversation.number, None)
        if number:
            reason = outcome.reason
            data = reply_frame(DISCONNECT, conversation.number, number, completion_code(reason), reason)
            conversation.reply(outcome.after_lsn, data)
        if link.is_quiescing and not link.conversations:
            link.send_farewell(mq.MQRC_CONNECTION_BROKEN, f"Channel {link.channel} was stopped.")

    def release_connection(self, conversation: ServerConversation, commits: bool) -> UnitOutcome:
        return self.manager.release(conversation.connection, commits)

    def run_command(self, link: ServerLink, conversation: int, request: int, payload: bytes) -> None:
        self._executor.submit(link, conversation, request, payload)

    def on_link_closed(self, link: ServerLink) -> None:
        self.admission.forget(link)
        self._acceptor.forget(link)
        self._partners.forget(link)
        if link.channel:
            self._instances.remove(link.channel, link)
            self.channels.capacity.release()
            self.manager.statistics_writer.channels.link_closed(link)
        log.debug("Link %s closed: %s", link.address, link.close_reason)

    def note_link(self, link: ServerLink, why: str) -> None:
        number = "" if why.startswith("AMQ") else "AMQ9999E: "
        self.notes.write(why, f"{number}{why} The connection came from {link.address}.")

    def note(self, text: str) -> None:
        self.notes.write(text, text)

    def make_room(self, then: Callable[[], None]) -> None:
        self._waiting_for_room.append(then)
        if len(self._waiting_for_room) > 1:
            return  # a thread is at it
        try:
            self.manager.machine.thread(self._make_room, "ostler-room").start()
        except RuntimeError as error:
            self.notes.write("room", f"AMQ6118E: Space in the recovery log could not be freed: {error}.")
            self.reactor.post(self._resume_waiting_for_room)

    def _make_room(self) -> None:
        try:
            self.manager.make_room()
        except Exception as error:
            self.notes.write("room", f"AMQ7463E: The recovery log is full: {str(error) or repr(error)}")
        finally:
            self.reactor.post(self._resume_waiting_for_room)

    def _resume_waiting_for_room(self) -> None:
        """Let all that wait for log space try again; one that still finds none asks again."""
        wanting = self._waiting_for_room
        self._waiting_for_room = []
        for then in wanting:
            self.reactor.post(then)
