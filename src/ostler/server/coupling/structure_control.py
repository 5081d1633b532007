"""Commands on structures and shared message data sets, for the queue manager that is a member of a group."""

from __future__ import annotations

import socket
from collections.abc import Callable
from typing import Final

from ostler.command.admin.sharing_control import DataSetConnection, DataSetUsage, SharingControl
from ostler.model import constants as mq
from ostler.model.coupling import terms as cf
from ostler.model.coupling.answers import JoinAnswer
from ostler.model.coupling.events import Event, MemberChanged
from ostler.model.coupling.group_rows import MemberRow
from ostler.model.coupling.port import EventListener
from ostler.model.coupling.status_rows import SUSPENDED, DataSetOptions, DataSetStatus
from ostler.model.errors import MQError
from ostler.model.shared_repository import MEMBERS, SharedRepository
from ostler.server.config.directories import QueueManagerDirectory
from ostler.server.config.ini_file import ConfigurationError
from ostler.server.config.qm_ini import LogType, QueueManagerIni
from ostler.server.coupling.data_sets.data_sets import StructureDataSets
from ostler.server.coupling.data_sets.offload_service import CLOSED, OPEN, OffloadService, StructureOffload
from ostler.server.coupling.structure_logs import member_directory
from ostler.server.queue_manager import QueueManager

_CLOSE_SECONDS: Final = 20.0
_PAUSE_SECONDS: Final = 0.001


class StructureControl(SharingControl):
    """The calls come on command threads. They change data sets in turns of the engine, and wait outside of them."""

    def __init__(self, manager: QueueManager, offload: OffloadService, repository: SharedRepository) -> None:
        self._manager = manager
        self._offload = offload
        self._repository = repository
        self.failures = MemberFailures(offload.states.now_ms)

    @property
    def repository(self) -> SharedRepository:
        return self._repository

    def system_name(self, address: str) -> str:
        host = address.partition("(")[0]
        return socket.gethostname() if not host or "/" in host else host

    def failed_ms(self, member: int) -> int:
        return self.failures.times.get(member, 0)

    def note_structure_failed(self, structure: str) -> None:
        self._offload.states.note_structure(structure, True)

    def circular_members(self) -> list[str]:
        found: list[str] = []
        for row in self._repository.rows(MEMBERS):
            member = MemberRow.decode(row.data)
            directory = member_directory(member)
            if directory is not None and _log_type(directory) == LogType.CIRCULAR:
                found.append(member.name)
        return found

    # -- data sets -----------------------------------------------------------------------------------------------------

    def data_set_status(self, structure: str, owner: str) -> DataSetStatus:
        self._offload.states.refresh()
        return self._offload.states.status(structure, owner)

    def data_set_options(self, structure: str, owner: str) -> DataSetOptions | None:
        self._offload.states.refresh()
        return self._offload.states.options(structure, owner)

    def data_set_owners(self, structure: str) -> list[str]:
        self._offload.states.refresh()
        return self._offload.states.owners(structure)

    def follow_options(self, structure: str, owner: str) -> None:
        self._offload.states.refresh()
        options = self._offload.states.options(structure, owner)
        with self._manager.turn:
            self._offload.apply_settings()
            self._offload.announce()
            found = self._offload.structures.get(structure)
        expands = options is None or options.expand != mq.MQDSE_NO
        if found is not None and owner == self._manager.name and expands:
            found.sets.own.retry_expansion()

    def reset_data_set(self, structure: str, owner: str, status: str, access: str) -> DataSetStatus:
        states = self._offload.states
        changed = states.command(structure, owner, lambda before: before.reset(status, access, states.now_ms()))
        found = self._find(structure)
        name = found.sets.describe(owner)
        if status:
            self._manager.note(f"AMQ7521I: {name} now has STATUS({changed.status}).")
        if access or changed.access == SUSPENDED:
            self._manager.note(f"AMQ7534I: {name} now has ACCESS({changed.access}).")
        with self._manager.turn:
            self._offload.announce()
            found.pause_ticks = 0
            self._offload.review(found)
        found.sets.look()
        if owner == self._manager.name and not changed.is_usable():
            self._wait_closed(found)
        return changed

    # -- connections ---------------------------------------------------------------------------------------------------

    def connections(self, structure: str) -> list[DataSetConnection]:
        with self._manager.turn:
            found = self._offload.find(structure)
        return _connections(found.sets) if found is not None else []

    def start_connection(self, structure: str, owner: str) -> None:
        found = self._find(structure)
        if owner != self._manager.name:
            found.sets.start(owner)
            return
        with self._manager.turn:
            found.is_stopped = False
            found.pause_ticks = 0
            found.sets.start(owner)
            if found.phase == CLOSED and self._offload.sharing.is_joined:
                self._offload.open(found)

    def stop_connection(self, structure: str, owner: str) -> None:
        found = self._find(structure)
        if owner != self._manager.name:
            found.sets.stop(owner)
            return
        with self._manager.turn:
            found.is_stopped = True
            found.sets.connection.available = "STOPPED"
            self._offload.review(found)
        self._wait_closed(found)

    def _find(self, structure: str) -> StructureOffload:
        with self._manager.turn:
            found = self._offload.find(structure)
        if found is None:
            raise MQError(mq.MQRCCF_SMDS_REQUIRES_DSGROUP, f"{structure} has no DSGROUP, so no data sets.")
        return found

    def _wait_closed(self, found: StructureOffload) -> None:
        """Return when the own data set is closed. Raises MQError when that takes too long."""
        machine = self._manager.machine
        deadline = machine.monotonic() + _CLOSE_SECONDS
        while found.phase != CLOSED:
            if machine.monotonic() > deadline:
                raise MQError(mq.MQRC_RESOURCE_PROBLEM, "The data set is not closed yet: it is being used.")
            machine.sleep(_PAUSE_SECONDS)

    # -- figures -------------------------------------------------------------------------------------------------------

    def usage(self) -> list[DataSetUsage]:
        with self._manager.turn:
            structures = dict(self._offload.structures)
        return [_usage(found.sets) for _, found in sorted(structures.items()) if found.phase == OPEN]


def _log_type(directory: QueueManagerDirectory) -> LogType | None:
    try:
        return QueueManagerIni.read(directory.ini).settings.log.type
    except (OSError, ConfigurationError):
        return None  # it is on another machine, or broken


def _connections(sets: StructureDataSets) -> list[DataSetConnection]:
    return [
        DataSetConnection(
            sets.structure,
            each.owner,
            each.open_mode,
            each.status,
            each.available,
            sets.own.expand_status if each.is_own else "NORMAL",
        )
        for each in list(sets.connections.values())
    ]


def _usage(sets: StructureDataSets) -> DataSetUsage:
    found = sets.usage()
    figures = found.figures
    return DataSetUsage(
        found.structure,
        found.messages,
        found.total_blocks,
        found.data_blocks,
        found.used_blocks,
        found.block_bytes,
        found.buffers,
        found.in_use,
        found.saved,
        found.empty,
        int(figures.reads),
        int(figures.reads_saved),
        int(figures.lowest_free),
        int(figures.requests),
        int(figures.waits),
    )


class MemberFailures(EventListener):
    """Remembers when members failed, by their numbers, as this one heard of it."""

    def __init__(self, now_ms: Callable[[], int]) -> None:
        self.times: dict[int, int] = {}
        self._now_ms = now_ms

    def on_event(self, event: Event) -> None:
        if isinstance(event, MemberChanged) and event.state == cf.MEMBER_FAILED:
            self.times[int(event.member)] = self._now_ms()

    def on_joined(self, answer: JoinAnswer) -> None:
        """Nothing is known of failures from before."""

    def on_link_lost(self) -> None:
        """What was heard stays."""
