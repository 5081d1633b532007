"""Generic addresses: validity, matching and specificity."""

from __future__ import annotations

import itertools
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ostler.model.constants import MQRCCF_IPADDR_ERROR, MQRCCF_IPADDR_RANGE_ERROR
from ostler.model.errors import MQError
from ostler.security.addresses import AddressPattern, check_addresses, read_address
from ostler.security.channel_names import GenericName, NameTable


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("192.0.2.6", (192, 0, 2, 6)),
        ("0.0.0.0", (0, 0, 0, 0)),
        ("::1", (0, 0, 0, 0, 0, 0, 0, 1)),
        ("2001:DB8::5:0", (0x2001, 0xDB8, 0, 0, 0, 0, 5, 0)),
        ("1:2:3:4:5:6:7:8", (1, 2, 3, 4, 5, 6, 7, 8)),
        ("64:ff9b::192.0.2.33", (0x64, 0xFF9B, 0, 0, 0, 0, 0xC000, 0x221)),
        ("::ffff:192.0.2.33", (192, 0, 2, 33)),
        ("fe80::1%eth0", (0xFE80, 0, 0, 0, 0, 0, 0, 1)),
        ("192.0.2", ()),
        ("192.0.2.256", ()),
        ("192.0.2.1.1", ()),
        ("1:2:3", ()),
        ("1::2::3", ()),
        ("1:2:3:4:5:6:7:8:9", ()),
        ("::12345", ()),
        ("a.b.c.d", ()),
        ("", ()),
    ],
)
def test_addresses_are_read(text: str, parts: tuple[int, ...]) -> None:
    assert read_address(text) == parts


@pytest.mark.parametrize(
    ("pattern", "matching", "other"),
    [
        ("*", "192.0.2.1", None),
        ("*", "2001:db8::1", None),
        ("192.0.2.0", "192.0.2.0", "192.0.2.1"),
        ("192.0.2.*", "192.0.2.77", "192.0.3.77"),
        ("192.0.*", "192.0.200.77", "192.1.200.77"),
        ("192.0.*.2", "192.0.9.2", "192.0.9.3"),
        ("192.*.2", "192.7.8.2", "192.7.8.3"),
        ("192.*.2.*", "192.5.2.9", "192.5.3.9"),
        ("*.6", "192.0.2.6", "192.0.2.7"),
        ("192.0.2.1-8", "192.0.2.8", "192.0.2.9"),
        ("192.0.*.1-8", "192.0.55.1", "192.0.55.0"),
        ("10.1-3.*", "10.2.1.1", "10.4.1.1"),
        ("2001:DB8:0:0:0:0:0:0", "2001:db8::", "2001:db8::1"),
        ("2001:DB8:0:0:0:0:0:*", "2001:db8::99", "2001:db8::1:99"),
        ("2001:DB8:0:0:0:*", "2001:db8::1:99", "2001:db8:0:0:1::"),
        ("2001:DB8:0:0:0:*:0:1", "2001:db8::7:0:1", "2001:db8::7:0:2"),
        ("2001:*:1", "2001:1:2:3:4:5:6:1", "2001:1:2:3:4:5:6:2"),
        ("2001:DB8:0:0:0:0:0:0-8", "2001:db8::8", "2001:db8::9"),
        ("2001:db8::1-a", "2001:db8::a", "2001:db8::b"),
        ("2001:*::5", "2001:9::5", "2001:9::6"),
        ("::ffff:192.0.2.*", "192.0.2.4", "192.0.3.4"),
    ],
)
def test_patterns_match(pattern: str, matching: str, other: str | None) -> None:
    understood = AddressPattern(pattern)
    assert understood.matches(read_address(matching))
    if other is not None:
        assert not understood.matches(read_address(other))


@pytest.mark.parametrize(
    ("pattern", "matching", "other"),
    [
        ("hursley.ibm.com", "Hursley.IBM.com", "hursley.ibm.co"),
        ("*.ibm.com", "hursley.ibm.com", "ibm.com"),
        ("hursley.*", "hursley.ibm.com", "winchester.ibm.com"),
        ("hursley.*.com", "hursley.ibm.com", "hursley.ibm.org"),
        ("HOST-1", "host-1", "host-2"),
    ],
)
def test_hosts_match(pattern: str, matching: str, other: str) -> None:
    understood = AddressPattern(pattern)
    address = read_address("192.0.2.1")
    assert understood.matches(address, matching)
    assert not understood.matches(address, other)
    assert not understood.matches(address, "")


@pytest.mark.parametrize(
    ("text", "word"),
    [
        ("192.0.2", "3 parts"),
        ("192.0*", "of its own"),
        ("192.0.*.*", "two asterisks"),
        ("192.0.*.2.3", "5 parts"),
        ("192.0.2.300", "0 to 255"),
        ("2001::*", "several things"),
        ("2001::5::6", "double colon"),
        ("1:2:3", "3 parts"),
        ("2001:db8:xyz:*", "0 to FFFF"),
        ("host name", "neither"),
        ("", "0 to 255"),
        ("a..b", "neither"),
    ],
)
def test_wrong_patterns_are_refused(text: str, word: str) -> None:
    with pytest.raises(MQError) as refusal:
        AddressPattern(text)
    assert refusal.value.reason == MQRCCF_IPADDR_ERROR
    assert word in refusal.value.detail


@pytest.mark.parametrize("text", ["192.0.2.8-1", "192.0.2.8-8", "2001:db8::8-1"])
def test_ranges_go_up(text: str) -> None:
    with pytest.raises(MQError) as refusal:
        AddressPattern(text)
    assert refusal.value.reason == MQRCCF_IPADDR_RANGE_ERROR


def test_hosts_cannot_be_blocked_by_name() -> None:
    check_addresses(("192.0.2.*", "2001:db8::1", "*"))
    with pytest.raises(MQError) as refusal:
        check_addresses(("192.0.2.*", "example.com"))
    assert refusal.value.reason == MQRCCF_IPADDR_ERROR


@pytest.mark.parametrize(
    ("specific", "general"),
    [
        ("192.0.2.6", "192.0.2.1-8"),
        ("192.0.2.0-24", "192.0.2.*"),
        ("192.0.2.5-15", "192.0.2.0-24"),
        ("192.*", "*.0.2.6"),
        ("192.0.*", "192.*.2.6"),
        ("192.*.2.*", "192.*"),
        ("192.*", "*"),
        ("192.*", "hursley.ibm.com"),
        ("hursley.ibm.com", "hursley.*"),
        ("hursley.*", "*.ibm.com"),
        ("hursley.ibm.*", "hursley.*.com"),
        ("hursley.*.com", "hursley.*"),
        ("*.ibm.com", "*"),
    ],
)
def test_the_more_specific_comes_first(specific: str, general: str) -> None:
    assert AddressPattern(specific).specificity < AddressPattern(general).specificity


@pytest.mark.parametrize(
    ("specific", "general"),
    [("A.B.C", "A.B.*"), ("A.*", "*.B.C"), ("A.B.*", "A.*.C"), ("A.*.C", "A.*"), ("Q*MGR", "Q*"), ("QUEUE*", "Q*R")],
)
def test_the_more_specific_name_comes_first(specific: str, general: str) -> None:
    assert GenericName(specific).specificity < GenericName(general).specificity


def test_the_same_pattern_has_one_form() -> None:
    assert AddressPattern("2001:DB8::1").canonical == AddressPattern("2001:0db8:0:0:0:0:0:1").canonical
    assert AddressPattern("010.0.0.1-08").canonical == AddressPattern("10.0.0.1-8").canonical
    assert AddressPattern("::FFFF:10.0.0.1").canonical == AddressPattern("10.0.0.1").canonical
    assert AddressPattern("Example.COM").canonical == "example.com"


@pytest.mark.parametrize(
    ("one", "other", "overlapping"),
    [
        ("192.0.2.0-15", "192.0.2.10-20", True),
        ("192.0.2.0-15", "192.0.2.5-15", False),
        ("192.0.2.0-15", "192.0.2.16-20", False),
        ("192.0.2.0-15", "192.0.3.10-20", False),
        ("192.0.2.0-15", "192.0.2.*", False),
        ("192.0-5.*", "192.3-9.*", True),
        ("2001:db8::1-8", "2001:db8::4-f", True),
    ],
)
def test_overlapping_ranges_are_seen(one: str, other: str, overlapping: bool) -> None:
    assert AddressPattern(one).overlaps(AddressPattern(other)) is overlapping
    assert AddressPattern(other).overlaps(AddressPattern(one)) is overlapping


# -- against a naive twin ---------------------------------------------------------------------------------------------

_few = st.integers(0, 3)
_range = st.tuples(_few, _few).filter(lambda pair: pair[0] < pair[1]).map(lambda pair: f"{pair[0]}-{pair[1]}")
_ipv4_pattern = st.lists(st.one_of(_few.map(str), _range, st.just("*")), min_size=1, max_size=4).map(".".join)


def _naive_match(pattern: str, address: tuple[int, ...]) -> bool:
    """Match by trying every number of parts for each asterisk."""
    pieces = pattern.split(".")
    stars = pieces.count("*")
    for widths in itertools.product(range(1, len(address) + 1), repeat=stars):
        remaining = list(widths)
        accepted: list[set[int]] = []
        for piece in pieces:
            if piece == "*":
                accepted += [set(range(256))] * remaining.pop(0)
            else:
                low, _, high = piece.partition("-")
                accepted.append(set(range(int(low), int(high or low) + 1)))
        if len(accepted) == len(address) and all(
            number in wanted for number, wanted in zip(address, accepted, strict=True)
        ):
            return True
    return False


@given(_ipv4_pattern, st.tuples(_few, _few, _few, _few))
def test_ipv4_patterns_match_as_the_naive_twin_does(text: str, address: tuple[int, ...]) -> None:
    try:
        pattern = AddressPattern(text)
    except MQError:
        pieces = text.split(".")
        assert text.endswith("*.*") or ("*" not in pieces and len(pieces) < 4)
        return
    assert pattern.matches(address) == _naive_match(text, address)
    again = AddressPattern(pattern.canonical)
    assert again.specificity == pattern.specificity
    assert again.canonical == pattern.canonical


@given(st.lists(st.text("AB*", min_size=1, max_size=5), unique=True, max_size=12), st.text("AB", max_size=5), st.data())
def test_tables_of_names_find_what_matches(names: list[str], wanted: str, data: st.DataObject) -> None:
    table: NameTable[str] = NameTable()
    for name in names:
        table.put(name, name)
    for name in data.draw(st.lists(st.sampled_from(names), unique=True)) if names else []:
        table.remove(name)
        names = [each for each in names if each != name]
    expected = [name for name in names if re.fullmatch(name.replace("*", ".*"), wanted)]
    expected.sort(key=lambda name: (GenericName(name).specificity, name))
    assert table.matching(wanted) == expected
    assert len(table) == len(names)
    assert all(table.get(name) == name for name in names)


@given(st.text(max_size=40))
def test_any_text_is_read_or_refused(text: str) -> None:
    read_address(text)
    try:
        pattern = AddressPattern(text)
    except MQError as error:
        reason = error.reason
    else:
        reason = 0
        assert AddressPattern(pattern.canonical).canonical == pattern.canonical
    assert reason in (0, MQRCCF_IPADDR_ERROR, MQRCCF_IPADDR_RANGE_ERROR)
