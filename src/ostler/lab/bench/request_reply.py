"""Request and reply over sockets, as the published reports measure it, with other brokers and bare limits beside it.

Requesters put a request on ten queues in turn and wait for the reply with its correlation id; there is always a
responder waiting. Non-persistent and persistent, with more and more requesters; contestants take turns within a case.
The processor time of a broker for each round trip is the figure that depends least on who drives it.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from pathlib import Path

from ostler.lab.bench.contestants import (
    LEAN,
    NATS,
    NON_PERSISTENT,
    OSTLER,
    PERSISTENT,
    PING_PONG,
    RABBITMQ,
    TCP,
    Contestant,
    Field,
    wanted_peers,
)
from ostler.lab.bench.group_commit_probe import GroupCommitProbe
from ostler.lab.bench.latency import Latency
from ostler.lab.bench.request_reply_table import HEADINGS, LOG_PROBE, note_aims, row, title_row
from ostler.lab.bench.result import Chart, Result
from ostler.lab.common.machine import cpu_use_between, read_cpu_times
from ostler.lab.common.own_process import Report
from ostler.lab.common.samples import Label, Measurement, ratio
from ostler.lab.load.drivers.driver_process import LoadRound

TITLE = "Request/reply over sockets, beside other brokers and bare limits"
ROUND_TRIPS = "round trips"
LATENCY = "round trip time"
_STEPS = 2


@dataclass(frozen=True)
class Parameters:
    requesters: tuple[int, ...] = (1, 10, 50, 200)
    library_requesters: tuple[int, ...] = (1, 10)
    """Libraries are driven with a thread for each client, which says nothing about a broker when there are many."""
    pairs: int = 10
    body_bytes: int = 2048
    rounds: int = 3
    seconds_per_round: float = 1.5
    warm_up_seconds: float = 0.3
    driver_processes: int = 1
    # A quarter of the log is more than a round writes, so that hardly a checkpoint falls due within one.
    log_file_pages: int = 16_384


FULL = Parameters()
QUICK = Parameters(requesters=(1, 50), library_requesters=(1,), rounds=2, seconds_per_round=0.7, warm_up_seconds=0.2)


@dataclass(frozen=True)
class Sample:
    """One round of one contestant: what the drivers saw, and what it cost."""

    round: LoadRound
    user_seconds: float
    system_seconds: float
    resident_bytes: int
    steal_percent: float
    log_forces: int
    log_bytes: int

    def broker_us(self) -> tuple[float, float]:
        done = max(self.round.done, 1)
        return 1e6 * self.user_seconds / done, 1e6 * self.system_seconds / done

    def driver_us(self) -> float:
        return 1e6 * (self.round.user_seconds + self.round.system_seconds) / max(self.round.done, 1)


@dataclass
class Case:
    """One number of requesters and one persistence: all contestants' rounds."""

    persistent: bool
    requesters: int
    samples: dict[str, list[Sample]] = field(default_factory=dict)
    log_rates: list[float] = field(default_factory=list)


def run(parameters: Parameters, scratch: Path, report: Report) -> Result:
    result = Result("request-reply", TITLE, {**asdict(parameters), "peers": wanted_peers()})
    result.table.append(list(HEADINGS))
    report(0.0, "starting the brokers")
    probe = GroupCommitProbe(scratch)
    peers, pages = wanted_peers(), parameters.log_file_pages
    with Field(scratch, parameters.pairs, parameters.body_bytes, peers, pages) as contestants:
        cases = [(persistent, count) for persistent in (False, True) for count in parameters.requesters]
        for number, (persistent, count) in enumerate(cases):
            report(number / len(cases), f"{_kind(persistent)}, {count} requesters")
            case = Case(persistent, count)
            chosen = _chosen(contestants, persistent, count, parameters)
            _measure(case, chosen, contestants, probe, parameters)
            _note(result, case, chosen)
        result.notes += contestants.missing
        result.notes.append(
            "RT: round trips. broker us, driver: processor time for each, user and system; sys: the broker's in system."
        )
        result.notes.append(f"{LOG_PROBE}: group commit of the same bytes, with as many round trips for each force.")
        for each in {each.name: each for kind in (False, True) for each in contestants.of(kind)}.values():
            result.notes.append(f"{each.name}: {each.promise}.")
    probe.close()
    result.chart = _chart(result, parameters)
    note_aims(result)
    return result


def _kind(persistent: bool) -> str:
    return PERSISTENT if persistent else NON_PERSISTENT


def _chosen(contestants: Field, persistent: bool, count: int, parameters: Parameters) -> list[Contestant]:
    return [
        each
        for each in contestants.of(persistent)
        if each.client in (LEAN, "pipelined") or count in parameters.library_requesters
    ]


def _measure(
    case: Case, chosen: list[Contestant], contestants: Field, probe: GroupCommitProbe, parameters: Parameters
) -> None:
    """Take turns. Only who is measured is connected: responders of others would take requests from the same queues."""
    responders = max(parameters.pairs, case.requesters)
    loads = [contestants.load(each, parameters.driver_processes) for each in chosen]
    for _ in range(parameters.rounds):
        for each, load in zip(chosen, loads, strict=True):
            load.open(each.plan(case.requesters, responders, parameters.pairs, parameters.body_bytes, case.persistent))
            load.round(parameters.warm_up_seconds)
            log_before = each.server.log_moment() if each.server else None
            before, moment = each.usage(), read_cpu_times()
            done = load.round(parameters.seconds_per_round)
            after, steal = each.usage(), cpu_use_between(moment, read_cpu_times())["steal_percent"]
            log_after = each.server.log_moment() if each.server else None
            sample = Sample(
                done,
                after.user_seconds - before.user_seconds,
                after.system_seconds - before.system_seconds,
                after.resident_bytes,
                steal,
                log_after.forces - log_before.forces if log_after and log_before else 0,
                log_after.written_bytes - log_before.written_bytes if log_after and log_before else 0,
            )
            load.close()
            case.samples.setdefault(each.name, []).append(sample)
            if case.persistent and each.broker == OSTLER and each.client == LEAN and each.transport == TCP:
                case.log_rates.append(_log_limit(probe, case.requesters, sample, parameters.seconds_per_round))


def _log_limit(probe: GroupCommitProbe, in_flight: int, sample: Sample, seconds: float) -> float:
    """Round trips a second if only the log were to be written: the same bytes and as many round trips for each force.

    A round trip has two steps that wait for the log, one after the other: the request and the responder's unit of work.
    """
    steps = _STEPS * max(sample.round.done, 1)
    bytes_each = max(sample.log_bytes / steps, 1.0)
    per_force = max(round(steps / max(sample.log_forces, 1)), 1)
    return probe.round(in_flight, seconds, bytes_each, per_force).per_second / _STEPS


def _note(result: Result, case: Case, chosen: list[Contestant]) -> None:
    result.table.append(title_row(case.requesters, case.persistent))
    for each in chosen:
        samples = case.samples[each.name]
        labels: dict[str, Label] = {
            "contestant": each.name,
            "broker": each.broker,
            "transport": each.transport,
            "client": each.client,
            "persistence": _kind(case.persistent),
            "requesters": case.requesters,
            "exchanges": each.exchanges,
        }
        latency = Latency()
        for sample in samples:
            latency.record_all(list(sample.round.latencies_ns))

        def taken(name: str, unit: str, values: list[float], labels: dict[str, Label] = labels) -> Measurement:
            return Measurement(name, unit, tuple(values), {**labels})

        found = [
            taken(ROUND_TRIPS, "1/s", [sample.round.per_second for sample in samples]),
            latency.measurement(LATENCY, {**labels}),
            taken("broker user time", "us", [sample.broker_us()[0] for sample in samples]),
            taken("broker system time", "us", [sample.broker_us()[1] for sample in samples]),
            taken("driver time", "us", [sample.driver_us() for sample in samples]),
            taken("broker memory", "bytes", [float(sample.resident_bytes) for sample in samples]),
            taken("steal", "%", [sample.steal_percent for sample in samples]),
        ]
        if each.server is not None and case.persistent:
            forces = [ratio(sample.round.done, sample.log_forces) for sample in samples]
            found.append(taken("round trips for each force", "1", forces))
            sizes = [ratio(sample.log_bytes, sample.round.done) for sample in samples]
            found.append(taken("log bytes for each round trip", "bytes", sizes))
        (result.limits if each.is_limit else result.measurements).extend(found)
        result.table.append(row(each.name, found))
    if case.log_rates:
        labels = {"contestant": LOG_PROBE, "persistence": PERSISTENT, "requesters": case.requesters}
        limit = Measurement(ROUND_TRIPS, "1/s", tuple(case.log_rates), labels)
        result.limits.append(limit)
        result.table.append(row(LOG_PROBE, [limit]))


def _chart(result: Result, parameters: Parameters) -> Chart:
    lines: dict[str, list[tuple[float, float]]] = {}
    for each in result.measurements + result.limits:
        labels = each.labels
        if each.name != ROUND_TRIPS or labels.get("client", LEAN) not in (LEAN, "pipelined"):
            continue
        if labels.get("transport", TCP) != TCP or labels["contestant"] in (LOG_PROBE,):
            continue
        name = f"{labels['broker']}{', pipelined' if labels['client'] == 'pipelined' else ''}"
        if labels["persistence"] == PERSISTENT:
            name += ", persistent"
        lines.setdefault(name, []).append((float(labels["requesters"]), each.median))
    lines.pop(PING_PONG, None)
    return Chart("Request/reply, 2 KB, TCP", "requesters", "round trips/s", lines)


__all__ = ["FULL", "LOG_PROBE", "NATS", "QUICK", "RABBITMQ", "TITLE", "Parameters", "run"]
