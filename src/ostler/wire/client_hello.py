"""Reads the server name (SNI) from the ClientHello of TLS, before OpenSSL sees it.

OpenSSL reports the name only during a handshake, when protocol versions, ciphers and client authentication are already
chosen. Here the name decides which rules the handshake uses.
"""

from __future__ import annotations

from typing import Final, final

# A usual ClientHello has 200 to 2,000 bytes.
HELLO_BYTES_MAX: Final = 16_384
RECORD_HEADER_BYTES: Final = 5
_RECORD_BYTES_MAX: Final = 2 * HELLO_BYTES_MAX
HANDSHAKE_RECORD: Final = 22  # the first byte of a TLS connection; no frame of our own begins with it
_CLIENT_HELLO: Final = 1
_HEADER_BYTES: Final = 4
_RANDOM_BYTES: Final = 34
_SERVER_NAME: Final = 0
_HOST_NAME: Final = 0


class ClientHelloError(Exception):
    """The bytes are not a ClientHello, or it is too long."""


@final
class ClientHelloReader:
    """Collects bytes until the ClientHello is complete. `data` keeps them for the handshake."""

    def __init__(self) -> None:
        self.data: bytes = b""
        self.is_complete: bool = False
        self.server_name: str = ""
        # Each record is examined once, however many there are.
        self._at: int = 0
        self._message: bytearray = bytearray()
        self._bytes_needed: int = RECORD_HEADER_BYTES

    def receive(self, data: bytes) -> None:
        """Add received bytes. Raises ClientHelloError if they cannot be a ClientHello."""
        assert not self.is_complete
        self.data += data
        if data and self.data[0] != HANDSHAKE_RECORD:
            raise ClientHelloError(f"the first byte is {self.data[0]:#04x}, which begins no TLS handshake")
        while not self.is_complete and len(self.data) >= self._bytes_needed:
            self._take_record()

    def _take_record(self) -> None:
        """Add the record at `_at` to the message if it is complete, otherwise set `_bytes_needed`."""
        start = self._at + RECORD_HEADER_BYTES
        end = start + self._record_length(self._at)
        # One-byte records are legal and take six bytes each; no client needs that many.
        if end > _RECORD_BYTES_MAX:
            raise ClientHelloError(f"a client's hello in more than {_RECORD_BYTES_MAX} bytes of records")
        if len(self.data) < end:
            self._bytes_needed = end
            return
        self._message += self.data[start:end]
        self._at = end
        self._bytes_needed = end + RECORD_HEADER_BYTES
        if self._message[0] != _CLIENT_HELLO:
            raise ClientHelloError(f"the first message is of type {self._message[0]}, not a client's hello")
        if len(self._message) >= _HEADER_BYTES:
            size = _HEADER_BYTES + int.from_bytes(self._message[1:4], "big")
            if size > HELLO_BYTES_MAX:
                raise ClientHelloError(f"a client's hello of {size} bytes; {HELLO_BYTES_MAX} are allowed")
            if len(self._message) >= size:
                self.server_name = _server_name(bytes(self._message[_HEADER_BYTES:size]))
                self.is_complete = True

    def _record_length(self, at: int) -> int:
        if self.data[at] != HANDSHAKE_RECORD or self.data[at + 1] != 3:
            raise ClientHelloError("the client's hello breaks off in another kind of record")
        length = int.from_bytes(self.data[at + 3 : at + 5], "big")
        # An empty record would let a client send records for ever without a message getting longer.
        if not 0 < length <= HELLO_BYTES_MAX:
            raise ClientHelloError(f"a record of {length} bytes in a client's hello")
        return length


@final
class _Fields:
    """Reads counted fields, and never beyond their end."""

    def __init__(self, data: bytes) -> None:
        self.data: bytes = data
        self.at: int = 0

    def take(self, count: int) -> bytes:
        end = self.at + count
        if end > len(self.data):
            raise ClientHelloError("a client's hello with a field that is longer than the message")
        piece = self.data[self.at : end]
        self.at = end
        return piece

    def number(self, count: int) -> int:
        return int.from_bytes(self.take(count), "big")

    def counted(self, count: int) -> bytes:
        return self.take(self.number(count))

    def is_at_end(self) -> bool:
        return self.at == len(self.data)


def _server_name(hello: bytes) -> str:
    """Return the host name of the server-name extension, or an empty string."""
    fields = _Fields(hello)
    fields.take(_RANDOM_BYTES)
    fields.counted(1)
    fields.counted(2)
    fields.counted(1)
    if fields.is_at_end():
        return ""
    extensions = _Fields(fields.counted(2))
    while not extensions.is_at_end():
        kind = extensions.number(2)
        content = extensions.counted(2)
        if kind == _SERVER_NAME:
            return _host_name(content)
    return ""


def _host_name(content: bytes) -> str:
    names = _Fields(_Fields(content).counted(2))
    while not names.is_at_end():
        kind = names.number(1)
        name = names.counted(2)
        if kind == _HOST_NAME:
            if not name.isascii():
                raise ClientHelloError("a server name that is not ASCII")
            return name.decode("ascii")
    return ""
