"""The scheduler of the simulator: many threads, of which one runs at a time, in an order that a seed decides.

Threads of the simulation are threads of the system that hand over a baton. A thread runs until it waits; then the next
one is drawn from those that can run. When none can, time goes on to the next timer. Nothing else makes time pass but
the reading of clocks and the work of switching, a little each: a day without events takes no time at all.

A run is a function of its seed: it depends on no real clock, no address in memory and no order of the system's threads.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from heapq import heappop, heappush
from random import Random
from typing import Final

from ostler.testing.simulation.trace import Trace

NANOSECONDS: Final = 1_000_000_000
START_NS: Final = 1_000 * NANOSECONDS
_CLOCK_READ_NS: Final = 500
_SWITCH_NS_MAX: Final = 20_000
_STALL_SHARE: Final = 0.0004  # of the reads of a clock: the machine is busy elsewhere for a moment
_STALL_NS_MAX: Final = 60_000_000


class Killed(BaseException):
    """The process of this thread was killed. Not an Exception, so that no handler goes on as if nothing had been."""


class SimulationError(AssertionError):
    """A run has failed. The text gives the reason."""


class Process:
    """A process of the simulated world: its threads end together."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.is_dead = False
        self.tasks: list[Task] = []
        # The locks of engines: no thread may wait while one is held.
        self.guards: list[Guard] = []

    def has_guard(self) -> bool:
        """Return True if an engine's lock is held, which then is held by the running thread."""
        return any(guard.locked() for guard in self.guards)

    def check_alive(self) -> None:
        if self.is_dead:
            raise Killed


class Guard:
    """The methods of a lock that the simulator uses."""

    def locked(self) -> bool:
        raise NotImplementedError


class Task:
    """A thread of the simulation. It has the methods of `threading.Thread`."""

    def __init__(self, scheduler: Scheduler, process: Process, work: Callable[[], None], name: str) -> None:
        self.name = name
        self.process = process
        self.ident: int | None = None  # None until it is started
        self.failure: BaseException | None = None
        self.is_blocked = False
        self.was_woken = False
        self.has_ended = False
        self.turn = 0  # counts its waits, so that a late timer does not end the next one
        self.baton = threading.Lock()
        self.baton.acquire()
        self.joining: list[Task] = []
        self._scheduler = scheduler
        self._work = work

    def start(self) -> None:
        self.process.check_alive()
        self.process.tasks.append(self)
        self.ident = self._scheduler.new_number()
        self._scheduler.ready.append(self)
        threading.Thread(target=self._run, name=self.name, daemon=True).start()

    def is_alive(self) -> bool:
        return self.ident is not None and not self.has_ended

    def join(self, timeout: float | None = None) -> None:
        until = self._scheduler.until(timeout)
        while self.is_alive() and not self._scheduler.is_past(until):
            self.joining.append(self._scheduler.current)
            self._scheduler.block(until)

    def _run(self) -> None:
        self.baton.acquire()
        try:
            if not self.process.is_dead:
                self._work()
        except Killed:
            pass
        except BaseException as error:
            self.failure = error
            if not self.process.is_dead:
                self._scheduler.on_task_failed(self, error)
        self.has_ended = True
        if self in self.process.tasks:
            self.process.tasks.remove(self)
        for each in self.joining:
            self._scheduler.wake(each)
        self._scheduler.finish()


class Scheduler:
    """Runs the tasks of one world. All methods are called by the task that has the baton."""

    def __init__(self, seed: int | str, trace: Trace) -> None:
        self.chance = Random(seed)
        self.trace = trace
        self.now_ns = START_NS
        self.switches = 0
        self.ready: list[Task] = []
        self.failures: list[tuple[Task, BaseException]] = []
        self.world = Process("world")
        self.main = Task(self, self.world, _nothing, "world")
        self.main.ident = 0
        self.current = self.main
        self._timers: list[tuple[int, int, Task | Callable[[], None], int]] = []
        self._numbers = 0
        self._stuck = ""

    # -- time ----------------------------------------------------------------------------------------------------------

    def read_ns(self) -> int:
        """Return the time. Reading it takes time, and sometimes much of it."""
        self.now_ns += _CLOCK_READ_NS
        if self.chance.random() < _STALL_SHARE:
            self.now_ns += self.chance.randrange(_STALL_NS_MAX)
        return self.now_ns

    def until(self, seconds: float | None) -> int | None:
        """Return the end of a wait that begins now; None for ever."""
        return None if seconds is None else self.now_ns + max(0, int(seconds * NANOSECONDS))

    def is_past(self, until_ns: int | None) -> bool:
        return until_ns is not None and self.now_ns >= until_ns

    def sleep(self, seconds: float) -> None:
        until = self.now_ns + int(seconds * NANOSECONDS)
        while self.now_ns < until:
            self.block(until)

    def call_at(self, at_ns: int, callback: Callable[[], None]) -> None:
        """Call a function at a time. It must not wait."""
        heappush(self._timers, (at_ns, self.new_number(), callback, 0))

    def new_number(self) -> int:
        self._numbers += 1
        return self._numbers

    # -- waiting -------------------------------------------------------------------------------------------------------

    def block(self, until_ns: int | None = None) -> bool:
        """Let others run until this task is woken or the time has come. Returns False for the latter."""
        task = self.current
        task.process.check_alive()
        if task.process.has_guard():
            raise SimulationError(f"{task.process.name}/{task.name} waits while it holds the engine's lock")
        task.turn += 1
        if until_ns is not None:
            heappush(self._timers, (until_ns, self.new_number(), task, task.turn))
        task.was_woken = False
        task.is_blocked = True
        self._switch(task)
        return task.was_woken

    def wake(self, task: Task) -> None:
        """Let a task run that waits. Does nothing to one that does not."""
        if task.is_blocked:
            task.is_blocked = False
            task.was_woken = True
            self.ready.append(task)

    def pass_turn(self) -> None:
        """Let others run first, unless the engine's lock is held."""
        task = self.current
        task.process.check_alive()
        if not task.process.has_guard():
            self.ready.append(task)
            self._switch(task)

    def maybe_pass_turn(self, share: float) -> None:
        """Let others run first in a share of all calls: whoever is not under a lock may be interrupted anywhere."""
        if self.chance.random() < share:
            self.pass_turn()

    def kill(self, process: Process) -> None:
        """End all threads of another process where they are. Returns when they have ended."""
        assert process is not self.current.process, "a process kills another one"
        process.is_dead = True
        tasks = list(process.tasks)
        for task in tasks:
            self.wake(task)
        while any(task.is_alive() for task in tasks):
            self.pass_turn()

    # -- switching -----------------------------------------------------------------------------------------------------

    def _switch(self, task: Task) -> None:
        following = self._next()
        if following is not task:
            self.current = following
            following.baton.release()
            task.baton.acquire()
        task.process.check_alive()
        if task is self.main and self._stuck:
            stuck, self._stuck = self._stuck, ""
            raise SimulationError(stuck)

    def finish(self) -> None:
        """Hand over the baton for the last time, at the end of a task."""
        following = self._next()
        self.current = following
        following.baton.release()

    def _next(self) -> Task:
        """Return the task that runs next, perhaps after some time has passed."""
        self.switches += 1
        self.now_ns += self.chance.randrange(_SWITCH_NS_MAX)
        timers = self._timers
        while True:
            while timers and (timers[0][0] <= self.now_ns or not self.ready):
                at_ns, _, target, turn = heappop(timers)
                if not isinstance(target, Task):
                    self.now_ns = max(self.now_ns, at_ns)
                    target()
                elif target.is_blocked and target.turn == turn:
                    self.now_ns = max(self.now_ns, at_ns)
                    target.is_blocked = False
                    self.ready.append(target)
            if not self.ready:
                # Nothing will ever happen: the world is told so.
                self._stuck = "all threads of the simulation wait for ever"
                self.wake(self.main)
            chosen = self.ready
            at = self.chance.randrange(len(chosen)) if len(chosen) > 1 else 0
            chosen[at], chosen[-1] = chosen[-1], chosen[at]
            task = chosen.pop()
            self.trace.note(self.now_ns, task.process.name, "runs", task.name)
            return task

    def on_task_failed(self, task: Task, error: BaseException) -> None:
        self.trace.note(self.now_ns, task.process.name, "failed", f"{task.name}: {error!r}")
        self.failures.append((task, error))


class SimulatedLock:
    """A lock with the methods of `threading.Lock`."""

    def __init__(self, scheduler: Scheduler) -> None:
        self._scheduler = scheduler
        self._is_locked = False
        self._waiting: list[Task] = []

    def acquire(self, blocking: bool = True, timeout: float = -1) -> bool:
        scheduler = self._scheduler
        scheduler.current.process.check_alive()
        scheduler.maybe_pass_turn(0.02)
        until = scheduler.until(timeout) if timeout >= 0 else None
        while self._is_locked:
            if not blocking or scheduler.is_past(until):
                return False
            self._waiting.append(scheduler.current)
            scheduler.block(until)
        self._is_locked = True
        return True

    def release(self) -> None:
        assert self._is_locked, "released a lock that is not held"
        self._is_locked = False
        waiting, self._waiting = self._waiting, []
        for task in waiting:
            self._scheduler.wake(task)

    def locked(self) -> bool:
        return self._is_locked

    def __enter__(self) -> bool:
        return self.acquire()

    def __exit__(self, *_: object) -> None:
        self.release()


class SimulatedEvent:
    """An event with the methods of `threading.Event`."""

    def __init__(self, scheduler: Scheduler) -> None:
        self._scheduler = scheduler
        self._is_set = False
        self._waiting: list[Task] = []

    def is_set(self) -> bool:
        return self._is_set

    def set(self) -> None:
        self._is_set = True
        waiting, self._waiting = self._waiting, []
        for task in waiting:
            self._scheduler.wake(task)

    def clear(self) -> None:
        self._is_set = False

    def wait(self, timeout: float | None = None) -> bool:
        scheduler = self._scheduler
        scheduler.current.process.check_alive()
        until = scheduler.until(timeout)
        while not self._is_set and not scheduler.is_past(until):
            self._waiting.append(scheduler.current)
            scheduler.block(until)
        return self._is_set


def _nothing() -> None:
    pass
