"""As many applications as the machine's limits allow, and work beside them. What it costs is printed."""

from __future__ import annotations

import resource
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import psutil
import pytest
from tests.stress.crowd import Crowd
from tests.world.wire_bench import Peer, dial, get, put

from ostler.lab.load.mq.client import request_queue
from ostler.lab.runner.queue_managers.plan import CHANNEL, QueueManagerPlan, pair_commands
from ostler.lab.runner.queue_managers.process import LabQueueManager
from ostler.model.constants import MQCC_OK
from ostler.server.config.qm_ini import LogSection
from ostler.wire import frames as wire

pytestmark = pytest.mark.stress

IDLE = 10_000
SOCKETS_MAX = 15_000
CONVERSATIONS = 60_000
DESCRIPTORS_KEPT = 500  # for other things, on either side
ROUND_TRIPS = 2_000
PATIENCE_SECONDS = 60.0
MEMORY_LEFT_BYTES = 24 << 20


class Site:
    def __init__(self, root: Path) -> None:
        log = LogSection(primary_files=4, file_pages=1024)
        self.server = LabQueueManager(root, QueueManagerPlan(log=log, commands=pair_commands(1)))
        self.process = psutil.Process(self.server.pid)
        self.descriptors = self.process.num_fds()

    def resident(self) -> int:
        return int(self.process.memory_info().rss)

    def crowd(self) -> Crowd:
        return Crowd(self.server.address, CHANNEL)

    def worker(self) -> Peer:
        peer = dial(self.server.address)
        assert peer.hello(CHANNEL).completion == MQCC_OK
        assert peer.connect().completion == MQCC_OK
        peer.open(request_queue(0))
        return peer

    def until(self, is_so: Callable[[], bool], what: str) -> None:
        deadline = time.monotonic() + PATIENCE_SECONDS
        while not is_so():
            assert time.monotonic() < deadline, what
            time.sleep(0.01)


@pytest.fixture
def site(tmp_path: Path) -> Iterator[Site]:
    made = Site(tmp_path)
    yield made
    made.server.end()


def sockets_possible() -> int:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft < hard:
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    return min(SOCKETS_MAX, hard - DESCRIPTORS_KEPT)


def work(peer: Peer) -> float:
    """Round trips a second of one application that puts and gets."""
    began = time.perf_counter()
    for number in range(ROUND_TRIPS):
        body = b"%d" % number
        peer.send(wire.frame(wire.PUT, 1, 10, put(2, body)), wire.frame(wire.GET, 1, 11, get(2)))
        assert peer.answer(10).completion == MQCC_OK
        assert peer.answer(11).body == body
    return ROUND_TRIPS / (time.perf_counter() - began)


def test_ten_thousand_idle_and_some_at_work(site: Site) -> None:
    peer = site.worker()
    alone = work(peer)
    idle = min(IDLE, sockets_possible())
    crowd = site.crowd()
    before = site.resident()
    seconds = crowd.open(idle, 1)
    each = (site.resident() - before) / idle
    beside = work(peer)
    crowd.ask_all()
    print(
        f"\n{idle:,} idle sockets: {idle / seconds:,.0f} connections/s, {each / 1024:.1f} KB resident each; "
        f"a worker does {alone:,.0f} round trips/s alone, {beside:,.0f} beside them"
    )
    crowd.leave()
    site.until(lambda: site.process.num_fds() <= site.descriptors + 1, "descriptors are not given back")
    assert work(peer) > 0


def test_as_many_sockets_as_possible_with_sixty_thousand_conversations(site: Site) -> None:
    sockets = sockets_possible()
    conversations = -(-CONVERSATIONS // sockets)
    grown = []
    for turn in range(2):
        crowd = site.crowd()
        before = site.resident()
        seconds = crowd.open(sockets, conversations)
        grown.append(site.resident())
        total = sockets * conversations
        print(
            f"\n{sockets:,} sockets with {conversations} conversations each: {total / seconds:,.0f} connections/s, "
            f"{(site.resident() - before) / total / 1024:.1f} KB resident for each conversation (turn {turn + 1})"
        )
        crowd.ask_all()
        peer = site.worker()
        assert peer.ask(wire.PUT, put(2, b"x")).completion == MQCC_OK
        assert peer.ask(wire.GET, get(2)).body == b"x"
        peer.sock.close()
        crowd.leave()
        site.until(lambda: site.process.num_fds() <= site.descriptors, "descriptors are not given back")
    # The memory of the first crowd served the second one.
    assert grown[1] - grown[0] < MEMORY_LEFT_BYTES
    left = site.resident()
    print(f"resident with the crowd {grown[1] >> 20} MB, after it {left >> 20} MB")
    assert work(site.worker()) > 0


def test_those_who_stay_while_others_come_and_go(site: Site) -> None:
    """Sockets come and go as fast as they can; whoever stays is served to the end."""
    staying = site.crowd()
    staying.open(500, 2)
    for _ in range(5):
        crowd = site.crowd()
        crowd.open(1_000, 1)
        crowd.leave()
    staying.ask_all()
    site.until(lambda: site.process.num_fds() <= site.descriptors + 500, "descriptors are not given back")
    staying.leave()
