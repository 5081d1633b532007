"""A program that waits for messages is told when its queue manager ends, and ends in good order itself."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from ostler.model import constants as mqc
from ostler.testing import RunningQueueManager, queue_manager

PROGRAM = Path(__file__).parent / "waiting.py"
NAME = "DROPIN.END"
OBJECTS = """
DEFINE QLOCAL(WAITING)
DEFINE TOPIC(NEWS) TOPICSTR('waiting/news')
DEFINE QALIAS(NEWS.ALIAS) TARGET(NEWS) TARGTYPE(TOPIC)
"""
Environment = Callable[[str, Path], dict[str, str]]


@pytest.fixture
def running(tmp_path: Path) -> Iterator[RunningQueueManager]:
    with queue_manager(NAME, mqsc=OBJECTS, data=tmp_path) as made:
        yield made


@contextmanager
def waiting(
    running: RunningQueueManager, environment: Environment, how: str, binding: str
) -> Iterator[subprocess.Popen[str]]:
    """The program, when it has got its first message and waits for the next."""
    arguments = [how, NAME]
    if binding == "client":
        arguments += [running.channel, running.connection_name]
    process = subprocess.Popen(
        [sys.executable, str(PROGRAM), *arguments],
        env=environment("ibmmq", running.data),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    assert process.stdout is not None
    try:
        assert process.stdout.readline() == "waiting\n", process.stdout.read()
        running.put("NEWS.ALIAS" if how == "subscribe" else "WAITING", "one")
        assert process.stdout.readline() == "got one\n"
        yield process
    finally:
        process.kill()
        process.communicate()


def last_words(process: subprocess.Popen[str]) -> list[str]:
    output, _ = process.communicate(timeout=60)
    return output.splitlines()


@pytest.mark.parametrize(("how", "binding"), [("get", "client"), ("callback", "local")])
def test_quiesce(running: RunningQueueManager, program_environment: Environment, how: str, binding: str) -> None:
    with waiting(running, program_environment, how, binding) as process:
        running.server.end("quiesce", wait_seconds=60)
        told = f"failed 2 {mqc.MQRC_Q_MGR_QUIESCING}" if how == "get" else f"event {mqc.MQRC_Q_MGR_QUIESCING}"
        assert last_words(process) == [told, "disconnected"]


def test_immediate(running: RunningQueueManager, program_environment: Environment) -> None:
    with waiting(running, program_environment, "get", "local") as process:
        running.end("immediate")
        told, farewell = last_words(process)
        assert told in (f"failed 2 {mqc.MQRC_Q_MGR_STOPPING}", f"failed 2 {mqc.MQRC_CONNECTION_BROKEN}")
        # It may still be in time to leave in good order.
        assert farewell in ("disconnected", f"disconnecting 2 {mqc.MQRC_CONNECTION_BROKEN}")


@pytest.mark.parametrize("how", ["get", "callback"])
def test_preemptive(running: RunningQueueManager, program_environment: Environment, how: str) -> None:
    with waiting(running, program_environment, how, "client") as process:
        running.end("preemptive")
        told = f"failed 2 {mqc.MQRC_CONNECTION_BROKEN}" if how == "get" else f"event {mqc.MQRC_CONNECTION_BROKEN}"
        assert last_words(process) == [told, f"disconnecting 2 {mqc.MQRC_CONNECTION_BROKEN}"]


def test_reconnection(running: RunningQueueManager, program_environment: Environment) -> None:
    with waiting(running, program_environment, "reconnect", "client") as process:
        running.end("preemptive")
        running.start()
        running.put("WAITING", "two")
        running.put("WAITING", "end")
        events = [f"event {mqc.MQRC_RECONNECTING}", f"event {mqc.MQRC_RECONNECTED}"]
        assert last_words(process) == [*events, "got two", "got end", "disconnected"]


def test_subscription_goes_on_over_a_new_link(running: RunningQueueManager, program_environment: Environment) -> None:
    with waiting(running, program_environment, "subscribe", "client") as process:
        running.end("preemptive")
        running.start()
        assert process.stdout is not None
        events = [process.stdout.readline().strip() for _ in range(2)]
        assert events == [f"event {mqc.MQRC_RECONNECTING}", f"event {mqc.MQRC_RECONNECTED}"]
        running.put("NEWS.ALIAS", "two")
        running.put("NEWS.ALIAS", "end")
        assert last_words(process) == ["got two", "got end", "disconnected"]
