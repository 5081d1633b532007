"""A group whose instances exist in words only: what commands ask of it is carried out on its status.

It stands where the agent of an instance is: behind the port ReplicationControl, in a queue manager that runs.
"""

from __future__ import annotations

import os
import time
from dataclasses import replace

from ostler.model import constants as mq
from ostler.model.errors import MQError
from ostler.model.replication import (
    ChangeRole,
    GroupRole,
    GroupStatus,
    Prefer,
    ReplicationRequest,
    Resolve,
    Resume,
    Suspend,
    SwitchOver,
)
from ostler.server.admin.control_actions import control_actions
from ostler.server.assembly import Server
from ostler.server.config.directories import QueueManagerDirectory
from ostler.server.config.process_file import ManagerState, ProcessRecord, write_record
from ostler.server.daemon import Daemon, EndRequest, StartFailure
from ostler.server.queue_manager import QueueManager
from ostler.server.replica.control import ReplicationControl
from ostler.server.replica.messages import replication_message


class ScriptedGroup(ReplicationControl):
    def __init__(self, status: GroupStatus) -> None:
        self.now = status
        self.asked: list[ReplicationRequest] = []
        self.refusal = ""
        """Requests are refused with this text."""

    def _take(self, request: ReplicationRequest) -> None:
        if self.refusal:
            raise MQError(mq.MQRC_OPTION_NOT_VALID_FOR_TYPE, self.refusal)
        self.asked.append(request)

    def status(self) -> GroupStatus:
        return self.now

    def switch_over(self, request: SwitchOver) -> str:
        self._take(request)
        successor = next(each for each in self.now.instances if each.is_in_sync and each.name != self.now.instance)
        return replication_message("AMQ3272I", instance=successor.name, name=self.now.queue_manager)

    def _set_suspended(self, name: str, is_suspended: bool) -> str:
        wanted = name or self.now.instance
        instances = tuple(
            replace(each, is_suspended=is_suspended) if each.name == wanted else each for each in self.now.instances
        )
        self.now = replace(self.now, instances=instances)
        number = "AMQ3273I" if is_suspended else "AMQ3274I"
        return replication_message(number, instance=wanted, name=self.now.queue_manager)

    def suspend(self, request: Suspend) -> str:
        self._take(request)
        return self._set_suspended(request.instance, True)

    def resume(self, request: Resume) -> str:
        self._take(request)
        return self._set_suspended(request.instance, False)

    def prefer(self, request: Prefer) -> str:
        self._take(request)
        self.now = replace(self.now, preferred=request.instance)
        if not request.instance:
            return replication_message("AMQ3276I", name=self.now.queue_manager)
        return replication_message("AMQ3275I", instance=request.instance, name=self.now.queue_manager)

    def resolve(self, request: Resolve) -> str:
        self._take(request)
        return replication_message("AMQ3277I", instance=self.now.instance, name=self.now.queue_manager)

    def change_role(self, request: ChangeRole) -> str:
        self._take(request)
        if request.role is GroupRole.LIVE and not request.forces and self.now.group_role is GroupRole.RECOVERY:
            raise MQError(mq.MQRC_OPTION_NOT_VALID_FOR_TYPE, "the live site runs, and the link works.")
        self.now = replace(self.now, group_role=request.role)
        inserts = {"group": self.now.group_name, "name": self.now.queue_manager, "role": request.role}
        return replication_message("AMQ3278I", **inserts)


class _Nobody:
    def progress(self, done_bytes: int, total_bytes: int) -> None: ...

    def ready(self, manager: QueueManager) -> None: ...

    def failed(self, failure: StartFailure) -> None: ...


class RunningInstance:
    """An instance that runs in this process, with its local socket and the actions of commands."""

    def __init__(self, directory: QueueManagerDirectory, group: ReplicationControl | None, state: ManagerState) -> None:
        self.manager = QueueManager(directory)
        if group is not None:
            self.manager.replication = group
        self.manager.start()
        self.server = Server(self.manager)
        self.daemon = Daemon(directory, _Nobody(), lambda manager, daemon: self.server, "test", "test")
        self.daemon.is_ending.set()
        self.server.actions.update(control_actions(self.manager, self.daemon))
        self.server.start(with_listeners=False)
        started = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
        write_record(directory, ProcessRecord(os.getpid(), started, "test", "test", state))

    def asked_to_end(self) -> list[EndRequest]:
        found: list[EndRequest] = []
        while not self.daemon._requests.empty():
            request = self.daemon._requests.get()
            if request is not None:
                found.append(request)
        return found

    def end(self) -> None:
        self.server.end("immediate")
