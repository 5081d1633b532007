"""Making a link anew that broke: once for all threads or tasks that need it, with longer and longer pauses."""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Awaitable, Callable

from ostler.client.link.backoff import Backoff
from ostler.client.mqi.remote.connect import FINAL_REASONS
from ostler.client.session.runtime import Waiter, Waits
from ostler.model.constants import MQRC_CONNECTION_BROKEN, MQRC_RECONNECT_FAILED
from ostler.model.errors import MQError


class Mender:
    """`generation` counts the links of a connection. Whoever finds one broken says which one it was."""

    def __init__(self, waits: Waits) -> None:
        self.generation = 0
        self._waits = waits
        self._lock = threading.Lock()
        self._is_mending = False
        self._patient: list[Waiter] = []
        self._sleeper: Waiter | None = None  # between two attempts
        self._is_stopped = False

    async def mend(self, cause: MQError, generation: int, rejoin: Callable[[], Awaitable[None]]) -> None:
        """Return when there is another link than that of this generation, or perhaps is: whoever waited for somebody
        else's attempts finds out by trying. MQRC_RECONNECT_FAILED when it is hopeless."""
        waiter: Waiter | None = None
        with self._lock:
            if self.generation != generation:
                return
            if self._is_mending:
                waiter = self._waits.waiter()
                self._patient.append(waiter)
            self._is_mending = True
        if waiter is not None:
            await waiter.wait(None)
            return
        try:
            await self._try(cause, rejoin)
        finally:
            with self._lock:
                self._is_mending = False
                patient, self._patient = self._patient, []
            for each in patient:
                each.wake()

    async def _try(self, cause: MQError, rejoin: Callable[[], Awaitable[None]]) -> None:
        backoff = Backoff(random.Random())
        began = time.monotonic()
        while not self._is_stopped:
            try:
                await rejoin()
            except MQError as error:
                cause = error
            else:
                with self._lock:
                    self.generation += 1
                return
            delay = backoff.next_delay(time.monotonic() - began)
            if delay is None or cause.reason in FINAL_REASONS:
                raise MQError(MQRC_RECONNECT_FAILED, f"{cause}")
            self._sleeper = self._waits.waiter()
            await self._sleeper.wait(0 if self._is_stopped else delay)
        raise MQError(MQRC_CONNECTION_BROKEN, f"{cause}")

    def stop(self) -> None:
        """No further attempts: the connection is being given up."""
        self._is_stopped = True
        if self._sleeper is not None:
            self._sleeper.wake()
