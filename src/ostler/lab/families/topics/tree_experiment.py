"""The experiment of all scenarios with topic trees: queue managers with a tree, and lives that are scaled.

Unused topics are removed after TREELIFE seconds. The lives of the reports are minutes and their windows half an hour:
both are divided by `life_scale`, so that the scavenger runs in a window as often as it does there. A life of an hour
stands for a scavenger that does not run during the test, and is kept.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from ostler import __version__
from ostler.lab.families.set_up.run_descriptions import plan_text
from ostler.lab.families.topics.tree_manager import (
    NEVER,
    TopicTreeManager,
    tree_plan,
)
from ostler.lab.runner.contract import (
    Contestant,
    ContestantKind,
    Experiment,
    RunContext,
)
from ostler.lab.scenarios.steps import Step

ROUNDS: Final = "rounds"
FEWER_WHEN_QUICK: Final = 10
LIFE_HERE: Final = "TREELIFE here, seconds"
NOT_RUNNING_SECONDS: Final = 3600
"""The life of the report in which the scavenger does not run during the test."""
OSTLER: Final = Contestant(
    "Ostler", ContestantKind.OSTLER, "unused topics go after TREELIFE seconds", version=__version__
)


class OnTrees(Experiment):
    """Queue managers with topic trees. Each is kept until the experiment ends or another replaces it."""

    def __init__(self, context: RunContext) -> None:
        self._context = context
        self._trees: dict[str, TopicTreeManager] = {}
        self._made = 0

    def tree(self, name: str, is_only_one: bool = False) -> TopicTreeManager:
        found = self._trees.get(name)
        if found is not None and found.manager.is_alive:
            return found
        if is_only_one:
            self.close()
        self._made += 1
        root = self._context.scratch / f"tree-{self._made}"
        settings = self._context.settings
        found = self._trees[name] = TopicTreeManager(root, settings.accounting, self._context.note)
        return found

    def topics(self) -> int:
        """Return the number of topics of a scenario that does not sweep it; the quick form has fewer."""
        topics = self._context.scenario.parameters["topics"]
        assert isinstance(topics, int)
        return topics // FEWER_WHEN_QUICK if self._context.settings.is_quick else topics

    def life(self, step: Step) -> int:
        """Return TREELIFE of a step: that of the report, divided by the scale where the scavenger runs in the test."""
        parameters = self._context.scenario.parameters
        return scaled_life(
            int(str(step.points.get("tree_life_seconds", parameters.get("tree_life_seconds", NEVER)))),
            int(str(parameters.get("life_scale", 1))),
        )

    @property
    def configuration(self) -> Mapping[str, str]:
        return {"queue manager": plan_text(tree_plan(self._context.settings.accounting))}

    def close(self) -> None:
        while self._trees:
            self._trees.popitem()[1].end()


def scaled_life(seconds: int, scale: int) -> int:
    """Return TREELIFE in seconds, at least 1. NEVER and a life in which the scavenger does not run are kept."""
    return seconds if seconds in (NEVER, NOT_RUNNING_SECONDS) else max(round(seconds / scale), 1)
