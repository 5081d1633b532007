"""Scenarios of shared queues as loads and groups: who puts and gets where, and the structures of each step."""

from __future__ import annotations

import pytest

from ostler.lab.families.sharing.points import Layout, SharedPoint, shared_point
from ostler.lab.load import spec
from ostler.lab.load.client import Pace
from ostler.lab.load.mq.factory import mq_clients
from ostler.lab.load.mq.request_reply import MqRequester, MqResponder
from ostler.lab.load.spec import LoadSpec
from ostler.lab.runner.sharing.plan import Offload
from ostler.lab.scenarios.features import Readiness, ReadinessVerdict
from ostler.lab.scenarios.loader import catalogue
from ostler.lab.scenarios.steps import steps

READY = Readiness(ReadinessVerdict.READY, (), (), ())
SHARED = [each for each in catalogue().scenarios.values() if each.family == "shared-queues"]
LOADS = [each for each in SHARED if not {"event", "getter"} & {sweep.name for sweep in each.sweeps}]


def point(name: str, **chosen: str) -> SharedPoint:
    scenario = catalogue().find(name)
    wanted = {sweep: [value] for sweep, value in chosen.items()}
    found = steps(scenario, READY, True, wanted)
    return shared_point(scenario, found[0])


@pytest.mark.parametrize("scenario", LOADS, ids=lambda each: each.id)
def test_every_step_is_a_load_on_a_group(scenario: object) -> None:
    found = [shared_point(scenario, step) for step in steps(scenario, READY)]  # type: ignore[arg-type]
    for each in found:
        plan = each.group_plan()
        assert plan.members == each.managers
        assert each.responders >= each.pairs, "somebody serves every queue"
        assert {queue.structure for queue in plan.queues} <= {structure.name for structure in plan.structures}
        assert len(plan.queues) == 2 * each.pairs
        assert not any("QLOCAL(LAB.RE" in command for command in plan.manager.commands), "members have no own queues"


def test_levels_and_offload() -> None:
    four = point("sq-1qm-np-out", level="CFLEVEL(4)", message_bytes="1024")
    (structure,) = four.structures
    assert (structure.level, structure.offloads_all) == (4, False)
    assert four.needs == ()
    large = point("sq-1qm-np-out", level="CFLEVEL(4)", message_bytes="65536")
    assert large.needs == ("offload-db2",)
    five = point("sq-1qm-np-out", level="CFLEVEL(5)", message_bytes="65536")
    assert five.needs == ("offload-smds",)
    assert point("sq-1qm-np-out", level="CFLEVEL(5)", message_bytes="32768").needs == ()
    everything = point("sq-1qm-np-out", level="CFLEVEL(5), all offloaded", message_bytes="1024")
    assert everything.structures[0].offloads_all
    assert everything.structures[0].offload is Offload.SMDS
    assert everything.needs == ("offload-smds",)
    assert point("sq-1qm-pm-in", level="CFLEVEL(4)", message_bytes="1024").structures[0].is_recoverable


def test_numbers_of_structures_follow_the_pairs() -> None:
    several = point("sq-scaling-np-10k", queue_pairs="4", structures="several of level 5")
    assert [each.name for each in several.structures] == ["LAB1", "LAB2", "LAB3", "LAB4"]
    assert [queue.structure for queue in several.group_plan().queues[::2]] == ["LAB1", "LAB2", "LAB3", "LAB4"]
    one = point("sq-scaling-np-10k", queue_pairs="4", structures="one of level 4")
    assert [each.level for each in one.structures] == [4]
    assert (one.requesters, one.responders) == (4, 4), "one of each for a pair"
    three = point("sq-scaling-np-1m-multiapp", queue_pairs="5", applications_per_pair="3")
    assert (three.requesters, three.responders) == (15, 15)


def test_buffers_and_blocks() -> None:
    (structure,) = point("smds-dsbufs", buffers="32").structures
    assert (structure.buffers, structure.block_bytes, structure.offloads_all) == (32, 65536, True)
    text = structure.attributes()
    assert "DSBUFS(32)" in text
    assert "DSBLOCK(64K)" in text
    assert "OFFLD1SZ(0K) OFFLD1TH(0)" in text
    assert "DSGROUP('LAB.*.LAB1')" in text
    (blocks,) = point("smds-dsblock", block_bytes="8192").structures
    assert (blocks.buffers, blocks.block_bytes) == (200, 8192)
    load = point("smds-dsbufs", buffers="4")
    assert (load.requesters, load.responders, load.pairs) == (12, 4, 1)


def places(found: SharedPoint) -> list[tuple[int, int, int]]:
    """Return for each pair of queues that is used: its number, who puts requests there, and who gets them."""
    asking = [f"qm{number}" for number in found.asking()]
    answering = [f"qm{number}" for number in found.answering()]
    load = LoadSpec(
        protocol=spec.MQ_VERBS,
        address=asking[0],
        other_addresses=tuple(asking[1:]),
        requesters=range(found.requesters),
        responders=range(found.responders),
        pairs=found.pairs,
        body_bytes=1,
        persistent=False,
        goes_round=False,
        is_shared=True,
    )
    gotten: dict[str, set[str]] = {}
    there = LoadSpec(**{**vars(load), "address": answering[0], "other_addresses": tuple(answering[1:])})
    for number, client in enumerate(mq_clients(there, Pace(), False, load.responders)):
        assert isinstance(client, MqResponder)
        gotten.setdefault(client.opens()[0][0], set()).add(there.address_of(number)[-1])  # type: ignore[arg-type]
    seen = set()
    for number, client in enumerate(mq_clients(load, Pace(), True, load.requesters)):
        assert isinstance(client, MqRequester)
        queue = client.opens()[0][0]
        for getter in gotten[queue]:
            seen.add((int(queue.rpartition(".")[2]), int(str(load.address_of(number))[-1]), int(getter)))
    return sorted(seen)


def test_data_sharing_is_answered_by_the_other_queue_manager() -> None:
    found = point("sq-2qm-ds-np-out", message_bytes="1024")
    assert found.layout is Layout.CROSSED
    assert places(found) == [(0, 0, 1), (1, 1, 0)]
    assert (found.requesters, found.responders) == (10, 8)


def test_three_queue_managers_are_a_ring() -> None:
    assert places(point("sq-3qm-ds-pm-in", message_bytes="1024")) == [(0, 0, 1), (1, 1, 2), (2, 2, 0)]


def test_without_data_sharing_anybody_may_get() -> None:
    found = places(point("sq-2qm-nds-np-out", message_bytes="1024"))
    assert found == [(0, 0, 0), (0, 0, 1), (0, 1, 0), (0, 1, 1)]


def test_six_queue_managers_ask_and_serve_apart() -> None:
    found = point("sq-6qm-ds-np-in", message_bytes="1024")
    assert {put for _, put, _ in places(found)} == {0, 1}
    assert {got for _, _, got in places(found)} == {2, 3, 4, 5}
    assert (found.requesters, found.responders) == (10, 16)


def test_one_queue_manager_has_nobody_to_cross_with() -> None:
    assert point("zos-sq-cf4-ds-np-in", queue_managers="1").layout is Layout.COMMON
    assert point("zos-sq-cf4-ds-np-in", queue_managers="3").pairs == 3


def test_a_facility_with_a_share_of_a_processor() -> None:
    assert point("sq-facility-cores", facility_cores="0.25").group_plan().facility_cores == 0.25
    assert point("sq-facility-cores", facility_cores="all").group_plan().facility_cores == 0
    assert point("smds-offload-all-remote-cf", offload="none").group_plan().is_remote
