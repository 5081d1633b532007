"""A relay in a process of its own: distance, and trouble, between two programs on this machine.

with Relay(target_port, delay_ms_one_way=5) as relay:
    ...                              connect to relay.port; a round trip takes 10 ms more
    relay.cut()                      every connection is reset, on both sides
    relay.cut(5000, BACK)            ... as soon as 5,000 more bytes have gone back
    relay.hold(); relay.resume()     nothing goes through meanwhile, and nothing is closed
    relay.refuse(); relay.accept()   nobody listens meanwhile
"""

from __future__ import annotations

import contextlib
import json
import subprocess
import sys
import threading
from dataclasses import dataclass
from typing import Final

from ostler.lab.runner.queue_managers import relay_process
from ostler.lab.runner.queue_managers.relay_loop import BACK as BACK
from ostler.lab.runner.queue_managers.relay_loop import FORWARD as FORWARD
from ostler.lab.runner.queue_managers.relay_loop import RelayCounters

_END_SECONDS_MAX: Final = 5.0
_DIRECTION_NAMES: Final = {number: name for name, number in relay_process.DIRECTIONS.items()}


class RelayFailed(Exception):
    """The relay's process is gone, or rejected a command."""


@dataclass
class MeasuredRelay(RelayCounters):
    cpu_seconds: float = 0.0
    """Processor time of the relay's process since its start."""


class Relay:
    """Relays to a port of this machine. It ends with this process. Its methods may be called from any thread.

    Each method returns when the relay has done it.
    """

    def __init__(self, target_port: int, delay_ms_one_way: float = 0.0, port: int = 0) -> None:
        """Start the relay. The target port need not listen yet. Without `port` the relay takes a free one. Raises
        RelayFailed."""
        self._turn = threading.Lock()
        # Not with -m: a compiled module cannot be run that way.
        program = f"import sys; from {relay_process.__name__} import main; sys.exit(main(sys.argv[1:]))"
        self._process = subprocess.Popen(
            [sys.executable, "-c", program, str(target_port), str(delay_ms_one_way), str(port)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            process_group=0,
        )
        self.port = int(self._read_line() or 0)
        """The port to connect to."""

    @property
    def pid(self) -> int:
        return self._process.pid

    def cut(self, after_bytes: int = 0, direction: int = FORWARD) -> None:
        """Reset all connections, now or after exactly this many more bytes in a direction."""
        if after_bytes:
            self._do(f"cut-after {_DIRECTION_NAMES[direction]} {after_bytes}")
        else:
            self._do("cut")

    def hold(self) -> None:
        """Let nothing through, in either direction, and close nothing."""
        self._do("hold")

    def resume(self) -> None:
        self._do("resume")

    def refuse(self) -> None:
        """Stop listening. Existing connections stay."""
        self._do("refuse")

    def accept(self) -> None:
        """Listen again."""
        self._do("accept")

    def set_delay(self, milliseconds_one_way: float) -> None:
        self._do(f"delay {milliseconds_one_way}")

    def counters(self) -> MeasuredRelay:
        return MeasuredRelay(**json.loads(self._ask("figures")))

    def close(self) -> None:
        """Reset all connections and end. Repeated calls do nothing."""
        with self._turn:
            if self._process.stdin is not None:
                with contextlib.suppress(OSError):
                    self._process.stdin.close()
            try:
                self._process.wait(_END_SECONDS_MAX)
            except subprocess.TimeoutExpired:
                self._process.kill()
                self._process.wait()
            if self._process.stdout is not None:
                self._process.stdout.close()

    def __enter__(self) -> Relay:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _do(self, order: str) -> None:
        answer = self._ask(order)
        if answer != "done":
            raise RelayFailed(answer)

    def _ask(self, order: str) -> str:
        with self._turn:
            stream = self._process.stdin
            if stream is None or stream.closed:
                raise RelayFailed("the relay was closed")
            try:
                stream.write(order.encode() + b"\n")
                stream.flush()
            except OSError:
                raise RelayFailed(self._describe_end()) from None
            return self._read_line()

    def _read_line(self) -> str:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line:
            raise RelayFailed(self._describe_end())
        return line.decode().strip()

    def _describe_end(self) -> str:
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(_END_SECONDS_MAX)
        return f"the relay's process ended with status {self._process.poll()}"
