"""SSL contexts for CipherSpecs.

Protocol versions and the suites of TLS 1.2 are chosen through `ssl`. The suites of TLS 1.3 are not: before Python 3.15
`ssl` has no call for them, though OpenSSL does. There OpenSSL is called directly; where that is impossible both sides
offer all suites, and the negotiated one is checked after the handshake, as it is in any case.
"""

from __future__ import annotations

import _ssl
import ctypes
import platform
import ssl
import sys
from typing import Final

from ostler.model import constants as mq
from ostler.model.cipher_specs import TLS_1_2, TLS_1_3, CipherSpec
from ostler.model.errors import MQError
from ostler.wire.tls_stream import TlsFailed, TlsStream

_VERSIONS: Final = {TLS_1_2: ssl.TLSVersion.TLSv1_2, TLS_1_3: ssl.TLSVersion.TLSv1_3}
_PROTOCOL_1_3: Final = "TLSv1.3"


def new_context(spec: CipherSpec, is_server: bool) -> ssl.SSLContext:
    """Return a context for a CipherSpec, without any trust. Raises MQError if OpenSSL does not support it."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER if is_server else ssl.PROTOCOL_TLS_CLIENT)
    # The server name is that of the channel and in no certificate; names are checked with SSLPEER.
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE if is_server else ssl.CERT_REQUIRED
    context.maximum_version = _VERSIONS[spec.highest_protocol]
    context.minimum_version = _VERSIONS[spec.lowest_protocol]
    context.options |= ssl.OP_NO_COMPRESSION | ssl.OP_NO_RENEGOTIATION
    # Sessions are not resumed: every connection presents its certificate, and no key outlives its connection.
    context.options |= ssl.OP_NO_TICKET
    if is_server:
        context.num_tickets = 0
    older = spec.suites_of(TLS_1_2)
    if older:
        try:
            context.set_ciphers(":".join(older))
        except ssl.SSLError:
            raise _not_available(spec) from None
    newer = spec.suites_of(TLS_1_3)
    if newer and not choose_suites_1_3(context, newer):
        offered = {suite["name"] for suite in context.get_ciphers()}
        if not offered.intersection(newer):
            raise _not_available(spec)
    return context


def choose_suites_1_3(context: ssl.SSLContext, suites: tuple[str, ...]) -> bool:
    """Restrict a context to these TLS 1.3 suites. Returns False, without effect, where this Python cannot."""
    wanted = ":".join(suites)
    own = getattr(context, "set_ciphersuites", None)
    if own is not None:
        try:
            own(wanted)
        except ssl.SSLError:
            return False
        return True
    if not _is_layout_known():
        return False
    try:
        function = ctypes.CDLL(_ssl.__file__).SSL_CTX_set_ciphersuites
    except (AttributeError, OSError):
        return False
    function.argtypes = [ctypes.c_void_p, ctypes.c_char_p]
    function.restype = ctypes.c_int
    # An SSLContext of CPython is an object header followed by the address of OpenSSL's context.
    address = ctypes.c_void_p.from_address(id(context) + object.__basicsize__).value
    return bool(function(address, wanted.encode("ascii")) == 1 and _suites_1_3(context) == set(suites))


def check_suite(spec: CipherSpec, stream: TlsStream) -> None:
    """Raise TlsFailed when the handshake negotiated a suite that the CipherSpec does not allow."""
    if not spec.allows(stream.suite):
        raise TlsFailed(
            mq.MQRC_SSL_INITIALIZATION_ERROR,
            f"AMQ9631E: the handshake for channel {stream.channel_name} negotiated {stream.cipher}, "
            f"but the CipherSpec is {spec.name}.",
        )


def _is_layout_known() -> bool:
    known = (3, 11) <= sys.version_info[:2] <= (3, 14)
    # Where `_ssl` is built into the program there is no file, and a symbol might be that of another OpenSSL.
    return known and platform.python_implementation() == "CPython" and hasattr(_ssl, "__file__")


def _suites_1_3(context: ssl.SSLContext) -> set[str]:
    return {suite["name"] for suite in context.get_ciphers() if suite["protocol"] == _PROTOCOL_1_3}


def _not_available(spec: CipherSpec) -> MQError:
    return MQError(
        mq.MQRC_UNSUPPORTED_CIPHER_SUITE, f"{ssl.OPENSSL_VERSION} and this Python cannot do CipherSpec {spec.name}."
    )
