"""DISPLAY of objects, word for word."""

from __future__ import annotations

import re
from itertools import pairwise

import pytest
from tests.command.conftest import Operator

from ostler.command.mqsc.display.layout import columns

STAMP = re.compile(r"(DATE|TIME)\([0-9.-]+\)")


def shown(operator: Operator, command: str) -> list[str]:
    """The answer, with dates and times made the same every day, and columns kept."""
    lines = operator.says(command)
    return [STAMP.sub(lambda found: f"{found[1]}({'9' * (len(found[0]) - 6)})", line) for line in lines]


def named(operator: Operator, command: str) -> list[str]:
    """The names of the objects that a command shows."""
    lines = operator.says(command)
    return [line.split("(")[1].split(")")[0] for before, line in pairwise(lines) if "AMQ" in before]


def test_a_local_queue(operator: Operator) -> None:
    operator.says("def ql(Q1) descr('A queue') notrigger boqname(BACKED.OUT.MESSAGES.OF.A.LONG.NAME)")
    assert shown(operator, "dis ql(q1)") == [
        "AMQ8409I: Queue details.",
        "   QUEUE(Q1)                               TYPE(QLOCAL)",
        "   ACCTQ(QMGR)                             ALTDATE(9999999999)",
        "   ALTTIME(99999999)",
        "   BOQNAME(BACKED.OUT.MESSAGES.OF.A.LONG.NAME)",
        "   BOTHRESH(0)                             CAPEXPRY(NOLIMIT)",
        "   CLUSNL( )                               CLUSTER( )",
        "   CLCHNAME( )                             CLWLPRTY(0)",
        "   CLWLRANK(0)                             CLWLUSEQ(QMGR)",
        "   CRDATE(9999999999)                      CRTIME(99999999)",
        "   CURDEPTH(0)                             CUSTOM( )",
        "   DEFBIND(OPEN)                           DEFPRTY(0)",
        "   DEFPSIST(NO)                            DEFPRESP(SYNC)",
        "   DEFREADA(NO)                            DEFSOPT(SHARED)",
        "   DEFTYPE(PREDEFINED)                     DESCR(A queue)",
        "   DISTL(NO)                               GET(ENABLED)",
        "   HARDENBO                                IMGRCOVQ(QMGR)",
        "   INDXTYPE(NONE)                          INITQ( )",
        "   IPPROCS(0)                              MAXDEPTH(5000)",
        "   MAXFSIZE(DEFAULT)                       MAXMSGL(4194304)",
        "   MONQ(QMGR)                              MSGDLVSQ(PRIORITY)",
        "   NOTRIGGER                               NPMCLASS(NORMAL)",
        "   OPPROCS(0)                              OTELPCTL(QMGR)",
        "   OTELTRAC(QMGR)                          PROCESS( )",
        "   PUT(ENABLED)                            PROPCTL(COMPAT)",
        "   QDEPTHHI(80)                            QDEPTHLO(20)",
        "   QDPHIEV(DISABLED)                       QDPLOEV(DISABLED)",
        "   QDPMAXEV(ENABLED)                       QSVCIEV(NONE)",
        "   QSVCINT(999999999)                      RETINTVL(999999999)",
        "   SCOPE(QMGR)                             SHARE",
        "   STATQ(QMGR)                             STREAMQ( )",
        "   STRMQOS(BESTEF)                         TRIGDATA( )",
        "   TRIGDPTH(1)                             TRIGMPRI(0)",
        "   TRIGTYPE(FIRST)                         USAGE(NORMAL)",
    ]


def test_a_server_connection_channel(operator: Operator) -> None:
    operator.says("define channel(APP.SVRCONN) chltype(svrconn) mcauser('app') sslciph(ANY_TLS12_OR_HIGHER)")
    assert shown(operator, "dis chl(APP.SVRCONN) all") == [
        "AMQ8414I: Channel details.",
        "   CHANNEL(APP.SVRCONN)                    CHLTYPE(SVRCONN)",
        "   ALTDATE(9999999999)                     ALTTIME(99999999)",
        "   CERTLABL( )                             COMPHDR(NONE)",
        "   COMPMSG(NONE)                           DESCR( )",
        "   DISCINT(0)                              HBINT(300)",
        "   KAINT(AUTO)                             MAXINST(999999999)",
        "   MAXINSTC(999999999)                     MAXMSGL(4194304)",
        "   MCAUSER(app)                            MONCHL(QMGR)",
        "   PUTAUT(DEF)                             RCVDATA( )",
        "   RCVEXIT( )                              SCYDATA( )",
        "   SCYEXIT( )                              SENDDATA( )",
        "   SENDEXIT( )                             SHARECNV(10)",
        "   SSLCAUTH(REQUIRED)                      SSLCIPH(ANY_TLS12_OR_HIGHER)",
        "   SSLPEER( )                              TRPTYPE(TCP)",
    ]


def test_a_listener(operator: Operator) -> None:
    operator.says("def listener(L1) trptype(tcp) port(1415) ipaddr('127.0.0.1') control(qmgr)")
    assert shown(operator, "dis lstr(L1)") == [
        "AMQ8630I: Listener details.",
        "   LISTENER(L1)                            CONTROL(QMGR)",
        "   TRPTYPE(TCP)                            PORT(1415)",
        "   IPADDR(127.0.0.1)                       BACKLOG(0)",
        "   DESCR( )                                ALTDATE(9999999999)",
        "   ALTTIME(99999999)",
    ]


def test_namelists_and_processes(operator: Operator) -> None:
    operator.says("def nl(N1) names(A.QUEUE, B.QUEUE, C.QUEUE)")
    operator.says("def nl(N2)")
    operator.says("def pro(P1) applicid('/bin/true')")
    assert shown(operator, "dis nl(N1) names namcount") == [
        "AMQ8550I: Namelist details.",
        "   NAMELIST(N1)                            NAMCOUNT(3)",
        "   NAMES(A.QUEUE",
        "        ,B.QUEUE",
        "        ,C.QUEUE)",
    ]
    assert shown(operator, "dis nl(N2) names namcount") == [
        "AMQ8550I: Namelist details.",
        "   NAMELIST(N2)                            NAMCOUNT(0)",
        "   NAMES( )",
    ]
    assert shown(operator, "dis process(P1)") == [
        "AMQ8407I: Process details.",
        "   PROCESS(P1)                             ALTDATE(9999999999)",
        "   ALTTIME(99999999)                       APPLICID(/bin/true)",
        "   APPLTYPE(UNIX)                          DESCR( )",
        "   ENVRDATA( )                             USERDATA( )",
    ]


def test_topics_and_authentication_information(operator: Operator) -> None:
    operator.says("def topic(T1) topicstr('fruit/apples') pub(disabled)")
    assert operator.says("dis topic(T1) pub") == [
        "AMQ8633I: Topic details.",
        "   TOPIC(T1)                               TYPE(LOCAL)",
        "   TOPICSTR(fruit/apples)                  PUB(DISABLED)",
    ]
    operator.says("def authinfo(LDAP) authtype(idpwldap) conname('host(389)') ldappwd('secret')")
    assert operator.says("dis authinfo(LDAP) conname ldappwd") == [
        "AMQ8566I: Authentication information details.",
        "   AUTHINFO(LDAP)                          AUTHTYPE(IDPWLDAP)",
        "   CONNAME(host(389))                      LDAPPWD(********)",
    ]


def test_the_queue_manager(operator: Operator) -> None:
    assert operator.says("display qmgr maxmsgl deadq syncpt qmname") == [
        "AMQ8408I: Queue manager details.",
        "   QMNAME(TEST)                            DEADQ( )",
        "   MAXMSGL(4194304)                        SYNCPT",
    ]
    everything = operator.says("dis qmgr")
    assert everything[1] == "   QMNAME(TEST)                            ACCTCONO(DISABLED)"
    assert everything == operator.says("dis qmgr all")
    assert any("CHLEV(DISABLED)" in line for line in everything)


def test_attributes_that_are_asked_for(operator: Operator) -> None:
    operator.says("def ql(Q1) noshare")
    assert operator.says("dis ql(Q1) share, maxdepth bothreshold") == [
        "AMQ8409I: Queue details.",
        "   QUEUE(Q1)                               TYPE(QLOCAL)",
        "   BOTHRESH(0)                             MAXDEPTH(5000)",
        "   NOSHARE",
    ]


def test_live_figures(operator: Operator) -> None:
    operator.says("def ql(Q1)")
    assert operator.says("dis q(Q1) curdepth ipprocs opprocs") == [
        "AMQ8409I: Queue details.",
        "   QUEUE(Q1)                               TYPE(QLOCAL)",
        "   CURDEPTH(0)                             IPPROCS(0)",
        "   OPPROCS(0)",
    ]


def test_generic_names_show_little(operator: Operator) -> None:
    for command in ("def ql(A.2)", "def ql(A.1)", "def qa(A.3)", "def ql(B.1)"):
        operator.says(command)
    assert operator.says("dis q(A.*)") == [
        "AMQ8409I: Queue details.",
        "   QUEUE(A.1)                              TYPE(QLOCAL)",
        "AMQ8409I: Queue details.",
        "   QUEUE(A.2)                              TYPE(QLOCAL)",
        "AMQ8409I: Queue details.",
        "   QUEUE(A.3)                              TYPE(QALIAS)",
    ]
    assert len(operator.says("dis ql(A.*) all")) > 60
    assert named(operator, "dis q(A.*) type(qalias)") == ["A.3"]
    assert named(operator, "dis q(A.*) type(all)") == ["A.1", "A.2", "A.3"]
    assert named(operator, "dis q(A.*) target maxdepth")[2] == "A.3"
    assert named(operator, "dis chl(SYSTEM.*) chltype(svrconn)") == ["SYSTEM.AUTO.SVRCONN", "SYSTEM.DEF.SVRCONN"]
    assert named(operator, "dis chl(SYSTEM.*) type(clntconn)") == ["SYSTEM.DEF.CLNTCONN"]


def test_more_objects_than_one_look_takes(operator: Operator) -> None:
    for number in range(250):
        operator.says(f"def nl(N{number:03d})")
    operator.target.looks = 0
    assert named(operator, "dis nl(N*)") == [f"N{number:03d}" for number in range(250)]
    assert operator.target.looks == 4


def test_a_mixed_case_name_needs_quotes(operator: Operator) -> None:
    operator.says("def ql('Mixed.Case')")
    assert named(operator, "dis ql('Mixed*')") == ["Mixed.Case"]
    assert operator.fails("dis ql(Mixed.Case)") == "AMQ8147E: Ostler object MIXED.CASE not found."
    assert operator.fails("dis ql(Mixed*)") == "AMQ8147E: Ostler object MIXED* not found."


@pytest.mark.parametrize(
    ("condition", "names"),
    [
        ("maxdepth eq 5", "W.1"),
        ("maxdepth ne 5", "W.2 W.3"),
        ("maxdepth gt 5", "W.2 W.3"),
        ("maxdepth ge 10", "W.2 W.3"),
        ("maxdepth lt 10", "W.1"),
        ("maxdepth le 10", "W.1 W.2"),
        ("defpsist eq yes", "W.2"),
        ("defpsist ne yes", "W.1 W.3 W.4"),
        ("share eq noshare", "W.3"),
        ("descr eq 'The first'", "W.1"),
        ("descr ne 'The first'", "W.2 W.3 W.4"),
        ("descr lk 'The*'", "W.1 W.2"),
        ("descr nl 'The*'", "W.3 W.4"),
        ("descr nl '?*'", "W.1 W.2 W.3 W.4"),
        ("descr nl '[T]*'", "W.1 W.2 W.3 W.4"),
        ("descr gt 'The first'", "W.2"),
        ("target eq W.1", "W.4"),
        ("type eq qalias", "W.4"),
        ("capexpry eq nolimit", "W.1 W.2 W.3 W.4"),
    ],
)
def test_where(operator: Operator, condition: str, names: str) -> None:
    operator.says("def ql(W.1) maxdepth(5) descr('The first')")
    operator.says("def ql(W.2) maxdepth(10) defpsist(yes) descr('The second')")
    operator.says("def ql(W.3) maxdepth(15) noshare")
    operator.says("def qa(W.4) target(W.1)")
    assert named(operator, f"dis q(W.*) where({condition})") == names.split()


def test_attributes_of_other_queues_are_no_error_and_not_shown(operator: Operator) -> None:
    operator.says("def ql(Q1) maxdepth(7)")
    assert operator.says("dis ql(Q1) target maxdepth rname") == [
        "AMQ8409I: Queue details.",
        "   QUEUE(Q1)                               TYPE(QLOCAL)",
        "   MAXDEPTH(7)",
    ]
    assert operator.fails("dis ql(Q1) where(target eq X)") == "AMQ8147E: Ostler object Q1 not found."


def test_where_on_lists(operator: Operator) -> None:
    operator.says("def nl(N1) names(ONE,TWO)")
    operator.says("def nl(N2) names(THREE)")
    assert named(operator, "dis nl(N*) where(names ct TWO)") == ["N1"]
    assert named(operator, "dis nl(N*) where(names ex TWO)") == ["N2"]
    assert named(operator, "dis nl(N*) where(names ctg T*)") == ["N1", "N2"]
    assert named(operator, "dis nl(N*) where(names exg TW*)") == ["N2"]
    assert named(operator, "dis nl(N*) where(namcount gt 1)") == ["N1"]


def test_the_attribute_of_the_filter_is_shown(operator: Operator) -> None:
    operator.says("def ql(Q1) maxdepth(7)")
    assert operator.says("dis ql(Q*) where(maxdepth lt 8)") == [
        "AMQ8409I: Queue details.",
        "   QUEUE(Q1)                               TYPE(QLOCAL)",
        "   MAXDEPTH(7)",
    ]
    assert operator.fails("dis ql(Q*) where(maxdepth lt 7)") == "AMQ8147E: Ostler object Q* not found."


@pytest.mark.parametrize(
    ("command", "until", "why"),
    [
        ("dis ql", "dis ql", "QL needs a name in brackets, such as (*)."),
        ("dis ql()", "dis ql(", "give a name"),
        ("dis ql(A*B)", "dis ql(A*B", "a generic one that ends with an asterisk."),
        ("dis qmgr(TEST)", "dis qmgr(TEST", "QMGR takes no name."),
        ("dis ql(Q1) maxdeph", "dis ql(Q1) maxdeph", "did you mean MAXDEPTH?"),
        ("dis q(Q1) nonsense", "dis q(Q1) nonsense", "NONSENSE is not a keyword of QUEUE."),
        ("dis ql(Q1) maxdepth(5)", "dis ql(Q1) maxdepth(5)", "MAXDEPTH takes no value here; use WHERE"),
        ("dis ql(Q1) all(5)", "dis ql(Q1) all(5)", "ALL takes no value."),
        ("dis q(*) type(nonsense)", "dis q(*) type(nonsense", "TYPE('NONSENSE')"),
        ("dis ql(*) where", "dis ql(*) where", "WHERE needs a value in brackets."),
        ("dis ql(*) where(nonsense eq 5)", "dis ql(*) where(nonsense", "NONSENSE is not a keyword"),
        ("dis ql(*) where(maxdepth)", "dis ql(*) where(maxdepth", "an attribute, an operator and a value."),
        ("dis ql(*) where(maxdepth eqq 5)", "dis ql(*) where(maxdepth eqq", "EQQ is not an operator for MAXDEPTH"),
        ("dis ql(*) where(maxdepth lk 5)", "dis ql(*) where(maxdepth lk", "LK does not go with MAXDEPTH"),
        ("dis ql(*) where(defpsist gt yes)", "dis ql(*) where(defpsist gt", "GT does not go with DEFPSIST"),
        ("dis ql(*) where(maxdepth gt)", "dis ql(*) where(maxdepth gt", "WHERE needs a value after the operator."),
        ("dis ql(*) where(maxdepth gt many)", "dis ql(*) where(maxdepth gt many", "MAXDEPTH('MANY')"),
        ("dis ql(*) where(maxdepth gt 5 6)", "dis ql(*) where(maxdepth gt 5 6", "WHERE takes one value"),
        ("dis ql(*) where(descr eq 'a*')", "dis ql(*) where(descr eq 'a*'", "a generic value needs LK or NL, not EQ."),
        ("dis nl(*) where(names eq a)", "dis nl(*) where(names eq", "EQ does not go with NAMES"),
        ("display xyz(*)", "display xyz", "XYZ cannot be used with DISPLAY"),
    ],
)
def test_what_is_wrong_is_pointed_at(operator: Operator, command: str, until: str, why: str) -> None:
    said, part = operator.is_wrong(command)
    assert part == until
    assert why in said


def test_columns() -> None:
    wide = "X" * 39
    fitting = "Y" * 38
    assert list(columns(["A", "B", "C"])) == ["   A" + " " * 39 + "B", "   C"]
    assert list(columns(["A", wide, "B"])) == ["   A", f"   {wide}", "   B"]
    assert list(columns([fitting, "B"])) == [f"   {fitting}  B"]
    assert list(columns(["A", "B", "C", "D"], 2)) == ["   A", "   B", "   C" + " " * 39 + "D"]
    assert list(columns([])) == []


def test_a_choice_that_the_type_does_not_have(operator: Operator) -> None:
    read, why = operator.is_wrong("DISPLAY QALIAS(X) CFSTRUCT(Y)")
    assert "CFSTRUCT" in read
    assert "CFSTRUCT" in why


def test_secrets_are_not_compared(operator: Operator) -> None:
    for command in ("DISPLAY CHANNEL(*) WHERE(PASSWORD LK 'Z*')", "DISPLAY AUTHINFO(*) WHERE(LDAPPWD EQ 'x')"):
        assert "WHERE does not take" in operator.is_wrong(command)[0]
