"""What many channel authentication rules add to a connection, in the queue manager's processor time.

All queue managers run side by side, each with its number of rules, and are flooded in turn. What a decision costs by
itself is measured beside it, in this process. The bare server shows what any connection costs.
"""

from __future__ import annotations

import time
from contextlib import ExitStack
from dataclasses import asdict, dataclass
from pathlib import Path

from ostler.lab.bench.result import Aim, Result
from ostler.lab.common.channel_rules import channel_rules, create
from ostler.lab.common.own_process import MeasurementFailed, Report
from ostler.lab.common.processor_time import used_ns
from ostler.lab.common.samples import Label, Measurement, ratio
from ostler.lab.load.bare import server as bare_server
from ostler.lab.load.bare.client import BareClient
from ostler.lab.load.client import LoadClient, Pace
from ostler.lab.load.drivers.connection_flood import ConnectingClient, ConnectionFlood
from ostler.lab.load.mq.ostler_server import CHANNEL, NAME, OstlerServer
from ostler.lab.peers.broker_process import LOOPBACK
from ostler.security.channel_authentication import ChannelRules, default_rules
from ostler.server.config.qm_ini import LogSection

TITLE = "Connections with many channel authentication rules"
CONNECT = "server time for each connection"
DRIVER = "driver time for each connection"
DECISION = "one decision"
BARE = "bare epoll server"
RATIO_MAX = 1.3
_LOG_PAGES = 4096
_BLOCK_BYTES = 2048
_DECISIONS = 20_000
_WARMING = 20
_QUIET_POLL_SECONDS = 0.05
_QUIET_SHARE = 0.02  # of a processor
_QUIET_SECONDS_MAX = 10.0


@dataclass(frozen=True)
class Parameters:
    rules: tuple[int, ...] = (10, 1000, 8000, 20_000)
    connections: int = 3000
    rounds: int = 7


FULL = Parameters()
QUICK = Parameters((10, 20_000), 1000, 3)


@dataclass(frozen=True)
class Sample:
    """Processor time for each connection, in microseconds."""

    server_us: float
    driver_us: float


def run(parameters: Parameters, scratch: Path, report: Report) -> Result:
    result = Result("chlauth-connect-cost", TITLE, asdict(parameters))
    samples: dict[int, list[Sample]] = {count: [] for count in parameters.rules}
    decisions: dict[int, list[float]] = {count: [] for count in parameters.rules}
    bare: list[Sample] = []
    with ExitStack() as stack:
        servers: dict[int, OstlerServer] = {}
        for number, count in enumerate(parameters.rules):
            report(0.3 * number / len(parameters.rules), f"defining {count:,} rules")
            servers[count] = _server(scratch / str(count), count)
            stack.callback(servers[count].end)
        tables = {count: table_of(count) for count in parameters.rules}
        for turn in range(parameters.rounds):
            # Forth and back, so that nobody is always the first.
            for number, count in enumerate(parameters.rules[:: -1 if turn % 2 else 1]):
                done = (turn + number / len(parameters.rules)) / parameters.rounds
                report(0.3 + 0.7 * done, f"{parameters.connections:,} connections, {count:,} rules")
                clients: list[LoadClient] = [ConnectingClient(CHANNEL, 1) for _ in range(parameters.connections)]
                samples[count].append(_flood(servers[count].address, servers[count].pids[0], clients))
                decisions[count].append(decision_ns(tables[count]))
            bare.append(_bare(parameters.connections))
    _note(result, parameters, samples, decisions, bare)
    return result


def _server(root: Path, count: int) -> OstlerServer:
    """A queue manager with so many rules, in a process of its own."""
    log = LogSection(primary_files=4, file_pages=_LOG_PAGES)
    manager = create(root, NAME, log, channel_rules(CHANNEL, count))
    manager.end("immediate")
    return OstlerServer(root, 1, _LOG_PAGES)


def table_of(count: int) -> ChannelRules:
    """The rules that a queue manager has from the beginning, and so many more."""
    table = ChannelRules()
    for definition in (*default_rules(), *(channel_rules(CHANNEL, count) if count else ())):
        table.put(definition)
    return table


def decision_ns(table: ChannelRules) -> float:
    """What one decision costs, in nanoseconds; all connections of the flood get the same one."""
    if table.decide(CHANNEL, LOOPBACK, "", "somebody", None, None).is_refused:
        raise MeasurementFailed("the rules do not let the laboratory in")
    began = time.process_time_ns()
    for _ in range(_DECISIONS):
        table.decide(CHANNEL, LOOPBACK, "", "somebody", None, None)
    return (time.process_time_ns() - began) / _DECISIONS


def _bare(connections: int) -> Sample:
    listener = bare_server.listening((LOOPBACK, 0))
    process = bare_server.start(bare_server.ECHO, listener, _BLOCK_BYTES)
    try:
        clients: list[LoadClient] = [BareClient(Pace(), True, each, _BLOCK_BYTES) for each in range(connections)]
        return _flood(listener.getsockname(), process.pid, clients)
    finally:
        listener.close()
        process.terminate()
        process.wait()


def _flood(address: tuple[str, int], pid: int, clients: list[LoadClient]) -> Sample:
    """Open all connections and close them; what opening them cost."""
    flood = ConnectionFlood(address)
    few = min(_WARMING, len(clients) // 2)
    try:
        flood.open(clients[:few])
        before, own = used_ns(pid), time.process_time()
        flood.open(clients[few:])
        after, own_after = used_ns(pid), time.process_time()
    finally:
        flood.close()
    _wait_until_quiet(pid)
    counted = len(clients) - few
    return Sample((after - before) / 1e3 / counted, 1e6 * (own_after - own) / counted)


def _wait_until_quiet(pid: int) -> None:
    """Until the server is done with the closed connections: the next one is not to pay for them."""
    deadline = time.monotonic() + _QUIET_SECONDS_MAX
    used = used_ns(pid)
    while time.monotonic() < deadline:
        time.sleep(_QUIET_POLL_SECONDS)
        now = used_ns(pid)
        if now - used < 1e9 * _QUIET_SHARE * _QUIET_POLL_SECONDS:
            return
        used = now


def _note(
    result: Result,
    parameters: Parameters,
    samples: dict[int, list[Sample]],
    decisions: dict[int, list[float]],
    bare: list[Sample],
) -> None:
    fewest = parameters.rules[0]
    result.table.append(["rules", "server us", f"times {fewest}", "driver us", "one decision, us"])
    for count in parameters.rules:
        labels: dict[str, Label] = {"rules": count}
        connect = Measurement(CONNECT, "us", tuple(each.server_us for each in samples[count]), {**labels})
        driver = Measurement(DRIVER, "us", tuple(each.driver_us for each in samples[count]), {**labels})
        decision = Measurement(DECISION, "ns", tuple(decisions[count]), {**labels})
        result.measurements += [connect, driver, decision]
        times = ratio(connect.median, result.find(CONNECT, rules=fewest).median)
        cells = [f"{connect.median:.1f}", f"{times:.2f}", f"{driver.median:.1f}", f"{decision.median / 1000:.2f}"]
        result.table.append([f"{count:,}", *cells])
        if count != fewest:
            result.ratios[f"{count} rules / {fewest} rules"] = times
            alone = ratio(decision.median, result.find(DECISION, rules=fewest).median)
            result.ratios[f"one decision, {count} rules / {fewest} rules"] = alone
            result.aims.append(Aim(f"a connection, {count:,} rules against {fewest}, times", RATIO_MAX, times, True))
    limit = Measurement(CONNECT, "us", tuple(each.server_us for each in bare), {"server": BARE})
    result.limits.append(limit)
    result.table.append([BARE, f"{limit.median:.1f}", "-", "-", "-"])
    result.notes.append("Server time is the whole process: accepting, the exchange, the decision and the connection.")
