"""A simulated machine: the port `Machine` of the server, on the simulated scheduler, network and disk."""

from __future__ import annotations

import errno
import select
import selectors
import socket
import threading
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import Executor, Future
from pathlib import Path
from random import Random
from typing import TypeVar, cast

from ostler.model.disk import Disk, File
from ostler.server.config.directories import InstanceLock, QueueManagerDirectory
from ostler.server.machine import Machine
from ostler.server.net.outgoing_sockets import HostAddress, LocalBinding
from ostler.testing.simulation.crashing_disk import SimulatedDisk
from ostler.testing.simulation.network import Host, Network, SimulatedListener, SimulatedSocket
from ostler.testing.simulation.polling import Descriptors, EventCounter, SimulatedEpoll, SimulatedSelector
from ostler.testing.simulation.scheduler import Process, Scheduler, SimulatedEvent, SimulatedLock, Task

T = TypeVar("T")
_LOCAL_PORT = 0
_BACKLOG = 64


class StorageDevice:
    """A disk with a speed. It outlives the processes that use it."""

    def __init__(self, scheduler: Scheduler) -> None:
        self.disk = SimulatedDisk()
        self.force_seconds_max = 0.002
        self._scheduler = scheduler

    def wait(self, process: Process) -> None:
        """Let the time of a force pass."""
        seconds = self._scheduler.chance.random() * self.force_seconds_max
        if process.has_guard():
            self._scheduler.now_ns += int(seconds * 1e9)  # nobody else can run
        else:
            self._scheduler.sleep(seconds)


class ProcessFile(File):
    """A file as a process sees it: a dead process writes nothing."""

    def __init__(self, file: File, device: StorageDevice, process: Process) -> None:
        self._file = file
        self._device = device
        self._process = process

    def read_at(self, offset: int, length: int) -> bytes:
        self._process.check_alive()
        return self._file.read_at(offset, length)

    def write_at(self, offset: int, parts: Sequence[bytes]) -> None:
        self._process.check_alive()
        self._file.write_at(offset, parts)

    def discard(self, offset: int, length: int) -> None:
        self._process.check_alive()
        self._file.discard(offset, length)

    def force(self) -> None:
        self._process.check_alive()
        self._device.wait(self._process)
        self._file.force()

    def size_bytes(self) -> int:
        self._process.check_alive()
        return self._file.size_bytes()

    def truncate(self, size_bytes: int) -> None:
        self._process.check_alive()
        self._file.truncate(size_bytes)

    def close(self) -> None:
        self._file.close()


class ProcessDisk(Disk):
    """A disk as a process sees it."""

    def __init__(self, device: StorageDevice, process: Process) -> None:
        self._device = device
        self._process = process

    def _disk(self) -> SimulatedDisk:
        self._process.check_alive()
        return self._device.disk

    def open(self, path: str, create: bool) -> File:
        return ProcessFile(self._disk().open(path, create), self._device, self._process)

    def exists(self, path: str) -> bool:
        return self._disk().exists(path)

    def names(self, directory: str) -> list[str]:
        return self._disk().names(directory)

    def make_directory(self, path: str) -> None:
        self._disk().make_directory(path)

    def remove(self, path: str) -> None:
        self._disk().remove(path)

    def rename(self, source: str, target: str) -> None:
        self._disk().rename(source, target)

    def force_directory(self, path: str) -> None:
        disk = self._disk()
        self._device.wait(self._process)
        disk.force_directory(path)

    def free_bytes(self) -> int:
        return self._disk().free_bytes()


class _NoInstanceLock:
    """The lock of a queue manager's directory: the simulator starts each of them once."""

    def release(self) -> None:
        pass


class SimulatedMachine(Machine):
    """The machine of one process. Its threads, sockets and files end with the process."""

    def __init__(self, network: Network, host: Host, process: Process, device: StorageDevice | None = None) -> None:
        super().__init__()
        scheduler = network.scheduler
        self.scheduler: Scheduler = scheduler
        self.network = network
        self.host = host
        self.process = process
        self.device = device
        self.descriptors = Descriptors(scheduler, process)
        self.wall_ahead_seconds = 0.0  # what was done to the wall clock
        self.chance = Random(scheduler.chance.random())
        self.monotonic = self._monotonic
        self.monotonic_ns = self.perf_counter_ns = scheduler.read_ns
        self.steady = self._monotonic
        self.wall = self._wall
        self.sleep = self._sleep
        self.random_bytes = self.chance.randbytes
        self.event = self._event
        self.lock = self._lock
        self.epoll = self._epoll
        self.selector = self._selector
        self.eventfd_write = self._eventfd_write
        self.eventfd_read = self._eventfd_read
        self.close = self._close

    # -- clocks and threads --------------------------------------------------------------------------------------------

    def _monotonic(self) -> float:
        return self.scheduler.read_ns() / 1e9

    def _wall(self) -> float:
        return 1_700_000_000.0 + self.scheduler.read_ns() / 1e9 + self.wall_ahead_seconds

    def _sleep(self, seconds: float) -> None:
        self.scheduler.sleep(seconds)

    def _event(self) -> threading.Event:
        return cast(threading.Event, SimulatedEvent(self.scheduler))

    def _lock(self) -> threading.Lock:
        return cast(threading.Lock, SimulatedLock(self.scheduler))

    def thread(self, work: Callable[[], None], name: str) -> threading.Thread:
        return cast(threading.Thread, Task(self.scheduler, self.process, work, name))

    def executor(self, threads_max: int, name: str) -> Executor:
        return SimulatedExecutor(self, threads_max, name)

    def current_thread(self) -> threading.Thread:
        return cast(threading.Thread, self.scheduler.current)

    # -- descriptors ---------------------------------------------------------------------------------------------------

    def _epoll(self) -> select.epoll:
        return cast(select.epoll, SimulatedEpoll(self.descriptors))

    def _selector(self) -> selectors.BaseSelector:
        return SimulatedSelector(self.descriptors)

    def eventfd(self) -> int:
        made = EventCounter(self.scheduler)
        self.descriptors.add(made)
        return made.fileno()

    def reserve_descriptor(self) -> int:
        return self.eventfd()

    def _eventfd_write(self, fd: int, count: int) -> None:
        found = self.descriptors.at(fd)
        assert isinstance(found, EventCounter)
        found.add(count)

    def _eventfd_read(self, fd: int) -> int:
        found = self.descriptors.at(fd)
        assert isinstance(found, EventCounter)
        return found.take()

    def _close(self, fd: int) -> None:
        self.descriptors.at(fd).detach()

    # -- sockets -------------------------------------------------------------------------------------------------------

    def listen(self, host: str, port: int, backlog: int) -> socket.socket:
        return cast(socket.socket, self._listener(port, backlog, socket.AF_INET))

    def listen_locally(self, directory: QueueManagerDirectory) -> socket.socket:
        return cast(socket.socket, self._listener(_LOCAL_PORT, _BACKLOG, socket.AF_UNIX))

    def _listener(self, port: int, backlog: int, family: int) -> ProcessListener:
        made = ProcessListener(self, port, backlog, family)
        self.descriptors.add(made)
        return made

    def start_connect(
        self, target: HostAddress, port: int, bindings: list[LocalBinding], turn: int = 0
    ) -> socket.socket:
        return cast(socket.socket, self.connect(target.host, port))

    def connect(self, host: str, port: int) -> SimulatedSocket:
        """Return a socket that is connecting to an address."""
        made = self.network.connect(self.process, self.host, (host, port))
        self.descriptors.add(made)
        return made

    def drop_sockets(self, power_lost: bool) -> None:
        """Close all sockets of a process that has ended: by the kernel, or not at all when the power was lost."""
        for each in self.descriptors.open_ones():
            if isinstance(each, SimulatedSocket):
                each.vanish() if power_lost else each.close_by_kernel()
            elif isinstance(each, SimulatedListener):
                if power_lost:
                    for waiting in each.backlog:
                        waiting.vanish()
                    each.backlog.clear()
                each.close()

    # -- storage -------------------------------------------------------------------------------------------------------

    def disk(self, base: Path, limit_megabytes: int | None = None) -> Disk:
        if self.device is None:
            raise OSError(errno.EROFS, "this process has no disk")
        return ProcessDisk(self.device, self.process)

    def instance_lock(self, directory: QueueManagerDirectory) -> InstanceLock:
        return cast(InstanceLock, _NoInstanceLock())


class SimulatedExecutor(Executor):
    """A pool of simulated threads."""

    def __init__(self, machine: SimulatedMachine, threads_max: int, name: str) -> None:
        self._machine = machine
        self._threads_max = threads_max
        self._name = name
        self._threads = 0
        self._waiting: deque[Callable[[], None]] = deque()
        self._is_shut_down = False

    def submit(self, fn: Callable[..., T], /, *args: object, **kwargs: object) -> Future[T]:
        if self._is_shut_down:
            raise RuntimeError("cannot schedule new futures after shutdown")
        future: Future[T] = Future()
        self._waiting.append(lambda: _run(future, lambda: fn(*args, **kwargs)))
        if self._threads < self._threads_max:
            self._threads += 1
            self._machine.thread(self._work, f"{self._name}_{self._threads}").start()
        return future

    def _work(self) -> None:
        while self._waiting:
            self._waiting.popleft()()
        self._threads -= 1

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        self._is_shut_down = True
        if cancel_futures:
            self._waiting.clear()


def _run(future: Future[T], call: Callable[[], T]) -> None:
    try:
        future.set_result(call())
    except Exception as error:
        future.set_exception(error)


class ProcessListener(SimulatedListener):
    """A listener whose accepted sockets become descriptors of its process."""

    def __init__(self, machine: SimulatedMachine, port: int, backlog: int, family: int) -> None:
        super().__init__(machine.network, machine.process, machine.host, port, backlog, family)
        self._machine = machine

    def accept(self) -> tuple[SimulatedSocket, tuple[str, int]]:
        accepted, address = super().accept()
        self._machine.descriptors.add(accepted)
        return accepted, address
