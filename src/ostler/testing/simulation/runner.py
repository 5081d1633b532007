"""Runs the standard scenario with many seeds, on several processes, and reports the seeds that fail."""

from __future__ import annotations

import faulthandler
import gc
import os
import sys
import traceback
from collections.abc import Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from dataclasses import dataclass
from multiprocessing import get_context
from pathlib import Path
from typing import Final

from ostler.server.storage.memory_limits import give_memory_back
from ostler.testing.simulation.scenario import FAULTS, ScenarioResult, run_seed

# A seed takes about a second. One that takes so long hangs: the stacks of all threads are printed, and the run ends.
HANG_SECONDS: Final = 300
_AHEAD: Final = 2  # seeds per process that wait for it
_SEEDS_PER_COLLECTION: Final = 4
_SEEDS_PER_PROCESS: Final = 100  # the memory of many short-lived threads is fragmented after a while


@dataclass(frozen=True)
class SeedReport:
    """The outcome of a seed: a result, or a failure with its text and traceback."""

    seed: int
    result: ScenarioResult | None
    failure: str = ""
    details: str = ""


def try_seed(seed: int, faults: int = FAULTS, trace: Path | None = None) -> SeedReport:
    """Run a seed, and report what came of it. Never raises but for KeyboardInterrupt."""
    if sys.__stderr__ is not None:
        faulthandler.dump_traceback_later(HANG_SECONDS, exit=True, file=sys.__stderr__)
    try:
        if trace is None:
            return SeedReport(seed, run_seed(seed, faults))
        with trace.open("w") as file:
            return SeedReport(seed, run_seed(seed, faults, file))
    except KeyboardInterrupt:
        raise
    except BaseException as error:
        return SeedReport(seed, None, f"{type(error).__name__}: {error}", traceback.format_exc())
    finally:
        faulthandler.cancel_dump_traceback_later()
        if seed % _SEEDS_PER_COLLECTION == 0:
            gc.collect()
            give_memory_back()


def run_seeds(first: int, count: int, faults: int = FAULTS, jobs: int = 1) -> Iterator[SeedReport]:
    """Yield the reports of seeds as they are ready, not always in their order. Close it to stop early."""
    seeds = iter(range(first, first + count))
    # What a simulation leaves in memory ends with its process: many seeds have processes of their own.
    if jobs <= 1 and count <= _SEEDS_PER_PROCESS:
        for seed in seeds:
            yield try_seed(seed, faults)
        return
    with ProcessPoolExecutor(
        jobs, mp_context=get_context("spawn"), initializer=_begin_worker, max_tasks_per_child=_SEEDS_PER_PROCESS
    ) as pool:
        running: set[Future[SeedReport]] = set()
        try:
            for seed in seeds:
                running.add(pool.submit(try_seed, seed, faults))
                if len(running) >= jobs * _AHEAD:
                    done, running = wait(running, return_when=FIRST_COMPLETED)
                    yield from (each.result() for each in done)
            while running:
                done, running = wait(running, return_when=FIRST_COMPLETED)
                yield from (each.result() for each in done)
        finally:
            pool.shutdown(wait=True, cancel_futures=True)


def _begin_worker() -> None:
    # Threads of a simulation hand over to one another: on one processor that is quickest.
    processors = sorted(os.sched_getaffinity(0))
    if len(processors) > 1:
        os.sched_setaffinity(0, {processors[os.getpid() % len(processors)]})
    sys.setswitchinterval(1.0)
