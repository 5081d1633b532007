"""Drivers on a timeline, over real sockets and in real processes: what they count, and how they end."""

from __future__ import annotations

import multiprocessing
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest
from tests.lab.load.answering_server import AnsweringServer
from tests.lab.load.recorded import done_in

from ostler.lab.load import spec
from ostler.lab.load.bare import server as bare_server
from ostler.lab.load.bare.client import HELLO, REQUESTER
from ostler.lab.load.client import LoadClient, LoadFailed, Pace, reply_for
from ostler.lab.load.drivers.driver_process import Answer, DriverEnd, Load, new_load
from ostler.lab.load.drivers.epoll_driver import EpollDriver
from ostler.lab.load.drivers.load_worker import LoadWorker
from ostler.lab.load.drivers.start import start_driver
from ostler.lab.load.drivers.threaded_driver import ThreadedDriver
from ostler.lab.load.pacing import NEVER_NS, SINCE_DUE, SINCE_PUT, Pacing, Schedule
from ostler.lab.load.progress import ProgressReporter
from ostler.lab.load.spec import LoadSpec
from ostler.lab.load.timeline import MEASURED, WARMING_UP, PhaseRecorder, Timeline
from ostler.lab.runner.contract import GET, PUT, ROUND_TRIP, SESSION, ProgressSample
from ostler.lab.store.histogram import lowest_of, percentile_ns
from ostler.lab.store.recorder import LatencyRecorder
from ostler.lab.store.roles import DRIVER
from ostler.lab.store.rows import LatencyRow, OperationRow

SECOND_NS = 1_000_000_000
MILLISECOND_NS = 1_000_000
BLOCK_BYTES = 64


@pytest.fixture
def server() -> Iterator[AnsweringServer]:
    made = AnsweringServer(stall_seconds=0.3)
    yield made
    made.end()


class Quiet:
    """A watcher that does not mind."""

    def on_progress(self, moment: ProgressSample) -> None: ...


def soon(measured_seconds: float, cool_down_seconds: float = 0.0, warm_up_seconds: float = 0.0) -> Timeline:
    begin_ns = time.perf_counter_ns() + 5 * MILLISECOND_NS
    return Timeline.starting(begin_ns, warm_up_seconds, measured_seconds, cool_down_seconds)


def requests(address: tuple[str, int], clients: int, rate_per_second: float = 0.0) -> LoadSpec:
    return LoadSpec(
        spec.BARE, address, range(clients), range(0), 1, BLOCK_BYTES, False, rate_per_second=rate_per_second
    )


def counted(phases: list[LatencyRecorder], operation: str = ROUND_TRIP) -> list[int]:
    """Return the count of an operation, by phase."""
    found = [[row for row in phase.rows(0) if isinstance(row, OperationRow)] for phase in phases]
    return [sum(row.count for row in rows if row.operation == operation) for rows in found]


def latencies(phases: list[LatencyRecorder]) -> dict[int, int]:
    """All phases together: buckets and their counts."""
    total: dict[int, int] = {}
    for phase in phases:
        for row in phase.rows(0):
            if isinstance(row, LatencyRow) and row.operation not in (SINCE_DUE, SINCE_PUT):
                total[row.bucket] = total.get(row.bucket, 0) + row.count
    return total


def test_every_operation_is_counted_in_its_phase(server: AnsweringServer) -> None:
    driver = start_driver(requests(server.address, 3))
    recorder = driver.run(soon(0.05, 0.02, 0.02), lambda moment: None)
    by_phase = counted(recorder.phases)
    assert min(by_phase) >= 1
    again = driver.run(soon(0.02), lambda moment: None)
    assert counted(recorder.phases) == by_phase, "the first run is over"
    assert counted(again.phases)[WARMING_UP] == 0
    assert done_in(driver) == 3, "in no time, one of each"
    driver.close()


def test_rated_load_begins_what_is_due_and_no_more(server: AnsweringServer) -> None:
    driver = start_driver(requests(server.address, 4, 50.0))
    done = sum(counted(driver.run(soon(0.1, 0.2), lambda moment: None).phases))
    assert 40 <= done <= 60, "all that are due, but for what a busy machine kept from being begun before the end"
    driver.close()


class Noting(LoadClient):
    """Keeps the times for which it was begun."""

    def __init__(self, pace: Pace) -> None:
        super().__init__(pace, True)
        self.due_ns: list[int] = []

    def opening(self) -> bytes:
        return HELLO.pack(REQUESTER, 0)

    def begin(self, now_ns: int) -> bytes:
        self.began_ns = now_ns
        self.due_ns.append(now_ns)
        return reply_for(len(self.due_ns), BLOCK_BYTES)

    def receive(self, data: bytes, now_ns: int) -> bytes:
        if not self.is_ready:
            self.is_ready = True
            return b""
        return self.replied(now_ns)


def test_rated_clients_are_begun_with_the_time_they_were_due(server: AnsweringServer) -> None:
    pace = Pace(Pacing(rate_per_second=200.0))
    driver = EpollDriver(server.address, pace)
    clients = [Noting(pace), Noting(pace)]
    driver.open(list(clients))
    timeline = soon(0.1)
    driver.run(timeline)
    driver.close()
    schedule = Schedule(timeline.begin_ns, timeline.end_ns, 200.0, 2)
    for number, client in enumerate(clients):
        assert client.due_ns == [schedule.due_ns(number, turn) for turn in range(len(client.due_ns))]
        assert len(client.due_ns) >= 1


def test_a_stall_of_a_server_shows_in_rated_load_and_not_in_a_closed_loop(server: AnsweringServer) -> None:
    """The server answers nothing for 300 ms. At a rate, what was due in the first 200 of them took 100 at least."""
    slow: dict[float, int] = {}
    p95_ns: dict[float, int] = {}
    for rate in (0.0, 200.0):
        driver = start_driver(requests(server.address, 4, rate))
        timeline = soon(0.5, 0.4)
        server.stall_from_ns = timeline.begin_ns + 100 * MILLISECOND_NS
        counts = latencies(driver.run(timeline, lambda moment: None).phases)
        driver.close()
        slow[rate] = sum(count for bucket, count in counts.items() if lowest_of(bucket) >= 99 * MILLISECOND_NS)
        p95_ns[rate] = percentile_ns(counts, 95, SECOND_NS)
    assert slow[200.0] >= 4 * 0.2 * 200 * 0.9
    assert p95_ns[200.0] >= 99 * MILLISECOND_NS
    assert slow[0.0] >= 1, "the closed loop met the stall, too"
    assert p95_ns[0.0] < 99 * MILLISECOND_NS, "but lets it vanish among the rest"


def test_what_was_due_before_the_end_is_begun_however_late() -> None:
    """The server stands still from before the end until behind it, and all that was due meanwhile is there."""
    server = AnsweringServer(stall_seconds=0.4)
    pace = Pace(Pacing(rate_per_second=100.0))
    driver = EpollDriver(server.address, pace)
    driver.open([Noting(pace), Noting(pace)])
    timeline = soon(0.3)
    server.stall_from_ns = timeline.begin_ns + 100 * MILLISECOND_NS
    # Nothing that ends behind the window is to be lost.
    own = Timeline(timeline.begin_ns, timeline.begin_ns, NEVER_NS, timeline.end_ns)
    recorder = driver.run_out(own, timeline.end_ns + 60 * SECOND_NS)
    schedule = Schedule(own.begin_ns, own.end_ns, 100.0, 2)
    due = len(schedule.unfinished_ns())
    assert pace.schedule is not None
    assert pace.schedule.unfinished_ns() == []
    assert sum(latencies(recorder.phases).values()) == due == pace.completed
    highest = max(found.highest_ns for found in recorder.phases[MEASURED].operation(ROUND_TRIP).seconds.values())
    assert highest >= 300 * MILLISECOND_NS
    driver.close()
    server.end()


class Hopeful(Noting):
    """Takes a connection for granted."""

    def opening(self) -> bytes:
        self.is_ready = True
        return super().opening()


def test_what_is_never_answered_is_given_up_and_known() -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        pace = Pace(Pacing(rate_per_second=100.0))
        driver = EpollDriver(silent.getsockname(), pace)
        driver.open([Hopeful(pace), Hopeful(pace)])
        timeline = soon(0.1)
        driver.run_out(timeline, timeline.end_ns + 50 * MILLISECOND_NS)
        assert time.perf_counter_ns() >= timeline.end_ns + 50 * MILLISECOND_NS
        assert pace.completed == 0
        assert pace.schedule is not None
        every = Schedule(timeline.begin_ns, timeline.end_ns, 100.0, 2)
        assert pace.schedule.unfinished_ns() == every.unfinished_ns()
        driver.close()


class Sessions(LoadClient):
    """Connects, makes two round trips and is over, again and again."""

    def __init__(self, pace: Pace) -> None:
        super().__init__(pace, True)
        self.is_session = True
        self._left = 0

    def opening(self) -> bytes:
        return HELLO.pack(REQUESTER, 0)

    def begin(self, now_ns: int) -> bytes:
        self.began_ns = now_ns
        self._left = 2
        return b""

    def receive(self, data: bytes, now_ns: int) -> bytes:
        self.is_ready = True
        if self._left:
            self._left -= 1
            return reply_for(self._left, BLOCK_BYTES)
        self.is_over = True
        return self.replied(now_ns)


@pytest.mark.parametrize("rate", [0.0, 100.0])
def test_every_session_has_a_connection_of_its_own(server: AnsweringServer, rate: float) -> None:
    pace = Pace(Pacing(SESSION, rate))
    driver = EpollDriver(server.address, pace)
    driver.open([Sessions(pace) for _ in range(3)])
    assert server.accepted == 0
    recorder = driver.run(soon(0.1))
    sessions = sum(counted(recorder.phases, SESSION))
    assert sessions == pace.completed == server.accepted >= 3
    driver.run(soon(0.02))
    assert pace.completed == server.accepted > sessions
    driver.close()


class Member(LoadClient):
    """One of several that share a connection: a block says which of them it belongs to."""

    def __init__(self, pace: Pace, number: int) -> None:
        super().__init__(pace, True)
        self.number = number

    def begin(self, now_ns: int) -> bytes:
        self.began_ns = now_ns
        return reply_for(self.number, BLOCK_BYTES)


class Carrier(LoadClient):
    def __init__(self, pace: Pace, members: int) -> None:
        super().__init__(pace, True)
        self.members = [Member(pace, number) for number in range(members)]

    def opening(self) -> bytes:
        return HELLO.pack(REQUESTER, 0)

    def receive(self, data: bytes, now_ns: int) -> bytes:
        if not self.is_ready:
            self.is_ready = True
            data = data[1:]
        data = self.pending + data
        answers = []
        while len(data) >= BLOCK_BYTES:
            member, data = self.members[int(data[:16])], data[BLOCK_BYTES:]
            answers.append(member.replied(now_ns))
        self.pending = data
        return b"".join(answers)


def test_clients_share_a_connection(server: AnsweringServer) -> None:
    pace = Pace()
    driver = EpollDriver(server.address, pace)
    driver.open([Carrier(pace, 3), Carrier(pace, 2)])
    assert server.accepted == 2
    assert done_in(driver) == 5
    driver.run(soon(0.03))
    assert pace.active == 0
    driver.close()


def test_hundreds_of_connections_are_opened_together(server: AnsweringServer) -> None:
    driver = start_driver(requests(server.address, 400))
    assert server.accepted == 400
    assert done_in(driver) == 400
    driver.close()


def test_clients_are_spread_over_addresses_and_responders_have_their_own(server: AnsweringServer) -> None:
    other, theirs = AnsweringServer(), AnsweringServer()
    address = server.address
    driver = start_driver(
        LoadSpec(
            spec.BARE, address, range(4), range(3), 1, BLOCK_BYTES, False,
            other_addresses=(other.address,), responder_address=theirs.address,
        )
    )  # fmt: skip
    assert (server.accepted, other.accepted, theirs.accepted) == (2, 2, 3)
    assert done_in(driver) == 4
    driver.close()
    other.end()
    theirs.end()


def test_a_connection_that_is_refused_is_told() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        address = listener.getsockname()
    with pytest.raises(LoadFailed, match="Connection refused"):
        start_driver(requests(address, 1))


def test_drivers_in_processes_count_together(server: AnsweringServer) -> None:
    load = new_load(2)
    watched = load.processes()
    assert [each.role for each in watched] == [DRIVER, DRIVER]
    load.open(requests(server.address, 3))
    done = load.run(soon(0.1, 0.05, 0.05), Quiet())
    assert [each.worker for each in done] == [0, 1]
    for each in done:
        assert min(counted(list(each.phases))) >= 1
    load.close()
    # One dies while its load is open: that is told, and the load can be opened again.
    load.open(requests(server.address, 2))
    os.kill(watched[1].pid, signal.SIGKILL)
    with pytest.raises(LoadFailed, match="ended with status -9"):
        load.run(soon(0.05), Quiet())
    assert not psutil.pid_exists(watched[0].pid), "the other one went with it"
    load.close()
    load.open(requests(server.address, 2))
    assert len(load.run(soon(0.02), Quiet())) == 2
    # And the server goes: its words are the driver's.
    server.end()
    with pytest.raises(LoadFailed, match="closed a connection"):
        load.run(soon(0.05), Quiet())
    load.end()


def test_messages_between_drivers_are_waited_for() -> None:
    listener = bare_server.listening(("127.0.0.1", 0))
    process = bare_server.start(bare_server.PASS, listener, BLOCK_BYTES)
    load = new_load(2)
    # Backwards, so that each driver has the consumer of the other's producer.
    load.open(
        LoadSpec(
            spec.BARE, listener.getsockname(), range(2), range(1, -1, -1), 2, BLOCK_BYTES, False, kind=spec.ONE_WAY
        )
    )
    done = load.run(soon(0.1), Quiet())
    put = [sum(counted(list(each.phases), PUT)) for each in done]
    got = [sum(counted(list(each.phases), GET)) for each in done]
    assert put == got[::-1]
    assert min(put) >= 1
    load.end()
    listener.close()
    process.terminate()
    process.wait()


class Scripted(DriverEnd):
    """A driver that has outstanding messages as it is told to say, one number after the other."""

    def __init__(self, outstanding: list[int]) -> None:
        ours, self._theirs = multiprocessing.Pipe()
        super().__init__(ours)
        self.outstanding = outstanding

    pid = 0

    def end(self) -> None: ...

    def kill(self) -> None: ...

    def break_off(self) -> None: ...

    def describe_end(self) -> str:
        return ""

    def send(self, what: str, argument: object = None) -> None:
        found: int | list[str] | None = None
        if what == "outstanding":
            found = self.outstanding.pop(0)
        elif what == "counted":
            found = PhaseRecorder(soon(0.0)).pack()
        self._theirs.send(Answer("", found))


def test_a_load_is_over_when_what_all_drivers_have_outstanding_adds_up_to_nothing() -> None:
    producer, consumer = Scripted([3, 3, 3]), Scripted([0, -2, -3])
    load = Load([producer, consumer])
    assert len(load.run(soon(0.0), Quiet())) == 2
    assert producer.outstanding == consumer.outstanding == []


PROGRAM = """
import sys, time
from ostler.lab.load import spec
from ostler.lab.load.drivers.driver_process import Answer, DriverEnd, Load, new_load
from ostler.lab.load.timeline import Timeline

class Watching:
    def on_progress(self, sample):
        print(load.processes()[0].pid, flush=True)

if __name__ == "__main__":
    load = new_load()
    load.open(spec.LoadSpec(spec.BARE, ("127.0.0.1", int(sys.argv[1])), range(1), range(0), 1, 64, False))
    load.run(Timeline.starting(time.perf_counter_ns(), 0, 60, 0), Watching())
"""


def test_drivers_end_with_who_started_them(server: AnsweringServer, tmp_path: Path) -> None:
    """In the middle of a load."""
    program = tmp_path / "program.py"
    program.write_text(PROGRAM)
    command = [sys.executable, str(program), str(server.address[1])]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        driver = psutil.Process(int(process.stdout.readline()))
        assert driver.is_running()
        process.kill()
        assert driver.wait(30) is None
    assert not driver.is_running()


INTERRUPTED = """
import os, signal
from ostler.lab.load.drivers.driver_process import new_load

if __name__ == "__main__":
    signal.signal(signal.SIGINT, lambda number, frame: None)
    load = new_load()
    os.killpg(0, signal.SIGINT)
    load._all("counted")
    load.end()
"""


def test_control_c_does_not_reach_a_driver_that_is_still_starting(tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    program.write_text(INTERRUPTED)
    command = [sys.executable, str(program)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, start_new_session=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


class Telling(Quiet):
    """A watcher that lets another thread know that a load is under way."""

    def __init__(self) -> None:
        self.is_under_way = threading.Event()

    def on_progress(self, moment: ProgressSample) -> None:
        self.is_under_way.set()


@pytest.mark.parametrize("how", ["close", "end"])
def test_a_load_that_is_closed_while_it_runs_is_broken_off(server: AnsweringServer, how: str) -> None:
    """As by control-C, which reaches the thread that waits and not the one that listens to the drivers."""
    load, reporting, told = new_load(), Telling(), []
    load.open(requests(server.address, 1))
    driver = psutil.Process(load.processes()[0].pid)

    def run() -> None:
        try:
            load.run(soon(600.0), reporting)
        except LoadFailed as failure:
            told.append(str(failure))

    thread = threading.Thread(target=run)
    thread.start()
    assert reporting.is_under_way.wait(30)
    getattr(load, how)()
    thread.join(30)
    assert not thread.is_alive()
    assert told == ["a driver ended with status -9"]
    assert not driver.is_running()
    if how == "close":
        load.open(requests(server.address, 1))
        assert len(load.run(soon(0.0), Quiet())) == 1
        load.end()


class Counting(LoadWorker[None]):
    """A producer, or a consumer of what it puts on a list."""

    def __init__(self, sent: list[int], is_producer: bool) -> None:
        self._sent = sent
        self._is_producer = is_producer

    def open(self) -> None: ...

    def step(self) -> None:
        if self._is_producer:
            self.tally.put()
            self._sent.append(self.due_ns)
        elif self._sent:
            due_ns = self._sent.pop(0)
            self.tally.got(due_ns, due_ns, time.perf_counter_ns())
        else:
            os.sched_yield()

    def close(self) -> None: ...


@pytest.mark.parametrize("rate", [0.0, 100.0])
def test_threads_keep_to_a_timeline(rate: float) -> None:
    sent: list[int] = []
    driver = ThreadedDriver([lambda: Counting(sent, True)], [lambda: Counting(sent, False)])
    driver.pacing = Pacing(PUT, rate)
    recorder = driver.run(soon(0.1))
    put, got = sum(counted(recorder.phases, PUT)), sum(counted(recorder.phases, GET))
    assert put == got >= 1
    beside = [sum(counted(recorder.phases, name)) for name in ("put since call", "get since put")]
    assert beside == ([put, got] if rate else [0, 0]), "rated operations are timed both ways"
    assert driver.outstanding == 0
    if rate:
        assert put <= 10
    driver.close()


def test_a_worker_that_fails_while_a_timeline_runs_is_told() -> None:
    class Failing(Counting):
        def step(self) -> None:
            raise ConnectionResetError("gone")

    driver = ThreadedDriver([lambda: Failing([], True)], [])
    with pytest.raises(LoadFailed, match="gone"):
        driver.run(soon(10.0))
    driver.close()


def test_moments_tell_of_the_last_whole_second() -> None:
    told: list[ProgressSample] = []
    timeline = Timeline(0, 2 * SECOND_NS, 4 * SECOND_NS, 4 * SECOND_NS)
    recorder = PhaseRecorder(timeline)
    progress = ProgressReporter(recorder, ROUND_TRIP, 10, told.append)
    assert progress.next_ns == SECOND_NS
    operation = recorder.operation(ROUND_TRIP)
    progress.report(SECOND_NS, 10)
    for number in range(100):
        operation.record(SECOND_NS, SECOND_NS + 100 + number)
    progress.report(2 * SECOND_NS, 110)
    operation.record(0, timeline.measured_ns + 7)
    operation.record(3 * SECOND_NS, 3 * SECOND_NS + 5)
    progress.report(3 * SECOND_NS + SECOND_NS // 2, 112)
    operation.record(0, timeline.cool_ns)
    progress.report(timeline.cool_ns + SECOND_NS // 2, 113)
    assert told == [
        ProgressSample(0, SECOND_NS, 0, 0.0, 0, 0),
        ProgressSample(0, 2 * SECOND_NS, 100, 100.0, 149, 198),
        ProgressSample(0, 3 * SECOND_NS + SECOND_NS // 2, 102, 2 / 1.5, 2 * SECOND_NS + 7, 2 * SECOND_NS + 7),
        ProgressSample(0, 4 * SECOND_NS + SECOND_NS // 2, 103, 1.0, 5, 5),
    ]
