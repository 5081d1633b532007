"""The attribute table: consistent in itself, MQ's defaults, and checks that refuse what MQ refuses."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ostler.model import constants
from ostler.model.attributes import (
    Attribute,
    ObjectType,
    Shown,
    Value,
    ValueKind,
    attributes_of,
    by_pcf,
    check,
    defaults,
    find,
    from_text,
    has,
    has_subtypes,
    require,
    subtype_of,
    to_text,
    valid_name,
)
from ostler.model.constants import (
    MQIA_CURRENT_Q_DEPTH,
    MQIA_INHIBIT_GET,
    MQIA_INHIBIT_PUT,
    MQIA_MAX_MSG_LENGTH,
    MQIA_MAX_Q_DEPTH,
    MQIA_TRIGGER_CONTROL,
    MQRC_TRIGGER_DEPTH_ERROR,
    MQRCCF_ATTR_VALUE_ERROR,
    MQRCCF_CFIN_PARM_ID_ERROR,
    MQRCCF_CFSL_COUNT_ERROR,
    MQRCCF_CFST_STRING_LENGTH_ERR,
    MQRCCF_HB_INTERVAL_ERROR,
    MQRCCF_OBJECT_NAME_ERROR,
)
from ostler.model.errors import MQError

ALL: list[Attribute] = [attribute for object_type in ObjectType for attribute in attributes_of(object_type)]
NUMBERS = (ValueKind.INTEGER, ValueKind.ENUM, ValueKind.FLAG, ValueKind.OPTIONS)

LOCAL_QUEUE = """
ACCTQ(QMGR) BOQNAME() BOTHRESH(0) CAPEXPRY(NOLIMIT) CLCHNAME() CLUSNL() CLUSTER() CLWLPRTY(0) CLWLRANK(0)
CLWLUSEQ(QMGR) CUSTOM() DEFBIND(OPEN) DEFPRESP(SYNC) DEFPRTY(0) DEFPSIST(NO) DEFREADA(NO) DEFSOPT(SHARED)
DEFTYPE(PREDEFINED) DESCR() DISTL(NO) GET(ENABLED) HARDENBO(HARDENBO) IMGRCOVQ(QMGR) INDXTYPE(NONE) INITQ()
MAXDEPTH(5000) MAXFSIZE(DEFAULT) MAXMSGL(4194304) MONQ(QMGR) MSGDLVSQ(PRIORITY) NPMCLASS(NORMAL) OTELPCTL(QMGR)
OTELTRAC(QMGR) PROCESS() PROPCTL(COMPAT) PUT(ENABLED) QDEPTHHI(80) QDEPTHLO(20) QDPHIEV(DISABLED) QDPLOEV(DISABLED)
QDPMAXEV(ENABLED) QSVCIEV(NONE) QSVCINT(999999999) RETINTVL(999999999) SCOPE(QMGR) SHARE(SHARE) STATQ(QMGR) STREAMQ()
STRMQOS(BESTEF) TRIGDATA() TRIGDPTH(1) TRIGGER(NOTRIGGER) TRIGMPRI(0) TRIGTYPE(FIRST) USAGE(NORMAL)
"""

QUEUE_MANAGER = """
ACCTCONO(DISABLED) ACCTINT(1800) ACCTMQI(OFF) ACCTQ(OFF) ACTIVREC(MSG) ACTVCONO(DISABLED) ACTVTRC(OFF) ADVCAP(ENABLED)
AMQPCAP(NO) AUTHOREV(DISABLED) CCSID(1208) CERTLABL() CERTVPOL(ANY) CHAD(DISABLED) CHADEV(DISABLED) CHADEXIT()
CHLAUTH(ENABLED) CHLEV(DISABLED) CLWLDATA() CLWLEXIT() CLWLLEN(100) CLWLMRUC(999999999) CLWLUSEQ(LOCAL) CMDEV(DISABLED)
CMDLEVEL(940) COMMANDQ(SYSTEM.ADMIN.COMMAND.QUEUE) CONFIGEV(DISABLED) CONNAUTH(SYSTEM.DEFAULT.AUTHINFO.IDPWOS) CUSTOM()
DEADQ() DEFCLXQ(SCTQ) DEFXMITQ() DESCR() DISTL(NO) IMGINTVL(60) IMGLOGLN(OFF) IMGRCOVO(YES) IMGRCOVQ(YES)
IMGSCHED(MANUAL) INHIBTEV(DISABLED) INITKEY() KEYRPWD() LOCALEV(DISABLED) LOGGEREV(DISABLED) MARKINT(5000) MAXHANDS(256)
MAXMSGL(4194304) MAXPROPL(NOLIMIT) MAXPRTY(9) MAXUMSGS(10000) MONACLS(QMGR) MONCHL(OFF) MONQ(OFF) OTELPCTL(MANUAL)
OTELTRAC(OFF) PARENT() PERFMEV(DISABLED) PLATFORM(UNIX) PSCLUS(ENABLED) PSMODE(ENABLED) PSNPMSG(DISCARD) PSNPRES(NORMAL)
PSRTYCNT(5) PSSYNCPT(IFPER) REMOTEEV(DISABLED) REPOS() REPOSNL() REVDNS(ENABLED) ROUTEREC(MSG) SCHINIT(QMGR)
SCMDSERV(QMGR) SPLCAP(DISABLED) SSLCRLNL() SSLCRYP() SSLEV(DISABLED) SSLFIPS(NO) SSLKEYR() SSLRKEYC(0) STATACLS(QMGR)
STATCHL(OFF) STATINT(1800) STATMQI(OFF) STATQ(OFF) STRSTPEV(ENABLED) SUITEB(NONE) SYNCPT(SYNCPT) TREELIFE(1800)
TRIGINT(999999999) VERSION(09040000) XRCAP(NO)
"""


def refused(attribute: Attribute, value: Value) -> int:
    with pytest.raises(MQError) as caught:
        check(attribute, value)
    return caught.value.reason


# -- the table in itself -----------------------------------------------------------------------------------------------


def test_every_object_type_has_attributes() -> None:
    # A client channel has the attributes of CHANNEL; its own type only says where it is kept.
    assert [object_type for object_type in ObjectType if not attributes_of(object_type)] == [ObjectType.CLNTCONN]


def test_names_and_numbers_are_used_once_in_an_object_type() -> None:
    names = Counter((a.object_type, name) for a in ALL for name in (a.name, *a.synonyms))
    numbers = Counter((a.object_type, a.pcf) for a in ALL if a.pcf)
    assert [key for counts in (names, numbers) for key, count in counts.items() if count > 1] == []


def test_every_number_is_the_constant_it_is_named_after() -> None:
    wrong = [a.name for a in ALL if a.pcf_name and getattr(constants, a.pcf_name) != a.pcf]
    assert wrong == []
    assert [(a.object_type, a.name) for a in ALL if not a.pcf_name] == [
        # Our own.
        (ObjectType.QMSTATUS, "LONGPASS"),
        (ObjectType.QMSTATUS, "LOGWRSZ"),
        (ObjectType.QMSTATUS, "LOGWRLAT"),
        # Two numbers in PCF, and a number that the published headers do not have.
        (ObjectType.QMSTATUS, "QUORUM"),
        (ObjectType.QMSTATUS, "GRPVER"),
        (ObjectType.CONN, "EXTCONN"),
    ]


def test_every_constant_fits_the_kind_of_value() -> None:
    carried = {
        ValueKind.INTEGER: "MQIA",
        ValueKind.ENUM: "MQIA",
        ValueKind.FLAG: "MQIA",
        ValueKind.OPTIONS: "MQIA",
        ValueKind.WORDS: "MQIA",
        ValueKind.INTEGERS: "MQIA",
        ValueKind.HEX: "MQBA",
    }
    assert [a.name for a in ALL if a.pcf_name and not a.pcf_name.startswith(carried.get(a.kind, "MQCA"))] == []


def test_every_default_passes_its_own_check() -> None:
    for attribute in ALL:
        for value in (attribute.default, *(value for _, value in attribute.subtype_defaults)):
            if value is not None:
                assert check(attribute, value) == value, attribute


def test_words_are_unique_and_in_capitals() -> None:
    for attribute in ALL:
        words = [word for word, _ in attribute.words]
        assert len(words) == len(set(words)), attribute.name
        assert all(word == word.upper() and " " not in word for word in words), attribute.name


def test_flags_have_two_words_and_enumerations_at_least_one() -> None:
    assert [a.name for a in ALL if a.kind == ValueKind.FLAG and len(a.words) != 2] == []
    assert [a.name for a in ALL if a.kind in (ValueKind.ENUM, ValueKind.WORDS) and not a.words] == []


def test_limits_are_in_order() -> None:
    assert [a.name for a in ALL if a.kind == ValueKind.INTEGER and a.low >= a.high] == []
    texts = (ValueKind.STRING, ValueKind.NAME, ValueKind.STRINGS, ValueKind.NAMES, ValueKind.HEX)
    assert [a.name for a in ALL if a.kind in texts and a.length_max <= 0] == []


def test_subtypes_are_words_of_the_attribute_that_tells_them_apart() -> None:
    for object_type, key in (
        (ObjectType.CHANNEL, "CHLTYPE"),
        (ObjectType.AUTHINFO, "AUTHTYPE"),
        (ObjectType.CHLAUTH, "TYPE"),
        (ObjectType.LISTENER, "TRPTYPE"),
        (ObjectType.QSTATUS, "TYPE"),
        (ObjectType.QMSTATUS, "TYPE"),
        (ObjectType.CONN, "TYPE"),
        (ObjectType.TPSTATUS, "TYPE"),
    ):
        known = {word for word, _ in require(object_type, key).words}
        used = {subtype for a in attributes_of(object_type) for subtype in a.subtypes}
        used |= {subtype for a in attributes_of(object_type) for subtype, _ in a.subtype_defaults}
        assert used <= known, object_type


def test_descriptions_are_sentences() -> None:
    assert [a.name for a in ALL if not a.description.endswith(".") or not a.description[0].isupper()] == []


def test_what_only_mqset_says_can_be_altered_too() -> None:
    assert {a.name for a in ALL if a.by_mqset} == {
        "DISTL",
        "GET",
        "PUT",
        "TRIGDATA",
        "TRIGDPTH",
        "TRIGGER",
        "TRIGMPRI",
        "TRIGTYPE",
    }
    assert [a.name for a in ALL if a.by_mqset and not (a.at_alter and a.by_mqinq)] == []
    assert require(ObjectType.QLOCAL, "TRIGDPTH").set_error == MQRC_TRIGGER_DEPTH_ERROR


def test_status_attributes_cannot_be_set() -> None:
    status = [object_type for object_type in ObjectType if object_type.value.endswith("STATUS")]
    status += [ObjectType.CONN, ObjectType.PUBSUB]
    assert [a.name for object_type in status for a in attributes_of(object_type) if a.at_define or a.at_alter] == []


# -- looking up --------------------------------------------------------------------------------------------------------


def test_synonyms_and_flag_words_resolve() -> None:
    for attribute in ALL:
        for name in (attribute.name, *attribute.synonyms):
            assert find(attribute.object_type, name) is attribute
    assert find(ObjectType.QALIAS, "targq") is find(ObjectType.QALIAS, "TARGET")
    assert find(ObjectType.QLOCAL, "NOSHARE") is find(ObjectType.QLOCAL, "SHARE")
    assert find(ObjectType.QLOCAL, "NOTRIGGER") is find(ObjectType.QLOCAL, "TRIGGER")
    assert find(ObjectType.QLOCAL, "RNAME") is None


def test_attributes_are_found_by_their_selector() -> None:
    selectors = (
        (MQIA_MAX_Q_DEPTH, "MAXDEPTH"),
        (MQIA_CURRENT_Q_DEPTH, "CURDEPTH"),
        (MQIA_MAX_MSG_LENGTH, "MAXMSGL"),
        (MQIA_INHIBIT_PUT, "PUT"),
        (MQIA_INHIBIT_GET, "GET"),
        (MQIA_TRIGGER_CONTROL, "TRIGGER"),
    )
    for selector, name in selectors:
        attribute = by_pcf(ObjectType.QLOCAL, selector)
        assert attribute is not None
        assert attribute.name == name
    assert by_pcf(ObjectType.QREMOTE, MQIA_INHIBIT_GET) is None


def test_an_unknown_attribute_is_refused() -> None:
    with pytest.raises(MQError) as caught:
        require(ObjectType.QLOCAL, "COLOUR")
    assert caught.value.reason == MQRCCF_CFIN_PARM_ID_ERROR


def test_the_caller_owns_the_list_of_attributes() -> None:
    attributes_of(ObjectType.PROCESS).clear()
    assert attributes_of(ObjectType.PROCESS) != []


# -- defaults ----------------------------------------------------------------------------------------------------------


def shown(object_type: ObjectType) -> list[str]:
    values = defaults(object_type)
    return sorted(f"{name}({to_text(require(object_type, name), value)})" for name, value in values.items())


@pytest.mark.parametrize(
    ("object_type", "golden"), [(ObjectType.QLOCAL, LOCAL_QUEUE), (ObjectType.QMGR, QUEUE_MANAGER)]
)
def test_golden_defaults(object_type: ObjectType, golden: str) -> None:
    assert shown(object_type) == sorted(golden.split())


def test_a_model_queue_differs_from_a_local_one() -> None:
    local = defaults(ObjectType.QLOCAL)
    model = defaults(ObjectType.QMODEL)
    different = {name for name in local.keys() & model.keys() if local[name] != model[name]}
    assert different == {"DEFTYPE", "SHARE", "DEFSOPT"}


def test_channel_types_have_their_own_attributes_and_defaults() -> None:
    sender = defaults(ObjectType.CHANNEL, "SDR")
    server_connection = defaults(ObjectType.CHANNEL, "SVRCONN")
    cluster_sender = defaults(ObjectType.CHANNEL, "CLUSSDR")
    assert (sender["DISCINT"], server_connection["DISCINT"]) == (6000, 0)
    assert sender["BATCHSZ"] == 50
    assert "BATCHSZ" not in server_connection
    assert "SHARECNV" not in sender
    assert server_connection["SHARECNV"] == 10
    assert sender["MCATYPE"] != cluster_sender["MCATYPE"]
    assert "CERTLABL" not in cluster_sender
    assert sender["COMPMSG"] == ("NONE",)


def test_subtypes() -> None:
    channel_type = check(require(ObjectType.CHANNEL, "CHLTYPE"), "SVRCONN")
    assert subtype_of(ObjectType.CHANNEL, {"CHLTYPE": channel_type}) == "SVRCONN"
    assert subtype_of(ObjectType.CHANNEL, {}) == ""
    assert subtype_of(ObjectType.QLOCAL, {"TYPE": 1}) == ""
    assert has_subtypes(ObjectType.CHANNEL)
    assert not has_subtypes(ObjectType.QLOCAL)
    assert has(require(ObjectType.CHANNEL, "XMITQ"), "SDR")
    assert not has(require(ObjectType.CHANNEL, "XMITQ"), "RCVR")
    assert has(require(ObjectType.CHANNEL, "DESCR"), "RCVR")


def test_attributes_of_z_os_have_no_default_elsewhere() -> None:
    assert "CFSTRUCT" not in defaults(ObjectType.QLOCAL)
    assert "QSGNAME" not in defaults(ObjectType.QMGR)
    assert check(require(ObjectType.QLOCAL, "CFSTRUCT"), "APPL1") == "APPL1"


# -- checks ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("object_type", "name", "value", "kept"),
    [
        (ObjectType.QLOCAL, "MAXDEPTH", 0, 0),
        (ObjectType.QLOCAL, "MAXDEPTH", 999_999_999, 999_999_999),
        (ObjectType.QLOCAL, "CAPEXPRY", -1, -1),
        (ObjectType.QLOCAL, "CAPEXPRY", "NOLIMIT", -1),
        (ObjectType.QLOCAL, "PUT", "DISABLED", 1),
        (ObjectType.QLOCAL, "PUT", 1, 1),
        (ObjectType.QLOCAL, "SHARE", "NOSHARE", 0),
        (ObjectType.QLOCAL, "DESCR", "orders   ", "orders"),
        (ObjectType.QLOCAL, "DESCR", "x" * 64, "x" * 64),
        (ObjectType.QLOCAL, "INITQ", "", ""),
        (ObjectType.QLOCAL, "CRDATE", "2026-02-28", "2026-02-28"),
        (ObjectType.QLOCAL, "CRTIME", "23.59.59", "23.59.59"),
        (ObjectType.NAMELIST, "NAMES", ("A ", "B"), ("A", "B")),
        (ObjectType.NAMELIST, "NAMES", "A", ("A",)),
        (ObjectType.NAMELIST, "NAMES", " ", ()),
        (ObjectType.CHANNEL, "COMPMSG", ("RLE", "ANY"), ("RLE", "ANY")),
        (ObjectType.SUB, "SUBID", "0A" * 24, "0A" * 24),
        (ObjectType.CONN, "CONNOPTS", 0x0820, 0x0820),
        (ObjectType.QSTATUS, "QTIME", ("-1", "250"), ("-1", "250")),
    ],
)
def test_accepted(object_type: ObjectType, name: str, value: Value, kept: Value) -> None:
    assert check(require(object_type, name), value) == kept


@pytest.mark.parametrize(
    ("object_type", "name", "value", "reason"),
    [
        (ObjectType.QLOCAL, "MAXDEPTH", -1, MQRCCF_ATTR_VALUE_ERROR),
        (ObjectType.QLOCAL, "MAXDEPTH", 1_000_000_000, MQRCCF_ATTR_VALUE_ERROR),
        (ObjectType.QLOCAL, "MAXDEPTH", "many", MQRCCF_ATTR_VALUE_ERROR),
        (ObjectType.QLOCAL, "MAXDEPTH", True, MQRCCF_ATTR_VALUE_ERROR),
        (ObjectType.QLOCAL, "MAXDEPTH", ("1",), MQRCCF_ATTR_VALUE_ERROR),
        (ObjectType.QLOCAL, "MAXDEPTH", 10**30, MQRCCF_ATTR_VALUE_ERROR),
        (ObjectType.QLOCAL, "CAPEXPRY", -2, MQRCCF_ATTR_VALUE_ERROR),
        (ObjectType.QLOCAL, "PUT", 2, MQRCCF_ATTR_VALUE_ERROR),
        (ObjectType.QLOCAL, "PUT", "disabled", MQRCCF_ATTR_VALUE_ERROR),
        (ObjectType.QLOCAL, "DESCR", 5, MQRCCF_ATTR_VALUE_ERROR),
        (ObjectType.QLOCAL, "DESCR", "a\0b", MQRCCF_ATTR_VALUE_ERROR),
        (ObjectType.QLOCAL, "DESCR", "\ud800", MQRCCF_ATTR_VALUE_ERROR),
        (ObjectType.QLOCAL, "DESCR", "x" * 65, MQRCCF_CFST_STRING_LENGTH_ERR),
        (ObjectType.QLOCAL, "DESCR", "ü" * 33, MQRCCF_CFST_STRING_LENGTH_ERR),
        (ObjectType.QLOCAL, "INITQ", "A B", MQRCCF_OBJECT_NAME_ERROR),
        (ObjectType.QLOCAL, "INITQ", "A" * 49, MQRCCF_CFST_STRING_LENGTH_ERR),
        (ObjectType.QLOCAL, "CRDATE", "2026-2-28", MQRCCF_ATTR_VALUE_ERROR),
        (ObjectType.QLOCAL, "CRDATE", "2026-02-281", MQRCCF_ATTR_VALUE_ERROR),
        (ObjectType.QLOCAL, "CRTIME", "23.59.5", MQRCCF_ATTR_VALUE_ERROR),
        (ObjectType.QLOCAL, "CRTIME", "23:59:59", MQRCCF_ATTR_VALUE_ERROR),
        (ObjectType.NAMELIST, "NAMES", ("A*",), MQRCCF_OBJECT_NAME_ERROR),
        (ObjectType.NAMELIST, "NAMES", ("A",) * 257, MQRCCF_CFSL_COUNT_ERROR),
        (ObjectType.NAMELIST, "NAMES", 5, MQRCCF_ATTR_VALUE_ERROR),
        (ObjectType.CHANNEL, "COMPMSG", ("ZIP",), MQRCCF_ATTR_VALUE_ERROR),
        (ObjectType.CHANNEL, "HBINT", -1, MQRCCF_HB_INTERVAL_ERROR),
        (ObjectType.SUB, "SUBID", "0", MQRCCF_ATTR_VALUE_ERROR),
        (ObjectType.SUB, "SUBID", "GG", MQRCCF_ATTR_VALUE_ERROR),
        (ObjectType.SUB, "SUBID", "00" * 25, MQRCCF_CFST_STRING_LENGTH_ERR),
        (ObjectType.CONN, "CONNOPTS", 2, MQRCCF_ATTR_VALUE_ERROR),
        (ObjectType.QSTATUS, "QTIME", ("1-",), MQRCCF_ATTR_VALUE_ERROR),
        (ObjectType.QSTATUS, "QTIME", ("--1",), MQRCCF_ATTR_VALUE_ERROR),
    ],
)
def test_refused(object_type: ObjectType, name: str, value: Value, reason: int) -> None:
    assert refused(require(object_type, name), value) == reason


def test_a_refusal_does_not_show_a_password() -> None:
    with pytest.raises(MQError) as caught:
        check(require(ObjectType.CHANNEL, "PASSWORD"), "\0secret")
    assert "secret" not in str(caught.value)


def test_passwords_are_shown_as_asterisks() -> None:
    attribute = require(ObjectType.CHANNEL, "PASSWORD")
    assert attribute.shown == Shown.MASKED
    assert to_text(attribute, "secret") == "********"
    assert to_text(attribute, "") == ""


@pytest.mark.parametrize("name", ["A", "a.b/c_d%9", "X" * 48])
def test_valid_names(name: str) -> None:
    assert valid_name(name)


@pytest.mark.parametrize("name", ["", " ", "A B", "A*", "Ä", "X" * 49, "A\n", "A-B", "٣"])
def test_names_that_are_not_valid(name: str) -> None:
    assert not valid_name(name)


def test_names_of_channels_are_shorter() -> None:
    assert valid_name("X" * 20, 20)
    assert not valid_name("X" * 21, 20)


# -- text --------------------------------------------------------------------------------------------------------------


def test_options_are_written_as_their_names() -> None:
    attribute = require(ObjectType.CONN, "CONNOPTS")
    assert to_text(attribute, 0x0820) == "MQCNO_HANDLE_SHARE_NONE,MQCNO_CLIENT_BINDING"
    assert from_text(attribute, "MQCNO_CLIENT_BINDING,MQCNO_HANDLE_SHARE_NONE") == 0x0820


@pytest.mark.parametrize(
    ("name", "text", "value"),
    [
        ("MAXDEPTH", " 17 ", 17),
        ("MAXDEPTH", "+17", 17),
        ("CAPEXPRY", "NOLIMIT", -1),
        ("TRIGGER", "NOTRIGGER", 0),
        ("DESCR", "a, b", "a, b"),
    ],
)
def test_values_from_text(name: str, text: str, value: Value) -> None:
    assert from_text(require(ObjectType.QLOCAL, name), text) == value


@pytest.mark.parametrize("text", ["", "1.5", "--1", "+-1", "0x10", "٣", "9" * 40, "9" * 5000, "YES"])
def test_text_that_is_no_number(text: str) -> None:
    with pytest.raises(MQError) as caught:
        from_text(require(ObjectType.QLOCAL, "MAXDEPTH"), text)
    assert caught.value.reason == MQRCCF_ATTR_VALUE_ERROR


def test_lists_from_text() -> None:
    attribute = require(ObjectType.NAMELIST, "NAMES")
    assert from_text(attribute, "A, B ,C") == ("A", "B", "C")
    assert from_text(attribute, "  ") == ()


def test_every_default_survives_text_and_back() -> None:
    for attribute in ALL:
        if attribute.default is not None and attribute.shown != Shown.MASKED:
            assert from_text(attribute, to_text(attribute, attribute.default)) == attribute.default, attribute.name


@given(st.sampled_from(ALL), st.one_of(st.integers(), st.text(), st.lists(st.text()).map(tuple)))
def test_any_value_is_kept_or_refused(attribute: Attribute, value: Value) -> None:
    try:
        kept = check(attribute, value)
    except MQError:
        return
    assert check(attribute, kept) == kept
    assert isinstance(kept, int) == (attribute.kind in NUMBERS)


@given(st.sampled_from(ALL), st.text())
def test_any_text_is_read_or_refused(attribute: Attribute, text: str) -> None:
    try:
        value = from_text(attribute, text)
    except MQError:
        return
    assert check(attribute, value) == value
