"""Tasks that need one another, run from a few threads."""

from __future__ import annotations

from threading import Barrier, Event

import pytest

from ostler.pipeline.tasks import Task, run_tasks

SECONDS_MAX = 30.0


def run_all(tasks: list[Task], at_once: int = 3) -> list[tuple[str, int | None]]:
    done: list[tuple[str, int | None]] = []
    run_tasks(tasks, lambda name, rows: done.append((name, rows)), at_once)
    return done


def test_a_task_begins_when_all_that_it_needs_is_done() -> None:
    done: list[str] = []

    def work(name: str, *needs: str) -> Task:
        def check() -> int:
            assert set(needs) <= set(done), f"{name} began before {needs}"
            return len(needs)

        return Task(name, check, (*needs, "written before"))

    tasks = [work("d", "b", "c"), work("c", "a"), work("b", "a"), work("a")]
    rows: dict[str, int | None] = {}

    def finish(name: str, count: int | None) -> None:
        done.append(name)
        rows[name] = count

    run_tasks(tasks, finish)
    assert (done[0], done[-1], sorted(done)) == ("a", "d", ["a", "b", "c", "d"])
    assert rows == {"a": 0, "b": 1, "c": 1, "d": 2}


def test_tasks_that_need_nothing_run_at_the_same_time() -> None:
    both = Barrier(2, timeout=SECONDS_MAX)

    def meet() -> None:
        both.wait()

    assert sorted(run_all([Task("a", meet), Task("b", meet)])) == [("a", None), ("b", None)]


def test_one_at_a_time_they_run_in_their_order() -> None:
    assert [name for name, _ in run_all([Task(name, int) for name in "cab"], at_once=1)] == ["c", "a", "b"]


def test_when_one_fails_no_further_one_begins() -> None:
    failed = Event()
    begun: list[str] = []

    def fail() -> None:
        failed.set()
        raise ValueError("no")

    def outlast() -> None:
        assert failed.wait(SECONDS_MAX), "the other task has not run"
        begun.append("b")

    tasks = [Task("a", fail), Task("b", outlast), Task("c", lambda: begun.append("c"), ("a",))]
    with pytest.raises(ValueError, match="no"):
        run_all(tasks)
    assert begun == ["b"]


@pytest.mark.parametrize(
    ("tasks", "text"),
    [
        ([Task("a", int, ("b",)), Task("b", int, ("a",))], "tasks need each other: a, b"),
        ([Task("a", int), Task("a", int)], "two tasks have one name"),
    ],
)
def test_tasks_that_cannot_be_ordered_are_a_mistake(tasks: list[Task], text: str) -> None:
    with pytest.raises(AssertionError, match=text):
        run_all(tasks)
