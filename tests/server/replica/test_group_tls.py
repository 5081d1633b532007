"""Mutual TLS between instances: members of the group connect, everybody else is refused."""

from __future__ import annotations

import socket
import threading
from pathlib import Path

import pytest

from ostler.server.replica.group_tls import GroupTls, certified_instance
from ostler.server.replica.transport import ConnectionLost, ReplicaConnection
from ostler.server.tls.certificate_maker import Authority
from ostler.server.tls.contexts import ChannelTls, RepositorySettings, TlsContexts
from ostler.wire.frames import HEARTBEAT, frame
from ostler.wire.tls_stream import TlsStream

INSTANCES = frozenset(("a", "b"))
FRAME_BYTES_MAX = 1 << 20


def group(directory: Path, instance: str, authority: Authority) -> GroupTls:
    repository = directory / instance
    authority.issue(repository, instance, [("CN", instance), ("O", "QM1")], "ec")
    return GroupTls(repository, "", instance, "ANY", INSTANCES)


@pytest.fixture
def authority(tmp_path: Path) -> Authority:
    made = Authority(tmp_path / "ca")
    made.create("Group of QM1", "ec")
    return made


def connect(client: TlsStream, server: TlsStream) -> tuple[ReplicaConnection, ReplicaConnection, list[ConnectionLost]]:
    failures: list[ConnectionLost] = []

    def shake(connection: ReplicaConnection) -> None:
        try:
            connection.finish_handshake()
        except ConnectionLost as lost:
            failures.append(lost)

    listener = socket.create_server(("127.0.0.1", 0))
    dialled = socket.create_connection(listener.getsockname())
    accepted, _ = listener.accept()
    listener.close()
    near = ReplicaConnection(dialled, "server", client, FRAME_BYTES_MAX)
    far = ReplicaConnection(accepted, "client", server, FRAME_BYTES_MAX)
    threads = [threading.Thread(target=shake, args=(each,), daemon=True) for each in (near, far)]
    for each in threads:
        each.start()
    for each in threads:
        each.join(60.0)
        assert not each.is_alive(), "the handshake hangs"
    return near, far, failures


def test_instances_of_the_group_exchange_frames(tmp_path: Path, authority: Authority) -> None:
    near, far, failures = connect(
        group(tmp_path, "a", authority).stream(False), group(tmp_path, "b", authority).stream(True)
    )
    assert failures == []
    assert near.stream is not None
    assert far.stream is not None
    assert (certified_instance(near.stream), certified_instance(far.stream)) == ("b", "a")
    for sender, receiver in ((near, far), (far, near)):
        assert sender.send(frame(HEARTBEAT, 0, 3, b"x" * 100_000))
        found = receiver.receive(60.0)
        assert found is not None
        assert found.buffer[found.start : found.end] == b"x" * 100_000
    near.close("test")
    far.close("test")


def test_refuses_a_certificate_of_another_authority(tmp_path: Path, authority: Authority) -> None:
    other = Authority(tmp_path / "other-ca")
    other.create("Group of QM2", "ec")
    stranger = group(tmp_path / "elsewhere", "a", other)
    _, far, failures = connect(stranger.stream(False), group(tmp_path, "b", authority).stream(True))
    assert failures
    assert "certificate" in far.close_reason


def test_refuses_a_name_that_is_no_instance(tmp_path: Path, authority: Authority) -> None:
    _, far, failures = connect(
        group(tmp_path, "c", authority).stream(False), group(tmp_path, "b", authority).stream(True)
    )
    assert failures
    assert "AMQ3230E" in far.close_reason
    assert "CN=c" in far.close_reason


def test_refuses_a_client_without_a_certificate(tmp_path: Path, authority: Authority) -> None:
    trust_only = tmp_path / "client"
    trust_only.mkdir()
    (trust_only / "ca.crt").write_bytes(authority.certificate.read_bytes())
    contexts = TlsContexts(lambda: RepositorySettings("QM9", trust_only, str(trust_only)), lambda name: None)
    client = contexts.client_stream(ChannelTls("REPLICATION", "ANY_TLS12_OR_HIGHER"))
    _, far, _ = connect(client, group(tmp_path, "b", authority).stream(True))
    assert far.close_reason
    assert not far.is_open
