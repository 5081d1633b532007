"""What is asked of others before somebody comes in: passwords and host names, on threads of their own.

A question may take long, and those who cause it are strangers: how many of them wait is limited, and how many of those
come from one address. Answers are heard on the reactor's thread.
"""

from __future__ import annotations

import socket
import time
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Final

from ostler.model.constants import MQRC_RESOURCE_PROBLEM
from ostler.model.errors import MQError
from ostler.security.addresses import read_address

_THREADS: Final = 2  # a check takes a core and 16 megabytes for some time
_CHECKS_MAX: Final = 512  # that wait for a thread
_CHECKS_OF_ONE_MAX: Final = 384  # of those from one address: whoever guesses leaves room for others
_NAMES_MAX: Final = 4096
_NAME_SECONDS: Final = 300.0


class _Question:
    """Something that is asked on a thread of the pool."""

    def __init__(self, address: str, ask: Callable[[], None], then: Callable[[], None]) -> None:
        self.address = address
        self.ask = ask
        self.then = then
        self.is_given_up = False


class Inquiries:
    """Asks on threads of its own. All but `host_name` is for the reactor's thread."""

    def __init__(self, post: Callable[[Callable[[], None]], None]) -> None:
        """`post` has something done on the reactor's thread."""
        self._post = post
        self.pool: ThreadPoolExecutor | None = None
        self._waiting: Counter[str] = Counter()  # by address
        self.names: dict[str, tuple[str, float]] = {}

    def ask(self, address: str, question: Callable[[], None], then: Callable[[], None]) -> None:
        """Run `question` elsewhere, without the lock, and `then` on the reactor's thread. MQError: too many wait."""
        if self._waiting.total() >= _CHECKS_MAX or self._waiting[address] >= _CHECKS_OF_ONE_MAX:
            raise MQError(MQRC_RESOURCE_PROBLEM, "Too many applications wait to be let in. Try again later.")
        if self.pool is None:
            self.pool = ThreadPoolExecutor(_THREADS, "ostler-admission")
        self._waiting[address] += 1
        asked = _Question(address, question, then)
        try:
            self.pool.submit(self._run, asked)
        except RuntimeError as error:
            # The pool keeps it all the same, for the next thread that it gets.
            asked.is_given_up = True
            self._no_longer_waiting(address)
            raise MQError(MQRC_RESOURCE_PROBLEM, f"There is no thread to let applications in: {error}.") from None

    def _run(self, asked: _Question) -> None:
        if asked.is_given_up:
            return
        try:
            asked.ask()
        finally:
            self._post(partial(self._answered, asked))

    def _answered(self, asked: _Question) -> None:
        self._no_longer_waiting(asked.address)
        asked.then()

    def _no_longer_waiting(self, address: str) -> None:
        self._waiting[address] -= 1
        if not self._waiting[address]:
            del self._waiting[address]

    def host_name(self, address: str) -> str:
        """The name of the host with an address, empty when there is none to rely on. On a thread of the pool."""
        known = self.names.get(address)
        now = time.monotonic()
        if known is not None and now - known[1] < _NAME_SECONDS:
            return known[0]
        name = _name_of(address)
        if len(self.names) >= _NAMES_MAX:
            self.names.clear()
        self.names[address] = (name, now)
        return name

    def close(self) -> None:
        if self.pool is not None:
            self.pool.shutdown(wait=False, cancel_futures=True)


def _name_of(address: str) -> str:
    """The host name of an address; empty when it has none, or none that can be relied on."""
    try:
        name = socket.getnameinfo((address, 0), socket.NI_NAMEREQD)[0]
        found = socket.getaddrinfo(name, None, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError):
        return ""
    # Whoever has an address says what it is called. That counts only if whoever has the name says so, too.
    known = read_address(address)
    return name if any(read_address(str(each[4][0])) == known for each in found) else ""
