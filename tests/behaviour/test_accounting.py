"""Accounting messages report exactly the work of each connection, in total and by queue."""

from __future__ import annotations

import os
from typing import Any

import pytest

from ostler import mqi
from ostler.client.mqi.put_get import bind
from ostler.model import constants as mq
from ostler.model.structures.catalogue import LAYOUTS
from ostler.observe.record_reader import read_record
from ostler.server.statistics_writer import ACCOUNTING_QUEUE

BOTH = mq.MQOO_INPUT_SHARED | mq.MQOO_OUTPUT | mq.MQOO_BROWSE


PROGRAMS = ("behaviour", "one", "two", "chooser")


def accounts(site: Any, kind: str = "") -> list[Any]:
    """The accounts of a kind, or of all, in the order they were written; they leave their queue.

    Those of the command server, which comes when it comes, are left out.
    """
    manager = site.manager
    found = []
    with manager.lock:
        queue = manager.engine.queues[ACCOUNTING_QUEUE]
        slot = queue.slots.first()
        while slot >= 0:
            found.append(queue.load(slot).body)
            queue.unlink(slot)
            queue.release(slot)
            queue.depth -= 1
            slot = queue.slots.first()
    records = [read_record(body) for body in found]
    return [each for each in records if kind in ("", each["RecordType"]) and each["ApplicationName"] in PROGRAMS]


def next_accounts(site: Any) -> list[Any]:
    """The accounts that are written next."""
    found: list[Any] = []

    def came() -> bool:
        found.extend(accounts(site))
        return bool(found)

    site.eventually(came)
    return found


def of_program(records: list[Any], program: Any) -> Any:
    [found] = [record for record in records if record["ConnectionId"] == program.connection.connection_id.hex()]
    return found


@pytest.fixture
def accounted(own_site: Any) -> Any:
    own_site.alter_manager(ACCTMQI=mq.MQMON_ON, ACCTQ=mq.MQMON_ON)
    return own_site


def test_the_verbs_of_two_connections(accounted: Any) -> None:
    name = accounted.local()
    one, two = accounted.program(application="one"), accounted.program(application="two")
    queue = one.open(name, BOTH)
    for size in (10, 20):
        one.put(queue, bytes(size))
    one.put(queue, bytes(5), mq.MQPMO_SYNCPOINT, Persistence=1)
    one.back_out()
    one.put1(name, b"1")
    two.reason_of_open("NO.SUCH.QUEUE", BOTH)
    queue = two.open(name, BOTH)
    two.get(queue, mq.MQGMO_BROWSE_FIRST)
    two.get(queue, mq.MQGMO_SYNCPOINT)
    two.commit()
    two.get(queue, size=5)
    two.disconnect()
    one.disconnect()
    records = accounts(accounted, "MQIAccounting")
    first = of_program(records, one)
    assert (first["ApplicationName"], first["UserId"], first["SeqNumber"]) == ("one", "tester", 0)
    assert first["DiscType"] == mq.MQDISCONNECT_NORMAL
    assert (first["PutCount"], first["PutBytes"], first["Put1Count"]) == ([2, 1], [31, 5], [1, 0])
    assert (first["CommitCount"], first["BackCount"]) == (0, 1)
    assert (first["OpenCount"][1], first["CloseCount"][1]) == (2, 2)
    second = of_program(records, two)
    assert second["ApplicationName"] == "two"
    assert (second["GetCount"], second["GetBytes"], second["GetFailCount"]) == ([1, 0], [10, 0], 1)
    assert (second["BrowseCount"], second["OpenFailCount"][1]) == ([1, 0], 1)
    assert (second["PutCount"], second["CommitCount"]) == ([0, 0], 1)


def test_who_it_was_and_how_it_came(accounted: Any) -> None:
    program = accounted.program()
    program.disconnect()
    [record] = accounts(accounted, "MQIAccounting")
    if accounted.binding == "tcp":
        assert (record["ChannelName"], record["ConnName"]) == ("SYSTEM.DEF.SVRCONN", "127.0.0.1")
    else:
        assert "ChannelName" not in record
        assert record["ApplicationPid"] == os.getpid()


def test_time_in_the_queue_manager_is_reported_where_it_is_measured(accounted: Any) -> None:
    name = accounted.local()
    program = accounted.program()
    program.put1(name, b"x")
    program.disconnect()
    [record] = accounts(accounted, "MQIAccounting")
    assert ("QMgrOpDuration" in record) == (accounted.binding != "here")


def test_a_connection_that_ends_without_disconnecting(accounted: Any) -> None:
    if accounted.binding == "here":
        pytest.skip("a program in this process does not vanish alone")
    accounted.program().vanish()
    [record] = accounts(accounted, "MQIAccounting")
    assert record["DiscType"] == mq.MQDISCONNECT_IMPLICIT


def test_the_use_of_each_queue(accounted: Any) -> None:
    first, second, unused = accounted.local(), accounted.local(MAXDEPTH=2), accounted.local()
    alias = accounted.alias(second)
    program = accounted.program()
    one, two = program.open(first, BOTH), program.open(alias, BOTH)
    for size in (30, 10, 20):
        program.put(one, bytes(size))
    program.put(two, bytes(7), Persistence=1)
    program.put1(alias, bytes(9))
    program.put(two, b"too many")
    program.put1(alias, b"too many")
    program.get(one, mq.MQGMO_BROWSE_FIRST)
    program.get(two)
    program.drain(one)
    program.close(one)
    program.disconnect()
    [record] = accounts(accounted, "QueueAccounting")
    assert record["ObjectCount"] == 2
    groups = {group["QName"]: group for group in record["QAccountingData"]}
    assert unused not in groups
    found = groups[first]
    assert (found["PutCount"], found["PutBytes"]) == ([3, 0], [60, 0])
    assert (found["PutMinBytes"], found["PutMaxBytes"]) == ([10, 0], [30, 0])
    assert (found["GetCount"], found["GetBytes"], found["GetFailCount"]) == ([3, 0], [60, 0], 1)
    assert (found["GetMinBytes"], found["GetMaxBytes"]) == ([10, 0], [30, 0])
    assert (found["BrowseCount"], found["BrowseMinBytes"], found["BrowseMaxBytes"]) == ([1, 0], [30, 0], [30, 0])
    assert found["OpenCount"] == 1
    assert found["TimeOnQMin"][0] <= found["TimeOnQAvg"][0] <= found["TimeOnQMax"][0]
    # What is done through an alias is on the account of the queue behind it.
    found = groups[second]
    assert (found["PutCount"], found["PutFailCount"]) == ([0, 1], 1)
    assert (found["Put1Count"], found["Put1FailCount"]) == ([1, 0], 1)
    assert (found["PutBytes"], found["PutMinBytes"]) == ([9, 7], [9, 7])
    assert (found["GetCount"], found["OpenCount"]) == ([0, 1], 3)


def test_long_connections_have_several_accounts(accounted: Any) -> None:
    accounted.alter_manager(ACCTINT=1)
    name = accounted.local()
    program = accounted.program()
    queue = program.open(name, BOTH)
    program.put(queue, b"x")
    found = next_accounts(accounted)
    assert "DiscType" not in found[0]
    program.get(queue)
    program.disconnect()
    verbs = [record for record in found + accounts(accounted) if record["RecordType"] == "MQIAccounting"]
    assert len(verbs) > 1
    assert [record["SeqNumber"] for record in verbs] == list(range(len(verbs)))
    assert verbs[-1]["DiscType"] == mq.MQDISCONNECT_NORMAL
    assert sum(record["PutCount"][0] for record in verbs) == 1
    assert sum(record["GetCount"][0] for record in verbs) == 1


def test_a_queue_that_stays_open_has_an_account_in_each_interval_in_which_it_is_used(accounted: Any) -> None:
    accounted.alter_manager(ACCTMQI=mq.MQMON_OFF, ACCTINT=1)
    name = accounted.local()
    program = accounted.program()
    queue = program.open(name, BOTH)
    program.put(queue, b"x")
    found = next_accounts(accounted)
    program.get(queue)
    program.disconnect()
    groups = [group for record in found + accounts(accounted) for group in record["QAccountingData"]]
    assert len(groups) > 1
    assert [group["OpenCount"] for group in groups] == [1] + [0] * (len(groups) - 1)
    assert ["CloseDate" in group for group in groups] == [False] * (len(groups) - 1) + [True]
    assert sum(group["PutCount"][0] for group in groups) == 1
    assert sum(group["GetCount"][0] for group in groups) == 1


def test_only_what_is_switched_on(own_site: Any) -> None:
    loud, quiet, usual = own_site.local(ACCTQ=mq.MQMON_ON), own_site.local(ACCTQ=mq.MQMON_OFF), own_site.local()

    def used() -> set[str]:
        program = own_site.program()
        for name in (loud, quiet, usual):
            program.put1(name, b"x")
        program.disconnect()
        records = accounts(own_site, "QueueAccounting")
        return {group["QName"] for record in records for group in record["QAccountingData"]}

    before = own_site.program()
    assert used() == {loud}
    own_site.alter_manager(ACCTQ=mq.MQMON_ON, ACCTMQI=mq.MQMON_ON)
    assert used() == {loud, usual}
    own_site.alter_manager(ACCTQ=mq.MQMON_NONE)
    assert used() == set()
    # Who was connected before goes on without.
    before.put1(usual, b"x")
    before.disconnect()
    assert accounts(own_site, "MQIAccounting") == []


def test_a_queue_manager_that_ends_writes_the_accounts_of_all(accounted: Any) -> None:
    accounted.alter(ACCOUNTING_QUEUE, DEFPSIST=1)
    name = accounted.local()
    program = accounted.program()
    program.put1(name, b"x")
    accounted.restart()
    [record] = accounts(accounted, "MQIAccounting")
    assert (record["DiscType"], record["Put1Count"]) == (mq.MQDISCONNECT_Q_MGR, [1, 0])


@pytest.mark.within_process
def test_programs_choose_where_they_may(own_site: Any) -> None:
    name = own_site.local()

    def kinds(options: int) -> list[str]:
        hconn = bind(own_site.manager, "tester", "chooser", options=options)
        od = LAYOUTS["MQOD"].default(4)
        LAYOUTS["MQOD"].patch(od, "ObjectName", name)
        mqi.MQPUT1(hconn, od, LAYOUTS["MQMD"].default(2), LAYOUTS["MQPMO"].default(1), b"x")
        mqi.MQDISC(hconn)
        return [record["RecordType"] for record in accounts(own_site)]

    both = mq.MQCNO_ACCOUNTING_MQI_ENABLED | mq.MQCNO_ACCOUNTING_Q_ENABLED
    neither = mq.MQCNO_ACCOUNTING_MQI_DISABLED | mq.MQCNO_ACCOUNTING_Q_DISABLED
    assert kinds(both) == []
    own_site.alter_manager(ACCTCONO=mq.MQMON_ENABLED)
    assert kinds(both) == ["MQIAccounting", "QueueAccounting"]
    assert kinds(mq.MQCNO_ACCOUNTING_Q_ENABLED) == ["QueueAccounting"]
    own_site.alter_manager(ACCTMQI=mq.MQMON_ON, ACCTQ=mq.MQMON_ON)
    assert kinds(neither) == []
    assert kinds(0) == ["MQIAccounting", "QueueAccounting"]
    own_site.alter_manager(ACCTQ=mq.MQMON_NONE)
    assert kinds(both) == ["MQIAccounting"]
