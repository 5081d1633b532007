"""crtmqm for instances: -lr, --replica, -sx, -sxs; several instances of one name on one machine."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.cli.conftest import SMALL_LOG, Command
from tests.cli.ha.conftest import NODES

from ostler.log.errors import LogRefused
from ostler.server.config.directories import QueueManagerDirectory, data_roots, locate
from ostler.server.config.ini_file import ConfigurationError
from ostler.server.config.qm_ini import LogManagement, LogType, QueueManagerIni
from ostler.server.config.replication_ini import ReplicationSection
from ostler.server.queue_manager import QueueManager, ReplicationUnavailable
from ostler.server.replica.base_wanted import FILE_NAME, wants_base


def settings(directory: QueueManagerDirectory) -> ReplicationSection:
    found = QueueManagerIni.read(directory.ini).settings
    assert (found.log.type, found.log.management) == (LogType.REPLICATED, LogManagement.AUTOMATIC)
    assert found.replication is not None
    return found.replication


def test_lr_creates_the_first_instance_with_its_log(ostler: Command, directory: QueueManagerDirectory) -> None:
    done = ostler("crtmqm", "-lr", "alpha", *SMALL_LOG, "QM1")
    assert done.status == 0
    assert done.out.startswith("AMQ8001I: Queue manager QM1 created.\n")
    assert "ostler crtmqm -lr INSTANCE --replica QM1" in done.out
    assert settings(directory).instance == "alpha"
    assert not wants_base(directory.path)
    assert any(directory.log.iterdir())


def test_it_does_not_start_alone(program: Command, directory: QueueManagerDirectory) -> None:
    assert program("crtmqm", "-lr", "alpha", *SMALL_LOG, "QM1").status == 0
    done = program("strmqm", "QM1")
    assert done.status == 93
    assert done.err.startswith(
        "AMQ5708E: Native HA is not available to QM1. AMQ3205E: The stanza NativeHAInstance is missing"
    )
    with pytest.raises(ReplicationUnavailable):
        QueueManager(directory).start()
    assert "AMQ5708E" in (directory.errors / "AMQERR01.LOG").read_text()


def test_a_replica_is_created_empty(ostler: Command, directory: QueueManagerDirectory) -> None:
    done = ostler("crtmqm", "-lr", "beta", "--replica", *SMALL_LOG, "QM1")
    assert done.status == 0
    assert done.out.startswith("Instance beta of queue manager QM1 created. It is empty")
    assert wants_base(directory.path)
    assert list(directory.log.iterdir()) == []
    assert not (directory.path / "instance").exists()


def test_an_empty_instance_founds_no_log(ostler: Command, directory: QueueManagerDirectory) -> None:
    """The first start completes an interrupted creation; an empty instance must not get a log of its own that way."""
    ostler("crtmqm", "-lr", "beta", "--replica", *SMALL_LOG, "QM1")
    with pytest.raises(LogRefused, match="an instance of a group gets no new one"):
        QueueManager(directory).start(is_founding=True)
    assert list(directory.log.iterdir()) == []
    (directory.path / FILE_NAME).unlink()
    with pytest.raises(LogRefused, match="an instance of a group gets no new one"):
        QueueManager(directory).start(is_founding=True)


def test_the_mark_of_an_empty_instance_is_versioned(ostler: Command, directory: QueueManagerDirectory) -> None:
    ostler("crtmqm", "-lr", "beta", "--replica", *SMALL_LOG, "QM1")
    mark = directory.path / FILE_NAME
    assert "Format=1" in mark.read_text()
    mark.write_text(mark.read_text().replace("Format=1", "Format=2"))
    with pytest.raises(ConfigurationError, match="has format 2; this release knows format 1"):
        wants_base(directory.path)
    mark.unlink()
    assert not wants_base(directory.path)


@pytest.mark.parametrize(
    ("given", "why"),
    [
        (("-lr",), "the following arguments are required"),
        (("-lr", "a b"), "an instance has a name of"),
        (("-lr", "../x"), "an instance has a name of"),
        (("-lr", "a", "-lc"), "not allowed with argument"),
        (("-lr", "a", "-sx"), "-sx cannot be used here: it excludes -lr"),
        (("-sx", "-sxs"), "-sxs cannot be used here: it excludes -sx"),
        (("--replica",), "it belongs to -lr"),
        (("-sx", "--replica"), "use -sxs"),
        (("--replication-port", "4444"), "it belongs to -sx and -sxs"),
        (("-lr", "a", "--replication-port", "4444"), "it belongs to -sx and -sxs"),
        (("-lr", "a", "--replica", "-p", "1414"), "takes attributes and listeners from the active one"),
        (("-lr", "a", "--replica", "-c", "text"), "takes attributes and listeners from the active one"),
        (("-rr", "p"), "ostler crtdrprimary"),
    ],
    ids=str,
)
def test_what_is_typed_wrong_exits_39_and_leaves_nothing(
    group: Command, directory: QueueManagerDirectory, given: tuple[str, ...], why: str
) -> None:
    done = group("crtmqm", *given, "QM1")
    assert done.status == 39
    assert why in done.err
    assert not directory.path.exists()


def test_sx_needs_a_group(ostler: Command, directory: QueueManagerDirectory) -> None:
    done = ostler("crtmqm", "-sx", "QM1")
    assert done.status == 39
    assert done.err == "This machine belongs to no HA group. `ostler crthagrp` makes one.\n"
    assert not directory.path.exists()


def test_sx_writes_the_whole_group(group: Command, directory: QueueManagerDirectory) -> None:
    done = group("crtmqm", "-sx", *SMALL_LOG, "QM1")
    assert done.status == 0
    assert (
        "Queue manager QM1 is in HA group north as instance alpha. Make the other instances with "
        "`ostler crtmqm -sxs -lf 64 -lp 2 -ls 1 QM1` on beta.\n"
    ) in done.out
    found = settings(directory)
    assert [(each.name, str(each.address)) for each in found.instances] == [
        ("alpha", "127.0.0.1(4441)"),
        ("beta", "127.0.0.1(4442)"),
    ]
    assert (found.instance, found.arbiter.endpoints) == ("alpha", ("http://127.0.0.1:2379",))
    assert (found.key_repository, found.certificate_label) == (str(directory.root / "ha" / "alpha"), "alpha")
    assert found.missing() == ""


def test_a_second_queue_manager_needs_another_port(instance: Command, data: Path) -> None:
    done = instance("crtmqm", "-sx", *SMALL_LOG, "QM2")
    assert done.status == 39
    assert "127.0.0.1(4441) is taken by queue manager QM1; choose another port." in done.err
    done = instance("crtmqm", "-sx", "--replication-port", "4451", *SMALL_LOG, "QM2")
    assert done.status == 0
    assert "--replication-port 4451 QM2`" in done.out
    found = settings(QueueManagerDirectory(data, "QM2"))
    assert [each.address.port for each in found.instances] == [4451, 4452]
    assert instance("crtmqm", "-sx", "--replication-port", "65535", *SMALL_LOG, "QM3").status == 39


def test_a_key_that_others_can_read_is_refused(group: Command, data: Path, directory: QueueManagerDirectory) -> None:
    (data / "ha" / "alpha" / "alpha.key").chmod(0o644)
    done = group("crtmqm", "-sx", *SMALL_LOG, "QM1")
    assert done.status == 71
    assert "others could use it: chmod 600" in done.err
    assert not directory.path.exists()


def test_one_name_several_times_on_one_machine(ostler: Command, data: Path) -> None:
    arbiter = f"file={data / 'arbiter'}"
    nodes = (*NODES, "-n", "gamma=127.0.0.1:4443")
    assert ostler("crthagrp", "trial", *nodes, "--arbiter", arbiter).status == 0
    made = ostler("crtmqm", "-sx", *SMALL_LOG, "QM1@alpha")
    assert made.status == 0, made.err
    assert "`ostler crtmqm -sxs -lf 64 -lp 2 -ls 1 QM1@NODE` on beta and gamma" in made.out
    assert ostler("crtmqm", "-sxs", *SMALL_LOG, "QM1@beta").status == 0
    assert ostler("crtmqm", "-sxs", *SMALL_LOG, "QM1@gamma").status == 0
    shown = ostler("dspmq", "-o", "nativeha").out.splitlines()
    assert [line.split()[0] for line in shown] == ["QMNAME(QM1@alpha)", "QMNAME(QM1@beta)", "QMNAME(QM1@gamma)"]
    beta = locate(data, "QM1@beta")
    assert beta.path == data / "instances" / "beta" / "qmgrs" / "QM1"
    assert (beta.typed_name, settings(beta).instance, wants_base(beta.path)) == ("QM1@beta", "beta", True)
    assert data_roots(data) == [data, *(data / "instances" / name for name in ("alpha", "beta", "gamma"))]
    assert ostler("crtmqm", "-sx", *SMALL_LOG, "QM1@delta").status == 39
    assert ostler("dltmqm", "QM1@gamma").status == 0
    assert not locate(data, "QM1@gamma").path.exists()


def test_a_data_root_of_ones_own_is_for_instances(ostler: Command, data: Path) -> None:
    done = ostler("crtmqm", *SMALL_LOG, "QM1@alpha")
    assert done.status == 39
    assert "give -lr alpha or -sx" in done.err
    done = ostler("crtmqm", "-lr", "beta", *SMALL_LOG, "QM1@alpha")
    assert done.status == 39
    assert "QM1@alpha is instance alpha" in done.err
    assert ostler("crtmqm", "-lr", "alpha", *SMALL_LOG, "QM1@alpha").status == 0
    assert ostler("dspmq", "-m", "QM1@alpha").out.startswith("QMNAME(QM1@alpha)")


@pytest.mark.parametrize("name", ["QM1@", "@a", "QM1@a b", "QM1@../../x", "QM1@a@b", "QM1@" + "x" * 49])
def test_what_is_no_instance_exits_72(ostler: Command, data: Path, name: str) -> None:
    done = ostler("crtmqm", "-lr", "a", name)
    assert done.status == 72
    assert done.err.startswith("AMQ7049E")
    assert not data.exists()


def test_a_trial_group_without_arbiter_is_told_what_that_means(ostler: Command) -> None:
    assert ostler("crthagrp", "pair", *NODES).status == 0
    done = ostler("crtmqm", "-sx", *SMALL_LOG, "QM1")
    assert "AMQ3283W: Queue manager QM1 is an instance of a group without an arbiter." in done.out
