"""Message channels to and from a queue manager with copies, whose leaders are killed: nothing lost, nothing twice."""

from __future__ import annotations

import getpass
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from tests.free_ports import free_port
from tests.world.replica.replica_group import NAME, ReplicaGroup, wait_until

import ostler
from ostler.cli.demo.applications import Applications
from ostler.cli.demo.failover_account import FailoverAccount
from ostler.client.link.control import NotRunningError, control
from ostler.model.errors import MQError
from ostler.server.config.directories import QueueManagerDirectory
from ostler.server.config.qm_ini import LogSection
from ostler.server.queue_manager import create_queue_manager

pytestmark = [pytest.mark.stress, pytest.mark.timeout(900)]

OTHER = "QM2"
AWAY = "AWAY"  # a remote queue: its messages go over the channel
ARRIVED = "ARRIVED"
FAILOVERS = 5


class Partner:
    """A queue manager without copies, in a process of its own."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self.port = free_port()
        self.directory = QueueManagerDirectory(root, OTHER)
        create_queue_manager(root, OTHER, LogSection(primary_files=3, secondary_files=2, file_pages=1024))
        program = [sys.executable, "-m", "ostler.cli.strmqm", "--root", str(root), "--name", OTHER, "--pipe", "-1"]
        with open(root / "output", "ab") as output:
            self._process = subprocess.Popen(program, stdout=output, stderr=output)
        wait_until(self._answers, lambda: f"{OTHER} does not start: {(root / 'output').read_text()}")

    def _answers(self) -> bool:
        try:
            list(control(self.directory, "status"))
        except (NotRunningError, MQError):
            return False
        return True

    def connect(self) -> ostler.Connection:
        return ostler.connect(OTHER, data=self._root, binding="local")

    def close(self) -> None:
        self._process.kill()
        self._process.wait()


def define(directory: QueueManagerDirectory, port: int, own: str, other: str, places: str) -> None:
    """Define a channel in each direction, and the queues that messages go to and come from."""
    user = getpass.getuser()
    commands = (
        "ALTER QMGR CHLAUTH(DISABLED) CONNAUTH('')\nREFRESH SECURITY TYPE(CONNAUTH)\n"
        f"DEFINE QLOCAL({ARRIVED}) MAXDEPTH(999999999) DEFPSIST(YES)\n"
        f"DEFINE QLOCAL({other}) USAGE(XMITQ) MAXDEPTH(999999999) TRIGGER TRIGTYPE(FIRST) "
        f"INITQ(SYSTEM.CHANNEL.INITQ) TRIGDATA({own}.{other})\n"
        f"DEFINE QREMOTE({AWAY}) RNAME({ARRIVED}) RQMNAME({other}) XMITQ({other}) DEFPSIST(YES)\n"
        f"DEFINE CHANNEL({own}.{other}) CHLTYPE(SDR) TRPTYPE(TCP) CONNAME('{places}') XMITQ({other}) "
        "SHORTTMR(1) SHORTRTY(999999999) HBINT(5)\n"
        f"DEFINE CHANNEL({other}.{own}) CHLTYPE(RCVR) TRPTYPE(TCP) MCAUSER('{user}')\n"
        f"DEFINE LISTENER(MCA) TRPTYPE(TCP) CONTROL(QMGR) IPADDR('127.0.0.1') PORT({port})\n"
        "START LISTENER(MCA)\n"
    )
    lines = [str(each.get("line", "")) for each in control(directory, "mqsc", text=commands)]
    assert not [line for line in lines if line.startswith("AMQ") and line[7:8] == "E"], lines


class Direction:
    """Applications at both ends of a channel, and what they were told."""

    def __init__(self, put_at: Callable[[], ostler.Connection], get_at: Callable[[], ostler.Connection]) -> None:
        self.account = FailoverAccount()
        self._putters = Applications(put_at, AWAY, self.account, 2, 0)
        self._getters = Applications(get_at, ARRIVED, self.account, 0, 2)

    def wait_for_gets(self, count: int, group: ReplicaGroup) -> None:
        target = self.account.gets + count
        wait_until(lambda: self.account.gets >= target, lambda: f"nothing arrives:\n{group.describe()}")

    def finish(self, group: ReplicaGroup) -> None:
        """Stop putting; all that was acknowledged arrives, once."""
        self._putters.stop()

        def lost() -> tuple[str, ...]:
            return self.account.judge(Counter()).lost

        wait_until(lambda: lost() == (), lambda: f"{len(lost())} do not arrive: {lost()[:5]}\n{group.describe()}")
        time.sleep(1.0)  # for those that come twice
        self._getters.stop()
        assert self.account.judge(self._getters.messages_left()).sentences == []


@pytest.fixture
def group(tmp_path: Path) -> Iterator[ReplicaGroup]:
    (tmp_path / "group").mkdir()
    made = ReplicaGroup(tmp_path / "group")
    made.start()
    yield made
    made.close()


@pytest.fixture
def partner(tmp_path: Path) -> Iterator[Partner]:
    (tmp_path / "partner").mkdir()
    made = Partner(tmp_path / "partner")
    yield made
    made.close()


def test_channels_live_through_failovers_of_either_end(group: ReplicaGroup, partner: Partner) -> None:
    """The queue manager with copies is the sender of one channel and the receiver of the other."""
    group.prepare()
    port = free_port()
    places = ",".join(f"{group.host(each)}({port})" for each in group.instances)
    define(group.directory(group.wait_for_leader()), port, NAME, OTHER, f"127.0.0.1({partner.port})")
    define(partner.directory, partner.port, OTHER, NAME, places)
    group.wait_until_in_sync(3)
    directions = [Direction(group.connect, partner.connect), Direction(partner.connect, group.connect)]
    for number in range(FAILOVERS):
        for each in directions:
            each.wait_for_gets(50, group)
        leader = group.wait_for_leader()
        if number % 2:
            group.end(leader, switch_over=True)
        else:
            group.kill(leader)
        group.wait_for_leader(leader)
        for each in directions:
            each.wait_for_gets(50, group)
        group.start(leader)
        group.wait_until_in_sync(3)
    for each in directions:
        each.finish(group)
    total = sum(each.account.puts for each in directions)
    print(f"\n{FAILOVERS} failovers: {total} messages were put at one end and got at the other, once each")
