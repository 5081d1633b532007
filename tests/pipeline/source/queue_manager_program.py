"""A queue manager as a process of its own, to be killed: its port comes on standard output, and it ends with its input.

python queue_manager_program.py NAME DATA PORT      port 0: a new one, on a port that is free
"""

from __future__ import annotations

import sys
from pathlib import Path

from ostler.testing import RunningQueueManager


def main(name: str, data: str, port: str) -> None:
    running = RunningQueueManager(name, Path(data))
    running.port = int(port)
    running.start()
    if port == "0":
        running.mqsc("DEFINE QLOCAL(IN) DEFPSIST(YES)\nDEFINE QLOCAL(OUT) DEFPSIST(YES)")
    print(running.port, flush=True)
    sys.stdin.read()
    running.end()


if __name__ == "__main__":
    main(*sys.argv[1:])
