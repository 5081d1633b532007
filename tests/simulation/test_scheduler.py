"""The scheduler: one thread at a time, in an order that the seed decides, and time that passes without waiting."""

from __future__ import annotations

import pytest

from ostler.testing.simulation.scheduler import (
    Killed,
    Process,
    Scheduler,
    SimulatedEvent,
    SimulatedLock,
    SimulationError,
    Task,
)
from ostler.testing.simulation.trace import Trace


def new_scheduler(seed: int = 1) -> Scheduler:
    return Scheduler(seed, Trace())


def order_of(seed: int) -> list[str]:
    """Return the order in which ten threads come through a short sleep each."""
    scheduler = new_scheduler(seed)
    done: list[str] = []

    def work(name: str) -> None:
        scheduler.sleep(0.001)
        done.append(name)

    tasks = [Task(scheduler, Process(name), lambda name=name: work(name), name) for name in "abcdefghij"]  # type: ignore[misc]
    for task in tasks:
        task.start()
    for task in tasks:
        task.join()
    return done


def test_the_order_of_threads_is_that_of_the_seed() -> None:
    assert order_of(1) == order_of(1)
    assert len({tuple(order_of(seed)) for seed in range(8)}) > 1


def test_a_day_takes_no_time() -> None:
    scheduler = new_scheduler()
    before_ns = scheduler.now_ns
    scheduler.sleep(86_400)
    assert scheduler.now_ns - before_ns >= 86_400 * 10**9
    assert scheduler.switches <= 3


def test_a_lock_is_held_by_one_thread_at_a_time() -> None:
    scheduler = new_scheduler()
    lock = SimulatedLock(scheduler)
    inside: list[str] = []

    def work() -> None:
        for _ in range(20):
            with lock:
                assert not inside
                inside.append("x")
                scheduler.sleep(0.001)
                inside.pop()

    tasks = [Task(scheduler, Process(str(number)), work, "worker") for number in range(4)]
    for task in tasks:
        task.start()
    for task in tasks:
        task.join()
    assert not scheduler.failures


def test_an_event_wakes_all_who_wait_and_times_out() -> None:
    scheduler = new_scheduler()
    event = SimulatedEvent(scheduler)
    woken: list[bool] = []
    tasks = [Task(scheduler, Process("p"), lambda: woken.append(event.wait(5)), "waiter") for _ in range(3)]
    for task in tasks:
        task.start()
    assert not event.wait(1)
    event.set()
    for task in tasks:
        task.join()
    assert woken == [True, True, True]


def test_a_killed_process_ends_where_it_is() -> None:
    scheduler = new_scheduler()
    process = Process("victim")
    left: list[str] = []

    def work() -> None:
        try:
            scheduler.sleep(100)
        except Exception:
            left.append("handled")
        finally:
            left.append("ended")
            with pytest.raises(Killed):
                scheduler.sleep(1)  # nothing more happens on the way out

    task = Task(scheduler, process, work, "worker")
    task.start()
    scheduler.sleep(1)
    scheduler.kill(process)
    assert left == ["ended"]
    assert not task.is_alive()
    assert not scheduler.failures


def test_a_world_in_which_nothing_can_happen_is_reported() -> None:
    scheduler = new_scheduler()
    with pytest.raises(SimulationError, match="wait for ever"):
        SimulatedEvent(scheduler).wait()


def test_nobody_waits_while_holding_the_lock_of_the_engine() -> None:
    scheduler = new_scheduler()
    guard = SimulatedLock(scheduler)
    process = Process("manager")
    process.guards.append(guard)  # type: ignore[arg-type]

    def work() -> None:
        with guard:
            scheduler.sleep(1)

    task = Task(scheduler, process, work, "worker")
    task.start()
    task.join()
    assert "engine's lock" in str(task.failure)
