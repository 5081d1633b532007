"""The event loop of a simulated program: asyncio on the simulated clock and network."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable
from typing import Any, TypeVar, cast

from ostler.testing.simulation.machine import SimulatedMachine
from ostler.testing.simulation.polling import SimulatedSelector

T = TypeVar("T")
_CLOSES_MAX = 100


class SimulatedLoop(asyncio.SelectorEventLoop):
    """An event loop whose time and connections are simulated. Streams and transports are those of asyncio."""

    def __init__(self, machine: SimulatedMachine) -> None:
        self._machine = machine
        self._simulated = SimulatedSelector(machine.descriptors)
        super().__init__(self._simulated)

    def time(self) -> float:
        return self._machine.monotonic()

    def _write_to_self(self) -> None:
        self._simulated.wake()

    async def create_connection(self, protocol_factory: Any, host: Any = None, port: Any = None, **options: Any) -> Any:
        """As that of asyncio. A host is an address of the simulated network."""
        if options.get("sock") is None:
            options = {"sock": await self._connect(str(host), int(port))}
        return await super().create_connection(protocol_factory, **options)

    async def _connect(self, host: str, port: int) -> object:
        made = self._machine.connect(host, port)
        descriptor = made.fileno()
        writable: asyncio.Future[None] = self.create_future()
        self.add_writer(descriptor, _finish, writable)
        try:
            await writable
        except BaseException:
            self.remove_writer(descriptor)
            made.close()
            raise
        self.remove_writer(descriptor)
        if made.error:
            code = made.error
            made.close()
            raise OSError(code, os.strerror(code))
        return made

    def run_in_executor(self, executor: Any, func: Callable[..., T], *args: Any) -> asyncio.Future[T]:  # type: ignore[override]
        """Run a function at once: the simulation has no threads but its own."""
        done: asyncio.Future[T] = self.create_future()
        try:
            done.set_result(func(*args))
        except Exception as error:
            done.set_exception(error)
        return done

    def abandon(self) -> None:
        """Close the loop of a killed process: its tasks go no further."""
        for task in sorted(asyncio.all_tasks(self), key=lambda each: (len(each.get_name()), each.get_name())):
            cast(Any, task)._log_destroy_pending = False
            coroutine = task.get_coro()
            if coroutine is not None:
                for _ in range(_CLOSES_MAX):
                    try:
                        cast(Any, coroutine).close()
                    except RuntimeError:
                        continue  # it waits for something else on its way out
                    break
        self.close()


def _finish(future: asyncio.Future[None]) -> None:
    if not future.done():
        future.set_result(None)
