"""Connections between instances: frames in both directions, slow peers, hostile peers."""

from __future__ import annotations

import socket
import threading
import time

import pytest

from ostler.server.replica import transport
from ostler.server.replica.transport import ConnectionLost, ReplicaConnection
from ostler.wire.frames import HEARTBEAT, frame

FRAME_BYTES_MAX = 1 << 20


def connected() -> tuple[ReplicaConnection, socket.socket]:
    listener = socket.create_server(("127.0.0.1", 0))
    other = socket.create_connection(listener.getsockname())
    mine, _ = listener.accept()
    listener.close()
    return ReplicaConnection(mine, "b", None, FRAME_BYTES_MAX), other


def wait_until(is_true: object, what: str, seconds: float = 60.0) -> None:
    assert callable(is_true)
    deadline = time.monotonic() + seconds
    while not is_true():
        assert time.monotonic() < deadline, what
        time.sleep(0.005)


def test_receives_frames_in_pieces() -> None:
    connection, other = connected()
    sent = frame(HEARTBEAT, 0, 7, b"x" * 5000)
    for at in range(0, len(sent), 999):
        other.sendall(sent[at : at + 999])
    found = connection.receive(60.0)
    assert found is not None
    assert (found.type, found.request, found.buffer[found.start : found.end]) == (HEARTBEAT, 7, b"x" * 5000)
    assert connection.receive(0.01) is None
    other.close()
    with pytest.raises(ConnectionLost, match="b closed the connection"):
        connection.receive(60.0)


def test_send_never_waits_for_a_peer_that_does_not_read() -> None:
    connection, other = connected()
    block = bytes(range(256)) * 4096
    for _ in range(16):  # more than both socket buffers hold
        assert connection.send(block[:1000], block[1000:])
    assert connection.unsent_bytes > 0
    received = bytearray()
    while len(received) < 16 * len(block):
        data = other.recv(1 << 20)
        assert data, "the connection ended before everything was sent"
        received += data
    assert bytes(received) == block * 16
    wait_until(lambda: connection.unsent_bytes == 0, "the queue is not empty")
    connection.close("test")
    other.close()


def test_disconnects_a_peer_for_which_too_much_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(transport, "UNSENT_BYTES_MAX", 1 << 20)
    connection, other = connected()
    block = bytes(1 << 20)
    for _ in range(64):
        if not connection.send(block):
            break
    assert "does not read" in connection.close_reason
    assert not connection.send(b"more")
    other.close()


def test_refuses_a_frame_beyond_the_limit() -> None:
    connection, other = connected()
    other.sendall((FRAME_BYTES_MAX + 1).to_bytes(4, "little") + bytes(12))
    with pytest.raises(ConnectionLost, match="broke the protocol"):
        connection.receive(60.0)
    other.close()


def test_finish_sends_everything_first() -> None:
    connection, other = connected()
    block = bytes(1 << 22)
    assert connection.send(block)
    connection.finish()
    assert not connection.send(b"late")
    size = 0
    while data := other.recv(1 << 20):
        size += len(data)
    assert size == len(block)
    other.close()


def test_close_wakes_the_receiver() -> None:
    connection, other = connected()
    reasons: list[str] = []

    def receive() -> None:
        try:
            connection.receive(60.0)
        except ConnectionLost as lost:
            reasons.append(str(lost))

    thread = threading.Thread(target=receive, daemon=True)
    thread.start()
    connection.close("deposed")
    thread.join(60.0)
    assert reasons == ["deposed"]
    other.close()
