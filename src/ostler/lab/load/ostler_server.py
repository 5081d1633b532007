"""A queue manager to be loaded: a process of its own with a TCP listener and its Unix socket, and queues in pairs.

It is asked for its log's figures on its standard input, and ends when that is closed.
"""

from __future__ import annotations

import json
import subprocess
import sys
import threading
from dataclasses import dataclass
from pathlib import Path

from ostler.client.embedded import start as start_manager
from ostler.lab.load.mq_client import reply_queue, request_queue
from ostler.lab.peers.running import LOOPBACK, free_port
from ostler.model.attributes import ObjectType, Value
from ostler.model.constants import MQOT_Q, MQOT_Q_MGR
from ostler.model.definitions import new_definition
from ostler.security.authorities import VALID, record
from ostler.security.profiles import MANAGER_PROFILE
from ostler.server.daemon import Daemon, EndRequest, ServerPart, StartFailure
from ostler.server.directories import QueueManagerDirectory
from ostler.server.local_socket import socket_path
from ostler.server.qm_ini import LogSection
from ostler.server.queue_manager import QueueManager
from ostler.server.server import Server

NAME = "LAB"
CHANNEL = "LAB.SVRCONN"
LISTENER = "LAB.LISTENER"
USER = "lab"
_READY = "ready"
_FIGURES = "figures"
_END_SECONDS_MAX = 20.0


@dataclass(frozen=True)
class LogMoment:
    """What the log has done so far."""

    forces: int
    written_bytes: int


class OstlerServer:
    """The process, from outside."""

    def __init__(self, root: Path, pairs: int, log_file_pages: int) -> None:
        self.port = free_port()
        self.local_path = str(socket_path(QueueManagerDirectory(root, NAME)))
        command = [sys.executable, "-m", __name__, str(root), str(self.port), str(pairs), str(log_file_pages)]
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self._expect(_READY)

    @property
    def pids(self) -> list[int]:
        return [self._process.pid]

    @property
    def address(self) -> tuple[str, int]:
        return LOOPBACK, self.port

    def log_moment(self) -> LogMoment:
        assert self._process.stdin is not None
        self._process.stdin.write(_FIGURES + "\n")
        self._process.stdin.flush()
        found = self._expect(_FIGURES)
        return LogMoment(int(found["forces"]), int(found["written_bytes"]))

    def end(self) -> None:
        assert self._process.stdin is not None
        self._process.stdin.close()
        try:
            self._process.wait(_END_SECONDS_MAX)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        if self._process.stdout is not None:
            self._process.stdout.close()

    def _expect(self, what: str) -> dict[str, int]:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line:
            raise RuntimeError(f"the queue manager's process ended with status {self._process.wait()}")
        found = json.loads(line)
        if found.get("what") != what:
            raise RuntimeError(f"the queue manager's process said {line.strip()}")
        return {key: value for key, value in found.items() if key != "what"}


def main(arguments: list[str]) -> int:
    """The process, from inside: a daemon as strmqm starts it."""
    root, port, pairs, pages = Path(arguments[0]), int(arguments[1]), int(arguments[2]), int(arguments[3])
    _create(root, port, pairs, pages)
    running: list[QueueManager] = []

    def make_server(manager: QueueManager, daemon: Daemon) -> ServerPart:
        running.append(manager)
        return Server(manager)

    daemon = Daemon(QueueManagerDirectory(root, NAME), _Reporter(), make_server)
    threading.Thread(target=_listen, args=(running, daemon), daemon=True).start()
    return daemon.run()


def _create(root: Path, port: int, pairs: int, log_file_pages: int) -> None:
    manager = start_manager(NAME, root, True, LogSection(primary_files=4, file_pages=log_file_pages), False)
    unlimited: dict[str, Value] = {"MAXDEPTH": 999_999_999}
    for pair in range(pairs):
        for queue in (request_queue(pair), reply_queue(pair)):
            manager.define(new_definition(ObjectType.QLOCAL, queue, unlimited), True)
    # Clients are let in as everywhere: by channel rules, and as a user who may do what the load does.
    for kind, profile in ((MQOT_Q_MGR, MANAGER_PROFILE), (MQOT_Q, "**")):
        manager.define(record(kind, profile, USER, False, VALID[kind]), True)
    channel: dict[str, Value] = {"CHLTYPE": "SVRCONN", "MCAUSER": USER, "SHARECNV": 999_999_999, "MAXINST": 999_999_999}
    manager.define(new_definition(ObjectType.CHANNEL, CHANNEL, {**channel, "MAXINSTC": 999_999_999}), True)
    listener: dict[str, Value] = {"TRPTYPE": "TCP", "PORT": port, "IPADDR": LOOPBACK, "CONTROL": "QMGR"}
    manager.define(new_definition(ObjectType.LISTENER, LISTENER, listener), True)
    manager.end("immediate")


class _Reporter:
    """Tells whoever started the process."""

    def progress(self, done_bytes: int, total_bytes: int) -> None:
        return

    def ready(self, manager: QueueManager) -> None:
        _say(_READY)

    def failed(self, failure: StartFailure) -> None:
        print(failure.text, file=sys.stderr)


def _listen(running: list[QueueManager], daemon: Daemon) -> None:
    for _ in sys.stdin:
        figures = running[0].log.figures
        _say(_FIGURES, forces=int(figures.forces), written_bytes=int(figures.physical_bytes))
    daemon.ask_end(EndRequest("immediate", 0.0, "the laboratory"))


def _say(what: str, **values: int) -> None:
    print(json.dumps({"what": what, **values}), flush=True)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
