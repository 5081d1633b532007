"""DISPLAY of what is going on."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import pytest
from tests.command.conftest import STARTED_MS, LocalCommandContext, Operator, Program

from ostler.command.admin.context import ApplicationStatus, ChannelStatus
from ostler.command.admin.objects import matching_names
from ostler.model import constants as mq


def test_a_queue(operator: Operator, program: Program) -> None:
    operator.says("def ql(Q1) maxfsize(100)")
    program.open("Q1", mq.MQOO_INPUT_SHARED)
    program.put("Q1")
    assert operator.says("dis qstatus(Q1)") == [
        "AMQ8450I: Queue status.",
        "   QUEUE(Q1)                               TYPE(QUEUE)",
        "   CURDEPTH(1)                             CURFSIZE(0)",
        "   CURMAXFS(100)                           IPPROCS(1)",
        "   LGETDATE( )                             LGETTIME( )",
        "   LPUTDATE(2023-11-14)                    LPUTTIME(22.13.20)",
        "   MEDIALOG( )                             MONQ(OFF)",
        "   MSGAGE( )                               OPPROCS(0)",
        "   QTIME( , )                              UNCOM(NO)",
    ]
    operator.says("def ql(Q2)")
    assert operator.says("dis qs(Q*)") == [
        "AMQ8450I: Queue status.",
        "   QUEUE(Q1)                               TYPE(QUEUE)",
        "   CURDEPTH(1)",
        "AMQ8450I: Queue status.",
        "   QUEUE(Q2)                               TYPE(QUEUE)",
        "   CURDEPTH(0)",
    ]
    assert len(operator.says("dis qs(Q*) where(curdepth gt 0)")) == 3
    assert len(operator.says("dis qs(Q*) opentype(input)")) == 3
    assert operator.fails("dis qs(Q*) where(curdepth gt 5)") == "AMQ8565I: There is no queue status to show."
    assert operator.fails("dis qs(NONE)") == "AMQ8147E: Ostler object NONE not found."


def test_a_queue_leaves_its_monitoring_to_the_queue_manager(operator: Operator) -> None:
    operator.says("def ql(Q1)")
    operator.says("alter qmgr monq(medium)")
    assert operator.says("dis qs(Q1) monq")[2] == "   CURDEPTH(0)                             MONQ(MEDIUM)"
    operator.says("alter ql(Q1) monq(low)")
    assert operator.says("dis qs(Q1) monq")[2] == "   CURDEPTH(0)                             MONQ(LOW)"


def test_handles(operator: Operator, program: Program, target: LocalCommandContext) -> None:
    operator.says("def ql(Q1)")
    assert operator.fails("dis qs(Q1) type(handle)") == "AMQ8565I: There is no queue status to show."
    program.open("Q1", mq.MQOO_INPUT_SHARED | mq.MQOO_INQUIRE)
    target.programs[program.connection.number] = ApplicationStatus(12, 3, "", "APP.SVRCONN", "10.0.0.1")
    assert operator.says("dis qs(Q1) type(handle)") == [
        "AMQ8450I: Queue status.",
        "   QUEUE(Q1)                               TYPE(HANDLE)",
        "   APPLDESC(Ostler channel)                APPLTAG(orders)",
        "   APPLTYPE(USER)                          ASTATE(NONE)",
        "   BROWSE(NO)                              CHANNEL(APP.SVRCONN)",
        "   CONNAME(10.0.0.1)                       HSTATE(INACTIVE)",
        "   INPUT(SHARED)                           INQUIRE(YES)",
        "   OUTPUT(NO)                              PID(12)",
        "   QMURID(0.0)                             SET(NO)",
        "   TID(3)",
        "   URID(XA_FORMATID[] XA_GTRID[] XA_BQUAL[])",
        "   URTYPE(QMGR)                            USERID(ann)",
    ]
    assert len(operator.says("dis qs(*) type(handle) userid where(input ne no)")) == 3
    assert operator.fails("dis qs(Q1) type(handle) opentype(output)").startswith("AMQ8565I")
    assert operator.fails("dis qs(NONE) type(handle)").startswith("AMQ8147E")


@pytest.mark.parametrize(
    ("application_type", "word"),
    [(mq.MQAT_QMGR, "SYSTEM"), (mq.MQAT_CHANNEL_INITIATOR, "SYSTEM"), (mq.MQAT_UNIX, "USER"), (mq.MQAT_JAVA, "USER")],
)
def test_what_is_the_queue_managers_own(
    operator: Operator, target: LocalCommandContext, application_type: int, word: str
) -> None:
    connection = target.manager.connect("ann", "a channel", application_type)
    target.programs[connection.number] = ApplicationStatus(12, 0, "", "TO.QM2", "10.0.0.1(1414)")
    said = " ".join(operator.says("dis conn(*) all where(appltag eq 'a channel')"))
    assert f"APPLTYPE({word})" in said
    assert "CHANNEL(TO.QM2)" in said
    assert "CONNAME(10.0.0.1(1414))" in said
    target.manager.disconnect(connection)


def test_connections(operator: Operator, program: Program, target: LocalCommandContext) -> None:
    identity = program.connection.connection_id.hex().upper()
    assert operator.says("dis conn(*)") == [
        "AMQ8276I: Connection details.",
        f"   CONN({identity[32:]})",
        f"   EXTCONN({identity[:32]})",
        "   TYPE(CONN)",
    ]
    assert operator.says(f"dis conn({identity[32:]}) pid tid appltag userid channel uowstate") == [
        "AMQ8276I: Connection details.",
        f"   CONN({identity[32:]})",
        f"   EXTCONN({identity[:32]})",
        "   TYPE(CONN)",
        "   PID(0)                                  TID(0)",
        "   APPLTAG(orders)                         CHANNEL( )",
        "   UOWSTATE(NONE)                          USERID(ann)",
    ]
    assert operator.fails("dis conn(0000)") == "AMQ8461I: There is no such connection."
    assert operator.fails("dis conn(*) where(appltag eq other)") == "AMQ8461I: There is no such connection."
    operator.says("def ql(Q1)")
    program.open("Q1", mq.MQOO_BROWSE)
    assert operator.says("dis conn(*) type(handle) objname openopts")[4:] == [
        "   OBJNAME(Q1)                             OPENOPTS(MQOO_BROWSE)",
    ]
    assert [line for line in operator.says("dis conn(*) type(all)") if "TYPE" in line] == [
        "   TYPE(CONN)",
        "   TYPE(HANDLE)",
    ]


def test_the_queue_manager(operator: Operator, program: Program) -> None:
    lines = operator.says("dis qmstatus")
    assert lines[:3] == [
        "AMQ8705I: Queue manager status.",
        "   QMNAME(TEST)                            TYPE(QMGR)",
        "   STATUS(RUNNING)                         AUTOCLUS(NONE)",
    ]
    assert operator.says("dis qmstatus conns startda startti")[2:] == [
        "   STATUS(RUNNING)                         CONNS(1)",
        "   STARTDA(2023-11-14)                     STARTTI(22.13.20)",
    ]
    assert operator.says("dis qmstatus type(log)")[1:] == [
        "   QMNAME(TEST)                            TYPE(LOG)",
        "   STATUS(RUNNING)                         LOGEXTSZ(0)",
        "   LOGINUSE(7)                             LOGPATH( )",
        "   LOGPRIM(3)                              LOGSEC(0)",
        "   LOGSTRL( )                              LOGTYPE(CIRCULAR)",
    ]
    assert operator.fails("dis qmstatus type(nativeha)").startswith("AMQ8147E")


def test_channels(operator: Operator, target: LocalCommandContext) -> None:
    assert operator.fails("dis chs(*)") == "AMQ8420I: There is no channel status to show."
    target.channels.append(
        ChannelStatus(
            "APP.SVRCONN",
            connection_name="10.0.0.7",
            user="app",
            application="/opt/orders/bin/orders",
            started_ms=STARTED_MS,
            conversations=2,
            conversations_max=10,
            security_protocol="TLSV13",
            cipher_spec="TLS_AES_128_GCM_SHA256",
        )
    )
    target.channels.append(ChannelStatus("APP.SVRCONN", connection_name="10.0.0.8", started_ms=STARTED_MS + 1))
    target.channels.append(ChannelStatus("ADMIN.SVRCONN", status="STOPPED"))
    assert operator.says("dis chstatus(APP.SVRCONN) conname(10.0.0.7)") == [
        "AMQ8417I: Channel status.",
        "   CHANNEL(APP.SVRCONN)                    CHLTYPE(SVRCONN)",
        "   CONNAME(10.0.0.7)                       CURRENT",
        "   STATUS(RUNNING)                         SUBSTATE(RECEIVE)",
    ]
    assert operator.says("dis chs(*) where(conname eq '10.0.0.7') curshcnv mcauser sslciph") == [
        "AMQ8417I: Channel status.",
        "   CHANNEL(APP.SVRCONN)                    CHLTYPE(SVRCONN)",
        "   CONNAME(10.0.0.7)                       CURRENT",
        "   MCAUSER(app)                            SSLCIPH(TLS_AES_128_GCM_SHA256)",
        "   STATUS(RUNNING)                         SUBSTATE(RECEIVE)",
        "   CURSHCNV(2)",
    ]
    everything = operator.says("dis chs(APP.SVRCONN) all")
    assert everything.count("AMQ8417I: Channel status.") == 2
    assert "   MAXSHCNV(10)                            RVERSION( )" in everything
    assert operator.says("dis chs(*) where(status eq stopped)")[1:] == [
        "   CHANNEL(ADMIN.SVRCONN)                  CHLTYPE(SVRCONN)",
        "   CONNAME( )                              CURRENT",
        "   STATUS(STOPPED)                         SUBSTATE( )",
    ]
    assert operator.fails("dis chs(APP.SVRCONN) saved").startswith("AMQ8420I")


SENDING = ChannelStatus(
    "HERE.TO.THERE",
    "SDR",
    substate="MQGET",
    connection_name="10.0.0.2(1414)",
    transmission_queue="THERE",
    remote_manager="THERE",
    started_ms=STARTED_MS,
    last_message_ms=STARTED_MS,
    messages=120,
    batches=3,
    batch_size=50,
    current_luwid=bytes.fromhex("80679A56CA090010"),
    current_sequence=120,
    last_luwid=bytes.fromhex("80679A56C9090010"),
    last_sequence=100,
    current_messages=20,
    short_retries_left=10,
    long_retries_left=999_999_999,
    network_time=(250, 300),
    transmission_messages=7,
    message_bytes_max=4_194_304,
)
RECEIVING = ChannelStatus(
    "THERE.TO.HERE", "RCVR", connection_name="10.0.0.2", remote_manager="THERE", user="mqm", in_doubt=False
)


def test_message_channels(operator: Operator, target: LocalCommandContext) -> None:
    target.channels = [RECEIVING, SENDING]
    assert operator.says("dis chs(*)") == [
        "AMQ8417I: Channel status.",
        "   CHANNEL(HERE.TO.THERE)                  CHLTYPE(SDR)",
        "   CONNAME(10.0.0.2(1414))                 CURRENT",
        "   RQMNAME(THERE)                          STATUS(RUNNING)",
        "   SUBSTATE(MQGET)                         XMITQ(THERE)",
        "AMQ8417I: Channel status.",
        "   CHANNEL(THERE.TO.HERE)                  CHLTYPE(RCVR)",
        "   CONNAME(10.0.0.2)                       CURRENT",
        "   RQMNAME(THERE)                          STATUS(RUNNING)",
        "   SUBSTATE(RECEIVE)",
    ]
    assert "   CURLUWID(0000000000000000)" in "\n".join(operator.says("dis chs(THERE.TO.HERE) curluwid"))
    both = operator.says("dis chs(*) conname(10.0.0.2)")
    assert both.count("AMQ8417I: Channel status.") == 2  # the port may be left out
    assert len(operator.says("dis chs(*) xmitq(THERE)")) == 5
    assert len(operator.says("dis chs(*) where(curmsgs gt 10)")) == 6
    assert "XQMSGSA" not in "\n".join(operator.says("dis chs(HERE.TO.THERE) all"))
    assert "MAXMSGL(4194304)" in "\n".join(operator.says("dis chs(HERE.TO.THERE) maxmsgl"))
    assert "XQMSGSA(7)" in "\n".join(operator.says("dis chs(HERE.TO.THERE) monitor"))


@pytest.mark.parametrize(
    ("status", "substate", "agent"),
    [
        ("RUNNING", "MQGET", "RUNNING"),
        ("BINDING", "MQGET", "RUNNING"),
        ("STOPPING", "MQGET", "RUNNING"),
        ("STARTING", " ", "STOPPED"),
        ("RETRYING", " ", "STOPPED"),
        ("STOPPED", " ", "STOPPED"),
    ],
)
def test_where_a_channel_is_in_its_work(
    operator: Operator, target: LocalCommandContext, status: str, substate: str, agent: str
) -> None:
    target.channels = [replace(SENDING, status=status)]
    said = "\n".join(operator.says("dis chs(*) mcastat"))
    assert f"STATUS({status})" in said
    assert f"SUBSTATE({substate})" in said
    assert f"MCASTAT({agent})" in said


def test_what_is_saved_of_channels(operator: Operator, target: LocalCommandContext) -> None:
    target.channels = [SENDING]
    assert operator.fails("dis chs(*) saved") == "AMQ8420I: There is no channel status to show."
    target.channels.append(replace(SENDING, instance="SAVED", status="INACTIVE", in_doubt=True))
    assert operator.says("dis chs(*) saved all") == [
        "AMQ8417I: Channel status.",
        "   CHANNEL(HERE.TO.THERE)                  CHLTYPE(SDR)",
        "   CONNAME(10.0.0.2(1414))                 CURLUWID(80679A56CA090010)",
        "   CURMSGS(20)                             CURSEQNO(120)",
        "   INDOUBT(YES)                            LSTLUWID(80679A56C9090010)",
        "   LSTSEQNO(100)                           RQMNAME(THERE)",
        "   SAVED                                   STATUS(INACTIVE)",
        "   XMITQ(THERE)",
    ]
    assert operator.says("dis chs(*) saved batches lstseqno")[2:] == [  # how many batches is not saved
        "   CONNAME(10.0.0.2(1414))                 LSTSEQNO(100)",
        "   RQMNAME(THERE)                          SAVED",
        "   STATUS(INACTIVE)                        XMITQ(THERE)",
    ]
    assert len(operator.says("dis chs(*) current")) == 5
    assert operator.fails("dis chs(*) saved where(indoubt eq no)").startswith("AMQ8420I")


def test_channels_in_short(operator: Operator, target: LocalCommandContext) -> None:
    target.channels = [SENDING, replace(SENDING, instance="SAVED")]
    assert operator.says("dis chs(*) short all") == [
        "AMQ8417I: Channel status.",
        "   CHANNEL(HERE.TO.THERE)                  CHLTYPE(SDR)",
        "   CONNAME(10.0.0.2(1414))                 QMNAME(TEST)",
        "   RQMNAME(THERE)                          SHORT",
        "   STATUS(RUNNING)                         XMITQ(THERE)",
    ]


def test_listeners(operator: Operator) -> None:
    assert operator.fails("dis lsstatus(*)") == "AMQ8147E: Ostler object * not found."
    operator.says("def lstr(L1) port(1415) descr('The door')")
    operator.says("start lstr(L1)")
    assert operator.says("dis lsstatus(L1)") == [
        "AMQ8631I: Listener status.",
        "   LISTENER(L1)                            STATUS(RUNNING)",
        "   PID(4711)                               STARTDA(2023-11-14)",
        "   STARTTI(22.13.20)                       DESCR(The door)",
        "   TRPTYPE(TCP)                            CONTROL(MANUAL)",
        "   IPADDR(*)                               PORT(1415)",
        "   BACKLOG(100)",
    ]
    assert operator.says("dis lsstatus(*) port")[1:] == [
        "   LISTENER(L1)                            STATUS(RUNNING)",
        "   PID(4711)                               PORT(1415)",
    ]


@pytest.mark.parametrize(
    ("command", "until", "why"),
    [
        ("dis qs(Q1) type(odd)", "dis qs(Q1) type(odd", "TYPE is one of QUEUE, HANDLE."),
        ("dis qs(Q1) opentype(odd)", "dis qs(Q1) opentype(odd", "OPENTYPE is one of ALL, INPUT, OUTPUT."),
        ("dis qs(Q1) maxdepth", "dis qs(Q1) maxdepth", "MAXDEPTH is not a keyword of QSTATUS"),
        ("dis qmstatus(TEST)", "dis qmstatus(TEST", "QMSTATUS takes no name."),
        ("dis conn", "dis conn", "CONN needs a name in brackets"),
        ("dis chs(*) current saved", "dis chs(*) current saved", "CURRENT and SAVED exclude each other"),
        ("dis chs(*) substat", "dis chs(*) substat", "did you mean SUBSTATE?"),
    ],
)
def test_what_is_wrong_is_pointed_at(operator: Operator, command: str, until: str, why: str) -> None:
    said, part = operator.is_wrong(command)
    assert part == until
    assert why in said


def test_a_queue_that_is_watched(operator: Operator, target: LocalCommandContext, program: Program) -> None:
    operator.says("def ql(Q1) monq(high)")
    assert "MSGAGE(0)" in " ".join(operator.says("dis qs(Q1) msgage qtime"))
    program.put("Q1")  # long ago
    target.hours_on = 1
    shown = " ".join(operator.says("dis qs(Q1) msgage qtime"))
    assert "MSGAGE(0)" not in shown
    assert "MSGAGE( )" not in shown
    assert "QTIME( , )" in shown  # nothing was got yet
    operator.says("alter ql(Q1) monq(off)")
    assert "MSGAGE( )" in " ".join(operator.says("dis qs(Q1) msgage"))


class _TooMany(dict[str, object]):
    """A table that nobody should go through."""

    def __iter__(self) -> Iterator[str]:
        raise AssertionError("every name was looked at")


def test_a_full_name_is_looked_up_however_many_there_are() -> None:
    assert matching_names(_TooMany(A=1, B=2), "A") == ["A"]
    assert matching_names(_TooMany(A=1, B=2), "C") == []
    assert matching_names({"B": 1, "AB": 2, "A": 3}, "A*") == ["A", "AB"]
