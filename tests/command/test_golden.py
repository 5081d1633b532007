"""DISPLAY of every type of object and status, word for word, against the files in `golden`.

Each file has commands and what they are answered with. Made anew with OSTLER_GOLDEN=write; read the difference before
you keep it.
"""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest
from tests.command.conftest import STARTED_MS, LocalCommandContext, Operator, Program

from ostler.command.admin.context import ApplicationStatus, ChannelStatus, ServiceStatus
from ostler.model import constants as mq
from ostler.server.queue_manager import QueueManager

GOLDEN = Path(__file__).parent / "golden"
# What differs from day to day and from one queue manager to the next, made the same without a change of width.
STAMPS = (
    re.compile(r"\b\w*(?:DATE|TIME|DA|TI)\([0-9.-]{8,10}\)"),
    re.compile(r"\bQMID\(\w+_[0-9-]{10}_[0-9.]{8}\)"),
    re.compile(r"\b(?:SUBID|CONN|CONNTAG|EXTCONN|DESTCORL|PUBACCT)\([0-9A-F]{8,}\)"),
    re.compile(r"\b(?:PID|TID)\([0-9]+\)"),
    re.compile(r"\b(?:VERSION|CMDLEVEL)\([0-9]+\)"),
    re.compile(r"\bQMURID\(0\.[0-9]+\)"),
    re.compile(r"\bACTCONN\((?!0{48})[0-9A-F]+\)"),
)
MANAGED = re.compile(r"(?<=DURABLE\.)[0-9A-F]{16}\b")
LISTED = re.compile("[A-Z]{3,}, .*")

SETUP: dict[str, str] = {
    "queues": """\
        define qlocal(G.LOCAL) descr('Orders of today') maxdepth(10000) trigger trigtype(every) initq(G.INIT) +
            process(G.PROCESS) boqname(G.BACKED.OUT) bothresh(3) defpsist(yes)
        define qalias(G.ALIAS) target(G.LOCAL) put(disabled) descr('Another name')
        define qremote(G.REMOTE) rname(THERE) rqmname(FAR) xmitq(G.XMIT)
        define qmodel(G.MODEL) deftype(permdyn) noshare
        define qlocal(G.XMIT) usage(xmitq)""",
    "channels": """\
        define channel(G.SDR) chltype(sdr) conname('far.example(1414)') xmitq(G.XMIT) sslciph(ANY_TLS12_OR_HIGHER)
        define channel(G.SVR) chltype(svr) xmitq(G.XMIT)
        define channel(G.RCVR) chltype(rcvr) mcauser('courier')
        define channel(G.RQSTR) chltype(rqstr) conname('far.example')
        define channel(G.SVRCONN) chltype(svrconn) maxinst(50) sslcauth(optional) descr('For programs')
        define channel(G.CLNTCONN) chltype(clntconn) conname('here(1414),there(1414)') qmname(GROUP) clntwght(5)
        define channel(G.CLUSSDR) chltype(clussdr) conname('full.example') cluster(ALL)
        define channel(G.CLUSRCVR) chltype(clusrcvr) conname('here.example') cluster(ALL)
        define channel(G.AMQP) chltype(amqp) port(5672)""",
    "others": """\
        define listener(G.LISTENER) trptype(tcp) port(1415) ipaddr('127.0.0.1') control(qmgr)
        define service(G.SERVICE) servtype(server) control(manual) startcmd('/opt/clock/run') startarg('-v +QMNAME+')
        define process(G.PROCESS) applicid('/opt/orders/run') appltype(unix) userdata('fast') envrdata('A=1')
        define namelist(G.LIST) names(FIRST SECOND THIRD) descr('Three')
        define namelist(G.EMPTY) names()
        define topic(G.TOPIC) topicstr('prices/fruit') defpsist(yes) durSUB(no)
        define authinfo(G.OS) authtype(idpwos) chckclnt(required) adoptctx(yes)
        define authinfo(G.LDAP) authtype(idpwldap) conname('ldap.example') shortusr(uid)
        define authinfo(G.CRL) authtype(crlldap) conname('crl.example') ldapuser('reader') ldappwd('secret')
        define authinfo(G.OCSP) authtype(ocsp) ocspurl('http://ocsp.example')
        define comminfo(G.COMM) grpaddr('239.1.2.3')
        define cfstruct(GSTRUCT) cflevel(5) recover(yes)
        define stgclass(GCLASS) psid(3)""",
    "alive": """\
        define topic(G.OPEN) topicstr('news')""",
    "subscription": """\
        define sub(G.SUB) topicstr('prices/corn') dest(G.LOCAL)""",
}
# File: what is set up before, and the commands.
CASES: dict[str, tuple[str, tuple[str, ...]]] = {
    "qmgr": ("", ("display qmgr", "display qmgr deadq descr")),
    "qmgr-groups": ("", tuple(f"dis qmgr {group}" for group in ("system", "event", "chinit", "cluster", "pubsub"))),
    "queues": (
        "queues",
        (
            "dis ql(G.LOCAL)",
            "dis qa(G.ALIAS)",
            "dis qr(G.REMOTE)",
            "dis qm(G.MODEL)",
            "dis queue(G.*)",
            "dis q(G.*) descr curdepth target rname",
            "dis ql(G.*) where(usage eq xmitq)",
        ),
    ),
    "channels": (
        "channels",
        (
            *(
                f"dis chl(G.{kind})"
                for kind in ("SDR", "SVR", "RCVR", "RQSTR", "SVRCONN", "CLNTCONN", "CLUSSDR", "CLUSRCVR", "AMQP")
            ),
            "dis chl(G.*) conname",
            "dis chl(G.*) chltype(svrconn) maxinst sharecnv",
        ),
    ),
    "listener": ("others", ("dis listener(G.LISTENER)", "dis lstr(G.*) port")),
    "service": ("others", ("dis service(G.SERVICE)", "dis service(G.*) startcmd")),
    "process": ("others", ("dis process(G.PROCESS)", "dis pro(G.*) applicid")),
    "namelist": ("others", ("dis namelist(G.LIST)", "dis nl(G.*) namcount", "dis nl(G.EMPTY)")),
    "topic": ("others", ("dis topic(G.TOPIC)", "dis topic(G.*) topicstr")),
    "authinfo": ("others", tuple(f"dis authinfo(G.{kind})" for kind in ("OS", "LDAP", "CRL", "OCSP"))),
    "comminfo": ("others", ("dis comminfo(G.COMM)", "dis comminfo(G.*) grpaddr")),
    "cfstruct": ("others", ("dis cfstruct(GSTRUCT)", "dis cfstruct(*) recover")),
    "stgclass": ("others", ("dis stgclass(GCLASS)", "dis stgclass(*) psid")),
    "sub": ("queues others subscription", ("dis sub(G.SUB)", "dis sub(G.*) topicstr durable")),
    "chlauth": ("", ("dis chlauth(*)", "dis chlauth(*) all")),
    "authrec": (
        "",
        (
            "set authrec profile(G.**) objtype(queue) group('staff') authadd(get,put,inq)",
            "dis authrec profile(G.**) objtype(queue)",
        ),
    ),
    "qstatus": (
        "queues",
        (
            "dis qstatus(G.LOCAL) all",
            "dis qs(G.LOCAL)",
            "dis qs(G.LOCAL) monitor",
            "dis qs(G.LOCAL) type(handle) all",
            "dis qs(G.*) type(handle) appltag input",
        ),
    ),
    "qmstatus": ("", ("dis qmstatus all", "dis qmstatus conns", "dis qmstatus type(log)")),
    "chstatus": (
        "channels",
        (
            "dis chstatus(G.SVRCONN)",
            "dis chs(*) all",
            "dis chs(*) monitor",
            "dis chs(*) msgs",
            "dis chs(*) saved all",
            "dis chs(*) short",
            "dis chs(NONE)",
        ),
    ),
    "lsstatus": ("others", ("start listener(G.LISTENER)", "dis lsstatus(G.LISTENER)", "dis lsstatus(*) port")),
    "svstatus": ("others", ("dis svstatus(G.SERVICE)", "dis svstatus(*) pid")),
    "conn": ("queues", ("dis conn(*) all", "dis conn(*) appltag userid", "dis conn(*) type(handle) all")),
    "tpstatus": ("others", ("dis tpstatus('prices/#')", "dis tpstatus('prices/fruit') pub sub")),
    "sbstatus": ("queues others subscription", ("dis sbstatus(G.SUB)", "dis sbstatus(G.*) nummsgs")),
    "pubsub": ("", ("dis pubsub", "dis pubsub all")),
    "topics-alive": (
        "queues others subscription alive",
        (
            "dis sub(G.API)",
            "dis sub(G.*) subtype(all) topicstr durable destclas",
            "dis sbstatus(G.API)",
            "dis sbs(G.*) nummsgs subtype",
            "dis tps('prices/corn')",
            "dis tps('prices/#') subcount pubcount retained admin",
            "dis tps('prices/#') type(sub)",
            "dis tps('prices/corn') type(sub) nummsgs subtype",
            "dis tps('prices/#') type(pub) all",
            "dis conn(*) type(handle) objname objtype topicstr subname dest",
            "dis pubsub",
            "clear topicstr('prices/corn') clrtype(retained)",
            "dis tps('prices/corn') retained",
        ),
    ),
    "topics-refused": (
        "queues others alive",
        (
            "dis tps",
            "dis tps('not/there')",
            "dis tps('#') type(queue)",
            "dis tps('#') where(type eq topic)",
            "dis sub(NOT.THERE)",
            "dis sub subid(1234)",
            "delete sub(NOT.THERE)",
            "delete sub(G.API)",
            "define sub(G.NEW) topicstr('prices')",
            "define sub(G.NEW) dest(G.LOCAL)",
            "define sub(G.NEW) topicstr('prices') dest(NOT.THERE)",
            "define sub(G.NEW) topicobj(NOT.THERE) dest(G.LOCAL)",
            "define sub(G.NEW) topicstr('prices/fruit') dest(G.LOCAL)",
            "define sub(G.NEW) topicstr('prices') dest(G.LOCAL) selector('size >')",
            "define sub(G.NEW) topicstr('prices') dest(G.LOCAL) sublevel(10)",
            "define sub(G.WILD) topicstr('prices') dest(G.LOCAL) replace",
            "alter sub(G.API) topicstr('other')",
            "alter sub(G.API) dest(G.LOCAL)",
            "define topic(G.NEW) topicstr('prices/fruit')",
            "alter topic(G.TOPIC) topicstr('other')",
            "delete topic(G.OPEN)",
            "clear topicstr('prices')",
            "clear topicstr('prices/#') clrtype(retained)",
            "alter qmgr treelife(604001)",
        ),
    ),
    "refusals": (
        "queues",
        (
            "dipslay ql(*)",
            "display qlocl(*)",
            "define qlocal(A) maxdepht(5)",
            "define qlocal(A) maxdepth(many)",
            "define qlocal(A) maxdepth(5",
            "define qlocal(A) descr('open",
            "define qlocal(A) replace noreplace",
            "define qlocal('no good')",
            "define channel(A) conname('x')",
            "display qlocal(NOT.THERE)",
            "define qlocal(G.LOCAL)",
            "alter qlocal(NOT.THERE) maxdepth(5)",
            "set policy(A) signalg(sha256)",
        ),
    ),
}


class Serving(LocalCommandContext):
    """With one service that runs."""

    def service_status(self) -> list[ServiceStatus]:
        return [ServiceStatus("G.SERVICE", 4712, STARTED_MS)]


@pytest.fixture
def operator(manager: QueueManager) -> Operator:
    return Operator(Serving(manager))


def prepared(operator: Operator, program: Program, names: str) -> None:
    for name in names.split():
        answer, counts = operator.script(SETUP[name])
        assert counts.exit_code == 0, "\n".join(answer)
    if "queues" in names:
        program.put("G.LOCAL")
        program.open("G.LOCAL", mq.MQOO_INPUT_SHARED | mq.MQOO_OUTPUT)
    if "alive" in names:
        program.subscribe("prices/corn", "G.API", mq.MQSO_DURABLE)
        program.subscribe("prices/#", "G.WILD")
        program.publish(program.open_topic("prices/corn"), options=mq.MQPMO_RETAIN)
        program.open_topic("", "G.OPEN")
    operator.target.programs[program.connection.number] = ApplicationStatus(
        4711, 3, "Ostler channel", "G.SVRCONN", "127.0.0.1"
    )
    operator.target.channels = [
        ChannelStatus(
            "G.SVRCONN",
            connection_name="127.0.0.1",
            application="orders",
            user="ann",
            started_ms=STARTED_MS,
            last_verb_ms=STARTED_MS,
            verbs=17,
            conversations=1,
            conversations_max=10,
            heartbeat_seconds=300,
            remote_product="MQCC",
            remote_version="09040000",
        ),
        ChannelStatus(
            "G.TO.THERE",
            "SDR",
            connection_name="127.0.0.1(1415)",
            local_address="127.0.0.1(40000)",
            transmission_queue="THERE",
            remote_manager="THERE",
            substate="MQGET",
            started_ms=STARTED_MS,
            last_message_ms=STARTED_MS,
            messages=2000,
            batches=40,
            batch_size=50,
            current_luwid=bytes.fromhex("80679A56CA090010"),
            current_sequence=2000,
            last_luwid=bytes.fromhex("80679A56C9090010"),
            last_sequence=2000,
            short_retries_left=10,
            long_retries_left=999999999,
            heartbeat_seconds=300,
            message_compression=("ZLIBFAST", "ZLIBFAST"),
            compression_rate=(60, 55),
            compression_time=(12, 14),
            network_time=(250, 240),
            batch_fill=(50, 48),
            transmission_time=(3151, 1099),
            monitoring="LOW",
            remote_product="MQMM",
            remote_version="09040000",
        ),
        ChannelStatus(
            "G.TO.THERE",
            "SDR",
            "RUNNING",
            connection_name="127.0.0.1(1415)",
            instance="SAVED",
            transmission_queue="THERE",
            remote_manager="THERE",
            last_luwid=bytes.fromhex("80679A56C9090010"),
            last_sequence=2000,
        ),
        ChannelStatus(
            "THERE.TO.G",
            "RCVR",
            connection_name="127.0.0.1",
            remote_manager="THERE",
            user="mqm",
            started_ms=STARTED_MS,
            batch_size=50,
            nonpersistent_speed="NORMAL",
        ),
    ]


def same_every_day(line: str) -> str:
    if line.startswith(("AMQ8426I", "AMQ8427I")):
        line = LISTED.sub("...", line)  # all that is there: another test's business
    line = MANAGED.sub("9" * 16, line)
    for stamp in STAMPS:
        line = stamp.sub(nines, line)
    return line


def nines(found: re.Match[str]) -> str:
    name, bracket, value = found[0].partition("(")
    return name + bracket + re.sub("[0-9]" if "_" in value else "[0-9A-F]", "9", value)


@pytest.mark.parametrize("name", CASES)
def test_displays(operator: Operator, program: Program, name: str) -> None:
    setup, commands = CASES[name]
    prepared(operator, program, setup)
    lines: list[str] = []
    for command in commands:
        answer, _ = operator.run(command)
        lines += [f"> {command}", *(same_every_day(line) for line in answer), ""]
    path = GOLDEN / f"{name}.txt"
    found = "\n".join(lines)
    if os.environ.get("OSTLER_GOLDEN") == "write":
        path.write_text(found, encoding="utf-8")
    assert found == path.read_text(encoding="utf-8")


def test_every_file_is_used() -> None:
    assert {path.stem for path in GOLDEN.glob("*.txt")} == set(CASES)
