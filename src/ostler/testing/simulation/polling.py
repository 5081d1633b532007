"""Descriptors of the simulator, and the waiting for them: epoll, eventfd and selectors."""

from __future__ import annotations

import select
import selectors
from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

from ostler.testing.simulation.scheduler import Process, Scheduler, Task

if TYPE_CHECKING:
    from _typeshed import FileDescriptorLike

READABLE: Final = select.EPOLLIN
WRITABLE: Final = select.EPOLLOUT
ERROR: Final = select.EPOLLERR
GONE: Final = select.EPOLLHUP
_ALWAYS: Final = ERROR | GONE
_FIRST_DESCRIPTOR: Final = 1 << 20  # the system has no such descriptors


class Pollable(ABC):
    """Something with a descriptor that may be waited for."""

    def __init__(self, scheduler: Scheduler) -> None:
        self._scheduler = scheduler
        self._fd = _FIRST_DESCRIPTOR + scheduler.new_number()
        self._watchers: list[SimulatedEpoll] = []

    @abstractmethod
    def ready_events(self) -> int:
        """Return the events that it is ready for now."""

    def fileno(self) -> int:
        return self._fd

    def watch(self, epoll: SimulatedEpoll) -> None:
        self._watchers.append(epoll)

    def unwatch(self, epoll: SimulatedEpoll) -> None:
        self._watchers.remove(epoll)

    def notify(self) -> None:
        """Wake those who wait for it: its events may have changed."""
        for epoll in self._watchers:
            epoll.on_changed()

    def detach(self) -> None:
        """Leave all epolls, as at the close of a descriptor."""
        for epoll in list(self._watchers):
            epoll.forget(self._fd)
        self._fd = -1


class EventCounter(Pollable):
    """An eventfd."""

    def __init__(self, scheduler: Scheduler) -> None:
        super().__init__(scheduler)
        self.count = 0

    def ready_events(self) -> int:
        return READABLE if self.count else 0

    def add(self, count: int) -> None:
        self.count += count
        self.notify()

    def take(self) -> int:
        if not self.count:
            raise BlockingIOError
        count, self.count = self.count, 0
        return count


class Descriptors:
    """The descriptors of one process."""

    def __init__(self, scheduler: Scheduler, process: Process) -> None:
        self.scheduler = scheduler
        self.process = process
        self._by_fd: dict[int, Pollable] = {}

    def add(self, made: Pollable) -> None:
        self._by_fd[made.fileno()] = made

    def at(self, fd: int) -> Pollable:
        found = self._by_fd.get(fd)
        if found is None or found.fileno() != fd:
            raise OSError(9, "Bad file descriptor")
        return found

    def has(self, fd: int) -> bool:
        return fd in self._by_fd

    def open_ones(self) -> list[Pollable]:
        """Return those that are not closed."""
        return [each for fd, each in self._by_fd.items() if each.fileno() == fd]


class SimulatedEpoll(Pollable):
    """A level-triggered epoll, with the methods of `select.epoll`."""

    def __init__(self, descriptors: Descriptors) -> None:
        super().__init__(descriptors.scheduler)
        self._descriptors = descriptors
        self._masks: dict[int, int] = {}
        self._waiting: Task | None = None
        descriptors.add(self)

    def register(self, fd: int, eventmask: int = READABLE) -> None:
        if fd in self._masks:
            raise FileExistsError(17, "File exists")
        self._descriptors.at(fd).watch(self)
        self._masks[fd] = eventmask
        self.on_changed()

    def modify(self, fd: int, eventmask: int) -> None:
        if fd not in self._masks:
            raise FileNotFoundError(2, "No such file or directory")
        self._masks[fd] = eventmask
        self.on_changed()

    def unregister(self, fd: int) -> None:
        if fd not in self._masks:
            raise FileNotFoundError(2, "No such file or directory")
        self._descriptors.at(fd).unwatch(self)
        del self._masks[fd]

    def forget(self, fd: int) -> None:
        self._masks.pop(fd, None)

    def close(self) -> None:
        for fd in list(self._masks):
            if self._descriptors.has(fd):
                self.unregister(fd)
        self.detach()

    def poll(self, timeout: float | None = None, maxevents: int = -1) -> list[tuple[int, int]]:
        scheduler = self._scheduler
        self._descriptors.process.check_alive()
        until = scheduler.until(timeout if timeout is not None and timeout >= 0 else None)
        if timeout:
            scheduler.maybe_pass_turn(0.05)
        while True:
            found = self._ready()
            if found or scheduler.is_past(until):
                scheduler.chance.shuffle(found)
                return found if maxevents < 0 else found[:maxevents]
            self._waiting = scheduler.current
            try:
                scheduler.block(until)
            finally:
                self._waiting = None

    def _ready(self) -> list[tuple[int, int]]:
        found: list[tuple[int, int]] = []
        for fd, mask in self._masks.items():
            events = self._descriptors.at(fd).ready_events() & (mask | _ALWAYS)
            if events:
                found.append((fd, events))
        return found

    def ready_events(self) -> int:
        return READABLE if self._ready() else 0

    def on_changed(self) -> None:
        if self._waiting is not None:
            self._scheduler.wake(self._waiting)
        self.notify()


class SimulatedSelector(selectors.BaseSelector):
    """A selector over a simulated epoll. Descriptors of the system may be registered, and are never ready."""

    def __init__(self, descriptors: Descriptors) -> None:
        self._descriptors = descriptors
        self._epoll = SimulatedEpoll(descriptors)
        self._keys: dict[int, selectors.SelectorKey] = {}
        self._wake = EventCounter(descriptors.scheduler)
        descriptors.add(self._wake)
        self._epoll.register(self._wake.fileno())

    def register(self, fileobj: FileDescriptorLike, events: int, data: object = None) -> selectors.SelectorKey:
        fd = fileobj if isinstance(fileobj, int) else fileobj.fileno()
        if fd in self._keys:
            raise KeyError(f"{fileobj!r} is registered already")
        key = self._keys[fd] = selectors.SelectorKey(fileobj, fd, events, data)
        if self._descriptors.has(fd):
            self._epoll.register(fd, _to_epoll(events))
        return key

    def unregister(self, fileobj: FileDescriptorLike) -> selectors.SelectorKey:
        fd = self._fd_of(fileobj)
        key = self._keys.pop(fd)
        if self._descriptors.has(fd):
            self._epoll.unregister(fd)
        return key

    def modify(self, fileobj: FileDescriptorLike, events: int, data: object = None) -> selectors.SelectorKey:
        fd = self._fd_of(fileobj)
        key = self._keys[fd] = selectors.SelectorKey(fileobj, fd, events, data)
        if self._descriptors.has(fd):
            self._epoll.modify(fd, _to_epoll(events))
        return key

    def _fd_of(self, fileobj: FileDescriptorLike) -> int:
        fd = fileobj if isinstance(fileobj, int) else fileobj.fileno()
        if fd < 0:
            fd = next(key.fd for key in self._keys.values() if key.fileobj is fileobj)
        if fd not in self._keys:
            raise KeyError(f"{fileobj!r} is not registered")
        return fd

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        wait = None if timeout is None else max(0.0, timeout)
        found: list[tuple[selectors.SelectorKey, int]] = []
        for fd, events in self._epoll.poll(wait):
            if fd == self._wake.fileno():
                self._wake.take()
                continue
            key = self._keys[fd]
            mask = (selectors.EVENT_READ if events & ~WRITABLE else 0) | (
                selectors.EVENT_WRITE if events & ~READABLE else 0
            )
            if mask & key.events:
                found.append((key, mask & key.events))
        return found

    def wake(self) -> None:
        """End a wait of `select`."""
        self._wake.add(1)

    def close(self) -> None:
        self._epoll.close()
        self._keys.clear()

    def get_map(self) -> Mapping[FileDescriptorLike, selectors.SelectorKey]:
        return {key.fileobj: key for key in self._keys.values()}

    def get_key(self, fileobj: FileDescriptorLike) -> selectors.SelectorKey:
        fd = fileobj if isinstance(fileobj, int) else fileobj.fileno()
        return self._keys[fd]


def _to_epoll(events: int) -> int:
    return (READABLE if events & selectors.EVENT_READ else 0) | (WRITABLE if events & selectors.EVENT_WRITE else 0)
