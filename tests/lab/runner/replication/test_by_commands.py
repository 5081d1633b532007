"""What the laboratory reads from commands about copies, and from inside a queue manager that leads."""

from __future__ import annotations

import json
import shutil
import urllib.request
from pathlib import Path

import psutil
import pytest

from ostler.lab.peers.packages import PeerUnavailable
from ostler.lab.runner.queue_managers.plan import QueueManagerPlan
from ostler.lab.runner.queue_managers.process import LabQueueManager
from ostler.lab.runner.replication import etcd, leader_metrics
from ostler.lab.runner.replication.by_commands import fields_of

SHOWN = """\
QMNAME(LAB@alpha)       ROLE(Active) INSTANCE(alpha) INSYNC(yes) QUORUM(2/2) GRPLSN(<0:0:1:9>) GRPNAME(LABHERE)
 INSTANCE(alpha) ROLE(Active) REPLADDR(127.0.0.1(4441)) CONNACTV(yes) INSYNC(yes) BACKLOG(0) CONNINST(yes) ALTDATE()
 INSTANCE(beta) ROLE(Replica) REPLADDR(127.0.0.1(4442)) CONNACTV(yes) INSYNC(no) BACKLOG(12) CONNINST(yes) ALTDATE()
 GRPNAME(LABTHERE) GRPROLE(Recovery) GRSTATUS(Normal) CONNGRP(yes) BACKLOG(Unknown) RCOVLSN(<0:0:0:0>)

"""


def test_fields_of_dspmq() -> None:
    manager, alpha, beta, there = fields_of(SHOWN)
    assert (manager["ROLE"], manager["QUORUM"]) == ("Active", "2/2")
    assert (alpha["INSTANCE"], alpha["INSYNC"]) == ("alpha", "yes")
    assert (beta["ROLE"], beta["INSYNC"], beta["BACKLOG"]) == ("Replica", "no", "12")
    assert beta["REPLADDR"].startswith("127.0.0.1(4442")
    assert (there["GRPNAME"], there["BACKLOG"]) == ("LABTHERE", "Unknown")
    assert beta["ALTDATE"] == ""


def test_counters_are_those_that_the_queue_manager_has(tmp_path: Path) -> None:
    """Read by a function inside it, as of one that strmqm has started."""
    with LabQueueManager(tmp_path / "data", QueueManagerPlan(commands=("DEFINE QLOCAL(LAB.REQUEST.0)",))) as manager:
        path = tmp_path / "metrics.json"
        manager.call_trusted(leader_metrics.TARGET, manager.name, str(path))
        found = {(source, name) for source, name, _ in json.loads(path.read_text())}
        assert found == {(each.source, each.name) for each in manager.metrics()}
        assert ("queues", "puts") in found
        assert not path.with_name("metrics.json.new").exists()


def test_an_etcd_of_our_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    if shutil.which("etcd") is None:
        with pytest.raises(PeerUnavailable, match="apt-get install etcd-server"):
            etcd.start(tmp_path)
        pytest.skip("etcd is not installed")
    started = etcd.start(tmp_path / "etcd")
    (pid,) = started.pids
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{started.port}/version", timeout=20) as answer:
            assert json.load(answer)["etcdserver"] == started.version
        addresses = {each.laddr.ip for each in psutil.Process(pid).net_connections() if each.status == "LISTEN"}
        assert addresses == {"127.0.0.1"}
    finally:
        started.end()
    assert not psutil.pid_exists(pid)
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(PeerUnavailable, match="etcd is not installed"):
        etcd.start(tmp_path / "none")
