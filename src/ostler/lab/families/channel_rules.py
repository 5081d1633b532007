"""Families `chlauth-connect` and `chlauth-restart`: the cost of many channel authentication records.

The first measures connecting, the second restarting the queue manager, from its log and from its files.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Final

from ostler import __version__
from ostler.lab.common.channel_rules import channel_rules, create
from ostler.lab.families.connect_rate import BareConnects, QueueManagerConnects
from ostler.lab.families.restart import RESTART, BareReading, QueueManagerRestarts
from ostler.lab.families.task_process import Agreement, ReadyTask, TaskProcess, run_in_process
from ostler.lab.runner.contract import (
    CONNECT,
    Contestant,
    ContestantKind,
    Experiment,
    PointFailed,
    PointSpec,
    ReadyLoad,
    RunContext,
)
from ostler.lab.runner.queue_managers.plan import CHANNEL, NAME, QueueManagerPlan
from ostler.lab.runner.queue_managers.process import LabQueueManager
from ostler.lab.scenarios.steps import Step
from ostler.lab.store.roles import PROBE
from ostler.security.channel_authentication import default_rules
from ostler.server.config.qm_ini import LogSection

# A log that takes all records without a checkpoint. Its files are as small as that allows, since a new log is written
# whole.
_LOG: Final = LogSection(primary_files=4, file_pages=8192)
_DEFINE_SECONDS_MAX: Final = 300.0
_RESTART_FAMILY: Final = "chlauth-restart"
_CRASHED, _ENDED = "preemptive", "immediate"
OSTLER: Final = Contestant(
    "Ostler", ContestantKind.OSTLER, "rules are looked at before the application is taken in", version=__version__
)
FROM_LOG: Final = Contestant(
    "Ostler, from the log", ContestantKind.OSTLER, "it was killed: all rules are read from the log", version=__version__
)
FROM_FILES: Final = Contestant(
    "Ostler, from its files",
    ContestantKind.OSTLER,
    "it had ended: rules are in its last checkpoint",
    version=__version__,
)
BARE: Final = Contestant("bare server", ContestantKind.LIMIT, "accepts, answers once and closes")
READING: Final = Contestant(
    "reading the rules", ContestantKind.LIMIT, "one file of definitions, read and kept as bytes"
)


def experiment(context: RunContext) -> Experiment:
    return Restarting(context) if context.scenario.family == _RESTART_FAMILY else Connecting(context)


class _WithRules(Experiment):
    """Queue managers with channel authentication records: each is created for its step, and ends with it."""

    def __init__(self, context: RunContext) -> None:
        self._context = context
        self._plan = QueueManagerPlan(log=_LOG, is_accounting=context.settings.accounting)
        self._made = 0

    def _manager(self, rules: int, end: str) -> LabQueueManager:
        """Return a restarted queue manager that had this many records when it ended in the given way."""
        self._made += 1
        root = self._context.scratch / f"rules-{self._made}"
        try:
            run_in_process(partial(make, root, rules, end), _DEFINE_SECONDS_MAX)
        except PointFailed as failure:
            raise PointFailed(f"{rules:,} rules could not be defined: {failure}") from None
        return LabQueueManager(root, self._plan)


def make(root: Path, rules: int, end: str) -> None:
    """Create a queue manager with this many records besides its own, and end it in the given way."""
    create(root, NAME, _LOG, iter(list(channel_rules(CHANNEL, rules)) if rules else [])).end(end)


class Connecting(_WithRules):
    """One client connects and disconnects repeatedly."""

    def contestants(self) -> Sequence[Contestant]:
        return [OSTLER, BARE] if self._context.settings.limits else [OSTLER]

    def prepare(self, contestant: Contestant, step: Step) -> ReadyLoad:
        point_spec = PointSpec(1, 0, False, main_operation=CONNECT)
        if contestant.kind is ContestantKind.LIMIT:
            return ReadyTask(point_spec, TaskProcess(BareConnects, PROBE))
        rules = int(step.points["rules"])
        manager = self._manager(rules, _ENDED)
        try:
            task = TaskProcess(partial(QueueManagerConnects, manager.address, manager.pid, CHANNEL, rules))
        except BaseException:
            manager.end()
            raise
        agreements = (Agreement((CONNECT,), "connections"),)
        return _WithManager(point_spec, task, manager, agreements)

    def close(self) -> None:
        return


class _WithManager(ReadyTask):
    """A task with a queue manager of its own."""

    def __init__(
        self, point_spec: PointSpec, task: TaskProcess, manager: LabQueueManager, agreements: Sequence[Agreement]
    ) -> None:
        super().__init__(point_spec, task, manager.watched(), manager.metrics, agreements)
        self._manager = manager

    def close(self) -> None:
        super().close()
        self._manager.end()


class Restarting(_WithRules):
    """A queue manager is killed and started again."""

    def contestants(self) -> Sequence[Contestant]:
        found = [FROM_LOG, FROM_FILES]
        return [*found, READING] if self._context.settings.limits else found

    def prepare(self, contestant: Contestant, step: Step) -> ReadyLoad:
        point_spec = PointSpec(1, 0, False, main_operation=RESTART)
        rules = int(step.points["rules"])
        if contestant.kind is ContestantKind.LIMIT:
            definitions = (each.encode() for each in channel_rules(CHANNEL, rules) if rules)
            return BareReading(point_spec, self._context.scratch / f"definitions-{step.number}", definitions)
        manager = self._manager(rules, _ENDED if contestant.name == FROM_FILES.name else _CRASHED)
        own = sum(1 for _ in default_rules())
        return QueueManagerRestarts(point_spec, manager, "rules", own + rules, _rules_of)

    def close(self) -> None:
        return


def _rules_of(manager: LabQueueManager) -> int:
    """Return the number of records that the queue manager displays."""
    return sum("CHLAUTH(" in line for line in manager.mqsc("DISPLAY CHLAUTH(*)"))
