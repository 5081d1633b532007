"""The state of each connection handle of the raw verbs, and their access to the engine.

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
from ostler.model import constants as mq
from ostler.model.errors import LogFull, MQError

T = TypeVar("T")

_ROOM_TRIES: Final = 3


class ConnectionCallbacks(ABC):
    """The callbacks of a connection, as other verbs use them."""

    @abstractmethod
    def is_inside(self) -> bool:
        """Return whether the calling thread is in a callback of this connection."""

    @abstractmethod
    def is_started(self) -> bool:
        """Return whether callbacks are started: other threads cannot use the connection then."""

    @abstractmethod
    def on_handle_closed(self, hobj: int) -> None:
        """Deregister the callback of an object handle that was closed."""

    @abstractmethod
    def report_event(self, reason: int) -> None:
        """Report an event of the whole connection to the event handler."""

    @abstractmethod
    def disconnect(self, finish: Callable[[], object]) -> bool:
        """Stop and deregister all callbacks, for MQDISC.

        Returns False inside a callback: `finish` runs when the callback has returned.
        """


class ConnectionState:
    """One connection handle: the thread that owns it, and its callbacks."""

    def __init__(self, hconn: int, bound: Bound, thread: threading.Thread | None) -> None:
        self.hconn = hconn
        self.bound = bound
        # A handle that is not shared belongs to the thread that made it, and ends with it.
        self.thread = thread
        self.callbacks: ConnectionCallbacks | None = None

    @property
    def is_shared(self) -> bool:
        return self.thread is None


_states: Final[dict[int, ConnectionState]] = {}
_lock: Final = threading.Lock()


def register_state(state: ConnectionState) -> None:
    with _lock:
        _states[state.hconn] = state


def unregister_state(hconn: int) -> None:
    with _lock:
        _states.pop(hconn, None)


def all_states() -> list[ConnectionState]:
    with _lock:
        return list(_states.values())


def state_of(hconn: int) -> ConnectionState:
    """Return the state of a connection handle. Raises MQError when the handle is unknown."""
    state = _states.get(hconn)
    if state is None:
        state = ConnectionState(hconn, bound_connection(hconn), None)
        register_state(state)
    return state


def usable_connection(hconn: int) -> Bound:
    """Return the connection for a verb of this thread. Raises MQError if it is broken or its callbacks are started."""
    state = _states.get(hconn)
    callbacks = state.callbacks if state is not None else None
    if callbacks is not None and callbacks.is_started() and not callbacks.is_inside():
        raise MQError(mq.MQRC_HCONN_ASYNC_ACTIVE, "Callbacks are started on this connection; stop them first.")
    return bound_connection(hconn)


def check_working(state: ConnectionState) -> Bound:
    """Return the connection of a state. Raises MQError when it is broken."""
    state.bound.connection.check_working()
    return state.bound


@contextmanager
def engine_turn(bound: Bound, even_if_broken: bool = False) -> Iterator[Engine]:
    """Take a turn of the engine for one verb. Raises MQError when the connection broke before."""
    with bound.turn as engine:
        if not even_if_broken:
            bound.connection.check_working()
        yield engine


def retry_when_log_full(
    bound: Bound, verb: Callable[[Engine], T], count_failure: Callable[[Engine], None] | None = None
) -> T:
    """Run a verb that writes to the log. When it raises LogFull, make room in the log and try again.

    `count_failure` is called, in the same turn, when the verb has failed for good.
    """
    tries = 0
    while True:
        with engine_turn(bound) as engine:
            try:
                return verb(engine)
            except MQError as error:
                if not isinstance(error, LogFull) or tries == _ROOM_TRIES:
                    if count_failure is not None:
                        count_failure(engine)
                    raise
        tries += 1
        bound.manager.make_room()


def wait_durable(bound: Bound, lsn: int) -> None:
    if lsn > bound.writer.log.durable_lsn():
        bound.writer.wait_durable_throttled(lsn)
