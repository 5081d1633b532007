"""Connections to the name of a group, and their units of work (GROUPUR), with real processes."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.free_ports import free_port
from tests.server.coupling.group_processes import Group, wait_for

from ostler.client.api.connection import Connection, connect
from ostler.client.locate.binding import connect_handle
from ostler.client.locate.connect_parameters import ConnectParameters
from ostler.client.mqi.remote.connect import MQDISC
from ostler.model import constants as mq
from ostler.model.errors import MQError

FIRST, SECOND = (text.hex().upper() for text in (b"transaction 1", b"transaction 2"))
SHOW = "DISPLAY THREAD(*) TYPE(INDOUBT)"


@pytest.fixture
def group(tmp_path: Path) -> Iterator[Group]:
    made = Group(tmp_path)
    try:
        made.start("QMA", 1)
        yield made
    finally:
        made.close()


def says(group: Group, name: str, command: str) -> str:
    return "\n".join(group.members[name].ask(mqsc=command))


def begin_unit(group: Group, xid: str) -> Connection:
    """An application of the group has put a shared and a private message at QMA, and its unit is prepared."""
    application = connect("QSG1", data=group.root, binding="local")
    assert application.name == "QMA"
    application.transaction().__enter__()
    for queue in ("SHARED.QUEUE", "PRIVATE.QUEUE"):
        application.put(queue, bytes.fromhex(xid), persistent=True)
    assert group.members["QMA"].ask(prepare=xid) == [1]
    return application


def test_a_unit_of_the_group_is_resolved_by_any_member(group: Group) -> None:
    assert "URDISP(QMGR)" in _shown_of_group_connection(group), "GROUPUR is DISABLED"
    says(group, "QMA", "ALTER QMGR GROUPUR(ENABLED)")
    assert "URDISP(GROUP)" in _shown_of_group_connection(group)
    begun = [begin_unit(group, FIRST), begin_unit(group, SECOND)]
    group.start("QMB", 2)
    assert "AMQ7591I" in says(group, "QMB", SHOW)
    says(group, "QMB", "ALTER QMGR GROUPUR(ENABLED)")
    shown = says(group, "QMB", SHOW)
    assert (f"NID({FIRST})" in shown, f"NID({SECOND})" in shown, shown.count("URDISP(GROUP)")) == (True, True, 2)
    with group.connect("QMB") as at_b:
        shared = at_b.open("SHARED.QUEUE", "rw")
        assert shared.get() is None, "the units are in doubt"
        assert "AMQ7593I" in says(group, "QMB", f"RESOLVE INDOUBT(*) ACTION(COMMIT) NID({FIRST})")
        first = shared.get(wait=5)
        assert first is not None, "QMA, which is active, was to commit its unit"
        group.kill("QMA")
        del begun
        wait_for(lambda: "AMQ7593I" in says(group, "QMB", _commit(SECOND)), "QMB does not resolve the unit of dead QMA")
        second = shared.get(wait=5)
        assert second is not None
        assert [first.data.hex().upper(), second.data.hex().upper()] == [FIRST, SECOND]
    group.start("QMA", 1)

    def private() -> list[str]:
        with group.connect("QMA") as at_a:
            return [each.data.hex().upper() for each in at_a.open("PRIVATE.QUEUE", "b").browse()]

    wait_for(lambda: private() == [FIRST, SECOND], "QMA has not followed the decision of its peer")
    assert "AMQ7591I" in says(group, "QMA", SHOW)


def _commit(xid: str) -> str:
    return f"RESOLVE INDOUBT(*) ACTION(COMMIT) NID({xid})"


def _shown_of_group_connection(group: Group) -> str:
    """DISPLAY CONN of a raw connection to the name of the group."""
    hconn = connect_handle(ConnectParameters("QSG1", "local", data=group.root, application="of the group"))
    try:
        return says(group, "QMA", "DISPLAY CONN(*) URDISP WHERE(APPLTAG EQ 'of the group')")
    finally:
        MQDISC(hconn)


def test_clients_connect_to_the_name_of_the_group(group: Group) -> None:
    port = free_port()
    says(group, "QMA", "DEFINE CHANNEL(TO.GROUP) CHLTYPE(SVRCONN)")
    says(group, "QMA", f"DEFINE LISTENER(TCP) TRPTYPE(TCP) PORT({port})")
    says(group, "QMA", "START LISTENER(TCP)")

    def dial(name: str) -> str:
        with connect(name, f"127.0.0.1({port})", channel="TO.GROUP") as application:
            return application.name

    assert dial("QSG1") == "QMA"
    assert dial("QMA") == "QMA"
    with pytest.raises(MQError) as refused:
        dial("QSG2")
    assert refused.value.reason == mq.MQRC_Q_MGR_NAME_ERROR
    with pytest.raises(MQError) as refused:
        connect("QSG2", data=group.root, binding="local")
    assert refused.value.reason == mq.MQRC_Q_MGR_NAME_ERROR
