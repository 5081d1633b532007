"""A running instance: dspmq, rdqmstatus, sethapreferred, makehaprimary, endmqm, runmqsc, strmqm."""

from __future__ import annotations

import json
import os
from dataclasses import replace

import pytest
from tests.cli.conftest import SMALL_LOG, Command
from tests.cli.ha.conftest import Run
from tests.world.replica.sample_group import SAMPLE, as_replica
from tests.world.replica.scripted_group import RunningInstance

from ostler.cli.strmqm import PipeReporter
from ostler.model.replication import Acknowledgement, HaStatus, Prefer, ReplicaState, Resolve, SwitchOver
from ostler.server.config.directories import QueueManagerDirectory
from ostler.server.config.process_file import ManagerState

QMNAME = "QMNAME(QM1)".ljust(56)


def test_dspmq_shows_the_role_of_the_instance(instance: Command, running: Run) -> None:
    running()
    assert instance("dspmq", "-o", "nativeha").out == (
        f"{QMNAME} ROLE(Active) INSTANCE(alpha) INSYNC(yes) QUORUM(2/3) GRPLSN(<0:0:9:64581>) GRPNAME(north) "
        "GRPROLE(Live)\n"
    )
    assert instance("dspmq", "-o", "nativeha", "-x").out.splitlines()[1:] == [
        " INSTANCE(alpha) ROLE(Active) REPLADDR(127.0.0.1(4441)) CONNACTV(yes) INSYNC(yes) BACKLOG(0) CONNINST(yes) "
        "ALTDATE(2023-11-14) ALTTIME(22.13.20)",
        " INSTANCE(beta) ROLE(Replica) REPLADDR(127.0.0.1(4442)) CONNACTV(yes) INSYNC(yes) BACKLOG(0) CONNINST(yes) "
        "ALTDATE(2023-11-14) ALTTIME(22.13.20)",
        " INSTANCE(gamma) ROLE(Unknown) REPLADDR(127.0.0.1(4443)) CONNACTV(no) INSYNC(no) BACKLOG(Unknown) "
        "CONNINST(no) ALTDATE() ALTTIME()",
    ]
    assert instance("dspmq", "-o", "nativeha", "-g").out.splitlines()[1:] == [
        " GRPNAME(north) GRPROLE(Live) GRPADDR(127.0.0.1(1414))",
        " GRPNAME(south) GRPROLE(Recovery) GRPADDR(127.0.0.1(4451)) GRPVER(0.9) GRSTATUS(Synchronizing) CONNGRP(yes) "
        "BACKLOG(5) RCOVLSN(<0:0:9:60176>) RCOVTIME(2023-11-14T22:13:19Z) ALTDATE(2023-11-14) ALTTIME(22.13.20)",
    ]
    assert len(instance("dspmq", "-o", "nativeha", "-x", "-g").out.splitlines()) == 6


def test_dspmq_shows_an_instance_that_does_not_run(instance: Command) -> None:
    assert instance("dspmq", "-o", "nativeha", "-o", "ha", "-o", "dr", "-x").out == (
        f"{QMNAME} HA(Replicated) DRROLE() ROLE(Unknown) INSTANCE(alpha) INSYNC(no) QUORUM(0/2) GRPLSN(<0:0:0:0>) "
        "GRPNAME() GRPROLE(Not configured)\n"
        " INSTANCE(alpha) ROLE(Unknown) REPLADDR(127.0.0.1(4441)) CONNACTV(no) INSYNC(no) BACKLOG(Unknown) "
        "CONNINST(no) ALTDATE() ALTTIME()\n"
        " INSTANCE(beta) ROLE(Unknown) REPLADDR(127.0.0.1(4442)) CONNACTV(no) INSYNC(no) BACKLOG(Unknown) "
        "CONNINST(no) ALTDATE() ALTTIME()\n"
    )


def test_dspmq_of_a_queue_manager_without_copies(ostler: Command) -> None:
    ostler("crtmqm", *SMALL_LOG, "QM1")
    assert ostler("dspmq", "-o", "nativeha").out == f"{QMNAME} ROLE(Not configured)\n"
    assert ostler("dspmq", "-o", "ha", "-o", "dr").out == f"{QMNAME} HA() DRROLE()\n"
    assert "ROLE(Not configured)" in ostler("dspmq", "-o", "all").out
    done = ostler("dspmq", "-g")
    assert done.status == 36
    assert "it needs -o nativeha" in done.err


def test_dspmq_shows_a_replica(instance: Command, running: Run) -> None:
    running(as_replica(), ManagerState.REPLICA)
    assert instance("dspmq").out == f"{QMNAME} STATUS(Replica)\n"
    assert "ROLE(Replica) INSTANCE(beta) INSYNC(yes)" in instance("dspmq", "-o", "nativeha").out
    assert instance("dspmq", "-a").status == 5
    (found,) = json.loads(instance("dspmq", "--json").out)
    assert (found["status"], found["copies"]["leader"]) == ("Replica", "127.0.0.1(1414)")


def test_rdqmstatus_of_the_primary(instance: Command, running: Run) -> None:
    running(replace(SAMPLE, ha_status=HaStatus.REMOTE_UNAVAILABLE))
    assert instance("rdqmstatus").out == (
        "Queue manager name:             QM1\n"
        "Queue manager status:           Running\n"
        "HA current location:            This node\n"
    )
    assert instance("rdqmstatus", "-m", "QM1").out == (
        "Node:                           alpha\n"
        "Queue manager status:           Running\n"
        "HA role:                        Primary\n"
        "HA status:                      Remote unavailable\n"
        "HA control:                     Enabled\n"
        "HA current location:            This node\n"
        "HA preferred location:          This node\n"
        "DR role:                        Primary\n"
        "DR status:                      Normal\n"
        "DR type:                        Asynchronous\n"
        "DR remote IP address list:      127.0.0.1(4451)\n"
        "DR out of sync data:            5KB\n"
        "\n"
        "Node:                           beta\n"
        "HA status:                      Normal\n"
        "\n"
        "Node:                           gamma\n"
        "HA status:                      Remote unavailable\n"
    )
    assert "Failures are in the error log" in instance("rdqmstatus", "-m", "QM1", "-a").out


def test_rdqmstatus_of_a_copy_that_is_being_made(instance: Command, running: Run) -> None:
    """The words are those of RDQM: in progress while a base comes, Inconsistent when it was interrupted."""
    other = replace(SAMPLE.recovery_groups[0], state=ReplicaState.REBASING, base_percent=43)
    _, group = running(replace(SAMPLE, dr_status=HaStatus.SYNCHRONIZING, recovery_groups=(other,)))
    shown = instance("rdqmstatus", "-m", "QM1").out
    assert "DR status:                      Synchronization in progress\n" in shown
    assert "DR synchronization progress:    43%\n" in shown
    assert "DR out of sync data" not in shown
    for status, words in (
        (HaStatus.INCONSISTENT, "Inconsistent"),
        (HaStatus.REMOTE_SITE_UNAVAILABLE, "Remote system unavailable"),
    ):
        group.now = replace(SAMPLE, dr_status=status)
        assert f"DR status:                      {words}\n" in instance("rdqmstatus", "-m", "QM1").out


def test_rdqmstatus_of_a_secondary(instance: Command, running: Run) -> None:
    _, group = running(as_replica(), ManagerState.REPLICA)
    assert "Queue manager status:           Running elsewhere\n" in instance("rdqmstatus").out
    shown = instance("rdqmstatus", "-m", "QM1").out
    assert "HA role:                        Secondary\n" in shown
    assert "HA current location:            alpha\n" in shown
    behind = replace(SAMPLE.instances[0], is_in_sync=False, backlog_bytes=2_000_000)
    group.now = replace(
        as_replica(),
        instances=(behind, *SAMPLE.instances[1:]),
        ha_status=HaStatus.PARTITIONED,
        fork_lsn=600_000,
        acknowledgement=Acknowledgement.MEMORY,
        is_suspended=True,
        preferred="",
    )
    shown = instance("rdqmstatus", "-m", "QM1").out
    for line in (
        "HA status:                      Partitioned\n",
        "Partitioned at:                 <0:0:9:10176>\n",
        "Acknowledged from:              memory\n",
        "HA control:                     Disabled\n",
        "HA preferred location:          None\n",
        "HA out of sync data:            1954KB\n",
    ):
        assert line in shown


@pytest.mark.parametrize("given", [("-a",), ("-n", "-m", "QM1"), ("-x",)], ids=str)
def test_rdqmstatus_typed_wrong_exits_39(instance: Command, given: tuple[str, ...]) -> None:
    assert instance("rdqmstatus", *given).status == 39


def test_the_preferred_instance_is_set_and_cleared(instance: Command, running: Run) -> None:
    _, group = running()
    done = instance("sethapreferred", "QM1")
    assert (done.status, done.out) == (0, "AMQ3275I: Instance alpha is preferred for queue manager QM1.\n")
    done = instance("clearhapreferred", "QM1")
    assert (done.status, done.out) == (0, "AMQ3276I: Queue manager QM1 has no preferred instance.\n")
    assert group.asked == [Prefer("alpha"), Prefer()]


def test_a_partition_is_resolved(instance: Command, running: Run, directory: QueueManagerDirectory) -> None:
    run, group = running()
    done = instance("makehaprimary", "QM1")
    assert done.status == 0
    assert done.out.startswith("AMQ3277I: The partition of queue manager QM1 is resolved in favour of instance alpha.")
    assert group.asked == [Resolve()]
    assert any("AMQ3277I" in notice and "Asked by" in notice for notice in run.manager.notices)


@pytest.mark.parametrize("command", ["sethapreferred", "clearhapreferred", "makehaprimary"])
def test_a_request_needs_a_running_instance(instance: Command, command: str) -> None:
    done = instance(command, "QM1")
    assert done.status == 40
    assert done.err.startswith("AMQ8146E: Queue manager QM1 is not available: it is not running.")
    assert instance(command, "NONE").status == 72
    assert instance(command).status == 39


@pytest.mark.parametrize("command", ["sethapreferred", "clearhapreferred", "makehaprimary"])
def test_a_queue_manager_without_copies_exits_93(ostler: Command, command: str) -> None:
    ostler("crtmqm", *SMALL_LOG, "QM1")
    done = ostler(command, "QM1")
    assert done.status == 93
    assert done.err.startswith("AMQ5708E: Native HA is not available: queue manager QM1 has no other instances.")


def test_a_running_queue_manager_without_copies_says_so(ostler: Command, directory: QueueManagerDirectory) -> None:
    """Its qm.ini was edited after the start: the answer is the queue manager's own."""
    ostler("crtmqm", "-ll", *SMALL_LOG, "QM1")
    running = RunningInstance(directory, None, ManagerState.RUNNING)
    try:
        ostler("crthagrp", "-n", "alpha=127.0.0.1:4441", "-n", "beta=127.0.0.1:4442")
        text = directory.ini.read_text().replace("LogType=LINEAR", "LogType=REPLICATED")
        text = text.replace("LogManagement=Manual", "LogManagement=Automatic")
        directory.ini.write_text(text + "NativeHALocalInstance:\n   Name=alpha\n")
        done = ostler("makehaprimary", "QM1")
        assert done.status == 93
        assert done.err.startswith("AMQ5708E")
        assert "ROLE(Unknown)" in ostler("dspmq", "-o", "nativeha").out
    finally:
        running.end()


# -- endmqm, runmqsc, strmqm -------------------------------------------------------------------------------------------


def test_endmqm_switches_over(instance: Command, running: Run) -> None:
    run, group = running()
    done = instance("endmqm", "-s", "-r", "QM1")
    assert (done.status, done.err) == (0, "")
    assert done.out.startswith("AMQ3272I: Instance beta takes over when queue manager QM1 has ended here.\n")
    assert group.asked == [SwitchOver(reconnects=True)]
    (request,) = run.asked_to_end()
    assert (request.mode, request.reconnects, request.switches_over) == ("quiesce", True, True)


def test_endmqm_does_not_end_what_nobody_takes_over(instance: Command, running: Run) -> None:
    run, group = running()
    group.refusal = "no replica is in sync."
    done = instance("endmqm", "-s", "-i", "QM1")
    assert (done.status, done.err) == (77, "AMQ7276E: Queue manager QM1 cannot switch over: no replica is in sync.\n")
    assert run.asked_to_end() == []
    assert instance("endmqm", "-s", "-p", "QM1").status == 39


def test_endmqm_s_of_a_queue_manager_without_copies(ostler: Command, directory: QueueManagerDirectory) -> None:
    ostler("crtmqm", *SMALL_LOG, "QM1")
    running = RunningInstance(directory, None, ManagerState.RUNNING)
    try:
        done = ostler("endmqm", "-s", "QM1")
        assert done.status == 77
        assert "it is not replicated" in done.err
        assert running.asked_to_end() == []
    finally:
        running.end()


def test_endmqm_x_ends_replicas_only(instance: Command, running: Run) -> None:
    run, _ = running()
    done = instance("endmqm", "-x", "QM1")
    assert done.status == 39
    assert "it is not a replica" in done.err
    assert run.asked_to_end() == []


def test_endmqm_x_of_a_replica(instance: Command, running: Run) -> None:
    run, _ = running(as_replica(), ManagerState.REPLICA)
    assert instance("endmqm", "-x", "QM1").status == 0
    (request,) = run.asked_to_end()
    assert not request.switches_over


def test_runmqsc_is_sent_to_the_active_instance(instance: Command, running: Run) -> None:
    _, group = running(as_replica(), ManagerState.REPLICA)
    done = instance("runmqsc", "-f", "/dev/null", "QM1")
    assert done.status == 20
    assert done.err == (
        "AMQ8146E: Queue manager QM1 is not available: this instance is a replica, and takes no commands. "
        "The active instance is at 127.0.0.1(1414).\n"
    )
    group.now = replace(as_replica(), instances=SAMPLE.instances[1:])
    assert "No active instance is known here." in instance("runmqsc", "-f", "/dev/null", "QM1").err


def test_runmqsc_of_the_active_instance_shows_the_copies(
    instance: Command, running: Run, tmp_path_factory: pytest.TempPathFactory
) -> None:
    running()
    script = tmp_path_factory.mktemp("mqsc") / "script"
    script.write_text("DISPLAY QMSTATUS TYPE(NATIVEHA) ROLE\n")
    done = instance("runmqsc", "-f", str(script), "QM1")
    assert done.status == 0
    assert done.out.count("ROLE(") == 3


def test_strmqm_reports_a_replica(instance: Command, running: Run) -> None:
    run, group = running(as_replica(), ManagerState.REPLICA)
    reading, writing = os.pipe()
    with os.fdopen(reading) as reports:
        PipeReporter(writing).ready(run.manager)
        report = json.loads(reports.readline())
    assert report["ready"]["replica_of"] == "127.0.0.1(1414)"
    group.now = SAMPLE
    assert run.manager.followed_leader() is None


CHANGES = (
    ("users", "add", "QM1", "app", "--no-password"),
    ("setmqvar", "-m", "QM1", "-k", "MQS_REPORT_NOAUTH", "-v", "TRUE"),
    ("setmqini", "-m", "QM1", "-s", "channels", "-k", "MaxChannels", "-v", "50"),
    ("certs", "create", "QM1"),
)


@pytest.mark.parametrize("change", CHANGES)
def test_a_replica_has_its_side_files_from_the_active_instance(
    instance: Command, running: Run, directory: QueueManagerDirectory, change: tuple[str, ...]
) -> None:
    running(as_replica(SAMPLE), ManagerState.REPLICA)
    refused = instance(*change)
    assert refused.status == 40
    assert "Run this command there: `ostler dspmq -o nativeha -x QM1`" in refused.err
    # What is the instance's is changed here, and so is everything where the instance says so.
    assert instance("setmqini", "-m", "QM1", "-s", "Replication", "-k", "SideFiles", "-v", "none").status == 0
    assert instance(*change).status == 0


@pytest.mark.parametrize("change", CHANGES)
def test_the_active_instance_changes_its_side_files(instance: Command, running: Run, change: tuple[str, ...]) -> None:
    running()
    changed = instance(*change)
    assert changed.status == 0, changed.err
