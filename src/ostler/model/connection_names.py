"""Connection names as MQ writes them: "host(1414),host2(1415)", and local addresses: "host(1500,1599)"."""

from __future__ import annotations

import re
from typing import Final, NamedTuple

from ostler.model import constants as mq
from ostler.model.errors import MQError

PORT: Final = 1414
PORT_MAX: Final = 65_535
CHARACTERS_MAX: Final = 8192
_ONE: Final = re.compile(r"(?P<host>\[[^\[\]]*\]|[^\[\]()]*)(?:\((?P<port>[^()]*)\))?")
_HOST_AND_COLON: Final = re.compile(r"(?P<host>[^:]+|\[.*\]):(?P<port>\d+)")
_HOST: Final = re.compile(r"[0-9A-Za-z_.-]{1,253}")
_ADDRESS_6: Final = re.compile(r"[0-9A-Fa-f:.]{2,45}(%[0-9A-Za-z_.-]+)?")
_COMMAS_OUTSIDE_PARENTHESES: Final = re.compile(r",(?![^()]*\))")


class Address(NamedTuple):
    """A host, by name or address, and a port of it."""

    host: str
    port: int

    def __str__(self) -> str:
        return f"{self.host}({self.port})"


class LocalAddress(NamedTuple):
    """The address that a channel's sockets are bound to. An empty host or port 0 is any; else a range of ports."""

    host: str
    port_low: int
    port_high: int


def parse_connection_names(text: str) -> list[Address]:
    """Return the addresses of a connection name list, in order. The default port is 1414.

    IPv6 addresses may be in brackets or, as in MQ, bare. Raises MQError with MQRC_CHANNEL_CONFIG_ERROR.
    """
    if len(text) > CHARACTERS_MAX:
        raise _refused(text, f"it is longer than {CHARACTERS_MAX} characters")
    return [_address(part.strip(), text) for part in text.split(",")]


def _address(part: str, text: str) -> Address:
    if not part:
        raise _refused(text, "a name in it is empty")
    host, port = _host_and_parenthesis(part, text)
    if not host:
        raise _refused(text, f"{part} names no host")
    return Address(host, PORT if port is None else _port(port, text))


def parse_local_address(text: str) -> LocalAddress:
    """Return the first local address: "host", "host(port)", "host(low,high)" or only ports."""
    return parse_local_addresses(text)[0]


def parse_local_addresses(text: str) -> list[LocalAddress]:
    """Return the local addresses of a list: MQ allows one for each address family. An empty list means any."""
    if not text.strip():
        return [LocalAddress("", 0, 0)]
    return [_local_address(part.strip(), text) for part in _COMMAS_OUTSIDE_PARENTHESES.split(text)]


def _local_address(part: str, text: str) -> LocalAddress:
    if not part:
        raise _refused(text, "an address in it is empty")
    host, ports = _host_and_parenthesis(part, text)
    if ports is None:
        return LocalAddress(host, 0, 0)
    low, comma, high = ports.partition(",")
    port_low = _port(low, text)
    port_high = _port(high, text) if comma else port_low
    if port_high < port_low:
        raise _refused(text, f"{port_high} is below {port_low}")
    return LocalAddress(host, port_low, port_high)


def _host_and_parenthesis(part: str, text: str) -> tuple[str, str | None]:
    found = _ONE.fullmatch(part)
    if found is None:
        raise _refused(text, f"{part} is not a host with a port in parentheses")
    host = found["host"].strip()
    if host.startswith("["):
        host = host[1:-1]
        if not _ADDRESS_6.fullmatch(host) or ":" not in host:
            raise _refused(text, f"{host or 'nothing'} in brackets is not an IPv6 address")
        return host, found["port"]
    colon = _HOST_AND_COLON.fullmatch(host)
    if colon is not None:
        raise _refused(text, f"write the port in parentheses: {colon['host']}({colon['port']})")
    if host and not (_HOST.fullmatch(host) or (":" in host and _ADDRESS_6.fullmatch(host))):
        raise _refused(text, f"{host} is not a host name or address")
    return host, found["port"]


def _port(digits: str, text: str) -> int:
    number = digits.strip()
    if not (number.isascii() and number.isdigit() and len(number) <= 5 and 1 <= int(number) <= PORT_MAX):
        raise _refused(text, f"{number or 'nothing'} is not a port from 1 to {PORT_MAX}")
    return int(number)


def _refused(text: str, why: str) -> MQError:
    return MQError(mq.MQRC_CHANNEL_CONFIG_ERROR, f"{text[:100]!r} is not a connection name or local address: {why}.")
