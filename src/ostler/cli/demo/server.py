"""The queue manager of the demonstration: runs and times its commands as a user would."""

from __future__ import annotations

import os
import re
import shlex
import signal
import socket
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from ostler.cli.demo.account import CHANNEL, LOAD, NAME, NONPERSISTENT, PERSISTENT
from ostler.client.api.connection import connect
from ostler.model.errors import MQError
from ostler.server.config.directories import QueueManagerDirectory, running_process

HOST: Final = "127.0.0.1"
EXCHANGE: Final = "DEMO.EXCHANGE"
REQUESTS: Final = "DEMO.REQUESTS"
FIRST: Final = "SYSTEM.DEFAULT.LOCAL.QUEUE"
MODEL: Final = "SYSTEM.DEFAULT.MODEL.QUEUE"  # of the queues for replies
# Clients run as a user who is authorized for these queues only.
DEFINITIONS: Final = "\n".join(
    [
        f"DEFINE CHANNEL({CHANNEL}) CHLTYPE(SVRCONN) MCAUSER('demo')",
        "SET AUTHREC OBJTYPE(QMGR) PRINCIPAL('demo') AUTHADD(CONNECT,INQ)",
        "SET AUTHREC PROFILE('DEMO.**') OBJTYPE(QUEUE) PRINCIPAL('demo') AUTHADD(ALLMQI)",
        f"SET AUTHREC PROFILE({MODEL}) OBJTYPE(QUEUE) PRINCIPAL('demo') AUTHADD(BROWSE,DSP,GET,INQ,PUT)",
    ]
    + [f"DEFINE QLOCAL({name}) MAXDEPTH(999999999)" for name in (EXCHANGE, REQUESTS, PERSISTENT, NONPERSISTENT, LOAD)]
)
# Large enough to avoid a checkpoint, so that the restart has something to replay.
_LOG_PAGES: Final = "12288"
_SECONDS_MAX: Final = 60
_GONE_SECONDS_MAX: Final = 10
_REPLAYED: Final = re.compile(
    r"AMQ7230I: (\d+) log records were replayed; (\d+) messages .*?, (\d+) units .*? took ([\d.]+)"
)


class ServerFailed(Exception):
    """A command or a message failed; the text is the reason."""


@dataclass(frozen=True)
class CommandRun:
    """A command that was run, with its duration and output."""

    words: str
    seconds: float
    output: str


@dataclass(frozen=True)
class Replay:
    """The replay of the log at a start."""

    records: int
    messages: int
    units_backed_out: int
    seconds: float


class DemoServer:
    """A queue manager in a process of its own, from its creation to its end."""

    def __init__(self, directory: QueueManagerDirectory) -> None:
        self.directory = directory
        self.port = _free_port()

    def create(self) -> CommandRun:
        return self._command("crtmqm", "-p", str(self.port), "-lf", _LOG_PAGES, NAME)

    def start(self) -> CommandRun:
        return self._command("strmqm", NAME)

    def add_user(self) -> CommandRun:
        """Adds the user that clients run as; it has no password."""
        return self._command("users", "add", "--no-password", NAME, "demo")

    def define(self) -> CommandRun:
        """Defines all objects of the demonstration by MQSC."""
        return self._command("runmqsc", "-e", NAME, text=DEFINITIONS)

    def end(self) -> CommandRun:
        return self._command("endmqm", "-w", NAME)

    def display(self) -> CommandRun:
        return self._command("dspmq", "-m", NAME)

    def replay(self) -> Replay:
        """Returns the replay of the last start, from the error log."""
        error_log = self.directory.path / "errors" / "AMQERR01.LOG"
        found = _REPLAYED.findall(error_log.read_text(errors="replace"))
        if not found:
            raise ServerFailed("the error log has no AMQ7230I on the replay")
        records, messages, units, seconds = found[-1]
        return Replay(int(records), int(messages), int(units), float(seconds))

    def first_message(self) -> None:
        """Puts and gets a message over the local socket. Raises ServerFailed."""
        try:
            with connect(NAME, data=self.directory.root, binding="local") as qm, qm.open(FIRST) as queue:
                queue.put("hello")
                found = queue.get()
        except MQError as error:
            raise ServerFailed(f"the first message did not pass: {error}") from error
        if found is None or found.text != "hello":
            raise ServerFailed(f"the first message came back as {found!r}")

    def process(self) -> int:
        """Returns the process of the queue manager; 0 without one."""
        return running_process(self.directory)[1]

    def kill(self) -> int:
        """Kills the process with SIGKILL, waits for its end, and returns its number."""
        process = self.process()
        if not process:
            raise ServerFailed("there is no process to kill")
        os.kill(process, signal.SIGKILL)
        self._wait_gone()
        return process

    def kill_if_running(self) -> None:
        """Kills the process if it still runs after a failure."""
        process = self.process()
        if process:
            os.kill(process, signal.SIGKILL)
            self._wait_gone()

    def _wait_gone(self) -> None:
        end = time.monotonic() + _GONE_SECONDS_MAX
        while running_process(self.directory)[0]:
            if time.monotonic() > end:
                raise ServerFailed("the killed process does not end")
            time.sleep(0.005)

    def _command(self, *arguments: str, text: str = "") -> CommandRun:
        return run_command(self.directory.root, *arguments, text=text)


def run_command(root: Path, *arguments: str, text: str = "") -> CommandRun:
    """Runs an ostler command on the queue managers below `root`; `text` is its standard input. Raises ServerFailed."""
    environment = {**os.environ, "OSTLER_DATA": str(root)}
    command = [sys.executable, "-m", "ostler.cli.main", *arguments]
    began = time.perf_counter()
    try:
        done = subprocess.run(
            command,
            env=environment,
            input=text,
            capture_output=True,
            text=True,
            timeout=_SECONDS_MAX,
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise ServerFailed(f"ostler {arguments[0]} took more than {_SECONDS_MAX} seconds") from None
    seconds = time.perf_counter() - began
    words = f"ostler {shlex.join(arguments)}"
    if done.returncode:
        answer = (done.stderr.strip() or done.stdout.strip()).splitlines()[-1:]
        raise ServerFailed(f"`{words}` exited with {done.returncode}: {''.join(answer) or 'no output'}")
    return CommandRun(words, seconds, done.stdout)


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind((HOST, 0))
        port: int = probe.getsockname()[1]
        return port
