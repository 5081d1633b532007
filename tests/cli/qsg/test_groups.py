"""ostler qsg create, add, remove, show and delete: the roll, qm.ini, and what is refused."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.cli.conftest import SMALL_LOG, Command

from ostler.cli.framework.exit_statuses import Status
from ostler.model.coupling.group_rows import BackupRow, MemberRow
from ostler.model.shared_repository import BACKUPS, MEMBERS
from ostler.server.config.directories import InstanceLock, QueueManagerDirectory
from ostler.server.config.qm_ini import QueueManagerIni
from ostler.server.config.sharing_ini import SharingSection
from ostler.server.coupling.group_roll import GroupRoll
from ostler.server.coupling.repository.sqlite_repository import SqliteRepository

FORMS = "is none of these: HOST(PORT), the path of a socket, or redis://HOST:PORT"


def roll(data: Path) -> GroupRoll:
    return GroupRoll("QSG1", SqliteRepository("QSG1", data / "groups" / "QSG1" / "repository.db"))


def section(data: Path, name: str) -> SharingSection | None:
    return QueueManagerIni.read(QueueManagerDirectory(data, name).ini).settings.sharing


@pytest.fixture
def group(ostler: Command) -> Command:
    """A group QSG1 without members, and queue managers QM1 and QM2."""
    for name in ("QM1", "QM2"):
        assert ostler("crtmqm", *SMALL_LOG, name).status == 0
    made = ostler("qsg", "create", "QSG1")
    assert (made.status, made.err) == (0, "")
    assert made.out.startswith("AMQ3871I: Queue-sharing group QSG1 created. Its members start the coupling facility.")
    return ostler


def test_members_get_numbers_that_nobody_had(group: Command, data: Path) -> None:
    said = group("qsg", "add", "QSG1", "QM1")
    assert (said.status, said.out) == (0, "AMQ3872I: Queue manager QM1 is member 1 of queue-sharing group QSG1.\n")
    assert group("qsg", "remove", "QSG1", "QM1").out == (
        "AMQ3873I: Queue manager QM1 is in queue-sharing group QSG1 no longer.\n"
    )
    assert section(data, "QM1") is None
    assert "is member 2 of" in group("qsg", "add", "QSG1", "QM1").out
    assert "is member 3 of" in group("qsg", "add", "QSG1", "QM2").out
    assert [(each.name, each.number) for each in roll(data).members()] == [("QM1", 2), ("QM2", 3)]


def test_the_stanza_and_the_roll_say_where_all_of_it_is(group: Command, data: Path) -> None:
    group("qsg", "add", "QSG1", "QM1")
    facility = data / "facilities" / "QSG1"
    assert section(data, "QM1") == SharingSection(
        "QSG1", str(facility / "cf.sock"), "QSG1", 1, 512, "", "", str(facility)
    )
    directory = QueueManagerDirectory(data, "QM1")
    (member,) = roll(data).members()
    assert (member.level, member.data_directory, member.log_directory) == (940, str(directory.path), str(directory.log))
    assert member.address.endswith(".sock")


def test_shows_members_without_a_facility(group: Command, data: Path) -> None:
    group("qsg", "add", "QSG1", "QM1")
    shown = group("qsg", "show")
    directory = data / "groups" / "QSG1"
    assert (shown.status, shown.out.splitlines()) == (
        0,
        [
            f"QSG(QSG1) MEMBERS(1) REPOSITORY({directory / 'repository.db'}) DIRECTORY({directory})",
            f"   CF(QSG1) STATUS(Ended) ADDRESS({data / 'facilities' / 'QSG1' / 'cf.sock'})",
            "   MEMBER(1) QMNAME(QM1) STATUS(UNKNOWN)",
        ],
    )
    assert group("qsg", "show", "QSG1").out == shown.out


def test_a_group_has_a_directory_and_repository_of_its_own(ostler: Command, data: Path, tmp_path: Path) -> None:
    ostler("crtmqm", *SMALL_LOG, "QM1")
    place = ("--directory", str(tmp_path / "shared"), "--repository", str(tmp_path / "group.db"))
    options = (*place, "--structure-megabytes", "64", "--facility", str(tmp_path / "cf.sock"))
    away = ostler("qsg", "create", "QSG1", *options)
    assert (away.status, "AMQ3875E" in away.err, "No such file" in away.err) == (Status.NOT_AVAILABLE, True, True)
    assert ostler("qsg", "create", "QSG1", *options[:6]).status == 0
    assert ostler("qsg", "add", "QSG1", "QM1").status == 0
    found = section(data, "QM1")
    assert found is not None
    assert (found.directory, found.repository) == (str(tmp_path / "shared"), str(tmp_path / "group.db"))
    assert found.structure_megabytes == 64


def test_another_machine_learns_of_the_group_by_its_first_member(
    group: Command, data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    repository = ("--repository", str(data / "groups" / "QSG1" / "repository.db"))
    monkeypatch.setenv("OSTLER_DATA", str(tmp_path / "other"))
    assert group("crtmqm", *SMALL_LOG, "QM3").status == 0
    unknown = group("qsg", "add", "QSG1", "QM3")
    assert (unknown.status, "AMQ3879E" in unknown.err) == (Status.NAME_ERROR, True)
    assert "is member 1 of" in group("qsg", "add", "QSG1", "QM3", *repository).out
    assert "QMNAME(QM3)" in group("qsg", "show").out
    monkeypatch.setenv("OSTLER_DATA", str(data))
    gone = group("qsg", "remove", "QSG1", "QM3")
    assert (gone.status, "Remove the stanza QueueSharingGroup" in gone.out) == (0, True)


def test_an_add_that_did_not_end_is_done_anew_with_another_number(group: Command, data: Path) -> None:
    group("qsg", "add", "QSG1", "QM1")
    directory = QueueManagerDirectory(data, "QM1")
    ini = QueueManagerIni.read(directory.ini)
    ini.replace_stanzas("QueueSharingGroup", [])
    ini.write(directory.ini)
    assert "is member 2 of" in group("qsg", "add", "QSG1", "QM1").out
    again = group("qsg", "add", "QSG1", "QM1")
    assert (again.status, "it is member 2 of the group already" in again.err) == (Status.EXISTS, True)


def test_a_stanza_written_by_hand_is_taken_over(group: Command, data: Path) -> None:
    group("setmqini", "-m", "QM1", "-s", "Log", "-k", "LogSecondaryFiles", "-v", "1")
    directory = QueueManagerDirectory(data, "QM1")
    ini = QueueManagerIni.read(directory.ini)
    ini.replace_stanzas("QueueSharingGroup", [[("Name", "QSG1"), ("Facility", "/a/cf.sock"), ("MemberNumber", "7")]])
    ini.write(directory.ini)
    assert "is member 7 of" in group("qsg", "add", "QSG1", "QM1").out
    assert "is member 8 of" in group("qsg", "add", "QSG1", "QM2").out


def test_a_queue_manager_that_runs_or_is_elsewhere_is_refused(group: Command, data: Path) -> None:
    with InstanceLock(QueueManagerDirectory(data, "QM1")):
        assert group("qsg", "add", "QSG1", "QM1").status == Status.RUNNING
    assert group("qsg", "create", "QSG2").status == 0
    group("qsg", "add", "QSG2", "QM2")
    other = group("qsg", "add", "QSG1", "QM2")
    assert (other.status, "it is in group QSG2." in other.err) == (Status.EXISTS, True)
    group("qsg", "add", "QSG1", "QM1")
    with InstanceLock(QueueManagerDirectory(data, "QM1")):
        assert group("qsg", "remove", "QSG1", "QM1").status == Status.RUNNING
    stranger = group("qsg", "remove", "QSG1", "QM2")
    assert (stranger.status, "it is no member of the group" in stranger.err) == (Status.DOES_NOT_EXIST, True)


def test_a_log_that_recovery_needs_is_removed_by_force_only(group: Command, data: Path) -> None:
    group("qsg", "add", "QSG1", "QM1")
    backup = BackupRow("APP1", 1, "QM1", 1, 2, "00", 1, 2)
    roll(data).repository.write(BACKUPS, "APP1", backup.encode(), None)
    refused = group("qsg", "remove", "QSG1", "QM1")
    assert (refused.status, "the last backup of APP1 is in its log" in refused.err) == (Status.OBJECT_IN_USE, True)
    forced = group("qsg", "remove", "--force", "QSG1", "QM1")
    assert (forced.status, "AMQ3881W" in forced.out, "AMQ3873I" in forced.out) == (0, True, True)


def test_a_group_is_deleted_when_it_has_no_members(group: Command, data: Path) -> None:
    group("qsg", "add", "QSG1", "QM1")
    refused = group("qsg", "delete", "QSG1")
    assert (refused.status, "it has members: QM1. Remove them first" in refused.err) == (Status.OBJECT_IN_USE, True)
    group("qsg", "remove", "QSG1", "QM1")
    assert group("qsg", "delete", "QSG1").out == "AMQ3874I: Queue-sharing group QSG1 deleted.\n"
    assert (group("qsg", "show").out, (data / "groups" / "QSG1").exists()) == ("", False)
    assert group("qsg", "create", "QSG1").status == 0


def test_a_full_group_takes_nobody(group: Command, data: Path) -> None:
    for number in range(1, 32):
        roll(data).repository.write(MEMBERS, f"M{number}", MemberRow(f"M{number}", number).encode(), None)
    full = group("qsg", "add", "QSG1", "QM1")
    assert (full.status, "the group has 31 members, which is the maximum" in full.err) == (Status.EXISTS, True)


@pytest.mark.parametrize(
    ("arguments", "status", "said"),
    [
        (("create", "qsg1"), Status.NAME_ERROR, "AMQ3855E: The name is wrong: 'qsg1' is not the name"),
        (("create", "LONGER"), Status.NAME_ERROR, "AMQ3855E"),
        (("create", "QSG1"), Status.EXISTS, "AMQ3875E: Queue-sharing group QSG1 cannot be created: it is in "),
        (("create", "QM1"), Status.PARAMETER_WRONG, "a queue manager has that name, and the two must differ"),
        (("create", "QSG2", "--facility", "nowhere("), Status.PARAMETER_WRONG, f"'nowhere(' {FORMS}"),
        (("create", "QSG2", "--facility", "nonsense"), Status.PARAMETER_WRONG, f"nonsense {FORMS}"),
        (("create", "QSG2", "--facility", "redis://"), Status.PARAMETER_WRONG, "AMQ3875E"),
        (("create", "QSG2", "--facility", "http://a"), Status.PARAMETER_WRONG, FORMS),
        (("create", "QSG2", "--facility", "127.0.0.1(1)"), Status.NOT_AVAILABLE, "does not answer"),
        (("create", "QSG2", "--repository", "mysql://a"), Status.UNEXPECTED, "AMQ3880E"),
        (("create", "QSG2", "--structure-megabytes", "0"), Status.PARAMETER_WRONG, "a number from 1 to"),
        (("create", "QSG2", "--structure-megabytes", "many"), Status.PARAMETER_WRONG, "is not a whole number"),
        (("add", "QSG2", "QM1"), Status.NAME_ERROR, "AMQ3879E: There is no queue-sharing group QSG2"),
        (("add", "QSG1", "QM9"), Status.NAME_ERROR, "AMQ7048E: There is no queue manager QM9"),
        (("remove", "QSG1", "QM9"), Status.DOES_NOT_EXIST, "AMQ3877E"),
        (("show", "QSG2"), Status.NAME_ERROR, "AMQ3879E"),
        (("show", "--repository", "x.db"), Status.PARAMETER_WRONG, "name the group whose place it is"),
        (("delete", "QSG2"), Status.NAME_ERROR, "AMQ3879E"),
        (("destroy",), Status.PARAMETER_WRONG, "invalid choice: 'destroy'"),
        ((), Status.PARAMETER_WRONG, "ACTION"),
    ],
)
def test_wrong_inputs_have_a_reason_and_a_status(
    group: Command, arguments: tuple[str, ...], status: Status, said: str
) -> None:
    found = group("qsg", *arguments)
    assert (found.status, found.out) == (status, "")
    assert said in found.err


def test_a_damaged_file_says_so(group: Command, data: Path) -> None:
    (data / "groups" / "QSG1" / "group.ini").write_text("QueueSharingGroup:\n   Name=QSG9\n")
    found = group("qsg", "show", "QSG1")
    assert (found.status, "is not of queue-sharing group QSG1" in found.err) == (Status.UNEXPECTED, True)


def test_the_name_of_the_group_is_no_member(group: Command) -> None:
    group("crtmqm", *SMALL_LOG, "QSG1")
    found = group("qsg", "add", "QSG1", "QSG1")
    assert (found.status, "it has the name of the group" in found.err) == (Status.PARAMETER_WRONG, True)
