"""A failed invariant stops the queue manager: nothing is acknowledged, a report is written, a restart recovers."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

import ostler
from ostler.engine.journal_records import append_commit
from ostler.model import constants as mq
from ostler.model.errors import InvariantFailed, MQError
from ostler.server.config.directories import QueueManagerDirectory
from ostler.server.config.qm_ini import LogSection
from ostler.server.queue_manager import QueueManager, create_queue_manager

QUEUE = "SYSTEM.DEFAULT.LOCAL.QUEUE"
STOPPED = (mq.MQRC_CONNECTION_BROKEN, mq.MQRC_Q_MGR_NOT_AVAILABLE)
SECONDS_MAX = 60

# Each line of its input damages the memory of the queue manager.
PROGRAM = """
import sys, threading
from pathlib import Path
from ostler.server.assembly import Server
from ostler.server.config.directories import QueueManagerDirectory
from ostler.server.daemon import Daemon

class Reporter:
    def progress(self, done, total): pass
    def failed(self, failure): say(failure.text)
    def ready(self, manager):
        threading.Thread(target=damage, args=(manager,), daemon=True).start()
        say("READY")

def damage(manager):
    for line in sys.stdin:
        with manager.turn as engine:
            exec(line)
        say("DAMAGED")

def say(line): print(line, flush=True)

directory = QueueManagerDirectory(Path(sys.argv[1]), "QM1")
sys.exit(Daemon(directory, Reporter(), lambda manager, daemon: Server(manager), "1.2", "test", 600.0, say).run())
"""


class Life:
    """One life of a queue manager in a process of its own."""

    def __init__(self, directory: QueueManagerDirectory) -> None:
        self.directory = directory
        command = [sys.executable, "-c", PROGRAM, str(directory.root)]
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.read_until("READY")

    def read_until(self, words: str) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            if words in line:
                return
        raise AssertionError(f"{words!r} never came")

    def damage(self, statement: str) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(statement + "\n")
        self.process.stdin.flush()
        self.read_until("DAMAGED")

    def connect(self) -> ostler.Connection:
        return ostler.connect("QM1", data=self.directory.root, binding="local", reconnect=False)

    def end(self) -> int:
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(SECONDS_MAX)

    def reports(self) -> list[Path]:
        return sorted(self.directory.errors.glob(f"AMQ{self.process.pid}.*.FDC"))

    def error_log(self) -> str:
        return (self.directory.errors / "AMQERR01.LOG").read_text()


@pytest.fixture
def directory(tmp_path: Path) -> QueueManagerDirectory:
    return create_queue_manager(tmp_path, "QM1", LogSection(file_pages=64, primary_files=3, secondary_files=1))


@pytest.fixture
def life(directory: QueueManagerDirectory) -> Iterator[Life]:
    made = Life(directory)
    yield made
    if made.process.poll() is None:
        made.process.kill()
    made.process.communicate(timeout=SECONDS_MAX)


def bodies(connection: ostler.Connection) -> list[str]:
    with connection.open(QUEUE, "b") as queue:
        return [message.text for message in queue.browse()]


def check_stopped(life: Life, words: str) -> None:
    """Check that the process has ended with a report that names the invariant, and that the next one recovers."""
    assert life.process.wait(SECONDS_MAX) == 71
    (report,) = life.reports()
    text = report.read_text()
    assert "First Failure Symptom Report" in text
    assert f"Probe Description :- AMQ6184S: {words}" in text
    assert "QueueManager      :- QM1" in text
    assert f"{QUEUE} id" in text, "the counts of the queues are there"
    assert os.stat(report).st_mode & 0o077 == 0
    (line,) = [line for line in life.error_log().splitlines() if "AMQ6184S" in line]
    assert words in line
    assert str(report) in line


def test_a_get_that_finds_a_wrong_depth_is_not_acknowledged(life: Life, directory: QueueManagerDirectory) -> None:
    with contextlib.suppress(MQError), life.connect() as connection, connection.open(QUEUE) as queue:
        for number in range(3):
            queue.put(f"{number}", persistent=True)
        with contextlib.suppress(MQError), life.connect() as other, other.open(QUEUE) as same:
            waited: list[int] = []

            def wait() -> None:
                with pytest.raises(MQError) as failed:
                    same.get(wait=SECONDS_MAX, correlation_id=b"never".ljust(24))
                waited.append(failed.value.reason)

            waiter = threading.Thread(target=wait)
            waiter.start()
            life.damage(f'engine.queues["{QUEUE}"].depth = 0')
            with pytest.raises(MQError) as refused:
                queue.get()
            assert refused.value.reason in STOPPED
            waiter.join(SECONDS_MAX)
            assert len(waited) == 1, "the other get was ended"
            assert waited[0] in STOPPED
    check_stopped(life, f"Queue {QUEUE}: its depth is -1")
    again = Life(directory)
    with again.connect() as connection:
        assert bodies(connection) == ["0", "1", "2"]
    assert again.end() == 0


def test_a_commit_that_finds_a_slot_in_another_state_is_not_acknowledged(
    life: Life, directory: QueueManagerDirectory
) -> None:
    with contextlib.suppress(MQError), life.connect() as connection, connection.open(QUEUE) as queue:
        queue.put("before", persistent=True)
        transaction = connection.transaction()
        transaction.__enter__()
        queue.put("in doubt", persistent=True)
        life.damage(f'engine.queues["{QUEUE}"].slots.set_state(1, 0)')
        with pytest.raises(MQError) as refused:
            transaction.__exit__(None, None, None)
        assert refused.value.reason in STOPPED
    check_stopped(life, f"Queue {QUEUE}: slot 1 with message 2 is FREE, not PUT_UNCOMMITTED")
    again = Life(directory)
    with again.connect() as connection:
        assert bodies(connection) == ["before"]
    assert again.end() == 0


def test_a_put_whose_record_would_be_out_of_order_is_not_acknowledged(
    life: Life, directory: QueueManagerDirectory
) -> None:
    with contextlib.suppress(MQError), life.connect() as connection, connection.open(QUEUE) as queue:
        queue.put("before", persistent=True)
        life.damage("engine.appended_lsn = 1 << 50")
        with pytest.raises(MQError) as refused:
            queue.put("lost", persistent=True)
        assert refused.value.reason in STOPPED
    check_stopped(life, "The journal has appended a record at LSN ")
    again = Life(directory)
    with again.connect() as connection:
        assert bodies(connection) == ["before"]
    assert again.end() == 0


# -- in the process of the application ---------------------------------------------------------------------------------


@pytest.fixture
def manager(directory: QueueManagerDirectory) -> Iterator[QueueManager]:
    made = QueueManager(directory)
    made.start()
    yield made
    made.end("immediate")


def test_an_application_in_the_same_process_gets_a_reason_code(
    manager: QueueManager, directory: QueueManagerDirectory
) -> None:
    connection = ostler.connect(manager)
    queue = connection.open(QUEUE)
    queue.put("there", persistent=True)
    with manager.turn as engine:
        engine.queues[QUEUE].depth = 0
    with pytest.raises(MQError) as refused:
        queue.get()
    assert refused.value.reason == mq.MQRC_CONNECTION_BROKEN
    assert "its depth is -1" in str(refused.value)
    with pytest.raises(MQError) as refused:
        queue.put("later", persistent=True)
    assert refused.value.reason == mq.MQRC_CONNECTION_BROKEN
    with pytest.raises(MQError):
        ostler.connect(manager)
    assert len(list(directory.errors.glob(f"AMQ{os.getpid()}.*.FDC"))) == 1
    manager.end()
    again = QueueManager(directory)
    again.start()
    with again, ostler.connect(again) as connection:
        assert bodies(connection) == ["there"]


def test_no_handler_of_exceptions_goes_on_after_a_failed_invariant(manager: QueueManager) -> None:
    def verb() -> None:
        with manager.turn as engine:
            try:
                engine.appended_lsn = 1 << 50
                append_commit(engine, 1, [])
            except Exception:
                pytest.fail("a handler of requests would have gone on")

    with pytest.raises(MQError) as refused:
        verb()
    assert refused.value.reason == mq.MQRC_CONNECTION_BROKEN
    assert "The queue manager has stopped: The journal has appended" in str(refused.value)
    assert manager.is_ending()


def test_what_a_failed_turn_has_appended_is_never_forced(manager: QueueManager) -> None:
    def verb() -> None:
        with manager.turn as engine:
            append_commit(engine, 1, [])
            raise InvariantFailed("for the test")

    durable_lsn = manager.log.durable_lsn()
    with pytest.raises(MQError):
        verb()
    assert manager.log.end_lsn() > durable_lsn
    with pytest.raises(MQError) as refused:
        manager.writer.wait_durable(manager.log.end_lsn())
    assert refused.value.reason == mq.MQRC_Q_MGR_NOT_AVAILABLE
    with pytest.raises(MQError):
        manager.writer._force()  # as a thread does that was past the first check already
    assert manager.log.durable_lsn() == durable_lsn


def test_a_second_failure_writes_no_second_report(manager: QueueManager, directory: QueueManagerDirectory) -> None:
    for number in range(3):
        with pytest.raises(MQError), manager.turn:
            raise InvariantFailed(f"number {number}")
    (report,) = directory.errors.glob("*.FDC")
    assert "AMQ6184S: number 0" in report.read_text()
    assert sum("AMQ6184S" in text for text in manager.notices) == 1


def test_a_report_that_cannot_be_written_does_not_keep_it_from_stopping(
    manager: QueueManager, directory: QueueManagerDirectory
) -> None:
    with contextlib.suppress(FileNotFoundError):
        directory.errors.rmdir()
    directory.errors.write_text("no directory")
    with pytest.raises(MQError), manager.turn:
        raise InvariantFailed("for the test")
    assert manager.is_ending()
    assert any("AMQ6184S" in text and "could not be written" in text for text in manager.notices)
    directory.errors.unlink()
