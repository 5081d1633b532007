"""The limit of local bindings: a request and an answer between two processes that do nothing else."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from typing import Final

from ostler.lab.families.task import Loop
from ostler.lab.load.timeline import PhaseRecorder

_NOTICE: Final = bytes(64)
"""The size of the other direction: an acknowledgement of the data, or a request for it."""
_READ_BYTES: Final = 1 << 20
_SECONDS_MAX: Final = 30.0


class BareExchange(Loop):
    """Sends data and receives an acknowledgement, as a put does; sends a request and receives the data, as a get
    does."""

    def __init__(self, size: int, operations: tuple[str, str], main_operation: str) -> None:
        self.main_operation = main_operation
        self._operations = operations
        self._body = os.urandom(size)
        self._socket, theirs = socket.socketpair()
        self._socket.settimeout(_SECONDS_MAX)
        program = f"from {__name__} import serve; serve({theirs.fileno()}, {size})"
        command = [sys.executable, "-c", program]
        # Control-C at the terminal is for the parent, also while the other process still imports.
        self._other = subprocess.Popen(command, pass_fds=(theirs.fileno(),), stdin=subprocess.DEVNULL, process_group=0)
        theirs.close()
        self._buffer = bytearray(max(size, len(_NOTICE)))
        self._exchange()

    def begin(self, recorder: PhaseRecorder) -> None:
        self._puts, self._gets = (recorder.operation(name) for name in self._operations)
        is_pair = self.main_operation not in self._operations
        self._pairs = recorder.operation(self.main_operation) if is_pair else None

    def turn(self) -> int:
        began, between, end = self._exchange()
        self._puts.record(began, between)
        self._gets.record(between, end)
        if self._pairs is not None:
            self._pairs.record(began, end)
        return end

    def close(self) -> None:
        self._socket.close()
        self._other.wait()

    def _exchange(self) -> tuple[int, int, int]:
        began = time.perf_counter_ns()
        self._socket.sendall(self._body)
        receive(self._socket, self._buffer, len(_NOTICE))
        between = time.perf_counter_ns()
        self._socket.sendall(_NOTICE)
        receive(self._socket, self._buffer, len(self._body))
        return began, between, time.perf_counter_ns()


def receive(sock: socket.socket, buffer: bytearray, size: int) -> bool:
    """Receive this many bytes into the buffer. Returns False when the other side has ended."""
    view = memoryview(buffer)
    got = 0
    while got < size:
        count = sock.recv_into(view[got:size], min(size - got, _READ_BYTES))
        if count == 0:
            return False
        got += count
    return True


def serve(descriptor: int, size: int) -> None:
    """Run the other process: it keeps the data of one message. It ends with the socket, and not before."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    body = bytearray(max(size, len(_NOTICE)))
    notice = bytearray(len(_NOTICE))
    with socket.socket(fileno=descriptor) as sock:
        while receive(sock, body, size):
            sock.sendall(_NOTICE)
            if not receive(sock, notice, len(notice)):
                return
            sock.sendall(memoryview(body)[:size])
