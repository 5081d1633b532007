"""All benchmarks by name, and how one is run: in a process of its own, between two looks at the machine."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from types import ModuleType
from typing import Final

from ostler.lab.bench import (
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
    topic_matching,
)
from ostler.lab.bench.result import Conditions, Result
from ostler.lab.common.machine import cpu_use_between, describe, flavour, read_cpu_times
from ostler.lab.common.own_process import Report, in_own_process
from ostler.lab.common.probes import bare_pair_ns

Measure = Callable[[Path, Report], Result]


@dataclass(frozen=True)
class Benchmark:
    """A benchmark in its two sizes, and the time after which it is given up."""

    name: str
    title: str
    full: Measure
    quick: Measure
    seconds_max: float


# Modules with TITLE, FULL, QUICK and `run`, and the seconds each may take; from the shortest to the longest.
_MODULES: Final[tuple[tuple[ModuleType, int], ...]] = (
    (put_get_cost, 120),
    (mqi_verb_timing, 180),
    (driver_overhead, 180),
    (mqi_response_time, 900),
    (mqsc_define, 600),
    (mqsc_display, 900),
    (topic_matching, 600),
    (depth, 600),
    (group_commit, 300),
    (memory, 900),
    (chlauth_restart, 600),
    (chlauth_connect_cost, 600),
    (connections, 600),
    (request_reply, 1800),
    (restart, 1200),
)


def all_benchmarks() -> dict[str, Benchmark]:
    """In the order they are run, each by the name of its module."""
    found: dict[str, Benchmark] = {}
    for module, seconds_max in _MODULES:
        name = module.__name__.rpartition(".")[2].replace("_", "-")
        full, quick = partial(module.run, module.FULL), partial(module.run, module.QUICK)
        found[name] = Benchmark(name, module.TITLE, full, quick, seconds_max)
    return found


def measure(benchmark: Benchmark, quick: bool, scratch: Path, report: Report) -> tuple[Result, Conditions]:
    """Run a benchmark. Raises MeasurementFailed when it has no result."""
    chosen = benchmark.quick if quick else benchmark.full
    began = datetime.now(UTC)
    before = read_cpu_times()
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
        cpu_use_between(before, read_cpu_times()),
        probe_first,
        probe_last,
    )
    return result, conditions
