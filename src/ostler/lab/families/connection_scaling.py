"""Family `connection-scaling`: thousands of clients connect as fast as they are accepted.

More clients than a process may have sockets share connections: several conversations on each. All connect, disconnect
and connect again until the window is over, so that all of it can be measured. Only the first time is the queue manager
as new as in the report: memory for each connection is taken from that.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Final

from ostler import __version__
from ostler.lab.families.held_connections import (
    BareConnectionServer,
    ConnectionServer,
    HoldSpec,
    HoldTask,
    OnFreshServers,
    QueueManagerServer,
)
from ostler.lab.families.task import Task
from ostler.lab.load.drivers.connection_flood import sockets_max
from ostler.lab.load.link import Address
from ostler.lab.runner.contract import CONNECT, Contestant, ContestantKind, Experiment, PointSpec, ReadyLoad, RunContext
from ostler.lab.runner.queue_managers.plan import CHANNEL, QueueManagerPlan, pair_commands
from ostler.lab.runner.queue_managers.process import LabQueueManager
from ostler.lab.scenarios.steps import Step
from ostler.server.config.qm_ini import LogSection

OSTLER: Final = Contestant(
    "Ostler", ContestantKind.OSTLER, "a client is connected when its MQCONN would return", version=__version__
)
BARE: Final = Contestant("bare server", ContestantKind.LIMIT, "accepts, answers once and keeps the connection")
_LOG: Final = LogSection(primary_files=3, file_pages=1024)
# The server's own descriptors, and those that connections leave open for a moment.
_DESCRIPTORS_KEPT: Final = 300
_QUEUE_PAIRS: Final = 10


def experiment(context: RunContext) -> Experiment:
    return ConnectionScaling(context)


class ConnectionScaling(Experiment):
    def __init__(self, context: RunContext) -> None:
        self._context = context
        self._made = 0
        pairs = context.scenario.parameters.get("queue_pairs")
        commands = pair_commands(pairs if isinstance(pairs, int) else _QUEUE_PAIRS)
        self._plan = QueueManagerPlan(log=_LOG, commands=commands, is_accounting=context.settings.accounting)

    def contestants(self) -> Sequence[Contestant]:
        return [OSTLER, BARE] if self._context.settings.limits else [OSTLER]

    def prepare(self, contestant: Contestant, step: Step) -> ReadyLoad:
        requesters = int(step.points["requesters"])
        conversations = shared_by(requesters)
        sockets = -(-requesters // conversations)
        parameters = {"conversations per connection": str(conversations), "connections": str(sockets)}
        is_limit = contestant.kind is ContestantKind.LIMIT
        clients = sockets if is_limit else sockets * conversations
        point_spec = PointSpec(clients, 0, False, parameters=parameters, main_operation=CONNECT)
        if is_limit:
            return OnFreshServers(point_spec, partial(BareConnectionServer, partial(_bare, sockets)))
        return OnFreshServers(point_spec, partial(self._server, sockets, conversations))

    def _server(self, sockets: int, conversations: int) -> ConnectionServer:
        self._made += 1
        root = self._context.scratch / f"connections-{self._made}"
        return QueueManagerServer(root, self._plan, partial(_clients, sockets, conversations))

    def close(self) -> None:
        return


def shared_by(requesters: int) -> int:
    """Return how many requesters must share a connection so that one process can have all of them."""
    return -(-requesters // (sockets_max() - _DESCRIPTORS_KEPT))


def _clients(sockets: int, conversations: int, manager: LabQueueManager) -> Callable[[], Task]:
    return partial(HoldTask, HoldSpec(manager.address, manager.pid, sockets, conversations, CHANNEL, goes_on=True))


def _bare(sockets: int, address: Address, pid: int) -> Callable[[], Task]:
    return partial(HoldTask, HoldSpec(address, pid, sockets, is_bare=True, goes_on=True))
