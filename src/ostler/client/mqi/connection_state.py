"""What the raw verbs keep for each connection handle, and how they take their turn at the engine.

The engine knows nothing of threads and callbacks; a `ConnectionState` does.
"""

from __future__ import annotations

import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Final, TypeVar

from ostler.client.mqi.put_get import Bound, bound_connection
from ostler.engine.core import Engine
from ostler.model.constants import MQRC_HCONN_ASYNC_ACTIVE
from ostler.model.errors import MQError

T = TypeVar("T")

_ROOM_TRIES: Final = 3


class Consuming(ABC):
    """The callbacks of a connection, as the other verbs see them."""

    @abstractmethod
    def is_inside(self) -> bool:
        """Whether the calling thread is in a callback of this connection."""

    @abstractmethod
    def is_started(self) -> bool:
        """Whether the connection belongs to the callbacks."""

    @abstractmethod
    def handle_closed(self, hobj: int) -> None:
        """An object handle was closed: its callback is no longer registered."""

    @abstractmethod
    def event(self, reason: int) -> None:
        """Tell the event handler something of the connection as a whole."""

    @abstractmethod
    def disconnect(self, finish: Callable[[], object]) -> bool:
        """Stop, and deregister all callbacks, for MQDISC.

        False: this is a callback, so `finish` runs when it has returned.
        """


class ConnectionState:
    """One connection handle: whether other threads may use it, and its callbacks."""

    def __init__(self, hconn: int, bound: Bound, thread: threading.Thread | None) -> None:
        self.hconn = hconn
        self.bound = bound
        # A handle that is not shared belongs to the thread that made it, and goes with it.
        self.thread = thread
        self.consuming: Consuming | None = None

    @property
    def is_shared(self) -> bool:
        return self.thread is None


_states: Final[dict[int, ConnectionState]] = {}
_lock: Final = threading.Lock()


def remember(state: ConnectionState) -> None:
    with _lock:
        _states[state.hconn] = state


def forget(hconn: int) -> None:
    with _lock:
        _states.pop(hconn, None)


def all_states() -> list[ConnectionState]:
    with _lock:
        return list(_states.values())


def state_of(hconn: int) -> ConnectionState:
    """The state behind a connection handle, whoever uses it now; MQError when the handle is wrong."""
    state = _states.get(hconn)
    if state is None:
        state = ConnectionState(hconn, bound_connection(hconn), None)
        remember(state)
    return state


def usable(hconn: int) -> Bound:
    """The connection for a verb of this thread: it is there, not broken, and not in the hands of callbacks."""
    state = _states.get(hconn)
    consuming = state.consuming if state is not None else None
    if consuming is not None and consuming.is_started() and not consuming.is_inside():
        raise MQError(MQRC_HCONN_ASYNC_ACTIVE, "Callbacks are started on this connection; stop them first.")
    return bound_connection(hconn)


def working(state: ConnectionState) -> Bound:
    """The connection of a state, or MQError when it is broken."""
    connection = state.bound.connection
    if connection.broken:
        raise MQError(connection.broken)
    return state.bound


@contextmanager
def locked_engine(bound: Bound, even_if_broken: bool = False) -> Iterator[Engine]:
    """The engine, for one verb: nobody else calls it meanwhile, and those it answered are woken.

    MQError when the connection broke before its turn came.
    """
    bound.lock.acquire()
    try:
        if bound.connection.broken and not even_if_broken:
            raise MQError(bound.connection.broken)
        bound.clock.update(bound.engine)
        yield bound.engine
    finally:
        if bound.engine.woken:
            bound.manager.wake()
        bound.lock.release()


def retry_when_log_full(bound: Bound, verb: Callable[[Engine], T]) -> T:
    """Run a verb that journals. When the log is full, room is made and the verb gets further tries."""
    tries = 0
    while True:
        with locked_engine(bound) as engine:
            engine.journal_full = False
            try:
                answer = verb(engine)
                if not engine.journal_full or tries == _ROOM_TRIES:
                    return answer
            except MQError:
                if not engine.journal_full or tries == _ROOM_TRIES:
                    raise
            finally:
                engine.journal_full = False
        tries += 1
        bound.manager.make_room()


def wait_durable(bound: Bound, lsn: int) -> None:
    if lsn > bound.writer.log.durable_lsn():
        bound.writer.wait_durable_throttled(lsn)
