"""The other side of the probe `replicated force`: writes each batch that arrives to a file of its own, forces it, and
acknowledges it. It is the least that a synchronous copy must do.

A batch is its length in four bytes and its records. The acknowledgement is the number of batches that are forced, in
eight bytes.
"""

from __future__ import annotations

import contextlib
import os
import select
import signal
import socket
import subprocess
import sys
import threading
from pathlib import Path
from typing import Final

from ostler.lab.common.probes import ForcedFile

LENGTH_BYTES: Final = 4
ACKNOWLEDGEMENT_BYTES: Final = 8
FILE_BYTES: Final = 64 << 20
FILE_NAME: Final = "replicated-force-probe"
READY: Final = b"\x01"


def serve(listener: socket.socket, directory: Path) -> None:
    """Serve one connection after the other, until this process is ended. Each is told when the file is ready."""
    file = ForcedFile(directory / FILE_NAME, FILE_BYTES)
    while True:
        link, _ = listener.accept()
        link.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        # A probe that is over, or was killed, resets its connection: the next one connects again.
        with contextlib.suppress(OSError), link:
            link.sendall(READY)
            _serve_one(link, file)


def _serve_one(link: socket.socket, file: ForcedFile) -> None:
    buffer = memoryview(bytearray(FILE_BYTES))
    forced = 0
    while True:
        if not read_exactly(link, buffer[:LENGTH_BYTES]):
            return
        size = int.from_bytes(buffer[:LENGTH_BYTES], "big")
        if size > FILE_BYTES or not read_exactly(link, buffer[:size]):
            return
        file.write_and_force(buffer[:size])
        forced += 1
        link.sendall(forced.to_bytes(ACKNOWLEDGEMENT_BYTES, "big"))


def read_exactly(link: socket.socket, into: memoryview) -> bool:
    """Fill a buffer from a socket; False when the other side has closed it."""
    at, size = 0, len(into)
    while at < size:
        count = link.recv_into(into[at:])
        if not count:
            return False
        at += count
    return True


def start(listener: socket.socket, directory: Path) -> subprocess.Popen[bytes]:
    """Start it in a process of its own. It takes over the listening socket, and ends with this process."""
    descriptor = listener.fileno()
    # Not with -m: a compiled module cannot be run that way.
    program = f"import sys; from {__name__} import main; sys.exit(main(sys.argv[1:]))"
    command = [sys.executable, "-c", program, str(descriptor), str(directory), str(os.getpid())]
    return subprocess.Popen(command, pass_fds=(descriptor,), stdin=subprocess.DEVNULL, process_group=0)


def main(arguments: list[str]) -> int:
    descriptor, directory, parent = arguments
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    if not _end_with(int(parent)):
        return 0
    serve(socket.socket(fileno=int(descriptor)), Path(directory))
    return 0


def _end_with(parent: int) -> bool:
    """End this process when its parent ends; False when that is gone already."""
    try:
        # It becomes readable when the process ends, whichever of its threads has started this one.
        ends = os.pidfd_open(parent)
    except ProcessLookupError:
        return False
    threading.Thread(target=_exit_after, args=(ends,), name="lab-parent", daemon=True).start()
    return os.getppid() == parent


def _exit_after(ends: int) -> None:
    select.select([ends], [], [])
    os._exit(0)
