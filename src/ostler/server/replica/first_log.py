"""The first log of an instance that was created empty (crtmqm --replica, -sxs).

It waits for a leader of its group, takes the identity of the log from its first frame, and creates an empty log with
that. The leader then sends everything from the beginning. When the leader's log does not reach back to its beginning
any more, the instance needs a base, and the leader says so.
"""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable
from typing import Final

from ostler.model import constants as mq
from ostler.model.errors import MQError
from ostler.model.replication import (
    ChangeRole,
    GroupStatus,
    HaStatus,
    InstanceRole,
    InstanceStatus,
    Prefer,
    Resolve,
    Resume,
    Suspend,
    SwitchOver,
)
from ostler.replica.site_side import sends
from ostler.server.config.replication_ini import ReplicationSection
from ostler.server.rate_limited_log import RateLimitedLog
from ostler.server.replica.control import ReplicationControl
from ostler.server.replica.group_tls import GroupTls, certified_instance
from ostler.server.replica.transport import ConnectionLost, ReplicaConnection
from ostler.server.supervised_thread import SupervisedThread
from ostler.wire.frames import MalformedFrame
from ostler.wire.replica_frames import FIRST_REPLICA_FRAME_BYTES_MAX, PURPOSE_DR, ReplicaHello, decode_replica_frame

_ACCEPT_SECONDS: Final = 0.5
_HELLO_SECONDS: Final = 10.0


class FirstLog:
    """Waits for a leader on the replication address. `identity` is that of its log, once it was heard."""

    def __init__(
        self,
        queue_manager: str,
        section: ReplicationSection,
        file_pages: int,
        listener: socket.socket,
        tls: GroupTls | None,
        note: Callable[[str], None],
    ) -> None:
        self.identity = b""
        self.heard = threading.Event()
        self._queue_manager = queue_manager
        self._section = section
        self._file_pages = file_pages
        self._listener = listener
        self._tls = tls
        self._notes = RateLimitedLog(note)
        self._stopping = threading.Event()
        listener.settimeout(_ACCEPT_SECONDS)
        self._thread = SupervisedThread(
            "ostler-replica",
            "thread that waits for a leader",
            self._run,
            self._is_over,
            note,
            stopping=self._stopping,
        )
        self._thread.start()

    def close(self) -> None:
        self._stopping.set()
        self._thread.join()
        self._listener.close()

    def _is_over(self) -> bool:
        return self._stopping.is_set() or self.heard.is_set()

    def _run(self) -> None:
        while not self._is_over():
            try:
                accepted, address = self._listener.accept()
            except TimeoutError:
                continue
            stream = self._tls.stream(True) if self._tls is not None else None
            where = f"{address[0]}({address[1]})"
            connection = ReplicaConnection(accepted, where, stream, FIRST_REPLICA_FRAME_BYTES_MAX)
            try:
                self._take(connection)
            except (ConnectionLost, MalformedFrame, ValueError) as refused:
                self._notes.write(str(refused), f"AMQ3280W: A connection from {where} is refused: {refused}")
            finally:
                # The leader connects again, and finds a follower with an empty log.
                connection.close("closed")

    def _take(self, connection: ReplicaConnection) -> None:
        """Take the identity from a leader's hello. Raises ConnectionLost, MalformedFrame, ValueError."""
        connection.finish_handshake()
        found = connection.receive(_HELLO_SECONDS)
        if found is None:
            raise ValueError("no hello came in time.")
        hello = decode_replica_frame(found.type, found.request, found.buffer, found.start, found.end)
        if not isinstance(hello, ReplicaHello) or hello.is_reply:
            raise ValueError("the first frame is no hello.")
        is_site = hello.purpose == PURPOSE_DR
        if is_site and not sends(hello.site_role):
            raise ValueError(f"{hello.group} asked what this site does: it is empty.")
        group = self._section.group_name or self._queue_manager
        if is_site:
            group = self._section.recovery_groups[0].name if self._section.recovery_groups else ""
        if hello.queue_manager != self._queue_manager or hello.group != group:
            raise ValueError(f"it is {hello.queue_manager} of group {hello.group}.")
        is_known = is_site or self._section.address_of(hello.instance) is not None
        if not is_known or hello.instance == self._section.instance:
            raise ValueError(f"{hello.instance} is no other instance of this group.")
        if connection.stream is not None and certified_instance(connection.stream) != hello.instance:
            raise ValueError(f"the certificate is not that of {hello.instance}.")
        if hello.file_pages != self._file_pages:
            raise ValueError(
                f"LogFilePages is {hello.file_pages} there and {self._file_pages} here. Create this instance again "
                "with the same."
            )
        self.identity = hello.identity
        self.heard.set()


class EmptyControl(ReplicationControl):
    """Commands about copies at an instance that has no log yet."""

    def __init__(self, queue_manager: str, section: ReplicationSection) -> None:
        self._queue_manager = queue_manager
        self._section = section

    def status(self) -> GroupStatus:
        section = self._section
        rows = tuple(
            InstanceStatus(
                each.name,
                InstanceRole.REPLICA if each.name == section.instance else InstanceRole.UNKNOWN,
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
            ha_status=HaStatus.SYNCHRONIZING,
        )

    def refusal(self) -> str:
        """Return the text for applications that connect to this instance."""
        return (
            f"Instance {self._section.instance} of queue manager {self._queue_manager} was created empty, and waits "
            "for the log of the active instance."
        )

    def _refused(self) -> MQError:
        return MQError(mq.MQRC_STANDBY_Q_MGR, self.refusal())

    def switch_over(self, request: SwitchOver) -> str:
        raise self._refused()

    def suspend(self, request: Suspend) -> str:
        raise self._refused()

    def resume(self, request: Resume) -> str:
        raise self._refused()

    def prefer(self, request: Prefer) -> str:
        raise self._refused()

    def resolve(self, request: Resolve) -> str:
        raise self._refused()

    def change_role(self, request: ChangeRole) -> str:
        raise self._refused()
