"""Connection handles that several threads share, as MQCNO_HANDLE_SHARE_BLOCK promises: a verb waits for its turn.

ibmmq connects all its programs that way. Without it, a verb of one thread would be refused while another thread waits
in MQGET.
"""

from __future__ import annotations

import threading
from contextlib import AbstractContextManager, nullcontext
from typing import Final

_turns: Final[dict[int, threading.RLock]] = {}
_NO_TURN: Final[AbstractContextManager[None]] = nullcontext()


def announce_shared(hconn: int) -> None:
    """From now on verbs on this handle wait for one another."""
    _turns[hconn] = threading.RLock()


def forget_shared(hconn: int) -> None:
    """Wait for the verb that is under way; the handle is about to go."""
    turn = _turns.pop(hconn, None)
    if turn is not None:
        with turn:
            pass


def turn_of(hconn: int) -> AbstractContextManager[object]:
    """What a verb holds while it uses a handle. A callback runs on one thread, so its verbs may nest."""
    return _turns.get(hconn, _NO_TURN)
