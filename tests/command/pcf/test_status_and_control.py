"""PCF commands about what runs: status, connections, start and stop, the queue manager, Escape."""

from __future__ import annotations

import pytest
from tests.command.conftest import STARTED_MS, LocalCommandContext, Program
from tests.command.pcf.pcf_requests import Administrator, Given

from ostler.command.admin.context import ChannelStatus, CommandRefused, ListenerStatus, ServiceStatus
from ostler.command.pcf.command import PcfCommand, PcfField
from ostler.command.pcf.dispatch import COMMANDS
from ostler.model import constants as mq
from ostler.model.attributes import attributes_of
from ostler.model.errors import MQError
from ostler.model.pcf import (
    ByteString,
    ByteStringFilter,
    Integer,
    IntegerFilter,
    IntegerList,
    Parameter,
    String,
    StringFilter,
    StringList,
)

NAME = mq.MQCA_Q_NAME
CHANNEL = mq.MQCACH_CHANNEL_NAME


@pytest.fixture
def admin(target: LocalCommandContext) -> Administrator:
    return Administrator(target)


@pytest.fixture
def queue(admin: Administrator) -> str:
    admin.done(mq.MQCMD_CREATE_Q, {NAME: "A.QUEUE", mq.MQIA_Q_TYPE: mq.MQQT_LOCAL})
    return "A.QUEUE"


def test_the_status_of_a_queue(admin: Administrator, program: Program, queue: str) -> None:
    program.put(queue)
    program.open(queue, mq.MQOO_INPUT_SHARED)
    (found,) = admin.does(mq.MQCMD_INQUIRE_Q_STATUS, {NAME: queue})
    assert (found[mq.MQIA_CURRENT_Q_DEPTH], found[mq.MQIA_OPEN_INPUT_COUNT]) == (1, 1)
    assert found[mq.MQIACF_UNCOMMITTED_MSGS] == 0
    assert found[mq.MQIACF_Q_STATUS_TYPE] == mq.MQIACF_Q_STATUS
    (short,) = admin.does(mq.MQCMD_INQUIRE_Q_STATUS, {NAME: queue, mq.MQIACF_Q_STATUS_ATTRS: [mq.MQIA_CURRENT_Q_DEPTH]})
    assert short == {NAME: queue, mq.MQIACF_Q_STATUS_TYPE: mq.MQIACF_Q_STATUS, mq.MQIA_CURRENT_Q_DEPTH: 1}


def test_the_status_of_its_handles(admin: Administrator, program: Program, queue: str) -> None:
    asked: dict[int, Given] = {NAME: queue, mq.MQIACF_Q_STATUS_TYPE: mq.MQIACF_Q_HANDLE}
    assert admin.fails(mq.MQCMD_INQUIRE_Q_STATUS, asked) == (mq.MQRCCF_Q_STATUS_NOT_FOUND,)
    program.open(queue, mq.MQOO_INPUT_SHARED)
    program.open(queue, mq.MQOO_OUTPUT)
    assert len(admin.does(mq.MQCMD_INQUIRE_Q_STATUS, asked)) == 2
    (found,) = admin.does(mq.MQCMD_INQUIRE_Q_STATUS, {**asked, mq.MQIACF_OPEN_TYPE: mq.MQQSOT_OUTPUT})
    assert found[mq.MQIACF_OPEN_OUTPUT] == mq.MQQSO_YES
    assert (found[mq.MQCACF_APPL_TAG], found[mq.MQCACF_USER_IDENTIFIER]) == ("orders", "ann")


def test_queues_without_status(admin: Administrator) -> None:
    assert admin.fails(mq.MQCMD_INQUIRE_Q_STATUS, {NAME: "NOPE"}) == (mq.MQRC_UNKNOWN_OBJECT_NAME,)
    alias = admin.fails(mq.MQCMD_INQUIRE_Q_STATUS, {NAME: "SYSTEM.DEFAULT.ALIAS.QUEUE"})
    assert alias == (mq.MQRCCF_Q_TYPE_ERROR,)


def test_statistics_are_reset(admin: Administrator, program: Program, queue: str) -> None:
    program.put(queue)
    (found,) = admin.does(mq.MQCMD_RESET_Q_STATS, {NAME: queue})
    assert (found[NAME], found[mq.MQIA_MSG_ENQ_COUNT], found[mq.MQIA_HIGH_Q_DEPTH]) == (queue, 1, 1)
    (again,) = admin.does(mq.MQCMD_RESET_Q_STATS, {NAME: queue})
    assert again[mq.MQIA_MSG_ENQ_COUNT] == 0
    assert admin.fails(mq.MQCMD_RESET_Q_STATS, {NAME: "NOPE"}) == (mq.MQRC_UNKNOWN_OBJECT_NAME,)


def test_messages_are_moved(admin: Administrator, program: Program, queue: str) -> None:
    admin.done(mq.MQCMD_CREATE_Q, {NAME: "B.QUEUE", mq.MQIA_Q_TYPE: mq.MQQT_LOCAL})
    program.put(queue)
    admin.done(mq.MQCMD_MOVE_Q, {mq.MQCACF_FROM_Q_NAME: queue, mq.MQCACF_TO_Q_NAME: "B.QUEUE"})
    (found,) = admin.does(mq.MQCMD_INQUIRE_Q, {NAME: "B.QUEUE"})
    assert found[mq.MQIA_CURRENT_Q_DEPTH] == 1
    unknown: dict[int, Given] = {mq.MQCACF_FROM_Q_NAME: "NOPE", mq.MQCACF_TO_Q_NAME: "B.QUEUE"}
    assert admin.fails(mq.MQCMD_MOVE_Q, unknown) == (mq.MQRC_UNKNOWN_OBJECT_NAME,)


def test_the_status_of_channels(admin: Administrator, target: LocalCommandContext) -> None:
    assert admin.fails(mq.MQCMD_INQUIRE_CHANNEL_STATUS, {CHANNEL: "*"}) == (mq.MQRCCF_CHL_STATUS_NOT_FOUND,)
    target.channels = [
        ChannelStatus("TO.ME", connection_name="10.0.0.1", bytes_sent=2**40, started_ms=STARTED_MS),
        ChannelStatus("TO.YOU", connection_name="10.0.0.2", status="STOPPED"),
    ]
    me, you = admin.does(mq.MQCMD_INQUIRE_CHANNEL_STATUS, {CHANNEL: "TO.*"})
    assert me[mq.MQIACH_CHANNEL_STATUS] == mq.MQCHS_RUNNING
    assert me[mq.MQIACH_BYTES_SENT] == 2**40 % 10**9
    assert me[mq.MQCACH_CHANNEL_START_DATE] == "2023-11-14"
    assert you[mq.MQIACH_CHANNEL_STATUS] == mq.MQCHS_STOPPED
    (by_address,) = admin.does(mq.MQCMD_INQUIRE_CHANNEL_STATUS, {CHANNEL: "*", mq.MQCACH_CONNECTION_NAME: "10.0.0.1"})
    assert by_address[CHANNEL] == "TO.ME"
    running = IntegerFilter(mq.MQIACH_CHANNEL_STATUS, mq.MQCFOP_EQUAL, mq.MQCHS_RUNNING)
    (filtered,) = admin.does(mq.MQCMD_INQUIRE_CHANNEL_STATUS, {CHANNEL: "*"}, running)
    assert filtered[CHANNEL] == "TO.ME"
    saved: dict[int, Given] = {CHANNEL: "*", mq.MQIACH_CHANNEL_INSTANCE_TYPE: mq.MQOT_SAVED_CHANNEL}
    assert admin.fails(mq.MQCMD_INQUIRE_CHANNEL_STATUS, saved) == (mq.MQRCCF_CHL_STATUS_NOT_FOUND,)


def test_the_status_of_channels_by_their_disposition(admin: Administrator, target: LocalCommandContext) -> None:
    """MQIACH_CHANNEL_DISP selects as CHLDISP of DISPLAY CHSTATUS does."""
    target.channels = [
        ChannelStatus("A.PRIVATE", disposition="PRIVATE"),
        ChannelStatus("B.SHARED", disposition="SHARED"),
        ChannelStatus("C.FIXED", disposition="FIXSHARED"),
        ChannelStatus("D.ALONE"),
    ]

    def selected(disposition: int) -> list[object]:
        asked: dict[int, Given] = {CHANNEL: "*", mq.MQIACH_CHANNEL_DISP: disposition}
        return [found[CHANNEL] for found in admin.does(mq.MQCMD_INQUIRE_CHANNEL_STATUS, asked)]

    assert selected(mq.MQCHLD_ALL) == ["A.PRIVATE", "B.SHARED", "C.FIXED", "D.ALONE"]
    assert selected(mq.MQCHLD_PRIVATE) == ["A.PRIVATE", "D.ALONE"]
    assert selected(mq.MQCHLD_SHARED) == ["B.SHARED"]
    assert selected(mq.MQCHLD_FIXSHARED) == ["C.FIXED"]
    target.channels = target.channels[:1]
    none: dict[int, Given] = {CHANNEL: "*", mq.MQIACH_CHANNEL_DISP: mq.MQCHLD_SHARED}
    assert admin.fails(mq.MQCMD_INQUIRE_CHANNEL_STATUS, none) == (mq.MQRCCF_CHL_STATUS_NOT_FOUND,)
    wrong: dict[int, Given] = {CHANNEL: "*", mq.MQIACH_CHANNEL_DISP: 99}
    assert admin.fails(mq.MQCMD_INQUIRE_CHANNEL_STATUS, wrong)[2] == mq.MQIACH_CHANNEL_DISP


def test_channels_are_started_and_stopped(admin: Administrator, target: LocalCommandContext) -> None:
    admin.done(mq.MQCMD_CREATE_CHANNEL, {CHANNEL: "TO.ME", mq.MQIACH_CHANNEL_TYPE: mq.MQCHT_SVRCONN})
    assert admin.fails(mq.MQCMD_STOP_CHANNEL, {CHANNEL: "TO.ME"}) == (mq.MQRCCF_CHANNEL_NOT_ACTIVE,)
    target.channels = [ChannelStatus("TO.ME")]
    admin.done(mq.MQCMD_STOP_CHANNEL, {CHANNEL: "TO.ME", mq.MQIACF_MODE: mq.MQMODE_FORCE})
    admin.done(mq.MQCMD_STOP_CHANNEL, {CHANNEL: "TO.ME", mq.MQCACH_CONNECTION_NAME: "10.0.0.1"})
    admin.done(mq.MQCMD_START_CHANNEL, {CHANNEL: "TO.ME"})
    assert target.asked == [
        ("stop", "TO.ME", "FORCE", "STOPPED", "", ""),
        ("stop", "TO.ME", "QUIESCE", "INACTIVE", "10.0.0.1", ""),
        ("start", "TO.ME"),
    ]
    assert admin.fails(mq.MQCMD_START_CHANNEL, {CHANNEL: "NOPE"}) == (mq.MQRCCF_CHANNEL_NOT_FOUND,)
    client = admin.fails(mq.MQCMD_STOP_CHANNEL, {CHANNEL: "SYSTEM.DEF.CLNTCONN"})
    assert client == (mq.MQRCCF_WRONG_CHANNEL_TYPE,)


def test_message_channels(admin: Administrator, target: LocalCommandContext) -> None:
    sender: dict[int, Given] = {CHANNEL: "SYSTEM.DEF.SENDER"}
    target.channels = [ChannelStatus("SYSTEM.DEF.SENDER", "SDR")]
    admin.done(mq.MQCMD_START_CHANNEL, sender)
    admin.done(mq.MQCMD_STOP_CHANNEL, {**sender, mq.MQCA_Q_MGR_NAME: "QM2"})
    both: dict[int, Given] = {mq.MQCA_Q_MGR_NAME: "QM2", mq.MQIACH_CHANNEL_STATUS: mq.MQCHS_STOPPED}
    refused = admin.fails(mq.MQCMD_STOP_CHANNEL, {**sender, **both})
    assert refused[0] == mq.MQRCCF_PARM_CONFLICT
    admin.done(mq.MQCMD_PING_CHANNEL, sender)
    admin.done(mq.MQCMD_PING_CHANNEL, {**sender, mq.MQIACH_DATA_COUNT: 4096})
    admin.done(mq.MQCMD_RESET_CHANNEL, sender)
    admin.done(mq.MQCMD_RESET_CHANNEL, {**sender, mq.MQIACH_MSG_SEQUENCE_NUMBER: 12})
    admin.done(mq.MQCMD_RESOLVE_CHANNEL, {**sender, mq.MQIACH_IN_DOUBT: mq.MQIDO_COMMIT})
    admin.done(mq.MQCMD_RESOLVE_CHANNEL, {**sender, mq.MQIACH_IN_DOUBT: mq.MQIDO_BACKOUT})
    batch: dict[int, Given] = {mq.MQIACH_IN_DOUBT: mq.MQIDO_COMMIT, mq.MQCACH_LAST_LUWID: "0123456789ABCDEF"}
    admin.done(mq.MQCMD_RESOLVE_CHANNEL, {**sender, **batch})
    admin.done(mq.MQCMD_START_CHANNEL_INIT, {mq.MQCA_INITIATION_Q_NAME: "SYSTEM.CHANNEL.INITQ"})
    admin.done(mq.MQCMD_STOP_CHANNEL_INIT, {})
    name = "SYSTEM.DEF.SENDER"
    assert target.asked == [
        ("start", name),
        ("stop", name, "QUIESCE", "INACTIVE", "", "QM2"),
        ("ping", name, "64"),
        ("ping", name, "4096"),
        ("reset", name, "1"),
        ("reset", name, "12"),
        ("resolve", name, "COMMIT"),
        ("resolve", name, "BACKOUT"),
        ("resolve", name, "COMMIT", "0123456789abcdef"),
        ("start initiator", "SYSTEM.CHANNEL.INITQ"),
        ("stop initiator",),
    ]


def test_the_disposition_of_a_channel(admin: Administrator, target: LocalCommandContext) -> None:
    name = "SYSTEM.DEF.SENDER"
    target.channels = [ChannelStatus(name, "SDR")]
    shared: dict[int, Given] = {CHANNEL: name, mq.MQIACH_CHANNEL_DISP: mq.MQCHLD_SHARED}
    admin.done(mq.MQCMD_START_CHANNEL, {**shared, mq.MQIACH_CHANNEL_DISP: mq.MQCHLD_FIXSHARED})
    admin.done(mq.MQCMD_STOP_CHANNEL, shared)
    admin.done(mq.MQCMD_PING_CHANNEL, shared)
    admin.done(mq.MQCMD_RESET_CHANNEL, shared)
    in_doubt: dict[int, Given] = {CHANNEL: name, mq.MQIACH_IN_DOUBT: mq.MQIDO_COMMIT}
    admin.done(mq.MQCMD_RESOLVE_CHANNEL, {**in_doubt, mq.MQIACH_CHANNEL_DISP: mq.MQCHLD_SHARED})
    assert target.asked == [
        ("start", name, "CHLDISP(FIXSHARED)"),
        ("stop", name, "QUIESCE", "STOPPED", "", "", "CHLDISP(SHARED)"),
        ("ping", name, "64"),
        ("reset", name, "1", "CHLDISP(SHARED)"),
        ("resolve", name, "COMMIT", "CHLDISP(SHARED)"),
    ]


def test_what_message_channels_refuse(admin: Administrator, target: LocalCommandContext) -> None:
    sender: dict[int, Given] = {CHANNEL: "SYSTEM.DEF.SENDER"}
    doubt: dict[int, Given] = {mq.MQIACH_IN_DOUBT: mq.MQIDO_COMMIT}
    for channel in ("SYSTEM.DEF.SVRCONN", "SYSTEM.DEF.RECEIVER", "SYSTEM.DEF.REQUESTER"):
        assert admin.fails(mq.MQCMD_PING_CHANNEL, {CHANNEL: channel}) == (mq.MQRCCF_WRONG_CHANNEL_TYPE,)
        wrong = admin.fails(mq.MQCMD_RESOLVE_CHANNEL, {CHANNEL: channel, **doubt})
        assert wrong == (mq.MQRCCF_WRONG_CHANNEL_TYPE,)
    assert admin.fails(mq.MQCMD_RESET_CHANNEL, {CHANNEL: "SYSTEM.DEF.SVRCONN"}) == (mq.MQRCCF_WRONG_CHANNEL_TYPE,)
    assert admin.fails(mq.MQCMD_START_CHANNEL, {CHANNEL: "SYSTEM.DEF.CLUSSDR"}) == (mq.MQRCCF_CHANNEL_DISABLED,)
    assert admin.fails(mq.MQCMD_STOP_CHANNEL, {CHANNEL: "SYSTEM.DEF.CLUSSDR"}) == (mq.MQRCCF_CHANNEL_NOT_ACTIVE,)
    assert admin.fails(mq.MQCMD_STOP_CHANNEL, sender) == (mq.MQRCCF_CHANNEL_NOT_ACTIVE,)
    short = admin.fails(mq.MQCMD_PING_CHANNEL, {**sender, mq.MQIACH_DATA_COUNT: 15})
    assert short[0] == mq.MQRCCF_PING_DATA_COUNT_ERROR
    low = admin.fails(mq.MQCMD_RESET_CHANNEL, {**sender, mq.MQIACH_MSG_SEQUENCE_NUMBER: 0})
    assert low[0] == mq.MQRCCF_MSG_SEQ_NUMBER_ERROR
    odd = admin.fails(mq.MQCMD_RESOLVE_CHANNEL, {**sender, mq.MQIACH_IN_DOUBT: 9})
    assert odd[0] == mq.MQRCCF_INDOUBT_VALUE_ERROR
    no_batch = admin.fails(mq.MQCMD_RESOLVE_CHANNEL, {**sender, **doubt, mq.MQCACH_LAST_LUWID: "12"})
    assert no_batch[0] == mq.MQRCCF_CFST_STRING_LENGTH_ERR
    backout: dict[int, Given] = {mq.MQIACH_IN_DOUBT: mq.MQIDO_BACKOUT, mq.MQCACH_LAST_LUWID: "0123456789ABCDEF"}
    assert admin.fails(mq.MQCMD_RESOLVE_CHANNEL, {**sender, **backout})[0] == mq.MQRCCF_PARM_CONFLICT
    assert target.asked == []


@pytest.mark.parametrize(
    ("refusal", "reason"),
    [
        (CommandRefused("AMQ9514E", "in use"), mq.MQRCCF_CHANNEL_IN_USE),
        (CommandRefused("AMQ9520E", "not there"), mq.MQRCCF_UNKNOWN_REMOTE_CHANNEL),
        (CommandRefused("AMQ9526E", "other number"), mq.MQRCCF_MSG_SEQ_NUMBER_ERROR),
        (CommandRefused("AMQ9531E", "wrong queue"), mq.MQRCCF_NOT_XMIT_Q),
        (MQError(mq.MQRCCF_CHANNEL_INDOUBT, "in doubt"), mq.MQRCCF_CHANNEL_INDOUBT),
    ],
)
def test_reasons_of_channels(
    admin: Administrator, target: LocalCommandContext, refusal: Exception, reason: int
) -> None:
    target.channel_refusal = refusal
    sender: dict[int, Given] = {CHANNEL: "SYSTEM.DEF.SENDER"}
    for command in (mq.MQCMD_START_CHANNEL, mq.MQCMD_PING_CHANNEL, mq.MQCMD_RESET_CHANNEL):
        assert admin.fails(command, sender) == (reason,)


def test_a_channel_in_doubt_is_not_deleted(admin: Administrator, target: LocalCommandContext) -> None:
    admin.done(mq.MQCMD_CREATE_CHANNEL, {CHANNEL: "TO.ME", mq.MQIACH_CHANNEL_TYPE: mq.MQCHT_RECEIVER})
    target.channels = [ChannelStatus("TO.ME", "RCVR", "RETRYING")]
    assert admin.fails(mq.MQCMD_DELETE_CHANNEL, {CHANNEL: "TO.ME"}) == (mq.MQRCCF_CHANNEL_IN_USE,)
    target.channels = [ChannelStatus("TO.ME", "RCVR", instance="SAVED", in_doubt=True)]
    assert admin.fails(mq.MQCMD_DELETE_CHANNEL, {CHANNEL: "TO.ME"}) == (mq.MQRCCF_CHANNEL_INDOUBT,)
    target.channels = []
    admin.done(mq.MQCMD_DELETE_CHANNEL, {CHANNEL: "TO.ME"})


def test_what_is_saved_of_channels(admin: Administrator, target: LocalCommandContext) -> None:
    saved = ChannelStatus(
        "TO.YOU", "SDR", "INACTIVE", instance="SAVED", transmission_queue="YOU", last_luwid=b"\x11" * 8, last_sequence=7
    )
    target.channels = [ChannelStatus("TO.YOU", "SDR", transmission_queue="YOU", current_sequence=9), saved]
    asked: dict[int, Given] = {CHANNEL: "TO.*", mq.MQIACH_CHANNEL_INSTANCE_TYPE: mq.MQOT_SAVED_CHANNEL}
    (found,) = admin.does(mq.MQCMD_INQUIRE_CHANNEL_STATUS, asked)
    assert found[mq.MQIACH_CHANNEL_INSTANCE_TYPE] == mq.MQOT_SAVED_CHANNEL
    assert found[mq.MQCACH_LAST_LUWID] == "11" * 8
    assert found[mq.MQIACH_LAST_SEQUENCE_NUMBER] == 7
    assert found[mq.MQIACH_INDOUBT_STATUS] == mq.MQCHIDS_NOT_INDOUBT
    assert found[mq.MQCACH_XMIT_Q_NAME] == "YOU"
    assert mq.MQIACH_BYTES_SENT not in found
    (current,) = admin.does(mq.MQCMD_INQUIRE_CHANNEL_STATUS, {CHANNEL: "TO.YOU", mq.MQCACH_XMIT_Q_NAME: "YOU"})
    assert current[mq.MQIACH_CURRENT_SEQUENCE_NUMBER] == 9
    assert current[mq.MQIACH_BATCH_SIZE_INDICATOR] == [0, 0]
    asked[mq.MQIACH_CHANNEL_INSTANCE_TYPE] = mq.MQOT_SHORT_CHANNEL
    (short,) = admin.does(mq.MQCMD_INQUIRE_CHANNEL_STATUS, asked)
    assert short[mq.MQIACH_CHANNEL_STATUS] == mq.MQCHS_RUNNING
    assert mq.MQIACH_CURRENT_SEQUENCE_NUMBER not in short
    asked[mq.MQIACH_CHANNEL_INSTANCE_TYPE] = 4711
    assert admin.fails(mq.MQCMD_INQUIRE_CHANNEL_STATUS, asked)[0] == mq.MQRCCF_CHL_INST_TYPE_ERROR


def test_listeners(admin: Administrator, target: LocalCommandContext) -> None:
    name = mq.MQCACH_LISTENER_NAME
    made: dict[int, Given] = {name: "L", mq.MQIACH_XMIT_PROTOCOL_TYPE: mq.MQXPT_TCP, mq.MQIACH_PORT: 1515}
    admin.done(mq.MQCMD_CREATE_LISTENER, made)
    assert admin.fails(mq.MQCMD_STOP_CHANNEL_LISTENER, {name: "L"}) == (mq.MQRCCF_LISTENER_STOPPED,)
    admin.done(mq.MQCMD_START_CHANNEL_LISTENER, {name: "L"})
    assert admin.fails(mq.MQCMD_START_CHANNEL_LISTENER, {name: "L"}) == (mq.MQRCCF_LISTENER_RUNNING,)
    (found,) = admin.does(mq.MQCMD_INQUIRE_LISTENER_STATUS, {name: "*"})
    assert (found[name], found[mq.MQIACH_PORT]) == ("L", 1515)
    assert found[mq.MQIACH_LISTENER_STATUS] == mq.MQSVC_STATUS_RUNNING
    assert found[mq.MQIACF_PROCESS_ID] == 4711
    admin.done(mq.MQCMD_STOP_CHANNEL_LISTENER, {name: "L"})
    assert admin.fails(mq.MQCMD_INQUIRE_LISTENER_STATUS, {name: "*"}) == (mq.MQRC_UNKNOWN_OBJECT_NAME,)
    assert admin.fails(mq.MQCMD_START_CHANNEL_LISTENER, {name: "NOPE"}) == (mq.MQRC_UNKNOWN_OBJECT_NAME,)
    assert ListenerStatus("L").status == "RUNNING"


class WithServices(LocalCommandContext):
    """A queue manager that can run programs."""

    def __init__(self, other: LocalCommandContext) -> None:
        super().__init__(other.manager)
        self.running: list[str] = []

    def start_service(self, name: str) -> None:
        self.running.append(name)

    def stop_service(self, name: str) -> None:
        self.running.remove(name)

    def service_status(self) -> list[ServiceStatus]:
        return [ServiceStatus(name, 4712, STARTED_MS) for name in self.running]

    def stop_connection(self, number: int) -> bool:
        self.asked.append(("stop connection", str(number)))
        return True

    def write_statistics(self) -> None:
        self.asked.append(("statistics",))

    def expire_messages(self) -> None:
        self.asked.append(("expire",))


@pytest.fixture
def server(target: LocalCommandContext) -> WithServices:
    return WithServices(target)


def test_services(server: WithServices) -> None:
    admin = Administrator(server)
    name = mq.MQCA_SERVICE_NAME
    admin.done(mq.MQCMD_CREATE_SERVICE, {name: "S", mq.MQCA_SERVICE_START_COMMAND: "run"})
    assert admin.fails(mq.MQCMD_STOP_SERVICE, {name: "S"}) == (mq.MQRCCF_SERVICE_STOPPED,)
    admin.done(mq.MQCMD_START_SERVICE, {name: "S"})
    assert admin.fails(mq.MQCMD_START_SERVICE, {name: "S"}) == (mq.MQRCCF_SERVICE_RUNNING,)
    (found,) = admin.does(mq.MQCMD_INQUIRE_SERVICE_STATUS, {name: "S"})
    assert (found[mq.MQIACF_PROCESS_ID], found[mq.MQCA_SERVICE_START_COMMAND]) == (4712, "run")
    admin.done(mq.MQCMD_STOP_SERVICE, {name: "S"})
    assert admin.fails(mq.MQCMD_INQUIRE_SERVICE_STATUS, {name: "S"}) == (mq.MQRC_UNKNOWN_OBJECT_NAME,)


def test_connections(admin: Administrator, program: Program, queue: str) -> None:
    program.open(queue, mq.MQOO_OUTPUT)
    identity, generic = mq.MQBACF_CONNECTION_ID, mq.MQBACF_GENERIC_CONNECTION_ID
    (found,) = admin.does(mq.MQCMD_INQUIRE_CONNECTION, {generic: b""})
    assert found[identity] == program.connection.connection_id
    assert found[mq.MQCACF_APPL_TAG] == "orders"
    generated = b"MQCT" + program.connection.connection_id
    assert found[mq.MQBACF_CONN_TAG].startswith(generated)
    assert len(found[mq.MQBACF_CONN_TAG]) == mq.MQ_CONN_TAG_LENGTH
    both = admin.does(
        mq.MQCMD_INQUIRE_CONNECTION,
        {identity: program.connection.connection_id, mq.MQIACF_CONN_INFO_TYPE: mq.MQIACF_CONN_INFO_ALL},
    )
    assert [each[mq.MQIACF_CONN_INFO_TYPE] for each in both] == [1111, 1112]
    assert both[1][mq.MQCACF_OBJECT_NAME] == queue
    assert admin.fails(mq.MQCMD_INQUIRE_CONNECTION) == (mq.MQRCCF_PARM_MISSING,)
    assert admin.fails(mq.MQCMD_INQUIRE_CONNECTION, {identity: bytes(24)}) == (mq.MQRCCF_CONNECTION_ID_ERROR,)


def test_connections_by_bytes(admin: Administrator, program: Program) -> None:
    identity = program.connection.connection_id
    for operator, value, count in (
        (mq.MQCFOP_EQUAL, identity, 1),
        (mq.MQCFOP_NOT_EQUAL, identity, 0),
        (mq.MQCFOP_LIKE, identity[:8], 1),
        (mq.MQCFOP_LIKE, b"\xff", 0),
        (mq.MQCFOP_NOT_LIKE, identity[:8], 0),
        (mq.MQCFOP_GREATER, b"\xff", 0),
        (mq.MQCFOP_NOT_GREATER, b"\xff", 1),
    ):
        item: Parameter = ByteStringFilter(mq.MQBACF_CONNECTION_ID, operator, value)
        replies = admin.ask(mq.MQCMD_INQUIRE_CONNECTION, {mq.MQBACF_GENERIC_CONNECTION_ID: b""}, item)
        assert sum(each.header.completion == 0 for each in replies) == count, operator


def test_a_connection_is_stopped(server: WithServices, program: Program) -> None:
    admin = Administrator(server)
    admin.done(mq.MQCMD_STOP_CONNECTION, {mq.MQBACF_CONNECTION_ID: program.connection.connection_id})
    assert server.asked == [("stop connection", str(program.connection.number))]
    unknown = admin.fails(mq.MQCMD_STOP_CONNECTION, {mq.MQBACF_CONNECTION_ID: bytes(24)})
    assert unknown == (mq.MQRCCF_CONNECTION_ID_ERROR,)


def test_the_queue_manager(admin: Administrator, server: WithServices, target: LocalCommandContext) -> None:
    admin.done(mq.MQCMD_PING_Q_MGR)
    (found,) = admin.does(mq.MQCMD_INQUIRE_Q_MGR_STATUS)
    assert (found[mq.MQCA_Q_MGR_NAME], found[mq.MQIACF_Q_MGR_STATUS]) == ("TEST", mq.MQQMSTA_RUNNING)
    assert found[mq.MQCACF_HOST_NAME] == "here"
    (log,) = admin.does(mq.MQCMD_INQUIRE_Q_MGR_STATUS, {mq.MQIACF_Q_MGR_STATUS_INFO_TYPE: mq.MQIACF_Q_MGR_STATUS_LOG})
    assert (log[mq.MQIACF_LOG_IN_USE], mq.MQCACF_HOST_NAME in log) == (7, False)
    admin.done(mq.MQCMD_REFRESH_SECURITY, {mq.MQIACF_SECURITY_TYPE: mq.MQSECTYPE_SSL})
    assert target.asked == [("refresh",)]
    other = Administrator(server)
    other.done(mq.MQCMD_RESET_Q_MGR, {mq.MQIACF_ACTION: mq.MQACT_COLLECT_STATISTICS})
    other.done(mq.MQCMD_REFRESH_Q_MGR, {mq.MQIACF_REFRESH_TYPE: mq.MQRT_EXPIRY})
    assert server.asked == [("statistics",), ("expire",)]
    quiet = other.fails(mq.MQCMD_REFRESH_Q_MGR, {mq.MQIACF_REFRESH_TYPE: mq.MQRT_CONFIGURATION})
    assert quiet == (mq.MQRCCF_COMMAND_INHIBITED,)


def test_what_belongs_to_z_os_is_no_command_here(admin: Administrator) -> None:
    for command in (mq.MQCMD_INQUIRE_ARCHIVE, mq.MQCMD_INQUIRE_SYSTEM, mq.MQCMD_INQUIRE_LOG):
        assert admin.fails(command) == (mq.MQRCCF_CFH_COMMAND_ERROR,)


def test_clusters_are_not_taken_part_in(admin: Administrator) -> None:
    for command in (mq.MQCMD_REFRESH_CLUSTER, mq.MQCMD_RESET_CLUSTER):
        assert admin.fails(command, {mq.MQCA_CLUSTER_NAME: "C"}) == (mq.MQRC_UNKNOWN_OBJECT_NAME,)
    for command in (mq.MQCMD_SUSPEND_Q_MGR_CLUSTER, mq.MQCMD_RESUME_Q_MGR_CLUSTER):
        assert admin.fails(command, {mq.MQCA_CLUSTER_NAME: "C"}) == (mq.MQRC_UNKNOWN_OBJECT_NAME,)


# -- Escape ------------------------------------------------------------------------------------------------------------


def escape(text: str) -> dict[int, Given]:
    return {mq.MQIACF_ESCAPE_TYPE: mq.MQET_MQSC, mq.MQCACF_ESCAPE_TEXT: text}


def test_mqsc_is_escaped(admin: Administrator) -> None:
    (made,) = admin.does(mq.MQCMD_ESCAPE, escape("DEFINE QLOCAL(A.QUEUE)"))
    assert str(made[mq.MQCACF_ESCAPE_TEXT]).startswith("AMQ8006I: ")
    shown = admin.does(mq.MQCMD_ESCAPE, escape("display queue(SYSTEM.DEFAULT*) type(qlocal)"))
    assert len(shown) == 2
    assert all(str(each[mq.MQCACF_ESCAPE_TEXT]).count("\n") >= 1 for each in shown)


@pytest.mark.parametrize("text", ["DISPLAY QLOCAL(NOPE)", "DISPLAX QLOCAL(*)", ""])
def test_mqsc_that_fails_says_so_in_words_and_in_numbers(admin: Administrator, text: str) -> None:
    reply = admin.ask(mq.MQCMD_ESCAPE, escape(text))[-1]
    assert (reply.header.completion, reply.header.reason) == (mq.MQCC_FAILED, mq.MQRCCF_COMMAND_FAILED)
    words = [item.value for item in reply.parameters if isinstance(item, String)]
    assert len(words) == 1


def test_the_header_of_an_escaped_command_names_it(admin: Administrator) -> None:
    (reply,) = admin.ask(mq.MQCMD_ESCAPE, escape("ping qmgr"))
    assert reply.header.command == mq.MQCMD_PING_Q_MGR
    (reply,) = admin.ask(mq.MQCMD_ESCAPE, escape("nonsense"))
    assert reply.header.command == mq.MQCMD_ESCAPE
    wrong = admin.fails(mq.MQCMD_ESCAPE, {mq.MQIACF_ESCAPE_TYPE: 9, mq.MQCACF_ESCAPE_TEXT: "PING QMGR"})
    assert wrong[0] == mq.MQRCCF_ESCAPE_TYPE_ERROR


def test_all_commands_have_names_and_numbers() -> None:
    assert len(COMMANDS) > 90
    for number, command in COMMANDS.items():
        assert command.number == number == getattr(mq, command.constant)
        numbers = [field.number for field in command.fields]
        assert len(set(numbers)) == len(numbers), command.constant


# -- filters -----------------------------------------------------------------------------------------------------------


_IN_GROUPS = (mq.MQCMD_INQUIRE_CF_STRUC_STATUS, mq.MQCMD_INQUIRE_SMDSCONN)  # test_structures.py has them
_FILTERED = [each for each in COMMANDS.values() if each.filtered and each.number not in _IN_GROUPS]


@pytest.mark.parametrize("command", _FILTERED, ids=[each.constant for each in _FILTERED])
def test_the_attribute_of_a_filter_is_in_the_replies(
    admin: Administrator, target: LocalCommandContext, program: Program, queue: str, command: PcfCommand
) -> None:
    """Also when it was not asked for: programs read it. Each attribute of each Inquire command is tried."""
    have_something_of_everything(admin, target, program, queue)
    asked = {field.number: anything(field) for field in command.fields if field.required}
    if command.constant == "MQCMD_INQUIRE_CONNECTION":
        asked[mq.MQBACF_GENERIC_CONNECTION_ID] = b""
    if command.constant in ("MQCMD_INQUIRE_SUBSCRIPTION", "MQCMD_INQUIRE_SUB_STATUS"):
        asked[mq.MQCACF_SUB_NAME] = "*"
    found = admin.ask(command.number, asked)
    assert found[-1].header.completion == 0, "there is nothing to ask about"
    known = {each.pcf for kind in command.filtered for each in attributes_of(kind) if each.pcf}
    items = {item.parameter: item for reply in found for item in reply.parameters if item.parameter in known}
    selection = next(field.number for field in command.fields if field.is_selection)
    tried = 0
    for number, item in items.items():
        condition = filter_on(item)
        other = next(each for each in items if each != number)
        if condition is None:
            continue
        for listed in ({}, {selection: [other]}):
            replies = admin.ask(command.number, {**asked, **listed}, condition)
            assert replies[-1].header.reason == 0, (number, replies[-1].header)
            assert all(any(each.parameter == number for each in reply.parameters) for reply in replies), number
            tried += 1
    assert tried > 4


def have_something_of_everything(
    admin: Administrator, target: LocalCommandContext, program: Program, queue: str
) -> None:
    program.put(queue)
    program.open(queue, mq.MQOO_INPUT_SHARED)
    target.channels = [ChannelStatus("TO.ME", connection_name="10.0.0.1", started_ms=STARTED_MS)]
    listener: dict[int, Given] = {mq.MQCACH_LISTENER_NAME: "A.LISTENER", mq.MQIACH_XMIT_PROTOCOL_TYPE: mq.MQXPT_TCP}
    admin.done(mq.MQCMD_CREATE_LISTENER, listener)
    target.listeners = {"A.LISTENER": ListenerStatus("A.LISTENER", port=1414, process_id=4711, started_ms=STARTED_MS)}
    target.services = {"A.SERVICE": ServiceStatus("A.SERVICE", 4711, STARTED_MS, "RUNNING")}
    admin.done(mq.MQCMD_CREATE_CF_STRUC, {mq.MQCA_CF_STRUC_NAME: "STRUC"})
    admin.done(mq.MQCMD_CREATE_STG_CLASS, {mq.MQCA_STORAGE_CLASS: "CLASS", mq.MQIA_PAGESET_ID: 0})
    admin.done(
        mq.MQCMD_CREATE_SUBSCRIPTION,
        {mq.MQCACF_SUB_NAME: "A.SUB", mq.MQCA_TOPIC_STRING: "a/b", mq.MQCACF_DESTINATION: queue},
    )


def anything(field: PcfField) -> Given:
    return "#" if field.constant == "MQCA_TOPIC_STRING" else "*"


def filter_on(item: Parameter) -> Parameter | None:
    """A filter that the object with this attribute passes; None for what has no filter."""
    if isinstance(item, Integer):
        return IntegerFilter(item.parameter, mq.MQCFOP_EQUAL, item.value)
    if isinstance(item, String):
        return StringFilter(item.parameter, mq.MQCFOP_EQUAL, item.value)
    if isinstance(item, ByteString):
        return ByteStringFilter(item.parameter, mq.MQCFOP_EQUAL, item.value)
    if isinstance(item, IntegerList) and item.values:
        return IntegerFilter(item.parameter, mq.MQCFOP_CONTAINS, item.values[0])
    if isinstance(item, StringList) and item.values:
        return StringFilter(item.parameter, mq.MQCFOP_CONTAINS, item.values[0])
    return None
