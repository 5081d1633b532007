"""Translation of a scenario and a step of its sweeps into the load that is put on a queue manager."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Final

from ostler.lab.families.set_up.queue_manager_plans import plan_of, with_log_kind, with_syncpoint
from ostler.lab.load import spec
from ostler.lab.runner.contract import ROUND_TRIP
from ostler.lab.runner.queue_managers.plan import QueueManagerPlan
from ostler.lab.scenarios.model import Binding, LoadKind, Persistence, Point, Role, Scenario, Syncpoint
from ostler.lab.scenarios.steps import Step

USUAL_BYTES: Final = 2048
REQUESTERS: Final = ("requesters", "producers", "putters")
RESPONDERS: Final = ("responders", "servers", "consumers", "getters")
MODEL_B_SHARE: Final = 4
"""The smaller model of the appliance has a quarter of the cores of the larger one: 8 of 32."""
_UNITS: Final = {
    Syncpoint.OUT: spec.NOBODY,
    Syncpoint.IN: spec.EVERYBODY,
    Syncpoint.SERVER_IN: spec.RESPONDERS,
    Syncpoint.IMPLICIT: spec.NOBODY,
}


@dataclass(frozen=True)
class LoadPoint:
    """The load of a step, and the queue managers it is put on."""

    requesters: int
    responders: int
    pairs: int
    """The number of queue pairs in each queue manager."""
    body_bytes: int
    persistent: bool
    requester_binding: Binding
    responder_binding: Binding
    manager: QueueManagerPlan
    managers: int = 1
    kind: str = spec.REQUEST_REPLY
    rate_per_second: float = 0.0
    """The rate of each requester; 0: the next request follows the reply at once."""
    since_put: bool = False
    """Rated requesters are due a period after their last put, and not on a fixed schedule."""
    units: str = spec.BY_PERSISTENCE
    goes_round: bool = True
    own_replies: bool = False
    messages: str = spec.PLAIN
    session_round_trips: int = 0
    conversations: int = 1
    async_put: bool = False
    read_ahead: bool = False
    consumer_unit: int = 1
    """The number of messages that consumers get in a unit of work."""
    window: int = 0
    """The number of one-way messages in flight; 0: unlimited."""
    producer_unit: int = 1
    """The number of one-way messages that producers put in a unit of work."""
    on_tmpfs: bool = False
    on_second_disk: bool = False
    """The log is on another disk than the queues."""
    is_fresh: bool = False
    """Every run has new queue managers, so that their memory can be compared."""
    requester_ccsid: int = 0
    """The CCSID of requests, and the one that requesters want replies to be converted to; 0: nothing is converted."""
    responder_ccsid: int = 0
    media_image_seconds: float = 0.0
    main_operation: str = ROUND_TRIP
    shows_queue_shares: bool = False
    """Messages handed over to a waiting getter, held in the buffer and spilled to the file are among the results."""
    subscribers: int = 0
    """The number of subscribers of each topic, where messages are published."""
    receivers_count: bool = False
    """Subscribers or consumers are among the clients of a point, as the report counts them."""
    parameters: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))

    @property
    def clients(self) -> int:
        return self.requesters + (self.responders if self.receivers_count else 0)

    @property
    def logs(self) -> int:
        """The number of recovery logs of all queue managers together."""
        return self.managers

    @property
    def rate_of_all(self) -> float | None:
        """The rate of main operations that all requesters are asked for. Sessions are rated, and have round trips."""
        return self.rate_per_second * self.requesters * max(self.session_round_trips, 1) or None


def load_point(scenario: Scenario, step: Step) -> LoadPoint:
    """Return the load of a step. Values that the scenario does not set are those that reports usually have."""
    points = step.points
    pairs = _pairs(scenario, points)
    managers = scenario.queue_managers[0] if scenario.queue_managers else 1
    asking, answering = role_of(scenario, REQUESTERS), role_of(scenario, RESPONDERS)
    requesters = _requesters(scenario, points, asking, pairs * managers)
    persistent = _persistent(scenario, points)
    body_bytes = _body_bytes(scenario, points)
    own_replies = points.get("reply_queues", scenario.parameters.get("reply_queues")) == "own"
    load = scenario.load
    found = LoadPoint(
        requesters=requesters,
        responders=_responders(points, answering, requesters, pairs * managers),
        pairs=pairs,
        body_bytes=body_bytes,
        persistent=persistent,
        requester_binding=(asking.binding if asking else None) or Binding.LOCAL,
        responder_binding=_responder_binding(points, answering),
        manager=plan_of(scenario, pairs, requesters if own_replies else 0, body_bytes),
        managers=managers,
        rate_per_second=load.per_second if load is not None and load.kind is LoadKind.RATED else 0.0,
        since_put=load is not None and load.since_put,
        units=_units(scenario),
        own_replies=own_replies,
        goes_round=asking is None or asking.per == "",
        is_fresh=scenario.family == "capacity",
        requester_ccsid=_number(scenario, "requester_ccsid"),
        responder_ccsid=_number(scenario, "responder_ccsid"),
    )
    return _swept(found, scenario, points)


def _swept(found: LoadPoint, scenario: Scenario, points: Mapping[str, Point]) -> LoadPoint:
    """Apply the sweeps of single scenarios beyond applications, sizes and queues."""
    if "cipher_spec" in points:
        cipher_spec = str(points["cipher_spec"])
        cipher_spec = "" if cipher_spec == "none" else cipher_spec
        found = replace(found, manager=replace(found.manager, cipher_spec=cipher_spec))
    if "log" in points:
        found = _with_log(found, scenario, str(points["log"]))
    if "model" in points:
        found = replace(found, manager=replace(found.manager, cores=cores_of_model(str(points["model"]))))
    if "file_system" in points:
        on = str(points["file_system"])
        found = replace(found, persistent=on != "nonpersistent", on_tmpfs=on == "tmpfs")
    if "syncpoint" in points:
        syncpoint = Syncpoint(str(points["syncpoint"]))
        found = replace(found, units=_UNITS[syncpoint], manager=with_syncpoint(found.manager, syncpoint))
    if "requests_per_hour" in points:
        found = replace(found, rate_per_second=float(points["requests_per_hour"]) / 3600)
    if "workload" in points:
        words = str(points["workload"]).split()
        found = replace(found, persistent="persistent" in words, body_bytes=1024 * int(words[-2]))
    return found


def session_point(scenario: Scenario, step: Step) -> LoadPoint:
    """Return sessions: a number of round trips, then the connection is closed and opened again."""
    found = load_point(scenario, step)
    trips = int(str(scenario.parameters.get("round_trips_per_session", 5)))
    # The rate is that of round trips: a session is due when the round trips of the one before should have ended.
    return replace(found, kind=spec.SESSIONS, session_round_trips=trips, rate_per_second=found.rate_per_second / trips)


# -- pieces ------------------------------------------------------------------------------------------------------------


def role_of(scenario: Scenario, names: tuple[str, ...]) -> Role | None:
    """Return the first role with one of these names."""
    return next((role for role in scenario.roles if role.name in names), None)


def _pairs(scenario: Scenario, points: Mapping[str, Point]) -> int:
    if "queue_pairs" in points:
        return int(points["queue_pairs"])
    managers = scenario.queue_managers[0] if scenario.queue_managers else 1
    # A scenario has the number for all queue managers together.
    return max(int(str(scenario.parameters.get("queue_pairs", 10))) // managers, 1)


def _requesters(scenario: Scenario, points: Mapping[str, Point], role: Role | None, pairs: int) -> int:
    if "requesters" in points:
        return int(points["requesters"])
    if role is not None and role.counts:
        return role.counts[0] * (pairs if role.per == "queue pair" else 1)
    return int(str(scenario.parameters.get("requesters", 50)))


def _responders(points: Mapping[str, Point], role: Role | None, requesters: int, pairs: int) -> int:
    """Return as many as the report has; where it has none, enough that one always waits on every queue."""
    if "server_threads" in points:
        return max(int(points["server_threads"]), pairs)
    if role is not None and role.counts:
        return max(max(role.counts) * (pairs if role.per == "queue pair" else 1), pairs)
    # No more than that can be busy at the same time, and each of them is a connection.
    return max(pairs, min(requesters, 400))


def _responder_binding(points: Mapping[str, Point], role: Role | None) -> Binding:
    if "responder_binding" in points:
        return Binding(str(points["responder_binding"]))
    return (role.binding if role else None) or Binding.LOCAL


def _persistent(scenario: Scenario, points: Mapping[str, Point]) -> bool:
    if "persistence" in points:
        return points["persistence"] == Persistence.PERSISTENT.value
    return scenario.persistence[:1] == (Persistence.PERSISTENT,)


def _body_bytes(scenario: Scenario, points: Mapping[str, Point]) -> int:
    if "message_bytes" in points:
        return int(points["message_bytes"])
    if scenario.message_bytes:
        return scenario.message_bytes[0]
    return int(str(scenario.parameters.get("message_bytes", USUAL_BYTES)))


def _units(scenario: Scenario) -> str:
    return _UNITS[scenario.syncpoint[0]] if len(scenario.syncpoint) == 1 else spec.BY_PERSISTENCE


def _number(scenario: Scenario, name: str) -> int:
    return int(str(scenario.parameters.get(name, 0)))


def cores_of_model(model: str) -> int:
    """Return the cores of a queue manager that stands for a model of the appliance; 0: all."""
    return 0 if model == "A" else max(len(os.sched_getaffinity(0)) // MODEL_B_SHARE, 1)


def _with_log(found: LoadPoint, scenario: Scenario, kind: str) -> LoadPoint:
    """Return the load with a log of that kind. Media images are recorded of all linear logs."""
    seconds = float(str(scenario.parameters.get("media_image_seconds", 10))) if kind.startswith("linear") else 0.0
    manager = replace(found.manager, log=with_log_kind(found.manager.log, kind))
    return replace(found, manager=manager, media_image_seconds=seconds)
