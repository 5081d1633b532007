"""An instance that takes a base: it was created empty, or has given its copy up.

It waits for a leader of its group and takes all from it, into places of their own. When everything is there it is put
in place, and the instance follows like any other. One leader is heard at a time; when its connection ends, the next one
begins from the start.
"""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable
from pathlib import Path
from time import monotonic
from typing import Final

from ostler.model import constants as mq
from ostler.model.arbiter import Arbiter, ArbiterUnavailable
from ostler.model.disk import DiskFailed
from ostler.model.errors import MQError
from ostler.model.replication import (
    GroupConnection,
    GroupRole,
    GroupStatus,
    HaStatus,
    InstanceRole,
    InstanceStatus,
    RecoveryGroupStatus,
    ReplicaState,
)
from ostler.replica.base_side import BaseSide
from ostler.replica.follower_side import LinkRefused
from ostler.server.config.ini_file import ConfigurationError
from ostler.server.config.replication_ini import ReplicationSection, ReplicationType
from ostler.server.rate_limited_log import RateLimitedLog
from ostler.server.replica.control import RefusingControl
from ostler.server.replica.group_tls import GroupTls, certified_instance
from ostler.server.replica.messages import not_secured, replication_message
from ostler.server.replica.site.state import read_site
from ostler.server.replica.transport import ConnectionLost, NotSecured, ReplicaConnection
from ostler.server.supervised_thread import SupervisedThread
from ostler.wire.frames import FAREWELL, MalformedFrame, frame
from ostler.wire.replica_frames import (
    FIRST_REPLICA_FRAME_BYTES_MAX,
    PURPOSE_DR,
    REPLICA_FRAME_BYTES_MAX,
    ReplicaFrame,
    ReplicaHello,
    decode_replica_frame,
)
from ostler.wire.replies import reason_payload

_ACCEPT_SECONDS: Final = 0.5
_HELLO_SECONDS: Final = 10.0
# Between two forces of the log, while frames keep coming.
_FORCE_SECONDS: Final = 0.25
_POLL_SECONDS: Final = 0.05


class TakingBase:
    """Takes a base on the replication address. `done` is set when it is in place, or cannot be taken."""

    def __init__(
        self,
        side: BaseSide,
        section: ReplicationSection,
        arbiter: Arbiter | None,
        listener: socket.socket,
        tls: GroupTls | None,
        note: Callable[[str], None],
    ) -> None:
        """`arbiter` is the one of the group; a pair has none."""
        self.side = side
        self.done = threading.Event()
        self.failure = ""
        """The reason for which this instance cannot go on."""
        self.is_installed = False
        self._section = section
        self._arbiter = arbiter
        self._listener = listener
        self._tls = tls
        self._timeout_seconds = section.heartbeat_timeout_ms / 1000
        self._note = note
        self._notes = RateLimitedLog(note)
        self._stopping = threading.Event()
        self._links = 0
        listener.settimeout(_ACCEPT_SECONDS)
        self._thread = SupervisedThread(
            "ostler-replica", "thread that takes a base", self._run, self._is_over, note, stopping=self._stopping
        )
        self._thread.start()

    def close(self) -> None:
        self._stopping.set()
        self._thread.join()
        self._listener.close()

    def _is_over(self) -> bool:
        return self._stopping.is_set() or self.done.is_set()

    def _run(self) -> None:
        while not self._is_over():
            try:
                accepted, address = self._listener.accept()
            except TimeoutError:
                continue
            stream = self._tls.stream(True) if self._tls is not None else None
            where = f"{address[0]}({address[1]})"
            connection = ReplicaConnection(accepted, where, stream, FIRST_REPLICA_FRAME_BYTES_MAX)
            self._links += 1
            try:
                self._take(connection)
            except NotSecured as failed:
                self._notes.write(str(failed), not_secured(where, failed))
            except ConnectionLost as lost:
                self._notes.write(str(lost), f"AMQ3208E: The connection from {where} ended: {lost}.")
            except LinkRefused as refused:
                self._refuse(connection, refused)
            except MalformedFrame as error:
                self._refuse(connection, LinkRefused(f"a frame is malformed: {error}"))
            except DiskFailed as failed:
                self.failure = str(failed)
                self.done.set()
            finally:
                self.side.disconnected(self._links)
                # A leader connects again, and finds a follower when the base is in place.
                connection.close("closed")

    def _refuse(self, connection: ReplicaConnection, refused: LinkRefused) -> None:
        self._notes.write(str(refused), replication_message("AMQ3280W", address=connection.peer, why=refused))
        for each in refused.frames:
            connection.send(each.encode())
        connection.send(frame(FAREWELL, 0, 0, reason_payload(0, str(refused))))
        connection.finish()

    def _take(self, connection: ReplicaConnection) -> None:
        """Take a base from one leader. Raises ConnectionLost, MalformedFrame, LinkRefused and DiskFailed."""
        connection.finish_handshake()
        hello = self._receive(connection, _HELLO_SECONDS)
        if not isinstance(hello, ReplicaHello) or hello.is_reply:
            raise LinkRefused("no hello came in time")
        if hello.purpose != PURPOSE_DR and self._section.address_of(hello.instance) is None:
            raise LinkRefused(f"{hello.instance} is no instance of this group")
        if connection.stream is not None and certified_instance(connection.stream) != hello.instance:
            raise LinkRefused(f"the certificate is not that of {hello.instance}")
        connection.set_frame_bytes_max(REPLICA_FRAME_BYTES_MAX)
        self.side.takes_site_base = self._may_take_from_site()
        _send(connection, self.side.receive(self._links, hello))
        self._note(replication_message("AMQ3237I", instance=self.side.name, leader=hello.instance))
        heard_at = forced_at = monotonic()
        has_all_since = 0.0
        while not self._stopping.is_set():
            received = self._receive(connection, _POLL_SECONDS)
            now = monotonic()
            if received is not None:
                heard_at = now
                _send(connection, self.side.receive(self._links, received))
            elif now - heard_at > self._timeout_seconds:
                raise ConnectionLost(f"the leader was silent for {self._timeout_seconds:g} seconds")
            if received is not None and now - forced_at < _FORCE_SECONDS:
                continue
            forced_at = now
            _send(connection, self.side.force())
            if self.side.has_all():
                has_all_since = has_all_since or now
                if self.side.is_ready(now - has_all_since > self._timeout_seconds) and self._install():
                    return

    def _may_take_from_site(self) -> bool:
        """Return True unless another instance of this recovery group takes the log from the live site.

        The first one of a group does, and one that is alone in the in-sync set: nobody else can lead.
        """
        if not self._section.instances or self._arbiter is None:
            return True
        try:
            view = self._arbiter.read()
        except ArbiterUnavailable as error:
            self._notes.write(str(error), replication_message("AMQ3281W", why=str(error)))
            return False
        role = view.role or str(self._section.group_role)
        is_only = view.in_sync is None or set(view.in_sync.members) <= {self._section.instance}
        return is_only and role != str(GroupRole.LIVE)

    def _receive(self, connection: ReplicaConnection, seconds: float) -> ReplicaFrame | None:
        found = connection.receive(seconds)
        if found is None:
            return None
        if found.type == FAREWELL:
            raise ConnectionLost("the leader said farewell")
        return decode_replica_frame(found.type, found.request, found.buffer, found.start, found.end)

    def _install(self) -> bool:
        """Put the base in place. False: the arbiter has to be asked first, and does not answer."""
        last_term = 0
        if self._arbiter is not None:
            try:
                last_term = self._arbiter.read().last_term
            except ArbiterUnavailable as error:
                self._notes.write(str(error), replication_message("AMQ3281W", why=str(error)))
                return False
        aside = self.side.install(last_term)
        self._note(replication_message("AMQ3238I", instance=self.side.name, leader=self.side.leader))
        if aside:
            self._note(replication_message("AMQ3290I", instance=self.side.name, where=aside))
        self.is_installed = True
        self.done.set()
        return True


def _send(connection: ReplicaConnection, replies: list[ReplicaFrame]) -> None:
    for each in replies:
        connection.send(each.encode())


class BaseControl(RefusingControl):
    """Commands about copies at an instance that takes a base."""

    def __init__(
        self, queue_manager: str, section: ReplicationSection, side: BaseSide, why: str, directory: Path
    ) -> None:
        """`directory` is that of the queue manager."""
        self._queue_manager = queue_manager
        self._directory = directory
        self._section = section
        self._side = side
        self._why = why

    def status(self) -> GroupStatus:
        section = self._section
        percent = self._side.percent()
        is_linked = percent >= 0
        rows = tuple(
            InstanceStatus(
                each.name,
                InstanceRole.REPLICA,
                str(each.address),
                is_connected=is_linked,
                is_linked=is_linked,
                state=ReplicaState.REBASING if is_linked else ReplicaState.DISCONNECTED,
                base_percent=max(percent, 0),
            )
            if each.name == section.instance
            else InstanceStatus(
                each.name,
                InstanceRole.ACTIVE if is_linked and each.name == self._side.leader else InstanceRole.UNKNOWN,
                str(each.address),
            )
            for each in section.instances
        )
        return GroupStatus(
            queue_manager=self._queue_manager,
            instance=section.instance,
            role=InstanceRole.REPLICA,
            instances=rows,
            copies=section.copies,
            group_name=section.group_name or self._queue_manager,
            ha_status=HaStatus.SYNCHRONIZING if is_linked else HaStatus.INCONSISTENT,
            group_role=self._group_role(),
            dr_status=self._dr_status(is_linked),
            recovery_groups=self._other_sites(is_linked, max(percent, 0)),
        )

    def _group_role(self) -> GroupRole:
        if not self._section.recovery_groups:
            return GroupRole.NOT_CONFIGURED
        try:
            return read_site(self._directory, self._section).role
        except ConfigurationError:
            return GroupRole.UNKNOWN

    def _dr_status(self, is_linked: bool) -> HaStatus:
        """Return the status in the words of rdqmstatus: an interrupted copy is Inconsistent until the next is whole."""
        if not self._section.recovery_groups:
            return HaStatus.UNKNOWN
        return HaStatus.SYNCHRONIZING if is_linked else HaStatus.INCONSISTENT

    def _other_sites(self, is_linked: bool, percent: int) -> tuple[RecoveryGroupStatus, ...]:
        takes_from_site = is_linked and self._side.purpose == PURPOSE_DR
        return tuple(
            RecoveryGroupStatus(
                each.name,
                address=",".join(str(at) for at in each.addresses),
                state=ReplicaState.REBASING if takes_from_site else ReplicaState.DISCONNECTED,
                connection=GroupConnection.YES if takes_from_site else GroupConnection.NO,
                is_synchronous=each.type is ReplicationType.SYNCHRONOUS,
                base_percent=percent if takes_from_site else 0,
            )
            for each in self._section.recovery_groups
        )

    def refusal(self) -> str:
        """Return the text for applications that connect to this instance."""
        return (
            f"Instance {self._section.instance} of queue manager {self._queue_manager} takes a base from the active "
            f"instance, or waits for one: {self._why}."
        )

    def _refused(self) -> MQError:
        return MQError(mq.MQRC_STANDBY_Q_MGR, self.refusal())
