"""Slow look-ups before a connection is admitted: password checks and host names, on a small pool of threads.

A look-up may take long and is caused by an unauthenticated peer, so the number that may wait is limited, in total and
per address. Results are delivered on the reactor's thread.
"""

from __future__ import annotations

import socket
from collections import Counter
from collections.abc import Callable
from concurrent.futures import Executor
from functools import partial
from typing import Final

from ostler.model import constants as mq
from ostler.model.errors import MQError
from ostler.security.addresses import read_address
from ostler.server.machine import MACHINE, Machine

_THREADS: Final = 2  # a check takes a core and 16 megabytes for some time
_LOOKUPS_MAX: Final = 512  # that wait for a thread
_LOOKUPS_PER_ADDRESS_MAX: Final = 384  # an address that guesses passwords leaves room for others
_NAMES_MAX: Final = 4096
_NAME_SECONDS: Final = 300.0


class _Lookup:
    """One look-up: `run` is called on a thread of the pool, `then` on the reactor's thread."""

    def __init__(self, address: str, run: Callable[[], None], then: Callable[[], None]) -> None:
        self.address = address
        self.run = run
        self.then = then
        self.is_abandoned = False


class Lookups:
    """The pool and its limits. All methods but `host_name` are for the reactor's thread."""

    def __init__(self, post: Callable[[Callable[[], None]], None], machine: Machine = MACHINE) -> None:
        """`post` schedules a call on the reactor's thread."""
        self._post = post
        self._machine = machine
        self.pool: Executor | None = None
        self._waiting: Counter[str] = Counter()  # by address
        self.names: dict[str, tuple[str, float]] = {}

    def submit(self, address: str, run: Callable[[], None], then: Callable[[], None]) -> None:
        """Call `run` on a thread of the pool, without the lock, and then `then` on the reactor's thread.

        Raises MQError when too many look-ups wait already.
        """
        if self._waiting.total() >= _LOOKUPS_MAX or self._waiting[address] >= _LOOKUPS_PER_ADDRESS_MAX:
            raise MQError(mq.MQRC_RESOURCE_PROBLEM, "Too many applications wait to be let in. Try again later.")
        if self.pool is None:
            self.pool = self._machine.executor(_THREADS, "ostler-admission")
        self._waiting[address] += 1
        lookup = _Lookup(address, run, then)
        try:
            self.pool.submit(self._run, lookup)
        except RuntimeError as error:
            # The pool has queued it all the same, for the next thread that it gets.
            lookup.is_abandoned = True
            self._count_finished(address)
            raise MQError(mq.MQRC_RESOURCE_PROBLEM, f"There is no thread to let applications in: {error}.") from None

    def _run(self, lookup: _Lookup) -> None:
        if lookup.is_abandoned:
            return
        try:
            lookup.run()
        finally:
            self._post(partial(self._finish, lookup))

    def _finish(self, lookup: _Lookup) -> None:
        self._count_finished(lookup.address)
        lookup.then()

    def _count_finished(self, address: str) -> None:
        self._waiting[address] -= 1
        if not self._waiting[address]:
            del self._waiting[address]

    def host_name(self, address: str) -> str:
        """Return the verified host name of an address, or an empty string. Call it on a thread of the pool."""
        known = self.names.get(address)
        now = self._machine.monotonic()
        if known is not None and now - known[1] < _NAME_SECONDS:
            return known[0]
        name = _verified_host_name(address)
        if len(self.names) >= _NAMES_MAX:
            self.names.clear()
        self.names[address] = (name, now)
        return name

    def close(self) -> None:
        if self.pool is not None:
            self.pool.shutdown(wait=False, cancel_futures=True)


def _verified_host_name(address: str) -> str:
    """Return the host name of an address if it resolves back to that address, else an empty string."""
    try:
        name = socket.getnameinfo((address, 0), socket.NI_NAMEREQD)[0]
        found = socket.getaddrinfo(name, None, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError):
        return ""
    # The owner of an address chooses its reverse name. It counts only if the name resolves to the address, too.
    known = read_address(address)
    return name if any(read_address(str(each[4][0])) == known for each in found) else ""
