"""Channel authentication rules: precedence, and the tables against sorting of all rules."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ostler.model.attributes import ObjectType, Value
from ostler.model.constants import (
    MQCAUT_ADDRESSMAP,
    MQCAUT_BLOCKADDR,
    MQCAUT_BLOCKUSER,
    MQCAUT_QMGRMAP,
    MQCAUT_SSLPEERMAP,
    MQCAUT_USERMAP,
    MQCHK_AS_Q_MGR,
    MQCHK_REQUIRED,
    MQRCCF_CHLAUTH_CLNTUSER_ERROR,
    MQRCCF_CHLAUTH_NAME_ERROR,
    MQRCCF_CHLAUTH_TYPE_ERROR,
    MQRCCF_IPADDR_ERROR,
    MQRCCF_PARM_MISSING,
    MQRCCF_PROFILE_NAME_ERROR,
    MQRCCF_Q_MGR_NAME_ERROR,
    MQRCCF_SSL_PEER_NAME_ERROR,
    MQRCCF_WRONG_CHLAUTH_USERSRC,
    MQUSRC_CHANNEL,
    MQUSRC_MAP,
    MQUSRC_NOACCESS,
    MQWARN_YES,
)
from ostler.model.definitions import Definition
from ostler.model.distinguished_names import DistinguishedName, PeerPattern, parse_name
from ostler.model.errors import MQError
from ostler.security.addresses import AddressPattern, read_address
from ostler.security.channel_authentication import ChannelRules, Decision, check_rule, default_rules, rule_key
from ostler.security.channel_certificates import name_specificity
from ostler.security.channel_names import GenericName


def rule(profile: str, kind: int, **values: Value) -> Definition:
    """Return a rule that maps to a user made of its identity, unless given otherwise."""
    attributes: dict[str, Value] = {"CHLAUTH": profile, "TYPE": kind, **values}
    if kind not in (MQCAUT_BLOCKADDR, MQCAUT_BLOCKUSER):
        attributes.setdefault("USERSRC", MQUSRC_MAP)
        if attributes["USERSRC"] == MQUSRC_MAP:
            attributes.setdefault("MCAUSER", "mapped")
    check_rule(attributes)
    return Definition(ObjectType.CHLAUTH, rule_key(attributes), attributes)


def rules(*definitions: Definition) -> ChannelRules:
    table = ChannelRules()
    for definition in definitions:
        table.put(definition)
    return table


def decide(
    table: ChannelRules,
    channel: str = "APP.SVRCONN",
    address: str = "192.0.2.6",
    host: str = "",
    user: str = "alice",
    subject: str = "",
    issuer: str = "",
    manager: str = "",
) -> Decision:
    name = parse_name(subject) if subject else None
    return table.decide(channel, address, host, user, name, parse_name(issuer) if issuer else None, manager)


def address_rule(profile: str, address: str, **values: Value) -> Definition:
    return rule(profile, MQCAUT_ADDRESSMAP, ADDRESS=address, **values)


# -- decisions --------------------------------------------------------------------------------------------------------


def test_without_rules_there_is_no_decision() -> None:
    decision = decide(rules())
    assert (decision.is_refused, decision.has_warning, decision.user, decision.source) == (False, False, "", -1)
    assert decision.check == MQCHK_AS_Q_MGR
    assert decision.rule is None
    assert decision.why == ""
    assert rules().is_empty


def test_a_rule_maps_refuses_or_leaves_the_user() -> None:
    mapping = address_rule("A", "*", MCAUSER="bob", CHCKCLNT=MQCHK_REQUIRED)
    refusing = address_rule("B", "*", USERSRC=MQUSRC_NOACCESS)
    leaving = address_rule("C", "*", USERSRC=MQUSRC_CHANNEL)
    table = rules(mapping, refusing, leaving)
    assert not table.is_empty
    mapped = decide(table, "A")
    assert (mapped.is_refused, mapped.user, mapped.source, mapped.check) == (False, "bob", MQUSRC_MAP, MQCHK_REQUIRED)
    refused = decide(table, "B")
    assert refused.is_refused
    assert refused.rule is refusing
    assert "B TYPE(ADDRESSMAP) ADDRESS(*)" in refused.why
    left = decide(table, "C")
    assert (left.is_refused, left.user, left.source) == (False, "", MQUSRC_CHANNEL)


def test_a_rule_that_only_warns_lets_the_next_one_decide() -> None:
    warning = address_rule("APP.*", "192.0.2.6", USERSRC=MQUSRC_NOACCESS, WARN=MQWARN_YES)
    second = address_rule("APP.*", "192.0.2.*", MCAUSER="bob")
    alone = decide(rules(warning))
    assert (alone.is_refused, alone.has_warning, alone.rule, alone.warning) == (False, True, None, warning)
    assert "only warns" in alone.why
    both = decide(rules(second, warning))
    assert (both.is_refused, both.has_warning, both.user, both.rule, both.warning) == (
        False,
        True,
        "bob",
        second,
        warning,
    )
    table = rules(warning, second)
    assert table.matching("APP.SVRCONN", "192.0.2.6", "alice", None, None, "") == [warning, second]


def test_the_default_rules_close_the_system_to_administrators_and_others() -> None:
    table = rules(*default_rules())
    assert len(default_rules()) == 3
    for definition in default_rules():
        check_rule(definition.attributes)
        assert definition.name == rule_key(definition.attributes)
    assert decide(table, "SYSTEM.DEF.SVRCONN").is_refused
    assert not decide(table, "SYSTEM.ADMIN.SVRCONN").is_refused
    assert not decide(table, "APP.SVRCONN").is_refused
    assert table.find_blocked_user("APP.SVRCONN", "mqm", True) is not None
    assert table.find_blocked_user("APP.SVRCONN", "alice", False) is None


# -- precedence -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("better", "worse"),
    [
        (address_rule("APP.SVRCONN", "*"), rule("APP.*", MQCAUT_SSLPEERMAP, SSLPEER="CN=alice")),
        (address_rule("APP.*", "*"), address_rule("*", "192.0.2.6")),
        (rule("APP.*", MQCAUT_SSLPEERMAP, SSLPEER="O=IBM"), rule("APP.*", MQCAUT_USERMAP, CLNTUSER="alice")),
        (rule("APP.*", MQCAUT_USERMAP, CLNTUSER="alice"), address_rule("APP.*", "192.0.2.6")),
        (address_rule("APP.*", "192.0.2.6"), address_rule("APP.*", "192.0.2.0-24")),
        (address_rule("APP.*", "192.0.2.0-24"), address_rule("APP.*", "192.0.2.*")),
        (address_rule("APP.*", "192.0.2.*"), address_rule("APP.*", "192.0.*.6")),
        (address_rule("APP.*", "192.*"), address_rule("APP.*", "host.example.com")),
        (address_rule("APP.*", "host.example.com"), address_rule("APP.*", "*.example.com")),
        (address_rule("APP.*", "*.example.com"), address_rule("APP.*", "*")),
        (
            rule("*", MQCAUT_USERMAP, CLNTUSER="alice", ADDRESS="192.*"),
            rule("*", MQCAUT_USERMAP, CLNTUSER="alice"),
        ),
        (
            rule("*", MQCAUT_SSLPEERMAP, SSLPEER="O=IBM"),
            rule("*", MQCAUT_SSLPEERMAP, SSLPEER="C=UK"),
        ),
        (
            rule("*", MQCAUT_SSLPEERMAP, SSLPEER="CN=alice"),
            rule("*", MQCAUT_SSLPEERMAP, SSLPEER="CN=ali*"),
        ),
        (
            rule("*", MQCAUT_SSLPEERMAP, SSLPEER="OU=*,OU=*"),
            rule("*", MQCAUT_SSLPEERMAP, SSLPEER="OU=Big"),
        ),
        (
            rule("*", MQCAUT_SSLPEERMAP, SSLPEER="OU=Big,OU=*"),
            rule("*", MQCAUT_SSLPEERMAP, SSLPEER="OU=B*,OU=Small"),
        ),
        (
            rule("*", MQCAUT_SSLPEERMAP, SSLPEER="OU=*ig"),
            rule("*", MQCAUT_SSLPEERMAP, SSLPEER="OU=*ig*"),
        ),
        (
            rule("*", MQCAUT_SSLPEERMAP, SSLPEER="O=IBM", SSLCERTI="CN=CA"),
            rule("*", MQCAUT_SSLPEERMAP, SSLPEER="O=IBM", ADDRESS="192.0.2.6"),
        ),
        (
            rule("*", MQCAUT_SSLPEERMAP, SSLPEER="O=IBM", ADDRESS="192.0.2.6"),
            rule("*", MQCAUT_SSLPEERMAP, SSLPEER="O=IBM"),
        ),
    ],
    ids=lambda definition: definition.name,
)
def test_the_better_rule_wins_in_whatever_order_they_come(better: Definition, worse: Definition) -> None:
    for order in ((better, worse), (worse, better)):
        table = rules(*order)
        found = decide(
            table, host="host.example.com", subject="CN=alice,OU=Big,OU=Small,O=IBM,C=UK", issuer="CN=CA,O=Trust"
        )
        assert found.rule is better
        table.remove(better)
        found = decide(
            table, host="host.example.com", subject="CN=alice,OU=Big,OU=Small,O=IBM,C=UK", issuer="CN=CA,O=Trust"
        )
        assert found.rule is worse


def test_partners_are_known_by_queue_manager_and_clients_by_user() -> None:
    partner = rule("*", MQCAUT_QMGRMAP, QMNAME="QM1")
    partners = rule("*", MQCAUT_QMGRMAP, QMNAME="QM*")
    client = rule("*", MQCAUT_USERMAP, CLNTUSER="QM1")
    table = rules(partners, client, partner)
    assert decide(table, manager="QM1").rule is partner
    assert decide(table, manager="QM2").rule is partners
    assert decide(table, user="QM1").rule is client
    assert decide(table, user="QM2").rule is None


def test_a_partner_is_known_by_certificate_then_by_name_and_address_then_by_address() -> None:
    by_address = address_rule("*", "192.0.2.6")
    by_name = rule("*", MQCAUT_QMGRMAP, QMNAME="QM1")
    by_both = rule("*", MQCAUT_QMGRMAP, QMNAME="QM1", ADDRESS="192.0.2.*")
    by_pattern = rule("*", MQCAUT_QMGRMAP, QMNAME="QM*", ADDRESS="192.0.2.6")
    by_certificate = rule("*", MQCAUT_SSLPEERMAP, SSLPEER="CN=alice")
    order = [by_certificate, by_both, by_name, by_pattern, by_address]
    table = rules(*reversed(order))
    for expected in order:
        assert decide(table, subject="CN=alice", manager="QM1").rule is expected
        table.remove(expected)
    assert decide(table, subject="CN=alice", manager="QM1").rule is None


def test_rules_match_issuers() -> None:
    table = rules(rule("*", MQCAUT_SSLPEERMAP, SSLPEER="CN=a*", SSLCERTI="O=Trust*"))
    assert decide(table, subject="CN=alice", issuer="O=Trust me").rule is not None
    assert decide(table, subject="CN=alice", issuer="O=Nobody").rule is None
    assert decide(table, subject="CN=alice").rule is None
    assert decide(table, subject="CN=bob", issuer="O=Trust").rule is None


def test_host_names_are_asked_for_only_where_rules_name_them() -> None:
    by_host = address_rule("APP.*", "*.example.com")
    table = rules(by_host, address_rule("OTHER", "192.0.2.6"))
    assert table.needs_host_name("APP.SVRCONN")
    assert not table.needs_host_name("OTHER")
    assert decide(table, host="a.example.com").rule is by_host
    assert decide(table).rule is None
    table.remove(by_host)
    assert not table.needs_host_name("APP.SVRCONN")


# -- blocking ---------------------------------------------------------------------------------------------------------


def test_addresses_are_blocked() -> None:
    table = rules(rule("*", MQCAUT_BLOCKADDR, ADDRLIST=("192.0.2.*", "2001:db8::1")))
    blocked = table.find_blocked_address("192.0.2.6")
    assert blocked is not None
    assert blocked.is_refused
    assert table.find_blocked_address("2001:DB8:0::1") is not None
    assert table.find_blocked_address("192.0.3.6") is None
    assert table.matching("A", "192.0.2.6", "", None, None, "") == [blocked.rule]
    table.put(rule("*", MQCAUT_BLOCKADDR, ADDRLIST=("192.0.3.*",), WARN=MQWARN_YES))
    assert table.find_blocked_address("192.0.2.6") is None
    warned = table.find_blocked_address("192.0.3.6")
    assert warned is not None
    assert (warned.is_refused, warned.has_warning) == (False, True)
    assert warned.rule is not None
    table.remove(warned.rule)
    assert table.find_blocked_address("192.0.3.6") is None
    assert table.is_empty


def test_the_most_specific_list_of_blocked_users_counts() -> None:
    table = rules(
        rule("*", MQCAUT_BLOCKUSER, USERLIST=("*MQADMIN", "mallory")),
        rule("APP.*", MQCAUT_BLOCKUSER, USERLIST=("nobody",), WARN=MQWARN_YES),
    )
    blocked = table.find_blocked_user("OTHER", "mallory", False)
    assert blocked is not None
    assert blocked.is_refused
    assert table.find_blocked_user("OTHER", "root", True) is not None
    assert table.find_blocked_user("OTHER", "*MQADMIN", False) is not None
    assert table.find_blocked_user("OTHER", "alice", False) is None
    assert table.find_blocked_user("APP.SVRCONN", "mallory", True) is None
    warned = table.find_blocked_user("APP.SVRCONN", "nobody", False)
    assert warned is not None
    assert (warned.is_refused, warned.has_warning) == (False, True)


# -- invalid rules ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("values", "reason"),
    [
        ({"TYPE": 99}, MQRCCF_CHLAUTH_TYPE_ERROR),
        ({"CHLAUTH": "", "TYPE": MQCAUT_BLOCKUSER}, MQRCCF_PROFILE_NAME_ERROR),
        ({"CHLAUTH": "A B"}, MQRCCF_PROFILE_NAME_ERROR),
        ({"CHLAUTH": "A" * 21}, MQRCCF_PROFILE_NAME_ERROR),
        ({"TYPE": MQCAUT_BLOCKADDR, "CHLAUTH": "A.*"}, MQRCCF_CHLAUTH_NAME_ERROR),
        ({"TYPE": MQCAUT_BLOCKADDR, "CHLAUTH": "*", "ADDRLIST": ("host.com",)}, MQRCCF_IPADDR_ERROR),
        ({"ADDRESS": ""}, MQRCCF_PARM_MISSING),
        ({"ADDRESS": "1.2.3"}, MQRCCF_IPADDR_ERROR),
        ({"MCAUSER": ""}, MQRCCF_PARM_MISSING),
        ({"USERSRC": MQUSRC_CHANNEL}, MQRCCF_WRONG_CHLAUTH_USERSRC),
        ({"WARN": MQWARN_YES}, MQRCCF_WRONG_CHLAUTH_USERSRC),
        ({"USERSRC": MQUSRC_NOACCESS, "MCAUSER": "", "CHCKCLNT": MQCHK_REQUIRED}, MQRCCF_WRONG_CHLAUTH_USERSRC),
        ({"TYPE": MQCAUT_USERMAP}, MQRCCF_PARM_MISSING),
        ({"TYPE": MQCAUT_USERMAP, "CLNTUSER": "a*"}, MQRCCF_CHLAUTH_CLNTUSER_ERROR),
        ({"TYPE": MQCAUT_QMGRMAP}, MQRCCF_PARM_MISSING),
        ({"TYPE": MQCAUT_QMGRMAP, "QMNAME": "Q M"}, MQRCCF_Q_MGR_NAME_ERROR),
        ({"TYPE": MQCAUT_SSLPEERMAP}, MQRCCF_PARM_MISSING),
        ({"TYPE": MQCAUT_SSLPEERMAP, "SSLPEER": "alice"}, MQRCCF_SSL_PEER_NAME_ERROR),
        ({"TYPE": MQCAUT_SSLPEERMAP, "SSLPEER": "CN=a", "SSLCERTI": "b"}, MQRCCF_SSL_PEER_NAME_ERROR),
    ],
)
def test_invalid_rules_are_rejected(values: dict[str, Value], reason: int) -> None:
    attributes: dict[str, Value] = {"CHLAUTH": "A", "TYPE": MQCAUT_ADDRESSMAP, "ADDRESS": "*", "MCAUSER": "bob"}
    check_rule(attributes)
    with pytest.raises(MQError) as refusal:
        check_rule({**attributes, **values})
    assert refusal.value.reason == reason


def test_a_broken_definition_is_refused_and_leaves_nothing_behind() -> None:
    table = ChannelRules()
    broken = Definition(ObjectType.CHLAUTH, "broken", {"CHLAUTH": "A", "TYPE": MQCAUT_SSLPEERMAP, "SSLPEER": "x"})
    with pytest.raises(ValueError, match="x"):
        table.put(broken)
    with pytest.raises(MQError):
        table.put(Definition(ObjectType.CHLAUTH, "untyped", {"CHLAUTH": "A"}))
    assert table.is_empty
    table.remove(broken)
    table.put(address_rule("A", "*"))
    assert decide(table, "A").user == "mapped"


# -- against a naive twin ---------------------------------------------------------------------------------------------

_channels = st.sampled_from(["A.B", "A.C", "B.C", "A", "AB.C"])
_profiles = st.sampled_from(["*", "A.*", "A*", "A.B", "*.C", "A*C", "*B*", "A.C"])
_addresses = st.sampled_from(["10.0.0.1", "10.0.0.5", "10.9.0.1", "11.0.0.1", "2001:db8::1", "::ffff:10.0.0.5"])
_patterns = st.sampled_from(
    [
        "*",
        "",
        "10.0.0.1",
        "10.0.0.1-8",
        "10.0.0.0-99",
        "10.0.0.*",
        "10.*",
        "10.*.1",
        "*.1",
        "10.*.0.*",
        "10.0.0-9.*",
        "2001:db8::1",
        "2001:db8:*",
        "2001:*:1",
        "host.example.com",
        "*.example.com",
        "host.*",
    ]
)
_hosts = st.sampled_from(["", "host.example.com", "other.example.com", "HOST.org"])
_users = st.sampled_from(["alice", "bob"])
_managers = st.sampled_from(["", "", "QM1", "QX"])
_manager_patterns = st.sampled_from(["QM1", "Q*", "*", "*1"])
_subjects = st.sampled_from(
    ["", "CN=alice,O=IBM,C=UK", "CN=bob,OU=Big,OU=Small,O=IBM", "CN=bob,OU=Big,C=UK", "CN=alan,DC=a,DC=b"]
)
_subject_patterns = st.sampled_from(
    [
        "CN=alice",
        "CN=al*",
        "CN=*e",
        "CN=*l*",
        "CN=*",
        "O=IBM",
        "C=UK",
        "O=IBM,C=UK",
        "OU=Big",
        "OU=*",
        "OU=*,OU=*",
        "OU=B*,OU=Small",
        "OU=Big,OU=*",
        "CN=b*,O=IBM",
        "DC=*,DC=b",
        "DC=a,DC=*",
    ]
)
_issuers = st.sampled_from(["", "O=Trust", "CN=CA,O=Trust"])


@st.composite
def _rules(draw: st.DrawFn) -> Definition:
    kind = draw(st.sampled_from([MQCAUT_ADDRESSMAP, MQCAUT_USERMAP, MQCAUT_QMGRMAP, MQCAUT_SSLPEERMAP]))
    address = draw(_patterns)
    if kind == MQCAUT_ADDRESSMAP:
        address = address or "*"
    values: dict[str, Value] = {"ADDRESS": address}
    if kind == MQCAUT_USERMAP:
        values["CLNTUSER"] = draw(_users)
    elif kind == MQCAUT_QMGRMAP:
        values["QMNAME"] = draw(_manager_patterns)
    elif kind == MQCAUT_SSLPEERMAP:
        values["SSLPEER"] = draw(_subject_patterns)
        values["SSLCERTI"] = draw(_issuers)
    values["USERSRC"] = draw(st.sampled_from([MQUSRC_MAP, MQUSRC_NOACCESS, MQUSRC_CHANNEL]))
    if values["USERSRC"] == MQUSRC_NOACCESS and draw(st.booleans()):
        values["WARN"] = MQWARN_YES
    return rule(draw(_profiles), kind, **values)


class _Connection:
    def __init__(self, data: st.DataObject) -> None:
        self.channel = data.draw(_channels)
        self.address = data.draw(_addresses)
        self.host = data.draw(_hosts)
        self.user = data.draw(_users)
        self.manager = data.draw(_managers)
        subject = data.draw(_subjects)
        self.subject: DistinguishedName | None = parse_name(subject) if subject else None
        issuer = data.draw(_issuers)
        self.issuer = parse_name(issuer) if issuer else None


def _applies(definition: Definition, connection: _Connection) -> bool:
    values = definition.attributes
    if not re.fullmatch(re.escape(str(values["CHLAUTH"])).replace(r"\*", ".*"), connection.channel):
        return False
    address = str(values["ADDRESS"])
    if address and not AddressPattern(address).matches(read_address(connection.address), connection.host):
        return False
    kind = values["TYPE"]
    if kind == MQCAUT_USERMAP:
        return not connection.manager and values["CLNTUSER"] == connection.user
    if kind == MQCAUT_QMGRMAP:
        pattern = str(values["QMNAME"]).replace("*", ".*")
        return bool(connection.manager) and re.fullmatch(pattern, connection.manager) is not None
    if kind == MQCAUT_SSLPEERMAP:
        if connection.subject is None or not PeerPattern(str(values["SSLPEER"])).matches(connection.subject):
            return False
        wanted = str(values["SSLCERTI"])
        return not wanted or (connection.issuer is not None and PeerPattern(wanted).matches(connection.issuer))
    return True


def _naive_order(definition: Definition) -> tuple[object, ...]:
    values = definition.attributes
    order = {MQCAUT_SSLPEERMAP: 0, MQCAUT_USERMAP: 1, MQCAUT_QMGRMAP: 1, MQCAUT_ADDRESSMAP: 2}
    kind = values["TYPE"]
    assert isinstance(kind, int)
    names: tuple[str, ...] = ()
    if kind == MQCAUT_SSLPEERMAP:
        issuer = str(values["SSLCERTI"])
        names = (
            name_specificity(PeerPattern(str(values["SSLPEER"]))),
            name_specificity(PeerPattern(issuer) if issuer else None),
        )
    elif kind == MQCAUT_QMGRMAP:
        names = (GenericName(str(values["QMNAME"])).specificity,)
    address = str(values["ADDRESS"])
    specificity = AddressPattern(address).specificity if address else "\7"
    return (GenericName(str(values["CHLAUTH"])).specificity, order[kind], names, specificity)


def _naive(definitions: list[Definition], connection: _Connection) -> tuple[Definition | None, Definition | None]:
    """Return the warning rule, if any, and the deciding rule by sorting all that apply."""
    applying = sorted((each for each in definitions if _applies(each, connection)), key=_naive_order)
    if not applying or "WARN" not in applying[0].attributes:
        return None, applying[0] if applying else None
    rest = [each for each in applying if "WARN" not in each.attributes]
    return applying[0], rest[0] if rest else None


@given(st.lists(_rules(), max_size=25), st.data())
def test_the_tables_decide_as_the_naive_twin_does(definitions: list[Definition], data: st.DataObject) -> None:
    table = ChannelRules()
    kept: dict[str, Definition] = {}
    for definition in definitions:
        table.put(definition)
        kept[definition.name] = definition
        if data.draw(st.integers(0, 4)) == 0:
            gone = data.draw(st.sampled_from(sorted(kept)))
            table.remove(kept.pop(gone))
    assert len(table) == len(kept)
    for _ in range(4):
        connection = _Connection(data)
        decision = table.decide(
            connection.channel,
            connection.address,
            connection.host,
            connection.user,
            connection.subject,
            connection.issuer,
            connection.manager,
        )
        assert (decision.warning, decision.rule) == _naive(list(kept.values()), connection)
        assert decision.is_refused == (decision.rule is not None and decision.source == MQUSRC_NOACCESS)
        assert decision.has_warning == (decision.warning is not None)
    for definition in kept.values():
        table.remove(definition)
    assert table.is_empty
    assert decide(table, "A.B").rule is None
