"""crtmqm and dltmqm: every option, every exit status."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.cli.conftest import SMALL_LOG, Command

from ostler.model.attributes import ObjectType
from ostler.model.constants import MQSVC_CONTROL_Q_MGR
from ostler.server.config.default_manager import default_name
from ostler.server.config.directories import QueueManagerDirectory
from ostler.server.config.qm_ini import LogManagement, LogSection, LogType, QueueManagerIni
from ostler.server.queue_manager import QueueManager


def log_of(directory: QueueManagerDirectory) -> LogSection:
    return QueueManagerIni.read(directory.ini).settings.log


def test_a_new_queue_manager_is_there(ostler: Command, directory: QueueManagerDirectory) -> None:
    done = ostler("crtmqm", *SMALL_LOG, "QM1")
    assert done.status == 0
    assert done.out.startswith("AMQ8001I: Queue manager QM1 created.\n")
    assert directory.exists()
    assert log_of(directory).type is LogType.CIRCULAR
    assert default_name(directory.root) == ""


def test_z_says_nothing(ostler: Command) -> None:
    done = ostler("crtmqm", "-z", *SMALL_LOG, "QM1")
    assert (done.status, done.out, done.err) == (0, "", "")


def test_a_second_one_of_that_name_exits_8(ostler: Command) -> None:
    ostler("crtmqm", *SMALL_LOG, "QM1")
    done = ostler("crtmqm", *SMALL_LOG, "QM1")
    assert done.status == 8
    assert done.err.startswith("AMQ8110E")


@pytest.mark.parametrize("name", ["QM 1", "Q" * 49, "QM*", "ÄPFEL"])
def test_what_is_no_name_exits_72(ostler: Command, data: Path, name: str) -> None:
    done = ostler("crtmqm", name)
    assert done.status == 72
    assert done.err.startswith("AMQ7049E")
    assert not data.exists()


def test_attributes_are_taken(ostler: Command, directory: QueueManagerDirectory) -> None:
    given = ["-c", "our first", "-d", "XMITQ", "-u", "DLQ", "-h", "500", "-t", "1000", "-x", "77"]
    assert ostler("crtmqm", *given, *SMALL_LOG, "QM1").status == 0
    with QueueManager(directory) as manager:
        manager.start()
        attributes = manager.engine.manager.attributes
    wanted = {
        "DESCR": "our first",
        "DEFXMITQ": "XMITQ",
        "DEADQ": "DLQ",
        "MAXHANDS": 500,
        "TRIGINT": 1000,
        "MAXUMSGS": 77,
    }
    assert {name: attributes[name] for name in wanted} == wanted


@pytest.mark.parametrize(
    "given", [("-h", "many"), ("-h", "9999999999"), ("-x", "0"), ("-u", "no such*name"), ("-c", "x" * 65), ("-q1",)]
)
def test_wrong_values_exit_39_and_leave_nothing(ostler: Command, data: Path, given: tuple[str, ...]) -> None:
    done = ostler("crtmqm", *given, "QM1")
    assert done.status == 39
    assert done.err
    assert not data.exists()


@pytest.mark.parametrize(
    ("option", "kind", "management"),
    [
        ("-lc", LogType.CIRCULAR, LogManagement.MANUAL),
        ("-ll", LogType.LINEAR, LogManagement.MANUAL),
        ("-lla", LogType.LINEAR, LogManagement.AUTOMATIC),
        ("-lln", LogType.LINEAR, LogManagement.ARCHIVE),
    ],
)
def test_kinds_of_log(
    ostler: Command, directory: QueueManagerDirectory, option: str, kind: LogType, management: LogManagement
) -> None:
    assert ostler("crtmqm", option, *SMALL_LOG, "QM1").status == 0
    log = log_of(directory)
    assert (log.type, log.management) == (kind, management)
    assert (log.file_pages, log.primary_files, log.secondary_files) == (64, 2, 1)


def test_one_kind_of_log_at_a_time(ostler: Command) -> None:
    assert ostler("crtmqm", "-lc", "-ll", "QM1").status == 39


@pytest.mark.parametrize(
    "given", [("-lf", "63"), ("-lf", "65536"), ("-lp", "1"), ("-ls", "0"), ("-lp", "400", "-ls", "200")]
)
def test_logs_that_cannot_be_exit_115(ostler: Command, data: Path, given: tuple[str, ...]) -> None:
    done = ostler("crtmqm", *given, "QM1")
    assert done.status == 115
    assert done.err.startswith("AMQ7073E")
    assert not data.exists()


def test_a_log_elsewhere_is_made_and_deleted_with_its_queue_manager(
    ostler: Command, directory: QueueManagerDirectory, tmp_path: Path
) -> None:
    logs = tmp_path / "logs"
    assert ostler("crtmqm", "-ld", str(logs), *SMALL_LOG, "QM1").status == 0
    assert (logs / "QM1").is_dir()
    assert log_of(directory).path == str(logs)
    assert ostler("dltmqm", "QM1").status == 0
    assert not (logs / "QM1").exists()


def test_a_log_path_that_is_taken_or_impossible_exits_100(ostler: Command, data: Path, tmp_path: Path) -> None:
    (tmp_path / "logs" / "QM1").mkdir(parents=True)
    assert ostler("crtmqm", "-ld", str(tmp_path / "logs"), "QM1").status == 100
    (tmp_path / "file").write_text("not a directory")
    done = ostler("crtmqm", "-ld", str(tmp_path / "file"), "QM1")
    assert done.status == 100
    assert done.err.startswith("AMQ7064E")
    assert ostler("dspmq").out == ""


def test_p_makes_a_listener_that_starts_with_the_queue_manager(
    ostler: Command, directory: QueueManagerDirectory
) -> None:
    done = ostler("crtmqm", "-p", "1515", *SMALL_LOG, "QM1")
    assert done.status == 0
    assert "127.0.0.1(1515)" in done.out
    with QueueManager(directory) as manager:
        manager.start()
        listener = manager.engine.definitions[ObjectType.LISTENER]["SYSTEM.LISTENER.TCP.1"].attributes
    assert (listener["PORT"], listener["IPADDR"], listener["CONTROL"]) == (1515, "127.0.0.1", MQSVC_CONTROL_Q_MGR)


def test_the_listener_of_p_listens_where_it_is_told_to(ostler: Command, directory: QueueManagerDirectory) -> None:
    assert ostler("crtmqm", "-p", "1515", "--address", "*", *SMALL_LOG, "QM1").status == 0
    with QueueManager(directory) as manager:
        manager.start()
        listener = manager.engine.definitions[ObjectType.LISTENER]["SYSTEM.LISTENER.TCP.1"].attributes
    assert listener["IPADDR"] == "*"  # blank is this machine alone


@pytest.mark.parametrize("port", ["0", "65536", "http"])
def test_ports_that_are_none_exit_39(ostler: Command, port: str) -> None:
    assert ostler("crtmqm", "-p", port, "QM1").status == 39


REFUSED = [
    *[[option] for option in ("-sa", "-sax", "-sd", "-si", "-ss")],
    *[[option, "x"] for option in ("-a", "-g", "-md", "-ic", "-ii", "-iv", "-rr", "-rt", "-rl", "-ri", "-rn", "-rp")],
]


@pytest.mark.parametrize("given", REFUSED, ids=lambda given: given[0])
def test_options_without_a_meaning_here_are_refused_with_the_reason(
    ostler: Command, data: Path, given: list[str]
) -> None:
    done = ostler("crtmqm", *given, "QM1")
    assert done.status == 39
    assert done.err.startswith(f"AMQ5203E: {given[0]} cannot be used here: ")
    assert not data.exists()


def test_authorities_are_those_of_users_too(ostler: Command, data: Path) -> None:
    refused = ostler("crtmqm", "-oa", "group", *SMALL_LOG, "QM1")
    assert refused.status == 39
    assert refused.err.startswith("AMQ5203E: -oa group cannot be used here: users have authorities of their own")
    assert not data.exists()
    assert ostler("crtmqm", "-oa", "user", *SMALL_LOG, "QM1").status == 0


def test_q_makes_it_the_default_and_deleting_it_leaves_none(ostler: Command, data: Path) -> None:
    assert ostler("crtmqm", "-q", *SMALL_LOG, "QM1").status == 0
    assert default_name(data) == "QM1"
    ostler("crtmqm", *SMALL_LOG, "QM2")
    assert default_name(data) == "QM1"
    assert ostler("dltmqm", "QM1").status == 0
    assert default_name(data) == ""


def test_a_default_that_cannot_be_written_exits_111_and_112(ostler: Command, data: Path) -> None:
    data.mkdir()
    (data / "mqs.ini").write_text("nonsense\n")
    done = ostler("crtmqm", "-q", *SMALL_LOG, "QM1")
    assert done.status == 111
    assert "is done, but" in done.err
    assert ostler("dltmqm", "QM1").status == 112


def test_dltmqm_removes_it(ostler: Command, directory: QueueManagerDirectory) -> None:
    ostler("crtmqm", *SMALL_LOG, "QM1")
    done = ostler("dltmqm", "QM1")
    assert (done.status, done.out) == (0, "AMQ8002I: Queue manager QM1 deleted.\n")
    assert not directory.path.exists()


def test_dltmqm_with_z_is_quiet(ostler: Command) -> None:
    ostler("crtmqm", "-z", *SMALL_LOG, "QM1")
    assert ostler("dltmqm", "-z", "QM1").out == ""


def test_dltmqm_of_an_unknown_one_exits_16(ostler: Command) -> None:
    done = ostler("dltmqm", "NOPE")
    assert done.status == 16
    assert done.err.startswith("AMQ8118E")


def test_dltmqm_of_a_running_one_exits_5(ostler: Command, directory: QueueManagerDirectory) -> None:
    ostler("crtmqm", *SMALL_LOG, "QM1")
    with QueueManager(directory) as manager:
        manager.start()
        done = ostler("dltmqm", "QM1")
        assert done.status == 5
        assert "End it first" in done.err
    assert directory.exists()


def test_help_is_told_for_crtmqm_although_h_is_something_else(ostler: Command) -> None:
    done = ostler("crtmqm", "--help")
    assert done.status == 0
    assert "-lf PAGES" in done.out
