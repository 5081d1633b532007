"""Redis as coupling facility where it differs from our own: leases, lost writes, settings, passwords, TLS."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from tests.coupling.members import entry_with
from tests.server.coupling.group_processes import Group, RedisGroupFacility, wait_for
from tests.server.coupling.redis_member import SECONDS, RedisMember, crash, written_bytes

from ostler.client.api.connection import Connection
from ostler.lab.peers.broker_process import free_port
from ostler.model.coupling import programs as p
from ostler.model.coupling import terms as cf
from ostler.model.coupling.answers import ConnectAnswer, GetAnswer
from ostler.model.coupling.entries import make_id
from ostler.model.errors import MQError
from ostler.server.coupling.redis.address import parse_address
from ostler.server.coupling.redis.commands import pack
from ostler.server.coupling.redis.redis_client import EventReader, RedisClient
from ostler.server.coupling.redis.redis_errors import RedisFailed, RedisUnsuitable
from ostler.server.coupling.redis.scripts import LEASE_MS
from ostler.server.tls.certificate_maker import Authority


@pytest.fixture
def redis() -> Iterator[RedisGroupFacility]:
    made = RedisGroupFacility()
    yield made
    made.close()


def two_members(redis: RedisGroupFacility) -> tuple[RedisMember, RedisMember]:
    one, two = RedisMember(redis.server, 1), RedisMember(redis.server, 2)
    for member in (one, two):
        member.begin()
        member.put()
    return one, two


# Lost writes.


def test_a_server_that_was_killed_goes_on_when_all_members_have_confirmed(redis: RedisGroupFacility) -> None:
    one, two = two_members(redis)
    identity = one.client.session.identity
    crash(redis.server)
    one.connect_again()
    assert cf.STATUS_NAMES[one.join().status] == "IN_RECOVERY"  # the other one has not confirmed its count
    two.connect_again()
    assert two.joined().facility == identity
    assert one.joined().facility == identity
    one.ok(p.ConnectProgram("APPL1", 64 << 20, 5))
    answer = one.run(p.GetProgram("APPL1", "Q", cf.REMOVE))
    assert isinstance(answer, GetAnswer)
    assert answer.depth == 1


@pytest.mark.parametrize("first_to_come", [1, 2])
def test_a_server_that_lost_its_last_second_has_failed_structures(
    redis: RedisGroupFacility, first_to_come: int
) -> None:
    """What is there looks well. Only the count that a member knows tells that its last program is missing."""
    one, two = two_members(redis)
    kept = written_bytes(redis.server)
    two.put()
    identity = one.client.session.identity
    crash(redis.server, kept)
    for member in (one, two) if first_to_come == 1 else (two, one):
        member.connect_again()
        member.join()
    for member in (one, two):
        member.connect_again()
        assert member.joined().facility != identity
        answer = member.ok(p.ConnectProgram("APPL1", 64 << 20, 5))
        assert isinstance(answer, ConnectAnswer)
        assert answer.state == cf.STRUCTURE_STATE_FAILED
        assert member.run(p.GetProgram("APPL1", "Q", cf.REMOVE)).status == cf.STRUCTURE_FAILED


def test_a_member_that_died_with_the_server_cannot_confirm(redis: RedisGroupFacility) -> None:
    one, _ = two_members(redis)
    identity = one.client.session.identity
    crash(redis.server)
    restarted = RedisMember(redis.server, 2, start=2)
    assert restarted.joined().facility != identity


def test_a_server_that_forces_always_need_not_be_confirmed() -> None:
    redis = RedisGroupFacility({"appendfsync": "always"})
    try:
        one, _ = two_members(redis)
        identity = one.client.session.identity
        crash(redis.server)
        one.connect_again()
        assert one.joined().facility == identity
    finally:
        redis.close()


# Leases.


def wait_until(happened: Callable[[], bool], what: str) -> None:
    deadline = time.monotonic() + SECONDS
    while not happened():
        assert time.monotonic() < deadline, what
        time.sleep(0.05)


def test_a_member_without_ears_is_given_up_soon_and_one_with_them_by_its_lease(redis: RedisGroupFacility) -> None:
    one, two = two_members(redis)
    reader = EventReader(parse_address(redis.address), SECONDS, one.client.session.channel)
    time.sleep(1.0)  # longer than a member without ears has
    assert two.client.beat()[6] == []
    assert one.run(p.InquireProgram("APPL1", "Q")).status == cf.OK
    reader.close()
    given_up: list[bytes] = []
    wait_until(lambda: bool(given_up.extend(two.client.beat()[6]) or given_up), "member 1 was to be given up")
    assert given_up == [b"QM1"]
    assert one.run(p.InquireProgram("APPL1", "Q")).status == cf.FENCED
    assert two.ok(p.BeginRecoveryProgram(1)).status == cf.OK


def test_a_silent_member_with_ears_is_given_up_after_its_lease(redis: RedisGroupFacility) -> None:
    one, two = two_members(redis)
    reader = EventReader(parse_address(redis.address), SECONDS, one.client.session.channel)
    began = time.monotonic()
    given_up: list[bytes] = []
    wait_until(lambda: bool(given_up.extend(two.client.beat()[6]) or given_up), "member 1 was to be given up")
    assert time.monotonic() - began > LEASE_MS / 1000 - 1.0
    reader.close()


def test_a_member_joins_at_once_after_its_own_link_and_another_one_does_not(redis: RedisGroupFacility) -> None:
    one, _ = two_members(redis)
    copy = RedisMember(redis.server, 1)
    assert cf.STATUS_NAMES[copy.join().status] == "MEMBER_ACTIVE"
    before = one.client.session.fence
    one.connect_again()
    assert one.joined().fence > before


def test_scripts_that_were_flushed_are_loaded_again(redis: RedisGroupFacility) -> None:
    one, _ = two_members(redis)
    one.client.connection.ask(b"SCRIPT FLUSH\r\n")
    one.put()


# Settings, passwords, TLS.


def test_a_put_behind_one_that_was_not_run_is_not_run_either(redis: RedisGroupFacility) -> None:
    """Puts outside units go ahead of their answers. The next number would make a put that failed look done."""
    one = RedisMember(redis.server, 1)
    one.begin()
    assert one.run(one.logged_put(1)).status == cf.OK
    connection = one.client.connection
    connection.ask(pack("SCRIPT", "FLUSH"))
    one.send(one.logged_put(2))
    with pytest.raises(RedisFailed, match="NOSCRIPT"):
        one.client.receive()
    one.client.load()  # as another member may do meanwhile
    one.send(one.logged_put(3))
    with pytest.raises(RedisFailed, match="was not run"):
        one.client.receive()
    one.connect_again()
    assert one.joined().logged == 1
    one.ok(p.ConnectProgram("APPL1", 64 << 20, 5))
    assert [one.run(one.logged_put(number)).status for number in (2, 3)] == [cf.OK, cf.OK]


def test_a_server_that_may_drop_messages_is_refused() -> None:
    redis = RedisGroupFacility({"maxmemory-policy": "allkeys-lru"})
    try:
        with pytest.raises(RedisUnsuitable, match="maxmemory-policy noeviction"):
            RedisClient(parse_address(redis.address), "QSG1", SECONDS)
    finally:
        redis.close()


def test_a_server_without_a_file_is_used_with_a_warning() -> None:
    redis = RedisGroupFacility({"appendonly": "no"})
    try:
        client = RedisClient(parse_address(redis.address), "QSG1", SECONDS)
        assert "appendonly yes" in client.facts.warning
        client.close()
    finally:
        redis.close()


def test_a_full_memory_refuses_puts_and_serves_gets() -> None:
    redis = RedisGroupFacility({"maxmemory": "3mb"})
    try:
        one, _ = two_members(redis)
        while one.run(_large_put(one)).status == cf.OK:
            assert one.last < 200, "the memory was to be full"
        assert one.run(_large_put(one)).status == cf.STRUCTURE_FULL
        while one.run(p.GetProgram("APPL1", "Q", cf.REMOVE)).status == cf.OK:
            pass
        one.ok(_large_put(one))
    finally:
        redis.close()


def _large_put(member: RedisMember) -> p.PutProgram:
    member.last += 1
    entry = entry_with(body=bytes(60_000))
    entry.id = make_id(member.number, member.start, member.last)
    return p.PutProgram("APPL1", "Q", entry)


def test_passwords(tmp_path: Path) -> None:
    redis = RedisGroupFacility({"requirepass": "open sesame"})
    file = tmp_path / "password"
    file.write_text("open sesame\n")
    try:
        with pytest.raises(RedisFailed, match="NOAUTH"):
            RedisClient(parse_address(redis.address), "QSG1", SECONDS)
        for address in (f"{redis.address}?password-file={file}", _with_password(redis.address)):
            RedisClient(parse_address(address), "QSG1", SECONDS).close()
    finally:
        redis.close()


def _with_password(address: str) -> str:
    return address.replace("redis+unix://", "redis+unix://:open%20sesame@")


@pytest.fixture
def secured(tmp_path: Path) -> Iterator[RedisGroupFacility]:
    """A server that speaks TLS only, on a loopback port."""
    authority = Authority(tmp_path / "ca")
    authority.create("Redis", "ec")
    authority.issue(tmp_path / "keys", "redis", [("CN", "localhost")], "ec", host_names=("localhost",))
    keys = {each.suffix: str(each) for each in (tmp_path / "keys").iterdir() if each.stem == "redis"}
    authority_file = str(next(iter((tmp_path / "keys").glob("ca*.crt"))))
    port = free_port()
    settings = {"tls-port": str(port), "bind": "127.0.0.1", "tls-cert-file": keys[".crt"], "tls-key-file": keys[".key"]}
    made = RedisGroupFacility({**settings, "tls-ca-cert-file": authority_file, "tls-auth-clients": "no"})
    made.address = f"rediss://localhost:{port}?ca={authority_file}"
    yield made
    made.close()


def test_tls(secured: RedisGroupFacility) -> None:
    RedisClient(parse_address(secured.address), "QSG1", SECONDS).close()
    with pytest.raises(RedisFailed, match="certificate verify failed"):
        RedisClient(parse_address(secured.address.partition("?")[0]), "QSG1", SECONDS)
    with pytest.raises(RedisFailed, match=r"certificate is not valid for '127\.0\.0\.1'"):
        RedisClient(parse_address(secured.address.replace("localhost", "127.0.0.1", 1)), "QSG1", SECONDS)


# Queue managers.


def test_queue_managers_over_tls(secured: RedisGroupFacility, tmp_path: Path) -> None:
    group = Group(tmp_path / "data", secured)
    try:
        group.start("QMA", 1)
        with group.connect("QMA") as application:
            shared = application.open("SHARED.QUEUE", "rw")
            shared.put(b"secret", persistent=True)
            message = shared.get(wait=5)
            assert message is not None
            assert message.data == b"secret"
    finally:
        group.close()


@pytest.mark.slow
def test_queue_managers_see_that_redis_has_lost_its_last_second(redis: RedisGroupFacility, tmp_path: Path) -> None:
    group = Group(tmp_path, redis)
    try:
        for number, name in enumerate(("QMA", "QMB"), 1):
            group.start(name, number)
        with group.connect("QMA") as at_a, group.connect("QMB") as at_b:
            at_a.put("SHARED.QUEUE", b"kept", persistent=True)
            crash(redis.server)
            wait_for(lambda: _can_get(at_b, b"kept"), "QMB was to get the message after a crash without loss")
            wait_for(lambda: _has_reason(at_a, 0), "QMA was to join again")
            kept = written_bytes(redis.server)
            at_a.put("SHARED.QUEUE", b"lost", persistent=True)
            crash(redis.server, kept)
            at_a.put("PRIVATE.QUEUE", b"private queues go on")
            # A loss that nobody sees is for ever. One that is seen fails the structure, and logs bring messages back.
            wait_for(lambda: _can_get(at_b, b"lost"), "the message was to come back from the log of QMA")
    finally:
        group.close()


def _can_get(application: Connection, data: bytes) -> bool:
    try:
        message = application.open("SHARED.QUEUE", "rw").get()
    except MQError:
        return False
    return message is not None and message.data == data


def _has_reason(application: Connection, reason: int) -> bool:
    """Open the shared queue, and tell whether it ends with this reason; 0: it can be opened."""
    try:
        application.open("SHARED.QUEUE", "rw").close()
    except MQError as error:
        return error.reason == reason
    return reason == 0
