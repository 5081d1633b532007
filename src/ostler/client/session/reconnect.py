"""Reconnection of a session of the Python API: one thread or task does it for all, with growing delays."""

from __future__ import annotations

import os
import random
import threading
from collections.abc import Awaitable, Callable

from ostler.client.link.backoff import Backoff, settings_of
from ostler.client.mqi.remote.connect import FINAL_REASONS
from ostler.client.session.runtime import Runtime, WakeEvent
from ostler.model import constants as mq
from ostler.model.errors import MQError


class SessionReconnector:
    """Replaces the broken link of a session. `generation` counts its links; callers name the one that broke."""

    def __init__(self, runtime: Runtime) -> None:
        self.generation = 0
        self._runtime = runtime
        self._steps, self._timeout_seconds = settings_of(os.environ)
        self._lock = threading.Lock()
        self._is_reconnecting = False
        self._waiting: list[WakeEvent] = []
        self._sleeper: WakeEvent | None = None  # between two attempts
        self._is_stopped = False

    async def reconnect(self, cause: MQError, generation: int, rejoin: Callable[[], Awaitable[None]]) -> None:
        """Return when the link of this generation has been replaced.

        A caller that waited for the attempts of another thread or task returns when those end, and finds out the result
        by using the link. Raises MQRC_RECONNECT_FAILED when reconnection is given up.
        """
        event: WakeEvent | None = None
        with self._lock:
            if self.generation != generation:
                return
            if self._is_reconnecting:
                event = self._runtime.new_event()
                self._waiting.append(event)
            self._is_reconnecting = True
        if event is not None:
            await event.wait(None)
            return
        try:
            await self._try(cause, rejoin)
        finally:
            with self._lock:
                self._is_reconnecting = False
                waiting, self._waiting = self._waiting, []
            for each in waiting:
                each.wake()

    async def _try(self, cause: MQError, rejoin: Callable[[], Awaitable[None]]) -> None:
        # A program that seeds `random` gets the same delays again.
        backoff = Backoff(random.Random(random.random()), self._steps, self._timeout_seconds)
        began = self._runtime.monotonic()
        while not self._is_stopped:
            try:
                await rejoin()
            except MQError as error:
                cause = error
            else:
                with self._lock:
                    self.generation += 1
                return
            delay = backoff.next_delay(self._runtime.monotonic() - began)
            if delay is None or cause.reason in FINAL_REASONS:
                raise MQError(mq.MQRC_RECONNECT_FAILED, f"{cause}")
            self._sleeper = self._runtime.new_event()
            await self._sleeper.wait(0 if self._is_stopped else delay)
        raise MQError(mq.MQRC_CONNECTION_BROKEN, f"{cause}")

    def stop(self) -> None:
        """End the attempts: the connection is being closed."""
        self._is_stopped = True
        if self._sleeper is not None:
            self._sleeper.wake()
