"""The process of an instance until it leads: it follows, answers commands on its local socket, and waits.

`open_instance` makes all its parts. `wait` returns when the instance was elected; the daemon then starts the queue
manager around the same engine. When an instance that led gives up, its process begins anew and follows.
"""

from __future__ import annotations

import os
import stat
import time
from collections.abc import Callable
from pathlib import Path
from typing import Final

from ostler.model import constants as mq
from ostler.model.arbiter import Arbiter
from ostler.model.errors import MQError
from ostler.model.replication import GroupRole
from ostler.replica.base_files import BaseFiles
from ostler.replica.base_side import BaseSide
from ostler.replica.pair_side import PairNote, emptied
from ostler.server.admin.actions import Action, Answers, Arguments, Caller, text_argument
from ostler.server.admin.replication_actions import replication_actions
from ostler.server.config.directories import InstanceLock
from ostler.server.config.replication_ini import ArbiterSection, ArbiterType, ReplicationSection
from ostler.server.net.outgoing_sockets import error_text
from ostler.server.queue_manager import QueueManager, ReplicationUnavailable, log_disk, log_settings
from ostler.server.replica.address_command import DOWN, UP, run_address_command
from ostler.server.replica.agent import InstanceAgent, Promotion
from ostler.server.replica.agent_control import AgentControl
from ostler.server.replica.base_wanted import reason_for_base
from ostler.server.replica.etcd_arbiter import EtcdArbiter
from ostler.server.replica.etcd_http import EtcdSettings
from ostler.server.replica.file_arbiter import FileArbiter
from ostler.server.replica.following import replication_listener
from ostler.server.replica.group_tls import GroupTls
from ostler.server.replica.guardian import Guardian
from ostler.server.replica.leader_scrub import LeaderScrub
from ostler.server.replica.pair.agent import PairAgent, PairControl
from ostler.server.replica.pair.notes import read_note, write_note
from ostler.server.replica.side.files import SideFiles
from ostler.server.replica.site.keeper import SiteKeeper
from ostler.server.replica.standby_socket import StandbySocket
from ostler.server.replica.taking_base import BaseControl, TakingBase

RequestEnd = Callable[[str, float, str], None]
"""Requests the end of the instance: mode, seconds to wait, who asked."""

_PASSWORD_BYTES_MAX: Final = 4096
_NO_ARBITER: Final = (
    "AMQ3205E: A pair without an arbiter cannot have a recovery group: give it a stanza Arbiter in qm.ini, or remove "
    "NativeHARecoveryGroup."
)
_SOLE_ARBITER: Final = "arbiter"  # in the directory of an instance that has no other beside it


class BaseParts:
    """An instance that wants a base, until it has one."""

    def __init__(self, manager: QueueManager, section: ReplicationSection, note: Callable[[str], None]) -> None:
        """Raises RepositoryError, MQError and OSError."""
        self.manager = manager
        tls = make_tls(section, manager.directory.path)
        self._arbiter: Arbiter | None = None
        if is_pair(section):
            # A copy that takes a base has nothing to lead with until its leader says so.
            path = manager.directory.path
            write_note(path, emptied(read_note(path, section.instance) or PairNote(section.instance)))
        else:
            self._arbiter = make_arbiter(section, manager.name, manager.directory.path)
        self._lock = InstanceLock(manager.directory)
        disk, log_directory = log_disk(manager.directory, manager.settings, manager.disk, manager.machine)
        group = section.group_name or manager.name
        settings = log_settings(manager.settings.log)
        side = BaseSide(
            section.instance, group, manager.name, manager.disk, disk, log_directory, settings, manager.set_limits
        )
        if section.recovery_groups:
            side.other_group = section.recovery_groups[0].name
        try:
            listener = replication_listener(section)
        except BaseException:
            self._lock.release()
            raise
        self.taking = TakingBase(side, section, self._arbiter, listener, tls, note)
        self.why = reason_for_base(manager.directory.path)
        self.control = BaseControl(manager.name, section, side, self.why, manager.directory.path)
        manager.replication = self.control

    def open_socket(self, request_end: RequestEnd, started: str, version: str) -> StandbySocket:
        """Answer commands until the base is there."""
        return _open_socket(self.manager, self.control.refusal, request_end, started, version)

    def finish(self) -> bool:
        """Return True when the base is in place: the instance can follow now."""
        self.taking.close()
        if self._arbiter is not None:
            self._arbiter.close()
        self._lock.release()
        return self.taking.is_installed


def complete_exchange(manager: QueueManager) -> None:
    """Put a base in place that was whole when the process ended. Raises DiskFailed."""
    files = base_files(manager)
    if files.is_whole():
        with InstanceLock(manager.directory):
            files.exchange()


def base_files(manager: QueueManager) -> BaseFiles:
    disk, log_directory = log_disk(manager.directory, manager.settings, manager.disk, manager.machine)
    return BaseFiles(manager.disk, disk, log_directory)


class InstanceParts:
    """An instance that follows, with everything that runs in its process."""

    def __init__(self, manager: QueueManager, section: ReplicationSection, note: Callable[[str], None]) -> None:
        """Raises what opening the log raises, ReplicationUnavailable, RepositoryError, MQError and OSError."""
        tls = make_tls(section, manager.directory.path)
        self.manager = manager
        self._note = note
        sites = SiteKeeper(manager.directory.path, section, tls, note) if section.recovery_groups else None
        side = SideFiles(manager.directory, section, note)
        self.standby = manager.open_standby(section.keep_extents)
        self.agent: InstanceAgent
        self.control: AgentControl
        try:
            turn, files = manager.turn, base_files(manager)
            side.store.complete()
            if is_pair(section):
                path = manager.directory.path
                pair = PairAgent(manager.name, section, tls, self.standby, path, note, turn, files, side)
                self.agent, self.control = pair, PairControl(pair)
            else:
                arbiter = make_arbiter(section, manager.name, manager.directory.path)
                guardian: Guardian | None = None
                if isinstance(arbiter, EtcdArbiter):
                    guardian = Guardian(arbiter.settings, section.group_name or manager.name, manager.name)
                self.agent = InstanceAgent(
                    manager.name, section, arbiter, tls, self.standby, note, turn, files, side, sites, guardian
                )
                self.control = AgentControl(self.agent)
        except BaseException:
            manager.close_standby(self.standby)
            raise
        manager.replication = self.control

    def open_socket(self, request_end: RequestEnd, started: str, version: str) -> StandbySocket:
        """Answer commands until this instance leads or ends."""
        return _open_socket(self.manager, self.control.refusal, request_end, started, version)

    def wait(self, seconds: float) -> Promotion | None:
        """Wait for the election of this instance. None: it was not elected in this time, or it cannot follow."""
        self.agent.changed.wait(seconds)
        return self.agent.promotion

    @property
    def is_over(self) -> bool:
        """The instance follows no more: its copy has failed, it was deposed, or it begins anew."""
        return bool(self.agent.failure or self.agent.deposed or self.begins_anew)

    @property
    def begins_anew(self) -> str:
        """The reason for which the process of a follower begins anew; empty: it does not."""
        if self.agent.base_wanted:
            return f"it takes a base: {self.agent.base_wanted}"
        return "" if self.agent.sites is None else self.agent.sites.begins_anew

    @property
    def is_handing_over(self) -> bool:
        """The queue manager is to end here, and the rest of its log goes to the other site."""
        sites = self.agent.sites
        return sites is not None and (sites.is_handing_over or sites.site.group_role is GroupRole.PENDING_RECOVERY)

    def hand_over(self) -> None:
        """Send the rest of the log to the other site. Called when the queue manager has ended."""
        assert self.agent.sites is not None
        self.agent.sites.hand_over()

    def start_scrub(self) -> None:
        """Look for damage in the files of this copy from now on: the instance leads."""
        agent, manager = self.agent, self.manager
        leading = agent.leading
        if leading is None or not agent.section.instances:
            return  # it was deposed, or no other instance could repair anything
        scrub = LeaderScrub(
            leading,
            self.standby.log,
            lambda: manager.turn,
            lambda: bool(manager.end_mode or agent.deposed),
            self._note,
        )
        manager.on_end.append(scrub.stop)
        scrub.start()

    def take_address(self) -> None:
        """Run AddressCommand up: this instance leads."""
        self._move_address(UP)

    def release_address(self) -> None:
        """Run AddressCommand down: this instance does not lead, or no more."""
        self._move_address(DOWN)

    def _move_address(self, word: str) -> None:
        command = self.agent.section.address_command
        run_address_command(command, word, self.manager.name, self.agent.name, self.manager.note)

    def close(self, why: str) -> None:
        """End an instance that follows."""
        self.agent.stop(why)
        self.manager.close_standby(self.standby)


def _open_socket(
    manager: QueueManager, refusal: Callable[[], str], request_end: RequestEnd, started: str, version: str
) -> StandbySocket:
    actions: dict[str, Action] = dict(replication_actions(manager))
    actions.update(_actions(manager, request_end, started, version))
    return StandbySocket(manager.directory, actions, refusal, manager.users.is_administrator, manager.note)


def check_can_run(manager: QueueManager, section: ReplicationSection) -> None:
    """Raise ReplicationUnavailable when an instance lacks something to start."""
    missing = section.missing()
    if missing:
        raise ReplicationUnavailable(missing)
    if is_pair(section) and section.recovery_groups:
        raise ReplicationUnavailable(_NO_ARBITER)


def is_pair(section: ReplicationSection) -> bool:
    """Return True for two instances without an arbiter."""
    return section.arbiter.type is ArbiterType.NONE and len(section.instances) > 1


def make_arbiter(section: ReplicationSection, queue_manager: str, directory: Path) -> Arbiter:
    """Return the arbiter of the stanza. A sole instance has nobody to agree with: its keys are in its directory."""
    settings = section.arbiter
    group = section.group_name or queue_manager
    if not section.instances:
        return FileArbiter(directory / _SOLE_ARBITER)
    if settings.type is ArbiterType.FILE:
        return FileArbiter(Path(settings.path) / group / queue_manager, settings.lease_seconds)
    return EtcdArbiter(etcd_settings(settings), group, queue_manager)


def etcd_settings(settings: ArbiterSection) -> EtcdSettings:
    """Return the stanza as etcd's client needs it. Raises ReplicationUnavailable for a useless password file."""
    return EtcdSettings(
        settings.endpoints,
        settings.lease_seconds,
        user=settings.user,
        password=_password(Path(settings.password_file)) if settings.password_file else "",
        ca_file=settings.ca_file,
        certificate_file=settings.certificate_file,
        key_file=settings.key_file,
    )


def _password(path: Path) -> str:
    """Return the first line of a file that only its owner can read."""
    try:
        with path.open("rb") as file:
            mode = stat.S_IMODE(os.fstat(file.fileno()).st_mode)
            data = file.read(_PASSWORD_BYTES_MAX + 1)
    except OSError as error:
        raise ReplicationUnavailable(f"AMQ3205E: PasswordFile {path}: {error_text(error)}.") from None
    if mode & 0o077:
        raise ReplicationUnavailable(
            f"AMQ3205E: PasswordFile {path} has mode {mode:03o}, so others can read it. Make it 600."
        )
    try:
        password = data.decode("utf-8").partition("\n")[0].rstrip("\r")
    except UnicodeDecodeError:
        password = ""
    if not password or len(data) > _PASSWORD_BYTES_MAX:
        raise ReplicationUnavailable(f"AMQ3205E: PasswordFile {path} has no password in its first line.")
    return password


def make_tls(section: ReplicationSection, directory: Path) -> GroupTls | None:
    """Return the TLS of the group; None without a key repository. Raises RepositoryError and MQError."""
    repository = section.repository(directory)
    if repository is None:
        return None
    return GroupTls(
        repository,
        section.key_repository_password,
        section.certificate_label or section.instance,
        section.cipher_spec,
        None if section.recovery_groups else frozenset(each.name for each in section.instances),
    )


def _actions(manager: QueueManager, request_end: RequestEnd, started: str, version: str) -> dict[str, Action]:
    began = time.time()

    def status(arguments: Arguments, caller: Caller) -> Answers:
        """The status of an instance that follows."""
        _check_owner(caller)
        yield {
            "name": manager.name,
            "status": "Replica",
            "started": started,
            "version": version,
            "uptime_seconds": round(time.time() - began, 3),
            "connections": 0,
            "notices": list(manager.notices[-10:]),
        }

    def end(arguments: Arguments, caller: Caller) -> Answers:
        """endmqm at an instance that follows: it has nothing to wait for."""
        _check_owner(caller)
        request_end(text_argument(arguments, "mode", "quiesce"), 0.0, caller.user)
        yield {"line": f"The end of this instance of queue manager {manager.name} has begun."}
        yield {"accepted": True}

    return {"status": status, "end": end}


def _check_owner(caller: Caller) -> None:
    if not caller.is_owner:
        raise MQError(mq.MQRC_NOT_AUTHORIZED, f"User {caller.user} may not do this: only the owner of the files may.")
