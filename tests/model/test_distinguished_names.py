"""SSLPEER: which names in certificates are welcome."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ostler.model.distinguished_names import (
    DistinguishedName,
    PeerPattern,
    check_pattern,
    from_certificate,
    matches,
    parse_name,
)

# In the order of a certificate: the largest first.
NAME = DistinguishedName(
    [
        ("C", "GB"),
        ("O", "Smith, Jones & Co"),
        ("OU", "Broking"),
        ("OU", "Desk 7"),
        ("CN", "QM1"),
        ("MAIL", "mq@example.org"),
    ],
    "4CD049D5025F38",
)


@pytest.mark.parametrize(
    "pattern",
    [
        "",
        "   ",
        "CN=QM1",
        "CN=qm1",
        "cn=QM1".replace("cn", "CN"),
        "CN=QM*",
        "CN=*1",
        "CN=*M*",
        "CN=*",
        'CN="QM1"',
        "C=GB,CN=QM1",
        "CN=QM1;C=GB",
        "  CN=QM1 ,  C=gb  ",
        'O="Smith, Jones & Co"',
        "O=Smith*",
        'O="Smith, *"',
        "OU=Broking",
        "OU=Broking,OU=Desk 7",
        "OU=Brok*,CN=QM1,OU=*7",
        "OU=*,OU=Desk 7",
        "E=mq@example.org",
        "MAIL=*@example.org",
        "SERIALNUMBER=4C:D0:49:D5:02:5F:38",
        "SERIALNUMBER=4cd049d5025f38",
        "SERIALNUMBER=4C:D0:*",
    ],
)
def test_welcome(pattern: str) -> None:
    check_pattern(pattern)
    assert matches(pattern, NAME)


@pytest.mark.parametrize(
    "pattern",
    [
        "CN=QM2",
        "CN=QM",
        "CN=M1",
        "CN=*M",
        "CN=M*",
        "CN=Q*1",
        "CN=QM1,C=US",
        "CN=QM1,L=Paris",
        "OU=Desk 7",
        "OU=Desk 7,OU=Broking",
        "OU=Broking,OU=Desk 7,OU=Chair 1",
        "O=Smith",
        'CN=" QM1"',
        "CN=\\*",
        "SERIALNUMBER=4C:D0:49:D5:02:5F:39",
        "DC=GB",
    ],
)
def test_not_welcome(pattern: str) -> None:
    check_pattern(pattern)
    assert not matches(pattern, NAME)


@pytest.mark.parametrize(
    "pattern",
    [
        "QM1",
        "CN",
        "CN=",
        'CN=""',
        "CN =QM1",
        "cn=QM1",
        "XX=QM1",
        "CN=QM1,",
        "CN=QM1,,C=GB",
        ",",
        'CN="QM1',
        'CN=Q"M"1',
        "CN=QM1,CN=QM2",
        "E=a,MAIL=b",
        "ST=a,SP=b",
    ],
)
def test_what_is_no_pattern_is_refused(pattern: str) -> None:
    with pytest.raises(ValueError, match=r"\w"):
        check_pattern(pattern)
    with pytest.raises(ValueError, match=r"\w"):
        matches(pattern, NAME)


def test_a_repeated_attribute_cannot_be_matched_but_the_others_can() -> None:
    twice = DistinguishedName([("O", "IBM"), ("CN", "First"), ("CN", "Second")])
    assert not matches("CN=First", twice)
    assert not matches("CN=*", twice)
    assert matches("O=IBM", twice)


def test_an_escaped_asterisk_is_an_asterisk() -> None:
    star = DistinguishedName([("CN", "*")])
    assert matches("CN=\\*", star)
    assert not matches("CN=\\*", DistinguishedName([("CN", "x")]))
    assert matches("CN=a\\*", DistinguishedName([("CN", "a*")]))
    assert not matches("CN=a\\*", DistinguishedName([("CN", "ab")]))


def test_no_name_matches_no_pattern() -> None:
    assert not matches("CN=*", DistinguishedName([]))
    assert matches("", DistinguishedName([]))


def test_state_has_three_names() -> None:
    name = DistinguishedName([("ST", "Texas")])
    assert [matches(f"{kind}=Texas", name) for kind in ("ST", "SP", "S")] == [True, True, True]


def test_names_from_certificates() -> None:
    pairs = [
        ("countryName", "GB"),
        ("serialNumber", "7"),
        ("organizationName", "Smith, Jones"),
        ("commonName", "QM1"),
        ("userId", "mqm"),
        ("1.2.3.4", "unknown"),
    ]
    name = from_certificate(pairs, "ABC")
    assert str(name) == 'SERIALNUMBER=0A:BC,UID=mqm,CN=QM1,O="Smith, Jones",C=GB'
    assert matches("USERID=mqm,SERIALNUMBER=ABC", name)


def test_names_as_people_write_them() -> None:
    name = parse_name('CN=QM1, OU=Broking; OU="Desk, 7",SP=Kent,E=mq@example.org')
    assert name.attributes == [
        ("CN", "QM1"),
        ("OU", "Broking"),
        ("OU", "Desk, 7"),
        ("ST", "Kent"),
        ("MAIL", "mq@example.org"),
    ]


@pytest.mark.parametrize("text", ["", "QM1", "CN=", "XX=1", 'CN="a', "CN=a,"])
def test_what_is_no_name_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"\w"):
        parse_name(text)


def test_a_name_is_shown_in_one_line() -> None:
    assert str(DistinguishedName([("CN", "QM1\nAMQ8003I: started\x1b[2J")])) == "CN=QM1?AMQ8003I: started?[2J"


def test_a_name_as_shown_is_a_pattern_that_matches_it() -> None:
    assert matches(str(NAME), NAME)


_VALUES = st.text(st.characters(codec="utf-8", exclude_characters='",;*\\'), min_size=1, max_size=12).filter(
    lambda text: text.strip() == text
)


@given(st.lists(_VALUES, min_size=1, max_size=4), st.integers(0, 4))
def test_leading_units_match_in_order(units: list[str], count: int) -> None:
    name = DistinguishedName([("OU", unit) for unit in units])
    pattern = ",".join(f"OU={unit}" for unit in units[:count])
    assert matches(pattern, name)
    if 0 < count <= len(units):
        assert not matches(pattern, DistinguishedName([("OU", unit + "x") for unit in units]))


@given(st.text(max_size=40))
def test_any_text_is_a_pattern_or_refused(text: str) -> None:
    try:
        pattern = PeerPattern(text)
    except ValueError:
        return
    assert pattern.wanted
    assert not pattern.matches(DistinguishedName([]))
