"""Family `connection-scaling`: thousands of clients connect as fast as they are accepted, and then send seldom.

All connect, disconnect and connect again until the window is over, so that all of it can be measured. Only the first
time is the queue manager as new as in the report: memory for each connection is taken from that. After the window all
connect once more as requesters, open their queues, and send at the rate of the report, so that each of them sends;
responders answer. More clients than a process may have sockets share connections: several conversations on each.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
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
from ostler.lab.families.load_points import RESPONDERS, role_of
from ostler.lab.families.set_up.queue_manager_plans import QUICK_LOGS_BYTES_MAX, fitted_log, plan_of
from ostler.lab.families.set_up.run_descriptions import plan_text
from ostler.lab.families.task import RESULT, Task
from ostler.lab.load import spec
from ostler.lab.load.client import Pace
from ostler.lab.load.drivers.connection_flood import sockets_max
from ostler.lab.load.drivers.epoll_driver import EpollDriver
from ostler.lab.load.link import Address
from ostler.lab.load.mq.factory import mq_clients
from ostler.lab.load.progress import ReportProgress
from ostler.lab.load.spec import LoadSpec
from ostler.lab.load.timeline import MEASURED, PhaseRecorder, Timeline
from ostler.lab.runner.contract import (
    CONNECT,
    ROUND_TRIP,
    Contestant,
    ContestantKind,
    Experiment,
    Metric,
    PointSpec,
    ReadyLoad,
    RunContext,
)
from ostler.lab.runner.queue_managers.plan import CHANNEL, QueueManagerPlan
from ostler.lab.runner.queue_managers.process import LabQueueManager
from ostler.lab.scenarios.model import Deviation, Scenario
from ostler.lab.scenarios.steps import Step

OSTLER: Final = Contestant(
    "Ostler", ContestantKind.OSTLER, "a client is connected when its MQCONN would return", version=__version__
)
BARE: Final = Contestant("bare server", ContestantKind.LIMIT, "accepts, answers once and keeps the connection")
ALL_OPENED: Final = "seconds until all are connected and have opened their queues"
ROUND_TRIPS: Final = "round trips per second after that"
RESPONSE_TIME: Final = "mean response time after that, ms"
SENDERS: Final = "clients that sent after that, %"
# The server's own descriptors, and those that connections leave open for a moment.
_DESCRIPTORS_KEPT: Final = 300
_QUEUE_PAIRS: Final = 10
_BODY_BYTES: Final = 2048
_RESPONDERS: Final = 300
_QUICK_SECONDS: Final = 1.0
_CONNECT_SECONDS_MAX: Final = 120.0
_SECOND_NS: Final = 1_000_000_000


@dataclass(frozen=True)
class ScalingPlan:
    """The clients of a step: sockets with some conversations each, responders, and what requesters send."""

    sockets: int
    conversations: int
    responders: int
    pairs: int
    body_bytes: int
    rate_per_second: float
    send_seconds: float
    """The time for which requesters send: as long as each of them needs to send once, unless the run is quick."""

    @property
    def requesters(self) -> int:
        return self.sockets * self.conversations


def scaling_plan(scenario: Scenario, requesters: int, is_quick: bool) -> ScalingPlan:
    """Return the clients of a step."""
    conversations = shared_by(requesters, _responders(scenario))
    rate = scenario.load.per_second if scenario.load is not None else 0.0
    pairs = scenario.parameters.get("queue_pairs")
    return ScalingPlan(
        sockets=-(-requesters // conversations),
        conversations=conversations,
        responders=_responders(scenario),
        pairs=pairs if isinstance(pairs, int) else _QUEUE_PAIRS,
        body_bytes=scenario.message_bytes[0] if scenario.message_bytes else _BODY_BYTES,
        rate_per_second=rate,
        send_seconds=_QUICK_SECONDS if is_quick else 1 / rate,
    )


def _responders(scenario: Scenario) -> int:
    role = role_of(scenario, RESPONDERS)
    return role.counts[0] if role is not None and role.counts else _RESPONDERS


def shared_by(requesters: int, responders: int = 0) -> int:
    """Return how many requesters must share a connection so that one process can have all of them."""
    return -(-requesters // (sockets_max() - _DESCRIPTORS_KEPT - responders))


def experiment(context: RunContext) -> Experiment:
    return ConnectionScaling(context)


class ScalingTask(HoldTask):
    """Connects clients until the window is over, and then requesters, which send."""

    def __init__(self, hold: HoldSpec, plan: ScalingPlan) -> None:
        super().__init__(hold)
        self._scaling = plan
        self._load = LoadSpec(
            protocol=spec.MQ_VERBS,
            address=hold.address,
            requesters=range(plan.requesters),
            responders=range(plan.responders),
            pairs=plan.pairs,
            body_bytes=plan.body_bytes,
            persistent=False,
            channel=hold.channel,
            rate_per_second=plan.rate_per_second,
            since_put=True,
            goes_round=False,
            conversations=plan.conversations,
        )
        self._pace = Pace(self._load.pacing())
        self._driver = EpollDriver(hold.address, self._pace)
        self._driver.open(mq_clients(replace(self._load, conversations=1), self._pace, False, self._load.responders))

    def run(self, recorder: PhaseRecorder, report: ReportProgress) -> list[Metric]:
        found = super().run(recorder, report)
        operation = recorder.operation(CONNECT)
        conversations = self._scaling.conversations

        def note(began_ns: int, ready_ns: int) -> None:
            for _ in range(conversations):
                operation.record(began_ns, ready_ns)

        clients = mq_clients(self._load, self._pace, True, self._load.requesters)
        began = time.perf_counter()
        self._driver.open(clients, note=note)
        found.append(Metric(RESULT, ALL_OPENED, time.perf_counter() - began))
        return [*found, *self._send(report)]

    def _send(self, report: ReportProgress) -> list[Metric]:
        """Let the requesters send, and return how they fared."""
        seconds = self._scaling.send_seconds
        timeline = Timeline.starting(time.perf_counter_ns(), 0.0, seconds, 0.0)
        counted = self._driver.run(timeline, report)
        done = counted.phases[MEASURED].operation(ROUND_TRIP).seconds.values()
        count, total_ns = sum(each.count for each in done), sum(each.total_ns for each in done)
        found = [
            Metric(RESULT, ROUND_TRIPS, count / seconds),
            Metric(RESULT, SENDERS, 100 * min(count / self._scaling.requesters, 1.0)),
        ]
        return [*found, Metric(RESULT, RESPONSE_TIME, total_ns / count / 1e6)] if count else found

    def close(self) -> None:
        self._driver.close()
        super().close()


class ConnectionScaling(Experiment):
    def __init__(self, context: RunContext) -> None:
        self._context = context
        self._made = 0
        scenario, is_quick = context.scenario, context.settings.is_quick
        self._steps = {
            step.number: scaling_plan(scenario, int(step.points["requesters"]), is_quick) for step in context.steps
        }

    def contestants(self) -> Sequence[Contestant]:
        return [OSTLER, BARE] if self._context.settings.limits else [OSTLER]

    def manager_plan(self, plan: ScalingPlan) -> QueueManagerPlan:
        """Return the set-up of the queue manager: that of the report, with a smaller log, since each run has a new
        one."""
        made = plan_of(self._context.scenario, plan.pairs, 0, plan.body_bytes)
        log = fitted_log(made.log, 1, QUICK_LOGS_BYTES_MAX)
        is_accounting = self._context.settings.accounting
        return replace(made, log=log, conversations=plan.conversations, is_accounting=is_accounting)

    @property
    def deviations(self) -> Sequence[Deviation]:
        scenario = self._context.scenario
        found = []
        shared = [plan for plan in self._steps.values() if plan.conversations > 1]
        if shared:
            most = shared[-1]
            what = f"{most.requesters:,} clients share {most.sockets:,} connections, {most.conversations} on each"
            why = f"A process may have {sockets_max():,} sockets here; the appliance has SHARECNV(1)."
            found.append(Deviation(what, why))
        wanted = plan_of(scenario, 1, 0, _BODY_BYTES).log.primary_files
        used = self.manager_plan(next(iter(self._steps.values()))).log.primary_files
        if used != wanted:
            what = f"The log has {used} primary files, the report's has {wanted}"
            found.append(Deviation(what, "Every run has a new queue manager, and nothing is logged in it."))
        if self._context.settings.is_quick:
            what = f"Requesters send for {_QUICK_SECONDS:g} s, so that most of them send nothing"
            found.append(Deviation(what, "The run is quick."))
        return found

    @property
    def configuration(self) -> Mapping[str, str]:
        plans = {plan.conversations: plan for plan in self._steps.values()}
        return {
            "queue manager" if len(plans) == 1 else f"queue manager with SHARECNV({each})": plan_text(
                self.manager_plan(plan)
            )
            for each, plan in plans.items()
        }

    def prepare(self, contestant: Contestant, step: Step) -> ReadyLoad:
        plan = self._steps[step.number]
        is_limit = contestant.kind is ContestantKind.LIMIT
        clients = plan.sockets if is_limit else plan.requesters
        parameters = {
            "conversations per connection": str(plan.conversations),
            "connections": str(plan.sockets),
            "responders": str(plan.responders),
        }
        point_spec = PointSpec(clients, 0, False, parameters=parameters, main_operation=CONNECT)
        if is_limit:
            return OnFreshServers(point_spec, partial(BareConnectionServer, partial(_bare, plan.sockets)))
        return OnFreshServers(point_spec, partial(self._server, plan))

    def _server(self, plan: ScalingPlan) -> ConnectionServer:
        self._made += 1
        root = self._context.scratch / f"connections-{self._made}"
        beyond_seconds = plan.send_seconds + _CONNECT_SECONDS_MAX
        make = partial(_clients, plan)
        return QueueManagerServer(root, self.manager_plan(plan), make, beyond_seconds=beyond_seconds)

    def close(self) -> None:
        return


def _clients(plan: ScalingPlan, manager: LabQueueManager) -> Callable[[], Task]:
    hold = HoldSpec(manager.address, manager.pid, plan.sockets, plan.conversations, CHANNEL, goes_on=True)
    return partial(ScalingTask, hold, plan)


def _bare(sockets: int, address: Address, pid: int) -> Callable[[], Task]:
    return partial(HoldTask, HoldSpec(address, pid, sockets, is_bare=True, goes_on=True))
