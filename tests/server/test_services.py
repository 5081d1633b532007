"""Services: real programs, started and ended."""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from ostler.command.admin.context import CommandRefused
from ostler.command.mqsc.interpreter import run_command
from ostler.model.attributes import ObjectType, from_text, require
from ostler.model.definitions import Definition, new_definition
from ostler.server.admin.command_context import ServerCommandContext
from ostler.server.assembly import Server
from ostler.server.config.qm_ini import LogSection
from ostler.server.config.variables import read_variables
from ostler.server.queue_manager import QueueManager, create_queue_manager
from ostler.server.services import Services, substitute_inserts

WAIT_SECONDS = 60
SLEEPING = "import sys,time; sys.stdout.write('up '+' '.join(sys.argv[1:])); sys.stdout.flush(); time.sleep(600)"


class Noted:
    """What the queue manager was told, and a way to wait for it."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self._changed = threading.Condition()

    def __call__(self, text: str) -> None:
        with self._changed:
            self.lines.append(text)
            self._changed.notify_all()

    def wait_for(self, part: str) -> str:
        with self._changed:
            assert self._changed.wait_for(lambda: any(part in line for line in self.lines), WAIT_SECONDS), self.lines
        return next(line for line in self.lines if part in line)


def service(name: str = "S1", **given: str) -> Definition:
    kind = ObjectType.SERVICE
    return new_definition(kind, name, {key: from_text(require(kind, key), value) for key, value in given.items()})


def python(code: str, arguments: str = "") -> dict[str, str]:
    return {"STARTCMD": sys.executable, "STARTARG": f'-c "{code}" {arguments}'}


@pytest.fixture
def noted() -> Noted:
    return Noted()


@pytest.fixture
def services(tmp_path: Path, noted: Noted) -> Iterator[Services]:
    data = tmp_path / "qmgrs" / "QM1"
    data.mkdir(parents=True)
    services = Services("QM1", data, tmp_path, noted)
    yield services
    for each in services.status():
        os.killpg(each.process_id, 9)


def test_a_server_runs_until_its_stop_command(services: Services, noted: Noted, tmp_path: Path) -> None:
    one = service(
        SERVTYPE="SERVER",
        STOPCMD=sys.executable,
        STOPARG='-c "import os,sys; os.kill(int(sys.argv[1]), 15)" +MQ_SERVER_PID+',
        STDOUT="+MQ_Q_MGR_DATA_PATH+/out.txt",
        **python(SLEEPING, "+QMNAME+ +MQ_SERVICE_NAME+"),
    )
    services.start(one)
    status = services.status()[0]
    assert (status.name, status.status) == ("S1", "RUNNING")
    assert status.process_id > 0
    with pytest.raises(CommandRefused) as refused:
        services.start(one)
    assert refused.value.number == "AMQ8737W"
    services.stop(one)
    assert noted.wait_for("AMQ5029I").startswith("AMQ5029I: The server S1 has ended")
    assert services.status() == []
    with pytest.raises(CommandRefused) as refused:
        services.stop(one)
    assert refused.value.number == "AMQ8738W"


def test_what_is_inserted_and_where_output_goes(services: Services, noted: Noted, tmp_path: Path) -> None:
    data = tmp_path / "qmgrs" / "QM1"
    (tmp_path / "service.env").write_text("WORD=all\nOTHER=everywhere\n# none\n")
    (data / "service.env").write_text("WORD=two words\n")
    code = "import os,sys; print(sys.argv[1:], os.environ['WORD'], os.environ['OTHER']); print('no', file=sys.stderr)"
    services.start(
        service(
            STDOUT="out.txt",
            STDERR="+MQ_DATA_PATH+err.txt",
            **python(code, "+QMNAME+ +WORD+ +MQ_SERVER_PID+ +UNKNOWN+ 'a b' ;true $HOME"),
        )
    )
    noted.wait_for("AMQ5031I")
    assert (data / "out.txt").read_text() == (
        "['QM1', 'two words', '0', '+UNKNOWN+', 'a b', ';true', '$HOME'] two words everywhere\n"
    )
    assert (tmp_path / "err.txt").read_text() == "no\n"
    assert services.status() == []  # a command has no status


def test_services_get_a_few_variables_and_no_passwords(
    services: Services, noted: Noted, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("MQ_APP_PASSWORD", "OSTLER_PASSWORD", "DB_SECRET", "NOTIFY_SOCKET", "ANYTHING"):
        monkeypatch.setenv(name, "not for services")
    for name in ("MQCHLLIB", "OSTLER_DATA", "LC_TIME", "TZ"):
        monkeypatch.setenv(name, "for services")
    data = tmp_path / "qmgrs" / "QM1"
    (data / "service.env").write_text("DB_SECRET=said on purpose\n")
    services.start(service(STDOUT="out.txt", **python("import os; [print(*each) for each in os.environ.items()]")))
    noted.wait_for("AMQ5031I")
    told = dict(line.split(" ", 1) for line in (data / "out.txt").read_text().splitlines())
    assert "not for services" not in told.values()
    assert {name for name, value in told.items() if value == "for services"} == {
        "MQCHLLIB",
        "OSTLER_DATA",
        "LC_TIME",
        "TZ",
    }
    assert told["DB_SECRET"] == "said on purpose"
    assert told["PATH"] == os.environ["PATH"]


def test_output_is_added_to_what_is_there(services: Services, noted: Noted, tmp_path: Path) -> None:
    one = service(STDOUT="out.txt", **python("print(1)"))
    services.start(one)
    noted.wait_for("AMQ5031I")
    noted.lines.clear()
    services.start(one)
    noted.wait_for("AMQ5031I")
    assert (tmp_path / "qmgrs" / "QM1" / "out.txt").read_text() == "1\n1\n"


@pytest.mark.parametrize(
    ("given", "number"),
    [
        ({}, "AMQ8740E"),
        ({"STARTCMD": "/there/is/no/such/program"}, "AMQ8734E"),
        ({"STARTCMD": sys.executable, "STARTARG": "'open"}, "AMQ8734E"),
        ({"STARTCMD": sys.executable, "STDOUT": "/there/is/no/such/directory/out"}, "AMQ8734E"),
    ],
)
def test_what_cannot_start(services: Services, given: dict[str, str], number: str) -> None:
    with pytest.raises(CommandRefused) as refused:
        services.start(service(SERVTYPE="SERVER", **given))
    assert refused.value.number == number
    assert services.status() == []


def test_a_server_without_a_stop_command_cannot_be_stopped(services: Services) -> None:
    one = service(SERVTYPE="SERVER", **python(SLEEPING))
    services.start(one)
    with pytest.raises(CommandRefused) as refused:
        services.stop(one)
    assert refused.value.number == "AMQ8739E"
    assert [each.status for each in services.status()] == ["RUNNING"]


def test_with_the_queue_manager(services: Services, noted: Noted) -> None:
    both = service("BOTH", CONTROL="QMGR", SERVTYPE="SERVER", **python(SLEEPING))
    started = service("STARTED", CONTROL="STARTONLY", SERVTYPE="SERVER", **python(SLEEPING))
    manual = service("MANUAL", CONTROL="MANUAL", SERVTYPE="SERVER", **python(SLEEPING))
    broken = service("BROKEN", CONTROL="QMGR", SERVTYPE="SERVER", STARTCMD="/there/is/no/such/program")
    everyone = [broken, both, started, manual]
    services.start_all(everyone)
    assert [each.name for each in services.status()] == ["BOTH", "STARTED"]
    assert any(line.startswith("AMQ8734E") for line in noted.lines)
    services.stop_all(everyone)
    assert [each.name for each in services.status()] == ["STARTED"]


def test_an_end_in_a_hurry_does_not_wait_for_services(
    services: Services, noted: Noted, monkeypatch: pytest.MonkeyPatch
) -> None:
    """endmqm -t, or a sharper endmqm, while a service does not heed its STOPCMD: it is ended by signals."""
    monkeypatch.setattr("ostler.server.services._STOP_SECONDS_MAX", 3600.0)
    server = service(**python(SLEEPING), STOPCMD="/bin/true", CONTROL="QMGR", SERVTYPE="SERVER")
    services.start(server)
    left = iter((60.0, 60.0))
    services.stop_all([server], lambda: next(left, 0.0))
    noted.wait_for("AMQ5029I: The server S1 has ended")
    assert next(left, None) is None, "it was asked again and again how much time there is"


def test_variables_and_inserts() -> None:
    assert substitute_inserts("+A+ + A+B+A+", {"A": "1"}) == "1 + A+B1"
    assert read_variables(Path("there is no such file")) == {}


def test_a_service_lives_with_its_queue_manager(tmp_path: Path) -> None:
    directory = create_queue_manager(tmp_path, "HOST", LogSection(primary_files=3, file_pages=64))
    manager = QueueManager(directory)
    manager.start()
    manager.define(service("S1", CONTROL="QMGR", SERVTYPE="SERVER", **python(SLEEPING)))
    server = Server(manager)
    server.start()
    try:
        target = ServerCommandContext(server)
        lines = list(run_command(target, "DISPLAY SVSTATUS(S1)"))
        status = target.service_status()[0]
        assert f"PID({status.process_id})" in " ".join(lines)
        assert psutil.pid_exists(status.process_id)
        assert next(iter(run_command(target, "START SERVICE(S1)"))).startswith("AMQ8737W: ")
        assert next(iter(run_command(target, "STOP SERVICE(S1)"))).startswith("AMQ8739E: ")
    finally:
        server.end("immediate")
    assert target.service_status() == []
    assert not psutil.pid_exists(status.process_id)
