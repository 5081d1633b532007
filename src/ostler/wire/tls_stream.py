"""One TLS connection without a socket: bytes in, bytes out.

The owner passes received bytes to `receive_data` and sends what `take_output` returns, also after a failure: the last
output has the alert for the peer. Rules choose the context of a handshake, and check its result before any data is
exchanged.

    server                                                    client
    read the ClientHello -> channel from its SNI              -
    rules.context(channel), or refuse with an alert           rules.context(channel)
    handshake                                                 handshake
    rules.check(stream)                                       rules.check(stream)
    is_ready                                                  is_ready

New keys on the same connection (SSLRKEYC): each side ends its stream (`close`) behind its last data under the old keys,
and sends nothing more. When both ends are sent and received, the `successor` continues with the bytes behind the peer's
end (`leftover`). The ends are encrypted with the old keys, so a third party cannot forge them.
"""

from __future__ import annotations

import ssl
from abc import ABCMeta, abstractmethod
from typing import Any, Final, final

from mypy_extensions import mypyc_attr

from ostler.model import constants as mq
from ostler.model.cipher_specs import name_of_suite
from ostler.model.distinguished_names import DistinguishedName, from_certificate
from ostler.wire.client_hello import ClientHelloError, ClientHelloReader
from ostler.wire.server_names import channel_name, server_name

# Several times a chain of certificates.
HANDSHAKE_BYTES_MAX: Final = 65_536
# The output of TLS itself while we only read, such as replies to key updates.
UNASKED_OUTPUT_BYTES_MAX: Final = 65_536
_PIECE_BYTES: Final = 16_384
_RECORD_BYTES: Final = 16_384  # the data of the longest record

# TLS alerts that we send ourselves, before OpenSSL takes part.
ALERT_DECODE_ERROR: Final = 50
ALERT_ACCESS_DENIED: Final = 49
ALERT_INTERNAL_ERROR: Final = 80
ALERT_MISSING_EXTENSION: Final = 109
ALERT_UNRECOGNIZED_NAME: Final = 112

_VERIFY_REVOKED: Final = 23

_FAILED: Final = mq.MQRC_SSL_INITIALIZATION_ERROR
# Alerts of the peer by the names of OpenSSL: reason code and text.
_ALERTS: Final[dict[str, tuple[int, str]]] = {
    "TLSV1_UNRECOGNIZED_NAME": (
        mq.MQRC_UNKNOWN_CHANNEL_NAME,
        "AMQ9520E: the remote queue manager has no such channel.",
    ),
    "TLSV13_ALERT_MISSING_EXTENSION": (_FAILED, "AMQ9639E: the remote queue manager received no channel name in SNI."),
    "TLSV1_ALERT_ACCESS_DENIED": (
        _FAILED,
        "AMQ9641E: the channel at the remote queue manager has no CipherSpec (SSLCIPH).",
    ),
    "SSLV3_ALERT_HANDSHAKE_FAILURE": (
        _FAILED,
        "AMQ9616E: the other side refused: the CipherSpecs do not match, or it wants a certificate and got none.",
    ),
    "TLSV1_ALERT_PROTOCOL_VERSION": (_FAILED, "AMQ9616E: the other side wants another version of TLS."),
    "TLSV13_ALERT_CERTIFICATE_REQUIRED": (_FAILED, "AMQ9637E: the other side wants a certificate, and got none."),
    "SSLV3_ALERT_CERTIFICATE_REVOKED": (
        mq.MQRC_SSL_CERTIFICATE_REVOKED,
        "AMQ9633E: the other side reports that our certificate is revoked.",
    ),
    "SSLV3_ALERT_CERTIFICATE_EXPIRED": (_FAILED, "AMQ9633E: the other side reports that our certificate has expired."),
    "TLSV1_ALERT_UNKNOWN_CA": (_FAILED, "AMQ9633E: the other side does not trust the issuer of our certificate."),
    "SSLV3_ALERT_BAD_CERTIFICATE": (_FAILED, "AMQ9633E: the other side did not accept our certificate."),
    "SSLV3_ALERT_CERTIFICATE_UNKNOWN": (_FAILED, "AMQ9633E: the other side did not accept our certificate."),
    "TLSV1_ALERT_INTERNAL_ERROR": (_FAILED, "AMQ9641E: the other side failed. See its error log for the reason."),
}
_LOCAL_ERRORS: Final[dict[str, str]] = {
    "NO_SHARED_CIPHER": "AMQ9616E: no CipherSpec suits both sides and the certificate (an ECDSA one needs an EC key).",
    "UNSUPPORTED_PROTOCOL": "AMQ9616E: the other side offers no version of TLS that the CipherSpec allows.",
    "WRONG_VERSION_NUMBER": "AMQ9620E: the data is not TLS, or not the version that the CipherSpec requires.",
    "PEER_DID_NOT_RETURN_A_CERTIFICATE": "AMQ9637E: the other side sent no certificate.",
}


class TlsFailed(Exception):
    """A connection failed. `text` is for the error log, `alert` for the peer."""

    def __init__(self, reason: int, text: str, alert: int = ALERT_INTERNAL_ERROR) -> None:
        super().__init__(text)
        self.reason = reason
        self.text = text
        self.alert = alert


@mypyc_attr(allow_interpreted_subclasses=True)
class TlsRules(metaclass=ABCMeta):
    """The rules of channels for TLS. Both methods raise TlsFailed."""

    @abstractmethod
    def context(self, channel: str) -> ssl.SSLContext:
        """Return the context for a handshake on a channel. The name is empty if the client sent none."""

    @abstractmethod
    def check(self, stream: TlsStream) -> None:
        """Check the result of the handshake: the cipher, the protocol, the peer's certificate."""


@final
class TlsStream:
    """One side of a connection. After TlsFailed from any method, send the remaining output and close."""

    def __init__(self, rules: TlsRules, is_server: bool, channel: str = "", host: str = "") -> None:
        """A server gets the channel from its client. A client passes it here, and has its first output at once.

        A client of another protocol passes the host instead, whose name the certificate must have if the context checks
        it.
        """
        self.is_server: bool = is_server
        self.channel_name: str = channel
        self.is_ready: bool = False
        self.is_ended_here: bool = False
        self.is_ended_by_peer: bool = False
        self._rules: TlsRules = rules
        self._hello: ClientHelloReader | None = None
        self._object: ssl.SSLObject | None = None
        self._incoming: ssl.MemoryBIO = ssl.MemoryBIO()
        self._outgoing: ssl.MemoryBIO = ssl.MemoryBIO()
        self._is_handshake_done: bool = False
        # Results of the handshake, for other threads, which must not use the SSLObject.
        self._suite: str = ""
        self._version: str = ""
        self._certificate: dict[str, Any] = {}
        self._handshake_bytes: int = 0
        self._unasked_bytes: int = 0
        if is_server:
            self._hello = ClientHelloReader()
        else:
            self._object = rules.context(channel).wrap_bio(
                self._incoming, self._outgoing, server_side=False, server_hostname=host or server_name(channel)
            )
            self._do_handshake()

    def receive_data(self, data: bytes) -> bytes:
        """Pass received bytes, in any portions, and return their plain text."""
        if not self.is_ready:
            data = self._receive_handshake(data)
            if not self.is_ready:
                return b""
        if self.is_ended_by_peer:
            self._keep_leftover(data)
            return b""
        before = self._outgoing.pending
        self._incoming.write(data)
        plain = self._read()
        self._unasked_bytes += self._outgoing.pending - before
        if self._unasked_bytes > UNASKED_OUTPUT_BYTES_MAX:
            raise TlsFailed(_FAILED, "AMQ9620E: the other side requests replies of TLS without reading them.")
        return plain

    def encrypt(self, data: bytes) -> None:
        """Encrypt bytes into the output. Only if `can_encrypt`: ready, or refused by the rules after the handshake."""
        assert self._object is not None
        assert self._is_handshake_done
        at = 0
        try:
            while at < len(data):
                at += self._object.write(data if at == 0 else data[at:])
        except ssl.SSLError as error:
            raise _translate_error(error) from None

    def take_output(self) -> bytes:
        """Return the bytes to send, and forget them."""
        self._unasked_bytes = 0
        return self._outgoing.read()

    @property
    def has_output(self) -> bool:
        return self._outgoing.pending > 0

    @property
    def can_encrypt(self) -> bool:
        """True when the handshake is complete, even if the rules refused it: then a FAREWELL can be encrypted."""
        return self._is_handshake_done

    def close(self) -> None:
        """Put close_notify into the output, if the handshake is complete. Nothing is encrypted after it.

        Data of the peer is still decrypted until it ends, too.
        """
        if self._object is None or not self._is_handshake_done or self.is_ended_here:
            return
        self.is_ended_here = True
        try:
            self._object.unwrap()
        except (ssl.SSLError, ValueError):
            # It waits for the peer's close_notify, or the peer has failed. Ours is in the output if possible.
            return

    @property
    def is_ended(self) -> bool:
        """True when both sides have ended the stream, so that a successor may follow."""
        return self.is_ended_here and self.is_ended_by_peer

    def leftover(self) -> bytes:
        """Return the bytes behind the peer's end, for the successor, and forget them."""
        assert self.is_ended_by_peer
        return self._incoming.read()

    def successor(self) -> TlsStream:
        """Return a stream for another handshake on the same connection.

        Side, channel, context, suite and the peer's certificate must be the same, because admission checked these: a
        peer with others has to reconnect. A client's first output is there at once, to be sent after this stream's.
        """
        assert self.is_ended
        assert self.is_ready
        assert self._object is not None
        rules = _SuccessorRules(self._object.context, self)
        made = TlsStream(rules, self.is_server, "" if self.is_server else self.channel_name)
        # Reported until the new handshake is complete.
        made._suite = self._suite
        made._version = self._version
        made._certificate = self._certificate
        return made

    def receive_eof(self) -> None:
        """Report the end of the connection. Raises TlsFailed during a handshake."""
        if not self.is_ready:
            raise TlsFailed(_FAILED, "AMQ9665E: the other side closed the connection during the TLS handshake.")

    @property
    def suite(self) -> str:
        """The cipher suite by OpenSSL's name; empty before the handshake is complete."""
        return self._suite

    @property
    def cipher(self) -> str:
        """The CipherSpec by MQ's name, as DISPLAY CHSTATUS shows it."""
        return name_of_suite(self.suite)

    @property
    def protocol(self) -> str:
        """TLSv1.2 or TLSv1.3; empty before the handshake is complete."""
        return self._version

    @property
    def security_protocol(self) -> str:
        """SECPROT of DISPLAY CHSTATUS: TLSV12, TLSV13, or NONE."""
        return self.protocol.upper().replace(".", "") or "NONE"

    @property
    def peer_certificate(self) -> dict[str, Any]:
        """The peer's verified certificate in the form of `ssl`; empty if it sent none."""
        return self._certificate

    @property
    def peer_bytes(self) -> bytes:
        """The peer's certificate in DER; empty if it sent none."""
        found = self._object.getpeercert(True) if self._object is not None and self._is_handshake_done else None
        return b"" if found is None else found

    @property
    def has_certificate(self) -> bool:
        return len(self.peer_certificate) > 0

    def peer_subject(self) -> DistinguishedName:
        certificate = self.peer_certificate
        return from_certificate(_name_pairs(certificate.get("subject", ())), str(certificate.get("serialNumber", "")))

    def peer_issuer(self) -> DistinguishedName:
        return from_certificate(_name_pairs(self.peer_certificate.get("issuer", ())))

    def _receive_handshake(self, data: bytes) -> bytes:
        """Pass bytes to the handshake in pieces, and return the bytes behind the piece that completed it."""
        at = 0
        while at < len(data) and not self.is_ready:
            piece = data[at : at + _PIECE_BYTES]
            at += len(piece)
            self._handshake_bytes += len(piece)
            if self._handshake_bytes > HANDSHAKE_BYTES_MAX + _PIECE_BYTES:
                raise TlsFailed(_FAILED, f"AMQ9620E: a TLS handshake of over {HANDSHAKE_BYTES_MAX} bytes.")
            if self._hello is not None:
                self._receive_hello(self._hello, piece)
            else:
                self._incoming.write(piece)
            if self._object is not None:
                self._do_handshake()
        return data[at:] if self.is_ready else b""

    def _keep_leftover(self, data: bytes) -> None:
        """Keep bytes behind the peer's end: at most the first flight of a handshake."""
        if self._incoming.pending + len(data) > HANDSHAKE_BYTES_MAX:
            raise TlsFailed(_FAILED, "AMQ9620E: the other side sends data behind the end of its TLS session.")
        self._incoming.write(data)

    def _receive_hello(self, hello: ClientHelloReader, piece: bytes) -> None:
        try:
            hello.receive(piece)
            if not hello.is_complete:
                return
            if hello.server_name:
                self.channel_name = _channel_of(hello.server_name)
            context = self._rules.context(self.channel_name)
        except ClientHelloError as error:
            self._send_alert(ALERT_DECODE_ERROR)
            raise TlsFailed(_FAILED, f"AMQ9620E: {error}.", ALERT_DECODE_ERROR) from None
        except TlsFailed as failure:
            self._send_alert(failure.alert)
            raise
        self._hello = None
        self._object = context.wrap_bio(self._incoming, self._outgoing, server_side=True)
        self._incoming.write(hello.data)

    def _send_alert(self, alert: int) -> None:
        """Put a fatal alert into the output, in plain, because there are no keys yet."""
        self._outgoing.write(bytes((21, 3, 3, 0, 2, 2, alert)))

    def _do_handshake(self) -> None:
        assert self._object is not None
        try:
            self._object.do_handshake()
        except ssl.SSLWantReadError:
            return
        except ssl.SSLError as error:
            raise _translate_error(error) from None
        self._is_handshake_done = True
        used = self._object.cipher()
        self._suite = used[0] if used is not None else ""
        self._version = self._object.version() or ""
        found = self._object.getpeercert()
        self._certificate = dict(found) if found is not None else {}
        self._rules.check(self)
        self.is_ready = True

    def _read(self) -> bytes:
        assert self._object is not None
        # OpenSSL reads record by record without read-ahead: bytes behind the peer's end stay in the buffer, and nothing
        # is left to read when it is empty. Finding that out by another read would cost as much as a record.
        incoming = self._incoming
        parts: list[bytes] = []
        try:
            while incoming.pending > 0 and not self.is_ended_by_peer:
                part = self._object.read(_RECORD_BYTES)
                if part:
                    parts.append(part)
                else:
                    self.is_ended_by_peer = True
        except ssl.SSLWantReadError:
            pass
        except (ssl.SSLZeroReturnError, ssl.SSLEOFError):
            self.is_ended_by_peer = True
        except ssl.SSLError as error:
            raise _translate_error(error) from None
        return parts[0] if len(parts) == 1 else b"".join(parts)


@final
class _SuccessorRules(TlsRules):
    """Rules of a successor: the same context, suite and certificate."""

    def __init__(self, context: ssl.SSLContext, before: TlsStream) -> None:
        self._context: ssl.SSLContext = context
        self._channel: str = before.channel_name
        self._suite: str = before.suite
        self._peer: bytes = before.peer_bytes

    def context(self, channel: str) -> ssl.SSLContext:
        if channel != self._channel:
            raise TlsFailed(
                _FAILED,
                f"AMQ9639E: new keys were to be agreed on channel {self._channel}, and the handshake names another.",
                ALERT_UNRECOGNIZED_NAME,
            )
        return self._context

    def check(self, stream: TlsStream) -> None:
        if stream.suite != self._suite:
            raise TlsFailed(
                _FAILED,
                f"AMQ9631E: new keys for channel {self._channel} came with {stream.cipher}, another CipherSpec.",
            )
        if stream.peer_bytes != self._peer:
            raise TlsFailed(
                mq.MQRC_SSL_PEER_NAME_MISMATCH,
                f"AMQ9636E: with new keys for channel {self._channel} the other side sent another certificate "
                f"({stream.peer_subject()}). The new certificate is checked when the channel is restarted.",
            )


def _channel_of(name: str) -> str:
    try:
        return channel_name(name)
    except ValueError as error:
        raise TlsFailed(mq.MQRC_UNKNOWN_CHANNEL_NAME, f"AMQ9519E: {error}.", ALERT_UNRECOGNIZED_NAME) from None


def _name_pairs(name: Any) -> list[tuple[str, str]]:
    """Return the pairs of a name in the form of `ssl`, a tuple of tuples of pairs."""
    return [(str(pair[0]), str(pair[1])) for part in name for pair in part]


def _translate_error(error: ssl.SSLError) -> TlsFailed:
    """Return the TlsFailed, with an AMQ message, for an error of OpenSSL."""
    # Not every SSLError has a reason, although its type declares one.
    given: object = getattr(error, "reason", None)
    why = given if isinstance(given, str) else ""
    if isinstance(error, ssl.SSLCertVerificationError):
        revoked = error.verify_code == _VERIFY_REVOKED
        reason = mq.MQRC_SSL_CERTIFICATE_REVOKED if revoked else _FAILED
        return TlsFailed(reason, f"AMQ9633E: the other side's certificate is not accepted: {error.verify_message}.")
    if why in _ALERTS:
        reason, text = _ALERTS[why]
        return TlsFailed(reason, text)
    if why in _LOCAL_ERRORS:
        return TlsFailed(_FAILED, _LOCAL_ERRORS[why])
    detail = why.replace("_", " ").lower() or str(error)
    return TlsFailed(_FAILED, f"AMQ9620E: the TLS layer failed: {detail}.")
