"""Durable commits with several units of work in flight, submitted from one thread, beside the raw limit.

A unit of work is one persistent put. Each connection begins its next unit when it is told that the last one is durable.
Rounds of the queue manager and of the probes take turns. The raw group commit has as many waiters, and writes as many
bytes for each commit and for each force as the log did just before. The greedy one takes all who wait with every force.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from queue import SimpleQueue

from ostler.client.mqi import put_message
from ostler.engine import syncpoint
from ostler.lab.embedded import QUEUE, Application, descriptor, fresh, put_options
from ostler.lab.group_commit_probe import GroupCommitProbe, Round, keep_in_flight
from ostler.lab.own_process import Report
from ostler.lab.result import Aim, Result
from ostler.lab.samples import Measurement, ratio
from ostler.model.constants import MQCC_OK, MQOO_INPUT_SHARED, MQOO_OUTPUT
from ostler.model.errors import MQError
from ostler.server.qm_ini import LogSection
from ostler.server.queue_manager import QueueManager

TITLE = "Durable commits with units of work in flight, beside a raw group commit"
OURS = "durable commits"
PROBE = "raw group commit"
GREEDY = "greedy group commit"
FORCES = "bare forces"
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
QUICK = Parameters(rounds=5, seconds_per_round=0.3)


@dataclass(frozen=True)
class Rounds:
    """One turn of all contestants."""

    ours: Round
    raw: Round
    greedy: Round
    forces: Round


class Submitter:
    """Connections that put and commit without waiting, and tell when it is durable."""

    def __init__(self, manager: QueueManager, count: int, body: bytes) -> None:
        self._manager = manager
        self._body = body
        self._md = descriptor(True)
        self._pmo = put_options(syncpoint=True)
        self.told: SimpleQueue[int] = SimpleQueue()
        self._applications = [Application(manager) for _ in range(count)]
        self._outputs = [each.open(QUEUE, MQOO_OUTPUT) for each in self._applications]
        self._tell = [partial(self.told.put, number) for number in range(count)]

    def submit(self, number: int) -> None:
        application = self._applications[number]
        _, _, code, reason = put_message(application.hconn, self._outputs[number], self._md, self._pmo, self._body)
        if code != MQCC_OK:
            raise MQError(reason)
        bound = application.bound
        bound.lock.acquire()
        try:
            syncpoint.commit(bound.engine, bound.connection)
            bound.writer.when_durable(bound.connection.after_lsn, self._tell[number])
        finally:
            bound.lock.release()

    def round(self, seconds: float) -> Round:
        figures = self._manager.log.figures
        forces, written = figures.forces, figures.physical_bytes
        done, took = keep_in_flight(len(self._applications), seconds, self.submit, self.told)
        return Round(done, took, figures.forces - forces, figures.physical_bytes - written)

    def close(self) -> None:
        for each in self._applications:
            each.close()


def run(parameters: Parameters, scratch: Path, report: Report) -> Result:
    result = Result("group-commit", TITLE, asdict(parameters))
    result.table.append(["in flight", OURS + "/s", "for each force", PROBE, "share", GREEDY, "share", FORCES, "share"])
    report(0.0, "making the log")
    with fresh(scratch, LogSection(primary_files=4, file_pages=parameters.log_file_pages)) as manager:
        probe = GroupCommitProbe(scratch)
        drain = Application(manager)
        intake = drain.open(QUEUE, MQOO_INPUT_SHARED)
        steps = len(parameters.in_flight) * parameters.rounds
        step = 0
        for in_flight in parameters.in_flight:
            submitter = Submitter(manager, in_flight, bytes(parameters.body_bytes))
            submitter.round(parameters.seconds_per_round / 5)
            drain.drain(intake)
            rounds: list[Rounds] = []
            for _ in range(parameters.rounds):
                rounds.append(_alternate(submitter, probe, in_flight, parameters))
                if drain.drain(intake) != rounds[-1].ours.commits:
                    raise AssertionError("the messages on the queue are not those that were committed")
                manager.checkpoint()
                step += 1
                report(step / steps, f"committing with {in_flight} in flight")
            submitter.close()
            _note(result, in_flight, rounds)
        drain.close()
        probe.close()
    return result


def _alternate(submitter: Submitter, probe: GroupCommitProbe, in_flight: int, parameters: Parameters) -> Rounds:
    seconds = parameters.seconds_per_round
    ours = submitter.round(seconds)
    size = ours.bytes_per_commit()
    return Rounds(
        ours,
        probe.round(in_flight, seconds, size, round(ours.per_force())),
        probe.round(in_flight, seconds, size, in_flight),
        probe.bare_forces(ours.forces, ours.written_bytes / ours.forces),
    )


def _note(result: Result, in_flight: int, rounds: list[Rounds]) -> None:
    labels = {"in_flight": in_flight}
    ours = Measurement(OURS, "1/s", tuple(each.ours.per_second for each in rounds), {**labels})
    grouped = Measurement("commits for each force", "1", tuple(each.ours.per_force() for each in rounds), {**labels})
    sizes = tuple(each.ours.bytes_per_commit() for each in rounds)
    result.measurements += [ours, grouped, Measurement("log bytes for each commit", "bytes", sizes, {**labels})]
    limits = [
        Measurement(PROBE, "1/s", tuple(each.raw.per_second for each in rounds), {**labels}),
        Measurement(GREEDY, "1/s", tuple(each.greedy.per_second for each in rounds), {**labels}),
        # The same forces with nobody to wait: what they took says how many commits could have been told of.
        Measurement(FORCES, "1/s", tuple(each.ours.commits / each.forces.seconds for each in rounds), {**labels}),
    ]
    result.limits += limits
    row = [f"{in_flight}", f"{ours.median:,.0f}", f"{grouped.median:.1f}"]
    for limit in limits:
        share = ratio(ours.median, limit.median)
        result.ratios[f"ours / {limit.name}, {in_flight} in flight"] = share
        row += [f"{limit.median:,.0f}", f"{share:.0%}"]
        if limit.name == PROBE and in_flight == _IN_FLIGHT_OF_AIM:
            text = f"share of the raw group commit, {in_flight} in flight"
            result.aims.append(Aim(text, SHARE_MIN, share, False))
    result.table.append(row)
