"""Queue managers of the laboratory: started, asked for figures, given commands, ended, killed and started again."""

from __future__ import annotations

import contextlib
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from ostler.client.api.connection import Connection, connect
from ostler.client.locate.connect_parameters import TlsSettings
from ostler.lab.runner.contract import PointFailed, RunAborted
from ostler.lab.runner.queue_managers.plan import CHANNEL, QueueManagerPlan, pair_commands
from ostler.lab.runner.queue_managers.process import LabQueueManager
from ostler.lab.store.roles import QUEUE_MANAGER
from ostler.model.errors import MQError
from ostler.server.config.qm_ini import LogSection

SMALL = LogSection(primary_files=2, secondary_files=1, file_pages=64)
PLAN = QueueManagerPlan(log=SMALL, commands=pair_commands(1))


@pytest.fixture(scope="module")
def manager(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LabQueueManager]:
    with LabQueueManager(tmp_path_factory.mktemp("plain"), PLAN) as running:
        yield running


def client(manager: LabQueueManager, tls: TlsSettings | None = None, application: str = "") -> Connection:
    host, port = manager.address
    return connect("", f"{host}({port})", channel=CHANNEL, tls=tls, application=application or None)


def counted(manager: LabQueueManager) -> dict[str, float]:
    return {f"{each.source} {each.name}": each.value for each in manager.metrics()}


def put_and_get(manager: LabQueueManager, count: int, persistent: bool = False, queue: str = "LAB.REQUEST.0") -> None:
    with client(manager) as connection, connection.open(queue, "rw") as opened:
        for _ in range(count):
            opened.put(b"x" * 100, persistent=persistent)
            assert opened.get() is not None


def test_it_counts_what_clients_do(manager: LabQueueManager) -> None:
    before = counted(manager)
    put_and_get(manager, 3, persistent=True)
    after = counted(manager)
    grown = {name: after[name] - before[name] for name in after}
    assert grown["queue-manager puts"] == grown["queue-manager gets"] == 3
    assert grown["queue-manager put_bytes"] == grown["queues get_bytes"] == 300
    assert grown["queues puts"] == grown["queues gets"] == 3
    assert grown["queue-manager connections"] == 1
    assert 1 <= grown["log forces"] <= grown["log writes"] * 2
    assert grown["log written_bytes"] >= grown["log logical_bytes"] > 300
    assert grown["log force_us"] > 0


def test_asking_for_figures_changes_none(manager: LabQueueManager) -> None:
    """It may still be at work for those who have gone. When it is at rest, asking leaves figures as they are."""
    assert any(counted(manager) == counted(manager) for _ in range(100))


def test_it_takes_commands(manager: LabQueueManager) -> None:
    manager.mqsc("DEFINE QLOCAL(LAB.EXTRA)\nALTER QLOCAL(LAB.EXTRA) MAXDEPTH(7)")
    assert any("MAXDEPTH(7)" in line for line in manager.mqsc("DISPLAY QLOCAL(LAB.EXTRA) MAXDEPTH"))
    with pytest.raises(PointFailed, match="AMQ8147E"):
        manager.mqsc("DELETE QLOCAL(LAB.NONE)")


def test_it_is_watched_by_thread(manager: LabQueueManager) -> None:
    watched = manager.watched()[0]
    assert (watched.role, watched.pid, watched.by_thread) == (QUEUE_MANAGER, manager.pid, True)
    assert manager.is_alive
    assert manager.authority_file == ""


def test_a_refused_command_does_not_start_it(tmp_path: Path) -> None:
    plan = QueueManagerPlan(log=SMALL, commands=("DEFINE QLOCAL(LAB.A) MAXDEPTH(-1)",))
    with pytest.raises(RunAborted, match=r"LAB does not start: .*AMQ8405I"):
        LabQueueManager(tmp_path, plan)


def test_stanzas_that_are_not_allowed_do_not_start_it(tmp_path: Path) -> None:
    plan = QueueManagerPlan(log=SMALL, stanzas={"TuningParameters": {"DefaultQBufferSize": "1"}})
    with pytest.raises(RunAborted, match="DefaultQBufferSize=1 is not allowed"):
        LabQueueManager(tmp_path, plan)


def test_stanzas_and_log_directory_are_in_its_configuration(tmp_path: Path) -> None:
    log = tmp_path / "elsewhere"
    stanzas = {"TuningParameters": {"DefaultQBufferSize": "10485760"}}
    plan = QueueManagerPlan("LAB2", SMALL, str(log), stanzas=stanzas)
    with LabQueueManager(tmp_path / "data", plan) as running:
        text = running.directory.ini.read_text()
        assert "DefaultQBufferSize=10485760" in text
        assert list(log.glob("LAB2/**/S000*"))


def test_killed_it_comes_back_with_what_was_promised(tmp_path: Path) -> None:
    first = LabQueueManager(tmp_path, PLAN)
    with client(first) as connection, connection.open("LAB.REQUEST.0", "w") as queue:
        queue.put(b"kept", persistent=True)
    first.kill()
    assert not first.is_alive
    with pytest.raises(PointFailed, match="LAB ended with status -9"):
        first.metrics()
    with first.start_again() as second:
        assert second.address == first.address
        assert second.restart.messages == 1
        assert 0 < second.restart.seconds < second.start_seconds
        with client(second) as connection, connection.open("LAB.REQUEST.0", "r") as queue:
            message = queue.get()
            assert message is not None
            assert message.body == b"kept"


def test_a_port_that_is_taken_is_not_used(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with LabQueueManager(tmp_path, PLAN, port) as running:
            assert running.address[1] != port
            put_and_get(running, 1)


def test_only_what_has_ended_starts_again(manager: LabQueueManager) -> None:
    with pytest.raises(ValueError, match="still runs"):
        manager.start_again()


@pytest.mark.parametrize(
    "specs",
    [
        ("ECDHE_ECDSA_AES_256_CBC_SHA384", "ECDHE_ECDSA_AES_256_GCM_SHA384"),
        (
            "TLS_RSA_WITH_AES_256_CBC_SHA256",
            "TLS_RSA_WITH_AES_256_GCM_SHA384",
            "ECDHE_RSA_AES_256_CBC_SHA384",
            "ECDHE_RSA_AES_256_GCM_SHA384",
        ),
    ],
    ids=["ECDSA", "RSA"],
)
def test_clients_come_in_by_each_cipher_spec(specs: tuple[str, ...], tmp_path: Path) -> None:
    plan = QueueManagerPlan(log=SMALL, commands=pair_commands(1), cipher_spec=specs[0])
    with LabQueueManager(tmp_path, plan) as running:
        for spec in specs:
            running.mqsc(f"ALTER CHANNEL({CHANNEL}) CHLTYPE(SVRCONN) SSLCIPH({spec})")
            with client(running, TlsSettings(spec, ca_file=running.authority_file)) as connection:
                connection.put("LAB.REQUEST.0", b"secret")
        assert counted(running)["queues puts"] == len(specs)
        with pytest.raises(MQError):
            client(running)


def test_accounts_are_rows(tmp_path: Path) -> None:
    plan = QueueManagerPlan(log=SMALL, commands=pair_commands(1), is_accounting=True)
    with LabQueueManager(tmp_path, plan) as running:
        put_and_get(running, 5, persistent=True)
        put_and_get(running, 1, queue="LAB.REPLY.0")
        first = running.accounting()
        put_and_get(running, 2)
        second = running.accounting()
    found = {(each.source, each.name, each.object, each.position): each.value for each in first}
    assert found["statistics", "MQIStatistics.PutCount", "", 0] == 1
    assert found["statistics", "MQIStatistics.PutCount", "", 1] == 5
    assert found["accounting", "QueueAccounting.PutCount", "LAB.REQUEST.0", 1] == 5
    assert found["accounting", "QueueAccounting.PutCount", "LAB.REPLY.0", 0] == 1
    assert len({(each.source, each.record, each.name, each.position) for each in first}) == len(first)
    later = {(each.source, each.name, each.object, each.position): each.value for each in second}
    assert later["accounting", "QueueAccounting.GetCount", "LAB.REQUEST.0", 0] == 2
    for source in ("statistics", "accounting"):
        before = max(each.record for each in first if each.source == source)
        assert before < min(each.record for each in second if each.source == source)


def test_without_accounting_there_are_no_accounts(manager: LabQueueManager) -> None:
    assert manager.accounting() == []


_ORPHAN = """
import os, sys
from pathlib import Path
from ostler.lab.runner.queue_managers.plan import QueueManagerPlan
from ostler.lab.runner.queue_managers.process import LabQueueManager
from ostler.server.config.qm_ini import LogSection
plan = QueueManagerPlan(log=LogSection(primary_files=2, secondary_files=1, file_pages=64))
print(LabQueueManager(Path(sys.argv[1]), plan).pid, flush=True)
os.kill(os.getpid(), 9)
"""


def test_it_ends_when_the_laboratory_is_killed(tmp_path: Path) -> None:
    done = subprocess.run([sys.executable, "-c", _ORPHAN, str(tmp_path)], capture_output=True, check=False, timeout=60)
    assert done.returncode == -9
    with contextlib.suppress(psutil.NoSuchProcess):
        psutil.Process(int(done.stdout)).wait(30)
    assert not psutil.pid_exists(int(done.stdout))
