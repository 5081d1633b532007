"""Families `chlauth-connect` and `chlauth-restart`: the cost of many channel authentication records.

The first measures connecting, with CHLAUTH(ENABLED) and as a baseline with CHLAUTH(DISABLED); the second restarting the
queue manager, from its log and from its files. A record admits one user, as in the report.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Final

from ostler import __version__
from ostler.lab.common.channel_rules import create, user_rules
from ostler.lab.families.connect_rate import BareConnects, QueueManagerConnects
from ostler.lab.families.restart import RESTART, BareReading, QueueManagerRestarts
from ostler.lab.families.set_up.run_descriptions import plan_text
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
from ostler.lab.runner.queue_managers.plan import CHANNEL, NAME, USER, QueueManagerPlan
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
_SWEEP, _ENABLED, _OFF = "channel_authentication", "ENABLED", "DISABLED"
OSTLER: Final = Contestant(
    "Ostler", ContestantKind.OSTLER, "rules are looked at before the application is taken in", version=__version__
)
DISABLED: Final = Contestant(
    "Ostler, CHLAUTH(DISABLED)", ContestantKind.OSTLER, "rules are there and are not looked at", version=__version__
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

    profile: str
    """The channels that the records are for."""

    def __init__(self, context: RunContext) -> None:
        self._context = context
        self._plan = QueueManagerPlan(log=_LOG, is_accounting=context.settings.accounting)
        self._made = 0

    @property
    def configuration(self) -> Mapping[str, str]:
        rules = f"* and, for each user, SET CHLAUTH({self.profile}) TYPE(USERMAP) CLNTUSER(...) USERSRC(MAP)"
        return {"queue manager": f"{plan_text(self._plan)}\n{rules}"}

    def _manager(self, rules: int, end: str) -> LabQueueManager:
        """Return a restarted queue manager that had this many records when it ended in the given way."""
        self._made += 1
        root = self._context.scratch / f"rules-{self._made}"
        try:
            run_in_process(partial(define_rules, root, self.profile, rules, end), _DEFINE_SECONDS_MAX)
        except PointFailed as failure:
            raise PointFailed(f"{rules:,} rules could not be defined: {failure}") from None
        return LabQueueManager(root, self._plan)


def define_rules(root: Path, profile: str, count: int, end: str) -> None:
    """Create a queue manager with so many records besides its own, and end it in the given way."""
    create(root, NAME, _LOG, user_rules(profile, count, USER)).end(end)


class Connecting(_WithRules):
    """One client connects and disconnects repeatedly."""

    profile = CHANNEL

    def contestants(self) -> Sequence[Contestant]:
        is_swept = any(_SWEEP in step.points for step in self._context.steps)
        found = [OSTLER] if is_swept else [OSTLER, DISABLED]
        return [*found, BARE] if self._context.settings.limits else found

    def prepare(self, contestant: Contestant, step: Step) -> ReadyLoad:
        point_spec = PointSpec(1, 0, False, main_operation=CONNECT)
        if contestant.kind is ContestantKind.LIMIT:
            return ReadyTask(point_spec, TaskProcess(BareConnects, PROBE))
        rules = int(step.points.get("rules", 0))
        is_applied = contestant != DISABLED and step.points.get(_SWEEP, _ENABLED) == _ENABLED
        manager = self._manager(rules, _ENDED)
        try:
            manager.mqsc(f"ALTER QMGR CHLAUTH({_ENABLED if is_applied else _OFF})")
            task = TaskProcess(partial(QueueManagerConnects, manager.address, manager.pid, CHANNEL, rules, is_applied))
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
    """A queue manager is killed and started again.

    Users are admitted to all channels of the system, so that with the records of a new queue manager there are three
    channel names.
    """

    profile = "SYSTEM.*"

    def contestants(self) -> Sequence[Contestant]:
        found = [FROM_LOG, FROM_FILES]
        return [*found, READING] if self._context.settings.limits else found

    def prepare(self, contestant: Contestant, step: Step) -> ReadyLoad:
        point_spec = PointSpec(1, 0, False, main_operation=RESTART)
        rules = int(step.points["rules"])
        if contestant.kind is ContestantKind.LIMIT:
            definitions = (each.encode() for each in user_rules(self.profile, rules))
            return BareReading(point_spec, self._context.scratch / f"definitions-{step.number}", definitions)
        manager = self._manager(rules, _ENDED if contestant.name == FROM_FILES.name else _CRASHED)
        own = sum(1 for _ in default_rules())
        return QueueManagerRestarts(point_spec, manager, "rules", own + rules, _rules_of)

    def close(self) -> None:
        return


def _rules_of(manager: LabQueueManager) -> int:
    """Return the number of records that the queue manager displays."""
    return sum("CHLAUTH(" in line for line in manager.mqsc("DISPLAY CHLAUTH(*)"))
