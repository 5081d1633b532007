"""The process of a relay: does what lines on its standard input say, and ends with that input.

    cut | cut-after forward|back BYTES | hold | resume | refuse | accept | delay MILLISECONDS | figures | close

It says its port first. Every line is answered with one: `done`, `refused: ...`, or the figures as JSON.
"""

from __future__ import annotations

import contextlib
import json
import os
import resource
import signal
import sys
import time
from dataclasses import asdict
from pathlib import Path
from typing import Final

from ostler.lab.runner.queue_managers.relay_loop import BACK, FORWARD, RelayLoop

DIRECTIONS: Final = {"forward": FORWARD, "back": BACK}
_LINE_BYTES_MAX: Final = 4096
# The wake-up slack of the kernel. Its default of 50 us would be a tenth of the shortest delay.
_SLACK_NS: Final = 1000


class _Orders:
    """Reads command lines, passes them to the loop, and answers."""

    def __init__(self, loop: RelayLoop, source: int, answers: int) -> None:
        self._loop = loop
        self._source = source
        self._answers = answers
        self._unread = b""

    def on_readable(self) -> None:
        data = os.read(self._source, _LINE_BYTES_MAX)
        if not data:
            self._loop.end()
            return
        *lines, self._unread = (self._unread + data).split(b"\n")
        for line in lines:
            try:
                answer = self._obey(line.decode().split())
            except (ValueError, KeyError, IndexError, OSError) as error:
                answer = f"refused: {error}"
            os.write(self._answers, answer.encode() + b"\n")

    def _obey(self, words: list[str]) -> str:
        loop = self._loop
        match words:
            case ["cut"]:
                loop.cut()
            case ["cut-after", direction, more_bytes]:
                loop.cut_after(DIRECTIONS[direction], int(more_bytes))
            case ["hold"]:
                loop.hold()
            case ["resume"]:
                loop.resume()
            case ["refuse"]:
                loop.refuse()
            case ["accept"]:
                loop.accept()
            case ["delay", milliseconds]:
                loop.set_delay(float(milliseconds))
            case ["figures"]:
                return json.dumps({**asdict(loop.counters), "cpu_seconds": time.process_time()})
            case ["close"]:
                loop.end()
            case _:
                raise ValueError(f"no such order: {' '.join(words)}")
        return "done"


def main(arguments: list[str]) -> int:
    """Run a relay with the target port, the delay in milliseconds, and its own port or 0."""
    # Control-C at the terminal is for the parent.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    with contextlib.suppress(OSError):
        Path("/proc/self/timerslack_ns").write_text(str(_SLACK_NS))
    # Every connection takes two descriptors.
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    loop = RelayLoop(int(arguments[0]), float(arguments[1]), int(arguments[2]))
    orders = _Orders(loop, sys.stdin.fileno(), sys.stdout.fileno())
    loop.watch(sys.stdin.fileno(), orders.on_readable)
    os.write(sys.stdout.fileno(), f"{loop.port}\n".encode())
    loop.run()
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
