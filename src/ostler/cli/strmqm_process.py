"""The process of a queue manager. strmqm starts it in the background and listens to it on a pipe.

On the pipe is one JSON object in a line: {"progress": [done, total]} now and then during a long replay, then either
{"ready": {...}} or {"failed": "...", "status": n}.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Final

from ostler import __version__
from ostler.cli.flavour import is_compiled
from ostler.client.locate import registry as running
from ostler.server.admin.authority_actions import authority_actions
from ostler.server.admin.control_actions import control_actions
from ostler.server.config.directories import QueueManagerDirectory
from ostler.server.daemon import Daemon, Reporter, ServerPart, StartFailure
from ostler.server.error_log import Echo
from ostler.server.queue_manager import QueueManager

_PROGRESS_SECONDS: Final = 0.2


def flavour_word() -> str:
    return "compiled" if is_compiled() else "interpreted"


class PipeReporter:
    """Tells strmqm at the other end of the pipe."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._told_at = time.monotonic()

    def progress(self, done_bytes: int, total_bytes: int) -> None:
        now = time.monotonic()
        if now - self._told_at >= _PROGRESS_SECONDS:
            self._told_at = now
            self._tell({"progress": [done_bytes, total_bytes]})

    def ready(self, manager: QueueManager) -> None:
        summary = manager.restart
        self._tell(
            {
                "ready": {
                    "pid": os.getpid(),
                    "records": summary.records,
                    "messages": summary.messages,
                    "seconds": summary.seconds,
                    "notices": list(manager.notices),
                }
            }
        )
        self.close()

    def failed(self, failure: StartFailure) -> None:
        self._tell({"failed": failure.text, "status": failure.status})
        self.close()

    def close(self) -> None:
        descriptor, self._descriptor = self._descriptor, -1
        if descriptor >= 0:
            os.close(descriptor)

    def _tell(self, what: dict[str, object]) -> None:
        if self._descriptor >= 0:
            # strmqm may have been interrupted. The queue manager starts all the same.
            with contextlib.suppress(OSError):
                os.write(self._descriptor, json.dumps(what).encode() + b"\n")


def make_daemon(
    directory: QueueManagerDirectory,
    reporter: Reporter,
    starts_services: bool = True,
    stop_seconds: float = 5.0,
    echo: Echo | None = None,
    started: Callable[[QueueManager, Daemon], None] | None = None,
) -> Daemon:
    """A queue manager with sockets, that applications in this process can connect to as well."""

    def make_server(manager: QueueManager, daemon: Daemon) -> ServerPart:
        from ostler.server.assembly import Server

        running.announce(manager)
        server = Server(manager)
        server.actions.update(control_actions(manager, daemon))
        server.actions.update(authority_actions(server.target_for))
        if started is not None:
            started(manager, daemon)
        return server

    return Daemon(directory, reporter, make_server, __version__, flavour_word(), stop_seconds, echo, starts_services)


def main() -> int:
    parser = argparse.ArgumentParser(prog="ostler-queue-manager")
    parser.add_argument("--root", type=Path, required=True)
    parser.add_argument("--name", required=True)
    parser.add_argument("--pipe", type=int, required=True)
    parser.add_argument("--no-services", action="store_true")
    parser.add_argument("--stop-seconds", type=float, default=5.0)
    arguments = parser.parse_args()
    os.set_inheritable(arguments.pipe, False)
    os.umask(0o077)
    # No directory of somebody else's is held.
    os.chdir(arguments.root)
    directory = QueueManagerDirectory(arguments.root, arguments.name)
    reporter = PipeReporter(arguments.pipe)
    daemon = make_daemon(directory, reporter, not arguments.no_services, arguments.stop_seconds)
    return daemon.run()


if __name__ == "__main__":
    sys.exit(main())
