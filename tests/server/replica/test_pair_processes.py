"""Two real instances without an arbiter: failover, a cut link, a partition, and what a person decides."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.world.replica.cut_relay import CutRelay
from tests.world.replica.replica_group import QUEUE, History, ReplicaGroup, wait_until

from ostler.client.link.control import control
from ostler.model import constants as mq
from ostler.model.errors import MQError
from ostler.model.replication import GroupStatus, HaStatus, InstanceRole

pytestmark = pytest.mark.slow

# Without an arbiter a process that gets no processor for so long would be taken for dead, and both would work.
TIMEOUT_MS = 10_000


@pytest.fixture
def relays() -> Iterator[dict[str, CutRelay]]:
    made: dict[str, CutRelay] = {}
    yield made
    for each in made.values():
        each.close()


@pytest.fixture
def pair(tmp_path: Path, relays: dict[str, CutRelay]) -> Iterator[ReplicaGroup]:
    """Instances a and b, linked through relays. a was created with the log."""
    made = ReplicaGroup(tmp_path, "ab", "   Type=None\n", heartbeat_timeout_ms=TIMEOUT_MS)
    for instance, other in ("ab", "ba"):
        relay = relays[instance + other] = CutRelay(made.replication_ports[other])
        made.connect_through(instance, other, relay.port)
    made.start()
    made.prepare()
    made.wait_until_in_sync(2)
    yield made
    made.close()


def status_of(pair: ReplicaGroup, instance: str) -> GroupStatus:
    found: list[GroupStatus] = []

    def is_told() -> bool:
        status = pair.status(instance)
        if status is not None:
            found.append(status)
        return status is not None

    wait_until(is_told, lambda: f"{instance} does not answer:\n{pair.describe()}")
    return found[-1]


def wait_for(pair: ReplicaGroup, instance: str, role: InstanceRole, ha_status: HaStatus) -> GroupStatus:
    def is_so() -> bool:
        status = pair.status(instance)
        return status is not None and (status.role, status.ha_status) == (role, ha_status)

    wait_until(is_so, lambda: f"{instance} is not {role}, {ha_status}: {pair.status(instance)}\n{pair.describe()}")
    return status_of(pair, instance)


def put(pair: ReplicaGroup, instance: str, text: str) -> None:
    with pair.connect_to(instance) as connection, connection.open(QUEUE, "w") as queue:
        queue.put(text.encode(), persistent=True)


def browse(pair: ReplicaGroup, instance: str) -> list[str]:
    with pair.connect_to(instance) as connection, connection.open(QUEUE, "b") as queue:
        return [message.data.decode() for message in queue.browse()]


def resolve(pair: ReplicaGroup, instance: str) -> list[str]:
    """What makehaprimary sends."""
    replies = control(pair.directory(instance), "replication", request="resolve")
    return [str(each["line"]) for each in replies if "line" in each]


def has_taken_over_event(pair: ReplicaGroup, instance: str) -> bool:
    """Return True when the event Queue Manager Active says that the instance took over."""
    qualifier = struct.pack("<4i", mq.MQCFT_INTEGER, 16, mq.MQIACF_REASON_QUALIFIER, mq.MQRQ_STANDBY_ACTIVATED)
    with pair.connect_to(instance) as connection, connection.open("SYSTEM.ADMIN.QMGR.EVENT", "b") as queue:
        return any(qualifier in bytes(message.data) for message in queue.browse())


def test_the_other_one_goes_on_alone_and_the_first_one_rejoins(pair: ReplicaGroup) -> None:
    history = History(pair)
    history.wait_for_puts(50)
    pair.kill("a")
    history.wait_for_puts(50)
    status = wait_for(pair, "b", InstanceRole.ACTIVE, HaStatus.REMOTE_UNAVAILABLE)
    assert "there is no arbiter" in status.arbiter_notice
    wait_until(lambda: has_taken_over_event(pair, "b"), lambda: f"b has put no event:\n{pair.describe()}")
    pair.start("a")
    pair.wait_until_in_sync(2)
    history.wait_for_puts(50)
    pair.end("b", switch_over=True)
    assert pair.wait_for_leader("b") == "a"
    history.wait_for_puts(50)
    pair.start("b")
    pair.wait_until_in_sync(2)
    history.finish()
    history.check()


def test_both_work_while_the_link_is_cut_and_a_person_decides(pair: ReplicaGroup, relays: dict[str, CutRelay]) -> None:
    put(pair, "a", "before")
    for each in relays.values():
        each.cut()
    wait_for(pair, "b", InstanceRole.ACTIVE, HaStatus.REMOTE_UNAVAILABLE)
    wait_for(pair, "a", InstanceRole.ACTIVE, HaStatus.REMOTE_UNAVAILABLE)
    put(pair, "a", "at a")
    put(pair, "b", "at b")
    for each in relays.values():
        each.mend()
    # The one where the pair was created goes on; both show it.
    first = wait_for(pair, "a", InstanceRole.ACTIVE, HaStatus.PARTITIONED)
    second = wait_for(pair, "b", InstanceRole.REPLICA, HaStatus.PARTITIONED)
    assert first.fork_lsn == second.fork_lsn > 0
    # It outlives restarts of both.
    pair.kill("a")
    pair.kill("b")
    pair.start("b")
    wait_for(pair, "b", InstanceRole.REPLICA, HaStatus.PARTITIONED)
    pair.start("a")
    wait_for(pair, "a", InstanceRole.ACTIVE, HaStatus.PARTITIONED)
    wait_for(pair, "b", InstanceRole.REPLICA, HaStatus.PARTITIONED)
    assert browse(pair, "a") == ["before", "at a"]
    # The one that stopped is right.
    assert resolve(pair, "b")[0].startswith("AMQ3277I")
    wait_for(pair, "b", InstanceRole.ACTIVE, HaStatus.NORMAL)
    wait_for(pair, "a", InstanceRole.REPLICA, HaStatus.NORMAL)
    assert browse(pair, "b") == ["before", "at b"]
    # What it had went aside when it had everything of the winner, as with every copy that is given up.
    directory = pair.directory("a").path
    assert (directory / "aside+1" / "instance").exists()
    assert (directory / "log+1" / "amqhlctl.lfh").exists()
    assert "AMQ3291W" in pair.error_text("a")
    assert "makehaprimary has decided for b" in pair.error_text("a")
    # The loser has everything of the winner now.
    pair.kill("b")
    wait_for(pair, "a", InstanceRole.ACTIVE, HaStatus.REMOTE_UNAVAILABLE)
    assert browse(pair, "a") == ["before", "at b"]
    with pytest.raises(MQError, match="not partitioned"):
        resolve(pair, "a")
