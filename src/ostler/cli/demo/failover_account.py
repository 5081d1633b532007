"""Keeps account of what applications were told while instances of a queue manager died, and judges what is there."""

from __future__ import annotations

import threading
import time
from collections import Counter
from dataclasses import dataclass
from itertools import pairwise


@dataclass(frozen=True)
class Verdict:
    """The names of messages that should not be as they are; all empty when every promise was kept."""

    lost: tuple[str, ...]
    """Put and acknowledged, never got, and not on the queue."""
    doubled: tuple[str, ...]
    """Got twice, or got and still on the queue."""
    foreign: tuple[str, ...]
    """There, and put by nobody."""

    @property
    def sentences(self) -> list[str]:
        found = []
        for names, words in (
            (self.lost, "acknowledged messages are lost"),
            (self.doubled, "messages came twice"),
            (self.foreign, "messages are there that nobody put"),
        ):
            if names:
                found.append(f"{len(names)} {words}: {', '.join(names[:10])}")
        return found


class FailoverAccount:
    """Acknowledged and doubtful puts and gets, by the name that each message carries. For any thread."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._put: set[str] = set()
        self._doubtful_puts: set[str] = set()
        self._got: Counter[str] = Counter()
        self._doubtful_gets: set[str] = set()
        self._acknowledged_at: list[float] = []

    def put(self, name: str) -> None:
        """The put of this message was acknowledged."""
        with self._lock:
            self._put.add(name)
            self._acknowledged_at.append(time.monotonic())

    def may_be_put(self, name: str) -> None:
        """The put of this message failed; it may have been done."""
        with self._lock:
            self._doubtful_puts.add(name)

    def got(self, name: str) -> None:
        """The get of this message was committed, and the commit was acknowledged."""
        with self._lock:
            self._got[name] += 1

    def may_be_got(self, name: str) -> None:
        """The commit of the get of this message failed; it may have been done."""
        with self._lock:
            self._doubtful_gets.add(name)

    @property
    def puts(self) -> int:
        return len(self._put)

    @property
    def gets(self) -> int:
        return self._got.total()

    @property
    def doubtful(self) -> int:
        return len(self._doubtful_puts) + len(self._doubtful_gets)

    def puts_since(self, moment: float) -> int:
        """Returns how many puts were acknowledged after a moment of the monotonic clock."""
        with self._lock:
            return sum(1 for each in self._acknowledged_at if each > moment)

    def seconds_away(self, moment: float) -> float:
        """Returns the longest time without an acknowledged put, of those that end after a moment."""
        with self._lock:
            times = self._acknowledged_at
            return max((late - early for early, late in pairwise(times) if late > moment), default=0.0)

    def judge(self, left: Counter[str]) -> Verdict:
        """Compares the messages left on the queue with what the applications were told."""
        with self._lock:
            there = self._got + left
            # A doubtful get was done or not: the message may be gone, and is on the queue once at most.
            lost = self._put - set(there) - self._doubtful_gets
            doubled = [name for name, count in there.items() if count > 1]
            foreign = set(there) - self._put - self._doubtful_puts
            return Verdict(tuple(sorted(lost)), tuple(sorted(doubled)), tuple(sorted(foreign)))
