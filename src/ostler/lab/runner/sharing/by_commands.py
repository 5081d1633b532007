"""A queue-sharing group on this machine: a coupling facility, a shared repository, and the members.

This is the only module of the laboratory that knows how groups are made.
"""

from __future__ import annotations

import json
import time
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Final

from ostler.client.api.connection import connect
from ostler.lab.peers import postgresql
from ostler.lab.peers.packages import PeerUnavailable
from ostler.lab.runner.contract import Metric, PointFailed, RunAborted
from ostler.lab.runner.queue_managers.plan import merged_stanzas
from ostler.lab.runner.queue_managers.process import LabQueueManager
from ostler.lab.runner.sharing import data_set_figures
from ostler.lab.runner.sharing.facilities import start_facility
from ostler.lab.runner.sharing.plan import GROUP, RepositoryKind, SharingPlan
from ostler.lab.runner.sharing.port import (
    BUFFER_WAITS,
    ENTRIES,
    LOWEST_FREE,
    OFFLOADED,
    READS_SAVED,
    STRUCTURES,
    USED_PERCENT,
    SharingGroup,
)
from ostler.lab.sampling.process_sampler import WatchedProcess
from ostler.lab.store.roles import QUEUE_MANAGER, REPOSITORY, role_at
from ostler.model.coupling import terms as cf
from ostler.model.coupling.answers import MembersAnswer
from ostler.model.coupling.programs import MembersProgram
from ostler.model.errors import MQError
from ostler.model.shared_repository import RepositoryUnavailable
from ostler.server.config.sharing_ini import STANZA
from ostler.server.coupling.repository.opening import open_repository

_START_SECONDS_MAX: Final = 60.0
_POLL_SECONDS: Final = 0.02
_WATCH_SECONDS: Final = 0.002
"""Between two questions for the state of a member: short beside what is measured."""


def start_sharing(root: Path, plan: SharingPlan) -> SharingGroup:
    """Create and start a group; see `port.StartSharing`."""
    return CommandedSharingGroup(root, plan)


class CommandedSharingGroup(SharingGroup):
    """A facility and its members."""

    def __init__(self, root: Path, plan: SharingPlan) -> None:
        self.root = root
        self.plan = plan
        self._members: list[LabQueueManager] = []
        self._servers: list[WatchedProcess] = []
        """Of the shared repository."""
        self._stack = ExitStack()
        try:
            self._make()
        except (PointFailed, OSError) as failure:
            self.end()
            raise RunAborted(f"The queue-sharing group does not start: {failure}") from None
        except BaseException:
            self.end()
            raise

    def _make(self) -> None:
        self.root.mkdir(parents=True, exist_ok=True)
        self._facility = start_facility(self.plan)
        self._stack.callback(self._facility.end)
        shared = {"GroupDirectory": str(self.directory), **self._repository()}
        for number in range(self.plan.members):
            lines = {STANZA: {**self._facility.stanza(number, self.plan.structure_megabytes), **shared}}
            manager = self.plan.manager
            made = replace(manager, name=f"{manager.name}{number}", stanzas=merged_stanzas(manager.stanzas, lines))
            member = LabQueueManager(self.root / f"member-{number}", made)
            self._members.append(member)
        for number in range(self.plan.members):
            self.mqsc(number, "ALTER QMGR CFCONLOS(TOLERATE)")
        self.mqsc(0, "\n".join(self.plan.commands()))
        for member in self._members:
            self._wait_until_joined(member)

    def _repository(self) -> dict[str, str]:
        """Start the server of the shared repository where there is one, and return its line of qm.ini."""
        self.directory.mkdir(parents=True, exist_ok=True)
        if self.plan.repository is RepositoryKind.SQLITE:
            return {}
        try:
            server = postgresql.start()
        except PeerUnavailable as failure:
            raise PointFailed(str(failure)) from None
        self._stack.callback(server.remove)
        self._servers = [WatchedProcess(role_at(QUEUE_MANAGER, REPOSITORY), pid) for pid in server.peer.pids]
        try:
            repository = open_repository(server.url, GROUP)
            repository.create()
            repository.close()
        except RepositoryUnavailable as failure:
            raise PointFailed(str(failure)) from None
        return {"Repository": server.url}

    @property
    def directory(self) -> Path:
        return self.root / "group"

    def data_set_figures(self, member: int) -> list[Metric]:
        path = self.root / "figures.json"
        self._members[member].call_trusted(data_set_figures.TARGET, self._members[member].name, str(path))
        found: list[Metric] = []
        for each in json.loads(path.read_text(encoding="utf-8")):
            waits, reads = each["waits"] / max(each["requests"], 1), each["reads_saved"] / max(each["reads"], 1)
            found.append(Metric(STRUCTURES, BUFFER_WAITS, 100 * waits, each["structure"]))
            found.append(Metric(STRUCTURES, READS_SAVED, 100 * reads, each["structure"]))
            found.append(Metric(STRUCTURES, LOWEST_FREE, float(each["lowest_free"]), each["structure"]))
        return found

    def _wait_until_joined(self, member: LabQueueManager) -> None:
        """Wait until applications of a member can open every shared queue."""
        deadline = time.monotonic() + _START_SECONDS_MAX
        waiting = [queue.name for queue in self.plan.queues]
        why = ""
        try:
            with connect(member.name, data=member.root, binding="local", application="ostler-lab") as application:
                while waiting:
                    try:
                        application.open(waiting[-1], "rw").close()
                        waiting.pop()
                        continue
                    except MQError as error:
                        why = str(error)
                    if time.monotonic() > deadline:
                        raise PointFailed(f"queue manager {member.name} cannot use {waiting[-1]}: {why}")
                    time.sleep(_POLL_SECONDS)
        except MQError as error:
            raise PointFailed(f"queue manager {member.name} takes no application: {error}") from None

    @property
    def members(self) -> Sequence[LabQueueManager]:
        return self._members

    @property
    def is_alive(self) -> bool:
        return self._facility.is_alive and all(each.is_alive for each in self._members)

    def describe_end(self) -> str:
        ended = self._facility.describe_end()
        return ended or next((each.describe_end() for each in self._members if not each.is_alive), "")

    def watched_facility(self) -> list[WatchedProcess]:
        return [*self._facility.watched(), *self._servers]

    @property
    def limit_note(self) -> str:
        return self._facility.limit_note

    def results(self) -> list[Metric]:
        found: list[Metric] = []
        for each in self._facility.status().structures:
            used = 100 * int(each.used_bytes) / int(each.limit_bytes) if each.limit_bytes else 0.0
            found.append(Metric(STRUCTURES, USED_PERCENT, used, each.name))
            found.append(Metric(STRUCTURES, ENTRIES, float(each.entries), each.name))
            found.append(Metric(STRUCTURES, OFFLOADED, float(each.offloaded), each.name))
        return found

    def watched(self) -> list[WatchedProcess]:
        members = [process for each in self._members if each.is_alive for process in each.watched()]
        return [*members, *self.watched_facility()]

    def wait_until_recovered(self, member: int, seconds_max: float) -> None:
        deadline = time.monotonic() + seconds_max
        state = ""
        with self._facility.asking() as client:
            while time.monotonic() < deadline:
                found = client.run(MembersProgram())
                assert isinstance(found, MembersAnswer)
                state = next((cf.MEMBER_STATES[each.state] for each in found.members if each.number == member + 1), "")
                if state == cf.MEMBER_STATES[cf.MEMBER_LEFT]:
                    return
                time.sleep(_WATCH_SECONDS)
        raise PointFailed(f"queue manager {self._members[member].name} is {state or 'unknown'} after {seconds_max:g} s")

    def mqsc(self, member: int, text: str) -> list[str]:
        return self._members[member].mqsc(text)

    def kill(self, member: int) -> None:
        if not self._members[member].is_alive:
            raise PointFailed(f"queue manager {self._members[member].name} does not run")
        self._members[member].kill()

    def stop(self, member: int) -> None:
        self._members[member].end()

    def start(self, member: int) -> None:
        try:
            self._members[member] = self._members[member].start_again()
        except RunAborted as failure:
            raise PointFailed(str(failure)) from None
        self._wait_until_joined(self._members[member])

    def end(self) -> None:
        members, self._members = self._members, []
        for each in members:
            each.end()
        self._stack.close()
