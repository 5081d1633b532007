"""Tasks that need one another, run from a few threads: each begins when all that it needs is done."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass
from typing import Final

TASKS_AT_ONCE: Final = 3


@dataclass(frozen=True)
class Task:
    """A task. `needs` names the tasks that must be done before; a name that no task has is done already.

    `work` returns the number of rows that it has written; None when it writes no table.
    """

    name: str
    work: Callable[[], int | None]
    needs: tuple[str, ...] = ()


def run_tasks(tasks: Sequence[Task], done: Callable[[str, int | None], None], at_once: int = TASKS_AT_ONCE) -> None:
    """Run tasks, earlier ones first where several can begin. `done` is called in this thread with the name of each and
    what its work returned, in the order in which they end.

    When one fails, no further one begins, and its error is raised when the others have ended.
    """
    unfinished = {task.name for task in tasks}
    assert len(unfinished) == len(tasks), "two tasks have one name"
    waiting = list(tasks)
    running: dict[Future[int | None], str] = {}
    with ThreadPoolExecutor(at_once, "ostler-pipeline") as pool:
        while waiting or running:
            ready = [task for task in waiting if unfinished.isdisjoint(task.needs)][: at_once - len(running)]
            assert ready or running, f"tasks need each other: {', '.join(task.name for task in waiting)}"
            for task in ready:
                waiting.remove(task)
                running[pool.submit(task.work)] = task.name
            for each in wait(running, return_when=FIRST_COMPLETED).done:
                name = running.pop(each)
                done(name, each.result())
                unfinished.remove(name)
