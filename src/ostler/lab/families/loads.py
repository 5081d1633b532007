"""The load families: the function that reads the scenarios of each, and the Ostler contestants it compares.

To add a family, write a function like these, and name it in `scenarios/families.py`.
"""

from __future__ import annotations

from typing import Final

from ostler.lab.families.design.points import getters_point, log_disk_point, pattern_point, unit_of_work_point
from ostler.lab.families.load_experiment import (
    LIBRARY,
    ON_SCHEDULE,
    PIPELINED,
    READ_AHEAD,
    VERB_BY_VERB,
    LoadExperiment,
    OstlerContestant,
)
from ostler.lab.families.load_points import load_point, session_point
from ostler.lab.families.one_way_experiment import CoresExperiment, OneWayExperiment
from ostler.lab.families.publish_points import one_way_point, private_queue_point, publish_point
from ostler.lab.families.replication.points import is_replicated
from ostler.lab.families.replication.replicated_loads import ReplicationExperiment
from ostler.lab.load import spec
from ostler.lab.runner.contract import Experiment, RunContext

_JMS: Final = OstlerContestant("Ostler, JMS messages", messages=spec.JMS)
_NOT_JMS: Final = OstlerContestant("Ostler, plain messages")


def request_reply(context: RunContext) -> Experiment:
    """Requests and replies; the next request follows the reply, or is sent when it is due."""
    return LoadExperiment(context, load_point)


def rated(context: RunContext) -> Experiment:
    """Requests at a fixed rate, paced as the report has it, and beside that on a fixed schedule."""
    load = context.scenario.load
    scheduled = (ON_SCHEDULE,) if load is not None and load.since_put else ()
    return LoadExperiment(context, load_point, (VERB_BY_VERB, *scheduled, LIBRARY))


def request_reply_pipelined(context: RunContext) -> Experiment:
    """The same, also with applications that send a put together with the get behind it. Some steps may have copies."""
    contestants = (VERB_BY_VERB, PIPELINED, LIBRARY)
    if is_replicated(context.scenario):
        return ReplicationExperiment(context, contestants)
    return LoadExperiment(context, load_point, contestants)


def verbs_only(context: RunContext) -> Experiment:
    """Request and reply where options of the queue manager are compared."""
    return LoadExperiment(context, load_point, (VERB_BY_VERB,))


def jms_messages(context: RunContext) -> Experiment:
    """Messages as JMS programs send them, beside plain ones of the same size."""
    return LoadExperiment(context, load_point, (_JMS, _NOT_JMS))


def units_of_work(context: RunContext) -> Experiment:
    """One-way messages in units of work of several."""
    return LoadExperiment(context, unit_of_work_point, (VERB_BY_VERB,))


def getters(context: RunContext) -> Experiment:
    """One-way messages to getters that wait, or do not."""
    return LoadExperiment(context, getters_point, (VERB_BY_VERB,))


def patterns(context: RunContext) -> Experiment:
    """Messages one way against round trips."""
    return LoadExperiment(context, pattern_point, (VERB_BY_VERB,))


def log_disks(context: RunContext) -> Experiment:
    """Round trips with the log on the disk of the queues, or on another one."""
    return LoadExperiment(context, log_disk_point, (VERB_BY_VERB,))


def sessions(context: RunContext) -> Experiment:
    """Short sessions."""
    return LoadExperiment(context, session_point, (VERB_BY_VERB,))


def one_way(context: RunContext) -> Experiment:
    """Producers and consumers."""
    return OneWayExperiment(context, one_way_point)


def publish_subscribe(context: RunContext) -> Experiment:
    """Publishers and subscribers, which get message by message or use read-ahead."""
    return OneWayExperiment(context, publish_point, (VERB_BY_VERB, READ_AHEAD))


def private_queues(context: RunContext) -> Experiment:
    """Requests and replies on pairs of queues of one queue manager, by applications for each pair and by cores."""
    return CoresExperiment(context, private_queue_point)
