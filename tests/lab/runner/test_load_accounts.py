"""Accounts of several queue managers in one point: none is taken for another's."""

from __future__ import annotations

from types import SimpleNamespace
from typing import cast

from ostler.lab.families.ready_loads import AnyLoad, ReadyOstlerLoad
from ostler.lab.load import spec
from ostler.lab.runner.contract import Metric, PointSpec
from ostler.lab.runner.queue_managers.process import LabQueueManager


def manager(name: str) -> LabQueueManager:
    found = [
        Metric("statistics", "MQIStatistics.ConnCount", 3.0),
        Metric("accounting", "QueueAccounting.PutCount", 5.0, "LAB.REQUEST.0", 1),
    ]
    made = SimpleNamespace(name=name, plan=SimpleNamespace(is_accounting=True), accounting=lambda: found)
    made.watched = list
    return cast(LabQueueManager, made)


def prepared(*names: str) -> ReadyOstlerLoad:
    load = cast(AnyLoad, SimpleNamespace(close=lambda: None))
    return ReadyOstlerLoad(load, [], PointSpec(1, 1, False), [manager(each) for each in names], spec.REQUEST_REPLY)


def test_accounts_of_several_queue_managers_have_their_names() -> None:
    found = prepared("LAB0", "LAB1").results()
    keys = [(each.source, each.record, each.object, each.name, each.position) for each in found]
    assert len(set(keys)) == len(keys) == 4
    assert [each.object for each in found] == ["LAB0", "LAB0/LAB.REQUEST.0", "LAB1", "LAB1/LAB.REQUEST.0"]


def test_accounts_of_a_single_one_are_as_it_tells_them() -> None:
    assert [each.object for each in prepared("LAB").results()] == ["", "LAB.REQUEST.0"]
