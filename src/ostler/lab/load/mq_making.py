"""From a plan to clients of Ostler."""

from __future__ import annotations

from ostler.lab.load.client import LoadClient, Pace
from ostler.lab.load.mq_client import PIPELINED, VERBS, MqClient
from ostler.lab.load.plan import MQ_PIPELINED, Plan


def mq_clients(plan: Plan, pace: Pace, is_requester: bool, numbers: range) -> list[LoadClient]:
    """One client for each connection, in the order of their numbers. Clients that share one are its `members`."""
    mode = PIPELINED if plan.protocol == MQ_PIPELINED else VERBS
    return [
        MqClient(pace, is_requester, number, plan.pairs, plan.body_bytes, plan.persistent, mode, plan.channel)
        for number in numbers
    ]
