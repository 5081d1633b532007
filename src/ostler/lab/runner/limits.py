"""Limit probes: the most that the machine can do, measured beside the contestants in every run.

Each limit is a load of the same size without a broker: blocks of the same size on as many connections, as many waiters
for forced writes to a file, copies of as many bytes.
"""

from __future__ import annotations

import subprocess
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from ostler.lab.load.bare import force_server
from ostler.lab.load.bare import server as bare_server
from ostler.lab.load.client import LoadFailed
from ostler.lab.load.drivers.driver_process import Load, new_load
from ostler.lab.load.drivers.probe_drivers import COMMIT, COPY, blocks_of_copy
from ostler.lab.load.spec import (
    BARE,
    GROUP_COMMIT,
    MEMORY_COPY,
    ONE_WAY,
    REPLICATED_FORCE,
    REQUEST_REPLY,
    SESSIONS,
    LoadSpec,
)
from ostler.lab.load.timeline import MEASURED, Timeline
from ostler.lab.peers.broker_process import LOOPBACK
from ostler.lab.runner.contract import (
    Contestant,
    ContestantKind,
    Metric,
    PointFailed,
    PointSpec,
    ReadyLoad,
    Watcher,
    WorkerCounts,
)
from ostler.lab.runner.queue_managers.relay import Relay, RelayFailed
from ostler.lab.sampling.process_sampler import WatchedProcess
from ostler.lab.store.roles import FOLLOWER, LABORATORY, LEADER, PROBE, role_at
from ostler.lab.store.rows import OperationRow
from ostler.server.storage.descriptor_budget import raise_limit

_END_SECONDS_MAX: Final = 5.0


@dataclass(frozen=True)
class _Limit:
    name: str
    promise: str
    protocol: str
    main_operation: str = ""
    """Set where it differs from the main operation of the contestants."""
    server: str = ""
    """The kind of bare server that the limit needs."""


PING_PONG: Final = _Limit(
    "bare ping-pong",
    "blocks of the same size sent back at once, nothing in between",
    BARE,
    server=bare_server.ECHO,
)
RELAY: Final = _Limit(
    "bare relay",
    "blocks of the same size handed to a responder and back, nothing else",
    BARE,
    server=bare_server.RELAY,
)
ONE_WAY_BLOCKS: Final = _Limit(
    "bare one-way",
    "blocks of the same size handed to a consumer, and acknowledged to the producer",
    BARE,
    server=bare_server.PASS,
)
FORCES: Final = _Limit(
    "group commit", "records of the same size, written and forced for all who wait together", GROUP_COMMIT, COMMIT
)
REPLICATED_FORCES: Final = _Limit(
    "replicated force",
    "records of the same size, written and forced in two processes with a socket between, for all who wait together",
    REPLICATED_FORCE,
    COMMIT,
)
COPIES: Final = _Limit("memory copy", "bytes copied by one core, from memory beyond its caches", MEMORY_COPY, COPY)
_ALL: Final = (PING_PONG, RELAY, ONE_WAY_BLOCKS, FORCES, REPLICATED_FORCES, COPIES)


class LimitProbes:
    """The limit probes of a run. Drivers are kept from step to step, and end when this is closed."""

    def __init__(self, scratch: Path, drivers: int = 1) -> None:
        self._scratch = scratch
        self._drivers = drivers
        self._loads: dict[str, Load] = {}
        # Servers and drivers inherit the limit, and have a connection for each client.
        raise_limit()

    def contestants(self, specs: Mapping[int, LoadSpec], replicated: frozenset[int] = frozenset()) -> list[Contestant]:
        """Return the limits of loads, given by step: those of the network, those of a log where messages are
        persistent, and those of two logs in the steps that wait for a copy.

        The relay and memory copies are not included: they show little more, or the same in every step. `prepare`
        accepts them by the names of `RELAY` and `COPIES`.
        """
        wanted = (
            (PING_PONG, frozenset(number for number, spec in specs.items() if spec.kind == REQUEST_REPLY)),
            (ONE_WAY_BLOCKS, frozenset(number for number, spec in specs.items() if spec.kind == ONE_WAY)),
            (FORCES, frozenset(number for number, spec in specs.items() if spec.persistent and spec.kind != SESSIONS)),
            (REPLICATED_FORCES, replicated),
        )
        return [replace(contestant_of(limit), steps=steps) for limit, steps in wanted if steps]

    def prepare(
        self,
        contestant: Contestant,
        like: LoadSpec,
        point_spec: PointSpec,
        log_directory: Path | None = None,
        round_trip_ms: float = 0.0,
    ) -> ReadyLoad:
        """Prepare a limit probe for a load like that of a contestant. Raises PointFailed.

        The file that is forced is in `log_directory`, or in the scratch directory of the run. `round_trip_ms` is the
        distance between the two processes of a replicated force.
        """
        limit = next(each for each in _ALL if each.name == contestant.name)
        if limit.main_operation:
            point_spec = replace(point_spec, main_operation=limit.main_operation)
        load = self._load(limit)
        server: subprocess.Popen[bytes] | None = None
        directory = log_directory or self._scratch
        address: tuple[str, int] | str = str(directory)
        if limit is REPLICATED_FORCES:
            return self._prepare_copy(load, like, point_spec, directory, round_trip_ms)
        try:
            if limit.server:
                server, address = start_server(limit.server, like.body_bytes)
            load.open(_bare_spec(like, limit, address))
        except (LoadFailed, OSError) as failure:
            end_server(server)
            raise PointFailed(f"{limit.name}: {failure}") from None
        except BaseException:
            end_server(server)
            raise
        return _ReadyLimit(limit, load, server, point_spec)

    def _prepare_copy(
        self, load: Load, like: LoadSpec, point_spec: PointSpec, directory: Path, round_trip_ms: float
    ) -> ReadyLoad:
        """Start the other process, and a relay before it where there is a distance."""
        with ExitStack() as stack:
            try:
                follower, port = _start_follower(directory)
                stack.callback(end_server, follower)
                relay: Relay | None = None
                if round_trip_ms:
                    relay = stack.enter_context(Relay(port, round_trip_ms / 2))
                    port = relay.port
                made = _bare_spec(like, REPLICATED_FORCES, str(directory))
                load.open(replace(made, responder_address=(LOOPBACK, port)))
            except (LoadFailed, RelayFailed, OSError) as failure:
                raise PointFailed(f"{REPLICATED_FORCES.name}: {failure}") from None
            return _ReadyCopy(load, point_spec, follower, relay, stack.pop_all())
        raise AssertionError

    def close(self) -> None:
        for load in self._loads.values():
            load.end()
        self._loads.clear()

    def _load(self, limit: _Limit) -> Load:
        found = self._loads.get(limit.name)
        if found is None:
            found = self._loads[limit.name] = new_load(self._drivers if limit.server else 1)
        return found


class _ReadyLimit(ReadyLoad):
    def __init__(
        self, limit: _Limit, load: Load, server: subprocess.Popen[bytes] | None, point_spec: PointSpec
    ) -> None:
        self.point_spec = point_spec
        self._limit = limit
        self._load = load
        self._server = server
        self._counted: Sequence[WorkerCounts] = ()

    def processes(self) -> Sequence[WatchedProcess]:
        if self._server is None:
            return [replace(each, role=PROBE) for each in self._load.processes()]
        return [WatchedProcess(PROBE, self._server.pid), *self._load.processes()]

    def run(self, timeline: Timeline, watcher: Watcher) -> Sequence[WorkerCounts]:
        try:
            self._counted = self._load.run(timeline, watcher)
        except LoadFailed as failure:
            raise PointFailed(f"{self._limit.name}: {failure}") from None
        return self._counted

    def results(self) -> Sequence[Metric]:
        if self._limit is not COPIES:
            return ()
        count, seconds = _measured(self._counted)
        size = self.point_spec.message_bytes
        per_second = blocks_of_copy(size) * count / seconds if seconds else 0.0
        return (
            Metric(self._limit.name, "messages per second", per_second),
            Metric(self._limit.name, "bytes per second", per_second * size),
        )

    def close(self) -> None:
        try:
            self._load.close()
        except LoadFailed as failure:
            raise PointFailed(f"{self._limit.name}: {failure}") from None
        finally:
            end_server(self._server)
            self._server = None


class _ReadyCopy(_ReadyLimit):
    """A replicated force: the driver leads, the other process follows."""

    def __init__(
        self,
        load: Load,
        point_spec: PointSpec,
        follower: subprocess.Popen[bytes],
        relay: Relay | None,
        owned: ExitStack,
    ) -> None:
        super().__init__(REPLICATED_FORCES, load, None, point_spec)
        self._follower = follower
        self._relay = relay
        self._owned = owned

    def processes(self) -> Sequence[WatchedProcess]:
        found = [replace(each, role=role_at(PROBE, LEADER)) for each in self._load.processes()]
        found.append(WatchedProcess(role_at(PROBE, FOLLOWER), self._follower.pid))
        return found if self._relay is None else [*found, WatchedProcess(LABORATORY, self._relay.pid)]

    def close(self) -> None:
        with self._owned:
            super().close()


def contestant_of(limit: _Limit) -> Contestant:
    return Contestant(limit.name, ContestantKind.LIMIT, limit.promise)


def _bare_spec(like: LoadSpec, limit: _Limit, address: tuple[str, int] | str) -> LoadSpec:
    """Return a load with as many connections, waiters, bytes and messages a second, and nothing else."""
    return LoadSpec(
        limit.protocol,
        address,
        like.requesters,
        range(0) if limit.server == bare_server.ECHO else like.responders,
        like.pairs,
        like.body_bytes,
        like.persistent,
        kind=ONE_WAY if limit is ONE_WAY_BLOCKS else REQUEST_REPLY,
        rate_per_second=like.rate_per_second,
    )


def start_server(kind: str, block_bytes: int) -> tuple[subprocess.Popen[bytes], tuple[str, int]]:
    """Start a bare server, and return it with its address."""
    listener = bare_server.listening((LOOPBACK, 0))
    try:
        address: tuple[str, int] = listener.getsockname()
        return bare_server.start(kind, listener, block_bytes), address
    finally:
        listener.close()


def _start_follower(directory: Path) -> tuple[subprocess.Popen[bytes], int]:
    """Start the other process of a replicated force, and return it with its port."""
    listener = bare_server.listening((LOOPBACK, 0))
    try:
        port: int = listener.getsockname()[1]
        return force_server.start(listener, directory), port
    finally:
        listener.close()


def end_server(server: subprocess.Popen[bytes] | None) -> None:
    """End a bare server, if there is one."""
    if server is None:
        return
    server.terminate()
    try:
        server.wait(_END_SECONDS_MAX)
    except subprocess.TimeoutExpired:
        server.kill()
        server.wait()


def _measured(counted: Sequence[WorkerCounts]) -> tuple[int, float]:
    """Return the operations of the measured window, and the seconds they took."""
    rows = [row for each in counted for row in each.phases[MEASURED].rows(each.worker)]
    found = [row for row in rows if isinstance(row, OperationRow)]
    return sum(row.count for row in found), sum(row.total_ns for row in found) / 1e9
