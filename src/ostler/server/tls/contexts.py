"""The queue manager's side of TLS: which rules a connection is under, by the channel that it names.

The side that connects speaks as a client of TLS, be it an application or the end of a message channel that begins; the
side that is connected to as a server. A queue manager is both, with the same certificates.

A context is made for each combination of side, CipherSpec, client authentication and certificate that channels ask
for, when the first connection needs it, and is kept. A refresh makes all of them anew from the files as they are now;
if any cannot be made, everything stays as it was. Connections that are there go on as they are.
"""

from __future__ import annotations

import ssl
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from ostler.model.attributes import ObjectType, to_text
from ostler.model.attributes import require as require_attribute
from ostler.model.cipher_specs import CipherSpec, require
from ostler.model.constants import (
    MQRC_KEY_REPOSITORY_ERROR,
    MQRC_SSL_INITIALIZATION_ERROR,
    MQRC_SSL_PEER_NAME_ERROR,
    MQRC_SSL_PEER_NAME_MISMATCH,
    MQRC_UNKNOWN_CHANNEL_NAME,
)
from ostler.model.definitions import Definition
from ostler.model.distinguished_names import matches
from ostler.model.errors import MQError
from ostler.server.tls.key_repository import (
    KeyRepository,
    OwnCertificate,
    RepositoryError,
    default_labels,
    load_repository,
)
from ostler.server.tls.self_test import self_test_client, self_test_server
from ostler.server.tls.suites import check_suite, new_context
from ostler.wire.tls_stream import (
    ALERT_ACCESS_DENIED,
    ALERT_MISSING_EXTENSION,
    ALERT_UNRECOGNIZED_NAME,
    TlsFailed,
    TlsRules,
    TlsStream,
)

DEFAULT_REPOSITORY: Final = "key"
# OpenSSL remembers sessions of TLS 1.2, though nobody takes one up again, and `ssl` cannot tell it not to.
SESSIONS_MAX: Final = 1_024
_VERIFY_MODES: Final = {
    "REQUIRED": ssl.CERT_REQUIRED,
    "OPTIONAL": ssl.CERT_OPTIONAL,
    "NEVER": ssl.CERT_NONE,
}


@dataclass(frozen=True)
class ChannelTls:
    """What a channel asks of TLS. A channel with a blank `cipher_spec` does not speak it."""

    name: str
    cipher_spec: str = ""
    client_authentication: str = "REQUIRED"
    peer_name: str = ""
    certificate_label: str = ""

    @staticmethod
    def of(channel: Definition) -> ChannelTls:
        """The TLS attributes of a CHANNEL definition."""
        authentication = channel.attributes.get("SSLCAUTH", 0)
        return ChannelTls(
            channel.name,
            _text(channel, "SSLCIPH"),
            to_text(require_attribute(ObjectType.CHANNEL, "SSLCAUTH"), authentication),
            _text(channel, "SSLPEER"),
            _text(channel, "CERTLABL"),
        )


@dataclass(frozen=True)
class RepositorySettings:
    """Where a queue manager's certificates are. `directory` is its `ssl` directory, for a blank SSLKEYR."""

    queue_manager: str
    directory: Path
    key_repository: str = ""
    certificate_label: str = ""
    password: str = field(default="", repr=False)

    @staticmethod
    def of(manager: Definition, queue_manager_directory: Path) -> RepositorySettings:
        """The TLS attributes of the QMGR definition."""
        return RepositorySettings(
            manager.name,
            queue_manager_directory / "ssl",
            _text(manager, "SSLKEYR"),
            _text(manager, "CERTLABL"),
            _text(manager, "KEYRPWD"),
        )

    @property
    def path(self) -> Path:
        """The path that SSLKEYR gives; a relative one begins in the queue manager's `ssl` directory."""
        return self.directory / (self.key_repository or DEFAULT_REPOSITORY)


_MANAGER_ATTRIBUTES: Final = ("SSLKEYR", "CERTLABL", "KEYRPWD")

# What contexts differ in: the side, CipherSpec, client authentication, label.
_Key = tuple[bool, str, str, str]


class _Loaded:
    """A repository as it was loaded, and the contexts made from it."""

    def __init__(self, settings: RepositorySettings, sessions_max: int) -> None:
        self.settings = settings
        self.sessions_max = sessions_max
        self.repository: KeyRepository = load_repository(settings.path, settings.password)
        self.contexts: dict[_Key, ssl.SSLContext] = {}

    def context(self, key: _Key) -> ssl.SSLContext:
        """The context for what a channel asks. RepositoryError and MQError."""
        known = self.contexts.get(key)
        if known is not None and known.session_stats()["number"] < self.sessions_max:
            return known
        is_server, cipher_spec, client_authentication, label = key
        if is_server:
            made = self._make_server(cipher_spec, client_authentication, label)
        else:
            made = self._make_client(cipher_spec, label)
        self.contexts[key] = made
        return made

    def _make_server(self, cipher_spec: str, client_authentication: str, label: str) -> ssl.SSLContext:
        certificate = self._certificate(label)
        if certificate is None:
            raise RepositoryError(self._missing_certificate_text(label))
        context = new_context(require(cipher_spec), is_server=True)
        self.repository.load_certificate(context, certificate)
        self_test_server(context, cipher_spec, certificate)
        if client_authentication == "REQUIRED" and not self.repository.authorities:
            raise RepositoryError(
                f"{self.repository.path} holds no certificate of an authority (ca.crt) to judge clients by, "
                f"and SSLCAUTH is REQUIRED"
            )
        self.repository.load_trust(context)
        context.verify_mode = _VERIFY_MODES.get(client_authentication, ssl.CERT_REQUIRED)
        return context

    def _make_client(self, cipher_spec: str, label: str) -> ssl.SSLContext:
        certificate = self._certificate(label)
        if certificate is None and (label or self.settings.certificate_label):
            raise RepositoryError(self._missing_certificate_text(label))
        if not self.repository.authorities:
            raise RepositoryError(
                f"{self.repository.path} holds no certificate of an authority (ca.crt) to judge the partner by"
            )
        context = new_context(require(cipher_spec), is_server=False)
        # Without a certificate of our own the partner decides: it may have SSLCAUTH(OPTIONAL).
        if certificate is not None:
            self.repository.load_certificate(context, certificate)
            self_test_client(self.repository, certificate)
        self.repository.load_trust(context)
        return context

    def _certificate(self, label: str) -> OwnCertificate | None:
        wanted = label or self.settings.certificate_label
        return self.repository.find(wanted, default_labels(self.settings.queue_manager))

    def _missing_certificate_text(self, label: str) -> str:
        wanted = label or self.settings.certificate_label
        defaults = default_labels(self.settings.queue_manager)
        names = repr(wanted) if wanted else " or ".join([repr(each) for each in defaults])
        there = ", ".join(sorted(self.repository.certificates)) or "none"
        return f"{self.repository.path} holds no certificate with its key under label {names}; there are: {there}"


class TlsContexts(TlsRules):
    """The rules of all channels of a queue manager. One thread at a time uses it."""

    def __init__(
        self,
        settings: Callable[[], RepositorySettings],
        find_channel: Callable[[str], ChannelTls | None],
        sessions_max: int = SESSIONS_MAX,
    ) -> None:
        """Both are asked anew each time, so that altered definitions count from the next connection on."""
        self._settings = settings
        self._find_channel = find_channel
        self._sessions_max = sessions_max
        self._loaded: _Loaded | None = None

    def stream(self) -> TlsStream:
        """The TLS of one connection that came in. Its channel is known when the handshake is done, and before HELLO."""
        return TlsStream(self, is_server=True)

    def client_stream(self, channel: ChannelTls) -> TlsStream:
        """The TLS of a message channel that connects to its partner. Its first output is there at once. TlsFailed."""
        return TlsStream(_PartnerRules(self, channel), is_server=False, channel=channel.name)

    def context(self, channel: str) -> ssl.SSLContext:
        asked = self._channel(channel)
        return self._context((True, asked.cipher_spec, asked.client_authentication, asked.certificate_label), channel)

    def client_context(self, asked: ChannelTls) -> ssl.SSLContext:
        """The context of a channel that connects. TlsFailed."""
        return self._context((False, asked.cipher_spec, "", asked.certificate_label), asked.name)

    def _context(self, key: _Key, channel: str) -> ssl.SSLContext:
        try:
            if self._loaded is None:
                self._loaded = _Loaded(self._settings(), self._sessions_max)
            return self._loaded.context(key)
        except RepositoryError as error:
            raise TlsFailed(
                MQRC_KEY_REPOSITORY_ERROR,
                f"AMQ9657E: for channel {channel}, {error}. Put it right, then REFRESH SECURITY TYPE(SSL).",
            ) from None
        except MQError as error:
            raise TlsFailed(
                error.reason, f"AMQ9635E: for channel {channel}: {error.detail} ALTER CHANNEL with another SSLCIPH."
            ) from None

    def check(self, stream: TlsStream) -> None:
        # Asked again: the channel may have been altered while the handshake went on.
        asked = self._channel(stream.channel_name)
        check_suite(_spec(asked), stream)
        if asked.client_authentication == "REQUIRED" and not stream.has_certificate:
            raise TlsFailed(
                MQRC_SSL_INITIALIZATION_ERROR,
                f"AMQ9637E: the other side of channel {asked.name} gave no certificate, and SSLCAUTH is REQUIRED.",
            )
        check_peer_name(asked.peer_name, stream)

    def refresh(self) -> str:
        """Load everything anew, and give a sentence on what was done. MQError says why all stays as it was."""
        settings = self._settings()
        try:
            fresh = _Loaded(settings, self._sessions_max)
            # All that is in use must work with the new files, or none of them is taken.
            for key in self._loaded.contexts if self._loaded is not None else ():
                fresh.context(key)
            for certificate in fresh.repository.certificates.values():
                fresh.repository.load_certificate(ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER), certificate)
        except (RepositoryError, MQError) as error:
            if self._loaded is None and not _exists(settings.path):
                return f"There is no key repository {settings.path}; no channel uses TLS yet."
            detail = error.detail if isinstance(error, MQError) else f"{error}."
            kept = "The certificates that were loaded before stay in use." if self._loaded is not None else ""
            raise MQError(MQRC_KEY_REPOSITORY_ERROR, f"AMQ9657E: {detail} {kept}".strip()) from None
        self._loaded = fresh
        count = len(fresh.repository.certificates)
        return f"{count} certificate{'' if count == 1 else 's'} loaded from {fresh.repository.path}."

    def _channel(self, name: str) -> ChannelTls:
        if not name:
            raise TlsFailed(
                MQRC_SSL_INITIALIZATION_ERROR,
                "AMQ9639E: somebody speaks TLS, but the handshake names no channel (SNI).",
                ALERT_MISSING_EXTENSION,
            )
        found = self._find_channel(name)
        if found is None:
            raise TlsFailed(
                MQRC_UNKNOWN_CHANNEL_NAME, f"AMQ9519E: there is no channel {name}.", ALERT_UNRECOGNIZED_NAME
            )
        if not found.cipher_spec:
            raise TlsFailed(
                MQRC_SSL_INITIALIZATION_ERROR,
                f"AMQ9635E: the other side of channel {name} speaks TLS; the channel has no CipherSpec (SSLCIPH) here.",
                ALERT_ACCESS_DENIED,
            )
        return found


def check_peer_name(pattern: str, stream: TlsStream) -> None:
    """TlsFailed when the name in the peer's certificate is not one that SSLPEER asks for."""
    if not pattern:
        return
    subject = stream.peer_subject()
    try:
        is_welcome = matches(pattern, subject)
    except ValueError as error:
        raise TlsFailed(
            MQRC_SSL_PEER_NAME_ERROR, f"AMQ9640E: SSLPEER({pattern}) of channel {stream.channel_name}: {error}."
        ) from None
    if not is_welcome:
        shown = str(subject) if stream.has_certificate else "no certificate"
        raise TlsFailed(
            MQRC_SSL_PEER_NAME_MISMATCH,
            f"AMQ9636E: the peer of channel {stream.channel_name} shows {shown}; SSLPEER asks for {pattern}.",
        )


def plaintext_refusal(channel: str) -> str:
    """What to say of somebody who came without TLS to a channel that has a CipherSpec."""
    return (
        f"AMQ9639E: the other side of channel {channel} does not speak TLS, and the channel has a CipherSpec here. "
        f"SSLCIPH must suit on both sides."
    )


def channel_mismatch(stream: TlsStream, channel: str) -> str:
    """Why a conversation may not be on this channel; empty if it may. TLS was agreed under the rules of one channel."""
    if stream.channel_name == channel:
        return ""
    return f"AMQ9639E: the TLS handshake named channel {stream.channel_name}, the conversation is for {channel}."


class _PartnerRules(TlsRules):
    """Rules for the end of a message channel that connects: what its definition said when it began."""

    def __init__(self, contexts: TlsContexts, asked: ChannelTls) -> None:
        self._contexts = contexts
        self._asked = asked

    def context(self, channel: str) -> ssl.SSLContext:
        return self._contexts.client_context(self._asked)

    def check(self, stream: TlsStream) -> None:
        check_suite(_spec(self._asked), stream)
        check_peer_name(self._asked.peer_name, stream)


def _spec(asked: ChannelTls) -> CipherSpec:
    try:
        return require(asked.cipher_spec)
    except MQError as error:
        raise TlsFailed(error.reason, f"AMQ9635E: for channel {asked.name}: {error.detail}") from None


def _text(definition: Definition, name: str) -> str:
    return str(definition.attributes.get(name, "")).strip()


def _exists(path: Path) -> bool:
    return path.exists() or path.with_name(path.name + ".pem").exists()
