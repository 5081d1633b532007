"""Shared connection handles (MQCNO_HANDLE_SHARE_BLOCK): verbs of several threads on one handle wait for one another.

ibmmq connects all its programs that way. Without it, a verb of one thread would fail with MQRC_CALL_IN_PROGRESS while
another thread waits in MQGET.
"""

from __future__ import annotations

import threading
from contextlib import AbstractContextManager, nullcontext
from typing import Final

_locks: Final[dict[int, threading.RLock]] = {}
_NO_LOCK: Final[AbstractContextManager[None]] = nullcontext()


def serialize_verbs(hconn: int) -> None:
    """Let verbs on this handle wait for one another."""
    _locks[hconn] = threading.RLock()


def stop_serializing(hconn: int) -> None:
    """Wait for the verb in progress, before the handle is disconnected."""
    lock = _locks.pop(hconn, None)
    if lock is not None:
        with lock:
            pass


def verb_lock(hconn: int) -> AbstractContextManager[object]:
    """Return the lock that a verb holds while it uses a handle. It is reentrant, for verbs inside callbacks."""
    return _locks.get(hconn, _NO_LOCK)
