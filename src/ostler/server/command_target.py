"""What MQSC acts on: a queue manager and its server."""

from __future__ import annotations

import os
import shutil
import socket
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Final

from ostler.command.target import (
    Answer,
    ApplicationStatus,
    ChannelStatus,
    CommandRefused,
    ListenerStatus,
    ManagerStatus,
    Target,
)
from ostler.engine.core import QUIESCING, RUNNING, Engine
from ostler.model.constants import MQEVO_CONSOLE, MQOT_Q_MGR
from ostler.model.errors import MQError
from ostler.server.listeners import ListenerRefused
from ostler.server.operating_system_users import user_name

if TYPE_CHECKING:
    from ostler.server.queue_manager import QueueManager
    from ostler.server.server import Server

_ROOM_TRIES: Final = 3
_MEGABYTE: Final = 1024 * 1024
_STATES: Final = {RUNNING: "RUNNING", QUIESCING: "QUIESCING"}


class ManagerTarget(Target):
    """A queue manager without sockets, such as one embedded in a program."""

    def __init__(self, manager: QueueManager) -> None:
        self._manager = manager

    @property
    def user(self) -> str:
        return user_name(os.geteuid())

    @property
    def origin(self) -> int:
        """How commands come: an MQEVO number."""
        return MQEVO_CONSOLE

    def look(self, question: Callable[[Engine], Answer]) -> Answer:
        with self._manager.lock:
            self._manager.engine.now_ms = int(time.time() * 1000)
            return question(self._manager.engine)

    def change(self, change: Callable[[Engine], int]) -> None:
        manager = self._manager
        engine = manager.engine
        tries = 0
        while True:
            with manager.lock:
                engine.now_ms = int(time.time() * 1000)
                engine.journal_full = False
                engine.actor = self.user
                engine.actor_origin = self.origin
                try:
                    lsn = change(engine)
                    break
                except MQError:
                    if not engine.journal_full or tries == _ROOM_TRIES:
                        raise
                finally:
                    engine.actor = ""
                    engine.actor_origin = 0
                    manager.wake()
            tries += 1
            manager.make_room()
        if lsn:
            manager.writer.wait_durable(lsn)

    def start_listener(self, name: str) -> None:
        raise _no_server()

    def stop_listener(self, name: str) -> None:
        raise _no_server()

    def start_channel(self, name: str) -> None:
        raise _no_server()

    def stop_channel(
        self, name: str, mode: str = "QUIESCE", status: str = "STOPPED", connection_name: str = ""
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

    def write_statistics(self) -> None:
        self._manager.statistics_writer.write_statistics()

    def manager_status(self) -> ManagerStatus:
        manager = self._manager
        settings = manager.settings.log
        data = shutil.disk_usage(manager.directory.path)
        log_path = settings.path or str(manager.directory.log)
        log_disk = shutil.disk_usage(log_path)
        with manager.lock:
            log = manager.log.status()
        return ManagerStatus(
            started_ms=int(manager.started_at * 1000),
            status=_STATES.get(manager.engine.state, "STOPPING"),
            channel_initiator="STOPPED",
            host_name=socket.gethostname(),
            data_path=str(manager.directory.path),
            data_file_system_size=data.total // _MEGABYTE,
            data_file_system_use=100 * data.used // max(1, data.total),
            log_path=log_path,
            log_type=str(settings.type).upper(),
            log_extent_size=settings.file_pages * 4,
            log_primary_extents=settings.primary_files,
            log_secondary_extents=settings.secondary_files,
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


class ServerTarget(ManagerTarget):
    """A queue manager with sockets."""

    def __init__(self, server: Server) -> None:
        super().__init__(server.manager)
        self._server = server

    def start_listener(self, name: str) -> None:
        try:
            self._server.start_listener(name)
        except ListenerRefused as error:
            raise CommandRefused("AMQ9218E", str(error)) from None

    def stop_listener(self, name: str) -> None:
        self._server.stop_listener(name)

    def start_channel(self, name: str) -> None:
        self._server.start_channel(name)

    def stop_channel(
        self, name: str, mode: str = "QUIESCE", status: str = "STOPPED", connection_name: str = ""
    ) -> None:
        self._server.stop_channel(name, mode, status, connection_name)

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
        from dataclasses import replace

        return replace(super().manager_status(), channel_initiator="RUNNING")


class UserTarget(ServerTarget):
    """A queue manager with sockets, as far as one user may give it commands."""

    def __init__(self, server: Server, user: str, origin: int) -> None:
        super().__init__(server)
        self._user = user
        self._origin = origin
        self._is_privileged = server.manager.users.is_administrator(user)

    @property
    def user(self) -> str:
        return self._user

    @property
    def origin(self) -> int:
        return self._origin

    def may(self, object_type: int, name: str, authorities: int) -> bool:
        if self._is_privileged:
            return True
        manager = self._manager
        if object_type == MQOT_Q_MGR:
            name = manager.name
        with manager.lock:
            return not authorities & ~manager.guard.authorities(self._user, object_type, name)


def _no_server() -> CommandRefused:
    return CommandRefused("AMQ8729E", f"This queue manager runs inside process {os.getpid()} and has no sockets.")
