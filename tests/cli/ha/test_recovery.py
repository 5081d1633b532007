"""Disaster recovery: crtdrprimary, crtdrsecondary, dspdrsecondary, makedrprimary, makedrsecondary, rdqmdr, rdqmint."""

from __future__ import annotations

import shlex
import shutil
from dataclasses import replace
from pathlib import Path

import pytest
from tests.cli.conftest import SMALL_LOG, Command
from tests.cli.ha.conftest import Run
from tests.world.replica.sample_group import SAMPLE

from ostler.model.replication import ChangeRole, GroupRole
from ostler.server.config.directories import QueueManagerDirectory, locate
from ostler.server.config.qm_ini import LogType, QueueManagerIni
from ostler.server.config.replication_ini import ReplicationSection, ReplicationType
from ostler.server.replica.base_wanted import wants_base
from ostler.server.replica.certificates import check_repository
from ostler.server.replica.site.state import read_site

PRIMARY = ("crtdrprimary", "-m", "QM1", "-r", "south", "-i", "127.0.0.1", "-p", "4451")
LOCAL = ("--local", "127.0.0.1(4461)")
COMMAND = (
    "ostler crtdrsecondary -m QM1 -r south -l MAIN -i 127.0.0.1:4461 -p 4451 -t asynchronous -k south "
    "--local 127.0.0.1 -lf 64 -lp 2 -ls 1"
)


def settings(directory: QueueManagerDirectory) -> ReplicationSection:
    found = QueueManagerIni.read(directory.ini).settings.replication
    assert found is not None
    return found


def role(directory: QueueManagerDirectory) -> GroupRole:
    return read_site(directory.path, settings(directory)).role


@pytest.fixture
def alone(ostler: Command) -> Command:
    """The command, with a queue manager that has a linear log and no copies."""
    assert ostler("crtmqm", "-lla", *SMALL_LOG, "QM1").status == 0
    return ostler


@pytest.fixture
def primary(alone: Command) -> Command:
    made = alone(*PRIMARY, *LOCAL)
    assert made.status == 0, made.err
    return alone


def test_a_queue_manager_gets_a_recovery_group(alone: Command, data: Path, directory: QueueManagerDirectory) -> None:
    done = alone(*PRIMARY, *LOCAL)
    assert (done.status, done.err) == (0, "")
    assert done.out == (f"Copy {data}/ha/south to south.\nExecute the following command on south:\n{COMMAND}\n")
    assert QueueManagerIni.read(directory.ini).settings.log.type is LogType.REPLICATED
    found = settings(directory)
    assert (found.group_name, found.group_role, found.instances, found.copies) == ("MAIN", GroupRole.LIVE, (), 1)
    group = found.recovery_groups[0]
    assert (group.name, str(group.addresses[0]), group.type) == (
        "south",
        "127.0.0.1(4451)",
        ReplicationType.ASYNCHRONOUS,
    )
    assert found.missing() == ""
    check_repository(Path(found.key_repository), found.certificate_label)
    check_repository(data / "ha" / "south", "south")


def test_the_printed_command_makes_the_secondary(
    primary: Command, data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = tmp_path / "other"
    shutil.copytree(data / "ha" / "south", tmp_path / "south")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("OSTLER_DATA", str(other))
    done = primary(*shlex.split(COMMAND)[1:])
    assert done.status == 0, done.err
    assert done.out.startswith("Instance south of queue manager QM1 created. It is empty")
    directory = QueueManagerDirectory(other, "QM1")
    found = settings(directory)
    assert wants_base(directory.path)
    assert (found.instance, found.group_name, found.group_role) == ("south", "south", GroupRole.RECOVERY)
    assert found.local_address.port_low == 4451
    assert [(each.name, str(each.addresses[0])) for each in found.recovery_groups] == [("MAIN", "127.0.0.1(4461)")]
    assert QueueManagerIni.read(directory.ini).settings.log.file_pages == 64
    assert found.key_repository == str(other / "ha" / "south")
    assert "DRROLE(Secondary)" in primary("dspmq", "-o", "dr").out
    assert primary(*shlex.split(COMMAND)[1:]).status == 8


def test_both_sites_on_one_machine(primary: Command, data: Path) -> None:
    command = shlex.split(COMMAND.replace("-m QM1", "-m QM1@south").replace("-k south", f"-k {data}/ha/south"))
    assert primary(*command[1:]).status == 0
    assert settings(locate(data, "QM1@south")).group_role is GroupRole.RECOVERY
    assert "QMNAME(QM1@south)" in primary("dspmq").out


def test_the_command_is_printed_again(primary: Command) -> None:
    for again in (["dspdrsecondary", "-m", "QM1"], ["rdqmdr", "-m", "QM1", "-d"]):
        done = primary(*again)
        assert done.status == 0
        assert done.out.endswith(f"Execute the following command on south:\n{COMMAND}\n")


def test_an_ha_group_is_copied_from_whichever_instance_leads(
    instance: Command, directory: QueueManagerDirectory
) -> None:
    before = settings(directory)
    done = instance(*PRIMARY, "-t", "s")
    assert done.status == 0, done.err
    assert "-l north -i 127.0.0.1:4441,127.0.0.1:4442 -p 4451 -t synchronous" in done.out
    assert done.out.endswith("Run crtdrprimary with the same arguments on beta: each instance may lead.\n")
    found = settings(directory)
    assert (found.instances, found.arbiter) == (before.instances, before.arbiter)
    assert (found.key_repository, found.group_name) == (before.key_repository, "north")
    assert found.recovery_groups[0].type is ReplicationType.SYNCHRONOUS
    assert "DRROLE(Primary)" in instance("dspmq", "-o", "dr").out


def test_a_node_without_the_authority_takes_a_recovery_group_too(
    instance: Command, data: Path, directory: QueueManagerDirectory
) -> None:
    shutil.rmtree(data / "ha" / "ca")
    done = instance(*PRIMARY)
    assert done.status == 0, done.err
    assert not (data / "ha" / "south").exists()
    assert "Copy" not in done.out


@pytest.mark.parametrize(
    ("given", "status", "why"),
    [
        (PRIMARY[:3], 39, "required: -r, -i, -p"),
        ((*PRIMARY[:-1], "0"), 39, "-p 0 is not a port"),
        ((*PRIMARY, "-t", "later"), 39, "invalid choice"),
        ((*PRIMARY, "-f", "10.0.0.9"), 39, "AddressCommand"),
        ((*PRIMARY, "--group", "south"), 39, "is the name of the NativeHARecoveryGroup as well"),
        ((*PRIMARY, "--group", "a b"), 39, "is not the name of a site"),
        ((*PRIMARY[:6], "h(x)", *PRIMARY[7:]), 39, "is not a connection name"),
        ((*PRIMARY[:6], ",".join(["127.0.0.1"] * 4), *PRIMARY[7:]), 39, "up to 3 of them"),
        (("crtdrprimary", "-m", "NONE", *PRIMARY[3:]), 72, "AMQ7048E"),
    ],
    ids=str,
)
def test_crtdrprimary_typed_wrong_changes_nothing(
    alone: Command, directory: QueueManagerDirectory, given: tuple[str, ...], status: int, why: str
) -> None:
    before = directory.ini.read_text()
    done = alone(*given)
    assert done.status == status
    assert why in done.err
    assert directory.ini.read_text() == before


def test_what_cannot_be_copied(ostler: Command, primary: Command) -> None:
    assert primary(*PRIMARY).status == 8
    ostler("crtmqm", *SMALL_LOG, "ROUND")
    done = ostler("crtdrprimary", "-m", "ROUND", *PRIMARY[3:])
    assert done.status == 39
    assert "has a circular log, which cannot be copied" in done.err
    for command in (
        ["dspdrsecondary", "-m", "ROUND"],
        ["makedrprimary", "-m", "ROUND"],
        ["rdqmdr", "-m", "ROUND", "-s"],
    ):
        assert ostler(*command).status == 93


def test_crtdrsecondary_typed_wrong_leaves_nothing(ostler: Command, data: Path, tmp_path: Path) -> None:
    words = shlex.split(COMMAND)[1:]
    done = ostler(*words)
    assert done.status == 39
    assert "there is no south/south.crt" in done.err
    assert ostler(*words[:3]).status == 39
    assert ostler(*[word.replace("MAIN", "a b") for word in words]).status == 39
    assert ostler(*[word.replace("4451", "70000") for word in words]).status == 39
    assert not QueueManagerDirectory(data, "QM1").path.exists()


# -- roles -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("secondary", "primary_again"),
    [
        (("makedrsecondary", "-m", "QM1"), ("makedrprimary", "-m", "QM1")),
        (("rdqmdr", "-m", "QM1", "-s"), ("rdqmdr", "-m", "QM1", "-p")),
    ],
    ids=str,
)
def test_the_role_of_an_ended_site_is_written(
    primary: Command, directory: QueueManagerDirectory, secondary: tuple[str, ...], primary_again: tuple[str, ...]
) -> None:
    done = primary(*secondary)
    assert done.status == 0
    assert done.out.startswith("The site of queue manager QM1 is Pending recovery. It takes effect when")
    assert role(directory) is GroupRole.PENDING_RECOVERY
    assert "DRROLE(Primary)" in primary("dspmq", "-o", "dr").out  # it still has to send the rest of its log
    again = primary(*secondary)
    assert (again.status, "is the secondary already. makedrprimary" in again.err) == (71, True)
    assert primary(*primary_again).status == 0
    assert role(directory) is GroupRole.LIVE
    again = primary(*primary_again)
    assert (again.status, "is the primary already. makedrsecondary" in again.err) == (71, True)


def test_the_role_of_a_running_site_is_asked_for(
    instance: Command, running: Run, directory: QueueManagerDirectory
) -> None:
    assert instance(*PRIMARY).status == 0
    _, group = running(replace(SAMPLE, group_role=GroupRole.RECOVERY))
    done = instance("makedrprimary", "-m", "QM1")
    assert (done.status, done.err) == (
        71,
        "AMQ3279E: Queue manager QM1 refused: the live site runs, and the link works.\n",
    )
    done = instance("makedrprimary", "-m", "QM1", "--force")
    assert (done.status, done.out) == (0, "AMQ3278I: The group north of queue manager QM1 has the role Live.\n")
    assert instance("makedrsecondary", "-m", "QM1").status == 0
    assert group.asked == [
        ChangeRole(GroupRole.LIVE),
        ChangeRole(GroupRole.LIVE, True),
        ChangeRole(GroupRole.RECOVERY),
    ]


def test_a_refused_role_is_not_written(instance: Command, running: Run, directory: QueueManagerDirectory) -> None:
    instance(*PRIMARY)
    _, group = running()
    group.refusal = "the sites are partitioned."
    assert instance("rdqmdr", "-m", "QM1", "-s").status == 71
    assert role(directory) is GroupRole.LIVE


@pytest.mark.parametrize(
    "given",
    [
        ("makedrprimary",),
        ("makedrsecondary", "-m", "QM1", "--force"),
        ("rdqmdr", "-m", "QM1"),
        ("rdqmdr", "-m", "QM1", "-p", "-s"),
        ("rdqmdr", "-m", "QM1", "-s", "--force"),
        ("rdqmint", "-m", "QM1"),
    ],
    ids=str,
)
def test_roles_typed_wrong_exit_39(primary: Command, given: tuple[str, ...]) -> None:
    assert primary(*given).status == 39


def test_a_group_without_recovery_has_no_role(instance: Command) -> None:
    done = instance("makedrsecondary", "-m", "QM1")
    assert done.status == 39
    assert done.err == "Queue manager QM1 has no recovery group. `ostler crtdrprimary` makes one.\n"
    assert instance("dspdrsecondary", "-m", "QM1").status == 39


def test_rdqmint_names_what_to_use(instance: Command, directory: QueueManagerDirectory) -> None:
    done = instance("rdqmint", "-m", "QM1", "-a", "-f", "10.0.0.9", "-l", "eth0")
    assert done.status == 39
    _, _, instead = done.err.strip().partition("Use this: ")
    assert instead == "ostler setmqini -m QM1 -s Replication -k AddressCommand -v PROGRAM"
    assert instance(*shlex.split(instead)[1:]).status == 0
    assert settings(directory).address_command == "PROGRAM"
    done = instance("rdqmint", "-m", "QM1", "-d")
    assert instance(*shlex.split(done.err.strip().partition("Use this: ")[2])[1:]).status == 0
    assert settings(directory).address_command == ""


def test_setmqini_refuses_stanzas_that_are_there_several_times(instance: Command) -> None:
    done = instance("setmqini", "-m", "QM1", "-s", "NativeHAInstance", "-k", "Name", "-v", "x")
    assert done.status == 39
    assert "a file has several stanzas NativeHAInstance" in done.err
