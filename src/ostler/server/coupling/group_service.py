"""The queue manager's part in a queue-sharing group: the membership of its engine, over a link to the facility."""

from __future__ import annotations

import socket
import ssl
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Final

from mypy_extensions import i64

from ostler.engine.recovery.checkpoint import mark_member
from ostler.engine.shared.member import GroupMember
from ostler.engine.shared.membership import ConnectionBreaker, Terminator
from ostler.model.coupling import terms as cf
from ostler.model.coupling.answers import Answer
from ostler.model.coupling.port import Continuation
from ostler.model.shared_repository import RepositoryRefused
from ostler.server.channels.outbound import OutboundConnector
from ostler.server.config.group_place import REPOSITORY_FILE
from ostler.server.config.ini_file import ConfigurationError
from ostler.server.config.sharing_ini import STANZA, SharingSection
from ostler.server.coupling.blobs.blob_store import BlobStore
from ostler.server.coupling.data_sets.group_states import GroupStates
from ostler.server.coupling.data_sets.offload_service import OffloadService
from ostler.server.coupling.facility_directory import short_path
from ostler.server.coupling.facility_link import FacilityConnector, FacilityPort
from ostler.server.coupling.facility_starter import start_if_absent
from ostler.server.coupling.group_definitions import GroupDefinitions
from ostler.server.coupling.redis.address import RedisAddress, is_redis, parse_address
from ostler.server.coupling.redis.redis_errors import RedisFailed
from ostler.server.coupling.repository.opening import open_repository
from ostler.server.coupling.repository.sql_repository import SqlRepository
from ostler.server.coupling.structure_control import StructureControl
from ostler.server.coupling.structure_service import StructureService
from ostler.server.net.link import ServerLink
from ostler.server.net.reactor import Reactor
from ostler.server.queue_manager import QueueManager
from ostler.wire.tls_stream import TlsRules, TlsStream

_KEEP_ALIVE_SECONDS: Final = 30
_LEAVE_SECONDS: Final = 2.0
_LEAVE_TRIES: Final = 20


class GroupService(FacilityConnector):
    """`begin` joins the group, `leave` leaves it when all applications have gone."""

    def __init__(
        self, manager: QueueManager, reactor: Reactor, section: SharingSection, end: Callable[[str], None]
    ) -> None:
        """`end` begins the end of the queue manager, and returns at once."""
        self._manager = manager
        self._end = end
        self._reactor = reactor
        self._section = section
        self._connector: OutboundConnector | None = None
        directory = group_directory(manager.directory.root, section)
        self.repository = self._open_repository(section.repository or str(directory / REPOSITORY_FILE))
        self.definitions = GroupDefinitions(manager, section, self.repository, self._end_membership)
        self.definitions.enrol()
        mark_member(manager.disk, manager.engine.identity)
        start = manager.engine.member.start + 1
        self._address: RedisAddress | None = None
        self._context: ssl.SSLContext | None = None
        self.port = self._new_port(start)
        self.port.facility_name = section.facility_name
        with manager.turn:
            self.member = GroupMember(manager.engine, self.port, section.member_number, section.name)
            self.member.breaker = _Breaker(manager)
            self.member.terminator = _Terminator(self)
            self.member.sharing.structure_bytes = section.structure_megabytes << 20
            self._start_lsn = int(self.member.begin())
        self.blobs = BlobStore(
            self.repository,
            self.member.sharing,
            manager.machine,
            reactor.post,
            manager.note,
            section.blob_tasks,
        )
        self.offload = OffloadService(
            manager.engine,
            self.member.sharing,
            manager.machine,
            reactor.post,
            manager.note,
            directory,
            GroupStates(self.repository, manager.note, manager.machine.wall),
            self.blobs,
        )
        self.member.sharing.offload = self.offload
        self.member.observers.append(self.offload.events)
        self.member.observers.append(self.definitions)
        self.structures = StructureControl(manager, self.offload, self.repository)
        self.member.observers.append(self.structures.failures)
        self.recoveries = StructureService(manager, self.member, self.repository, reactor.post, self.offload)

    def _new_port(self, start: int) -> FacilityPort:
        """Return the port for the engine of the facility. Raises ConfigurationError if Redis cannot be used here."""
        section, name = self._section, self._manager.name
        if not is_redis(section.facility):
            return FacilityPort(self._reactor, self, section.member_number, start, name)
        try:
            from ostler.server.coupling.redis.redis_link import RedisPort

            self._address = parse_address(section.facility).resolved()
            self._context = self._address.tls_context() if self._address.is_tls else None
        except ImportError:
            why = "Redis as coupling facility needs the package hiredis: pip install 'ostler[sharing]'"
            raise ConfigurationError("qm.ini", 0, why) from None
        except RedisFailed as error:
            raise ConfigurationError("qm.ini", 0, f"Facility of {STANZA}: {error}") from None
        group = section.facility_name or section.name
        return RedisPort(self._reactor, self, section.member_number, start, name, self._address, group)

    def _open_repository(self, where: str) -> SqlRepository:
        """Return the shared repository, which is not connected yet. Raises ConfigurationError."""
        try:
            return open_repository(where, self._section.name)
        except RepositoryRefused as error:
            raise ConfigurationError("qm.ini", 0, f"Repository of {STANZA}: {error}") from None

    def begin(self) -> None:
        """Join, once the number of this start is durable. On any thread but the reactor's."""
        self._manager.writer.wait_durable(self._start_lsn)
        if self._section.facility_directory:
            start_if_absent(Path(self._section.facility_directory), self._manager.name, self.note)
        self._reactor.post(self.port.begin)
        self.definitions.begin()

    # -- for the port, on the reactor's thread -------------------------------------------------------------------------

    def connect(self, then: Callable[[ServerLink], None], failed: Callable[[str], None]) -> None:
        where = self._section.facility
        if self._address is not None:
            where = str(self._address)
        connected = partial(self._connected, then)
        if "/" in where:
            self._connect_locally(where, connected, failed)
            return
        if self._connector is None:
            self._connector = OutboundConnector(self._reactor.post, note=self.note, machine=self._manager.machine)
        self._connector.connect(where, "", _KEEP_ALIVE_SECONDS, connected, failed)

    def _connect_locally(
        self, path: str, connected: Callable[[socket.socket, str], None], failed: Callable[[str], None]
    ) -> None:
        sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            sock.setblocking(False)
            with short_path(Path(path)) as short:
                sock.connect(short)
        except OSError as error:
            sock.close()
            self._reactor.post(partial(failed, f"{path}: {error.strerror or error}."))
            return
        self._reactor.post(partial(connected, sock, path))

    def _connected(self, then: Callable[[ServerLink], None], sock: socket.socket, address: str) -> None:
        link = ServerLink(self._reactor, sock, address, False)
        if self._context is not None and self._address is not None:
            link.start_tls(TlsStream(_RedisRules(self._context), False, host=self._address.host))
        then(link)

    def note(self, text: str) -> None:
        self._manager.note(text)

    def on_tick(self) -> None:
        self.member.on_tick()
        self.offload.on_tick()
        self.recoveries.on_tick()

    # -- the end -------------------------------------------------------------------------------------------------------

    def terminate(self, why: str) -> None:
        """End the queue manager, which has lost the facility and must not go on without. In a turn of the reactor."""
        if self.port.is_closed:
            return  # it is ending already, or has left
        self.port.close()
        self._manager.note(
            f"AMQ7499S: Queue manager {self._manager.name} ends because it has lost the coupling facility of "
            f"{self._section.name}, and {why}. Start it again; it joins when the facility can be reached, and settles "
            "its units of work. ALTER QMGR CFCONLOS(TOLERATE), and CFLEVEL(5) with CFCONLOS(ASQMGR) or "
            "CFCONLOS(TOLERATE) for structures, let it go on with its private queues."
        )
        self._end("CFCONLOS(TERMINATE)")

    def leave(self) -> None:
        """Leave the group, so that peers have nothing to recover. Waits for the facility, but not for long."""
        done = self._manager.machine.event()
        self._reactor.post(partial(self._leave, _Left(self, done.set)))
        done.wait(_LEAVE_SECONDS)

    def _leave(self, left: _Left) -> None:
        if not self.port.leave(left):
            left.end()

    def _end_membership(self) -> None:
        self._reactor.post(self.port.close)

    def close(self) -> None:
        """Connect no more. On any thread, after the reactor has ended or before."""
        self._reactor.post(self.port.close)
        if self._connector is not None:
            self._connector.close()
        self.offload.close()
        self.definitions.close()
        self.recoveries.close()
        self.repository.close()


def group_directory(root: Path, section: SharingSection) -> Path:
    """Return the directory that all members of a group have in common."""
    return Path(section.directory) if section.directory else root / "groups" / section.name


class _RedisRules(TlsRules):
    """TLS to a Redis server: the context checks its certificate and name."""

    def __init__(self, context: ssl.SSLContext) -> None:
        self._context = context

    def context(self, channel: str) -> ssl.SSLContext:
        return self._context

    def check(self, stream: TlsStream) -> None:
        """Nothing is left to check."""


class _Breaker(ConnectionBreaker):
    def __init__(self, manager: QueueManager) -> None:
        self._manager = manager

    def break_connection(self, number: int) -> None:
        self._manager.break_connection_locked(number)


class _Terminator(Terminator):
    def __init__(self, service: GroupService) -> None:
        self._service = service

    def terminate(self, why: str) -> None:
        self._service.terminate(why)


class _Left(Continuation):
    """Tries again while units are being backed out."""

    def __init__(self, service: GroupService, done: object) -> None:
        self._service = service
        self._done = done
        self._tries = 0

    def answered(self, answer: Answer) -> None:
        status: i64 = answer.status
        self._tries += 1
        if status == cf.UNITS_LEFT and self._tries < _LEAVE_TRIES:
            self._service._leave(self)
        else:
            self.end()

    def end(self) -> None:
        self._service.port.is_closed = True
        if callable(self._done):
            self._done()
