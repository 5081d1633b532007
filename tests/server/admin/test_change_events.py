"""Events about changes, commands and refusals, as programs find them on the event queues."""

from __future__ import annotations

import getpass
from collections.abc import Iterator

import pytest

import ostler
from ostler.model import constants as mq
from ostler.model.errors import MQError
from ostler.model.pcf import Group, Integer, Parameter, PcfMessage, String, decode
from ostler.testing import queue_manager
from ostler.testing.running import RunningQueueManager

CONFIGURATION = "SYSTEM.ADMIN.CONFIG.EVENT"
COMMAND = "SYSTEM.ADMIN.COMMAND.EVENT"
MANAGER = "SYSTEM.ADMIN.QMGR.EVENT"
CHANNEL = "SYSTEM.ADMIN.CHANNEL.EVENT"


@pytest.fixture(scope="module")
def running() -> Iterator[RunningQueueManager]:
    with queue_manager("EVENTS", guarded=True, channel="APP.SVRCONN") as found:
        yield found


@pytest.fixture
def qm(running: RunningQueueManager) -> Iterator[RunningQueueManager]:
    with running.isolated():
        events(running, MANAGER)  # that it has started
        yield running


def events(qm: RunningQueueManager, queue: str) -> list[PcfMessage]:
    found: list[PcfMessage] = []
    while (message := qm.get(queue)) is not None:
        assert message.format == "MQEVENT"
        assert isinstance(message.body, bytes)
        found.append(decode(message.body))
    return found


def value(parameters: tuple[Parameter, ...], number: int) -> int | str | None:
    for each in parameters:
        if isinstance(each, Integer | String) and each.parameter == number:
            return each.value
    return None


def test_nothing_is_told_unless_asked_for(qm: RunningQueueManager) -> None:
    qm.mqsc("DEFINE QLOCAL(Q)\nDISPLAY QLOCAL(Q)\nDELETE QLOCAL(Q)")
    for queue in (CONFIGURATION, COMMAND, MANAGER, CHANNEL):
        assert events(qm, queue) == []


def test_an_object_comes_changes_and_goes(qm: RunningQueueManager) -> None:
    qm.mqsc("ALTER QMGR CONFIGEV(ENABLED)")
    switched = events(qm, CONFIGURATION)
    assert [each.header.reason for each in switched] == [mq.MQRC_CONFIG_CHANGE_OBJECT] * 2
    qm.mqsc("DEFINE QLOCAL(Q) MAXDEPTH(7)\nALTER QLOCAL(Q) MAXDEPTH(8)\nALTER QLOCAL(Q) MAXDEPTH(8)\nDELETE QLOCAL(Q)")
    told = events(qm, CONFIGURATION)
    assert [each.header.reason for each in told] == [
        mq.MQRC_CONFIG_CREATE_OBJECT,
        mq.MQRC_CONFIG_CHANGE_OBJECT,
        mq.MQRC_CONFIG_CHANGE_OBJECT,
        *([mq.MQRC_CONFIG_CHANGE_OBJECT] * (len(told) - 4)),  # the time of the last change may have moved on
        mq.MQRC_CONFIG_DELETE_OBJECT,
    ]
    before, after = told[1], told[2]
    assert (before.header.control, after.header.control) == (mq.MQCFC_NOT_LAST, mq.MQCFC_LAST)
    assert value(before.parameters, mq.MQIA_MAX_Q_DEPTH) == 7
    assert value(after.parameters, mq.MQIA_MAX_Q_DEPTH) == 8
    assert value(after.parameters, mq.MQCA_Q_NAME) == "Q"
    assert value(after.parameters, mq.MQCACF_EVENT_USER_ID) == getpass.getuser()
    assert value(after.parameters, mq.MQIACF_OBJECT_TYPE) == mq.MQOT_Q


def test_rules_and_records_are_objects_too(qm: RunningQueueManager) -> None:
    qm.mqsc("ALTER QMGR CONFIGEV(ENABLED)")
    events(qm, CONFIGURATION)
    qm.mqsc(
        "SET CHLAUTH('X.*') TYPE(ADDRESSMAP) ADDRESS('10.*') USERSRC(NOACCESS)\n"
        "SET AUTHREC OBJTYPE(QMGR) PRINCIPAL('ann') AUTHADD(CONNECT)"
    )
    told = events(qm, CONFIGURATION)
    types = [value(each.parameters, mq.MQIACF_OBJECT_TYPE) for each in told]
    assert types == [mq.MQOT_CHLAUTH, mq.MQOT_AUTH_REC]


def test_commands_are_told_with_who_gave_them(qm: RunningQueueManager) -> None:
    qm.mqsc("ALTER QMGR CMDEV(ENABLED)")
    events(qm, COMMAND)
    qm.mqsc("DEFINE AUTHINFO(A) AUTHTYPE(CRLLDAP) CONNAME('h') LDAPPWD('my secret')\nDISPLAY QLOCAL(SYSTEM.DEAD*)")
    told = events(qm, COMMAND)
    assert [each.header.reason for each in told] == [mq.MQRC_COMMAND_MQSC] * 2
    context, data = told[0].parameters
    assert isinstance(context, Group)
    assert isinstance(data, Group)
    assert value(context.members, mq.MQCACF_EVENT_USER_ID) == getpass.getuser()
    assert value(context.members, mq.MQIACF_COMMAND) == mq.MQCMD_CREATE_AUTH_INFO
    text = str(value(data.members, mq.MQCACF_COMMAND_MQSC))
    assert text.startswith("DEFINE AUTHINFO(A)")
    assert "my secret" not in text


def test_displays_may_be_left_out(qm: RunningQueueManager) -> None:
    qm.mqsc("ALTER QMGR CMDEV(NODISPLAY)")
    events(qm, COMMAND)
    qm.mqsc("DISPLAY QLOCAL(*)\nDEFINE QLOCAL(Q)")
    assert len(events(qm, COMMAND)) == 1


def test_wrong_commands_are_not_told(qm: RunningQueueManager) -> None:
    qm.mqsc("ALTER QMGR CMDEV(ENABLED)")
    events(qm, COMMAND)
    with pytest.raises(Exception, match=r"NOT\.THERE"):
        qm.mqsc("DELETE QLOCAL(NOT.THERE)")
    assert events(qm, COMMAND) == []


def connect(qm: RunningQueueManager, user: str) -> ostler.Connection:
    return ostler.connect(qm.name, qm.connection_name, channel=qm.channel, user=user, reconnect=False)


def test_refused_connections(qm: RunningQueueManager) -> None:
    qm.mqsc("ALTER QMGR AUTHOREV(ENABLED) CHLEV(EXCEPTION)")
    with pytest.raises(MQError):
        connect(qm, "ann")
    (refused,) = events(qm, MANAGER)
    assert refused.header.reason == mq.MQRC_NOT_AUTHORIZED
    assert value(refused.parameters, mq.MQIACF_REASON_QUALIFIER) == mq.MQRQ_CONN_NOT_AUTHORIZED
    assert value(refused.parameters, mq.MQCACF_USER_IDENTIFIER) == "ann"
    qm.mqsc("SET CHLAUTH('*') TYPE(ADDRESSMAP) ADDRESS('*') USERSRC(NOACCESS)")
    with pytest.raises(MQError):
        connect(qm, "ann")
    (blocked,) = events(qm, CHANNEL)
    assert blocked.header.reason == mq.MQRC_CHANNEL_BLOCKED
    assert value(blocked.parameters, mq.MQIACF_REASON_QUALIFIER) == mq.MQRQ_CHANNEL_BLOCKED_NOACCESS
    assert value(blocked.parameters, mq.MQCACH_CHANNEL_NAME) == qm.channel


def test_refused_opens(qm: RunningQueueManager) -> None:
    qm.mqsc(
        "DEFINE QLOCAL(Q)\nALTER QMGR AUTHOREV(ENABLED)\nSET AUTHREC OBJTYPE(QMGR) PRINCIPAL('ann') AUTHADD(CONNECT)"
    )
    with connect(qm, "ann") as connection, pytest.raises(MQError) as caught:
        connection.put("Q", b"x")
    assert caught.value.reason == mq.MQRC_NOT_AUTHORIZED
    (refused,) = events(qm, MANAGER)
    assert value(refused.parameters, mq.MQIACF_REASON_QUALIFIER) == mq.MQRQ_OPEN_NOT_AUTHORIZED
    assert value(refused.parameters, mq.MQCA_Q_NAME) == "Q"
    qm.manager.collect_notices()
    assert any("AMQ8077W" in note and "PUT" in note for note in qm.manager.notices)
