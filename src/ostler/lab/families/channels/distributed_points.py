"""Translation of a distributed scenario and a step of its sweeps into the load and the channels that carry it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from typing import Final

from ostler.lab.families.load_points import REQUESTERS, LoadPoint, load_point, role_of
from ostler.lab.load import spec
from ostler.lab.load.drivers.connection_flood import sockets_max
from ostler.lab.runner.contract import GET
from ostler.lab.runner.queue_managers.channel_wiring import FAST, USUAL_BATCH, Wiring
from ostler.lab.runner.queue_managers.plan import pair_commands
from ostler.lab.scenarios.model import LoadKind, Persistence, Point, Scenario
from ostler.lab.scenarios.steps import Step
from ostler.model import cipher_specs

STAND_IN_CIPHER: Final = "ECDHE_RSA_AES_256_GCM_SHA384"
"""The substitute for a CipherSpec that is rejected today."""
NO_CIPHER: Final = "none"
CIPHER_SPEC: Final = "CipherSpec"
IN_THE_PLACE_OF: Final = "in the place of"
CHANNELS_EACH_WAY: Final = "channels each way"
_WINDOW_MESSAGES: Final = 4000
_WINDOW_BYTES: Final = 64 << 20
_PER_CHANNEL: Final = ("channel", "channel pair")
MOST: Final = "most"
"""As many channels as a queue manager has descriptors for, including the applications of each."""
DESCRIPTORS_KEPT: Final = 700
"""A queue manager reserves 256 for listeners and for files of the log and of queues. Commands need some too."""
ROUTES_MAX: Final = 20_000
"""Channels connect from ports of one address, of which about 28,000 are available."""


@dataclass(frozen=True)
class DistributedPoint(LoadPoint):
    """The load of a step. `manager` is the plan of a single queue manager that has all of it."""

    wiring: Wiring = field(default_factory=Wiring)


def distributed_point(scenario: Scenario, step: Step) -> DistributedPoint:
    """Return the load of a step. A scenario with an unlimited rate is one-way; all others are request and reply."""
    points = step.points
    wiring = _wiring(scenario, points)
    # Both queue managers work together, and their queues are not divided between them.
    found = load_point(replace(scenario, queue_managers=(1,)), step)
    if "messages" in points:
        found = replace(found, persistent=not _is_nonpersistent(points))
    pairs = _number(scenario, points, "queue_pairs", 1)
    requesters = _requesters(scenario, found, wiring)
    if scenario.load is not None and scenario.load.kind is LoadKind.FLAT_OUT:
        found = _one_way(found, wiring, requesters, _number(scenario, points, "consumers_per_channel", 2))
        found = replace(found, consumer_unit=_number(scenario, points, "consumer_unit", 1))
    else:
        responders = _responders(scenario, points, found, requesters, pairs)
        found = replace(found, requesters=requesters, responders=responders, pairs=pairs)
    own_replies = found.requesters if found.own_replies else 0
    manager = replace(found.manager, commands=pair_commands(found.pairs, own_replies), cipher_spec="")
    found = replace(found, manager=manager, managers=1, parameters=_shown(wiring, scenario, points))
    values = {each.name: getattr(found, each.name) for each in fields(LoadPoint)}
    return DistributedPoint(**values, wiring=wiring)


def _wiring(scenario: Scenario, points: Mapping[str, Point]) -> Wiring:
    cipher_spec = usable_cipher(_cipher_asked(scenario, points))
    return Wiring(
        routes=_routes(scenario, points),
        batch_size=_number(scenario, points, "batch_size", _number(scenario, points, "batches_of", USUAL_BATCH)),
        nonpersistent_speed=_speed(points),
        cipher_spec=cipher_spec,
        key_reset_bytes=_number(scenario, points, "key_reset_bytes", 0) if cipher_spec else 0,
        # Parameters have other names where operations are not messages, so that their rates are not compared.
        round_trip_ms=_number(scenario, points, "round_trip_ms", _number(scenario, points, "distance_ms", 0)),
        channels_max=_number(scenario, points, "channels_max", 0),
        asking_ccsid=_number(scenario, points, "requester_ccsid", 0),
        answering_ccsid=_number(scenario, points, "responder_ccsid", 0),
    )


def _routes(scenario: Scenario, points: Mapping[str, Point]) -> int:
    for name in ("channels", "channel_pairs"):
        if points.get(name) == MOST:
            return most_routes(scenario)
    return _number(scenario, points, "channels", _number(scenario, points, "channel_pairs", 1))


def most_routes(scenario: Scenario) -> int:
    """Return the number of routes that fit. Each has two channels at a queue manager and some applications; ports are a
    limit too."""
    role = role_of(scenario, REQUESTERS)
    applications = role.counts[0] if role is not None and role.per in _PER_CHANNEL and role.counts else 0
    return min(sockets_max(DESCRIPTORS_KEPT) // (2 + applications), ROUTES_MAX)


def _speed(points: Mapping[str, Point]) -> str:
    """Return NPMSPEED; the kind of messages may determine it."""
    return str(points.get("messages", FAST)).rpartition(", ")[2] if _is_nonpersistent(points) else FAST


def _is_nonpersistent(points: Mapping[str, Point]) -> bool:
    return str(points.get("messages", "")).startswith(f"{Persistence.NONPERSISTENT.value}, ")


def _cipher_asked(scenario: Scenario, points: Mapping[str, Point]) -> str:
    return str(points.get("cipher_spec", scenario.parameters.get("cipher_spec", NO_CIPHER)))


def usable_cipher(asked: str) -> str:
    """Return the CipherSpec to use; empty for none."""
    if asked == NO_CIPHER:
        return ""
    found = cipher_specs.find(asked)
    return asked if found is not None and not found.refusal else STAND_IN_CIPHER


def _number(scenario: Scenario, points: Mapping[str, Point], name: str, otherwise: int) -> int:
    return int(str(points.get(name, scenario.parameters.get(name, otherwise))))


def _requesters(scenario: Scenario, found: LoadPoint, wiring: Wiring) -> int:
    role = role_of(scenario, REQUESTERS)
    if role is not None and role.per in _PER_CHANNEL and role.counts:
        return role.counts[0] * wiring.routes
    return found.requesters


def _responders(scenario: Scenario, points: Mapping[str, Point], found: LoadPoint, requesters: int, pairs: int) -> int:
    stated = "server_threads" in points or any(role.counts for role in scenario.roles if role.name == "responders")
    return max(found.responders, pairs) if stated else max(pairs, min(requesters, 400))


def _one_way(found: LoadPoint, wiring: Wiring, producers: int, consumers: int) -> LoadPoint:
    """Return a one-way load with a queue for each channel. Producers wait when more messages are in flight than a
    measurement needs."""
    window = max(wiring.routes, min(_WINDOW_MESSAGES, _WINDOW_BYTES // max(found.body_bytes, 1)))
    return replace(
        found,
        kind=spec.ONE_WAY,
        requesters=producers,
        responders=consumers * wiring.routes,
        pairs=wiring.routes,
        goes_round=False,
        main_operation=GET,
        window=window,
    )


def _shown(wiring: Wiring, scenario: Scenario, points: Mapping[str, Point]) -> dict[str, str]:
    shown = {
        CHANNELS_EACH_WAY: str(wiring.routes),
        "batch size": str(wiring.batch_size),
        "nonpersistent speed": wiring.nonpersistent_speed,
    }
    # The number that was determined is more useful than the word.
    shown |= {name: str(wiring.routes) for name, value in points.items() if value == MOST}
    if wiring.cipher_spec:
        shown[CIPHER_SPEC] = wiring.cipher_spec
        asked = _cipher_asked(scenario, points)
        if asked != wiring.cipher_spec:
            shown[IN_THE_PLACE_OF] = asked
    if wiring.key_reset_bytes:
        shown["bytes between keys"] = str(wiring.key_reset_bytes)
    if wiring.round_trip_ms:
        shown["round trip of the distance, ms"] = str(wiring.round_trip_ms)
    return shown
