"""Threads of the queue manager that fail: they come back, or the queue manager ends; and the error log always tells."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from ostler.model.errors import MQError
from ostler.server.channels.initiator import APPLICATION as INITIATOR
from ostler.server.channels.outbound import OutboundConnector
from ostler.server.net.dns import HostResolver
from ostler.server.net.outgoing_sockets import HostAddress
from ostler.server.supervised_thread import SupervisedThread
from ostler.testing import queue_manager
from ostler.testing.running import RunningQueueManager

WAIT = 60.0


def wait_for(look: Callable[[], bool], what: str) -> None:
    deadline = time.monotonic() + WAIT
    while not look():
        assert time.monotonic() < deadline, f"{what} did not come within {WAIT:g} seconds"
        time.sleep(0.005)


class Bench:
    """A thread whose work fails as often as told."""

    def __init__(self, *failures: BaseException | None, essential: Callable[[str], None] | None = None) -> None:
        self.failures = list(failures)  # None: it just returns
        self.notes: list[str] = []
        self.stopping = threading.Event()
        self.works = threading.Event()
        self.thread = SupervisedThread(
            "bench",
            "bench",
            self.work,
            self.stopping.is_set,
            self.notes.append,
            stopping=self.stopping,
            essential=essential,
        )

    def work(self) -> None:
        if self.failures:
            failure = self.failures.pop(0)
            if failure is not None:
                raise failure
            return
        self.works.set()
        self.stopping.wait()

    def end(self) -> None:
        self.stopping.set()
        self.thread.join(WAIT)
        assert not self.thread.is_alive()


@pytest.mark.parametrize("failure", [RuntimeError("odd"), MQError(2009), MemoryError(), SystemExit(1), None])
def test_work_begins_again_and_the_error_log_tells(failure: BaseException | None) -> None:
    bench = Bench(failure)
    bench.thread.start()
    assert bench.works.wait(WAIT), "the work did not begin again"
    assert len(bench.notes) == bench.thread.restarts == 1
    assert bench.notes[0].startswith("AMQ5010W: The bench restarts after an error: ")
    bench.end()
    assert len(bench.notes) == 1, "an end that was wanted is none to tell of"


def test_the_same_trouble_is_told_once_for_a_while() -> None:
    bench = Bench(MQError(2016), MQError(2016), MQError(2016), MQError(2071))
    bench.thread.start()
    assert bench.works.wait(WAIT), "the work did not begin again"
    assert (bench.thread.restarts, len(bench.notes)) == (4, 2)
    bench.end()


def test_it_is_ended_while_it_pauses() -> None:
    bench = Bench(*[RuntimeError("odd")] * 1000)
    bench.thread.start()
    wait_for(lambda: bench.thread.is_pausing, "a pause")
    bench.end()


def test_an_essential_one_says_so_and_does_not_begin_again() -> None:
    told: list[str] = []
    bench = Bench(RuntimeError("odd"), essential=told.append)
    bench.thread.start()
    bench.thread.join(WAIT)
    assert not bench.thread.is_alive()
    assert bench.notes[0].startswith("AMQ5008S: ")
    assert "odd" in told[0]
    assert not bench.works.is_set()


# -- the threads of a queue manager ------------------------------------------------------------------------------------


@pytest.fixture
def running(tmp_path: Path) -> Iterator[RunningQueueManager]:
    with queue_manager("SUPERVISED", data=tmp_path) as found:
        yield found


def test_housekeeping_goes_on_after_what_nobody_expects(running: RunningQueueManager) -> None:
    """A duty that fails each time keeps no other duty from being done, checkpoints least of all."""
    manager = running.manager
    housekeeping = manager.housekeeping
    scavenger = housekeeping.scavenger
    calls: list[None] = []

    def fail() -> None:
        calls.append(None)
        raise ValueError("a fault of the queue manager itself")

    scavenger.work = fail  # type: ignore[method-assign]
    manager.statistics_writer.write_due = fail  # type: ignore[method-assign]
    wait_for(lambda: len(calls) >= 4, "the next pass of housekeeping")
    running.mqsc("DEFINE QLOCAL(Q)")
    running.put("Q", b"x", expiry=0.1)
    wait_for(lambda: "CURDEPTH(0)" in " ".join(running.mqsc("DISPLAY QLOCAL(Q) CURDEPTH")), "the end of the message")
    assert any("AMQ6109E: Housekeeping continues" in each for each in manager.notices)


def test_housekeeping_begins_again(running: RunningQueueManager) -> None:
    manager = running.manager
    failures = [ValueError("a fault of the queue manager itself")]

    def fail_once() -> bool:
        if failures:
            raise failures.pop()
        return False

    manager.housekeeping._image_is_due = fail_once  # type: ignore[method-assign]
    wait_for(lambda: any("AMQ5010W: The housekeeping" in each for each in manager.notices), "the note of the failure")
    running.mqsc("DEFINE QLOCAL(Q)")
    running.put("Q", b"x", expiry=0.1)
    wait_for(lambda: "CURDEPTH(0)" in " ".join(running.mqsc("DISPLAY QLOCAL(Q) CURDEPTH")), "the end of the message")


def test_the_channel_initiator_comes_back_when_its_connection_is_broken(running: RunningQueueManager) -> None:
    manager = running.manager

    def own_number(other_than: int = -1) -> int:
        with manager.lock:
            own = [each.number for each in manager.engine.connections.values() if each.application == INITIATOR]
        return next((number for number in own if number != other_than), -1)

    wait_for(lambda: own_number() >= 0, "the connection of the channel initiator")
    number = own_number()
    running.mqsc(f"STOP CONN('{connection_id(running, number)}')")
    wait_for(lambda: own_number(number) >= 0, "another connection of the channel initiator")
    assert "CHINIT(RUNNING)" in " ".join(running.mqsc("DISPLAY QMSTATUS CHINIT"))
    assert any("AMQ9509E" in each and "2009" in each for each in manager.notices)


def test_the_command_server_comes_back_after_stop_conn(running: RunningQueueManager) -> None:
    manager = running.manager
    wait_for(lambda: running.server.commands.status == "RUNNING", "CMDSERV(RUNNING)")
    with manager.lock:
        number = next(
            each.number for each in manager.engine.connections.values() if each.application == "ostler-commands"
        )
    running.mqsc(f"STOP CONN('{connection_id(running, number)}')")
    wait_for(lambda: any("AMQ8506E" in each for each in manager.notices), "a line in the error log")
    wait_for(lambda: running.server.commands.status == "RUNNING", "CMDSERV(RUNNING)")


def connection_id(running: RunningQueueManager, number: int) -> str:
    with running.manager.lock:
        return running.manager.engine.connections[number].connection_id[-8:].hex().upper()


def test_what_a_test_leaves_is_no_part_of_the_queue_manager(running: RunningQueueManager) -> None:
    """Isolation breaks connections that came later; the command server may be one of them, on a busy machine."""
    wait_for(lambda: running.server.commands.status == "RUNNING", "CMDSERV(RUNNING)")
    engine = running.manager.engine
    with running.isolated():
        running.server.commands.stop()
        running.server.commands.start()
        wait_for(lambda: running.server.commands.status == "RUNNING", "CMDSERV(RUNNING)")
        before = set(engine.connections)
        left = running.connect()
        number = (set(engine.connections) - before).pop()
    assert set(engine.connections) == before, "the command server was broken, or what the test left was not"
    assert number not in engine.connections
    left.close(commit=False)


def test_a_failed_reactor_ends_the_queue_manager(tmp_path: Path) -> None:
    with queue_manager("FAILS", data=tmp_path) as running:
        running.server.reactor.epoll.close()
        wait_for(lambda: bool(running.manager.writer.failure), "the failure of the queue manager")
        assert any("AMQ5008S: The thread that serves applications" in each for each in running.manager.notices)


def test_calls_to_partners_go_on_after_what_nobody_expects() -> None:
    notes: list[str] = []
    failed: list[str] = []
    connector = OutboundConnector(lambda task: task(), note=notes.append)

    def fault() -> None:
        raise ValueError("a fault of the queue manager itself")

    connector._hand_over(fault)
    connector.connect("127.0.0.1(1)", "", 0, lambda connected, where: None, failed.append)
    wait_for(lambda: bool(failed), "the outcome of a call")
    assert any("AMQ5010W: The thread that connects to partners restarts" in each for each in notes)
    connector.close()


def test_look_ups_go_on_after_what_nobody_expects() -> None:
    notes: list[str] = []
    answers: list[str] = []

    def answer(host: str, found: list[HostAddress], why: str) -> None:
        if not notes and host == "first":
            raise ValueError("a fault of the queue manager itself")
        answers.append(host)

    look_ups = HostResolver(answer, lambda host: [], notes.append)
    look_ups.ask("first")
    wait_for(lambda: bool(notes), "the note of the failure")
    look_ups.ask("second")
    wait_for(lambda: answers == ["second"], "the answer to the second question")
    look_ups.close()
