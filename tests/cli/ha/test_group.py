"""HA groups: crthagrp, prepareha, dsphagrp, sethagrp, rdqmadm."""

from __future__ import annotations

import shutil
import socket
import stat
from dataclasses import replace
from pathlib import Path

import pytest
from tests.cli.conftest import SMALL_LOG, Command
from tests.cli.ha.conftest import ETCD, NODES, Run
from tests.world.replica.sample_group import SAMPLE

from ostler.model.replication import Prefer, Resume, Suspend
from ostler.server.config.directories import QueueManagerDirectory
from ostler.server.config.ha_group import read_group
from ostler.server.config.qm_ini import LogType, QueueManagerIni
from ostler.server.queue_manager import QueueManager
from ostler.server.tls.certificate_maker import describe_certificate
from ostler.server.tls.key_repository import load_repository

GOLDEN = """\
HA group north created: {data}/ha.ini.
Authority:  {data}/ha/ca. Keep ca.key to yourself: who has it can write to all copies.
Node alpha (this one): its certificate is in {data}/ha/alpha.
Node beta: copy {data}/ha/beta to 127.0.0.1, and run there: ostler crthagrp --join beta
"""
FILE = """\
# The group of machines that this one belongs to. Made by crthagrp.
HAGroup:
   Format=1
   Name=north
   LocalNode=alpha
   Suspended=No
Node:
   Name=alpha
   ReplicationAddress=127.0.0.1(4441)
Node:
   Name=beta
   ReplicationAddress=127.0.0.1(4442)
Arbiter:
   Type=Etcd
   Endpoints=http://127.0.0.1:2379
"""


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


# -- crthagrp, prepareha -----------------------------------------------------------------------------------------------


def test_a_group_with_its_certificates(ostler: Command, data: Path) -> None:
    done = ostler("crthagrp", "north", *NODES, *ETCD)
    assert (done.status, done.err) == (0, "")
    assert done.out == GOLDEN.format(data=data)
    assert (data / "ha.ini").read_text() == FILE
    for node in ("alpha", "beta"):
        repository = data / "ha" / node
        assert (mode(repository), mode(repository / f"{node}.key")) == (0o700, 0o600)
        loaded = load_repository(repository)
        assert list(loaded.certificates) == [node]
        subject = describe_certificate(repository / f"{node}.crt")["subject"]
        assert f"CN={node}" in subject
        assert "OU=north" in subject
    assert (mode(data / "ha" / "ca"), mode(data / "ha" / "ca" / "ca.key")) == (0o700, 0o600)
    assert not (data / "ha" / "beta" / "ca.key").exists()


def test_a_second_group_exits_8(group: Command, data: Path) -> None:
    done = group("crthagrp", "south", *NODES)
    assert done.status == 8
    assert done.err.startswith(f"There is an HA group already: {data}/ha.ini.")


@pytest.mark.parametrize(
    ("given", "why"),
    [
        ((), "0 nodes are given with -n; a group has 2 or 3"),
        (NODES[:2], "1 nodes are given"),
        ((*NODES, *NODES), "4 nodes are given"),
        ((*NODES[:2], "-n", "alpha=127.0.0.1:4449"), "node alpha is given twice"),
        ((*NODES[:2], "-n", "beta=127.0.0.1:4441"), "beta has the ReplicationAddress 127.0.0.1(4441) of alpha"),
        ((*NODES, "-n", "gamma=127.0.0.1:4443"), "3 instances need one that decides"),
        ((*NODES, "-n", "gamma=127.0.0.1:4443", "--arbiter", "none"), "Type=None is for a pair"),
        (("-n", "alpha"), "is not a node"),
        (("-n", "a/b=h:1"), "is not a node"),
        (("-n", "alpha=host"), "is not an address with a port"),
        (("-n", "alpha=host:99999"), "is not an address with a port"),
        ((*NODES, "--arbiter", "zookeeper=h"), "is not etcd=URL,URL or file=DIR or none"),
        ((*NODES, "--arbiter", "etcd=127.0.0.1:2379"), "127.0.0.1:2379 is not an address such as"),
        ((*NODES, *ETCD, "--lease", "1"), "allowed is a number from 2 to 600"),
        (("no/name", *NODES), "is not the name of a group"),
        (("-s", "secret", "-a", "10.0.0.2"), "-s cannot be used here: keys are not agreed on over the network"),
    ],
    ids=str,
)
def test_a_group_typed_wrong_exits_39_and_leaves_nothing(
    ostler: Command, data: Path, given: tuple[str, ...], why: str
) -> None:
    done = ostler("crthagrp", *given)
    assert done.status == 39
    assert why in done.err
    assert not (data / "ha.ini").exists()
    assert not (data / "ha").exists()


def test_addresses_can_have_parentheses_and_be_of_ipv6(ostler: Command, data: Path) -> None:
    assert ostler("crthagrp", "-n", "a=127.0.0.1(4441)", "-n", "b=[::1]:4442").status == 0
    group = read_group(data)
    assert group is not None
    assert [str(each.address) for each in group.nodes] == ["127.0.0.1(4441)", "::1(4442)"]
    assert group.name == "HAGROUP"


def test_another_machine_joins(group: Command, data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    copied = tmp_path / "beta"
    shutil.copytree(data / "ha" / "beta", copied)
    other = tmp_path / "other"
    monkeypatch.setenv("OSTLER_DATA", str(other))
    done = group("crthagrp", "--join", str(copied))
    assert (done.status, done.out) == (0, f"Node beta has joined HA group north: {other}/ha.ini.\n")
    assert mode(other / "ha" / "beta" / "beta.key") == 0o600
    made = group("crtmqm", "-sxs", *SMALL_LOG, "QM1")
    assert made.status == 0, made.err
    settings = QueueManagerIni.read(QueueManagerDirectory(other, "QM1").ini).settings.replication
    assert settings is not None
    assert (settings.instance, settings.key_repository) == ("beta", str(other / "ha" / "beta"))


def test_what_cannot_be_joined(ostler: Command, data: Path, tmp_path: Path) -> None:
    done = ostler("crthagrp", "--join", str(tmp_path))
    assert done.status == 39
    assert "cannot be read" in done.err
    assert ostler("crthagrp", "--join", str(tmp_path), *NODES).status == 39
    (tmp_path / "ha.ini").write_text(FILE)
    done = ostler("crthagrp", "--join", str(tmp_path))
    assert done.status == 39
    assert "there is no" in done.err
    (tmp_path / "ha.ini").write_text(FILE.replace("Format=1", "Format=2"))
    assert "has format 2; this release knows format 1" in ostler("crthagrp", "--join", str(tmp_path)).err
    assert not (data / "ha.ini").exists()


def test_prepareha_names_what_to_use(ostler: Command) -> None:
    done = ostler("prepareha", "-s", "secret", "-a", "10.0.0.2", "-t", "60")
    assert done.status == 39
    assert done.err.startswith("prepareha is not needed here: ")
    assert "ostler crthagrp --join DIR" in done.err


# -- dsphagrp ----------------------------------------------------------------------------------------------------------


def test_a_machine_without_a_group(ostler: Command) -> None:
    for command in (["dsphagrp"], ["sethagrp", "-s"], ["rdqmadm", "-u"], ["rdqmstatus", "-n"]):
        done = ostler(*command)
        assert (done.status, done.out) == (39, "")
        assert done.err == "This machine belongs to no HA group. `ostler crthagrp` makes one.\n"


def test_nodes_are_unknown_while_nothing_runs(group: Command) -> None:
    assert group("dsphagrp").out == (
        "HA group north, nodes 2:\n"
        "   alpha            Unknown  127.0.0.1(4441), this node\n"
        "   beta             Unknown  127.0.0.1(4442)\n"
        "Arbiter: Etcd http://127.0.0.1:2379\n"
        "   Attention: etcd has one member: when its machine fails with the leader's, nobody can take over.\n"
    )


def test_nodes_as_a_running_instance_knows_them(instance: Command, running: Run) -> None:
    gone = replace(SAMPLE.instances[1], is_connected=False, is_linked=False)
    running(replace(SAMPLE, instances=(SAMPLE.instances[0], gone), arbiter_notice="etcd was away for 3 seconds."))
    shown = instance("dsphagrp").out.splitlines()
    assert shown[1:3] == [
        "   alpha            Online   127.0.0.1(4441), this node",
        "   beta             Offline  127.0.0.1(4442)",
    ]
    assert shown[-1] == "   Attention: etcd was away for 3 seconds."
    assert instance("rdqmstatus", "-n").out == "Node alpha is online\nNode beta is offline\n"


@pytest.mark.parametrize(
    ("arbiter", "words"), [((), "(Partitioned)"), (("--arbiter", "file=/tmp/a"), "to try things out")], ids=str
)
def test_a_weak_arbiter_is_told(ostler: Command, arbiter: tuple[str, ...], words: str) -> None:
    ostler("crthagrp", *NODES, *arbiter)
    assert words in ostler("dsphagrp").out


# -- sethagrp ----------------------------------------------------------------------------------------------------------


def test_a_node_is_suspended_and_resumed(instance: Command, running: Run, data: Path) -> None:
    _, group = running()
    done = instance("sethagrp", "-s")
    assert (done.status, done.out) == (
        0,
        "AMQ3273I: Instance alpha of queue manager QM1 is suspended.\n"
        "Node alpha is suspended. Its instances lead no more until `ostler sethagrp -r`.\n",
    )
    assert group.asked == [Suspend("alpha")]
    assert "Suspended=Yes" in (data / "ha.ini").read_text()
    assert "   alpha            Standby" in instance("dsphagrp").out
    assert instance("sethagrp", "-r").status == 0
    assert group.asked[1:] == [Resume("alpha")]
    assert "Suspended=No" in (data / "ha.ini").read_text()
    assert "   alpha            Online" in instance("dsphagrp").out


def test_another_node_is_suspended_through_a_running_instance(instance: Command, running: Run, data: Path) -> None:
    done = instance("sethagrp", "-s", "-n", "beta")
    assert done.status == 40
    assert "run the command on node beta" in done.err
    _, group = running()
    assert instance("sethagrp", "-s", "-n", "beta").status == 0
    assert group.asked == [Suspend("beta")]
    assert "Suspended=No" in (data / "ha.ini").read_text()
    done = instance("sethagrp", "-s", "-n", "omega")
    assert (done.status, done.err) == (39, "HA group north has no node omega; it has alpha, beta.\n")


def test_a_refused_suspension_changes_nothing(instance: Command, running: Run, data: Path) -> None:
    _, group = running()
    group.refusal = "no other instance is in sync."
    done = instance("sethagrp", "-s")
    assert (done.status, done.err) == (71, "AMQ3279E: Queue manager QM1 refused: no other instance is in sync.\n")
    assert "Suspended=No" in (data / "ha.ini").read_text()


@pytest.mark.parametrize(
    "given",
    [(), ("-s", "-r"), ("-i",), ("-i", "QM1", "-n", "beta"), ("-s", "--replication-port", "1"), ("-x",)],
    ids=str,
)
def test_sethagrp_typed_wrong_exits_39(group: Command, given: tuple[str, ...]) -> None:
    assert group("sethagrp", *given).status == 39


def test_a_queue_manager_is_taken_in_and_out(group: Command, data: Path) -> None:
    directory = QueueManagerDirectory(data, "OLD")
    assert group("crtmqm", "-ll", *SMALL_LOG, "OLD").status == 0
    done = group("sethagrp", "-i", "OLD")
    assert done.status == 0, done.err
    assert "is in HA group north as instance alpha" in done.out
    settings = QueueManagerIni.read(directory.ini).settings
    assert settings.log.type is LogType.REPLICATED
    assert settings.replication is not None
    assert len(settings.replication.instances) == 2
    assert group("sethagrp", "-i", "OLD").status == 39
    done = group("sethagrp", "-e", "OLD")
    assert done.status == 0
    assert done.out == ("Queue manager OLD is out of the HA group, and runs alone. Delete it on the other nodes.\n")
    with QueueManager(directory) as manager:
        manager.start()
        assert manager.settings.replication is None
        assert manager.settings.log.type is LogType.LINEAR


def test_what_cannot_be_taken_in_or_out(group: Command, running: Run, directory: QueueManagerDirectory) -> None:
    group("crtmqm", *SMALL_LOG, "CIRCULAR")
    done = group("sethagrp", "-i", "CIRCULAR")
    assert done.status == 39
    assert "has a circular log, which cannot be copied" in done.err
    done = group("sethagrp", "-e", "CIRCULAR")
    assert done.status == 93
    assert done.err.startswith("AMQ5708E: Native HA is not available: queue manager CIRCULAR has no other instances.")
    assert group("sethagrp", "-i", "NONE").status == 72
    running()
    done = group("sethagrp", "-e", "QM1")
    assert done.status == 5
    assert "End it first" in done.err
    group("crtmqm", "-sxs", "--replication-port", "4451", *SMALL_LOG, "EMPTY")
    assert "cannot run alone" in group("sethagrp", "-e", "EMPTY").err


# -- rdqmadm -----------------------------------------------------------------------------------------------------------

RDQM = """\
Node:
  Name=first
  HA_Replication=127.0.0.1(4441)
Node:
  Name=second
  HA_Replication=127.0.0.2
Node:
  Name=third
  HA_Replication=127.0.0.3
Arbiter:
  Type=Etcd
  Endpoints=http://127.0.0.1:2379
"""


def test_rdqmadm_makes_the_group_of_rdqm_ini(ostler: Command, data: Path) -> None:
    assert ostler("rdqmadm", "-c").status == 39
    data.mkdir(exist_ok=True)
    (data / "rdqm.ini").write_text(RDQM)
    done = ostler("rdqmadm", "-c")
    assert done.status == 0, done.err
    group = read_group(data)
    assert group is not None
    assert [(each.name, str(each.address)) for each in group.nodes] == [
        ("first", "127.0.0.1(4441)"),
        ("second", "127.0.0.2(4444)"),
        ("third", "127.0.0.3(4444)"),
    ]
    assert ostler("rdqmadm", "-c").status == 8
    done = ostler("rdqmadm", "-u")
    assert (done.status, done.out) == (0, "HA group RDQM is removed from this machine.\n")
    assert not (data / "ha.ini").exists()
    assert not (data / "ha").exists()


def test_rdqmadm_on_another_node_names_what_to_use(ostler: Command, data: Path) -> None:
    data.mkdir()
    (data / "rdqm.ini").write_text(RDQM.replace("second", socket.gethostname()))
    done = ostler("rdqmadm", "-c")
    assert done.status == 39
    assert f"ostler crthagrp --join {socket.gethostname()}" in done.err


def test_a_wrong_rdqm_ini_names_its_line(ostler: Command, data: Path) -> None:
    data.mkdir()
    (data / "rdqm.ini").write_text("Node:\n  Name=first\n")
    assert "rdqm.ini:1: Node needs HA_Replication" in ostler("rdqmadm", "-c").err
    (data / "rdqm.ini").write_text(RDQM.replace("127.0.0.2", "a b"))
    assert "rdqm.ini:4: HA_Replication" in ostler("rdqmadm", "-c").err


def test_rdqmadm_keeps_a_group_that_is_in_use(instance: Command, data: Path) -> None:
    done = instance("rdqmadm", "-u")
    assert done.status == 39
    assert done.err.startswith("HA group north has queue managers here: QM1.")
    assert (data / "ha.ini").exists()


def test_rdqmadm_suspends_resumes_and_prefers(instance: Command, running: Run) -> None:
    _, group = running()
    assert instance("rdqmadm", "-s").status == 0
    assert instance("rdqmadm", "-r").status == 0
    assert instance("rdqmadm", "-p", "-m", "QM1").status == 0
    assert instance("rdqmadm", "-p", "-m", "QM1", "-n", "beta").status == 0
    assert instance("rdqmadm", "-p", "-m", "QM1", "-d").status == 0
    assert group.asked == [Suspend("alpha"), Resume("alpha"), Prefer("alpha"), Prefer("beta"), Prefer()]
    assert instance("rdqmadm", "-p", "-m", "QM1", "-n", "omega").status == 39


@pytest.mark.parametrize(
    "given",
    [
        (),
        ("-s", "-r"),
        ("-p",),
        ("-s", "-m", "QM1"),
        ("-c", "-n", "x"),
        ("-r", "-d"),
        ("-p", "-m", "QM1", "-d", "-n", "b"),
    ],
    ids=str,
)
def test_rdqmadm_typed_wrong_exits_39(group: Command, given: tuple[str, ...]) -> None:
    assert group("rdqmadm", *given).status == 39
