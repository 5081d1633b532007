"""Family `replication`: the experiment for each kind of scenario."""

from __future__ import annotations

from ostler.lab.families.replication.failover import FailoverExperiment
from ostler.lab.families.replication.points import INSTANCES
from ostler.lab.families.replication.replicated_loads import CopiesExperiment, ReplicationExperiment
from ostler.lab.families.replication.stories import AWAY, EVENT
from ostler.lab.runner.contract import Experiment, RunContext


def experiment(context: RunContext) -> Experiment:
    """Return stories where something happens to instances, peers with copies where there are three, and otherwise the
    loads of the report."""
    scenario = context.scenario
    if {sweep.name for sweep in scenario.sweeps} & {EVENT, AWAY}:
        return FailoverExperiment(context)
    if INSTANCES in scenario.parameters:
        return CopiesExperiment(context)
    return ReplicationExperiment(context)
