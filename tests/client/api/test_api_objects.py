"""Objects by their MQSC words, and queue managers embedded in the process."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest

import ostler
from ostler.client.api.connection import Connection
from ostler.client.locate import registry
from ostler.client.locate.embedded import ReplayBar
from ostler.model import constants as mq
from ostler.server.config.directories import QueueManagerNotFoundError, QueueManagerRunningError
from ostler.server.config.qm_ini import LogSection

LOG = LogSection(file_pages=64)


@pytest.fixture(params=["embedded", "local"])
def qm(own_site: Any, request: pytest.FixtureRequest) -> Iterator[Connection]:
    with own_site.connect(request.param) as connection:
        yield connection


def refused(reason: int) -> pytest.RaisesExc[ostler.MQError]:
    return pytest.RaisesExc(ostler.MQError, check=lambda error: error.reason == reason)


# -- objects ---------------------------------------------------------------------------------------------------------


def test_define_and_display(qm: Connection) -> None:
    qm.define("qlocal", "Q1", MAXDEPTH=1000, DEFPSIST="yes", SHARE=False, DESCR="My queue", PUT=True)
    assert qm.display("QLOCAL", "Q1", "MAXDEPTH", "DEFPSIST", "SHARE", "DESCR", "put") == [
        {
            "NAME": "Q1",
            "TYPE": "QLOCAL",
            "MAXDEPTH": 1000,
            "DEFPSIST": "YES",
            "SHARE": "NOSHARE",
            "DESCR": "My queue",
            "PUT": "ENABLED",
        }
    ]


def test_a_new_object_is_like_the_default_object(qm: Connection) -> None:
    qm.alter("QLOCAL", "SYSTEM.DEFAULT.LOCAL.QUEUE", MAXDEPTH=77)
    qm.define("QLOCAL", "Q1")
    qm.define("QLOCAL", "Q2", like="Q1", DESCR="two")
    qm.alter("QLOCAL", "Q1", MAXDEPTH=78)
    assert [(row["MAXDEPTH"], row["DESCR"]) for row in qm.display("QLOCAL", "Q*", "MAXDEPTH", "DESCR")] == [
        (78, ""),
        (77, "two"),
    ]


def test_display_shows_what_is_going_on(qm: Connection) -> None:
    qm.define("QLOCAL", "Q1")
    with qm.open("Q1") as q:
        q.put("x")
        (row,) = qm.display("QUEUE", "Q1", "CURDEPTH", "IPPROCS", "OPPROCS", "TARGET")
        assert row == {"NAME": "Q1", "TYPE": "QLOCAL", "CURDEPTH": 1, "IPPROCS": 1, "OPPROCS": 1}
        assert (q.inquire("CURDEPTH"), q.inquire("MAXDEPTH"), q.inquire("GET")) == (1, 5000, "ENABLED")
        qm.alter("QLOCAL", "Q1", GET="DISABLED")
        assert q.inquire("GET") == "DISABLED"


def test_generic_names(qm: Connection) -> None:
    for name in ("A.1", "A.2", "B.1"):
        qm.define("QLOCAL", name)
    qm.define("QALIAS", "A.ALIAS", TARGET="A.1")
    shown = qm.display("QUEUE", "A.*", "DESCR")
    assert [(row["TYPE"], row["NAME"]) for row in shown] == [
        ("QLOCAL", "A.1"),
        ("QLOCAL", "A.2"),
        ("QALIAS", "A.ALIAS"),
    ]
    assert qm.display("QLOCAL", "Z*") == []
    with refused(mq.MQRC_UNKNOWN_OBJECT_NAME):
        qm.display("QLOCAL", "Z")


def test_lists_and_processes(qm: Connection) -> None:
    qm.define("NAMELIST", "N1", NAMES=["A", "B"])
    qm.define("PROCESS", "P1", APPLICID="/bin/true", APPLTYPE="UNIX")
    assert qm.display("NAMELIST", "N1", "NAMES")[0]["NAMES"] == ("A", "B")
    assert qm.display("PROCESS", "P1", "APPLTYPE")[0]["APPLTYPE"] == "UNIX"


def test_the_queue_manager_itself(qm: Connection) -> None:
    qm.alter("QMGR", DESCR="The one", MAXMSGL=200_000)
    (row,) = qm.display("QMGR")
    assert (row["NAME"], row["DESCR"], row["MAXMSGL"]) == (qm.name, "The one", 200_000)


def test_what_is_there_is_not_defined_again(qm: Connection) -> None:
    qm.define("QLOCAL", "Q1", MAXDEPTH=5, DESCR="old")
    with refused(mq.MQRC_OBJECT_ALREADY_EXISTS):
        qm.define("QLOCAL", "Q1")
    qm.define("QLOCAL", "Q1", MAXDEPTH=6, replace=True)
    (row,) = qm.display("QLOCAL", "Q1", "MAXDEPTH", "DESCR")
    assert (row["MAXDEPTH"], row["DESCR"]) == (6, "old")


@pytest.mark.parametrize(
    ("attributes", "text"),
    [
        ({"MAXDEPTH": -1}, "MAXDEPTH"),
        ({"MAXDEPTH": "many"}, "MAXDEPTH"),
        ({"DEFPSIST": "PERHAPS"}, "DEFPSIST"),
        ({"NOSUCH": 1}, "NOSUCH"),
        ({"DESCR": True}, "DESCR"),
    ],
)
def test_bad_attributes_are_refused(qm: Connection, attributes: dict[str, Any], text: str) -> None:
    with pytest.raises(ostler.MQError, match=text):
        qm.define("QLOCAL", "Q1", **attributes)
    with refused(mq.MQRC_UNKNOWN_OBJECT_NAME):
        qm.open("Q1")


def test_a_type_that_is_none(qm: Connection) -> None:
    with refused(mq.MQRC_OBJECT_TYPE_ERROR):
        qm.define("QUEUES", "Q1")


def test_delete_and_clear(qm: Connection) -> None:
    qm.define("QLOCAL", "Q1")
    qm.put("Q1", "x", persistent=True)
    with refused(mq.MQRC_Q_NOT_EMPTY):
        qm.delete("QLOCAL", "Q1")
    qm.clear("Q1")
    qm.delete("QLOCAL", "Q1")
    qm.define("QLOCAL", "Q1")
    qm.put("Q1", "x")
    qm.delete("QLOCAL", "Q1", purge=True)
    with refused(mq.MQRC_UNKNOWN_OBJECT_NAME):
        qm.delete("QLOCAL", "Q1")


def test_a_display_says_the_same_over_every_way(own_site: Any) -> None:
    admin = own_site.admin
    admin.define("QLOCAL", "Q1", DESCR="don't (or do) panic :)", MAXDEPTH=3, TRIGGER=True, BOQNAME="Q2")
    admin.define("QLOCAL", "Q2", DESCR="too long for one of the two columns;  with two blanks")
    admin.define("QALIAS", "A1", TARGET="Q1")
    admin.define("QREMOTE", "R1", RNAME="THERE", RQMNAME="ELSEWHERE")
    admin.define("NAMELIST", "N1", NAMES=["A", "B", "C"])
    admin.define("NAMELIST", "N2", NAMES=[])
    admin.define("PROCESS", "P1", APPLICID="/bin/true")
    with own_site.connect("local") as local:
        for word in ("QUEUE", "QLOCAL", "QALIAS", "QREMOTE", "QMODEL", "NAMELIST", "PROCESS"):
            here, there = admin.display(word, "*"), local.display(word, "*")
            assert [(row["NAME"], row["TYPE"]) for row in there] == [(row["NAME"], row["TYPE"]) for row in here]
            for one, other in zip(here, there, strict=True):
                # How many names a list has is not kept, only counted when MQSC shows it.
                other.pop("NAMCOUNT", None)
                assert {key: one.get(key) for key in other} == other
                assert set(other) >= {key for key in one if key in ("DESCR", "MAXDEPTH", "TARGET", "NAMES", "RNAME")}
        (here,), (there,) = admin.display("QMGR"), local.display("QMGR")
        assert {key: here.get(key) for key in there} == there


def test_over_a_channel_objects_are_not_changed(own_site: Any) -> None:
    with own_site.connect("client") as qm:
        verbs: list[Callable[[], object]] = [
            partial(qm.define, "QLOCAL", "Q1"),
            partial(qm.alter, "QMGR", DESCR="x"),
            partial(qm.delete, "QLOCAL", "Q1"),
            partial(qm.clear, "Q1"),
            partial(qm.display, "QLOCAL"),
        ]
        for verb in verbs:
            with refused(mq.MQRC_NOT_AUTHORIZED):
                verb()
        assert qm.name == own_site.name


def test_a_queue_manager_elsewhere_has_no_object_here(own_site: Any) -> None:
    with own_site.connect("local") as qm:
        with refused(mq.MQRC_ENVIRONMENT_ERROR):
            _ = qm.manager
        with refused(mq.MQRC_ENVIRONMENT_ERROR):
            _ = qm.hconn


def test_objects_survive_a_crash(tmp_path: Path) -> None:
    manager = ostler.start("OBJECTS2", tmp_path, create=True, log=LOG)
    with ostler.connect("OBJECTS2") as qm:
        qm.define("QLOCAL", "Q1", MAXDEPTH=5)
        qm.alter("QLOCAL", "Q1", MAXDEPTH=6)
        qm.define("QMODEL", "M1", DEFTYPE="PERMDYN")
        with qm.open_dynamic("M1", "DYNAMIC.*") as made:
            dynamic = made.name
        manager.end("preemptive")
    manager = ostler.start("OBJECTS2", tmp_path)
    with ostler.connect("OBJECTS2") as qm:
        assert qm.display("QLOCAL", "Q1", "MAXDEPTH")[0]["MAXDEPTH"] == 6
        assert qm.display("QLOCAL", dynamic, "DEFTYPE")[0]["DEFTYPE"] == "PERMDYN"
    manager.end()


# -- embedded queue managers -----------------------------------------------------------------------------------------


def test_connect_starts_what_does_not_run(tmp_path: Path) -> None:
    with refused(mq.MQRC_Q_MGR_NAME_ERROR):
        ostler.connect("EMBEDDED", data=tmp_path)
    with pytest.raises(QueueManagerNotFoundError):
        ostler.start("EMBEDDED", data=tmp_path)
    with ostler.connect("EMBEDDED", data=tmp_path, create=True) as one, ostler.connect("EMBEDDED") as two:
        assert one.manager is two.manager
        assert registry.find("EMBEDDED") is one.manager
        with refused(mq.MQRC_Q_MGR_NAME_ERROR):
            ostler.connect("EMBEDDED", data=tmp_path / "elsewhere")
        manager = one.manager
    manager.end()
    assert manager not in registry.running_managers()


def test_one_that_runs_is_not_started_again(tmp_path: Path) -> None:
    manager = ostler.start("TWICE", tmp_path, create=True, log=LOG)
    try:
        with pytest.raises(QueueManagerRunningError):
            ostler.start("TWICE", tmp_path)
        assert registry.find("TWICE") is manager
    finally:
        manager.end()


def test_a_name_that_is_none(tmp_path: Path) -> None:
    with refused(mq.MQRC_Q_MGR_NAME_ERROR):
        ostler.start("not a name", tmp_path, create=True)


def test_the_environment_says_where(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OSTLER_DATA", str(tmp_path))
    manager = ostler.start("WHERE", create=True, log=LOG)
    manager.end()
    assert (tmp_path / "qmgrs" / "WHERE").is_dir()


def test_progress_is_told_of_a_restart(tmp_path: Path) -> None:
    manager = ostler.start("PROGRESS", tmp_path, create=True, log=LOG)
    with ostler.connect(manager) as qm:
        qm.define("QLOCAL", "Q1")
        for _ in range(20):
            qm.put("Q1", b"x" * 1000, persistent=True)
        manager.end("preemptive")
    told: list[tuple[int, int]] = []
    manager = ostler.start("PROGRESS", tmp_path, progress=lambda done, total: told.append((done, total)))
    manager.end()
    assert told
    assert told == sorted(told)


def test_the_bar_appears_only_when_it_takes_long() -> None:
    with ReplayBar("QM1") as bar:
        bar(1, 10)
        assert not bar.is_shown
    with ReplayBar("QM1", patience_seconds=0) as bar:
        bar(1, 10)
        assert bar.is_shown
        bar(10, 10)


SCRIPT = """
import os, sys, threading
import ostler
from ostler.server.config.qm_ini import LogSection
manager = ostler.start("EXIT", sys.argv[1], create=True, log=LogSection(file_pages=64))
parent = os.getpid()
manager.on_end.append(lambda: print("ended by", "parent" if os.getpid() == parent else "child"))
qm = ostler.connect("EXIT")
qm.define("QLOCAL", "Q1", replace=True, NPMCLASS="HIGH")
qm.put("Q1", "kept over an orderly end")
q = qm.open("Q1")
q.get(message_id=b"none", wait=0)
threading.Thread(target=lambda: q.get(message_id=b"none", wait=None), daemon=True).start()
if os.fork() == 0:
    sys.exit(0)
os.wait()
"""


def test_a_process_that_ends_ends_its_queue_managers_in_order(tmp_path: Path) -> None:
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, str(tmp_path)],
        env=environment,
        check=True,
        timeout=60,
        capture_output=True,
        text=True,
    )
    assert done.stdout.split("\n") == ["ended by parent", ""]
    manager = ostler.start("EXIT", tmp_path)
    with ostler.connect("EXIT") as qm, qm.open("Q1") as q:
        assert [m.body for m in q] == ["kept over an orderly end"]
    manager.end()


def test_importing_the_package_alone_is_cheap() -> None:
    program = "import sys, ostler; print(sorted(name for name in sys.modules if name.startswith('ostler')))"
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}
    done = subprocess.run(
        [sys.executable, "-c", program], env=environment, check=True, timeout=60, capture_output=True, text=True
    )
    assert done.stdout.strip() == "['ostler', 'ostler._version']"


def test_every_public_name_is_there() -> None:
    for name in ("connect", "start", "aio", "mqi", "Message", "MQError", "Connection", "Queue", "TriggerMonitor"):
        assert getattr(ostler, name) is not None
        assert name in dir(ostler)
    with pytest.raises(AttributeError):
        _ = ostler.nothing
