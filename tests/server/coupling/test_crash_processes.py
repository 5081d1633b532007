"""The table of crashes of docs/explanation/shared-queues.md with real processes: kill -9 at each step of a commit.

A proxy between the member and the facility finds the step, so nothing in the queue manager knows of the test.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator
from contextvars import copy_context
from pathlib import Path

import pytest
from tests.server.coupling.facility_proxy import FacilityProxy
from tests.server.coupling.group_processes import LIMIT_SECONDS, Group, OwnFacility, wait_for

from ostler.client.api.connection import Connection
from ostler.client.api.queue import Queue
from ostler.model.errors import MQError

XID = b"transaction 1".hex().upper()


class Pair:
    """QMA, over a proxy, and QMB."""

    def __init__(self, root: Path) -> None:
        facility = OwnFacility(root)
        self.group = Group(root, facility)
        self.proxy = FacilityProxy(root, facility.address)

    def start(self) -> None:
        self.group.start("QMA", 1, self.proxy.address)

    def close(self) -> None:
        self.group.close()
        self.proxy.close()

    def begin_unit(self, number: int) -> Connection:
        """QMA has put a message to its private queue and one to the shared queue, in a unit of work."""
        at_a = self.group.connect("QMA")
        at_a.transaction().__enter__()
        for queue in ("PRIVATE.QUEUE", "SHARED.QUEUE"):
            at_a.put(queue, b"%d" % number, persistent=True)
        return at_a

    def private(self) -> list[bytes]:
        with self.group.connect("QMA") as at_a:
            return drain(at_a.open("PRIVATE.QUEUE", "rw"))

    def private_of(self, count: int, step: str) -> list[bytes]:
        """Wait for so many messages in the private queue, and return all that are there."""
        found = self.private()

        def has_come() -> bool:
            found.extend(self.private())
            return len(found) >= count

        wait_for(has_come, f"{step}: the private part has not come")
        return found


def drain(queue: Queue, wait: float = 0) -> list[bytes]:
    found: list[bytes] = []
    while (message := queue.get(wait=wait if not found else 0)) is not None:
        found.append(message.data)
    return found


@pytest.fixture
def pair(tmp_path: Path) -> Iterator[Pair]:
    made = Pair(tmp_path)
    try:
        made.group.start("QMB", 2)
        made.start()
        yield made
    finally:
        made.close()


def test_both_parts_of_a_unit_have_one_outcome_wherever_its_member_is_killed(pair: Pair) -> None:
    with pair.group.connect("QMB") as at_b:
        shared = at_b.open("SHARED.QUEUE", "rw")
        for number, (step, wanted) in enumerate(
            [
                ("open", []),
                ("before", []),
                ("behind", [b"2"]),
                ("answered", [b"3"]),
            ]
        ):
            at_a = pair.begin_unit(number)
            if step == "answered":
                at_a.commit()
            elif step != "open":
                commit_until(pair, at_a, step)
            pair.group.kill("QMA")
            wait_for(lambda: is_recovered(pair), f"{step}: QMB has not recovered QMA")
            assert drain(shared) == wanted, f"{step}: as its peer sees it"
            pair.start()
            private = pair.private_of(len(wanted), step)
            assert private == wanted, f"{step}: the private part"
            assert drain(shared) == [], f"{step}: after the restart"


def commit_until(pair: Pair, at_a: Connection, step: str) -> None:
    """Commit, and return when the commit has come to a step. It is never answered."""
    pair.proxy.stop_at(step)

    def commit() -> None:
        with contextlib.suppress(MQError):
            at_a.commit()

    # The unit of work belongs to the context that began it.
    threading.Thread(target=copy_context().run, args=(commit,), daemon=True).start()
    assert pair.proxy.reached.wait(LIMIT_SECONDS), f"the commit has not come to {step}"


def is_recovered(pair: Pair) -> bool:
    """Whether QMB could take over from QMA: only a member that is recovered has left."""
    shown = pair.group.members["QMB"].ask(mqsc="DISPLAY THREAD(*) TYPE(INDOUBT) QMNAME(QMA)")
    return "is active" not in shown[0]


def test_a_unit_of_a_coordinator_is_resolved_at_a_peer(pair: Pair) -> None:
    resolve = f"RESOLVE INDOUBT(QMA) ACTION(COMMIT) NID({XID}) QMNAME(QMA)"
    at_b = pair.group.members["QMB"]
    at_a = pair.begin_unit(1)
    assert pair.group.members["QMA"].ask(prepare=XID) == [1]
    assert "AMQ7592I" in at_b.ask(mqsc=resolve)[0], "QMA is active"
    pair.group.kill("QMA")
    del at_a
    wait_for(lambda: is_recovered(pair), "QMB has not recovered QMA")
    with pair.group.connect("QMB") as application:
        shared = application.open("SHARED.QUEUE", "rw")
        assert shared.get() is None, "the unit is in doubt"
        shown = "\n".join(at_b.ask(mqsc="DISPLAY THREAD(*) TYPE(INDOUBT) QMNAME(QMA)"))
        assert f"NID({XID})" in shown
        assert "AMQ7593I" in at_b.ask(mqsc=resolve)[0]
        assert drain(shared, wait=LIMIT_SECONDS) == [b"1"]
    pair.start()
    wait_for(lambda: pair.private() == [b"1"], "QMA has not followed the decision of its peer")
    assert "AMQ7591I" in pair.group.members["QMA"].ask(mqsc="DISPLAY THREAD(*) TYPE(INDOUBT)")[0]
