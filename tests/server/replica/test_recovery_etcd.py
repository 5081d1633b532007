"""Two sites of two real instances, each with an etcd of its own, and TLS on all links: bases, a switch, a lost site."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.server.replica.etcd_server import EtcdServer
from tests.world.replica.replica_group import History
from tests.world.replica.site_pair import SitePair

from ostler.model.replication import HaStatus
from ostler.server.replica.certificates import make_authority

pytestmark = pytest.mark.slow


@pytest.fixture
def far_etcd(tmp_path_factory: pytest.TempPathFactory) -> Iterator[EtcdServer]:
    """The arbiter of the recovery site."""
    server = EtcdServer(tmp_path_factory.mktemp("etcd"))
    yield server
    server.close()


@pytest.fixture
def pair(tmp_path: Path, own_etcd: EtcdServer, far_etcd: EtcdServer) -> Iterator[SitePair]:
    """a and b work; s and t are created empty."""
    arbiters = {
        site: f"   Type=Etcd\n   Endpoints={etcd.endpoint}\n" for site, etcd in (("a", own_etcd), ("s", far_etcd))
    }
    authority = make_authority(tmp_path / "ca", "sites")
    made = SitePair(tmp_path, "Synchronous", live="ab", recovery="st", arbiters=arbiters, authority=authority)
    made.start()
    yield made
    made.close()


def test_a_site_is_copied_switched_and_lost_with_its_arbiter(pair: SitePair, own_etcd: EtcdServer) -> None:
    pair.prepare()
    pair.wait_until_in_sync(2)
    receiver = pair.wait_for_receiver("st", 2)
    for each in "st":
        pair.wait_for_text(each, "AMQ3238I")  # it has taken a base
    leader = pair.wait_for_leader()
    pair.wait_for_text(leader, "AMQ3211I", "The secure connection to recovery group south")
    history = History(pair)
    history.wait_for_puts(50)
    pair.wait_for_dr(leader, HaStatus.NORMAL)
    pair.switch(leader, receiver)
    history.wait_for_puts(50)
    pair.wait_until_in_sync(2)
    # The first site is lost with its etcd. Nobody there is needed to go on, nor for a failover.
    for each in "ab":
        pair.kill(each)
    own_etcd.kill()
    history.wait_for_puts(50)
    other = "t" if receiver == "s" else "s"
    pair.kill(receiver)
    assert pair.wait_for_leader(receiver) == other
    history.wait_for_puts(50)
    # It comes back, and gets what it has missed.
    own_etcd.start()
    pair.start("a", "b", receiver)
    pair.wait_for_receiver("ab", 2)
    pair.wait_until_in_sync(2)
    history.wait_for_puts(50)
    pair.wait_for_copy()
    history.finish()
    history.check()
