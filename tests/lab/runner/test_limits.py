"""Limit probes in processes of their own: what they count, and how they end."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import psutil
import pytest
from tests.lab.load.recorded import done_in

from ostler.lab.load import spec
from ostler.lab.load.bare import force_server
from ostler.lab.load.drivers.probe_drivers import COMMIT, COPY, GroupCommitDriver
from ostler.lab.load.spec import ONE_WAY, REQUEST_REPLY, SESSIONS, LoadSpec
from ostler.lab.load.timeline import Timeline
from ostler.lab.runner import limits
from ostler.lab.runner.contract import (
    GET,
    PUT,
    ROUND_TRIP,
    Contestant,
    ContestantKind,
    PointFailed,
    PointSpec,
    ProgressSample,
    ReadyLoad,
    WorkerCounts,
)
from ostler.lab.runner.limits import LimitProbes
from ostler.lab.store.recorder import LatencyRecorder
from ostler.lab.store.roles import DRIVER, FOLLOWER, LABORATORY, LEADER, PROBE, role_at, role_kind
from ostler.lab.store.rows import OperationRow

TWO_MEGABYTES = 2 << 20
SECONDS_MAX = 20


class Quiet:
    def on_progress(self, moment: ProgressSample) -> None: ...


@pytest.fixture(scope="module")
def probes(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LimitProbes]:
    """Of all tests: drivers stay from one to the next, as they do in a sitting."""
    made = LimitProbes(tmp_path_factory.mktemp("probes"))
    yield made
    made.close()


def like(clients: int, body_bytes: int = 2048, kind: str = REQUEST_REPLY, persistent: bool = False) -> LoadSpec:
    """A load of a queue manager, which is not there."""
    return LoadSpec(spec.MQ_VERBS, ("", 0), range(clients), range(clients), 2, body_bytes, persistent, kind=kind)


def prepared(probes: LimitProbes, limit: Contestant, of: LoadSpec) -> ReadyLoad:
    return probes.prepare(limit, of, PointSpec(len(of.requesters), of.body_bytes, of.persistent))


def totals(phases: Sequence[LatencyRecorder]) -> dict[str, int]:
    """Return the count of each operation, in all phases together."""
    found: dict[str, int] = {}
    for row in (row for phase in phases for row in phase.rows(0)):
        if isinstance(row, OperationRow):
            found[row.operation] = found.get(row.operation, 0) + row.count
    return found


def run(of: ReadyLoad, seconds: float = 0.05) -> Sequence[WorkerCounts]:
    return of.run(Timeline.starting(time.perf_counter_ns() + 20_000_000, 0.02, seconds, 0.0), Quiet())


PING_PONG = limits.contestant_of(limits.PING_PONG)
RELAY = limits.contestant_of(limits.RELAY)
BLOCKS = limits.contestant_of(limits.ONE_WAY_BLOCKS)
FORCES = limits.contestant_of(limits.FORCES)
COPIES = limits.contestant_of(limits.COPIES)
REPLICATED = limits.contestant_of(limits.REPLICATED_FORCES)


def test_limits_are_of_the_steps_that_have_them(probes: LimitProbes) -> None:
    plans = {
        0: like(1),
        1: like(1, persistent=True),
        2: like(1, kind=ONE_WAY, persistent=True),
        3: like(1, kind=SESSIONS, persistent=True),
    }
    found = {each.name: each.steps for each in probes.contestants(plans)}
    assert found == {
        PING_PONG.name: frozenset({0, 1}),
        BLOCKS.name: frozenset({2}),
        FORCES.name: frozenset({1, 2}),
    }
    assert all(each.kind is ContestantKind.LIMIT and each.promise for each in probes.contestants(plans))
    assert [each.name for each in probes.contestants({0: like(1)})] == [PING_PONG.name]


@pytest.mark.parametrize("body_bytes", [64, TWO_MEGABYTES])
def test_blocks_of_all_sizes_go_there_and_back(probes: LimitProbes, body_bytes: int) -> None:
    for limit in (PING_PONG, RELAY):
        point = prepared(probes, limit, like(3, body_bytes))
        for _ in range(2):
            counted = run(point)
            assert totals(counted[0].phases)[ROUND_TRIP] >= 3
        assert [each.role for each in point.processes()] == [PROBE, DRIVER]
        server = psutil.Process(point.processes()[0].pid)
        point.close()
        assert not server.is_running(), "its server ends with it, the driver stays for the next"
        assert point.point_spec.main_operation == ROUND_TRIP


@pytest.mark.parametrize("body_bytes", [64, TWO_MEGABYTES])
def test_blocks_that_go_one_way_all_arrive(probes: LimitProbes, body_bytes: int) -> None:
    point = prepared(probes, BLOCKS, like(4, body_bytes, ONE_WAY))
    found = totals(run(point)[0].phases)
    point.close()
    assert found[PUT] == found[GET] >= 4


def test_commits_are_counted_for_each_who_waits(probes: LimitProbes, tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    of = like(5, persistent=True)
    point = probes.prepare(FORCES, of, PointSpec(5, 2048, True), log_directory=elsewhere)
    found = totals(run(point)[0].phases)
    assert found[COMMIT] >= 5
    assert found[COMMIT] % 5 == 0, "all who wait share each force"
    assert [each.role for each in point.processes()] == [PROBE]
    assert point.point_spec.main_operation == COMMIT
    assert [each.name for each in elsewhere.iterdir()] == ["group-commit-probe"]
    point.close()


def test_commits_at_a_rate_are_as_many_as_are_due(tmp_path: Path) -> None:
    driver = GroupCommitDriver(tmp_path, 4, 2048, rate_per_second=100)
    told: list[ProgressSample] = []
    recorder = driver.run(Timeline.starting(time.perf_counter_ns(), 0.0, 0.1, 0.0), told.append)
    driver.close()
    assert totals(recorder.phases) == {COMMIT: 40}


def test_more_than_one_force_takes_is_forced_by_several(tmp_path: Path) -> None:
    driver = GroupCommitDriver(tmp_path, 4, TWO_MEGABYTES)
    assert done_in(driver) == 4
    driver.close()


def test_two_processes_force_what_each_waiter_has(probes: LimitProbes, tmp_path: Path) -> None:
    of = like(5, persistent=True)
    point = probes.prepare(REPLICATED, of, PointSpec(5, 2048, True), log_directory=tmp_path)
    for _ in range(2):
        found = totals(run(point)[0].phases)
        assert found[COMMIT] >= 5
        assert found[COMMIT] % 5 == 0, "all who wait share each force"
    watched = point.processes()
    assert [each.role for each in watched] == [role_at(PROBE, LEADER), role_at(PROBE, FOLLOWER)]
    # The other process has opened and written a file of its own.
    follower = psutil.Process(watched[1].pid)
    assert [Path(each.path).name for each in follower.open_files()] == ["replicated-force-probe"]
    assert follower.io_counters().write_chars >= force_server.FILE_BYTES + found[COMMIT] * 2048
    assert point.point_spec.main_operation == COMMIT
    point.close()
    assert not follower.is_running()


def test_a_distance_is_in_every_replicated_force(probes: LimitProbes) -> None:
    of = like(3, persistent=True)
    point = probes.prepare(REPLICATED, of, PointSpec(3, 2048, True), round_trip_ms=20)
    rows = [row for phase in run(point)[0].phases for row in phase.rows(0) if isinstance(row, OperationRow)]
    assert rows
    assert min(row.lowest_ns or 0 for row in rows) >= 20_000_000
    assert [role_kind(each.role) for each in point.processes()] == [PROBE, PROBE, LABORATORY]
    point.close()


def test_a_replicated_force_is_a_limit_of_the_steps_that_wait_for_a_copy(probes: LimitProbes) -> None:
    plans = {0: like(1, persistent=True), 1: like(1, persistent=True)}
    found = {each.name: each.steps for each in probes.contestants(plans, frozenset({1}))}
    assert found[REPLICATED.name] == frozenset({1})
    assert found[FORCES.name] == frozenset({0, 1})
    assert REPLICATED.name not in {each.name for each in probes.contestants(plans)}


def test_the_loss_of_the_other_process_is_told(probes: LimitProbes) -> None:
    point = prepared(probes, REPLICATED, like(2, persistent=True))
    psutil.Process(point.processes()[1].pid).kill()
    with pytest.raises(PointFailed, match="replicated force: the other process of the probe"):
        run(point)
    point.close()
    with pytest.raises(PointFailed, match="replicated force: the file of the probe cannot be made"):
        probes.prepare(REPLICATED, like(1), PointSpec(1, 2048, True), log_directory=Path("/nowhere"))


def test_copies_come_to_messages_a_second(probes: LimitProbes) -> None:
    point = prepared(probes, COPIES, like(1, 20_480))
    assert totals(run(point)[0].phases)[COPY] > 0
    messages, copied = point.results()
    assert (messages.name, copied.name) == ("messages per second", "bytes per second")
    assert copied.value == pytest.approx(20_480 * messages.value)
    assert messages.value > 0
    point.close()


def test_a_probe_that_cannot_be_is_told(probes: LimitProbes, tmp_path: Path) -> None:
    nowhere = tmp_path / "nowhere"
    with pytest.raises(PointFailed, match=r"group commit: the file of the probe cannot be made: .*nowhere"):
        probes.prepare(FORCES, like(1), PointSpec(1, 2048, True), log_directory=nowhere)
    with pytest.raises(PointFailed, match="memory copy: blocks of 67108864 bytes"):
        prepared(probes, COPIES, like(1, 64 << 20))
    with pytest.raises(PointFailed, match=r"bare one-way: .* no room for the time"):
        prepared(probes, BLOCKS, like(1, 7, ONE_WAY))
    point = prepared(probes, BLOCKS, replace(like(1, 64, ONE_WAY), responders=range(0)))
    with pytest.raises(PointFailed, match="bare one-way: the broker closed a connection"):
        run(point)
    point.close()
    point = prepared(probes, PING_PONG, like(1))
    assert totals(run(point)[0].phases)[ROUND_TRIP] > 0, "a failure is no hindrance for the next"
    point.close()


def test_a_probes_server_ends_with_who_started_it() -> None:
    program = (
        "import socket, sys\n"
        "from ostler.lab.load.bare import server as bare_server\n"
        "from ostler.lab.load.bare.client import HELLO, REQUESTER\n"
        "listener = bare_server.listening(('127.0.0.1', 0))\n"
        "process = bare_server.start('echo', listener, 64)\n"
        "client = socket.create_connection(listener.getsockname())\n"
        "client.sendall(HELLO.pack(REQUESTER, 0))\n"
        "client.recv(1)\n"
        "print(process.pid, flush=True)\n"
        "sys.stdin.read()\n"
    )
    parent = subprocess.Popen([sys.executable, "-c", program], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert parent.stdin is not None
    assert parent.stdout is not None
    server = psutil.Process(int(parent.stdout.readline()))
    parent.kill()
    parent.communicate()
    _, alive = psutil.wait_procs([server], timeout=SECONDS_MAX)
    assert not alive
