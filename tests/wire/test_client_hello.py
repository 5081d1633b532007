"""The first message of TLS, as real clients send it and as others might."""

from __future__ import annotations

import contextlib
import ssl

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ostler.wire.channel_frames import ChannelHello, hello_frame
from ostler.wire.client_hello import HANDSHAKE_RECORD, HELLO_BYTES_MAX, ClientHelloError, ClientHelloReader
from ostler.wire.connect_frames import Hello
from ostler.wire.frames import HELLO as HELLO_FRAME
from ostler.wire.frames import frame
from ostler.wire.server_names import server_name

NAME = server_name("APP.SVRCONN")


def real_hello(name: str | None = NAME) -> bytes:
    """What OpenSSL sends first."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    outgoing = ssl.MemoryBIO()
    client = context.wrap_bio(ssl.MemoryBIO(), outgoing, server_hostname=name)
    with contextlib.suppress(ssl.SSLWantReadError):
        client.do_handshake()
    return outgoing.read()


HELLO = real_hello()


def read(*pieces: bytes) -> ClientHelloReader:
    reader = ClientHelloReader()
    for piece in pieces:
        reader.receive(piece)
    return reader


def record(message: bytes) -> bytes:
    return bytes((22, 3, 1)) + len(message).to_bytes(2, "big") + message


def message(extensions: bytes, suites: bytes = b"\x13\x01") -> bytes:
    body = b"\x03\x03" + bytes(32) + b"\x00" + len(suites).to_bytes(2, "big") + suites + b"\x01\x00" + extensions
    return b"\x01" + len(body).to_bytes(3, "big") + body


def test_a_real_hello_in_one_piece() -> None:
    reader = read(HELLO)
    assert reader.is_complete
    assert reader.server_name == NAME
    assert reader.data == HELLO


def test_a_real_hello_byte_by_byte_is_complete_at_its_last_byte() -> None:
    reader = ClientHelloReader()
    for number in range(len(HELLO)):
        assert not reader.is_complete
        reader.receive(HELLO[number : number + 1])
    assert reader.is_complete
    assert reader.server_name == NAME


def test_what_follows_belongs_to_the_handshake() -> None:
    assert read(HELLO + b"more").data == HELLO + b"more"


def test_a_hello_without_a_name() -> None:
    reader = read(real_hello(None))
    assert reader.is_complete
    assert reader.server_name == ""


def test_a_hello_without_extensions() -> None:
    assert read(record(message(b""))).is_complete


def test_a_hello_in_records_of_one_byte() -> None:
    parts = b"".join([record(HELLO[number : number + 1]) for number in range(5, len(HELLO))])
    reader = read(parts)
    assert reader.is_complete
    assert reader.server_name == NAME


def test_other_extensions_and_other_kinds_of_names_are_passed_over() -> None:
    names = b"\x07\x00\x02ab" + b"\x00\x00\x03a.b"
    server_names = len(names).to_bytes(2, "big") + names
    extensions = b"\x00\x0a\x00\x02xx" + b"\x00\x00" + len(server_names).to_bytes(2, "big") + server_names
    assert read(record(message(len(extensions).to_bytes(2, "big") + extensions))).server_name == "a.b"


@pytest.mark.parametrize(
    ("data", "why"),
    [
        (b"GET / HTTP/1.1\r\n", "begins no TLS handshake"),
        (b"TSH ", "begins no TLS handshake"),
        (b"\x16\x02\x00\x00\x05", "another kind of record"),
        (b"\x16\x03\x01\x00\x00", "a record of 0 bytes"),
        (b"\x16\x03\x01\xff\xff", "a record of 65535 bytes"),
        (record(b"\x02\x00\x00\x00"), "of type 2"),
        (record(b"\x01\xff\xff\xff"), "16777219 bytes"),
        (record(b"\x01\x00\x00\x02ab"), "longer than the message"),
        (record(message(b"\xff\xff")), "longer than the message"),
        (record(message(b"\x00\x04\x00\x00\xff\xff")), "longer than the message"),
        (record(message(b"\x00\x0a\x00\x00\x00\x06\x00\x04\x00\x00\x01\xe9")), "not ASCII"),
    ],
)
def test_what_cannot_be_right_is_refused(data: bytes, why: str) -> None:
    with pytest.raises(ClientHelloError, match=why):
        read(data)


def send_one_byte_records(reader: ClientHelloReader) -> None:
    for _ in range(HELLO_BYTES_MAX):
        reader.receive(record(b"x"))


def test_a_hello_that_never_ends_is_refused() -> None:
    reader = ClientHelloReader()
    reader.receive(record(b"\x01\x00\x3f\xf0"))
    with pytest.raises(ClientHelloError, match="32768 bytes of records"):
        send_one_byte_records(reader)
    assert len(reader.data) <= 2 * HELLO_BYTES_MAX + 6


def test_only_a_handshake_begins_like_tls() -> None:
    assert HELLO[0] == HANDSHAKE_RECORD
    assert frame(HELLO_FRAME, 0, 1, Hello().encode())[0] != HANDSHAKE_RECORD
    # The length of a CHANNEL_HELLO varies in steps of four.
    assert len(hello_frame(ChannelHello())) % 4 == 0
    assert HANDSHAKE_RECORD % 4 != 0


@given(st.integers(0, len(HELLO) - 1), st.binary(min_size=1, max_size=4))
def test_a_changed_hello_is_refused_or_read(at: int, change: bytes) -> None:
    changed = HELLO[:at] + change + HELLO[at + len(change) :]
    reader = ClientHelloReader()
    with contextlib.suppress(ClientHelloError):
        reader.receive(changed)
    assert reader.server_name == "" or reader.is_complete


@given(st.binary(max_size=400))
def test_random_bytes_in_a_hello_are_refused_or_read(data: bytes) -> None:
    reader = ClientHelloReader()
    with contextlib.suppress(ClientHelloError):
        reader.receive(record(b"\x01" + len(data).to_bytes(3, "big") + data))
        assert reader.is_complete
    assert not reader.server_name or reader.is_complete
