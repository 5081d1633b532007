"""Connection names and local addresses."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

import ostler
from ostler.model import constants as mq
from ostler.model.connection_names import (
    Address,
    LocalAddress,
    parse_connection_names,
    parse_local_address,
    parse_local_addresses,
)

GOOD = {
    "host": [("host", 1414)],
    "host(1415)": [("host", 1415)],
    " host ( 1415 ) , other": [("host", 1415), ("other", 1414)],
    "host(1414),host2(1415),10.0.0.3(65535)": [("host", 1414), ("host2", 1415), ("10.0.0.3", 65535)],
    "[::1](1500)": [("::1", 1500)],
    "[fe80::1%eth0]": [("fe80::1%eth0", 1414)],
    "::1(1500),fe80::7": [("::1", 1500), ("fe80::7", 1414)],
    "my_host.example-1.org(1)": [("my_host.example-1.org", 1)],
}
BAD = {
    "": "empty",
    "host,": "empty",
    "host(": "not a host",
    "host)": "not a host",
    "host(1)(2)": "not a host",
    "host()": "not a port",
    "host(0)": "not a port",
    "host(65536)": "not a port",
    "host(-1)": "not a port",
    "host(x)": "not a port",
    "host(\u0661)": "not a port",
    "(1414)": "names no host",
    "host:1414": r"host\(1414\)",
    "a b(1414)": "not a host name or address",
    "[host](1414)": "not an IPv6",
    "[](1414)": "not an IPv6",
    "host(1414) other(1415)": "not a host",
    "x" * 9000: "longer",
}


@pytest.mark.parametrize("text", GOOD)
def test_names_that_lead_somewhere(text: str) -> None:
    assert parse_connection_names(text) == GOOD[text]


@pytest.mark.parametrize("text", BAD, ids=lambda text: text[:30])
def test_names_that_lead_nowhere(text: str) -> None:
    with pytest.raises(ostler.MQError, match=BAD[text]) as refused:
        parse_connection_names(text)
    assert refused.value.reason == mq.MQRC_CHANNEL_CONFIG_ERROR


@given(st.lists(st.tuples(st.from_regex(r"[a-z][a-z0-9.-]{0,20}", fullmatch=True), st.integers(1, 65535)), min_size=1))
def test_what_is_written_is_read(addresses: list[tuple[str, int]]) -> None:
    text = ",".join(f"{host}({port})" for host, port in addresses)
    assert parse_connection_names(text) == [Address(host, port) for host, port in addresses]


@given(st.text(alphabet="h0.:[](),% 1", max_size=30))
def test_anything_is_read_or_refused(text: str) -> None:
    addresses, reason = [], 0
    try:
        addresses = parse_connection_names(text)
    except ostler.MQError as error:
        reason = error.reason
    assert bool(addresses) != (reason == mq.MQRC_CHANNEL_CONFIG_ERROR)
    assert all(host and 1 <= port <= 65535 for host, port in addresses)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", LocalAddress("", 0, 0)),
        ("host", LocalAddress("host", 0, 0)),
        ("host(1500)", LocalAddress("host", 1500, 1500)),
        ("host(1500,1599)", LocalAddress("host", 1500, 1599)),
        ("(1500,1599)", LocalAddress("", 1500, 1599)),
        ("[::1](1500),other", LocalAddress("::1", 1500, 1500)),
    ],
)
def test_local_addresses(text: str, expected: LocalAddress) -> None:
    assert parse_local_address(text) == expected


def test_a_local_address_for_each_family() -> None:
    text = "10.0.0.3(1500,1599), fe80::7(1600)"
    assert parse_local_addresses(text) == [LocalAddress("10.0.0.3", 1500, 1599), LocalAddress("fe80::7", 1600, 1600)]


def test_an_address_reads_as_it_is_written() -> None:
    assert [str(address) for address in parse_connection_names("host,10.0.0.3(15)")] == ["host(1414)", "10.0.0.3(15)"]


@pytest.mark.parametrize("text", ["host(1599,1500)", "host(1,2,3)", "host(", "host(,)", "host,", "host,other("])
def test_local_addresses_that_are_none(text: str) -> None:
    with pytest.raises(ostler.MQError) as refused:
        parse_local_address(text)
    assert refused.value.reason == mq.MQRC_CHANNEL_CONFIG_ERROR
