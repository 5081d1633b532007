"""The steps of the demonstration, in order, and their results."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Final

from ostler.cli.demo.account import LOAD, DeliveryAccount, expand_ranges
from ostler.cli.demo.server import CommandRun, DemoServer, Replay
from ostler.server.config.directories import QueueManagerDirectory

BINDINGS: Final = {"embedded": "in process", "local": "local socket", "client": "TCP"}
RESPONDERS: Final = 10
REQUESTERS: Final = (1, 10)
_LOAD_SECONDS: Final = 0.5
_WORKER_SECONDS_MAX: Final = 120.0


class DemoFailed(Exception):
    """The demonstration cannot continue; the text is the reason."""


@dataclass(frozen=True)
class ExchangeResult:
    """Messages that one program put and got, and the time it took."""

    name: str
    binding: str
    messages: int
    seconds: float


@dataclass(frozen=True)
class RequestReplyResult:
    """Answered requests: their number, the time, and response times."""

    binding: str
    requesters: int
    requests: int
    seconds: float
    median_seconds: float
    slow_seconds: float


@dataclass
class Findings:
    """The results of the demonstration."""

    exchanged: list[ExchangeResult] = field(default_factory=list)
    answered: list[RequestReplyResult] = field(default_factory=list)
    account: DeliveryAccount = field(default_factory=DeliveryAccount)
    replay: Replay = field(default_factory=lambda: Replay(0, 0, 0, 0.0))


class DemoWorker:
    """A child process that is an application, and reports events."""

    def __init__(self, part: str, root: Path, *options: str) -> None:
        command = [sys.executable, "-m", "ostler.cli.demo.worker", part, str(root), *options]
        self._part = part
        self._stderr = tempfile.TemporaryFile()  # noqa: SIM115 - closed with the worker
        self._process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=self._stderr)
        # A worker that hangs is killed, which ends the read of its next line.
        self._watch = threading.Timer(_WORKER_SECONDS_MAX, self._process.kill)
        self._watch.daemon = True
        self._watch.start()

    def __enter__(self) -> DemoWorker:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._watch.cancel()
        if self._process.poll() is None:
            self._process.kill()
        self._process.wait()
        assert self._process.stdout is not None
        self._process.stdout.close()
        self._stderr.close()

    def events(self) -> Iterator[dict[str, object]]:
        """Yields its events until it ends. An incomplete last line is ignored."""
        assert self._process.stdout is not None
        for line in self._process.stdout:
            if line.endswith(b"\n"):
                event: dict[str, object] = json.loads(line)
                yield event

    def check(self) -> None:
        """Waits for its end. Raises DemoFailed if it failed."""
        status = self._process.wait()
        if status:
            self._stderr.seek(0)
            last = self._stderr.read().decode(errors="replace").strip().splitlines()[-1:]
            words = "".join(last) or "no output"
            raise DemoFailed(f"the application that should {self._part} ended with status {status}: {words}")


class Demonstration:
    """The demonstration. `on_command` is called with every command, its duration and a remark."""

    def __init__(
        self,
        directory: QueueManagerDirectory,
        messages: int,
        step: Callable[[str], None],
        on_command: Callable[[str, float, str], None],
    ) -> None:
        self._root = directory.root
        self._server = DemoServer(directory)
        self._messages = messages
        self._step = step
        self._on_command = on_command
        self.findings = Findings()

    def run(self) -> Findings:
        try:
            self._create_and_start()
            self._exchange()
            self._request()
            self._use_and_kill()
            self._start_again()
            self._step("ending it")
            self._ran(self._server.end())
            display = self._server.display()
            self._ran(display, display.output.strip().partition("STATUS")[2].strip("()").lower())
        finally:
            self._server.kill_if_running()
        return self.findings

    def _ran(self, ran: CommandRun, remark: str = "") -> None:
        self._on_command(ran.words, ran.seconds, remark)

    def _create_and_start(self) -> None:
        server = self._server
        self._step("making a queue manager")
        self._ran(server.create())
        self._step("starting it")
        began = time.perf_counter()
        started = server.start()
        server.first_message()
        first_ms = (time.perf_counter() - began) * 1000
        remark = f"a first message had passed {first_ms:,.0f} ms after the call; process {server.process()}"
        self._ran(started, remark)
        self._step("defining a channel and queues, and who may use them")
        self._ran(server.add_user())
        self._ran(server.define(), "a channel, five queues, and a user who may use them")

    def _exchange(self) -> None:
        scratch = self._root / "in-process"
        try:
            for binding, where in BINDINGS.items():
                root = scratch if binding == "embedded" else self._root
                with self._worker("exchange", binding, "--messages", str(self._messages), root=root) as worker:
                    for event in worker.events():
                        if event["event"] == "exchanging":
                            self._step(f"exchanging messages, {where}: {event['name']}")
                        elif event["event"] == "exchanged":
                            count, seconds = int(_number(event["messages"])), _number(event["seconds"])
                            self.findings.exchanged.append(ExchangeResult(str(event["name"]), where, count, seconds))
                    worker.check()
        finally:
            shutil.rmtree(scratch, ignore_errors=True)

    def _request(self) -> None:
        for binding in ("local", "client"):
            with self._worker("respond", binding, "--threads", str(RESPONDERS)) as responder:
                next(responder.events(), None)
                for requesters in REQUESTERS:
                    self._step(f"request and reply, {BINDINGS[binding]}, requesters: {requesters}")
                    self._measure_requests(binding, requesters)
                with self._worker("dismiss", binding, "--threads", str(RESPONDERS)) as worker:
                    worker.check()
                responder.check()

    def _measure_requests(self, binding: str, requesters: int) -> None:
        with self._worker("request", binding, "--threads", str(requesters)) as worker:
            for event in worker.events():
                requests, seconds = int(_number(event["requests"])), _number(event["seconds"])
                median, slow = _number(event["median"]), _number(event["slow"])
                self.findings.answered.append(
                    RequestReplyResult(BINDINGS[binding], requesters, requests, seconds, median, slow)
                )
            worker.check()

    def _use_and_kill(self) -> None:
        self._step("leaving messages on queues")
        account = self.findings.account
        killed: list[int | Exception] = []
        with self._worker("before", "client", "--messages", str(self._messages)) as worker:
            for event in worker.events():
                if event["event"] == "acknowledged":
                    account.acknowledged[str(event["queue"])] = int(_number(event["through"]))
                elif event["event"] == "unit":
                    account.open_puts, account.open_gets = int(_number(event["puts"])), int(_number(event["gets"]))
                    self._step("putting until the kill")
                    threading.Timer(_LOAD_SECONDS, self._kill, [killed]).start()
            worker.check()
        if LOAD not in account.acknowledged:
            raise DemoFailed("the queue manager was killed before it acknowledged any message")
        for found in killed:
            if isinstance(found, Exception):
                raise found
            self._on_command(f"kill -9 {found}", 0.0, "while an application put persistent messages over TCP")

    def _kill(self, killed: list[int | Exception]) -> None:
        try:
            killed.append(self._server.kill())
        except Exception as error:
            killed.append(error)

    def _start_again(self) -> None:
        self._step("starting it again")
        started = self._server.start()
        replay = self.findings.replay = self._server.replay()
        self._ran(started, f"{replay.records:,} log records were replayed in {replay.seconds:.2f} s")
        self._step("counting what is there")
        with self._worker("after", "local") as worker:
            for event in worker.events():
                self.findings.account.found[str(event["queue"])] = expand_ranges(event["numbers"])
            worker.check()

    def _worker(self, part: str, binding: str, *options: str, root: Path | None = None) -> DemoWorker:
        return DemoWorker(part, root or self._root, "--binding", binding, "--port", str(self._server.port), *options)


def _number(value: object) -> float:
    assert isinstance(value, int | float)
    return value
