"""Addresses of Redis servers, in qm.ini and on command lines."""

from __future__ import annotations

from pathlib import Path

import pytest

from ostler.server.coupling.redis.address import is_redis, parse_address
from ostler.server.coupling.redis.redis_errors import RedisFailed


def test_parts() -> None:
    address = parse_address("rediss://member:pa%2Fss@redis.example.com:6380/3?facility=QSG1&ca=/ca.crt")
    assert (address.host, address.port, address.database, address.facility) == ("redis.example.com", 6380, 3, "QSG1")
    assert (address.credentials(), address.is_tls, address.ca) == (("member", "pa/ss"), True, "/ca.crt")
    assert str(address) == "redis.example.com(6380)"
    local = parse_address("redis+unix:///run/redis.sock?database=2")
    assert (local.path, local.database, local.credentials(), str(local)) == (
        "/run/redis.sock",
        2,
        (),
        "/run/redis.sock",
    )
    assert parse_address("redis://host").port == 6379


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("redis://", "it is like redis://host:6379"),
        ("redis+unix://host/path", "it is like redis://host:6379"),
        ("http://host", "it is like redis://host:6379"),
        ("redis://host:99999", "no address"),
        ("redis://host/x", "x is no number of a database"),
        ("redis://host?colour=red", "unknown option colour"),
        ("redis://host?facility=a/b", "'a/b' is no name of a facility"),
    ],
)
def test_wrong_ones_are_refused_with_the_reason(text: str, why: str) -> None:
    with pytest.raises(ValueError, match=why.replace("/", "\\/")):
        parse_address(text)


def test_paths_of_our_own_facility_are_no_addresses_of_redis() -> None:
    assert not is_redis("/var/ostler/facilities/CF01/cf.sock")
    assert not is_redis("host(1500)")
    assert is_redis("redis://host")


def test_a_password_comes_from_a_file(tmp_path: Path) -> None:
    file = tmp_path / "password"
    address = parse_address(f"redis://host?password-file={file}")
    with pytest.raises(RedisFailed, match="cannot be read"):
        address.resolved()
    file.write_text("secret\n")
    assert address.resolved().credentials() == ("secret",)
