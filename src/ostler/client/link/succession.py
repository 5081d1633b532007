"""The search for a later leader of a queue manager that does not answer any more.

A leader that stands still (a stopped process, a frozen machine) keeps its connections, and its clients wait until their
heartbeats are given up. Meanwhile another copy leads. So a client whose queue manager has copies, and is silent, asks
the other addresses of its list. It leaves its link only when one of them answers for the same log in a later life: then
the silent one leads no more, whatever it does when it wakes up. Without such an answer it waits on, as it always did.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from time import monotonic
from typing import Final, NamedTuple, TypeVar

from ostler.client.locate.connect_parameters import Endpoint, TlsSettings
from ostler.model.errors import MQError
from ostler.wire.connect_frames import Hello

# A request that nothing was heard of for so long: a heartbeat is sent; then the others are asked, again and again.
HEARTBEAT_SECONDS: Final = 5
LOOK_SECONDS: Final = 10
AGAIN_SECONDS: Final = 5
# One address has this long to answer.
ANSWER_SECONDS: Final = 2.0
# An address whose leader was succeeded is tried last for so long: it would take connections and not answer them.
_SILENT_SECONDS: Final = 60.0

AskHello = Callable[[Endpoint, TlsSettings | None, float], Hello]
"""Returns the reply to HELLO of an endpoint within so many seconds. Raises MQError."""
Item = TypeVar("Item")

_silent: dict[tuple[str, int], float] = {}


class Address(NamedTuple):
    endpoint: Endpoint
    tls: TlsSettings | None


class Succession:
    """The other addresses of a link's queue manager. Any thread may call."""

    def __init__(self, current: Endpoint, others: Sequence[Address], ask: AskHello) -> None:
        self._current = current
        self._others = list(others)
        self._ask = ask
        self._turn = threading.Lock()
        self._is_looking = False

    def look(self, negotiated: Hello, on_found: Callable[[str], None]) -> None:
        """Ask the others on a thread. `on_found` is called there, with a sentence, when one of them succeeded."""
        with self._turn:
            if self._is_looking:
                return
            self._is_looking = True
        threading.Thread(target=self._look, args=(negotiated, on_found), name="ostler-succession", daemon=True).start()

    def _look(self, negotiated: Hello, on_found: Callable[[str], None]) -> None:
        try:
            found = self.successor(negotiated)
            if found is not None:
                where = (self._current.host, self._current.port)
                _silent[where] = monotonic()
                on_found(
                    f"{where[0]}({where[1]}) does not answer, and its queue manager is active at "
                    f"{found.host}({found.port}) now."
                )
        finally:
            with self._turn:
                self._is_looking = False

    def successor(self, negotiated: Hello) -> Endpoint | None:
        """Return the address at which a later life of the same log is served; None when there is none."""
        for endpoint, tls in self._others:
            with suppress(MQError):
                hello = self._ask(endpoint, tls, ANSWER_SECONDS)
                if hello.log_identity == negotiated.log_identity and hello.life > negotiated.life:
                    return endpoint
        return None


def silent_last(items: Sequence[Item], endpoint_of: Callable[[Item], Endpoint]) -> list[Item]:
    """Return the items in their order, but those last whose address was found silent a while ago."""
    now = monotonic()
    for where in [each for each, since in _silent.items() if now - since > _SILENT_SECONDS]:
        _silent.pop(where, None)

    def is_silent(item: Item) -> bool:
        endpoint = endpoint_of(item)
        return (endpoint.host, endpoint.port) in _silent

    return sorted(items, key=is_silent)
