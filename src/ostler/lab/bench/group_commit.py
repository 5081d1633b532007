"""Durable commits with several units of work in flight, submitted from one thread, beside the raw limit.

A unit of work is one persistent put onto a queue that grows, and so is spilled to its file; or it gets the message that
its connection put before and puts another one, so that nothing but the log is written. Each connection begins its next
unit when it is told that the last one is durable.

Rounds of the queue manager and of the probes take turns. The raw group commit has as many waiters, and writes as many
bytes for each commit and for each force as the log did just before. The greedy one takes all who wait with every force.
"""

from __future__ import annotations

import time
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from queue import SimpleQueue

from ostler.client.mqi.put_get import get_message, put_message
from ostler.engine import syncpoint
from ostler.lab.bench.group_commit_probe import GroupCommitProbe, Round, keep_in_flight
from ostler.lab.bench.result import Aim, Result
from ostler.lab.common.embedded import (
    QUEUE,
    EmbeddedApplication,
    define_queue,
    descriptor,
    fresh,
    get_options,
    put_options,
)
from ostler.lab.common.own_process import Report, part_of
from ostler.lab.common.samples import Label, Measurement, ratio
from ostler.model import constants as mq
from ostler.model.errors import MQError
from ostler.server.config.qm_ini import LogSection
from ostler.server.queue_manager import QueueManager

TITLE = "Durable commits with units of work in flight, beside a raw group commit"
OURS = "durable commits"
PROBE = "raw group commit"
GREEDY = "greedy group commit"
FORCES = "bare forces"
GROWING = "put"
STEADY = "get and put"
SHARE_MIN = 0.5
_IN_FLIGHT_OF_AIM = 50


@dataclass(frozen=True)
class Parameters:
    in_flight: tuple[int, ...] = (1, 10, 50)
    body_bytes: int = 2048
    rounds: int = 9
    seconds_per_round: float = 0.5
    # A quarter of the log is more than a round writes, so that no checkpoint falls due within one.
    log_file_pages: int = 16_384


FULL = Parameters()
QUICK = Parameters(rounds=3, seconds_per_round=0.2)


@dataclass(frozen=True)
class Rounds:
    """One turn of all contestants."""

    ours: Round
    raw: Round
    greedy: Round
    forces: Round

    def bare_commits_per_second(self) -> float:
        return self.forces.per_second * self.ours.per_force()


class Submitter:
    """Connections that put and commit without waiting, and tell when it is durable."""

    def __init__(self, manager: QueueManager, count: int, work: str, body: bytes) -> None:
        self._manager = manager
        self._body = body
        self._md = descriptor(True)
        self._pmo, self._gmo = put_options(syncpoint=True), get_options(syncpoint=True)
        self._gets = work == STEADY
        self.told: SimpleQueue[int] = SimpleQueue()
        self._applications = [EmbeddedApplication(manager) for _ in range(count)]
        names = [f"{QUEUE}.{number if self._gets else 0}" for number in range(count)]
        for name in sorted(set(names)):
            define_queue(manager, name)
        options = mq.MQOO_OUTPUT | mq.MQOO_INPUT_SHARED
        self._handles = [each.open(name, options) for each, name in zip(self._applications, names, strict=True)]
        # All that a submission needs is at hand, so that the driver itself costs little.
        self._units = [
            (each.hconn, handle, each.bound.connection, partial(self.told.put, number))
            for number, (each, handle) in enumerate(zip(self._applications, self._handles, strict=True))
        ]
        self._lock, self._engine = manager.lock, manager.engine
        self._call_when_durable = manager.writer.call_when_durable
        self._limit = len(body)
        if self._gets:
            for each, handle in zip(self._applications, self._handles, strict=True):
                each.load(handle, 1, body, True)

    def submit(self, number: int) -> None:
        hconn, handle, connection, tell = self._units[number]
        if self._gets:
            code, reason = get_message(hconn, handle, self._md, self._gmo, self._limit)[4:]
            if code != mq.MQCC_OK:
                raise MQError(reason)
        code, reason = put_message(hconn, handle, self._md, self._pmo, self._body)[2:]
        if code != mq.MQCC_OK:
            raise MQError(reason)
        with self._lock:
            syncpoint.commit(self._engine, connection)
            self._call_when_durable(connection.after_lsn, tell)

    def round(self, seconds: float) -> Round:
        figures = self._manager.log.metrics
        forces, written, cpu = figures.forces, figures.physical_bytes, time.process_time()
        done, took = keep_in_flight(len(self._applications), seconds, self.submit, self.told)
        spent = time.process_time() - cpu
        return Round(done, took, figures.forces - forces, figures.physical_bytes - written, spent)

    def drain(self) -> int:
        """Take off all that was put, if the queue grows; how many messages that was."""
        return 0 if self._gets else self._applications[0].drain(self._handles[0])

    def depth(self) -> int:
        return sum(queue.depth for name, queue in self._manager.engine.queues.items() if name.startswith(QUEUE))

    def close(self) -> None:
        for application, handle in zip(self._applications, self._handles, strict=True):
            application.drain(handle)
            application.close()


def run(parameters: Parameters, scratch: Path, report: Report) -> Result:
    result = Result("group-commit", TITLE, asdict(parameters))
    headings = ["unit", "in flight", "commits/s", "a force", "CPU us", "raw", "CPU us", "share"]
    result.table.append([*headings, "greedy", "share", FORCES, "share"])
    report(0.0, "making the log")
    with fresh(scratch, LogSection(primary_files=4, file_pages=parameters.log_file_pages)) as manager:
        probe = GroupCommitProbe(scratch)
        cases = [(work, in_flight) for work in (GROWING, STEADY) for in_flight in parameters.in_flight]
        for number, (work, in_flight) in enumerate(cases):
            told = part_of(report, number / len(cases), (number + 1) / len(cases))
            rounds = _measure(manager, probe, work, in_flight, parameters, told)
            _note(result, {"work": work, "in_flight": in_flight}, rounds)
        probe.close()
    return result


def _measure(
    manager: QueueManager,
    probe: GroupCommitProbe,
    work: str,
    in_flight: int,
    parameters: Parameters,
    report: Report,
) -> list[Rounds]:
    submitter = Submitter(manager, in_flight, work, bytes(parameters.body_bytes))
    submitter.round(parameters.seconds_per_round / 5)
    submitter.drain()
    rounds: list[Rounds] = []
    for number in range(parameters.rounds):
        rounds.append(_alternate(submitter, probe, in_flight, parameters))
        added = rounds[-1].ours.commits if work == GROWING else 0
        if submitter.drain() != added or submitter.depth() != (in_flight if work == STEADY else 0):
            raise AssertionError("the messages on the queues are not those that were committed")
        manager.checkpoint()
        report((number + 1) / parameters.rounds, f"{work}, {in_flight} in flight")
    submitter.close()
    return rounds


def _alternate(submitter: Submitter, probe: GroupCommitProbe, in_flight: int, parameters: Parameters) -> Rounds:
    seconds = parameters.seconds_per_round
    ours = submitter.round(seconds)
    size = ours.bytes_per_commit()
    return Rounds(
        ours,
        probe.round(in_flight, seconds, size, round(ours.per_force())),
        probe.round(in_flight, seconds, size, in_flight),
        probe.bare_forces(seconds, ours.written_bytes / ours.forces),
    )


def _note(result: Result, labels: dict[str, Label], rounds: list[Rounds]) -> None:
    def taken(name: str, unit: str, samples: Iterable[float]) -> Measurement:
        return Measurement(name, unit, tuple(samples), {**labels})

    work, in_flight = labels["work"], labels["in_flight"]
    ours = taken(OURS, "1/s", (each.ours.per_second for each in rounds))
    grouped = taken("commits for each force", "1", (each.ours.per_force() for each in rounds))
    spent = taken("processor time for each commit", "us", (each.ours.cpu_microseconds() for each in rounds))
    size = taken("log bytes for each commit", "bytes", (each.ours.bytes_per_commit() for each in rounds))
    raw = taken(PROBE, "1/s", (each.raw.per_second for each in rounds))
    raw_spent = taken(f"{PROBE}, processor time", "us", (each.raw.cpu_microseconds() for each in rounds))
    greedy = taken(GREEDY, "1/s", (each.greedy.per_second for each in rounds))
    # The same forces with nobody to wait: each could have told of as many commits as one of ours did.
    forces = taken(FORCES, "1/s", (each.bare_commits_per_second() for each in rounds))
    result.measurements += [ours, grouped, spent, size]
    result.limits += [raw, raw_spent, greedy, forces]
    row = [f"{work}", f"{in_flight}", f"{ours.median:,.0f}", f"{grouped.median:.1f}", f"{spent.median:.1f}"]
    for limit in (raw, greedy, forces):
        share = ratio(ours.median, limit.median)
        result.ratios[f"{work}: ours / {limit.name}, {in_flight} in flight"] = share
        row += [f"{limit.median:,.0f}", *([f"{raw_spent.median:.1f}"] if limit is raw else []), f"{share:.0%}"]
    if in_flight == _IN_FLIGHT_OF_AIM:
        text = f"{work}: share of the raw group commit, {in_flight} in flight"
        result.aims.append(Aim(text, SHARE_MIN, ratio(ours.median, raw.median), False))
    result.table.append(row)
