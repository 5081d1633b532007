"""Two sites as real processes: planned and unplanned switches under load, a partition and its resolution."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.world.replica.replica_group import QUEUE, History, wait_until
from tests.world.replica.site_pair import SitePair

from ostler.client.link.control import control
from ostler.model import constants as mq
from ostler.model.errors import MQError
from ostler.model.replication import GroupRole, HaStatus, InstanceRole

pytestmark = pytest.mark.slow


@pytest.fixture
def pair(tmp_path: Path) -> Iterator[SitePair]:
    made = SitePair(tmp_path)
    made.start()
    yield made
    made.close()


def test_a_planned_switch_in_both_directions_loses_nothing(pair: SitePair) -> None:
    pair.prepare()
    pair.wait_for_copy()
    with pytest.raises(MQError, match="Run makedrsecondary there first"):
        pair.change_role("s", GroupRole.LIVE)
    with pytest.raises(MQError, match="is the secondary already"):
        pair.change_role("s", GroupRole.RECOVERY)
    with pytest.raises(MQError, match="is the primary already"):
        pair.change_role("n", GroupRole.LIVE)
    with pytest.raises(MQError, match="recovery site of queue manager") as refused:
        list(control(pair.directory("s"), "mqsc", text="DISPLAY QMGR"))
    assert refused.value.reason == mq.MQRC_STANDBY_Q_MGR
    history = History(pair)
    history.wait_for_puts(50)
    pair.switch("n", "s")
    history.wait_for_puts(50)
    pair.wait_for_dr("s", HaStatus.NORMAL)
    pair.wait_for_dr("n", HaStatus.NORMAL)
    pair.switch("s", "n")
    history.wait_for_puts(50)
    history.finish()
    history.check()


def test_both_secondary_is_a_state_that_survives_restarts(pair: SitePair) -> None:
    pair.prepare()
    pair.wait_for_copy()
    pair.change_role("n", GroupRole.RECOVERY)
    pair.wait_for_role("n", GroupRole.RECOVERY)
    for each in "ns":
        pair.wait_for_dr(each, HaStatus.INACTIVE)
    pair.kill("s")
    pair.start("s")
    for each in "ns":
        pair.wait_for_dr(each, HaStatus.INACTIVE)
    pair.change_role("n", GroupRole.LIVE)
    assert pair.wait_for_leader() == "n"
    pair.wait_for_copy()


def messages_at(pair: SitePair, site: str) -> set[str]:
    """Browse the queue at a site that works."""
    with pair.connect_to(site) as connection, connection.open(QUEUE, "b") as queue:
        return {message.data.decode() for message in queue.browse()}


def put_at(pair: SitePair, site: str, text: str) -> None:
    with pair.connect_to(site) as connection, connection.open(QUEUE, "w") as queue:
        queue.put(text.encode(), persistent=True)


def test_an_unplanned_switch_a_partition_and_its_resolution(pair: SitePair) -> None:
    pair.prepare()
    put_at(pair, "n", "copied")
    pair.wait_for_copy()
    # What s never gets: it is stopped while n works on, and n dies.
    pair.kill("s")
    put_at(pair, "n", "only at n")
    pair.kill("n")
    pair.start("s")
    pair.wait_for_role("s", GroupRole.RECOVERY)
    assert "does not answer" in pair.change_role("s", GroupRole.LIVE)
    assert pair.wait_for_leader() == "s"
    put_at(pair, "s", "only at s")
    assert messages_at(pair, "s") == {"copied", "only at s"}
    # The old site comes back: it does not work, and both know why.
    pair.start("n")
    for each in "ns":
        pair.wait_for_dr(each, HaStatus.PARTITIONED)
    assert pair.wait_for_leader() == "s"
    for each in "ns":
        pair.kill(each)
        pair.start(each)
        pair.wait_for_dr(each, HaStatus.PARTITIONED)
    assert pair.wait_for_leader() == "s"
    with pytest.raises(MQError, match="does not work"):
        pair.change_role("n", GroupRole.LIVE)
    # It is given up: its data are set aside with a list of what only it had.
    pair.change_role("n", GroupRole.RECOVERY)
    for each in "ns":
        pair.wait_for_dr(each, HaStatus.NORMAL)
    pair.wait_for_copy()
    (kept,) = (pair.directory("n").path / "set-aside").iterdir()
    assert {"log", "queues", "messages"} <= {each.name for each in kept.iterdir()}
    listed = [line for line in (kept / "messages").read_text().splitlines() if " put " in line and f" {QUEUE} " in line]
    assert len(listed) == 1, listed
    pair.switch("s", "n")
    assert messages_at(pair, "n") == {"copied", "only at s"}
    pair.wait_for_dr("n", HaStatus.NORMAL)
    pair.wait_for_role_of("n", InstanceRole.ACTIVE)
    wait_until(
        lambda: (status := pair.status("n")) is not None and status.fork_lsn == -1,
        lambda: f"n still shows a fork:\n{pair.describe()}",
    )


def test_a_group_of_instances_is_copied_and_becomes_a_recovery_site(tmp_path: Path) -> None:
    """The active instance sends. Of a group that receives, one takes the log, and the other gets it from there."""
    pair = SitePair(tmp_path, "Synchronous", live="ab")
    pair.start()
    try:
        pair.prepare()
        pair.wait_until_in_sync(2)
        pair.wait_for_copy()
        history = History(pair)
        history.wait_for_puts(30)
        first = pair.wait_for_leader()
        pair.kill(first)
        history.wait_for_puts(30)
        second = pair.wait_for_leader(first)
        pair.start(first)
        pair.wait_until_in_sync(2)
        pair.wait_for_dr(second, HaStatus.NORMAL)
        pair.switch(second, "s")
        history.wait_for_puts(30)
        pair.wait_for_dr("s", HaStatus.NORMAL)
        receiver = pair.wait_for_receiver("ab", 2)
        other = "b" if receiver == "a" else "a"
        pair.wait_for_role(other, GroupRole.RECOVERY)
        with pytest.raises(MQError, match=f"run makedrprimary at {receiver}"):
            pair.change_role(other, GroupRole.LIVE)
        pair.switch("s", receiver)
        history.wait_for_puts(30)
        pair.wait_until_in_sync(2)
        history.finish()
        history.check()
    finally:
        pair.close()
