"""Serialised connection tags over the sockets of queue managers, in groups with both engines of the facility."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.server.coupling.group_processes import LIMIT_SECONDS, Group, OwnFacility, RedisGroupFacility, wait_for

from ostler.client.locate.binding import connect_handle
from ostler.client.locate.connect_parameters import ConnectParameters
from ostler.client.mqi.remote.connect import MQDISC
from ostler.client.mqi.remote.objects import MQPUT1
from ostler.model import constants as mq
from ostler.model.errors import MQError
from ostler.model.structures.layout import Layout
from ostler.model.structures.md import MQMD
from ostler.model.structures.od import MQOD
from ostler.model.structures.pmo import MQPMO

TAG = b"PAYROLL".ljust(128, b"\0")
XID = b"transaction 1".hex().upper()
ALONE = mq.MQCNO_SERIALIZE_CONN_TAG_QSG


@pytest.fixture(params=["own", "redis"])
def group(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Group]:
    made = Group(tmp_path, RedisGroupFacility() if request.param == "redis" else OwnFacility(tmp_path))
    try:
        made.start("QMA", 1)
        made.start("QMB", 2)
        yield made
    finally:
        made.close()


def take(group: Group, name: str, options: int = ALONE) -> int:
    """MQCONNX with the tag. Returns the connection handle, or minus the reason."""
    wanted = ConnectParameters(
        name, "local", is_shared=True, data=group.root, tag_options=options, connection_tag=TAG, sharing_conversations=1
    )
    try:
        return connect_handle(wanted)
    except MQError as refused:
        return -refused.reason


def test_a_serialised_application_moves_from_a_dead_member_to_its_peer(group: Group) -> None:
    assert take(group, "QMA") > 0
    shown = group.members["QMA"].ask(mqsc=f"DISPLAY CONN(*) CONNTAG WHERE(CONNTAG EQ {TAG.hex().upper()})")
    assert f"CONNTAG({TAG.hex().upper()})" in "".join(shown)
    assert take(group, "QMA") == -mq.MQRC_CONN_TAG_IN_USE
    assert take(group, "QMB") == -mq.MQRC_CONN_TAG_IN_USE
    work = group.connect("QMA")
    work.put("SHARED.QUEUE", b"salary", persistent=True)
    work.transaction().__enter__()
    assert work.open("SHARED.QUEUE", "rw").get(wait=LIMIT_SECONDS) is not None
    with group.connect("QMB") as at_b:
        salaries = at_b.open("SHARED.QUEUE", "rw")
        group.kill("QMA")
        deadline = time.monotonic() + LIMIT_SECONDS
        taken = take(group, "QMB")
        while taken == -mq.MQRC_CONN_TAG_IN_USE and time.monotonic() < deadline:
            taken = take(group, "QMB")
        returned = salaries.get()
        assert returned is not None, "the tag was free before the old work was settled"
        assert returned.data == b"salary"
    assert taken > 0, "the tag was not freed when QMA had been recovered"
    assert MQDISC(taken)[2] == mq.MQRC_NONE
    taken = take(group, "QMB")
    assert taken > 0, "the tag was not free after MQDISC"
    assert take(group, "QMB", mq.MQCNO_SERIALIZE_CONN_TAG_Q_MGR) == -mq.MQRC_CONN_TAG_IN_USE
    MQDISC(taken)


def structure(layout: Layout, **values: int | str) -> bytearray:
    made = layout.default()
    for name, value in values.items():
        layout.patch(made, name, value)
    return made


def test_a_unit_in_doubt_keeps_the_tag_of_its_connection(group: Group) -> None:
    """MQDISC tells it with a warning, MQRC_CONN_TAG_NOT_RELEASED."""
    taken = take(group, "QMA")
    assert taken > 0
    od = structure(MQOD, ObjectName="SHARED.QUEUE")
    pmo = structure(MQPMO, Options=mq.MQPMO_SYNCPOINT)
    assert MQPUT1(taken, od, structure(MQMD), pmo, b"salary")[1] == mq.MQRC_NONE
    member = group.members["QMA"]
    assert member.ask(prepare=XID) == [1]
    assert MQDISC(taken)[1:] == (mq.MQCC_WARNING, mq.MQRC_CONN_TAG_NOT_RELEASED)
    for name in ("QMA", "QMB"):
        assert take(group, name) == -mq.MQRC_CONN_TAG_IN_USE
    assert "AMQ7593I" in member.ask(mqsc=f"RESOLVE INDOUBT(*) ACTION(COMMIT) NID({XID})")[0]
    wait_for(lambda: take(group, "QMB") > 0, "the tag is not free although the unit has ended")


def test_no_tag_can_be_had_while_the_facility_is_away(tmp_path: Path) -> None:
    group = Group(tmp_path, OwnFacility(tmp_path))
    try:
        group.start("QMA", 1)
        taken = take(group, "QMA")
        assert taken > 0
        MQDISC(taken)
        group.facility.close()
        wait_for(lambda: take(group, "QMA") == -mq.MQRC_CONN_TAG_NOT_USABLE, "the loss was not noticed")
        assert take(group, "QMA", mq.MQCNO_SERIALIZE_CONN_TAG_Q_MGR) == -mq.MQRC_CONN_TAG_NOT_USABLE
    finally:
        group.close()
