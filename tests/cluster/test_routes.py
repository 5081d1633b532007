"""Candidates are made of records: instances times channels, with the attributes of the target."""

from __future__ import annotations

from tests.world.cluster.world import CLUSTER, ClusterWorld

from ostler.cluster import records as rc
from ostler.cluster.routes import candidates_for_queue
from ostler.cluster.workload import CHOSEN, Counters, WorkloadOptions, choose
from ostler.model import constants as mq


def test_messages_go_where_records_say() -> None:
    world = ClusterWorld(1, partial=2)
    world.deliver_all()
    qm1, _, qm3, qm4 = world.sites
    for site in (qm3, qm4):
        site.carry_out(site.repository.define(site.now(0), rc.QUEUE, "ORDERS", {"CLWLPRTY": 2}))
    fast = {"CONNAME": qm3.address, "NETPRTY": 5, "CLWLWGHT": 75}
    qm3.carry_out(qm3.repository.define_receiver(qm3.now(0), "TO.QM3.FAST", fast))
    qm4.carry_out(qm4.repository.define(qm4.now(0), rc.QUEUE, "AUDIT", {"PUT": mq.MQQA_PUT_INHIBITED}))
    world.deliver_all()
    found = candidates_for_queue(qm1.repository, "ORDERS", {"TO.QM4": mq.MQCHS_RETRYING})
    assert [(each.channel, each.status) for each in found] == [
        ("TO.QM3", mq.MQCHS_INACTIVE),
        ("TO.QM3.FAST", mq.MQCHS_INACTIVE),
        ("TO.QM4", mq.MQCHS_RETRYING),
    ]
    assert (found[1].weight, found[1].net_priority, found[1].queue_priority) == (75, 5, 2)
    choice = choose(found, WorkloadOptions(frozenset([CLUSTER])), Counters())
    assert (choice.outcome, choice.channel) == (CHOSEN, "TO.QM3.FAST")
    here = candidates_for_queue(qm4.repository, "ORDERS", {}, qm4.qmid)
    assert [(each.channel, each.is_local) for each in here] == [("TO.QM4", True)]
    assert not candidates_for_queue(qm1.repository, "AUDIT", {})[0].is_put_enabled
    qm1.carry_out(qm1.repository.force_remove(qm1.now(0), qm3.qmid, "", False))
    assert [each.channel for each in candidates_for_queue(qm1.repository, "ORDERS", {})] == ["TO.QM4"]
