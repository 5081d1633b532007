"""The status of disaster recovery while the copy of the other site is made: real processes over a slow relay."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.world.replica.link_relay import LinkRelay
from tests.world.replica.replica_group import QUEUE, wait_until
from tests.world.replica.site_pair import SitePair

from ostler.model.replication import GroupRole, HaStatus, ReplicaState

pytestmark = pytest.mark.slow

_MESSAGE = bytes(500_000)
_MESSAGES = 30
_SLOW = 400_000  # bytes in a second: the base would take forty


@pytest.fixture
def relay() -> Iterator[LinkRelay]:
    made = LinkRelay(0)
    yield made
    made.close()


@pytest.fixture
def pair(tmp_path: Path, relay: LinkRelay) -> Iterator[SitePair]:
    made = SitePair(tmp_path, relay_port=relay.port)
    relay.target_port = made.replication_ports["s"]
    yield made
    made.close()


def test_a_base_that_is_interrupted_leaves_the_copy_inconsistent(pair: SitePair, relay: LinkRelay) -> None:
    relay.slow_down(_SLOW)
    pair.start("s")
    # It has nothing yet that could be used.
    pair.wait_for_dr("s", HaStatus.INCONSISTENT)
    pair.wait_for_role("s", GroupRole.RECOVERY)
    wait_until(
        lambda: (group := pair.recovery_group("s")) is not None and group.name == "north",
        lambda: f"s does not name the other site:\n{pair.describe()}",
    )
    relay.cut()
    pair.start("n")
    pair.prepare()
    with pair.connect_to("n") as connection, connection.open(QUEUE, "w") as queue:
        for _ in range(_MESSAGES):
            queue.put(_MESSAGE, persistent=True)
    relay.mend()
    for each in "ns":
        pair.wait_for_dr(each, HaStatus.SYNCHRONIZING)

    def is_under_way() -> bool:
        group = pair.recovery_group("n")
        return group is not None and group.state is ReplicaState.REBASING and group.base_percent >= 10

    wait_until(is_under_way, lambda: f"no base is under way:\n{pair.describe()}")
    wait_until(
        lambda: (group := pair.recovery_group("s")) is not None and group.base_percent >= 5,
        lambda: f"s does not tell how much it has:\n{pair.describe()}",
    )
    relay.cut()
    pair.wait_for_dr("s", HaStatus.INCONSISTENT)
    pair.wait_for_dr("n", HaStatus.REMOTE_SITE_UNAVAILABLE)
    relay.slow_down(0)
    relay.mend()
    for each in "ns":
        pair.wait_for_dr(each, HaStatus.NORMAL)
