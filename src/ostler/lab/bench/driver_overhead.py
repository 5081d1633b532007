"""What the laboratory's driver adds to a load: beside a loop over sockets that does nothing else.

Both send blocks to the same echo, from the same process and on as many connections, and take turns. The processor time
of this process for each round trip is what a driver takes away from a broker on the same machine; the rate is what it
could drive at most.
"""

from __future__ import annotations

import gc
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path

from ostler.lab.bench.result import Aim, Result
from ostler.lab.common.own_process import Report
from ostler.lab.common.samples import Label, Measurement, ratio
from ostler.lab.load.bare import server as bare_server
from ostler.lab.load.bare.client import BareClient
from ostler.lab.load.bare.loop import BareLoop
from ostler.lab.load.client import LoadClient, Pace
from ostler.lab.load.drivers.epoll_driver import EpollDriver
from ostler.lab.load.pacing import Pacing
from ostler.lab.load.timeline import Timeline
from ostler.lab.peers.broker_process import LOOPBACK

TITLE = "What the load driver costs, beside a bare loop over sockets"
BARE = "bare socket loop"
DRIVER = "driver, on a timeline"
RATED = "driver, at half the rate"
TIME = "processor time for each round trip"
RATE = "round trips"
RATIO_MAX = 2.0


@dataclass(frozen=True)
class Parameters:
    connections: tuple[int, ...] = (1, 10, 50, 200)
    body_bytes: int = 2048
    rounds: int = 7
    seconds_per_round: float = 0.5


FULL = Parameters()
QUICK = Parameters(connections=(1, 50), rounds=3, seconds_per_round=0.2)


@dataclass(frozen=True)
class Sample:
    """One round: how many a second, and what of this process each took."""

    per_second: float
    own_us: float


def run(parameters: Parameters, scratch: Path, report: Report) -> Result:
    result = Result("driver-overhead", TITLE, asdict(parameters))
    result.table.append(["connections", "who", "round trips/s", "us of the driver", "times the bare loop"])
    listener = bare_server.listening((LOOPBACK, 0))
    process = bare_server.start(bare_server.ECHO, listener, parameters.body_bytes)
    try:
        for number, connections in enumerate(parameters.connections):
            report(number / len(parameters.connections), f"{connections} connections")
            _note(result, connections, _alternate(listener.getsockname(), connections, parameters))
    finally:
        listener.close()
        process.terminate()
        process.wait()
    result.notes.append(
        "The bare loop sends the same block again and looks at nothing. The driver asks a client what to send, checks "
        "every reply and counts its latency. At half the rate it waits for each time that a request is due."
    )
    return result


def _alternate(address: tuple[str, int], connections: int, parameters: Parameters) -> dict[str, list[Sample]]:
    seconds = parameters.seconds_per_round
    loop = BareLoop(address, connections, parameters.body_bytes)
    driver, pace = _opened(address, connections, parameters.body_bytes, 0.0)
    samples: dict[str, list[Sample]] = {BARE: [], DRIVER: [], RATED: []}
    closed = _driven(driver, pace)
    warm = _timed(closed, seconds)
    rated_driver, rated_pace = _opened(address, connections, parameters.body_bytes, warm.per_second / connections / 2)
    contestants = {BARE: loop.run, DRIVER: closed, RATED: _driven(rated_driver, rated_pace)}
    gc.collect()
    gc.freeze()
    try:
        for _ in range(parameters.rounds):
            for name, contestant in contestants.items():
                samples[name].append(_timed(contestant, seconds))
    finally:
        gc.unfreeze()
        loop.close()
        driver.close()
        rated_driver.close()
    return samples


def _opened(address: tuple[str, int], connections: int, body_bytes: int, rate: float) -> tuple[EpollDriver, Pace]:
    pace = Pace(Pacing(rate_per_second=rate))
    driver = EpollDriver(address, pace)
    clients: list[LoadClient] = [BareClient(pace, True, number, body_bytes) for number in range(connections)]
    driver.open(clients)
    return driver, pace


def _driven(driver: EpollDriver, pace: Pace) -> Callable[[float], int]:
    def driven(seconds: float) -> int:
        before = pace.completed
        driver.run(Timeline.starting(time.perf_counter_ns(), 0.0, seconds, 0.0))
        return pace.completed - before

    return driven


def _timed(contestant: Callable[[float], int], seconds: float) -> Sample:
    own_ns, began_ns = time.process_time_ns(), time.perf_counter_ns()
    done = max(contestant(seconds), 1)
    took_ns = time.perf_counter_ns() - began_ns
    return Sample(1e9 * done / took_ns, (time.process_time_ns() - own_ns) / 1e3 / done)


def _note(result: Result, connections: int, samples: dict[str, list[Sample]]) -> None:
    found: dict[str, Measurement] = {}
    for name, taken in samples.items():
        labels: dict[str, Label] = {"who": name, "connections": connections}
        rate = Measurement(RATE, "1/s", tuple(each.per_second for each in taken), {**labels})
        spent = found[name] = Measurement(TIME, "us", tuple(each.own_us for each in taken), {**labels})
        (result.limits if name == BARE else result.measurements).extend([rate, spent])
        times = ratio(spent.median, found[BARE].median)
        cells = [f"{rate.median:,.0f}", f"{spent.median:.1f}", f"{times:.2f}"]
        result.table.append([f"{connections}", name, *cells])
    share = ratio(found[DRIVER].median, found[BARE].median)
    result.ratios[f"driver / bare socket loop, {connections} connections"] = share
    result.aims.append(Aim(f"times the bare loop, {connections} connections", RATIO_MAX, share, True))
