"""All benchmarks by name, and how one is run: in a process of its own, between two looks at the machine."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

from ostler.lab import (
    chlauth_connect_cost,
    chlauth_restart,
    connections,
    depth,
    driver_overhead,
    group_commit,
    memory,
    mqi_response_time,
    mqi_verb_timing,
    mqsc_define,
    mqsc_display,
    put_get_cost,
    request_reply,
    restart,
)
from ostler.lab.machine import between, cpu_moment, describe, flavour
from ostler.lab.own_process import Report, in_own_process
from ostler.lab.probes import bare_pair_ns
from ostler.lab.result import Conditions, Result

Measure = Callable[[Path, Report], Result]


@dataclass(frozen=True)
class Benchmark:
    """A benchmark in its two sizes, and the time after which it is given up."""

    name: str
    title: str
    full: Measure
    quick: Measure
    seconds_max: float


def all_benchmarks() -> dict[str, Benchmark]:
    """In the order they are run: from the shortest to the longest."""
    return {
        each.name: each
        for each in (
            Benchmark(
                "put-get-cost",
                put_get_cost.TITLE,
                partial(put_get_cost.run, put_get_cost.FULL),
                partial(put_get_cost.run, put_get_cost.QUICK),
                120,
            ),
            Benchmark(
                "mqi-verb-timing",
                mqi_verb_timing.TITLE,
                partial(mqi_verb_timing.run, mqi_verb_timing.FULL),
                partial(mqi_verb_timing.run, mqi_verb_timing.QUICK),
                180,
            ),
            Benchmark(
                "driver-overhead",
                driver_overhead.TITLE,
                partial(driver_overhead.run, driver_overhead.FULL),
                partial(driver_overhead.run, driver_overhead.QUICK),
                180,
            ),
            Benchmark(
                "mqi-response-time",
                mqi_response_time.TITLE,
                partial(mqi_response_time.run, mqi_response_time.FULL),
                partial(mqi_response_time.run, mqi_response_time.QUICK),
                900,
            ),
            Benchmark(
                "mqsc-define",
                mqsc_define.TITLE,
                partial(mqsc_define.run, mqsc_define.FULL),
                partial(mqsc_define.run, mqsc_define.QUICK),
                600,
            ),
            Benchmark(
                "mqsc-display",
                mqsc_display.TITLE,
                partial(mqsc_display.run, mqsc_display.FULL),
                partial(mqsc_display.run, mqsc_display.QUICK),
                900,
            ),
            Benchmark(
                "depth",
                depth.TITLE,
                partial(depth.run, depth.FULL),
                partial(depth.run, depth.QUICK),
                600,
            ),
            Benchmark(
                "group-commit",
                group_commit.TITLE,
                partial(group_commit.run, group_commit.FULL),
                partial(group_commit.run, group_commit.QUICK),
                300,
            ),
            Benchmark(
                "memory",
                memory.TITLE,
                partial(memory.run, memory.FULL),
                partial(memory.run, memory.QUICK),
                900,
            ),
            Benchmark(
                "chlauth-restart",
                chlauth_restart.TITLE,
                partial(chlauth_restart.run, chlauth_restart.FULL),
                partial(chlauth_restart.run, chlauth_restart.QUICK),
                600,
            ),
            Benchmark(
                "chlauth-connect-cost",
                chlauth_connect_cost.TITLE,
                partial(chlauth_connect_cost.run, chlauth_connect_cost.FULL),
                partial(chlauth_connect_cost.run, chlauth_connect_cost.QUICK),
                600,
            ),
            Benchmark(
                "connections",
                connections.TITLE,
                partial(connections.run, connections.FULL),
                partial(connections.run, connections.QUICK),
                600,
            ),
            Benchmark(
                "request-reply",
                request_reply.TITLE,
                partial(request_reply.run, request_reply.FULL),
                partial(request_reply.run, request_reply.QUICK),
                1800,
            ),
            Benchmark(
                "restart",
                restart.TITLE,
                partial(restart.run, restart.FULL),
                partial(restart.run, restart.QUICK),
                1200,
            ),
        )
    }


def measure(benchmark: Benchmark, quick: bool, scratch: Path, report: Report) -> tuple[Result, Conditions]:
    """Run a benchmark. Raises MeasurementFailed when it has no result."""
    chosen = benchmark.quick if quick else benchmark.full
    began = datetime.now(UTC)
    before = cpu_moment()
    probe_first = bare_pair_ns()
    clock = time.monotonic()
    result = in_own_process(partial(chosen, scratch), benchmark.seconds_max, report)
    seconds = time.monotonic() - clock
    probe_last = bare_pair_ns()
    result.parameters["quick"] = quick
    conditions = Conditions(
        flavour(),
        describe(scratch),
        began,
        seconds,
        between(before, cpu_moment()),
        probe_first,
        probe_last,
    )
    return result, conditions
