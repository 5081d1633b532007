"""Family `storage`: the memory of a queue manager for each connection, each client channel and each object.

It is the growth of the resident memory of its process, divided by their number.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Final

from ostler import __version__
from ostler.lab.families import footprint
from ostler.lab.families.channels.memory import ChannelMemory
from ostler.lab.families.held_connections import (
    BareConnectionServer,
    ConnectionServer,
    HoldSpec,
    HoldTask,
    MakeTask,
    OnFreshServers,
    QueueManagerServer,
)
from ostler.lab.families.object_storage import DEFINE, DefineTask, KeepTask
from ostler.lab.families.open_storage import UNIT_AGREEMENTS, OpeningTask, UnitTask
from ostler.lab.families.set_up.run_descriptions import plan_text
from ostler.lab.families.task import Task
from ostler.lab.families.task_process import Agreement, ReadyTask, TaskProcess
from ostler.lab.load.link import Address
from ostler.lab.load.mq.opening import open_queue
from ostler.lab.runner.contract import (
    CONNECT,
    PUT,
    Contestant,
    ContestantKind,
    Experiment,
    PointFailed,
    PointSpec,
    ReadyLoad,
    RunContext,
)
from ostler.lab.runner.queue_managers.plan import CHANNEL, QueueManagerPlan
from ostler.lab.runner.queue_managers.process import LabQueueManager
from ostler.lab.runner.sharing.by_commands import start_sharing
from ostler.lab.runner.sharing.plan import SharedQueue, SharingPlan, StructurePlan
from ostler.lab.scenarios.steps import Step
from ostler.lab.store.roles import PROBE, QUEUE_MANAGER
from ostler.server.config.qm_ini import LogSection

OSTLER: Final = Contestant("Ostler", ContestantKind.OSTLER, "a queue manager that is new", version=__version__)
BARE: Final = "bare server"
KEPT: Final = Contestant("definitions as bytes", ContestantKind.LIMIT, "a dictionary of them, and nothing made of them")
_LOG: Final = LogSection(primary_files=3, file_pages=1024)
_SHARED: Final = re.compile(r"client, SHARECNV\(([0-9]+)\)(, shared queues)?")
_SHARED_QUEUES: Final = ", shared queues"
_STRUCTURE: Final = StructurePlan("LAB1")
_LOCAL: Final = "local"
_MESSAGE_CHANNEL: Final = "message channel"
_MESSAGE_BYTES: Final = 1024
# So many that a page more or less does not matter.
_CONNECTIONS, _CONNECTIONS_QUICK = 3000, 500
_CHANNELS, _CHANNELS_QUICK = 200, 50
_OBJECTS, _OBJECTS_QUICK = 5000, 1000
_HOLDERS, _HOLDERS_QUICK = 10, 3
_FEW_OPEN: Final = 8
_FEWER_WITH_MANY_OPEN: Final = 5
_OPEN: Final = "open queues of a connection"


def experiment(context: RunContext) -> Experiment:
    names = {sweep.name for sweep in context.scenario.sweeps}
    if "object_type" in names:
        return ObjectStorage(context)
    if "unit_messages" in names:
        return UnitStorage(context)
    return ChannelStorage(context) if "shared_conversations" in names else ConnectionStorage(context)


class _OnQueueManagers(Experiment):
    """Every run has a queue manager of its own."""

    def __init__(self, context: RunContext) -> None:
        self._context = context
        self._made = 0

    def _server(
        self, sharing: int, make: MakeTask, agreements: Sequence[Agreement], queues: int = 0
    ) -> ConnectionServer:
        """Return a server; `sharing` is SHARECNV of the channel, and `queues` are there to be opened."""
        self._made += 1
        root = self._context.scratch / f"storage-{self._made}"
        return QueueManagerServer(root, self._plan(sharing, queues), make, agreements)

    def _plan(self, sharing: int, queues: int = 0) -> QueueManagerPlan:
        names = [footprint.QUEUE, *(open_queue(number) for number in range(queues))]
        commands = tuple(f"DEFINE QLOCAL({name}) MAXDEPTH(999999999)" for name in names)
        accounting = self._context.settings.accounting
        return QueueManagerPlan(log=_LOG, commands=commands, conversations=sharing, is_accounting=accounting)

    @property
    def configuration(self) -> Mapping[str, str]:
        text = plan_text(self._plan(1))
        return {"queue manager": f"{text}\n* SHARECNV is that of the step, and queues that clients open are there, too"}

    def _connections(self, queues: int = 0) -> int:
        """Return the number of connections; fewer where each has many queues open."""
        connections = _CONNECTIONS_QUICK if self._context.settings.is_quick else _CONNECTIONS
        return connections if queues <= _FEW_OPEN else connections // _FEWER_WITH_MANY_OPEN

    def _bare(self) -> ReadyLoad:
        """Return the limit of every kind of connection: a socket that is kept."""
        sockets = self._connections()
        point_spec = PointSpec(sockets, 0, False, main_operation=CONNECT)
        return OnFreshServers(point_spec, partial(BareConnectionServer, partial(_bare, sockets)))

    def close(self) -> None:
        return


class MemberServer(ConnectionServer):
    """A new queue-sharing group of one queue manager, and the driver for that."""

    def __init__(self, root: Path, plan: SharingPlan, make: MakeTask, agreements: Sequence[Agreement]) -> None:
        self._group = start_sharing(root, plan)
        self._make = make
        self._agreements = agreements

    def prepare(self, point_spec: PointSpec) -> ReadyTask:
        (manager,) = self._group.members
        task = TaskProcess(self._make(manager))
        return ReadyTask(point_spec, task, self._group.watched(), manager.metrics, self._agreements)

    def end(self) -> None:
        self._group.end()


class ConnectionStorage(_OnQueueManagers):
    """Idle connections with a few queues open: local ones, over client channels, and message channels."""

    def contestants(self) -> Sequence[Contestant]:
        others = (_LOCAL, _MESSAGE_CHANNEL)
        clients = frozenset(step.number for step in self._context.steps if step.points["connection"] not in others)
        if not self._context.settings.limits or not clients:
            return [OSTLER]
        return [
            OSTLER,
            Contestant(BARE, ContestantKind.LIMIT, "accepts, answers once and keeps the connection", clients),
        ]

    def prepare(self, contestant: Contestant, step: Step) -> ReadyLoad:
        if step.points["connection"] == _MESSAGE_CHANNEL:
            return ChannelMemory(self._context).channels(_MESSAGE_BYTES)
        sharing = _sharing(step)
        if contestant.kind is ContestantKind.LIMIT:
            return self._bare()
        conversations = max(sharing, 1)
        queues = self._open_objects(step)
        sockets = self._connections(queues) // conversations
        parameters = {_OPEN: str(queues)}
        point_spec = PointSpec(sockets * conversations, 0, False, parameters=parameters, main_operation=CONNECT)
        is_local = step.points["connection"] == _LOCAL
        make = partial(_local if is_local else _clients, sockets, conversations, queues)
        connections = (Agreement((CONNECT,), "connections"),)
        if str(step.points["connection"]).endswith(_SHARED_QUEUES):
            return OnFreshServers(point_spec, partial(self._member, sharing, make, connections, queues))
        return OnFreshServers(point_spec, partial(self._server, sharing, make, connections, queues))

    def _member(self, sharing: int, make: MakeTask, agreements: Sequence[Agreement], queues: int) -> ConnectionServer:
        """Return a server that is the only member of a queue-sharing group, and whose queues are shared."""
        self._made += 1
        shared = tuple(SharedQueue(open_queue(number), _STRUCTURE.name) for number in range(queues))
        plan = SharingPlan(manager=self._plan(sharing), structures=(_STRUCTURE,), queues=shared)
        return MemberServer(self._context.scratch / f"storage-{self._made}", plan, make, agreements)

    def _open_objects(self, step: Step) -> int:
        """Return the number of queues that each connection has open."""
        return int(str(step.points.get("open_objects", self._context.scenario.parameters.get("open_objects", 0))))


def _sharing(step: Step) -> int:
    connection = str(step.points["connection"])
    found = _SHARED.fullmatch(connection)
    if found is None and connection != _LOCAL:
        raise PointFailed(f"there are no connections of the kind {connection!r}")
    return int(found[1]) if found else 1


def _local(sockets: int, conversations: int, queues: int, manager: LabQueueManager) -> Callable[[], Task]:
    return partial(OpeningTask, HoldSpec(manager.local_path, manager.pid, sockets, conversations), queues)


def _clients(sockets: int, conversations: int, queues: int, manager: LabQueueManager) -> Callable[[], Task]:
    return partial(OpeningTask, HoldSpec(manager.address, manager.pid, sockets, conversations, CHANNEL), queues)


def _bare(sockets: int, address: Address, pid: int) -> Callable[[], Task]:
    return partial(HoldTask, HoldSpec(address, pid, sockets, is_bare=True))


class ChannelStorage(_OnQueueManagers):
    """Client channels that have carried a message, through the client library."""

    def contestants(self) -> Sequence[Contestant]:
        limit = Contestant(BARE, ContestantKind.LIMIT, "accepts, answers once and keeps the connection")
        return [OSTLER, limit] if self._context.settings.limits else [OSTLER]

    def prepare(self, contestant: Contestant, step: Step) -> ReadyLoad:
        if contestant.kind is ContestantKind.LIMIT:
            return self._bare()
        sharing, size = int(step.points["shared_conversations"]), int(step.points["message_bytes"])
        channels = _CHANNELS_QUICK if self._context.settings.is_quick else _CHANNELS
        point_spec = PointSpec(channels * max(sharing, 1), size, False, main_operation=CONNECT)
        make = partial(_carried, channels, sharing, size)
        return OnFreshServers(point_spec, partial(self._server, sharing, make, footprint.AGREEMENTS))


def _carried(channels: int, sharing: int, size: int, manager: LabQueueManager) -> Callable[[], Task]:
    return partial(footprint.FootprintTask, manager.address, manager.pid, channels, sharing, size)


class UnitStorage(_OnQueueManagers):
    """Client connections that hold a unit of work of so many messages."""

    def contestants(self) -> Sequence[Contestant]:
        return [OSTLER]

    def prepare(self, contestant: Contestant, step: Step) -> ReadyLoad:
        messages, size = int(step.points["unit_messages"]), int(step.points["message_bytes"])
        holders = _HOLDERS_QUICK if self._context.settings.is_quick else _HOLDERS
        point_spec = PointSpec(holders, size, False, main_operation=PUT)
        make = partial(_held, holders, messages, size)
        return OnFreshServers(point_spec, partial(self._server, 1, make, UNIT_AGREEMENTS))


def _held(holders: int, messages: int, size: int, manager: LabQueueManager) -> Callable[[], Task]:
    return partial(UnitTask, manager.address, manager.pid, holders, messages, size)


class ObjectStorage(Experiment):
    """Objects of one type, defined one after the other in a queue manager that has little else: a new one for each
    repetition."""

    def __init__(self, context: RunContext) -> None:
        self._context = context
        self._made = 0

    def contestants(self) -> Sequence[Contestant]:
        return [OSTLER, KEPT] if self._context.settings.limits else [OSTLER]

    def prepare(self, contestant: Contestant, step: Step) -> ReadyLoad:
        count = _OBJECTS_QUICK if self._context.settings.is_quick else _OBJECTS
        object_type = str(step.points["object_type"])
        point_spec = PointSpec(1, 0, False, parameters={"objects": str(count)}, main_operation=DEFINE)
        if contestant.kind is ContestantKind.LIMIT:
            return ReadyTask(point_spec, TaskProcess(partial(KeepTask, object_type, count), PROBE))
        self._made += 1
        root = self._context.scratch / f"objects-{self._made}"
        task = partial(DefineTask, root, object_type, count, self._context.settings.accounting)
        return ReadyTask(point_spec, TaskProcess(task, QUEUE_MANAGER))

    def close(self) -> None:
        return
