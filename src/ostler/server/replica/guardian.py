"""A small process beside an instance that leads with etcd. When the instance dies, it gives key and name back.

So a crash, or kill -9, costs the time of an election and not that of the lease as well. The lease is for what takes
both away: a machine that fails, a network that is cut. It is safe at any time: a key that vanishes only lets others
try, and a key of another term is not touched. An instance that stands still is not dead.

The instance writes to the standard input of this process, a line of JSON each: its arbiter, then each term in which it
leads. The end of the input is the end of the instance.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from contextlib import suppress
from dataclasses import asdict
from typing import IO, Any, Final

from ostler.model.arbiter import ArbiterUnavailable
from ostler.server.replica.etcd_arbiter import EtcdArbiter
from ostler.server.replica.etcd_http import EtcdError, EtcdSettings

_MODULE: Final = "ostler.server.replica.guardian"
# After that the lease has ended, or will soon.
_TRY_SECONDS: Final = 10.0
_PAUSE_SECONDS: Final = 0.1


class Guardian:
    """The process beside this one, which is started with the first term. For one thread at a time."""

    def __init__(self, settings: EtcdSettings, group: str, queue_manager: str) -> None:
        self._arbiter = {"settings": asdict(settings), "group": group, "queue_manager": queue_manager}
        self._process: subprocess.Popen[bytes] | None = None

    def watch(self, term: int) -> str:
        """Give the key of this term back when this process dies. Return the reason for which that cannot be done."""
        try:
            if self._process is None or self._process.poll() is not None:
                self._start()
            self._tell({"term": term})
        except OSError as error:
            return f"no process beside this one can be started: {error.strerror or error}"
        return ""

    def _start(self) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-P", "-m", _MODULE],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            # Not ended by what ends this one: a signal of its terminal, or a directory that is removed.
            start_new_session=True,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(each for each in sys.path if each)},
            cwd="/",
        )
        self._tell(self._arbiter)

    def _tell(self, line: dict[str, Any]) -> None:
        assert self._process is not None
        stdin = self._process.stdin
        assert stdin is not None
        stdin.write(json.dumps(line).encode() + b"\n")
        stdin.flush()

    def close(self) -> None:
        """End the process: this one ends in order, and has given the key back itself."""
        process, self._process = self._process, None
        if process is not None:
            process.kill()
            process.wait()
            if process.stdin is not None:
                with suppress(OSError):
                    process.stdin.close()


def guard(lines: IO[bytes]) -> bool:
    """Read until the instance is gone, then give its key back. Return True when it has none any more."""
    found = json.loads(next(lines))
    settings = found["settings"]
    settings["endpoints"] = tuple(settings["endpoints"])
    arbiter = EtcdArbiter(EtcdSettings(**settings), found["group"], found["queue_manager"])
    term = 0
    for line in lines:
        term = int(json.loads(line)["term"])
    deadline = time.monotonic() + _TRY_SECONDS
    while term and time.monotonic() < deadline:
        try:
            leader = arbiter.read().leader
            if leader is not None and leader.term == term:
                arbiter.end_session_of(leader)
            return True
        except (ArbiterUnavailable, EtcdError):
            time.sleep(_PAUSE_SECONDS)
    return False


if __name__ == "__main__":
    with suppress(ValueError, KeyError, TypeError, StopIteration):  # the instance died before it had said anything
        guard(sys.stdin.buffer)
