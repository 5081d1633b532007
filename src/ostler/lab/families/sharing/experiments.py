"""Families `shared-queues` and `shared-data-sets`: the experiment for each kind of scenario."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from ostler.lab.families.sharing.data_sets.backup import BackupExperiment
from ostler.lab.families.sharing.data_sets.formatting import FormattingExperiment
from ostler.lab.families.sharing.data_sets.growth import GrowthExperiment
from ostler.lab.families.sharing.data_sets.space_map import SpaceMapExperiment
from ostler.lab.families.sharing.data_sets.switching import SwitchExperiment
from ostler.lab.families.sharing.shared_loads import SharedAndPrivate, SharedQueueExperiment
from ostler.lab.families.sharing.take_over import EVENT, TakeOverExperiment
from ostler.lab.families.sharing.waking import GETTER, WakeUpExperiment
from ostler.lab.runner.contract import Experiment, RunContext


def shared_queues(context: RunContext) -> Experiment:
    """Return loads on shared queues, beside private ones where the scenario compares them, and what is done to a group
    or with single messages."""
    swept = {sweep.name for sweep in context.scenario.sweeps}
    if EVENT in swept:
        return TakeOverExperiment(context)
    if GETTER in swept:
        return WakeUpExperiment(context)
    if context.scenario.parameters.get("beside_private"):
        return SharedAndPrivate(context)
    return SharedQueueExperiment(context)


_DATA_SETS: Final[dict[str, Callable[[RunContext], Experiment]]] = {
    "formatting": FormattingExperiment,
    "growth": GrowthExperiment,
    "backup": BackupExperiment,
    "space map": SpaceMapExperiment,
    "switch": SwitchExperiment,
}


def shared_data_sets(context: RunContext) -> Experiment:
    """Return the experiment on data sets that the parameter `subject` of a scenario names."""
    return _DATA_SETS[str(context.scenario.parameters["subject"])](context)
