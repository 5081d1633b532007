"""Translation of a scenario and a step of its sweeps into the load that is put on a queue manager."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Final

from ostler.lab.load import spec
from ostler.lab.runner.contract import ROUND_TRIP
from ostler.lab.runner.queue_managers.plan import QueueManagerPlan, pair_commands
from ostler.lab.scenarios.model import Binding, LoadKind, Persistence, Point, Role, Scenario, Syncpoint
from ostler.lab.scenarios.steps import Step
from ostler.server.config.qm_ini import LogManagement, LogSection, LogType, LogWriteIntegrity

USUAL_BYTES: Final = 2048
REQUESTERS: Final = ("requesters", "producers", "putters")
RESPONDERS: Final = ("responders", "servers", "consumers", "getters")
LOG_BYTES_MAX: Final = 512 << 20
"""The maximum for one queue manager's log. Reports have up to 4 GB; on loopback no window comes near to filling
this."""
_MANY_LOG_BYTES_MAX: Final = 128 << 20
_OVERSIZED_LOG_BYTES: Final = 2 << 30
_PAGE_BYTES: Final = 4096
_BUFFER_PAGES_LEAST: Final = 18
_UNITS: Final = {
    Syncpoint.OUT: spec.NOBODY,
    Syncpoint.IN: spec.EVERYBODY,
    Syncpoint.SERVER_IN: spec.RESPONDERS,
    Syncpoint.IMPLICIT: spec.NOBODY,
}
_TUNING: Final = "TuningParameters"
_IMPLICIT: Final = "ImplSyncOpenOutput"


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
    on_tmpfs: bool = False
    media_image_seconds: float = 0.0
    main_operation: str = ROUND_TRIP
    subscribers: int = 0
    """The number of subscribers of each topic, where messages are published."""
    parameters: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))

    @property
    def rate_of_all(self) -> float | None:
        return self.rate_per_second * self.requesters or None


def load_point(scenario: Scenario, step: Step) -> LoadPoint:
    """Return the load of a step. Values that the scenario does not set are those that reports usually have."""
    points = step.points
    pairs = _pairs(scenario, points)
    managers = scenario.queue_managers[0] if scenario.queue_managers else 1
    asking, answering = role_of(scenario, REQUESTERS), role_of(scenario, RESPONDERS)
    requesters = _requesters(scenario, points, asking, pairs * managers)
    persistent = _persistent(scenario, points)
    body_bytes = _body_bytes(scenario, points)
    own_replies = scenario.parameters.get("reply_queues") == "own"
    load = scenario.load
    found = LoadPoint(
        requesters=requesters,
        responders=_responders(answering, requesters, pairs * managers),
        pairs=pairs,
        body_bytes=body_bytes,
        persistent=persistent,
        requester_binding=(asking.binding if asking else None) or Binding.LOCAL,
        responder_binding=_responder_binding(points, answering),
        manager=QueueManagerPlan(
            log=_log(scenario, managers, body_bytes),
            commands=pair_commands(pairs, requesters if own_replies else 0),
            stanzas=_stanzas(scenario),
        ),
        managers=managers,
        rate_per_second=load.per_second if load is not None and load.kind is LoadKind.RATED else 0.0,
        units=_units(scenario),
        own_replies=own_replies,
        goes_round=asking is None or asking.per == "",
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
    if "file_system" in points:
        on = str(points["file_system"])
        found = replace(found, persistent=on != "nonpersistent", on_tmpfs=on == "tmpfs")
    if "syncpoint" in points:
        found = _with_syncpoint(found, Syncpoint(str(points["syncpoint"])))
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


def _responders(role: Role | None, requesters: int, pairs: int) -> int:
    """Return as many as the report has; where it has none, enough that one always waits on every queue."""
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


def _number(scenario: Scenario, name: str, otherwise: int) -> int:
    return int(str(scenario.parameters.get(name, otherwise)))


def _log(scenario: Scenario, managers: int, body_bytes: int) -> LogSection:
    """Return the log of the report, with fewer files where it is larger than a run here can use."""
    large = "_200k" if body_bytes >= 204_800 and "log_primary_files_200k" in scenario.parameters else ""
    pages = _number(scenario, "log_file_pages", 16_384)
    most = (LOG_BYTES_MAX if managers == 1 else _MANY_LOG_BYTES_MAX) // (pages * _PAGE_BYTES)
    return LogSection(
        primary_files=max(min(_number(scenario, f"log_primary_files{large}", 4), most), 2),
        secondary_files=_number(scenario, f"log_secondary_files{large}", 2),
        file_pages=pages,
        buffer_pages=_buffer_pages(scenario),
        write_integrity=LogWriteIntegrity(str(scenario.parameters.get("log_write_integrity", "TripleWrite"))),
    )


def _buffer_pages(scenario: Scenario) -> int:
    """Return the buffer pages; 0: the queue manager's default. One report has a page less than is allowed today."""
    pages = _number(scenario, "log_buffer_pages", 0)
    return max(pages, _BUFFER_PAGES_LEAST) if pages else 0


def _stanzas(scenario: Scenario) -> dict[str, dict[str, str]]:
    found: dict[str, dict[str, str]] = {}
    buffer_bytes = scenario.parameters.get("queue_buffer_bytes")
    if buffer_bytes is not None:
        found[_TUNING] = {"DefaultQBufferSize": str(buffer_bytes), "DefaultPQBufferSize": str(buffer_bytes)}
    return found


def _with_syncpoint(found: LoadPoint, syncpoint: Syncpoint) -> LoadPoint:
    tuning = {_TUNING: {**found.manager.stanzas.get(_TUNING, {}), _IMPLICIT: "OFF"}}
    if syncpoint is Syncpoint.IMPLICIT:
        tuning[_TUNING][_IMPLICIT] = "2"
    manager = replace(found.manager, stanzas={**found.manager.stanzas, **tuning})
    return replace(found, units=_UNITS[syncpoint], manager=manager)


def _with_log(found: LoadPoint, scenario: Scenario, kind: str) -> LoadPoint:
    log = found.manager.log
    image_seconds = 0.0
    if kind == "circular, oversized":
        log = replace(log, primary_files=_OVERSIZED_LOG_BYTES // (log.file_pages * _PAGE_BYTES))
    elif kind.startswith("linear"):
        reused = kind == "linear, extents reused"
        management = LogManagement.AUTOMATIC if reused else LogManagement.MANUAL
        log = replace(log, type=LogType.LINEAR, management=management)
        image_seconds = float(str(scenario.parameters.get("media_image_seconds", 10))) if reused else 0.0
    return replace(found, manager=replace(found.manager, log=log), media_image_seconds=image_seconds)
