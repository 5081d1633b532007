"""The context of commands in a queue manager: embedded, with its server, or for a user."""

from __future__ import annotations

import calendar
import os
import shutil
import socket
import time
from collections.abc import Callable, Sequence
from copy import copy
from dataclasses import replace
from typing import TYPE_CHECKING, Final, Protocol

from ostler.command.admin.context import (
    CHANNEL_ACTIVE,
    Answer,
    ApplicationStatus,
    ChannelStatus,
    CommandContext,
    CommandRefused,
    ListenerStatus,
    ManagerStatus,
    ServiceStatus,
)
from ostler.command.admin.group_scope import GroupCommands
from ostler.command.admin.objects import matches
from ostler.command.admin.sharing_control import SharingControl
from ostler.command.group.catalogue import GroupCatalogue
from ostler.engine import objects
from ostler.engine.core import QUIESCING, RUNNING, Engine
from ostler.engine.events import configuration_events
from ostler.engine.queue.delivery import send_own_messages
from ostler.log.errors import LogRefused
from ostler.log.stream_format import extent_number
from ostler.model import constants as mq
from ostler.model.attributes import ObjectType
from ostler.model.definitions import Definition
from ostler.model.errors import MQError
from ostler.model.pcf import Parameter
from ostler.model.replication import GroupStatus
from ostler.server.admin.group_commands import UserGroupCommands
from ostler.server.channels.group_commands import RunsElsewhere
from ostler.server.config.qm_ini import LogManagement
from ostler.server.net.listeners import ListenerRefused
from ostler.server.security.os_users import user_name
from ostler.server.storage.message_reader import call_with_reads
from ostler.server.storage.space_quota import QuotaDisk

if TYPE_CHECKING:
    from ostler.server.admin.command_server import CommandServer
    from ostler.server.channels.initiator import ChannelInitiator
    from ostler.server.coupling.group_service import GroupService
    from ostler.server.queue_manager import QueueManager
    from ostler.server.services import Services

_PAUSE_SECONDS: Final = 0.001
_EVENTS_AT_ONCE: Final = 100
_MEGABYTE: Final = 1024 * 1024
_STATES: Final = {RUNNING: "RUNNING", QUIESCING: "QUIESCING"}


class ManagerCommandContext(CommandContext):
    """A queue manager without sockets, such as one embedded in a program."""

    def __init__(self, manager: QueueManager) -> None:
        self._manager = manager
        self._is_pipelined = False
        self._owed_lsn = 0  # of the last change, while pipelined

    def as_pipelined(self) -> CommandContext:
        other = copy(self)
        other._is_pipelined = True
        other._owed_lsn = 0
        return other

    def wait_durable(self) -> None:
        owed, self._owed_lsn = self._owed_lsn, 0
        if owed:
            self._manager.writer.wait_durable(owed)

    @property
    def user(self) -> str:
        return user_name(os.geteuid())

    @property
    def origin(self) -> int:
        """The origin of commands: an MQEVO number."""
        return mq.MQEVO_CONSOLE

    def query(self, read: Callable[[Engine], Answer]) -> Answer:
        return call_with_reads(self._manager, read)

    def change(self, change: Callable[[Engine], int]) -> None:
        lsn = self._manager.change(change, self.user, self.origin)
        if self._is_pipelined:
            self._owed_lsn = max(self._owed_lsn, lsn)
        elif lsn:  # threads share this object: each waits for its own change
            self._manager.writer.wait_durable(lsn)

    def pause(self) -> None:
        self._manager.machine.sleep(_PAUSE_SECONDS)

    def start_listener(self, name: str) -> None:
        raise _no_server()

    def stop_listener(self, name: str) -> None:
        raise _no_server()

    def start_channel(self, name: str, disposition: str = "") -> None:
        raise _no_server()

    def stop_channel(
        self,
        name: str,
        mode: str = "QUIESCE",
        status: str = "STOPPED",
        connection_name: str = "",
        queue_manager: str = "",
        disposition: str = "",
    ) -> None:
        raise _no_server()

    def refresh_tls(self) -> None:
        raise _no_server()

    def listener_status(self) -> list[ListenerStatus]:
        return []

    def channel_status(self) -> list[ChannelStatus]:
        return []

    def refresh_security(self, what: str) -> None:
        self._manager.users.forget()

    def groups_of(self, user: str) -> tuple[str, ...]:
        return self._manager.users.groups_of(user)

    def is_administrator(self, user: str) -> bool:
        return self._manager.users.is_administrator(user)

    def note(self, text: str) -> None:
        self._manager.note(text)

    def entity_exists(self, name: str, is_group: bool) -> bool:
        return self._manager.users.knows(name, is_group)

    def stop_connection(self, number: int) -> bool:
        return self._manager.break_connection(number)

    def write_statistics(self) -> None:
        self._manager.statistics_writer.write_statistics()

    def expire_messages(self) -> None:
        self._manager.housekeeping.expire()

    def archive_log(self, extent: str) -> None:
        manager = self._manager
        if manager.settings.log.management != LogManagement.ARCHIVE:
            raise CommandRefused("AMQ8101E", "The log is not archived: LogManagement in qm.ini is not Archive.")
        number = extent_number(extent if extent.endswith(".LOG") else f"{extent}.LOG")
        if number < 0:
            raise CommandRefused("AMQ8101E", f"{extent} is not the name of an extent, such as S0000001.LOG.")
        try:
            manager.writer.set_archived(number)
        except LogRefused as error:
            raise CommandRefused("AMQ8101E", str(error)) from None

    def refresh_configuration(self, kinds: Sequence[ObjectType], pattern: str, minutes: int) -> None:
        manager = self._manager
        since = int(time.time()) - minutes * 60 if minutes else 0
        with manager.turn as engine:
            found = [
                each for kind in kinds for each in objects.all_of_type(engine, kind) if matches(each.name, pattern)
            ]
        for first in range(0, len(found), _EVENTS_AT_ONCE):
            with manager.turn:
                engine.actor, engine.actor_origin = self.user, self.origin
                for definition in found[first : first + _EVENTS_AT_ONCE]:
                    if altered_at(definition) >= since:
                        send_own_messages(engine, configuration_events.on_refresh(engine, definition), None)
                engine.actor, engine.actor_origin = "", 0

    @property
    def wants_command_events(self) -> bool:
        return self._manager.engine.manager.attributes.get("CMDEV", mq.MQEVR_DISABLED) != mq.MQEVR_DISABLED

    def write_command_event(
        self, command: int, is_display: bool, text: str, parameters: tuple[Parameter, ...] = ()
    ) -> None:
        manager = self._manager
        with manager.turn as engine:
            made = configuration_events.on_command(
                engine, self.user, self.origin, command, is_display, text, parameters
            )
            send_own_messages(engine, made, None)

    def write_not_authorized_event(self, command: int) -> None:
        manager = self._manager
        with manager.turn as engine:
            send_own_messages(engine, configuration_events.on_command_refused(engine, self.user, command), None)

    def log_extent_of(self, lsn: int) -> str:
        log = self._manager.log
        return log.extent_holding(lsn) if self._manager.settings.log.is_linear else ""

    def replication_status(self) -> GroupStatus | None:
        try:
            return self._manager.replication.status()
        except MQError as error:
            if error.reason != mq.MQRCCF_NHA_NOT_AVAILABLE:
                raise
            return None

    def manager_status(self) -> ManagerStatus:
        manager = self._manager
        settings = manager.settings.log
        data = shutil.disk_usage(manager.directory.path)
        quota = manager.disk.quota if isinstance(manager.disk, QuotaDisk) else None
        log_path = settings.path or str(manager.directory.log)
        log_disk = shutil.disk_usage(log_path)
        longest = manager.longest_pass
        with manager.turn:
            log = manager.log.status()
        return ManagerStatus(
            longest_pass_microseconds=None if longest is None else int(longest.recent_us(time.monotonic_ns())),
            started_ms=int(manager.started_at * 1000),
            status=_STATES.get(manager.engine.state, "STOPPING"),
            channel_initiator="STOPPED",
            host_name=socket.gethostname(),
            data_path=str(manager.directory.path),
            data_file_system_size=data.total // _MEGABYTE,
            data_file_system_use=100 * data.used // max(1, data.total),
            file_system_size=None if quota is None else quota.limit_bytes // _MEGABYTE,
            file_system_use=None if quota is None else min(100, 100 * quota.used_bytes() // quota.limit_bytes),
            log_path=log_path,
            log_type=str(settings.type).upper(),
            log_extent_size=settings.file_pages * 4,
            log_primary_extents=settings.primary_files,
            log_secondary_extents=settings.secondary_files,
            log_write_bytes=int(manager.log.metrics.write_bytes_average),
            log_write_microseconds=int(manager.writer.counters.short_average) >> 10,
            checkpoints=int(manager.log.metrics.checkpoints),
            log_in_use=log.in_use_percent,
            log_utilization=log.utilisation_percent,
            log_current_extent=log.current_extent,
            log_restart_extent=log.restart_extent,
            log_media_extent=log.media_extent,
            log_restart_size=log.restart_bytes // _MEGABYTE,
            log_media_size=log.media_bytes // _MEGABYTE,
            log_reusable_size=log.reusable_bytes // _MEGABYTE,
            log_file_system_size=log_disk.total // _MEGABYTE,
            log_file_system_use=100 * log_disk.used // max(1, log_disk.total),
        )


class CommandHost(Protocol):
    """The server as commands use it."""

    @property
    def manager(self) -> QueueManager: ...
    @property
    def commands(self) -> CommandServer: ...
    @property
    def initiator(self) -> ChannelInitiator: ...
    @property
    def sharing(self) -> GroupService | None: ...
    @property
    def services(self) -> Services: ...

    def start_listener(self, name: str) -> int: ...
    def stop_listener(self, name: str) -> None: ...
    def listener_status(self) -> list[ListenerStatus]: ...
    def start_channel_initiator(self, queue: str = "") -> None: ...
    def stop_channel_initiator(self) -> None: ...
    def start_channel(self, name: str, disposition: str = "") -> None: ...
    def stop_channel(
        self,
        name: str,
        mode: str = "QUIESCE",
        status: str = "STOPPED",
        connection_name: str = "",
        queue_manager: str = "",
        disposition: str = "",
    ) -> None: ...
    def channel_status(self) -> list[ChannelStatus]: ...
    def ping_channel(self, name: str, data_bytes: int) -> None: ...
    def reset_channel(self, name: str, sequence_number: int, disposition: str = "") -> None: ...
    def resolve_channel(self, name: str, action: str, luwid: bytes = b"", disposition: str = "") -> str: ...
    def application_status(self) -> dict[int, ApplicationStatus]: ...
    def stop_connection(self, number: int) -> bool: ...
    def refresh_tls(self) -> None: ...
    def refresh_security(self, what: str) -> None: ...


class ServerCommandContext(ManagerCommandContext):
    """A queue manager with sockets."""

    def __init__(self, server: CommandHost) -> None:
        super().__init__(server.manager)
        self._server = server

    @property
    def group(self) -> GroupCatalogue | None:
        sharing = self._server.sharing
        return sharing.definitions.catalogue if sharing is not None else None

    def start_listener(self, name: str) -> None:
        try:
            self._server.start_listener(name)
        except ListenerRefused as error:
            raise CommandRefused("AMQ9218E", str(error)) from None

    def stop_listener(self, name: str) -> None:
        self._server.stop_listener(name)

    def start_channel(self, name: str, disposition: str = "") -> None:
        self._server.start_channel(name, disposition)

    def stop_channel(
        self,
        name: str,
        mode: str = "QUIESCE",
        status: str = "STOPPED",
        connection_name: str = "",
        queue_manager: str = "",
        disposition: str = "",
    ) -> None:
        try:
            self._server.stop_channel(name, mode, status, connection_name, queue_manager, disposition)
        except RunsElsewhere as elsewhere:
            self._stop_at(elsewhere.manager, name, mode, status)

    def _stop_at(self, manager: str, name: str, mode: str, status: str) -> None:
        """Have another member stop a channel of the group that runs there."""
        group = self.group_commands()
        if group is None or self.is_from_member or manager not in group.active_members():
            raise CommandRefused(CHANNEL_ACTIVE, f"Channel {name} is in use at {manager}. Stop it there.")
        text = f"STOP CHANNEL('{name}') MODE({mode}) STATUS({status}) CHLDISP(SHARED)"
        for answer in group.run_mqsc([manager], text):
            if not answer.is_done:
                said = "; ".join(part.decode() for part in answer.parts)
                raise CommandRefused(
                    "AMQ8101E", f"Channel {name} was not stopped at {manager}: {answer.problem or said}"
                )

    def ping_channel(self, name: str, data_bytes: int) -> None:
        self._server.ping_channel(name, data_bytes)

    def reset_channel(self, name: str, sequence_number: int, disposition: str = "") -> None:
        self._server.reset_channel(name, sequence_number, disposition)

    def resolve_channel(self, name: str, action: str, luwid: bytes = b"", disposition: str = "") -> str:
        return self._server.resolve_channel(name, action, luwid, disposition)

    def start_channel_initiator(self, queue: str) -> None:
        self._server.start_channel_initiator(queue)

    def stop_channel_initiator(self) -> None:
        self._server.stop_channel_initiator()

    def refresh_tls(self) -> None:
        self._server.refresh_tls()

    def refresh_security(self, what: str) -> None:
        self._server.refresh_security(what)

    def listener_status(self) -> list[ListenerStatus]:
        return self._server.listener_status()

    def channel_status(self) -> list[ChannelStatus]:
        return self._server.channel_status()

    def application_status(self) -> dict[int, ApplicationStatus]:
        return self._server.application_status()

    def manager_status(self) -> ManagerStatus:
        return replace(
            super().manager_status(),
            channel_initiator=self._server.initiator.status,
            command_server=self._server.commands.status,
        )

    def sharing(self) -> SharingControl | None:
        service = self._server.sharing
        return service.structures if service is not None else None

    def stop_connection(self, number: int) -> bool:
        return self._server.stop_connection(number)

    def start_service(self, name: str) -> None:
        self._server.services.start(self._service(name))

    def stop_service(self, name: str) -> None:
        self._server.services.stop(self._service(name))

    def _service(self, name: str) -> Definition:
        with self._manager.turn:
            definition = self._manager.engine.of_type(ObjectType.SERVICE).get(name)
        if definition is None:
            raise MQError(mq.MQRC_UNKNOWN_OBJECT_NAME, f"There is no service {name}.")
        return definition

    def service_status(self) -> list[ServiceStatus]:
        return self._server.services.status()

    def start_command_server(self) -> None:
        if not self._server.commands.start():
            raise CommandRefused("AMQ8506W", "The command server is running already.")

    def stop_command_server(self) -> None:
        if not self._server.commands.stop():
            raise CommandRefused("AMQ8507W", "The command server is not running.")


class UserCommandContext(ServerCommandContext):
    """A queue manager with sockets, as far as one user may give it commands."""

    def __init__(self, server: CommandHost, user: str, origin: int, is_from_member: bool = False) -> None:
        super().__init__(server)
        self._user = user
        self._origin = origin
        self._is_from_member = is_from_member
        self._is_privileged = server.manager.users.is_administrator(user)

    @property
    def user(self) -> str:
        return self._user

    @property
    def origin(self) -> int:
        return self._origin

    def group_commands(self) -> GroupCommands | None:
        with self._manager.turn as engine:
            sharing = engine.sharing
        return None if sharing is None else UserGroupCommands(self._manager, sharing, self._user)

    @property
    def is_from_member(self) -> bool:
        return self._is_from_member

    def is_authorized(self, object_type: int, name: str, authorities: int) -> bool:
        if self._is_privileged:
            return True
        manager = self._manager
        if object_type == mq.MQOT_Q_MGR:
            name = manager.name
        with manager.turn:
            return not authorities & ~manager.guard.authorities(self._user, object_type, name)


def altered_at(definition: Definition) -> int:
    """Return the time of an object's last change, in seconds since 1970; 0 when unknown."""
    text = f"{definition.attributes.get('ALTDATE', '')} {definition.attributes.get('ALTTIME', '')}"
    try:
        return calendar.timegm(time.strptime(text, "%Y-%m-%d %H.%M.%S"))
    except ValueError:
        return 0


def _no_server() -> CommandRefused:
    return CommandRefused("AMQ8729E", f"This queue manager runs inside process {os.getpid()} and has no sockets.")
