"""RecoveryLagMB over a slow line between two real sites: people are told, and with Slow replies wait."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.world.replica.link_relay import LinkRelay
from tests.world.replica.replica_group import QUEUE, wait_until
from tests.world.replica.site_pair import SitePair

pytestmark = pytest.mark.slow

_LIMIT_MB = 4
_SLOW = 1 << 20  # bytes in a second: signs of life come through, and the copy falls behind
_MESSAGE = bytes(200_000)
_TWICE_THE_LIMIT = 2 * (_LIMIT_MB << 20) // len(_MESSAGE)


class Putter:
    """An application at the live site, which puts one persistent message after the other."""

    def __init__(self, pair: SitePair) -> None:
        self.answered = 0
        self._pair = pair
        self._ends = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def _run(self) -> None:
        with self._pair.connect_to("n") as connection, connection.open(QUEUE, "w") as queue:
            while not self._ends.is_set():
                queue.put(_MESSAGE, persistent=True)
                self.answered += 1

    def wait_for(self, count: int) -> None:
        wanted = self.answered + count
        wait_until(
            lambda: self.answered >= wanted, lambda: f"{self.answered} of {wanted} puts:\n{self._pair.describe()}"
        )

    def end(self) -> None:
        self._ends.set()
        self._thread.join(120.0)
        assert not self._thread.is_alive(), "the last put is not answered"


@pytest.fixture
def relay() -> Iterator[LinkRelay]:
    made = LinkRelay(0)
    yield made
    made.close()


def started(root: Path, relay: LinkRelay, action: str) -> SitePair:
    """Two sites with a limit; the copy is complete, and the line is slow from now on."""
    settings = f"   RecoveryLagMB={_LIMIT_MB}\n   RecoveryLagAction={action}\n"
    pair = SitePair(root, settings=settings, relay_port=relay.port)
    relay.target_port = pair.replication_ports["s"]
    pair.start()
    pair.prepare()
    pair.wait_for_copy()
    relay.slow_down(_SLOW)
    return pair


def backlog(pair: SitePair) -> int:
    group = pair.recovery_group("n")
    return group.backlog_bytes if group is not None else -1


def test_tell_lets_applications_go_on_and_tells_when_the_copy_is_back(tmp_path: Path, relay: LinkRelay) -> None:
    pair = started(tmp_path, relay, "Tell")
    try:
        putter = Putter(pair)
        wait_until(lambda: backlog(pair) > 2 * (_LIMIT_MB << 20), lambda: f"{backlog(pair)} bytes:\n{pair.describe()}")
        pair.wait_for_text("n", "AMQ3282W", "Recovery group south is")
        putter.wait_for(10)
        putter.end()
        relay.slow_down(0)
        pair.wait_for_text("n", "AMQ3299I", "Recovery group south is within its limits again")
        pair.wait_for_copy()
    finally:
        pair.close()


def test_slow_lets_replies_wait_for_the_copy(tmp_path: Path, relay: LinkRelay) -> None:
    """What an application was told is at the other site, but for the limit and what one put carries."""
    pair = started(tmp_path, relay, "Slow")
    try:
        putter = Putter(pair)
        putter.wait_for(_TWICE_THE_LIMIT)
        for _ in range(20):
            # The log is offered before it is acknowledged: one put may be on its way.
            assert backlog(pair) <= (_LIMIT_MB << 20) + 2 * len(_MESSAGE)
            putter.wait_for(1)
        relay.slow_down(0)
        putter.wait_for(_TWICE_THE_LIMIT)
        putter.end()
        pair.wait_for_copy()
        assert "AMQ3289W" not in pair.error_text("n"), "replies did not wait all the time"
    finally:
        pair.close()
