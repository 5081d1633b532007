"""A queue manager is after a test what it was before."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

import ostler
from ostler.client.api.connection import Connection
from ostler.model import constants as mq
from ostler.model.definitions import Definition
from ostler.server.config.qm_ini import LogSection
from ostler.server.queue_manager import QueueManager
from ostler.testing.isolation import Baseline, IsolationError


@pytest.fixture
def manager(tmp_path: Path) -> Iterator[QueueManager]:
    started = ostler.start("ISOLATED", tmp_path, create=True, log=LogSection(file_pages=64))
    yield started
    started.end("immediate")


@pytest.fixture
def before(manager: QueueManager) -> Iterator[Connection]:
    """A connection of a wider scope than a test's, and a queue."""
    with ostler.connect(manager) as connection:
        connection.define("QLOCAL", "KEPT", DESCR="as it was")
        yield connection


def objects(manager: QueueManager) -> dict[str, dict[str, object]]:
    """All definitions, without the times they were changed at."""
    with manager.lock:
        return {
            f"{kind.value} {name}": {key: value for key, value in each.attributes.items() if not key.startswith("ALT")}
            for kind, table in manager.engine.definitions.items()
            for name, each in table.items()
        }


def depths(manager: QueueManager) -> dict[str, int]:
    """The queues that have messages, without the queue of retained publications, where metadata is."""
    with manager.lock:
        queues = manager.engine.queues_by_id.values()
        return {queue.name: queue.depth for queue in queues if queue.depth and not queue.keeps_retained}


def test_objects_are_what_they_were(manager: QueueManager, before: Connection) -> None:
    was = objects(manager)
    baseline = Baseline(manager)
    with ostler.connect(manager) as connection:
        connection.define("QLOCAL", "NEW", MAXDEPTH=5)
        connection.define("QALIAS", "NEW.ALIAS", TARGET="NEW")
        connection.define("QMODEL", "NEW.MODEL", DEFTYPE="PERMDYN")
        connection.open_dynamic("NEW.MODEL", "PERMANENT.*").close()
        connection.define("PROCESS", "NEW.PROCESS")
        connection.alter("QLOCAL", "KEPT", DESCR="changed", GET="DISABLED")
        connection.alter("QMGR", DESCR="changed")
        connection.delete("QLOCAL", "SYSTEM.DEFAULT.LOCAL.QUEUE")
    assert objects(manager) != was
    baseline.restore()
    assert objects(manager) == was
    assert manager.engine.manager.attributes["DESCR"] == ""
    baseline.restore()
    assert objects(manager) == was


def test_a_name_may_have_changed_its_type(manager: QueueManager, before: Connection) -> None:
    was = objects(manager)
    baseline = Baseline(manager)
    before.delete("QLOCAL", "KEPT")
    before.define("QALIAS", "KEPT", TARGET="SOMEWHERE")
    baseline.restore()
    assert objects(manager) == was


def test_messages_are_gone(manager: QueueManager, before: Connection) -> None:
    before.alter("QMGR", STRSTPEV="ENABLED", INHIBTEV="ENABLED")
    baseline = Baseline(manager)
    before.put("KEPT", "left", persistent=True)
    before.alter("QLOCAL", "KEPT", PUT="DISABLED")
    with pytest.raises(ostler.MQError):
        before.put("KEPT", "inhibited")
    assert set(depths(manager)) == {"KEPT", "SYSTEM.ADMIN.QMGR.EVENT"}
    baseline.restore()
    assert depths(manager) == {}


def test_connections_of_the_test_are_broken(manager: QueueManager, before: Connection) -> None:
    baseline = Baseline(manager)
    left = ostler.connect(manager)
    left.define("QLOCAL", "NEW")
    queue, kept = left.open("NEW"), left.open("KEPT")
    queue.put("not committed", syncpoint=True)
    kept.put("not committed", syncpoint=True)
    baseline.restore()
    with pytest.raises(ostler.MQError) as broken:
        queue.get()
    assert broken.value.reason == mq.MQRC_CONNECTION_BROKEN
    assert depths(manager) == {}
    assert before.display("QLOCAL", "NEW*") == []


def test_waits_of_the_test_end(manager: QueueManager, before: Connection) -> None:
    baseline = Baseline(manager)
    queue = ostler.connect(manager).open("KEPT", "r")
    reasons: list[int] = []
    began = threading.Event()

    def wait() -> None:
        began.set()
        try:
            queue.get(wait=30)
        except ostler.MQError as error:
            reasons.append(error.reason)

    thread = threading.Thread(target=wait)
    thread.start()
    began.wait()
    baseline.restore()
    thread.join(60)
    assert reasons == [mq.MQRC_CONNECTION_BROKEN]


def test_connections_of_before_go_on(manager: QueueManager, before: Connection) -> None:
    queue = before.open("KEPT")
    baseline = Baseline(manager)
    before.define("QLOCAL", "NEW")
    new = before.open("NEW")
    before.put("NEW", "one")
    queue.put("two")
    queue.put("x" * 10_000)
    baseline.restore()
    assert queue.depth == 0
    queue.put("still here")
    got = queue.get()
    assert got is not None
    assert got.text == "still here"
    with pytest.raises(ostler.MQError) as deleted:
        new.get()
    assert deleted.value.reason == mq.MQRC_Q_DELETED


def test_somebody_stands_in_the_way(manager: QueueManager, before: Connection) -> None:
    queue = before.open("KEPT", "xw")
    baseline = Baseline(manager)
    queue.put("left")
    with pytest.raises(IsolationError, match=r"KEPT could not be emptied.*MQRC_OBJECT_IN_USE"):
        baseline.restore()


def test_services_are_stopped_before_they_change(manager: QueueManager, before: Connection) -> None:
    stopped: list[str] = []

    def stop(definition: Definition) -> None:
        stopped.append(definition.name)

    before.define("LISTENER", "OLD", TRPTYPE="TCP", PORT=2000)
    before.define("LISTENER", "OLDER", TRPTYPE="TCP", PORT=2002)
    baseline = Baseline(manager, stop)
    before.alter("LISTENER", "OLD", PORT=2001)
    before.define("CHANNEL", "NEW.SVRCONN", CHLTYPE="SVRCONN")
    baseline.restore()
    assert sorted(stopped) == ["NEW.SVRCONN", "OLD"]
    assert before.display("LISTENER", "OLD", "PORT")[0]["PORT"] == 2000
