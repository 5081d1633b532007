"""Scenario `appl-connection-scaling`: how fast applications connect, and what each costs while it does nothing.

Every round has a fresh queue manager and a fresh bare server beside it, whose connections cost what any would.
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path

from ostler.lab.bench.result import Aim, Result
from ostler.lab.common.own_process import Report
from ostler.lab.common.samples import Label, Measurement, ratio
from ostler.lab.load.bare import server as bare_server
from ostler.lab.load.bare.client import BareClient
from ostler.lab.load.client import LoadClient, Pace
from ostler.lab.load.drivers.connection_flood import ConnectingClient, ConnectionFlood, sockets_max
from ostler.lab.load.mq.ostler_server import CHANNEL, OstlerServer
from ostler.lab.peers.broker_process import LOOPBACK, usage

TITLE = "Connections a second, and memory of idle ones"
OURS = "Ostler"
BARE = "bare epoll server"
RATE = "connections"
TIME = "server time for each connection"
MEMORY = "memory for each connection"
RATE_MIN = 2000.0
MEMORY_KILOBYTES_MAX = 25.0
_KILOBYTE = 1024.0
_BLOCK_BYTES = 2048


@dataclass(frozen=True)
class Parameters:
    sockets: tuple[int, ...] = (1000, 15_000)
    shared_sockets: int = 6000
    conversations_per_socket: int = 10
    rounds: int = 3


FULL = Parameters()
QUICK = Parameters((1000,), 200, 10, 2)


@dataclass(frozen=True)
class Sample:
    """One flood: its rate, and what the server used for it."""

    per_second: float
    server_us: float
    memory_bytes: float
    driver_us: float


def run(parameters: Parameters, scratch: Path, report: Report) -> Result:
    result = Result("connections", TITLE, {**asdict(parameters), "sockets_max": sockets_max()})
    headings = ["server", "sockets", "conversations each", "connections/s", "server us", "driver us", "KB each"]
    result.table.append(headings)
    cases = [(min(count, sockets_max()), 1) for count in parameters.sockets]
    cases.append((min(parameters.shared_sockets, sockets_max()), parameters.conversations_per_socket))
    for number, (sockets, conversations) in enumerate(cases):
        ours: list[Sample] = []
        bare: list[Sample] = []
        for turn in range(parameters.rounds):
            done = (number + turn / parameters.rounds) / len(cases)
            report(done, f"{sockets:,} sockets, {conversations} conversations each")
            ours.append(_ostler(scratch / f"{number}-{turn}", sockets, conversations))
            if conversations == 1:
                bare.append(_bare(sockets))
        _note(result, OURS, sockets, conversations, ours)
        if bare:
            _note(result, BARE, sockets, conversations, bare)
    result.notes.append(
        "Memory is what the server's resident set grew by, all that it needs for a connection included."
    )
    _note_aims(result, cases)
    return result


def _ostler(root: Path, sockets: int, conversations: int) -> Sample:
    server = OstlerServer(root, 1, 1024)
    try:
        made: list[LoadClient] = [ConnectingClient(CHANNEL, conversations) for _ in range(sockets)]
        return _flood(server.address, server.pids, made, sockets * conversations)
    finally:
        server.end()


def _bare(sockets: int) -> Sample:
    listener = bare_server.listening((LOOPBACK, 0))
    process = bare_server.start(bare_server.ECHO, listener, _BLOCK_BYTES)
    try:
        made: list[LoadClient] = [BareClient(Pace(), True, number, _BLOCK_BYTES) for number in range(sockets)]
        return _flood(listener.getsockname(), [process.pid], made, sockets)
    finally:
        listener.close()
        _end(process)


def _end(process: subprocess.Popen[bytes]) -> None:
    with suppress(ProcessLookupError):
        process.terminate()
    process.wait()


def _flood(address: tuple[str, int], pids: list[int], clients: list[LoadClient], connections: int) -> Sample:
    flood = ConnectionFlood(address)
    try:
        # The first few make the server import and allocate what it needs only once.
        few = min(10, len(clients) // 2)
        flood.open(clients[:few])
        before, own = usage(pids), _own_seconds()
        seconds = flood.open(clients[few:])
        after, own_after = usage(pids), _own_seconds()
    finally:
        flood.close()
    counted = connections * (len(clients) - few) / len(clients)
    spent = after.user_seconds + after.system_seconds - before.user_seconds - before.system_seconds
    grown = after.resident_bytes - before.resident_bytes
    return Sample(counted / seconds, 1e6 * spent / counted, grown / counted, 1e6 * (own_after - own) / counted)


def _own_seconds() -> float:
    used = os.times()
    return used.user + used.system


def _note(result: Result, server: str, sockets: int, conversations: int, samples: list[Sample]) -> None:
    labels: dict[str, Label] = {"server": server, "sockets": sockets, "conversations": conversations}

    def taken(name: str, unit: str, value: Callable[[Sample], float]) -> Measurement:
        return Measurement(name, unit, tuple(value(each) for each in samples), {**labels})

    rate = taken(RATE, "1/s", lambda each: each.per_second)
    spent = taken(TIME, "us", lambda each: each.server_us)
    driver = taken("driver time for each connection", "us", lambda each: each.driver_us)
    memory = taken(MEMORY, "bytes", lambda each: each.memory_bytes)
    (result.measurements if server == OURS else result.limits).extend([rate, spent, driver, memory])
    cells = [f"{rate.median:,.0f}", f"{spent.median:.0f}", f"{driver.median:.0f}", f"{memory.median / _KILOBYTE:.1f}"]
    result.table.append([server, f"{sockets:,}", f"{conversations}", *cells])


def _note_aims(result: Result, cases: list[tuple[int, int]]) -> None:
    for sockets, conversations in cases:
        if conversations != 1:
            continue
        rate = result.find(RATE, server=OURS, sockets=sockets, conversations=1).median
        bare = result.find(RATE, server=BARE, sockets=sockets, conversations=1).median
        memory = result.find(MEMORY, server=OURS, sockets=sockets, conversations=1).median / _KILOBYTE
        result.ratios[f"connections a second / bare, {sockets} sockets"] = ratio(rate, bare)
        result.aims.append(Aim(f"connections a second, {sockets:,} sockets", RATE_MIN, rate, False))
        result.aims.append(Aim(f"KB for an idle connection, {sockets:,}", MEMORY_KILOBYTES_MAX, memory, True))
