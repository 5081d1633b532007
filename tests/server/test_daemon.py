"""The life of the process, without sockets: what ends it, in which order, and what is left to be read."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from ostler.server.config.directories import QueueManagerDirectory
from ostler.server.config.process_file import ManagerState, read_record, state_of
from ostler.server.config.qm_ini import LogSection
from ostler.server.daemon import FOR_EVER, IMMEDIATE, QUIESCE, Daemon, EndRequest, StartFailure
from ostler.server.queue_manager import QueueManager, create_queue_manager


class PlainServer:
    """A server without sockets."""

    def __init__(self, manager: QueueManager) -> None:
        self.manager = manager
        self.with_listeners: bool | None = None
        self.ends: list[str] = []

    def start(self, with_listeners: bool = True) -> None:
        self.with_listeners = with_listeners

    def end(self, mode: str = "quiesce", wait_seconds: float = 0.0) -> None:
        self.ends.append(mode)
        self.manager.end(mode, wait_seconds)


class Listening:
    """A reporter that lets tests wait for the start."""

    def __init__(self) -> None:
        self.done = threading.Event()
        self.manager: QueueManager | None = None
        self.failure: StartFailure | None = None

    def progress(self, done_bytes: int, total_bytes: int) -> None:
        pass

    def ready(self, manager: QueueManager) -> None:
        self.manager = manager
        self.done.set()

    def failed(self, failure: StartFailure) -> None:
        self.failure = failure
        self.done.set()


class Life:
    """A daemon in a thread."""

    def __init__(self, directory: QueueManagerDirectory, make: Callable[..., PlainServer] | None = None) -> None:
        self.directory = directory
        self.reporter = Listening()
        self.echo: list[str] = []
        self.status: int | None = None
        self.servers: list[PlainServer] = []

        def make_server(manager: QueueManager, daemon: Daemon) -> PlainServer:
            self.servers.append((make or PlainServer)(manager))
            return self.servers[-1]

        self.daemon = Daemon(directory, self.reporter, make_server, "1.2", "test", 5.0, self.echo.append, False)
        self.thread = threading.Thread(target=self._run)
        self.thread.start()
        assert self.reporter.done.wait(60)

    def _run(self) -> None:
        self.status = self.daemon.run()

    @property
    def manager(self) -> QueueManager:
        assert self.reporter.manager is not None
        return self.reporter.manager

    def end(self, mode: str, wait_seconds: float = 0.0) -> None:
        self.daemon.request_end(EndRequest(mode, wait_seconds, "a test"))

    def join(self) -> None:
        self.thread.join(60)
        assert not self.thread.is_alive()


@pytest.fixture
def directory(tmp_path: Path) -> QueueManagerDirectory:
    return create_queue_manager(tmp_path, "QM1", LogSection(file_pages=64, primary_files=2, secondary_files=1))


def test_it_starts_and_ends_normally(directory: QueueManagerDirectory) -> None:
    life = Life(directory)
    assert state_of(directory) is ManagerState.RUNNING
    assert life.servers[0].with_listeners is False
    life.end(QUIESCE)
    life.join()
    assert (life.status, life.servers[0].ends) == (0, [QUIESCE])
    assert state_of(directory) is ManagerState.ENDED_NORMALLY
    assert [line.partition(":")[0] for line in life.echo] == ["AMQ7230I", "AMQ8003I", "AMQ5049I", "AMQ8004I"]


def test_a_quiesce_that_waits_is_hurried_by_a_sharper_request(directory: QueueManagerDirectory) -> None:
    life = Life(directory)
    connection = life.manager.connect("user", "stays")
    life.end(QUIESCE, FOR_EVER)
    while not any("AMQ5049I" in line for line in life.echo):
        life.thread.join(0.001)
    assert state_of(directory) is ManagerState.QUIESCING
    life.end(IMMEDIATE)
    life.join()
    assert connection.broken
    assert life.servers[0].ends == [QUIESCE], "one end, hurried on"
    assert state_of(directory) is ManagerState.ENDED_IMMEDIATELY


def test_a_quiesce_that_waits_for_ever_is_given_a_limit(directory: QueueManagerDirectory) -> None:
    """endmqm, then endmqm -t: the limit counts, and what follows is an immediate end."""
    life = Life(directory)
    connection = life.manager.connect("user", "stays")
    life.end(QUIESCE, FOR_EVER)
    life.end(QUIESCE, 0.2)
    life.end(QUIESCE, 3600.0)
    life.join()
    assert connection.broken
    assert life.servers[0].ends == [QUIESCE], "one end, hurried on"
    assert state_of(directory) is ManagerState.ENDED_IMMEDIATELY
    assert any("AMQ5049I" in line and "is ending (immediate)" in line for line in life.echo)


def test_a_limit_that_is_kept_is_a_normal_end(directory: QueueManagerDirectory) -> None:
    life = Life(directory)
    connection = life.manager.connect("user", "leaves")
    life.end(QUIESCE, FOR_EVER)
    life.end(QUIESCE, 60.0)
    assert life.manager.disconnect(connection) == 0
    life.join()
    assert state_of(directory) is ManagerState.ENDED_NORMALLY


def test_who_hurries_before_the_wait_has_begun_is_heard(directory: QueueManagerDirectory) -> None:
    """Services are stopped first, which may take its time."""
    manager = QueueManager(directory)
    manager.start()
    connection = manager.connect("user", "stays")
    manager.limit_end_wait()
    manager.end("quiesce", FOR_EVER)
    assert connection.broken


def test_a_gentler_request_does_not_soften_an_end(directory: QueueManagerDirectory) -> None:
    life = Life(directory)
    life.manager.connect("user", "stays")
    life.end(IMMEDIATE)
    life.end(QUIESCE, FOR_EVER)
    life.join()
    assert state_of(directory) is ManagerState.ENDED_IMMEDIATELY


def test_a_quiesce_goes_on_when_the_last_application_leaves(directory: QueueManagerDirectory) -> None:
    life = Life(directory)
    connection = life.manager.connect("user", "leaves")
    life.end(QUIESCE, FOR_EVER)
    assert life.manager.disconnect(connection) == 0
    life.join()
    assert state_of(directory) is ManagerState.ENDED_NORMALLY


def test_ways_to_end_are_checked(directory: QueueManagerDirectory) -> None:
    life = Life(directory)
    with pytest.raises(ValueError, match="not a mode of ending"):
        life.end("gently")
    life.end(IMMEDIATE)
    life.join()


def test_notices_go_to_the_error_log(directory: QueueManagerDirectory) -> None:
    life = Life(directory)
    life.manager.note("AMQ7469W: something happened.")
    life.end(QUIESCE)
    life.join()
    assert "AMQ7469W: something happened." in (directory.errors / "AMQERR01.LOG").read_text()


def test_the_size_of_the_error_log_is_in_qm_ini(directory: QueueManagerDirectory) -> None:
    directory.ini.write_text(directory.ini.read_text() + "QMErrorLog:\n   ErrorLogSize=32768\n")
    life = Life(directory)
    for number in range(600):
        life.manager.note(f"AMQ7469W: something happened, number {number}.")
    life.end(QUIESCE)
    life.join()
    assert (directory.errors / "AMQERR02.LOG").exists()
    assert (directory.errors / "AMQERR01.LOG").stat().st_size <= 32_768


def test_one_that_runs_already_fails_with_5_and_leaves_the_record_alone(directory: QueueManagerDirectory) -> None:
    first = Life(directory)
    record = read_record(directory)
    second = Life(directory)
    second.join()
    assert second.status == 5
    assert second.reporter.failure is not None
    assert second.reporter.failure.text.startswith("AMQ7005E")
    assert read_record(directory) == record
    first.end(QUIESCE)
    first.join()


def test_a_server_that_cannot_start_ends_the_queue_manager(directory: QueueManagerDirectory) -> None:
    class Broken(PlainServer):
        def start(self, with_listeners: bool = True) -> None:
            raise OSError(98, "Address already in use")

    life = Life(directory, Broken)
    life.join()
    assert life.status == 71
    assert life.reporter.failure is not None
    assert "Address already in use" in life.reporter.failure.text
    assert state_of(directory) is ManagerState.ENDED_IMMEDIATELY
    with QueueManager(directory) as manager:
        manager.start()


def test_an_end_that_fails_is_told(directory: QueueManagerDirectory) -> None:
    class Stuck(PlainServer):
        def end(self, mode: str = "quiesce", wait_seconds: float = 0.0) -> None:
            raise RuntimeError("it is stuck")

    life = Life(directory, Stuck)
    life.end(QUIESCE)
    life.join()
    assert life.status == 71
    assert any("it is stuck" in line for line in life.echo)
    life.manager.end("immediate")


def test_what_is_to_happen_when_it_is_ready_happens(directory: QueueManagerDirectory) -> None:
    reporter = Listening()
    called = threading.Event()
    daemon = Daemon(directory, reporter, lambda manager, daemon: PlainServer(manager))
    daemon.when_ready.append(called.set)
    thread = threading.Thread(target=daemon.run)
    thread.start()
    assert called.wait(60)
    daemon.request_end(EndRequest(QUIESCE, 0.0, "a test"))
    thread.join(60)
    assert not thread.is_alive()


def test_a_thread_that_fails_is_in_the_error_log(tmp_path: Path) -> None:
    """Whatever it was for: nobody sees the standard error of a queue manager."""
    life = Life(create_queue_manager(tmp_path, "THREADS", LogSection(file_pages=64)))

    def fail() -> None:
        raise ValueError("a fault of the queue manager itself")

    failing = threading.Thread(target=fail, name="ostler-failing")
    failing.start()
    failing.join()
    assert [line for line in life.echo if line.startswith("AMQ6109E: Thread ostler-failing") and "a fault of" in line]
    life.daemon.request_end(EndRequest(IMMEDIATE, 0, "a test"))
    life.thread.join(60)
    assert life.status == 0
